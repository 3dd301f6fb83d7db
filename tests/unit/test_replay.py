"""The scene of a replay: shapes, poses and forces, without a browser."""

from __future__ import annotations

import signal
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from synthetic import HUBS, RADIUS, WHEELS, XML, dataset

from marsyard.drawing.meshes import body_shapes, ground_meshes, wheel_bodies
from marsyard.errors import InputError
from marsyard.ground import Box, Plane, Sphere, TriangleMesh
from marsyard.results import build_scene, open_scene, save
from marsyard.results import replay as module


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(XML)


@pytest.fixture(scope="module")
def ds():
    return dataset(period=0.02, duration=8.0)


@pytest.fixture(scope="module")
def scene(model, ds):
    return build_scene(model, ds, ground_meshes([Plane()], ds))


def test_poses_follow_the_coordinates(scene, ds):
    assert scene.title == "A drop and a drive" and scene.wheels == WHEELS
    base = scene.bodies.index("base")
    np.testing.assert_allclose(scene.position[:, base], ds["position_base"], atol=1e-12)
    # a wheel's hub is carried by the base, and turns about y by its angle
    wheel = scene.bodies.index("wheel_FL")
    yaw = 2 * np.arctan2(ds["quaternion_base"][:, 3], ds["quaternion_base"][:, 0]).values
    x = ds["position_base"].values[:, 0] + np.cos(yaw) * HUBS[3, 0] - np.sin(yaw) * HUBS[3, 1]
    np.testing.assert_allclose(scene.position[:, wheel, 0], x, atol=1e-12)
    half = ds["wheel_angle"].values[:, 3] / 2
    np.testing.assert_allclose(
        np.abs(scene.quaternion[:, wheel, 0]), np.abs(np.cos(half) * np.cos(yaw / 2)), atol=1e-12
    )


def test_forces_are_impulses_per_time_and_open_wheels_have_none(scene, ds):
    np.testing.assert_allclose(
        scene.contact_force[-1, :, 2], ds["impulse_normal"][-1, :, 0] / 0.02, rtol=1e-12
    )
    assert np.isnan(scene.contact_force[0]).all()


def test_the_path_of_a_drive_lies_on_the_ground(model, ds, scene):
    assert scene.paths == ()
    points = np.array([[0, 0], [1, 0.5], [2, 0], [0, 3], [1, 3]], dtype=float)
    driven = ds.assign(path=(("path_point", "horizontal"), points))
    driven = driven.assign_coords(path_command=("path_point", [0, 0, 0, 2, 2]))
    first, second = build_scene(model, driven).paths
    np.testing.assert_allclose(first[:, :2], points[:3])
    np.testing.assert_allclose(second[:, :2], points[3:])
    height = np.nanmean(build_scene(model, driven).contact_point[..., 2])
    np.testing.assert_allclose(first[:, 2], height + 0.01)


def test_all_kinds_of_geoms_get_triangles(model):
    shapes = body_shapes(model)
    base = shapes[model.body("base").id]
    assert len(base) == 4
    # extents of the box, in the frame of the body
    np.testing.assert_allclose(base[0].vertices.min(axis=0), [-0.5, -0.25, 0.18], atol=1e-12)
    np.testing.assert_allclose(base[0].vertices.max(axis=0), [0.5, 0.25, 0.42], atol=1e-12)
    np.testing.assert_allclose(base[1].vertices[:, 2].max(), 0.93, atol=1e-3)
    np.testing.assert_allclose(np.ptp(base[3].vertices, axis=0), [0.3, 0.3, 0.1], rtol=0.02)
    for parts in shapes.values():
        for part in parts:
            assert part.triangles.max() < len(part.vertices)


def test_mesh_geoms_keep_their_place():
    xml = """<mujoco><asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
      <body name="b"><freejoint/><geom type="mesh" mesh="m" pos="0 0 2"/></body>
      </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    vertices = body_shapes(model)[1][0].vertices
    np.testing.assert_allclose(vertices.min(axis=0), [0, 0, 2], atol=1e-6)
    np.testing.assert_allclose(vertices.max(axis=0), [1, 1, 3], atol=1e-6)


@pytest.mark.parametrize("joint", ['range="-90 90"', ""])
def test_a_shank_with_a_ball_at_its_end_is_no_wheel(joint):
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body><freejoint/><geom size="0.1"/><body name="shank">
        <joint axis="0 1 0" {joint}/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.01"/>
        <geom type="sphere" pos="0 0 -0.3" size="0.02"/></body></body></worldbody></mujoco>"""
    )
    assert wheel_bodies(model) == []


@pytest.mark.parametrize("kind", ['cylinder" size="0.12 0.05', 'sphere" size="0.12'])
def test_wheels_are_found_and_marked(kind):
    xml = XML.replace(f'cylinder" size="{RADIUS} 0.05', kind)
    model = mujoco.MjModel.from_xml_string(xml)
    wheels = wheel_bodies(model)
    assert [model.body(b).name for b in wheels] == [f"wheel_{w}" for w in WHEELS]
    for body in wheels:
        parts = body_shapes(model)[body]
        colours = {p.colour for p in parts}
        assert len(parts) >= 3 and len(colours) >= 3
        # round about its axle, and the marks do not stick out of the tread by much
        radius = np.hypot(*np.concatenate([p.vertices for p in parts])[:, [0, 2]].T)
        assert 0.119 < radius.max() < 1.1 * RADIUS


def test_ground_lies_where_the_surfaces_are(ds):
    slope = Plane.slope(0.2, direction=0.7, point=(1.0, 2.0, 3.0))
    for mesh in ground_meshes([slope], ds):
        off = (mesh.vertices - slope.point) @ slope.normal
        np.testing.assert_allclose(off, 0.0, atol=1e-12)
        track = ds["position_base"].values[:, :2]
        assert (mesh.vertices[:, :2].min(axis=0) < track.min(axis=0)).all()
        assert (mesh.vertices[:, :2].max(axis=0) > track.max(axis=0)).all()
    surfaces = [
        Sphere((1.0, 2.0, 0.0), 0.5, name="ball"),
        Box((0.0, 0.0, 1.0), (0.5, 1.0, 1.5), name="step"),
        TriangleMesh.from_triangles([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], name="patch"),
    ]
    ball, box, patch = ground_meshes(surfaces, ds)
    reach = np.linalg.norm(ball.vertices - [1.0, 2.0, 0.0], axis=1)
    np.testing.assert_allclose(reach, 0.5, rtol=1e-9)
    np.testing.assert_allclose(np.ptp(box.vertices, axis=0), [1.0, 2.0, 3.0])
    assert (ball.name, box.name, patch.name) == ("ball", "step", "patch")
    assert len(patch.triangles) == 1


def test_long_runs_are_thinned(model, ds, monkeypatch):
    monkeypatch.setattr(module, "MOST_FRAMES", 100)
    scene = build_scene(model, ds)
    assert len(scene.time) <= 102
    assert (scene.time[0], scene.time[-1]) == (0.0, 8.0)


def test_a_run_that_broke_down_is_shown_up_to_there(model, ds):
    broken = ds.copy(deep=True)
    broken["coordinates"][50:] = np.nan
    broken["position_base"][50:] = np.inf
    scene = build_scene(model, broken, ground_meshes([Plane()], broken))
    assert len(scene.time) == 50 and np.isfinite(scene.position).all()
    broken["coordinates"][:] = np.nan
    with pytest.raises(InputError, match="nothing to replay"):
        build_scene(model, broken)


def test_model_and_run_must_belong_together(ds):
    other = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    with pytest.raises(InputError, match="do not match"):
        build_scene(other, ds)


def test_ports_out_of_range_are_refused(scene):
    with pytest.raises(InputError, match="65535"):
        module.serve(scene, port=70_000, block=False)


@pytest.mark.parametrize("kind", ["model.xml", "model.mjb"])
def test_a_run_is_opened_from_its_folder(model, ds, scene, tmp_path, kind):
    with pytest.raises(InputError, match="does not exist"):
        open_scene(tmp_path / "none")
    path = save(ds, tmp_path)
    with pytest.raises(InputError, match="no model.mjb or model.xml"):
        open_scene(tmp_path)
    (tmp_path / kind).write_bytes(b"nothing of use")
    with pytest.raises(InputError, match="cannot read the model"):
        open_scene(tmp_path)
    if kind == "model.xml":
        (tmp_path / kind).write_text(XML)
    else:
        mujoco.mj_saveModel(model, str(tmp_path / kind), None)
    opened = open_scene(path, [Plane()], "mine")
    assert opened.title == "mine" and len(opened.ground) == 2
    np.testing.assert_array_equal(opened.position, scene.position)


def test_serving_ends_quietly_with_ctrl_c(model, ds, tmp_path):
    save(ds, tmp_path)
    (tmp_path / "model.xml").write_text(XML)
    code = (
        "import sys; from marsyard.results import open_scene, serve; "
        "serve(open_scene(sys.argv[1]), port=0); print('after')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = [process.stdout.readline() for _ in range(2)]
    assert said[0].startswith("replay of A drop and a drive: http://localhost:")
    assert "ctrl-c" in said[1]
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors) == (0, "after\n", "")
