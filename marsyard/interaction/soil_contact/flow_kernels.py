"""The ground flows after a step: displaced soil is laid down and slides (`flow`)."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_contact.arrays import Bodies, Patch, Soils
from marsyard.interaction.soil_contact.kernel import soil_flow
from marsyard.interaction.soil_kernels import SINCE, TRAVELLED, move_clock
from marsyard.jit import F1, by_reference, law_callback

#: nodes that one flow of soil may look at before the rest waits for the next
MOST_NODES = 1_000_000
#: places of FlowArrays.numbers: 1 if soil is laid down, m of eq. (10), way of the fastest body
#: between two flows [m]
FLOWS, DEPOSIT, AFTER = range(3)


@by_reference
class FlowArrays(NamedTuple):
    """What flows, and the bodies beside which it is laid down."""

    grid: GridArrays
    soils: Soils
    bodies: Bodies
    patch: Patch
    numbers: F1  # float64[3]
    flow: F1  # float64[FLOW_NUMBERS], the ground's


@law_callback(Attachments, FlowArrays)
def prepare(A, F, time, h, theta, flag):
    """Have the tiles made that sliding soil has asked for."""
    return 0 if F.grid.request_count[0] == 0 else NEEDS_ROOM


@law_callback(Attachments, FlowArrays)
def relax(A, F, time, h, theta, flag):
    """Let the ground flow, if bodies have moved far enough since the last time."""
    move_clock(F.flow, h)
    if F.flow[TRAVELLED] < F.numbers[AFTER]:
        return 0
    F.flow[TRAVELLED] = 0.0
    F.flow[SINCE] = 0.0
    flows, exponent = F.numbers[FLOWS] > 0.0, F.numbers[DEPOSIT]
    soil_flow(F.grid, F.soils, F.bodies, F.patch, time, flows, exponent, MOST_NODES)
    return 0


kernels = Kernels(prepare=prepare, relax=relax)
