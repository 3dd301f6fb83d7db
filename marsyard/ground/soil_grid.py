"""A deformable height grid, stored in tiles that exist only where something has been.

Nodes lie at x = i·ds, y = j·ds for all whole i, j. Each node carries

    base    height of the undisturbed surface u [m]
    ref     change of the reference level from which sinkage is measured [m]
    depth   plastic sinkage z_p ≥ 0 below the reference level [m]
    soil    index of its soil
    time    when it was last changed [s], NaN if never

so that the surface is at `base + ref − depth`. Sinkage of a body whose lower surface is at w is
z = base + ref − w. Pressing soil down raises `depth`; soil that flows away lowers `ref` (what is
left keeps its compaction); soil that is deposited first fills the compacted hollow, then raises
`ref`. The volume that was moved is ds² Σ (ref − depth): zero when all of it has come to rest again.

Tiles are squares of 32 × 32 nodes, found through a hash table. The compiled loop asks for tiles it
needs (`request`) and stops; Python evaluates the undisturbed terrain there, once, and the loop goes
on. Nothing depends on the size of the terrain, and memory grows with the tracks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from marsyard.errors import InputError
from marsyard.jit import inlined, kernel

SIDE = 32  # nodes along a tile
_SHIFT = 5
_NODES = SIDE * SIDE
#: tiles are numbered from −_HALF to _HALF in each direction
_HALF = 2**25

# bits of `flag`
QUEUED, UNDER, MARKED = 1, 2, 4
# columns of `node`
BASE, REF, DEPTH, TIME = range(4)


class Surface(Protocol):
    """What the grid asks of the undisturbed terrain."""

    @property
    def soils(self) -> tuple[str, ...]: ...
    @property
    def bounds(self) -> tuple[float, float, float, float] | None: ...
    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray: ...
    def soil(self, x: np.ndarray, y: np.ndarray) -> np.ndarray: ...


class GridArrays(NamedTuple):
    """The grid as plain arrays; `t` tiles of room, hash table of size `c` (a power of two)."""

    spacing: np.ndarray  # float64[1], ds [m]
    table_key: np.ndarray  # int64[c], number of the tile, −1 = empty
    table_slot: np.ndarray  # int64[c]
    tile: np.ndarray  # int64[t, 2], tile numbers along x and y
    top: np.ndarray  # float64[t], no node of the tile is higher than this [m]
    count: np.ndarray  # int64[1], tiles in use
    node: np.ndarray  # float64[t · 1024, 4], BASE, REF, DEPTH, TIME of each node
    soil: np.ndarray  # uint8[t · 1024]
    flag: np.ndarray  # uint8[t · 1024]
    queue: np.ndarray  # int64[t · 1024], ring of nodes to be settled
    queue_ends: np.ndarray  # int64[2], first and number
    request: np.ndarray  # int64[64, 2], tiles asked for
    request_count: np.ndarray  # int64[1]

    @property
    def base(self) -> np.ndarray:
        """Undisturbed heights, a view."""
        return self.node[:, BASE]

    @property
    def ref(self) -> np.ndarray:
        """Changes of the reference level, a view."""
        return self.node[:, REF]

    @property
    def depth(self) -> np.ndarray:
        """Plastic sinkages, a view."""
        return self.node[:, DEPTH]

    @property
    def time(self) -> np.ndarray:
        """Instants of the last change, a view."""
        return self.node[:, TIME]


# --- kernels


@inlined
def tile_key(ti, tj):
    """One whole number for a tile."""
    return (ti + _HALF) * (2 * _HALF) + tj + _HALF


@kernel
def find_tile(grid, ti, tj):
    """Slot of a tile, or −1."""
    key = tile_key(ti, tj)
    mask = grid.table_key.shape[0] - 1
    at = ((ti * 73856093) ^ (tj * 19349663)) & mask
    while True:
        if grid.table_key[at] == key:
            return grid.table_slot[at]
        if grid.table_key[at] < 0:
            return -1
        at = (at + 1) & mask


@kernel
def ask_for_tile(grid, ti, tj):
    """Note a tile that is needed and does not exist."""
    n = grid.request_count[0]
    for k in range(n):
        if grid.request[k, 0] == ti and grid.request[k, 1] == tj:
            return
    if n < grid.request.shape[0]:
        grid.request[n, 0] = ti
        grid.request[n, 1] = tj
        grid.request_count[0] = n + 1


@kernel
def neighbour(grid, node, di, dj):
    """The node next to `node` by (di, dj) in −1, 0, 1; −1 if its tile does not exist."""
    local = node & (_NODES - 1)
    i = (local >> _SHIFT) + di
    j = (local & (SIDE - 1)) + dj
    if 0 <= i < SIDE and 0 <= j < SIDE:
        return node + di * SIDE + dj
    slot = node >> (2 * _SHIFT)
    ti = grid.tile[slot, 0] + (i >> _SHIFT)
    tj = grid.tile[slot, 1] + (j >> _SHIFT)
    slot = find_tile(grid, ti, tj)
    if slot < 0:
        ask_for_tile(grid, ti, tj)
        return -1
    return (slot << (2 * _SHIFT)) + ((i & (SIDE - 1)) << _SHIFT) + (j & (SIDE - 1))


@inlined
def node_x(grid, node):
    """x of a node [m]."""
    slot = node >> (2 * _SHIFT)
    i = grid.tile[slot, 0] * SIDE + ((node & (_NODES - 1)) >> _SHIFT)
    return i * grid.spacing[0]


@inlined
def node_y(grid, node):
    """y of a node [m]."""
    slot = node >> (2 * _SHIFT)
    j = grid.tile[slot, 1] * SIDE + (node & (SIDE - 1))
    return j * grid.spacing[0]


@inlined
def deposit(grid, node, dz):
    """Soil of height dz ≥ 0 comes to rest on a node."""
    fill = min(dz, grid.node[node, DEPTH])
    grid.node[node, DEPTH] -= fill
    grid.node[node, REF] += dz - fill
    slot = node >> (2 * _SHIFT)
    grid.top[slot] = max(
        grid.top[slot], grid.node[node, BASE] + grid.node[node, REF] - grid.node[node, DEPTH]
    )


@inlined
def remove(grid, node, dz):
    """Soil of height dz ≥ 0 flows away; what is left keeps its compaction."""
    grid.node[node, REF] -= dz


@inlined
def wake(grid, node):
    """Have a node looked at by the next settling."""
    if grid.flag[node] & QUEUED:
        return
    grid.flag[node] |= QUEUED
    size = grid.queue.shape[0]
    at = grid.queue_ends[0] + grid.queue_ends[1]
    grid.queue[at - size if at >= size else at] = node
    grid.queue_ends[1] += 1


@inlined
def surface(grid, node):
    """Height of the present surface [m]."""
    return grid.node[node, BASE] + grid.node[node, REF] - grid.node[node, DEPTH]


@kernel
def wake_around(grid, node):
    """Have a node and its eight neighbours looked at."""
    wake(grid, node)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if di != 0 or dj != 0:
                other = neighbour(grid, node, di, dj)
                if other >= 0:
                    wake(grid, other)


@kernel
def _enter(table_key, table_slot, tile, slot):
    mask = table_key.shape[0] - 1
    at = ((tile[slot, 0] * 73856093) ^ (tile[slot, 1] * 19349663)) & mask
    while table_key[at] >= 0:
        at = (at + 1) & mask
    table_key[at] = tile_key(tile[slot, 0], tile[slot, 1])
    table_slot[at] = slot


# --- the grid as a user sees it


class SoilGrid:
    """A deformable grid over a terrain.

    terrain   undisturbed surface and soils by place
    spacing   ds [m]
    outside   what happens beyond the terrain's bounds: "stop" or "flat"
    """

    def __init__(self, terrain: Surface, spacing: float, outside: str = "stop") -> None:
        if not (np.isfinite(spacing) and spacing > 0):
            raise InputError(f"spacing = {spacing:g}: must be above 0 [m]")
        self.terrain = terrain
        self.spacing = float(spacing)
        self.outside = outside
        self.arrays = _room_for(4, self.spacing)

    # --- tiles

    @property
    def tiles(self) -> int:
        """Tiles in use."""
        return int(self.arrays.count[0])

    def fill_requests(self) -> int:
        """Make the tiles the loop asked for; returns how many."""
        a = self.arrays
        wanted = a.request[: int(a.request_count[0])].copy()
        a.request_count[0] = 0
        for ti, tj in wanted:
            self._make_tile(int(ti), int(tj))
        return len(wanted)

    def make_area(self, xmin: float, xmax: float, ymin: float, ymax: float) -> None:
        """Make all tiles that cover a rectangle [m]."""
        step = SIDE * self.spacing
        for ti in range(int(np.floor(xmin / step)), int(np.floor(xmax / step)) + 1):
            for tj in range(int(np.floor(ymin / step)), int(np.floor(ymax / step)) + 1):
                self._make_tile(ti, tj)

    def _make_tile(self, ti: int, tj: int) -> None:
        if not (abs(ti) < _HALF and abs(tj) < _HALF):
            raise InputError("ground: a place lies too far out for the grid's numbering of tiles")
        if find_tile(self.arrays, ti, tj) >= 0:
            return
        if self.tiles == len(self.arrays.tile):
            self._grow()
        a = self.arrays
        slot = self.tiles
        i = ti * SIDE + np.arange(SIDE)
        j = tj * SIDE + np.arange(SIDE)
        x, y = np.meshgrid(i * self.spacing, j * self.spacing, indexing="ij")
        heights = np.asarray(self.terrain.height(x, y), dtype=float)
        if not np.all(np.isfinite(heights)):
            bad = np.argwhere(~np.isfinite(heights))[0]
            raise InputError(
                f"ground: the terrain has no height at x = {x[tuple(bad)]:g}, "
                f"y = {y[tuple(bad)]:g} m; fill its holes"
            )
        nodes = slice(slot * _NODES, (slot + 1) * _NODES)
        a.tile[slot] = ti, tj
        a.top[slot] = heights.max()
        a.base[nodes] = heights.ravel()
        a.soil[nodes] = np.asarray(self.terrain.soil(x, y)).ravel()
        a.ref[nodes] = 0.0
        a.depth[nodes] = 0.0
        a.flag[nodes] = 0
        a.time[nodes] = np.nan
        a.count[0] = slot + 1
        _enter(a.table_key, a.table_slot, a.tile, slot)

    def _grow(self) -> None:
        old = self.arrays
        new = _room_for(2 * len(old.tile), self.spacing)
        _copy_tiles(old, new, self.tiles)
        self.arrays = new

    # --- reading

    def height(self, x: Any, y: Any) -> np.ndarray:
        """Height of the present surface at the nodes nearest to x, y [m]."""
        return self._read(x, y, lambda a, n: a.base[n] + a.ref[n] - a.depth[n], self.terrain.height)

    def change(self, x: Any, y: Any) -> np.ndarray:
        """Height of the surface above the undisturbed one at the nodes nearest to x, y [m]."""
        return self._read(x, y, lambda a, n: a.ref[n] - a.depth[n], lambda x, y: np.zeros(x.shape))

    def _read(
        self,
        x: Any,
        y: Any,
        value: Callable[[GridArrays, np.ndarray], np.ndarray],
        undisturbed: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        nodes = self._nodes(x, y)
        inside = nodes >= 0
        # where there is no tile the undisturbed surface is asked, at the same node
        xn, yn = (np.rint(v / self.spacing) * self.spacing for v in (x, y))
        out = np.asarray(undisturbed(xn, yn), dtype=float).copy()
        out[inside] = value(self.arrays, nodes[inside])
        return out

    def _nodes(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        i = np.rint(x / self.spacing).astype(np.int64)
        j = np.rint(y / self.spacing).astype(np.int64)
        out = np.full(x.shape, -1, dtype=np.int64)
        _lookup(self.arrays, i.ravel(), j.ravel(), out.ravel())
        return out

    def moved_volume(self) -> float:
        """Volume of soil now lying above the undisturbed surface [m³]."""
        change = self._change()
        return float(self.spacing**2 * change[change > 0].sum())

    def missing_volume(self) -> float:
        """Volume of the surface's change, which is zero when no soil was lost or gained [m³]."""
        return float(self.spacing**2 * np.sum(self._change()))

    def _change(self) -> np.ndarray:
        n = self.tiles * _NODES
        return self.arrays.ref[:n] - self.arrays.depth[:n]

    def touched(self) -> dict[str, np.ndarray]:
        """All tiles in use as arrays over tile, i, j: x, y, base, height, depth, soil, time."""
        a, n = self.arrays, self.tiles
        shape = (n, SIDE, SIDE)
        at = np.arange(SIDE)
        x = (a.tile[:n, 0, None] * SIDE + at) * self.spacing
        y = (a.tile[:n, 1, None] * SIDE + at) * self.spacing

        def block(array: np.ndarray) -> np.ndarray:
            return array[: n * _NODES].reshape(shape)

        base = block(a.base)
        return {
            "x": x,
            "y": y,
            "base": base.copy(),
            "height": base + block(a.ref) - block(a.depth),
            "depth": block(a.depth).copy(),
            "soil": block(a.soil).copy(),
            "time": block(a.time).copy(),
        }

    # --- state

    def state(self) -> dict[str, np.ndarray]:
        """Copies of all that can change, for saving."""
        a, n = self.arrays, self.tiles
        out = {name: getattr(a, name)[: n * _NODES].copy() for name in _CHANGING}
        first, count = (int(v) for v in a.queue_ends)
        out["tile"] = a.tile[:n].copy()
        out["top"] = a.top[:n].copy()
        out["queue"] = np.take(a.queue, np.arange(first, first + count), mode="wrap")
        return out

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to a saved state."""
        tiles = state["tile"]
        room = 4
        while room < len(tiles):
            room *= 2
        self.arrays = _room_for(room, self.spacing)
        for ti, tj in tiles:
            self._make_tile(int(ti), int(tj))
        a = self.arrays
        for name in _CHANGING:
            getattr(a, name)[: len(state[name])] = state[name]
        a.top[: len(tiles)] = state["top"]
        a.queue[: len(state["queue"])] = state["queue"]
        a.queue_ends[:] = 0, len(state["queue"])


_CHANGING = ("ref", "depth", "flag", "time")


@kernel
def _lookup(grid, i, j, out):
    for k in range(i.shape[0]):
        slot = find_tile(grid, i[k] >> _SHIFT, j[k] >> _SHIFT)
        if slot >= 0:
            local = ((i[k] & (SIDE - 1)) << _SHIFT) + (j[k] & (SIDE - 1))
            out[k] = (slot << (2 * _SHIFT)) + local


def _room_for(tiles: int, spacing: float) -> GridArrays:
    n = tiles * _NODES
    size = 4 * tiles
    return GridArrays(
        spacing=np.array([spacing]),
        table_key=np.full(size, -1, dtype=np.int64),
        table_slot=np.zeros(size, dtype=np.int64),
        tile=np.zeros((tiles, 2), dtype=np.int64),
        top=np.zeros(tiles),
        count=np.zeros(1, dtype=np.int64),
        node=np.zeros((n, 4)),
        soil=np.zeros(n, dtype=np.uint8),
        flag=np.zeros(n, dtype=np.uint8),
        queue=np.zeros(n, dtype=np.int64),
        queue_ends=np.zeros(2, dtype=np.int64),
        request=np.zeros((64, 2), dtype=np.int64),
        request_count=np.zeros(1, dtype=np.int64),
    )


def _copy_tiles(old: GridArrays, new: GridArrays, tiles: int) -> None:
    n = tiles * _NODES
    for name in ("node", "soil", "flag"):
        getattr(new, name)[:n] = getattr(old, name)[:n]
    new.tile[:tiles] = old.tile[:tiles]
    new.top[:tiles] = old.top[:tiles]
    new.count[0] = tiles
    first, count = (int(v) for v in old.queue_ends)
    new.queue[:count] = np.take(old.queue, np.arange(first, first + count), mode="wrap")
    new.queue_ends[:] = 0, count
    new.request[:] = old.request
    new.request_count[:] = old.request_count
    for slot in range(tiles):
        _enter(new.table_key, new.table_slot, new.tile, slot)
