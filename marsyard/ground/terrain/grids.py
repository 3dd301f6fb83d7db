"""Heights on a regular grid: interpolation, holes, and the check for wrong units.

Between grid points heights are bilinear (`linear`: they stay within those around) or a bicubic
spline (`cubic`: slopes and curvatures continuous, may overshoot beside a cliff). A grid ends at its
outermost points (the middles of a raster's pixels).

Holes (NaN, nodata) are an error, or are filled by Laplace's equation: each missing height is the
mean of its four neighbours, weighted by 1/distance², those beyond the border left out. Where holes
are surrounded the fill has no bumps of its own and continues a plane exactly; at the border of the
grid it runs out level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.files.arrays import load_arrays
from marsyard.ground.terrain.layer import Bounds, Heights, Layer

HIGHEST = 30_000.0  # no solid body has heights beyond this against its datum [m]


@dataclass(frozen=True)
class Grid:
    """Values at x0 + i dx, y0 + j dy [m]: values[j, i], so rows run from south to north.

    `bounds` is the part that was asked for; None for all of it.
    """

    values: np.ndarray
    x0: float
    y0: float
    dx: float
    dy: float
    bounds: Bounds | None = None

    @property
    def extent(self) -> Bounds:
        """xmin, xmax, ymin, ymax of the grid points, within the bounds [m]."""
        rows, columns = self.values.shape
        whole = (
            self.x0, self.x0 + (columns - 1) * self.dx, self.y0, self.y0 + (rows - 1) * self.dy
        )  # fmt: skip
        if self.bounds is None:
            return whole
        a, b = whole, self.bounds
        return max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), min(a[3], b[3])


def array(spec: Any) -> Layer:
    """The layer of an array given from Python."""
    values = load_arrays(spec.values) if isinstance(spec.values, str) else spec.values
    try:
        values = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("values must be a table of numbers") from None
    grid = Grid(values, spec.origin[0], spec.origin[1], spec.spacing, spec.spacing)
    return grid_layer(grid, spec.interpolation, spec.holes)


def file(spec: Any, folder: Path | None) -> Layer:
    """The layer of an elevation file."""
    from marsyard.ground.terrain.files import read_heights

    grid = read_heights(spec, folder)
    layer = grid_layer(grid, spec.interpolation, spec.holes, spec.file)
    _check_units(spec.file, grid)
    if spec.datum == "file":
        return layer
    at_origin = spec.datum == "origin"
    zero = float(layer.heights(np.zeros(1), np.zeros(1))[0]) if at_origin else spec.datum
    return Layer(lambda x, y: layer.heights(x, y) - zero, layer.bounds)


def grid_layer(grid: Grid, interpolation: str, holes: str, name: str = "values") -> Layer:
    """A layer that interpolates a grid."""
    if grid.values.ndim != 2 or min(grid.values.shape) < 2:
        shape = " × ".join(str(n) for n in grid.values.shape)
        raise InputError(f"{name}: a grid needs at least 2 × 2 points, not {shape}")
    values = grid.values
    missing = ~np.isfinite(values)
    if missing.any():
        values = _without_holes(grid, missing, holes, name)
    return Layer(interpolator(values, grid, interpolation), grid.extent)


def interpolator(values: np.ndarray, grid: Grid, interpolation: str) -> Heights:
    """Heights between the points of a grid without holes."""
    from scipy.ndimage import map_coordinates, spline_filter

    order, mode = (1, "nearest") if interpolation == "linear" else (3, "mirror")
    table = values if order == 1 else spline_filter(values, order=3, mode="mirror")
    rows, columns = values.shape

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        where = np.stack([
            np.clip((y - grid.y0) / grid.dy, 0, rows - 1),
            np.clip((x - grid.x0) / grid.dx, 0, columns - 1),
        ])  # fmt: skip
        return map_coordinates(table, where, order=order, mode=mode, prefilter=False)

    return heights


def _without_holes(grid: Grid, missing: np.ndarray, holes: str, name: str) -> np.ndarray:
    if missing.all():
        raise InputError(f"{name}: no point of it has a height")
    if holes == "error":
        row, column = np.argwhere(missing)[0]
        raise InputError(
            f"{name}: {missing.sum()} of {missing.size} points have no height, the first at "
            f"x = {grid.x0 + column * grid.dx:.6g}, y = {grid.y0 + row * grid.dy:.6g} m; choose "
            f"another window, or set 'holes: fill' to interpolate"
            ""
        )
    return fill(grid.values, missing, grid.dx, grid.dy)


def fill(values: np.ndarray, missing: np.ndarray, dx: float = 1.0, dy: float = 1.0) -> np.ndarray:
    """Values with holes filled by Laplace's equation, from the values around them."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    number = np.full(missing.shape, -1)
    number[missing] = np.arange(missing.sum())
    rows, columns, weights = [], [], []
    diagonal, right = np.zeros(missing.sum()), np.zeros(missing.sum())
    here, there = (slice(None, -1), slice(1, None))
    for axis, weight in ((0, dy**-2.0), (1, dx**-2.0)):
        for a, b in ((here, there), (there, here)):
            own = (a, slice(None)) if axis == 0 else (slice(None), a)
            next_ = (b, slice(None)) if axis == 0 else (slice(None), b)
            wanted = missing[own]
            k, neighbour = number[own][wanted], number[next_][wanted]
            known = neighbour < 0
            np.add.at(diagonal, k, weight)
            np.add.at(right, k[known], weight * values[next_][wanted][known])
            rows.append(k[~known])
            columns.append(neighbour[~known])
            weights.append(np.full((~known).sum(), -weight))
    every = np.arange(len(diagonal))
    matrix = coo_array(
        (
            np.concatenate([diagonal, *weights]),
            (np.concatenate([every, *rows]), np.concatenate([every, *columns])),
        )
    )
    out = values.copy()
    out[missing] = spsolve(matrix.tocsc(), right, permc_spec="MMD_AT_PLUS_A")
    return out


def _check_units(name: str, grid: Grid) -> None:
    """Heights beyond reason for a planet, or steeper than a wall, are a mistaken unit."""
    xmin, xmax, ymin, ymax = grid.extent
    values = grid.values[np.isfinite(grid.values)]
    low, high, size = float(values.min()), float(values.max()), max(xmax - xmin, ymax - ymin)
    units = "check 'unit', 'scale', 'nodata' and 'spacing' ('horizontal_unit')"
    if max(-low, high) > HIGHEST:
        raise InputError(
            f"{name}: heights run from {low:.4g} to {high:.4g} m, beyond ±30 km; {units}"
        )
    if high - low > size:
        raise InputError(
            f"{name}: heights differ by {high - low:.4g} m over an extent of only {size:.4g} m; "
            f"{units}"
        )


def nearest(grid: Grid) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Values of the nearest point of a grid; outside, of the nearest on its border."""
    rows, columns = grid.values.shape

    def values(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        i = np.clip(np.floor((x - grid.x0) / grid.dx + 0.5), 0, columns - 1).astype(np.int64)
        j = np.clip(np.floor((y - grid.y0) / grid.dy + 0.5), 0, rows - 1).astype(np.int64)
        return grid.values[j, i]

    return values
