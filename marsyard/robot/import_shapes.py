"""Import: shapes brought to what every law and ground can do.

Wheels and rollers touch by their shape in robot.yaml and are only drawn; other meshes touch by
boxes and convex hulls that stay near their surface (`convex_pieces`); feet get bodies of their own
where they touch; the robot stands on z = 0, and bodies that overlap in the reference pose do not
collide with each other.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import mujoco
import numpy as np

from marsyard.errors import few
from marsyard.robot import extent
from marsyard.robot.convex_pieces import Box, Hull, bounding_box, convex_pieces
from marsyard.robot.flat_model import FlatModel, numbers, pose_of, set_pose
from marsyard.robot.poses import Pose, row
from marsyard.robot.roles import Roles

#: what may become of meshes that collide
COLLISIONS = ("pieces", "box", "mesh", "none")
#: how far pieces may stand out of their mesh, in parts of the robot's height
_TOLERANCE = 0.02
#: shapes that get others in their place
_FITTED = (int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_ELLIPSOID))


def only_draw_rolling(flat: FlatModel, roles: Roles) -> None:
    """Shapes of wheels and rollers are only drawn."""
    for wheel in roles.rolling:
        body = flat.body(wheel.body)
        if wheel.geom:
            _only_seen(next(g for g in flat.each("geom") if g.get("name") == wheel.geom))
            continue
        seen = [g for g in _rigid_geoms(body) if not _collides(g)]
        for geom in _rigid_geoms(body):
            geom.set("contype", "0")
            geom.set("conaffinity", "0")
            if geom not in seen and not seen:
                _show(geom)


def _show(geom: ET.Element) -> None:
    rgba = numbers(geom.get("rgba", "0.5 0.5 0.5 1"), 4)
    if rgba[3] == 0:
        geom.set("rgba", row((*rgba[:3], 1.0)))


def _rigid_geoms(body: ET.Element) -> list[ET.Element]:
    still = [b for b in body.findall("body") if b.find("joint") is None]
    return [*body.findall("geom"), *(g for b in still for g in _rigid_geoms(b))]


def _collides(geom: ET.Element) -> bool:
    return geom.get("contype", "1") != "0" or geom.get("conaffinity", "1") != "0"


def fit_collision_shapes(
    flat: FlatModel, collisions: str, notes: list[str], warnings: list[str]
) -> None:
    """Give meshes and ellipsoids that collide shapes that every ground takes, or what the user
    says: pieces near their surface, or one box around each, level in the reference pose."""
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tolerance = _TOLERANCE * _height(model, data)
    pieces, far = 0, {}
    for body in list(flat.each("body")):
        for geom in body.findall("geom"):
            g = model.geom(geom.get("name")).id
            if not (model.geom_contype[g] or model.geom_conaffinity[g]):
                continue
            if collisions == "none":
                _only_seen(geom)
            elif collisions != "mesh" and int(model.geom_type[g]) in _FITTED:
                level = data.geom_xmat[g].reshape(3, 3).T
                vertices, faces = _triangles(model, g)
                shapes: Sequence[Box | Hull] = [bounding_box(vertices, level)]
                deviation = 0.0
                if collisions == "pieces":
                    shapes, deviation = convex_pieces(vertices, faces, tolerance, level)
                _replace(flat, body, geom, model, g, shapes)
                pieces += len(shapes)
                if deviation > 1.5 * tolerance:
                    far[str(geom.get("name"))] = deviation
    if pieces:
        what = "boxes and convex hulls" if collisions == "pieces" else "boxes around them"
        notes.append(f"meshes and ellipsoids that collide became {what}: {pieces} "
                     "(--collisions mesh keeps them)")  # fmt: skip
    if far:
        shown = [f"{name} ({1000 * d:.3g} mm)" for name, d in far.items()]
        warnings.append(f"collision shapes protrude from their mesh: {few(shown)}; give the link "
                        "simple collision shapes, or --collisions none")  # fmt: skip


def _height(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    geoms = [g for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
    low, high = extent.lowest(model, data, geoms), extent.highest(model, data, geoms)
    return high - low if geoms else 1.0


def _triangles(model: mujoco.MjModel, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners [m] and triangles of a mesh or an ellipsoid in the frame of its geom."""
    if int(model.geom_type[g]) == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[g])
        first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        faces = np.asarray(model.mesh_face[first : first + count], dtype=np.int64)
        return extent.vertices(model, g), faces
    import trimesh

    ball = trimesh.creation.icosphere(3)
    return np.asarray(ball.vertices) * model.geom_size[g], np.asarray(ball.faces)


def _only_seen(geom: ET.Element) -> None:
    geom.set("contype", "0")
    geom.set("conaffinity", "0")


def _replace(
    flat: FlatModel,
    body: ET.Element,
    geom: ET.Element,
    model: mujoco.MjModel,
    g: int,
    shapes: Sequence[Box | Hull],
) -> None:
    """Let other shapes collide in a geom's place; it is still drawn if it was."""
    own = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
    name = str(geom.get("name"))
    keys = ("contype", "conaffinity", "friction", "condim", "class", "group", "priority")
    kept = {k: v for k in keys if (v := geom.get(k)) is not None}
    taken = {e.get("name") for e in flat.tree.iter() if e.tag in ("geom", "mesh")}
    for k, shape in enumerate(shapes):
        kind = "box" if isinstance(shape, Box) else "hull"
        new = f"{name}_{kind}" + (f"_{k + 1}" if len(shapes) > 1 else "")
        while new in taken:
            new += "_"
        taken.add(new)
        part = ET.Element("geom", {"name": new, "mass": "0", **kept, "rgba": "0.7 0.7 0.7 0"})
        if isinstance(shape, Box):
            part.set("type", "box")
            part.set("size", row(shape.half))
            set_pose(part, own.then(Pose(shape.middle, shape.turn)))
        else:
            part.set("type", "mesh")
            part.set("mesh", new)
            corners = row(np.round(shape.corners, 6).ravel())
            ET.SubElement(flat.section("asset"), "mesh", name=new, vertex=corners)
            set_pose(part, own)
        body.insert(list(body).index(geom), part)
    if numbers(geom.get("rgba", "0.5 0.5 0.5 1"), 4)[3] > 0:
        _only_seen(geom)
    else:
        body.remove(geom)


def give_soles(flat: FlatModel, roles: Roles, notes: list[str]) -> None:
    """Give each foot a body of its own with its origin in the middle of what touches the ground.

    A shank with a ball at its end is a usual way to write a leg; gaits, margins and records ask
    where the ball is, not where the knee is. The ball moves to a body fixed to the shank, without
    mass (the shank keeps its inertia). A capsule gets a ball of its radius in its lower end and is
    one radius shorter there, so that both do not press on the same ground.
    """
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    moved = []
    for key, name in roles.feet.items():
        body = flat.body(name)
        geoms = [g for g in body.findall("geom") if _collides(g)]
        if not geoms or body.find("joint") is None:  # a foot of its own, fixed to the shank
            continue
        heights = [extent.lowest(model, data, [model.geom(g.get("name")).id]) for g in geoms]
        sole = geoms[int(np.argmin(heights))]
        g = model.geom(sole.get("name")).id
        kind, radius = int(model.geom_type[g]), float(model.geom_size[g, 0])
        at = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
        if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            sole = _tip(body, sole, model, data, g)
            at = pose_of(sole)
        elif kind != mujoco.mjtGeom.mjGEOM_SPHERE:
            roles.warnings.append(
                f"foot {key} does not end in a sphere: gaits use the centre of the lowest shape of "
                f"'{name}' as its position, or its lower end if it is long; change it with "
                f"feet.{key}.point in robot.yaml"
                ""
            )
            continue
        elif np.linalg.norm(at.place) < 0.1 * radius:
            continue
        else:
            body.remove(sole)
        taken = {b.get("name") for b in flat.each("body")}
        foot = f"{name}_sole"
        while foot in taken:
            foot += "_"
        child = ET.SubElement(body, "body", name=foot)
        set_pose(child, Pose(at.place, np.eye(3)))
        set_pose(sole, Pose(np.zeros(3), np.eye(3)))
        sole.set("mass", "0")
        child.append(sole)
        roles.feet[key] = foot
        roles.why[f"body {foot}"] = f"ball at the end of {name}, {roles.why[f'body {name}']}"
        moved.append(name)
    if moved:
        notes.append(f"feet became separate bodies, at the spheres at the ends of {few(moved)}")


def _tip(
    body: ET.Element, geom: ET.Element, model: mujoco.MjModel, data: mujoco.MjData, g: int
) -> ET.Element:
    """A ball in the lower end of a capsule, which gets one radius shorter there."""
    radius, half = (float(v) for v in model.geom_size[g, :2])
    down = -1.0 if data.geom_xmat[g, 8] > 0 else 1.0
    at = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
    keys = ("contype", "conaffinity", "friction", "condim", "class", "group", "priority", "rgba")
    kept = {k: v for k in keys if (v := geom.get(k)) is not None}
    ball = ET.Element("geom", {"name": f"{geom.get('name')}_tip", "type": "sphere", **kept})
    ball.set("size", row([radius]))
    set_pose(ball, Pose(at.then(Pose(np.array([0, 0, down * half]), np.eye(3))).place, np.eye(3)))
    cut = min(radius, 2 * half) / 2
    geom.set("size", row([radius, max(half - cut, 1e-4)]))
    set_pose(geom, at.then(Pose(np.array([0, 0, -down * cut]), np.eye(3))))
    return ball


def keep_used_assets(flat: FlatModel) -> None:
    """Leave out meshes and materials that nothing uses."""
    for tag, key in (("mesh", "mesh"), ("material", "material")):
        used = {e.get(key) for e in flat.tree.iter() if e.get(key)}
        for section in flat.tree.findall("asset"):
            for element in section.findall(tag):
                if element.get("name") not in used:
                    section.remove(element)
    files = {m.get("file") for m in flat.tree.findall("asset/mesh")}
    flat.assets = {name: data for name, data in flat.assets.items() if name in files}


def stand(flat: FlatModel) -> None:
    """Lift or lower the robot so that its lowest point is at z = 0."""
    body = flat.world.find("body")
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    low = extent.lowest(model, data, list(range(model.ngeom)))
    free = body is not None and any(j.get("type") == "free" for j in body.findall("joint"))
    if body is not None and free and np.isfinite(low):
        pose = pose_of(body)
        z = round(float(pose.place[2] - low), 6)
        set_pose(body, Pose(np.array([*pose.place[:2], z]), pose.turn))


def exclude_overlaps(flat: FlatModel, notes: list[str]) -> None:
    """Bodies that touch in the reference pose do not collide."""
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_fwdPosition(model, data)
    pairs = set()
    for contact in data.contact[: data.ncon]:
        first, second = (int(model.geom_bodyid[g]) for g in contact.geom)
        pairs.add((min(first, second), max(first, second)))
    section = flat.section("contact") if pairs else None
    for first, second in sorted(pairs):
        ET.SubElement(section, "exclude", body1=model.body(first).name,  # type: ignore[arg-type]
                      body2=model.body(second).name)  # fmt: skip
    if pairs:
        shown = [f"{model.body(a).name} and {model.body(b).name}" for a, b in sorted(pairs)]
        notes.append(
            f"overlap in the reference pose, so their collisions are disabled: {few(shown, 3)}"
        )
