"""Robots as others write them: shapes that stay near their meshes, motors, inertias, warnings."""

from __future__ import annotations

import foreign_robots as foreign
import mujoco
import numpy as np
import pytest
import robot_files as files
import trimesh

from marsyard.errors import InputError
from marsyard.interaction.contact_geometry.body_shapes import _hull_balls
from marsyard.robot import extent
from marsyard.robot.convex_pieces import Box, Hull, convex_pieces
from marsyard.robot.importing import plan_import
from marsyard.robot.link_inertia import find_fault, repair
from marsyard.robot.robot_folder import write_robot


def lowest_colliding(plan, body):
    """Height of the lowest point of a body that collides above the lowest wheel [m]."""
    model, data = plan.model, plan.data
    geoms = [
        g
        for g in range(model.ngeom)
        if model.geom_contype[g] and model.body(int(model.geom_bodyid[g])).name == body
    ]
    wheels = [data.body(w.body).xpos[2] - w.radius for w in plan.wheels.values()]
    return extent.lowest(model, data, geoms) - min(wheels)


# --- shapes


@pytest.fixture(scope="module")
def rover(tmp_path_factory):
    return plan_import(foreign.mars_rover(tmp_path_factory.mktemp("rover")))


@pytest.fixture(scope="module")
def boat(tmp_path_factory):
    return plan_import(foreign.boat_rover(tmp_path_factory.mktemp("boat")))


def test_a_mesh_that_lies_askew_keeps_its_clearance(tmp_path):
    path = foreign.rigid_rover(tmp_path)
    plan = plan_import(path, repair=True)
    # 2 % of the robot's height is the tolerance
    assert lowest_colliding(plan, "body") == pytest.approx(foreign.RIGID_BELLY, abs=0.01)
    # what stands on the deck is cut off there: nothing stands out
    assert not [w for w in plan.warnings if "protrude" in w]
    # one box is level, too, and its bottom is that of the mesh
    boxed = plan_import(path, repair=True, collisions="box")
    assert lowest_colliding(boxed, "body") == pytest.approx(foreign.RIGID_BELLY, abs=1e-6)


def test_a_curved_hull_keeps_its_clearance_and_its_flanks(boat):
    below = foreign.BOAT_RADIUS + foreign.BOAT_DECK - foreign.BOAT[2]
    assert lowest_colliding(boat, "hull") == pytest.approx(below, abs=0.003)
    # no collision shape stands out of the ellipsoid: a box around it would at its corners
    model = boat.model
    for g in range(model.ngeom):
        if model.geom_contype[g] and model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH:
            corners = extent.vertices(model, g) @ boat.data.geom_xmat[g].reshape(3, 3).T
            corners += boat.data.geom_xpos[g] - (0, 0, foreign.BOAT_RADIUS + foreign.BOAT_DECK)
            length, width, depth = foreign.BOAT
            reach = np.linalg.norm(corners / (length / 2, width / 2, depth), axis=1)
            assert reach.max() < 1.01
            break
    else:
        pytest.fail("the hull has no convex hull to collide with")


def test_rocks_pass_under_a_bent_rocker(rover):
    # half way between pivot and axles, in the middle: outside of the beams, inside of their hull
    model, data = rover.model, rover.data
    pivot = data.body("left_rocker").xpos
    spec = mujoco.MjSpec.from_string(rover.flat.text(), assets=rover.flat.assets)
    spec.worldbody.add_geom(
        name="rock",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[0.05, 0, 0],
        pos=pivot - (0, 0, 0.6 * foreign.ROCKER_RISE),
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = {int(model.geom_bodyid[g]) for c in data.contact[: data.ncon] for g in c.geom}
    assert model.body("left_rocker").id not in bodies


def test_pieces_of_simple_solids():
    turn = trimesh.transformations.rotation_matrix(0.5, (1, 2, 3))
    box = trimesh.creation.box((0.5, 0.3, 0.1), transform=turn)
    (piece,), away = convex_pieces(box.vertices, box.faces, 0.01, np.eye(3))
    assert isinstance(piece, Box)
    assert np.sort(piece.half) == pytest.approx([0.05, 0.15, 0.25], rel=1e-6)
    assert away == 0
    ball = trimesh.creation.icosphere(3, 0.2)
    (hull,), _ = convex_pieces(ball.vertices, ball.faces, 0.01, np.eye(3))
    assert isinstance(hull, Hull)
    assert np.linalg.norm(hull.corners, axis=1) == pytest.approx(0.2)
    # the extreme points are among its corners, and no facet is far inside
    assert hull.corners[:, 2].min() == pytest.approx(-0.2)
    arm = foreign.bent_arm(0.4, 0.25, 0.04)
    pieces, away = convex_pieces(arm.vertices, arm.faces, 0.01, np.eye(3))
    assert len(pieces) == 2
    assert away <= 0.01
    # a pipe of a ring cannot be wrapped by so few pieces, and that is said
    ring = trimesh.creation.torus(0.3, 0.03, major_sections=16, minor_sections=8)
    pieces, away = convex_pieces(ring.vertices, ring.faces, 0.005, np.eye(3))
    assert 1 < len(pieces) <= 8
    assert 0.005 < away < 0.27


def test_balls_in_the_corners_of_a_hull_touch_its_faces():
    corners = trimesh.creation.icosahedron().vertices * (0.3, 0.2, 0.1)
    centres, radius = _hull_balls(np.asarray(corners))
    hull = trimesh.convex.convex_hull(corners)
    for centre in centres:
        depth = -(hull.face_normals @ centre - np.sum(hull.face_normals * hull.triangles[:, 0], 1))
        assert depth.min() == pytest.approx(radius, rel=1e-6)


def test_what_was_written_is_read_again(tmp_path, rover):
    write_robot(rover, tmp_path / "out")
    again = plan_import(tmp_path / "out" / "robot.xml")
    for body in ("left_rocker", "chassis"):
        assert lowest_colliding(again, body) == pytest.approx(
            lowest_colliding(rover, body), abs=2e-3
        )


# --- motors


def test_motors_decide_over_names(rover):
    corners = {f"{s}_{e}_caster_joint" for s in ("left", "right") for e in ("front", "rear")}
    assert set(rover.roles.of("steering")) == corners
    assert len(rover.roles.of("drives")) == 6


def test_transmissions_without_actuator_are_passive(rover):
    pivots = {f"{s}_{p}_joint" for s in ("left", "right") for p in ("rocker", "bogie")}
    assert set(rover.roles.of("passive")) == pivots
    assert rover.roles.of("legs") == []


def test_state_interfaces_are_no_motors(tmp_path):
    path = foreign.mars_rover(tmp_path)
    text = path.read_text()
    joint = '<joint name="left_front_caster_joint"><command_interface name="velocity"/>'
    assert joint in text
    path.write_text(text.replace(joint, '<joint name="left_front_caster_joint">'))
    plan = plan_import(path)
    assert "left_front_caster_joint" in plan.roles.of("passive")
    assert len(plan.roles.of("steering")) == 3


def test_motors_of_an_arm_say_nothing_of_wheels(tmp_path):
    path = files.four_wheeler(tmp_path)
    motor = '<transmission name="t"><joint name="mast_pan"/><actuator name="m"/></transmission>'
    path.write_text(path.read_text().replace("</robot>", motor + "</robot>"))
    plan = plan_import(path)
    assert len(plan.roles.of("drives")) == 4
    assert plan.roles.of("steering") == ["front_left_steer", "front_right_steer"]


def test_a_caster_is_told(tmp_path):
    path = files.four_wheeler(tmp_path)
    names = [f"{e}_{s}_drive" for e in ("front", "rear") for s in ("left", "right")]
    motors = "".join(
        f'<transmission name="{n}"><joint name="{n}"/><actuator name="m"/></transmission>'
        for n in names[2:]
    )
    path.write_text(path.read_text().replace("</robot>", motors + "</robot>"))
    plan = plan_import(path)
    assert plan.roles.of("drives") == ["rear_left_drive", "rear_right_drive"]
    assert plan.roles.of("steering") == []
    assert plan.roles.why["front_left_steer"].endswith("no motor: a caster")


# --- rollers


def test_rollers_of_omni_wheels_are_wheels_and_hubs_are_driven(tmp_path):
    plan = plan_import(foreign.omni_platform(tmp_path))
    assert plan.tracks == {}
    assert len(plan.wheels) == 3 * foreign.OMNI_ROLLERS
    assert {w.radius for w in plan.wheels.values()} == {foreign.OMNI_ROLLER}
    assert plan.roles.of("drives") == ["hub_0_j", "hub_1_j", "hub_2_j"]
    assert set(plan.roles.hubs.values()) == {"hub_0", "hub_1", "hub_2"}
    assert all(plan.roles.joints[w.joint] == "passive" for w in plan.wheels.values())
    # their axles run along the rim: across the hub's
    for k in range(3):
        hub = plan.data.xaxis[plan.model.joint(f"hub_{k}_j").id]
        for i in range(foreign.OMNI_ROLLERS):
            roller = plan.data.xaxis[plan.model.joint(f"roller_{k}_{i}_j").id]
            assert abs(float(hub @ roller)) < 1e-9
    assert plan.warnings == []


def test_a_row_of_many_rollers_is_a_track(tmp_path):
    plan = plan_import(foreign.crawler(tmp_path))
    assert plan.wheels == {}
    assert set(plan.tracks) == {"L", "R"}
    for side, track in (("left", plan.tracks["L"]), ("right", plan.tracks["R"])):
        assert track.joint == f"{side}_wheel_0_joint"
        ends = [r.x for r in track.rollers]
        length = (foreign.CRAWLER_ROLLERS - 1) * foreign.CRAWLER_STEP
        assert max(ends) - min(ends) == pytest.approx(length)
        assert len(track.road_wheels) == 24
    # rollers are only drawn, also those that the belt has no room for
    model = plan.model
    for g in range(model.ngeom):
        if "wheel" in model.geom(g).name:
            assert model.geom_contype[g] == 0, model.geom(g).name


def test_eight_spaced_wheels_are_no_track(tmp_path):
    parts = [files.box_link("hull", 20, 1.4, 0.3, 0.15)]
    for side, y in (("left", 0.3), ("right", -0.3)):
        for k in range(5):
            roll = files.shape('<cylinder radius="0.1" length="0.1"/>', rpy="1.5708 0 0")
            link = f"{side}_wheel_{k}"
            parts += [
                f'<link name="{link}">{files.inertial(1, (0.003,) * 3)}{roll}</link>',
                files.joint(f"{link}_j", "continuous", "hull", link, f"{0.3 * k} {y} 0", "0 1 0"),
            ]
    path = tmp_path / "ten.urdf"
    path.write_text(files.robot("ten", parts))
    assert len(plan_import(path).wheels) == 10


# --- inertias


@pytest.mark.parametrize("moments", [(0.01, 0.01, 0.05), (-0.01, 0.02, 0.02), (0, 0, 0)])
def test_repaired_inertias_are_those_of_bodies(moments):
    turn = trimesh.transformations.rotation_matrix(0.8, (1, 2, 3))[:3, :3]
    given = turn @ np.diag(moments).astype(float) @ turn.T
    good = repair(given, 2.0)
    assert find_fault(good) is None
    a, b, c = np.linalg.eigvalsh(good)
    assert a > 0
    assert a + b > c
    # what can stay, stays: the principal axes, and a sound inertia altogether
    if any(moments):
        rest = turn.T @ good @ turn
        assert rest == pytest.approx(np.diag(np.diag(rest)), abs=1e-12)
    sound = turn @ np.diag([0.02, 0.03, 0.04]) @ turn.T
    assert repair(sound, 2.0) == pytest.approx(sound)


def test_unphysical_inertias_are_refused_or_repaired(tmp_path):
    path = foreign.rigid_rover(tmp_path)
    with pytest.raises(InputError, match="largest moment exceeds.*--repair-inertia takes"):
        plan_import(path)
    plan = plan_import(path, repair=True)
    told = [n for n in plan.notes if "repaired to 0.0253, 0.0253, 0.05 kg·m²" in n]
    assert len(told) == 4
    wheel = plan.model.body("front_left_wheel")
    assert np.sort(wheel.inertia) == pytest.approx([0.02525, 0.02525, 0.05], rel=1e-3)


@pytest.mark.parametrize(
    ("given", "fault"),
    [("diaginertia='.01 .01 .05'", "exceeds"), ("fullinertia='.01 .01 -.01 0 0 0'", "below 0")],
)
def test_inertias_of_an_mjcf_are_repaired_too(tmp_path, given, fault):
    path = tmp_path / "r.xml"
    path.write_text(
        "<mujoco><worldbody><body name='b'><freejoint/>"
        f"<inertial pos='0 0 0' mass='1' {given}/><geom size='.1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(InputError, match="--repair-inertia"):
        plan_import(path)
    plan = plan_import(path, repair=True)
    assert any(fault in n and "repaired" in n for n in plan.notes)
    a, b, c = np.sort(plan.model.body("b").inertia)
    assert a > 0
    assert a + b >= c


# --- what is said


def test_steering_that_turns_into_the_hull_is_said(boat, rover):
    said = [w for w in boat.warnings if w.startswith("steering")]
    assert len(said) == 4
    assert any("front_left_steer meets hull at 36° of its -90° to 90°" in w for w in said)
    assert not [w for w in rover.warnings if w.startswith("steering")]


def test_low_bodies_are_named(tmp_path, boat):
    path = foreign.boat_rover(tmp_path)
    # the hull hangs 5 cm lower: 4 cm above the ground, where half a wheel's radius is 7 cm
    path.write_text(path.read_text().replace('pos="0 0 0.15" mass', 'pos="0 0 0.1" mass'))
    (said,) = [w for w in plan_import(path).warnings if "get caught on rocks" in w]
    assert "hull (40" in said
    assert "70 mm" in said
    assert not [w for w in boat.warnings if "get caught on rocks" in w]
