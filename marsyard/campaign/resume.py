"""Whether finished runs of a folder belong to a study, and what has changed since.

What decides about the numbers must be the same: the scenario (with all it extends), what is set,
the parameters, the outputs, the seed, the files that these name, and the robot's model. Titles and
the limits of success may change, and points may be added where those that are there stay (`n` of
sobol and monte_carlo, and replicas).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marsyard.campaign.named_files import changed_file, file_digests
from marsyard.campaign.study_file import GROWING, StudyFile

FORMAT = "marsyard campaign 1"
#: keys of a study that do not decide about numbers
_FREE = ("title", "description", "success", "time_limit")


def header_of(study: StudyFile, data: Mapping[str, Any], model: str) -> dict[str, Any]:
    """What is written at the head of a journal: the study, the base scenario's data, the model."""
    given = study.model_dump(mode="json")
    asked = {key: value for key, value in given.items() if key not in _FREE}
    asked["order"] = list(study.vary)
    return {
        "format": FORMAT, "study": asked, "base": plain(data), "model": model,
        "files": file_digests([data, asked["vary"]]), "versions": all_versions(),
    }  # fmt: skip


def what_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Reasons against using old runs, in words; empty if nothing does."""
    if old.get("format") != new["format"]:
        return "they were written by another version of marsyard"
    before, now = dict(old["study"]), dict(new["study"])
    if _grew(before["design"], now["design"]):
        before["design"] = now["design"]
    if now["replicas"] > before["replicas"] > 1:
        before["replicas"] = now["replicas"]
    for key in now:
        if before.get(key) != now[key]:
            place, a, b = first_difference(before.get(key), now[key], key)
            return f"{place} was {a}, now it is {b}"
    if old["base"] != new["base"]:
        place, a, b = first_difference(old["base"], new["base"], "")
        return f"the scenario '{now['scenario']}' was changed: {place} was {a}, now it is {b}"
    return other_files(old, new)


def other_files(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What was changed in files beside the study and its scenario, in words."""
    file = changed_file(old.get("files", {}), new["files"])
    if file:
        return f"the file '{file}' was changed"
    return "" if old["model"] == new["model"] else "the robot's model was changed"


def all_versions() -> dict[str, str]:
    """What runs: versions of packages, Python and platform, and of the plug-ins that are there."""
    from marsyard import plugins
    from marsyard.single_run import versions

    return {**versions(), **plugins.versions()}


def other_versions(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Packages of another version than those that made the old runs, in words; a plug-in that was
    not there then had no part in them."""
    pairs = [(k, old["versions"].get(k), v) for k, v in new["versions"].items()]
    return ", ".join(f"{k} {a} → {b}" for k, a, b in pairs if a not in (None, b))


def _grew(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    same = {**before, "n": 0} == {**now, "n": 0}
    return same and now["kind"] in GROWING and now["n"] > before["n"]


def first_difference(a: Any, b: Any, at: str) -> tuple[str, str, str]:
    """The first place where two values differ, and both values there."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*b, *a]:
            if a.get(key) != b.get(key):
                return first_difference(a.get(key), b.get(key), f"{at}.{key}" if at else str(key))
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (one, other) in enumerate(zip(a, b, strict=True)):
            if one != other:
                return first_difference(one, other, f"{at}.{k}")
    return at, _short(a), _short(b)


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def plain(data: Any) -> Any:
    """Data as JSON would give it back."""
    if isinstance(data, Mapping):
        return {str(k): plain(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [plain(v) for v in data]
    return data if isinstance(data, int | float | str | bool | None) else str(data)
