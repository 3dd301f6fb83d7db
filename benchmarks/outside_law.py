"""A compiled law from outside beside the same law inside: what the door for laws costs.

The law is `rigid_slip` on the rough terrain of eldorado2/rough: marsyard's own wheel model, and its
copy in `examples/plugin`. Both are stepped in turn in one run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation

SCENARIO = "eldorado2/rough"
COEFFICIENTS = {"friction": 0.7, "slip_stiffness": 10.0, "rolling": 0.0, "stiffness": 1e5}
STEPS, ROUNDS, UNDER_WAY = 400, 12, 400
BAR = 1.1


def simulations() -> tuple[Simulation, Simulation]:
    """The same drive under the law inside and under the one from outside."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "plugin" / "src"))
    from marsyard_dunes.rigid_slip import RigidSlip

    inside = scenario_data(SCENARIO)
    model = {"model": "rigid_slip", "coefficients": COEFFICIENTS, "rut": False}
    apply_setting(inside, "interaction.wheel", model)
    outside = scenario_data(SCENARIO)
    apply_setting(outside, "interaction.wheel", None)
    return (
        Simulation(validate(inside, SCENARIO)),
        Simulation(validate(outside, SCENARIO), interaction=RigidSlip),
    )


def run() -> list[dict[str, Any]]:
    """Ratio of a step under the law from outside to one under the law inside."""
    both = simulations()
    for sim in both:
        sim.step(UNDER_WAY)
    best = np.full(2, np.inf)
    for _ in range(ROUNDS):
        for k, sim in enumerate(both):
            began = time.thread_time()
            sim.step(STEPS)
            best[k] = min(best[k], time.thread_time() - began)
    inside, outside = (1e6 * best / STEPS).tolist()
    ratio = outside / inside
    apart = float(np.abs(both[0].qpos[:3] - both[1].qpos[:3]).max())
    return [
        {"name": "step under a law from outside / inside", "value": ratio, "unit": "×",
         "bar": f"≤ {BAR:g}", "ok": ratio <= BAR,
         "note": f"{outside:.1f} and {inside:.1f} µs a step; the rovers end {1e3 * apart:.2g} mm "
                 "apart"},
    ]  # fmt: skip
