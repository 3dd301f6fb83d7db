"""Inertias of links: whether they are physically possible, and the nearest possible ones.

The moments of inertia I₁ ≤ I₂ ≤ I₃ about a body's principal axes [kg·m²] come from its mass density
by d_i = ∫ x_i² dm ≥ 0 along each axis:

    I₁ = d₂ + d₃,  I₂ = d₃ + d₁,  I₃ = d₁ + d₂,    so that    d_i = (I₁ + I₂ + I₃)/2 − I_i

A body exists if no d is below 0, which is the triangle inequality I₃ ≤ I₁ + I₂ and contains I ≥ 0
(Wensing, Kim and Slotine 2018). Repaired moments are those of the d raised to at least a hundredth
of the largest; where all are 0 or below, those of a solid ball of the same mass and of the density
of water.
"""

from __future__ import annotations

import math

import numpy as np

#: by how much the largest moment may exceed the sum of the others: rounding in files
ROUNDING = 0.02
#: least part of the largest d that a repaired one has
_LEAST = 0.01
_WATER = 1000.0  # [kg/m³]


def find_fault(inertia: np.ndarray) -> str | None:
    """Why no body has an inertia [3, 3], or none; the rest of a sentence."""
    small, middle, large = np.linalg.eigvalsh(inertia)
    numbers = f"({small:.3g}, {middle:.3g}, {large:.3g} kg·m²)"
    if small < -1e-9 * max(abs(large), 1e-300):
        return f"has a moment below 0 {numbers}"
    if large > (small + middle) * (1 + ROUNDING) and large > 1e-12:
        return (
            f"is physically impossible: its largest moment exceeds the sum of the others {numbers}"
        )
    return None


def balance(inertia: np.ndarray) -> np.ndarray:
    """The same with the largest moment at most the sum of the others: rounding taken away."""
    values, axes = np.linalg.eigh(inertia)
    most = (values[0] + values[1]) * (1 - 1e-9)
    if values[2] <= most or values[2] <= 1e-12:
        return inertia
    values[2] = most
    return axes @ np.diag(values) @ axes.T


def repair(inertia: np.ndarray, mass: float) -> np.ndarray:
    """The nearest inertia [3, 3] that a body of this mass [kg] can have, about the same axes."""
    moments, axes = np.linalg.eigh(inertia)
    density = moments.sum() / 2 - moments
    if density.max() <= 1e-14:
        return ball_moment(mass) * np.eye(3)
    density = np.maximum(density, _LEAST * density.max())
    return axes @ np.diag(density.sum() - density) @ axes.T


def ball_moment(mass: float) -> float:
    """Moment of inertia of a solid ball of water [kg·m²]."""
    radius = (3 * mass / (4 * math.pi * _WATER)) ** (1 / 3)
    return 0.4 * mass * radius**2


def describe_moments(inertia: np.ndarray) -> str:
    """Principal moments in words."""
    return ", ".join(f"{v:.3g}" for v in np.linalg.eigvalsh(inertia))
