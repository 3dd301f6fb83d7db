"""Options of wheel models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from marsyard.exit_rule import Exit
from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Number


class WheelModelOptions(LawOptions):
    """A wheel model in place of the soil contact model, on ground of kind terrain. Other bodies
    keep the soil contact model."""

    exit: Exit | None = Field(
        None,
        description="exit rule, which has a large influence on the pull; default: the rover's "
        "own, or {rule: rebound, value: 0.333}"
        "",
    )
    coefficients: dict[str, Number] = Field(
        {},
        description="coefficients of the model by name; those under extra in the soil need "
        "not be given",
    )
    shear_share: Annotated[Number, Field(ge=0, le=1)] = Field(
        1.0, description="the soil shears at the rim radius plus this share of the grouser height"
    )
    lug_share: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        None,
        description="the soil starts to deform at the radius plus this share of the grouser "
        "height; default: half of the share of the tread on which soil shears on soil"
        "",
    )
    bulldozing: Literal["none", "passive"] = Field(
        "none",
        description="passive: earth pressure in front of a sunk wheel, in addition to compaction; "
        "measured wheels do not show it"
        "",
    )
    rut: bool = Field(
        True,
        description="wheels leave ruts, in which following wheels sink less, and berms beside "
        "them (none with interaction.soil.flow: false)"
        "",
    )
    damping_ratio: Annotated[Number, Field(ge=0, le=2)] = Field(
        0.3, description="damping ratio of the vertical motion on the soil's stiffness"
    )


#: beside `interaction.wheel.model`
OPTIONS = (Group("", WheelModelOptions),)
