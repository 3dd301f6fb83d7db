"""URDF of robots, read back by MuJoCo and by marsyard's own import."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest

from marsyard.results.export import urdf_of, write_urdf
from marsyard.results.export.inner_links import inner_frames
from marsyard.robot import load_robot
from marsyard.robot.importing import plan_import
from marsyard.robot.model_file import read_model
from marsyard.robot.poses import Pose

#: closed loops; slides and a carriage; two joints on a body, meshes, a second tree
ROBOTS = ("sojourner", "single_wheel_rig", "smart_olev", "leg_2001")

#: anchors off the origin, references that are not 0, turned bodies, a ball joint
AWKWARD = """
<mujoco><worldbody>
  <body name="trunk" pos="0 0 1" euler="10 20 30"><freejoint/>
    <geom type="box" size=".3 .2 .1" mass="5"/>
    <body name="arm" pos=".3 0 .1" euler="0 40 15">
      <joint name="a" axis="0 1 1" pos=".02 -.03 .05" ref="25" range="-90 90"/>
      <joint name="b" axis="1 0 0" pos="-.1 0 0" damping="2"/>
      <joint name="c" type="slide" axis="0 0 1" ref=".05"/>
      <geom type="capsule" size=".03 .2" mass="1.5" pos=".1 .05 0" euler="30 0 0"/>
      <body name="tip" pos=".2 0 0" euler="90 0 90">
        <geom type="ellipsoid" size=".1 .05 .02"/>
      </body>
      <body name="ball" pos="0 .3 0"><joint name="d" type="ball"/><geom size=".05"/></body>
    </body>
  </body>
</worldbody></mujoco>
"""


def _joints(model: mujoco.MjModel) -> list[str]:
    return [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] in (2, 3)]


def _mass_matrix(model: mujoco.MjModel, names: list[str], angles: np.ndarray) -> np.ndarray:
    """Inertia of the joints, without that of motors: masses, inertias and kinematics in one."""
    data = mujoco.MjData(model)
    for name, angle in zip(names, angles, strict=True):
        data.qpos[model.jnt_qposadr[model.joint(name).id]] = angle
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    full -= np.diag(model.dof_armature)
    at = [int(model.jnt_dofadr[model.joint(n).id]) for n in names]
    return full[np.ix_(at, at)]


def _pose(model: mujoco.MjModel, names: list[str], angles: np.ndarray, body: str, base: str):
    """Centre of mass of a body in the frame of another."""
    data = mujoco.MjData(model)
    for name, angle in zip(names, angles, strict=True):
        data.qpos[model.jnt_qposadr[model.joint(name).id]] = angle
    mujoco.mj_kinematics(model, data)
    b = model.body(base).id
    return data.xmat[b].reshape(3, 3).T @ (data.xipos[model.body(body).id] - data.xpos[b])


@pytest.mark.parametrize("name", ROBOTS)
def test_both_readers_find_the_same_robot(name, tmp_path):
    robot = load_robot(name)
    model = robot.spec().compile()
    path = write_urdf(model, robot.base, tmp_path, name)[0]
    angles = np.random.default_rng(1).uniform(-1, 1, 40)
    for read in (mujoco.MjModel.from_xml_path(str(path)), read_model(path).spec.compile()):
        names = _joints(read)
        # the second satellite is no part of the robot's tree
        assert set(names) <= set(_joints(model))
        assert len(names) == len(_joints(model)) - (2 if name == "smart_olev" else 0)
        q = angles[: len(names)]
        expected = _mass_matrix(model, names, q)
        error = np.abs(_mass_matrix(read, names, q) - expected).max() / np.abs(expected).max()
        # links between two joints of one body weigh a milligram
        assert error < (1e-7 if name == "smart_olev" else 1e-13)


def test_anchors_references_and_turned_bodies(tmp_path):
    model = mujoco.MjModel.from_xml_string(AWKWARD)
    path = write_urdf(model, "trunk", tmp_path, "awkward")[0]
    # MuJoCo has no joints of type floating
    text = path.read_text().replace('type="floating"', 'type="fixed"')
    path.write_text(text)
    read = mujoco.MjModel.from_xml_path(str(path))
    names, rng = ["a", "b", "c"], np.random.default_rng(2)
    for _ in range(5):
        q = rng.uniform(-1, 1, 3)
        for body in ("arm", "tip", "ball"):
            there = _pose(model, names, q, body, "trunk")
            np.testing.assert_allclose(_pose(read, names, q, body, "trunk"), there, atol=1e-9)
    limits = read.jnt_range[read.joint("a").id]
    np.testing.assert_allclose(limits, np.radians([-90, 90]), atol=1e-12)
    assert read.dof_damping[read.jnt_dofadr[read.joint("b").id]] == 2.0
    assert len(list((tmp_path / "meshes").glob("*.stl"))) == 2  # capsule and ellipsoid


def test_links_between_the_joints_of_a_body_have_frames(tmp_path):
    model = mujoco.MjModel.from_xml_string(AWKWARD)
    path = write_urdf(model, "trunk", tmp_path, "awkward")[0]
    path.write_text(path.read_text().replace('type="floating"', 'type="fixed"'))
    read = mujoco.MjModel.from_xml_path(str(path))
    names, values = ["a", "b", "c"], np.random.default_rng(3).uniform(-1, 1, (4, 3))
    q = np.tile(model.qpos0, (4, 1))
    for k, name in enumerate(names):
        q[:, model.jnt_qposadr[model.joint(name).id]] = values[:, k]
    frames = inner_frames(model, model.body("arm").id, q)
    assert set(frames) == {"arm_a", "arm_b"}  # c has its anchor at the origin: it moves the arm
    assert not inner_frames(model, model.body("trunk").id, q)
    data = mujoco.MjData(read)
    trunk = read.body("trunk").id
    for k in range(4):
        for name, value in zip(names, values[k], strict=True):
            data.qpos[read.jnt_qposadr[read.joint(name).id]] = value
        mujoco.mj_kinematics(read, data)
        outer = data.xmat[trunk].reshape(3, 3)
        for link, (place, turn) in frames.items():
            body = read.body(link).id
            there = outer.T @ (data.xpos[body] - data.xpos[trunk])
            np.testing.assert_allclose(place[k], there, atol=1e-9)
            matrix = outer.T @ data.xmat[body].reshape(3, 3)
            np.testing.assert_allclose(Pose.of_quat(place[k], turn[k]).turn, matrix, atol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_a_base_that_is_called_base_link_is_there_once(tied, tmp_path):
    """Most robots of ROS call it so."""
    text = AWKWARD.replace('"trunk"', '"base_link"').replace("floating", "fixed")
    text = text.replace(
        "<freejoint/>", '<joint name="rail" type="slide"/>' if tied else "<freejoint/>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    path = write_urdf(model, "base_link", tmp_path, "awkward")[0]
    path.write_text(path.read_text().replace('type="floating"', 'type="fixed"'))
    read = mujoco.MjModel.from_xml_path(str(path))  # refuses links of the same name
    links = [link.get("name") for link in ET.parse(path).getroot().iter("link")]
    assert links.count("base_link") == 1 and ("world" in links) == tied
    assert read.body_subtreemass[0] == pytest.approx(model.body_subtreemass[0], rel=1e-5)


def test_what_urdf_cannot_say_is_said():
    robot = load_robot("sojourner")
    made = urdf_of(robot.spec().compile(), robot.base, "sojourner")
    assert any("closed loops" in note for note in made.notes)
    assert all(note in made.text for note in made.notes)
    ball = urdf_of(mujoco.MjModel.from_xml_string(AWKWARD), None, "awkward")
    assert any("ball joint" in note for note in ball.notes)
    root = made.text.index('<link name="base_link"')
    assert root < made.text.index("<link", root + 1)


def test_marsyard_imports_what_it_exports(tmp_path):
    robot = load_robot("exomars")
    path = write_urdf(robot.spec().compile(), robot.base, tmp_path, "exomars")[0]
    plan = plan_import(path)
    assert len(plan.wheels) == len(robot.wheels) == 6
    assert {w.joint for w in plan.wheels.values()} == {w.joint for w in robot.wheels.values()}
    for wheel in plan.wheels.values():
        assert wheel.radius == pytest.approx(0.1425, rel=0.06)
    assert plan.mass == pytest.approx(310.0)
