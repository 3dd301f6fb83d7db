"""Where a ray meets the ground, and how high the ground is.

    hit = ground.hit(origin, direction)      # a click in a 3D view

The nearest hit in front of the ray counts.

- Plane with normal n through p: t = n·(p − o)/(n·d).
- Terrain z = h(x, y): the ray is followed in steps of `STEP`, growing with distance, until it is
  below the terrain; the crossing is then found by bisection to 0.1 mm. Features thinner than a step
  that the ray only grazes may be missed.
- Triangles (balls, boxes, meshes as they are drawn): Möller and Trumbore, Journal of Graphics Tools
  2 (1997) 21, over all triangles at once.

Heights, for what is drawn on the ground, are those of planes and terrain: the highest at a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from marsyard.ground.terrain import Terrain
    from marsyard.scenario.schema import Scenario

STEP = 0.05  # [m]
GROWTH = 1.01  # of steps
FARTHEST = 2000.0  # [m]
_NEAR = 1e-9


class ClickedGround:
    """The ground of a scenario, for clicks."""

    def __init__(self, scenario: Scenario) -> None:
        from marsyard.ground import Plane
        from marsyard.interaction.soft_ground import terrain_of
        from marsyard.scenario.soil import TerrainGround
        from marsyard.simulation.world import make_surfaces

        self.surfaces = make_surfaces(scenario)
        grounds = [g for g in scenario.ground if isinstance(g, TerrainGround)]
        self.terrain: Terrain | None = terrain_of(grounds[0]) if grounds else None
        self.planes = [
            (np.asarray(s.normal, dtype=float), np.asarray(s.point, dtype=float))
            for s in self.surfaces
            if isinstance(s, Plane)
        ]
        self._corners = self._triangles()

    def _triangles(self) -> np.ndarray:
        """Corners of all triangles that are drawn, but of planes, shape (n, 3, 3) [m]."""
        import xarray as xr

        from marsyard.drawing.meshes import ground_meshes
        from marsyard.ground import Plane

        nowhere = xr.Dataset({"position_base": (("time", "axis"), np.zeros((0, 3)))})
        others = [s for s in self.surfaces if not isinstance(s, Plane)]
        parts = [m.vertices[m.triangles] for m in ground_meshes(others, nowhere)]
        return np.concatenate(parts) if parts else np.zeros((0, 3, 3))

    def hit(self, origin, direction) -> np.ndarray | None:
        """Where a ray from `origin` [m] meets the ground [m]; none if it does not."""
        o, d = np.asarray(origin, dtype=float), np.asarray(direction, dtype=float)
        length = float(np.linalg.norm(d))
        if not (np.isfinite(o).all() and np.isfinite(length) and length > 0):
            return None
        d = d / length
        ways = [self._to_plane(o, d, n, p) for n, p in self.planes]
        ways += [_to_triangles(o, d, self._corners), self._to_terrain(o, d)]
        nearest = min(ways)
        return o + nearest * d if nearest <= FARTHEST else None

    @staticmethod
    def _to_plane(o: np.ndarray, d: np.ndarray, normal: np.ndarray, point: np.ndarray) -> float:
        slope = float(normal @ d)
        way = float(normal @ (point - o)) / slope if abs(slope) > _NEAR else np.inf
        return way if way > _NEAR else np.inf

    def _to_terrain(self, o: np.ndarray, d: np.ndarray) -> float:
        if self.terrain is None:
            return np.inf
        count = int(np.log(1 + FARTHEST * (GROWTH - 1) / STEP) / np.log(GROWTH)) + 1
        ways = STEP * (GROWTH ** np.arange(count + 1) - 1) / (GROWTH - 1)
        below = self._depth(o + ways[:, None] * d) > 0
        if below[0] or not below.any():
            return np.inf
        last = int(np.argmax(below))
        low, high = float(ways[last - 1]), float(ways[last])
        while high - low > 1e-4:
            middle = (low + high) / 2
            if self._depth(o + middle * d[None])[0] > 0:
                high = middle
            else:
                low = middle
        return high

    def _depth(self, points: np.ndarray) -> np.ndarray:
        """How far points are below the terrain [m]; negative where there is none."""
        assert self.terrain is not None
        b = self.terrain.bounds
        height = self.terrain.height(points[:, 0], points[:, 1])
        depth = np.nan_to_num(height - points[:, 2], nan=-1.0)
        if b is not None:
            x, y = points[:, 0], points[:, 1]
            depth[(x < b[0]) | (x > b[1]) | (y < b[2]) | (y > b[3])] = -1.0
        return depth

    def height(self, x, y, other: float = 0.0) -> np.ndarray:
        """Height of planes and terrain at points [m]; `other` where there are none."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        best = np.full(x.shape, -np.inf)
        for n, p in self.planes:
            if n[2] > 1e-3:
                z = p[2] - (n[0] * (x - p[0]) + n[1] * (y - p[1])) / n[2]
                best = np.maximum(best, z)
        if self.terrain is not None:
            best = np.fmax(best, self.terrain.height(x, y))
        return np.where(np.isfinite(best), best, other)


def _to_triangles(o: np.ndarray, d: np.ndarray, corners: np.ndarray) -> float:
    """Way along a ray to the nearest of some triangles, from either side [m]; inf for none."""
    if not len(corners):
        return np.inf
    a, e1, e2 = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(d, e2)
    det = np.einsum("ij,ij->i", e1, across)
    # a ray along a triangle does not meet it
    seen = np.abs(det) > 1e-15
    det = np.where(seen, det, 1.0)
    s = o - a
    u = np.einsum("ij,ij->i", s, across) / det
    q = np.cross(s, e1)
    v = q @ d / det
    way = np.einsum("ij,ij->i", e2, q) / det
    inside = seen & (u >= 0) & (v >= 0) & (u + v <= 1) & (way > _NEAR)
    return float(way[inside].min(initial=np.inf))
