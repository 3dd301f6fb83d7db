"""Wheels and rovers on planes, slopes, boxes and meshes; settling; MuJoCo's soft contact."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from worlds import PENETRATION, UNCONVERGED

from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation

SHAPES = ["sphere", "disc", "cylinder", "torus"]
PLANE = [{"kind": "plane", "name": "ground"}]


def flat_mesh(size=8.0, cells=9, height=0.0, slope=0.0):
    """A plane z = height + tan(slope) x cut into triangles whose edges the wheels cross."""
    x = np.linspace(-size, size, cells + 1) + 0.0137
    z = lambda a: height + math.tan(slope) * a  # noqa: E731
    triangles = []
    for i in range(cells):
        for j in range(cells):
            a, b, c, d = (
                [float(x[i + p]), float(x[j + q]), float(z(x[i + p]))]
                for p, q in ((0, 0), (1, 0), (1, 1), (0, 1))
            )
            triangles += [[a, b, c], [a, c, d]] if (i + j) % 2 else [[a, b, d], [b, c, d]]
    return [{"kind": "mesh", "name": "ground", "triangles": triangles}]


def rover(ground, shape="sphere", duration=2.0, law=None, torque=0.3, robot=None, **run):
    return Simulation(
        validate(
            {
                "robot": {
                    "name": "exomars_rt0448", "position": [0, 0, 0.57875], "wheel_shape": shape,
                    "springs": {"steering": {"stiffness": 2.0, "damping": 0.5}}, **(robot or {}),
                },
                "ground": ground,
                "interaction": {"friction": 0.7, **(law or {})},
                "control": [{"joints": "drives", "torque": torque}],
                "run": {"duration": duration, "step": 1e-3, "record_period": 0.01, **run},
            }
        )
    )  # fmt: skip


# --- driving


@pytest.mark.parametrize("shape", SHAPES)
def test_drive_on_a_plane(shape):
    # six wheels roll: (m + 6 I/r²) a = 6 τ/r, with m = 64.6 kg, I = 8.3205e-4 kg·m²
    sim = rover(PLANE, shape).run()
    r = sim.records
    effective = 64.6 + 6 * 0.00083205 / 0.129**2
    a = 6 * 0.3 / 0.129 / effective
    assert sim.qvel[0] == pytest.approx(a * 2.0, rel=1e-6)
    assert sim.qpos[0] == pytest.approx(0.5 * a * 2.0**2, rel=1e-6)
    # rolling: v = r ω; no wheel leaves the ground or sinks; the ground carries the weight
    rates = r.velocities[:, sim._wheels.dof]
    assert np.abs(rates * 0.129 - r.velocities[:, :1]).max() < 1e-8
    assert np.abs(r.gap).max() < 1e-9
    assert r.stats[:, UNCONVERGED].sum() == 0
    weight = r.world[1:, :, 2].sum(axis=1) / 0.01
    assert np.abs(weight - 64.6 * 3.69).max() < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_flat_mesh_equals_plane(shape):
    # the seams between triangles are not felt: same trajectory as on the plane
    on_plane = rover(PLANE, shape, 3.0).run()
    on_mesh = rover(flat_mesh(), shape, 3.0).run()
    assert np.abs(on_plane.qpos - on_mesh.qpos).max() < 1e-9
    assert np.abs(on_plane.records.coordinates - on_mesh.records.coordinates).max() < 1e-9
    assert np.abs(on_mesh.records.velocities[:, 2]).max() < 1e-9
    total = [s.records.normal.sum(axis=(1, 2)) for s in (on_plane, on_mesh)]
    assert np.abs(total[0] - total[1]).max() < 1e-7


@pytest.mark.parametrize("shape", SHAPES)
def test_box_top_equals_plane(shape):
    ground = [{"kind": "box", "name": "ground", "centre": [0, 0, -1], "size": [20, 20, 2]}]
    on_plane, on_box = rover(PLANE, shape).run(), rover(ground, shape).run()
    assert np.abs(on_plane.records.coordinates - on_box.records.coordinates).max() < 1e-9


@pytest.mark.parametrize("shape", SHAPES)
def test_slope_mesh_equals_slope_plane(shape):
    slope = math.radians(8)
    plane = [{"kind": "plane", "name": "ground", "slope": slope}]
    start = {"position": [0, 0, 1], "attitude": [0, -slope, 0], "settle": True}
    sims = [
        rover(g, shape, 1.0, torque=0.9, robot=start).run() for g in (plane, flat_mesh(slope=slope))
    ]
    difference = sims[0].records.coordinates - sims[1].records.coordinates
    assert np.abs(difference).max() < 1e-7
    # along the slope: (m + 6 I/r²) a = 6 τ/r − m g sin α
    effective = 64.6 + 6 * 0.00083205 / 0.129**2
    a = (6 * 0.9 / 0.129 - 64.6 * 3.69 * math.sin(slope)) / effective
    v = sims[0].qvel[0] * math.cos(slope) + sims[0].qvel[2] * math.sin(slope)
    assert v == pytest.approx(a * 1.0, rel=2e-3)  # the passive bogies swing a little at the start


@pytest.mark.parametrize(
    "shape", ["sphere", *(pytest.param(s, marks=pytest.mark.soak) for s in SHAPES[1:])]
)
def test_drive_over_a_ridge(shape):
    # a real edge is felt and crossed: contacts stay closed or open, nothing penetrates
    a, b, c = [-9, -9, 0], [-9, 9, 0], [0.9, -9, 0]
    d, e, f = [0.9, 9, 0], [9, -9, 0.6], [9, 9, 0.6]
    rise = [[a, c, d], [a, d, b], [c, e, f], [c, f, d]]
    sim = rover([{"kind": "mesh", "name": "ground", "triangles": rise}], shape, 3.0, torque=0.8)
    r = sim.run().records
    assert r.base_position[-1, 2] > 0.59
    assert r.gap.min() > -1e-8
    assert r.stats[:, PENETRATION].max() < 1e-8
    assert r.stats[:, UNCONVERGED].sum() == 0


# --- settling


def rough(seed=4, size=3.0, cells=30, height=0.1):
    """Hills of a metre or two across, about ± height."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-size, size, cells + 1)
    z = np.zeros((cells + 1, cells + 1))
    for _ in range(6):
        a, b = rng.uniform(-4, 4, 2)
        z += height / 3 * np.sin(a * x[:, None] + b * x[None, :] + rng.uniform(0, 6))
    p = [
        [[float(x[i]), float(x[j]), float(z[i, j])] for j in range(cells + 1)]
        for i in range(cells + 1)
    ]
    triangles = []
    for i in range(cells):
        for j in range(cells):
            a, b, c, d = p[i][j], p[i + 1][j], p[i + 1][j + 1], p[i][j + 1]
            triangles += [[a, b, c], [a, c, d]]
    return [{"kind": "mesh", "name": "ground", "triangles": triangles}]


GROUNDS = {
    "plane": (PLANE, 0.0),
    "slope": ([{"kind": "plane", "name": "ground", "slope": "12 deg", "uphill": "90 deg"}], 0.0),
    "mesh": (flat_mesh(height=0.3), 0.0),
}


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("height", [0.2, 0.57, 3.0])
def test_settle_puts_every_wheel_down(name, height):
    # whatever the height, above or inside: all gaps closed, at rest, and starting moves nothing
    ground, torque = GROUNDS[name]
    robot = {"position": [0.1, 0.2, height], "settle": True}
    sim = rover(ground, "sphere", 0.5, torque=torque, robot=robot)
    assert np.abs(sim.records.gap[0]).max() < 1e-8
    assert np.abs(sim.qvel).max() == 0
    start = sim.qpos.copy()
    sim.run()
    assert np.abs(sim.qpos - start)[:7].max() < 1e-6
    # the wheels are free: across a slope, 1e-6 rad off the contour line is felt
    assert np.abs(sim.qpos - start)[7:].max() < 5e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [4, 5])
def test_settle_on_rough_ground(shape, seed):
    # smooth random hills: six wheels on three bogies, so all wheels touch, none penetrates; with
    # its drives held (stiff springs) the rover then stands. It starts half inside the ground.
    robot = {
        "position": [0, 0, 0.4], "settle": True,
        "springs": {"steering": {"stiffness": 1e5, "damping": 1e3},
                    "drives": {"stiffness": 1e5, "damping": 1e3}},
    }  # fmt: skip
    sim = rover(rough(seed), shape, 0.3, torque=0.0, robot=robot, law={"friction": 2.0})
    assert sim.records.gap[0].min() > -1e-8
    assert np.abs(sim.records.gap[0]).max() < 1e-6
    start = sim.qpos.copy()
    sim.run()
    assert np.abs(sim.qpos - start).max() < 1e-4


def test_settle_keeps_the_start_velocity():
    robot = {"settle": True, "velocity": [0.1, 0, 0], "joint_rates": {"drives": 0.1 / 0.129}}
    sim = rover(PLANE, torque=0.0, robot=robot)
    assert sim.qvel[0] == 0.1
    sim.run()
    assert sim.qvel[0] == pytest.approx(0.1, rel=1e-9)  # rolls on without loss


def test_start_inside_the_ground_warns():
    with pytest.warns(UserWarning, match=r"8\.75 mm inside the ground"):
        rover(PLANE, robot={"position": [0, 0, 0.57]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rover(PLANE)


def test_no_contact_with_law_none():
    sim = rover(PLANE, duration=0.5, law={"law": "none"}, torque=0.0).run()
    assert sim.qpos[2] == pytest.approx(0.57875 - 0.5 * 3.69 * 0.25, abs=1e-9)


# --- smooth baseline


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit_damping"])
def test_soft_contact_stands(integrator):
    # MuJoCo's soft contact as a baseline: the rover stands, sunk by less than a centimetre
    sim = rover(PLANE, duration=3.0, law={"law": "mujoco"}, torque=0.0, integrator=integrator)
    r = sim.run().records
    assert np.abs(sim.qvel).max() < 1e-3
    assert 0 < 0.57875 - sim.qpos[2] < 0.01
    weight = r.world[-50:, :, 2].sum(axis=1).mean() / 0.01
    assert weight == pytest.approx(64.6 * 3.69, rel=1e-3)


def test_soft_contact_needs_convex_ground():
    with pytest.raises(ValueError, match="only convex shapes"):
        rover(flat_mesh(), law={"law": "mujoco"}, integrator="semi_implicit")


def test_smooth_fall_is_free_fall():
    # without contact mj_step's semi-implicit Euler: z = z0 − g h² n (n + 1)/2
    settings = {"interaction.law": "none", "run.integrator": "semi_implicit", "run.duration": 0.5}
    sim = Simulation(load_scenario("rt0448/test-1", settings)).run()
    n, h = 1000, 5e-4
    assert sim.qpos[2] == pytest.approx(2 - 3.69 * h**2 * n * (n + 1) / 2, abs=1e-10)
