"""Random soils, loads, speeds, poses and wheels: always finite, never through the ground."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from soil_rig import Land, Rig, Sand, Shape, Wheel, ball_mesh, box_mesh, rotation

from marsyard.interaction.soil_contact.arrays import (
    F_ACROSS,
    F_ALONG,
    F_PRESSURE,
    M_ACROSS,
    M_ALONG,
)
from marsyard.interaction.soil_kernels import T_PLASTIC_WORK, T_SHEAR_WORK

# an example takes up to a second: no search for a simpler one
PHASES = (Phase.explicit, Phase.generate)


def between(low, high):
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


sands = st.builds(
    Sand,
    k=between(3, 7).map(lambda e: 10**e), n=between(0.2, 2.0), c=between(0, 5e3),
    phi=between(0, 50), K=between(-4, -1).map(lambda e: 10**e), K_across=between(1e-3, 0.05),
    k_u=between(6, 9).map(lambda e: 10**e), damping=st.sampled_from([0.0, 1e4, 1e6]),
    repose=between(5, 50), layer=st.sampled_from([0.0, 0.002, 0.02]),
)  # fmt: skip


@st.composite
def shapes(draw):
    radius = draw(between(0.05, 0.5))
    width = draw(between(0.05, 1.5)) * radius
    rounding = draw(st.sampled_from([0.0, 0.1, 0.5])) * width
    crown = draw(st.sampled_from([0.0, 1.0, 3.0])) * max(radius, width)
    return Shape(radius, width, min(rounding, 0.5 * radius), crown)


axes = st.tuples(between(-1, 1), between(-1, 1), between(-0.6, 0.6)).filter(
    lambda a: math.hypot(a[0], a[1]) > 0.2
)
vectors = st.tuples(between(-2, 2), between(-2, 2), between(-2, 2))


def unit(a):
    return np.array(a) / np.linalg.norm(a)


def check(rig, body=0):
    """What must hold after any step."""
    p = rig.patch
    for array in (p.force, p.stiff, p.total):
        assert np.all(np.isfinite(array))
    n = int(p.field_count[body])
    field = p.field[body, :n]
    assert np.all(np.isfinite(field))
    assert np.all(field[:, F_PRESSURE] >= 0)
    now = p.side[body]
    state = p.state[now, body, : p.listed[now, body]]
    assert np.all(np.isfinite(state))
    assert np.all(np.hypot(state[:, M_ALONG], state[:, M_ACROSS]) <= 1 + 1e-9)
    strength = rig.soils.table[:, 1].max() + field[:, F_PRESSURE] * rig.soils.table[:, 2].max()
    shear = np.hypot(field[:, F_ALONG], field[:, F_ACROSS])
    assert np.all(shear <= strength * (1 + 1e-9) + 1e-12)
    assert p.total[body, T_PLASTIC_WORK] >= 0 and p.total[body, T_SHEAR_WORK] >= 0
    # B is symmetric by construction and must not be negative
    s = p.stiff[body]
    B = np.array(
        [[s[0], s[1], s[2], s[6]], [s[1], s[3], s[4], s[7]],
         [s[2], s[4], s[5], s[8]], [s[6], s[7], s[8], s[9]]]
    )  # fmt: skip
    # the last row has another unit: scale it to the others
    scale = np.array([1, 1, 1, 1 / rig.bodies.shape[body, 0]])
    B = B * np.outer(scale, scale)
    assert np.linalg.eigvalsh(B).min() >= -1e-9 * max(np.abs(B).max(), 1e-300)
    q = rig.nodes()
    assert np.all(np.isfinite(q["ref"])) and np.all(np.isfinite(q["depth"]))
    assert np.all(q["depth"] >= -1e-12)


@settings(max_examples=80, phases=PHASES)
@given(sands, shapes(), st.lists(st.tuples(axes, vectors, vectors), min_size=2, max_size=5))
def test_any_wheel_thrown_about(sand, shape, moves):
    land = Land(lambda x, y: 0.1 * np.sin(3 * x) * np.cos(2 * y))
    rig = Rig([shape], [sand], 0.12 * shape.radius, land, room=20000)
    centre = np.array([0.2, -0.1, 0.9 * shape.radius])
    for k, (axis, v, spin) in enumerate(moves):
        rig.place(0, centre, v, 5 * np.array(spin), unit(axis))
        rig.forces(h=1e-3, time=0.1 * k)
        check(rig)
        rig.flow(most=20000)
        check(rig)
        centre = centre + 0.05 * np.clip(v, -0.5, 0.5) * shape.radius


@settings(max_examples=40, phases=PHASES)
@given(sands, st.booleans(), st.tuples(between(-3, 3), between(-1, 1), between(-3, 3)), vectors,
       vectors)  # fmt: skip
def test_any_box_or_ball_thrown_about(sand, box, angles, v, spin):
    mesh = box_mesh((0.3, 0.2, 0.1)) if box else ball_mesh(0.12)
    rig = Rig([mesh], [sand], 0.02, room=20000)
    R = rotation(*angles)
    low = float(np.min(mesh.reshape(-1, 3) @ R[2]))
    for k in range(3):
        rig.place(0, (0.001 * k, 0, -low - 0.01 * (k + 1)), v, spin, rotation=R)
        rig.forces()
        check(rig)
        rig.flow(most=20000)


@settings(max_examples=25, phases=PHASES)
@given(
    sands.filter(lambda s: s.k * 0.1**s.n > 2e3), between(5, 300), between(0, 0.5),
    between(-0.9, 0.95), between(-0.5, 0.5), st.sampled_from([5e-4, 1e-3, 4e-3]),
)  # fmt: skip
def test_no_wheel_falls_through_and_none_gains_energy(sand, load, speed, slip, yaw, h):
    # free in height under a load: it stays above the depth where a plate of its shadow would carry
    # the load, or, where slip digs, in any case with its axle above what the soil was cut down to
    bench = Wheel(sand=sand, load=load, speed=speed, slip=slip, yaw=yaw, h=h, flow=1, ramp=0.3)
    out = bench.run(1.2)
    for values in out.values():
        assert np.all(np.isfinite(values))
    check(bench.rig)
    # height of the axle over the lowest soil of the grid under it
    centre = bench.rig.bodies.centre[0]
    ground = float(bench.rig.grid.height(centre[0], centre[1]))
    assert centre[2] - 0.125 > ground - 0.125
    limit = bound(sand, load)
    if sand.layer == 0.0 and math.isfinite(limit):
        # the soil can carry it: it stands above that depth, and does not hop about
        assert bench.rig.patch.force[0, 2] >= 0
        assert out["sinkage"].max() < limit
        assert np.ptp(out["sinkage"][out["t"] > 0.9]) < 0.06


def bound(sand, load, r=0.125, b=0.1):
    """A sinkage that surely carries the load, even if shear pulls down with all its strength."""
    depth = np.linspace(1e-4, 1.2 * r, 400)
    tan = math.tan(math.radians(sand.phi))
    for d in depth:
        x = np.linspace(0, math.sqrt(max(r * r - max(r - d, 0.0) ** 2, 0.0)), 200)
        z = np.sqrt(r * r - x * x) - (r - d)
        theta = np.arcsin(x / r)
        p = sand.k * np.maximum(z, 0) ** sand.n
        down = (sand.c + p * tan) * np.tan(theta)
        if b * np.trapezoid(np.maximum(p - down, -down), x) > 1.3 * load:
            return d + 0.02
    return math.inf
