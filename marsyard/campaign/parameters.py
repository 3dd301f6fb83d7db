"""The parameters of a study: the values they set in the scenario, and how these are shown.

A parameter has values (`Levels`: numbers with a unit, or words) or scatters (`Scattered`: a
distribution, `operations.uncertain`). A design picks from either by a share between 0 and 1: of
levels all are equally likely.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from marsyard.campaign.base import Base
from marsyard.campaign.files import name_and_label, refuse_names, refuse_twice
from marsyard.campaign.study_file import StudyFile, Varied
from marsyard.errors import InputError
from marsyard.operations.distributions import Distribution, parse
from marsyard.results.study_checks import variable_name
from marsyard.scenario.short_names import full_path
from marsyard.study.axes import Axis, field_unit, label_of, make_axis
from marsyard.units import UNITS, dimension_of

#: of the data set, beside parameters and outputs
RESERVED = (
    "point", "replica", "completed", "reason", "unconverged", "succeeded", "success_probability",
    "success_low", "success_high", "output", "parameter", "with_parameter", "sobol_first",
    "sobol_total", "sobol_second", "sobol_first_conf", "sobol_total_conf", "sobol_second_conf",
    "sobol_blocks", "rank_correlation",
)  # fmt: skip


@dataclass(frozen=True)
class Picked:
    """A value as shown, and what it sets in the scenario."""

    shown: float | str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Levels:
    """A parameter with values."""

    name: str
    axis: Axis
    relative = False

    @property
    def label(self) -> str:
        return self.axis.label

    @property
    def unit(self) -> str:
        return self.axis.unit

    @property
    def words(self) -> bool:
        return self.axis.words

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.axis.paths)

    def __len__(self) -> int:
        return len(self.axis)

    def level(self, index: int) -> Picked:
        """One of the values."""
        return Picked(self.axis.shown[index], self.axis.settings(index))

    def pick(self, share: float) -> Picked:
        """The value at a share of all."""
        return self.level(min(int(share * len(self)), len(self) - 1))

    def trials(self) -> list[Picked]:
        """Values to try before the study begins."""
        return [self.level(k) for k in range(min(len(self), 100))]

    def ends(self) -> list[Picked]:
        """None that were not tried."""
        return []


@dataclass(frozen=True)
class Scattered:
    """A parameter that scatters; `own` are the scenario's values of its paths."""

    name: str
    label: str
    unit: str
    paths: tuple[str, ...]
    distribution: Distribution
    own: tuple[Any, ...]

    @property
    def words(self) -> bool:
        return any(isinstance(a, str) for a in self.distribution.arguments)

    @property
    def relative(self) -> bool:
        return self.distribution.relative

    def pick(self, share: float) -> Picked:
        """The value below which a share of all lies."""
        drawn = self.distribution.at(share)
        values = [self._value(drawn, own) for own in self.own]
        shown = str(values[0]) if self.words else float(values[0]) / _factor(self.unit)
        return Picked(shown, dict(zip(self.paths, values, strict=True)))

    def _value(self, drawn: Any, own: Any) -> Any:
        if not self.distribution.relative:
            return drawn
        return own * drawn if self.distribution.times else own + drawn

    def trials(self) -> list[Picked]:
        """Values to try before the study begins: all words, or the middle one, with its unit for
        the scenario to judge."""
        middle, given = self.pick(0.5), self.distribution
        if self.words:
            n = len(given.arguments)
            return [self.pick((k + 0.5) / n) for k in range(n)]
        if not given.units or given.relative:
            return [middle]
        return [Picked(middle.shown, {p: f"{middle.shown!r} {self.unit}" for p in self.paths})]

    def ends(self) -> list[Picked]:
        """The least and the largest value of a distribution that has them."""
        given = self.distribution
        if self.words or given.kind in ("normal", "lognormal") and len(given.arguments) < 4:
            return []
        return [self.pick(1e-9), self.pick(1 - 1e-9)]


Parameter = Levels | Scattered


def _factor(unit: str) -> float:
    dimension = dimension_of(unit) if unit else None
    return UNITS[dimension][unit] if dimension else 1.0


def paths_of(study: StudyFile, data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The whole paths that each parameter drives."""
    found = {}
    for name, varied in study.vary.items():
        given = tuple(varied.together) or varied.path or (name,)
        try:
            found[name] = tuple(full_path(p, data) for p in given)
        except InputError as error:
            raise InputError(f"vary.{name}: {error}") from None
    refuse_twice(found)
    return found


def make_parameters(study: StudyFile, base: Base, paths: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of a study in their order, with names that differ."""
    made = [_make(name, study.vary[name], base, paths[name]) for name in study.vary]
    outputs = [o.name for o in study.outputs]
    refuse_names(outputs, RESERVED)
    taken = {variable_name(name) for name in outputs} | set(RESERVED)
    names = [p.name for p in made]
    for k, parameter in enumerate(made):
        if names.count(parameter.name) == 1 and parameter.name not in taken:
            continue
        whole = re.sub(r"\W+", "_", parameter.paths[0])
        if whole in taken:
            raise InputError(f"vary.{list(study.vary)[k]}: an output has the same name; rename it")
        label = parameter.paths[0] if parameter.label == label_of(parameter.paths[0]) else None
        made[k] = _renamed(parameter, whole, label)
    return made


def _renamed(parameter: Parameter, name: str, label: str | None) -> Parameter:
    if isinstance(parameter, Scattered):
        return replace(parameter, name=name, label=label or parameter.label)
    axis = replace(parameter.axis, name=name, label=label or parameter.label)
    return Levels(name, axis)


def _make(key: str, varied: Varied, base: Base, paths: Sequence[str]) -> Parameter:
    field = f"vary.{key}"
    name, label = name_and_label(key, paths[0], varied.label)
    if varied.distribution is not None:
        return _scattered(name, label, field, varied.distribution, base, tuple(paths))
    if varied.together:
        values = dict(zip(paths, varied.together.values(), strict=True))
    else:
        given = varied.values if varied.range is None else varied.range.values()
        assert given is not None
        values = {path: given for path in paths}
    try:
        return Levels(name, replace(make_axis(values, field, label), name=name))
    except ValueError as error:
        raise InputError(str(error)) from None


def _scattered(
    name: str, label: str, field: str, text: str, base: Base, paths: tuple[str, ...]
) -> Scattered:
    distribution = parse(text, field)
    own = tuple(base.own(p) for p in paths) if distribution.relative else (None,) * len(paths)
    for path, value in zip(paths, own, strict=True):
        if distribution.relative and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            word = "times" if distribution.times else "plus"
            raise InputError(
                f"{field}: '{word}' needs a number of the scenario at {path}, not {value!r}"
            )
    units = () if distribution.times else distribution.units
    unit = units[0] if units else field_unit(paths[0])
    if not units and unit == "rad":
        unit = "deg"
    for other in units:
        if dimension_of(other) != dimension_of(unit):
            raise InputError(f"{field}: '{unit}' and '{other}' are not units of the same quantity")
    found = Scattered(name, label, unit, paths, distribution, own)
    return replace(found, unit="") if found.words else found
