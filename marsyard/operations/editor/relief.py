"""The edited ground as heights and soils on a grid, and its intersection with rays.

Heights of layers are added in the order of the scenario, as the terrain itself adds them, so that
both agree to the last bit. Layers that were made once are kept, and so are the last few sums: after
an edit only what is new is computed.

A ray p(t) = o + t d meets the surface that is drawn, bilinear between the grid's points, where
f(t) = p_z − z(p_x, p_y) changes its sign from above: the first interval of half a spacing in which
it does is halved until it is shorter than a micrometre.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from marsyard.ground.terrain import Terrain, build_terrain
from marsyard.ground.terrain.terrain import Known, layer_key
from marsyard.scenario import Scenario, TerrainSpec, load_terrain
from marsyard.scenario.soil import TerrainGround

SIDE = 200  # cells along the longer side of what is shown
SIZE = 20.0  # side of what is shown of an endless ground [m]
LEAST = 1.0  # [m]
SUMS = 12  # that are kept
SPARE = 32  # layers that are kept for undo

#: xmin, xmax, ymin, ymax [m]
Area = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Relief:
    """Heights and soils on a grid.

    x, y: places of columns and rows [m]; z: heights [m] and soil: index into `soils`, shape
    [row, column]. terrain: None where the scenario has none; then the ground is level at 0.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    soil: np.ndarray
    soils: tuple[str, ...]
    terrain: Terrain | None

    @property
    def area(self) -> Area:
        """What the grid covers [m]."""
        return float(self.x[0]), float(self.x[-1]), float(self.y[0]), float(self.y[-1])

    @property
    def spacing(self) -> float:
        """Of the grid [m]."""
        return float(self.x[1] - self.x[0])

    @property
    def bounds(self) -> Area | None:
        """Where the ground ends [m]; None: nowhere."""
        return None if self.terrain is None else self.terrain.bounds

    def height(self, x: Any, y: Any) -> np.ndarray:
        """Heights of the undisturbed ground at places x, y [m]."""
        if self.terrain is None:
            return np.zeros(np.broadcast(x, y).shape)
        return self.terrain.height(x, y)

    def soil_at(self, x: float, y: float) -> str:
        """Name of the soil at a place; none where the ground is hard."""
        if self.terrain is None:
            return ""
        return self.soils[int(self.terrain.soil(np.array([x]), np.array([y]))[0])]

    def drawn(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Heights of the drawn surface [m], bilinear, x and y of shape [n]."""
        u = np.clip((x - self.x[0]) / self.spacing, 0, len(self.x) - 1.000001)
        v = np.clip((y - self.y[0]) / self.spacing, 0, len(self.y) - 1.000001)
        i, j = u.astype(int), v.astype(int)
        u, v = u - i, v - j
        z = self.z
        return (z[j, i] * (1 - u) + z[j, i + 1] * u) * (1 - v) + (
            z[j + 1, i] * (1 - u) + z[j + 1, i + 1] * u
        ) * v

    def hit(self, origin: Any, direction: Any) -> tuple[float, float, float] | None:
        """Where a ray first meets the drawn surface from above [m]; None where it does not."""
        start, ray = np.asarray(origin, float), np.asarray(direction, float)
        span = self._inside(start, ray)
        if span is None:
            return None
        step = 0.5 * self.spacing / max(float(np.linalg.norm(ray)), 1e-12)
        t = np.linspace(*span, max(2, min(20_000, math.ceil((span[1] - span[0]) / step) + 1)))
        over = self._over(start, ray, t)
        crossed = np.flatnonzero((over[:-1] >= 0) & (over[1:] < 0))
        if not len(crossed):
            return None
        low, high = t[crossed[0]], t[crossed[0] + 1]
        while (high - low) * np.linalg.norm(ray) > 1e-6:
            middle = (low + high) / 2
            if self._over(start, ray, np.array([middle]))[0] >= 0:
                low = middle
            else:
                high = middle
        x, y, z = start + (low + high) / 2 * ray
        return float(x), float(y), float(z)

    def _over(self, start: np.ndarray, ray: np.ndarray, t: np.ndarray) -> np.ndarray:
        x, y, z = (start[:, None] + ray[:, None] * t).reshape(3, -1)
        return z - self.drawn(x, y)

    def _inside(self, start: np.ndarray, ray: np.ndarray) -> tuple[float, float] | None:
        """The part of a ray within the box around the drawn surface."""
        x0, x1, y0, y1 = self.area
        room = self.spacing + 1e-6
        low = (x0, y0, float(self.z.min()) - room)
        high = (x1, y1, float(self.z.max()) + room)
        first, last = 0.0, math.inf
        for p, d, a, b in zip(start, ray, low, high, strict=True):
            if abs(d) < 1e-15:
                if not a <= p <= b:
                    return None
                continue
            near, far = sorted(((a - p) / d, (b - p) / d))
            first, last = max(first, near), min(last, far)
        return (first, last) if first < last < math.inf else None


class ReliefMaker:
    """Makes reliefs of scenarios that differ little from each other."""

    def __init__(self) -> None:
        self._layers: Known = {}
        self._sums: OrderedDict[tuple[Any, ...], np.ndarray] = OrderedDict()

    def forget(self) -> None:
        """Read files anew the next time."""
        self._layers.clear()
        self._sums.clear()

    def make(self, scenario: Scenario, area: Area | None = None, side: int = SIDE) -> Relief:
        """The relief of a scenario's ground; `area`: of an endless one, what is shown."""
        spec = _terrain_spec(scenario)
        terrain = build_terrain(spec[0], spec[1], self._layers) if spec else None
        x, y = _axes(_shown(terrain, area), side)
        columns, rows = np.meshgrid(x, y)
        if terrain is None or spec is None:
            zero = np.zeros(columns.shape)
            return Relief(x, y, zero, zero.astype(np.int64), ("hard",), None)
        keys = [layer_key(spec[0], k) for k in range(len(spec[0].layers))]
        self._drop_layers(keys)
        z = self._heights(terrain, keys, columns, rows)
        return Relief(x, y, z, terrain.soil(columns, rows), terrain.soils, terrain)

    def _drop_layers(self, needed: list[Any]) -> None:
        """Forget the oldest layers that are not needed now."""
        spare = [key for key in self._layers if key not in set(needed)]
        for key in spare[:-SPARE]:
            del self._layers[key]

    def _heights(
        self, terrain: Terrain, keys: list[Any], columns: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Σ layers, from the longest sum that is known."""
        if None in keys:
            return terrain.height(columns, rows)
        grid = (columns[0, 0], columns[-1, -1], rows[0, 0], rows[-1, -1], columns.shape)
        x, y, _ = terrain.inside(columns, rows)
        count = len(keys)
        while count and (grid, terrain.bounds, *keys[:count]) not in self._sums:
            count -= 1
        known = self._sums.get((grid, terrain.bounds, *keys[:count])) if count else None
        total = np.zeros(x.shape) if known is None else known.copy()
        for layer in terrain.layers[count:]:
            total += layer.heights(x, y)
        key = (grid, terrain.bounds, *keys)
        self._sums[key] = total
        self._sums.move_to_end(key)
        while len(self._sums) > SUMS:
            self._sums.popitem(last=False)
        return total.reshape(columns.shape).copy()


def _terrain_spec(scenario: Scenario) -> tuple[TerrainSpec, Any] | None:
    for ground in scenario.ground:
        if isinstance(ground, TerrainGround):
            if isinstance(ground.terrain, str):
                return load_terrain(ground.terrain)
            return ground.terrain, None
    return None


def _shown(terrain: Terrain | None, area: Area | None) -> Area:
    half = SIZE / 2
    wanted = area or (-half, half, -half, half)
    bounds = None if terrain is None else terrain.bounds
    if bounds is None:
        return wanted
    if area is None:
        return bounds
    part = (
        max(wanted[0], bounds[0]), min(wanted[1], bounds[1]),
        max(wanted[2], bounds[2]), min(wanted[3], bounds[3]),
    )  # fmt: skip
    return part if part[0] < part[1] and part[2] < part[3] else bounds


def _axes(area: Area, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of columns and rows, the same spacing along both, within the area [m]."""
    x0, x1, y0, y1 = area
    step = max(x1 - x0, y1 - y0) / side
    nx, ny = (max(1, math.floor((b - a) / step + 1e-9)) + 1 for a, b in ((x0, x1), (y0, y1)))
    return x0 + step * np.arange(nx), y0 + step * np.arange(ny)
