"""Paths, and rovers that follow them with and without slip."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control import Path, PathFollower, SlipCompensation, Twist, WheelLayout
from marsyard.control.path_following import TurnEfficiency
from marsyard.errors import InputError

LAYOUT = WheelLayout.of("exomars")


def _curve():
    """An S of 10 m."""
    x = np.linspace(0, 9.5, 25)
    return Path(np.column_stack([x, 0.6 * np.sin(2 * np.pi * x / 9.5)]), smooth=True)


def _drive(follower, seconds, slip=0.0, side=0.0, start=(0.0, 0.0, None), crab=True, dt=0.5):
    """A kinematic rover: wheels turn as commanded, the ground takes slip from the motion.

    The base moves with (1 − slip) of the forward and turning speed, and slides to the right by
    side times the forward speed. Returns the trace of x, y, heading.
    """
    x, y, heading = start
    heading = follower.path.heading(0.0) if heading is None else heading
    measured = kinematic = None
    trace = [(x, y, heading)]
    for _ in range(int(seconds / dt)):
        twist = follower.update(x, y, heading, measured, kinematic, dt)
        if not crab:
            assert twist.left == 0
        command = LAYOUT.command(twist)
        kinematic, _ = LAYOUT.twist(command.rate, command.angle)
        v = (1 - slip) * kinematic.forward
        measured = Twist(v, kinematic.left - side * abs(v), (1 - slip) * kinematic.turn)
        for _ in range(20):
            h = dt / 20
            c, s = np.cos(heading), np.sin(heading)
            x += h * (c * measured.forward - s * measured.left)
            y += h * (s * measured.forward + c * measured.left)
            heading += h * measured.turn
        trace.append((x, y, heading))
        if follower.done:
            break
    return np.array(trace)


def _errors(path, trace, from_s=3.0):
    """Largest distance to the path beyond `from_s`, and distance of the last point to the end."""
    s = np.array([path.nearest(x, y) for x, y, _ in trace])
    away = np.array([np.hypot(*(path.point(a) - p[:2])) for a, p in zip(s, trace, strict=True)])
    end = np.hypot(*(path.point(path.length) - trace[-1, :2]))
    return away[s > from_s].max(), end


def test_a_circle_by_arc_length():
    angle = np.linspace(0, np.pi, 30)
    path = Path(2 * np.column_stack([np.cos(angle), np.sin(angle)]), smooth=True)
    assert path.length == pytest.approx(2 * np.pi, rel=1e-4)
    for s in (1.0, 3.0, 5.0):
        assert path.curvature(s) == pytest.approx(0.5, rel=0.01)
        assert path.heading(s) == pytest.approx(np.pi / 2 + s / 2, abs=2e-3)
        assert np.hypot(*path.point(s)) == pytest.approx(2, abs=1e-3)
        inside = 0.7 * path.point(s)
        assert path.nearest(*inside) == pytest.approx(s, abs=1e-2)
        assert path.cross_track(*inside, s) == pytest.approx(0.6, abs=1e-3)


def test_a_polyline():
    path = Path([[0, 0], [3, 0], [3, 0], [3, 4]])
    assert path.length == pytest.approx(7)
    assert np.allclose(path.point([1, 3, 5]), [[1, 0], [3, 0], [3, 2]])
    assert path.heading(1) == 0 and path.heading(5) == pytest.approx(np.pi / 2)
    assert path.nearest(2.5, 1.0) == pytest.approx(4) and path.nearest(1.0, 0.4) == pytest.approx(1)


def test_a_crossing_is_not_a_short_cut():
    path = Path([[0, 0], [4, 0], [4, 4], [2, 4], [2, -2]])
    assert path.nearest(2.0, 0.1, near=2.0) == pytest.approx(2.0)
    assert path.nearest(2.0, 0.1, near=14.0) == pytest.approx(13.9)


@pytest.mark.parametrize("law", ["feedback", "pure_pursuit"])
def test_errors_at_the_start_fade(law):
    path = _curve()
    follower = PathFollower(path, 0.05, law=law)
    trace = _drive(follower, 400, start=(0.0, 0.3, 0.0))
    assert follower.done
    worst, end = _errors(path, trace, 6.0)
    assert worst < 0.03 and end < 0.06


def test_the_feedback_law_is_the_linear_oscillator():
    """On a straight path e'' + k_θ e' + k_e e = 0 over the way; here critically damped."""
    path = Path([[0, 0], [12, 0]])
    follower = PathFollower(path, 0.05, gain_track=1.0, gain_heading=2.0)
    trace = _drive(follower, 200, start=(0.0, 0.05, 0.0), dt=0.1)
    x, e = trace[:, 0], trace[:, 1]
    assert np.allclose(e, 0.05 * (1 + x) * np.exp(-x), atol=5e-4)


@pytest.mark.parametrize("crab", [True, False])
@pytest.mark.parametrize("law", ["feedback", "pure_pursuit"])
def test_compensation_of_slip_on_ten_metres(law, crab):
    """30 % longitudinal and 20 % side slip: within 5 cm, against several times that."""
    path = _curve()
    time = path.length / 0.05
    compensated = PathFollower(
        path, 0.05, law=law, crab=crab, compensation=SlipCompensation(time_constant=2.0)
    )
    good = _drive(compensated, 1.02 * time, slip=0.3, side=0.2, crab=crab)
    worst, end = _errors(path, good)
    assert end < 0.05
    assert worst < 0.05 if law == "feedback" else worst < 0.1

    plain = PathFollower(path, 0.05, law=law)
    bad = _drive(plain, 1.02 * time, slip=0.3, side=0.2)
    worst_plain, end_plain = _errors(path, bad)
    assert end_plain > 5 * end and end_plain > 0.25
    # and if it is given all the time it wants
    bad = _drive(PathFollower(path, 0.05, law=law), 3 * time, slip=0.3, side=0.2)
    assert _errors(path, bad)[0] > 3 * worst


def test_the_command_tends_to_the_wanted_speed_over_one_minus_slip():
    compensation = SlipCompensation(time_constant=1.0)
    wanted = Twist(0.05, 0.0, 0.01)
    command = wanted
    for _ in range(200):
        measured = command.scaled(0.6)
        compensation.observe(measured, command, 0.5)
        command = compensation.correct(wanted)
    assert np.allclose(command, wanted.scaled(1 / 0.6), rtol=1e-3)


def test_a_stuck_rover_is_not_driven_without_bound():
    compensation = SlipCompensation(limit=2.0)
    command = Twist(0.05)
    for _ in range(200):
        compensation.observe(Twist(), command, 0.5)
        command = compensation.correct(Twist(0.05))
    assert command.forward == pytest.approx(0.15)


@pytest.mark.parametrize("efficiency", [0.3, 0.5, 0.8])
def test_wheels_that_skid_turn_as_wanted_once_their_efficiency_is_learned(efficiency):
    """A rover that turns by η of what its wheels say, through bends of both sides."""
    path = _curve()

    def worst(turning: TurnEfficiency | None) -> float:
        compensation = SlipCompensation(turning=turning)
        follower = PathFollower(path, 0.05, crab=False, compensation=compensation)
        x, y, heading, dt = *path.point(0.0), path.heading(0.0), 0.1
        command, off = Twist(0.05), 0.0
        for _ in range(int(1.1 * path.length / 0.05 / dt)):
            measured = command._replace(turn=efficiency * command.turn)
            x, y = (
                x + measured.forward * np.cos(heading) * dt,
                y + (measured.forward * np.sin(heading) * dt),
            )
            heading += measured.turn * dt
            command = follower.update(x, y, heading, measured, command, dt)
            off = max(off, abs(path.cross_track(x, y, follower.s)))
        return off

    learned = TurnEfficiency()
    assert worst(learned) < 0.01
    assert learned.value == pytest.approx(efficiency, rel=0.02)


def test_what_is_learned_of_turning_has_bounds_and_needs_a_turn():
    turning = TurnEfficiency(least=0.25)
    turning.observe(0.02, 0.0, 10.0)
    assert turning.value == 1.0
    for _ in range(1000):
        turning.observe(0.0, 0.1, 0.1)
    assert turning.value == 0.25


def test_bad_input_in_one_sentence():
    with pytest.raises(InputError, match="at least two"):
        Path([[0, 0]])
    with pytest.raises(InputError, match="different"):
        Path([[0, 0], [0, 0]])
    with pytest.raises(InputError, match="did you mean 'feedback'"):
        PathFollower(_curve(), 0.05, law="feedbak")
    with pytest.raises(InputError, match="must be positive"):
        PathFollower(_curve(), 0.0)


@pytest.mark.parametrize("away", [3.0, 10.0, 100.0])
def test_from_far_away_the_path_is_approached_straight(away):
    # no faster turning far away, and never away from the path: at most square to it
    follower = PathFollower(Path([[0, 0], [1000, 0]]), 0.1)
    x, y, heading, dt = 0.0, away, 0.0, 0.5
    least = 0.0
    for _ in range(int((away + 20) / 0.1 / dt)):
        twist = follower.update(x, y, heading)
        assert abs(twist.turn) < 0.1 * 7
        x, y = x + dt * 0.1 * np.cos(heading), y + dt * 0.1 * np.sin(heading)
        heading += dt * twist.turn
        least = min(least, heading)
    assert abs(y) < 0.05 and abs(heading) < 0.05
    assert least > -np.radians(95)
