"""Which soil lies where: rocks over places over a map over the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.ground.terrain.layer import Layer

if TYPE_CHECKING:
    from marsyard.scenario.terrain import TerrainSpec

#: x, y [m] of one shape -> true where a place covers them
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

    patches: list[tuple[int, Covers]] = [(number(p.soil), _covers(p)) for p in spec.places]
    patches += [(number(a.soil), a.covers) for a in layers if a.soil and a.covers is not None]

    def index(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.zeros(x.shape, dtype=np.int64)
        for soil, covers in patches:
            out[covers(x, y)] = soil
        return out

    return SoilMapping(tuple(names), index)


def _covers(place: Any) -> Covers:
    if place.kind == "circle":
        x0, y0 = place.centre
        return lambda x, y: np.hypot(x - x0, y - y0) <= place.radius
    points = np.array(place.points)
    return lambda x, y: in_polygon(x, y, points)


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
