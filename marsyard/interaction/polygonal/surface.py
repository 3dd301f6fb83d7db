"""Surfaces for polygonal contact: polygons of primitives and files, checked and packed.

A `Surface` is a closed mesh of triangles with outward normals; `Other` what faces are tested
against: a plane, a sphere, a box, a body of revolution or a mesh. Frames: that of the shape itself;
the engine places it on a body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.bvh import build_nodes, leaf_count, tree_order
from marsyard.ground.mesh_topology import degenerate, neighbours, weld
from marsyard.ground.rim_walls import hang_walls, rim_sides
from marsyard.interaction.polygonal.arrays import MEMO, PART, Shapes
from marsyard.interaction.polygonal.contact import HIDDEN
from marsyard.interaction.polygonal.distance import BOX, MESH, PLANE, REVOLUTION, SPHERE
from marsyard.interaction.polygonal.profile import polygons, section_bulge

Array = np.ndarray

#: largest number of times a face may be cut
MOST_CUTS = 8
#: largest number of faces a surface may have
MOST_FACES = 20_000_000


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface of triangles."""

    vertices: Array  # float64[v, 3] [m]
    triangles: Array  # int64[t, 3], counter-clockwise seen from outside
    name: str = "surface"

    def __len__(self) -> int:
        return len(self.triangles)

    @property
    def widest(self) -> float:
        """The longest side of its triangles [m]."""
        corners = self.vertices[self.triangles]
        return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())


def closed_surface(vertices: Array, triangles: Array, name: str) -> Surface:
    """A mesh as the surface of a body: welded, without slivers, closed, outside out."""
    made = open_surface(vertices, triangles, name)
    twin = neighbours(made.triangles, len(made.vertices))
    holes = int(np.count_nonzero(twin < 0))
    if holes:
        raise InputError(
            f"{name}: the mesh is open ({holes} sides of triangles have no neighbour or more than "
            "one); polygonal contact needs the closed surface of a body"
        )
    start, end = made.triangles.reshape(-1), np.roll(made.triangles, -1, axis=1).reshape(-1)
    turned_over = int(np.count_nonzero(start[twin] != end))
    if turned_over:
        raise InputError(
            f"{name}: neighbouring triangles of the mesh disagree on what is outside (at "
            f"{turned_over // 2} sides); turn them so that their corners run counter-clockwise "
            "seen from outside"
        )
    volume = signed_volume(made)
    if volume <= 0.0:
        raise InputError(
            f"{name}: the mesh is inside out (its volume is {volume:.3g} m³); turn its triangles "
            "so that their corners run counter-clockwise seen from outside"
        )
    return made


def open_surface(vertices: Array, triangles: Array, name: str) -> Surface:
    """A mesh that may have borders: welded, without slivers."""
    points = np.array(vertices, dtype=float)
    index = np.array(triangles, dtype=np.int64)
    if len(index) == 0:
        raise InputError(f"{name}: the mesh has no triangle")
    if not np.all(np.isfinite(points)):
        raise InputError(f"{name}: the mesh has vertices that are not finite")
    extent = float(np.max(np.ptp(points, axis=0)))
    points, corner = weld(points, 1e-9 * extent)
    index = corner[index]
    flat = degenerate(points, index)
    if len(flat):
        index = np.delete(index, flat, axis=0)
    if len(index) == 0:
        raise InputError(f"{name}: the mesh has no triangle of an area above zero")
    return Surface(points, index, name)


def with_walls(surface: Surface, height: float) -> Surface:
    """An open surface with walls of this height [m] below its rim (`ground.rim_walls`)."""
    points, triangles = hang_walls(surface.vertices, surface.triangles, height)
    return Surface(points, triangles, surface.name)


def signed_volume(surface: Surface) -> float:
    """[m³], positive for outward normals."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def divided(surface: Surface, size: float) -> Surface:
    """Sides longer than `size` [m] halved until none is left; neighbours stay neighbours."""
    points, index = surface.vertices, surface.triangles
    # no triangle with such sides is larger than an equilateral one
    corners = points[index]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = 0.5 * float(np.linalg.norm(cross, axis=1).sum())
    reach = float(np.ptp(surface.vertices, axis=0).max())
    _must_fit(area / (math.sqrt(3.0) / 4.0 * size * size), size, surface.name, reach)
    while True:
        a, b, c = (points[index[:, k]] for k in range(3))
        longest = np.max([np.linalg.norm(x - y, axis=1) for x, y in ((a, b), (b, c), (c, a))])
        if longest <= size:
            return Surface(points, index, surface.name)
        _must_fit(4 * len(index), size, surface.name, reach)
        points, index = _halve(points, index, size)


def _must_fit(count: float, size: float, name: str, reach: float = 0.0) -> None:
    """Refuse more faces than there is room for; `reach`: largest extent of the surface [m]."""
    if count > MOST_FACES:
        large = f"it is {reach:g} m long (scale: 0.001 if it is in mm) and " if reach > 10 else ""
        raise InputError(
            f"{name}: {large}faces of {size:g} m would be more than {MOST_FACES:,}; choose a "
            "larger face_size"
        )


def _halve(points: Array, index: Array, size: float) -> tuple[Array, Array]:
    """Halve every side longer than `size`, once."""
    sides = np.sort(index[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    unique, inverse = np.unique(sides, axis=0, return_inverse=True)
    ends = points[unique]
    long = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > size
    number = np.full(len(unique), -1, dtype=np.int64)
    number[long] = len(points) + np.arange(np.count_nonzero(long))
    points = np.concatenate([points, ends[long].mean(axis=1)])
    middle = number[inverse.reshape(-1, 3)]
    out = []
    cut = middle >= 0
    how = cut @ np.array([1, 2, 4])
    for case in np.unique(how):
        rows = how == case
        v, m = index[rows], middle[rows]
        a, b, c = v[:, 0], v[:, 1], v[:, 2]
        p, q, r = m[:, 0], m[:, 1], m[:, 2]
        pieces = {
            0: [(a, b, c)],
            1: [(a, p, c), (p, b, c)],
            2: [(b, q, a), (q, c, a)],
            4: [(c, r, b), (r, a, b)],
            3: [(p, b, q), (a, p, q), (a, q, c)],
            6: [(q, c, r), (b, q, r), (b, r, a)],
            5: [(r, a, p), (c, r, p), (c, p, b)],
            7: [(a, p, r), (p, b, q), (r, q, c), (p, q, r)],
        }[int(case)]
        out += [np.stack(piece, axis=1) for piece in pieces]
    return points, np.concatenate(out)


# --- primitives


def box(half: Array, size: float, name: str = "box") -> Surface:
    """A box about the origin in faces of sides up to `size`."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    index = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return divided(Surface(corners * half, np.array(index), name), size)


def ball(radius: float, size: float, name: str = "sphere") -> Surface:
    """A sphere: an icosahedron divided, its mean radius that of the sphere."""
    g = (1 + math.sqrt(5)) / 2
    points = np.array(
        [[s * a, t * b, 0.0] for s in (-1, 1) for t in (-1, 1) for a, b in ((1.0, g),)]
    )
    points = np.concatenate([points, np.roll(points, 1, axis=1), np.roll(points, 2, axis=1)])
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    index = hull.simplices.astype(np.int64)
    made = Surface(points / np.linalg.norm(points[0]), index, name)
    a, b, c = (made.vertices[index[:, k]] for k in range(3))
    wrong = np.einsum("ij,ij->i", a, np.cross(b, c)) < 0
    index[wrong] = index[wrong][:, ::-1]
    times = max(0, math.ceil(math.log2(1.05 * radius / size)))
    _must_fit(20.0 * 4.0**times, size, name)
    vertices = made.vertices
    for _ in range(times):
        vertices, index = _halve(vertices, index, 0.0)
        vertices = vertices / np.linalg.norm(vertices, axis=1)[:, None]
    made = Surface(vertices, index, name)
    # as much volume as the sphere
    scale = radius * (4.0 * math.pi / 3.0 / signed_volume(made)) ** (1.0 / 3.0)
    return Surface(vertices * scale, index, name)


def turned(points: Array, size: float, steps: int, name: str = "revolution") -> Surface:
    """A body of revolution: its section in steps up to `size`, turned in `steps`."""
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    _must_fit(2.0 * steps * (length / size + len(points)), size, name)
    rows = [points[:1]]
    for a, b in zip(points[:-1], points[1:], strict=True):
        n = max(1, math.ceil(float(np.linalg.norm(b - a)) / size))
        share = (np.arange(n) + 1.0)[:, None] / n
        rows.append(a + share * (b - a))
    return Surface(*polygons(np.concatenate(rows), steps), name)


# --- what faces are tested against


@dataclass(frozen=True, eq=False)
class Other:
    """The other body of a pair, in its own frame (planes: z = 0, below it is inside)."""

    kind: int
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    surface: Surface | None = None
    profile: Array | None = None  # float64[stations, points, 2]
    station: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def roundness(self) -> float:
        """The smallest radius with which it bulges into faces [m]; 0: it has sharp edges."""
        if self.kind == PLANE:
            return math.inf
        if self.kind == SPHERE:
            return self.size[0]
        # that of a body of revolution depends on the place, see `section_bulge`
        return math.inf if self.kind == REVOLUTION else 0.0

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex."""
        if self.kind == REVOLUTION and self.profile is not None:
            return self.size[0] > 0 and all(_bends_in(p) for p in self.profile)
        return self.surface is None or _no_edge_bends_in(self.surface)

    @property
    def extent(self) -> tuple[float, ...]:
        """The box around it, in its frame [m]: lower corner and upper corner; infinite for a
        plane."""
        if self.surface is not None:
            points = self.surface.vertices
            return (*points.min(axis=0), *points.max(axis=0))
        if self.profile is not None:
            z, r = self.profile[..., 0], float(self.profile[..., 1].max())
            return (-r, -r, float(z.min()), r, r, float(z.max()))
        if self.kind == PLANE:
            return (*(-math.inf,) * 3, *(math.inf,) * 3)
        half = self.size if self.kind == BOX else (self.size[0],) * 3
        return (*(-a for a in half), *half)


def _no_edge_bends_in(surface: Surface) -> bool:
    """Whether a closed mesh in one piece is convex: at no side is the neighbour's far corner above
    the plane of a triangle."""
    points, index = surface.vertices, surface.triangles
    twin = neighbours(index, len(points))
    if np.any(twin < 0) or _pieces(index, twin) > 1:
        return False
    corners = points[index]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    far = points[index[twin // 3, (twin % 3 + 2) % 3]]
    own = np.repeat(corners[:, 0], 3, axis=0)
    above = np.einsum("ij,ij->i", far - own, np.repeat(normal, 3, axis=0))
    return bool(np.all(above < 1e-9 * np.max(np.ptp(points, axis=0))))


def _pieces(index: Array, twin: Array) -> int:
    """Of how many separate surfaces a closed mesh consists."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(index)
    rows = np.arange(3 * n) // 3
    links = coo_array((np.ones(3 * n), (rows, twin // 3)), shape=(n, n))
    return int(connected_components(links, directed=False)[0])


def _bends_in(profile: Array) -> bool:
    """Whether a body inside its profile is convex."""
    step = np.diff(profile, axis=0)
    turn = np.diff(np.arctan2(step[:, 1], step[:, 0]))
    return bool(np.all(turn <= 1e-9))


def plane() -> Other:
    """The half space below z = 0."""
    return Other(PLANE)


def sphere(radius: float) -> Other:
    """A solid ball about the origin."""
    return Other(SPHERE, (radius, 0.0, 0.0))


def solid_box(half: Array) -> Other:
    """A solid box about the origin."""
    return Other(BOX, (float(half[0]), float(half[1]), float(half[2])))


def revolution(profile: Array, side: int, station: Array | None = None) -> Other:
    """A body of revolution about z; several profiles change with the coordinate `station`."""
    stack = profile if profile.ndim == 3 else profile[None]
    made = np.zeros(0) if station is None else np.asarray(station, dtype=float)
    return Other(REVOLUTION, (float(side), 0.0, 0.0), profile=stack, station=made)


def mesh(surface: Surface) -> Other:
    """A body by its closed surface (or ground by its open one)."""
    return Other(MESH, surface=surface)


# --- packing


def pack_shapes(faces: list[Surface], others: list[Other]) -> tuple[Shapes, list[int], list[int]]:
    """All surfaces in one set of arrays; numbers of the faces' meshes and of the others.

    A surface that several pairs use is packed once."""
    meshes: list[Surface] = []
    searched: set[int] = set()

    def number(surface: Surface) -> int:
        for k, known in enumerate(meshes):
            if known is surface:
                return k
        meshes.append(surface)
        return len(meshes) - 1

    face_number = [number(s) for s in faces]
    other_number = []
    profiles: list[tuple[Array, Array, int]] = []
    for other in others:
        if other.kind == MESH and other.surface is not None:
            k = number(other.surface)
            searched.add(k)
            other_number.append(k)
        elif other.kind == REVOLUTION and other.profile is not None:
            other_number.append(len(profiles))
            profiles.append((other.profile, other.station, int(other.size[0])))
        else:
            other_number.append(0)
    table, nodes, triangles, pseudo = [], [], [], []
    first = node = normals = 0
    for k, surface in enumerate(meshes):
        order, rows, boxes, leaves = _tables(surface)
        extra = (
            pseudo_normals(Surface(surface.vertices, order)) if k in searched else np.zeros((0, 18))
        )
        table.append((first, len(rows), node - 1, leaves, normals))
        triangles.append(rows)
        nodes.append(boxes)
        pseudo.append(extra)
        first += len(rows)
        node += len(boxes)
        normals += len(extra)
    rows_, points, bulges, stations, shapes = [], [], [], [], []
    point = at = shape = 0
    for profile, station, side in profiles:
        count = profile.shape[1]
        rows_.append((point, count, at, len(station), shape))
        points.append(profile[0])
        bulges.append(np.min([section_bulge(p, side) for p in profile], axis=0))
        point += count
        if len(station):
            stations.append(station)
            shapes.append(profile.reshape(-1, 2))
            at += len(station)
            shape += profile.shape[0] * count
    f = np.zeros
    return (
        Shapes(
            mesh=np.array(table, dtype=np.int64).reshape(-1, 5),
            node=np.concatenate([f((0, 6)), *nodes]),
            triangle=np.concatenate([f((0, 13)), *triangles]),
            pseudo=np.concatenate([f((0, 18)), *pseudo]),
            profile=np.array(rows_, dtype=np.int64).reshape(-1, 5),
            point=np.concatenate([f((0, 2)), *points]),
            rate=f((point, 2)),
            bulge=np.concatenate([f(0), *bulges]),
            station=np.concatenate([f(0), *stations]),
            shape=np.concatenate([f((0, 2)), *shapes]),
            path=f(len(profiles)),
            stack=f(128, np.int64),
            memo=f((MEMO, 7)),
            memo_number=f(MEMO, np.int64),
            part=f((3 * (MOST_CUTS + HIDDEN) + 8, PART)),
        ),
        face_number,
        other_number,
    )


def face_order(surface: Surface) -> Array:
    """Numbers of a surface's triangles in the order of its hierarchy, int64[t]."""
    points = np.ascontiguousarray(surface.vertices)
    index = np.ascontiguousarray(surface.triangles)
    return tree_order(points, index, leaf_count(len(index)))


def _tables(surface: Surface) -> tuple[Array, Array, Array, int]:
    """Triangles in the hierarchy's order, their rows, boxes of the hierarchy, leaves."""
    points = np.ascontiguousarray(surface.vertices)
    index = np.ascontiguousarray(surface.triangles)
    leaves = leaf_count(len(index))
    index = np.ascontiguousarray(index[face_order(surface)])
    boxes = build_nodes(points, index, leaves)
    corners = points[index]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    twice = np.linalg.norm(cross, axis=1)
    rows = np.concatenate(
        [corners.reshape(-1, 9), cross / twice[:, None], 0.5 * twice[:, None]], axis=1
    )
    return index, rows, boxes, leaves


def pseudo_normals(surface: Surface) -> Array:
    """Normals of the three corners and the three sides of each triangle, float64[t, 18].

    They are zero on a rim: what is nearest to it is outside."""
    points, index = surface.vertices, surface.triangles
    corners = points[index]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal = cross / np.linalg.norm(cross, axis=1)[:, None]
    at_vertex = np.zeros_like(points)
    for k in range(3):
        u = corners[:, (k + 1) % 3] - corners[:, k]
        v = corners[:, (k + 2) % 3] - corners[:, k]
        cosine = np.einsum("ij,ij->i", u, v) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        angle = np.arccos(np.clip(cosine, -1.0, 1.0))
        np.add.at(at_vertex, index[:, k], angle[:, None] * normal)
    alone, border = rim_sides(index, len(points))
    at_vertex[np.unique(border)] = 0.0
    twin = neighbours(index, len(points))
    out = np.zeros((len(index), 18))
    for k in range(3):
        out[:, 3 * k : 3 * k + 3] = at_vertex[index[:, k]]
        other = twin[k::3]
        beside = np.where((other >= 0)[:, None], normal[np.maximum(other, 0) // 3], 0.0)
        out[:, 9 + 3 * k : 12 + 3 * k] = np.where(alone[:, k, None], 0.0, normal + beside)
    return out
