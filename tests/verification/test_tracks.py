"""Tracks and conical wheels on hard ground, against statics and rolling kinematics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.interaction.contact_geometry.organs import build_parts
from marsyard.robot import load_robot
from marsyard.robot.belt import (
    belt_triangles,
    ground_length,
    length,
    lower_run,
    outline,
    runs,
)
from marsyard.robot.contact_bodies import Track
from marsyard.scenario import validate
from marsyard.simulation import Simulation

G = 9.81
RADIUS = 0.075  # pitch radius of tracked_rover's sprockets [m]


def drive(left, right, duration, slope=0.0, friction=0.8, ground=(), **law):
    """The tracked rover with its sprockets at given rates [rad/s]."""
    control = [
        {"joints": "LeftSprocket_y", "speed": left, **law},
        {"joints": "RightSprocket_y", "speed": right, **law},
    ]
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [{"kind": "plane", "slope": slope}, *ground],
                "gravity": G,
                "interaction": {"friction": friction},
                "control": control,
                "run": {"duration": duration, "record_period": 0.02},
            }
        )
    )
    return sim.run().dataset()


def test_belt_geometry():
    # two equal rollers: two half circles and two straight runs
    ends = {
        "sprocket": {"x": -0.5, "z": 0, "radius": 0.1},
        "idler": {"x": 0.5, "z": 0, "radius": 0.1},
    }
    track = Track(body="f", joint="j", width=0.1, road_wheels=({"x": 0, "z": 0, "radius": 0.1},),
                  thickness=0.02, **ends)  # fmt: skip
    assert length(track) == pytest.approx(2 * 1.0 + 2 * math.pi * 0.12, rel=1e-5)
    assert ground_length(track) == pytest.approx(1.0, rel=1e-9)
    corners = outline(track)
    assert np.ptp(corners, axis=0) == pytest.approx([1.24, 0.24], abs=1e-4)
    assert all(run.normal @ (run.end - run.start) == pytest.approx(0) for run in runs(track))


def shadow(track, side):
    """Area of the belt's triangles that face down (−1) or up (1), seen from above [m²]."""
    corners = belt_triangles(track).reshape(-1, 3, 3)
    area = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    return np.maximum(side * area, 0.0).sum()


@pytest.mark.parametrize("height", [0.06, 0.0, -0.02], ids=["raised", "on the ground", "below"])
def test_belts_are_closed_wherever_sprocket_and_idler_stand(height):
    # what faces down has the same shadow as what faces up: the whole length times the width
    given = load_robot("tracked_rover").tracks["L"].model_dump()
    ends = {"sprocket": {"x": -0.42}, "idler": {"x": 0.42}}
    track = Track.model_validate(
        given | {k: v | {"z": height, "radius": 0.06} for k, v in ends.items()}
    )
    whole = np.ptp(outline(track)[:, 0]) * track.width
    assert shadow(track, 1.0) == pytest.approx(whole, rel=1e-3)
    assert shadow(track, -1.0) == pytest.approx(whole, rel=1e-3)


def test_road_wheels_side_by_side_count_once():
    track = load_robot("tracked_rover").tracks["L"]
    twice = track.model_copy(update={"road_wheels": (*track.road_wheels, *track.road_wheels)})
    once, run = lower_run(track), lower_run(twice)
    assert run.x == pytest.approx(once.x) and np.all(np.diff(run.x) > 0)
    assert run.fixed.tolist() == once.fixed.tolist()


def test_track_drives_with_its_belt_speed():
    ds = drive(2.0, 2.0, 3.0)
    assert ds.velocity_base.values[-1] == pytest.approx([2.0 * RADIUS, 0, 0], abs=1e-9)
    assert ds.belt_speed.values[-1] == pytest.approx([2.0 * RADIUS] * 2, rel=1e-9)
    # each track carries half of the weight, and nothing resists on hard ground
    weight = float(ds.attrs["weight"])
    assert ds.track_force.values[-1, :, 2] == pytest.approx([weight / 2] * 2, rel=1e-6)
    assert ds.motor_torque.values[-1] == pytest.approx([0, 0], abs=1e-6)


def test_belt_carries_its_inertia():
    # a constant torque: (m + (I + m_b r²)·2/r²) a = 2 τ/r, the belt's mass counted at the sprocket
    robot = load_robot("tracked_rover")
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [{"kind": "plane"}],
                "gravity": G,
                "control": [{"joints": "drives", "torque": 1.0}],
                "run": {"duration": 1.0, "record_period": 0.1},
            }
        )
    ).run()
    track = robot.tracks["L"]
    turning = 2 * (0.006 + track.mass * RADIUS**2) / RADIUS**2
    a = 2 * 1.0 / RADIUS / (40.0 + turning)
    assert sim.dataset().velocity_base.values[-1, 0] == pytest.approx(a * 1.0, rel=1e-6)


@pytest.mark.parametrize("degrees", [10, 25])
def test_torque_on_a_slope(degrees):
    ds = drive(2.0, 2.0, 2.0, slope=math.radians(degrees))
    torque = 40.0 * G * math.sin(math.radians(degrees)) * RADIUS / 2
    assert ds.motor_torque.values[-1] == pytest.approx([torque] * 2, rel=1e-6)
    along = np.linalg.norm(ds.velocity_base.values[-1])
    assert along == pytest.approx(2.0 * RADIUS, rel=1e-9)


def test_track_slips_on_a_slope_too_steep():
    # beyond atan μ it slides down with g (sin − μ cos), whatever the belts do
    slope = math.radians(30)
    ds = drive(2.0, 2.0, 1.0, slope=slope, friction=0.4)
    down = G * (math.sin(slope) - 0.4 * math.cos(slope))
    assert -np.linalg.norm(ds.velocity_base.values[-1]) == pytest.approx(-down, rel=1e-2)
    torque = 0.4 * 40.0 * G * math.cos(slope) * RADIUS / 2
    assert ds.motor_torque.values[-1] == pytest.approx([torque] * 2, rel=1e-3)


def test_skid_turn():
    # belts against each other: it turns about its middle, slower than without slip (2 v/gauge),
    # and each track pulls no more than friction allows
    ds = drive(-2.0, 2.0, 4.0)
    rate = float(ds.angular_velocity_base.values[-1, 2])
    assert 0.2 < rate / (2 * 2.0 * RADIUS / 0.5) < 1.0
    pull = np.abs(ds.motor_torque.values[-1]) / RADIUS
    assert pull == pytest.approx([pull.mean()] * 2, rel=0.05)
    assert np.all(pull < 0.8 * 20.0 * G)


def test_edge_between_two_rollers_is_felt():
    # a beam of 2 cm across the way, thinner than the gap between road wheels: the belt rides over
    # it and never sinks deeper onto it than the belt gives (1 mm), while all rollers pass
    beam = {"kind": "box", "name": "beam", "centre": [0.8, 0, 0], "size": [0.02, 2, 0.04]}
    ds = drive(4.0, 4.0, 5.0, ground=[beam])
    x, z = ds.position_base.values[:, 0], ds.position_base.values[:, 2]
    assert x[-1] > 1.3
    # on the way the rover stands on the beam by its belt
    middle = (x > 0.78) & (x < 0.82)
    assert z[middle].max() > 0.25 + 0.005


def test_conical_wheel_rolls_on_its_larger_rim():
    # large ends outside: the rover goes with the rim's speed, not with that of the mean radius
    robot = load_robot("marsokhod_like")
    wheel = robot.wheels["FL"]
    large = wheel.radius + abs(wheel.taper) * wheel.width / 2
    sim = Simulation(
        validate(
            {
                "robot": {"name": "marsokhod_like", "settle": True},
                "ground": [{"kind": "plane"}],
                "gravity": G,
                "control": [
                    {"joints": "drives", "speed": 1.0},
                    {"joints": "frame", "speed": 0.0, "gain": 1e7},
                ],
                "run": {"duration": 2.0, "record_period": 0.1},
            }
        )
    ).run()
    ds = sim.dataset()
    assert ds.velocity_base.values[-1, 0] == pytest.approx(large, rel=1e-6)
    assert float(np.abs(ds.gap.values[-1]).max()) < 1e-6
    assert ds.slip_ratio.values[-1] == pytest.approx(0.0, abs=1e-6)


def test_a_cone_is_none_where_the_scenario_gives_wheels_another_shape():
    robot = load_robot("marsokhod_like")
    model = robot.spec().compile()
    assert len(build_parts(robot, model).wheel) == 4 * len(robot.wheels)
    assert len(build_parts(robot, model, "sphere").wheel) == 0
    sim = Simulation(
        validate(
            {
                "robot": {"name": "marsokhod_like", "settle": True, "wheel_shape": "sphere"},
                "ground": [{"kind": "plane"}],
                "run": {"duration": 0.1},
            }
        )
    )
    height = sim.dataset().wheel_position.values[0, :, 2]
    assert height == pytest.approx([w.radius for w in robot.wheels.values()], abs=1e-6)


def test_drive_counts_with_the_rim_on_which_a_cone_rolls():
    from marsyard.control.rover_kinematics import RoverKinematics

    robot = load_robot("marsokhod_like")
    assert RoverKinematics(robot).radius == pytest.approx([0.175] * 6)


def test_soft_contact_refuses_belts():
    scenario = validate(
        {
            "robot": {"name": "tracked_rover"},
            "ground": [{"kind": "plane"}],
            "interaction": {"law": "mujoco"},
            "run": {"duration": 1.0, "integrator": "semi_implicit"},
        }
    )
    with pytest.raises(InputError, match=r"tracked_rover: .* does not support belts"):
        Simulation(scenario)


# --- drives: the belts are steered by their speeds


def driven(commands, duration, **more):
    """The tracked rover on a plane under a drive."""
    return Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [{"kind": "plane"}],
                "gravity": G,
                "interaction": {"friction": 0.8},
                "drive": {"commands": commands, **more},
                "run": {"duration": duration, "step": "2 ms", "record_period": 0.1},
            }
        )
    ).run()


def test_a_tracked_robot_follows_a_path():
    sim = driven([{"path": [[0, 0], [0.5, 0], [1.0, 0.3]], "speed": 0.15}], 15.0)
    assert sim.done and sim.time < 14
    assert np.hypot(*(sim.qpos[:2] - [1.0, 0.3])) < 0.06
    data = sim.dataset()
    # both belts run, and the right one is faster while it turns left
    rate = data.track_rate_commanded.values
    assert rate.shape[1] == 2 and (rate[20:40] > 0.5).all()
    turning = data.heading_sensed.diff("time").values > 5e-3
    assert turning.any() and (rate[1:, 1] > rate[1:, 0])[turning].mean() > 0.9
    assert "rate_commanded" not in data


def test_a_tracked_robot_turns_on_the_spot_by_opposite_belts():
    sim = driven([{"turn": "20 deg"}], 15.0)
    assert np.hypot(*sim.qpos[:2]) < 0.05
    yaw = 2 * math.atan2(sim.qpos[6], sim.qpos[3])
    assert yaw == pytest.approx(math.radians(20), abs=0.06)
    rate = sim.dataset().track_rate_commanded.values
    np.testing.assert_allclose(rate[:, 0], -rate[:, 1], atol=1e-12)


def test_wheels_and_tracks_are_asked_for_by_a_drive():
    with pytest.raises(InputError, match="has no wheels or tracks"):
        Simulation(
            validate(
                {
                    "robot": {"name": "hexapod"},
                    "ground": [{"kind": "plane"}],
                    "drive": {"commands": [{"rate": 1, "duration": 1}]},
                    "run": {"duration": 1},
                }
            )
        )


def test_a_tracked_robot_settles_beside_a_field_of_rocks():
    field = {"area": [[1, 4], [-2, 2]], "coverage": 0.05, "smallest": 0.1, "largest": 0.5}
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [{"kind": "plane"}, {"kind": "rocks", "seed": 1, "field": field}],
                "gravity": G,
                "run": {"duration": 0.01},
            }
        )
    )
    alone = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [{"kind": "plane"}],
                "gravity": G,
                "run": {"duration": 0.01},
            }
        )
    )
    assert sim.qpos[2] == pytest.approx(alone.qpos[2], abs=1e-6)
