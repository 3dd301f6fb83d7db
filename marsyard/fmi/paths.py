"""Values of a scenario by their path: value, unit, and location in a soil."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from marsyard.errors import InputError, suggest
from marsyard.scenario import Scenario


class Value(NamedTuple):
    """A value of a scenario, its SI unit and meaning."""

    value: bool | int | float | str
    unit: str
    text: str


def value_at(scenario: Scenario, path: str, what: str) -> Value:
    """The single value at a dotted path; `what` begins error sentences."""
    at: Any = scenario
    unit = text = ""
    parts = path.split(".")
    for k, part in enumerate(parts):
        gone = ".".join(parts[:k])
        if is_soil(parts[:k]):
            return _of_soil(at, part, f"{what} {path}")
        if isinstance(at, BaseModel):
            known = type(at).model_fields
            if part not in known:
                where = f"'{gone}' has" if gone else "a scenario has"
                raise InputError(f"{what} {path}: {where} no '{part}'; {suggest(part, known)}")
            unit, text = unit_of_field(known[part]), known[part].description or ""
            at = getattr(at, part)
        elif isinstance(at, tuple | list):
            if not part.isdigit() or int(part) >= len(at):
                raise InputError(f"{what} {path}: '{part}' is not an index from 0 to {len(at) - 1}")
            at = at[int(part)]
        elif isinstance(at, dict) and part in at:
            at = at[part]
        else:
            valid = suggest(part, at) if isinstance(at, dict) else "it holds a single value."
            raise InputError(f"{what} {path}: '{gone}' has no '{part}'; {valid}")
    if isinstance(at, bool | int | float | str):
        return Value(at, unit, text)
    raise InputError(f"{what} {path}: is not a single number or text that is set; go on to one")


def is_soil(parts: list[str]) -> bool:
    """Whether a path is that of a ground's soil."""
    return len(parts) == 3 and parts[0] == "ground" and parts[2] == "soil"


def _of_soil(soil: Any, name: str, what: str) -> Value:
    from marsyard.ground.soil import NUMBERS, load_soil
    from marsyard.units import UNITS

    if soil is None:
        raise InputError(f"{what}: the ground names no soil; give it one (ground.N.soil)")
    if name not in NUMBERS:
        raise InputError(f"{what}: a soil has no number '{name}'; {suggest(name, NUMBERS)}")
    value = load_soil(soil).number(name)
    return Value(float(value), next(iter(UNITS[NUMBERS[name].dimension])), f"{name} of the soil")


def unit_of_field(info: FieldInfo) -> str:
    """The SI unit that a field's type tells, "" if none."""
    extra = info.json_schema_extra
    if isinstance(extra, dict) and "unit" in extra:
        unit = str(extra["unit"])
        return "" if unit == "1" else unit
    return _unit_of_type(info.annotation)


def _unit_of_type(kind: Any) -> str:
    for inner in (*getattr(kind, "__metadata__", ()), *get_args(kind)):
        found = unit_of_field(inner) if isinstance(inner, FieldInfo) else _unit_of_type(inner)
        if found:
            return found
    return ""
