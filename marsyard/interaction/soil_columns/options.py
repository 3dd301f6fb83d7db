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
        2.0, description="active height of a column under a body, in widths of the body"
    )
    depth: Above | None = Field(
        None,
        description="thickness of the soil layer, the largest active height [m]; default: deep",
    )
    match_sinkage: Above = Field(
        0.01,
        description="a soil without triaxial modulus gets the one that carries as much as its "
        "pressure-sinkage law at this sinkage [m]",
    )
    viscosity: Annotated[Number, Field(gt=0)] = Field(
        10.0, description="ν of ẍ = −ν ẋ + g sin α, flowing soil [1/s]; an assumed value"
    )
    rest: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.96,
        description="flow ends at this part of the critical slope (as tangent); an assumed value",
    )
    planar: bool = Field(
        False,
        description="the planar model of the paper: rows of columns along x do not exchange matter",
    )
    gravity: Annotated[Gravity, Field(gt=0)] | None = Field(
        None, description="g of the soil [m/s²]; default: the scenario's, to be given if that is 0"
    )


OPTIONS = (Group("columns", Columns, "options of columns"),)
