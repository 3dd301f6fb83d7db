"""Files of an answer of the kineto-statics command: figures and kinetostatics.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from marsyard.errors import InputError
from marsyard.results._files import replacing

if TYPE_CHECKING:
    from marsyard.analysis.kinetostatics.command import Answer


def save_answer(answer: Answer, out: Path | None) -> list[Path]:
    """Write all that belongs to an answer into a folder; returns the files."""
    folder = _folder(answer) if out is None else Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = _draw(answer, folder)
        path = folder / "kinetostatics.json"
        with replacing(path) as part:
            part.write_text(json.dumps(answer.data, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    return [*files, path]


def _folder(answer: Answer) -> Path:
    robot = Path(answer.asked.robot)
    if answer.run is not None:
        return (robot if robot.is_dir() else robot.parent) / "kinetostatics"
    return Path("runs") / f"kinetostatics-{robot.name}"


def _draw(answer: Answer, folder: Path) -> list[Path]:
    return []
