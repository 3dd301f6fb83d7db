"""The library's rovers with rockers as their users drive them, on hard ground and on soil.

Compared with what needs no simulation: statics of the chassis, geometry of its joints, the rover
placed on rigid ground by least energy, steering kinematics, and with published obstacles (the
checks of the scenarios, each with its source).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.analysis.statics import chassis_of, largest_step
from marsyard.control import Placer, WheelLayout, mode_command
from marsyard.ground.terrain import build_terrain
from marsyard.results import evaluate_all
from marsyard.results.dataset import series
from marsyard.robot import load_robot
from marsyard.scenario import load_scenario, load_terrain, validate
from marsyard.simulation import Simulation

#: gravity [m/s²] and published speed [m/s]
ROVERS = {
    "curiosity_like": (3.72, 0.038),
    "sojourner": (3.72, 0.010),
    "yutu2": (1.62, 0.055),
    "rashid_like": (1.62, 0.10),
}
STEERED = ["curiosity_like", "sojourner", "yutu2"]


def on_hard_ground(name, control, ground=(), duration=2.0, friction=0.7, **robot):
    """A rover settled on a plane and what stands on it, held in its steering."""
    gravity, _ = ROVERS[name]
    stiff = 30 * load_robot(name).numbers["mass"]["value"]
    springs = {"steering": {"stiffness": stiff, "damping": stiff / 50}} if name in STEERED else {}
    given = {
        "robot": {
            "name": name, "settle": True, "wheel_shape": "disc", "springs": springs, **robot,
        },
        "ground": [{"kind": "plane", "name": "floor"}, *ground],
        "gravity": gravity,
        "interaction": {"friction": friction},
        "control": control,
        "run": {"duration": duration, "step": 1e-3, "record_period": 0.1, "theta": 1},
    }  # fmt: skip
    return Simulation(validate(given)).run().dataset()


def at_speed(name, ramp=1.0):
    radius = next(iter(load_robot(name).wheels.values())).radius
    return [{"joints": "drives", "speed": f"{ROVERS[name][1] / radius}*min(1, t/{ramp})"}]


@pytest.mark.parametrize(
    ("name", "shape"), [*((name, "disc") for name in ROVERS), ("curiosity_like", "cylinder")]
)
def test_stands_by_statics_and_drives_straight_at_its_speed(name, shape):
    ds = on_hard_ground(name, at_speed(name), wheel_shape=shape)
    gravity, speed = ROVERS[name]
    chassis = chassis_of(load_robot(name))
    late = ds.isel(time=-1)
    load = series(ds, "force_normal").values[-1]
    assert list(late.wheel.values) == list(chassis.names)
    assert load == pytest.approx(chassis.loads(0.0, gravity), rel=1e-4)
    assert load.sum() == pytest.approx(chassis.mass * gravity, rel=1e-6)
    assert late.velocity_base.values == pytest.approx([speed, 0, 0], abs=1e-9)
    assert abs(late.joint_angle.sel(joint=list(load_robot(name).roles["passive"]))).max() < 1e-9
    # starting from rest: ½ ramp less than speed · time
    assert float(late.position_base[0] - ds.position_base[0, 0]) == pytest.approx(
        speed * 1.5, rel=1e-3
    )


@pytest.mark.parametrize("name", STEERED)
def test_turns_on_the_spot(name):
    layout = WheelLayout.of(name)
    _, speed = ROVERS[name]
    turn = 4 * speed
    command = mode_command(layout, "point_turn", turn=turn)
    robot = load_robot(name)
    joints = {
        f"{wheel}Steering_z": float(angle)
        for wheel, angle in zip(layout.wheels, command.angle, strict=True)
        if f"{wheel}Steering_z" in robot.roles["steering"]
    }
    assert len(joints) == 4
    control = [
        {"joints": robot.wheels[wheel].joint, "speed": f"{rate}*min(1, t)"}
        for wheel, rate in zip(layout.wheels, command.rate, strict=True)
    ]
    ds = on_hard_ground(name, control, joints=joints)
    assert series(ds, "yaw").values[-1] == pytest.approx(turn * 1.5, rel=2e-3)
    assert np.abs(ds.position_base.values[-1, :2]).max() < 1e-3


@pytest.mark.parametrize("name", ROVERS)
def test_one_wheel_on_a_block(name):
    """The block lifts one wheel: the body pitches by the mean of the rockers' tilts."""
    robot = load_robot(name)
    chassis = chassis_of(robot)
    wheel = robot.wheels["FL"]
    x, y, _ = (float(v) for v in chassis.centres[chassis.names.index("FL")])
    height = 0.6 * wheel.radius
    block = {
        "kind": "box", "name": "block", "centre": [x, y, height / 2],
        "size": [wheel.radius, 1.5 * wheel.width, height],
    }  # fmt: skip
    hold = [{"joints": "drives", "speed": 0}]
    ds = on_hard_ground(name, hold, [block], duration=0.2)
    angle = {j: float(ds.joint_angle.sel(joint=j)[-1]) for j in robot.roles["passive"]}
    assert angle["LRocker_y"] == pytest.approx(-angle["RRocker_y"], abs=1e-9)
    pitch = series(ds, "pitch").values[-1]
    tilt = 2 * pitch  # of the left side; the right one stands level, to second order of the roll
    assert pitch + angle["RRocker_y"] == pytest.approx(0, abs=3e-3)
    assert pitch + angle["LRocker_y"] == pytest.approx(tilt, abs=3e-3)
    assert pitch < -0.02
    load = series(ds, "force_normal").values[-1]
    assert load.sum() == pytest.approx(chassis.mass * ROVERS[name][0], rel=1e-6)
    assert load.min() > 0


def test_joints_stop():
    """A wall under one wheel, which a bogie without stops would turn right over."""
    wall = {"kind": "box", "name": "wall", "centre": [5.68, 1.55, 0.1], "size": [10, 3, 0.2]}
    law = {"joints": "drives", "torque": "5.6*(1.47*min(1, t/2) - rate)"}
    ds = on_hard_ground("yutu2", [law], [wall], duration=8.0, friction=1.0)
    bogie = ds.joint_angle.sel(joint="LBogie_y").values
    assert np.degrees(bogie).min() == pytest.approx(-45, abs=0.1)
    assert np.degrees(ds.joint_angle.sel(joint="LRocker_y").values).min() > -22.6


def test_a_step_as_high_as_statics_allow():
    """Rashid-like on a step across its way: slowly, it climbs below the bound and not above."""
    friction = 0.8
    bound = largest_step(chassis_of(load_robot("rashid_like")), friction, friction).height
    climbed = {}
    for share in (0.85, 1.15):
        height = share * bound
        step = {"kind": "box", "name": "step", "centre": [1.26, 0, height / 2]}
        step["size"] = [2.0, 2.0, height]
        law = {"joints": "drives", "torque": "1.5*(0.3*min(1, t) - rate)"}
        given = {
            "robot": {"name": "rashid_like", "settle": True, "wheel_shape": "disc"},
            "ground": [{"kind": "plane", "name": "floor"}, step],
            "gravity": 1.62,
            "interaction": {"friction": friction},
            "control": [law],
            "run": {"duration": 25, "step": 1e-3, "record_period": 0.1, "theta": 1},
        }
        ds = Simulation(validate(given)).run().dataset()
        z = ds.position_base.values[:, 2]
        climbed[share] = z[-1] - z[0] == pytest.approx(height, abs=1e-4)
    assert climbed == {0.85: True, 1.15: False}


#: of the library, with what is changed here: coarser grids, for time
SCENARIOS = {
    "curiosity/rock": {},
    "curiosity/ripple": {"ground.0.spacing": 0.04},
    "sojourner/rocks": {},
    "yutu2/regolith": {"ground.0.spacing": 0.02},
    "rashid/obstacle": {},
    "rashid/regolith": {},
}


@pytest.fixture(scope="module", params=SCENARIOS)
def drive(request):
    scenario = load_scenario(request.param, SCENARIOS[request.param])
    return scenario, Simulation(scenario).run().dataset()


def test_checks_of_the_scenarios(drive):
    scenario, ds = drive
    results = evaluate_all(ds, scenario.report.checks)
    assert len(results) >= 3
    assert [(r.name, r.computed) for r in results if not r.ok] == []


def test_the_differential_holds(drive):
    _, ds = drive
    left, right = (ds.joint_angle.sel(joint=j).values for j in ("LRocker_y", "RRocker_y"))
    assert np.abs(left + right).max() < 1e-9


def test_the_rover_follows_the_ground_as_if_placed_on_it(drive):
    """On soil: attitude and joints along the drive against the stand of least energy there."""
    scenario, ds = drive
    if scenario.ground[0].kind != "terrain":
        pytest.skip("hard ground: see the checks")
    given = scenario.ground[0].terrain
    terrain = (
        build_terrain(*load_terrain(given)) if isinstance(given, str) else build_terrain(given)
    )
    placer = Placer(scenario.robot.name, terrain)
    pitch, roll, yaw = (series(ds, n).values for n in ("pitch", "roll", "yaw"))
    radius = float(next(iter(load_robot(scenario.robot.name).wheels.values())).radius)
    for k in np.linspace(0, len(ds.time) - 1, 8).astype(int):
        x, y, _ = (float(v) for v in ds.position_base.values[k])
        stand = placer.place(x, y, float(yaw[k]))
        # wheels sink by different depths: a tenth of a radius or less over the wheelbase
        room = 0.1 * radius / (0.5 * math.hypot(*np.ptp(placer_feet(scenario), axis=0)[:2]))
        assert pitch[k] == pytest.approx(stand.pitch, abs=room), float(ds.time[k])
        assert roll[k] == pytest.approx(stand.roll, abs=room), float(ds.time[k])


def placer_feet(scenario):
    return chassis_of(load_robot(scenario.robot.name)).centres
