"""Options of soil in columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Gravity, Length, Number

Above = Annotated[Length, Field(gt=0)]


class Columns(LawOptions):
    """Granular soil in columns (Grand, Ben Amar, Bidaud 2001, section 3.2): options of
    `model: columns`."""

    influence: Annotated[Number, Field(gt=0)] = Field(
        2.0, description="active height of a column under a body, in body widths"
    )
    depth: Above | None = Field(
        None,
        description="thickness of the soil layer, the largest active height [m]; default: deep",
    )
    match_sinkage: Above = Field(
        0.01,
        description="sinkage at which a soil without triaxial modulus matches its "
        "pressure-sinkage law [m]"
        "",
    )
    viscosity: Annotated[Number, Field(gt=0)] = Field(
        10.0, description="ν of ẍ = −ν ẋ + g sin α for flowing soil [1/s]; assumed"
    )
    rest: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.96,
        description="share of the critical slope (as tangent) at which flow stops; assumed",
    )
    planar: bool = Field(
        False,
        description="planar model of the paper: rows of columns along x do not exchange soil",
    )
    gravity: Annotated[Gravity, Field(gt=0)] | None = Field(
        None,
        description="gravity of the soil [m/s²]; default: the scenario's; required if that is 0",
    )


OPTIONS = (Group("columns", Columns, "options of columns"),)
