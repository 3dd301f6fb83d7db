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
        1e-4, description="slip that mobilises the full strength with coulomb, in place of K [m]"
    )
    unloading: Literal["elastic", "none"] = Field(
        "elastic", description="elastic: p falls by k_u per metre of rebound; none: at once"
    )
    unloading_stiffness: Annotated[Number, Field(gt=0)] = Field(
        UNLOADING_STIFFNESS,
        description="k_u of soils without their own value [Pa/m]; assumed, of the order that Wong "
        "reports for sand at a depth of some centimetres"
        "",
    )
    damping: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="R, normal stress per speed into the soil [Pa·s/m]"
    )
    flow: bool = Field(True, description="displaced soil is deposited around a body and slides")
    flow_travel: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.2,
        description="distance travelled by the fastest body or wheel rim between two flow "
        "updates, in grid spacings",
    )
    deposit_exponent: Annotated[Number, Field(ge=1)] = Field(
        2.0, description="exponent m: directional spread of pushed soil, cosᵐ α"
    )
    slip_transport: bool = Field(
        True,
        description="slip transports a layer of soil held by the grousers (and the soil's "
        "shear_layer), a third of which is released under the rear of the wheel"
        "",
    )
    slip_sinkage: Literal["lyasko", "exponent", "none"] = Field(
        "lyasko",
        description="lyasko: slip softens soil (Lyasko 2010); exponent: the soil's exponent_slip, "
        "n + n₁ |s|, valid for the wheel it was identified with; none: neither",
    )
    side_walls: bool = Field(
        True, description="soil resists the lateral motion of the side walls of sunk wheels"
    )
    interface: bool = Field(
        True,
        description="soil may slide on the wheel's surface between its grousers before it shears "
        "internally; false: the surface is as strong as the soil"
        "",
    )


#: beside `interaction.soil.model`, whichever soil model that is: the others share some of them
OPTIONS = (Group("", SoilContactOptions),)
