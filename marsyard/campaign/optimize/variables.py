"""Variables of an optimisation: bounds in their unit, and the values they set in the scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from marsyard.campaign.files import name_and_label, refuse_names
from marsyard.campaign.optimize.study_file import OptimizeFile, VariableFile
from marsyard.drawing.page import number
from marsyard.errors import InputError
from marsyard.results.study_checks import variable_name
from marsyard.study.axes import field_unit
from marsyard.units import any_to_si, dimension_of, in_unit, unit_of

#: of the data set, beside variables and outputs
RESERVED = (
    "candidate", "replica", "generation", "objective", "sought", "goal", "violation", "limit",
    "feasible", "rank", "hypervolume", "completed", "reason", "unconverged",
)  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """Between `low` and `high`, in `unit`, or one of `choices`.

    key: as the file has it. name: of the data set. paths: that it sets.
    """

    key: str
    name: str
    label: str
    unit: str
    paths: tuple[str, ...]
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def words(self) -> bool:
        """Whether values are words, or shown as such."""
        return bool(self.choices)

    def text(self, value: Any) -> str:
        """A value without its unit, for tables."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.choices:
            return str(value)
        return number(float(value), 4)

    def settings(self, value: Any) -> dict[str, Any]:
        """What a value sets in the scenario."""
        if not self.choices and self.unit:
            value = f"{value!r} {self.unit}"
        return {path: value for path in self.paths}

    def read(self, given: Any, field: str) -> Any:
        """A value of the file in the variable's unit, or an InputError if it is not allowed."""
        if self.choices:
            if given not in self.choices:
                allowed = ", ".join(map(str, self.choices))
                raise InputError(f"{field}: {given!r} is none of {allowed}")
            return given
        value = _number(given, self.unit, field)
        if not self.low <= value <= self.high:
            ends = f"{self.low:g} and {self.high:g} {self.unit}".rstrip()
            raise InputError(f"{field}: {given} is not between {ends}")
        return int(value) if self.integer else value

    def trials(self) -> list[Any]:
        """Values to try before the study begins."""
        return list(self.choices) or [self.low, self.high]


def starts(study: OptimizeFile, variables: Sequence[Variable]) -> list[dict[str, Any]]:
    """The candidates to begin with, values by key in the variables' units."""
    by_key = {v.key: v for v in variables}
    return [
        {key: by_key[key].read(x, f"start.{k}.{key}") for key, x in given.items()}
        for k, given in enumerate(study.start)
    ]


def make_variables(
    study: OptimizeFile, paths: Mapping[str, tuple[str, ...]], outputs: Sequence[str]
) -> list[Variable]:
    """The variables of a study in their order, with names that differ."""
    made = [_make(key, given, paths[key]) for key, given in study.vary.items()]
    refuse_names(outputs, RESERVED)
    names = [v.name for v in made]
    taken = {*RESERVED, *(variable_name(name) for name in outputs)}
    for k, variable in enumerate(made):
        if names.count(variable.name) > 1 or variable.name in taken:
            whole = re.sub(r"\W+", "_", variable.paths[0])
            if whole in taken:
                raise InputError(f"vary.{variable.key}: an output has the same name; rename it")
            made[k] = replace(variable, name=whole, label=variable.paths[0])
    return made


def _make(key: str, given: VariableFile, paths: tuple[str, ...]) -> Variable:
    field = f"vary.{key}"
    name, label = name_and_label(key, paths[0], given.label)
    if given.choice is not None:
        return Variable(key, name, label, "", paths, choices=given.choice)
    unit = _unit(given, paths[0], field)
    low = _number(given.low, unit, f"{field}.low")
    high = _number(given.high, unit, f"{field}.high")
    if low >= high:
        raise InputError(
            f"{field}: the lower bound {given.low} must be below the upper one, {given.high}"
        )
    if given.log and low <= 0:
        raise InputError(f"{field}: a logarithm needs bounds above 0, not {given.low}")
    if given.integer and (low != int(low) or high != int(high)):
        raise InputError(f"{field}: bounds of whole numbers must be whole")
    return Variable(key, name, label, unit, paths, low, high, given.integer, given.log)


def _unit(given: VariableFile, path: str, field: str) -> str:
    units = [u for u in (unit_of(given.low), unit_of(given.high)) if u]
    for unit in units:
        if dimension_of(unit) != dimension_of(units[0]):
            raise InputError(
                f"{field}: '{units[0]}' and '{unit}' are not units of the same quantity"
            )
    for bound in (given.low, given.high):
        if units and not unit_of(bound) and bound != 0:
            raise InputError(
                f"{field}: {bound} has no unit; add '{units[0]}' as for the other bound"
            )
    return units[0] if units else field_unit(path)


def _number(value: Any, unit: str, field: str) -> float:
    try:
        any_to_si(value)
        return in_unit(value, unit) if unit_of(value) else float(value)
    except ValueError:
        raise InputError(f"{field}: {value!r} is no number") from None
