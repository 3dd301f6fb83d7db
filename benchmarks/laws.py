"""What each law costs: the same rover, the same drive on level ground, one law after the other.

`eldorado2/tow` without its load: four wheels at 4 cm/s, steps of 1 ms, soil grid of 2 cm. Time
is that of the processor in one thread, best of several: other work beside it hardly matters.
"""

from __future__ import annotations

import time
from typing import Any

from marsyard.comparison import LAWS, Variant
from marsyard.comparison.laws import scenario_under
from marsyard.comparison.runs import base_data
from marsyard.simulation import Simulation

STEPS, ROUNDS = 500, 8
UNDER_WAY = 3000  # steps until the rover rolls steadily
#: what the model of this name needs besides the scenario's own
OWN = {
    "wong_reece": {"peak_0": 0.4, "peak_1": 0.15},
    "ishigami": {"peak_0": 0.4, "peak_1": 0.15},
    "magic_formula": {"nominal_load": 44.1, "peak_x": 0.37, "stiff_x": 2.7},
}


def run() -> list[dict[str, Any]]:
    """Microseconds a step and speed against real time for every law."""
    return [_row(law) for law in LAWS if law != "as_is"]


def _row(law: str) -> dict[str, Any]:
    settings = {"tethers": [], "interaction.wheel.exit": {"rule": "height", "value": 0.5}}
    if law in OWN:
        settings["interaction.wheel.coefficients"] = OWN[law]
    name, data, _ = base_data("eldorado2/tow", settings, study=False)
    # the springs of its steering are too stiff for explicit damping
    own = {"run.integrator": "implicit_damping"} if law == "mujoco" else {}
    scenario, _ = scenario_under(data, Variant(law, law, own), name)
    sim = Simulation(scenario)
    sim.warm_up()
    sim.step(UNDER_WAY)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.thread_time()
        sim.step(STEPS)
        best = min(best, time.thread_time() - began)
    cost = best / STEPS
    return {
        "name": law, "value": 1e6 * cost, "unit": "µs/step", "bar": None, "ok": None,
        "note": f"{scenario.run.step / cost:.0f} × real time",
    }  # fmt: skip
