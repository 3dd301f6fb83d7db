"""The belt of a track in the side view of its frame: outline, straight runs, length.

The taut belt is the convex hull of the rollers' circles, made larger by the belt's thickness. Its
outline is worked out as a polygon of points on the circles, from the rear of the lower run forwards
and round over the top; x forward, z up, in the frame of the track's body [m].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marsyard.robot.organs import Track

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
        way = b - a
        size = float(np.linalg.norm(way))
        if size > 2 * longest_arc:
            out.append(Run(a, b, np.array([way[1], -way[0]]) / size))
    return out


def length(track: Track) -> float:
    """Of the belt, along its outer side [m]."""
    corners = outline(track)
    return float(np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1).sum())


def ground_length(track: Track) -> float:
    """Of the lower run that lies flat, between the lowest points of the outermost road wheels that
    carry it [m]."""
    flat = [run for run in runs(track) if run.normal[1] < -0.999]
    return float(sum(run.length for run in flat))
