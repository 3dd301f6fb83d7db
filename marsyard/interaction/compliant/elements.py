"""Shapes divided in elements: places, outward normals, areas and lengths.

Elements are pieces of a shape's surface, all of about the same size, whose areas add up to the
shape's own. Those of wheels and tubes are arcs about the axle (`law`): what carries them does not
depend on the angle they stand at, and a wheel rolls as if it were round. All others are flat. A
flat piece of side l stands for a curved one at its mean height: it lies inside the true surface by
l² κ/24 for each of the two curvatures κ [1/m], an arc for the curvature across.

wheel (axle along `axis`, middle at the origin)
    sphere     rings over the whole ball
    disc       one ring of the wheel's radius, which carries its width
    cylinder   rings across the tread, or the cone of a `taper`, and both sides from half the
               radius outwards
    torus      the outer half of the tread's tube
geoms          ball, ellipsoid, capsule, cylinder, box, and the triangles of a mesh, cut in four
               until they are small enough
belt           stations along the outline of a track, each a row across its width
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Array = np.ndarray
_GOLDEN = math.pi * (3.0 - math.sqrt(5.0))
#: triangles of a mesh are not cut more often than this
_MOST_CUTS = 8
# columns of Elements.arc: from the axle outwards, the way around it (unit vectors), distance from
# the axle (0: no arc), and of the two rows that stand for its width from its middle [m]
OUT, AHEAD, RADIUS, ROW = slice(0, 3), slice(3, 6), 6, 7
ARC_COLUMNS = 8


class Elements(NamedTuple):
    """n elements in the frame of their body."""

    place: Array  # float64[n, 3] [m]
    normal: Array  # float64[n, 3], outwards
    area: Array  # float64[n] [m²]
    length: Array  # float64[n] [m]
    arc: Array  # float64[n, ARC_COLUMNS]

    def moved(self, position: Array, rotation: Array) -> Elements:
        """The same in another frame."""
        turned = self.arc.copy()
        for part in (OUT, AHEAD):
            turned[:, part] = self.arc[:, part] @ rotation.T
        return self._replace(
            place=self.place @ rotation.T + position,
            normal=self.normal @ rotation.T,
            arc=turned,
        )


def flat(place: Array, normal: Array, area: Array, length: Array) -> Elements:
    """Elements that are no arcs."""
    return Elements(place, normal, area, length, np.zeros((len(area), ARC_COLUMNS)))


def join(parts: list[Elements]) -> Elements:
    """All in one."""
    if not parts:
        return flat(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    return Elements(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _count(length: float, size: float, least: int = 1) -> int:
    return max(least, math.ceil(length / size - 1e-9))


# --- wheels


def wheel(
    shape: str, radius: float, width: float, taper: float, axis: Array, size: float
) -> Elements:
    """Elements of a wheel about its axle."""
    if shape == "sphere":
        made = _torus(radius, radius, size)
    elif shape == "torus":
        made = _torus(radius, width / 2, size)
    elif shape == "disc":
        made = _cone(radius, 0.0, width, 1, size)
        # all of its width stands in one plane
        made.arc[:, ROW] = 0.0
    else:
        made = _cone(radius, taper, width, _count(width, size), size)
        sides = [
            _annulus(radius + taper * s * width / 2, s * width / 2, s, size) for s in (-1.0, 1.0)
        ]
        made = join([made, *sides])
    return made.moved(np.zeros(3), _turn_y_to(axis))


def _angles(count: int) -> tuple[Array, Array]:
    angle = (np.arange(count) + 0.5) * 2 * np.pi / count
    return np.cos(angle), np.sin(angle)


def _ring(r: float, y: float, slope: tuple[float, float], across: float, size: float) -> Elements:
    """Arcs about the y axis at the distance r from it; slope: sine and cosine of the normal's angle
    to the radius, across [m]: their width."""
    count = _count(2 * np.pi * r, size, 8)
    c, s = _angles(count)
    none, each = np.zeros(count), np.ones(count)
    step = 2 * np.pi * r / count
    out, ahead = np.stack([c, none, s], axis=1), np.stack([-s, none, c], axis=1)
    return Elements(
        place=np.stack([r * c, y * each, r * s], axis=1),
        normal=np.stack([slope[1] * c, slope[0] * each, slope[1] * s], axis=1),
        area=step * across * each,
        length=step * each,
        arc=np.column_stack([out, ahead, r * each, across / math.sqrt(12.0) * each]),
    )


def _cone(radius: float, taper: float, width: float, rings: int, size: float) -> Elements:
    """Rings about y, of the radius R + taper · y."""
    slant = math.sqrt(1.0 + taper * taper)
    slope = (-taper / slant, 1.0 / slant)
    places = [((k + 0.5) / rings - 0.5) * width for k in range(rings)]
    return join([_ring(radius + taper * y, y, slope, width / rings * slant, size) for y in places])


def _annulus(radius: float, y: float, side: float, size: float) -> Elements:
    """The outer half of a wheel's side."""
    rings = _count(radius / 2, size)
    rows = []
    for k in range(rings):
        inner, outer = (radius * (0.5 + 0.5 * (k + i) / rings) for i in (0, 1))
        area = math.pi * (outer**2 - inner**2)
        r = 0.5 * (inner + outer)
        around = _count(2 * np.pi * r, size, 8)
        c, s = _angles(around)
        place = np.stack([r * c, np.full(around, y), r * s], axis=1)
        normal = np.tile([0.0, side, 0.0], (around, 1))
        each = area / around
        rows.append(flat(place, normal, np.full(around, each), np.full(around, math.sqrt(each))))
    return join(rows)


def _torus(radius: float, tube: float, size: float) -> Elements:
    """The outer half of a torus: rolling radius R, tube r, about y."""
    rings = _count(np.pi * tube, size, 3)
    angle = np.pi / rings
    # at its mean height across
    inside = tube - (tube * angle) ** 2 / (24 * tube)
    rows = []
    for k in range(rings):
        psi = -np.pi / 2 + (k + 0.5) * angle
        slope = (math.sin(psi), math.cos(psi))
        made = _ring(
            radius - tube + inside * slope[1], inside * slope[0], slope, tube * angle, size
        )
        # its share of the whole
        bands = math.sin(psi + angle / 2) - math.sin(psi - angle / 2)
        whole = 2 * np.pi * tube * ((radius - tube) * angle + tube * bands)
        rows.append(made._replace(area=np.full(len(made.area), whole / len(made.area))))
    return join(rows)


def _turn_y_to(axis: Array) -> Array:
    """A rotation that brings y to the axis."""
    y = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    other = np.array([1.0, 0.0, 0.0]) if abs(y[0]) < 0.9 else np.array([0.0, 0.0, 1.0])
    x = other - (other @ y) * y
    x /= np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


# --- geoms


def ball(radius: float, size: float) -> Elements:
    """A spiral over the whole ball, equal areas."""
    return ellipsoid(np.full(3, radius), size)


def ellipsoid(radii: Array, size: float) -> Elements:
    """A ball's spiral stretched along the axes; areas with the stretch of the surface there."""
    a = np.asarray(radii, dtype=float)
    p = 1.6075  # Thomsen's approximation, for the number only
    area = (
        4 * np.pi * (np.mean([(a[i] * a[j]) ** p for i, j in ((0, 1), (0, 2), (1, 2))])) ** (1 / p)
    )
    n = _count(area, size**2, 32)
    z = 1.0 - 2.0 * (np.arange(n) + 0.5) / n
    turn = _GOLDEN * np.arange(n)
    r = np.sqrt(1.0 - z * z)
    unit = np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)
    over = unit / a
    stretch = np.linalg.norm(over, axis=1)
    each = 4 * np.pi / n * float(np.prod(a)) * stretch
    place, normal = unit * a, over / stretch[:, None]
    # sum of the two curvatures
    bend = (np.sum(a**2) - np.sum(place**2, axis=1)) / (np.prod(a) ** 2 * stretch**3)
    return flat(place - normal * (each * bend / 24)[:, None], normal, each, np.sqrt(each))


def _disc(radius: float, z: float, side: float, size: float) -> Elements:
    """A spiral over a disc at height z, equal areas."""
    n = _count(np.pi * radius**2, size**2, 8)
    r = radius * np.sqrt((np.arange(n) + 0.5) / n)
    turn = _GOLDEN * np.arange(n)
    place = np.stack([r * np.cos(turn), r * np.sin(turn), np.full(n, z)], axis=1)
    each = np.pi * radius**2 / n
    normal = np.tile([0.0, 0.0, side], (n, 1))
    return flat(place, normal, np.full(n, each), np.full(n, math.sqrt(each)))


def _tube(radius: float, half: float, size: float) -> Elements:
    """A cylinder's side about z."""
    made = _cone(radius, 0.0, 2 * half, _count(2 * half, size), size)
    return made.moved(np.zeros(3), _turn_y_to(np.array([0.0, 0.0, 1.0])))


def cylinder(radius: float, half: float, size: float) -> Elements:
    """About z, with both ends."""
    ends = [_disc(radius, side * half, side, size) for side in (-1.0, 1.0)]
    return join([_tube(radius, half, size), *ends])


def capsule(radius: float, half: float, size: float) -> Elements:
    """About z: a tube and two half balls."""
    whole = ball(radius, size)
    # the spiral has as many elements above as below
    shift = np.zeros_like(whole.place)
    shift[:, 2] = np.where(whole.place[:, 2] > 0.0, half, -half)
    return join([_tube(radius, half, size), whole._replace(place=whole.place + shift)])


def box(half: Array, size: float) -> Elements:
    """A grid on each side."""
    rows = []
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        n, m = _count(2 * half[i], size), _count(2 * half[j], size)
        u, v = np.meshgrid((np.arange(n) + 0.5) / n - 0.5, (np.arange(m) + 0.5) / m - 0.5)
        for side in (-1.0, 1.0):
            place = np.zeros((n * m, 3))
            place[:, i] = 2 * half[i] * u.ravel()
            place[:, j] = 2 * half[j] * v.ravel()
            place[:, axis] = side * half[axis]
            normal = np.zeros((n * m, 3))
            normal[:, axis] = side
            each = 4 * half[i] * half[j] / (n * m)
            rows.append(flat(place, normal, np.full(n * m, each), np.full(n * m, math.sqrt(each))))
    return join(rows)


def triangles(corners: Array, size: float) -> Elements:
    """Triangles float64[n, 3, 3], outward counter-clockwise, cut in four until small enough."""
    done = []
    todo = np.asarray(corners, dtype=float)
    for cut in range(_MOST_CUTS + 1):
        area = 0.5 * np.linalg.norm(
            np.cross(todo[:, 1] - todo[:, 0], todo[:, 2] - todo[:, 0]), axis=1
        )
        small = (area <= size * size) | (cut == _MOST_CUTS)
        done.append(todo[small & (area > 0.0)])
        todo = todo[~small]
        if len(todo) == 0:
            break
        a, b, c = todo[:, 0], todo[:, 1], todo[:, 2]
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        four = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        todo = np.concatenate([np.stack(t, axis=1) for t in four])
    all_corners = np.concatenate(done)
    cross = np.cross(all_corners[:, 1] - all_corners[:, 0], all_corners[:, 2] - all_corners[:, 0])
    twice = np.linalg.norm(cross, axis=1)
    return flat(all_corners.mean(axis=1), cross / twice[:, None], 0.5 * twice, np.sqrt(0.5 * twice))


# --- belts


class Belt(NamedTuple):
    """A track's belt: elements that move along its outline."""

    elements: Elements  # place: along the outline, y, 0; filled in by the loop
    along: Array  # float64[n], where each element stands on the outline at angle 0 [m]
    outline: Array  # float64[p, 4], points at equal distances: x, z, and outward normal x, z
    length: float  # of the outline [m]
    row: int  # elements in a row across


def belt(outline: Array, width: float, y: float, size: float) -> Belt:
    """Elements of a belt whose outer side is a closed polygon (x, z), counter-clockwise."""
    closed = np.concatenate([outline, outline[:1]])
    steps = np.linalg.norm(np.diff(closed, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    length = float(at[-1])
    stations, rings = _count(length, size, 8), _count(width, size)
    n = max(720, 4 * stations)
    where = np.arange(n) * length / n
    points = np.stack([np.interp(where, at, closed[:, k]) for k in (0, 1)], axis=1)
    way = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    way /= np.linalg.norm(way, axis=1)[:, None]
    table = np.concatenate([points, np.stack([way[:, 1], -way[:, 0]], axis=1)], axis=1)
    along = np.repeat((np.arange(stations) + 0.5) * length / stations, rings)
    across = np.tile(y + ((np.arange(rings) + 0.5) / rings - 0.5) * width, stations)
    place = np.zeros((stations * rings, 3))
    place[:, 1] = across
    step = length / stations
    made = flat(
        place,
        np.zeros_like(place),
        np.full(len(place), step * width / rings),
        np.full(len(place), step),
    )
    return Belt(made, along, table, length, rings)


# --- hierarchy


class Balls(NamedTuple):
    """Balls around groups of elements, parents before their children, in the body's frame."""

    centre: Array  # float64[c, 3]
    radius: Array  # float64[c]
    after: Array  # int64[c], the ball to go on with if nothing of this one touches
    first: Array  # int64[c], elements of a leaf; equal to last for others
    last: Array  # int64[c]


def reach_of(elements: Elements) -> Array:
    """How far elements reach from their middle [m]."""
    return elements.length / 2 + elements.arc[:, ROW]


def half_angles(elements: Elements) -> Array:
    """Half the angle over which an arc stands [rad], and sine and cosine of the half of that,
    float64[n, 3]; zeros for flat ones."""
    radius = elements.arc[:, RADIUS]
    arcs = radius > 0.0
    made = np.zeros((len(radius), 3))
    made[arcs, 0] = 0.5 * elements.length[arcs] / radius[arcs]
    made[arcs, 1], made[arcs, 2] = np.sin(0.5 * made[arcs, 0]), np.cos(0.5 * made[arcs, 0])
    return made


#: elements in a leaf, at most
_LEAF = 5


def hierarchy(elements: Elements, depth: float) -> tuple[Elements, Balls]:
    """Sort elements into leaves of a few; the balls also hold a ball of radius `depth` inside each
    element."""
    order: list[int] = []
    rows: list[list[float]] = []
    numbers: list[list[int]] = []
    # sides apart, so that the balls lie inside the body
    axis = np.argmax(np.abs(elements.normal), axis=1)
    ahead = elements.normal[np.arange(len(axis)), axis] > 0
    for k in range(6):
        chosen = np.flatnonzero((axis == k // 2) & (ahead == bool(k % 2)))
        if len(chosen):
            _add_balls(elements, depth, chosen, order, rows, numbers)
    table = np.array(rows, dtype=float).reshape(-1, 4)
    whole = np.array(numbers, dtype=np.int64).reshape(-1, 3)
    sorted_elements = Elements(*(a[np.array(order, dtype=np.int64)] for a in elements))
    return sorted_elements, Balls(
        table[:, :3].copy(), table[:, 3].copy(), whole[:, 0].copy(), whole[:, 1].copy(),
        whole[:, 2].copy(),
    )  # fmt: skip


def _add_balls(
    elements: Elements, depth: float, chosen: Array, order: list[int], rows: list[list[float]],
    numbers: list[list[int]],
) -> None:  # fmt: skip
    """Append the ball around the chosen elements, and those of its parts after it."""
    here = len(rows)
    place, normal = elements.place[chosen], elements.normal[chosen]
    inner = place - depth * normal
    middle = normal.mean(axis=0)
    size = max(float(np.linalg.norm(middle)), 1e-9)
    spread = float(np.linalg.norm(np.ptp(place, axis=0))) / 2
    # moved inwards: the ball is flatter outside
    centre = inner.mean(axis=0) - spread * middle / size
    reach = np.maximum(
        np.linalg.norm(inner - centre, axis=1) + depth,
        np.linalg.norm(place - centre, axis=1) + reach_of(elements)[chosen],
    )
    rows.append([*centre, float(reach.max())])
    numbers.append([0, len(order), len(order)])
    if len(chosen) <= _LEAF:
        order += chosen.tolist()
        numbers[here][2] = len(order)
    else:
        for part in _split(elements.place, chosen, 2 if len(chosen) > 4 * _LEAF else 1):
            _add_balls(elements, depth, part, order, rows, numbers)
    numbers[here][0] = len(rows)


def _split(places: Array, chosen: Array, times: int) -> list[Array]:
    """Halves, or quarters, along the longest side."""
    if times == 0:
        return [chosen]
    axis = int(np.argmax(np.ptp(places[chosen], axis=0)))
    by = chosen[np.argsort(places[chosen, axis], kind="stable")]
    half = len(by) // 2
    return [*_split(places, by[:half], times - 1), *_split(places, by[half:], times - 1)]
