"""Linkages against their closed forms; loops that stay closed; momentum; the O(n) recursion."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import yaml
from worlds import G, energy, mjcf, order

from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation, inertia

NO_GROUND = {"ground": [], "interaction": {"law": "none"}}


def robot(folder, model, loops, **parts):
    """A simulation of a robot whose loops are declared in robot.yaml."""
    (folder / "model.xml").write_text(model)
    (folder / "robot.yaml").write_text(yaml.safe_dump({"model": "model.xml", "loops": loops}))
    given = {"name": str(folder / "robot.yaml"), **parts.pop("robot", {})}
    return Simulation(validate({"robot": given, "gravity": G, **NO_GROUND, **parts}))


CRANK, COUPLER, ROCKER, BASE = 0.3, 1.0, 0.8, 0.9
FOUR_BAR = mjcf(
    f"""
    <body name="crank" pos="0 0 0"><joint name="a" axis="0 -1 0"/>
      <inertial pos="{CRANK / 2} 0 0" mass="1" diaginertia="0.001 0.02 0.02"/>
      <body name="coupler" pos="{CRANK} 0 0"><joint name="b" axis="0 -1 0"/>
        <inertial pos="{COUPLER / 2} 0 0" mass="2" diaginertia="0.001 0.17 0.17"/></body></body>
    <body name="rocker" pos="{BASE} 0 0"><joint name="c" axis="0 -1 0"/>
      <inertial pos="{ROCKER / 2} 0 0" mass="1.5" diaginertia="0.001 0.12 0.12"/></body>"""
)
PIN = {
    "body": "coupler", "other": "rocker", "point": [COUPLER, 0, 0], "other_point": [ROCKER, 0, 0],
}  # fmt: skip


def rocker_angle(crank):
    """Angle of the rocker: it ends where a circle about the crank's pin meets its own."""
    x, z = BASE - CRANK * np.cos(crank), -CRANK * np.sin(crank)  # from pin to pivot
    d = np.hypot(x, z)
    # law of cosines at the pivot; the rocker stands above the line from pivot to pin
    corner = np.arccos((ROCKER**2 + d**2 - COUPLER**2) / (2 * ROCKER * d))
    return np.arctan2(-z, -x) - corner


def coupler_angle(crank):
    c = rocker_angle(crank)
    x = BASE + ROCKER * np.cos(c) - CRANK * np.cos(crank)
    z = ROCKER * np.sin(c) - CRANK * np.sin(crank)
    return np.arctan2(z, x) - crank


def start(crank):
    return {"a": crank, "b": float(coupler_angle(crank)), "c": float(rocker_angle(crank))}


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


@pytest.mark.parametrize("integrator", ["moreau_jean", "semi_implicit"])
@pytest.mark.parametrize("kind", ["ball", "hinge"])
def test_four_bar_against_closed_form(tmp_path, kind, integrator):
    # a crank driven round at 2 rad/s: coupler and rocker follow by geometry alone; a hinge in a
    # planar linkage is closed three times over
    sim = robot(
        tmp_path, FOUR_BAR, {"pin": {"kind": kind, **PIN}}, robot={"joints": start(0.4)},
        control=[{"joints": "a", "speed": 2.0}],
        run={"duration": 6.0, "step": 1e-3, "record_period": 0.01, "integrator": integrator},
    ).run()  # fmt: skip
    a, b, c = sim.records.coordinates.T
    assert np.ptp(a) > 2 * np.pi
    assert np.abs(wrapped(c - rocker_angle(a))).max() < 1e-8
    assert np.abs(wrapped(b - coupler_angle(a))).max() < 1e-8
    # rates by the chain rule
    e = 1e-6
    slope = wrapped(rocker_angle(a + e) - rocker_angle(a - e)) / (2 * e)
    rates = sim.records.velocities.T
    assert np.abs(rates[2] - slope * rates[0]).max() < 1e-6


def test_slider_crank_against_closed_form(tmp_path):
    r, rod = 0.2, 0.7
    model = mjcf(
        f"""
        <body name="crank"><joint name="a" axis="0 -1 0"/>
          <inertial pos="{r / 2} 0 0" mass="1" diaginertia="0.001 0.01 0.01"/>
          <body name="rod" pos="{r} 0 0"><joint name="b" axis="0 -1 0"/>
            <inertial pos="{rod / 2} 0 0" mass="1" diaginertia="0.001 0.05 0.05"/></body></body>
        <body name="piston" pos="{r + rod} 0 0"><joint name="x" type="slide" axis="1 0 0"/>
          <inertial pos="0 0 0" mass="2" diaginertia="0.01 0.01 0.01"/></body>"""
    )
    loops = {
        "pin": {
            "kind": "ball", "body": "rod", "other": "piston", "point": [rod, 0, 0],
            "other_point": [0, 0, 0],
        }
    }  # fmt: skip
    run = {"duration": 3.0, "step": 5e-4, "record_period": 0.005}
    sim = robot(
        tmp_path, model, loops, control=[{"joints": "a", "speed": 5.0}], run=run,
        robot={"joint_rates": {"a": 5.0, "b": -5.0 * (1 + r / rod)}},
    ).run()  # fmt: skip
    a, _, x = sim.records.coordinates.T
    sin = r * np.sin(a) / rod
    closed = r * np.cos(a) + rod * np.sqrt(1 - sin**2) - (r + rod)
    assert np.abs(x - closed).max() < 1e-9
    rate = -r * np.sin(a) - r * np.sin(a) * r * np.cos(a) / (rod * np.sqrt(1 - sin**2))
    va, _, vx = sim.records.velocities.T
    assert np.abs(vx - rate * va).max() < 1e-6
    # power of the crank's motor = rate of energy, over a whole turn: both are zero on average
    e = energy(sim)
    work = np.cumsum(sim.records.motor_work)
    assert np.abs(e - e[0] - (work - work[0])).max() < 2e-3 * np.ptp(e)


@pytest.mark.parametrize("integrator", ["moreau_jean", "semi_implicit"])
def test_loop_stays_closed_for_ten_minutes(tmp_path, integrator):
    # 600 s of driven swinging: error below 1e-6 m at every record, without drift. A little damping
    # for MuJoCo's own scheme, which gains energy as it does with any swinging tree
    sim = robot(
        tmp_path, FOUR_BAR, {"pin": {"kind": "ball", **PIN}},
        robot={"joints": start(0.4), "springs": {"c": {"damping": 0.2}}},
        control=[{"joints": "a", "torque": "2*sin(2*t)"}],
        run={"duration": 600.0, "step": 2e-3, "record_period": 0.1, "integrator": integrator},
    ).run()  # fmt: skip
    a, b, c = sim.records.coordinates.T
    pin = np.array([CRANK * np.cos(a) + COUPLER * np.cos(a + b),
                    CRANK * np.sin(a) + COUPLER * np.sin(a + b)])  # fmt: skip
    end = np.array([BASE + ROCKER * np.cos(c), ROCKER * np.sin(c)])
    assert np.hypot(*(pin - end)).max() < 1e-6
    assert np.ptp(a[-500:]) > 0.5  # it still swings


def test_linkage_converges_with_second_order(tmp_path):
    # the free motion of the linkage, against a run with a sixteenth of the step
    last = []
    for h in (4e-3, 2e-3, 1e-3, 2.5e-4):
        sim = robot(
            tmp_path, FOUR_BAR, {"pin": {"kind": "ball", **PIN}}, robot={"joints": start(0.4)},
            run={"duration": 2.0, "step": h, "record_period": 2.0},
        ).run()  # fmt: skip
        last.append(sim.qpos.copy())
    errors = [float(np.abs(q - last[-1]).max()) for q in last[:-1]]
    assert errors[-1] < 1e-4
    assert 1.7 < order(errors) < 2.4


FLOATING = """
    <body name="base"><freejoint name="free"/>
      <inertial pos="0 0 0" mass="3" diaginertia="0.3 0.2 0.4"/>
      <body name="crank" pos="0 0 0"><joint name="a" axis="0 -1 0"/>
        <inertial pos="0.15 0 0" mass="1" diaginertia="0.001 0.02 0.02"/>
        <body name="coupler" pos="0.3 0 0"><joint name="b" axis="0 -1 0"/>
          <inertial pos="0.5 0 0" mass="2" diaginertia="0.001 0.17 0.17"/></body></body>
      <body name="rocker" pos="0.9 0 0"><joint name="c" axis="0 -1 0"/>
        <inertial pos="0.4 0 0" mass="1.5" diaginertia="0.001 0.12 0.12"/></body></body>"""


def angular_momentum(sim):
    """About the centre of mass, at every record, by MuJoCo's own sums over the bodies."""
    out = []
    data = mujoco.MjData(sim.model)
    for q, v in zip(sim.records.coordinates, sim.records.velocities, strict=True):
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_kinematics(sim.model, data)
        mujoco.mj_comPos(sim.model, data)
        mujoco.mj_comVel(sim.model, data)
        mujoco.mj_subtreeVel(sim.model, data)
        out.append(data.subtree_angmom[0].copy())
    return np.array(out)


def test_floating_linkage_keeps_its_angular_momentum(tmp_path):
    # a motor swings the linkage of a tumbling body in free fall: momentum is untouched
    drift = []
    for h in (2e-3, 1e-3):
        sim = robot(
            tmp_path, mjcf(FLOATING), {"pin": {"kind": "hinge", **PIN}}, gravity=0.0,
            robot={"joints": start(0.4), "angular_velocity": [0.3, 0.5, -0.2]},
            control=[{"joints": "a", "torque": "0.5*sin(3*t)"}],
            run={"duration": 5.0, "step": h, "record_period": 0.05},
        ).run()  # fmt: skip
        momentum = angular_momentum(sim)
        assert np.ptp(sim.records.coordinates[:, 7]) > 0.3
        drift.append(np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0]))
        # the centre of mass goes straight on
        straight = sim.records.com[0] + sim.records.time[:, None] * sim.records.com_velocity[0]
        assert np.abs(sim.records.com - straight).max() < 3e-4
    assert max(drift) < 1e-12


def test_gear_is_a_differential(tmp_path):
    # two arms on a body, geared −1: pressing one down lifts the other by the same angle
    arm = '<inertial pos="0.5 0 0" mass="{}" diaginertia="0.001 0.1 0.1"/>'
    model = mjcf(
        f'<body name="l"><joint name="l" axis="0 1 0"/>{arm.format(1)}</body>'
        f'<body name="r" pos="0 1 0"><joint name="r" axis="0 1 0"/>{arm.format(2)}</body>'
    )
    loops = {"differential": {"kind": "gear", "joint": "l", "other": "r", "ratio": -1}}
    sim = robot(tmp_path, model, loops, run={"duration": 1.0, "record_period": 0.01}).run()
    left, right = sim.records.coordinates.T
    assert np.abs(left + right).max() < 1e-12
    # as one degree of freedom: (Σ I) q̈ = (m_r − m_l) g c cos q
    inertia_sum = 0.2 + 0.25 * 3
    rate = sim.records.velocities[:, 1]
    gained = 0.5 * inertia_sum * rate**2
    assert np.abs(gained - G * 0.5 * np.sin(right)).max() < 1e-5 * gained.max()


def chain(n):
    body = '<inertial pos="0 0 -0.1" mass="0.2" diaginertia="0.001 0.001 0.0005"/>'
    text = ""
    for k in range(n):
        axis = "0 1 0" if k % 2 == 0 else "1 0 0"
        text += f'<body pos="0 0 {-0.2 if k else 0}"><joint axis="{axis}"/>{body}'
    return mjcf(text + "</body>" * n)


def test_recursion_equals_the_sparse_factorisation(tmp_path, monkeypatch):
    # the same chain of 12 bodies by both ways, with a free base's six degrees of freedom, springs,
    # a motor and a loop to the world: the same motion
    model = chain(12).replace(
        "<worldbody><body", '<worldbody><body name="b0"><freejoint/><body', 1
    ).replace("</worldbody>", "</body></worldbody>")  # fmt: skip
    model = model.replace(
        '<freejoint/>', '<freejoint/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.1"/>'
        '<geom size="0.1" mass="0.5" contype="0" conaffinity="0"/>'
    )  # fmt: skip
    loops = {"pin": {"kind": "ball", "body": "b0", "other": "world", "point": [0, 0, 0],
                     "other_point": [0, 0, 0]}}  # fmt: skip
    runs = []
    for deep in (1e9, 0.0):
        monkeypatch.setattr(inertia, "DEEP", deep)
        sim = robot(
            tmp_path, model, loops, robot={"springs": {"joint3": {"stiffness": 2.0}}},
            control=[{"joints": "joint1", "speed": 1.0}],
            run={"duration": 0.5, "step": 1e-3, "record_period": 0.1},
        )  # fmt: skip
        assert sim._model.tree.articulated == (deep == 0.0)
        runs.append(sim.run())
    assert np.ptp(runs[0].records.coordinates, axis=0).max() > 0.05
    assert np.abs(runs[0].qpos - runs[1].qpos).max() < 1e-9
    assert runs[0].qpos[:3] == pytest.approx([0, 0, 0], abs=1e-9)


def test_long_chain_uses_the_recursion_and_keeps_energy(tmp_path):
    # a hanging chain of 200 bodies swings; nobody could factor it in n³ in this time
    sim = robot(
        tmp_path, chain(200), {}, robot={"joints": {"joint0": 0.5}},
        run={"duration": 0.2, "step": 1e-3, "record_period": 0.02},
    )  # fmt: skip
    assert sim._model.tree.articulated
    e = energy(sim.run())
    assert np.ptp(e) < 1e-4 * np.ptp(sim.records.energy[:, 1])


def test_unknown_names_in_loops_are_named(tmp_path):
    bad = {"pin": {"kind": "ball", **PIN, "other": "rokcer"}}
    with pytest.raises(InputError, match=r"loops.pin.other: 'rokcer'.*did you mean 'rocker'"):
        robot(tmp_path, FOUR_BAR, bad, run={"duration": 1.0})
    assert math.isfinite(rocker_angle(0.0))


def test_loops_of_very_different_inertia_all_hold(tmp_path):
    # a body of a tonne on a pin, beside a gear of two tiny rotors: neither is taken for redundant
    rotor = '<body name="{0}" pos="0 {1} 0"><joint name="{0}" axis="0 1 0"/>' + (
        '<inertial pos="0 0 0" mass="1e-3" diaginertia="5e-8 5e-8 5e-8"/></body>'
    )
    model = mjcf(
        '<body name="big" pos="0 0 1"><freejoint name="free"/>'
        '<inertial pos="0 0 0" mass="1000" diaginertia="100 100 100"/></body>'
        + rotor.format("a", 3)
        + rotor.format("b", 4)
    )
    loops = {
        "pin": {
            "kind": "ball", "body": "big", "other": "world", "point": [0, 0, 0],
            "other_point": [0, 0, 1],
        },
        "gear": {"kind": "gear", "joint": "a", "other": "b", "ratio": 10},
    }  # fmt: skip
    sim = robot(
        tmp_path, model, loops, control=[{"joints": "b", "torque": 1e-6}],
        run={"duration": 0.2, "record_period": 0.1},
    ).run()  # fmt: skip
    assert sim.qpos[:3] == pytest.approx([0, 0, 1], abs=1e-9)
    a, b = sim.qpos[7:]
    assert abs(b) > 1e-4
    assert a == pytest.approx(10 * b, rel=1e-9)
    # τ = (I + 100 I) q̈
    assert b == pytest.approx(0.5 * 1e-6 / (101 * 5e-8) * 0.2**2, rel=1e-2)


def test_a_loop_with_itself_is_refused(tmp_path):
    bad = {"pin": {"kind": "weld", "body": "rocker", "other": "rocker"}}
    with pytest.raises(InputError, match=r"loops.pin.other: 'rocker' is the body itself"):
        robot(tmp_path, FOUR_BAR, bad, run={"duration": 1.0})
