"""Draw docs/images/soil-convergence.png: drawbar pull of a wheel by grid and by step.

python docs/make_soil_convergence.py    takes half a minute; prints the rows of docs/validation.md,
                                        too

The wheel, the integrals it is compared with and the runs are those of
benchmarks/soil_convergence.py (`marsyard bench soil_convergence`), here with more grids and steps.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
IMAGE = Path(__file__).parent / "images" / "soil-convergence.png"
BENCH = runpy.run_path(str(ROOT / "benchmarks" / "soil_convergence.py"))

SPACINGS = sorted({*BENCH["SPACINGS"], 0.03, 0.015, 0.0125, 0.0075, 0.0035, 0.0025})
STEPS = sorted({*BENCH["STEPS"], 2.5e-4})
BLUE, ORANGE, RED, GREY = "#1f77b4", "#d95f02", "#b2182b", "#888888"

Case = tuple[float, float]  # spacing [m], step [s]


def errors(cases: Iterable[Case]) -> dict[Case, float]:
    """Error of the drawbar pull [%] for each grid and step."""
    _, pull = BENCH["exact"]()
    return {c: 100 * (BENCH["measured"](*c)[1] / pull - 1) for c in cases}


def curve(ax: Axes, scale: float, points: dict[float, float], mark: str, **style) -> None:
    x = sorted(points)
    ax.plot([scale * v for v in x], [abs(points[v]) for v in x], mark, **style)


def finish(ax: Axes, label: str) -> None:
    """Logarithmic axes and the line of 5 %."""
    ticks = [0.25, 0.5, 1, 2, 4]
    ax.axhline(BENCH["BAR"], color=RED, lw=1, ls="--")
    ax.text(ticks[0], 1.06 * BENCH["BAR"], f"{BENCH['BAR']:g} %", color=RED, fontsize=8)
    ax.set(xscale="log", yscale="log", ylim=(0.1, 100), xlabel=label)
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="lower right")


def draw(by_grid: dict[Case, float], by_step: dict[Case, float]) -> None:
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", sharey=True)
    for step, colour, mark in ((1e-3, BLUE, "o-"), (2.5e-4, ORANGE, "s-")):
        points = {d: e for (d, h), e in by_grid.items() if h == step}
        curve(left, 100, points, mark, color=colour, ms=4, label=f"step {1e3 * step:g} ms")
    for spacing, colour, mark in ((BENCH["FINE"], BLUE, "o-"), (0.0025, ORANGE, "s-")):
        points = {h: e for (d, h), e in by_step.items() if d == spacing}
        curve(right, 1e3, points, mark, color=colour, ms=4, label=f"grid {100 * spacing:g} cm")
    x = np.array([0.25, 4])
    right.plot(x, abs(by_step[0.0025, 4e-3]) * x / 4, ":", color=GREY, label="first order")
    finish(left, "spacing of the grid [cm]")
    finish(right, "step [ms]")
    left.set_xlim(0.21, 4.8)
    left.set_ylabel("error of the drawbar pull [%]")
    fig.suptitle("Wheel of 125 mm radius, 100 mm wide, 100 N, 0.1 m/s, 20 % slip", fontsize=10)
    fig.savefig(IMAGE, dpi=110)
    plt.close(fig)


def rows(cases: dict[Case, float]) -> None:
    for (spacing, step), error in cases.items():
        print(f"grid {100 * spacing:g} cm, step {1e3 * step:g} ms: {error:+.2f} %")


def main() -> None:
    warnings.filterwarnings("ignore", message="ground: spacing", category=UserWarning)
    by_grid = errors((d, h) for h in (1e-3, 2.5e-4) for d in SPACINGS)
    by_step = errors((d, h) for d in (BENCH["FINE"], 0.0025) for h in STEPS)
    rows(by_grid)
    rows(by_step)
    draw(by_grid, by_step)


if __name__ == "__main__":
    main()
