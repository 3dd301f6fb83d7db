"""Commands of a sequence on hard ground, where kinematics tell what must come out."""

from __future__ import annotations

import numpy as np
import pytest

import marsyard
from marsyard.control import WheelLayout
from marsyard.errors import InputError
from marsyard.operations import on_scenario, record_sequence
from marsyard.operations.sequence import make_sequence
from marsyard.results import save
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation, State

PERIOD = 0.1
FAST = {"speed": "15 cm/s", "tolerance": "4 mm"}


def scenario(commands, robot="exomars", duration=60.0, **parts):
    drive = {"commands": commands, "period": PERIOD, "acceleration": 10, "steering_rate": 0.8}
    run = {"duration": duration, "step": 5e-3, "record_period": 0.1, "theta": 1}
    place = {"name": robot, "position": [0, 0, 1], "settle": True, "wheel_shape": "disc"}
    return validate(
        {
            "robot": {**place, **parts.pop("robot_more", {})},
            "interaction": {"friction": 0.8},
            "drive": {**drive, **parts.pop("drive", {})},
            "run": {**run, **parts.pop("run", {})},
            **parts,
        }
    )


def drive(commands, *more, **parts):
    return Simulation(scenario(commands, *more, **parts)).run()


def heading(sim):
    R = np.zeros(9)
    import mujoco

    mujoco.mju_quat2Mat(R, sim.qpos[3:7])
    return float(np.arctan2(R[3], R[0]))


def turned(sim):
    """The heading from the start on, without jumps."""
    return float(np.unwrap([e.heading for e in sim.drive.log])[-1])


# --- arcs


@pytest.mark.parametrize(
    ("radius", "angle"), [(0.6, 90), (-0.8, -40), (0.6, -40)]
)  # to the left, to the right, and backwards with the centre on the left
def test_an_arc_ends_where_geometry_says(radius, angle):
    sim = drive([{"arc": {"radius": radius, "angle": f"{angle} deg"}, **FAST}])
    theta = np.radians(angle)
    end = radius * np.array([np.sin(theta), 1 - np.cos(theta)])
    # 2 mm are left by the tolerance, a period at 15 cm/s covers 15 mm
    assert np.hypot(*(sim.qpos[:2] - end)) < 0.017
    assert heading(sim) == pytest.approx(theta, abs=np.radians(1.2))
    # on the circle all the way
    way = sim.dataset().position_base.values[:, :2]
    away = np.hypot(way[:, 0], way[:, 1] - radius) - abs(radius)
    assert np.abs(away).max() < 3e-3
    (event,) = sim.drive.events
    assert event.outcome == "reached" and event.kind == "arc"
    assert event.ended >= abs(radius * theta) / 0.15 - 0.2


def test_a_straight_arc_backwards():
    sim = drive([{"arc": {"curvature": 0, "length": -0.5}, **FAST}])
    assert sim.qpos[0] == pytest.approx(-0.5, abs=0.017)
    assert abs(sim.qpos[1]) < 1e-3 and abs(heading(sim)) < 1e-3


def test_a_full_circle_is_driven_round():
    # start and end are one place, and nearer than the path is looked for
    sim = drive([{"arc": {"radius": 0.15, "angle": "360 deg"}, **FAST}])
    assert turned(sim) == pytest.approx(2 * np.pi, abs=0.12)
    assert np.hypot(*sim.qpos[:2]) < 0.02


def test_a_path_backwards():
    path = [[0, 0], [-0.3, 0], [-0.8, 0.1]]
    sim = drive([{"path": path, "backwards": True, **FAST}])
    assert np.hypot(*(sim.qpos[:2] - path[-1])) < 0.02
    # the tail leads: the nose looks back along the path
    assert abs(heading(sim)) < np.radians(20)


# --- turns


@pytest.mark.parametrize("command", [{"turn": "-200 deg"}, {"turn_to": "160 deg"}])
def test_a_turn_on_the_spot(command):
    sim = drive([{**command, "rate": 0.3}])
    wanted = -200 if "turn" in command else 160
    assert turned(sim) == pytest.approx(np.radians(wanted), abs=0.01)
    assert np.hypot(*sim.qpos[:2]) < 1e-3


def test_a_rover_with_unsteered_wheels_turns_about_their_middle():
    sim = drive([{"turn": "60 deg", "rate": 0.2}], "curiosity_like")
    layout = WheelLayout.of("curiosity_like")
    middle = float(np.mean(layout.pivot[~layout.steered, 0]))
    psi = heading(sim)
    # the base's origin goes round the point abeam of the wheels that are not steered
    expected = [middle - middle * np.cos(psi), -middle * np.sin(psi)]
    assert psi == pytest.approx(np.pi / 3, abs=0.012)
    np.testing.assert_allclose(sim.qpos[:2], expected, atol=3e-3)


def test_a_skid_steered_rover_turns():
    sim = drive([{"turn": "45 deg", "rate": 0.2}], "rashid_like")
    assert heading(sim) == pytest.approx(np.pi / 4, abs=0.012)
    assert sim.drive.events[0].outcome == "reached"


def test_a_turn_is_braked_in_time():
    # from 0.15 rad/s, rims at 0.05 m/s² need 0.2 rad to come to rest
    commands = [{"turn": "40 deg", "rate": 0.15}, {"wait": 2}]
    sim = drive(commands, drive={"acceleration": 0.05})
    assert heading(sim) == pytest.approx(np.radians(40), abs=np.radians(0.6))
    assert np.abs(sim.dataset().angular_velocity_base.values[:, 2]).max() > 0.14


def test_wheels_brake_together_before_they_are_turned():
    commands = [
        {"arc": {"radius": 0.7, "length": 2}, "speed": 0.15, "until": "distance > 30 cm"},
        {"crab": "90 deg", "length": 0.2, **FAST},
    ]
    sim = drive(commands, drive={"acceleration": 0.1})
    data, began = sim.dataset(), sim.drive.events[1].began
    braking = data.sel(time=slice(began + 0.15, began + 1.05))
    rates, angles = braking.rate_commanded.values, braking.steering_angle.values
    # all in proportion, in the bend they came in, the fastest by a/r
    np.testing.assert_allclose(
        rates / rates[:, :1], np.tile(rates[0] / rates[0, 0], (len(rates), 1))
    )
    slower = 0.1 / WheelLayout.of("exomars").radius[0] * float(braking.time[-1] - braking.time[0])
    assert rates[-1].max() == pytest.approx(rates[0].max() - slower)
    assert np.abs(angles - angles[0]).max() < np.radians(1.5)
    # no wheel is dragged meanwhile
    assert np.abs(braking.slip_sensed.values).max() < 0.1
    assert [e.outcome for e in sim.drive.events] == ["until", "reached"]


# --- crabs


@pytest.mark.parametrize("direction", [60, 150])
def test_a_crab_keeps_its_heading(direction):
    sim = drive([{"crab": f"{direction} deg", "length": "0.6 m", **FAST}])
    chi = np.radians(direction)
    assert np.hypot(*(sim.qpos[:2] - 0.6 * np.array([np.cos(chi), np.sin(chi)]))) < 0.017
    assert np.abs(np.unwrap(sim.dataset().heading_sensed.values)).max() < 1e-3


# --- conditions


def test_conditions_end_commands_when_they_hold():
    rate = 0.5
    speed = rate * WheelLayout.of("exomars").radius[0]
    commands = [
        {"rate": rate, "duration": 30, "until": "distance > 20 cm"},
        {"wait": 0.5},
        {"wait": "total_time > 5 s"},
        {"rate": -rate, "duration": 30, "timeout": 1},
        {"rate": rate, "duration": 0.35},
    ]
    sim = drive(commands)
    events = sim.drive.events
    assert [e.outcome for e in events] == ["until", "reached", "reached", "timed out", "reached"]
    assert events[0].reason == "distance > 20 cm" and events[1].reason == ""
    # at the first begin of a period after that
    assert 0 <= events[0].ended - 0.2 / speed < 1.5 * PERIOD
    assert events[1].ended - events[1].began == pytest.approx(0.5)
    assert events[2].ended == pytest.approx(5 + PERIOD)
    assert events[3].ended - events[3].began == pytest.approx(1.0)
    assert events[4].ended - events[4].began == pytest.approx(0.4)
    assert [e.began for e in events[1:]] == [e.ended for e in events[:-1]]
    assert sim.drive.remarks() == ["drive: command 3 (motors) timed out"]


def test_attitude_on_a_slope():
    slope = [{"kind": "plane", "slope": "10 deg", "uphill": 0}]
    expected = {
        "tilt > 9.5 deg": "until",
        "tilt > 10.5 deg": "reached",
        "pitch < -9.5 deg": "until",  # nose up the slope
        "roll > 1 deg or roll < -1 deg": "reached",
        "slip > 0.3": "reached",
        "speed > 1 cm/s and turned < 1 deg": "until",
        "torque.FL > 500 N·m": "reached",
        "x > 0 m and y < 1 m and heading < 1 deg": "until",
    }
    commands = [{"rate": 0.3, "duration": 0.3, "until": condition} for condition in expected]
    sim = drive(commands, ground=slope)
    assert {
        c["until"]: e.outcome for c, e in zip(commands, sim.drive.events, strict=True)
    } == expected


def test_slip_is_seen():
    # on ice up a slope steeper than friction the wheels spin and the rover slides down
    slope = [{"kind": "plane", "slope": "10 deg", "uphill": 0}]
    commands = [{"rate": 0.3, "duration": 5, "abort_if": "slip > 0.6"}]
    sim = drive(commands, ground=slope, interaction={"friction": 0.1})
    (event,) = sim.drive.events
    assert event.outcome == "aborted" and event.reason == "slip > 0.6" and event.ended < 2


def test_currents_are_those_of_the_results():
    motor = {"constant": 0.025, "resistance": 2.0, "gear": 800, "efficiency": 0.5}
    parts = {
        "motors": {"drives": motor},
        "ground": [{"kind": "plane", "slope": "8 deg", "uphill": 0}],
        "drive": {"acceleration": 0.05},
    }
    calm = drive([{"rate": 0.3, "duration": 2}], **parts).dataset().motor_current
    largest = np.abs(calm.values).max(axis=1)
    limit = float(np.sort(largest)[len(largest) // 2])
    first = float(calm.time[np.argmax(largest > limit)])
    told = [{"rate": 0.3, "duration": 2, "until": f"current > {limit!r} A"}]
    (event,) = drive(told, **parts).drive.events
    assert event.outcome == "until"
    assert event.ended == pytest.approx(first, abs=1e-6)


def test_sinkages_are_those_of_the_results():
    on_sand = load_scenario("control/goal", {"run.step": "2 ms", "run.record_period": PERIOD})

    def driven(**more):
        command = {"rate": 0.3, "duration": 1.5, **more}
        return Simulation(on_scenario(make_sequence({"sequence": [command]}), on_sand)).run()

    deepest = driven().dataset().sinkage.max("wheel")
    # the largest value but one of those at the begin of a period
    limit = float(np.sort(deepest.values[1:-1])[-2])
    first = float(deepest.time[1:][np.argmax(deepest.values[1:] > limit + 1e-9)])
    (event,) = driven(until=f"sinkage > {limit + 1e-9!r} m").drive.events
    assert event.outcome == "until" and 0.005 < limit < 0.05
    assert event.ended == pytest.approx(first, abs=1e-6)


def test_an_abort_stops_the_rover_and_ends_the_sequence():
    commands = [
        {"rate": 0.5, "duration": 20, "abort_if": "time > 2 s", "until": "time > 2 s"},
        {"rate": 1.0, "duration": 20},
    ]
    made = scenario(commands, drive={"acceleration": 0.05})
    run = marsyard.run(made)
    data = run.data
    speed = 0.5 * WheelLayout.of("exomars").radius[0]
    # found at 2.1 s, braked at 0.05 m/s², then a second of rest
    assert float(data.time[-1]) == pytest.approx(2.1 + speed / 0.05 + 1, abs=PERIOD)
    assert np.abs(data.velocity_base.values[-1]).max() < 1e-4
    assert np.abs(data.rate_commanded.values[-1]).max() == 0.0
    assert data.command_outcome.values.tolist() == ["aborted", "not begun"]
    assert run.warnings == ("drive: aborted at 2.1 s in command 0 (motors), because time > 2 s",)


def test_limits_of_the_whole_drive():
    commands = [{"rate": 0.5, "duration": 1}, {"rate": 0.5, "duration": 20}]
    limits = {"distance": "10 cm", "tilt": "30 deg"}
    sim = drive(commands, drive={"abort_limits": limits})
    assert [e.outcome for e in sim.drive.events] == ["reached", "aborted"]
    assert sim.drive.events[1].reason == "total_distance > 0.1 m"
    way = 0.5 * WheelLayout.of("exomars").radius[0]
    assert sim.drive.events[1].ended == pytest.approx(0.1 / way, abs=1.5 * PERIOD)


# --- postures


def test_a_posture_is_reached_at_its_rate_and_held():
    stretched = {"Front_x": 0.05, "Rear_x": -0.04}
    commands = [
        {"posture": "long", "rate": 0.02, "tolerance": 0.001},
        {"rate": 0.2, "duration": 1},
        {"posture": {"Front_x": "0 cm"}, "rate": 0.05, "tolerance": 0.001},
        {"wait": 1},
    ]
    sim = drive(commands, "marsokhod_like", drive={"postures": {"long": stretched}})
    first, _, third, _ = sim.drive.events
    # 5 cm at 2 cm/s, less the tolerance
    assert first.ended == pytest.approx(0.05 / 0.02, abs=2 * PERIOD)
    assert third.ended - third.began == pytest.approx(0.05 / 0.05, abs=2 * PERIOD)
    data = sim.dataset().joint_angle
    at = data.sel(time=first.ended + 0.5, method="nearest")
    assert float(at.sel(joint="Front_x")) == pytest.approx(0.05, abs=1e-3)
    assert float(data.sel(joint="Front_x")[-1]) == pytest.approx(0.0, abs=1e-3)
    assert float(data.sel(joint="Rear_x")[-1]) == pytest.approx(-0.04, abs=1e-3)
    # wheels are where the frame puts them
    sled = WheelLayout.of("marsokhod_like", {"Front_x": 0.0, "Rear_x": -0.04})
    np.testing.assert_allclose(sim.drive.layout.pivot, sled.pivot, atol=2e-3)


# --- saved, resumed, recorded

MANY = [
    {"arc": {"radius": 0.5, "angle": "-30 deg"}, **FAST},
    {"turn": "25 deg", "rate": 0.2},
    {"crab": "40 deg", "length": 0.3, **FAST},
    {"wait": "time > 0.5 s", "until": "slip > 0.9"},
    {"rate": 0.3, "duration": 3, "until": "distance > 8 cm"},
    {"rate": -0.3, "duration": 3, "abort_if": "distance > 5 cm"},
    {"wait": 10},
]


def test_resumed_bit_for_bit_in_every_command(tmp_path):
    made = scenario(MANY)
    whole = Simulation(made).run()
    events, final = whole.drive.events, whole.state().hash()
    assert [e.outcome for e in events] == [
        *3 * ["reached"],
        "reached",
        "until",
        "aborted",
        "not begun",
    ]
    # in the middle of each command, in the middle of a period, and while it brakes
    times = [(e.began + e.ended) / 2 for e in events[:6]] + [events[5].ended + 0.4]
    first = Simulation(made)
    for k, time in enumerate(times):
        first.step(int(round(time / 5e-3)) + 3 - first.steps)
        first.state().save(tmp_path / f"{k}.npz")
    for k in range(len(times)):
        again = Simulation(made)
        again.restore(State.load(tmp_path / f"{k}.npz"))
        again.run()
        assert again.state().hash() == final, MANY[k]
        assert str(again.drive.events) == str(events)


def test_a_posture_is_resumed_bit_for_bit():
    commands = [
        {"posture": {"Front_x": 0.04}, "rate": 0.02},
        {"turn": "5 deg", "rate": 0.2},
        {"rate": 0.2, "joints": {"Front_x": -0.02}, "duration": 1},
    ]
    made = scenario(commands, "marsokhod_like", run={"step": 5e-3})
    whole = Simulation(made).run()
    for steps in (103, round(whole.drive.events[1].began / 5e-3) + 33):
        first, again = Simulation(made), Simulation(made)
        first.step(steps)
        again.restore(first.state())
        assert again.run().state().hash() == whole.state().hash()


def test_a_recorded_drive_is_the_same_drive(tmp_path):
    path = {"path": [[0, 0], [0.3, 0], [0.6, 0.1]], "speed": "10 cm/s"}
    made = scenario([path, {"wait": 0.5}, {"turn": "8 deg", "rate": 0.2}])
    first = marsyard.run(made)
    save(first.data, tmp_path / "results.nc")
    for source in (first, tmp_path):
        again = marsyard.run(made, sequence=record_sequence(source))
        np.testing.assert_allclose(
            again.data.coordinates.values, first.data.coordinates.values, atol=1e-9
        )
        assert set(again.data.command_kind.values) == {"motors"}


def test_a_recorded_posture():
    commands = [{"posture": {"Front_x": 0.03}, "rate": 0.02}, {"rate": 0.2, "duration": 1}]
    made = scenario(commands, "marsokhod_like")
    first = marsyard.run(made)
    again = marsyard.run(made, sequence=record_sequence(first))
    np.testing.assert_allclose(
        again.data.coordinates.values, first.data.coordinates.values, atol=1e-9
    )


# --- wrong inputs


@pytest.mark.parametrize(
    ("commands", "parts", "message"),
    [
        ([{"arc": {"radius": 1}}], {}, "drive.commands.0.arc: give either length or angle"),
        ([{"arc": {"length": 1}}], {}, "drive.commands.0.arc: give either radius or curvature"),
        (
            [{"arc": {"radius": 1, "curvature": 1, "length": 1}}],
            {},
            "give either radius or curvature",
        ),
        ([{"arc": {"radius": 0, "length": 1}}], {}, "drive.commands.0.arc: radius = 0: use a turn"),
        ([{"arc": {"curvature": 0, "angle": 1}}], {}, "curvature 0 turns by no angle"),
        ([{"arc": {"radius": 1, "length": 0}}], {}, "drive.commands.0.arc: has no length"),
        ([{"arc": {"radius": 1, "lenght": 1}}], {}, "unknown key 'lenght' in drive.commands.0.arc"),
        ([{"arc": 1}], {}, "drive.commands.0.arc: 1 is not a mapping"),
        ([{"turn": 1, "turn_to": 1}], {}, "drive.commands.0: give either turn or turn_to"),
        (
            [{"turn": 1}],
            {"drive": {"mode": "ackermann"}},
            "does not allow a point turn",
        ),
        ([{"crab": 1}], {}, "drive.commands.0.length: is required and missing"),
        ([{"crab": 1, "length": 1}], {"robot": "sojourner"}, "the wheels cannot all be steered to"),
        ([{"wait": -1}], {}, "drive.commands.0.wait: -1 s is negative"),
        ([{"wait": "3 m"}], {}, "drive.commands.0.wait: 'm' in '3 m' is a unit of length"),
        ([{"wait": "tlit > 3"}], {}, "drive.commands.0.wait: unknown name 'tlit'"),
        (
            [{"wait": 1, "until": "slp > 1"}],
            {},
            "commands.0.until: unknown name 'slp' in 'slp > 1'",
        ),
        ([{"wait": 1, "abort_if": "slip.XX > 1"}], {}, "abort_if: no wheel is called 'XX'"),
        ([{"wait": 1, "until": "sinkage > 1 cm"}], {}, "sinkage needs ground of kind terrain"),
        ([{"wait": 1, "until": "current > 1 A"}], {}, "commands.0.until: current needs motors"),
        (
            [{"wait": 1, "until": "slip > 0.5"}],
            {"drive": {"sense": {"by": "wheel_odometry"}}},
            "drive.commands.0.until: wheel odometry does not observe slip",
        ),
        (
            [{"wait": 1}],
            {"drive": {"abort_limits": {"slip": 2}}},
            "drive.abort_limits.slip = 2: must be below 1",
        ),
        ([{"posture": "sit"}], {}, "drive.commands.0.posture: no posture is called 'sit'"),
        ([{"posture": {"RBogie_x": 0}}], {}, "posture.RBogie_x: this joint has no motor"),
        ([{"posture": {"FLWheel_y": 0}}], {}, "wheels and steering belong to other commands"),
        (
            [{"posture": {"Frnt_x": 0}}],
            {"robot": "marsokhod_like"},
            "the robot has no joint 'Frnt_x'; did you mean 'Front_x'",
        ),
        ([{"posture": {"Front_x": 9}}], {"robot": "marsokhod_like"}, "beyond its stops, from"),
        ([{"wait": 1, "speed": 1}], {}, "drive.commands.0.speed: is not a key of a wait"),
    ],
)
def test_wrong_commands(commands, parts, message):
    with pytest.raises(InputError) as error:
        Simulation(scenario(commands, **parts))
    assert message in str(error.value) and "\n" not in str(error.value)
