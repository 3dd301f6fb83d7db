"""The `study` of a scenario: a family of runs in one file.

The scenario is run once for each value of a dotted path (or of several, driven together), and for
each value of a second one if there is. Numbers are taken from each run, drawn against the varied
value, and compared. Values keep the unit they are written with: figures and tables show it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from marsyard.errors import suggest
from marsyard.fields import Part
from marsyard.scenario.report_schema import Measure
from marsyard.units import any_to_si, to_si, unit_of


def _number_or_text(value: Any) -> Any:
    """Numbers, texts with a known unit, and words stay as written."""
    if isinstance(value, bool | str):
        return value
    return to_si(value, "number")


def _with_unit(value: Any) -> Any:
    any_to_si(value)
    return value if isinstance(value, str) else float(value)


Value = Annotated[bool | float | str, BeforeValidator(_number_or_text)]
#: a number with or without unit, kept as written: it is shown in that unit
Quantity = Annotated[float | str, BeforeValidator(_with_unit)]


class Range(Part):
    """Evenly spaced values."""

    start: Quantity = Field(description="first value, with its unit")
    stop: Quantity = Field(description="last value, in the same unit")
    count: Annotated[int, Field(ge=2, le=10_000)] = Field(
        description="number of values, including both ends"
    )

    @model_validator(mode="after")
    def _same_unit(self) -> Range:
        if unit_of(self.start) != unit_of(self.stop):
            raise ValueError(f"start '{self.start}' and stop '{self.stop}' need the same unit")
        if any_to_si(self.start) == any_to_si(self.stop):
            raise ValueError(f"start and stop are both {self.start}; they must differ")
        return self

    def values(self) -> tuple[float | str, ...]:
        """The values, each with the unit."""
        unit = unit_of(self.start)
        first, last = (float(str(v).removesuffix(unit)) for v in (self.start, self.stop))
        step = (last - first) / (self.count - 1)
        # twelve digits are more than anybody writes and hide the rounding of the division
        numbers = [float(f"{first + k * step:.12g}") for k in range(self.count)]
        return tuple(f"{n:.12g} {unit}" if unit else n for n in numbers)


def _kind_of(value: Any) -> str | None:
    """Which of the forms a value has; the marks are left out of error sentences."""
    if isinstance(value, str):
        return "→path"
    if isinstance(value, dict | Range):
        return "→mapping"
    return "→list" if isinstance(value, list | tuple) else None


def _either(message: str) -> Any:
    return Discriminator(_kind_of, custom_error_type="form", custom_error_message=message)


Values = Annotated[
    Annotated[tuple[Value, ...], Field(min_length=1), Tag("→list")]
    | Annotated[Range, Tag("→mapping")],
    _either("give a list of values, or start, stop and count"),
]
Driven = Annotated[
    Annotated[str, Tag("→path")] | Annotated[dict[str, Values], Tag("→mapping")],
    _either("give a path of the scenario, or several, each with its values"),
]


class Output(Measure):
    """A number taken from each run of a study."""

    unit: str = Field(
        "", description="unit of the value (converted, e.g. m to mm); default: that of the series"
    )


class Reference(Part):
    """Points to compare with, drawn into a panel of a study's figure."""

    name: str = Field(description="label in the legend")
    panel: Annotated[int, Field(ge=0)] = Field(0, description="index of the panel, from 0")
    x: Annotated[tuple[Quantity, ...], Field(min_length=1)] = Field(
        description="the varied value, SI or with a unit"
    )
    y: tuple[float, ...] = Field(description="in the unit of the panel's outputs")
    draw: Literal["points", "line"] = Field("points", description="points, or a dashed line")
    also: Value | None = Field(None, description="drawn in the colour of this curve")
    source: str = Field(description="source of the points")

    @model_validator(mode="after")
    def _as_many(self) -> Reference:
        if len(self.x) != len(self.y):
            raise ValueError(f"x has {len(self.x)} values and y {len(self.y)}; as many are needed")
        return self


class StudyFigure(Part):
    """One figure of a study: a stack of panels, outputs against the varied value(s)."""

    title: str = Field(description="title of the figure")
    kind: Literal["curves", "map"] = Field(
        "curves",
        description="curves over the varied value; or maps with the varied value and that of "
        "'also' as axes, outputs as colours, and the region of success outlined"
        "",
    )
    panels: tuple[tuple[str, ...], ...] = Field(
        description="panels, each a list of names of outputs"
    )
    reference: tuple[Reference, ...] = Field((), description="points to compare with")
    note: str | None = Field(None, description="the corresponding figure in the source")


class Bisect(Part):
    """Refine the boundary between the runs that succeed and those that fail."""

    output: str = Field(description="output that decides between success and failure")
    below: float | None = Field(None, description="a run fails if the output is below this value")
    above: float | None = Field(None, description="or above this value; exactly one of the two")
    tolerance: Quantity = Field(
        description="required width of the boundary interval, in the varied value"
    )

    @model_validator(mode="after")
    def _one_threshold(self) -> Bisect:
        if (self.below is None) == (self.above is None):
            raise ValueError("give either 'below' or 'above', exactly one of the two")
        if any_to_si(self.tolerance) <= 0:
            raise ValueError(f"tolerance = {self.tolerance}: must be above 0")
        return self


class Limit(Part):
    """What an output must keep to for a run to count as a success."""

    output: str = Field(description="name of an output")
    at_least: float | None = Field(None, description="in the output's unit")
    at_most: float | None = Field(None, description="in the output's unit")

    @model_validator(mode="after")
    def _some(self) -> Limit:
        if self.at_least is None and self.at_most is None:
            raise ValueError(f"'{self.output}' needs 'at_least' or 'at_most'")
        if self.at_least is not None and self.at_most is not None:
            if self.at_least > self.at_most:
                raise ValueError(
                    f"at_least = {self.at_least:g} must not be above at_most = {self.at_most:g}"
                )
        return self


class StudyCheck(Part):
    """A number of the whole study against a published or exact one."""

    name: str = Field(description="name in the table")
    output: str | None = Field(None, description="name of an output; not for take: boundary")
    take: Literal["at", "min", "max", "least_rise", "crossing", "boundary"] = Field(
        "at",
        description="the output at a varied value (interpolated); its extremes; its smallest "
        "change between consecutive varied values, positive if it always increases; "
        "the varied value at which it crosses level; or the midpoint of the boundary "
        "found by bisect"
        "",
    )
    at: Quantity | None = Field(None, description="for take: at, the varied value")
    level: float = Field(0.0, description="for take: crossing")
    also: Value | None = Field(None, description="the curve, if there are several")
    divided_by: Value | None = Field(
        None, description="another curve, by whose output this one's is divided"
    )
    expected: Quantity = Field(description="in the output's unit; a varied value with its unit")
    tolerance: Quantity = Field(description="allowed difference, in the same unit")
    source: str = Field("", description="source of the expected value")

    @model_validator(mode="after")
    def _complete(self) -> StudyCheck:
        if self.take != "boundary" and self.output is None:
            raise ValueError(f"take: {self.take} needs an 'output'")
        if self.take == "at" and self.at is None:
            raise ValueError("take: at needs 'at', a varied value")
        if self.divided_by is not None and self.take in ("crossing", "boundary"):
            raise ValueError(f"take: {self.take} goes without 'divided_by'")
        if any_to_si(self.tolerance) <= 0:
            raise ValueError(f"tolerance = {self.tolerance}: must be above 0")
        return self


class Study(Part):
    """A family of runs: the scenario once for each value, with outputs of each run."""

    vary: Driven = Field(
        description="a dotted path of the scenario, as for --set, with values in 'values' or "
        "'range'; or several paths varied together, each with its values"
        ""
    )
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(
        None, description="numbers, texts with a unit ('5 deg') or words"
    )
    range: Range | None = Field(None, description="instead of values")
    also: dict[str, Values] = Field({}, description="a second path and its values: several curves")
    label: str = Field("", description="what the varied value is called in figures")
    outputs: Annotated[tuple[Output, ...], Field(min_length=1)] = Field(
        description="numbers taken from each run"
    )
    figures: tuple[StudyFigure, ...] = Field((), description="default: a panel per output")
    success: tuple[Limit, ...] = Field(
        (), description="a run has succeeded when all are kept; shown in the table and in maps"
    )
    bisect: Bisect | None = Field(None, description="search for the boundary of success")
    checks: tuple[StudyCheck, ...] = Field(
        (), description="checks of the whole study; it exits with code 1 if one fails"
    )
    keep: Literal["none", "last", "all"] = Field(
        "last", description="runs kept in the run folder, under members/"
    )

    @model_validator(mode="after")
    def _complete(self) -> Study:
        given = [n for n in ("values", "range") if getattr(self, n) is not None]
        if isinstance(self.vary, str) and len(given) != 1:
            raise ValueError("vary: a path needs either 'values' or 'range'")
        if isinstance(self.vary, dict) and (given or not self.vary):
            raise ValueError(
                f"vary: with several paths, each has its own values; remove {given[:1]}"
            )
        for name in ("driven", "curves"):
            lengths = {p: len(v) for p, v in getattr(self, name).items()}
            if len(set(lengths.values())) > 1:
                said = ", ".join(f"{p} {n}" for p, n in lengths.items())
                raise ValueError(f"paths driven together need as many values each: {said}")
        names = [o.name for o in self.outputs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"outputs: two are called '{name}'; names must differ")
        for place, name in self._names_used():
            if name not in names:
                raise ValueError(f"{place}: no output is called '{name}'; {suggest(name, names)}")
        for k, figure in enumerate(self.figures):
            if figure.kind == "map" and not self.also:
                raise ValueError(f"figures.{k}: a map needs a second path, 'also'")
            if figure.kind == "map" and figure.reference:
                raise ValueError(f"figures.{k}: a map takes no 'reference'; use kind: curves")
            for reference in figure.reference:
                if reference.panel >= len(figure.panels):
                    raise ValueError(
                        f"figures.{k}.reference: panel {reference.panel} does not exist; from 0 to "
                        f"{len(figure.panels) - 1} is allowed"
                    )
        if self.bisect is None and any(c.take == "boundary" for c in self.checks):
            raise ValueError("checks: take: boundary needs 'bisect'")
        return self

    def _names_used(self) -> list[tuple[str, str]]:
        used = [
            (f"figures.{k}.panels", n)
            for k, figure in enumerate(self.figures)
            for panel in figure.panels
            for n in panel
        ]
        used += [(f"checks.{k}.output", c.output) for k, c in enumerate(self.checks) if c.output]
        used += [(f"success.{k}.output", limit.output) for k, limit in enumerate(self.success)]
        return used + ([("bisect.output", self.bisect.output)] if self.bisect else [])

    @property
    def driven(self) -> dict[str, tuple[Any, ...]]:
        """The values of every varied path."""
        if isinstance(self.vary, str):
            given = self.values if self.range is None else self.range.values()
            return {self.vary: given or ()}
        return _listed(self.vary)

    @property
    def curves(self) -> dict[str, tuple[Any, ...]]:
        """The values of the second axis."""
        return _listed(self.also)


def _listed(paths: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {p: v.values() if isinstance(v, Range) else v for p, v in paths.items()}
