"""A recording to look at: the robot as it was, on the ground that was recorded with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marsyard.results._meshes import SAND, GroundMesh
from marsyard.results.bags.reading import Topics
from marsyard.results.bags.recording import Recording
from marsyard.results.replay import Scene, build_scene
from marsyard.robot import Robot

#: triangles with an edge this many times the usual one are gaps between points
_GAP = 5.0


def bag_scene(
    path: str | Path, robot: str | Robot | None = None, topics: Topics | None = None
) -> Scene:
    """The scene of a recording, for `serve`; see `recording` for what it takes."""
    recording = Recording(path, robot, topics)
    ground = ground_mesh(recording.terrain())
    return build_scene(recording.model, recording.dataset(), ground)


def ground_mesh(points: np.ndarray | None) -> list[GroundMesh]:
    """Points of a ground [m], [n, 3], as triangles (Delaunay's, seen from above)."""
    from scipy.spatial import Delaunay, QhullError

    if points is None or len(points) < 3:
        return []
    try:
        triangles = Delaunay(points[:, :2] - points[0, :2]).simplices
    except QhullError:
        return []
    corners = points[triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    triangles = triangles[edges < _GAP * np.median(edges)]
    return [GroundMesh(points, triangles, SAND[0], "terrain")]
