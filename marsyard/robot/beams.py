"""Slender elastic booms between two bodies, declared in robot.yaml.

A beam is clamped in the body that carries its lateral slides; its tip is moved against that body by
joints of the model, in this order along one chain: an `extension` slide along the boom (left out
where the length is fixed), two `lateral` slides, and at the tip two `bending` hinges and a
`torsion` hinge. `interaction.beam` has the equations.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from marsyard.units import BeamStiffness, Length, Time


class Beam(BaseModel):
    """An Euler-Bernoulli beam without mass of its own.

    extension: slide that makes the beam longer, or none; its range must keep the length above 0.
    lateral: two slides across the beam; bending: two hinges, each turning in the plane of the
    lateral slide of the same place; torsion: hinge along the beam, from root to tip.
    length [m]: in the model's reference pose.
    bending_stiffness, torsion_stiffness [N·m²]: E I and G J, the same over the length.
    damping [s]: β of C = β K; a mode of angular frequency ω has the damping ratio β ω/2.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    extension: str | None = None
    lateral: tuple[str, str]
    bending: tuple[str, str]
    torsion: str
    length: Annotated[Length, Field(gt=0)]
    bending_stiffness: Annotated[BeamStiffness, Field(gt=0)]
    torsion_stiffness: Annotated[BeamStiffness, Field(gt=0)]
    damping: Annotated[Time, Field(ge=0)] = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """All joints: extension where there is one, lateral, bending, torsion."""
        first = () if self.extension is None else (self.extension,)
        return (*first, *self.lateral, *self.bending, self.torsion)

    @model_validator(mode="after")
    def _different(self) -> Beam:
        for name in self.joints:
            if self.joints.count(name) > 1:
                raise ValueError(f"'{name}' is named twice; every motion needs its own joint")
        return self
