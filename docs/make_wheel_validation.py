"""Write the tables of docs/validation-wheels.md and docs/images/wheel-validation-*.png.

python docs/make_wheel_validation.py    needs the measured data beside the checkout; minutes

Every set of wheel tests with every wheel model: with the published numbers of the soil and two exit
rules of the literature, and fitted with the parameters `marsyard identify` searches for by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marsyard.analysis import Fit, WheelData, identify, read_wheel_data
from marsyard.analysis.fit import rms
from marsyard.analysis.wheel_data import QUANTITIES
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel

ROOT = Path(__file__).parents[1]
FOLDER = ROOT.parent / "shared" / "reference" / "wheel-tests"
PAGE = Path(__file__).parent / "validation-wheels.md"
IMAGES = Path(__file__).parent / "images"
COLOURS = {
    "wong_reece": "#1f77b4", "ishigami": "#d95f02", "ding": "#1b9e77", "magic_formula": "#7570b3",
    "rigid_slip": "#999999",
}  # fmt: skip


@dataclass(frozen=True)
class Set:
    """A set of wheel tests: its file and rows, its soil, and the slip angles to draw [deg]."""

    title: str
    short: str
    file: str
    soil: str
    where: tuple[str, ...] = ()
    wheel: dict[str, float] = field(default_factory=dict)
    load: float | None = None
    angles: tuple[float, ...] = (0.0,)
    exits: tuple[Exit, ...] = (Exit("height", 0.2), Exit("angle", 0.0))

    def read(self) -> WheelData:
        return read_wheel_data(
            FOLDER / self.file, wheel=self.wheel, load=self.load, where=self.where
        )


SMALL = {"radius": 0.058, "width": 0.05}
DING, PAVLOV = "ding2011_single_wheel.csv", "pavlov_smooth_means.csv"
SETS = (
    Set("Ding 2011, smooth wheel", "ding-smooth", DING, "hit_lss1", ("grouser_height_m=0",)),
    Set(
        "Ding 2011, lugs of 10 mm", "ding-lugs", DING, "hit_lss1", ("grouser_height_m=0.01",),
        exits=(Exit("height", 1.1), Exit("angle", 0.0)),
    ),
    Set(
        "Ishigami 2005, smooth wheel", "ishigami", "ishigami2005_smooth.csv", "fjs_1", load=64.7,
        angles=(4.0, 8.0, 12.0, 16.0),
    ),
    Set("Pavlov, straight on", "pavlov-straight", PAVLOV, "dry_sand", ("beta_deg=0",), SMALL),
    Set(
        "Pavlov, slip above −0.3, slip angle up to 45°", "pavlov-part", PAVLOV, "dry_sand",
        ("slip>-0.3", "beta_deg<=45"), SMALL, angles=(0.0, 15.0, 30.0, 45.0),
    ),
    Set(
        "Pavlov, all rows", "pavlov-all", PAVLOV, "dry_sand", (), SMALL,
        angles=(0.0, 30.0, 75.0),
    ),
)  # fmt: skip


def cell(values: dict[str, float], name: str) -> str:
    return f"{values[name] * QUANTITIES[name][1]:.2f}" if name in values else "–"


def found_text(fit: Fit) -> str:
    words = []
    for f in fit.found:
        k = f.parameter.factor
        error = "" if f.at_bound else f" ± {f.error * k:.2g}" if f.error else " ± ?"
        text = f"{f.name} {f.value * k:.4g}{error} {f.parameter.unit}".strip()
        words.append(text + (" (at its bound)" if f.at_bound else ""))
    return "; ".join(words)


def unfitted(one: Set, data: WheelData, model: str) -> dict[str, dict[str, float]]:
    """Errors with the published numbers of the soil, by exit rule."""
    out = {}
    if "strength" in MODELS[model][2]:
        for rule in one.exits:
            fit = identify(data, model, soil=one.soil, free=["phi"], exit=rule, starts=1)
            out[f"exit {rule.rule}:{rule.value:g}"] = dict(fit.before)
    return out


def table(one: Set, data: WheelData, fits: dict[str, Fit]) -> str:
    names = [q for q in data.quantities if q in next(iter(fits.values())).stated]
    heads = " | ".join(f"{QUANTITIES[q][3]} [{QUANTITIES[q][2]}]" for q in names)
    lines = [f"| model | numbers | {heads} | warnings |", "| --- |" + " --- |" * (len(names) + 2)]
    for model, fit in fits.items():
        for said, before in unfitted(one, data, model).items():
            cells = " | ".join(cell(before, q) for q in names)
            lines.append(f"| `{model}` | published, {said} | {cells} | |")
        cells = " | ".join(f"**{cell(dict(fit.after), q)}**" for q in names)
        lines.append(f"| `{model}` | fitted | {cells} | {len(fit.warnings) or ''} |")
    lines += ["", "What was found (95 %):", ""]
    for model, fit in fits.items():
        lines.append(f"- `{model}`: {found_text(fit)}.")
        lines += [f"  - {w}" for w in fit.warnings]
    return "\n".join(lines)


def draw(one: Set, data: WheelData, fits: dict[str, Fit]) -> None:
    names = [q for q in data.quantities if q in next(iter(fits.values())).stated]
    degrees = np.degrees(np.abs(data.slip_angle))
    wide = len(one.angles) == 1
    shape = (1, len(names)) if wide else (len(names), len(one.angles))
    fig, axes = plt.subplots(
        *shape, figsize=(3.3 * shape[1], 3.3 * shape[0]), layout="constrained", squeeze=False,
        sharex=not wide, sharey=False if wide else "row",
    )  # fmt: skip
    for i, name in enumerate(names):
        factor = QUANTITIES[name][1]
        for j, angle in enumerate(one.angles):
            ax = axes[0, i] if wide else axes[i, j]
            # a sinkage measured at another slip angle is shown in the first column
            rows = (np.abs(degrees - angle) < 0.5) & np.isfinite(data.measured[name])
            if not rows.any() and name == "sinkage" and j == 0:
                rows = np.isfinite(data.measured[name])
            if not rows.any():
                ax.set_axis_off()
                continue
            order = np.argsort(data.slip[rows])
            slip = data.slip[rows][order]
            ax.plot(slip, factor * data.measured[name][rows][order], "k.", ms=6)
            for model, fit in fits.items():
                y = fit.computed[name][rows][order]
                ax.plot(slip, factor * y, color=COLOURS[model], lw=1.4, label=model)
                if "strength" in MODELS[model][2]:
                    y = fit.computed_start[name][rows][order]
                    ax.plot(slip, factor * y, ":", color=COLOURS[model], lw=1)
            ax.set(xlabel="slip" if wide or i == len(names) - 1 else "")
            if wide or j == 0:
                ax.set_ylabel(f"{QUANTITIES[name][3]} [{QUANTITIES[name][2]}]")
            if i == 0 and not wide:
                ax.set_title(f"slip angle {angle:g}°", fontsize=9)
            ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7, title="solid fitted, dotted unfitted", title_fontsize=7)
    fig.suptitle(one.title)
    fig.savefig(IMAGES / f"wheel-validation-{one.short}.png", dpi=80)
    plt.close(fig)


def transfer(smooth: dict[str, Fit], lugs: WheelData) -> str:
    """The soil found with the smooth wheel, tried on the wheel with lugs."""
    lines = [
        "| model | drawbar pull [N] | torque [N·m] | sinkage [mm] |",
        "| --- | --- | --- | --- |",
    ]
    for model, fit in smooth.items():
        size = lugs.wheels()[0][0]
        for label, rule in (
            ("exit as found with the smooth wheel", fit.models[0].wheel.exit),
            ("exit height:1.1", Exit("height", 1.1)),
        ):
            if "strength" not in MODELS[model][2]:
                continue
            body = Wheel(size[0], size[1], rule, size[2], surface=None)
            made = WheelModel(model, body, fit.soil, slip_sinkage="exponent", carried=False)
            f = made.under_load(lugs.load, lugs.slip)
            got = {"pull": f.drawbar_pull, "torque": f.torque, "sinkage": f.sinkage}
            off = rms(lugs, got)
            cells = " | ".join(cell(off, q) for q in ("pull", "torque", "sinkage"))
            lines.append(f"| `{model}`, {label} | {cells} |")
    return "\n".join(lines)


def put(text: str, mark: str, body: str) -> str:
    """The page with what stands between the comments `mark` and `end` replaced."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for '{mark}' in {PAGE}")
    return pattern.sub(lambda m: f"{m.group(1)}\n{body}\n\n{m.group(2)}", text)


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    kept: dict[str, dict[str, Fit]] = {}
    for one in SETS:
        data, fits = one.read(), {}
        for model in MODELS:
            print(one.title, model, flush=True)
            fits[model] = identify(data, model, soil=one.soil, starts=6)
        page = put(page, one.short, table(one, data, fits))
        draw(one, data, fits)
        kept[one.short] = fits
    page = put(page, "transfer", transfer(kept["ding-smooth"], kept["ding-lugs"]["ding"].data))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
