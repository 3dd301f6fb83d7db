"""Extent of shapes: support functions of geoms, and roundness about an axis.

The support function of a shape S in the direction u (a unit vector) is h(u) = max over p in S of
p·u [m]. It is exact for MuJoCo's shapes and, for a mesh, for its corners. A body is round about an
axis a through p if

    h(u) − p·u        is nearly the same for all u across a

its radius is the largest of them and its width h(a) + h(−a).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

_AROUND = 360  # directions across an axis


class Round(NamedTuple):
    """A body about an axis: radius and width [m], middle along the axis from the given place [m],
    and smallest over largest reach across it (1 is round)."""

    radius: float
    width: float
    middle: float
    roundness: float


def reach(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, directions: np.ndarray
) -> np.ndarray:
    """Support function of a geom in the world [m] for directions [n, 3]; shape [n]."""
    turn = data.geom_xmat[geom].reshape(3, 3)
    u = directions @ turn
    size = model.geom_size[geom]
    kind = int(model.geom_type[geom])
    types = mujoco.mjtGeom
    if kind == types.mjGEOM_SPHERE:
        own = np.full(len(u), size[0])
    elif kind == types.mjGEOM_CAPSULE:
        own = size[0] + size[1] * np.abs(u[:, 2])
    elif kind == types.mjGEOM_CYLINDER:
        own = size[0] * np.hypot(u[:, 0], u[:, 1]) + size[1] * np.abs(u[:, 2])
    elif kind == types.mjGEOM_ELLIPSOID:
        own = np.linalg.norm(u * size, axis=1)
    elif kind == types.mjGEOM_BOX:
        own = np.abs(u) @ size
    elif kind == types.mjGEOM_MESH:
        own = (u @ vertices(model, geom).T).max(axis=1)
    else:
        own = np.zeros(len(u))
    return own + directions @ data.geom_xpos[geom]


def vertices(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Corners of a mesh in the frame of its geom [m], shape [n, 3]."""
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return np.asarray(model.mesh_vert[first : first + count], dtype=float)


def reach_of(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Sequence[int], directions: np.ndarray
) -> np.ndarray:
    """The same for several geoms together."""
    return np.max([reach(model, data, g, directions) for g in geoms], axis=0)


def about(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geoms: Sequence[int],
    place: np.ndarray,
    axis: np.ndarray,
) -> Round:
    """Geoms about an axis (unit vector) through a place [m], both in the world."""
    start = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    start /= np.linalg.norm(start)
    side = np.cross(axis, start)
    angles = 2 * np.pi * np.arange(_AROUND) / _AROUND
    across = np.outer(np.cos(angles), start) + np.outer(np.sin(angles), side)
    around = reach_of(model, data, geoms, across) - across @ place
    left, right = reach_of(model, data, geoms, np.array([axis, -axis])) - (
        np.array([axis, -axis]) @ place
    )
    largest = float(around.max())
    roundness = float(around.min()) / largest if largest > 0 else 0.0
    return Round(largest, float(left + right), float(left - right) / 2, roundness)


def lowest(model: mujoco.MjModel, data: mujoco.MjData, geoms: Sequence[int]) -> float:
    """Height of the lowest point of geoms [m]; infinite without any."""
    if not len(geoms):
        return np.inf
    return -float(reach_of(model, data, geoms, np.array([[0.0, 0.0, -1.0]]))[0])


def highest(model: mujoco.MjModel, data: mujoco.MjData, geoms: Sequence[int]) -> float:
    """Height of the highest point of geoms [m]; minus infinite without any."""
    if not len(geoms):
        return -np.inf
    return float(reach_of(model, data, geoms, np.array([[0.0, 0.0, 1.0]]))[0])
