"""The ground flows after a step: displaced soil is laid down, and the surface moves (`flow`)."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_columns.arrays import ColumnNumbers, FlowOptions
from marsyard.interaction.soil_columns.flow import column_flow
from marsyard.interaction.soil_contact.arrays import Bodies, Patch
from marsyard.interaction.soil_kernels import FLOWING, SINCE, TRAVELLED, move_clock
from marsyard.jit import F1, by_reference, law_callback

#: places of FlowArrays.numbers: 1 if soil flows, m of eq. (10), distance of the fastest body
# between two
#: flows [m]; longest time between two while soil flows, and longest step of one [s]; gravity
#: [m/s²], ν [1/s], 1 if planar
FLOWS, DEPOSIT, AFTER, PERIOD, CHUNK, GRAVITY, VISCOSITY, PLANAR = range(8)


@by_reference
class FlowArrays(NamedTuple):
    """What flows, and the bodies beside which it is laid down."""

    grid: GridArrays
    columns: ColumnNumbers
    bodies: Bodies
    patch: Patch
    numbers: F1  # float64[8]
    flow: F1  # float64[FLOW_NUMBERS], the ground's


@law_callback(Attachments, FlowArrays)
def prepare(A, F, time, h, theta, flag):
    """Have the tiles made that flowing soil has asked for."""
    return 0 if F.grid.request_count[0] == 0 else NEEDS_ROOM


@law_callback(Attachments, FlowArrays)
def relax(A, F, time, h, theta, flag):
    """Let the ground flow, if bodies have moved far enough since the last time, or if it is due."""
    flow, n = F.flow, F.numbers
    move_clock(flow, h)
    due = flow[FLOWING] > 0.0 and flow[SINCE] >= n[PERIOD]
    if not due and flow[TRAVELLED] < n[AFTER]:
        return 0
    flow[TRAVELLED] = 0.0
    options = FlowOptions(time, flow[SINCE], n[CHUNK], n[GRAVITY], n[VISCOSITY], int(n[PLANAR]))
    flows = n[FLOWS] > 0.0
    awake = column_flow(F.grid, F.columns, F.bodies, F.patch, options, flows, n[DEPOSIT])
    flow[SINCE] = 0.0
    flow[FLOWING] = float(awake)
    return 0


kernels = Kernels(prepare=prepare, relax=relax)
