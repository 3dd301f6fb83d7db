"""Long runs: nothing drifts, nothing leaks, nothing fails to converge. Run with `make soak`."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from marsyard.scenario import load_scenario
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
