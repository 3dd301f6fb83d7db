"""The two calls of a step: forces on all bodies, and the flow of displaced soil."""

from __future__ import annotations

from marsyard.ground.soil_nodes import ask_for_tiles
from marsyard.interaction.soil_contact.contact import body_contact
from marsyard.interaction.soil_contact.deposition import lay_down
from marsyard.interaction.soil_contact.erosion import settle
from marsyard.interaction.soil_kernels import LEFT_THE_MAP, NEEDS_TILES, OK, on_map
from marsyard.jit import kernel


@kernel
def soil_forces(grid, soils, bodies, patch, options, belts, bounds):
    """Forces of the soil on all bodies, at their present poses. Returns a status.

    When tiles are missing nothing has changed yet for the body that misses them; the tiles of all
    others are asked for, too, before any force is computed.
    """
    if not tiles_ready(grid, bodies):
        return NEEDS_TILES
    return forces_on_bodies(grid, soils, bodies, patch, options, belts, bounds)


@kernel
def forces_on_bodies(grid, soils, bodies, patch, options, belts, bounds):
    """The same, where all tiles are there."""
    for b in range(bodies.kind.shape[0]):
        if not on_map(bounds, bodies.centre[b]):
            return LEFT_THE_MAP
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
def soil_flow(grid, soils, bodies, patch, time, flows, exponent, most):
    """Lay displaced soil down and let it slide. Returns how many nodes were looked at.

    Without flow, contacts that have ended are forgotten, and that is all.
    """
    for b in range(patch.side.shape[0]):
        lay_down(grid, bodies, patch, time, exponent, b)
    return settle(grid, soils, bodies, patch, time, most) if flows else 0
