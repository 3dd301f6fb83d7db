"""Bodies of revolution: longitudinal sections r(z), sampled where they bend, turned into polygons.

A profile is a list of points (z, r) with z strictly increasing and r ≥ 0: radius against axial
coordinate, so that a point of another body is compared at one radius only (Krenn and Hirzinger
2008, section II.B.2). The body is inside it (a bolt) or outside it (the wall of a nozzle).

Sampling. Points are placed so that each step covers an equal share of

    ∫ (1 + w |κ| L) dl,    L: length of the curve, κ: its curvature, w = 1

that is, evenly on straight parts and denser where the curvature is higher.

Polygons. The section is turned about z in steps of equal angle; four neighbouring vertices make two
triangles. A polygon inscribed in a circle of radius r lies inside it by up to the sagitta
r (1 − cos π/n), two thirds of that in the mean; vertices are put outside the circle by this much,
so that its mean radius is r.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.errors import InputError

Array = np.ndarray

#: a profile that turns by more than this at a point has a corner there [rad]
SHARP = math.radians(10.0)


def resample(points: Array, count: int) -> Array:
    """A profile with `count` points, denser where it bends; its ends stay, and its sharp corners:
    the sharpest ones where there are more of them than points."""
    if count < 2:
        raise InputError(f"samples = {count}: a profile needs at least 2 points")
    step = np.diff(points, axis=0)
    length = np.linalg.norm(step, axis=1)
    turn = np.abs(np.diff(np.arctan2(step[:, 1], step[:, 0])))
    weight = length / length.sum()
    # the turn at a corner counts half in each of the two segments beside it
    weight[:-1] += 0.5 * turn
    weight[1:] += 0.5 * turn
    along = np.concatenate([[0.0], np.cumsum(weight)])
    at = np.linspace(0.0, along[-1], count)
    _keep_corners(at, along[1:-1], turn)
    z = np.interp(at, along, points[:, 0])
    return np.stack([z, np.interp(z, points[:, 0], points[:, 1])], axis=1)


def _keep_corners(at: Array, corner: Array, turn: Array) -> None:
    """Move the nearest of the samples `at` to each sharp corner, the sharpest first."""
    free = np.ones(len(at), dtype=bool)
    free[[0, -1]] = False
    for k in np.argsort(-turn, kind="stable"):
        if turn[k] < SHARP or not free.any():
            break
        nearest = int(np.argmin(np.where(free, np.abs(at - corner[k]), np.inf)))
        at[nearest] = corner[k]
        free[nearest] = False
    at.sort()


def around(radius: float, sagitta: float) -> int:
    """In how many steps to turn a section of this radius [m] so that chords leave the circle by no
    more than `sagitta` [m]; a multiple of four, for the symmetry of the axes."""
    if sagitta >= radius:
        return 8
    n = math.pi / math.acos(1.0 - sagitta / radius)
    return max(8, 4 * math.ceil(n / 4.0))


def polygons(points: Array, steps: int, closed: bool = True) -> tuple[Array, Array]:
    """Vertices [m] and triangles of the surface, normals away from the axis.

    closed: with discs at the ends."""
    angle = 2.0 * math.pi * np.arange(steps) / steps
    turn = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    out = 1.0 + 2.0 / 3.0 * (1.0 - math.cos(math.pi / steps))
    rows, index = [], []
    total = 0
    for z, r in points:
        if r == 0.0:
            rows.append(np.array([[0.0, 0.0, z]]))
            index.append(np.full(steps, total))
            total += 1
        else:
            rows.append(np.concatenate([out * r * turn, np.full((steps, 1), z)], axis=1))
            index.append(total + np.arange(steps))
            total += steps
    triangles = []
    for low, high in zip(index[:-1], index[1:], strict=True):
        a, b = low, np.roll(low, -1)
        c, d = high, np.roll(high, -1)
        if a[0] != b[0]:
            triangles.append(np.stack([a, b, d], axis=1))
        if c[0] != d[0]:
            triangles.append(np.stack([a, d, c], axis=1))
    if closed:
        for end, ring in ((0, index[0]), (-1, index[-1])):
            if ring[0] == ring[1]:
                continue
            rows.append(np.array([[0.0, 0.0, points[end, 0]]]))
            middle = np.full(steps, total)
            total += 1
            pair = (np.roll(ring, -1), ring) if end == 0 else (ring, np.roll(ring, -1))
            triangles.append(np.stack([middle, *pair], axis=1))
    return np.concatenate(rows), np.concatenate(triangles).astype(np.int64)


def section_bulge(points: Array, side: int) -> Array:
    """Radius [m] with which the section bends out of the body at each of its points; inf where it
    is straight or bends in. At the rim of an end's disc: a part of the step to the next point."""
    step = np.diff(points, axis=0)
    length = np.linalg.norm(step, axis=1)
    turn = np.diff(np.arctan2(step[:, 1], step[:, 0]))
    # inside the profile a body bulges where the section turns towards the axis
    bend = -side * turn
    made = np.full(len(points), math.inf)
    convex = np.flatnonzero(bend > 1e-9)
    shorter = np.minimum(length[:-1], length[1:])
    made[convex + 1] = shorter[convex] / bend[convex]
    if side > 0:
        for end, near in ((0, 0), (-1, -1)):
            if points[end, 1] > 0.0:
                made[end] = 0.1 * length[near]
    return made
