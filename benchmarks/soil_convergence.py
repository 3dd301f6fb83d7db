"""A wheel in soil on finer and finer grids: how fine is fine enough.

The rig of `soil/wheel` without flow at 20 % slip, against integrals over the wheel's arc that know
neither grid nor step: Bekker's pressure in front of the lowest point, the elastic rebound behind
it, Janosi and Hanamoto's shear, with the shear of the soil, which stays under the wheel for dx/v.
The drawbar pull is a difference of two larger forces and therefore the most sensitive number.

Then wheels from 8 to 30 cm on the coarsest grid that rovers drive on, against the same wheels on
one eight times finer, with and without flow: how far off, and by how much they swing as they roll
from node to node. (Askew to the grid: `tests/verification/test_soil_wheel.py`.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marsyard.ground.soil import load_soil
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

RADIUS, WIDTH, LOAD, SLIP, STIFFNESS = 0.125, 0.1, 100.0, 0.2, 2e7
SPACINGS = (0.04, 0.02, 0.01, 0.005)
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
FINE = 0.005  # grid of the rows by step: on 1 cm the grid's error hides the step's
BAR = 5.0  # per cent, of the pull on the scenario's own grid
COARSE, FINEST = 0.02, 0.0025
#: radius, width [m] and load [N]: about two, four and six nodes along the contact on `COARSE`
WHEELS = ((0.08, 0.07, 8.0), (0.15, 0.11, 40.0), (0.3, 0.2, 250.0))
SLIPS = (0.2, 0.8)
WHEEL_BAR = 3.0  # per cent: pull and swings of the load, torque and sinkage of the fine grid's


def arc(sinkage: float) -> tuple[float, float]:
    """Load and drawbar pull [N] of the wheel at this sinkage [m]."""
    soil = load_soil("soil_wheel_default")
    k, n, r = soil.pressure_modulus(WIDTH), soil.number("exponent"), RADIUS
    K, tan = soil.number("shear_modulus"), math.tan(soil.number("friction_angle"))
    p0 = k * sinkage**n
    front = math.sqrt(r * r - (r - sinkage) ** 2)
    rear = -math.sqrt(r * r - (r - p0 / STIFFNESS) ** 2)
    x = np.linspace(front, rear, 4001)
    height = np.sqrt(r * r - x * x)
    z = np.maximum(height - (r - sinkage), 0.0)
    p = np.where(x > 0, k * z**n, np.maximum(p0 - STIFFNESS * (sinkage - z), 0.0))
    # speed of the rim over the soil for unit speed of travel: always forward at this slip
    slip_speed = 1 / (1 - SLIP) - height / r
    steps = 0.5 * (slip_speed[1:] + slip_speed[:-1]) * -np.diff(x)
    shear = p * tan * (1 - np.exp(-np.concatenate([[0.0], np.cumsum(steps)]) / K))
    lean = x / height
    load = -WIDTH * np.trapezoid(p + shear * lean, x)
    pull = -WIDTH * np.trapezoid(shear - p * lean, x)
    return float(load), float(pull)


def exact() -> tuple[float, float]:
    """Sinkage [m] and drawbar pull [N] under the load."""
    low, high = 1e-4, 0.9 * RADIUS
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if arc(middle)[0] < LOAD else (low, middle)
    return low, arc(low)[1]


def measured(spacing: float, step: float) -> tuple[float, float]:
    """The same two numbers from the simulation, as means over the last two seconds."""
    settings = {
        "ground.0.spacing": spacing, "run.step": step, "run.duration": 8,
        "run.record_period": 0.02, "interaction.soil": {"flow": False, "slip_transport": False},
    }  # fmt: skip
    d = Simulation(load_scenario("soil/wheel", settings)).run().dataset().sel(time=slice(6.001, 8))
    return float(d.sinkage.mean()), float(d.drawbar_pull.mean())


def rolling(
    wheel: tuple[float, float, float], slip: float, spacing: float, flow: bool
) -> dict[str, np.ndarray]:
    """Pull [% of the load], torque [% of load × radius] and sinkage [mm] as a wheel rolls
    steadily."""
    radius, width, load = wheel
    settings = {
        "robot.wheel": {"radius": radius, "width": width}, "robot.joints.lift": radius - 0.125,
        "run.step": 1e-3, "run.duration": 12,
        "run.record_period": 0.02, "ground.0.spacing": spacing,
        "parameters": {
            "slip": slip, "load": load, "speed": radius / 2, "radius": radius, "slip_angle": 0
        },
        "interaction.soil": {"flow": flow, "slip_transport": False},
    }  # fmt: skip
    d = Simulation(load_scenario("soil/wheel", settings)).run().dataset().sel(time=slice(7, None))
    return {
        "pull": 100 * d.drawbar_pull.values.ravel() / load,
        "torque": 100 * d.driving_torque.values.ravel() / (load * radius),
        "sinkage": 1e3 * d.sinkage.values.ravel(),
    }


def wheels() -> list[dict[str, Any]]:
    """The largest errors and swings of each wheel on the coarse grid, over slips."""
    rows = []
    for wheel in WHEELS:
        for flow in (False, True):
            off = {"pull": 0.0, "torque": 0.0, "sinkage": 0.0}
            swing = dict(off)
            for slip in SLIPS:
                fine = {k: v.mean() for k, v in rolling(wheel, slip, FINEST, flow).items()}
                # the pull may be nothing: its unit is the load
                unit = {"pull": 1.0, **{k: fine[k] / 100 for k in ("torque", "sinkage")}}
                for name, values in rolling(wheel, slip, COARSE, flow).items():
                    error = abs(values.mean() - fine[name]) / unit[name]
                    off[name] = max(off[name], float(error))
                    whole = unit[name] if name == "sinkage" else 1.0
                    swing[name] = max(swing[name], float(np.ptp(values)) / 2 / whole)
            told = ", ".join(f"{k} {v:.1f} %" for k, v in off.items())
            swings = ", ".join(f"{k} {v:.1f} %" for k, v in swing.items())
            rows.append(
                {"name": f"r = {100 * wheel[0]:g} cm on {100 * COARSE:g} cm, "
                         f"flow {'on' if flow else 'off'}",
                 "value": max(off.values()), "unit": "%", "bar": f"≤ {WHEEL_BAR:g}",
                 "ok": max(off.values()) <= WHEEL_BAR, "note": f"{told}; swings: {swings}"}
            )  # fmt: skip
    return rows


def run() -> list[dict[str, Any]]:
    """Error of the drawbar pull by grid and by step; wheels of other sizes on a coarse grid."""
    sinkage, pull = exact()
    rows: list[dict[str, Any]] = []

    def add(name: str, spacing: float, step: float, bar: bool) -> None:
        z, got = measured(spacing, step)
        error = 100 * (got / pull - 1)
        note = f"{got:.2f} of {pull:.2f} N; sinkage {100 * (z / sinkage - 1):+.2f} %"
        rows.append(
            {"name": name, "value": error, "unit": "%", "bar": f"≤ ±{BAR:g}" if bar else None,
             "ok": abs(error) <= BAR if bar else None, "note": note}
        )  # fmt: skip

    for spacing in SPACINGS:
        name = f"drawbar pull, grid {100 * spacing:g} cm, step 1 ms"
        add(name, spacing, 1e-3, spacing <= 0.01)
    for step in STEPS:
        name = f"drawbar pull, grid {100 * FINE:g} cm, step {1e3 * step:g} ms"
        add(name, FINE, step, step <= 1e-3)
    return rows + wheels()
