"""Polygonal contact in the engine: blocks, balls, wheels and floating bodies."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from worlds import G, ball, box, digest, energy, mjcf, simulation

from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation

K = 1e9


def law(friction=0.6, face_size=0.1, **layer):
    polygonal = {"layer": {"stiffness": K, **layer}, "face_size": face_size}
    return {"law": "polygonal", "friction": friction, "polygonal": polygonal}


def slope(degrees):
    return [{"kind": "plane", "name": "slope", "slope": f"{degrees} deg", "uphill": 0}]


def on_slope(folder, degrees, duration, friction=0.6, step=1e-3, height=0.1, **layer):
    """A block of 0.4 m × 0.4 m set down on a slope, touching."""
    tilt = math.radians(degrees)
    # as deep as its weight presses it
    up = height - G * math.cos(tilt) / (K * 0.16)
    return simulation(
        folder, mjcf(box(f"0.2 0.2 {height}")), ground=slope(degrees),
        interaction=law(friction, **layer),
        robot={
            "position": [-up * math.sin(tilt), 0, up * math.cos(tilt)],
            "attitude": [0, -tilt, 0],
        },
        run={"duration": duration, "step": step, "record_period": 0.05},
    )  # fmt: skip


def two_bodies(folder, bodies, shapes, pairs, theta=1.0, **parts):
    """Bodies with named shapes in polygonal contact, floating unless `parts` say otherwise."""
    (folder / "model.xml").write_text(mjcf(bodies))
    robot = {"model": "model.xml", "shapes": shapes}
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot))
    parts.setdefault("gravity", 0)
    parts.setdefault("ground", [])
    layer = parts.pop("layer", {"stiffness": K})
    interaction = {
        "law": "none", "friction": 0.4,
        "polygonal": {"layer": layer, "face_size": 0.02, "pairs": pairs, "theta": theta},
    }  # fmt: skip
    return Simulation(
        validate({"robot": {"name": str(folder)}, "interaction": interaction, **parts})
    )


# --- blocks


def test_block_rests_at_the_depth_of_its_weight(tmp_path):
    """k A δ = m g, each of the faces its share."""
    sim = simulation(
        tmp_path, mjcf(box(mass=100.0)), interaction=law(damping=1e7),
        robot={"position": [0, 0, 0.1]}, run={"duration": 1.0, "step": 1e-3},
    )  # fmt: skip
    sim.run()
    ds = sim.dataset().isel(time=-1, pair=0)
    depth = 100 * G / (K * 0.16)
    assert 0.1 - sim.qpos[2] == pytest.approx(depth, rel=1e-6)
    assert float(ds.pair_normal_force.sum()) == pytest.approx(100 * G, rel=1e-6)
    assert float(ds.pair_area) == pytest.approx(0.16, rel=1e-9)
    assert float(ds.pair_depth) == pytest.approx(depth, rel=1e-6)


@pytest.mark.parametrize("degrees", [5, 20, 30])
def test_what_sticks_does_not_creep(tmp_path, degrees):
    """A block on a slope below μ moves by what its layer gives and then not at all."""
    sim = on_slope(tmp_path, degrees, 20.0)
    sim.run()
    assert np.abs(sim.qvel).max() < 1e-12
    place = sim.records.base_position
    later = sim.records.time > 5.0
    assert np.ptp(place[later], axis=0).max() < 1e-12


def test_block_slides_as_coulomb_says(tmp_path):
    """a = g (sin α − μ cos α), and friction is μ_slip once it slips."""
    sim = on_slope(tmp_path, 35, 1.0, friction=0.3)
    sim.run()
    tilt = math.radians(35)
    expected = G * (math.sin(tilt) - 0.3 * math.cos(tilt))
    speed = np.linalg.norm(sim.qvel[:3])
    assert speed == pytest.approx(expected * 1.0, rel=5e-3)


def test_it_takes_more_to_start_than_to_go_on(tmp_path):
    """Between μ_slip and μ_stick a block stays if it rests and goes on if it slides."""
    tilt = math.atan(0.42)
    # low, so that its faces are loaded evenly and none slips before the others; damped, or the
    # load that comes at once would overshoot
    flat = {"height": 0.02, "stick": 0.5, "slip": 0.4, "damping_tangential": 5e6, "transition": 0}
    rest = on_slope(tmp_path, math.degrees(tilt), 3.0, **flat)
    rest.run()
    assert np.abs(rest.qvel).max() < 1e-9
    moving = on_slope(tmp_path, math.degrees(tilt), 1.0, **flat)
    moving.qvel[:3] = -0.2 * np.array([math.cos(tilt), 0, math.sin(tilt)])
    moving.run()
    gained = G * (math.sin(tilt) - 0.4 * math.cos(tilt))
    assert np.linalg.norm(moving.qvel[:3]) == pytest.approx(0.2 + gained, rel=0.02)


def test_sliding_block_comes_to_rest_where_coulomb_says(tmp_path):
    """v²/(2 μ g) on the level, and it stays there."""
    sim = simulation(
        tmp_path, mjcf(box()), interaction=law(0.5),
        robot={"position": [0, 0, 0.1 - 6e-8], "velocity": [1, 0, 0]},
        run={"duration": 2.0, "step": 1e-3},
    )  # fmt: skip
    sim.run()
    assert sim.qpos[0] == pytest.approx(1 / (2 * 0.5 * G), rel=5e-3)
    assert np.abs(sim.qvel).max() < 1e-9


# --- energy


def gains_in_the_air(sim):
    """Largest gain of energy between two records without contact: layers store none there."""
    free = sim.dataset().pair_area.values.sum(axis=1) == 0.0
    return float(np.diff(energy(sim)[free]).max())


@pytest.mark.parametrize("damping", [0.0, 1e6])
def test_energy_of_a_bouncing_ball_never_grows(tmp_path, damping):
    """Forces in the middle of the step and no damping: back to its height; else lower each time."""
    interaction = law(face_size=0.01, damping=damping, damping_tangential=damping)
    interaction["polygonal"]["theta"] = 0.5 if damping == 0.0 else 1.0
    sim = simulation(
        tmp_path, mjcf(ball(radius=0.1)), interaction=interaction,
        robot={"position": [0, 0, 0.2]}, run={"duration": 2.0, "step": 1e-4, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    ds = sim.dataset()
    assert gains_in_the_air(sim) < 2e-3 * G * 0.1
    top = sim.records.base_position[1000:, 2].max()
    assert (top > 0.195) if damping == 0.0 else (top < 0.19)
    balance = energy(sim) + ds.energy_ground.values
    assert np.ptp(balance) < 2e-3 * abs(balance).max()


def test_spinning_and_sliding_bodies_lose_energy(tmp_path):
    """A tumbling box on a plane: friction and damping only take."""
    sim = simulation(
        tmp_path, mjcf(box()), interaction=law(0.5),
        robot={"position": [0, 0, 0.4], "attitude": [0.5, 0.3, 0.1], "velocity": [1, 0.5, 0],
               "angular_velocity": [3, -4, 2]},
        run={"duration": 3.0, "step": 2e-4, "record_period": 2e-3},
    )  # fmt: skip
    sim.run()
    total = energy(sim)
    assert gains_in_the_air(sim) < 1e-9 * total[0]
    assert total.max() < total[0] * (1 + 1e-9)
    assert total[-1] < 0.5 * total[0]


# --- two bodies

BALLS = {
    "left": {"body": "left", "geom": "left"},
    "right": {"body": "right", "geom": "right"},
}


def named_ball(name, x, mass=1.0):
    return (
        f'<body name="{name}" pos="{x} 0 0"><freejoint name="{name}_free"/>'
        f'<geom name="{name}" type="sphere" size="0.1" mass="{mass}"/></body>'
    )


def test_momentum_of_colliding_bodies_is_kept_to_rounding(tmp_path):
    """A glancing blow with friction: linear and angular momentum of both, to the last digits."""
    sim = two_bodies(
        tmp_path, named_ball("left", 0) + named_ball("right", 0.3, 2.0), BALLS,
        [{"faces": "left", "against": "right"}],
        robot={"name": str(tmp_path), "velocity": [1, 0.15, 0.05], "angular_velocity": [0, 20, 5]},
        run={"duration": 0.5, "step": 1e-4, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    ds = sim.dataset()
    assert float(ds.pair_normal_force.max()) > 10
    momentum = _momentum(sim)
    scale = np.abs(momentum[0]).max()
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * scale
    # they have exchanged something, spin too
    assert abs(sim.qvel[6]) > 0.1 and np.abs(sim.qvel[9:12]).max() > 0.1
    assert gains_in_the_air(sim) < 1e-9


def test_action_equals_reaction_in_free_fall(tmp_path):
    """The same blow while both fall: with gravity nothing corrects the momentum afterwards, so that
    forces and torques themselves must cancel."""
    sim = two_bodies(
        tmp_path, named_ball("left", 0) + named_ball("right", 0.3, 2.0), BALLS,
        [{"faces": "left", "against": "right"}], gravity=G,
        robot={"name": str(tmp_path), "velocity": [1, 0.15, 0.05], "angular_velocity": [0, 20, 5]},
        run={"duration": 0.5, "step": 1e-4, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    assert float(sim.dataset().pair_normal_force.max()) > 10
    momentum, q = _momentum(sim), sim.records.coordinates
    linear = momentum[:, :3]
    centre = (q[:, :3] + 2 * q[:, 7:10]) / 3
    angular = momentum[:, 3:] - np.cross(centre, linear)
    linear = linear + 3.0 * G * sim.records.time[:, None] * [0, 0, 1]
    assert np.abs(linear - linear[0]).max() < 1e-11
    assert np.abs(angular - angular[0]).max() < 1e-11
    assert abs(sim.qvel[6]) > 0.1 and np.abs(sim.qvel[9:12]).max() > 0.1


def _momentum(sim):
    """Linear and angular momentum about the origin at every record."""
    rows = []
    for q, v in zip(sim.records.coordinates, sim.records.velocities, strict=True):
        p, angular = np.zeros(3), np.zeros(3)
        for k, mass in enumerate((1.0, 2.0)):
            place, speed, rate = (
                q[7 * k : 7 * k + 3],
                v[6 * k : 6 * k + 3],
                v[6 * k + 3 : 6 * k + 6],
            )
            w, x, y, z = q[7 * k + 3 : 7 * k + 7]
            turn = np.array([
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ])  # fmt: skip
            p += mass * speed
            angular += mass * np.cross(place, speed) + 0.4 * mass * 0.01 * turn @ rate
        rows.append(np.concatenate([p, angular]))
    return np.array(rows)


def test_head_on_blow_is_symmetric(tmp_path):
    """Equal balls exchange their velocities; nothing goes sideways."""
    sim = two_bodies(
        tmp_path, named_ball("left", 0) + named_ball("right", 0.25), BALLS,
        [{"faces": "left", "against": "right"}],
        layer={"stiffness": K, "damping": 0, "damping_tangential": 0}, theta=0.5,
        robot={"name": str(tmp_path), "velocity": [1, 0, 0]},
        run={"duration": 0.2, "step": 2e-5, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    assert sim.qvel[6] == pytest.approx(1.0, abs=2e-3)
    assert abs(sim.qvel[0]) < 2e-3
    assert np.abs(sim.qvel[[1, 2, 7, 8]]).max() < 1e-3


def test_a_bolt_in_a_sleeve_is_held_and_pulled(tmp_path):
    """A changing profile: a plug that spreads behind a throat cannot be drawn out."""
    throat = [[-0.1, 0.04], [-0.02, 0.04], [0.0, 0.02], [0.02, 0.04], [0.1, 0.04]]
    folded = [[-0.02, 0.015], [0.0, 0.015], [0.02, 0.015]]
    spread = [[-0.02, 0.015], [0.0, 0.03], [0.02, 0.015]]
    bodies = (
        '<body name="sleeve"><freejoint/><geom type="box" size="0.05 0.05 0.1" mass="5"/></body>'
        '<body name="rod" pos="0 0 -0.03"><freejoint/>'
        '<geom type="cylinder" size="0.01 0.2" mass="2"/>'
        '<body name="plug"><joint name="spread" type="slide" axis="0 0 1" damping="100"/>'
        '<geom type="sphere" size="0.01" mass="0.1"/></body></body>'
    )
    shapes = {
        "sleeve": {
            "body": "sleeve",
            "revolution": {"profile": throat, "solid": "outside", "steps": 64},
        },
        "plug": {
            "body": "rod",
            "revolution": {
                "profiles": {"joint": "spread", "at": [0.0, 0.01], "profile": [folded, spread]}
            },
        },
    }
    # the rod is drawn along +z; folded the plug passes, spread it takes the sleeve along
    for opening, held in ((0.0, False), (0.01, True)):
        sim = two_bodies(
            tmp_path, bodies, shapes, [{"faces": "sleeve", "against": "plug"}],
            robot={"name": str(tmp_path), "joints": {"spread": opening}},
            control=[{"joints": "spread", "speed": 0}],
            run={"duration": 4.0, "step": 1e-3},
        )  # fmt: skip
        sim.qvel[8] = 0.05
        sim.run()
        apart = sim.qpos[9] - sim.qpos[2]
        assert (apart < 0.02) if held else (apart > 0.1)
        if held:
            assert sim.qvel[2] > 0.005


# --- wheels


def test_a_wheel_rolls_down_a_slope(tmp_path):
    """a = g sin α/(1 + I/(m r²)) without slip, on faces of 2 cm, little rolling resistance."""
    body = (
        '<body name="drum"><freejoint/><geom type="cylinder" size="0.2 0.1" mass="2"'
        ' euler="1.5707963267948966 0 0"/></body>'
    )
    tilt = math.radians(10)
    sim = simulation(
        tmp_path, mjcf(body), ground=slope(10), interaction=law(face_size=0.005, damping=1e6),
        robot={"position": [-0.2 * math.sin(tilt), 0, 0.2 * math.cos(tilt)]},
        run={"duration": 1.0, "step": 5e-4},
    )  # fmt: skip
    sim.run()
    expected = G * math.sin(tilt) / 1.5
    assert np.linalg.norm(sim.qvel[:3]) == pytest.approx(expected, rel=0.03)


@pytest.mark.soak
def test_rover_stands_and_drives(tmp_path):
    """The ExoMars rover under polygonal and under nonsmooth contact goes the same way."""
    base = {
        "robot": {"name": "exomars", "position": [0, 0, 0.6], "settle": True},
        "gravity": 3.72,
        "control": [{"joints": "drives", "speed": "0.3*min(1, t)"}],
        "run": {"duration": 3.0, "step": 1e-3},
    }
    ends = []
    for interaction in ({"law": "nonsmooth", "friction": 0.6}, law(0.6)):
        sim = Simulation(validate({**base, "interaction": interaction}))
        sim.run()
        ends.append(sim.records.base_position[-1].copy())
        load = sim.dataset().impulse_normal.sum(("wheel", "surface")).isel(time=slice(-200, None))
        weight = sim.model.body_subtreemass[0] * 3.72
        period = sim.scenario.run.record_period
        assert float(load.mean()) / period == pytest.approx(weight, rel=0.01)
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


# --- state


def test_runs_repeat_and_resume_bit_for_bit(tmp_path):
    def make():
        return on_slope(tmp_path, 33, 1.0, friction=0.6)

    a, b = make(), make()
    a.run()
    b.step(400)
    saved = b.state()
    b.step(100)
    b.restore(saved)
    b.step(600)
    assert digest(a) == digest(b)


# --- bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"faces": "lef", "against": "right"}, "is not a shape of .*; did you mean 'left'"),
        ({"faces": "left", "against": "left"}, "cannot move relative to each other"),
        ({"faces": "left", "against": "right", "layer": {"stiffness": 0}}, "stiffness"),
        (
            {"faces": "left", "against": "right", "layer": {"materials": [
                {"modulus": "1 GPa", "thickness": 0}]}},
            "thickness",
        ),
        ({"faces": "left", "against": "right", "layer": {"stick": 0.1, "slip": 0.2}}, "stick"),
        ({"faces": "left", "against": "right", "layer": {"stick": 0.3}}, "below slip, .* 0.4"),
    ],
)  # fmt: skip
def test_pairs_that_cannot_be(tmp_path, change, words):
    with pytest.raises((InputError, ValueError), match=words):
        two_bodies(
            tmp_path, named_ball("left", 0) + named_ball("right", 1), BALLS, [change],
            run={"duration": 1.0},
        )  # fmt: skip


FOLDED, SPREAD = [[0, 0.1], [0.1, 0.1]], [[0, 0.1], [0.1, 0.2]]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"geom": "left", "place": [0, 0, 1]}, "'place' applies to"),
        ({"geom": "left", "axis": [1, 0, 0]}, "'axis' applies to"),
        ({"geom": "left", "scale": 2}, "'scale' is for"),
        ({"revolution": {"profile": FOLDED}, "scale": 2}, "'scale' is for"),
        (
            {"revolution": {"profiles": {
                "joint": "left_free", "at": [0, 1], "profile": [FOLDED, SPREAD]}}},
            "is a free joint; a profile changes with a slide or a hinge",
        ),
    ],
)  # fmt: skip
def test_shapes_that_cannot_be(tmp_path, shape, words):
    shapes = {**BALLS, "left": {"body": "left", **shape}}
    with pytest.raises(InputError, match=words):
        two_bodies(
            tmp_path, named_ball("left", 0) + named_ball("right", 1), shapes,
            [{"faces": "right", "against": "left"}], run={"duration": 1.0},
        )  # fmt: skip


def test_a_missing_mesh_names_its_shape(tmp_path):
    shapes = {**BALLS, "left": {"body": "left", "mesh": "nowhere.stl"}}
    with pytest.raises(InputError, match=r"shapes\.left\.mesh: .*nowhere\.stl' does not exist"):
        two_bodies(
            tmp_path, named_ball("left", 0) + named_ball("right", 1), shapes,
            [{"faces": "left", "against": "right"}], run={"duration": 1.0},
        )  # fmt: skip


def test_tracks_are_refused():
    with pytest.raises(InputError, match="does not support belts"):
        Simulation(
            validate({
                "robot": {"name": "tracked_rover"}, "interaction": law(), "run": {"duration": 1.0},
            })
        )  # fmt: skip


# --- what a reviewer found


def test_energy_of_a_thrown_box_does_not_grow(tmp_path):
    """Friction of the very first step, with no area known from a step before."""
    sim = simulation(
        tmp_path, mjcf(box(mass=10.0)), interaction={"law": "polygonal", "friction": 0.5},
        robot={"position": [0, 0, 0.15], "velocity": [2, 0, 0]},
        run={"duration": 0.5, "step": 1e-3, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    assert energy(sim).max() < energy(sim)[0] * (1 + 1e-9)
    assert sim.records.velocities[:, 0].min() > -0.05


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_friction_of_an_impact_stays_in_its_cone(tmp_path, step):
    """By the normal impulse that acts; the layer at the start promises hundreds of times more."""
    sim = simulation(
        tmp_path, mjcf(box()), gravity=0,
        interaction={
            "law": "polygonal", "friction": 0.5,
            "polygonal": {"layer": {"stiffness": 1e9}, "face_size": 0.1},
        },
        robot={"position": [0, 0, 0.1001], "velocity": [10, 0, -0.1]},
        run={"duration": 0.03, "step": step, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    v = sim.records.velocities
    # friction is found by trying a step again, three times at most
    assert 10 - v[-1, 0] == pytest.approx(0.5 * (v[-1, 2] + 0.1), rel=0.15)


@pytest.mark.parametrize("width", [0.02, 0.01])
def test_a_wheel_stands_on_a_narrow_box(width):
    """No corner and no middle of the wheel's faces is in the box."""
    sim = Simulation(
        validate(
            {
                "robot": {"name": "single_wheel_rig"}, "gravity": 0,
                "ground": [
                    {"kind": "box", "name": "rail", "centre": [0, 0, -0.05],
                     "size": [4, width, 0.1]}
                ],
                "interaction": {"law": "polygonal", "friction": 0.5},
                "control": [{"joints": "lift", "torque": "-100*min(1,t)"}],
                "run": {"duration": 1.5, "step": 1e-3},
            }
        )
    )  # fmt: skip
    sim.run()
    assert float(sim.dataset().wheel_position.values[-1, 0, 2]) > 0.12
