"""The wheel models as a law of the engine: its kernels (`interaction.law`).

An attachment is a wheel and the soil, its point the wheel's centre.
"""

from __future__ import annotations

from marsyard.ground.soil_nodes import ask_for_tiles
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_kernels import (
    LEFT_THE_MAP,
    OK,
    add_to_sums,
    note_way,
    on_map,
    put_under_axle,
    unpack_wheel,
)
from marsyard.interaction.wheel_models.on_terrain import WheelArrays, move_on, wheel_contact
from marsyard.jit import law_callback


@law_callback(Attachments, WheelArrays)
def prepare(A, L, time, h, theta, flag):
    """Ask for the tiles under and next to the wheels that are not there."""
    grid, ready = L.grid, True
    for b in range(L.model.shape[0]):
        reach = L.reach[b] + 2.0 * grid.spacing[0]
        ready = ask_for_tiles(grid, A.point[b, 0], A.point[b, 1], reach) and ready
    return 0 if ready else NEEDS_ROOM


@law_callback(Attachments, WheelArrays)
def evaluate(A, L, time, h, theta, flag):
    """Forces of the soil on all wheels; the states do not change."""
    for b in range(L.model.shape[0]):
        if not on_map(L.bounds, A.point[b]):
            return LEFT_THE_MAP
        if wheel_contact(A, L, b, h, theta * h):
            A.active[b] = 1
            unpack_wheel(L.stiff[b], A.axis[b], A.B[b])
    return OK


@law_callback(Attachments, WheelArrays)
def commit(A, L, time, h, theta, flag):
    """The states move on, wheels leave ruts; sums for the records."""
    for b in range(L.model.shape[0]):
        move_on(A, L, b, time)
        note_way(L.flow, A.start[b], L.reach[b], h)
        add_to_sums(L.sums[b], L.total[b], h)
        put_under_axle(A, b, L.radius[b])
    return 0


kernels = Kernels(prepare=prepare, evaluate=evaluate, commit=commit)
