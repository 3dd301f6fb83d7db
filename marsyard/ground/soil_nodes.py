"""Nodes of the deformable grid as plain arrays, and the kernels that find and change them.

See `soil_grid` for what a node carries. Nodes are numbered slot · 1024 + i · 32 + j, where slot is
the place of their tile in the arrays and i, j their place in the tile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.jit import F1, F2, I1, I2, U1, by_reference, inlined, kernel

SIDE = 32  # nodes along a tile
SHIFT = 5
NODES = SIDE * SIDE
#: tiles are numbered from −HALF to HALF in each direction
HALF = 2**25

# bits of `flag`
QUEUED, UNDER, MARKED = 1, 2, 4
# of soil in columns: a slope of this node exceeds that of rest; it must be looked at again
STEEP, AWAKE = 8, 16
#: the cell of a node under a wheel is cut into no more strips than this
MOST_STRIPS = 8
# columns of `relief`: how the cell was cut (0: not at all, else the number of strips, negative if
# they lie one behind the other along y), then how much deeper than the node each was pressed, and
# how much higher than the node's reference level each begins [m]
CUT, STRIPS, LEVELS = 0, 1, 1 + MOST_STRIPS
RELIEF_COLUMNS = 1 + 2 * MOST_STRIPS
# columns of `node`
BASE, REF, DEPTH, TIME = range(4)
# columns of GridArrays.column, by node. State: speed of the flow over the faces towards x and y
# [m/s], compaction [m]
U_X, U_Y, COMPACTION = range(3)
KEPT_COLUMNS = 3
# scratch of a flow: slope of the faces (magnitude, its part along the face's axis, the one it may
# keep), heights that cross them [m], speed after mixing [m/s]; the surface that would rest, what
# leaves and arrives, room under bodies [m]
M_X, M_Y, T_X, T_Y, L_X, L_Y, F_X, F_Y, N_X, N_Y = range(3, 13)
RESTING, LEAVES, ARRIVES, FREE = range(13, 17)
# scratch of pushing: steps to the border of the footprint, volume in transit [m³]
LAYER, AMOUNT = 17, 18
NODE_COLUMNS = 19
#: `LAYER` of a node from which no path leads out
FAR = 1e9


@by_reference
class GridArrays(NamedTuple):
    """The grid as plain arrays; `t` tiles of room, hash table of size `c` (a power of two)."""

    spacing: F1  # float64[1], ds [m]
    table_key: I1  # int64[c], number of the tile, −1 = empty
    table_slot: I1  # int64[c]
    tile: I2  # int64[t, 2], tile numbers along x and y
    top: F1  # float64[t], no node of the tile is higher than this [m]
    used: I1  # int64[1], tiles in use
    risen: F1  # float64[1], no soil has risen further than this so far [m]
    node: F2  # float64[t · 1024, 4], BASE, REF, DEPTH, TIME of each node
    relief: F2  # float64[t · 1024, RELIEF_COLUMNS], strips of the nodes' cells
    soil: U1  # uint8[t · 1024]
    flag: U1  # uint8[t · 1024]
    queue: I1  # int64[t · 1024], ring of nodes to be settled
    queue_ends: I1  # int64[2], first and number
    request: I2  # int64[64, 2], tiles asked for
    request_count: I1  # int64[1]
    column: F2  # float64[t · 1024, columns], of soil in columns, else one row

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
    return (ti + HALF) * (2 * HALF) + tj + HALF


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
def highest_soil(grid, ti0, ti1, tj0, tj1):
    """A bound on the height of the soil in some tiles [m]; infinite where some are not there, which
    are asked for."""
    top = -math.inf
    for ti in range(ti0, ti1 + 1):
        for tj in range(tj0, tj1 + 1):
            slot = find_tile(grid, ti, tj)
            if slot < 0:
                ask_for_tile(grid, ti, tj)
                top = math.inf
            else:
                top = max(top, grid.top[slot])
    return top


@kernel
def ask_for_tiles(grid, x, y, reach):
    """Ask for the tiles within `reach` of a place that are not there [m]; whether all are."""
    side = SIDE * grid.spacing[0]
    top = highest_soil(
        grid, math.floor((x - reach) / side), math.floor((x + reach) / side),
        math.floor((y - reach) / side), math.floor((y + reach) / side),
    )  # fmt: skip
    return top < math.inf


@kernel
def neighbour(grid, node, di, dj):
    """The node next to `node` by (di, dj) in −1, 0, 1; −1 if its tile does not exist."""
    local = node & (NODES - 1)
    i = (local >> SHIFT) + di
    j = (local & (SIDE - 1)) + dj
    if 0 <= i < SIDE and 0 <= j < SIDE:
        return node + di * SIDE + dj
    slot = node >> (2 * SHIFT)
    ti = grid.tile[slot, 0] + (i >> SHIFT)
    tj = grid.tile[slot, 1] + (j >> SHIFT)
    slot = find_tile(grid, ti, tj)
    if slot < 0:
        ask_for_tile(grid, ti, tj)
        return -1
    return (slot << (2 * SHIFT)) + ((i & (SIDE - 1)) << SHIFT) + (j & (SIDE - 1))


@inlined
def beside(grid, node, di, dj):
    """`neighbour`, quick inside a tile."""
    local = node & (NODES - 1)
    i = (local >> SHIFT) + di
    j = (local & (SIDE - 1)) + dj
    if 0 <= i < SIDE and 0 <= j < SIDE:
        return node + di * SIDE + dj
    return neighbour(grid, node, di, dj)


@inlined
def node_x(grid, node):
    """x of a node [m]."""
    slot = node >> (2 * SHIFT)
    i = grid.tile[slot, 0] * SIDE + ((node & (NODES - 1)) >> SHIFT)
    return i * grid.spacing[0]


@inlined
def node_y(grid, node):
    """y of a node [m]."""
    slot = node >> (2 * SHIFT)
    j = grid.tile[slot, 1] * SIDE + (node & (SIDE - 1))
    return j * grid.spacing[0]


@inlined
def deposit(grid, node, dz):
    """Soil of height dz ≥ 0 comes to rest on a node. As a hollow fills it becomes more even."""
    # the deepest strip is no deeper than all together, and no strip rises further than it is filled
    grid.risen[0] += (1 + MOST_STRIPS) * dz
    depth = grid.node[node, DEPTH]
    fill = min(dz, depth)
    relief = grid.relief[node]
    if relief[CUT] != 0.0:
        if fill > 0.0:
            for k in range(STRIPS, STRIPS + MOST_STRIPS):
                relief[k] *= 1.0 - fill / depth
        even_out(relief, dz)
    grid.node[node, DEPTH] -= fill
    grid.node[node, REF] += dz - fill
    keep_top(grid, node)


@inlined
def even_out(relief, dz):
    """Soil of height dz comes to rest on strips that begin at different levels."""
    low = high = 0.0
    for k in range(LEVELS, LEVELS + MOST_STRIPS):
        low = min(low, relief[k])
        high = max(high, relief[k])
    if high > low:
        kept = max(1.0 - dz / (high - low), 0.0)
        for k in range(LEVELS, LEVELS + MOST_STRIPS):
            relief[k] *= kept


@inlined
def keep_top(grid, node):
    """The highest soil of a node's tile, where the node has risen."""
    slot = node >> (2 * SHIFT)
    grid.top[slot] = max(
        grid.top[slot], grid.node[node, BASE] + grid.node[node, REF] - grid.node[node, DEPTH]
    )


@inlined
def remove(grid, node, dz):
    """Soil of height dz ≥ 0 flows away; what is left keeps its compaction."""
    grid.node[node, REF] -= dz


@kernel(forceinline=True)
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
def node_at(grid, i, j):
    """The node (i, j), or −1 if its tile does not exist."""
    slot = find_tile(grid, i >> SHIFT, j >> SHIFT)
    if slot < 0:
        return -1
    return (slot << (2 * SHIFT)) + ((i & (SIDE - 1)) << SHIFT) + (j & (SIDE - 1))


@kernel
def level_at(grid, x, y):
    """Height of the soil before it was pressed, and its plastic sinkage [m], at a place; bilinear
    between four nodes."""
    per_ds = 1.0 / grid.spacing[0]
    i = int(math.floor(x * per_ds))
    j = int(math.floor(y * per_ds))
    u = x * per_ds - i
    v = y * per_ds - j
    height = 0.0
    sunk = 0.0
    for a in range(2):
        for b in range(2):
            weight = (u if a else 1.0 - u) * (v if b else 1.0 - v)
            node = node_at(grid, i + a, j + b)
            if node >= 0:
                height += weight * (grid.node[node, BASE] + grid.node[node, REF])
                sunk += weight * grid.node[node, DEPTH]
    return height, sunk


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
def enter_tile(table_key, table_slot, tile, slot):
    """Put a tile into the hash table."""
    mask = table_key.shape[0] - 1
    at = ((tile[slot, 0] * 73856093) ^ (tile[slot, 1] * 19349663)) & mask
    while table_key[at] >= 0:
        at = (at + 1) & mask
    table_key[at] = tile_key(tile[slot, 0], tile[slot, 1])
    table_slot[at] = slot


@kernel
def find_nodes(grid, i, j, out):
    """Numbers of the nodes (i, j) into `out`; unchanged where there is no tile."""
    for k in range(i.shape[0]):
        slot = find_tile(grid, i[k] >> SHIFT, j[k] >> SHIFT)
        if slot >= 0:
            local = ((i[k] & (SIDE - 1)) << SHIFT) + (j[k] & (SIDE - 1))
            out[k] = (slot << (2 * SHIFT)) + local
