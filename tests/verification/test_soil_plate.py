"""Plates, balls and boxes pressed into soil: Bekker's closed form, hysteresis, symmetry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from soil_rig import Land, Rig, Sand, ball_mesh, box_mesh, disc_mesh, rotation
from worlds import mjcf, simulation

from marsyard.ground.soil import load_soil
from marsyard.scenario import validate
from marsyard.simulation import Simulation

# sides of rectangles or radius of a disc [m], and Bekker's b: smaller side, radius
PLATES = {
    "square": ((0.1, 0.1), 0.1),
    "long": ((0.05, 0.25), 0.05),
    "wide": ((0.18, 0.12), 0.12),
    "disc": ((0.05,), 0.05),
    "large disc": ((0.15,), 0.15),
}


def plate(size):
    """Triangles of a plate with its lower face at z = 0 and its area."""
    if len(size) == 1:
        mesh = disc_mesh(size[0], 0.02)
        area = math.pi * size[0] ** 2
    else:
        mesh = box_mesh((*size, 0.02))
        area = size[0] * size[1]
    return mesh + [0, 0, 0.01], area


def press(rig, depths, offset=(0.0, 0.0), h=1e-3):
    """Force upwards at each depth, without any prediction over the step."""
    out = []
    for depth in depths:
        rig.place(0, (*offset, -depth))
        out.append(rig.forces(h=h)[0].copy())
    return np.array(out)


@pytest.mark.parametrize("name", PLATES)
@pytest.mark.parametrize("exponent", [0.5, 0.8, 1.0, 1.3])
@pytest.mark.parametrize("spacing", [0.02, 0.01, 0.007])
def test_pressure_under_a_plate(name, exponent, spacing):
    # p = (k_c/b + k_φ) zⁿ; the polygon of 360 corners that stands for the disc has 5e-5 less area
    size, b = PLATES[name]
    k = 990.0 / b + 1.5e5
    mesh, area = plate(size)
    depths = np.linspace(0.001, 0.08, 12)
    for offset in ((0.00017, 0.00023), (0.0031, -0.0077), (1000.003, -20.011)):
        rig = Rig([mesh], [Sand(k=k, n=exponent, k_u=1e9)], spacing)
        F = press(rig, depths, offset)
        assert F[:, 2] / area == pytest.approx(k * depths**exponent, rel=1e-4)
        # nothing sideways, and no moment but that of nodes which are not symmetric to the plate
        assert np.abs(F[:, :2]).max() < 1e-9 * F[-1, 2]
        assert np.all(np.abs(F[:, 3:5]).max(axis=1) <= 0.5 * spacing * F[:, 2] + 1e-9)


@pytest.mark.parametrize("spacing", [0.02, 0.01, 0.007])
def test_nodes_on_the_edges_of_triangles_count_once(spacing):
    # a fan of triangles about a node: many nodes lie on its edges up to rounding
    mesh, area = plate((0.15,))
    rig = Rig([mesh], [Sand(k=1e5, n=1.0, k_u=1e9)], spacing)
    assert press(rig, [0.01])[0, 2] / area == pytest.approx(1000.0, rel=1e-4)


def test_plate_on_a_slope_and_turned():
    # a plate laid flat on a slope, turned about the vertical: force along its normal, p A cos
    tilt = 0.2
    mesh, area = plate((0.1, 0.16))
    rig = Rig([mesh], [Sand(k_u=1e9)], 0.004, Land(lambda x, y: -math.tan(tilt) * x))
    n = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    sink = 0.02  # vertical
    R = rotation(0, tilt, 0) @ rotation(0, 0, 0.5)
    rig.place(0, (0.001, 0.002, -math.tan(tilt) * 0.001 - sink), rotation=R)
    F = rig.forces()[0, :3]
    bottom = 84000 * sink**0.63 * area
    # its uphill and downhill faces dip, too: at most p A of their strips as seen from above
    assert F @ n == pytest.approx(bottom, rel=0.06)
    assert abs(F[1]) < 0.02 * bottom


def test_loading_unloading_reloading():
    k, n, k_u = 3e5, 0.9, 2e7
    mesh, area = plate((0.1, 0.1))
    rig = Rig([mesh], [Sand(k=k, n=n, k_u=k_u)], 0.02)
    top = 0.03
    assert press(rig, [top])[0, 2] == pytest.approx(area * k * top**n, rel=1e-12)
    # straight line down to zero, zero from there on, and the same line back
    rebound = k * top**n / k_u
    depths = top - np.linspace(0, 1.5 * rebound, 13)
    line = area * np.maximum(k * top**n - k_u * (top - depths), 0.0)
    assert press(rig, depths)[:, 2] == pytest.approx(line, rel=1e-9, abs=1e-9)
    assert press(rig, depths[::-1])[:, 2] == pytest.approx(line[::-1], rel=1e-9, abs=1e-9)
    # deeper: the virgin curve goes on where it was left
    more = np.linspace(top, 0.06, 10)
    assert press(rig, more)[:, 2] == pytest.approx(area * k * more**n, rel=1e-12)
    # what stays is the depth less the rebound
    left = -float(rig.grid.change(0.0, 0.0))
    assert left == pytest.approx(0.06 - k * 0.06**n / k_u, rel=1e-12)


def test_work_of_a_cycle_is_never_negative():
    # any path of depths: ∮ p dz ≥ 0, and closed elastic loops give nothing back
    rng = np.random.default_rng(0)
    mesh, area = plate((0.1, 0.1))
    for seed in range(5):
        rig = Rig([mesh], [Sand(k=2e5, n=1.1, k_u=10 ** rng.uniform(6.5, 8))], 0.02)
        depth = 0.02 + 0.02 * np.cumsum(np.sin(np.arange(400) * rng.uniform(0.05, 0.3))) / 40
        depth = np.concatenate([np.linspace(-0.01, depth[0], 100), np.maximum(depth, -0.01)])
        depth = np.concatenate([depth, np.linspace(depth[-1], -0.01, 100)])
        p = press(rig, depth)[:, 2] / area
        work = np.sum(0.5 * (p[1:] + p[:-1]) * np.diff(depth))
        deepest = depth.max()
        assert work > 0, seed
        # no more than the virgin curve to the deepest place
        assert work < 1.02 * 2e5 * deepest**2.1 / 2.1


def test_without_elastic_unloading_the_stress_is_gone_at_once():
    # Krenn's own form: k_u = 1e9 lets go within p/k_u, some tens of microns
    mesh, _ = plate((0.1, 0.1))
    rig = Rig([mesh], [Sand(k_u=1e9)], 0.02)
    assert press(rig, [0.02])[0, 2] > 10
    assert press(rig, [0.02 - 84000 * 0.02**0.63 / 1e9 - 1e-9])[0, 2] == 0.0


def test_damping_adds_to_the_pressure_only_while_sinking():
    mesh, area = plate((0.1, 0.1))
    for v in (-0.1, 0.1):
        rig = Rig([mesh], [Sand(damping=3e4)], 0.02)
        rig.place(0, (0, 0, -0.02), (0, 0, v))
        F = rig.forces(implicit=0.0)[0, 2]
        p = 84000 * 0.02**0.63
        assert F / area == pytest.approx(max(0.0, p - 3e4 * v), rel=1e-12)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.004, 0.011)])
def test_a_ball_is_pushed_straight_up(offset):
    # ∫ p(z) n dA over the cap: F = 2π ∫ k zⁿ (r − d + z) dz
    r, d, k, n = 0.15, 0.04, 2e5, 0.8
    rig = Rig([ball_mesh(r)], [Sand(k=k, n=n, k_u=1e9)], 0.005)
    rig.place(0, (*offset, r - d))
    F = rig.forces()[0]
    exact = 2 * math.pi * k * ((r - d) * d ** (n + 1) / (n + 1) + d ** (n + 2) / (n + 2))
    assert F[2] == pytest.approx(exact, rel=0.01)
    assert np.abs(F[:2]).max() < 0.01 * exact
    assert np.abs(F[3:]).max() < 0.002 * exact


@pytest.mark.parametrize("angle", [10, 25, 45])
def test_a_box_foot_on_its_edge(angle):
    # horizontal forces of p(z) on a body that is open at the top only cancel; the moment is that of
    # the integral; left and right edges mirror each other
    a = math.radians(angle)
    half, sink, k, n, spacing = 0.1, 0.02, 2e5, 1.0, 0.00213
    forces = []
    for sign in (1, -1):
        mesh = box_mesh((2 * half, 0.2, 2 * half))
        rig = Rig([mesh], [Sand(k=k, n=n, k_u=1e9)], spacing, room=40000)
        R = rotation(0, sign * a, 0)
        low = half * (math.sin(a) + math.cos(a))
        rig.place(0, (sign * 0.3 * spacing, 0.0, low - sink), rotation=R)
        forces.append(rig.forces()[0])
    F = forces[0]
    # the wedge below the surface: width in plan l, W = k·(volume of the wedge) for n = 1
    wedge = 0.5 * sink**2 * (1 / math.tan(a) + math.tan(a)) * 0.2
    assert F[2] == pytest.approx(k * wedge, rel=0.03)
    # a row of nodes at the edge belongs to one face or the other: that much is left
    assert abs(F[0]) < spacing / sink * F[2] and abs(F[1]) < 1e-9
    mirrored = forces[1] * [-1, 1, 1, 1, -1, -1]
    assert np.allclose(F, mirrored, atol=1e-6 * F[2])


# --- through the simulation


def rig_scenario(robot="plate_rig", soil="dry_sand", **parts):
    return {
        "robot": {"name": robot},
        "ground": [{"kind": "terrain", "name": "soil", "terrain": "flat", "soil": soil,
                    "spacing": 0.01}],
        "gravity": 0,
        "control": [{"joints": "press", "torque": "-100*(1 - cos(3.141592653589793*min(1, t/6)))"}],
        "run": {"duration": 7, "step": 1e-3, "record_period": 0.05, "theta": 1},
        **parts,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("robot", "b", "area"),
    [
        ("plate_rig", 0.05, math.pi * 0.05**2),
        ("plate_rig_rect", None, None),
    ],
)
@pytest.mark.parametrize("soil", ["dry_sand", "lunar_nominal", "krenn2008"])
def test_a_force_ends_at_the_closed_form_sinkage(robot, b, area, soil):
    sim = Simulation(validate(rig_scenario(robot, soil))).run()
    if b is None:
        size = 2 * sim.model.geom("plate").size[:2]
        b, area = float(size.min()), float(size.prod())
    s = load_soil(soil)
    sinkage = (200 / area / (s.k_c / b + s.k_phi)) ** (1 / s.exponent)
    # the load ends smoothly: plastic soil keeps any overshoot; the 72-cornered disc is 0.13 % small
    assert -sim.qpos[0] == pytest.approx(sinkage, rel=5e-3)
    assert abs(sim.qvel[0]) < 1e-6


def test_reece_form():
    # p = (c k'_c + γ b k'_φ)(z/b)ⁿ
    soil = {
        "name": "dry_sand", "cohesion": 800, "density": 1500, "reece_kc": 40, "reece_kphi": 300,
        "exponent": 0.8,
    }  # fmt: skip
    parts = rig_scenario(soil=soil, interaction={"soil": {"pressure": "reece"}}, gravity=3.72)
    sim = Simulation(validate(parts)).run()
    b, area = 0.05, math.pi * 0.05**2
    weight = 200 + sim.model.body("Plate").mass[0] * 3.72
    k = 800 * 40 + 1500 * 3.72 * b * 300
    assert -sim.qpos[0] == pytest.approx(b * (weight / area / k) ** (1 / 0.8), rel=5e-3)


@pytest.mark.parametrize(("mass", "step"), [(0.5, 1e-3), (5.0, 2e-3), (0.05, 5e-4), (0.05, 2e-3)])
def test_a_box_that_is_dropped_gains_no_energy(tmp_path, mass, step):
    model = mjcf(
        '<body name="foot" pos="0 0 0.2"><freejoint name="free"/>'
        f'<geom name="foot" type="box" size="0.15 0.15 0.02" mass="{mass}"/></body>'
    )
    sim = simulation(
        tmp_path, model,
        robot={"position": [0, 0, 0.04], "attitude": [0.05, 0.08, 0.3]},
        ground=[{"kind": "terrain", "name": "soil", "terrain": "flat", "soil": "dry_sand",
                 "spacing": 0.02}],
        run={"duration": 2, "step": step, "record_period": 0.01, "theta": 1},
    )  # fmt: skip
    sim.run()
    total = sim.records.energy.sum(axis=1)
    assert total.max() <= total[0] * (1 + 1e-6)
    # it lies: what moves on is a ten-thousandth of what it came with
    assert sim.records.energy[-20:, 1].max() < 1e-2 * total[0]
