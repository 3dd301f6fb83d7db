"""Soil in columns as a law of the engine: its kernels (`interaction.law`)."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_columns.arrays import ColumnNumbers
from marsyard.interaction.soil_columns.contact import forces_on_bodies
from marsyard.interaction.soil_contact.arrays import Bodies, Patch, Soils
from marsyard.interaction.soil_contact.belt import Belts
from marsyard.interaction.soil_contact.kernel import tiles_ready
from marsyard.interaction.soil_contact.steps import begin_step, end_step, hand_over
from marsyard.interaction.soil_kernels import OK
from marsyard.jit import F1, F2, F3, I1, by_reference, law_callback


@by_reference
class ColumnArrays(NamedTuple):
    """All that the kernels work on: the fields of `soil_contact.kernels.SoilArrays`, and the
    numbers of the columns."""

    grid: GridArrays
    soils: Soils
    bodies: Bodies
    patch: Patch
    belts: Belts
    wheel: I1
    radius: F1
    sums: F2
    bins: F3
    bin_count: F1
    bounds: F1
    flows: I1
    flow: F1
    evaluations: I1
    numbers: ColumnNumbers


@law_callback(Attachments, ColumnArrays)
def prepare(A, S, time, h, theta, flag):
    """Ask for the tiles under and next to the bodies that are not there."""
    return 0 if tiles_ready(S.grid, S.bodies) else NEEDS_ROOM


@law_callback(Attachments, ColumnArrays)
def evaluate(A, S, time, h, theta, flag):
    """Forces of the soil on all bodies."""
    options = begin_step(A, S, time, h, theta)
    answer = forces_on_bodies(
        S.grid, S.soils, S.numbers, S.bodies, S.patch, options, S.belts, S.bounds
    )
    if answer != OK:
        return answer
    hand_over(A, S)
    return OK


@law_callback(Attachments, ColumnArrays)
def commit(A, S, time, h, theta, flag):
    """Sums for the records, and how far soil may have been moved."""
    end_step(A, S, h)
    return 0


kernels = Kernels(prepare=prepare, evaluate=evaluate, commit=commit)
