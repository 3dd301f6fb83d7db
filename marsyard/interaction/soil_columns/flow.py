"""Displaced soil goes outwards from column to column (`push`), then the surface flows (`surface`).

What a body carries along or pushes ahead is laid down in that direction, as in
`soil_contact.deposition`.
"""

from __future__ import annotations

from marsyard.interaction.soil_columns.push import forget_layers, has_way_out, pass_outwards
from marsyard.interaction.soil_columns.surface import flow_of_columns
from marsyard.interaction.soil_contact.arrays import V_PUSHED, V_SINKAGE
from marsyard.interaction.soil_contact.deposition import (
    end_flow,
    find_border,
    offer,
    take,
    volume_waiting,
)
from marsyard.jit import kernel


@kernel
def lay_down(grid, bodies, patch, options, exponent, b):
    """Lay the displaced soil of body b down on the border of its footprint; `exponent` is m of eq.
    (10) of `soil_contact.deposition`."""
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
        pass_outwards(grid, patch, options.planar, b, n)
        for i in range(patch.listed[now, b]):
            state = patch.state[now, b, i]
            sunk = 0.0 if has_way_out(grid, patch, b, i) else state[V_SINKAGE]
            if sunk + state[V_PUSHED] > 0.0:
                offer(grid, bodies, patch, exponent, b, i, sunk, n)
        forget_layers(grid, patch, b)
        rest = take(grid, bodies, patch, options.time, b, n) / waiting
    end_flow(grid, bodies, patch, options.time, b, n, rest)


@kernel
def column_flow(grid, numbers, bodies, patch, options, flows, exponent):
    """Lay displaced soil down and let the surface flow. Returns how many columns are still awake.

    Without flow, contacts that have ended are forgotten, and that is all.
    """
    for b in range(patch.side.shape[0]):
        lay_down(grid, bodies, patch, options, exponent, b)
    return flow_of_columns(grid, numbers, bodies, patch, options) if flows else 0
