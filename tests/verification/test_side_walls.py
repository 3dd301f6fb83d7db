"""Soil against the side walls of sunk wheels: passive earth pressure in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from soil_rig import Land, Rig, Sand, Shape

from marsyard.ground.soil import load_soil
from marsyard.interaction.side_wall import blade_resistance

SMOOTH = Sand(k=1e5, n=1.0, phi=0.0, c=0.0, K=0.01)
R, B = 0.125, 0.1


def pushed_aside(sunk, lam, a1, a2, heading=0.0, land=None, speed=0.05, rolls=0.0, h=1e-3):
    """Force and moment on a wheel that moves sideways, and the rig."""
    rig = Rig([Shape(R, B)], [SMOOTH], 0.01, land)
    rig.soils.wall[:] = a1, a2
    rig.bodies.slip[0, 1] = lam
    axis = np.array([-math.sin(heading), math.cos(heading), 0.0])
    ahead = rolls * np.array([axis[1], -axis[0], 0.0])
    velocity = math.copysign(speed, lam) * axis + ahead
    rig.place(0, (0.003, 0.002, R - sunk), velocity, rolls / R * axis, axis)
    return rig.forces(h=h)[0], axis, rig


@pytest.mark.parametrize("sunk", [0.01, 0.04, 0.1])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_wall_pushed_aside_meets_passive_earth_pressure(sunk, side):
    # level ground, no strength under the tread: ∫ a₁ d + a₂ d² dx over the chord, fully mobilised
    a1, a2 = blade_resistance(load_soil("fjs_1"), 9.81)
    F, axis, _ = pushed_aside(sunk, side, a1, a2)
    half = math.sqrt(sunk * (2 * R - sunk))
    x = np.linspace(-half, half, 20_001)
    d = np.sqrt(R * R - x * x) - (R - sunk)
    j = 2 * half
    want = np.trapezoid(a1 * d + a2 * d * d, x) * (1 - math.exp(-j / SMOOTH.K))
    assert F[:3] @ axis == pytest.approx(-side * want, rel=0.02)
    # it acts below the centre, against the motion: the moment about the heading
    low = R - sunk
    arm = np.trapezoid(a1 * d * (low + d / 2) + a2 * d * d * (low + 2 * d / 3), x)
    assert F[3] == pytest.approx(
        -side * arm * want / np.trapezoid(a1 * d + a2 * d * d, x), rel=0.02
    )


def test_blades_of_clay_and_sand():
    # c = 0, γ = 0: nothing; φ = 0: 2 c per unit of depth, the passive pressure of clay
    sand = load_soil({"name": "fjs_1", "cohesion": 0.0})
    assert blade_resistance(sand, 0.0) == (0.0, 0.0)
    clay = load_soil({"name": "fjs_1", "friction_angle": 0.0})
    assert blade_resistance(clay, 0.0) == pytest.approx((2 * 800.0, 0.0))
    # Rankine: ½ γ d² tan²(π/4 + φ/2), and the heap on top of it
    phi = sand.friction_angle
    kp = math.tan(math.pi / 4 + phi / 2) ** 2
    assert blade_resistance(sand, 9.81)[1] > 0.5 * 1600 * 9.81 * kp


def test_a_berm_counts_and_a_hollow_does_not():
    a1, a2 = blade_resistance(load_soil("fjs_1"), 9.81)

    def beside(x, y):
        return np.where(np.asarray(y) > 0.055, 0.02, 0.0)

    flat, axis, _ = pushed_aside(0.03, 1.0, a1, a2)
    bank, *_ = pushed_aside(0.03, 1.0, a1, a2, land=Land(beside))
    away, *_ = pushed_aside(0.03, -1.0, a1, a2, land=Land(beside))
    assert -(bank[:3] @ axis) > 1.8 * -(flat[:3] @ axis)
    assert away[:3] @ axis == pytest.approx(-(flat[:3] @ axis), rel=1e-6)


@pytest.mark.parametrize("heading", [0.0, 0.6, math.pi / 4])
def test_force_does_not_depend_on_the_heading(heading):
    # but for the area of the contact on the lattice, over which slip builds up
    F, axis, _ = pushed_aside(0.05, 0.3, 5e3, 5e5, heading)
    level, straight, _ = pushed_aside(0.05, 0.3, 5e3, 5e5)
    assert F[:3] @ axis == pytest.approx(level[:3] @ straight, rel=0.04)


def test_derivative_with_respect_to_the_speed():
    # as the step takes it: F(v + dv) = F − B dv
    args = (0.05, 0.2, 5e3, 5e5)
    speed, more = 0.02, 1e-6
    a, axis, rig = pushed_aside(*args, speed=speed, rolls=0.1)
    stiff = rig.patch.stiff[0]
    b, *_ = pushed_aside(*args, speed=speed + more, rolls=0.1)
    B_yy = axis @ np.array([[stiff[0], stiff[1], 0], [stiff[1], stiff[3], 0], [0, 0, 0]]) @ axis
    assert -(b - a)[:3] @ axis / more == pytest.approx(B_yy, rel=1e-3)
    assert B_yy > 0
