"""The `robot.design` of a scenario: sizes and masses of a rover that replace the model's own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from marsyard.fields import Part
from marsyard.units import Length, Mass


class PivotShift(Part):
    """How far the axis of a joint is moved, in the frame of the base, all joints at zero."""

    x: Length = Field(0.0, description="forwards [m]")
    z: Length = Field(0.0, description="upwards [m]")


class RobotDesign(Part):
    """Sizes of the rover; inertias, clearance and height at the start follow from them."""

    wheel_radius: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="radius of all wheels without grousers [m]; their mass scales with r² b"
    )
    wheel_width: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="width of all wheels [m]; their mass scales with it"
    )
    track: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="distance between the middles of the outermost left and right wheels [m]"
    )
    wheelbase: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="distance between the foremost and the rearmost axle [m]"
    )
    mass: Annotated[Mass, Field(gt=0)] | None = Field(
        None, description="mass of the whole rover [kg]; the base takes up the difference"
    )
    pivots: dict[str, PivotShift] = Field(
        {},
        description="displacement of the axes of passive joints, by joint or role; wheels and "
        "links stay in place",
    )
