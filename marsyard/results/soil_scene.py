"""Soft ground for the replay: fine blocks where the soil was touched, the terrain around them.

A block is a square of 32 × 32 cells with its own mesh. Blocks are as fine as the grid as long as
there are not too many of them, else coarser by a power of two. Around them lies the undisturbed
terrain in larger cells, within some metres of the track.

Only the final state of the soil is kept, with the time at which each node was last changed. Before
that time a node is shown undisturbed, from then on as the run left it. This is an approximation: of
a place that several wheels pass, the ruts of the earlier ones are not seen, and soil that is being
pressed down or piled up just now appears when it has come to rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from marsyard.drawing.colours import robust_limits
from marsyard.results.glb import glb
from marsyard.results.ground_file import Ground
from marsyard.results.terrain_figures import TINTS

CELLS = 32  # along a block
MOST_BLOCKS = 400
MOST_CELLS = 60_000  # of the terrain around
MARGIN = 8.0  # terrain shown beyond the track [m]
_BRIGHTNESS = 0.6  # of colours that lamps light


@dataclass(frozen=True)
class Block:
    """A square of the ground: nodes x, y [m], shape [33]; base and change [m], time [s] of its last
    change and soil of each node, shape [y, x]."""

    x: np.ndarray
    y: np.ndarray
    base: np.ndarray
    change: np.ndarray
    time: np.ndarray
    soil: np.ndarray
    shade: float
    moments: np.ndarray  # times of change, ascending

    def state(self, time: float) -> int:
        """How many nodes have changed until `time` [s]; the block looks the same as long as this
        does."""
        return int(np.searchsorted(self.moments, time + 1e-6, side="right"))

    def height(self, time: float) -> np.ndarray:
        """Heights shown at `time` [m], shape [y, x]."""
        return self.base + np.where(self.time <= time + 1e-6, self.change, 0.0)


@dataclass(frozen=True)
class SoilScene:
    """The soft ground of a replay."""

    blocks: tuple[Block, ...]
    around: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None
    scale: float  # change of height at the end of the colours [m]
    soils: tuple[str, ...]
    columns: bool = False  # soil in columns is shown as such: steps instead of a smooth surface

    def lines(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Places x and y [m] of the rows and columns of a block as it is drawn."""
        block = self.blocks[number]
        if not self.columns:
            return block.x, block.y
        return _both_sides(block.x), _both_sides(block.y)

    def surface(
        self, number: int, z: np.ndarray, by_change: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points [m] and normals of a block with heights z [m], shape [33 · 33, 3], and their
        colours by change of height or by soil, shape [33, 33, 3], sRGB from 0 to 1; of columns
        twice as many rows and columns."""
        block = self.blocks[number]
        colours = self._colours(block, z, by_change)
        along, across = self.lines(number)
        if self.columns:
            z, colours = (v.repeat(2, axis=0).repeat(2, axis=1) for v in (z, colours))
        x, y = np.meshgrid(along, across)
        gy, gx = np.gradient(z, across, along)
        normals = _points(-gx, -gy, np.ones_like(z))
        return _points(x, y, z), normals, colours

    def _colours(self, block: Block, z: np.ndarray, by_change: bool) -> np.ndarray:
        if by_change:
            return change_colours(z - block.base, block.soil, self.scale) * block.shade
        colours = soil_colours(block.soil) * block.shade
        # pressed soil is darker, as on pictures of real tracks
        sunk = np.clip((block.base - z) / max(self.scale, 1e-6), 0.0, 1.0)
        return colours * (1 - 0.35 * sunk[..., None])

    def mesh(self, number: int, time: float, by_change: bool) -> bytes:
        """A block at `time` [s] as a glTF file, coloured by change of height or by soil."""
        height = self.blocks[number].height(time)
        points, normals, colours = self.surface(number, height, by_change)
        return soil_mesh(points, normals, squares(*colours.shape[:2]), colours.reshape(-1, 3))

    def surroundings(self) -> bytes | None:
        """The terrain around the blocks as a glTF file; None where it is not known."""
        return None if self.around is None else soil_mesh(*self.around)


# --- making it


def soil_scene(ground: Ground, ds: xr.Dataset) -> SoilScene | None:
    """The scene of a ground; None where there is nothing to show."""
    every, places = _choose_blocks(ground)
    blocks = []
    for a, b in places:
        block = _block(ground, int(a), int(b), every)
        if block is not None:
            blocks.append(block)
    size = CELLS * every * ground.spacing
    taken = {(int(a), int(b)) for a, b in places}
    around = None if ground.terrain is None else _around(ground, ds, size, taken)
    if not blocks and around is None:
        return None
    sunk, risen = ground.extremes()
    change = np.abs(ground.data["change"].values)
    # a single node that ran away does not make all ruts pale
    usual = robust_limits(change[change > 1e-4])[1] if (change > 1e-4).any() else 0.0
    scale = max(0.8 * min(max(-sunk, risen), usual), 1e-3)
    # where nodes are left out a column would stand for several
    return SoilScene(tuple(blocks), around, scale, ground.soils, ground.columns and every == 1)


def _choose_blocks(ground: Ground) -> tuple[int, np.ndarray]:
    """How many nodes lie between two shown ones, and the numbers of the blocks, shape [n, 2]."""
    touched = ground.touched.any(axis=(1, 2))
    tiles = ground.tile_number[touched]
    every = 1
    while True:
        # a tile has as many nodes as a block has cells
        places = np.unique(tiles // every, axis=0)
        if len(places) <= MOST_BLOCKS:
            return every, places.reshape(-1, 2)
        every *= 2


def _block(ground: Ground, a: int, b: int, every: int) -> Block | None:
    size = CELLS * every * ground.spacing
    part = ground.window(a * size, (a + 1) * size, b * size, (b + 1) * size, every=every)
    base = part["undisturbed"].values
    known = np.isfinite(base)
    if not known.any():
        return None
    base = np.where(known, base, base[known].mean())
    change = np.nan_to_num(part["change"].values)
    time = part["time"].values
    moments = np.sort(time[np.isfinite(time)])
    # heaps that nobody touched were there from the start
    time = np.where(np.isnan(time) & (change != 0), -np.inf, time)
    shade = square_shade(a + b)
    soil = part["soil"].values
    return Block(part["x"].values, part["y"].values, base, change, time, soil, shade, moments)


def _around(
    ground: Ground, ds: xr.Dataset, size: float, taken: set[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Vertices, normals, triangles and colours of the terrain near the track, without blocks."""
    track = _track(ds)
    if not len(track):
        return None
    for parts in (4, 2, 1):
        cells = _cells_near(track, size / parts)
        if len(cells) <= MOST_CELLS:
            break
    edge = size / parts
    inside = np.array([(a // parts, b // parts) in taken for a, b in cells.tolist()], dtype=bool)
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    place = cells[:, None, :] + corners
    # blocks are finer, so their edges do not fit: cells under them fold down, to close the gaps
    key = place[..., 0] * 2**32 + place[..., 1]
    shared = np.isin(key, key[~inside])
    kept = ~inside | shared.any(axis=1)
    cells, place, folded = cells[kept], place[kept].reshape(-1, 2), ~shared[kept].reshape(-1)
    under = np.repeat(inside[kept], 4)
    x, y = place[:, 0] * edge, place[:, 1] * edge
    height = ground.terrain.height
    z = height(x, y) - np.where(folded, 0.05 - ground.extremes()[0], 0.0)
    shade = np.repeat([square_shade(int(a // parts + b // parts)) for a, b in cells.tolist()], 4)
    colours = soil_colours(ground.terrain.soil(x, y)) * shade[:, None]
    # slopes over a cell, so that neighbours agree at their common corners
    gx = (height(x + edge / 2, y) - height(x - edge / 2, y)) / edge
    gy = (height(x, y + edge / 2) - height(x, y - edge / 2)) / edge
    first = 4 * np.arange(len(cells))[:, None, None]
    triangles = (first + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    # at corners a half that does not fold would lie in the block
    triangles = triangles[~under[triangles[:, 0]] | folded[triangles].any(axis=1)]
    return _points(x, y, z), _points(-gx, -gy, np.ones_like(z)), triangles, colours


def _track(ds: xr.Dataset) -> np.ndarray:
    """Places of the base and the wheels, x and y [m], shape [n, 2]."""
    known = [ds[name] for name in ("position_base", "wheel_position") if name in ds]
    paths = [array.transpose(..., "axis").values[..., :2].reshape(-1, 2) for array in known]
    places = np.concatenate([np.zeros((0, 2)), *paths])
    return places[np.isfinite(places).all(axis=1)]


def _cells_near(track: np.ndarray, edge: float) -> np.ndarray:
    """Numbers of the cells within the margin of a track, shape [n, 2]."""
    coarse = np.unique(np.floor(track / 2.0), axis=0) * 2.0
    reach = math.ceil((MARGIN + 2.0) / edge)
    offsets = np.stack(np.meshgrid(np.arange(-reach, reach), np.arange(-reach, reach)), axis=-1)
    offsets = offsets.reshape(-1, 2)
    found = np.zeros((0, 2), dtype=np.int64)
    for chunk in np.array_split(coarse, max(1, len(coarse) // 64)):
        centre = np.floor((chunk + 1.0) / edge).astype(np.int64)
        cells = (centre[:, None, :] + offsets).reshape(-1, 2)
        found = np.unique(np.concatenate([found, cells]), axis=0)
    return found


# --- colours and files


def square_shade(number: int) -> float:
    """Brightness of a square of the ground, in turn, so that motion over it can be seen."""
    return 1.0 if number % 2 else 0.93


def soil_colours(soil: np.ndarray) -> np.ndarray:
    """A colour for each soil, sRGB from 0 to 1."""
    from matplotlib.colors import to_rgb

    tints = np.array([to_rgb(c) for c in TINTS])
    return tints[np.maximum(soil, 0) % len(tints)]


def change_colours(change: np.ndarray, soil: np.ndarray, scale: float) -> np.ndarray:
    """Blue for lower, red for higher, the soil's own colour for unchanged, sRGB from 0 to 1."""
    from marsyard.results.rut_map import rut_colours

    colours = rut_colours()(np.clip(0.5 + 0.5 * change / scale, 0.0, 1.0))[..., :3]
    strength = np.clip(np.abs(change) / scale / 0.15, 0.0, 1.0)[..., None]
    return (1 - strength) * soil_colours(soil) + strength * colours


def _points(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.column_stack([x.ravel(), y.ravel(), z.ravel()])


def _both_sides(places: np.ndarray) -> np.ndarray:
    """The two sides of columns that stand at these places, nearly touching their neighbours'; half
    of the outermost ones belongs to the next block."""
    half = 0.49 * (places[1] - places[0])
    sides = np.stack([places - half, places + half], axis=-1).ravel()
    return np.clip(sides, places[0] - 1e-6, places[-1] + 1e-6)


def squares(rows: int, columns: int) -> np.ndarray:
    """Triangles of a grid of nodes."""
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]
    return np.concatenate(
        [np.stack([a, b, c], axis=-1).reshape(-1, 3), np.stack([a, c, d], axis=-1).reshape(-1, 3)]
    )


def soil_mesh(
    points: np.ndarray, normals: np.ndarray, triangles: np.ndarray, colours: np.ndarray
) -> bytes:
    """A mesh with colours, sRGB from 0 to 1, as glTF; viewers take z up as it is here."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    rgba = np.concatenate([_BRIGHTNESS * linear, np.ones((len(colours), 1))], axis=1)
    return glb(points, normals, triangles, (255 * np.clip(rgba, 0, 1)).astype(np.uint8))
