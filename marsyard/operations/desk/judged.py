"""What a validation says of a sequence, as the desk shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CommandJudged:
    """The verdict ("go", "caution" or "no-go") over one command, and why."""

    verdict: str
    words: str = ""


@dataclass(frozen=True)
class Judged:
    """The verdict over a sequence and over each of its commands; report: an HTML file."""

    verdict: str
    words: str
    commands: tuple[CommandJudged, ...] = ()
    report: Path | None = None


#: judges a sequence on a scenario that begins where the rover will be; called in a thread of its
#: own with both, what to call with the share that is done, 0 … 1, and what tells whether to end
Validator = Callable[[Any, Any, Callable[[float], None], Callable[[], bool]], Judged]
