"""Erosion: loose soil slides to its angle of repose (Krenn and Hirzinger 2008, eqs. (11), (12)).

A node i loses soil to its eight neighbours j that lie lower by more than

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
    remove,
    surface,
    wake,
)
from marsyard.interaction.soil_contact.arrays import TAN_REPOSE
from marsyard.interaction.soil_contact.footprint import clearance
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
