"""Draw docs/images/soil-columns-heap.png and soil-columns-triaxial.png of physics/soil-columns.md.

python docs/make_soil_columns.py    takes seconds once the kernels are compiled

The heap is that of the scenario soil/columns-heap in the planar model: one row of its columns at
several instants, and how far its foot has come on three grids. The curves are those of the law for
a plate 10 cm wide.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marsyard.ground.soil import load_soil
from marsyard.interaction.soil_columns.numbers import ColumnOptions, curve_rows, law_row
from marsyard.interaction.soil_columns.triaxial import share_of_strength, volume_change
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

IMAGES = Path(__file__).parent / "images"
TIMES = (0.0, 0.1, 0.2, 0.4, 0.8, 2.0)
BLUE, ORANGE, GREY = "#1f77b4", "#d95f02", "#888888"


def heap(spacing: float) -> Simulation:
    settings = {
        "interaction.soil.columns.planar": True, "ground.0.spacing": spacing, "control.0.speed": 0,
    }  # fmt: skip
    return Simulation(load_scenario("soil/columns-heap", settings))


def profiles(spacing: float, times: tuple[float, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Places and heights of the row y = 0 at several instants."""
    simulation = heap(spacing)
    assert simulation.world.soil is not None
    grid = simulation.world.soil.grid
    x = np.arange(-round(0.9 / spacing), round(0.9 / spacing) + 1) * spacing
    rows = []
    for t in times:
        simulation.step(round((t - simulation.time) / simulation.scenario.run.step))
        rows.append(grid.height(x, 0 * x))
    return x, rows


def draw_heap() -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 3.2), width_ratios=(2, 1), layout="constrained"
    )
    x, rows = profiles(0.01, TIMES)
    for k, (t, z) in enumerate(zip(TIMES, rows, strict=True)):
        left.plot(x, z, color=plt.cm.viridis(k / len(TIMES)), label=f"{t:g} s")
    tan = math.tan(math.radians(30))
    top = rows[-1].max()
    left.plot(x, np.maximum(top - np.abs(x) * tan, 0), ":", color=GREY, label="30°")
    left.set(xlabel="x [m]", ylabel="height [m]", title="planar heap, 30°, columns of 1 cm")
    left.set_aspect("equal")
    left.legend(fontsize=7, loc="upper left")
    times = tuple(np.round(np.arange(0, 2.01, 0.05), 3))
    for spacing, colour in ((0.02, GREY), (0.01, ORANGE), (0.005, BLUE)):
        x, rows = profiles(spacing, times)
        out = x > 0
        foot = [np.interp(-0.01, -z[out], x[out]) for z in rows]
        right.plot(times, foot, color=colour, label=f"columns of {1000 * spacing:g} mm")
    right.set(xlabel="time [s]", ylabel="foot of the heap [m]", title="run-out by grid")
    right.grid(alpha=0.3)
    right.legend(fontsize=8)
    figure.savefig(IMAGES / "soil-columns-heap.png", dpi=110)


def draw_triaxial() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    options = ColumnOptions(gravity=9.81)
    z = np.linspace(0, 0.08, 200)
    for colour, name, more in (
        (BLUE, "soil_wheel_default", {}),
        (ORANGE, "lunar_nominal", {}),
        ("#2a9d5c", "soil_wheel_default", {"friction_angle": "40 deg", "triaxial": {
            "modulus": "2 MPa", "residual_angle": "32 deg", "softening_strain": 0.05}}),
    ):  # fmt: skip
        soil = load_soil({"name": name, **more})
        law = law_row(soil, 0.1, soil.pressure_modulus(0.1), options)
        curve = curve_rows(soil)
        f = np.array([share_of_strength(law, curve, v / law[0])[0] for v in z])
        label = name if not more else "dense, 40°, softening to 32°"
        left.plot(1000 * z, 1e-3 * (law[1] + law[2] * z) * f, color=colour, label=label)
        if not more:
            left.plot(1000 * z, 1e-3 * soil.pressure(z, 0.1), ":", color=colour)
        volume = [law[0] * volume_change(law, curve, v / law[0]) for v in z]
        right.plot(1000 * z, 1000 * np.array(volume), color=colour)
    left.set(xlabel="sinkage [mm]", ylabel="stress [kPa]", title="stress (dotted: Bekker)")
    right.set(xlabel="sinkage [mm]", ylabel="compaction [mm]", title="what the column keeps")
    left.legend(fontsize=8)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.savefig(IMAGES / "soil-columns-triaxial.png", dpi=110)


if __name__ == "__main__":
    draw_heap()
    draw_triaxial()
