"""A rigid wheel in steady motion by integrals over its arc: no grid, no time.

Bekker's pressure on the front arc, the elastic rebound behind the lowest point, Janosi and
Hanamoto's shear along the arc, as Wong and Reece (1967) integrate their stresses, but with the law
of the soil contact model. θ is measured from the lowest point, forwards positive.

    z(θ) = r (cos θ − cos θ₁),   p = k zⁿ (θ > 0),   p = max(0, k z₀ⁿ − k_u (z₀ − z)) (θ < 0)
    v_t(θ) = rω − v cos θ,       dm/dt = (v_t − |v_t| m)/K,  dθ = −(v/r)/cos θ dt on the soil

On the ground a place keeps its x: x = r sin θ ahead of the axle falls by v dt.
For v_t > 0 this is Wong and Reece's j(θ) = r [(θ₁ − θ) − (1−s)(sin θ₁ − sin θ)] with the arc's
element taken in x; the two differ by terms of θ² (see `test_soil_wheel`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


@dataclass(frozen=True)
class Arc:
    """Stresses along the arc and their sums."""

    sinkage: float
    pull: float
    torque: float
    load: float
    resistance: float
    theta: np.ndarray
    pressure: np.ndarray
    shear: np.ndarray


def stresses(z0, sand, shape, slip, points=8001, wong=False) -> Arc:
    """The arc of a wheel at sinkage z0; `wong`: j(θ) of Wong and Reece as printed."""
    r, b = shape.radius, shape.width
    theta1 = math.acos(1 - z0 / r)
    p0 = sand.k * z0**sand.n
    theta2 = -math.acos(max(-1.0, 1 - min(p0 / sand.k_u, z0) / r))
    # equal steps of x, the place on the ground, from the front to the rear
    x = r * np.linspace(math.sin(theta1), math.sin(theta2), points)
    theta = np.arcsin(x / r)
    z = np.maximum(r * (np.cos(theta) - math.cos(theta1)), 0.0)
    p = np.where(theta > 0, sand.k * z**sand.n, np.maximum(p0 - sand.k_u * (z0 - z), 0.0))
    # speed of the rim for unit speed of travel
    rim = 1 / (1 - slip) if slip >= 0 else 1 + slip
    if wong:
        j = r * ((theta1 - theta) - (1 - slip) * (math.sin(theta1) - np.sin(theta)))
        m = 1 - np.exp(-j / sand.K)
    else:
        m = _mobilised(rim - np.cos(theta), -np.diff(x), sand.K)
    tau = (sand.c + p * math.tan(math.radians(sand.phi))) * m
    tau[p <= 0] = 0.0

    def total(values):
        # ∫ … r dθ = ∫ … dx/cos θ
        return -b * float(np.trapezoid(values / np.cos(theta), x))

    pull = total(tau * np.cos(theta) - p * np.sin(theta))
    load = total(p * np.cos(theta) + tau * np.sin(theta))
    resistance = total(p * np.sin(theta))
    return Arc(z0, pull, r * total(tau), load, resistance, theta, p, tau)


def _mobilised(v, dt, K):
    """dm/dt = (v − |v| m)/K, with the velocity of the middle of each step."""
    m = np.zeros(len(v))
    for i in range(len(dt)):
        u = 0.5 * (v[i] + v[i + 1])
        m[i + 1] = np.sign(u) + (m[i] - np.sign(u)) * math.exp(-abs(u) * dt[i] / K)
    return m


def under_load(load, sand, shape, slip, **options) -> Arc:
    """The arc of a wheel that carries `load` [N]."""
    high = 0.98 * shape.radius
    z0 = brentq(lambda z: stresses(z, sand, shape, slip, 1001, **options).load - load, 1e-6, high)
    return stresses(z0, sand, shape, slip, **options)


def bekker(load, sand, shape) -> tuple[float, float]:
    """Sinkage and resistance of a towed frictionless wheel without rebound, by quadrature."""
    r, b = shape.radius, shape.width

    def carried(z0):
        front = math.acos(1 - z0 / r)

        def stress(t):
            return sand.k * (r * max(math.cos(t) - math.cos(front), 0.0)) ** sand.n * math.cos(t)

        return b * r * quad(stress, 0, front)[0]

    z0 = brentq(lambda z: carried(z) - load, 1e-7, 0.99 * r)
    return z0, b * sand.k * z0 ** (sand.n + 1) / (sand.n + 1)
