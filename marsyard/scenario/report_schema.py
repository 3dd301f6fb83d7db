"""The `report` of a scenario: figures, checks, questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from marsyard.fields import Part
from marsyard.units import Length, Time


class Figure(Part):
    """One figure: a stack of panels over time, or against another variable."""

    title: str = Field(description="title of the figure")
    panels: tuple[tuple[str, ...], ...] = Field(
        description="panels, each a list of variables of the results, e.g. ['position_base.z']; a "
        "dot selects one component, e.g. 'impulse_normal.RL', 'position_base.x', or "
        "reduces over the components: 'gap.min', 'wheel_rate.mean', "
        "'motor_power.sum', 'gap.max', 'slip_ratio.spread' (standard deviation)"
        ""
    )
    against: str | None = Field(
        None, description="plot against this variable (one curve) instead of time, coloured by time"
    )
    units: tuple[str, ...] = Field(
        (), description="unit of each panel, e.g. ['mm', 'cm²']; SI for '' and missing entries"
    )
    start: Time | None = Field(None, description="start of the plot [s]; default: the run's start")
    end: Time | None = Field(None, description="end of the interval [s]; default: the run's end")
    note: str | None = Field(None, description="the corresponding figure in the source")


Take = Literal[
    "at",
    "mean",
    "min",
    "max",
    "max_abs",
    "range",
    "final",
    "crossing_time",
    "impact_time",
    "impact_speed",
    "impact_impulse",
    "rebound_speed",
    "slope",
]


class Measure(Part):
    """A number taken from the results of a run."""

    name: str = Field(description="name in tables")
    of: str = Field(
        description="variable and component, e.g. 'position_base.z', 'wheel_rate.mean', or "
        "'impact'; or two combined by +, - or / surrounded by spaces, e.g. "
        "'sinkage.FL / sinkage.CL'"
        ""
    )
    take: Take = Field("final", description="value computed from the series between start and end")
    at: Time | None = Field(None, description="for take: at")
    start: Time | None = Field(
        None, description="start of the interval [s]; default: the run's start"
    )
    end: Time | None = Field(None, description="end of the interval [s]; default: the run's end")
    index: int = Field(0, description="for impacts: index of the impact, from 0")
    level: float = Field(0.0, description="for take: crossing_time, the level crossed")


class Check(Measure):
    """A number computed from the results compared with a published or exact one."""

    expected: float = Field(description="expected value, published or exact")
    tolerance: float = Field(gt=0, description="allowed difference of the computed value")
    unit: str = Field("", description="unit of both as shown in the table; SI, not converted")
    source: str = Field("", description="source of the expected value")


class Bound(Measure):
    """A number of a question's answer, and what it must keep to."""

    unit: str = Field(
        "", description="unit of the value (converted, e.g. m to mm); default: that of the series"
    )
    at_least: float | None = Field(None, description="in `unit`")
    at_most: float | None = Field(
        None, description="in `unit`; without bounds the value is only shown"
    )
    source: str = Field("", description="source of the bound")

    @model_validator(mode="after")
    def _in_order(self) -> Bound:
        if self.at_least is not None and self.at_most is not None:
            if self.at_least > self.at_most:
                raise ValueError(
                    f"at_least = {self.at_least:g} must not be above at_most = {self.at_most:g}"
                )
        return self


class Question(Part):
    """A question to a run: yes when every bound is kept, no when one is not."""

    question: str = Field(description="text shown in the report")
    measures: tuple[Bound, ...] = Field((), description="quantities that answer it")
    note: str | None = Field(
        None, description="what a single run cannot answer, e.g. which study does, and how"
    )

    @model_validator(mode="after")
    def _has_an_answer(self) -> Question:
        if not self.measures and not self.note:
            raise ValueError(f"'{self.question}' needs 'measures' or a 'note' that answer it")
        return self


class Section(Part):
    """A cut through the ground that a run left."""

    start: tuple[Length, Length] = Field(description="x, y of its first point [m]")
    end: tuple[Length, Length] = Field(description="x, y of its last point [m]")
    title: str | None = Field(None, description="title of the figure")


class GroundFigures(Part):
    """Figures of soft ground (kind: terrain) as the run left it."""

    show: tuple[Literal["map", "section", "stress", "footprint", "energy"], ...] = Field(
        ("map", "section", "stress", "footprint", "energy"),
        description="map: ruts from above; section: cross section of the ruts; stress: stresses "
        "over the contact angle; footprint: stresses under the wheels at the end; "
        "energy: energy of motors and soil"
        "",
    )
    window: tuple[Length, Length, Length, Length] | None = Field(
        None,
        description="xmin, xmax, ymin, ymax of the map [m]; default: everything that was touched",
    )
    sections: tuple[Section, ...] = Field(
        (), description="cross sections; default: one across the tracks where most wheels passed"
    )
    stress_start: Time | None = Field(
        None,
        description="start of the averaging interval of stresses [s]; default: the last "
        "fifth of the run",
    )
    stress_end: Time | None = Field(
        None, description="end of that interval [s]; default: the run's end"
    )


class Report(Part):
    """What the report shows."""

    figures: tuple[Figure, ...] = Field((), description="drawn in this order")
    ground: GroundFigures = GroundFigures()
    checks: tuple[Check, ...] = Field((), description="a run exits with code 1 if a check fails")
    questions: tuple[Question, ...] = Field(
        (), description="answered above the checks; an answer of no is not a failure of the run"
    )
