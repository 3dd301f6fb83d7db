"""Triangles for drawing: the geometry of a MuJoCo model per body, and of ground surfaces.

Nothing here takes part in physics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np
import xarray as xr

from marsyard.drawing.solids import Solid, box, capsule, cylinder, ellipsoid, join, torus
from marsyard.ground import Box, Plane, Sphere, Surface, TriangleMesh
from marsyard.rotations import matrix_of

if TYPE_CHECKING:
    import trimesh

Colour = tuple[int, int, int]

SAND: tuple[Colour, Colour] = ((168, 112, 76), (152, 98, 64))
ROCK: Colour = (112, 84, 70)
STEEL: Colour = (186, 189, 194)
BLACK: Colour = (52, 54, 58)
MARK: Colour = (240, 120, 30)
TILE = 0.5  # edge of a tile [m]
MARGIN = 8.0  # ground shown beyond the track [m]


class GroundMesh(NamedTuple):
    """A piece of ground: vertices [m], shape (n, 3), triangles, shape (m, 3), colour and name."""

    vertices: np.ndarray
    triangles: np.ndarray
    colour: Colour
    name: str


class Shape(NamedTuple):
    """Triangles of one colour in the frame of a body: vertices [m] and triangles."""

    vertices: np.ndarray
    triangles: np.ndarray
    colour: Colour


# --- ground


def ground_meshes(surfaces: Sequence[Surface], ds: xr.Dataset) -> list[GroundMesh]:
    """What to draw of the ground surfaces; of a plane the patch around the track, in tiles."""
    meshes: list[GroundMesh] = []
    for surface in surfaces:
        if isinstance(surface, Plane):
            meshes += _tiles(surface, ds)
        elif isinstance(surface, Sphere):
            ball = ellipsoid(np.full(3, surface.radius), 40, 64).moved(surface.centre)
            meshes.append(GroundMesh(ball.vertices, ball.faces, ROCK, surface.name))
        elif isinstance(surface, Box):
            block = box(2 * np.asarray(surface.half_size))
            vertices = block.vertices @ surface.rotation_matrix().T + np.asarray(surface.centre)
            meshes.append(GroundMesh(vertices, block.faces, ROCK, surface.name))
        elif isinstance(surface, TriangleMesh):
            # corners of their own for each triangle, so that edges look like edges
            vertices = np.asarray(surface.vertices)[np.asarray(surface.triangles)].reshape(-1, 3)
            triangles = np.arange(len(vertices)).reshape(-1, 3)
            meshes.append(GroundMesh(vertices, triangles, ROCK, surface.name))
    return meshes


def _tiles(plane: Plane, ds: xr.Dataset) -> list[GroundMesh]:
    """The patch of a plane around the track as a chessboard of two shades."""
    track = ds["position_base"].transpose("time", "axis").values
    track = track[np.isfinite(track).all(axis=1)]
    normal, point = np.asarray(plane.normal), np.asarray(plane.point)
    # tiles are squares of the x-y grid carried down onto the plane; vertical planes are not drawn
    if normal[2] < 1e-3 or not len(track):
        return []
    low = np.floor((track[:, :2].min(axis=0) - MARGIN) / TILE)
    high = np.ceil((track[:, :2].max(axis=0) + MARGIN) / TILE)
    size = TILE * max(1.0, np.ceil((high - low).max() / 400))
    low, high = np.floor(low * TILE / size), np.ceil(high * TILE / size)
    i, j = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]), indexing="ij")
    corners = np.stack([i, j], axis=-1).reshape(-1, 1, 2) + [[0, 0], [1, 0], [1, 1], [0, 1]]
    xy = corners * size
    z = point[2] - ((xy - point[:2]) @ normal[:2]) / normal[2]
    vertices = np.concatenate([xy, z[..., None]], axis=-1)
    shade = ((i + j) % 2).reshape(-1).astype(bool)
    meshes = []
    for picked, colour, suffix in ((shade, SAND[0], "light"), (~shade, SAND[1], "dark")):
        corner = 4 * np.arange(int(picked.sum()))[:, None, None]
        triangles = (corner + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
        name = f"{plane.name}/{suffix}"
        meshes.append(GroundMesh(vertices[picked].reshape(-1, 3), triangles, colour, name))
    return meshes


# --- robot


def body_shapes(model: mujoco.MjModel, smooth: bool = True) -> dict[int, list[Shape]]:
    """Shapes of each body that moves, by its number, in its own frame; wheels carry marks.

    `smooth`: meshes of models get own vertices on both sides of sharp edges, for those who shade by
    vertices.
    """
    shapes: dict[int, list[Shape]] = {}
    for geom in seen_geoms(model):
        body = int(model.geom_bodyid[geom])
        solid = geom_solid(model, geom, smooth)
        if solid is None:
            continue
        rotation = matrix_of(model.geom_quat[geom])
        vertices = solid.vertices @ rotation.T + model.geom_pos[geom]
        shapes.setdefault(body, []).append(Shape(vertices, solid.faces, _colour(model, geom)))
    for body in wheel_bodies(model):
        if body in shapes:
            joint = int(model.body_jntadr[body])
            axis, anchor = model.jnt_axis[joint], model.jnt_pos[joint]
            shapes[body] += _wheel_marks(shapes[body], axis, anchor)
    return shapes


def seen_geoms(model: mujoco.MjModel) -> list[int]:
    """Numbers of the geoms of moving bodies that are drawn.

    By custom shapes that only collide are in group 3 and above, unless there are no others.
    """
    moving = model.geom_group[model.geom_bodyid > 0]
    hidden = 3 if moving.size and moving.min() < 3 else 6
    seen = (model.geom_bodyid > 0) & (model.geom_rgba[:, 3] > 0) & (model.geom_group < hidden)
    return np.flatnonzero(seen).tolist()


def wheel_bodies(model: mujoco.MjModel) -> list[int]:
    """Bodies at the end of a chain, round about their one hinge, which has no stops."""
    parents = set(model.body_parentid.tolist())
    found = []
    for body in range(1, model.nbody):
        joint = int(model.body_jntadr[body])
        if body in parents or model.body_jntnum[body] != 1:
            continue
        if int(model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_HINGE):
            continue
        geoms = np.flatnonzero(model.geom_bodyid == body).tolist()
        if not model.jnt_limited[joint] and any(_is_round(model, joint, g) for g in geoms):
            found.append(body)
    return found


def _is_round(model: mujoco.MjModel, joint: int, geom: int) -> bool:
    """Whether a geom is of a round kind and has its middle on the joint's axis, or nearly so."""
    off = np.cross(model.geom_pos[geom] - model.jnt_pos[joint], model.jnt_axis[joint])
    near = np.linalg.norm(off) < 0.2 * model.geom_rbound[geom]
    return int(model.geom_type[geom]) in _ROUND and bool(near)


_BOX = int(mujoco.mjtGeom.mjGEOM_BOX)
_SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)
_ELLIPSOID = int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)
_CAPSULE = int(mujoco.mjtGeom.mjGEOM_CAPSULE)
_MESH = int(mujoco.mjtGeom.mjGEOM_MESH)
_ROUND = (_CYLINDER, _SPHERE, _ELLIPSOID, _MESH)


def _trimesh():
    import trimesh
    import trimesh.creation

    return trimesh


def geom_solid(model: mujoco.MjModel, geom: int, smooth: bool = True) -> Solid | None:
    """Triangles of a geom in its own frame; None for planes and height fields."""
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    if kind == _BOX:
        return box(2 * size)
    if kind == _SPHERE:
        return ellipsoid(np.full(3, size[0]))
    if kind == _ELLIPSOID:
        return ellipsoid(size)
    if kind == _CYLINDER:
        return cylinder(size[0], 2 * size[1])
    if kind == _CAPSULE:
        return capsule(size[0], 2 * size[1])
    if kind != _MESH:
        return None
    data = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[data]), int(model.mesh_vertnum[data])
    start, faces = int(model.mesh_faceadr[data]), int(model.mesh_facenum[data])
    solid = Solid(
        np.array(model.mesh_vert[first : first + count], dtype=float),
        np.array(model.mesh_face[start : start + faces]),
    )
    return _split_edges(solid) if smooth else solid


def geom_mesh(model: mujoco.MjModel, geom: int) -> trimesh.Trimesh | None:
    """The same for those who write meshes to files."""
    solid = geom_solid(model, geom)
    return None if solid is None else _trimesh().Trimesh(*solid, process=False)


def _split_edges(solid: Solid) -> Solid:
    """The same mesh with own vertices on both sides of sharp edges, so that shading shows them."""
    if len(solid.faces) > 20000:
        return solid
    mesh = _trimesh().Trimesh(*solid, process=False)
    split = _trimesh().graph.smooth_shade(mesh, angle=np.radians(35))
    return Solid(np.asarray(split.vertices), np.asarray(split.faces))


def _colour(model: mujoco.MjModel, geom: int) -> Colour:
    material = int(model.geom_matid[geom])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    red, green, blue = (round(255 * float(c)) for c in np.clip(rgba[:3], 0, 1))
    return red, green, blue


def _wheel_marks(shapes: list[Shape], axis: np.ndarray, anchor: np.ndarray) -> list[Shape]:
    """Spokes, ribs and one coloured mark, so that the turning of a wheel can be seen."""
    vertices = np.concatenate([s.vertices for s in shapes]) - anchor
    axis = axis / np.linalg.norm(axis)
    along = vertices @ axis
    across = vertices - along[:, None] * axis
    radius = float(np.linalg.norm(across, axis=1).max())
    middle, half = float(along.max() + along.min()) / 2, float(np.ptp(along)) / 2
    # a frame of the wheel: third axis along the axle
    first = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    frame = np.stack([first, np.cross(axis, first), axis], axis=1)
    if half > 0.6 * radius:
        parts = _ball_marks(round(radius, 6))
    else:
        parts = _disc_marks(round(radius, 6), round(half, 6))
    centre = anchor + middle * axis
    return [Shape(m.vertices @ frame.T + centre, m.faces, c) for m, c in parts]


@lru_cache(maxsize=8)
def _ball_marks(radius: float) -> list[tuple[Solid, Colour]]:
    """Two dark rings through the poles of a ball-shaped wheel, and a bright dot on one."""
    ring = torus(radius, 0.03 * radius).turned(np.pi / 2, 0)
    dot = ellipsoid(np.full(3, 0.14 * radius), 10, 20).moved([0.93 * radius, 0, 0])
    return [(join([ring, ring.turned(np.pi / 2)]), BLACK), (dot, MARK)]


@lru_cache(maxsize=8)
def _disc_marks(radius: float, half: float) -> list[tuple[Solid, Colour]]:
    """Six spokes that stand out of both faces, ribs on the tread and a mark near the rim."""
    width = 2 * half + 0.06 * radius
    # of slightly different width, or they flicker where they cross
    spokes = [
        box([1.7 * radius, 0.1 * radius, width + 0.005 * k * radius]).turned(np.pi * k / 3)
        for k in range(3)
    ]
    rib = box([0.05 * radius, 0.05 * radius, 1.9 * half]).moved([0.985 * radius, 0, 0])
    ribs = [rib.turned(2 * np.pi * k / 20) for k in range(20)]
    mark = box([0.3 * radius, 0.16 * radius, width + 0.04 * radius]).moved([0.7 * radius, 0, 0])
    return [(join(spokes), STEEL), (join(ribs), BLACK), (mark, MARK)]
