"""The `report` of a scenario: figures, numbers taken from a run, checks of them, questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from marsyard.fields import Part
from marsyard.units import Length, Time


class Figure(Part):
    """One figure: a stack of panels over time, or against another variable."""

    title: str = Field(description="heading of the figure")
    panels: tuple[tuple[str, ...], ...] = Field(
        description="each panel a list of variables of the results, e.g. ['position_base.z']; "
        "a dot picks one component, e.g. 'impulse_normal.RL', 'position_base.x', or reduces those "
        "left: 'gap.min', 'wheel_rate.mean', 'motor_power.sum', 'gap.max', "
        "'slip_ratio.spread' (standard deviation)"
    )
    against: str | None = Field(
        None, description="draw over this variable (one curve) instead of time, coloured by time"
    )
    units: tuple[str, ...] = Field(
        (), description="unit of each panel, e.g. ['mm', 'cm²']; '' and what is left out stay SI"
    )
    start: Time | None = Field(None, description="draws from here [s]; default: the run's start")
    end: Time | None = Field(None, description="and to here [s]; default: the run's end")
    note: str | None = Field(None, description="which figure of the source shows the same")


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

    name: str = Field(description="what tables call it")
    of: str = Field(
        description="variable and component, e.g. 'position_base.z', 'wheel_rate.mean', or "
        "'impact'; two with + - or / between spaces, e.g. 'sinkage.FL / sinkage.CL'"
    )
    take: Take = Field("final", description="what is taken of the series between start and end")
    at: Time | None = Field(None, description="for take: at")
    start: Time | None = Field(None, description="looks from here [s]; default: the run's start")
    end: Time | None = Field(None, description="and to here [s]; default: the run's end")
    index: int = Field(0, description="for impacts: which one, from 0")
    level: float = Field(0.0, description="for take: crossing_time, the level crossed")


class Check(Measure):
    """A number computed from the results against a published or exact one."""

    expected: float = Field(description="the published or exact number")
    tolerance: float = Field(gt=0, description="by how much the computed one may differ")
    unit: str = Field("", description="unit of both, as the table shows it; SI, not converted")
    source: str = Field("", description="where the expected value comes from")


class Bound(Measure):
    """A number of a question's answer, and what it must keep to."""

    unit: str = Field(
        "", description="unit it is given in (converted, e.g. m to mm); default: that of the series"
    )
    at_least: float | None = Field(None, description="in `unit`")
    at_most: float | None = Field(None, description="in `unit`; without both it is only shown")
    source: str = Field("", description="where the bound comes from")

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

    question: str = Field(description="as it stands in the report")
    measures: tuple[Bound, ...] = Field((), description="the numbers that answer it")
    note: str | None = Field(
        None, description="what one run cannot say, e.g. which study answers it, and how"
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
    title: str | None = Field(None, description="heading of the figure")


class GroundFigures(Part):
    """Figures of soft ground (kind: terrain) as the run left it."""

    show: tuple[Literal["map", "section", "stress", "footprint", "energy"], ...] = Field(
        ("map", "section", "stress", "footprint", "energy"),
        description="map: ruts seen from above; section: a cut through them; stress: over the "
        "contact angle; footprint: stresses under the wheels at the end; energy: motors and soil",
    )
    window: tuple[Length, Length, Length, Length] | None = Field(
        None, description="xmin, xmax, ymin, ymax of the map [m]; default: all that was touched"
    )
    sections: tuple[Section, ...] = Field(
        (), description="cuts; default: one across the tracks where most wheels have passed"
    )
    stress_start: Time | None = Field(
        None, description="stresses are means from here [s]; default: the last fifth of the run"
    )
    stress_end: Time | None = Field(None, description="to here [s]; default: the run's end")


class Report(Part):
    """What the report shows."""

    figures: tuple[Figure, ...] = Field((), description="drawn in this order")
    ground: GroundFigures = GroundFigures()
    checks: tuple[Check, ...] = Field((), description="a run fails with exit code 1 where one does")
    questions: tuple[Question, ...] = Field(
        (), description="answered above the checks; an answer of no is no failure of the run"
    )
