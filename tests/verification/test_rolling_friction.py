"""Couples of hard contact against rolling and spinning, against closed forms.

A solid ball of radius R that rolls without slip under a couple ρ N:  a = −(5/7) g ρ/R on level
ground, (5/7) g (sin α − ρ/R cos α) downhill; it stands for tan α < ρ/R. One that spins about the
vertical under ρ N:  dω/dt = −(5/2) ρ g/R².
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from worlds import UNCONVERGED, G, ball, digest, energy, mjcf, simulation

from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation

RADIUS, LEVER = 0.1, 0.005


def rolling_ball(folder, slope=0.0, speed=1.0, spin=0.0, duration=1.0, **law):
    """A ball that rolls along x, or uphill on a slope, and spins about the normal."""
    up = np.array([-np.sin(slope), 0.0, np.cos(slope)])
    along = np.array([np.cos(slope), 0.0, np.sin(slope)])
    return simulation(
        folder, mjcf(ball(RADIUS)),
        robot={
            "position": (RADIUS * up).tolist(), "velocity": (speed * along).tolist(),
            "angular_velocity": (spin * up + [0.0, speed / RADIUS, 0.0]).tolist(),
        },
        ground=[{"kind": "plane", "slope": slope}], interaction=law,
        run={"duration": duration, "record_period": 0.01},
    )  # fmt: skip


def test_a_ball_is_slowed_down_and_stops(tmp_path):
    sim = rolling_ball(tmp_path, duration=4.0, rolling_friction=LEVER)
    sim.run()
    r = sim.records
    braking = 5 / 7 * G * LEVER / RADIUS
    moving = r.time < 0.95 / braking
    assert r.velocities[moving, 0] == pytest.approx(1.0 - braking * r.time[moving], abs=2e-3)
    # without slip, and then it stands
    assert r.velocities[moving, 4] * RADIUS == pytest.approx(r.velocities[moving, 0], abs=1e-6)
    assert np.abs(r.velocities[r.time > 1.05 / braking]).max() < 1e-9
    assert r.coordinates[-1, 0] == pytest.approx(0.5 / braking, rel=2e-3)
    assert np.all(np.diff(energy(sim)) < 1e-12)
    assert r.stats[:, UNCONVERGED].sum() == 0


def test_a_ball_that_spins_stops(tmp_path):
    sim = rolling_ball(tmp_path, speed=0.0, spin=20.0, duration=3.0, spinning_friction=1e-3)
    sim.run()
    r = sim.records
    braking = 2.5 * 1e-3 * G / RADIUS**2
    moving = r.time < 0.95 * 20.0 / braking
    spin = r.velocities[:, 5]
    assert spin[moving] == pytest.approx(20.0 - braking * r.time[moving], abs=0.01)
    end = rolling_ball(tmp_path, speed=0.0, spin=1.0, duration=1.0, spinning_friction=1e-3)
    end.run()
    assert abs(end.qvel[5]) < 1e-9


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_ball_stands_on_slopes_up_to_its_angle(tmp_path, share):
    slope = float(np.arctan(share * LEVER / RADIUS))
    sim = rolling_ball(tmp_path, slope, speed=0.0, duration=2.0, rolling_friction=LEVER)
    sim.run()
    down = np.array([-np.cos(slope), 0.0, -np.sin(slope)])
    way = float((sim.qpos[:3] - sim.records.coordinates[0, :3]) @ down)
    if share < 1.0:
        assert abs(way) < 2e-6
    else:
        brake = 5 / 7 * G * LEVER / RADIUS * np.cos(slope)
        pull = 5 / 7 * G * np.sin(slope) - brake
        # in the first step, of 1 ms, there is no couple yet
        assert way == pytest.approx(0.5 * pull * 2.0**2 + brake * 1e-3 * 2.0, rel=1e-3)


def test_a_rover_without_motors_is_slowed_down():
    # wheels of radius R and inertia I: (m + Σ I/R²) a = −m g ρ/R
    sim = Simulation(
        validate(
            {
                "robot": {
                    "name": "vehicle_2001", "settle": True, "velocity": [0.5, 0, 0],
                    "joint_rates": {"drives": 5.0},
                },
                "ground": [{"kind": "plane"}], "gravity": G,
                "interaction": {"surfaces": {"plane": {"rolling_friction": 2e-3}}},
                "run": {"duration": 0.5},
            }
        )
    )  # fmt: skip
    sim.run()
    m = sim.model
    mass = float(m.body_subtreemass[0])
    turning = 0.0
    for wheel in sim.world.robot.wheels.values():
        body = m.body(wheel.body).id
        axis = m.jnt_axis[m.joint(wheel.joint).id]
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, m.body_iquat[body])
        local = turn.reshape(3, 3).T @ axis
        turning += float(m.body_inertia[body] @ local**2) / wheel.radius**2
    radius = next(iter(sim.world.robot.wheels.values())).radius
    braking = mass * G * 2e-3 / radius / (mass + turning)
    assert sim.qvel[0] == pytest.approx(0.5 - braking * 0.5, rel=5e-3)


def test_wheels_on_a_mesh_keep_their_couple_from_triangle_to_triangle(tmp_path):
    xs = np.linspace(-0.5, 2.0, 51)
    triangles = []
    for a, b in zip(xs[:-1], xs[1:], strict=True):
        p, q, r, s = [a, -1, 0], [b, -1, 0], [b, 1, 0], [a, 1, 0]
        triangles += [[p, q, r], [p, r, s]]
    robot = tmp_path / "robot.yaml"
    (tmp_path / "model.xml").write_text(
        mjcf(
            '<body name="base" pos="0 0 0.1"><freejoint/><geom size="0.02" mass="0.5"/>'
            '<body name="wheel"><joint name="axle" axis="0 1 0"/>'
            '<geom type="sphere" size="0.1" mass="1"/></body></body>'
        )
    )
    robot.write_text(
        "model: model.xml\nbase: base\nwheels:\n  w: {body: wheel, joint: axle, radius: 0.1, "
        "width: 0.02, shape: sphere}\nroles: {drives: [axle]}\n"
    )
    speeds = []
    for ground in ({"kind": "plane"}, {"kind": "mesh", "triangles": np.array(triangles).tolist()}):
        sim = Simulation(
            validate(
                {
                    "robot": {
                        "name": str(robot), "position": [0, 0, 0.1], "velocity": [1, 0, 0],
                        "joint_rates": {"axle": 10.0},
                    },
                    "ground": [ground], "gravity": G,
                    "interaction": {"rolling_friction": LEVER}, "run": {"duration": 1.0},
                }
            )
        )  # fmt: skip
        sim.run()
        speeds.append(float(sim.qvel[0]))
    assert speeds[0] < 0.8
    assert speeds[1] == pytest.approx(speeds[0], abs=5e-3)


def test_no_couples_are_the_same_bits(tmp_path):
    plain = rolling_ball(tmp_path, duration=0.2)
    zero = rolling_ball(tmp_path, duration=0.2, rolling_friction=0.0, spinning_friction="0 mm")
    assert digest(plain.run()) == digest(zero.run())


def test_other_laws_have_no_couples():
    data = {"robot": {"name": "exomars"}, "run": {"duration": 1}}
    for law in ("compliant", "polygonal", "none"):
        own = {"law": law, "rolling_friction": "2 mm"}
        with pytest.raises(InputError, match=f"interaction.rolling_friction: the {law} law has no"):
            validate({**data, "interaction": own})
    with pytest.raises(InputError, match=r"interaction.spinning_friction = -0.1: must be at least"):
        validate({**data, "interaction": {"spinning_friction": -0.1}})
