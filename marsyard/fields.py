"""Field types of the models of scenarios, options and study files."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from marsyard.units import Angle, Length

Point = tuple[Length, Length, Length]
SurfaceName = Annotated[
    str | None, Field(description="its name in results and messages; default: its kind")
]


class Part(BaseModel):
    """A part of a file: immutable, no unknown keys."""

    # built when first used: most scenarios use few parts, and those within another are built there
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def _below_vertical(angle: float) -> float:
    if not 0.0 <= angle < math.pi / 2:
        raise ValueError(
            f"{math.degrees(angle):g}° is not a valid slope; it must be at least 0 and below 90°"
        )
    return angle


#: an inclination, from 0 to below 90° [rad]
Slope = Annotated[Angle, AfterValidator(_below_vertical)]
