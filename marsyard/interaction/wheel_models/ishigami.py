"""Ishigami's wheel: Wong and Reece's stresses, with side force for steering on loose soil.

G. Ishigami, A. Miwa, K. Nagatani, K. Yoshida: Terramechanics-based model for steering maneuver of
planetary exploration rovers on loose soil, J. Field Robotics 24 (2007). Stresses and integrals as
in `arc`. Shear along and across the wheel are counted separately, each up to the full strength, as
published; both together may exceed it by up to √2. K grows with the slip angle β:

    K_x = K_x(0) + k_x′ |β|,   K_y = K_y(0) + k_y′ |β|       (0.043 and 0.020 m/rad for FJS-1)

Coefficients: peak_0 and peak_1, a₀ and a₁ of θ_m = (a₀ + a₁ s) θ₁ (0.40 and 0.15 for FJS-1; where
nobody gives them, those of `wong_reece` stand in, with a warning); slope_x, slope_y: k_x′, k_y′
[m/rad], 0 unless given.
"""

from __future__ import annotations

import math

from marsyard.interaction.wheel_models.arc import arc_forces
from marsyard.interaction.wheel_models.numbers import K_X, K_Y
from marsyard.jit import kernel

PEAK_0, PEAK_1, SLOPE_X, SLOPE_Y = range(4)
COEFFICIENTS = {"peak_0": 0.18, "peak_1": 0.32, "slope_x": 0.0, "slope_y": 0.0}


@kernel
def ishigami(wheel, soil, own, z, v_x, v_y, w, out):
    """Forces on a wheel that rolls forward."""
    K_x, K_y = soil[K_X], soil[K_Y]
    beta = 0.0
    if own[SLOPE_X] != 0.0 or own[SLOPE_Y] != 0.0:
        beta = abs(math.atan2(v_y, abs(v_x)))
    soil[K_X] = K_x + own[SLOPE_X] * beta
    soil[K_Y] = K_y + own[SLOPE_Y] * beta
    arc_forces(wheel, soil, own[PEAK_0], own[PEAK_1], False, z, v_x, v_y, w, out)
    soil[K_X] = K_x
    soil[K_Y] = K_y
