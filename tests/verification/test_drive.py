"""The drive of a scenario on hard ground, where kinematics tell what must come out."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import digest

from marsyard.control import Path, Twist, WheelLayout
from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation, State

PATH = [[0, 0], [0.5, 0], [1.2, 0.1], [2, 0.1]]


def scenario(commands, duration=60.0, **parts):
    drive = {"commands": commands, "period": 0.1, "acceleration": 10, **parts.pop("drive", {})}
    run = {"duration": duration, "step": 5e-3, "record_period": 0.1, "theta": 1}
    return validate(
        {
            # discs touch in their middle, where kinematics has them
            "robot": {
                "name": "exomars",
                "position": [0, 0, 1],
                "settle": True,
                "wheel_shape": "disc",
            },
            "interaction": {"friction": 0.8},
            "drive": drive,
            "run": {**run, **parts.pop("run", {})},
            **parts,
        }
    )


def drive(commands, duration=60.0, **parts):
    return Simulation(scenario(commands, duration, **parts)).run()


def test_motors_straight_on():
    rate, time = 0.3, 8.0
    sim = drive([{"rate": rate, "duration": time}])
    layout = WheelLayout.of("exomars")
    assert sim.done and sim.time == pytest.approx(time)
    # rolling without slip, but for the start
    assert sim.qpos[0] == pytest.approx(layout.radius[0] * rate * time, rel=2e-3)
    assert abs(sim.qpos[1]) < 1e-6


def test_motors_turn_on_the_spot():
    layout = WheelLayout.of("exomars")
    turn = layout.command(Twist(turn=0.1))
    by_wheel = dict(zip(layout.wheels, map(float, turn.rate * layout.sign), strict=True))
    angle = dict(zip(layout.wheels, map(float, turn.angle * layout.steering_sign), strict=True))
    # wheels stand right first, then turn
    still = {"rate": 0.0, "angle": angle, "duration": 12.0}
    sim = drive([still, {"rate": by_wheel, "angle": angle, "duration": 5.0}], duration=20)
    data = sim.dataset()
    yaw = 2 * np.arctan2(sim.qpos[6], sim.qpos[3])
    assert yaw == pytest.approx(0.5, rel=5e-3)
    assert np.hypot(*sim.qpos[:2]) < 5e-3
    assert list(np.unique(data.command)) == [0, 1]


@pytest.mark.parametrize("law", ["feedback", "pure_pursuit"])
def test_a_path_is_followed_to_its_end(law):
    sim = drive(
        [{"path": PATH, "speed": "10 cm/s", "tolerance": "2 cm"}],
        drive={"following": {"law": law, "look_ahead": 0.4}},
    )
    data = sim.dataset()
    assert sim.done
    assert np.hypot(*(sim.qpos[:2] - PATH[-1])) < 0.02
    assert np.nanmax(np.abs(data.path_offset)) < 0.02
    # the offset of a period is that of the base at its begin
    path = Path(PATH, smooth=True)
    at = len(data.time) // 2
    x, y = data.position_base.values[at, :2]
    offset = path.cross_track(x, y, path.nearest(x, y))
    assert float(data.path_offset[at + 1]) == pytest.approx(offset, abs=1e-6)
    np.testing.assert_allclose(data.path.values[[0, -1]], [PATH[0], PATH[-1]], atol=1e-12)


def test_wheels_speed_up_as_told():
    # v = a t up to the speed, in steps of the period
    sim = drive([{"rate": 0.7, "duration": 2.5}], drive={"acceleration": 0.05})
    data = sim.dataset()
    speed, time = data.velocity_base.sel(axis="x").values, data.time.values
    wanted = np.minimum(0.05 * time, WheelLayout.of("exomars").radius[0] * 0.7)
    np.testing.assert_allclose(speed[1:], wanted[1:], atol=0.0052)


def test_steering_keeps_its_rate():
    data = drive(
        [{"path": [[0, 0], [0.3, 0.6]], "smooth": False, "speed": "8 cm/s"}],
        drive={"steering_rate": "5 deg/s", "turn_rate": 0.1},
    ).dataset()
    assert np.abs(data.steering_rate).max() < 1.03 * np.radians(5)
    assert np.abs(data.steering_rate).max() > 0.97 * np.radians(5)


@pytest.mark.parametrize("by", ["truth", "visual_odometry", "wheel_odometry"])
def test_saved_and_resumed_bit_for_bit(tmp_path, by):
    sense = {"by": by, "noise": 0.02, "heading_noise": 0.01, "scale_error": 0.01, "seed": 3}
    made = scenario(
        [{"path": PATH, "speed": 0.1}, {"rate": -0.2, "duration": 0.75}], 30, drive={"sense": sense}
    )
    whole = Simulation(made)
    whole.step(1501)  # in the middle of a period
    whole.state().save(tmp_path / "state.npz")
    whole.run()
    again = Simulation(made)
    again.restore(State.load(tmp_path / "state.npz"))
    again.run()
    assert again.state().hash() == whole.state().hash()
    assert digest(Simulation(made).run()) == digest(whole)
    # the numbers sensed are those that were told
    data = whole.dataset()
    sensed, real = data.position_sensed.values[2:-1, :2], data.position_base.values[1:-2, :2]
    astray = np.abs(sensed - real).max()
    least, most = {"truth": (0, 1e-12), "visual_odometry": (0.01, 0.3)}.get(by, (1e-6, 0.02))
    assert least <= astray < most


def test_a_bad_sense_leads_astray_by_its_error():
    # a scale error of 5 % makes the rover stop 5 % early
    sense = {"by": "visual_odometry", "scale_error": 0.05}
    commands = [{"path": [[0, 0], [2, 0]], "speed": 0.1, "tolerance": "2 mm"}]
    sim = drive(commands, drive={"sense": sense})
    assert sim.qpos[0] == pytest.approx(2 / 1.05, abs=5e-3)


def test_a_goal_needs_a_terrain():
    with pytest.raises(InputError, match=r"drive.commands.0.goal: planning needs ground of kind"):
        Simulation(scenario([{"goal": [3, 0]}]))


@pytest.mark.parametrize(
    ("commands", "more", "message"),
    [
        ([], {}, "drive.commands: holds 0; at least 1 needed"),
        ([{"path": [[0, 0]]}], {}, "drive.commands.0.path: holds 1; at least 2 needed"),
        ([{"path": PATH, "speed": -1}], {}, "drive.commands.0.speed = -1: must be above 0"),
        ([{"rate": 1}], {}, "drive.commands.0.duration: is required and missing"),
        ([{"goal": [1]}], {}, "drive.commands.0.goal: has too few values"),
        ([{"rate": {"XX": 1}, "duration": 1}], {}, "no wheel is called 'XX'"),
        ([{"path": PATH}], {"period": 0.0123}, "drive.period = 0.0123 s is not a whole multiple"),
        ([{"path": PATH}], {"mode": "fre"}, "drive.mode: 'fre' is not allowed; did you mean"),
        (
            [{"path": PATH}],
            {"share": "slip", "sense": {"by": "wheel_odometry"}},
            "needs a velocity",
        ),
    ],
)
def test_wrong_drives(commands, more, message):
    with pytest.raises(InputError) as error:
        Simulation(scenario(commands, drive=more))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_fixed_base_cannot_drive():
    robot = {"name": "single_wheel_rig"}
    with pytest.raises(InputError, match="drive: the robot's base is fixed"):
        Simulation(scenario([{"rate": 1, "duration": 1}], robot=robot))
