"""Compliant contact in a scenario: stiffness of the ground, elements, the curve of friction."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from marsyard.scenario.part import Part
from marsyard.units import Length, Number, SoilDamping, SoilStiffness

Above = Annotated[Length, Field(gt=0)]


class LooseCurve(Part):
    """F_t/F_n = μ (1 − exp(−X/K)): loose sand."""

    kind: Literal["loose"] = "loose"
    displacement: Above | None = Field(
        None, description="K [m]; default: that of `soil`, or 1 mm, a thin layer of sand"
    )
    soil: str | None = Field(
        None, description="take K from the shear modulus of this soil of the library"
    )

    @model_validator(mode="after")
    def _one_source(self) -> LooseCurve:
        if self.displacement is not None and self.soil is not None:
            raise ValueError("a loose curve takes either 'displacement' or 'soil', not both")
        return self


class DenseCurve(Part):
    """F_t/F_n rises to a peak and falls to μ: dense sand."""

    kind: Literal["dense"]
    displacement: Above = Field(0.002, description="displacement X of the peak [m]")
    peak: Annotated[Number, Field(ge=1.01, le=10)] = Field(
        1.3, description="the peak over what is left after a long way (μ)"
    )


class TableCurve(Part):
    """F_t/F_n = μ φ(X), φ by straight lines between points."""

    kind: Literal["table"]
    points: tuple[tuple[Length, Number], ...] = Field(
        min_length=1,
        description="[X, φ] with X increasing [m]; φ = 1 is μ; (0, 0) need not be given",
    )

    @model_validator(mode="after")
    def _increasing(self) -> TableCurve:
        from marsyard.errors import InputError
        from marsyard.interaction.compliant.curves import table

        try:
            table(self.points)
        except InputError as error:
            raise ValueError(str(error).replace("table: ", "points: ")) from None
        return self


Curve = Annotated[LooseCurve | DenseCurve | TableCurve, Field(discriminator="kind")]


class CompliantContact(Part):
    """Contact of elements of the robot's surface with hard ground (law compliant)."""

    stiffness: Annotated[SoilStiffness, Field(gt=0)] = Field(
        1e8, description="k, normal stress per depth [Pa/m]; an assumed value of firm ground"
    )
    damping: Annotated[SoilDamping, Field(ge=0)] = Field(
        3e5, description="c, normal stress per speed into the ground [Pa·s/m]"
    )
    element_size: Annotated[Length, Field(gt=0)] = Field(
        0.01, description="side of the elements that wheels, feet, … are divided in [m]"
    )
    curve: Curve = Field(
        LooseCurve(), description="share of friction that a displacement mobilises"
    )
