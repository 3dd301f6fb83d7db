"""The record of a run, `run.json`: settings, duration and warnings. With it the report can be
rebuilt (`marsyard report`).

Checks and questions are not kept; they follow from `results.nc` and `scenario.yaml`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from marsyard.errors import InputError
from marsyard.files import read_json
from marsyard.files.replacing import replacing
from marsyard.units import dimension_of

if TYPE_CHECKING:
    from marsyard.convergence import Convergence

FILE_NAME = "run.json"


class _Plain(BaseModel):
    model_config = ConfigDict(extra="ignore")


class KeptNumber(_Plain):
    """A number of a check of convergence, as in `marsyard.convergence.Moved`."""

    name: str
    unit: str
    value: float | None
    refined: tuple[float | None, ...]
    allowed: float
    checked: bool


class KeptConvergence(_Plain):
    """A check of convergence, as in `marsyard.convergence.Convergence`."""

    halved: tuple[str, ...]
    numbers: tuple[KeptNumber, ...]
    stopped: tuple[str | None, ...]


class RunRecord(_Plain):
    """What is kept of a run.

    shortened: it ends earlier than the scenario's checks expect. laws: what the laws that acted
    say of themselves, title and rows of name, value and unit. given: quantities as the user wrote
    them, by path. post: results of functions of one's
    own in words.
    """

    scenario: str = ""
    overrides: list[str] = []
    steps: int | None = None
    wall_time: float | None = None
    compile_time: float | None = None
    started: str | None = None
    versions: dict[str, str] = {}
    stopped: str | None = None
    shortened: bool = False
    warnings: list[str] = []
    modules: dict[str, str] = {}
    laws: list[tuple[str, list[tuple[str, float | str, str]]]] = []
    hard_contact: bool = True
    given: dict[str, str] = {}
    convergence: KeptConvergence | None = None
    post: dict[str, str] = {}

    def info(self) -> dict[str, Any]:
        """As the report takes it."""
        out = self.model_dump(exclude={"shortened", "post", "convergence"}, exclude_none=True)
        found = self.found_convergence()
        return out if found is None else {**out, "convergence": found}

    def found_convergence(self) -> Convergence | None:
        """The check of convergence, if there was one."""
        if self.convergence is None:
            return None
        from marsyard.convergence import Convergence, Moved

        kept = self.convergence
        numbers = tuple(Moved(**dict(number)) for number in kept.numbers)
        return Convergence(kept.halved, numbers, kept.stopped)


def written_quantities(data: Any, path: str = "") -> dict[str, str]:
    """The numbers with a unit in a scenario's raw data, by their dotted paths: '10 deg', '5 cm'."""
    out: dict[str, str] = {}
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(data, Mapping):
        items = data.items()
    elif isinstance(data, list | tuple):
        items = enumerate(data)
    for key, value in items:
        at = f"{path}.{key}" if path else str(key)
        if isinstance(value, str):
            number, _, unit = value.strip().partition(" ")
            if unit and dimension_of(unit) is not None and _is_number(number):
                out[at] = value.strip()
        else:
            out |= written_quantities(value, at)
    return out


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def record_of(info: Mapping[str, Any], shortened: bool, post: Mapping[str, str]) -> RunRecord:
    """The record of a run that has just been made. What a law or a module says of itself may be
    of any type; it is kept as a finite number or as text."""
    given = {k: v for k, v in info.items() if k in RunRecord.model_fields and v is not None}
    found = given.pop("convergence", None)
    if found is not None:
        given["convergence"] = dataclasses.asdict(found)
    given["laws"] = [
        (str(title), [(str(name), _plain(value), str(unit)) for name, value, unit in rows])
        for title, rows in info.get("laws") or ()
    ]
    for name in ("overrides", "warnings"):
        given[name] = [str(text) for text in info.get(name) or ()]
    for name in ("versions", "modules"):
        given[name] = {str(k): str(v) for k, v in (info.get(name) or {}).items()}
    return RunRecord.model_validate({**given, "shortened": shortened, "post": dict(post)})


def _plain(value: Any) -> float | str:
    try:
        return float(value) if math.isfinite(value) else str(value)
    except (TypeError, ValueError):
        return str(value)


def write_record(record: RunRecord, folder: Path) -> None:
    """Write `run.json`, atomically."""
    with replacing(folder / FILE_NAME) as part:
        text = json.dumps(record.model_dump(mode="json"), indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def read_record(folder: Path) -> RunRecord:
    """The record in a run's folder; an empty one of runs that were made before there was one."""
    path = folder / FILE_NAME
    if not path.exists():
        return RunRecord()
    try:
        return RunRecord.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its content"
        raise InputError(f"'{path}' is not a record of a run: {where}: {first['msg']}") from None
