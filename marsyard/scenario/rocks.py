"""Hard rocks in a scenario: a field of them, single ones, or both."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from marsyard.fields import Part, SurfaceName
from marsyard.scenario.terrain import Above, Circle, Point2, Rectangle, Seed, _rectangle
from marsyard.units import Angle, Number

Buried = Annotated[Number, Field(ge=0, lt=1)]
Elongation = Annotated[Number, Field(ge=1, le=3)]


class SingleRock(Part):
    """A rock at a place."""

    place: Point2 = Field(description="position of its centre [m]")
    diameter: Above = Field(description="√(length · width), seen from above [m]")
    height: Above | None = Field(
        None, description="of the whole rock, from its lowest to its highest point [m]; default: "
        "the diameter"
    )  # fmt: skip
    elongation: Elongation = Field(1.0, description="length over width, seen from above")
    heading: Angle = Field(0.0, description="heading of its long axis, 0 = +x [rad]")
    buried: Buried = Field(0.5, description="share of the height below the surface")
    seed: Seed | None = Field(
        None, description="seed of its shape; default: derived from the ground's seed and its index"
    )


class RockField(Part):
    """A field of rocks: the share of the ground covered by rocks of diameter D or more is
    coverage · exp(−q D), q = 1.79 + 0.152 / coverage per metre (Golombek and Rapp 1997)."""

    area: Rectangle = Field(description="area of their centres: x from, to; y from, to [m]")
    coverage: Annotated[Number, Field(gt=0, le=0.4)] = Field(
        description="share k of the ground covered by rocks of all sizes"
    )
    smallest: Above = Field(0.05, description="smallest diameter [m]")
    largest: Above = Field(2.0, description="largest diameter [m]")
    height_ratio: Annotated[Number, Field(gt=0, le=2)] = Field(
        1.0, description="height of the whole rock over its diameter (assumed)"
    )
    elongation: Elongation = Field(
        1.5,
        description="length over width, seen from above, uniformly distributed from 1 to this "
        "value (assumed)",
    )
    buried: Buried = Field(0.5, description="share of the height below the surface (assumed)")
    clear: tuple[Circle, ...] = Field(
        (), description="circles without any, e.g. where a rover starts"
    )
    #: the mesh of a field ends
    repeat: ClassVar[bool] = False

    _area = field_validator("area")(_rectangle)

    @model_validator(mode="after")
    def _ordered(self) -> RockField:
        if not self.smallest < self.largest:
            raise ValueError(
                f"smallest = {self.smallest:g} m must be below largest = {self.largest:g} m"
            )
        return self


class RocksGround(Part):
    """Hard rocks, closed meshes that lie on the ground of kind terrain, or on z = 0 where there is
    none, and partly in it. All of them are one surface. Wheels meet them by `interaction.law`, and
    the soil between them by `interaction.soil`."""

    kind: Literal["rocks"]
    name: SurfaceName = None
    field: RockField | None = Field(
        None, description="random rocks with the size distribution counted on Mars"
    )
    rocks: tuple[SingleRock, ...] = Field(
        (), description="single rocks; rocks of the field that would touch them are left out"
    )
    roughness: Annotated[Number, Field(ge=0, le=0.3)] = Field(
        0.06, description="RMS of the bumps, as share of the radius (assumed); 0: ellipsoids"
    )
    faces: Annotated[int, Field(ge=20, le=20480)] = Field(
        320, description="number of triangles of a rock; rounded to the nearest 20 n²"
    )
    seed: Seed = Field(0, description="seed of everything random in it")

    @model_validator(mode="after")
    def _some(self) -> RocksGround:
        if self.field is None and not self.rocks:
            raise ValueError("give a 'field' of rocks, single 'rocks', or both")
        return self
