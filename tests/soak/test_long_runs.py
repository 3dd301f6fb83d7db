"""Long runs: nothing drifts, nothing leaks, nothing fails to converge. Run with `make soak`."""

from __future__ import annotations

import math
import resource

import numpy as np
import pytest

from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation

pytestmark = pytest.mark.soak


def test_ten_minutes_on_the_slope():
    # the exact balance torque holds the rover for 600 s as for 30 s
    settings = {
        "run.duration": 600,
        "run.record_period": 1,
        "control": [{"joints": "drives", "torque": -0.8899540301183023}],
    }
    data = Simulation(load_scenario("rt0448/test-4", settings)).run().dataset()
    assert np.ptp(data.position_base.sel(axis="x").values) < 1e-5
    assert int(data.unconverged.sum()) == 0


def test_memory_does_not_grow():
    settings = {"run.duration": 1000, "run.record_period": 1}
    simulation = Simulation(load_scenario("rt0448/test-3", settings))
    simulation.step(20_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    simulation.step(1_000_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000  # kB


def test_ten_minutes_parked_on_a_slope_of_soil():
    # brakes on, 10 degrees, dry sand: down the slope it creeps by less than a millimetre
    slope = math.radians(10)
    plane = {"layers": [{"kind": "plane", "slope": slope}]}
    scenario = validate({
        "robot": {"name": "exomars", "position": [0, 0, 0.6 / math.cos(slope)],
                  "attitude": [0, -slope, 0],
                  "springs": {"steering": {"stiffness": 1e4, "damping": 200}}},
        "ground": [{"kind": "terrain", "name": "soil", "terrain": plane, "soil": "dry_sand",
                    "spacing": 0.02}],
        "gravity": 3.72,
        "control": [{"joints": "drives", "speed": 0, "gain": 1e9}],
        "run": {"duration": 605, "step": 1e-3, "record_period": 1, "theta": 1},
    })  # fmt: skip
    place = Simulation(scenario).run().dataset().position_base.sel(axis=["x", "y"]).values
    # from 5 s on, when it has sunk in
    assert np.abs(place[5:] - place[5]).max() < 1e-3
