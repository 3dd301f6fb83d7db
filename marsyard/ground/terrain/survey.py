"""Survey of a terrain: a grid of its heights and soils, and summary numbers.

slope        angle of the gradient from central differences, so over two spacings
RMS slope    arctan of the root mean square of the gradient
roughness    ν(d), root mean square height difference of points d apart, along x and y (Allan
             deviation; Shepard et al. 2001)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.terrain import Terrain

MOST_POINTS = 16_000_000
SIDE = 500  # grid points along the longer side, unless a spacing is given
USUAL_SIZE = 20.0  # side of what is looked at of an endless terrain [m]


@dataclass(frozen=True)
class Survey:
    """Heights and soils of a part of a terrain.

    Attributes:
        x, y: coordinates of columns and rows [m].
        z: heights [m], shape [row, column]; soil: index into `soils`, likewise.
        spacing: grid spacing [m].
        soils: names; rocks: those of them that are rocks lying on the ground.
    """

    title: str
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    soil: np.ndarray
    spacing: float
    soils: tuple[str, ...]
    rocks: tuple[str, ...]

    @cached_property
    def gradient(self) -> np.ndarray:
        """Steepness, the tangent of the slope, shape [row, column]."""
        gy, gx = np.gradient(self.z, self.y, self.x)
        return np.hypot(gx, gy)

    @property
    def slope(self) -> np.ndarray:
        """[rad], shape [row, column]."""
        return np.arctan(self.gradient)

    @property
    def rms_slope(self) -> float:
        """[rad]."""
        return math.atan(math.sqrt(float(np.mean(self.gradient**2))))

    @property
    def steepest(self) -> tuple[float, float, float]:
        """Steepest slope [rad] and where it is, x, y [m]."""
        row, column = np.unravel_index(np.argmax(self.gradient), self.z.shape)
        return float(self.slope[row, column]), float(self.x[column]), float(self.y[row])

    def roughness(self, lag: float) -> tuple[float, float]:
        """The lag nearest to `lag` that the grid has, and ν there [m]."""
        steps = min(max(1, round(lag / self.spacing)), min(self.z.shape) - 1)
        along_x = self.z[:, steps:] - self.z[:, :-steps]
        along_y = self.z[steps:] - self.z[:-steps]
        mean = (np.sum(along_x**2) + np.sum(along_y**2)) / (along_x.size + along_y.size)
        return steps * self.spacing, math.sqrt(float(mean))

    def shares(self) -> dict[str, float]:
        """Share of the area by soil."""
        count = np.bincount(self.soil.ravel(), minlength=len(self.soils))
        return {name: float(n) / self.soil.size for name, n in zip(self.soils, count, strict=True)}


def survey(
    terrain: Terrain,
    size: tuple[float, float] | None = None,
    centre: tuple[float, float] | None = None,
    spacing: float | None = None,
) -> Survey:
    """Heights and soils on a grid around `centre` [m], `size` along x and y [m].

    By default all of a terrain that ends somewhere, else 20 m around the origin and, where the
    terrain has a crater of its own, all of that; 500 points along the longer side.
    """
    x0, x1, y0, y1 = _rectangle(terrain, size, centre)
    longer = max(x1 - x0, y1 - y0)
    step = longer / SIDE if spacing is None else spacing
    nx, ny = (max(2, round(length / step)) + 1 for length in (x1 - x0, y1 - y0))
    if nx * ny > MOST_POINTS:
        raise InputError(
            f"spacing = {step:g} m gives {nx} × {ny} points; at most {MOST_POINTS:.0e} are allowed"
        )
    # the same spacing along x and y, so the far sides may move by less than one
    x, y = x0 + step * np.arange(nx), y0 + step * np.arange(ny)
    columns, rows = np.meshgrid(x, y)
    rocks = tuple(dict.fromkeys(a.soil for a in terrain.layers if a.soil))
    return Survey(
        terrain.title, x, y, terrain.height(columns, rows), terrain.soil(columns, rows),
        step, terrain.soils, rocks,
    )  # fmt: skip


def usual_view(terrain: Terrain) -> tuple[float, float, float, float]:
    """Default view of an unbounded terrain: the surroundings of the origin, with whole craters."""
    half = USUAL_SIZE / 2
    found = [layer.feature for layer in terrain.layers if layer.feature is not None]
    x0, x1, y0, y1 = zip(*found, (-half, half, -half, half), strict=True)
    return min(x0), max(x1), min(y0), max(y1)


def _rectangle(
    terrain: Terrain, size: tuple[float, float] | None, centre: tuple[float, float] | None
) -> tuple[float, float, float, float]:
    bounds = terrain.bounds
    if size is None and centre is None and bounds is not None:
        return bounds
    if size is None and centre is None:
        return usual_view(terrain)
    width, depth = size or (USUAL_SIZE, USUAL_SIZE)
    if centre is None and bounds is not None:
        centre = (bounds[0] + bounds[1]) / 2, (bounds[2] + bounds[3]) / 2
    cx, cy = centre or (0.0, 0.0)
    x0, x1, y0, y1 = cx - width / 2, cx + width / 2, cy - depth / 2, cy + depth / 2
    if bounds is None:
        return x0, x1, y0, y1
    part = max(x0, bounds[0]), min(x1, bounds[1]), max(y0, bounds[2]), min(y1, bounds[3])
    if not (part[0] < part[1] and part[2] < part[3]):
        raise InputError(
            f"centre: the terrain covers x from {bounds[0]:g} to {bounds[1]:g} and y from "
            f"{bounds[2]:g} to {bounds[3]:g} m; the requested area is outside"
        )
    return part
