"""Cost of driving on soft soil: the ExoMars rover on six wheels, plastic flow on, 1 ms steps.

Step times are measured beside MuJoCo's bare step of the same model, alternating, best of several:
the ratio is what counts. The long drive compares the cost of its last minute with the first.
"""

from __future__ import annotations

import time
from typing import Any

from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation
from marsyard.simulation.timing import beside_mj_step

STEPS = 1000
ROUNDS = 12
RATIO, REAL_TIME, REAL_TIME_FINE = 6.0, 20.0, 6.0
#: cost of a step in columns by that of the soil contact model, on a soil where both drive
COLUMNS, FIRM = 2.0, "lunar_nominal"


def run() -> list[dict[str, Any]]:
    """Ratios to `mj_step` and to real time on grids of 2 and 1 cm; minutes of a long drive."""
    ratio, coarse, bare, nodes = _measure("2 cm")
    _, fine, _, nodes_fine = _measure("1 cm")
    minutes, tiles, memory = _long_drive()
    columns = _columns()
    return [
        _row("soil step / mj_step", ratio, "×", f"≤ {RATIO:g}", ratio <= RATIO,
             f"2 cm grid, {nodes} nodes under six wheels; mj_step alone {bare:.2f} µs"),
        _row("soil step, 2 cm", coarse, "µs", None, None, "1 ms steps, plastic flow on"),
        _row("speed against real time, 2 cm", 1e3 / coarse, "×", f"≥ {REAL_TIME:g}",
             1e3 / coarse >= REAL_TIME, "one core"),
        _row("speed against real time, 1 cm", 1e3 / fine, "×", f"≥ {REAL_TIME_FINE:g}",
             1e3 / fine >= REAL_TIME_FINE, f"{nodes_fine} nodes under six wheels"),
        _row("last / first minute of a drive", minutes, "×", "≤ 1.15", minutes <= 1.15,
             f"ten minutes, {tiles} tiles, {memory:.0f} MB"),
        _row("soil in columns / soil contact model", columns, "×", f"≤ {COLUMNS:g}",
             columns <= COLUMNS, f"2 cm grid, {FIRM}, side by side"),
    ]  # fmt: skip


def _row(name: str, value: float, unit: str, bar: str | None, ok: bool | None, note: str) -> dict:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note}


def _rover(spacing: str, **more: Any) -> Simulation:
    settings = {"ground.0.spacing": spacing, "tethers": [], "run.record_period": 0.5, **more}
    rover = Simulation(load_scenario("exomars/drawbar-pull", settings))
    rover.step(3000)
    return rover


def _measure(spacing: str) -> tuple[float, float, float, int]:
    """Ratio to mj_step, step [µs], mj_step [µs], nodes under the wheels."""
    rover = _rover(spacing)
    ours, theirs = beside_mj_step(rover, STEPS, ROUNDS)
    nodes = int(sum(map(len, rover.world.soil.pressing().points))) if rover.world.soil else 0
    return ours / theirs, 1e6 * ours, 1e6 * theirs, nodes


def _columns() -> float:
    """Cost of soil in columns by that of the soil contact model, alternating, best of several."""
    rovers = [
        _rover("2 cm", **{"ground.0.soil": FIRM, "interaction.soil.model": model})
        for model in ("columns", "scm")
    ]
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        for k, rover in enumerate(rovers):
            began = time.perf_counter()
            rover.step(STEPS)
            best[k] = min(best[k], time.perf_counter() - began)
    return best[0] / best[1]


def _long_drive() -> tuple[float, int, float]:
    """Cost of the last of ten minutes over that of the first; tiles made, and their memory [MB]."""
    rover = _rover("2 cm")
    cost = []
    for _ in range(10):
        best = float("inf")
        for _ in range(6):
            began = time.perf_counter()
            rover.step(10_000)
            best = min(best, time.perf_counter() - began)
        cost.append(best)
    assert rover.world.soil is not None
    grid = rover.world.soil.grid
    return cost[-1] / cost[0], grid.tiles, 1e-6 * sum(a.nbytes for a in grid.arrays)
