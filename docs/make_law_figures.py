"""Draw docs/images/law-*.png: what each law of contact answers, from its own code.

    python docs/make_law_figures.py

The wheel models: Ding's wheel with 80 N in HIT-LSS1 straight on, and a side force in FJS-1, each
with the published numbers of soil and model. Friction: the box of examples/friction_problem.py.
Booms: the rig of tests/verification/test_beam.py at rest. Contact geometry: a wheel over a step.
Gaits: when the feet of wave gaits carry, and their margins.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marsyard.control.stability_margin import longitudinal_margin
from marsyard.control.walking import wave_margin, wave_phases
from marsyard.ground import TriangleMesh, pack
from marsyard.ground.soil import load_soil
from marsyard.interaction.contact_geometry import DISC, wheel_contacts, wheel_distance
from marsyard.interaction.nonsmooth import solve_friction_contact
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel

HERE = Path(__file__).parent
IMAGES = HERE / "images"
VERIFICATION = HERE.parent / "tests" / "verification"
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


def beam_figure() -> None:
    """Shapes of a loaded boom and deflection of its tip by length: the engine and closed forms."""
    sys.path.insert(0, str(VERIFICATION))
    from test_beam import EI, at_rest, coordinate

    force = 2.0  # N
    loads: dict[str, tuple[dict[str, float], tuple[str, ...], float]] = {
        "force at the tip": ({"w1": force}, (), 3.0),
        "force, slope held (S)": ({"w1": force}, ("p1",), 12.0),
    }
    lengths = (0.5, 1.0, 1.5, 2.0)
    fine = np.linspace(0, lengths[-1], 101)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for colour, (name, (load, held, share)) in zip(("C0", "C1"), loads.items(), strict=True):
        found = []
        for length in lengths:
            with tempfile.TemporaryDirectory() as folder:
                sim = at_rest(Path(folder), load, held=held, length=length)
            found.append((coordinate(sim, "w1"), coordinate(sim, "p1")))
        (w, slope), x = found[-1], fine / lengths[-1]
        shape = w * (3 * x**2 - 2 * x**3) + slope * lengths[-1] * (x**3 - x**2)
        left.plot(fine, 1e3 * shape, colour, label=name)
        right.plot(lengths, [1e3 * one[0] for one in found], colour + "o", label=name)
        right.plot(fine, 1e3 * force * fine**3 / (share * EI), colour, lw=1)
    left.set(xlabel="along the boom [m]", ylabel="deflection [mm]",
             title=f"{force:g} N at a boom of 2 m, EI = {EI:g} N·m²")  # fmt: skip
    right.set(xlabel="length [m]", ylabel="deflection of the tip [mm]",
              title="engine (dots) and PL³/3EI, PL³/12EI")  # fmt: skip
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    save(fig, "beam")


def geometry_figure() -> None:
    """A wheel rolls over a step: where it touches, and how far the normal leans."""
    radius, height = 0.129, 0.1
    profile = np.array([[-1, 0], [0, 0], [0, height], [1, height]], float)
    corners = np.array([[x, y, z] for x, z in profile for y in (-1.0, 1.0)])
    faces = [f for k in (0, 2, 4) for f in ((k, k + 2, k + 1), (k + 1, k + 2, k + 3))]
    ground = pack([TriangleMesh(corners, np.array(faces))])
    left_axis = np.array([0.0, 1.0, 0.0])

    def touching(x: float) -> tuple[float, np.ndarray, np.ndarray]:
        def gap(z: float) -> float:
            return wheel_distance(DISC, radius, 0.0, np.array([x, 0, z]), left_axis, ground, 0)

        high = next(z for z in np.arange(0.4, 0.0, -0.005) if gap(z) <= 0) + 0.005
        low = high - 0.005
        while high - low > 1e-10:
            z = 0.5 * (low + high)
            low, high = (low, z) if gap(z) > 0 else (z, high)
        out = (np.zeros((8, 3)), np.zeros((8, 3)), np.zeros(8), np.zeros(8, int), np.zeros(8, int))
        n = wheel_contacts(DISC, radius, 0.0, np.array([x, 0.0, high]), left_axis, ground, 1e-6, 8,
                           *out)  # fmt: skip
        return high, out[0][:n], out[1][:n]

    fig, (side, lean) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    side.fill_between(profile[:, 0], profile[:, 1], -0.05, color="0.85")
    side.plot(profile[:, 0], profile[:, 1], "0.3")
    for k, x in enumerate((-0.3, -0.126, -0.09, -0.04, 0.12)):
        z, points, normals = touching(x)
        side.add_patch(plt.Circle((x, z), radius, fill=False, color=f"C{k}", lw=1.3))
        for point, normal in zip(points, normals, strict=True):
            side.annotate("", xytext=point[[0, 2]], xy=point[[0, 2]] + 0.1 * normal[[0, 2]],
                          arrowprops={"arrowstyle": "->", "color": f"C{k}", "lw": 1.8})  # fmt: skip
    side.set(xlabel="x [m]", ylabel="z [m]", xlim=(-0.45, 0.27), ylim=(-0.03, 0.4), aspect="equal",
             title="points of contact and their normals")  # fmt: skip
    for x in np.linspace(-0.2, 0.1, 121):
        angles = [np.degrees(np.arctan2(-n[0], n[2])) for n in touching(float(x))[2]]
        lean.plot([x] * len(angles), angles, "C0.", ms=4)
    lean.set(xlabel="place of the axle x [m]", ylabel="lean of the normal [°]",
             title="floor, edge, top", xticks=np.arange(-0.2, 0.11, 0.1))  # fmt: skip
    lean.grid(alpha=0.3)
    save(fig, "geometry")


def gait_figure() -> None:
    """When the feet of a wave gait carry, and margins against the closed form."""
    names = ("front left", "front right", "middle left", "middle right", "rear left", "rear right")
    duty, stride, apart = 0.75, 0.12, 0.18
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for leg, phase in enumerate(wave_phases(3, duty).ravel()):
        for start in (phase - 1, phase):
            left.broken_barh([(start, duty)], (leg - 0.35, 0.7), color="C0")
    left.set(xlim=(0, 1), ylim=(5.6, -0.6), xlabel="share of the cycle", yticks=range(6),
             yticklabels=names, title=f"feet that carry, β = {duty:g}")  # fmt: skip
    for pairs, low, colour in ((3, 0.5, "C0"), (2, 0.75, "C1")):
        duties = np.linspace(low, 0.95, 19)
        exact = [wave_margin(pairs, b, stride, apart) for b in duties]
        right.plot(duties, 1e3 * np.array(exact), colour, label=f"{2 * pairs} legs, closed form")
        sampled = [sampled_margin(pairs, b, stride, apart) for b in duties[::3]]
        right.plot(duties[::3], 1e3 * np.array(sampled), colour + "o", label="least over the cycle")
    right.set(xlabel="duty factor β", ylabel="longitudinal margin [mm]",
              title="stride 12 cm, legs 18 cm apart")  # fmt: skip
    right.grid(alpha=0.3)
    right.legend(fontsize=8)
    save(fig, "gaits")


def sampled_margin(pairs: int, duty: float, stride: float, apart: float) -> float:
    """The least longitudinal margin over a cycle, from places of the feet that carry [m]."""
    phases = wave_phases(pairs, duty)
    least = np.inf
    for time in (np.arange(4000) + 0.5) / 4000:  # never just when a foot is placed
        since = np.mod(time - phases, 1.0)  # since a foot was placed, as share of the cycle
        middle = apart * ((pairs - 1) / 2 - np.arange(pairs))[:, None]
        x = middle + stride * (duty / 2 - since)
        y = np.broadcast_to([0.2, -0.2], x.shape)
        feet = np.stack([x, y, np.zeros_like(x)], axis=-1)[since < duty]
        least = min(least, longitudinal_margin(feet, np.zeros(3)))
    return least


def save(fig: Any, name: str) -> None:
    fig.savefig(IMAGES / f"law-{name.replace('_', '-')}.png", dpi=90)
    plt.close(fig)


def main() -> None:
    for name in OWN:
        wheel_figure(name)
    friction_figure()
    beam_figure()
    geometry_figure()
    gait_figure()


if __name__ == "__main__":
    main()
