"""The wrenches that a stance can exert: a convex set, by its outermost points.

The set is that of all y for which the platform can push with the wrench Σ_j y_j e_j against its
surroundings (e_j: force along x, moment about z, …; the reaction −Σ y_j e_j acts on the platform)
while everything is in balance within friction cones and torque limits (`balance`). With linear
limits it would be a polytope; friction cones make it round in places. Its support function

    h(d) = max { d·y : y in the set }

is one convex program for each direction d. Points are added where the hull of those known lies more
than `tolerance` inside the set, so the hull is inside the true set, and nowhere further from it.

Section and projection: wrenches that are not asked for are zero (a section of the whole set of
wrenches), or may be anything (`free`: its projection). The set may be unbounded, ground carries any
load that is pressed on it: it is cut at `most` in each coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marsyard.analysis.kinetostatics.balance import Balance
from marsyard.errors import InputError, suggest

AXES = ("fx", "fy", "fz", "mx", "my", "mz")
_MOST_POINTS = 600


@dataclass(frozen=True)
class Polytope:
    """Outermost points of a set of wrenches.

    Attributes:
        axes: what is counted, of fx, fy, fz [N], mx, my, mz [N·m].
        points: in a ring for two axes, else vertices of the hull, [p, axes].
        triangles: of the hull in three axes, turning outward, [t, 3].
        size: area or volume of the hull.
        cut: whether it reaches where it was cut, by axis and side, [axes, 2].
    """

    axes: tuple[str, ...]
    points: np.ndarray
    triangles: np.ndarray
    size: float
    cut: np.ndarray

    @property
    def empty(self) -> bool:
        """Whether there is no equilibrium at all."""
        return len(self.points) == 0


def wrench_polytope(
    balance: Balance,
    axes: Sequence[str] = ("fx", "fy", "fz"),
    free: Sequence[str] = (),
    tolerance: float = 2e-3,
    most: float = 2.0,
) -> Polytope:
    """The set of wrenches that a stance can exert, in one, two or three axes of the platform.

    Args:
        free: axes that may take any value (within `most`); the others are zero.
        tolerance, most: in weights of the robot, times its largest lever for moments.
    """
    names = (*axes, *free)
    for name in names:
        if name not in AXES:
            raise InputError(f"axes: '{name}' is no part of a wrench; {suggest(name, AXES)}")
    if len(set(names)) < len(names) or not 1 <= len(axes) <= 3:
        raise InputError("axes: one, two or three different ones are expected")
    stance = balance.stance
    weight = stance.mass * float(np.linalg.norm(stance.gravity))
    lever = max(float(np.abs(stance.points).max()), 1e-3)
    unit = np.array([weight * (lever if name[0] == "m" else 1.0) for name in names])
    columns = np.eye(6)[[AXES.index(name) for name in names]]
    count = len(axes)

    def furthest(direction: np.ndarray) -> np.ndarray | None:
        full = np.concatenate([direction / unit[:count], np.zeros(len(free))])
        y = balance.support(full, columns, most * unit)
        return None if y is None else y[:count] / unit[:count]

    builders = {1: _segment, 2: _ring, 3: _hull}
    points, triangles, size = builders[count](furthest, tolerance)
    if len(points):
        cut = np.stack([points.min(axis=0) < -0.999 * most, points.max(axis=0) > 0.999 * most], 1)
    else:
        cut = np.zeros((count, 2), dtype=bool)
    scale = float(np.prod(unit[:count]))
    return Polytope(tuple(axes), points * unit[:count], triangles, size * scale, cut)


_NONE = np.zeros((0, 3), dtype=int)


def _segment(furthest, _tolerance):
    ends = [furthest(np.array([sign])) for sign in (-1.0, 1.0)]
    if any(e is None for e in ends):
        return np.zeros((0, 1)), _NONE, 0.0
    points = np.array(ends)
    return points, _NONE, float(points[1, 0] - points[0, 0])


def _ring(furthest, tolerance):
    """Points of a convex set in the plane, counter-clockwise, by refining between neighbours."""
    angles = np.arange(8) * np.pi / 4 + 0.1
    found = [furthest(np.array([np.cos(a), np.sin(a)])) for a in angles]
    if any(p is None for p in found):
        return np.zeros((0, 2)), _NONE, 0.0
    ring = [np.asarray(p) for p in found]
    k = 0
    while k < len(ring) and len(ring) < _MOST_POINTS:
        a, b = ring[k], ring[(k + 1) % len(ring)]
        edge = b - a
        length = float(np.linalg.norm(edge))
        if length > tolerance:
            normal = np.array([edge[1], -edge[0]]) / length
            p = furthest(normal)
            if p is not None and normal @ (p - a) > tolerance:
                ring.insert(k + 1, p)
                continue
        k += 1
    points = np.array(ring)
    keep = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1) > 1e-6
    points = points[keep] if keep.any() else points[:1]
    x, y = points.T
    area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    return points, _NONE, area


def _hull(furthest, tolerance):
    """Points of a convex set in space; facets whose outside holds more are refined."""
    from scipy.spatial import ConvexHull, QhullError

    start = np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1])).reshape(3, -1).T
    start = start[np.any(start != 0, axis=1)] + np.array([0.013, 0.007, -0.011])
    found = [furthest(d / np.linalg.norm(d)) for d in start]
    if any(p is None for p in found):
        return np.zeros((0, 3)), _NONE, 0.0
    points = np.array(found)
    try:
        hull = ConvexHull(points, incremental=True)
    except QhullError:  # a flat set
        return np.unique(np.round(points, 9), axis=0), _NONE, 0.0
    done: set[tuple[float, ...]] = set()
    while len(hull.points) < _MOST_POINTS:
        new = []
        for plane in hull.equations:
            key = tuple(np.round(plane, 7))
            if key in done:
                continue
            done.add(key)
            p = furthest(plane[:3])
            if p is not None and plane[:3] @ p + plane[3] > tolerance:
                new.append(p)
            if len(new) >= 40:
                break
        if not new:
            break
        hull.add_points(np.array(new))
    middle = hull.points[hull.vertices].mean(axis=0)
    number = {v: i for i, v in enumerate(hull.vertices)}
    triangles = []
    for a, b, c in hull.simplices:
        p, q, r = hull.points[[a, b, c]]
        out = np.cross(q - p, r - p) @ (p - middle) > 0
        corners = (a, b, c) if out else (a, c, b)
        triangles.append([number[v] for v in corners])
    points, size = hull.points[hull.vertices], float(hull.volume)
    hull.close()
    return points, np.array(triangles), size
