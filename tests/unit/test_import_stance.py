"""Importing with a stance: joints count from other angles, the mechanism stays what it was."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import robot_files as files

from marsyard import InputError
from marsyard.control import Limbs
from marsyard.robot import load_robot
from marsyard.robot.flat_model import flatten
from marsyard.robot.importing import plan_import
from marsyard.robot.model_file import read_model
from marsyard.robot.robot_folder import write_robot
from marsyard.robot.roles import Wish

STANCE = ["*_thigh_joint=40 deg", "*_calf_joint=-1.2"]

#: hinges and a slide beside their bodies' origins, one with a reference of its own, one coupled
ODD = """<mujoco><compiler angle="radian"/><worldbody><body name="base">
  <freejoint/><geom type="box" size=".2 .1 .05"/>
  <body name="arm" pos=".1 .2 .3" euler=".1 .2 .3">
    <joint name="lift" pos=".01 .02 .03" axis="1 2 .5" ref=".3" range="-1 2" springref=".1"
      stiffness="3"/><geom size=".05" pos=".1 0 0"/>
    <body name="rod" pos="0 .1 0"><joint name="push" type="slide" axis="0 1 1" range="-.2 .3"/>
      <geom size=".03" pos="0 .1 0"/></body></body>
  <body name="other" pos="-.1 0 .1"><joint name="follow" axis="0 1 0"/><geom size=".04"/></body>
</body></worldbody><equality>
  <joint joint1="follow" joint2="lift" polycoef=".1 .5 .2 -.3 .05"/></equality></mujoco>"""


def _seen_from_base(model, angles):
    """Place and attitude of all bodies in the frame of the first, at joint angles by name."""
    data = mujoco.MjData(model)
    for name, angle in angles.items():
        data.qpos[model.joint(name).qposadr[0]] = angle
    mujoco.mj_kinematics(model, data)
    turn = data.xmat[1].reshape(3, 3)
    places = (data.xpos[1:] - data.xpos[1]) @ turn
    return places, np.array([turn.T @ m.reshape(3, 3) for m in data.xmat[1:]])


def test_bodies_are_where_they_were(tmp_path):
    path = tmp_path / "odd.xml"
    path.write_text(ODD)
    flat = flatten(read_model(path))
    before = flat.compile()
    zero = {"lift": 0.7, "push": 0.12, "follow": -0.4}
    for name, angle in zero.items():
        flat.bend(name, angle)
    after = flat.compile()
    rng = np.random.default_rng(5)
    for _ in range(20):
        angles = dict(zip(zero, rng.uniform(-1, 1, 3), strict=True))
        moved = {name: angle - zero[name] for name, angle in angles.items()}
        for one, two in zip(
            _seen_from_base(before, angles), _seen_from_base(after, moved), strict=True
        ):
            assert one == pytest.approx(two, abs=1e-12)
    for name, angle in zero.items():
        j, k = before.joint(name).id, after.joint(name).id
        if before.jnt_limited[j]:
            assert after.jnt_range[k] == pytest.approx(before.jnt_range[j] - angle)
        spring = [m.qpos_spring[m.joint(name).qposadr[0]] for m in (before, after)]
        assert spring[1] == pytest.approx(spring[0] - angle)
    assert after.qpos0[7:] == pytest.approx(0)


def test_couplings_hold_where_they_held(tmp_path):
    """MuJoCo's remainder of the equation, in the same pose counted in both ways."""
    path = tmp_path / "odd.xml"
    path.write_text(ODD)
    flat = flatten(read_model(path))
    before = flat.compile()
    flat.bend("lift", 0.7)
    flat.bend("follow", -0.4)
    after = flat.compile()
    for lift, follow in ((0.3, 0.2), (-0.5, 0.9), (1.4, -0.1)):
        rest = []
        for model, zero in ((before, (0, 0)), (after, (0.7, -0.4))):
            data = mujoco.MjData(model)
            data.qpos[model.joint("lift").qposadr[0]] = lift - zero[0]
            data.qpos[model.joint("follow").qposadr[0]] = follow - zero[1]
            mujoco.mj_fwdPosition(model, data)
            rest.append(data.efc_pos[0])
        assert rest[0] == pytest.approx(rest[1], abs=1e-12)


def test_a_dog_stands_on_bent_legs(tmp_path):
    """Feet come to lie where two links of 0.18 and 0.1 m put them."""
    plan = plan_import(files.dog(tmp_path), Wish(stance=STANCE))
    robot = load_robot(str(write_robot(plan, tmp_path / "out")))
    limbs = Limbs(robot)
    thigh, knee = np.radians(40), np.radians(40) - 1.2
    down = 0.12 + 0.18 * np.cos(thigh) + 0.1 * np.cos(knee)
    back = 0.18 * np.sin(thigh) + 0.1 * np.sin(knee)
    for key, x in (("FL", 0.2), ("FR", 0.2), ("RL", -0.2), ("RR", -0.2)):
        place = limbs.home[limbs.organs.index(key)]
        assert place[[0, 2]] == pytest.approx([x - back, -down], abs=1e-9)
    low, high = plan.model.joint("FL_calf_joint").range
    assert (low, high) == pytest.approx((-1.5 + 1.2, 1.5 + 1.2))
    assert any("are measured from the stance" in note for note in plan.notes)


def test_mimic_follows(tmp_path):
    path = files.rocker_bogie(tmp_path)
    plan = plan_import(path, Wish(stance=["left_rocker=0.2", "right_rocker=-0.1"]))
    # right = -left: counted from there right' = -(left' + 0.2) + 0.1
    gear = plan.loops["right_rocker"]
    assert (gear.ratio, gear.offset) == (-1, pytest.approx(-0.1))


def test_the_keyframe_may_be_the_stance(tmp_path):
    path = tmp_path / "odd.xml"
    text = ODD[: ODD.index("<equality>")] + "</mujoco>"
    path.write_text(text.replace(
        "</mujoco>", '<keyframe><key qpos="0 0 0 1 0 0 0 .5 .1 -.2"/></keyframe></mujoco>'
    ))  # fmt: skip
    plan = plan_import(path, Wish(stance=["keyframe"], keep=["lift", "push", "follow"]))
    assert plan.model.joint("lift").range == pytest.approx([-1.5, 1.5])
    assert plan.pose == {}


@pytest.mark.parametrize(
    ("stance", "said"),
    [
        (["*_knee=1"], "--stance: no hinge or slide is called '\\*_knee'; "),
        (["FL_calf_joint"], "--stance: 'FL_calf_joint' must be PATTERN=ANGLE, or keyframe alone"),
        (["FL_calf_joint=2 kg"], "--stance: FL_calf_joint: 'kg' in '2 kg' is a unit of mass"),
        (["keyframe"], "--stance: the file has no keyframe; give PATTERN=ANGLE"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, stance, said):
    with pytest.raises(InputError, match=said) as error:
        plan_import(files.dog(tmp_path), Wish(stance=stance))
    assert "\n" not in str(error.value)


def test_loops_keep_their_reference_pose(tmp_path):
    path = tmp_path / "odd.xml"
    text = ODD.replace(
        "</equality>", '<connect body1="rod" body2="other" anchor="0 0 0"/></equality>'
    )
    path.write_text(text)
    with pytest.raises(InputError, match="--stance: a model with connect, weld or tendon has"):
        plan_import(path, Wish(stance=["push=0.1"]))
