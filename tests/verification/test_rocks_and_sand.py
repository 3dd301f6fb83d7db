"""Rocks by hard contact and sand by the soil contact model, at the same time.

A single wheel in a rig (r = 0.125 m, 0.1 m wide, pressed down with 150 N, no gravity, 5 cm/s) rolls
over sand, climbs a rock of 0.36 m that is buried to half of its 16 cm, and comes down again behind.

Geometry says where its centre must run while the rock alone carries it, whatever the law: with the
points p of the rock below its width

    z(x) = max over p of  p_z + √(r² − (x − p_x)²)

and the sand carries nothing where the wheel's lowest point is above it.
"""

from __future__ import annotations

import numpy as np
import pytest

import marsyard
from marsyard.results.dataset import series
from marsyard.scenario import validate
from marsyard.simulation import make_surfaces

RADIUS, WIDTH, LOAD = 0.125, 0.1, 150.0
ROLLING = 1.5  # [s] load and speed are constant from here on
ROCK = {"place": [0.45, 0], "diameter": 0.36, "height": 0.16, "buried": 0.5, "seed": 2}
ALONE = {"kind": "rocks", "name": "rocks", "rocks": [ROCK]}


def scenario(law="polygonal", step=1e-3, stiffness=1e9, duration=16.0):
    return validate(
        {
            "robot": {
                "name": "single_wheel_rig",
                "springs": {"steer": {"stiffness": 1e6, "damping": 1e3}},
            },
            "ground": [
                {"kind": "terrain", "name": "sand", "soil": "mars_sand_zhou2023",
                 "spacing": "1 cm"},
                ALONE,
            ],
            "gravity": 0,
            "interaction": {
                "law": law, "friction": 0.7,
                "polygonal": {"layer": {"stiffness": stiffness}, "refine": 3},
            },
            "parameters": {"speed": 0.05, "radius": RADIUS, "load": LOAD},
            "control": [
                {"joints": "lift", "torque": "-load*min(1, t)"},
                {"joints": "travel", "speed": "speed*min(1, max(0, t - 0.5))"},
                {"joints": "wheel_y", "speed": "speed/radius*min(1, max(0, t - 0.5))"},
            ],
            "run": {"duration": duration, "step": step, "record_period": step, "theta": 1},
        },
        "climb",
    )  # fmt: skip


class Climb:
    """The wheel's path and what carries it, by step."""

    def __init__(self, **options):
        made = scenario(**options)
        sim = marsyard.Simulation(made)
        sim.run()
        ds = sim.dataset()
        rolling = ds.time.values > ROLLING
        force = series(ds, "contact_force_world.W").values[rolling]
        self.force = force  # [N], of sand and rock together, in the world
        self.sand = ds.wheel_load.values[rolling, 0]
        self.rock = series(ds, "hard_load.W").values[rolling]
        self.x, _, self.z = ds.wheel_position.values[rolling, 0].T
        self.depth = ds.pair_depth.values[rolling, 0] if "pair_depth" in ds else None
        self.sinkage = ds.sinkage.values[rolling, 0]
        self.converged = int(ds.unconverged.sum()) == 0
        (self.mesh,) = make_surfaces(made)


@pytest.fixture(scope="module")
def polygonal():
    return Climb()


@pytest.fixture(scope="module")
def nonsmooth():
    return Climb(law="nonsmooth")


def over_the_rock(mesh, x):
    """Height of the centre of a cylinder that rests on the rock, from points all over its faces."""
    n = 24
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    u, v = (i / n)[i + j <= n], (j / n)[i + j <= n]
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    a, b, c = a[:, None], b[:, None], c[:, None]
    points = (a + u[None, :, None] * (b - a) + v[None, :, None] * (c - a)).reshape(-1, 3)
    points = points[(np.abs(points[:, 1]) <= WIDTH / 2) & (points[:, 2] > -0.02)]
    under = RADIUS**2 - (x[:, None] - points[None, :, 0]) ** 2
    return np.max(np.where(under > 0, points[:, 2] + np.sqrt(np.maximum(under, 0)), -1.0), axis=1)


def largest_jump(climb):
    """Largest change of the total force from one step to the next [N]."""
    return float(np.linalg.norm(np.diff(climb.force, axis=0), axis=1).max())


def on_the_rock_alone(climb, every=50):
    """Some steps in which the sand carries nothing."""
    alone = np.flatnonzero((climb.sand == 0) & (climb.rock > 1))
    return alone[::every]


def test_sand_then_rock_then_sand_carry_the_wheel(polygonal):
    c = polygonal
    assert c.converged
    before, after = c.x < 0.15, c.x > 0.74
    for part in (before, after):
        assert np.all(np.abs(c.rock[part]) < 1e-9)  # rounding of a difference
        assert np.all(np.abs(c.sand[part] - LOAD) < 0.15 * LOAD)
    # above the sand and the heap before the wheel, the rock carries all of it
    above = c.z - RADIUS > 2e-3
    assert np.count_nonzero(above) > 0.5 * len(c.x)
    assert np.all(c.sand[above] == 0)
    assert c.z.max() - RADIUS == pytest.approx(0.08, abs=5e-3)
    # on the flanks both do, up and down
    both = c.x[(c.sand > 1) & (c.rock > 1)]
    assert both.min() < 0.25 and both.max() > 0.65
    # what carries the load upwards, together: the lift hardly moves at both ends
    assert c.force[:, 2].mean() == pytest.approx(LOAD, abs=0.02)


def test_no_jump_in_force(polygonal, nonsmooth):
    """The force changes by at most 2 % of the load in a step of 1 ms, and half as fast a step
    halves that: it is continuous. Impacts of rigid contact are jumps whatever the step."""
    coarse, fine = largest_jump(polygonal), largest_jump(Climb(step=5e-4))
    assert coarse < 0.02 * LOAD
    assert fine < 0.7 * coarse
    assert largest_jump(nonsmooth) > 2 * LOAD
    assert np.all(np.abs(polygonal.force[:, 2] - LOAD) < 0.15 * LOAD)


def test_the_path_over_the_rock_is_that_of_geometry(polygonal, nonsmooth):
    # rigid contact touches or hops, elastic layers give way by the depth, measured along a normal
    c, k = nonsmooth, on_the_rock_alone(nonsmooth)
    gap = c.z[k] - over_the_rock(c.mesh, c.x[k])
    assert gap.min() > -1e-5 and gap.max() < 2e-3 and np.median(gap) < 1e-4
    c, k = polygonal, on_the_rock_alone(polygonal)
    gap = c.z[k] - over_the_rock(c.mesh, c.x[k])
    assert -1.5 * c.depth.max() < gap.min() < gap.max() < 0
    assert c.depth.max() < 3e-3


def test_a_stiffer_layer_comes_nearer_to_geometry(polygonal):
    soft = Climb(stiffness=1e8)
    offsets = []
    for c in (soft, polygonal):
        k = on_the_rock_alone(c)
        offsets.append(np.abs(c.z[k] - over_the_rock(c.mesh, c.x[k])).mean())
    assert offsets[1] < 0.6 * offsets[0]


def test_polygonal_and_nonsmooth_rocks_lead_along_the_same_path(polygonal, nonsmooth):
    """Within 5 mm, of which hops of the rigid wheel are a part; 1.5 mm on average."""
    a, b = polygonal, nonsmooth
    difference = np.abs(np.interp(a.x, b.x, b.z) - a.z)
    assert difference.max() < 5e-3 and difference.mean() < 1.5e-3
    assert a.force[:, 2].mean() == pytest.approx(b.force[:, 2].mean(), abs=0.05)


# --- the rover


@pytest.mark.parametrize("law", ["polygonal", pytest.param("nonsmooth", marks=pytest.mark.soak)])
def test_sand_and_rocks_together_change_the_rovers_momentum(law):
    """Impulses of all wheels, of sand and rocks, add up to m (Δv + g t): nothing is lost or counted
    twice where one wheel meets both."""
    changes = {"run.duration": 26, "interaction.law": law, "ground.0.spacing": "2 cm"}
    sim = marsyard.Simulation(marsyard.load_scenario("exomars/rocks-and-sand", changes))
    sim.run()
    ds = sim.dataset()
    mass = float(sim.model.body_mass.sum())
    assert mass == pytest.approx(310)
    total = ds.contact_impulse_world.sum(["time", "wheel"]).values + ds.impulse_other.sum("time")
    gained = mass * (ds.velocity_com[-1] - ds.velocity_com[0]).values
    gained = gained + [0, 0, mass * 3.72 * float(ds.time[-1] - ds.time[0])]
    assert np.abs(total - gained).max() < 1e-6 * mass * 3.72 * 26
    # wheels on rocks and on sand, some on both
    rock, sand = series(ds, "hard_load").values, ds.wheel_load.values
    assert np.any((rock > 5) & (sand > 5)) and np.any((rock > 100) & (sand == 0))
    assert int(ds.unconverged.sum()) == 0
