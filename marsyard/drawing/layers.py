"""Overlays of a robot's picture: solids, arrows, strokes and labels, in layers.

Plain descriptions in the world, without graphics; pictures (`movie.overlaid`) and the browser draw
the same ones. A layer is one thing that can be shown or hidden as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marsyard.drawing.meshes import Colour

_ROUND = 64  # pieces of a circle
#: half the thickness of an ellipsoid that is flat, in its largest semi-axis: it is seen as a disc
FLAT = 0.006


class Solid(NamedTuple):
    """A closed surface: vertices [m], [n, 3], and triangles that turn outward, [m, 3]."""

    vertices: np.ndarray
    triangles: np.ndarray
    colour: Colour
    smooth: bool = True


class Arrow(NamedTuple):
    """From start to end [m], [3] each; width: radius of its shaft [m]."""

    start: np.ndarray
    end: np.ndarray
    colour: Colour
    width: float


class Strokes(NamedTuple):
    """Straight pieces of line [m], [n, 2, 3]; width [pixels of a picture 720 high]."""

    points: np.ndarray
    colour: Colour
    width: float = 2.0


class Label(NamedTuple):
    """A name at a place [m], [3]."""

    text: str
    at: np.ndarray


@dataclass(frozen=True)
class Layer:
    """Things that are shown or hidden together.

    Attributes:
        name: what they are; colour: of its entry in a legend; words: what lengths mean.
        opacity: of the solids, 0 to 1; behind: share that is left, of lines too, where the robot or
            the ground is before them.
    """

    name: str
    colour: Colour
    words: str = ""
    solids: tuple[Solid, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    strokes: tuple[Strokes, ...] = ()
    labels: tuple[Label, ...] = ()
    opacity: float = 1.0
    behind: float = 0.35

    def points(self) -> np.ndarray:
        """All places that something is drawn at [m], [n, 3]."""
        parts = [s.vertices for s in self.solids]
        parts += [np.array([a.start, a.end]) for a in self.arrows]
        parts += [s.points.reshape(-1, 3) for s in self.strokes]
        return np.concatenate([np.zeros((0, 3)), *parts])


# --- solids


def ellipsoid_solid(
    centre: np.ndarray, semi_axes: np.ndarray, directions: np.ndarray, colour: Colour
) -> Solid:
    """{centre + Σ s_k a_k d_k : |s| ≤ 1} with semi-axes a_k [m] along d_k (rows), [3, 3].

    An axis shorter than `FLAT` of the longest is drawn that long.
    """
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=4)
    size = np.maximum(semi_axes, FLAT * float(np.max(semi_axes)))
    turn = np.array(directions, dtype=float)
    triangles = np.asarray(ball.faces)
    if np.linalg.det(turn) < 0:
        triangles = triangles[:, ::-1]
    return Solid(centre + (np.asarray(ball.vertices) * size) @ turn, triangles, colour)


def cone_solid(
    apex: np.ndarray, axis: np.ndarray, slope: float, height: float, colour: Colour
) -> Solid:
    """A cone from its apex along a unit axis, as wide at `height` [m] as slope · height."""
    axis = np.asarray(axis, dtype=float)
    side = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    side /= np.linalg.norm(side)
    angle = 2 * np.pi * np.arange(_ROUND) / _ROUND
    around = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(axis, side)
    rim = apex + height * (axis + slope * around)
    k = np.arange(_ROUND)
    after = (k + 1) % _ROUND
    n = _ROUND
    # own vertices for the lid, so that its edge is sharp
    vertices = np.concatenate([rim, rim, [apex], [apex + height * axis]])
    mantle = np.stack([np.full(n, 2 * n), after, k], axis=1)
    lid = np.stack([np.full(n, 2 * n + 1), n + k, n + after], axis=1)
    return Solid(vertices, np.concatenate([mantle, lid]), colour)


def ball_solid(centre: np.ndarray, radius: float, colour: Colour) -> Solid:
    """A ball [m]."""
    return ellipsoid_solid(centre, np.full(3, radius), np.eye(3), colour)


def slab(
    point: np.ndarray, frame: np.ndarray, half: tuple[float, float], thick: float
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a plate whose top has its middle at a point [m].

    frame: normal of the top, first and second side, by rows; half: lengths along these [m].
    """
    import trimesh

    box = trimesh.creation.box(extents=[thick, 2 * half[0], 2 * half[1]])
    box.unmerge_vertices()
    corners = np.asarray(box.vertices) - [thick / 2, 0.0, 0.0]
    triangles = np.asarray(box.faces)
    if np.linalg.det(frame) < 0:
        triangles = triangles[:, ::-1]
    return point + corners @ frame, triangles


# --- lines


def edges(points: np.ndarray, triangles: np.ndarray, angle: float) -> np.ndarray:
    """Edges of a closed surface that are sharper than an angle [rad], [n, 2, 3]."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    seen: dict[tuple[int, int], int] = {}
    found = []
    for t, corners in enumerate(triangles):
        for k in range(3):
            i, j = int(corners[k]), int(corners[(k + 1) % 3])
            other = seen.pop((j, i), None)
            if other is None:
                seen[i, j] = t
            elif normal[t] @ normal[other] < np.cos(angle):
                found.append((points[i], points[j]))
    return np.array(found).reshape(-1, 2, 3)


def ring(points: np.ndarray) -> np.ndarray:
    """Pieces of the closed line through some points, [n, 2, 3]."""
    return np.stack([points, np.roll(points, -1, axis=0)], axis=1)


def dashes(start: np.ndarray, end: np.ndarray, length: float) -> np.ndarray:
    """A dashed line with dashes of about a length [m], [n, 2, 3]."""
    count = max(1, round(float(np.linalg.norm(end - start)) / (2 * length)))
    at = (np.arange(count)[:, None] + [0.15, 0.85]) / count
    return start + at[..., None] * (end - start)


def bounds(layers: Iterable[Layer], more: np.ndarray) -> tuple[np.ndarray, float]:
    """Middle [m] and radius [m] of a ball around everything that is drawn."""
    cloud = np.concatenate([more, *(layer.points() for layer in layers)])
    middle = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
    return middle, float(np.linalg.norm(cloud - middle, axis=1).max())
