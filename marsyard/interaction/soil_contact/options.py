"""Options of the soil contact model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from marsyard.ground.soil import UNLOADING_STIFFNESS
from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Length, Number

Above = Annotated[Length, Field(gt=0)]


class SoilContactOptions(LawOptions):
    """Options of the soil contact model. Krenn and Hirzinger's original form: pressure bekker,
    shear coulomb, unloading none, slip_transport false."""

    pressure: Literal["bekker", "reece"] = Field(
        "bekker",
        description="bekker: p = (k_c/b + k_φ) zⁿ; reece: p = (c k'_c + γ b k'_φ) (z/b)ⁿ",
    )
    width: Above | None = Field(
        None, description="b of Bekker's law for all bodies [m]; default: each body's own"
    )
    shear: Literal["janosi", "coulomb"] = Field(
        "janosi",
        description="janosi: τ = (c + p tan φ)(1 − exp(−j/K)); coulomb: full strength at any slip",
    )
    stick: Above = Field(
        1e-4, description="slip needed to mobilise the strength with coulomb, in place of K [m]"
    )
    unloading: Literal["elastic", "none"] = Field(
        "elastic", description="elastic: p falls by k_u per metre of rebound; none: at once"
    )
    unloading_stiffness: Annotated[Number, Field(gt=0)] = Field(
        UNLOADING_STIFFNESS,
        description="k_u of soils that do not give their own [Pa/m]; an assumed value, of the size "
        "that Wong reports for sand some centimetres deep",
    )
    damping: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="R, normal stress per speed into the soil [Pa·s/m]"
    )
    flow: bool = Field(True, description="displaced soil is laid down around a body and slides")
    flow_travel: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.2,
        description="way of the fastest body or wheel rim between two flows, in grid spacings",
    )
    deposit_exponent: Annotated[Number, Field(ge=1)] = Field(
        2.0, description="m: how narrowly pushed soil follows its direction, cosᵐ α"
    )
    slip_transport: bool = Field(
        True,
        description="slip carries a layer of soil along: what the grousers hold (and the soil's "
        "shear_layer), a third of which is released under the rear of the wheel",
    )
    slip_sinkage: Literal["lyasko", "exponent", "none"] = Field(
        "lyasko",
        description="lyasko: slip softens soil (Lyasko 2010); exponent: the soil's exponent_slip, "
        "n + n₁ |s|, which holds for the wheel it was found with; none: neither",
    )
    side_walls: bool = Field(
        True, description="soil resists the side walls of sunk wheels that move sideways"
    )
    interface: bool = Field(
        True,
        description="soil slides on the surface of a wheel between its grousers before it shears "
        "in itself; false: as strong as the soil",
    )


#: beside `interaction.soil.model`, whichever soil model that is: the others share some of them
OPTIONS = (Group("", SoilContactOptions),)
