"""The flight-like ExoMars rover against its published figures and lever-arm statics.

Statics by hand: the side bogies' pivots lie midway between their wheels, so front and centre
wheels carry the same load F; the rear bogie turns about its middle, so its wheels carry the same
load R. With axles at x_F, x_C, x_R and the centre of mass at x:
4 F + 2 R = W and 2 F (x_F + x_C) + 2 R x_R = W x.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard.robot import load_robot

G = 3.71  # [m/s²]
WHEELS = ("FL", "FR", "CL", "CR", "RL", "RR")


@pytest.fixture(scope="module")
def robot():
    return load_robot("exomars")


@pytest.fixture(scope="module")
def rover(robot):
    model = robot.spec().compile()
    model.opt.gravity[:] = 0, 0, -G
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def value(robot, key):
    return robot.numbers[key]["value"]


def centre(data, wheel):
    return data.body(f"{wheel}Wheel").xpos


def com(model, data):
    return data.subtree_com[model.body("Chassis").id]


def loads(model, data):
    """Vertical wheel loads [N] that hold every joint at rest, and the worst unbalanced force."""
    data.qvel[:] = 0
    data.qacc[:] = 0
    mujoco.mj_inverse(model, data)
    columns = []
    for name in WHEELS:
        jacobian = np.zeros((3, model.nv))
        body = model.body(f"{name}Wheel").id
        foot = centre(data, name) - [0, 0, 0.1425]
        mujoco.mj_jac(model, data, jacobian, None, foot, body)
        columns.append(jacobian[2])
    matrix = np.array(columns).T
    force = np.linalg.lstsq(matrix, data.qfrc_inverse, rcond=None)[0]
    return dict(zip(WHEELS, force, strict=True)), np.abs(matrix @ force - data.qfrc_inverse).max()


def test_mass_is_the_published_one(robot, rover):
    model, _ = rover
    assert model.body_subtreemass[0] == pytest.approx(310.0, abs=1e-9)
    parts = {"Chassis": "chassis_mass", "RBogie": "rear_bogie_mass", "FLBogie": "side_bogie_mass"}
    parts |= {"FRBogie": "side_bogie_mass"}
    parts |= {f"{w}Wheel": "wheel_mass" for w in WHEELS}
    parts |= {f"{w}Steering": "steering_mass" for w in WHEELS}
    for body, key in parts.items():
        assert model.body(body).mass[0] == pytest.approx(value(robot, key)), body


def test_axles_and_track_are_the_published_ones(rover):
    _, data = rover
    x = {w: centre(data, w)[0] for w in WHEELS}
    assert x["FL"] - x["CL"] == pytest.approx(0.640)
    assert x["CL"] - x["RL"] == pytest.approx(0.720)
    for axle in "FCR":
        left, right = centre(data, axle + "L"), centre(data, axle + "R")
        assert left[1] - right[1] == pytest.approx(1.200)
        assert left[[0, 2]] == pytest.approx(right[[0, 2]])


def test_all_wheels_touch_flat_ground_at_zero(robot, rover):
    _, data = rover
    for name, wheel in robot.wheels.items():
        assert (wheel.radius, wheel.width) == (0.285 / 2, 0.120)
        assert centre(data, name)[2] == pytest.approx(wheel.radius, abs=1e-12)


def test_loads_agree_with_lever_arms(robot, rover):
    model, data = rover
    weight, x = 310.0 * G, value(robot, "centre_of_mass_x")
    front, centre_axle, rear = 0.72, 0.08, -0.64
    F, R = np.linalg.solve([[4, 2], [2 * (front + centre_axle), 2 * rear]], [weight, weight * x])
    by_mujoco, unbalanced = loads(model, data)
    assert unbalanced < 1e-6 * weight
    for name in WHEELS:
        # the centre of mass is rounded to 0.1 mm in the model
        assert by_mujoco[name] == pytest.approx(R if name[0] == "R" else F, rel=1e-3), name
    assert sum(by_mujoco.values()) == pytest.approx(weight)
    # what robot.yaml says about the share of the pairs
    assert 2 * R / weight == pytest.approx(0.337, abs=0.0005)


def test_loads_stay_balanced_when_the_bogies_turn(rover):
    """With bogies turned the wheels still carry the weight and each joint stays in balance."""
    model, _ = rover
    data = mujoco.MjData(model)
    for joint, angle in (("FLBogie_y", 0.2), ("FRBogie_y", -0.15), ("RBogie_x", 0.1)):
        data.joint(joint).qpos[0] = angle
    mujoco.mj_forward(model, data)
    force, unbalanced = loads(model, data)
    assert sum(force.values()) == pytest.approx(310.0 * G)
    assert unbalanced < 1e-6 * 310.0 * G
    assert all(f > 0.2 * 310.0 * G / 6 for f in force.values())


def test_centre_of_mass_is_where_the_numbers_say(robot, rover):
    model, data = rover
    x, y, z = com(model, data)
    assert x == pytest.approx(value(robot, "centre_of_mass_x"), abs=1e-4)
    assert y == pytest.approx(0, abs=1e-12)
    assert z == pytest.approx(value(robot, "centre_of_mass_height"), abs=5e-4)


def test_left_and_right_mirror_each_other(rover):
    model, data = rover
    mirror = np.array([1, -1, 1.0])
    for left, right in [("FLBogie", "FRBogie")] + [
        (f"{a}L{p}", f"{a}R{p}") for a in "FCR" for p in ("Steering", "Wheel")
    ]:
        a, b = model.body(left).id, model.body(right).id
        assert data.xipos[a] * mirror == pytest.approx(data.xipos[b], abs=1e-12)
        assert np.sort(model.body_inertia[a]) == pytest.approx(np.sort(model.body_inertia[b]))
    # about its centre of mass the whole rover has no product of inertia with y
    total = np.zeros((3, 3))
    for b in range(1, model.nbody):
        R = data.ximat[b].reshape(3, 3)
        d = data.xipos[b] - com(model, data)
        total += R @ np.diag(model.body_inertia[b]) @ R.T
        total += model.body_mass[b] * (d @ d * np.eye(3) - np.outer(d, d))
    assert abs(total[0, 1]) < 1e-6 * total[1, 1]
    assert abs(total[1, 2]) < 1e-6 * total[1, 1]
    assert np.linalg.eigvalsh(total).min() > 0


def test_clearance_below_the_belly(robot, rover):
    model, data = rover
    belly = data.geom("belly").xpos[2] - model.geom("belly").size[2]
    assert belly == pytest.approx(value(robot, "ground_clearance"))
    colliding = [model.geom(g).name for g in range(model.ngeom) if model.geom_contype[g]]
    assert colliding == ["belly"]
    # nothing but wheels and their legs hangs lower
    for g in range(model.ngeom):
        body = model.body(model.geom_bodyid[g]).name
        if body == "Chassis":
            assert data.geom_xpos[g][2] > belly


def test_wheels_and_legs_keep_clear_of_the_body_when_steering(rover):
    """A wheel turned on the spot sweeps a circle of half its diagonal; the body is outside it."""
    model, data = rover
    sweep = np.hypot(0.1425 + 0.008, 0.06)
    belly, size = data.geom("belly").xpos, model.geom("belly").size
    for name in WHEELS:
        gap = np.abs(centre(data, name)[:2] - belly[:2]) - size[:2]
        assert np.linalg.norm(np.maximum(gap, 0)) > sweep, name
