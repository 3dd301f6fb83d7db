"""Local soils: rocks override places, places override a map, the map overrides the default.

A map gives the soil of its nearest pixel, within its window; beyond it the default lies. A legend
says which value, or which colour "#rrggbb", is which soil.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.layer import Layer

if TYPE_CHECKING:
    from marsyard.scenario.terrain import TerrainSpec

#: x, y [m], shape [n] -> true where a place covers them
Covers = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SoilMapping:
    """Names of the soils, the default first, and their index at points x, y [m]."""

    names: tuple[str, ...]
    index: Callable[[np.ndarray, np.ndarray], np.ndarray]


def map_soils(
    spec: TerrainSpec, layers: Sequence[Layer], folder: Path | None, default: str
) -> SoilMapping:
    """The soils of a terrain."""
    names = [spec.soil or default]

    def number(name: str) -> int:
        if name not in names:
            names.append(name)
        return names.index(name)

    base = _map(spec.soil_map, folder, number) if spec.soil_map is not None else None
    patches: list[tuple[int, Covers]] = [(number(p.soil), _covers(p)) for p in spec.places]
    patches += [(number(a.soil), a.covers) for a in layers if a.soil and a.covers is not None]

    def index(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.zeros(x.shape, dtype=np.int64) if base is None else base(x, y)
        for soil, covers in patches:
            out[covers(x, y)] = soil
        return out

    return SoilMapping(tuple(names), index)


def _map(spec: Any, folder: Path | None, number: Callable[[str], int]) -> Covers:
    """Index of the soil by a map."""
    from marsyard.ground.terrain.files import read_classes
    from marsyard.ground.terrain.grids import Grid, nearest

    grid = read_classes(spec, folder)
    soils = np.zeros(grid.values.shape, dtype=np.int64)
    known = ~np.isfinite(grid.values)  # no data: the default soil
    for key, soil in spec.legend.items():
        here = grid.values == _legend_value(key)
        known |= here
        soils[here] = 0 if soil is None else number(soil)
    if not known.all():
        values = np.unique(grid.values[~known])
        listed = ", ".join(f"{v:g}" for v in values[:5]) + (", …" if len(values) > 5 else "")
        raise InputError(f"soil_map.legend: the values {listed} of {spec.file} are not listed")
    # a pixel reaches half its size beyond its middle
    xmin, xmax, ymin, ymax = grid.extent
    if grid.bounds is None:
        xmin, xmax = xmin - grid.dx / 2, xmax + grid.dx / 2
        ymin, ymax = ymin - grid.dy / 2, ymax + grid.dy / 2
    pick = nearest(Grid(soils, grid.x0, grid.y0, grid.dx, grid.dy))

    def index(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        inside = (x >= xmin) & (x <= xmax) & (y >= ymin) & (y <= ymax)
        return np.where(inside, pick(x, y), 0)

    return index


def _legend_value(key: str) -> float:
    try:
        return float(int(key[1:], 16)) if key.startswith("#") else float(key)
    except ValueError:
        raise InputError(
            f"soil_map.legend: '{key}' is neither a number nor a colour such as '#c08040'"
        ) from None


def _covers(place: Any) -> Covers:
    if place.kind == "circle":
        x0, y0 = place.centre
        return lambda x, y: np.hypot(x - x0, y - y0) <= place.radius
    points = np.array(place.points)
    if place.kind == "band":
        return lambda x, y: line_distance(x, y, points) <= place.radius
    return lambda x, y: in_polygon(x, y, points)


def line_distance(x: np.ndarray, y: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distance [m] of places from a line through `points` [m], shape [n, 2]."""
    nearest = np.full(x.shape, np.inf)
    for (x0, y0), (x1, y1) in zip(points[:-1], points[1:], strict=True):
        dx, dy = x1 - x0, y1 - y0
        square = dx * dx + dy * dy
        along = ((x - x0) * dx + (y - y0) * dy) / square if square > 0 else np.zeros(x.shape)
        along = np.clip(along, 0.0, 1.0)
        nearest = np.minimum(nearest, np.hypot(x - x0 - along * dx, y - y0 - along * dy))
    return nearest


def in_polygon(x: np.ndarray, y: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Whether points lie in a polygon of corners `points` [m], shape [n, 2]; even-odd rule."""
    inside = np.zeros(x.shape, dtype=bool)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        # a ray to the right crosses this edge
        crosses = (y0 > y) != (y1 > y)
        inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside
