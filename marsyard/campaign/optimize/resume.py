"""Whether finished runs of a folder belong to an optimisation, and what has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marsyard.campaign.named_files import file_digests
from marsyard.campaign.optimize.problem import Problem
from marsyard.campaign.resume import all_versions, first_difference, other_files, plain

FORMAT = "marsyard optimize 1"
#: keys of a study that do not decide about candidates
_FREE = ("title", "description", "time_limit")


def header_of(problem: Problem) -> dict[str, Any]:
    """What is written at the head of a journal."""
    given = problem.study.model_dump(mode="json")
    return {
        "format": FORMAT, "study": {k: v for k, v in given.items() if k not in _FREE},
        "base": plain(problem.bases), "model": problem.model,
        "files": file_digests([plain(problem.bases), given["vary"]]),
        "versions": {**all_versions(), "optuna": _optuna_version()},
    }  # fmt: skip


def _optuna_version() -> str:
    from marsyard.campaign.optimize.sampler import need_optuna

    return str(need_optuna().__version__)


def what_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Reasons against going on with old runs, in words; empty if nothing does."""
    if old.get("format") != new["format"]:
        return "they are not an optimisation, or were written by another version of marsyard"
    before, now = dict(old["study"]), dict(new["study"])
    # more candidates are the same ones and then some
    before["optimiser"] = {**before["optimiser"], "evaluations": now["optimiser"]["evaluations"]}
    if before != now:
        place, a, b = first_difference(before, now, "")
        return f"{place} was {a}, now it is {b}"
    if old["base"] != new["base"]:
        place, a, b = first_difference(old["base"], new["base"], "")
        return f"a scenario was changed: {place} was {a}, now it is {b}"
    return other_files(old, new)
