"""Simple solids as triangles for drawing, oriented outwards.

Vertices are split where faces meet at an edge, so that shading by vertices shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Solid(NamedTuple):
    """Vertices [m], shape [n, 3], and triangles, shape [m, 3]."""

    vertices: np.ndarray
    faces: np.ndarray

    def moved(self, by: Sequence[float] | np.ndarray) -> Solid:
        """Shifted by a vector [m]."""
        return Solid(self.vertices + np.asarray(by, dtype=float), self.faces)

    def turned(self, angle: float, axis: int = 2) -> Solid:
        """Turned about x, y or z (0, 1, 2) by an angle [rad]."""
        c, s = np.cos(angle), np.sin(angle)
        i, j = ((1, 2), (2, 0), (0, 1))[axis]
        turn = np.eye(3)
        turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
        return Solid(self.vertices @ turn.T, self.faces)


def join(parts: Sequence[Solid]) -> Solid:
    """Several solids as one."""
    first = np.cumsum([0, *(len(p.vertices) for p in parts)])
    faces = [p.faces + n for p, n in zip(parts, first, strict=False)]
    return Solid(np.concatenate([p.vertices for p in parts]), np.concatenate(faces))


def box(extents: Sequence[float] | np.ndarray) -> Solid:
    """A box of these edges [m] about the origin."""
    half = np.asarray(extents, dtype=float) / 2
    vertices: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, i], corners[:, j] = (-1, 1, 1, -1), (-1, -1, 1, 1)
            order = [[0, 1, 2], [0, 2, 3]] if side > 0 else [[0, 2, 1], [0, 3, 2]]
            faces.append(np.array(order) + 4 * len(vertices))
            vertices.append(corners * half)
    return Solid(np.concatenate(vertices), np.concatenate(faces))


def cylinder(radius: float, height: float, sections: int = 48) -> Solid:
    """A cylinder about z and the origin [m]."""
    angle = 2 * np.pi * np.arange(sections) / sections
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
    up = np.array([0.0, 0.0, height / 2])
    here, after = np.arange(sections), (np.arange(sections) + 1) % sections
    side = np.concatenate([
        np.stack([here, after, after + sections], axis=1),
        np.stack([here, after + sections, here + sections], axis=1),
    ])  # fmt: skip
    fan = np.stack([np.full(sections, sections), here, after], axis=1)
    top = Solid(np.concatenate([ring, np.zeros((1, 3))]) + up, fan)
    bottom = Solid(top.vertices - 2 * up, fan[:, ::-1])
    return join([Solid(np.concatenate([ring - up, ring + up]), side), top, bottom])


def ellipsoid(radii: Sequence[float] | np.ndarray, rows: int = 20, columns: int = 40) -> Solid:
    """An ellipsoid of these half axes [m] about the origin; equal ones give a ball."""
    return _round(np.asarray(radii, dtype=float), 0.0, rows, columns)


def capsule(radius: float, length: float, rows: int = 20, columns: int = 24) -> Solid:
    """A cylinder about z of that length with half balls on both ends [m], about the origin."""
    return _round(np.full(3, radius), length / 2, rows, columns)


def torus(large: float, small: float, major: int = 64, minor: int = 8) -> Solid:
    """A ring about z: the radius of its middle line and that of its section [m]."""
    u, v = np.meshgrid(
        2 * np.pi * np.arange(major) / major, 2 * np.pi * np.arange(minor) / minor, indexing="ij"
    )
    out = large + small * np.cos(v)
    vertices = np.stack([out * np.cos(u), out * np.sin(u), small * np.sin(v)], axis=-1)
    i, j = np.meshgrid(np.arange(major), np.arange(minor), indexing="ij")
    k, m = (i + 1) % major, (j + 1) % minor
    a, b, c, d = (x * minor + y for x, y in ((i, j), (k, j), (k, m), (i, m)))
    faces = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    return Solid(vertices.reshape(-1, 3), faces)


def _round(radii: np.ndarray, apart: float, rows: int, columns: int) -> Solid:
    """Rows of vertices from the lower to the upper pole; halves `apart` from the middle [m]."""
    rows += rows % 2 == 0  # an equator, doubled where halves lie apart
    height = np.linspace(-np.pi / 2, np.pi / 2, rows)
    lift = np.sign(height) * apart
    if apart:
        middle = rows // 2
        height = np.insert(height, middle, 0.0)
        lift = np.insert(np.delete(lift, middle), middle, [-apart, apart])
    around = 2 * np.pi * np.arange(columns) / columns
    h, a = np.meshgrid(height[1:-1], around, indexing="ij")
    body = np.stack([np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)], axis=-1) * radii
    body[..., 2] += lift[1:-1, None]
    poles = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]) * radii
    poles[:, 2] += (-apart, apart)
    count = len(height) - 2
    i, j = np.meshgrid(np.arange(count - 1), np.arange(columns), indexing="ij")
    k = (j + 1) % columns
    p, q, r, s = (i * columns + j, i * columns + k, (i + 1) * columns + k, (i + 1) * columns + j)
    sides = [np.stack(t, axis=-1).reshape(-1, 3) for t in ((p, q, r), (p, r, s))]
    low, high = count * columns, count * columns + 1
    first, after = np.arange(columns), (np.arange(columns) + 1) % columns
    last = (count - 1) * columns
    caps = [
        np.stack([np.full(columns, low), after, first], axis=1),
        np.stack([np.full(columns, high), last + first, last + after], axis=1),
    ]
    vertices = np.concatenate([body.reshape(-1, 3), poles])
    return Solid(vertices, np.concatenate([*sides, *caps]))
