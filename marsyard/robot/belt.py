"""The belt of a track in the side view of its frame: outline, straight runs, length.

The taut belt is the convex hull of the rollers' circles, made larger by the belt's thickness. Its
outline is worked out as a polygon of points on the circles, from the rear of the lower run forwards
and round over the top; x forward, z up, in the frame of the track's body [m].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marsyard.robot.contact_bodies import Track

#: points on a whole circle; the outline lies within radius · (π/n)²/2 of the true one
_POINTS = 720


class Run(NamedTuple):
    """A straight part of the outline: its ends and its normal outwards [m]."""

    start: np.ndarray
    end: np.ndarray
    normal: np.ndarray

    @property
    def length(self) -> float:
        """[m]"""
        return float(np.linalg.norm(self.end - self.start))


def outline(track: Track) -> np.ndarray:
    """Corners of the belt's outer side, float64[n, 2], counter-clockwise in (x, z)."""
    from scipy.spatial import ConvexHull

    angle = np.arange(_POINTS) * 2 * np.pi / _POINTS
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate(
        [np.array([r.x, r.z]) + (r.radius + track.thickness) * circle for r in track.rollers]
    )
    return points[ConvexHull(points).vertices]


def runs(track: Track) -> list[Run]:
    """The straight parts between rollers, longer than the sides of the polygon's arcs."""
    corners = outline(track)
    after = np.roll(corners, -1, axis=0)
    longest_arc = 2 * np.pi / _POINTS * max(r.radius + track.thickness for r in track.rollers)
    out = []
    for a, b in zip(corners, after, strict=True):
        span = b - a
        size = float(np.linalg.norm(span))
        if size > 2 * longest_arc:
            out.append(Run(a, b, np.array([span[1], -span[0]]) / size))
    return out


class LowerRun(NamedTuple):
    """The flat run between road wheels: nodes along it, and which of them are under a wheel."""

    x: np.ndarray
    fixed: np.ndarray
    z: float


#: parts into which the belt between two road wheels is divided
_PARTS = 10
#: rollers nearer to each other than this along the belt stand side by side [m]
_BESIDE = 1e-6


def lower_run(track: Track) -> LowerRun | None:
    """The straight run on which all lowest rollers stand, sprocket and idler too where they are as
    low as the road wheels; None if there is only one. Rollers side by side count once."""
    low = min(r.z - r.radius for r in track.rollers)
    under: list[float] = []
    for x in sorted(r.x for r in track.rollers if r.z - r.radius < low + 1e-6):
        if not under or x - under[-1] > _BESIDE:
            under.append(x)
    if len(under) < 2 or not any(run.normal[1] < -0.999 for run in runs(track)):
        return None
    x = [under[0]]
    for a, b in zip(under, under[1:], strict=False):
        x += list(a + (b - a) * np.arange(1, _PARTS + 1) / _PARTS)
    fixed = (np.arange(len(x)) % _PARTS == 0).astype(float)
    return LowerRun(np.array(x), fixed, low - track.thickness)


def belt_triangles(track: Track) -> np.ndarray:
    """The belt's outside as triangles, float64[n, 9], in the frame: the lower run's first, two for
    each of its parts (see `soil_contact.belt.bend`), then the rest and the two sides."""
    left, right = track.y + track.width / 2, track.y - track.width / 2
    flat = lower_run(track)
    sections: list[tuple[np.ndarray, np.ndarray]] = []
    if flat is not None:
        points = np.stack([flat.x, np.full(len(flat.x), flat.z)], axis=1)
        sections += list(zip(points[:-1], points[1:], strict=True))
    corners = outline(track)
    # the polygon's arcs are finer than soil can feel: every tenth corner, and the ends of runs
    size = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    ends = size > 3 * np.median(size)
    kept = ends | np.roll(ends, 1) | (np.arange(len(corners)) % 10 == 0)
    corners = corners[kept]
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if flat is None or not (abs(a[1] - flat.z) < 1e-9 and abs(b[1] - flat.z) < 1e-9):
            sections.append((a, b))
    out = []
    for a, b in sections:
        A, B = [a[0], right, a[1]], [b[0], right, b[1]]
        D, C = [a[0], left, a[1]], [b[0], left, b[1]]
        out += [[*A, *D, *B], [*B, *D, *C]]
    middle = corners.mean(axis=0)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        out.append([middle[0], right, middle[1], a[0], right, a[1], b[0], right, b[1]])
        out.append([middle[0], left, middle[1], b[0], left, b[1], a[0], left, a[1]])
    return np.array(out)


def length(track: Track) -> float:
    """Of the belt, along its outer side [m]."""
    corners = outline(track)
    return float(np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1).sum())


def ground_length(track: Track) -> float:
    """Of the lower run that lies flat, between the lowest points of the outermost road wheels that
    carry it [m]."""
    flat = [run for run in runs(track) if run.normal[1] < -0.999]
    return float(sum(run.length for run in flat))
