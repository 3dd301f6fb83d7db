"""Bodies of a robot that may touch soil.

Wheels touch soil by their analytic shape; tracks by the triangles of their belts; every other geom
of the robot that collides, by its triangles. The width b of Bekker's law is the wheel's or belt's
width (Krenn); for other bodies the smaller side of a box, the radius of an upright cylinder, a ball
or an ellipsoid, the diameter of a capsule, and of a mesh the diameter of a disc of the same area as
its shadow.

The contact radius of a wheel with grousers is that of their tips: the soil between them moves with
the wheel.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from marsyard.errors import InputError, few
from marsyard.ground.soil import Soil
from marsyard.ground.soil_grid import Surface
from marsyard.interaction.geoms import colliding_geoms
from marsyard.interaction.slip import RELEASED
from marsyard.interaction.soil_contact.arrays import BELT, MESH, WHEEL
from marsyard.interaction.tread import Tread
from marsyard.robot import Robot, Track
from marsyard.robot.belt import belt_triangles

#: fewer nodes than this under a wheel are too few
FEWEST_NODES = 4


@dataclass
class SoilBody:
    """A wheel, a belt or a geom that may touch soil."""

    kind: int
    body: int
    joint: int
    geom: int
    wheel: int
    shape: tuple[float, float, float, float, float]
    reach: float
    width: float
    lugs: float
    triangles: np.ndarray
    name: str
    organ: int = -1
    belt: Track | None = None
    tread: Tread | None = None

    def carried_layer(self, soil: Soil) -> float:
        """Mean thickness of the soil that moves with the surface [m]; a track's lugs are close."""
        if self.tread is not None:
            return self.tread.carried_layer(soil)
        return self.lugs + soil.shear_layer

    def released(self, soil: Soil) -> float:
        """Share of that layer which is released under the rear arc of a wheel."""
        return 0.0 if self.tread is None else RELEASED * self.tread.lifted_share(soil)


def find_bodies(robot: Robot, model: mujoco.MjModel, wheel_shape: str | None) -> list[SoilBody]:
    """All of them: wheels, tracks, other geoms."""
    return [
        *find_wheels(robot, model, wheel_shape),
        *_tracks(robot, model),
        *_other_bodies(robot, model),
    ]


def find_wheels(robot: Robot, model: mujoco.MjModel, shape: str | None) -> list[SoilBody]:
    """The wheels, in a shape of their own or another one."""
    out = []
    for k, (name, w) in enumerate(robot.wheels.items()):
        kind = shape or w.shape
        taper = w.taper if kind == "cylinder" else 0.0
        radius = w.lug_height + (w.largest_radius if taper else w.radius)
        half, rounding, crown = w.width / 2, w.fillet, w.crown or 0.0
        if kind == "torus":
            rounding, half = w.width / 2, w.width / 2
        elif kind == "sphere":
            crown = radius
            half = min(half, radius) if w.shape != "sphere" else radius
        body = model.body(w.body).id
        out.append(
            SoilBody(
                WHEEL,
                body,
                model.joint(w.joint).id,
                -1,
                k,
                (radius, half, rounding, crown, taper),
                math.hypot(radius, half),
                2 * half,
                w.lug_height,
                np.zeros((0, 9)),
                f"wheel {name}",
                tread=Tread.of(w),
            )  # fmt: skip
        )
    return out


def _other_bodies(robot: Robot, model: mujoco.MjModel) -> list[SoilBody]:
    out = []
    for g, body, name, foot in colliding_geoms(robot, model):
        vertices, faces, width = _geom_mesh(model, g, name)
        corners = vertices[faces].reshape(-1, 9)
        reach = float(np.linalg.norm(vertices, axis=1).max())
        shape = (reach, width / 2, 0.0, 0.0, 0.0)
        out.append(
            SoilBody(
                MESH,
                body,
                -1,
                g,
                -1,
                shape,
                reach,
                width,
                0.0,
                corners,
                f"geom '{name}'",
                foot,
            )  # fmt: skip
        )
    return out


def _tracks(robot: Robot, model: mujoco.MjModel) -> list[SoilBody]:
    out = []
    for k, (name, track) in enumerate(robot.tracks.items()):
        corners = belt_triangles(track)
        reach = float(np.linalg.norm(corners.reshape(-1, 3), axis=1).max())
        shape = (reach, track.width / 2, 0.0, 0.0, 0.0)
        body = model.body(track.body).id
        out.append(
            SoilBody(
                BELT,
                body,
                -1,
                -1,
                -1,
                shape,
                reach,
                track.width,
                0.0,
                corners,
                f"track {name}",
                len(robot.feet) + k,
                track,
            )  # fmt: skip
        )
    return out


def _geom_mesh(model: mujoco.MjModel, g: int, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Vertices, faces (outward normals) and Bekker's width of a geom, in its own frame."""
    import trimesh

    kind = mujoco.mjtGeom(int(model.geom_type[g]))
    size = model.geom_size[g]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        mesh = trimesh.creation.box(extents=2 * size)
        width = 2 * float(min(size[0], size[1]))
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        mesh = trimesh.creation.cylinder(radius=size[0], height=2 * size[1], sections=72)
        width = float(size[0])
    elif kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        mesh = trimesh.creation.icosphere(subdivisions=3)
        radii = size if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID else np.full(3, size[0])
        mesh.apply_scale(radii)
        width = float(min(radii[:2]))
    elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        mesh = trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=[32, 32])
        mesh.apply_translation([0, 0, -mesh.bounds.mean(axis=0)[2]])
        width = 2 * float(size[0])
    elif kind == mujoco.mjtGeom.mjGEOM_MESH:
        m = int(model.geom_dataid[g])
        first, count = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
        start, faces = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
        vertices = np.array(model.mesh_vert[first : first + count], dtype=float)
        mesh = trimesh.Trimesh(vertices, model.mesh_face[start : start + faces], process=False)
        area = float(np.maximum(-mesh.face_normals[:, 2], 0) @ mesh.area_faces)
        width = 2 * math.sqrt(max(area, 1e-12) / math.pi)
    else:
        raise InputError(f"geom '{name}': a {kind.name[7:].lower()} cannot touch soil")
    return np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces), width


def wheel_gap(
    shape: Sequence[float], centre: np.ndarray, axis: np.ndarray, terrain: Surface
) -> float:
    """Smallest height of a wheel's surface over the undisturbed terrain [m]; its shape as in
    `Bodies.shape`."""
    radius, half, rounding, crown, taper = shape
    side = np.cross(axis, [0.0, 0.0, 1.0])
    side /= max(float(np.linalg.norm(side)), 1e-9)
    up = np.cross(side, axis)
    angle = np.linspace(-np.pi / 2, np.pi / 2, 181)[:, None, None]
    y = np.linspace(-half, half, 9)[None, :, None]
    R = radius + taper * y - abs(taper) * half
    if crown > 0:
        R += np.sqrt(np.maximum(crown**2 - y**2, 0.0)) - crown
    if rounding > 0:
        over = np.maximum(np.abs(y) - half + rounding, 0.0)
        R += np.sqrt(np.maximum(rounding**2 - over**2, 0.0)) - rounding
    rim = R * (np.sin(angle) * side - np.cos(angle) * up) + y * axis
    points = (centre + rim).reshape(-1, 3)
    return float(np.min(points[:, 2] - terrain.height(points[:, 0], points[:, 1])))


def check_resolution(bodies: Sequence[SoilBody], spacing: float) -> None:
    """Warn once where wheels, feet or belts stand on fewer than four nodes, a wheel at a twentieth
    of its radius' sinkage; other parts of the robot, which may never touch, are only counted."""
    coarse = [(body, nodes) for body in bodies if (nodes := _nodes(body, spacing)) < FEWEST_NODES]
    if not coarse:
        return
    organs = [(b, n) for b, n in coarse if b.kind in (WHEEL, BELT) or b.organ >= 0]
    others = [(b, n) for b, n in coarse if not (b.kind in (WHEEL, BELT) or b.organ >= 0)]
    said = []
    if organs:
        worst = min(organs, key=lambda pair: pair[1])
        said.append(f"{few([b.name for b, _ in organs], 8)} ({_size(*worst)})")
    if others:
        worst = min(others, key=lambda pair: pair[1])
        parts = "part" if len(others) == 1 else "parts"
        said.append(
            f"{len(others)} other {parts} should they touch (least: {worst[0].name}, "
            f"{_size(*worst)})"
        )
    warnings.warn(
        f"ground: spacing {spacing:g} m is too coarse for {' and '.join(said)}; at least "
        f"{FEWEST_NODES} nodes are needed",
        stacklevel=2,
    )


def _nodes(body: SoilBody, spacing: float) -> int:
    """Nodes of the grid under a body."""
    if body.kind == WHEEL:
        chord = 2 * body.shape[0] * math.sqrt(2 * 0.05)
        return math.floor(chord / spacing) * math.floor(2 * body.shape[1] / spacing)
    return math.floor(body.width / spacing) ** 2


def _size(body: SoilBody, nodes: int) -> str:
    radius = f", radius {body.shape[0]:g} m" if body.kind == WHEEL else ""
    return f"width {body.width:g} m{radius}: about {nodes} nodes under it"
