"""Soft ground in a scenario: the deformable terrain, the soil contact model, and wheel models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from marsyard.exit_rule import Exit
from marsyard.interaction import about
from marsyard.scenario.part import Part, SurfaceName
from marsyard.scenario.terrain import BumpLayer, TerrainSpec
from marsyard.units import Length, Number

Above = Annotated[Length, Field(gt=0)]


class TerrainGround(Part):
    """Deformable soil on a height grid. Wheels and colliding bodies meet it by the soil contact
    model (see `interaction.soil`)."""

    kind: Literal["terrain"]
    name: SurfaceName = None
    terrain: str | TerrainSpec = Field(
        "flat",
        description="a ground of the library, a YAML or elevation file, or the terrain itself "
        "(layers, soil, places, …)",
    )
    soil: str | dict[str, Any] | None = Field(
        None,
        description="the terrain's own soil: one of the library, or a mapping that changes some of "
        "its numbers ({name: krenn2008, friction_angle: 30 deg}); default: as the terrain says. A "
        "`definition` in the mapping, as run folders have it, holds the soil's file and makes the "
        "name a label",
    )
    soils: dict[str, dict[str, Any]] = Field(
        {},
        description="soils of this ground's own, for places, maps and layers of the terrain to "
        "name: {soft: {name: krenn2008, k_phi: 200 kN/m^(n+2)}}; mappings as for soil",
    )
    spacing: Above = Field(0.02, description="distance of the grid's nodes [m]")
    heaps: tuple[BumpLayer, ...] = Field(
        (),
        description="loose soil laid on the terrain, which slides to its angle of repose at the "
        "start (the terrain itself stands as it is, however steep)",
    )
    outside: Literal["stop", "flat"] = Field(
        "stop",
        description="beyond the terrain's bounds: the run stops there with a message, or the "
        "ground goes on level from its edge",
    )


class Columns(Part):
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
    gravity: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="g of the soil [m/s²]; default: the scenario's, to be given if that is 0"
    )


if TYPE_CHECKING:
    SoilLawName: TypeAlias = str
    WheelModelName: TypeAlias = str
else:
    SoilLawName = Literal[tuple(about.laws(about.SOIL))]
    WheelModelName = Literal[tuple(about.laws(about.WHEEL))]


class SoilContact(Part):
    """Options of the soil contact model. Krenn and Hirzinger's original form: pressure bekker,
    shear coulomb, unloading none, slip_transport false."""

    model: SoilLawName = Field(
        next(iter(about.laws(about.SOIL))), description=about.texts(about.SOIL)
    )
    columns: Columns = Field(Columns(), description="options of columns")
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
        2e7,
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
        description="slip carries a layer of soil along, as thick as the grousers are high (and "
        "the soil's shear_layer): slip sinkage",
    )


class WheelLaw(Part):
    """A wheel model in place of the soil contact model, on ground of kind terrain. Other bodies
    keep the soil contact model."""

    model: WheelModelName = Field(
        description=f"{about.texts(about.WHEEL)} (docs/physics/wheel-models.md)"
    )
    wheels: tuple[str, ...] | None = Field(
        None,
        description="wheels that it is for, by name; the others keep the soil contact model. "
        "Default: all",
    )
    exit: Exit | None = Field(
        None,
        description="exit rule of the tread, which decides about the pull; default: the rover's "
        "own, and where it has none there is no default",
    )
    coefficients: dict[str, Number] = Field(
        {}, description="of the model, by name; what the soil has under extra need not be given"
    )
    shear_share: Annotated[Number, Field(ge=0, le=1)] = Field(
        1.0, description="the soil shears at the rim's radius plus this part of the grousers"
    )
    lug_share: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.5, description="the soil starts to deform at the radius plus this part of the grousers"
    )
    rut: bool = Field(True, description="wheels leave ruts, in which later ones sink less")
    damping_ratio: Annotated[Number, Field(ge=0, le=2)] = Field(
        0.3, description="of the vertical motion on the soil's stiffness"
    )
