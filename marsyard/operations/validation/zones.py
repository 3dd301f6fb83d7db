"""Keep-out zones on the map, and how far a rover stays from them.

A zone is a circle or a polygon in x and y. The rover's footprint at a time is the convex hull of
its base's origin and its wheels' centres. Its distance from a zone is

    d = distance between hull and zone                      where they are apart, positive
    d = −(how far a corner of one lies within the other)     where they overlap, negative

of a circle with centre c and radius r: d = distance of c from the hull (0 within it) − r. A polygon
whose edges cross is read by the even-odd rule.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from marsyard.scenario.part import Part
from marsyard.units import Length

Point2 = tuple[Length, Length]


class CircleShape(Part):
    """A circle on the map."""

    centre: Point2 = Field(description="x, y [m]")
    radius: Annotated[Length, Field(gt=0)] = Field(description="[m]")


class Zone(Part):
    """Where the rover must not be: a circle or a polygon."""

    name: str = Field("", description="what it is called")
    circle: CircleShape | None = None
    polygon: Annotated[tuple[Point2, ...], Field(min_length=3)] | None = Field(
        None, description="its corners [x, y], three or more [m]"
    )

    @model_validator(mode="after")
    def _one_shape(self) -> Zone:
        if (self.circle is None) == (self.polygon is None):
            raise ValueError("give either circle or polygon")
        if self.polygon is not None:
            x, y = np.array(self.polygon).T
            if abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) < 1e-9:
                raise ValueError("polygon: its corners enclose no area")
        return self

    def outline(self, count: int = 73) -> np.ndarray:
        """Its closed outline [m], [n, 2]."""
        if self.polygon is not None:
            return np.array([*self.polygon, self.polygon[0]])
        assert self.circle is not None
        t = np.linspace(0, 2 * np.pi, count)
        rim = np.stack([np.cos(t), np.sin(t)], axis=-1)
        return np.array(self.circle.centre) + self.circle.radius * rim

    def distance(self, hull: np.ndarray) -> float:
        """Of a convex footprint [n, 2] [m]; negative where they overlap."""
        if self.circle is not None:
            centre = np.array(self.circle.centre)[None]
            near = float(_to_outline(centre, hull)[0])
            inside = bool(_inside(centre, hull)[0])
            return (-near if inside else near) - self.circle.radius
        zone = np.array(self.polygon)
        within_zone, within_hull = _inside(hull, zone), _inside(zone, hull)
        depth = max(
            _largest(_to_outline(hull, zone), within_zone),
            _largest(_to_outline(zone, hull), within_hull),
        )
        if depth > 0:
            return -depth
        if _cross(hull, zone):
            return 0.0
        return float(min(_to_outline(hull, zone).min(), _to_outline(zone, hull).min()))


def footprints(base: np.ndarray, wheels: np.ndarray) -> list[np.ndarray]:
    """Convex hulls, counter-clockwise, of base [time, 2] and wheels [time, wheel, 2]."""
    points = np.concatenate([base[:, None], wheels], axis=1)
    return [_hull(p) for p in points]


def _hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull [n, 2], by the monotone chain of Andrew (1979)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered)

    def half(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for p in sequence:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _largest(values: np.ndarray, which: np.ndarray) -> float:
    return float(values[which].max()) if which.any() else 0.0


def _to_outline(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Distance of points [n, 2] from a polygon's edges [m], [n]."""
    start, way = polygon, np.roll(polygon, -1, axis=0) - polygon
    from_start = points[:, None] - start[None]
    size = np.maximum(np.sum(way**2, axis=-1), 1e-300)
    share = np.clip(np.sum(from_start * way, axis=-1) / size, 0.0, 1.0)
    nearest = from_start - share[..., None] * way
    return np.linalg.norm(nearest, axis=-1).min(axis=1)


def _inside(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Which points [n, 2] a polygon holds, by the even-odd rule."""
    x, y = points[:, :1], points[:, 1:]
    ax, ay = polygon.T
    bx, by = np.roll(polygon, -1, axis=0).T
    across = (ay > y) != (by > y)
    rise = np.where(by == ay, 1.0, by - ay)
    return np.sum(across & (x < ax + (y - ay) / rise * (bx - ax)), axis=1) % 2 == 1


def _cross(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether edges of two polygons cross."""
    a, b = one[:, None], np.roll(one, -1, axis=0)[:, None]
    c, d = other[None], np.roll(other, -1, axis=0)[None]

    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        u, v = q - p, r - p
        return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

    apart = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return bool(apart.any())
