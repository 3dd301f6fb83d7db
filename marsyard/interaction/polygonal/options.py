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
        description="k, pressure per depth [Pa/m]; default: from `materials`, or 1e9 (assumed for "
        "a hard tread)"
        "",
    )
    materials: tuple[MaterialLayer, ...] = Field(
        (), max_length=2, description="layers of one or both bodies, from which k is derived"
    )
    damping: Annotated[SoilDamping, Field(ge=0)] | None = Field(
        None, description="d, pressure per speed [Pa·s/m]; default: k times 1 ms, assumed"
    )
    transition: Annotated[Length, Field(ge=0)] = Field(
        1e-5, description="s_d0, depth over which damping comes in [m]"
    )
    stiffness_tangential: Annotated[SoilStiffness, Field(gt=0)] | None = Field(
        None, description="k_T, tangential stiffness [Pa/m]; default: from `materials`, or k/2"
    )
    damping_tangential: Annotated[SoilDamping, Field(ge=0)] | None = Field(
        None, description="tangential damping [Pa·s/m]; default: k_T times 1 ms, assumed"
    )
    stick: Annotated[Number, Field(ge=0)] | None = Field(
        None, description="static friction μ_stick; default: as slip"
    )
    slip: Annotated[Number, Field(ge=0)] | None = Field(
        None,
        description="kinetic friction μ_slip; default: interaction.friction, or that of the "
        "surface",
    )
    slip_speed: Annotated[Speed, Field(gt=0)] = Field(
        1e-4, description="v_T0, speed below which a slipping face sticks [m/s]"
    )

    @model_validator(mode="after")
    def _one_source(self) -> ContactLayer:
        if self.stiffness is not None and self.materials:
            raise ValueError("a layer has either 'stiffness' or 'materials', not both")
        if self.stick is not None and self.slip is not None and self.stick < self.slip:
            raise ValueError(
                f"stick = {self.stick:g} must not be below slip = {self.slip:g}: static friction "
                f"is at least kinetic friction"
                ""
            )
        return self


class ContactPair(Part):
    """Faces of one shape of the robot against another one."""

    name: str | None = Field(None, description="name; default: faces-against")
    faces: str = Field(
        description="shape whose faces carry the load: the finer one, or the concave one"
    )
    against: str = Field(description="shape they are tested against")
    layer: ContactLayer | None = Field(None, description="default: polygonal.layer")
    refine: Annotated[int, Field(ge=0, le=8)] | None = Field(None, description="see polygonal")


class PolygonalContact(LawOptions):
    """Contact of polygon meshes under elastic layers (law polygonal, and `pairs` with any law)."""

    layer: ContactLayer = ContactLayer()
    face_size: Above = Field(
        0.01, description="greatest side length of the faces into which bodies are divided [m]"
    )
    refine: Annotated[int, Field(ge=0, le=8)] = Field(
        4, description="how often a face on the border of the contact may be divided into four"
    )
    deepest: Above = Field(
        0.05, description="greatest depth at which faces inside a mesh are detected [m]"
    )
    theta: Annotated[Number, Field(ge=0.5, le=1)] = Field(
        1.0,
        description="time in a step at which the layer forces are evaluated: 1, at its end: "
        "stable at any stiffness, unresolved motion is damped; ½, at its middle: "
        "conserves the energy of bounces, for steps that resolve the layer"
        "",
    )
    pairs: tuple[ContactPair, ...] = Field(
        (), description="contact pairs of the robot's own shapes, independent of the ground's law"
    )

    def acts_by(self) -> str:
        """Pairs of shapes meet under any law of the ground."""
        return "pairs" if self.pairs else ""


OPTIONS = (
    Group(
        "polygonal",
        PolygonalContact,
        "parameters of the law polygonal, and contact pairs of the robot's own shapes; it has no "
        "restitution"
        "",
    ),
)
