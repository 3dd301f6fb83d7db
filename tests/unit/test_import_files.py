"""Importing MJCF and URDF: the folder that is written, meshes and what else a file holds."""

from __future__ import annotations

from pathlib import Path

import pytest
import robot_files as files
import trimesh

from marsyard import InputError
from marsyard.cli.import_robot import edit
from marsyard.robot import load_robot
from marsyard.robot.importing import plan_import
from marsyard.robot.robot_folder import robot_name, robot_yaml, write_robot
from marsyard.robot.roles import Wish


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
    with pytest.raises(InputError, match="line .*'chasis' is not a link of the file; did you mean"):
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
    path = files.offset_rover(tmp_path)
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
    path.write_text(
        files.ONE_WHEEL.replace('ixx="1" iyy="1" izz="1"', 'ixx="1" iyy="1" izz="2.01"')
    )
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
