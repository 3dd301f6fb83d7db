"""3D scene of a recording: the robot on the recorded ground."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from marsyard.drawing.meshes import SAND, GroundMesh
from marsyard.results.bags.reading import Topics
from marsyard.results.bags.recording import Recording
from marsyard.results.dataset import record_intervals
from marsyard.results.replay import Scene, build_scene
from marsyard.robot import Robot

#: most points of the ground that is drawn
_MOST = 20_000
#: triangles with an edge this many times the usual one are gaps between points
_GAP = 5.0


def bag_scene(
    path: str | Path, robot: str | Robot | None = None, topics: Topics | None = None
) -> Scene:
    """The scene of a recording, for `serve`; see `recording` for what it takes."""
    recording = Recording(path, robot, topics)
    ground = ground_mesh(recording.terrain())
    return build_scene(recording.model, with_contacts(recording.dataset()), ground)


def with_contacts(ds: xr.Dataset) -> xr.Dataset:
    """A recording with its wrenches as contacts, drawn at the lowest points of the wheels, because
    a wrench does not say where the ground acts; as it is where it has none."""
    if "wheel_force" not in ds or ds.sizes["time"] < 2:
        return ds
    axle, force = ds["wheel_axle"].values, ds["wheel_force"]
    down = axle[..., 2:] * axle - [0.0, 0.0, 1.0]
    down /= np.maximum(np.linalg.norm(down, axis=-1, keepdims=True), 1e-9)
    radius = (ds["wheel_radius"] + ds["grouser_height"]).values
    lowest = ds["wheel_position"] + radius[:, None] * down
    return ds.assign(
        contact_point=lowest.where(np.isfinite(force)),
        contact_impulse_world=force * record_intervals(ds),
    )


def ground_mesh(points: np.ndarray | None) -> list[GroundMesh]:
    """Points of a ground [m], [n, 3], as triangles (Delaunay's, seen from above)."""
    from scipy.spatial import Delaunay, QhullError

    if points is None or len(points) < 3:
        return []
    points = _thinned(points)
    try:
        triangles = Delaunay(points[:, :2] - points[0, :2]).simplices
    except QhullError:
        return []
    corners = points[triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    triangles = triangles[edges < _GAP * np.median(edges)]
    return [GroundMesh(points, triangles, SAND[0], "terrain")]


def _thinned(points: np.ndarray) -> np.ndarray:
    """At most about `_MOST` points, one in each square of a grid."""
    if len(points) <= _MOST:
        return points
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    side = max(float(np.sqrt(np.prod(high - low) / _MOST)), float(np.max(high - low)) / _MOST)
    cell = np.floor((points[:, :2] - low) / side).astype(np.int64)
    _, first = np.unique(cell, axis=0, return_index=True)
    return points[np.sort(first)]
