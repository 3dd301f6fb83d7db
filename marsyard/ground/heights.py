"""Height of hard ground and terrain over x and y, seen from above.

Planes, balls and boxes exactly. Of a mesh with many triangles the highest sample in each cell of a
grid of 2 cm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from marsyard.ground.geometry import Surface
from marsyard.ground.shapes import BOX_TRIANGLES, Box, Plane, Sphere
from marsyard.ground.triangle_mesh import TriangleMesh

if TYPE_CHECKING:
    from marsyard.ground.terrain import Terrain

#: of the grid for meshes of many triangles [m]
CELL = 0.02
#: triangles up to which a mesh is asked point by point
_FEW = 64

Heights = Callable[[np.ndarray, np.ndarray], np.ndarray]


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
