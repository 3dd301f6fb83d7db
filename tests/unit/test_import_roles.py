"""Importing MJCF and URDF: what the parts of a model are taken for."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import robot_files as files

from marsyard import library
from marsyard.control import Limbs
from marsyard.robot import load_robot
from marsyard.robot.flat_model import flatten, set_pose
from marsyard.robot.guess import guess
from marsyard.robot.importing import plan_import
from marsyard.robot.model_file import read_model
from marsyard.robot.poses import Pose
from marsyard.robot.robot_folder import write_robot
from marsyard.robot.roles import Wish

ROLES = ("drives", "steering", "passive", "legs", "frame")
#: rigs have roles of their own; the loops of the leg stand in its robot.yaml, not in the model
UNLIKE = ("plate_rig", "plate_rig_rect", "single_wheel_rig", "leg_2001")


#: two bodies in one model: an import asks which is meant
PAIRS = ("smart_olev",)
#: wheels of a middle pod, which an import calls central ones
RENAMED = {"roburoc": {"ML": "CL", "MR": "CR"}}


@pytest.mark.parametrize("name", [n for n in library.names("rovers") if n not in PAIRS])
def test_the_library_is_guessed_as_it_is_declared(name):
    robot = load_robot(name)
    file = read_model(robot.model)
    roles = guess(flatten(file).compile(), file.motors)
    other = RENAMED.get(name, {})
    wheels = {other.get(k, k): w for k, w in robot.wheels.items()}
    assert {k: (w.body, w.joint) for k, w in roles.wheels.items()} == {
        k: (w.body, w.joint) for k, w in wheels.items()
    }
    assert roles.base == robot.base
    assert {k: (t.body, t.rollers[0].joint, len(t.rollers)) for k, t in roles.tracks.items()} == {
        k: (t.body, t.joint, len(t.rollers)) for k, t in robot.tracks.items()
    }
    assert roles.feet == {k: f.body for k, f in robot.feet.items()}
    if name not in UNLIKE:
        for role in ROLES:
            assert set(roles.of(role)) == set(robot.roles.get(role, ())), role
    for key, wheel in roles.wheels.items():
        declared = wheels[key]
        # drawn grousers and rims stand out of the declared tread
        more = declared.lug_height + abs(declared.taper) * declared.width / 2 + 0.01
        assert 0 <= wheel.round.radius - declared.radius <= more
        assert wheel.round.width == pytest.approx(declared.width, rel=0.25)


def test_a_rover_of_ros(tmp_path):
    plan = plan_import(files.four_wheeler(tmp_path))
    assert list(plan.wheels) == ["FL", "FR", "RL", "RR"]
    for wheel in plan.wheels.values():
        assert wheel.radius == pytest.approx(files.RADIUS, rel=1e-3)
        assert wheel.width == pytest.approx(files.WIDTH, rel=1e-5)
    assert plan.roles.of("steering") == ["front_left_steer", "front_right_steer"]
    assert plan.roles.of("locked") == ["mast_pan"]
    assert plan.roles.base == "base_link"
    # links that carry nothing are sites
    sites = {plan.model.site(s).name for s in range(plan.model.nsite)}
    assert sites == {"base_footprint", "camera"}
    # base 10, imu 0.1, mast 0.5, forks 2 x 0.4, wheels 4 x 0.5
    assert plan.mass == pytest.approx(13.4)
    # the right fork's axis pointed down, and its stops change sides with it
    right = plan.model.joint("front_right_steer")
    assert right.axis == pytest.approx([0, 0, 1])
    assert right.range == pytest.approx([-0.5, 0.8])
    assert "front_right_steer" in plan.flipped


def test_a_rocker_bogie_with_a_mimic_differential(tmp_path):
    plan = plan_import(files.rocker_bogie(tmp_path))
    assert list(plan.wheels) == ["FL", "FR", "CL", "CR", "RL", "RR"]
    passive = {"left_rocker", "right_rocker", "left_bogie", "right_bogie"}
    assert set(plan.roles.of("passive")) == passive
    gear = plan.loops["right_rocker"]
    assert (gear.joint, gear.other, gear.ratio) == ("right_rocker", "left_rocker", -1)


def test_a_dog(tmp_path):
    plan = plan_import(files.dog(tmp_path))
    assert plan.roles.feet == {k: f"{k}_foot" for k in ("FL", "FR", "RL", "RR")}
    assert len(plan.roles.of("legs")) == 12
    assert not plan.wheels


def test_several_tracks_on_a_side_are_all_kept(tmp_path):
    parts = [files.box_link("hull", 20, 0.6, 0.3, 0.15)]
    for side, y in (("left", 0.25), ("right", -0.25)):
        for end, x in (("front", 0.4), ("rear", -0.4)):
            frame = f"{side}_{end}"
            parts += [
                files.box_link(frame, 2, 0.3, 0.05, 0.05),
                files.joint(f"{frame}_arm", "revolute", "hull", frame, f"{x} {y} 0", "0 1 0",
                            '<limit lower="-1" upper="1" effort="100" velocity="1"/>'),
            ]  # fmt: skip
            for name, at in (("sprocket", -0.15), ("road", 0.0), ("idler", 0.15)):
                roll = files.shape('<cylinder radius="0.06" length="0.1"/>', rpy="1.5708 0 0")
                link = f"{frame}_{name}"
                parts += [
                    f'<link name="{link}">{files.inertial(0.5, (0.001,) * 3)}{roll}</link>',
                    files.joint(f"{link}_joint", "continuous", frame, link, f"{at} 0 0", "0 1 0"),
                ]
    path = tmp_path / "flippers.urdf"
    path.write_text(files.robot("flippers", parts))
    plan = plan_import(path)
    assert {t.body for t in plan.tracks.values()} == {
        "left_front", "left_rear", "right_front", "right_rear"
    }  # fmt: skip
    assert set(plan.tracks) == {"L", "L2", "R", "R2"}


_SHANK = '<geom name="shank_{k}" type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.015"/>'
_BALL = '<geom name="ball_{k}" type="sphere" pos="0.1 0 -0.2" size="0.03"/>'


def _legs(folder: Path, shapes: str) -> Path:
    """Four legs whose feet are no bodies of their own but ends of the shanks."""
    text = '<mujoco><worldbody><body name="trunk" pos="0 0 0.5"><freejoint/>'
    text += '<geom type="box" size="0.3 0.1 0.05"/>'
    for k, (x, y) in enumerate([(0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)]):
        text += f"""<body name="thigh_{k}" pos="{x} {y} 0"><joint name="hip_{k}" axis="0 1 0"
          range="-60 60"/><geom type="capsule" fromto="0 0 0 -0.1 0 -0.2" size="0.02"/>
          <body name="shank_{k}" pos="-0.1 0 -0.2"><joint name="knee_{k}" axis="0 1 0"
          range="-60 60"/>{shapes.format(k=k)}</body></body>"""
    path = folder / "legs.xml"
    path.write_text(text + "</body></worldbody></mujoco>")
    return path


@pytest.mark.parametrize(("shapes", "radius"), [(_SHANK + _BALL, 0.03), (_SHANK, 0.015)])
def test_feet_that_are_ends_of_shanks_get_bodies_there(tmp_path, shapes, radius):
    path = _legs(tmp_path, shapes)
    plan = plan_import(path)
    write_robot(plan, tmp_path / "legs")
    limbs = Limbs(load_robot(str(tmp_path / "legs" / "robot.yaml")))
    # hips are at ±0.3, ±0.2; thigh and shank lead straight down from there, 0.4 m in all
    want = [[0.3, 0.2, -0.4], [0.3, -0.2, -0.4], [-0.3, 0.2, -0.4], [-0.3, -0.2, -0.4]]
    assert limbs.home == pytest.approx(np.array(want), abs=1e-9)
    assert plan.data.xpos[plan.model.body("shank_0_sole").id] == pytest.approx([0.3, 0.2, radius])
    old = mujoco.MjModel.from_xml_path(str(path))
    for name in ("body_subtreemass", "body_inertia"):
        a, b = getattr(old, name), getattr(plan.model, name)
        for k in range(4):
            body = f"shank_{k}"
            assert b[plan.model.body(body).id] == pytest.approx(a[old.body(body).id], rel=1e-6)


def test_feet_that_end_in_no_ball_are_warned_of(tmp_path):
    plan = plan_import(_legs(tmp_path, '<geom type="box" pos="0.1 0 -0.1" size="0.02 0.02 0.1"/>'))
    assert sum("does not end in a sphere" in text for text in plan.warnings) == 4


def test_tracks_by_name_and_by_option(tmp_path):
    path = files.tracked(tmp_path)
    plan = plan_import(path)
    assert set(plan.tracks) == {"L", "R"}
    left = plan.tracks["L"]
    assert left.joint == "left_sprocket_joint"
    assert (left.sprocket.x, left.sprocket.z, left.sprocket.radius) == pytest.approx(
        (-0.35, 0.02, 0.08)
    )
    assert (left.idler.x, left.y, left.width) == pytest.approx((0.35, 0.25, 0.1))
    assert len(left.road_wheels) == 2
    # without the names the rollers are wheels, unless the user says otherwise
    text = path.read_text()
    for word in ("sprocket", "road", "idler"):
        text = text.replace(word, word[0] + "x")
    path.write_text(text.replace('name="tank"', 'name="t"'))
    assert len(plan_import(path).wheels) == 8
    said = plan_import(path, Wish(tracks=["L=left_*", "R=right_*"]))
    assert [len(t.rollers) for t in said.tracks.values()] == [4, 4]


def test_motors_of_the_file_say_what_is_driven(tmp_path):
    path = files.rocker_bogie(tmp_path)
    motors = "".join(
        f'<transmission name="t{s}"><joint name="front_{s}_wheel_joint"/><actuator name="m{s}"/>'
        "</transmission>"
        for s in ("left", "right")
    )
    path.write_text(path.read_text().replace("</robot>", motors + "</robot>"))
    plan = plan_import(path)
    assert plan.roles.of("drives") == ["front_left_wheel_joint", "front_right_wheel_joint"]
    assert "rear_left_wheel_joint" in plan.roles.of("passive")
    assert len(plan.wheels) == 6


def test_every_guess_can_be_replaced(tmp_path):
    path = files.four_wheeler(tmp_path)
    wish = Wish(wheels=["A=rear_left_drive", "B=rear_right_drive"], drives=["rear_left_*"],
                steering=["mast_*"], passive=["front_left_drive"], keep=["front_right_*"],
                radius=0.2, width=0.1, shape="sphere")  # fmt: skip
    plan = plan_import(path, wish)
    assert list(plan.wheels) == ["A", "B"]
    assert {(w.radius, w.width, w.shape) for w in plan.wheels.values()} == {(0.2, 0.1, "sphere")}
    assert plan.roles.joints["mast_pan"] == "steering"
    assert plan.roles.joints["front_left_drive"] == "passive"
    assert plan.roles.joints["front_right_drive"] == "other"
    assert not plan_import(path, Wish(wheels=[])).wheels


@pytest.mark.parametrize(
    ("yaw", "front"), [(0.0, "+x"), (90.0, "-y"), (180.0, "-x"), (270.0, "+y")]
)
@pytest.mark.parametrize("heading", [0.0, 25.0])
def test_the_front_is_found_and_turned_to_x(tmp_path, yaw, front, heading):
    # the same rover with its base frame turned by yaw, standing elsewhere at another heading
    path = files.rocker_bogie(tmp_path)
    tree = flatten(read_model(path))
    tree.reframe("chassis", Pose.of_rpy((0, 0, 0), (0, 0, np.radians(yaw))))
    set_pose(tree.body("chassis"), Pose.of_rpy((3, -4, 1), (0, 0, np.radians(heading))))
    turned = tmp_path / "turned.xml"
    turned.write_text(tree.text())
    plan = plan_import(turned)
    assert plan.roles.forward == front
    straight = plan_import(path)
    for key, wheel in plan.wheels.items():
        assert wheel.body == straight.wheels[key].body
        here = plan.data.body(wheel.body).xpos
        assert here == pytest.approx(straight.data.body(wheel.body).xpos, abs=1e-9)


def test_motors_above_wheels_are_legs(tmp_path):
    path = files.rocker_bogie(tmp_path)
    text = path.read_text().replace("rocker", "hip").replace("bogie", "knee")
    path.write_text(text)
    plan = plan_import(path)
    assert set(plan.roles.of("legs")) == {"left_hip", "right_hip", "left_knee", "right_knee"}
    assert plan.roles.of("passive") == []


def test_an_arm_on_a_rover_is_locked_with_its_gripper(tmp_path):
    path = files.four_wheeler(tmp_path)
    arm = [
        files.box_link("upper", 1, 0.05, 0.05, 0.3),
        files.joint("shoulder", "continuous", "mast", "upper", "0 0 0.3", "0 1 0"),
    ]
    for k, y in ((1, 0.02), (2, -0.02)):
        follow = '<mimic joint="finger_1_joint" multiplier="-1"/>' if k == 2 else ""
        stops = '<limit lower="0" upper="0.04" effort="1" velocity="1"/>'
        arm += [
            files.box_link(f"finger_{k}", 0.1, 0.01, 0.01, 0.05),
            files.joint(f"finger_{k}_joint", "prismatic", "upper", f"finger_{k}", f"0 {y} 0.2",
                        "0 1 0", stops + follow),
        ]  # fmt: skip
    path.write_text(path.read_text().replace("</robot>", "".join(arm) + "</robot>"))
    plan = plan_import(path)
    fingers = {"finger_1_joint", "finger_2_joint"}
    assert set(plan.roles.of("locked")) == {"mast_pan", "shoulder"} | fingers
    assert plan.loops == {}
    kept = plan_import(path, Wish(keep=["finger_1_joint"]))
    assert set(kept.roles.of("locked")) == {"mast_pan", "shoulder"}
    assert kept.loops["finger_2_joint"].ratio == -1
