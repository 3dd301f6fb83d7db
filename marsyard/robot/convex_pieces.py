"""Convex decomposition of a mesh for collisions, close to its surface.

A mesh is cut by planes into pieces until the convex hull of each lies within a tolerance t of the
mesh (an approximate convex decomposition, Lien and Amato 2007): d(p) ≤ t for all points p of the
hull's surface that are not inside of the mesh, d being the distance to the mesh [m]. A point is
inside where the mesh winds around it by more than a half (generalised winding number, Jacobson and
others 2013), which needs no closed mesh. The piece with the largest d is cut next,
across one of the frame's axes where the volume of the two hulls is least: tried are the middle, 0.3
and 0.7 of its length, and the largest flat sides of the mesh. A piece is

    a box   where a box around its hull has all corners within t of the hull
    a hull  else, of at most 24 of its corners: the extreme ones along the frame's axes, then
            always the one farthest outside, so that it lies inside of the piece's hull

Where cuts save less than a tenth of the volume (an open box) there is one piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError, cKDTree

#: pieces of one mesh, corners of one hull
MOST_PIECES, MOST_CORNERS = 8, 24
#: meshes of more triangles than this are thinned first
_MOST_FACES = 5000
#: where cuts are tried, in parts of a piece's length
_CUTS = (0.5, 0.3, 0.7)
#: cuts are worth it if they leave no more than this of the hull's volume
_GAIN = 0.9
#: points that stand for a surface, at most about
_MOST_POINTS, _MOST_QUERIES, _MOST_WOUND = 40_000, 3000, 200


class Box(NamedTuple):
    """A box: its middle [m], rotation matrix and half sizes [m]."""

    middle: np.ndarray
    turn: np.ndarray
    half: np.ndarray


class Hull(NamedTuple):
    """A convex hull: its corners [m], shape [n, 3]."""

    corners: np.ndarray


class _Surface(NamedTuple):
    """Points of a mesh, to look for the nearest, its triangles [n, 3, 3], and t [m]."""

    points: cKDTree
    triangles: np.ndarray
    tolerance: float


class _Part(NamedTuple):
    """Its triangles and hull, and how far the hull stands out of the mesh [m]."""

    vertices: np.ndarray
    faces: np.ndarray
    hull: ConvexHull
    deviation: float


def convex_pieces(
    vertices: np.ndarray, faces: np.ndarray, tolerance: float, frame: np.ndarray
) -> tuple[list[Box | Hull], float]:
    """Pieces of a mesh, and how far they stand out of it at most [m].

    vertices [n, 3] [m] and faces [m, 3] of the mesh; tolerance t [m]; frame: axes along which it is
    cut and whose extreme points are kept, as columns.
    """
    vertices, faces = _thinned(vertices @ frame, faces, tolerance)
    if len(vertices) < 4 or np.ptp(vertices, axis=0).min() < 1e-9:
        box = _aligned_box(vertices)
        return [_turned(box, frame)], 0.0
    points = cKDTree(_points_on(vertices, faces, tolerance / 2))
    surface = _Surface(points, vertices[faces], tolerance)
    whole = _part(vertices, faces, surface)
    if whole is None:
        return [_turned(_aligned_box(vertices), frame)], 0.0
    parts = [whole]
    while len(parts) < MOST_PIECES:
        worst = max(parts, key=lambda p: p.deviation)
        halves = _cut(worst, surface) if worst.deviation > tolerance else None
        if halves is None:
            break
        parts = [p for p in parts if p is not worst] + halves
    if sum(p.hull.volume for p in parts) > _GAIN * whole.hull.volume:
        parts = [whole]
    shapes = [_turned(_shape(p, tolerance), frame) for p in parts]
    return shapes, max(p.deviation for p in parts)


def bounding_box(points: np.ndarray, frame: np.ndarray) -> Box:
    """The box around points [n, 3] along the axes of a frame, given as columns."""
    box = _aligned_box(points @ frame)
    return Box(frame @ box.middle, frame @ box.turn, box.half)


def _thinned(
    vertices: np.ndarray, faces: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Corners in the same cell of a grid of t/4 taken together, where there are many."""
    if len(faces) <= _MOST_FACES:
        return vertices, faces
    cells = np.floor(vertices / (tolerance / 4)).astype(np.int64)
    _, first, number = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    faces = number.ravel()[faces]
    real = (
        (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    )
    return vertices[first], np.unique(faces[real], axis=0)


def _points_on(vertices: np.ndarray, faces: np.ndarray, spacing: float) -> np.ndarray:
    """Points of a surface that are about `spacing` apart [m], wider on a large surface."""
    corner, side, other = (vertices[faces[:, k]] for k in range(3))
    side, other = side - corner, other - corner
    area = 0.5 * np.linalg.norm(np.cross(side, other), axis=1).sum()
    spacing = max(spacing, np.sqrt(2 * area / _MOST_POINTS), 1e-9)
    longest = np.maximum(np.linalg.norm(side, axis=1), np.linalg.norm(other, axis=1))
    steps = np.ceil(longest / spacing).astype(int).clip(1, 400)
    out = [vertices]
    for count in np.unique(steps):
        mine = steps == count
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        inside = i + j <= count
        a, b = i[inside] / count, j[inside] / count
        grid = corner[mine, None] + a[:, None] * side[mine, None] + b[:, None] * other[mine, None]
        out.append(grid.reshape(-1, 3))
    return np.concatenate(out)


def _part(vertices: np.ndarray, faces: np.ndarray, surface: _Surface) -> _Part | None:
    """A part of the mesh with its hull; none where it is flat."""
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        return None
    spacing = float(np.linalg.norm(np.ptp(vertices, axis=0))) / 30
    points = _points_on(vertices, hull.simplices, spacing)
    points = points[:: max(1, len(points) // _MOST_QUERIES)]
    away = surface.points.query(points, eps=0.1)[0]
    far = np.flatnonzero(away > surface.tolerance)
    far = far[:: max(1, len(far) // _MOST_WOUND)]
    inside = far[_winding(points[far], surface.triangles) > 0.5]
    far = np.setdiff1d(far, inside)
    return _Part(vertices, faces, hull, float(away[far].max() if len(far) else 0.0))


def _winding(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """How often a surface winds around points [n, 3]: its solid angle by 4π (Van Oosterom and
    Strackee 1983)."""
    a, b, c = (triangles[None, :, k] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    over = np.einsum("nmi,nmi->nm", a, np.cross(b, c))
    under = la * lb * lc + (
        np.einsum("nmi,nmi->nm", a, b) * lc
        + np.einsum("nmi,nmi->nm", b, c) * la
        + np.einsum("nmi,nmi->nm", c, a) * lb
    )
    return np.arctan2(over, under).sum(axis=1) / (2 * np.pi)


def _cut(part: _Part, surface: _Surface) -> list[_Part] | None:
    """The two halves whose hulls have the least volume, of equal ones the middle ones across the
    longest side; none where one would be flat."""
    from trimesh.intersections import slice_faces_plane

    low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
    best, least = None, np.inf
    for axis in np.argsort(low - high):
        shares = [low[axis] + share * (high - low)[axis] for share in _CUTS]
        for place in [*shares, *_flats(part, int(axis))]:
            at, normal = place * np.eye(3)[axis], np.eye(3)[axis]
            sides = [
                slice_faces_plane(part.vertices, part.faces, sign * normal, at)[:2]
                for sign in (1.0, -1.0)
            ]
            try:
                volume = sum(ConvexHull(v).volume for v, _ in sides)
            except (QhullError, ValueError):
                continue
            if volume < (1 - 1e-3) * least:
                best, least = sides, volume
    if best is None:
        return None
    halves = [_part(v, f, surface) for v, f in best]
    return [h for h in halves if h is not None] if all(halves) else None


def _flats(part: _Part, axis: int) -> list[float]:
    """Where the two largest flat sides across an axis lie, inside of a part [m]: what stands on
    them is best cut off there."""
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    flat = np.abs(across[:, axis]) > 0.999 * np.maximum(area, 1e-300)
    low, high = part.vertices[:, axis].min(), part.vertices[:, axis].max()
    place, area = a[flat, axis], area[flat]
    _, number = np.unique(np.round(place / (1e-3 * (high - low))), return_inverse=True)
    sizes = np.bincount(number.ravel(), weights=area)
    middles = np.bincount(number.ravel(), weights=area * place) / np.maximum(sizes, 1e-300)
    rim = 0.05 * (high - low)
    order = [float(middles[k]) for k in np.argsort(-sizes)]
    return [m for m in order if low + rim < m < high - rim][:2]


def _shape(part: _Part, tolerance: float) -> Box | Hull:
    corners = part.vertices[part.hull.vertices]
    near = cKDTree(_points_on(part.vertices, part.hull.simplices, tolerance / 2))
    for box in (_aligned_box(corners), _tight_box(corners)):
        if near.query(_corners(box))[0].max() <= tolerance:
            return box
    return Hull(fewer_corners(corners))


def _aligned_box(points: np.ndarray) -> Box:
    low, high = points.min(axis=0), points.max(axis=0)
    return Box((low + high) / 2, np.eye(3), np.maximum((high - low) / 2, 1e-4))


def _tight_box(corners: np.ndarray) -> Box:
    """The box of least volume around the corners of a hull."""
    from trimesh.bounds import oriented_bounds

    back, sizes = oriented_bounds(corners)
    pose = np.linalg.inv(back)
    return Box(pose[:3, 3], pose[:3, :3], np.maximum(sizes / 2, 1e-4))


def _corners(box: Box) -> np.ndarray:
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    return box.middle + (signs * box.half) @ box.turn.T


def fewer_corners(corners: np.ndarray) -> np.ndarray:
    """At most 24 of the corners: the extreme ones, then always the one farthest outside."""
    if len(corners) <= MOST_CORNERS:
        return corners
    signs = np.array(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3)).reshape(3, -1).T
    ends = [corners @ d for d in signs if np.count_nonzero(d) == 1 or np.all(d)]
    kept = list(dict.fromkeys(int(np.argmax(e)) for e in ends))
    while len(kept) < MOST_CORNERS:
        planes = ConvexHull(corners[kept]).equations
        outside = (corners @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        outside[kept] = 0.0
        if outside.max() <= 1e-6:
            break
        kept.append(int(np.argmax(outside)))
    return corners[kept]


def _turned(shape: Box | Hull, frame: np.ndarray) -> Box | Hull:
    if isinstance(shape, Hull):
        return Hull(shape.corners @ frame.T)
    return Box(frame @ shape.middle, frame @ shape.turn, shape.half)
