"""The ground around a run as points, before and while it is driven over.

Soft ground: nodes of its grid in a rectangle around the track. A node has its undisturbed height
until it was last changed, and from then on that of the end: a rut appears when the wheel is
through. Hard ground: corners of its triangles, divided until no edge is longer than the spacing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from marsyard.drawing.meshes import ground_meshes
from marsyard.results.ground_file import FILE_NAME, Ground, load_ground
from marsyard.scenario import Scenario

#: most points of a cloud; ground shown beyond the track [m]; finest spacing on hard ground [m]
MOST_POINTS = 120_000
AROUND = 2.0
FINEST = 0.1
#: how often ruts are brought up to date in a run
UPDATES = 10


@dataclass(frozen=True)
class Cloud:
    """Points [m] of the ground, shape [n, 3], and by how much each is above its undisturbed place
    [m], shape [n]."""

    points: np.ndarray
    change: np.ndarray


def clouds(folder: Path, scenario: Scenario, ds: xr.Dataset) -> Iterator[tuple[float, Cloud]]:
    """Times [s] and the ground from then on; the first is that of the start."""
    time = ds["time"].values.astype(float)
    hard = _hard_points(scenario, ds)
    soft = load_ground(folder) if (folder / FILE_NAME).exists() else None
    if soft is None:
        if len(hard):
            yield float(time[0]), Cloud(hard, np.zeros(len(hard)))
        return
    part = _around(soft, ds)
    base = part["undisturbed"].values
    known = np.isfinite(base)
    x, y = np.meshgrid(part["x"].values, part["y"].values)
    change, when = part["change"].values[known], part["time"].values[known]
    place = np.column_stack([x[known], y[known], base[known]])
    before = -1
    for t in np.linspace(time[0], time[-1], UPDATES + 1):
        there = (change != 0) & (np.isnan(when) | (when <= t))
        if int(there.sum()) == before:
            continue
        before = int(there.sum())
        risen = np.where(there, change, 0.0)
        points = place + risen[:, None] * [0.0, 0.0, 1.0]
        both = np.concatenate([points, hard])
        yield float(t), Cloud(both, np.concatenate([risen, np.zeros(len(hard))]))


def _around(ground: Ground, ds: xr.Dataset) -> xr.Dataset:
    """The grid around the track, thinned out so that it stays small."""
    track = ds["position_base"].transpose("time", "axis").values[:, :2]
    track = track[np.isfinite(track).all(axis=1)]
    low, high = track.min(axis=0) - AROUND, track.max(axis=0) + AROUND
    nodes = np.prod((high - low) / ground.spacing + 1)
    every = max(1, int(np.ceil(np.sqrt(nodes / MOST_POINTS))))
    return ground.window(low[0], high[0], low[1], high[1], every=every)


def _hard_points(scenario: Scenario, ds: xr.Dataset) -> np.ndarray:
    """Points on the hard ground [m], [n, 3]."""
    from marsyard.simulation import make_surfaces

    meshes = ground_meshes(make_surfaces(scenario), ds)
    triangles = [np.asarray(m.vertices, dtype=float)[np.asarray(m.triangles)] for m in meshes]
    triangles = [t for t in triangles if len(t)]
    if not triangles:
        return np.zeros((0, 3))
    return _divided(triangles)


def _divided(triangles: Sequence[np.ndarray]) -> np.ndarray:
    """Corners of triangles [m, 3, 3] that are divided until they are small, each once."""
    from trimesh.remesh import subdivide_to_size

    corners = np.concatenate(triangles)
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    # a square of the spacing has about two triangles and one corner of its own
    spacing = max(FINEST, float(np.sqrt(area.sum() / MOST_POINTS)))
    points, _ = subdivide_to_size(
        corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3), 1.5 * spacing, 40
    )
    return np.unique(np.round(points, 6), axis=0)
