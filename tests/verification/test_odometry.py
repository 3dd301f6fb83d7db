"""Dead reckoning against rovers driven kinematically: circles, slopes, waves, slip."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from marsyard.control import Odometry, Placer, RoverKinematics, Twist, WheelLayout
from marsyard.control.placement import rotation
from marsyard.errors import InputError

KINEMATICS = RoverKinematics("exomars")
LAYOUT = WheelLayout.of(KINEMATICS)
LEVEL = np.eye(3)


class Waves:
    """Waves across the way: h = A sin(2π x / L)."""

    def height(self, x, y):
        return 0.06 * np.sin(2 * np.pi * np.asarray(x) / 1.9)


def _joints(command, turns):
    return {
        **dict(zip(LAYOUT.steering_joint, command.angle, strict=True)),
        **dict(zip(LAYOUT.drive_joint, turns, strict=True)),
    }


def _drive(twist, seconds, steps, tilt=LEVEL, slip=0.0, blind=False):
    """A rover that follows a twist on a plane tilted by `tilt`; true and reckoned pose."""
    command = LAYOUT.command(twist)
    turns = np.zeros(6)
    start = _joints(command, turns)
    odometry = Odometry(KINEMATICS, (0, 0, 0), _angles(tilt), start, wheel_spread=0.05)
    dt = seconds / steps
    for k in range(1, steps + 1):
        turns = turns + command.rate * dt / (1 - slip)
        angle = twist.turn * dt * k
        c, s = np.cos(angle), np.sin(angle)
        R = tilt @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        roll, pitch, yaw = _angles(R)
        odometry.update((roll, pitch) if blind else (roll, pitch, yaw), _joints(command, turns))
    # the circle in closed form
    w, angle = twist.turn, twist.turn * seconds
    if w == 0:
        local = np.array([twist.forward * seconds, twist.left * seconds, 0])
    else:
        c, s = np.cos(angle), np.sin(angle)
        v, u = twist.forward, twist.left
        local = np.array([(v * s - u * (1 - c)) / w, (v * (1 - c) + u * s) / w, 0])
    return tilt @ local, odometry, angle


def _angles(R):
    return (
        np.arctan2(R[2, 1], R[2, 2]),
        -np.arcsin(R[2, 0]),
        np.arctan2(R[1, 0], R[0, 0]),
    )


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("twist", [Twist(0.05), Twist(0.04, 0.03), Twist(0.05, 0.01, 0.02)])
def test_on_level_ground_to_second_order(twist, blind):
    errors = []
    for steps in (20, 40):
        true, odometry, angle = _drive(twist, 60.0, steps, blind=blind)
        errors.append(np.linalg.norm(odometry.position - true))
        assert odometry.heading == pytest.approx(angle, abs=2e-3)
    assert errors[0] < 2e-3
    assert errors[1] < 1e-9 or errors[0] / errors[1] > 3.5


def test_a_point_turn_leaves_the_place():
    true, odometry, _ = _drive(Twist(0, 0, 0.05), 20.0, 40)
    assert np.allclose(odometry.position, 0, atol=1e-5)


def test_up_and_down_a_slope():
    tilt = rotation(np.radians(8), np.radians(-12), 0.4)
    true, odometry, _ = _drive(Twist(0.05, 0.0, 0.01), 100.0, 400, tilt)
    assert np.linalg.norm(true) > 4
    assert np.allclose(odometry.position, true, atol=2e-3)


@functools.cache
def _waves(steps):
    """Stands of a rover over the waves, from placement, and the turns of its wheels at each."""
    placer = Placer(KINEMATICS, Waves())
    stands = placer.path(np.column_stack([np.linspace(0, 2, steps + 1), np.zeros((steps + 1, 2))]))
    rolled = [_rolled(placer, *pair, fine=4) for pair in itertools.pairwise(stands)]
    return stands, np.cumsum([np.zeros(6), *rolled], axis=0)


def _over_waves(steps, slip=0.0, hold=1e-3):
    """Truth from placement; wheels turn by the way of their centres over the radius."""
    stands, turns = _waves(steps)
    odometry = None
    for stand, turned in zip(stands, turns / (1 - slip), strict=True):
        joints = {**stand.joints, **dict(zip(LAYOUT.drive_joint, turned, strict=True))}
        attitude = (stand.roll, stand.pitch, 0.0)
        if odometry is None:
            odometry = Odometry(KINEMATICS, stand.position, attitude, joints, hold=hold)
        else:
            odometry.update(attitude, joints)
    return stands[0].position, stands[-1].position, odometry


def _rolled(placer, a, b, fine):
    """Turns of the wheel joints from stand to stand: arc of the centre less the carrier's pitch."""
    xs = np.linspace(a.position[0], b.position[0], fine + 1)
    between = [a, *(placer.place(x, 0.0, 0.0, near=a) for x in xs[1:-1]), b]
    centres, pitch = [], []
    for s in between:
        frames = KINEMATICS.frames(s.joints)
        centres.append(s.position + frames.centre @ s.rotation.T)
        ahead = s.rotation @ frames.carrier[:, :, 0].T
        pitch.append(-np.arcsin(ahead[2]))
    arc = np.sum(np.linalg.norm(np.diff(centres, axis=0), axis=2), axis=0)
    return arc / KINEMATICS.radius - (pitch[-1] - pitch[0])


def test_over_waves_to_second_order():
    errors = []
    for steps in (20, 40):
        _, true, odometry = _over_waves(steps)
        errors.append(np.linalg.norm(odometry.position - true))
    assert errors[0] < 0.01 and errors[1] < 0.003
    assert errors[0] / errors[1] > 3


def test_over_waves_with_the_usual_hold():
    _, true, odometry = _over_waves(40, hold=0.2)
    assert np.linalg.norm(odometry.position - true) < 0.02


def test_contact_angles_are_those_of_the_ground():
    _, true, odometry = _over_waves(40)
    stand = Placer(KINEMATICS, Waves()).place(true[0] - 1 / 40, 0.0)
    slope = np.arctan2(-stand.normal[:, 0], stand.normal[:, 2])
    assert np.ptp(slope) > 0.1
    assert np.allclose(odometry.contact_angle, slope, atol=0.01)


def test_slip_shows_as_too_long_a_way():
    true, odometry, _ = _drive(Twist(0.05), 100.0, 10, slip=0.2)
    assert np.allclose(odometry.position, true / 0.8, atol=1e-9)
    begin, true, odometry = _over_waves(40, slip=0.2)
    assert odometry.position[0] - begin[0] == pytest.approx(2 / 0.8, rel=0.02)


def test_a_wheel_that_spins_alone_shows_in_the_disagreement():
    odometry = Odometry(KINEMATICS)
    turns = np.full(6, 0.1)
    turns[3] = 0.2
    odometry.update((0, 0, 0), dict(zip(LAYOUT.drive_joint, turns, strict=True)))
    worst = np.argmax(np.linalg.norm(odometry.disagreement, axis=1))
    assert worst == 3
    assert odometry.position[0] == pytest.approx(np.mean(turns) * 0.1425, rel=1e-3)


def test_quaternions_and_normals_given():
    tilt = rotation(0.0, np.radians(-10), 0.0)
    half = np.radians(-10) / 2
    odometry = Odometry(KINEMATICS, attitude=(np.cos(half), 0, np.sin(half), 0))
    joints = dict.fromkeys(LAYOUT.drive_joint, 1.0)
    odometry.update((0, np.radians(-10), 0), joints, normals=np.tile(tilt[:, 2], (6, 1)))
    assert np.allclose(odometry.position, 0.1425 * tilt[:, 0], atol=1e-12)


def test_covariance_grows_with_the_way():
    _, a, _ = _drive(Twist(0.05), 20.0, 10)
    _, b, _ = _drive(Twist(0.05), 80.0, 40)
    # six wheels of 0.05 √m each: 0.05² · distance / 6
    assert a.covariance[0, 0] == pytest.approx(0.05**2 * 1.0 / 6, rel=1e-6)
    assert b.covariance[0, 0] == pytest.approx(4 * a.covariance[0, 0], rel=1e-6)


def test_attitude_of_five_numbers_is_refused():
    with pytest.raises(InputError, match="5 numbers"):
        Odometry(KINEMATICS, attitude=(1, 2, 3, 4, 5))
