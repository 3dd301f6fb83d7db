"""Judging sequences at the desk, by `operations.validation`.

    desk = Desk(session, validate=validator("runs/teleop", runs=60))

Every validation goes to a folder of its own, `validation-N`, with its report. One that is cancelled
is judged by the runs that were done.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.operations.desk.judged import CommandJudged, Judged, Validator

if TYPE_CHECKING:
    from marsyard.operations.validation.judgement import CommandFinding
    from marsyard.operations.validation.validate import Validation


def validator(
    folder: str | Path | Callable[[], Path], runs: int = 60, workers: int | None = None, **more: Any
) -> Validator:
    """A validation with so many runs, kept in a folder, or in the one that a function tells then;
    `more`: for `operations.validate`."""

    def where() -> Path:
        return folder() if callable(folder) else Path(folder)

    def judge(
        sequence: Any, scenario: Any, progress: Callable[[float], None], stop: Callable[[], bool]
    ) -> Judged:
        from marsyard.operations import validate

        found = validate(
            sequence, scenario, n=runs, jobs=workers, out=_next(where()), stop=stop,
            progress=lambda done, total, what: progress(done / max(total, 1)), **more,
        )  # fmt: skip
        return judged(found)

    return judge


def _next(folder: Path) -> Path:
    number = 1
    while (folder / f"validation-{number}").exists():
        number += 1
    return folder / f"validation-{number}"


def judged(found: Validation) -> Judged:
    """A validation as the desk shows it."""
    words = found.judgement.why
    if found.stopped:
        words += f" Stopped: evaluated on {found.judgement.runs} runs."
    commands = tuple(CommandJudged(c.verdict, _why(c)) for c in found.judgement.commands)
    return Judged(found.verdict, words, commands, found.report)


def _why(command: CommandFinding) -> str:
    """How often a command broke a limit, and which one is nearest."""
    if command.any.chance is None:
        return "no run got this far"
    return f"{command.deciding} decides; violated in {command.any.chance.words}"
