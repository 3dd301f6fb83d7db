"""Says where a run left the range in which its law of the ground holds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from marsyard.simulation.recorder import wheel_sinkage

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation


def warn_of_deep_wheels(s: Simulation) -> None:
    """Wheel models know wheels that sink by less than their radius: warn of the first record in
    which one is deeper."""
    law = s.scenario.interaction.wheel
    if law is None or s.world.soil is None or not len(s._carrying_radius):
        return
    depth = wheel_sinkage(s, s.records, s.records.soil_total)
    beyond = depth >= s._carrying_radius
    if not beyond.any():
        return
    k = int(np.argmax(beyond.any(axis=1)))
    w = int(np.argmax(beyond[k]))
    warnings.warn(
        f"wheel {list(s.world.robot.wheels)[w]} is {1e3 * depth[k, w]:.0f} mm deep in the soil at "
        f"t = {s.records.time[k]:.6g} s, more than its radius of "
        f"{1e3 * s._carrying_radius[w]:.0f} mm: the wheel model '{law.model}' does not hold from "
        "there on",
        stacklevel=3,
    )
