"""Options of polygonal contact: layers, faces, and which shapes meet which."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from marsyard.fields import Part
from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Length, Number, Pressure, SoilDamping, SoilStiffness, Speed

Above = Annotated[Length, Field(gt=0)]


class MaterialLayer(Part):
    """An elastic layer on a rigid body."""

    modulus: Annotated[Pressure, Field(gt=0)] = Field(description="Young's modulus E [Pa]")
    poisson: Annotated[Number, Field(ge=0, lt=0.5)] = Field(0.3, description="Poisson's ratio ν")
    thickness: Above = Field(description="b [m]")


class ContactLayer(Part):
    """Stiffness, damping and friction of polygonal contact, per area."""

    stiffness: Annotated[SoilStiffness, Field(gt=0)] | None = Field(
        None,
        description="k, pressure per depth [Pa/m]; default: from `materials`, or 1e9, an assumed "
        "value of a hard tread",
    )
    materials: tuple[MaterialLayer, ...] = Field(
        (), max_length=2, description="the layers of one or both bodies, from which k follows"
    )
    damping: Annotated[SoilDamping, Field(ge=0)] | None = Field(
        None, description="d, pressure per speed [Pa·s/m]; default: k times 1 ms, assumed"
    )
    transition: Annotated[Length, Field(ge=0)] = Field(
        1e-5, description="s_d0, depth over which damping comes in [m]"
    )
    stiffness_tangential: Annotated[SoilStiffness, Field(gt=0)] | None = Field(
        None, description="k_T [Pa/m]; default: of `materials`, or k/2"
    )
    damping_tangential: Annotated[SoilDamping, Field(ge=0)] | None = Field(
        None, description="[Pa·s/m]; default: k_T times 1 ms, assumed"
    )
    stick: Annotated[Number, Field(ge=0)] | None = Field(
        None, description="μ_stick; default: as slip"
    )
    slip: Annotated[Number, Field(ge=0)] | None = Field(
        None, description="μ_slip; default: interaction.friction, or that of the surface"
    )
    slip_speed: Annotated[Speed, Field(gt=0)] = Field(
        1e-4, description="v_T0: a slipping face slower than this sticks [m/s]"
    )

    @model_validator(mode="after")
    def _one_source(self) -> ContactLayer:
        if self.stiffness is not None and self.materials:
            raise ValueError("a layer takes either 'stiffness' or 'materials', not both")
        if self.stick is not None and self.slip is not None and self.stick < self.slip:
            raise ValueError(
                f"stick = {self.stick:g} must not be below slip = {self.slip:g}: what sticks holds "
                "at least as much as what slips"
            )
        return self


class ContactPair(Part):
    """Faces of one shape of the robot against another one."""

    name: str | None = Field(None, description="default: faces-against")
    faces: str = Field(description="shape whose faces carry: the finer one, or the concave one")
    against: str = Field(description="shape they are tested against")
    layer: ContactLayer | None = Field(None, description="default: polygonal.layer")
    refine: Annotated[int, Field(ge=0, le=8)] | None = Field(None, description="see polygonal")


class PolygonalContact(LawOptions):
    """Contact of polygon meshes under elastic layers (law polygonal, and `pairs` with any law)."""

    layer: ContactLayer = ContactLayer()
    face_size: Above = Field(
        0.01, description="longest side of the faces that bodies are divided in [m]"
    )
    refine: Annotated[int, Field(ge=0, le=8)] = Field(
        4, description="how often a face on the border of the contact may be cut in four"
    )
    deepest: Above = Field(0.05, description="depth up to which faces inside a mesh are seen [m]")
    theta: Annotated[Number, Field(ge=0.5, le=1)] = Field(
        1.0,
        description="when in a step the layers' forces are taken: 1, at its end: stable at any "
        "stiffness, what the step does not resolve is damped; ½, in its middle: keeps the energy "
        "of bounces, for steps that resolve the layer",
    )
    pairs: tuple[ContactPair, ...] = Field(
        (), description="shapes of the robot that meet each other, whatever the law of the ground"
    )

    def acts_by(self) -> str:
        """Pairs of shapes meet under any law of the ground."""
        return "pairs" if self.pairs else ""


OPTIONS = (
    Group(
        "polygonal",
        PolygonalContact,
        "numbers of the law polygonal, and shapes of the robot that meet each other; restitution "
        "has no part in it",
    ),
)
