"""Stresses and forces between a body and the columns under it.

As in `soil_contact.contact`, whose nodes, shear and sums they are, with the triaxial curve in place
of a pressure-sinkage law, and the change of volume kept from what is displaced (`triaxial`).
"""

from __future__ import annotations

from marsyard.interaction.soil_columns.triaxial import compact, triaxial_loading
from marsyard.interaction.soil_contact.arrays import EXPONENT, TAN_REPOSE, WHEEL
from marsyard.interaction.soil_contact.contact import (
    begin_sums,
    move_belt,
    press,
    sum_block,
    survey,
)
from marsyard.interaction.soil_contact.digging import cut_ahead, depth_dug, move_soil
from marsyard.interaction.soil_contact.footprint import has_axle
from marsyard.interaction.soil_contact.kernel import tiles_ready
from marsyard.interaction.soil_contact.nodes import find_nodes, take_mobilised
from marsyard.interaction.soil_contact.side_wall import push_on_wall
from marsyard.interaction.soil_kernels import LEFT_THE_MAP, NEEDS_TILES, OK, T_SHEAR_WORK, on_map
from marsyard.jit import kernel


@kernel
def column_forces(grid, soils, numbers, bodies, patch, options, belts, bounds):
    """Forces of the soil on all bodies, as `soil_contact.kernel.soil_forces`."""
    if not tiles_ready(grid, bodies):
        return NEEDS_TILES
    return forces_on_bodies(grid, soils, numbers, bodies, patch, options, belts, bounds)


@kernel
def forces_on_bodies(grid, soils, numbers, bodies, patch, options, belts, bounds):
    """The same, where all tiles are there."""
    for b in range(bodies.kind.shape[0]):
        if not on_map(bounds, bodies.centre[b]):
            return LEFT_THE_MAP
        status = find_nodes(grid, bodies, patch, b, 1)
        if status != OK:
            return status
        stresses(grid, soils, numbers, bodies, patch, options, belts, b)
        move_belt(bodies, belts, b)
    return OK


@kernel
def stresses(grid, soils, numbers, bodies, patch, options, belts, b):
    """Stresses on all nodes found, summed to the force, its derivative and the totals."""
    cell = grid.spacing[0] * grid.spacing[0]
    twist, axis, strip = bodies.twist[b], bodies.axis[b], has_axle(bodies, b)
    rolls = bodies.kind[b] == WHEEL
    begin_sums(patch, options, b)
    for k in range(patch.blocks[0]):
        padded = take_mobilised(patch, b, k)
        soil, w = patch.block_soil[k], patch.block[k]
        q, law, curve = soils.table[soil], numbers.column[b, soil], numbers.curve[soil]
        layer, released = soils.layer[b, soil], soils.released[b, soil]
        dug, rise = depth_dug(bodies, b, layer, released, q[TAN_REPOSE])
        cut_ahead(w, padded, dug, patch.share[b])
        triaxial_loading(w, padded, law, curve)
        press(w, padded, q, soils.strength[b, soil], twist, axis, strip, rolls, options.h,
              options.implicit, cell, rise)  # fmt: skip
        compact(grid, patch.block_node[k], w, patch.block_count[k], law, curve, cell)
        sum_block(bodies, patch, options, belts, b, k, padded)
        if options.survey:
            survey(grid, patch, b, k, q[EXPONENT], axis)
    move_soil(grid, soils, bodies, patch, options, b)
    push_on_wall(grid, soils, bodies, patch, options.h, b)
    patch.total[b, T_SHEAR_WORK] *= options.h
