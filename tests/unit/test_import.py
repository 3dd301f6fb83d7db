"""Importing MJCF and URDF: roles, conventions, unchanged physics, and mistakes in one sentence."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import robot_files as files
import trimesh

from marsyard import InputError, library
from marsyard.cli.import_robot import edit
from marsyard.control import Limbs
from marsyard.robot import load_robot
from marsyard.robot.flat_model import flatten, set_pose
from marsyard.robot.guess import guess
from marsyard.robot.importing import plan_import
from marsyard.robot.model_file import read_model
from marsyard.robot.poses import Pose
from marsyard.robot.robot_folder import robot_name, robot_yaml, write_robot
from marsyard.robot.roles import Wish

ROLES = ("drives", "steering", "passive", "legs", "frame")
#: rigs have roles of their own; the loops of the leg stand in its robot.yaml, not in the model
UNLIKE = ("plate_rig", "plate_rig_rect", "single_wheel_rig", "leg_2001")

# --- roles


@pytest.mark.parametrize("name", library.names("rovers"))
def test_the_library_is_guessed_as_it_is_declared(name):
    robot = load_robot(name)
    file = read_model(robot.model)
    roles = guess(flatten(file).compile(), file.motors)
    assert {k: (w.body, w.joint) for k, w in roles.wheels.items()} == {
        k: (w.body, w.joint) for k, w in robot.wheels.items()
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
        declared = robot.wheels[key]
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
    assert sum("ends in no ball" in text for text in plan.warnings) == 4


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
        f'<transmission name="t{s}"><joint name="front_{s}_wheel_joint"/></transmission>'
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


# --- conventions


def _offset_rover(folder: Path) -> Path:
    """An MJCF with frames, classes, a mesh far from its origin, and wheels beside their frames."""
    mesh = trimesh.creation.box((0.2, 0.1, 0.3))
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.5, (1, 2, 3), (0.1, 0, 0)))
    mesh.apply_translation((0.3, 0.1, 0.2))
    (folder / "stuff").mkdir()
    (folder / "stuff" / "block.stl").write_bytes(mesh.export(file_type="stl"))
    wheels = "".join(
        f'<body name="{n}" pos="{x} {y} -0.1" euler="0 0 {turn}" childclass="wheel">'
        f'<joint name="{n}_j" pos="0.02 {off} 0.01"/><geom pos="0.02 {off + 0.03} 0.01"/></body>'
        for n, x, y, turn, off in (
            ("fl", 0.3, 0.3, 0, 0.0), ("fr", 0.3, -0.3, 180, 0.05),
            ("rl", -0.3, 0.3, 0, -0.02), ("rr", -0.3, -0.3, 180, 0.0),
        )
    )  # fmt: skip
    path = folder / "odd.xml"
    path.write_text(f"""<mujoco model="odd"><compiler meshdir="stuff"/>
      <asset><mesh name="block" file="block.stl" scale="2 2 2"/></asset>
      <default><default class="wheel"><joint axis="0 1 0" damping="0.3"/>
        <geom type="cylinder" size="0.11 0.04" euler="90 0 0"/></default></default>
      <worldbody><geom type="plane" size="1 1 1"/><light pos="0 0 3"/>
        <body name="car" pos="1 2 0.5" euler="0 0 30"><geom type="box" size="0.3 0.2 0.05"/>
          <frame pos="0 0 0.1" euler="20 0 10"><geom type="mesh" mesh="block" mass="3"/></frame>
          <frame pos="0 0 0.02">{wheels}</frame></body></worldbody>
      <equality><joint joint1="fl_j" joint2="fr_j" polycoef="0 1 0 0 0"/></equality>
      <actuator><motor joint="fl_j"/></actuator></mujoco>""")
    return path


ROBOTS = (files.four_wheeler, files.rocker_bogie, files.dog, files.tracked, _offset_rover)


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


@pytest.mark.parametrize("make", [files.four_wheeler, files.rocker_bogie, _offset_rover])
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
    plan = plan_import(_offset_rover(tmp_path))
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
    path = _offset_rover(tmp_path)
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


# --- files


def test_the_folder_is_a_robot(tmp_path):
    plan = plan_import(files.four_wheeler(tmp_path))
    file = write_robot(plan, tmp_path / "out")
    names = sorted(
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")
    )
    assert names == ["meshes", "meshes/wheel.stl", "robot.xml", "robot.yaml"]
    robot = load_robot(str(file))
    assert robot.wheels == plan.wheels
    assert robot.roles["drives"] == tuple(plan.roles.of("drives"))
    assert robot.numbers["mass"]["value"] == pytest.approx(13.4)
    assert "imported from my_rover.urdf" in robot.numbers["mass"]["source"]
    model = robot.spec().compile()
    assert model.body_subtreemass[0] == pytest.approx(13.4)
    # what was written can be imported once more, and nothing is left to change
    again = plan_import(file.parent / "robot.xml")
    assert again.flipped == []
    assert {k: w.body for k, w in again.wheels.items()} == {
        k: w.body for k, w in plan.wheels.items()
    }


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    plan = plan_import(files.rocker_bogie(tmp_path))
    target = tmp_path / "made" / "out"
    write_robot(plan, target)
    before = (target / "robot.yaml").read_text()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("marsyard.robot.robot_folder.robot_yaml", fail)
    with pytest.raises(InputError, match="cannot be written"):
        write_robot(plan, target, force=True)
    assert (target / "robot.yaml").read_text() == before
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def test_an_old_robot_is_replaced_only_by_force(tmp_path):
    plan = plan_import(files.rocker_bogie(tmp_path))
    write_robot(plan, tmp_path / "out")
    with pytest.raises(InputError, match="exists; give another folder, or --force"):
        write_robot(plan, tmp_path / "out")
    write_robot(plan, tmp_path / "out", force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(InputError, match="holds other files than a robot"):
        write_robot(plan, tmp_path / "mine", force=True)


def test_names_come_from_files():
    assert robot_name(Path("a/my rover.v2.urdf")) == "my_rover"
    assert robot_name(Path("/x/spot/urdf/robot.urdf")) == "spot"


def test_the_keyframe_is_offered(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text("""<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1"/>
      <body name="u" pos="0 0 -0.1"><joint name="hip" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"/>
        <body name="l" pos="0 0 -0.2"><joint name="knee" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"/></body></body></body>
      </worldbody>
      <keyframe><key name="home" qpos="0 0 0 1 0 0 0 0.4 -0.8"/></keyframe></mujoco>""")
    plan = plan_import(path)
    assert plan.pose == {"hip": 0.4, "knee": -0.8}
    assert "# robot: {joints: {hip: 0.4, knee: -0.8}}" in robot_yaml(plan)


def test_a_bare_urdf_is_read_by_the_same_reader(tmp_path):
    path = files.rocker_bogie(tmp_path)
    model = load_robot(str(path)).spec().compile()
    assert model.neq == 1  # the mimic
    assert model.body_subtreemass[0] == pytest.approx(13.6)
    path.write_text(path.read_text().replace('link="chassis"', 'link="chasis"', 1))
    with pytest.raises(InputError, match="line .*'chasis' is no link of the file; did you mean"):
        load_robot(str(path)).spec()


def test_meshes_are_found_and_turned(tmp_path):
    path = files.four_wheeler(tmp_path)
    mesh = path.parent.parent / "meshes" / "wheel.stl"
    solid = trimesh.creation.cylinder(files.RADIUS, files.WIDTH)
    mesh.write_text(solid.export(file_type="stl_ascii"))
    assert plan_import(path).wheels["FL"].width == pytest.approx(files.WIDTH, rel=1e-5)
    away = tmp_path / "away"
    away.mkdir()
    mesh.rename(away / "wheel.stl")
    with pytest.raises(InputError, match=r"my_rover.urdf, line \d+, <mesh>: in the collision"):
        plan_import(path)
    assert len(plan_import(path, meshes=(away,)).wheels) == 4


def test_roles_can_be_edited_by_answers(tmp_path):
    plan = plan_import(files.four_wheeler(tmp_path))
    answers = iter(["rear_*_drive", "", "none", "", "", "", "mast_*", "-x"])
    wish = Wish()
    edit(wish, plan.roles, lambda question: next(answers))
    assert wish == Wish(wheels=["rear_*_drive"], steering=[], keep=["mast_*"], forward="-x")


def test_contacts_with_the_floor_of_the_file_go_with_it(tmp_path):
    path = _offset_rover(tmp_path)
    text = path.read_text().replace('<geom type="plane"', '<geom name="floor" type="plane"')
    text = text.replace('<geom type="box"', '<geom name="hull" type="box"')
    pair = '<contact><pair geom1="floor" geom2="hull"/></contact></mujoco>'
    path.write_text(text.replace("</mujoco>", pair))
    plan = plan_import(path)
    assert plan.model.npair == 0
    assert any("1 shape of the world" in note for note in plan.notes)


def test_an_arm_fixed_to_the_world_stays_fixed(tmp_path):
    parts = [
        '<link name="world"/>', files.box_link("foot", 5, 0.2, 0.2, 0.1),
        files.joint("fix", "fixed", "world", "foot", "0 0 1"),
        files.box_link("arm", 1, 0.05, 0.05, 0.4),
        files.joint("elbow", "continuous", "foot", "arm", "0 0 0.3", "0 1 0"),
    ]  # fmt: skip
    path = tmp_path / "arm.urdf"
    path.write_text(files.robot("arm", parts))
    plan = plan_import(path)
    assert plan.roles.fixed
    assert plan.model.nv == 1
    assert plan.data.body("foot").xpos == pytest.approx([0, 0, 1])


def test_a_rounded_plate_is_still_a_plate(tmp_path):
    # a thin plate has izz = ixx + iyy; rounding in files goes a little beyond
    path = tmp_path / "plate.urdf"
    path.write_text(GOOD.replace('ixx="1" iyy="1" izz="1"', 'ixx="1" iyy="1" izz="2.01"'))
    model = plan_import(path).model
    assert sorted(model.body("w").inertia) == pytest.approx([1, 1, 2], rel=1e-6)


def test_dae_is_read_where_it_can_be(tmp_path):
    path = files.four_wheeler(tmp_path)
    meshes = path.parent.parent / "meshes"
    text = path.read_text().replace("wheel.stl", "wheel.dae")
    path.write_text(text)
    try:
        import collada  # noqa: F401
    except ImportError:
        (meshes / "wheel.dae").write_text("<COLLADA/>")
        with pytest.raises(InputError, match="needs the package pycollada"):
            plan_import(path)
        return
    solid = trimesh.creation.cylinder(files.RADIUS, files.WIDTH)
    (meshes / "wheel.dae").write_bytes(solid.export(file_type="dae"))
    assert plan_import(path).wheels["FL"].width == pytest.approx(files.WIDTH, rel=1e-5)


# --- mistakes

GOOD = """<robot name="r">
<link name="base"><inertial><mass value="5"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial></link>
<link name="w"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><origin rpy="1.5708 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="w"/><axis xyz="0 1 0"/></joint>
</robot>
"""
FIXED = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'

WRONG = {
    "text": (GOOD, "hello", "line 1: is not XML"),
    "cut": ("</robot>", "", "line 7: is not XML inside <robot>"),
    "root": (GOOD, "<sdf/>", r"line 1, <sdf>: is SDF; a robot begins with <mujoco>"),
    "no link": (GOOD, '<robot name="r"/>', 'line 1, <robot name="r">: holds no <link>'),
    "parent": ('parent link="base"', 'parent link="bse"', "'bse' is no link of the file; did you"),
    "child": ('<child link="w"/>', "", 'line 5, <joint name="j">: has no <child'),
    "type": ("continuous", "continous", "type 'continous' is unknown; did you mean 'continuous'"),
    "planar": ("continuous", "planar", "planar joints are not read"),
    "floating": ("continuous", "floating", "only the root of a robot can float"),
    "two roots": ("</robot>", '<link name="z"/></robot>', 'line 6, <link name="z">: no joint has'),
    "circle": ("</robot>", FIXED.format("k", "w", "base") + "</robot>", "in a circle"),
    "two parents": (
        "</robot>",
        '<link name="z"/>' + FIXED.format("k", "w", "z") + FIXED.format("l", "base", "z")
        + "</robot>",
        "close a loop; leave one joint out",
    ),
    "itself": ('child link="w"', 'child link="base"', "joins link 'base' to itself"),
    "mesh": (
        '<sphere radius="0.1"/>', '<mesh filename="package://p/m/w.stl"/>',
        r"line 4, <mesh>: in the collision of link 'w': no such mesh 'package://p/m/w.stl'; looked",
    ),
    "mesh format": ('<sphere radius="0.1"/>', '<mesh filename="w.step"/>', "no known mesh format"),
    "mesh broken": ('<sphere radius="0.1"/>', '<mesh filename="w.ply"/>', "is not a mesh that can"),
    "mesh flat": ('<sphere radius="0.1"/>', '<mesh filename="flat.stl"/>', "line 4, <mesh>: "),
    "no inertial": (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', "",
        'line 3, <link name="w">: moves but has no <inertial>',
    ),
    "zero mass": ('mass value="1"', 'mass value="0"', "moves but has mass 0"),
    "negative mass": ('mass value="1"', 'mass value="-1"', "mass -1 kg of link 'w' must be above"),
    "nan": ('mass value="1"', 'mass value="nan"', 'line 3, <mass>: value="nan": must be finite'),
    "unit": ('mass value="1"', 'mass value="1kg"', 'value="1kg": must be a number'),
    "zero inertia": ('ixx="1" iyy="1" izz="1"', "", "moves but its inertia is zero"),
    "triangle": ('izz="1"', 'izz="3"', "is that of no body: its largest moment exceeds the sum"),
    "negative inertia": ('ixx="1"', 'ixx="-1"', "has a moment below 0"),
    "axis": ('xyz="0 1 0"', 'xyz="0 0 0"', "line 5, <axis>: the axis of joint 'j' is zero"),
    "short axis": ('xyz="0 1 0"', 'xyz="0 1"', "must be 3 numbers, not 2"),
    "link twice": ("</robot>", '<link name="w"/></robot>', "taken by the link in line 3"),
    "no name": (' name="j"', "", "line 5, <joint>: a joint needs a name"),
    "limits": (
        'type="continuous">', 'type="revolute"><limit lower="1" upper="-1"/>',
        "lower 1 of joint 'j' is above upper -1",
    ),
    "mimic": ("<axis", '<mimic joint="q"/><axis', "joint 'j' follows 'q', which is no joint"),
    "shape": ("<sphere", "<spere", "is no known shape; did you mean 'sphere'"),
    "size": ('radius="0.1"', 'radius="0"', "radius of link 'w' must be above 0"),
    "xacro": ('value="1"', 'value="${m}"', "is xacro, which has to be expanded first"),
    "friction": ("<axis", '<dynamics friction="-1"/><axis', "friction -1 of joint 'j' is below 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_of_urdf_are_one_sentence(tmp_path, case):
    old, new, said = WRONG[case]
    assert old in GOOD
    (tmp_path / "w.step").write_text("ISO-10303")
    (tmp_path / "w.ply").write_text("not a mesh")
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    (tmp_path / "flat.stl").write_bytes(flat.export(file_type="stl"))
    path = tmp_path / "bad.urdf"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=said) as error:
        plan_import(path)
    assert str(error.value).startswith("bad.urdf, line ")
    assert "\n" not in str(error.value)


def test_the_good_one_is_good(tmp_path):
    path = tmp_path / "good.urdf"
    path.write_text(GOOD)
    wheel = plan_import(path).wheels["W"]
    assert (wheel.radius, wheel.shape) == (0.1, "sphere")


BODY = '<mujoco>\n<worldbody>\n<body name="a">\n{}\n</body>\n</worldbody>\n</mujoco>'


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ('<joint/><geom size="0.1" mass="0"/>', 'line 3, <body name="a">: moves but has no mass'),
        ('<joint/><geom size="nan"/>', 'line 4, <geom>: size="nan": must be finite'),
        (
            '<joint range="40 -40"/><geom size="0.1"/>',
            'line 4, <joint>: range="40 -40": its lower end is above its upper one',
        ),
        ('<joint/><geom type="sphre" size="1"/>', "line 4, <geom>: invalid keyword: 'sphre'"),
        ('<joint axs="0 1 0"/><geom size="1"/>', "unknown attribute 'axs'; did you mean 'axis'"),
        ('<jont/><geom size="1"/>', "line 4, <jont>: is no element of MJCF"),
        ('<joint name="j"/><joint name="j"/><geom size="1"/>', "another joint is called 'j'"),
        ('<inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/><joint/>', "that of no body"),
        ('<joint/><geom type="mesh" mesh="m"/>', "line 4, <geom>: mesh 'm' not found"),
        ('<joint axis="0 0 0"/><geom size="1"/>', "line 4, <joint>: axis too small"),
    ],
)
def test_mistakes_of_mjcf_are_one_sentence(tmp_path, inside, said):
    path = tmp_path / "bad.xml"
    path.write_text(BODY.format(inside))
    with pytest.raises(InputError, match=said) as error:
        plan_import(path)
    assert str(error.value).startswith("bad.xml, line ")
    assert "\n" not in str(error.value)
    # reading leaves no log behind
    assert [p.name for p in tmp_path.iterdir()] == ["bad.xml"]


def test_a_mesh_that_mjcf_misses_is_named(tmp_path):
    path = tmp_path / "bad.xml"
    asset = '<mujoco>\n<asset>\n<mesh name="m" file="no.stl"/>\n</asset>'
    path.write_text(BODY.format('<joint/><geom type="mesh" mesh="m"/>').replace("<mujoco>", asset))
    with pytest.raises(InputError, match="line 3, <mesh name=\"m\">: no such mesh 'no.stl'"):
        plan_import(path)


def test_references_that_lead_nowhere_are_found(tmp_path):
    path = tmp_path / "bad.xml"
    tie = '<equality>\n<joint joint1="x"/>\n</equality></mujoco>'
    path.write_text(BODY.format('<joint/><geom size="1"/>').replace("</mujoco>", tie))
    with pytest.raises(InputError, match="line 8, <joint>: unknown element 'x'"):
        plan_import(path)


def test_a_loop_that_cannot_close_is_refused(tmp_path):
    path = tmp_path / "open.xml"
    path.write_text("""<mujoco><worldbody><body name="a"><freejoint/><geom size="1"/>
      <site name="far" pos="0 0 2"/>
      <body name="b" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/>
        <site name="end" pos="0.2 0 0"/></body></body></worldbody>
      <equality><connect name="shut" site1="end" site2="far"/></equality></mujoco>""")
    # an arm of 0.2 m cannot reach a point 1 m away
    said = "^open.xml: equality 'shut' cannot close: its ends stay 80 cm apart at best$"
    with pytest.raises(InputError, match=said):
        plan_import(path)


def test_two_bodies_in_the_world_need_a_base(tmp_path):
    path = tmp_path / "two.xml"
    one = '<body name="{}"><freejoint/><geom size="1"/></body>'
    path.write_text(f"<mujoco><worldbody>{one.format('a')}{one.format('b')}</worldbody></mujoco>")
    with pytest.raises(InputError, match="2 bodies stand in the world"):
        plan_import(path)
    assert plan_import(path, Wish(base="b")).model.nbody == 2


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(wheels=["rear"]), "--wheels: no joint is called 'rear'"),
        (Wish(wheels=["mast_pan"]), "--wheels: 'mast_pan' is not round about its axis"),
        (Wish(feet=["hand"]), "--feet: no body is called 'hand'"),
        (Wish(base="mast"), "--base: 'mast' hangs on 'base_link'"),
        (Wish(forward="up"), r"--forward: 'up' is no direction; valid: \+x"),
        (Wish(tracks=["L=mast_pan"]), "--tracks: L has 1 rollers"),
    ],
)
def test_wishes_that_cannot_be_met_are_one_sentence(tmp_path, wish, said):
    with pytest.raises(InputError, match=said):
        plan_import(files.four_wheeler(tmp_path), wish)
