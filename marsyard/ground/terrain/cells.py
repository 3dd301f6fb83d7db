"""Which of many small things lie at a place: square cells, each with a list of what touches it.

The functions here and in the modules that use it are compiled on their own, apart from the kernels
of the engine, so that a change here costs no new compilation there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from marsyard.kernel_cache import cached

MOST_CELLS = 1_000_000


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function of terrain (decorator)."""
    return cached(njit(nogil=True, error_model="numpy")(function), function)


class Cells(NamedTuple):
    """A table of cells over a rectangle.

    Attributes:
        xmin, ymin: lower left corner [m]; size: edge of a cell [m]; nx, ny: number of cells.
        first: where the list of each cell begins in `item`, shape [nx ny + 1].
        item: numbers of the things, cell after cell.
        width, height: period along x and y [m]; 0 does not repeat.
    """

    xmin: float
    ymin: float
    size: float
    nx: int
    ny: int
    first: np.ndarray
    item: np.ndarray
    width: float = 0.0
    height: float = 0.0


def make_cells(
    low: np.ndarray, high: np.ndarray, repeat: tuple[float, float, float, float] | None = None
) -> Cells:
    """Cells for things in boxes from `low` to `high` [m], shape [n, 2].

    With `repeat` (xmin, xmax, ymin, ymax) the table covers that rectangle, which is repeated;
    things that reach over its border must be there once more on the other side.
    """
    if repeat is None:
        xmin, ymin = low.min(axis=0)
        xmax, ymax = high.max(axis=0)
    else:
        xmin, xmax, ymin, ymax = repeat
    wide, deep = max(xmax - xmin, 1e-9), max(ymax - ymin, 1e-9)
    size = max(
        float(np.median(high - low)), math.sqrt(wide * deep / MOST_CELLS), max(wide, deep) / 30_000
    )
    nx, ny = int(wide / size) + 1, int(deep / size) + 1
    first, item = _fill(low, high, float(xmin), float(ymin), size, nx, ny)
    period = (float(wide), float(deep)) if repeat is not None else (0.0, 0.0)
    return Cells(float(xmin), float(ymin), size, nx, ny, first, item, *period)


@compiled
def _fill(low, high, xmin, ymin, size, nx, ny):
    """The lists of all cells: count, then fill."""
    first = np.zeros(nx * ny + 1, np.int64)
    item = np.zeros(0, np.int64)
    for fill in range(2):
        if fill:
            for c in range(nx * ny):
                first[c + 1] += first[c]
            item = np.zeros(first[nx * ny], np.int64)
            at = first[:-1].copy()
        for k in range(len(low)):
            i0 = max(0, int(math.floor((low[k, 0] - xmin) / size)))
            i1 = min(nx - 1, int(math.floor((high[k, 0] - xmin) / size)))
            j0 = max(0, int(math.floor((low[k, 1] - ymin) / size)))
            j1 = min(ny - 1, int(math.floor((high[k, 1] - ymin) / size)))
            for j in range(j0, j1 + 1):
                for i in range(i0, i1 + 1):
                    c = j * nx + i
                    if fill:
                        item[at[c]] = k
                        at[c] += 1
                    else:
                        first[c + 1] += 1
    return first, item


@compiled
def wrapped(x, low, period):
    """`x` brought into [low, low + period) when there is a period."""
    return x - math.floor((x - low) / period) * period if period > 0.0 else x


@compiled
def cell_of(cells, x, y):
    """Number of the cell at x, y; −1 outside."""
    i = int(math.floor((x - cells.xmin) / cells.size))
    j = int(math.floor((y - cells.ymin) / cells.size))
    if i < 0 or j < 0 or i >= cells.nx or j >= cells.ny:
        return -1
    return j * cells.nx + i


def repeated(
    centre: np.ndarray, reach: np.ndarray, area: tuple[float, float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Copies for a repeated area: number of the original and centre [m] of each that reaches in."""
    xmin, xmax, ymin, ymax = area
    numbers, centres = [], []
    for i in (0, -1, 1):
        for j in (0, -1, 1):
            c = centre + np.array([i * (xmax - xmin), j * (ymax - ymin)])
            in_x = (c[:, 0] + reach > xmin) & (c[:, 0] - reach < xmax)
            in_y = (c[:, 1] + reach > ymin) & (c[:, 1] - reach < ymax)
            picked = np.flatnonzero(in_x & in_y)
            numbers.append(picked)
            centres.append(c[picked])
    return np.concatenate(numbers), np.concatenate(centres)
