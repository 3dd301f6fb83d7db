"""Contact bodies for locomotion: wheels, feet and tracks.

A *foot* is any body that is set down: its colliding geoms are its shape, whatever they are. Its
`point` is where gaits, margins and records see it (`soles`).

A *track* is a belt around rollers (sprocket, road wheels, idler) that all sit on one body, the
track's frame. In the side view of the frame (x forward, z up) each roller is a circle; the taut
belt is the convex hull of the circles, made larger by its thickness t. The belt moves along itself
with its own speed

    v_b = r_s ω_s   [m/s]

r_s [m] pitch radius (sprocket and half the belt), ω_s [rad/s] the rate of its joint; a positive
rate drives forwards (the lower run moves backwards against the frame). The pull of the ground on
the belt thus turns the sprocket, and nothing else: the belt does not stretch and does not slip on
the sprocket. Its `tension` [N] keeps the lower run between two road wheels from giving way: see
`interaction.soil_contact.belt`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from marsyard.exit_rule import Exit
from marsyard.units import Force, Length, Mass, Number
from marsyard.wheel_surface import TreadSurface


class Grousers(BaseModel):
    """Straight bars across the tread: number, height and thickness [m].

    They stand out of the wheel's radius by their height and are evenly spaced.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    count: Annotated[int, Field(ge=1)]
    height: Annotated[Length, Field(gt=0)]
    thickness: Annotated[Length, Field(gt=0)]


class Wheel(BaseModel):
    """A wheel: the body that turns, its joint and its shape.

    radius [m]: rolling radius, of a cone see `taper`.
    width [m]: of a cylinder; for a torus twice the tread's own radius.
    taper: of a conical wheel, change of radius per metre along the axle (which points left):
    0.2 is a cone that is 2 cm thicker 10 cm further left. `radius` is that of the middle.
    fillet [m]: radius of the tread's rounded edges, 0 for a sharp cylinder.
    crown [m]: radius of the tread's curvature across the wheel, none for a flat tread.
    grousers: none for a smooth wheel.
    surface: of the tread between the grousers, metal unless said.
    exit: where soil leaves the tread, for wheel models; none: as soil, tread and slip make it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    body: str
    joint: str
    radius: Annotated[Length, Field(gt=0)]
    width: Annotated[Length, Field(gt=0)]
    shape: Literal["sphere", "disc", "cylinder", "torus"]
    taper: Annotated[Number, Field(gt=-1, lt=1)] = 0.0
    fillet: Annotated[Length, Field(ge=0)] = 0.0
    crown: Annotated[Length, Field(gt=0)] | None = None
    grousers: Grousers | None = None
    surface: TreadSurface = TreadSurface()
    exit: Exit | None = None

    @property
    def lug_height(self) -> float:
        """Height of the grousers [m], 0 for a smooth wheel."""
        return 0.0 if self.grousers is None else self.grousers.height

    @property
    def largest_radius(self) -> float:
        """Of a cone's large end, on which it rolls on plane ground; else the radius [m]."""
        return self.radius + abs(self.taper) * self.width / 2

    @model_validator(mode="after")
    def _fits_together(self) -> Wheel:
        half = self.width / 2
        if self.taper != 0:
            if self.shape != "cylinder":
                raise ValueError(f"taper: only a cylinder can be conical, not a {self.shape}")
            if abs(self.taper) * half >= self.radius:
                raise ValueError(
                    f"taper = {self.taper:g}: the cone would end in a point inside the width; "
                    f"below {self.radius / half:g} is allowed"
                )
        if self.fillet > half:
            raise ValueError(f"fillet = {self.fillet:g} m: at most half the width, {half:g} m")
        if self.crown is not None and self.crown < half:
            raise ValueError(f"crown = {self.crown:g} m: at least half the width, {half:g} m")
        if self.grousers is not None and self.grousers.height >= self.radius:
            raise ValueError(
                f"grousers.height = {self.grousers.height:g} m: below the radius, {self.radius:g} m"
            )
        return self


class Foot(BaseModel):
    """A foot: a body that stands on the ground, with its colliding geoms as shape.

    point [m]: middle of what touches the ground, in the body's frame; none: found in `soles`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    body: str
    point: tuple[Length, Length, Length] | None = None


#: so many road wheels a track may have
MOST_ROAD_WHEELS = 24
#: so many of the smallest roller's radii a belt may be long
MOST_ROLLERS = 400


class Roller(BaseModel):
    """A circle the belt goes round, in the side view of the track's frame [m]."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    x: Length
    z: Length
    radius: Annotated[Length, Field(gt=0)]


class Track(BaseModel):
    """A belt around rollers on one body.

    body: the track's frame, which carries the rollers. joint: of the sprocket.
    sprocket, idler: rollers at the ends; road_wheels: those that stand on the lower run.
    y [m]: middle plane of the belt in the frame. width, thickness [m]: of the belt.
    tension [N]: of the belt; none: it does not give way between road wheels.
    mass [kg]: of the belt, moved along by the sprocket (its weight belongs to the model's bodies).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    body: str
    joint: str
    sprocket: Roller
    idler: Roller
    road_wheels: Annotated[tuple[Roller, ...], Field(min_length=1, max_length=MOST_ROAD_WHEELS)]
    width: Annotated[Length, Field(gt=0)]
    y: Length = 0.0
    thickness: Annotated[Length, Field(ge=0)] = 0.0
    tension: Annotated[Force, Field(ge=0)] | None = None
    mass: Annotated[Mass, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _rollers_of_a_size(self) -> Track:
        """The belt between rollers is felt in pieces of the smallest one's size."""
        ends = [r.x + side * r.radius for r in self.rollers for side in (-1.0, 1.0)]
        least = (max(ends) - min(ends)) / MOST_ROLLERS
        for r in self.rollers:
            if r.radius < least:
                raise ValueError(
                    f"a roller of radius {r.radius:g} m is too small for a belt of this length; "
                    f"at least {least:.3g} m is needed"
                )
        return self

    @property
    def pitch_radius(self) -> float:
        """r_s: distance of the belt's middle per radian of the sprocket [m]."""
        return self.sprocket.radius + self.thickness / 2

    @property
    def rollers(self) -> tuple[Roller, ...]:
        """All of them: sprocket, road wheels, idler."""
        return (self.sprocket, *self.road_wheels, self.idler)
