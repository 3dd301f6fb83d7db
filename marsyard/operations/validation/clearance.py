"""Belly clearance: height of the underside of a rover's base above the ground.

The underside is that of the base and what is fixed to it, seen straight from below in the base's
own frame: a grid of points, `SPACING` apart and with the edges of every shape on it, each at the
lowest place of the shapes above it (found by rays upwards); of them those up to `LAYER` above the
lowest, so that decks and solar panels do not count. At a pose with attitude R and position p the
clearance is

    c = min over points s of  (p + R s)_z − h((p + R s)_x, (p + R s)_y)

with h the height of the ground before it was driven on: the highest of the terrain (soft ground)
and of planes, balls, boxes and meshes (hard ground). c < 0: the belly is in the ground. Meshes of
many triangles are laid onto a grid of 2 cm, the highest point in each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from marsyard.ground.heights import Heights, height_of
from marsyard.rotations import matrices

if TYPE_CHECKING:
    from marsyard.robot import Robot
    from marsyard.simulation import Simulation

#: of the points of the underside [m]
SPACING = 0.05
#: thickness of what counts as underside [m]
LAYER = 0.25


# --- the underside


def belly_points(model: mujoco.MjModel, robot: Robot) -> np.ndarray:
    """Points of the underside in the frame of the base [m], [n, 3]."""
    base = model.body(robot.base).id
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    turn, place = data.xmat[base].reshape(3, 3), data.xpos[base]
    organs = {w.body for w in robot.wheels.values()} | {f.body for f in robot.feet.values()}
    fixed = {
        int(b)
        for b in np.flatnonzero(model.body_weldid == model.body_weldid[base])
        if b > 0 and model.body(b).name not in organs
    }
    solid = [g for g in range(model.ngeom) if _solid(model, g)]
    geoms = [g for g in solid if int(model.geom_bodyid[g]) in fixed]
    found = [_underside(model, data, g, turn, place) for g in geoms]
    points = np.concatenate([np.zeros((0, 3)), *found])
    if not len(points):
        return points
    return _lowest(points[points[:, 2] <= points[:, 2].min() + LAYER])


def _solid(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a shape is there: to be seen, or to be touched."""
    touched = model.geom_contype[geom] or model.geom_conaffinity[geom]
    return bool(touched or model.geom_rgba[geom, 3] > 0)


def _underside(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, turn: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Lowest points of one shape in the frame of the base [m], [n, 3]."""
    low, high = _box_around(model, data, geom, turn, place)
    hair = 1e-6 * np.maximum(high - low, 1e-6)
    axes = [
        np.linspace(a + h, b - h, 1 + max(1, int(np.ceil((b - a) / SPACING))))
        for a, b, h in zip(low[:2], high[:2], hair[:2], strict=True)
    ]
    x, y = (v.ravel() for v in np.meshgrid(*axes))
    up, below = turn @ [0.0, 0.0, 1.0], low[2] - 1.0
    points = []
    for at in zip(x, y, strict=True):
        start = place + turn @ np.array([*at, below])
        distance = _ray(model, data, geom, start, up)
        if distance >= 0:
            points.append([*at, below + distance])
    return np.array(points).reshape(-1, 3)


def _ray(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, start: np.ndarray, ray: np.ndarray
) -> float:
    if int(model.geom_type[geom]) == mujoco.mjtGeom.mjGEOM_MESH:
        return float(mujoco.mj_rayMesh(model, data, geom, start, ray))
    return float(
        mujoco.mju_rayGeom(
            data.geom_xpos[geom], data.geom_xmat[geom], model.geom_size[geom], start, ray,
            int(model.geom_type[geom]),
        )
    )  # fmt: skip


def _box_around(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, turn: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest coordinates of a shape in the frame of the base [m]."""
    from marsyard.robot.extent import reach

    mine = place @ turn
    high = reach(model, data, geom, turn.T) - mine
    low = -reach(model, data, geom, -turn.T) - mine
    return low, high


def _lowest(points: np.ndarray) -> np.ndarray:
    """Of points in the same cell of a grid the lowest."""
    cells = np.round(points[:, :2] / SPACING).astype(np.int64)
    order = np.lexsort((points[:, 2], cells[:, 1], cells[:, 0]))
    cells, points = cells[order], points[order]
    first = np.ones(len(points), dtype=bool)
    first[1:] = np.any(np.diff(cells, axis=0) != 0, axis=1)
    return points[first]


# --- the ground


def ground_height(simulation: Simulation, box: Sequence[float]) -> Heights:
    """Height of the ground [m] over x and y [m] within a box (x from, to; y from, to) [m]."""
    soil = simulation.world.soil
    terrain: Any = None if soil is None else soil.grid.terrain
    return height_of(simulation.world.surfaces, terrain, box)


# --- both


def clearance(
    points: np.ndarray, position: np.ndarray, quaternion: np.ndarray, height: Heights
) -> np.ndarray:
    """Clearance [m], [time], of points of the underside at poses of the base: position [time, 3]
    and quaternion [time, 4], w x y z."""
    world = position[:, None] + np.einsum("tab,pb->tpa", matrices(quaternion), points)
    return (world[..., 2] - height(world[..., 0], world[..., 1])).min(axis=1)
