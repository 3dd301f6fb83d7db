"""Cost of a nonsmooth step of the rover standing on six wheels, beside MuJoCo's bare step.

Both are measured in the same run, alternating, best of several; the ratio is what counts.
"""

from __future__ import annotations

from typing import Any

from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation
from marsyard.simulation.timing import beside_mj_step

STEPS = 2000
ROUNDS = 15
BAR = 8.0


def run() -> list[dict[str, Any]]:
    """Ratio of a nonsmooth step to `mj_step` of the same model without contact."""
    settings = {"run.record_period": 0.5, "control": []}
    rover = Simulation(load_scenario("rt0448/test-3", settings))
    rover.step(STEPS)
    ours, theirs = beside_mj_step(rover, STEPS, ROUNDS)
    ratio = ours / theirs
    contacts = int(rover.records.stats[-1, 0])
    note = f"{contacts} contacts, projection on; mj_step alone {1e6 * theirs:.2f} µs"
    return [
        {"name": "nonsmooth step / mj_step", "value": ratio, "unit": "×", "bar": f"≤ {BAR:g}",
         "ok": ratio <= BAR and contacts == 6, "note": note},
        {"name": "nonsmooth step", "value": 1e6 * ours, "unit": "µs", "bar": None,
         "ok": None, "note": "standing on six wheels"},
        {"name": "speed against real time", "value": rover.scenario.run.step / ours,
         "unit": "×", "bar": None, "ok": None, "note": "step 0.5 ms"},
    ]  # fmt: skip
