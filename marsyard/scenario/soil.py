"""Soft ground in a scenario: the deformable terrain, which soil model and which wheel model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from marsyard.fields import Part, SurfaceName
from marsyard.interaction import about
from marsyard.interaction.options import LawOptions, with_options
from marsyard.scenario.terrain import BumpLayer, TerrainSpec
from marsyard.units import Length

Above = Annotated[Length, Field(gt=0)]


class TerrainGround(Part):
    """Deformable soil on a height grid. Wheels and colliding bodies meet it by the soil contact
    model (see `interaction.soil`)."""

    kind: Literal["terrain"]
    name: SurfaceName = None
    terrain: str | TerrainSpec = Field(
        "flat",
        description="a ground of the library, a YAML or elevation file, or a terrain definition "
        "(layers, soil, places, …)"
        "",
    )
    soil: str | dict[str, Any] | None = Field(
        None,
        description="soil of the terrain: one of the library, or a mapping that changes some of "
        "its numbers ({name: krenn2008, friction_angle: 30 deg}); default: as defined "
        "in the terrain. A `definition` in the mapping, as in run folders, contains "
        "the soil's file; the name is then only a label"
        "",
    )
    soils: dict[str, dict[str, Any]] = Field(
        {},
        description="soils defined for this ground, to be named by places, maps and layers of the "
        "terrain: {"
        "soft: {name: krenn2008, k_phi: 200 kN/m^(n+2)}}; mappings as for soil",
    )
    gravity_scaling: Literal["none", "reece", "granular"] = Field(
        "none",
        description="scaling of the soil parameters from the gravity they were measured at to the "
        "scenario's. none: as measured; reece: k_phi scales with gravity; granular: "
        "k_c as well (see docs/physics/soils.md)"
        "",
    )
    spacing: Above = Field(0.02, description="spacing of the grid nodes [m]")
    heaps: tuple[BumpLayer, ...] = Field(
        (),
        description="loose soil on top of the terrain, which slides to its angle of repose at the "
        "start (the terrain itself keeps its shape, however steep)"
        "",
    )
    outside: Literal["stop", "flat"] = Field(
        "stop",
        description="beyond the terrain's bounds: the run stops with a message, or the ground "
        "continues level from its edge"
        "",
    )


if TYPE_CHECKING:
    SoilLawName: TypeAlias = str
    WheelModelName: TypeAlias = str
else:
    SoilLawName = Literal[tuple(about.laws(about.SOIL))]
    WheelModelName = Literal[tuple(about.laws(about.WHEEL))]


@with_options(about.SOIL)
class SoilContact(LawOptions):
    """Which soil model acts, with the options of all of them."""

    model: SoilLawName = Field(
        next(iter(about.laws(about.SOIL))), description=about.texts(about.SOIL)
    )


@with_options(about.WHEEL)
class WheelLaw(LawOptions):
    """Which wheel model acts, with the options of all of them."""

    model: WheelModelName = Field(
        description=f"{about.texts(about.WHEEL)} (docs/physics/wheel-models.md)"
    )
    wheels: tuple[str, ...] | None = Field(
        None,
        description="names of the wheels it applies to; all others use the soil contact model. "
        "Default: all"
        "",
    )
