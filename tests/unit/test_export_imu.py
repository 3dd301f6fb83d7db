"""The inertial measurement unit against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from marsyard.results.export.imu import specific_force
from marsyard.rotations import rotate, rotate_back

G = np.array([0.0, 0.0, -3.72])


def _motion(time, velocity, quaternion):
    return xr.Dataset(
        {
            "velocity_base": (("time", "axis"), velocity),
            "quaternion_base": (("time", "quat"), quaternion),
        },
        coords={"time": time, "axis": list("xyz"), "quat": list("wxyz")},
    )


def _about(axis, angle):
    half = np.asarray(angle) / 2
    return np.stack([np.cos(half), *(np.sin(half) * a for a in axis)], axis=-1)


def test_rest_reads_gravity_upwards_and_a_tilted_rover_its_parts():
    t = np.linspace(0, 1, 5)
    level = specific_force(_motion(t, np.zeros((5, 3)), _about((0, 0, 1), 0.7 + 0 * t)), G)
    np.testing.assert_allclose(level, np.tile([0, 0, 3.72], (5, 1)), atol=1e-14)
    # nose down by 30 degrees: gravity pulls ahead, the ground holds back
    down = specific_force(_motion(t, np.zeros((5, 3)), _about((0, 1, 0), np.pi / 6 + 0 * t)), G)
    expected = [-3.72 * np.sin(np.pi / 6), 0, 3.72 * np.cos(np.pi / 6)]
    np.testing.assert_allclose(down, np.tile(expected, (5, 1)), atol=1e-14)


def test_free_fall_reads_nothing():
    t = np.linspace(0, 1, 21)
    tumbling = _about((0.6, 0.8, 0), 3 * t)
    reading = specific_force(_motion(t, t[:, None] * G + [0.3, 0, 1], tumbling), G)
    np.testing.assert_allclose(reading, 0, atol=1e-13)


@pytest.mark.parametrize("period", [0.1, 0.05])
def test_a_turn_reads_the_centripetal_acceleration(period):
    rate, radius = 0.8, 2.0
    t = np.arange(0, 4, period)
    heading = rate * t
    speed = rate * radius
    v = speed * np.stack([np.cos(heading), np.sin(heading), 0 * t], axis=1)
    reading = specific_force(_motion(t, v, _about((0, 0, 1), heading)), G)
    # the mean over an interval of the turned velocity: sin(x)/x of the exact one
    x = rate * period / 2
    lateral = rate**2 * radius * np.sin(x) / x
    np.testing.assert_allclose(reading, np.tile([0, lateral, 3.72], (len(t), 1)), atol=1e-12)


def test_a_pendulum_to_second_order():
    # a rigid pendulum, exact by fine integration: f along the rod is g cos θ + L θ'²
    length, g = 1.5, 9.81
    fine = 1e-4
    n = 20000
    theta, rate = np.empty(n), np.empty(n)
    a, w = 0.5, 0.0
    for k in range(n):
        theta[k], rate[k] = a, w
        w_half = w - 0.5 * fine * g / length * np.sin(a)
        a += fine * w_half
        w = w_half - 0.5 * fine * g / length * np.sin(a)
    errors = []
    for every in (200, 100):
        pick = slice(0, None, every)
        th, om = theta[pick], rate[pick]
        v = length * om[:, None] * np.stack([np.cos(th), 0 * th, np.sin(th)], axis=1)
        ds = _motion(np.arange(len(th)) * every * fine, v, _about((0, 1, 0), -th))
        reading = specific_force(ds, np.array([0, 0, -g]))[1:]
        at = np.arange(every // 2, n, every)[: len(reading)]
        rod = g * np.cos(theta[at]) + length * rate[at] ** 2
        errors.append(np.abs(reading[:, 2] - rod).max())
        # nothing pushes across the rod: the pendulum falls freely that way
        assert np.abs(reading[:, 0]).max() < 0.01
    assert errors[1] < 0.3 * errors[0] < 0.01


def test_the_readings_sum_up_to_the_change_of_velocity():
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.01, 0.1, 50))
    v = rng.normal(size=(50, 3))  # impacts
    reading = specific_force(_motion(t, v, _about((0, 0, 1), 0 * t)), G)
    gained = np.sum((reading[1:] + G) * np.diff(t)[:, None], axis=0)
    np.testing.assert_allclose(gained, v[-1] - v[0], atol=1e-12)


def test_rotations_are_inverse():
    rng = np.random.default_rng(1)
    q = rng.normal(size=(20, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    x = rng.normal(size=(20, 3))
    np.testing.assert_allclose(rotate_back(q, rotate(q, x)), x, atol=1e-13)
