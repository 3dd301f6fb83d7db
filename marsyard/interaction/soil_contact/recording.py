"""What the soil under the wheels becomes in the results: stresses, resistances, work, volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marsyard.interaction.law import Recorded, Variable
from marsyard.interaction.soil_contact.arrays import T_AREA, T_PRESSURE, T_SHEAR
from marsyard.interaction.soil_contact.kernels import (
    S_BULLDOZING,
    S_COMPACTION,
    S_PLASTIC,
    S_SHEAR,
    S_VOLUME,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from marsyard.interaction.soil_contact.world import SoilContact


def soil_variables(law: SoilContact, seen: Recorded) -> dict[str, Variable]:
    """By wheel, and sums over all bodies since the start."""
    return {**_contact(law, seen), **_stresses(law, seen), **_sums(law, seen)}


def stress_angles(bins: int) -> np.ndarray:
    """Angles around the axle of strips of a wheel, from behind over the lowest point to the front
    [rad]."""
    return ((np.arange(bins) + 0.5) / bins - 0.5) * np.pi


def wheel_stress(law: SoilContact, columns: Mapping[str, np.ndarray], wheels: int) -> np.ndarray:
    """Mean forces around the wheels over each record interval [N], [time, wheel, angle, 3]: normal,
    along the heading, along the axle."""
    count = np.maximum(columns["stress_count"], 1.0).astype(np.float32)
    return law.by_wheel(columns["stress"] / count[..., None, None], wheels)


def _contact(law: SoilContact, seen: Recorded) -> dict[str, Variable]:
    wheels, interval = len(seen.wheels.radius), seen.interval[:, None]
    total = law.by_wheel(seen.columns["soil_total"], wheels)
    sums = law.by_wheel(seen.columns["soil_sums"], wheels)
    rows = (
        ("contact_area", total[..., T_AREA], "m²", "area of the wheel in contact"),
        ("compaction_resistance", sums[..., S_COMPACTION] / interval, "N",
         "resistance from pressing soil down"),
        ("bulldozing_resistance", sums[..., S_BULLDOZING] / interval, "N",
         "resistance from soil piled up"),
        ("pressure_max", total[..., T_PRESSURE], "Pa", "largest normal stress"),
        ("shear_max", total[..., T_SHEAR], "Pa", "largest shear stress"),
    )  # fmt: skip
    return {name: Variable(("wheel",), values, units, text) for name, values, units, text in rows}


def _stresses(law: SoilContact, seen: Recorded) -> dict[str, Variable]:
    """Stresses by the angle around the axle, force over the area of the whole strip."""
    stress = wheel_stress(law, seen.columns, len(seen.wheels.radius))
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


def _sums(law: SoilContact, seen: Recorded) -> dict[str, Variable]:
    every = seen.columns["soil_sums"]
    rows = (
        ("energy_soil", -seen.work, "J", "work taken by the soil since the start"),
        ("energy_compaction", every[..., S_PLASTIC], "J", "of it, plastic sinkage"),
        ("energy_shear", every[..., S_SHEAR], "J", "of it, shearing"),
        ("displaced_volume", every[..., S_VOLUME], "m³",
         "volume of soil displaced since the start"),
    )  # fmt: skip
    return {
        name: Variable((), np.cumsum(values.sum(axis=1)), units, text)
        for name, values, units, text in rows
    }
