"""Importing MJCF and URDF: frames and axes as marsyard has them, the physics unchanged."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import robot_files as files

from marsyard.robot.importing import plan_import
from marsyard.robot.model_file import read_model
from marsyard.robot.roles import Wish

ROBOTS = (files.four_wheeler, files.rocker_bogie, files.dog, files.tracked, files.offset_rover)


@pytest.mark.parametrize("make", ROBOTS)
def test_the_physics_stays(tmp_path, make):
    # mass, centre and inertia of every body, in many poses, as the file has them
    path = make(tmp_path)
    file = read_model(path)
    old = file.compile()
    plan = plan_import(path, Wish(forward="+x"))
    new = plan.model
    a, b = mujoco.MjData(old), mujoco.MjData(new)
    rng = np.random.default_rng(3)
    free = {old.joint(j).name for j in range(old.njnt) if old.jnt_type[j] == 0}
    moving = [new.joint(j).name for j in range(new.njnt) if int(new.jnt_type[j]) != 0]
    for _ in range(5):
        for name in moving:
            angle = rng.uniform(-0.5, 0.5)
            a.qpos[old.joint(name).qposadr[0]] = angle
            sign = -1 if name in plan.flipped else 1
            b.qpos[new.joint(name).qposadr[0]] = sign * angle
        for model, data in ((old, a), (new, b)):
            mujoco.mj_forward(model, data)
        base = plan.roles.base
        turn = a.body(base).xmat.reshape(3, 3)
        seen = b.body(base).xmat.reshape(3, 3)
        for k in range(1, old.nbody):
            name = old.body(k).name
            n = new.body(name).id
            assert new.body_mass[n] == pytest.approx(old.body_mass[k], rel=1e-9)
            here = seen.T @ (b.xipos[n] - b.body(base).xpos)
            there = turn.T @ (a.xipos[k] - a.body(base).xpos)
            assert here == pytest.approx(there, abs=1e-7), name
            tensors = [
                r.T @ d.ximat[i].reshape(3, 3) @ np.diag(m.body_inertia[i])
                @ d.ximat[i].reshape(3, 3).T @ r
                for m, d, i, r in ((old, a, k, turn), (new, b, n, seen))
            ]  # fmt: skip
            assert tensors[1] == pytest.approx(tensors[0], abs=1e-7), name
    assert len(free) <= 1


@pytest.mark.parametrize("make", [files.four_wheeler, files.rocker_bogie, files.offset_rover])
def test_wheels_turn_about_their_middle_and_to_the_left(tmp_path, make):
    plan = plan_import(make(tmp_path))
    model, data = plan.model, plan.data
    for wheel in plan.wheels.values():
        joint, body = model.joint(wheel.joint), model.body(wheel.body)
        assert joint.axis == pytest.approx([0, 1, 0])
        assert joint.pos == pytest.approx([0, 0, 0])
        assert data.xaxis[joint.id] == pytest.approx([0, 1, 0], abs=1e-9)
        geoms = np.flatnonzero(model.geom_bodyid == body.id)
        middle = data.geom_xpos[geoms].mean(axis=0)
        assert middle == pytest.approx(data.xpos[body.id], abs=1e-7)
        assert data.xpos[body.id][2] == pytest.approx(wheel.radius, abs=2e-6)
        assert not model.geom_contype[geoms].any()
    assert plan.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE


def test_a_flipped_wheel_keeps_its_couplings(tmp_path):
    plan = plan_import(files.offset_rover(tmp_path))
    # 'fr' and 'rr' stand turned by half a turn: their axes pointed right
    assert set(plan.flipped) == {"fr_j", "rr_j"}
    tie = plan.flat.tree.find("equality/joint")
    assert [float(v) for v in tie.get("polycoef").split()] == [0, -1, 0, 0, 0]


def test_a_flipped_gear_keeps_its_meaning(tmp_path):
    path = files.four_wheeler(tmp_path)
    mimic = '<mimic joint="rear_left_drive" multiplier="0.5" offset="0.2"/></joint>'
    head, mark, tail = path.read_text().partition('<joint name="rear_right_drive"')
    path.write_text(head + mark + tail.replace("</joint>", mimic, 1))
    plan = plan_import(path)
    gear = plan.loops["rear_right_drive"]
    assert "rear_right_drive" in plan.flipped
    assert (gear.ratio, gear.offset) == pytest.approx((-0.5, -0.2))


def test_colliding_meshes_become_boxes_that_hold_them(tmp_path):
    path = files.offset_rover(tmp_path)
    plan, kept = plan_import(path), plan_import(path, collisions="mesh")
    box = plan.model.geom("car_geom_2_box")
    mesh = kept.model.geom("car_geom_2")
    assert mesh.contype[0] == 1
    corners = kept.model.mesh_vert @ kept.data.geom_xmat[mesh.id].reshape(3, 3).T
    corners = corners + kept.data.geom_xpos[mesh.id]
    inside = (corners - plan.data.geom_xpos[box.id]) @ plan.data.geom_xmat[box.id].reshape(3, 3)
    assert np.all(np.abs(inside) <= box.size + 1e-6)
    # a box is its own box, at twice its size
    assert sorted(2 * box.size) == pytest.approx([0.2, 0.4, 0.6], abs=1e-5)
    none = plan_import(path, collisions="none")
    assert not none.model.geom_contype.any()
