"""Plastic flow: displaced soil is laid down around the footprint and slides to its angle of repose.

Deposition (Krenn and Hirzinger 2008, eqs. (9), (10)). The border of a footprint are the nodes next
to it that are under no body. Each footprint node gives its displaced volume to the border nodes,

    sinkage part               w = 1/|d|²                          eq. (9)
    bulldozing and shearing    w = max(0, cos α)^m                 eq. (10)

d from the footprint node to the border node, α the angle between d and the direction in which the
soil was pushed, weights normalised to one. Where no border node lies in that direction, eq. (9) is
used. Soil is not put where a body is: a border node under a body's overhang takes no more than
the free height there, less a gap of a twentieth of the spacing; the rest goes to the other border
nodes, or waits for the next flow.

Erosion (eqs. (11), (12)). A node i loses soil to its eight neighbours j that lie lower by more than

    limit_ij = max(d_ij tan φ_r, u_i − u_j)

where d_ij is their distance, φ_r the angle of repose of the soil at i and u the undisturbed
heights: natural slopes stand as they are, and keep a film of 0.1 mm where they are as steep as
that. Soil comes to rest on a slope smaller by one part in 25 than the one that sets it going: what
slides goes on sliding for a while. Three quarters of the largest excess over that slope are moved,
to the neighbours in proportion to their excess (half would make the two nodes meet it; more of it
takes a third of the time, as over-relaxation does). All slopes end at or below the angle of repose,
heaps of 30° at 29.7° on average.
Only nodes are looked at that rose, or that became too steep when a neighbour fell. Soil under a
body neither leaves nor arrives, and under a body's overhang only the free height is filled; a slope
held up by a body is looked at again in the next flow.

Every volume that leaves one node arrives at others: soil is conserved to rounding.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    BASE,
    MARKED,
    NODES,
    QUEUED,
    SHIFT,
    SIDE,
    TIME,
    UNDER,
    deposit,
    neighbour,
    node_x,
    node_y,
    remove,
    surface,
    wake,
)
from marsyard.interaction.soil_contact.arrays import (
    DUG,
    M_ACROSS,
    M_ALONG,
    PUSH_X,
    PUSH_Y,
    STRIP_COLUMNS,
    TAN_REPOSE,
    TOUCHED,
    V_PUSHED,
    V_SINKAGE,
)
from marsyard.interaction.soil_contact.footprint import clearance, is_above
from marsyard.jit import inlined, kernel

#: soil that slides comes to rest at this part of the limiting slope
_REST = 0.96
#: how much of the largest excess over it slides at once
_SLIDES = 0.75
#: under a wheel this much free height counts as none [m]
_TIGHT = 1e-6
#: on slopes as steep as the angle of repose so much loose soil stays [m]
_FILM = 1e-4
# the eight neighbours, and their distances in grid spacings
_DI = (-1, 1, 0, 0, -1, -1, 1, 1)
_DJ = (0, 0, -1, 1, -1, 1, -1, 1)
_DISTANCE = (1.0, 1.0, 1.0, 1.0, math.sqrt(2.0), math.sqrt(2.0), math.sqrt(2.0), math.sqrt(2.0))


@kernel
def lay_down(grid, bodies, patch, time, exponent, b):
    """Lay the displaced soil of body b down on the border of its footprint; `exponent` is m of eq.
    (10)."""
    now = patch.side[b]
    waiting = volume_waiting(patch, b)
    n = 0
    rest = 0.0
    if waiting > 0.0:
        rest = 1.0
        n = find_border(grid, bodies, patch, b)
    if n > 0:
        for k in range(n):
            patch.border_amount[k] = 0.0
        for i in range(patch.listed[now, b]):
            state = patch.state[now, b, i]
            if state[V_SINKAGE] + state[V_PUSHED] > 0.0:
                offer(grid, patch, exponent, patch.node[now, b, i], state, state[V_SINKAGE], n)
        rest = take(grid, patch, n) / waiting
    end_flow(grid, bodies, patch, time, b, n, rest)


@inlined
def volume_waiting(patch, b):
    """Displaced soil of body b that is not laid down yet [m³]."""
    now = patch.side[b]
    waiting = 0.0
    for i in range(patch.listed[now, b]):
        waiting += patch.state[now, b, i, V_SINKAGE] + patch.state[now, b, i, V_PUSHED]
    return waiting


@inlined
def end_flow(grid, bodies, patch, time, b, n, rest):
    """Wake the n nodes of the border. What found no room, a share `rest` of all, waits; nodes that
    were left and are done are forgotten, but for how deep a wheel has dug there while it stands
    above them."""
    now = patch.side[b]
    for k in range(n):
        node = patch.border[k]
        grid.flag[node] &= ~MARKED & 0xFF
        grid.node[node, TIME] = time
        # it is higher now; its neighbours are not more likely to slide for that
        wake(grid, node)
    kept = 0
    for i in range(patch.listed[now, b]):
        state = patch.state[now, b, i]
        if n > 0:
            state[V_SINKAGE] = rest * (state[V_SINKAGE] + state[V_PUSHED])
            state[V_PUSHED] = 0.0
            state[PUSH_X] = 0.0
            state[PUSH_Y] = 0.0
        touches = patch.touching[now, b, i] > 0
        dug = 0.0
        if not touches:
            for k in range(0, STRIP_COLUMNS * patch.strips[b], STRIP_COLUMNS):
                state[M_ALONG + k] = 0.0
                state[M_ACROSS + k] = 0.0
                dug = max(dug, state[DUG + k])
        waits = state[V_SINKAGE] + state[V_PUSHED] > 0.0
        node = patch.node[now, b, i]
        if touches or waits or (dug > 0.0 and is_above(grid, bodies, b, node)):
            if kept < i:
                patch.key[now, b, kept] = patch.key[now, b, i]
                patch.node[now, b, kept] = patch.node[now, b, i]
                patch.touching[now, b, kept] = patch.touching[now, b, i]
                for col in range(patch.state.shape[3]):
                    patch.state[now, b, kept, col] = state[col]
            kept += 1
    if kept < patch.listed[now, b]:
        patch.found[b] = -1  # their places in the list are others now
    patch.listed[now, b] = kept


@kernel
def find_border(grid, bodies, patch, b):
    """Nodes next to the footprint and under no body; they are marked. Returns their number."""
    now = patch.side[b]
    n = 0
    for i in range(patch.listed[now, b]):
        if patch.touching[now, b, i]:
            for k in range(8):
                other = around(grid, patch.node[now, b, i], k)
                if other >= 0 and not grid.flag[other] & MARKED:
                    n = add_to_border(grid, bodies, patch, other, n)
    if n == 0:
        # the body has left: its last soil goes back to the nodes it left
        for i in range(patch.listed[now, b]):
            node = patch.node[now, b, i]
            touched = patch.state[now, b, i, TOUCHED]
            if touched > 0.0 and not grid.flag[node] & (UNDER | MARKED):
                n = add_to_border(grid, bodies, patch, node, n)
    return n


@kernel
def add_to_border(grid, bodies, patch, node, n):
    """Make `node` number n of the border, if there is room. Returns how many there are then."""
    if n >= patch.border.shape[0]:
        return n
    grid.flag[node] |= MARKED
    patch.border[n] = node
    patch.border_x[n] = node_x(grid, node)
    patch.border_y[n] = node_y(grid, node)
    patch.border_free[n] = clearance(grid, bodies, patch, node)
    return n + 1


@kernel
def offer(grid, patch, exponent, node, state, volume, n):
    """Add what one footprint node gives to each of the n border nodes, as volumes: `volume` to all
    sides, and what it pushes."""
    x = node_x(grid, node)
    y = node_y(grid, node)
    tiny = 0.25 * grid.spacing[0] * grid.spacing[0]
    pushed = state[V_PUSHED]
    weight = patch.border_weight
    gx, gy = state[PUSH_X], state[PUSH_Y]
    size = math.sqrt(gx * gx + gy * gy)
    if pushed > 0.0 and size > 1e-9 * pushed:
        gx, gy = gx / size, gy / size
        for k in range(n):
            dx = patch.border_x[k] - x
            dy = patch.border_y[k] - y
            along = max(dx * gx + dy * gy, 0.0)
            weight[k] = along * along / max(dx * dx + dy * dy, tiny)
        total = 0.0
        for k in range(n):
            if exponent != 2.0:
                weight[k] = weight[k] ** (0.5 * exponent)
            total += weight[k]
        if total > 0.0:
            factor = pushed / total
            for k in range(n):
                patch.border_amount[k] += factor * weight[k]
            pushed = 0.0
    volume += pushed
    if volume > 0.0:
        for k in range(n):
            dx = patch.border_x[k] - x
            dy = patch.border_y[k] - y
            weight[k] = 1.0 / max(dx * dx + dy * dy, tiny)
        total = 0.0
        for k in range(n):
            total += weight[k]
        factor = volume / total
        for k in range(n):
            patch.border_amount[k] += factor * weight[k]


@kernel
def take(grid, patch, n):
    """Deposit what was offered, where there is room; what is too much for a node goes to the
    others in proportion to what they were offered. Returns the volume left over."""
    area = grid.spacing[0] * grid.spacing[0]
    factor = 1.0
    rest = 0.0
    for _ in range(3):
        rest = 0.0
        open_ = 0.0
        for k in range(n):
            offered = factor * patch.border_amount[k]
            free = area * patch.border_free[k]
            given = min(offered, free)
            if given > 0.0:
                deposit(grid, patch.border[k], given / area)
                patch.border_free[k] -= given / area
            rest += offered - given
            if given < free:
                open_ += patch.border_amount[k]
            else:
                patch.border_amount[k] = 0.0
        if rest <= 0.0 or open_ <= 0.0:
            break
        factor = rest / open_
    return rest


@inlined
def around(grid, node, k):
    """Neighbour number k of eight: its node, −1 if it is under a body, −2 if it has no tile yet."""
    local = node & (NODES - 1)
    i = (local >> SHIFT) + _DI[k]
    j = (local & (SIDE - 1)) + _DJ[k]
    if 0 <= i < SIDE and 0 <= j < SIDE:
        other = node + _DI[k] * SIDE + _DJ[k]
    else:
        other = neighbour(grid, node, _DI[k], _DJ[k])
        if other < 0:
            return -2
    if grid.flag[other] & UNDER:
        return -1
    return other


@inlined
def too_steep(drop, limit, natural):
    """A drop [m] to a neighbour sets soil sliding: more than the angle of repose, or, where the
    natural slope is as steep as that, more than a film above it."""
    if natural >= _REST * limit:
        return drop > natural + _FILM
    return drop > limit * (1.0 + 1e-12) + 1e-12


@inlined
def look_around(grid, patch, node, slope):
    """Note a node's neighbours, their heights, and by how much they lie too low for soil at rest.

    Returns whether soil slides to one of them, and whether one has no tile yet.
    """
    ds = grid.spacing[0]
    base = grid.node[node, BASE]
    top = surface(grid, node)
    steep = False
    later = False
    for k in range(8):
        other = around(grid, node, k)
        patch.near[k] = other
        if other < 0:
            later = later or other == -2
            continue
        height = surface(grid, other)
        natural = base - grid.node[other, BASE]
        limit = _DISTANCE[k] * ds * slope
        patch.near_height[k] = height
        patch.near_excess[k] = top - height - max(_REST * limit, natural)
        steep = steep or too_steep(top - height, limit, natural)
    return steep, later


@inlined
def hold(grid, patch, held, node):
    """Keep a node for the next flow. Returns how many are kept then, −1 if there is no room."""
    if grid.flag[node] & MARKED:
        return held
    if held >= patch.border.shape[0]:
        return -1
    grid.flag[node] |= MARKED
    patch.border[held] = node
    return held + 1


@kernel
def settle(grid, soils, bodies, patch, time, most):
    """Let woken nodes slide to rest; looks at no more than `most` nodes. Returns how many."""
    ds = grid.spacing[0]
    size = grid.queue.shape[0]
    done = 0
    held = 0
    while grid.queue_ends[1] > 0 and done < most:
        done += 1
        node = grid.queue[grid.queue_ends[0]]
        grid.queue_ends[0] += 1
        if grid.queue_ends[0] == size:
            grid.queue_ends[0] = 0
        grid.queue_ends[1] -= 1
        grid.flag[node] &= ~QUEUED & 0xFF
        if grid.flag[node] & UNDER:
            continue
        slope = soils.table[grid.soil[node], TAN_REPOSE]
        base = grid.node[node, BASE]
        top = surface(grid, node)
        steep, wait = look_around(grid, patch, node, slope)
        # where is there room?
        largest = 0.0
        total = 0.0
        if steep:
            steep = False
            for k in range(8):
                other = patch.near[k]
                if other < 0 or patch.near_excess[k] <= 0.0:
                    continue
                free = clearance(grid, bodies, patch, other)
                if free <= _TIGHT:
                    wait = True
                    patch.near[k] = -1
                    continue
                patch.near_free[k] = free
                steep = steep or too_steep(
                    top - patch.near_height[k],
                    _DISTANCE[k] * ds * slope,
                    base - grid.node[other, BASE],
                )
                largest = max(largest, patch.near_excess[k])
                total += patch.near_excess[k]
        if wait:
            # held up by a body, or its tile was asked for: again with the next flow
            kept = hold(grid, patch, held, node)
            if kept < 0:
                wake(grid, node)
                break
            held = kept
        if not steep:
            continue
        factor = _SLIDES * largest / total
        gone = 0.0
        for k in range(8):
            other = patch.near[k]
            if other < 0 or patch.near_excess[k] <= 0.0:
                continue
            dz = min(factor * patch.near_excess[k], patch.near_free[k])
            deposit(grid, other, dz)
            gone += dz
            patch.near_height[k] += dz
            grid.node[other, TIME] = time
            wake(grid, other)
        remove(grid, node, gone)
        grid.node[node, TIME] = time
        # lower now: does it still slide, and do those above it?
        top -= gone
        for k in range(8):
            other = patch.near[k]
            if other < 0:
                continue
            drop = top - patch.near_height[k]
            natural = base - grid.node[other, BASE]
            if drop >= 0.0:
                if too_steep(drop, _DISTANCE[k] * ds * slope, natural):
                    wake(grid, node)
            else:
                there = soils.table[grid.soil[other], TAN_REPOSE]
                if too_steep(-drop, _DISTANCE[k] * ds * there, -natural):
                    wake(grid, other)
    for k in range(held):
        grid.flag[patch.border[k]] &= ~MARKED & 0xFF
        wake(grid, patch.border[k])
    return done
