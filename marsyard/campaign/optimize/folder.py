"""The folder of an optimisation: its journal, and whether finished runs belong to the study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marsyard.campaign.journal import Journal, read_header
from marsyard.campaign.optimize.problem import Problem
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.resume import first_difference, other_versions, plain
from marsyard.errors import InputError
from marsyard.run_folder import is_full
from marsyard.runner import Say, versions

JOURNAL = "finished.log"
FORMAT = "marsyard optimize 1"
#: keys of a study that do not decide about candidates
_FREE = ("title", "description")


def earlier_journal(
    problem: Problem, folder: Path, resume: bool, overwrite: bool, say: Say
) -> Journal | None:
    """The journal of an earlier call to go on with, None for a new one; refuses a folder that
    cannot be used."""
    path = folder / JOURNAL
    if path.exists() and resume:
        return _resumed(path, _header(problem), say)
    if path.exists() and not overwrite:
        raise InputError(
            f"--out: '{folder}' holds a study; go on with it by --resume, replace it by "
            "--overwrite, or give another folder"
        )
    if folder.exists() and not path.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--out: '{folder}' holds other files; give a new folder")
    return None


def new_journal(problem: Problem, folder: Path) -> Journal:
    """Make the folder of a study, with its journal."""
    try:
        journal = Journal.create(folder / JOURNAL, _header(problem))
        write_study(problem.study, folder)
    except OSError as error:
        why = "no space is left" if is_full(error) else error.strerror
        raise InputError(f"--out: '{folder}' cannot be written ({why})") from None
    return journal


def _header(problem: Problem) -> dict[str, Any]:
    given = problem.study.model_dump(mode="json")
    return {
        "format": FORMAT, "study": {k: v for k, v in given.items() if k not in _FREE},
        "base": plain(problem.bases), "model": problem.model,
        "versions": {**versions(), "optuna": _optuna_version()},
    }  # fmt: skip


def _optuna_version() -> str:
    from marsyard.campaign.optimize.asking import need_optuna

    return str(need_optuna().__version__)


def _resumed(path: Path, header: dict[str, Any], say: Say) -> Journal:
    old = read_header(path)
    if old is None:
        raise InputError(f"--resume: the head of '{path}' is damaged; begin anew by --overwrite")
    changed = _what_changed(old, header)
    if changed:
        raise InputError(
            f"--resume: the runs in '{path.parent}' are of another study: {changed}; change it "
            "back, give another --out, or begin anew by --overwrite"
        )
    others = other_versions(old, header)
    if others:
        say(f"warning: finished runs were made by other versions: {others}")
    journal = Journal.open(path)
    if journal.damaged:
        say(f"warning: {journal.damaged} damaged lines in {path} are left out, and run again")
    return journal


def _what_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What stands against going on with old runs, in words; empty if nothing does."""
    if old.get("format") != new["format"]:
        return "they are no optimisation, or of another version of marsyard"
    before, now = dict(old["study"]), dict(new["study"])
    # more candidates are the same ones and then some
    before["optimiser"] = {**before["optimiser"], "evaluations": now["optimiser"]["evaluations"]}
    if before != now:
        place, a, b = first_difference(before, now, "")
        return f"{place} was {a}, now it is {b}"
    if old["base"] != new["base"]:
        place, a, b = first_difference(old["base"], new["base"], "")
        return f"a scenario was changed: {place} was {a}, now it is {b}"
    return "" if old["model"] == new["model"] else "the robot's model was changed"


def write_study(study: OptimizeFile, folder: Path) -> None:
    """Write the study as it was read."""
    import yaml

    from marsyard.results._files import replacing

    data = study.model_dump(mode="json", exclude_defaults=True)
    with replacing(folder / "study.yaml") as part:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        part.write_text(text, encoding="utf-8")
