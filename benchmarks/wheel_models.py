"""Cost of the wheel models: one evaluation, and a six-wheeled rover driven over rough ground.

Step times are measured beside MuJoCo's bare step of the same model, alternating, best of several:
the ratio is what counts.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation
from marsyard.simulation.timing import beside_mj_step

PEAK = {"peak_0": 0.4, "peak_1": 0.15}
OWN: dict[str, dict[str, float]] = {"ding": {"mean_load": 192.0}, "wong_reece": PEAK}
STEPS, ROUNDS = 1000, 12
EVALUATION, REAL_TIME = 5.0, 40.0


def run() -> list[dict[str, Any]]:
    """Microseconds of an evaluation; speed of a rover against mj_step and against real time."""
    rows = []
    for name, own in OWN.items():
        cost = _evaluation(name, own)
        rows.append(
            _row(f"{name}: evaluation", cost, "µs", f"≤ {EVALUATION:g}", cost <= EVALUATION,
                 "forces and moments at a sinkage, with side slip")
        )  # fmt: skip
    for name, own in OWN.items():
        ratio, step, bare = _drive(name, own)
        speed = 1e3 / step
        rows += [
            _row(f"{name}: step / mj_step", ratio, "×", None, None,
                 f"six wheels on rough ground; mj_step alone {bare:.2f} µs"),
            _row(f"{name}: speed against real time", speed, "×", f"≥ {REAL_TIME:g}",
                 speed >= REAL_TIME, f"1 ms steps, {step:.1f} µs each, one core"),
        ]  # fmt: skip
    return rows


def _row(name: str, value: float, unit: str, bar: str | None, ok: bool | None, note: str) -> dict:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note}


def _evaluation(name: str, own: dict[str, float]) -> float:
    wheel = Wheel(0.1425, 0.12, Exit("height", 0.9), lug_height=0.008)
    model = WheelModel(name, wheel, load_soil("mars_sand_zhou2023"), own)
    slip = np.linspace(-0.9, 0.9, 5000)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        model.at_sinkage(0.02, slip, 0.1)
        best = min(best, time.perf_counter() - began)
    return 1e6 * best / len(slip)


def _drive(name: str, own: dict[str, float]) -> tuple[float, float, float]:
    """Ratio to mj_step, step [µs], mj_step [µs]."""
    law = {"model": name, "coefficients": own}
    settings = {"interaction.wheel": law, "ground.0.spacing": "2 cm", "run.record_period": 0.5}
    rover = Simulation(load_scenario("exomars/rough", settings))
    rover.step(3000)
    ours, theirs = beside_mj_step(rover, STEPS, ROUNDS)
    return ours / theirs, 1e6 * ours, 1e6 * theirs
