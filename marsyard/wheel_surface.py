"""The surface of a wheel's tread, in one place for robots, scenarios and soil models.

Soil slides on a smooth rim before it shears in itself: the shear stress under the rim is limited by
the friction and adhesion of the interface, c_a + σ tan δ with δ < φ. Lugs, rough coatings and the
openings of a mesh make the soil shear on soil instead (`interaction.tread`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from marsyard.units import Length, Number


@dataclass(frozen=True)
class Material:
    """What a tread is made of.

    friction_ratio: δ/φ, of the interface's friction angle and the soil's.
    adhesion_ratio: c_a/c, of the interface's adhesion and the soil's cohesion.
    shear_modulus: K of the interface [m]; none: the soil's.
    source: of the numbers.
    """

    friction_ratio: float
    adhesion_ratio: float
    shear_modulus: float | None
    source: str


_INTERFACE_K = 0.0085
_K_SOURCE = (
    "K 8 to 9 mm: fitted to three smooth wheels on soils whose own K is 11 to 36 mm; adhesion: "
    "assumed, within the range of J. G. Potyondy, Géotechnique 11 (1961), of cohesive soils"
)

#: the materials to choose from
MATERIALS: dict[str, Material] = {
    "polished_metal": Material(
        0.54, 0.25, _INTERFACE_K, f"δ/φ: Potyondy 1961, smooth steel on dry sand; {_K_SOURCE}"
    ),
    "metal": Material(
        2 / 3, 0.5, _INTERFACE_K, f"δ/φ: EN 1997-1, 9.5.1, steel sheet piles; {_K_SOURCE}"
    ),
    "rough_metal": Material(
        0.76, 0.5, _INTERFACE_K, f"δ/φ: Potyondy 1961, rough steel on dry sand; {_K_SOURCE}"
    ),
    "grit": Material(
        1.0, 1.0, None,
        "rougher than the grains, so soil shears on soil: M. Uesugi, H. Kishida, Soils and "
        "Foundations 26(4), 1986",
    ),
}  # fmt: skip


class TreadSurface(BaseModel):
    """The surface of a wheel between its lugs; numbers that are given replace the material's."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    material: Literal["polished_metal", "metal", "rough_metal", "grit"] = Field(
        "metal", description="sets δ/φ, adhesion and K of the tread-soil interface"
    )
    friction_ratio: Annotated[Number, Field(gt=0, le=1)] | None = Field(
        None, description="δ/φ, friction angle of the interface over that of the soil"
    )
    adhesion_ratio: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        None, description="c_a/c, adhesion of the interface over the soil's cohesion"
    )
    shear_modulus: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="K of the interface [m]; limited by that of the soil"
    )
    open_area: Annotated[Number, Field(ge=0, lt=1)] = Field(
        0.0, description="share of the tread that is open, as in a mesh; there soil shears on soil"
    )

    @property
    def friction(self) -> float:
        """δ/φ."""
        given = self.friction_ratio
        return MATERIALS[self.material].friction_ratio if given is None else given

    @property
    def adhesion(self) -> float:
        """c_a/c."""
        given = self.adhesion_ratio
        return MATERIALS[self.material].adhesion_ratio if given is None else given

    @property
    def modulus(self) -> float | None:
        """K of the interface [m]; none: the soil's."""
        return self.shear_modulus or MATERIALS[self.material].shear_modulus
