"""Shapes: named surfaces of a robot's bodies for polygonal contact.

A shape sits on a body, in a frame of its own: `place` is its origin and `axis` its z, in the body's
frame. It is one of

    revolution   a body of revolution about z, by its longitudinal section r(z)
    geom         a geom of the model: sphere, capsule, cylinder, ellipsoid, box or mesh
    mesh         a closed mesh from a file (STL, OBJ, PLY)

The section of a body of revolution may change with a joint: `profiles` lists it for several
coordinates, with the same number of points each; in between it is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from marsyard.errors import InputError
from marsyard.units import AnyQuantity, Length, Number

Point = tuple[Length, Length]


def check_profile(points: Sequence[Sequence[float]], where: str) -> np.ndarray:
    """(z, r) as an array, or a sentence that begins with `where`."""
    try:
        made = np.array(points, dtype=float)
    except (TypeError, ValueError):
        made = np.zeros(0)
    if made.ndim != 2 or made.shape[1] != 2 or len(made) < 2:
        raise InputError(f"{where}: must be at least two points [z, r]")
    if not np.all(np.isfinite(made)):
        raise InputError(f"{where}: must be finite numbers")
    steps = np.flatnonzero(np.diff(made[:, 0]) <= 0.0)
    if len(steps):
        i = int(steps[0])
        raise InputError(
            f"{where}: z must increase from point to point, but goes from {made[i, 0]:g} m to "
            f"{made[i + 1, 0]:g} m after point {i + 1}"
        )
    if np.any(made[:, 1] < 0.0):
        i = int(np.argmin(made[:, 1]))
        raise InputError(
            f"{where}: r = {made[i, 1]:g} m at z = {made[i, 0]:g} m: must not be below 0"
        )
    if not np.any(made[:, 1] > 0.0):
        raise InputError(f"{where}: r is 0 everywhere; the radius must be positive somewhere")
    return made


class ChangingProfile(BaseModel):
    """Sections for several coordinates of a joint."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    joint: str
    at: tuple[AnyQuantity, ...] = Field(min_length=2, description="[m] or [rad], increasing")
    profile: tuple[tuple[Point, ...], ...]

    @model_validator(mode="after")
    def _as_many(self) -> ChangingProfile:
        if len(self.at) != len(self.profile):
            raise ValueError(
                f"'at' has {len(self.at)} coordinates and 'profile' {len(self.profile)} sections; "
                "as many are needed"
            )
        if any(b <= a for a, b in zip(self.at[:-1], self.at[1:], strict=True)):
            raise ValueError("'at' must increase from coordinate to coordinate")
        if len({len(p) for p in self.profile}) > 1:
            raise ValueError("all sections of a changing profile need the same number of points")
        return self


class Revolution(BaseModel):
    """A body of revolution about z.

    profile [m]: (z, r), z increasing; profiles: one that changes with a joint instead.
    solid: whether the body is inside its profile (a bolt) or outside (the wall of a nozzle).
    samples: take so many points of the profile, denser where it bends; default: all, as given.
    steps: around the axis, for its faces.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    profile: tuple[Point, ...] | None = None
    profiles: ChangingProfile | None = None
    solid: Literal["inside", "outside"] = "inside"
    samples: Annotated[int, Field(ge=2, le=10_000)] | None = None
    steps: Annotated[int, Field(ge=8, le=100_000)] = 96

    @model_validator(mode="after")
    def _one_source(self) -> Revolution:
        if (self.profile is None) == (self.profiles is None):
            raise ValueError("a revolution needs either 'profile' or 'profiles'")
        if self.profiles is not None and self.samples is not None:
            raise ValueError("'samples' is for a profile that does not change")
        sections = [self.profile] if self.profile is not None else list(self.profiles.profile)  # type: ignore[union-attr]
        for section in sections:
            try:
                check_profile(section, "profile")
            except InputError as error:
                raise ValueError(str(error)) from None
        return self


class Shape(BaseModel):
    """A named surface of a body."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    body: str
    place: tuple[Length, Length, Length] = (0.0, 0.0, 0.0)
    axis: tuple[Number, Number, Number] = (0.0, 0.0, 1.0)
    revolution: Revolution | None = None
    geom: str | None = None
    mesh: str | None = None
    scale: Annotated[Number, Field(gt=0)] = 1.0
    face_size: Annotated[Length, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Shape:
        given = [k for k in ("revolution", "geom", "mesh") if getattr(self, k) is not None]
        if len(given) != 1:
            raise ValueError("a shape is exactly one of 'revolution', 'geom' and 'mesh'")
        placed = self.model_fields_set & {"place", "axis"}
        if self.geom is not None and placed:
            raise ValueError(
                f"a geom has its own pose in the model; '{min(placed)}' applies to 'revolution' "
                f"and 'mesh'"
                ""
            )
        if self.mesh is None and "scale" in self.model_fields_set:
            raise ValueError("'scale' is for 'mesh' only")
        if sum(a * a for a in self.axis) == 0.0:
            raise ValueError("axis: must have a length above zero")
        return self
