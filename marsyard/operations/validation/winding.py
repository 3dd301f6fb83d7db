"""Temperature proxy of a motor's winding: a single heat capacity, heated by its own resistance.

    C dΔT/dt = R i² − ΔT/R_th,        ΔT(0) = 0

ΔT rise above the surroundings [K], R of the armature [Ω], i current [A], R_th from winding to
surroundings [K/W], C heat capacity [J/K]. Over a record of length Δt whose mean i² is constant this
is solved exactly, τ = R_th C:

    ΔT ← ΔT e^(−Δt/τ) + R_th R i² (1 − e^(−Δt/τ))

At constant current it tends to R_th R i². R_th = 25 K/W and C = 20 J/K (τ = 500 s) are assumed: of
the size that catalogues give for brushed motors of 25 to 30 mm diameter, winding and housing taken
as one. It is a proxy: R does not grow with the temperature, and neither the surroundings nor
heaters are modelled.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from marsyard.fields import Part
from marsyard.units import HeatCapacity, ThermalResistance


class Winding(Part):
    """Heat of a motor's winding, as one capacity."""

    thermal_resistance: Annotated[ThermalResistance, Field(gt=0)] = Field(
        25.0, description="R_th from winding to surroundings [K/W]"
    )
    heat_capacity: Annotated[HeatCapacity, Field(gt=0)] = Field(20.0, description="C [J/K]")


def temperature_rise(
    time: np.ndarray, current: np.ndarray, resistance: np.ndarray, winding: Winding
) -> np.ndarray:
    """ΔT [K], [time, motor], of currents [A], [time, motor], and resistances [Ω], [motor]."""
    r_th, tau = winding.thermal_resistance, winding.thermal_resistance * winding.heat_capacity
    heat = resistance * current**2
    rise = np.zeros_like(heat)
    for k in range(1, len(time)):
        left = np.exp(-(time[k] - time[k - 1]) / tau)
        mean = (heat[k] + heat[k - 1]) / 2
        rise[k] = rise[k - 1] * left + r_th * mean * (1 - left)
    return rise
