"""The soil contact model as a law of the engine: its kernels (`interaction.law`).

An attachment is a body and the soil, its point the centre of the wheel or geom; the rate in V is
the speed of a track's belt.
"""

from __future__ import annotations

from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_contact.arrays import Bodies, Patch, Soils
from marsyard.interaction.soil_contact.belt import Belts
from marsyard.interaction.soil_contact.kernel import forces_on_bodies, tiles_ready
from marsyard.interaction.soil_contact.steps import begin_step, end_step, hand_over
from marsyard.interaction.soil_kernels import OK
from marsyard.jit import F1, F2, F3, I1, by_reference, law_callback


@by_reference
class SoilArrays(NamedTuple):
    """All that the kernels work on; `b` bodies."""

    grid: GridArrays
    soils: Soils
    bodies: Bodies
    patch: Patch
    belts: Belts
    wheel: I1  # int64[b], number of the wheel, or −1
    radius: F1  # float64[b], of a wheel without grousers [m]
    sums: F2  # float64[b, SUM_COLUMNS]
    bins: F3  # float64[wheels, STRESS_BINS, 3], forces by the angle around the wheel [N]
    bin_count: F1  # float64[1], how often they were added up
    bounds: F1  # float64[4], of the map: xmin, xmax, ymin, ymax [m]
    flows: I1  # int64[1], 1: displaced soil is laid down
    flow: F1  # float64[FLOW_NUMBERS], the ground's
    evaluations: I1  # int64[1], of the forces, so far


@law_callback(Attachments, SoilArrays)
def prepare(A, S, time, h, theta, flag):
    """Ask for the tiles under and next to the bodies that are not there."""
    return 0 if tiles_ready(S.grid, S.bodies) else NEEDS_ROOM


@law_callback(Attachments, SoilArrays)
def evaluate(A, S, time, h, theta, flag):
    """Forces of the soil on all bodies."""
    options = begin_step(A, S, time, h, theta)
    answer = forces_on_bodies(S.grid, S.soils, S.bodies, S.patch, options, S.belts, S.bounds)
    if answer != OK:
        return answer
    hand_over(A, S)
    return OK


@law_callback(Attachments, SoilArrays)
def commit(A, S, time, h, theta, flag):
    """Sums for the records, and how far soil may have been moved."""
    end_step(A, S, h)
    return 0


kernels = Kernels(prepare=prepare, evaluate=evaluate, commit=commit)
