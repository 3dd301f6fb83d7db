"""Keep-out zones on the map, and a rover's distance from them.

A zone is a circle or a polygon in x and y. The rover's footprint at a time is the outline of its
base's origin and its wheels' centres, widened all around by ρ = √((r + h)² + (w/2)²), r, h, w the
wheels' radius, height of grousers and width: no wheel reaches farther, however it is steered. The
distance of a zone from the outline, less ρ, is

    d = distance between the two                            where they are apart, positive
    d = −(how far a corner of one lies within the other)     where they overlap, negative

of a circle with centre c and radius r: d = distance of c from the outline (negative within it) − r.
A polygon whose edges cross is read by the even-odd rule.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from marsyard.fields import Part
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
            raise ValueError("give either a circle or a polygon")
        if self.polygon is not None:
            x, y = np.array(self.polygon).T
            if abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) < 1e-9:
                raise ValueError("polygon: the corners enclose no area")
        return self

    def outline(self, count: int = 73) -> np.ndarray:
        """Its closed outline [m], [n, 2]."""
        if self.polygon is not None:
            return np.array([*self.polygon, self.polygon[0]])
        assert self.circle is not None
        t = np.linspace(0, 2 * np.pi, count)
        rim = np.stack([np.cos(t), np.sin(t)], axis=-1)
        return np.array(self.circle.centre) + self.circle.radius * rim

    def distance(self, footprint: np.ndarray, reach: float = 0.0) -> np.ndarray:
        """Of footprints [time, corner, 2] [m] that are wider by `reach` [m], [time]; negative where
        they overlap."""
        return self._from_outline(footprint) - reach

    def _from_outline(self, footprint: np.ndarray) -> np.ndarray:
        if self.circle is not None:
            centre = np.array(self.circle.centre)[None, None]
            near, inside = _to_outline(centre, footprint)[:, 0], _inside(centre, footprint)[:, 0]
            return np.where(inside, -near, near) - self.circle.radius
        zone = np.array(self.polygon)[None]
        there, here = _to_outline(footprint, zone), _to_outline(zone, footprint)
        depth = np.maximum(
            np.where(_inside(footprint, zone), there, 0.0).max(axis=1),
            np.where(_inside(zone, footprint), here, 0.0).max(axis=1),
        )
        apart = np.where(_cross(footprint, zone), 0.0, np.minimum(there.min(1), here.min(1)))
        return np.where(depth > 0, -depth, apart)


def footprints(base: np.ndarray, wheels: np.ndarray) -> np.ndarray:
    """Outlines [time, corner, 2] of base [time, 2] and wheels [time, wheel, 2].

    The corners are those of the convex hull in the first record, in its order: wheels of a rover
    do not change places.
    """
    points = np.concatenate([base[:, None], wheels], axis=1)
    return points[:, _hull(points[0])]


def _hull(points: np.ndarray) -> list[int]:
    """Numbers of the corners of the convex hull, by the monotone chain of Andrew (1979)."""
    order = sorted(range(len(points)), key=lambda k: (points[k, 0], points[k, 1]))
    if len(order) < 3:
        return order

    def half(sequence: list[int]) -> list[int]:
        kept: list[int] = []
        for k in sequence:
            while len(kept) > 1 and _turn(*points[[kept[-2], kept[-1], k]]) <= 0:
                kept.pop()
            kept.append(k)
        return kept[:-1]

    return half(order) + half(order[::-1])


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _next(polygon: np.ndarray) -> np.ndarray:
    return np.concatenate([polygon[:, 1:], polygon[:, :1]], axis=1)


def _to_outline(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Distance of points [time, n, 2] from a polygon's edges [time, m, 2] [m], [time, n]."""
    edge = (_next(polygon) - polygon)[:, None]
    off = points[:, :, None] - polygon[:, None]
    size = np.maximum(np.sum(edge**2, axis=-1), 1e-300)
    share = np.clip(np.sum(off * edge, axis=-1) / size, 0.0, 1.0)
    return np.sqrt(np.sum((off - share[..., None] * edge) ** 2, axis=-1).min(axis=2))


def _inside(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Which points [time, n, 2] a polygon [time, m, 2] holds, by the even-odd rule, [time, n]."""
    x, y = points[:, :, None, 0], points[:, :, None, 1]
    after = _next(polygon)
    ax, ay, bx, by = (p[:, None, :, k] for p in (polygon, after) for k in (0, 1))
    across = (ay > y) != (by > y)
    rise = np.where(by == ay, 1.0, by - ay)
    return np.sum(across & (x < ax + (y - ay) / rise * (bx - ax)), axis=2) % 2 == 1


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether edges of two polygons cross, [time]."""
    a, b = one[:, :, None], _next(one)[:, :, None]
    c, d = other[:, None], _next(other)[:, None]

    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        u, v = q - p, r - p
        return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

    crossing = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return crossing.any(axis=(1, 2))
