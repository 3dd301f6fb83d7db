"""Estimators of slip and sinkage, and slips that are made to agree."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control import (
    Placer,
    SinkageEstimator,
    SlipCoordination,
    Twist,
    WheelLayout,
    estimate_slip,
    slip_ratio,
)
from marsyard.ground.terrain import build_terrain
from marsyard.scenario import validate_terrain

LAYOUT = WheelLayout.of("exomars")


@pytest.mark.parametrize(
    ("rim", "v", "slip"),
    [
        (1, 0.8, 0.2),
        (1, 1.25, -0.2),
        (-1, -0.8, -0.2),
        (1, 0, 1),
        (0, 1, -1),
        (0, 0, 0),
        (1, -1, 2),
    ],
)
def test_slip_ratio_by_its_definition(rim, v, slip):
    assert slip_ratio(rim, v) == pytest.approx(slip)


def test_slip_is_found_on_a_curve_with_side_slip():
    wanted = Twist(0.05, 0.0, 0.02)
    command = LAYOUT.command(wanted)
    # the ground takes a fifth of all motion: every wheel has slip 0.2 and no slip angle
    slip = estimate_slip(LAYOUT, wanted.scaled(0.8), command.rate, command.angle)
    assert np.allclose(slip.ratio, 0.2) and np.allclose(slip.angle, 0)
    # straight on, sliding to the right by a tenth: atan 0.1
    straight = LAYOUT.command(Twist(0.05))
    slip = estimate_slip(LAYOUT, Twist(0.05, -0.005), straight.rate, straight.angle)
    assert np.allclose(slip.ratio, 0) and np.allclose(slip.angle, -np.arctan(0.1))
    # at rest
    slip = estimate_slip(LAYOUT, Twist(), np.zeros(6))
    assert np.all(slip.ratio == 0) and np.all(slip.angle == 0)


def test_sinkage_of_a_rover_set_deeper_than_it_stands():
    ground = build_terrain(
        validate_terrain(
            {"title": "t", "layers": [{"kind": "sine", "amplitude": 0.05, "wavelength": 2}]}, "t"
        )
    )
    stand = Placer("exomars", ground).place(0.3, 0.2, 0.4)
    estimator = SinkageEstimator("exomars", ground)
    pose = (stand.roll, stand.pitch, stand.heading, stand.joints)
    assert np.allclose(estimator.estimate(stand.position, *pose), 0, atol=1e-7)
    deeper = estimator.estimate(stand.position - [0, 0, 0.03], *pose)
    assert np.allclose(deeper, 0.03, atol=1e-6)
    # one bogie tips forward: the front wheel goes down by sin(angle) half its length, about
    tipped = {**stand.joints, "FLBogie_y": stand.joints["FLBogie_y"] + 0.05}
    z = estimator.estimate(stand.position, *pose[:3], tipped)
    by_name = dict(zip(estimator.wheels, z, strict=True))
    assert by_name["FL"] == pytest.approx(0.32 * 0.05, rel=0.2)
    assert by_name["CL"] == pytest.approx(-0.32 * 0.05, rel=0.2)
    assert by_name["FR"] == pytest.approx(0, abs=1e-6)
    assert estimator.estimate(stand.position, *pose[:3], tipped, relative=True).min() == 0


class Truck:
    """A body on n wheels whose ground pulls F_i = N A_i tanh(s / K_i), torque-driven.

    m v' = Σ F_i − D,    I ω_i' = T_i − r F_i
    """

    def __init__(self, A, K, drag, load=100.0):
        self.A, self.K = np.array(A), np.array(K)
        self.drag, self.load, self.r, self.m, self.I = drag, load, 0.15, 60.0, 0.2
        self.v, self.w = 0.05, np.full(len(A), 0.05 / 0.15)

    def slip(self):
        return slip_ratio(self.r * self.w, self.v)

    def pull(self):
        return self.load * self.A * np.tanh(self.slip() / self.K)

    def step(self, torque, dt, inner=50):
        h = dt / inner
        for _ in range(inner):
            pull = self.pull()
            self.v += h * (pull.sum() - self.drag) / self.m
            self.w = self.w + h * (torque - self.r * pull) / self.I


def _run(truck, coordination, seconds=25, dt=0.05):
    """A cruise at 5 cm/s: the total torque by a PI law on the body's speed."""
    sum_, work = 0.0, 0.0
    for _ in range(int(seconds / dt)):
        error = 0.05 - truck.v
        sum_ += error * dt
        total = truck.r * truck.drag + 150 * error + 30 * sum_
        if coordination is None:
            torque = np.full(len(truck.A), total / len(truck.A))
        else:
            torque = coordination.torques(total, truck.slip(), dt)
            assert torque.sum() == pytest.approx(total)
        truck.step(torque, dt)
        work = float(torque @ truck.w)
    return truck.slip(), work


def test_torques_are_shared_so_that_slips_agree():
    """Different slip curves: equal torques give slips apart by 3 to 1, shared ones agree.

    The common slip solves Σ N A_i tanh(s/K_i) = D, found here by bisection.
    """
    A, K, drag = [0.5, 0.5, 0.7, 0.4], [0.15, 0.3, 0.2, 0.4], 90.0
    apart, power_apart = _run(Truck(A, K, drag), None)
    agreed, power_agreed = _run(Truck(A, K, drag), SlipCoordination(gain=4.0))
    assert np.ptp(apart) > 0.15
    assert np.ptp(agreed) < 0.005
    low, high = 0.0, 1.0
    for _ in range(60):
        s = (low + high) / 2
        pull = 100 * np.sum(np.array(A) * np.tanh(s / np.array(K)))
        low, high = (s, high) if pull < drag else (low, s)
    assert np.allclose(agreed, s, atol=0.005)
    assert power_agreed < power_apart


def test_torque_limits_are_kept_and_the_rest_shared():
    coordination = SlipCoordination(gain=10.0, torque_max=5.0)
    for _ in range(30):
        torque = coordination.torques(12.0, np.array([0.1, 0.3, 0.2, 0.2]), 0.1)
    assert np.max(torque) <= 5.0 and torque.sum() == pytest.approx(12.0)


def test_rates_bring_slips_together_on_uneven_ground():
    """Wheels whose ground goes by at different speeds; equal rates have different slips."""
    speeds = np.array([0.05, 0.06, 0.045, 0.05, 0.055, 0.05])
    rate = np.full(6, 0.06 / 0.1425)
    coordination = SlipCoordination(time_constant=0.5)
    before = slip_ratio(rate * 0.1425, speeds)
    for _ in range(100):
        rate = coordination.rates(LAYOUT, Twist(0.05), rate, 0.1, velocity=speeds)
    after = slip_ratio(rate * 0.1425, speeds)
    assert np.ptp(before) > 0.2 and np.ptp(after) < 1e-6
    assert after.mean() == pytest.approx(before.mean(), abs=0.02)
    # backward it is the mirror image
    back = np.full(6, -0.06 / 0.1425)
    for _ in range(100):
        back = coordination.rates(LAYOUT, Twist(-0.05), back, 0.1, velocity=-speeds)
    assert np.allclose(back, -rate)


def test_rates_have_the_slip_asked_for():
    rate = np.full(6, 0.4)
    coordination = SlipCoordination(time_constant=0.5)
    for wanted in (0.3, -0.2):
        for _ in range(100):
            rate = coordination.rates(LAYOUT, Twist(0.05, 0, 0.01), rate, 0.1, slip=wanted)
        found = estimate_slip(LAYOUT, Twist(0.05, 0, 0.01), rate)
        assert np.allclose(found.ratio, wanted)
