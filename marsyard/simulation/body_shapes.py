"""Bodies other than wheels on a mesh of triangles.

MuJoCo collides its shapes with planes, balls, boxes and each other, but takes a mesh for its convex
hull. On a mesh ground the robot's colliding shapes are therefore handed to the same exact kernels
as the wheels: a sphere and a cylinder as they are; a capsule as a row of balls, at most one radius
apart; a box by balls in its eight corners, so that its corners and edges are rounded (by a fifth of
its smallest half size) while its faces keep their place. A sharp ridge of the ground that meets a
box between its corners, or a capsule between its balls, is felt only by the next of these.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground import GroundArrays, Surface, TriangleMesh, pack
from marsyard.interaction.contact_geometry import CYLINDER, SPHERE

_ROUNDING = 0.2


class BodyShapes(NamedTuple):
    """Shapes in the frame of their body, one row each."""

    body: np.ndarray  # int64
    position: np.ndarray  # float64[n, 3] [m]
    axis: np.ndarray  # float64[n, 3]
    kind: np.ndarray  # int64
    radius: np.ndarray  # float64 [m]
    width: np.ndarray  # float64 [m], half width of a cylinder


def body_shapes(model: mujoco.MjModel, surfaces: tuple[Surface, ...]) -> BodyShapes:
    """The colliding shapes of the robot as the mesh kernels take them; none without a mesh."""
    rows: list[tuple[int, np.ndarray, np.ndarray, int, float, float]] = []
    if any(isinstance(s, TriangleMesh) for s in surfaces):
        for g in range(model.ngeom):
            collides = model.geom_contype[g] or model.geom_conaffinity[g]
            if model.geom_bodyid[g] > 0 and collides:
                rows += _rows(model, g)
    return BodyShapes(
        body=np.array([r[0] for r in rows], dtype=np.int64),
        position=np.array([r[1] for r in rows], dtype=float).reshape(-1, 3),
        axis=np.array([r[2] for r in rows], dtype=float).reshape(-1, 3),
        kind=np.array([r[3] for r in rows], dtype=np.int64),
        radius=np.array([r[4] for r in rows], dtype=float),
        width=np.array([r[5] for r in rows], dtype=float),
    )


def mesh_ground(surfaces: tuple[Surface, ...]) -> tuple[GroundArrays, np.ndarray]:
    """The meshes alone, packed, and their numbers among all surfaces."""
    numbers = [i for i, s in enumerate(surfaces) if isinstance(s, TriangleMesh)]
    return pack([surfaces[i] for i in numbers]), np.array(numbers, dtype=np.int64)


def _rows(
    model: mujoco.MjModel, g: int
) -> list[tuple[int, np.ndarray, np.ndarray, int, float, float]]:
    body = int(model.geom_bodyid[g])
    centre, size = np.array(model.geom_pos[g]), model.geom_size[g]
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[g])
    turn = rotation.reshape(3, 3)
    axis = turn[:, 2]
    kind = int(model.geom_type[g])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return [(body, centre, axis, SPHERE, float(size[0]), 0.0)]
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return [(body, centre, axis, CYLINDER, float(size[0]), float(size[1]))]
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        count = 2 + int(2 * size[1] / size[0])
        places = np.linspace(-size[1], size[1], count)
        return [(body, centre + s * axis, axis, SPHERE, float(size[0]), 0.0) for s in places]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        radius = _ROUNDING * float(min(size))
        signs = itertools.product((-1.0, 1.0), repeat=3)
        corners = [centre + turn @ (np.array(s) * (size - radius)) for s in signs]
        return [(body, c, axis, SPHERE, radius, 0.0) for c in corners]
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}"
    raise InputError(
        f"robot: '{name}' cannot collide with a mesh ground; give it a sphere, capsule, cylinder "
        "or box, or set its contype and conaffinity to 0"
    )
