"""Speed of walking and rolling-walking runs against real time, planning included.

Processor time of one process, so that a busy machine does not count. The best of three runs.
"""

from __future__ import annotations

import time
from typing import Any

from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

BAR = 10.0
RUNS = ("walker/flat", "walker/slope", "marsokhod/peristaltic", "hylos/modes")
ON_SOIL = ("walker/sand", "marsokhod/sand")


def run() -> list[dict[str, Any]]:
    """Simulated time over processor time of the scenarios of gaits."""
    rows = []
    for name in (*RUNS, *ON_SOIL):
        speed, plans = max(_speed(name) for _ in range(3))
        rows.append(
            {
                "name": f"{name} against real time", "value": speed, "unit": "×",
                "bar": f"≥ {BAR:g}" if name in RUNS else None,
                "ok": speed >= BAR if name in RUNS else None,
                "note": f"one core, with planning of {plans} motions",
            }
        )  # fmt: skip
    return rows


def _speed(name: str) -> tuple[float, int]:
    simulation = Simulation(load_scenario(name))
    simulation.warm_up()
    before = time.process_time()
    simulation.run()
    spent = time.process_time() - before
    assert simulation.gait is not None
    return simulation.time / spent, len(simulation.gait.log)
