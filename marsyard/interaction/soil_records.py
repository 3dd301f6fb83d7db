"""What soil under the wheels becomes in the results: stresses, resistances, work, volume.

All soil models have these variables, each for its own wheels; sums are over all bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.interaction.law import Recorded, Variable
from marsyard.interaction.soil_kernels import (
    S_BULLDOZING,
    S_COMPACTION,
    S_PLASTIC,
    S_SHEAR,
    S_VOLUME,
    T_AREA,
    T_PRESSURE,
    T_SHEAR,
)

if TYPE_CHECKING:
    from marsyard.interaction.soil_law import SoilLaw

#: stresses are recorded by the angle around the wheel, in so many steps from −90° to 90°
STRESS_BINS = 36


def soil_variables(
    law: SoilLaw, seen: Recorded, sums: np.ndarray, total: np.ndarray
) -> dict[str, Variable]:
    """By wheel, and sums over all bodies since the start; from the sums and totals of a law's
    bodies at the records (`soil_kernels`)."""
    return {**_contact(law, seen, sums, total), **_stresses(law, seen), **_sums(seen, sums)}


def stress_angles() -> dict[str, Any]:
    """Angles around the axle of strips of a wheel, from behind over the lowest point to the front
    [rad], as a coordinate of the results."""
    angles = ((np.arange(STRESS_BINS) + 0.5) / STRESS_BINS - 0.5) * np.pi
    told = {"units": "rad", "long_name": "angle ahead of the lowest point"}
    return {"contact_angle": ("contact_angle", angles, told)}


def _contact(
    law: SoilLaw, seen: Recorded, sums: np.ndarray, total: np.ndarray
) -> dict[str, Variable]:
    wheels, interval = len(seen.wheels.radius), seen.interval[:, None]
    total, sums = law.by_wheel(total, wheels), law.by_wheel(sums, wheels)
    rows = (
        ("contact_area", total[..., T_AREA], "m²", "contact area of the wheel"),
        ("compaction_resistance", sums[..., S_COMPACTION] / interval, "N",
         "compaction resistance"),
        ("bulldozing_resistance", sums[..., S_BULLDOZING] / interval, "N",
         "bulldozing resistance"),
        ("pressure_max", total[..., T_PRESSURE], "Pa", "largest normal stress"),
        ("shear_max", total[..., T_SHEAR], "Pa", "largest shear stress"),
    )  # fmt: skip
    return {name: Variable(("wheel",), values, units, text) for name, values, units, text in rows}


def _stresses(law: SoilLaw, seen: Recorded) -> dict[str, Variable]:
    """Stresses by the angle around the axle, force over the area of the whole strip; 0 under a law
    that does not follow them."""
    wheels = len(seen.wheels.radius)
    stress = law.wheel_stress(seen.columns, wheels)
    if stress is None:
        none = np.zeros((len(seen.interval), len(law.attachments), STRESS_BINS, 3))
        stress = law.by_wheel(none, wheels)
    strip = (seen.wheels.radius * seen.wheels.width * np.pi / stress.shape[2])[:, None]
    texts = {
        "stress_normal": "normal stress",
        "stress_along": "shear stress along the heading",
        "stress_across": "shear stress along the axle",
    }
    dims = ("wheel", "contact_angle")
    return {
        name: Variable(dims, stress[..., k] / strip, "Pa", text)
        for k, (name, text) in enumerate(texts.items())
    }


def _sums(seen: Recorded, every: np.ndarray) -> dict[str, Variable]:
    rows = (
        ("energy_soil", -seen.work, "J", "work done on the soil since the start"),
        ("energy_compaction", every[..., S_PLASTIC], "J", "share of it for plastic sinkage"),
        ("energy_shear", every[..., S_SHEAR], "J", "share of it for shearing"),
        ("displaced_volume", every[..., S_VOLUME], "m³",
         "volume of soil displaced since the start"),
    )  # fmt: skip
    return {
        name: Variable((), np.cumsum(values.sum(axis=1)), units, text)
        for name, values, units, text in rows
    }
