"""What each law costs: the same rover, the same drive on level ground, one law after the other.

`eldorado2/tow` without its load: four wheels at 4 cm/s, steps of 1 ms, soil grid of 2 cm. A step is
measured beside MuJoCo's bare step of the same model, alternating, best of several.
"""

from __future__ import annotations

from typing import Any

from marsyard.comparison import LAWS, Variant
from marsyard.comparison.laws import scenario_under
from marsyard.comparison.runs import base_data
from marsyard.simulation import Simulation
from marsyard.simulation.timing import beside_mj_step

STEPS, ROUNDS = 500, 8
UNDER_WAY = 3000  # steps until the rover rolls steadily
#: what the model of this name needs besides the scenario's own
OWN = {
    "wong_reece": {"peak_0": 0.4, "peak_1": 0.15},
    "ishigami": {"peak_0": 0.4, "peak_1": 0.15},
    "magic_formula": {"nominal_load": 44.1, "peak_x": 0.37, "stiff_x": 2.7},
}


def run() -> list[dict[str, Any]]:
    """Microseconds a step and multiples of mj_step for every law."""
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
    ours, bare = beside_mj_step(sim, STEPS, ROUNDS)
    return {
        "name": f"laws/{law}", "value": 1e6 * ours, "unit": "µs/step", "bar": None, "ok": None,
        "note": f"{ours / bare:.1f} × mj_step",
    }  # fmt: skip
