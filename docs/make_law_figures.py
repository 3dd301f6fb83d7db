"""Draw docs/images/law-*.png: what each law of contact answers, from its own code.

    python docs/make_law_figures.py

The wheel models: Ding's wheel with 80 N in HIT-LSS1 straight on, and a side force in FJS-1, each
with the published numbers of soil and model. Friction: the box of examples/friction_problem.py.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marsyard.ground.soil import load_soil
from marsyard.interaction.nonsmooth import solve_friction_contact
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel

HERE = Path(__file__).parent
IMAGES = HERE / "images"
LOAD, SIDE_LOAD = 80.0, 64.7  # N
RADIUS, WIDTH = 0.157, 0.165  # m, Ding 2011
PEAK = {"peak_0": 0.40, "peak_1": 0.15}
#: coefficients of each model; those of the magic formula are the fit of docs/validation-wheels.md
OWN: dict[str, dict[str, float]] = {
    "wong_reece": {"peak_0": 0.18, "peak_1": 0.32},
    "ishigami": PEAK | {"slope_x": 0.043, "slope_y": 0.020},
    "ding": {"mean_load": LOAD},
    "magic_formula": {
        "nominal_load": LOAD, "peak_x": 0.2782, "stiff_x": 2.686, "offset_x": -0.0811,
        "torque_0": 0.0857, "torque_1": 0.286, "peak_y": 0.495, "stiff_y": 1.775,
        "combine_x": 7.72, "combine_y": 2.589,
    },
    "rigid_slip": {"friction": 0.4, "slip_stiffness": 4.0, "rolling": 0.05},
}  # fmt: skip


def wheel_figure(name: str) -> None:
    """Pull and torque against slip, sinkage against slip, side force against slip angle."""
    slip = np.linspace(-0.3, 0.8, 111)
    angle = np.radians(np.linspace(0, 30, 61))
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    by_exit = name not in ("magic_formula", "rigid_slip")
    for height, line in ((0.2, "-"), (1.1, "--"))[: 2 if by_exit else 1]:
        wheel = Wheel(RADIUS, WIDTH, Exit("height", height))
        found = WheelModel(name, wheel, load_soil("hit_lss1"), OWN[name]).under_load(LOAD, slip)
        label = f"soil rises to {height:g} z behind" if by_exit else None
        left.plot(slip, found.drawbar_pull, "C0" + line, label=label)
        middle.plot(slip, 1e3 * found.sinkage, "C1" + line)
        small = Wheel(0.09, 0.10, Exit("height", height))
        model = WheelModel(name, small, load_soil("fjs_1"), OWN[name])
        for s, colour in ((0.1, "C2"), (0.4, "C3")):
            force = np.abs(model.under_load(SIDE_LOAD, s, angle).side_force)
            text = f"slip {s:g}" if line == "-" else None
            right.plot(np.degrees(angle), force, colour + line, label=text)
    left.set(xlabel="slip", ylabel="drawbar pull [N]", title=f"radius 157 mm, {LOAD:g} N")
    middle.set(xlabel="slip", ylabel="sinkage [mm]", title="the same")
    right.set(xlabel="slip angle [°]", ylabel="side force [N]", title="radius 90 mm, 64.7 N")
    middle.set_ylim(bottom=0)
    for ax in (left, middle, right):
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize=7)
    save(fig, name)


def friction_figure() -> None:
    """Friction and speed of a pushed box: it sticks, then slides."""
    example = runpy.run_path(str(HERE.parent / "examples" / "friction_problem.py"))
    step, mu = example["STEP"], example["MU"]
    limit = mu * example["MASS"] * example["GRAVITY"]
    pushes = np.linspace(0, 2 * limit, 81)
    found = [solve_friction_contact(*example["box_problem"](push), mu) for push in pushes]
    friction = [-f.impulse.reshape(4, 3)[:, 1].sum() / step for f in found]
    speed = [f.velocity[1] for f in found]
    fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    left.plot(pushes, friction)
    left.set(xlabel="push [N]", ylabel="friction of the four corners [N]")
    right.plot(pushes, speed, "C1")
    right.set(xlabel="push [N]", ylabel="speed after one step of 10 ms [m/s]")
    for ax in (left, right):
        ax.axvline(limit, color="0.6", ls="--")
        ax.grid(alpha=0.3)
    save(fig, "friction")


def save(fig: Any, name: str) -> None:
    fig.savefig(IMAGES / f"law-{name.replace('_', '-')}.png", dpi=90)
    plt.close(fig)


def main() -> None:
    for name in OWN:
        wheel_figure(name)
    friction_figure()


if __name__ == "__main__":
    main()
