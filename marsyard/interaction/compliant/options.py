"""Options of compliant contact: stiffness of the ground, elements, the curve of friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from marsyard.errors import InputError
from marsyard.fields import Part
from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Length, Number, SoilDamping, SoilStiffness

Above = Annotated[Length, Field(gt=0)]


class LooseCurve(Part):
    """F_t/F_n = μ (1 − exp(−X/K)): loose sand."""

    kind: Literal["loose"] = "loose"
    displacement: Above | None = Field(
        None,
        description="shear displacement K [m]; default: that of `soil`, or 1 mm, a thin "
        "layer of sand",
    )
    soil: str | None = Field(None, description="soil of the library whose shear modulus is K")

    @model_validator(mode="after")
    def _one_source(self) -> LooseCurve:
        if self.displacement is not None and self.soil is not None:
            raise ValueError("a loose curve has either 'displacement' or 'soil', not both")
        return self


class DenseCurve(Part):
    """F_t/F_n rises to a peak and falls to μ: dense sand."""

    kind: Literal["dense"]
    displacement: Above = Field(0.002, description="displacement X at the peak [m]")
    peak: Annotated[Number, Field(ge=1.01, le=10)] = Field(
        1.3, description="peak over residual friction (μ)"
    )


def table_mistake(points: Sequence[tuple[float, float]]) -> str:
    """What is wrong with a table of friction, or ''. Points are (X [m], φ); (0, 0) need not be
    given."""
    if not points:
        return "needs at least one point (X, share of friction)"
    if points[0][0] > 0.0:
        points = [(0.0, 0.0), *points]
    pairs = list(zip(points[:-1], points[1:], strict=True))
    if points[0][0] < 0.0 or any(b[0] <= a[0] for a, b in pairs):
        return "displacements must start at 0 or above and increase"
    if points[0][1] != 0.0 or len(points) < 2 or any(y < 0.0 for _, y in points):
        return "shares must be 0 at displacement 0 and nowhere negative"
    if all(b[1] <= a[1] for a, b in pairs):
        return "the share of friction must increase somewhere"
    return ""


class TableCurve(Part):
    """F_t/F_n = μ φ(X), φ by straight lines between points."""

    kind: Literal["table"]
    points: tuple[tuple[Length, Number], ...] = Field(
        min_length=1,
        description="[X, φ] with X increasing [m]; φ = 1 is μ; (0, 0) need not be given",
    )

    @model_validator(mode="after")
    def _increasing(self) -> TableCurve:
        if mistake := table_mistake(self.points):
            raise ValueError(f"points: {mistake}")
        return self


Curve = Annotated[LooseCurve | DenseCurve | TableCurve, Field(discriminator="kind")]


class CompliantContact(LawOptions):
    """Contact of elements of the robot's surface with hard ground (law compliant)."""

    stiffness: Annotated[SoilStiffness, Field(gt=0)] = Field(
        1e8, description="k, normal stress per depth [Pa/m]; the default is assumed for firm ground"
    )
    damping: Annotated[SoilDamping, Field(ge=0)] = Field(
        3e5, description="c, normal stress per speed into the ground [Pa·s/m]"
    )
    element_size: Annotated[Length, Field(gt=0)] = Field(
        0.01, description="side length of the elements into which wheels, feet, … are divided [m]"
    )
    curve: Curve = Field(
        LooseCurve(), description="friction curve: share of friction over displacement"
    )

    def resolved(self) -> Self:
        """With the displacement that the curve takes from a soil."""
        curve = self.curve
        if curve.kind != "loose" or curve.soil is None:
            return self
        from marsyard.ground.soil import load_soil

        try:
            length = load_soil(curve.soil).shear_modulus
        except InputError as error:
            raise InputError(f"interaction.compliant.curve.soil: {error}") from None
        if length is None:
            raise InputError(
                f"interaction.compliant.curve.soil: '{curve.soil}' has no shear_modulus; give "
                "displacement instead"
            )
        found = curve.model_copy(update={"displacement": length, "soil": None})
        return self.model_copy(update={"curve": found})


OPTIONS = (
    Group(
        "compliant",
        CompliantContact,
        "parameters of the law compliant; it has no restitution",
    ),
)
