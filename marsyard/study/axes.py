"""The axis of a study: its values as given and as displayed.

An axis drives one dotted path of the scenario, or several together. Its values are numbers with a
unit (that of the texts; of bare numbers the SI unit of the field) or, where one of them is a word,
words. The first path gives the axis its name and what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marsyard.drawing.page import quantity
from marsyard.errors import InputError
from marsyard.units import UNITS, any_to_si, dimension_of, in_unit, unit_of


@dataclass(frozen=True)
class Axis:
    """The values that a study runs through, shown in `unit`; `words` where they are no numbers."""

    name: str
    label: str
    unit: str
    paths: dict[str, tuple[Any, ...]]
    shown: tuple[float, ...] | tuple[str, ...]
    words: bool

    def __len__(self) -> int:
        return len(self.shown)

    def settings(self, index: int) -> dict[str, Any]:
        """What is set in the scenario at one of the values."""
        return {path: values[index] for path, values in self.paths.items()}

    def between(self, first: int, second: int, part: float) -> tuple[float, dict[str, Any]]:
        """A value between two others and its settings; `part` runs from 0 to 1."""
        settings = {}
        for path, values in self.paths.items():
            unit = next((unit_of(v) for v in (values[first], values[second]) if unit_of(v)), "")
            a, b = (in_unit(v, unit) for v in (values[first], values[second]))
            value = float(f"{a + part * (b - a):.12g}")
            settings[path] = f"{value!r} {unit}" if unit else value
        return in_unit(settings[next(iter(self.paths))], self.unit), settings

    def say(self, value: float | str) -> str:
        """'slip = 0.2', 'slope = 5°'."""
        return f"{self.label} = {self.text(value)}"

    def text(self, value: float | str) -> str:
        """A value with its unit."""
        if isinstance(value, str):
            return value
        return quantity(value, "°" if self.unit == "deg" else self.unit, 6)


def make_axis(paths: Mapping[str, Sequence[Any]], field: str, label: str = "") -> Axis:
    """The axis of some paths; `field` is where they stand, for messages."""
    path, values = next(iter((p, tuple(v)) for p, v in paths.items()))
    name = name_of(path)
    words = not all(_is_number(v) for v in values)
    shown: tuple[Any, ...]
    if words:
        unit, shown = "", tuple(str(v) for v in values)
    else:
        unit = _unit(path, values, field)
        shown = tuple(in_unit(v, unit) for v in values)
    for value in shown:
        if shown.count(value) > 1:
            raise InputError(f"{field}: {value} appears twice; values must differ")
    return Axis(
        name, label or label_of(path), unit, {p: tuple(v) for p, v in paths.items()},
        shown, words,
    )  # fmt: skip


def name_of(path: str) -> str:
    """The last part of a path that is a word: 'ground.0.slope' → 'slope'."""
    parts = [p for p in path.split(".") if not p.isdigit()] or [path]
    return re.sub(r"\W+", "_", parts[-1])


def label_of(path: str) -> str:
    """The name in words, with what it is of: 'interaction.wheel.exit.value' → 'exit value'."""
    parts = [p for p in path.split(".") if not p.isdigit()] or [path]
    own = parts[-2:] if parts[-1] in ("value", "name") else parts[-1:]
    return re.sub(r"\W+", " ", " ".join(own)).replace("_", " ")


def _is_number(value: Any) -> bool:
    try:
        any_to_si(value)
    except ValueError:
        return False
    return True


def _unit(path: str, values: Sequence[Any], field: str) -> str:
    units = list(dict.fromkeys(unit_of(v) for v in values if unit_of(v)))
    if not units:
        return field_unit(path)
    first = units[0]
    for value in values:
        unit = unit_of(value)
        if not unit and any_to_si(value) != 0:
            raise InputError(f"{field}: {value} has no unit; add '{first}' as for the other values")
        if unit and dimension_of(unit) != dimension_of(first):
            raise InputError(f"{field}: '{unit}' and '{first}' are not units of the same quantity")
    return first


def field_unit(path: str) -> str:
    """The SI unit of the scenario's field at a dotted path; '' where it has none."""
    from marsyard.ground.soil import NUMBERS
    from marsyard.scenario import Scenario

    soil = re.fullmatch(r"ground\.\d+\.(?:soil|soils\.[^.]+)\.(\w+)", path)
    if soil and soil[1] in NUMBERS:
        return next(iter(UNITS[NUMBERS[soil[1]].dimension]))
    schema = Scenario.model_json_schema(mode="serialization")
    models = schema["$defs"]

    def walk(at: dict[str, Any], parts: list[str]) -> str:
        if "$ref" in at:
            return walk(models[at["$ref"].rsplit("/", 1)[-1]], parts)
        branches = at.get("anyOf") or at.get("oneOf") or []
        found = [unit for branch in branches if (unit := walk(branch, parts))]
        if found or not parts:
            return found[0] if found else str(at.get("unit", "")).replace("1", "", 1)
        head, rest = parts[0], parts[1:]
        if head in at.get("properties", {}):
            return walk(at["properties"][head], rest)
        if head.isdigit() and at.get("type") == "array":
            items = at.get("prefixItems")
            inner = items[min(int(head), len(items) - 1)] if items else at.get("items", {})
            return walk(inner, rest)
        inner = at.get("additionalProperties")
        return walk(inner, rest) if isinstance(inner, dict) else ""

    return walk(schema, path.split("."))
