"""Bodies other than wheels on a mesh of triangles.

MuJoCo collides its shapes with planes, balls, boxes and each other, but takes a mesh for its convex
hull. On a mesh ground the robot's colliding shapes are therefore handed to the same exact kernels
as the wheels: a sphere and a cylinder as they are; a capsule as a row of balls, at most one radius
apart; a box by balls in its eight corners, so that its corners and edges are rounded (by a fifth of
its smallest half size) while its faces keep their place; a mesh likewise by balls in the corners of
its convex hull, of which at most 24 are taken. A sharp ridge of the ground that meets a box or a
hull between its corners, or a capsule between its balls, is felt only by the next of these.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground import GroundArrays, Surface, TriangleMesh, pack
from marsyard.interaction.contact_geometry.kinds import CYLINDER, SPHERE
from marsyard.jit import F1, F2, I1, by_reference
from marsyard.robot.extent import vertices
from marsyard.rotations import matrix_of

_ROUNDING = 0.2


@by_reference
class BodyShapes(NamedTuple):
    """Shapes in the frame of their body, one row each."""

    body: I1
    position: F2  # [n, 3] [m]
    axis: F2  # [n, 3]
    kind: I1
    radius: F1  # [m]
    width: F1  # [m], half width of a cylinder


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
    turn = matrix_of(model.geom_quat[g])
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
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        balls, radius = _hull_balls(vertices(model, g))
        return [(body, centre + turn @ c, axis, SPHERE, radius, 0.0) for c in balls]
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}"
    raise InputError(
        f"robot: '{name}' cannot collide with a mesh ground; give it a sphere, capsule, "
        "cylinder, box or mesh, or set its contype and conaffinity to 0"
    )


def _hull_balls(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centres [n, 3] and radius [m] of balls in the corners of the points' convex hull.

    A ball's centre c is the point nearest to its corner v that is one radius inside of all faces
    there: least |c − v| with n·(c − v) ≤ −r for their outward normals n, a least distance problem
    (Lawson and Hanson 1974, ch. 23).
    """
    from scipy.optimize import nnls
    from scipy.spatial import ConvexHull

    from marsyard.robot.convex_pieces import fewer_corners

    hull = ConvexHull(fewer_corners(points[ConvexHull(points).vertices]))
    inside = hull.points.mean(axis=0)
    radius = _ROUNDING * float(-(hull.equations[:, :3] @ inside + hull.equations[:, 3]).max())
    centres = []
    for v in hull.vertices:
        inward = -hull.equations[(hull.simplices == v).any(axis=1), :3]
        system = np.vstack([inward.T, np.full(len(inward), radius)])
        goal = np.array([0.0, 0.0, 0.0, 1.0])
        rest = system @ nnls(system, goal)[0] - goal
        centres.append(hull.points[v] - rest[:3] / rest[3])
    return np.array(centres), radius
