"""A deformable height grid, stored in tiles that exist only where something has been.

Nodes lie at x = i·ds, y = j·ds for all whole i, j. Each node carries

    base    height of the undisturbed surface u [m]
    ref     change of the reference level from which sinkage is measured [m]
    depth   plastic sinkage z_p ≥ 0 below the reference level [m]
    soil    index of its soil
    time    when it was last changed [s], NaN if never
    relief  how the strips differ into which a wheel's contact has cut its cell [m]

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
from typing import Any, Protocol

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil_nodes import (
    COMPACTION,
    FAR,
    HALF,
    KEPT_COLUMNS,
    LAYER,
    NODE_COLUMNS,
    NODES,
    RELIEF_COLUMNS,
    SIDE,
    GridArrays,
    enter_tile,
    find_nodes,
    find_tile,
    wake,
)


class Surface(Protocol):
    """What the grid asks of the undisturbed terrain."""

    @property
    def soils(self) -> tuple[str, ...]: ...
    @property
    def bounds(self) -> tuple[float, float, float, float] | None: ...
    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray: ...
    def soil(self, x: np.ndarray, y: np.ndarray) -> np.ndarray: ...


class SoilGrid:
    """A deformable grid over a terrain.

    terrain   undisturbed surface and soils by place
    spacing   ds [m]
    outside   what happens beyond the terrain's bounds: "stop" or "flat"
    columns   nodes are columns of granular soil, which also carry the speed of what flows over
              their faces and their compaction (see `interaction.soil_columns`)
    """

    def __init__(
        self, terrain: Surface, spacing: float, outside: str = "stop", columns: bool = False
    ) -> None:
        if not (np.isfinite(spacing) and spacing > 0):
            raise InputError(f"spacing = {spacing:g}: must be above 0 [m]")
        self.terrain = terrain
        self.spacing = float(spacing)
        self.outside = outside
        self.columns = columns
        self.arrays = _room_for(4, self.spacing, columns)

    # --- tiles

    @property
    def tiles(self) -> int:
        """Tiles in use."""
        return int(self.arrays.used[0])

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
        if not (abs(ti) < HALF and abs(tj) < HALF):
            raise InputError("ground: a position is too far out for the tile indices of the grid")
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
        nodes = slice(slot * NODES, (slot + 1) * NODES)
        a.tile[slot] = ti, tj
        a.top[slot] = heights.max()
        a.base[nodes] = heights.ravel()
        a.soil[nodes] = np.asarray(self.terrain.soil(x, y)).ravel()
        a.ref[nodes] = 0.0
        a.depth[nodes] = 0.0
        a.flag[nodes] = 0
        a.relief[nodes] = 0.0
        a.time[nodes] = np.nan
        if self.columns:
            a.column[nodes] = 0.0
            a.column[nodes, LAYER] = FAR
        a.used[0] = slot + 1
        enter_tile(a.table_key, a.table_slot, a.tile, slot)

    def _grow(self) -> None:
        old = self.arrays
        new = _room_for(2 * len(old.tile), self.spacing, self.columns)
        _copy_tiles(old, new, self.tiles, self.columns)
        self.arrays = new

    def lay(self, heights: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        """Lay loose soil of the given heights(x, y) ≥ 0 [m] on all nodes there are; it will slide
        at the next flow."""
        a = self.arrays
        at = np.arange(SIDE)
        for slot in range(self.tiles):
            x = (a.tile[slot, 0] * SIDE + at) * self.spacing
            y = (a.tile[slot, 1] * SIDE + at) * self.spacing
            dz = np.maximum(heights(*np.meshgrid(x, y, indexing="ij")), 0.0).ravel()
            # a micron and less is nothing
            laid = np.flatnonzero(dz > 1e-6)
            a.risen[0] += dz.max(initial=0.0)
            nodes = slot * NODES + laid
            a.ref[nodes] += dz[laid]
            a.time[nodes] = 0.0
            height = a.base[nodes] + a.ref[nodes]
            a.top[slot] = max(a.top[slot], height.max(initial=-np.inf))
            for node in nodes:
                wake(a, node)

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
        find_nodes(self.arrays, i.ravel(), j.ravel(), out.ravel())
        return out

    def moved_volume(self) -> float:
        """Volume of soil now lying above the undisturbed surface [m³]."""
        change = self._change()
        return float(self.spacing**2 * change[change > 0].sum())

    def missing_volume(self) -> float:
        """Volume of the surface's change, which is zero when no soil was lost or gained [m³]. With
        columns soil counts with its first density: what was compacted is not missing."""
        return float(self.spacing**2 * np.sum(self._change() + self.compaction()))

    def compaction(self) -> np.ndarray:
        """Height by which each node was compacted [m]; below 0 where soil has dilated."""
        n = self.tiles * NODES
        return self.arrays.column[:n, COMPACTION] if self.columns else np.zeros(n)

    def _change(self) -> np.ndarray:
        n = self.tiles * NODES
        return self.arrays.ref[:n] - self.arrays.depth[:n]

    def touched(self) -> dict[str, np.ndarray]:
        """All tiles in use as arrays over tile, i, j: x, y, base, height, depth, compaction, soil,
        time."""
        a, n = self.arrays, self.tiles
        shape = (n, SIDE, SIDE)
        at = np.arange(SIDE)
        x = (a.tile[:n, 0, None] * SIDE + at) * self.spacing
        y = (a.tile[:n, 1, None] * SIDE + at) * self.spacing

        def block(array: np.ndarray) -> np.ndarray:
            return array[: n * NODES].reshape(shape)

        base = block(a.base)
        return {
            "x": x,
            "y": y,
            "base": base.copy(),
            "height": base + block(a.ref) - block(a.depth),
            "depth": block(a.depth).copy(),
            "compaction": self.compaction().reshape(shape).copy(),
            "soil": block(a.soil).copy(),
            "time": block(a.time).copy(),
        }

    # --- state

    def state(self) -> dict[str, np.ndarray]:
        """Copies of all that can change, for saving."""
        a, n = self.arrays, self.tiles
        out = {name: getattr(a, name)[: n * NODES].copy() for name in _CHANGING}
        if self.columns:
            out["column"] = a.column[: n * NODES, :KEPT_COLUMNS].copy()
        first, count = (int(v) for v in a.queue_ends)
        out["tile"] = a.tile[:n].copy()
        out["top"] = a.top[:n].copy()
        out["request"] = a.request[: int(a.request_count[0])].copy()
        out["queue"] = np.take(a.queue, np.arange(first, first + count), mode="wrap")
        return out

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to a saved state."""
        tiles = state["tile"]
        room = 4
        while room < len(tiles):
            room *= 2
        before = self.arrays
        self.arrays = _room_for(room, self.spacing, self.columns)
        try:
            for ti, tj in tiles:
                self._make_tile(int(ti), int(tj))
        except InputError:
            self.arrays = before
            raise
        a = self.arrays
        # what was listed before does not hold here
        a.risen[:] = before.risen + self.spacing
        for name in _CHANGING:
            getattr(a, name)[: len(state[name])] = state[name]
        if self.columns:
            a.column[: len(state["column"]), :KEPT_COLUMNS] = state["column"]
        a.top[: len(tiles)] = state["top"]
        a.request[: len(state["request"])] = state["request"]
        a.request_count[0] = len(state["request"])
        a.queue[: len(state["queue"])] = state["queue"]
        a.queue_ends[:] = 0, len(state["queue"])


_CHANGING = ("ref", "depth", "flag", "time", "relief")


def _room_for(tiles: int, spacing: float, columns: bool) -> GridArrays:
    n = tiles * NODES
    size = 4 * tiles
    return GridArrays(
        spacing=np.array([spacing]),
        table_key=np.full(size, -1, dtype=np.int64),
        table_slot=np.zeros(size, dtype=np.int64),
        tile=np.zeros((tiles, 2), dtype=np.int64),
        top=np.zeros(tiles),
        used=np.zeros(1, dtype=np.int64),
        risen=np.zeros(1),
        node=np.zeros((n, 4)),
        relief=np.zeros((n, RELIEF_COLUMNS)),
        soil=np.zeros(n, dtype=np.uint8),
        flag=np.zeros(n, dtype=np.uint8),
        queue=np.zeros(n, dtype=np.int64),
        queue_ends=np.zeros(2, dtype=np.int64),
        request=np.zeros((64, 2), dtype=np.int64),
        request_count=np.zeros(1, dtype=np.int64),
        column=np.zeros((n if columns else 1, NODE_COLUMNS)),
    )


def _copy_tiles(old: GridArrays, new: GridArrays, tiles: int, columns: bool) -> None:
    n = tiles * NODES
    for name in ("node", "relief", "soil", "flag", *(("column",) if columns else ())):
        getattr(new, name)[:n] = getattr(old, name)[:n]
    new.tile[:tiles] = old.tile[:tiles]
    new.top[:tiles] = old.top[:tiles]
    new.used[0] = tiles
    new.risen[:] = old.risen
    first, count = (int(v) for v in old.queue_ends)
    new.queue[:count] = np.take(old.queue, np.arange(first, first + count), mode="wrap")
    new.queue_ends[:] = 0, count
    new.request[:] = old.request
    new.request_count[:] = old.request_count
    for slot in range(tiles):
        enter_tile(new.table_key, new.table_slot, new.tile, slot)
