"""A rover that drives across a slope drifts downhill until its wheels' side force holds it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

SLOPE = math.radians(10.0)


def drift(heading: float, spacing: float) -> float:
    """Angle of the track below the heading [deg]; the slope rises to the left."""
    heading = math.radians(heading)
    layer = {"kind": "plane", "slope": SLOPE, "uphill": heading + 0.5 * math.pi}
    settings = {
        "robot.name": "exomars", "robot.position": [0.5, 0.5, 1.0],
        "robot.attitude": [0, 0, heading], "interaction.wheel": None,
        "ground.0.terrain": {"layers": [layer]}, "ground.0.spacing": spacing, "run.duration": 20,
    }  # fmt: skip
    data = Simulation(load_scenario("eldorado2/rough", settings)).run().dataset()
    moved = np.diff(data.position_base.values[[-100, -1], :2], axis=0)[0]
    ahead = moved @ [math.cos(heading), math.sin(heading)]
    left = moved @ [-math.sin(heading), math.cos(heading)]
    return math.degrees(math.atan2(-left / math.cos(SLOPE), ahead))


@pytest.mark.parametrize(("heading", "spacing"), [(0, 0.02), (30, 0.02), (90, 0.02), (0, 0.01)])
def test_the_grid_does_not_hold_a_wheel(heading, spacing):
    # rows of nodes beside leaning wheels were rails along the grid: no drift up to 15°
    assert drift(heading, spacing) == pytest.approx(10.0, abs=2.5)
