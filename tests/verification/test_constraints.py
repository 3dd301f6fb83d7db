"""Closed loops and joint limits: bilateral and unilateral constraints beside the contacts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import PENETRATION, UNCONVERGED, G, energy, mjcf, order, simulation

NO_GROUND = {"ground": [], "interaction": {"law": "none"}}


def four_bar(closures=1, damping=0.0):
    """Crank 0.5 m, coupler 1 m, rocker 1 m on pivots 1 m apart, closed by `connect`."""
    close = '<connect body1="coupler" body2="rocker" anchor="1 0 0"/>' * closures
    return mjcf(
        f"""
        <body name="crank" pos="0 0 2"><joint name="a" axis="0 1 0" damping="{damping}"/>
          <inertial pos="0 0 0.25" mass="1" diaginertia="0.02 0.02 0.001"/>
          <body name="coupler" pos="0 0 0.5"><joint name="b" axis="0 1 0"/>
            <inertial pos="0.5 0 0" mass="2" diaginertia="0.001 0.17 0.17"/>
          </body>
        </body>
        <body name="rocker" pos="1 0 1.5"><joint name="c" axis="0 1 0"/>
          <inertial pos="0 0 0.5" mass="1.5" diaginertia="0.12 0.12 0.001"/>
        </body>""",
        f"<equality>{close}</equality>",
    )


def pin_error(sim):
    """Distance of the two halves of the pin at every record [m], from the joint angles."""
    a, b, c = sim.records.coordinates.T
    # rotation by q about y takes (x, z) to (x cos q + z sin q, −x sin q + z cos q)
    tip = np.array([0.5 * np.sin(a) + np.cos(a + b), 2 + 0.5 * np.cos(a) - np.sin(a + b)])
    end = np.array([1 + np.sin(c), 1.5 + np.cos(c)])
    return np.hypot(*(tip - end))


def swing(tmp_path, model, duration, h=1e-3, **run):
    run = {"duration": duration, "step": h, "record_period": 10 * h, **run}
    # it begins upright, in an equilibrium: a little push, the same for all
    robot = {"joint_rates": {"a": 0.2, "b": -0.2, "c": 0.1}}
    sim = simulation(tmp_path, model, run=run, robot=robot, **NO_GROUND)
    return sim.run()


def test_four_bar_stays_closed(tmp_path):
    # the loop's error is below 1e-8 m after 60 s of swinging
    sim = swing(tmp_path, four_bar(), 60.0)
    assert pin_error(sim).max() < 1e-8
    assert np.ptp(sim.records.coordinates[:, 0]) > 1.0  # it does swing
    assert sim.records.stats[:, PENETRATION].max() < 1e-8


def test_four_bar_keeps_energy(tmp_path):
    # no damping: the loop's impulses do no work on the displacement of the step, so that what is
    # left is of second order
    drift = []
    for h in (2e-3, 1e-3, 5e-4):
        e = energy(swing(tmp_path, four_bar(), 10.0, h))
        drift.append(np.abs(e - e[0]).max() / (4.5 * G * 0.5))
    assert drift[1] < 2e-4
    assert 1.7 < order(drift) < 2.4


def test_four_bar_without_projection_does_not_drift(tmp_path):
    # the velocity-level constraint alone is pushed back by a tenth of its error a step
    # (b = −c/10h), so that the error stays near 10 times the h² v²/2 that one step leaves
    error = []
    for h in (2e-3, 1e-3):
        sim = swing(tmp_path, four_bar(), 20.0, h, projection=False)
        half = len(sim.records.time) // 2
        e = pin_error(sim)
        error.append(e.max())
        assert e[half:].max() < 1.5 * e[:half].max()
    assert error[1] < 5e-4
    assert error[1] < 0.35 * error[0]


def test_loop_closed_twice_is_the_same(tmp_path):
    # a redundant constraint changes nothing: its impulse is shared or zero, the motion the same
    once = swing(tmp_path, four_bar(1), 5.0)
    twice = swing(tmp_path, four_bar(2), 5.0)
    assert np.abs(once.records.coordinates - twice.records.coordinates).max() < 1e-7


def test_four_bar_equals_its_single_coordinate(tmp_path):
    # T(q) ½ ȧ² + V(a) = const with the rates of coupler and rocker from the closed loop:
    # compare the crank's rate with the one energy demands, at every record
    sim = swing(tmp_path, four_bar(), 3.0, 2e-4, record_period=2e-3)
    r = sim.records
    e = energy(sim)
    kinetic = e[0] - r.energy[:, 0]
    assert np.abs(kinetic - r.energy[:, 1]).max() < 1e-3 * kinetic.max()
    # rates of the passive joints follow from the crank's: E v = 0, checked by differences
    a, b, c = r.coordinates.T
    rates = np.gradient(np.array([a, b, c]), r.time, axis=1)[:, 2:-2]
    assert np.abs(rates - r.velocities.T[:, 2:-2]).max() < 2e-2


def pendulum_with_limit(tmp_path, lower, h=1e-3, duration=3.0):
    # a rod of 1 m; the limit stops it before the lowest point
    model = mjcf(
        '<body name="rod" pos="0 0 2">'
        f'<joint name="a" axis="0 1 0" range="{lower} 3" limited="true"/>'
        '<inertial pos="0.5 0 0" mass="1" diaginertia="0.001 0.0833333333 0.0833333333"/></body>'
    )
    run = {"duration": duration, "step": h, "record_period": h}
    return simulation(tmp_path, model, run=run, robot={"joints": {"a": 2.0}}, **NO_GROUND)


def test_joint_limit_stops_and_holds(tmp_path):
    # the rod would hang at π/2; from 2.0 it swings back to the limit 1.8 and is held there
    sim = pendulum_with_limit(tmp_path, 1.8).run()
    a, rate = sim.records.coordinates[:, 0], sim.records.velocities[:, 0]
    assert a.min() > 1.8 - 1e-9
    # e = 0: it rests at the limit from then on
    first = int(np.argmax(a < 1.8 + 1e-6))
    assert first > 0
    assert np.abs(a[first + 1 :] - 1.8).max() < 1e-8
    assert np.abs(rate[first + 1 :]).max() < 1e-9
    # the limit carries the gravity torque: impulse per step −m g c cos(a) h
    torque = -1.0 * G * 0.5 * math.cos(1.8)
    assert np.abs(sim.records.reaction[first + 2 :, 0] - torque * 1e-3).max() < 1e-9


def test_time_to_the_joint_limit(tmp_path):
    # until the limit it is a free pendulum: ½ I ω² = m g c (sin 1.8 − sin 2.0)
    sim = pendulum_with_limit(tmp_path, 1.8, h=1e-4).run()
    a, rate = sim.records.coordinates[:, 0], sim.records.velocities[:, 0]
    first = int(np.argmax(a < 1.8 + 1e-6))
    inertia = 0.0833333333 + 0.25
    speed = math.sqrt(2 * G * 0.5 * (math.sin(1.8) - math.sin(2.0)) / inertia)
    assert np.abs(rate[:first]).max() == pytest.approx(speed, rel=1e-3)


LOOP_ROVER = """
    <body name="base"><freejoint name="free"/>
      <inertial pos="0 0 0" mass="5" diaginertia="0.2 0.2 0.3"/>
      <body name="left" pos="0 0.3 0"><joint name="left" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
        <body name="wlf" pos="0.4 0 0"><joint name="wlf" axis="0 1 0"/>
          <geom type="sphere" size="0.1" mass="0.5"/></body>
        <body name="wlr" pos="-0.4 0 0"><joint name="wlr" axis="0 1 0"/>
          <geom type="sphere" size="0.1" mass="0.5"/></body>
      </body>
      <body name="right" pos="0 -0.3 0"><joint name="right" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
        <body name="wrf" pos="0.4 0 0"><joint name="wrf" axis="0 1 0"/>
          <geom type="sphere" size="0.1" mass="0.5"/></body>
        <body name="wrr" pos="-0.4 0 0"><joint name="wrr" axis="0 1 0"/>
          <geom type="sphere" size="0.1" mass="0.5"/></body>
      </body>
      <body name="bar" pos="-0.1 0 0.2"><joint name="bar" axis="0 0 1"/>
        <inertial pos="0 0 0" mass="0.3" diaginertia="0.01 0.01 0.01"/></body>
    </body>"""


def test_wheeled_robot_with_a_loop_on_rough_ground(tmp_path):
    # rockers coupled by a differential (left = −right): a bump under one wheel turns both, the
    # coupling holds, contacts do not penetrate, and the ground carries the weight
    model = mjcf(
        LOOP_ROVER,
        '<equality><joint joint1="left" joint2="right" polycoef="0 -1 0 0 0"/></equality>',
    )
    ground = [{"kind": "plane"}, {"kind": "box", "centre": [0.4, 0.3, 0], "size": [0.2, 0.2, 0.1]}]
    h = 1e-3
    sim = simulation(
        tmp_path, model, robot={"position": [0, 0, 0.2]}, ground=ground,
        interaction={"friction": 0.6},
        run={"duration": 4.0, "step": h, "record_period": 10 * h},
    )  # fmt: skip
    r = sim.run().records
    names = list(sim.world.joints)
    left, right = (
        r.coordinates[:, sim._model.joint_qpos[names.index(n)]] for n in ("left", "right")
    )
    assert np.abs(left + right).max() < 1e-8
    assert abs(left[-1]) > 0.02  # the bump is felt
    assert r.stats[:, PENETRATION].max() < 1e-8
    assert r.stats[:, UNCONVERGED].sum() == 0
    settled = r.other[-50:, 2].mean() / (10 * h)
    assert settled == pytest.approx(float(sim.model.body_subtreemass[0]) * G, rel=2e-2)
