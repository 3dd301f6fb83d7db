"""The two calls of a step: forces on all bodies, and the flow of displaced soil."""

from __future__ import annotations

from marsyard.ground.soil_nodes import ask_for_tiles
from marsyard.interaction.soil_columns.surface import flow_of_columns
from marsyard.interaction.soil_contact.arrays import LEFT_THE_MAP, MODEL, NEEDS_TILES, OK
from marsyard.interaction.soil_contact.contact import body_contact
from marsyard.interaction.soil_contact.flow import lay_down, settle
from marsyard.interaction.wheel_models.on_terrain import wheel_contact
from marsyard.jit import kernel


@kernel
def soil_forces(grid, soils, bodies, patch, options, laws, belts):
    """Forces of the soil on all bodies, at their present poses. Returns a status.

    Wheels with a wheel model get its forces, all other bodies those of the nodes under them. When
    tiles are missing nothing has changed yet for the body that misses them; the tiles of all others
    are asked for, too, before any force is computed.
    """
    if not tiles_ready(grid, bodies):
        return NEEDS_TILES
    return forces_on_bodies(grid, soils, bodies, patch, options, laws, belts)


@kernel
def forces_on_bodies(grid, soils, bodies, patch, options, laws, belts):
    """The same, where all tiles are there."""
    for b in range(bodies.kind.shape[0]):
        c = bodies.centre[b]
        if not (options.xmin <= c[0] <= options.xmax and options.ymin <= c[1] <= options.ymax):
            return LEFT_THE_MAP
        if bodies.kind[b] == MODEL:
            wheel_contact(grid, bodies, patch, options, laws, b)
            continue
        status = body_contact(grid, soils, bodies, patch, options, belts, b)
        if status != OK:
            return status
    return OK


@kernel
def tiles_ready(grid, bodies):
    """All tiles under and next to the bodies exist, and none that settling soil asked for waits."""
    for b in range(bodies.kind.shape[0]):
        c = bodies.centre[b]
        # two nodes more than the body itself: room for the border and for what slides from it
        ask_for_tiles(grid, c[0], c[1], bodies.reach[b] + 2.0 * grid.spacing[0])
    return grid.request_count[0] == 0


@kernel
def soil_flow(grid, soils, bodies, patch, options, most):
    """Lay displaced soil down and let it slide. Returns how many nodes were looked at; with soil in
    columns how many are still awake.

    Without flow, contacts that have ended are forgotten, and that is all.
    """
    for b in range(patch.side.shape[0]):
        lay_down(grid, bodies, patch, options, b)
    if not options.flow:
        return 0
    if options.columns:
        return flow_of_columns(grid, soils, bodies, patch, options)
    return settle(grid, soils, bodies, patch, options.time, most)
