"""The drive of a scenario on hard ground, where kinematics tell what must come out."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from worlds import digest

import marsyard
from marsyard import library
from marsyard.control import Path, Twist, WheelLayout
from marsyard.control.command import STATES
from marsyard.errors import InputError
from marsyard.results.dataset import series
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Diverged, Simulation, State
from marsyard.simulation.drive import seen_twist

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


def test_a_drive_cut_short_is_said():
    told = marsyard.run(scenario([{"path": PATH, "speed": 0.1}], duration=5.0)).warnings
    assert len(told) == 1
    # 0.1 m/s for 5 s, less the begin, of a path of 2.005 m
    way = re.search(r"ended after 5 s with command 1 of 1 under way, at (.*) of 2\.0. m", told[0])
    assert way is not None and 0.4 < float(way.group(1)) < 0.55
    assert marsyard.run(scenario([{"rate": 0.3, "duration": 2}], duration=5.0)).warnings == ()


def test_motors_too_weak_for_the_drive_are_seen():
    # 310 kg on 10° need 75 N·m; six wheels of 0.01 N·m do not give them, of 50 N·m they do
    slope = [{"kind": "plane", "slope": "10 deg", "uphill": 0}]
    for torque, told in ((0.01, ["the drive is incomplete"]), (50.0, [])):
        motor = {"constant": torque, "resistance": 1e-3, "gear": 1, "current_max": 1}
        asked = scenario([{"path": PATH[:2], "speed": 0.1}], 10.0, motors={"drives": motor},
                         ground=slope)  # fmt: skip
        assert [text.split(":")[0] for text in marsyard.run(asked).warnings] == told


def test_a_goal_needs_a_terrain():
    with pytest.raises(InputError, match=r"drive.commands.0.goal: planning needs ground of kind"):
        Simulation(scenario([{"goal": [3, 0]}]))


@pytest.mark.parametrize(
    ("commands", "more", "message"),
    [
        ([], {}, "drive.commands: holds 0; at least 1 needed"),
        ([{"path": [[0, 0]]}], {}, "drive.commands.0.path: holds 1; at least 2 needed"),
        ([{"path": [[1, 0], [1, 0]]}], {}, "drive.commands.0.path: all points are the same"),
        ([{"path": PATH}], {"stop": "perhaps"}, "drive.stop: 'perhaps' is not allowed; valid: tr"),
        ([{"path": PATH, "speed": -1}], {}, "drive.commands.0.speed = -1: must be above 0"),
        ([{"rate": 1}], {}, "drive.commands.0.duration: is required and missing"),
        ([{"goal": [1]}], {}, "drive.commands.0.goal: has too few values"),
        ([{"rate": {"XX": 1}, "duration": 1}], {}, "no wheel is called 'XX'"),
        ([{"path": PATH}], {"period": 0.0123}, "drive.period = 0.0123 s is not a whole multiple"),
        ([{"path": [[1, 1], [1, 1]]}], {}, "drive.commands.0.path: all points are the same"),
        ([{"path": PATH, "rate": 1}], {}, "drive.commands.0.rate: is not a key of a path"),
        ([{"rate": np.nan, "duration": 1}], {}, "drive.commands.0.rate: nan is not finite"),
        ([{"rate": {"FL": "1 m"}, "duration": 1}], {}, "drive.commands.0.rate.FL: 'm' in '1 m'"),
        ([3], {}, "drive.commands.0: 3 is not a mapping"),
        ([{"path": PATH}], {"mode": "fre"}, "drive.mode: 'fre' is not allowed; did you mean"),
        (
            [{"path": PATH}],
            {"share": "slip", "sense": {"by": "wheel_odometry"}},
            "needs a measured velocity",
        ),
    ],
)
def test_wrong_drives(commands, more, message):
    with pytest.raises(InputError) as error:
        Simulation(scenario(commands, drive=more))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_control_is_at_least_as_often_as_the_drive():
    # servos take a command at the next control period only
    run = {"control_period": 0.5, "record_period": 0.5}
    with pytest.raises(InputError) as error:
        scenario([{"path": PATH}], run=run)
    assert "drive.period = 0.1 s is not a whole multiple of run.control_period = 0.5 s" in str(
        error.value
    )


def test_a_run_without_a_drive_is_done_at_its_end():
    plain = {"robot": {"name": "exomars"}, "ground": [{"kind": "plane"}], "run": {"duration": 0.02}}
    sim = Simulation(validate(plain))
    steps = 0
    while not sim.done and steps < 100:
        sim.step(7)
        steps += 7
    # 20 steps of 1 ms, the last seven of them begun before the end
    assert sim.done and steps == 21
    with_drive = Simulation(scenario([{"rate": 1, "duration": 1}]))
    assert not with_drive.done


def test_a_fixed_base_cannot_drive():
    robot = {"name": "single_wheel_rig"}
    with pytest.raises(InputError, match="drive: the robot's base is fixed"):
        Simulation(scenario([{"rate": 1, "duration": 1}], robot=robot))


@pytest.mark.parametrize(
    "command", [{"rate": 0.5, "duration": 1.0}, {"path": [[0, 0], [0.3, 0]], "speed": 0.07}]
)
def test_after_its_last_command_the_rover_brakes_and_stands(command):
    sim = drive([command], 8.0, drive={"acceleration": 0.05, "stop": False})
    data = sim.dataset()
    # the drive is carried out, and the run goes on to its end all the same
    assert sim.time == pytest.approx(8.0) and sim.drive.finished
    assert np.abs(sim.qvel).max() < 1e-6
    np.testing.assert_array_equal(data.rate_commanded.values[-1], 0.0)
    # v²/(2a) of braking, in steps of the period
    if "path" in command:
        arrived = next(e for e in sim.drive.log if STATES[e.state] == "arrived")
        # the end was approached at v² = 1.6 a · way left, half a tolerance at least
        speed = float(np.sqrt(1.6 * 0.05 * (0.3 - arrived.x)))
        assert speed < 0.06 and data.velocity_base.sel(axis="x").values.max() > 0.068
        assert sim.qpos[0] - arrived.x == pytest.approx(speed**2 / 0.1, abs=0.006)
        assert sim.qpos[0] == pytest.approx(0.3, abs=0.01)


def test_stepping_on_after_the_end_brakes_too():
    sim = drive([{"rate": 0.5, "duration": 1.0}], drive={"acceleration": 0.05})
    assert sim.done and sim.qvel[0] > 0.04
    state = sim.state()
    sim.step(600)
    assert np.abs(sim.qvel).max() < 1e-6
    end = sim.state().hash()
    sim.restore(state)
    sim.step(600)
    assert sim.state().hash() == end


def test_a_closed_path_is_driven_around():
    # a triangle back to where it began
    loop = [[0, 0], [1.0, 0.0], [0.5, 0.7], [0, 0]]
    sim = drive(
        [{"path": loop, "smooth": False, "speed": 0.2, "tolerance": 0.02}],
        drive={"steering_rate": 2.0},
    )
    data = sim.dataset()
    assert sim.done
    assert data.position_base.values[:, 0].max() > 0.8
    assert data.position_base.values[:, 1].max() > 0.5


def test_a_rover_that_is_there_already_does_not_move():
    sim = drive([{"path": [[0, 0], [-0.01, 0]], "tolerance": 0.05}])
    assert sim.done and sim.steps == 0


def test_rates_that_agree_in_slip_keep_the_greatest_rate():
    sim = Simulation(
        scenario([{"path": PATH, "speed": 0.5}], 3, drive={"share": "slip", "rate_max": 0.4})
    )
    seen = sim.drive._sense()
    command = sim.drive.layout.command(Twist(0.5), seen.angle)
    # the first wheel covers three times the way of the others, as over a step
    speed = np.full(6, 0.05)
    speed[0] = 0.15
    seen = seen._replace(wheel_speed=speed)
    rates = command.rate
    for _ in range(50):
        rates = sim.drive._agreeing(command, seen, rates)
    assert np.max(np.abs(rates)) <= 0.4 * (1 + 1e-12)
    assert rates[0] > 1.5 * rates[1]


@pytest.mark.parametrize("speed", [0.05, -0.05])
def test_agreeing_rates_drive_backwards_as_forwards(speed):
    sim = Simulation(scenario([{"path": PATH}], 3, drive={"share": "slip"}))
    seen, layout = sim.drive._sense(), sim.drive.layout
    command = layout.command(Twist(speed), seen.angle)
    along = 0.8 * speed * np.array([1.2, 0.9, 1.0, 1.1, 0.8, 1.0])
    seen = seen._replace(wheel_speed=along)
    rates = command.rate
    for _ in range(100):
        rates = sim.drive._agreeing(command, seen, rates)
    rim = layout.sign * layout.radius * rates
    np.testing.assert_allclose(rim.mean(), speed, rtol=1e-6)
    np.testing.assert_allclose((rim - along) / rim, 0.2, rtol=1e-6)


def test_states_of_another_drive_are_refused():
    two = Simulation(scenario([{"rate": 0.1, "duration": 0.1}, {"rate": 0.2, "duration": 5}], 3))
    two.step(100)
    one = Simulation(scenario([{"rate": 0.1, "duration": 0.1}], 3))
    before = one.state().hash()
    with pytest.raises(InputError, match="restore: 'drive_numbers' of the saved state"):
        one.restore(two.state())
    # and nothing of it was taken over
    assert one.state().hash() == before


def test_going_back_forgets_later_paths():
    path = {"path": [[0, 0], [0.1, 0]], "speed": 0.2}
    sim = Simulation(scenario([path, {"path": [[0.1, 0], [0.5, 0]], "speed": 0.2}], 8))
    sim.step(20)
    early = sim.state()
    sim.run()
    assert list(sim.drive.paths) == [0, 1]
    sim.restore(early)
    assert list(sim.drive.paths) == [0] and sim.drive.log[-1].time <= sim.time


def test_a_joint_has_one_motor():
    motor = {"constant": 0.025, "resistance": 2, "gear": 800}
    with pytest.raises(InputError, match="motors.FLWheel_y: joint 'FLWheel_y' already has a motor"):
        Simulation(
            scenario([{"rate": 1, "duration": 1}], motors={"drives": motor, "FLWheel_y": motor})
        )


SAND = {
    "kind": "terrain",
    "name": "sand",
    "terrain": {
        "seed": 7,
        "bounds": [[-6, 6], [-6, 6]],
        "layers": [
            {"kind": "fractal", "hurst": 0.8, "roughness": "3 cm", "lag": "1 m", "spacing": "10 cm",
             "patch": "12.8 m"},
            {"kind": "crater", "centre": [-3, 0], "diameter": 2},
        ],
    },
    "soil": "mars_sand_zhou2023",
    "spacing": "3 cm",
}  # fmt: skip


def on_sand(commands, duration, **more):
    wheel = {"model": "wong_reece", "coefficients": {"peak_0": 0.43, "peak_1": 0.32}}
    robot = {"name": "exomars", "position": [0, 0, 1], "settle": True}
    parts = {"robot": robot, "ground": [SAND], "interaction": {"wheel": wheel}}
    return scenario(commands, duration, **parts, run={"step": 2e-3}, drive=more)


def test_a_goal_outside_the_ground_is_refused_before_the_run():
    with pytest.raises(InputError, match=r"drive.commands.1.goal: \(20, 0\) m is outside the gro"):
        Simulation(on_sand([{"rate": 0.1, "duration": 1}, {"goal": [20, 0]}], 3))


def test_a_goal_that_cannot_be_reached_ends_the_run_and_keeps_its_records():
    commands = [{"rate": 0.1, "duration": 0.4}, {"goal": [-3, 0.9]}]
    sim = Simulation(on_sand(commands, 4, limits={"slope": "5 deg"}))
    with pytest.raises(
        Diverged, match=r"t = 0.4 s: drive.commands.1: goal: \(-3, 0.9\) m is not traversable"
    ):
        sim.run()
    data = sim.dataset()
    assert float(data.time[-1]) == pytest.approx(0.4) and "drive.commands.1" in data.stopped


def test_goal_motors_and_path_with_agreeing_slips_resumed_at_odd_steps():
    commands = [
        {"goal": [0.5, 0.1], "speed": 0.1},
        {"rate": -0.3, "angle": 0.1, "duration": 0.63},
        {"path": [[0.45, 0.1], [0.6, 0.1], [0.8, 0.12]], "speed": 0.1},
    ]
    sense = {"by": "visual_odometry", "noise": 0.01, "heading_noise": 0.005}
    more = {"share": "slip", "acceleration": 0.1, "stop": False, "sense": sense}
    made = on_sand(commands, 60, **more)
    whole, states, seen = Simulation(made), [], set()
    for steps in (137, 1203, 2222, 999, 2000, 3333):
        whole.step(steps)
        states.append(whole.state())
        seen.add(int(whole.drive._now))
    assert {0, 2} <= seen
    for state in states[:-1]:
        again = Simulation(made)
        again.restore(state)
        again.step(whole.steps - again.steps)
        assert again.state().hash() == whole.state().hash()


def test_joints_that_turn_the_other_way(tmp_path):
    # the same rover with wheel and steering joints of the right side built in the other way around
    folder = library.path_of("rovers", "exomars").parent
    model = (folder / "robot.xml").read_text()
    for name in ("RR", "CR", "FR"):
        for joint, axis in ((f"{name}Wheel_y", "0 1 0"), (f"{name}Steering_z", "0 0 1")):
            there = f'name="{joint}" axis="{axis}"'
            assert there in model
            model = model.replace(there, there.replace("1", "-1"))
    (tmp_path / "robot.xml").write_text(model)
    (tmp_path / "robot.yaml").write_text((folder / "robot.yaml").read_text())
    commands = [{"path": PATH, "speed": 0.1}, {"rate": -0.3, "angle": "10 deg", "duration": 1}]
    data = []
    for name in ("exomars", str(tmp_path / "robot.yaml")):
        robot = {"name": name, "position": [0, 0, 1], "settle": True, "wheel_shape": "disc"}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data.append(drive(commands, 40, robot=robot, drive={"share": "slip"}).dataset())
    plain, turned = data
    assert "the axes of RR, CR, FR point to the right" in str(caught[0].message)
    assert float(plain.time[-1]) == float(turned.time[-1])
    for name in ("position_base", "path_offset", "slip_sensed"):
        np.testing.assert_allclose(turned[name].values, plain[name].values, atol=1e-6)
    right = [str(w).endswith("R") for w in plain.wheel.values]
    np.testing.assert_allclose(
        turned.rate_commanded.values * np.where(right, -1, 1),
        plain.rate_commanded.values,
        atol=1e-6,
    )


def test_a_run_too_short_for_its_drive_says_so():
    said = []
    settings = {"run.duration": 0.4, "run.step": "4 ms"}
    result = marsyard.run("control/goal", settings=settings, say=said.append)
    gravity, assumed, text = result.warnings
    assert "these soils were measured at another: mars_sand_zhou2023" in gravity
    assert "assumed, not given: soil mars_sand_zhou2023: density = 1600 kg/m³" in assumed
    assert "the run ended after 0.4 s with command 1 of 3 under way" in text
    assert f"warning: {text}" in said


def test_forces_of_the_last_record_of_a_drive_that_ends_within_a_record_period():
    run = {"record_period": 0.4}
    sim = drive([{"rate": 0.0, "duration": 0.9}], 4.0, run=run)
    data = sim.dataset()
    np.testing.assert_allclose(data.time.values, [0, 0.4, 0.8, 0.9], atol=1e-12)
    # the rover stands: the ground carries its weight all the time
    force = series(data, "force_normal").sum("wheel").values
    np.testing.assert_allclose(force[1:], data.weight, rtol=1e-3)


def test_a_study_of_drives_under_two_laws():
    settings = {
        "study.values": ["0 deg", "8 deg"], "run.duration": 2, "run.step": "2 ms",
        "run.record_period": 0.2,
    }  # fmt: skip
    found = marsyard.compare("control/path", "ding,rigid_slip", settings=settings)
    offset = found.data["largest_cross_track_error"].sel(law=["ding", "rigid_slip"])
    # across the slope soil gives way, on the level hardly
    assert np.isfinite(offset.values).all()
    across = offset.isel({found.data.attrs["varied"]: -1}).sel(law="ding")
    assert float(across) > float(offset.isel({found.data.attrs["varied"]: 0}).sel(law="ding"))


@pytest.mark.parametrize("mode", ["free", "skid"])
def test_a_rover_without_steering_turns_on_the_spot_first(mode):
    robot = {"name": "rashid_like", "position": [0, 0, 1], "settle": True}
    more = {"turn_rate": 0.2, "mode": mode}
    sim = drive([{"path": [[0, 0], [-1, 0]], "speed": 0.1}], 120, robot=robot, drive=more)
    assert sim.done and sim.drive.remarks() == []
    assert np.hypot(sim.qpos[0] + 1, sim.qpos[1]) < 0.06


@pytest.mark.parametrize("shape", ["arc", "S"])
@pytest.mark.parametrize(
    "rover", ["rashid_like", "marsokhod_like", "roburoc", "vehicle_2001", "tracked_rover"]
)
def test_rovers_without_steering_keep_to_bends_by_default(rover, shape):
    turn = np.linspace(0.0, 1.0, 12)
    arc = np.stack([2 * np.sin(turn), 2 - 2 * np.cos(turn)], axis=-1)
    wave = np.array([[0, 0], [0.75, 0.3], [1.5, 0], [2.25, -0.3], [3, 0]])
    points = arc if shape == "arc" else wave
    robot = {
        "name": rover, "position": [0, 0, 1], "settle": True,
        "attitude": [0, 0, Path(points, smooth=True).heading(0.0)],
    }  # fmt: skip
    sim = drive(
        [{"path": points.tolist(), "speed": 0.1}], robot=robot, interaction={"friction": 0.6},
        drive={"acceleration": 0.05}, run={"step": 2e-3},
    )  # fmt: skip
    assert sim.done and sim.drive.remarks() == []
    assert np.nanmax(np.abs(sim.dataset().path_offset)) < 0.05


def test_what_is_seen_of_the_motion_does_not_depend_on_how_the_body_is_pitched():
    """Along a side slope and down it, by a body with its nose up and down (R = Rz Ry Rx)."""

    def attitude(heading, pitch, roll):
        (cz, cy, cx), (sz, sy, sx) = np.cos([heading, pitch, roll]), np.sin([heading, pitch, roll])
        Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        return Rz @ Ry @ np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])

    lean = np.radians(8.0)  # the ground rises to the left
    forwards = np.array([0.05, 0.0, 0.0])
    slide = -0.01 * np.array([0.0, np.cos(lean), np.sin(lean)])
    for pitch in np.radians([-30.0, 0.0, 30.0]):
        # the body's lean that keeps its left along the slope
        roll = np.arcsin(np.sin(lean) / np.cos(pitch))
        turn = attitude(0.0, pitch, roll)
        heading = attitude(0.7, 0.0, 0.0)
        seen = seen_twist(heading @ turn, heading @ (forwards + slide), 0.2)
        assert seen.forward == pytest.approx(0.05, rel=1e-3)
        assert seen.left == pytest.approx(-0.01, rel=0.02)
    backwards = seen_twist(turn, -forwards, 0.2)
    assert backwards.forward == pytest.approx(-0.05) and backwards.turn == 0.2


def test_a_path_that_was_missed_is_said():
    # a car that cannot turn on the spot passes the end of a path behind it in a wide bow
    robot = {"name": "sojourner", "position": [0, 0, 1], "settle": True}
    more = {"mode": "ackermann"}
    sim = drive([{"path": [[0, 0], [-1, 0]], "speed": 0.1}], 60, robot=robot, drive=more)
    (text,) = sim.drive.remarks()
    assert text.startswith("drive: command 0 ended 0.") and "from the end of its path" in text


def test_a_path_far_from_the_rover_is_refused():
    with pytest.raises(InputError, match=r"commands.0.path: the rover stands at .* 49.5 m aw"):
        Simulation(scenario([{"path": [[35, 35], [36, 35]]}]))


def test_a_rover_that_slides_away_keeps_its_records():
    # a slope no soil can hold it on, and a ground that ends
    settings = {
        "ground.0.terrain.layers.0.slope": "50 deg", "run.duration": 30, "run.step": "2 ms",
        "ground.0.terrain.bounds": [[-20, 20], [-2, 20]],
    }  # fmt: skip
    sim = Simulation(load_scenario("control/path", settings))
    with pytest.raises(Diverged, match="left the map"):
        sim.run()
    data = sim.dataset()
    assert len(data.time) > 2 and data.stopped.startswith("stopped at t =")
