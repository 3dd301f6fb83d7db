"""Draw docs/images/slope-laws.png: one rover on one sand, up steeper and steeper slopes, by law.

python docs/make_slope_laws.py
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import marsyard

IMAGE = Path(__file__).parent / "images" / "slope-laws.png"
LAWS = {"scm": None, "wong_reece": "wong_reece", "ishigami": "ishigami", "ding": "ding"}
SLOPES = (0, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 22.5, 25)


def mean_slip(law: str | None, slope: float) -> float:
    """Slip of the ExoMars-like rover on sand, in the last ten seconds of thirty."""
    angle = math.radians(slope)
    settings = {
        "ground.0.terrain.layers.0.slope": angle, "robot.attitude.1": -angle, "run.duration": 30,
    }  # fmt: skip
    if law:
        settings["interaction.wheel"] = {"model": law}
    data = marsyard.run("exomars/gradability", settings=settings, study=False).data
    return float(data.sel(time=slice(20, None)).slip_ratio.clip(-1, 1).mean())


def main() -> None:
    """Run and draw."""
    warnings.simplefilter("ignore")
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, law in LAWS.items():
        slip = [mean_slip(law, slope) for slope in SLOPES]
        axes.plot(SLOPES, slip, marker="o", markersize=4, label=name)
        print(f"{name:11}", *np.round(slip, 2))
    axes.set(
        xlabel="slope [°]", ylabel="slip ratio", ylim=(-0.05, 1.05),
        title="exomars on mars_sand_zhou2023, 4 cm/s, Mars gravity",
    )  # fmt: skip
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    main()
