"""Motion without contact against closed forms, conservation laws and orders of convergence.

Moreau-Jean with θ = ½ is the implicit midpoint rule with one correction of the inertia forces:
second order, exact for constant acceleration. θ = 1 is the semi-implicit Euler rule: first order.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from worlds import G, ball, energy, mjcf, order, simulation

BRICK = mjcf(
    '<body name="brick"><freejoint/>'
    '<inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.27"/></body>'
)
NO_GROUND = {"ground": [], "interaction": {"law": "none"}}


def fall(tmp_path, step, theta, height=10.0):
    run = {"duration": 1.0, "step": step, "theta": theta, "record_period": 0.1}
    sim = simulation(tmp_path, mjcf(ball()), robot={"position": [0, 0, height]}, run=run)
    sim.run()
    return sim


def test_free_fall_midpoint_is_exact(tmp_path):
    # z = z0 − g t²/2, v = −g t: the midpoint rule is exact for constant acceleration
    sim = fall(tmp_path, 1e-3, 0.5)
    t = sim.records.time
    assert np.abs(sim.records.coordinates[:, 2] - (10.0 - 0.5 * G * t**2)).max() < 1e-12
    assert np.abs(sim.records.velocities[:, 2] + G * t).max() < 1e-12


def test_free_fall_euler_is_first_order(tmp_path):
    # θ = 1: z_n = z0 − g h² n (n+1)/2, so the error at t is exactly g t h / 2
    steps = [0.02, 0.01, 0.005, 0.0025]
    errors = []
    for h in steps:
        z = fall(tmp_path, h, 1.0).qpos[2]
        errors.append(abs(z - (10.0 - 0.5 * G)))
        assert errors[-1] == pytest.approx(0.5 * G * h, rel=1e-9)
    assert 0.9 < order(errors) < 1.1


def test_projectile(tmp_path):
    # x = x0 + v t, z = z0 + w t − g t²/2; spin about a principal axis of a ball stays
    run = {"duration": 1.0, "step": 1e-3, "record_period": 0.01}
    robot = {"position": [1, 2, 3], "velocity": [4, -1, 3], "angular_velocity": [0.3, 2, -1]}
    sim = simulation(tmp_path, mjcf(ball()), robot=robot, run=run)
    sim.run()
    t = sim.records.time[:, None]
    expected = np.array([1, 2, 3]) + t * np.array([4, -1, 3]) - 0.5 * t**2 * np.array([0, 0, G])
    assert np.abs(sim.records.coordinates[:, :3] - expected).max() < 1e-11
    assert np.abs(sim.records.velocities[:, 3:] - [0.3, 2, -1]).max() < 1e-12


def tumble(tmp_path, step, theta=0.5, duration=2.0):
    run = {"duration": duration, "step": step, "theta": theta, "record_period": 0.1}
    robot = {"angular_velocity": [0.5, 3.0, 0.4]}  # near the unstable middle axis
    sim = simulation(tmp_path, BRICK, robot=robot, run=run, gravity=0, **NO_GROUND)
    sim.run()
    return sim


def angular_momentum(sim):
    """R I ω at every record, in the world [N·m·s]."""
    inertia = np.array([0.1, 0.2, 0.27])
    out = []
    for q, v in zip(sim.records.coordinates, sim.records.velocities, strict=True):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, q[3:7])
        out.append(rotation.reshape(3, 3) @ (inertia * v[3:6]))
    return np.array(out)


def test_tumbling_body_conserves_energy_and_momentum(tmp_path):
    # torque-free: ½ ωᵀ I ω is kept to second order, R I ω to rounding
    drift_energy, drift_momentum = [], []
    for h in (0.01, 0.005, 0.0025):
        sim = tumble(tmp_path, h)
        e, L = energy(sim), angular_momentum(sim)
        drift_energy.append(np.abs(e / e[0] - 1).max())
        drift_momentum.append(np.abs(L - L[0]).max() / np.linalg.norm(L[0]))
    assert drift_energy[-1] < 1e-5
    assert order(drift_energy) > 1.8
    assert max(drift_momentum) < 1e-13


@pytest.mark.parametrize(("theta", "low", "high"), [(0.5, 1.9, 2.2), (1.0, 0.9, 1.1)])
def test_tumbling_body_order(tmp_path, theta, low, high):
    # Euler's equations I ω̇ = −ω × I ω against a solution with a much smaller step
    from scipy.integrate import solve_ivp

    inertia = np.array([0.1, 0.2, 0.27])

    def euler(_, w):
        return -np.cross(w, inertia * w) / inertia

    exact = solve_ivp(euler, (0, 2), [0.5, 3.0, 0.4], method="DOP853", rtol=1e-12, atol=1e-13)
    errors = [
        np.abs(tumble(tmp_path, h, theta).qvel[3:6] - exact.y[:, -1]).max()
        for h in (0.004, 0.002, 0.001, 0.0005)
    ]
    assert low < order(errors) < high


PENDULUM = mjcf(
    """
    <body name="upper" pos="0 0 3"><joint name="a" axis="0 1 0"/>
      <inertial pos="0 0 -0.5" mass="1.3" diaginertia="0.1 0.1 0.01"/>
      <body name="lower" pos="0 0 -1"><joint name="b" axis="0 1 0"/>
        <inertial pos="0 0 -0.4" mass="0.7" diaginertia="0.05 0.05 0.01"/>
      </body>
    </body>"""
)


def double_pendulum(tmp_path, step, theta=0.5, duration=1.0):
    run = {"duration": duration, "step": step, "theta": theta, "record_period": 0.05}
    robot = {"joints": {"a": 1.2, "b": -0.4}, "joint_rates": {"a": 0.3, "b": 1.0}}
    sim = simulation(tmp_path, PENDULUM, robot=robot, run=run, **NO_GROUND)
    sim.run()
    return sim


def double_pendulum_exact(duration):
    """The Lagrange equations of the double pendulum, integrated to rounding."""
    from scipy.integrate import solve_ivp

    m1, m2, l1, c1, c2, i1, i2 = 1.3, 0.7, 1.0, 0.5, 0.4, 0.1, 0.05

    def rhs(_, s):
        # absolute angles from the downward vertical, p and r = p + relative angle
        p, b, dp, db = s
        r, dr = p + b, dp + db
        m11, m22 = i1 + m1 * c1**2 + m2 * l1**2, i2 + m2 * c2**2
        m12 = m2 * l1 * c2 * math.cos(p - r)
        k = m2 * l1 * c2 * math.sin(p - r)
        f1 = -k * dr**2 - (m1 * c1 + m2 * l1) * G * math.sin(p)
        f2 = k * dp**2 - m2 * c2 * G * math.sin(r)
        ddp, ddr = np.linalg.solve([[m11, m12], [m12, m22]], [f1, f2])
        return [dp, db, ddp, ddr - ddp]

    out = solve_ivp(
        rhs, (0, duration), [1.2, -0.4, 0.3, 1.0], method="DOP853", rtol=1e-12, atol=1e-13
    )
    return out.y[:, -1]


@pytest.mark.parametrize(("theta", "low", "high"), [(0.5, 1.9, 2.1), (1.0, 0.9, 1.1)])
def test_double_pendulum_order(tmp_path, theta, low, high):
    # against the Lagrange equations written out above: right limit, and order 2 (θ=½) or 1 (θ=1)
    exact = double_pendulum_exact(1.0)
    errors = []
    for h in (0.002, 0.001, 0.0005, 0.00025):
        sim = double_pendulum(tmp_path, h, theta)
        errors.append(np.abs(np.r_[sim.qpos, sim.qvel] - exact).max())
    assert low < order(errors) < high
    assert errors[-1] < (2e-5 if theta == 0.5 else 2e-2)


def test_double_pendulum_keeps_energy(tmp_path):
    # no drift over many swings: the error stays of the size of one swing's, O(h²)
    e = energy(double_pendulum(tmp_path, 5e-4, duration=20.0))
    assert np.abs(e - e[0]).max() < 1e-3 * np.ptp([0, 2 * 1.3 * G])


def oscillator(tmp_path, stiffness, damping, step, theta=0.5, duration=1.0):
    model = mjcf(
        f'<body><joint name="a" axis="0 1 0" stiffness="{stiffness}" damping="{damping}"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 0.02"/></body>'
    )
    run = {"duration": duration, "step": step, "theta": theta, "record_period": step}
    robot = {"joints": {"a": 0.5}}
    sim = simulation(tmp_path, model, robot=robot, run=run, gravity=0, **NO_GROUND)
    sim.run()
    return sim


def test_spring_damper_closed_form(tmp_path):
    # I ẍ + c ẋ + k x = 0: x = e^(−δt) (x0 cos ωt + δ x0/ω sin ωt), δ = c/2I, ω² = k/I − δ²
    inertia, k, c, x0 = 0.02, 8.0, 0.04, 0.5
    delta = c / (2 * inertia)
    omega = math.sqrt(k / inertia - delta**2)
    errors = []
    for h in (0.004, 0.002, 0.001):
        sim = oscillator(tmp_path, k, c, h)
        t = sim.records.time
        x = np.exp(-delta * t) * x0 * (np.cos(omega * t) + delta / omega * np.sin(omega * t))
        errors.append(np.abs(sim.records.coordinates[:, 0] - x).max())
    assert 1.9 < order(errors) < 2.1
    assert errors[-1] < 1e-3


def test_undamped_spring_keeps_energy(tmp_path):
    # the midpoint rule keeps quadratic invariants exactly: ½ I v² + ½ k x²
    e = energy(oscillator(tmp_path, 8.0, 0.0, 0.01, duration=20.0))
    assert np.abs(e / e[0] - 1).max() < 1e-11


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_stiff_spring_is_stable(tmp_path, theta):
    # h² k / I = 5e5 ≫ 1: the implicit scheme never gains energy; damped (θ = 1) it goes to rest
    sim = oscillator(tmp_path, 1e8, 0.0, 0.01, theta=theta, duration=5.0)
    e = energy(sim)
    assert np.all(e <= e[0] * (1 + 1e-9))
    assert np.abs(sim.records.coordinates[:, 0]).max() <= 0.5 * (1 + 1e-9)
    if theta == 1.0:
        assert abs(sim.qpos[0]) < 1e-12


def test_stiff_damper_is_stable(tmp_path):
    # h c / I = 5e6 ≫ 1, θ = 1: I v̇ = −c v, v⁺ = v/(1 + h c/I)
    model = mjcf(
        '<body><joint name="a" axis="0 1 0" damping="1e7"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 0.02"/></body>'
    )
    run = {"duration": 0.1, "step": 0.01, "theta": 1.0, "record_period": 0.01}
    robot = {"joint_rates": {"a": 3.0}}
    sim = simulation(tmp_path, model, robot=robot, run=run, gravity=0, **NO_GROUND)
    sim.step(1)
    assert sim.qvel[0] == pytest.approx(3.0 / (1 + 0.01 * 1e7 / 0.02), rel=1e-9)


def test_momentum_of_free_bodies(tmp_path):
    # no gravity, no contact: every body keeps m v; the sum too
    model = mjcf(
        ball(name="a", pos="0 0 0") + ball(name="b", pos="1 0 0", mass=3.0) + PENDULUM_FREE
    )
    run = {"duration": 1.0, "step": 1e-3, "record_period": 0.1}
    sim = simulation(tmp_path, model, run=run, gravity=0, **NO_GROUND)
    rng = np.random.default_rng(1)
    sim.qvel[:] = rng.normal(size=sim.model.nv)
    sim.record_now()
    sim.run()
    momentum = sim.records.com_velocity[1:]
    assert np.abs(momentum - momentum[0]).max() < 1e-13
    assert np.abs(sim.records.velocities[1:, :12] - sim.records.velocities[1, :12]).max() < 1e-12


PENDULUM_FREE = """
    <body name="carrier" pos="5 0 0"><freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.15"/>
      <body name="arm" pos="0 0 -0.2"><joint name="arm" axis="0 1 0"/>
        <inertial pos="0 0 -0.4" mass="0.7" diaginertia="0.05 0.05 0.01"/>
      </body>
    </body>"""


def test_articulated_momentum_is_kept_to_rounding(tmp_path):
    # an arm swinging on a free carrier: internal forces only, the total momentum is constant
    for h in (0.004, 0.001):
        run = {"duration": 1.0, "step": h, "record_period": 0.1 if h < 0.003 else 0.2}
        sim = simulation(tmp_path, mjcf(PENDULUM_FREE), run=run, gravity=0, **NO_GROUND)
        sim.qvel[:] = [0.2, -0.3, 0.1, 1.0, -2.0, 0.7, 3.0]
        sim.step(1)
        first = None
        sim.record_now()
        first = sim.records.com_velocity[-1].copy()
        sim.run()
        assert np.abs(sim.records.com_velocity[-1] - first).max() < 1e-13
