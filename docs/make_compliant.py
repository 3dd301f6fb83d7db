"""Draw docs/images/compliant-friction.png: the curves of friction, and what a reversal does.

python docs/make_compliant.py    takes some seconds; it calls the law itself, without a simulation
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marsyard.interaction.compliant import curves
from marsyard.interaction.compliant.law import shear_path

IMAGE = Path(__file__).parent / "images" / "compliant-friction.png"
CURVES = {
    "loose, K = 1 mm": (curves.loose(1e-3), "#d95f02"),
    "dense, peak 1.3 at 2 mm": (curves.dense(2e-3, 1.3), "#1f77b4"),
    "table": (curves.table([(0.001, 0.7), (0.003, 1.1), (0.006, 1.0)]), "#666666"),
}


def ratios(curve: curves.Curve, path: np.ndarray) -> np.ndarray:
    """|F_t|/(μ F_n) with its sign along a path [m]."""
    out = np.zeros_like(path)
    shear_path(*curve, path, out)
    return out


def main() -> None:
    """Draw the figure."""
    one = np.linspace(0, 0.01, 500)
    turns = [0, 0.006, 0.002, 0.0045, -0.004, 0.008]
    both = np.concatenate([np.linspace(a, b, 400) for a, b in zip(turns, turns[1:], strict=False)])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, (curve, colour) in CURVES.items():
        left.plot(1e3 * one, ratios(curve, one), color=colour, label=name)
        if name != "table":
            right.plot(1e3 * both, ratios(curve, both), color=colour, label=name)
    left.set_title("one direction")
    right.set_title("to and fro: 6, 2, 4.5, −4, 8 mm")
    for axes in (left, right):
        axes.set_xlabel("displacement X [mm]")
        axes.set_ylabel("F_t / (μ F_n)")
        axes.grid(alpha=0.3)
    left.set_ylim(0, None)
    left.legend(frameon=False, loc="lower right")
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    main()
