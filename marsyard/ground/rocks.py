"""Hard rocks as closed meshes on a terrain: all rocks of a ground in one `TriangleMesh`.

A rock is a rough ellipsoid. A point of the unit sphere in the direction u lies at

    x(u) = S exp(ρ f(u)) u,     f(u) = a + b Σ_k cos(q_k · u + φ_k)

with twelve waves of random direction and phase, 1.5 ≤ |q_k| ≤ 5 (from about four radii long down to
one and a quarter), a and b so that f has the mean 0 and the RMS 1 over the mesh, and the roughness
ρ. S stretches the three axes so that length, width and height of the mesh are exactly
those of the rock:

    length · width = D²,    length / width = elongation.

The sphere is an icosahedron, each side cut in n and each face in n² ("frequency n"), so that a rock
has 20 n² flat faces. It stands upright, turned by its heading, with the share `buried` of its
height below the terrain's undisturbed height at its middle.

A field takes sizes and places from `terrain.rocks` (Golombek and Rapp 1997): circles around the
rocks, seen from above, do not touch. A rock half buried shows its full diameter; one that is buried
more or less shows less.

The same seed gives the same bits: sizes and places come from the ground's seed, shapes from seed
and number of the rock, single ones first.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.triangle_mesh import TriangleMesh

if TYPE_CHECKING:
    from marsyard.ground.terrain import Terrain
    from marsyard.scenario.rocks import RocksGround

WAVES = 12
#: |q_k| of the longest and shortest waves
LONGEST, SHORTEST = 1.5, 5.0
MOST_TRIANGLES = 4_000_000
_FIELD, _SHAPE = 0, 1  # what seeds are for


def rock_mesh(spec: RocksGround, terrain: Terrain | None) -> TriangleMesh:
    """The surface of all rocks of a ground on a terrain, or on z = 0."""
    vertices, triangles = rock_shapes(spec, terrain)
    count = len(vertices)
    index = triangles[None] + vertices.shape[1] * np.arange(count)[:, None, None]
    return TriangleMesh(
        vertices.reshape(-1, 3), index.reshape(-1, 3), name=str(spec.name), orient=False
    )


def rock_shapes(spec: RocksGround, terrain: Terrain | None) -> tuple[np.ndarray, np.ndarray]:
    """Corners of all rocks [m], shape [rock, corner, 3], and the triangles of each, the same for
    all, shape [triangle, 3]."""
    place, numbers, seeds = layout(spec, terrain)
    points, triangles = icosphere(spec.faces)
    count = len(place)
    if count == 0:
        raise InputError(
            "field: it contains no rocks; use a larger area, a higher coverage or smaller rocks"
        )
    if count * len(triangles) > MOST_TRIANGLES:
        raise InputError(
            f"faces: {count} rocks of {len(triangles)} would be more than {MOST_TRIANGLES:,} "
            "triangles; use fewer faces or larger rocks"
        )
    ground = np.zeros(count) if terrain is None else terrain.height(place[:, 0], place[:, 1])
    vertices = np.empty((count, len(points), 3))
    for k in range(count):
        length, width, heading, height, buried = numbers[k]
        made = shape(points, spec.roughness, seeds[k]) * (length, width, height)
        cos, sin = math.cos(heading), math.sin(heading)
        vertices[k, :, 0] = place[k, 0] + cos * made[:, 0] - sin * made[:, 1]
        vertices[k, :, 1] = place[k, 1] + sin * made[:, 0] + cos * made[:, 1]
        vertices[k, :, 2] = ground[k] + made[:, 2] + (0.5 - buried) * height
    return vertices, triangles


def layout(
    spec: RocksGround, terrain: Terrain | None
) -> tuple[np.ndarray, np.ndarray, list[np.random.SeedSequence]]:
    """Places [m], shape [n, 2]; length, width [m], heading [rad], height [m] and share buried,
    shape [n, 5]; and a seed for the shape of each rock. Single rocks come first."""
    own_place, own, seeds = _single(spec)
    place, numbers = _field(spec, terrain, own_place, own)
    if terrain is not None and terrain.bounds is not None:
        for k, (x, y) in enumerate(own_place):
            if not _within(terrain.bounds, (x, x, y, y)):
                raise InputError(
                    f"rocks.{k}.place: ({x:g}, {y:g}) m is outside the terrain, "
                    f"{_words(terrain.bounds)}"
                )
    seeds += [
        np.random.SeedSequence(spec.seed, spawn_key=(_SHAPE, len(own) + k))
        for k in range(len(place))
    ]
    return np.concatenate([own_place, place]), np.concatenate([own, numbers]), seeds


def _single(spec: RocksGround) -> tuple[np.ndarray, np.ndarray, list[np.random.SeedSequence]]:
    place = np.array([r.place for r in spec.rocks], dtype=float).reshape(-1, 2)
    numbers = np.zeros((len(place), 5))
    seeds = []
    for k, rock in enumerate(spec.rocks):
        stretch = math.sqrt(rock.elongation)
        height = rock.diameter if rock.height is None else rock.height
        numbers[k] = (
            rock.diameter * stretch, rock.diameter / stretch, rock.heading, height, rock.buried,
        )  # fmt: skip
        seeds.append(
            np.random.SeedSequence(spec.seed, spawn_key=(_SHAPE, k))
            if rock.seed is None
            else np.random.SeedSequence(rock.seed)
        )
    return place, numbers, seeds


def _field(
    spec: RocksGround, terrain: Terrain | None, taken: np.ndarray, taken_by: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Places and numbers of the field, without those that touch single rocks."""
    part = spec.field
    if part is None:
        return np.zeros((0, 2)), np.zeros((0, 5))
    from marsyard.ground.terrain.rocks import field

    (x0, x1), (y0, y1) = part.area
    if terrain is not None and terrain.bounds is not None:
        if not _within(terrain.bounds, (x0, x1, y0, y1)):
            raise InputError(
                f"field.area: x {x0:g} to {x1:g}, y {y0:g} to {y1:g} m reaches beyond the terrain, "
                f"{_words(terrain.bounds)}"
            )
    circles = [
        SimpleNamespace(centre=tuple(c), radius=float(n[0]) / 2)
        for c, n in zip(taken, taken_by, strict=True)
    ]
    sizes: Any = SimpleNamespace(
        area=part.area, repeat=part.repeat, coverage=part.coverage, smallest=part.smallest,
        largest=part.largest, height_ratio=part.height_ratio, elongation=part.elongation,
        clear=(*part.clear, *circles),
    )  # fmt: skip
    random = np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(_FIELD,)))
    try:
        place, numbers = field(sizes, random)
    except InputError as error:
        raise InputError(f"field: {error}") from None
    length, width, heading, height = numbers.T
    buried = np.full(len(place), part.buried)
    return place, np.column_stack([2 * length, 2 * width, heading, height, buried])


def _within(bounds: tuple[float, ...], area: tuple[float, ...]) -> bool:
    xmin, xmax, ymin, ymax = bounds
    return xmin <= area[0] and area[1] <= xmax and ymin <= area[2] and area[3] <= ymax


def _words(bounds: tuple[float, ...]) -> str:
    return "which is x {:g} to {:g}, y {:g} to {:g} m".format(*bounds)


# --- shape of a rock


def shape(points: np.ndarray, roughness: float, seed: np.random.SeedSequence) -> np.ndarray:
    """The rough sphere of a seed over directions `points`, in a box of edge 1 about the origin."""
    random = np.random.default_rng(seed)
    direction = random.normal(size=(WAVES, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    wave = direction * random.uniform(LONGEST, SHORTEST, WAVES)[:, None]
    phase = random.uniform(0.0, 2 * math.pi, WAVES)
    bump = np.cos(points @ wave.T + phase).sum(axis=1)
    bump = (bump - bump.mean()) / bump.std()
    made = points * np.exp(roughness * bump)[:, None]
    low, high = made.min(axis=0), made.max(axis=0)
    return (made - (low + high) / 2) / (high - low)


def icosphere(faces: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on the unit sphere and triangles seen counter-clockwise from outside; the number of
    triangles is that of 20 n² nearest to `faces`."""
    n = max(1, round(math.sqrt(faces / 20)))
    corners, sides = _icosahedron()
    points: list[np.ndarray] = []
    index: list[tuple[int, int, int]] = []
    known: dict[tuple[tuple[int, int], ...], int] = {}

    def number(weights: dict[int, int]) -> int:
        # a point is known by what its corners weigh, so that neighbours share it
        key = tuple(sorted((c, w) for c, w in weights.items() if w))
        if key not in known:
            known[key] = len(points)
            points.append(np.sum([w * corners[c] for c, w in key], axis=0))
        return known[key]

    for a, b, c in sides:
        grid = {
            (i, j): number({a: n - i - j, b: i, c: j})
            for i in range(n + 1)
            for j in range(n + 1 - i)
        }
        for i in range(n):
            for j in range(n - i):
                index.append((grid[i, j], grid[i + 1, j], grid[i, j + 1]))
                if i + j < n - 1:
                    index.append((grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]))
    made = np.array(points)
    return made / np.linalg.norm(made, axis=1)[:, None], np.array(index, dtype=np.int64)


def _icosahedron() -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """The twelve corners, with two of them up and down, and the twenty faces."""
    turn = 2 * math.pi / 5 * np.arange(5)
    # the corners between lie on two circles at the latitudes ± atan ½, turned against each other
    up = math.sin(math.atan(0.5))
    wide = math.cos(math.atan(0.5))
    upper = np.column_stack([wide * np.cos(turn), wide * np.sin(turn), np.full(5, up)])
    lower = np.column_stack(
        [wide * np.cos(turn + math.pi / 5), wide * np.sin(turn + math.pi / 5), np.full(5, -up)]
    )
    corners = np.concatenate([[[0.0, 0.0, 1.0]], upper, lower, [[0.0, 0.0, -1.0]]])
    sides = []
    for k in range(5):
        u, v, w, x = 1 + k, 1 + (k + 1) % 5, 6 + k, 6 + (k + 1) % 5
        sides += [(0, u, v), (u, w, v), (v, w, x), (11, x, w)]
    return corners, sides
