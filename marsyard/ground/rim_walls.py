"""Walls below the rim of an open mesh.

A sheet of triangles has a side everywhere but no end: past its rim a point below its plane would be
as deep inside as it is far from the rim, and just above that plane as far outside. What rolls over
the rim would meet this jump and gain energy. With walls hung from the rim, against the normals, the
sheet is the top of a solid whose distance is continuous there. Laws of elastic contact need it.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def rim_sides(triangles: Array, vertices: int) -> tuple[Array, Array]:
    """Sides of triangles that no other triangle shares: which, bool[t, 3] (a side follows its
    corner), and their vertices from and to, int64[·, 2]."""
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1)
    low, high = sides.min(axis=-1).reshape(-1), sides.max(axis=-1).reshape(-1)
    _, number, count = np.unique(
        low * np.int64(vertices) + high, return_inverse=True, return_counts=True
    )
    alone = (count[number] == 1).reshape(-1, 3)
    return alone, sides[alone]


def hang_walls(points: Array, triangles: Array, height: float) -> tuple[Array, Array]:
    """Vertices and triangles of a mesh with walls of this height [m] below its rim; those of a
    closed one as they are."""
    _, border = rim_sides(triangles, len(points))
    if not len(border):
        return points, triangles
    normal = np.zeros_like(points)
    corners = points[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    for k in range(3):
        np.add.at(normal, triangles[:, k], cross)
    upper = np.unique(border)
    length = np.linalg.norm(normal[upper], axis=1, keepdims=True)
    below = points[upper] - height * normal[upper] / np.maximum(length, 1e-300)
    lower = np.zeros(len(points), dtype=np.int64)
    lower[upper] = len(points) + np.arange(len(upper))
    a, b = border[:, 0], border[:, 1]
    walls = np.concatenate(
        [np.stack([b, a, lower[a]], axis=1), np.stack([b, lower[a], lower[b]], axis=1)]
    )
    return np.concatenate([points, below]), np.concatenate([triangles, walls])
