"""Clearance under the belly: how far the underside of a rover's base is above the ground.

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

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from marsyard.ground import Box, Plane, Sphere, Surface, TriangleMesh
from marsyard.ground.shapes import BOX_TRIANGLES

if TYPE_CHECKING:
    from marsyard.ground.terrain import Terrain
    from marsyard.robot import Robot
    from marsyard.simulation import Simulation

#: of the points of the underside [m]
SPACING = 0.05
#: thickness of what counts as underside [m]
LAYER = 0.25
#: of the grid for meshes of many triangles [m]
CELL = 0.02
#: triangles up to which a mesh is asked point by point
_FEW = 64

Heights = Callable[[np.ndarray, np.ndarray], np.ndarray]


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
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, start: np.ndarray, way: np.ndarray
) -> float:
    if int(model.geom_type[geom]) == mujoco.mjtGeom.mjGEOM_MESH:
        return float(mujoco.mj_rayMesh(model, data, geom, start, way))
    return float(
        mujoco.mju_rayGeom(
            data.geom_xpos[geom], data.geom_xmat[geom], model.geom_size[geom], start, way,
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


def height_of(
    surfaces: Sequence[Surface], terrain: Terrain | None, box: Sequence[float]
) -> Heights:
    """Height of surfaces and terrain, −∞ where there is none."""
    parts = [_height(s, box) for s in surfaces]

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        out = np.full(x.shape, -np.inf) if terrain is None else terrain.height(x, y)
        for part in parts:
            out = np.maximum(out, part(x, y))
        return out

    return height


def _height(surface: Surface, box: Sequence[float]) -> Heights:
    if isinstance(surface, Plane):
        return _plane(surface)
    if isinstance(surface, Sphere):
        return _sphere(surface)
    if isinstance(surface, Box):
        return _triangles(surface.corners()[BOX_TRIANGLES])
    assert isinstance(surface, TriangleMesh)
    corners = np.asarray(surface.vertices)[np.asarray(surface.triangles)]
    x0, x1, y0, y1 = box
    near = (corners[..., 0].max(1) >= x0) & (corners[..., 0].min(1) <= x1)
    near &= (corners[..., 1].max(1) >= y0) & (corners[..., 1].min(1) <= y1)
    corners = corners[near]
    return _triangles(corners) if len(corners) <= _FEW else _raster(corners, box)


def _plane(plane: Plane) -> Heights:
    point, normal = np.asarray(plane.point), np.asarray(plane.normal)
    if normal[2] < 1e-9:
        return lambda x, y: np.full(x.shape, -np.inf)

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return point[2] - ((x - point[0]) * normal[0] + (y - point[1]) * normal[1]) / normal[2]

    return height


def _sphere(ball: Sphere) -> Heights:
    cx, cy, cz = ball.centre

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        left = ball.radius**2 - (x - cx) ** 2 - (y - cy) ** 2
        return np.where(left >= 0, cz + np.sqrt(np.maximum(left, 0.0)), -np.inf)

    return height


def _triangles(corners: np.ndarray) -> Heights:
    """Highest of triangles [n, 3, 3] above each point."""

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.full(x.shape, -np.inf)
        for a, b, c in corners:
            u, v = b - a, c - a
            area = u[0] * v[1] - u[1] * v[0]
            if abs(area) < 1e-15:
                continue
            dx, dy = x - a[0], y - a[1]
            s, t = (dx * v[1] - dy * v[0]) / area, (dy * u[0] - dx * u[1]) / area
            inside = (s >= -1e-12) & (t >= -1e-12) & (s + t <= 1 + 1e-12)
            out = np.where(inside, np.maximum(out, a[2] + s * u[2] + t * v[2]), out)
        return out

    return height


def _raster(corners: np.ndarray, box: Sequence[float]) -> Heights:
    """Triangles laid onto a grid: the highest sample in each cell."""
    x0, x1, y0, y1 = box
    nx, ny = (1 + int(np.ceil((b - a) / CELL)) for a, b in ((x0, x1), (y0, y1)))
    grid = np.full((nx + 1, ny + 1), -np.inf)
    longest = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=-1).max(axis=1)
    parts = np.maximum(1, np.ceil(longest / (0.5 * CELL))).astype(int)
    for count in np.unique(parts):
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        keep = i + j <= count
        share = np.stack([count - i - j, i, j], axis=-1)[keep] / count
        samples = np.einsum("sk,nkd->nsd", share, corners[parts == count]).reshape(-1, 3)
        a = np.floor((samples[:, 0] - x0) / CELL).astype(int)
        b = np.floor((samples[:, 1] - y0) / CELL).astype(int)
        inside = (a >= 0) & (a <= nx) & (b >= 0) & (b <= ny)
        np.maximum.at(grid, (a[inside], b[inside]), samples[inside, 2])

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        a = np.clip(np.floor((x - x0) / CELL).astype(int), 0, nx)
        b = np.clip(np.floor((y - y0) / CELL).astype(int), 0, ny)
        return grid[a, b]

    return height


# --- both


def clearance(
    points: np.ndarray, position: np.ndarray, quaternion: np.ndarray, height: Heights
) -> np.ndarray:
    """Clearance [m], [time], of points of the underside at poses of the base: position [time, 3]
    and quaternion [time, 4], w x y z."""
    w, x, y, z = quaternion.T
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    world = position[:, None] + np.einsum("abt,pb->tpa", R, points)
    return (world[..., 2] - height(world[..., 0], world[..., 1])).min(axis=1)
