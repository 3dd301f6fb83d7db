"""Columns push matter to their neighbours: from under a body outwards, column by column.

What a column cannot keep (see `triaxial`) goes to the columns next to it, i − 1 and i + 1 in the
planar model, four of them in 3D. Under a body there is no room above: a column there passes on
what it is given. Every column under a body has a layer, the number of steps from it to the nearest
column that is free; matter goes in equal parts to all neighbours of the next layer outwards, and
comes to lie on the free columns next to the footprint. From there it flows (see `surface`).

Matter that a body carries along or pushes ahead goes in that direction as in
`soil_contact.deposition`, eq. (10): the paper is silent about it.
"""

from __future__ import annotations

from marsyard.ground.soil_nodes import AMOUNT, FAR, LAYER, MARKED, UNDER, neighbour
from marsyard.interaction.soil_contact.arrays import V_SINKAGE
from marsyard.jit import inlined, kernel

_DI = (-1, 1, 0, 0)
_DJ = (0, 0, -1, 1)


@inlined
def layer_of(grid, node):
    """Steps from a column to a free one: 0 on the border, FAR where nothing may go."""
    if node < 0:
        return FAR
    flag = grid.flag[node]
    if flag & UNDER:
        return grid.column[node, LAYER]
    return 0.0 if flag & MARKED else FAR


@kernel
def find_layers(grid, patch, planar, b):
    """Layers of the columns under body b; the border is marked. Returns the largest."""
    now = patch.side[b]
    count = patch.listed[now, b]
    faces = 2 if planar else 4
    deepest = 0.0
    again = True
    forward = True
    while again:
        again = False
        deepest = 0.0
        for n in range(count):
            i = n if forward else count - 1 - n
            if not patch.touching[now, b, i]:
                continue
            node = patch.node[now, b, i]
            best = grid.column[node, LAYER]
            for k in range(faces):
                best = min(best, layer_of(grid, neighbour(grid, node, _DI[k], _DJ[k])) + 1.0)
            if best < grid.column[node, LAYER]:
                grid.column[node, LAYER] = best
                again = True
            if best < FAR:
                deepest = max(deepest, best)
        forward = not forward
    return int(deepest)


@kernel
def pass_outwards(grid, patch, planar, b, borders):
    """Bring what the columns under body b press out to the border, as volumes offered there.

    Columns from which no path leads out are left alone, with FAR as their layer.
    """
    now = patch.side[b]
    count = patch.listed[now, b]
    faces = 2 if planar else 4
    deepest = find_layers(grid, patch, planar, b)
    for i in range(count):
        node = patch.node[now, b, i]
        if patch.touching[now, b, i] and grid.column[node, LAYER] < FAR:
            grid.column[node, AMOUNT] += patch.state[now, b, i, V_SINKAGE]
    for layer in range(deepest, 0, -1):
        for i in range(count):
            node = patch.node[now, b, i]
            if not patch.touching[now, b, i] or grid.column[node, LAYER] != layer:
                continue
            amount = grid.column[node, AMOUNT]
            grid.column[node, AMOUNT] = 0.0
            if amount == 0.0:
                continue
            open_ = 0
            for k in range(faces):
                other = neighbour(grid, node, _DI[k], _DJ[k])
                open_ += layer_of(grid, other) == layer - 1
            for k in range(faces):
                other = neighbour(grid, node, _DI[k], _DJ[k])
                if layer_of(grid, other) == layer - 1:
                    grid.column[other, AMOUNT] += amount / open_
    for k in range(borders):
        node = patch.border[k]
        patch.border_amount[k] += grid.column[node, AMOUNT]
        grid.column[node, AMOUNT] = 0.0


@kernel
def forget_layers(grid, patch, b):
    """The layers of body b hold for one flow."""
    now = patch.side[b]
    for i in range(patch.listed[now, b]):
        grid.column[patch.node[now, b, i], LAYER] = FAR


@inlined
def has_way_out(grid, patch, b, i):
    """Whether `pass_outwards` has taken what column number i of body b pressed out."""
    now = patch.side[b]
    node = patch.node[now, b, i]
    return patch.touching[now, b, i] != 0 and grid.column[node, LAYER] < FAR
