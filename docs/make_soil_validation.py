"""Draw docs/images/soil-validation-*.png: measured wheels and the soil contact model.

python docs/make_soil_validation.py    needs the measured data beside the checkout; prints the rows
                                       of docs/validation.md, too
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
IMAGES = Path(__file__).parent / "images"
sys.path.insert(0, str(ROOT / "tests" / "validation"))

import wheel_tests as wt  # noqa: E402

BLUE, ORANGE, GREEN, GREY = "#1f77b4", "#d95f02", "#1b9e77", "#888888"


def curve(bench: wt.Bench, slips: np.ndarray, name: str, angle: float = 0.0) -> np.ndarray:
    return np.array([wt.steady(bench, float(s), angle)[name] for s in slips])


def ding() -> None:
    slips = np.linspace(0, 0.65, 14)
    cases = (
        ("lugs of 10 mm", wt.DING_LUGS, "lug10", BLUE, "o", "-"),
        ("smooth", wt.DING_SMOOTH, "smooth", ORANGE, "s", "-"),
        (
            "smooth, layer of 1 cm dragged along",
            wt.DING_SMOOTH.dragging(0.01),
            None,
            ORANGE,
            "",
            "--",
        ),
    )
    names = (
        ("pull", "drawbar pull [N]", 1),
        ("torque", "torque [N·m]", 1),
        ("sinkage", "sinkage [mm]", 1e3),
    )
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    for ax, (name, label, scale) in zip(axes, names, strict=True):
        for text, bench, kind, colour, mark, line in cases:
            ax.plot(slips, scale * curve(bench, slips, name), line, color=colour, label=text)
            if kind:
                rows = wt.ding(kind)
                ax.plot(
                    [r["slip"] for r in rows], [scale * r[name] for r in rows], mark, color=colour
                )
        ax.set(xlabel="slip", ylabel=label)
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize=8, title="markers: measured, lines: computed", title_fontsize=8)
    fig.suptitle("Ding et al. 2011: wheel of 157 mm radius, 165 mm wide, 80 N, soil HIT-LSS1")
    save(fig, "soil-validation-ding")
    for text, bench, kind, *_ in cases:
        for row in wt.ding(kind or "smooth"):
            got = wt.steady(bench, row["slip"])
            cells = " | ".join(
                f"{scale * row[n]:.1f} → {scale * got[n]:.1f}" for n, _, scale in names
            )
            print(f"| {text} | {row['slip']:g} | {cells} |")


def ishigami() -> None:
    slips = np.array([0.03, 0.08, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True)
    colours = dict(
        zip((4, 8, 12, 16), plt.colormaps["viridis"]([0.0, 0.3, 0.6, 0.85]), strict=True)
    )
    parts = (("Fx_N", "pull", "force along the heading [N]"), ("Fy_N", "side", "side force [N]"))
    for ax, (quantity, name, label) in zip(axes, parts, strict=True):
        off = []
        for angle, colour in colours.items():
            points = wt.ishigami(quantity, angle)
            values = curve(wt.ISHIGAMI, slips, name, angle)
            ax.plot(*points.T, ".", color=colour, ms=6)
            ax.plot(slips, values, color=colour, label=f"{angle}°")
            off.append(
                np.column_stack(
                    [points[:, 0], np.interp(points[:, 0], slips, values) - points[:, 1]]
                )
            )
        ax.set(xlabel="slip", ylabel=label)
        ax.grid(alpha=0.3)
        rest = np.concatenate(off)
        for low, high in ((0, 0.35), (0.35, 1)):
            d = rest[(rest[:, 0] >= low) & (rest[:, 0] < high), 1]
            rms = np.sqrt(np.mean(d**2))
            print(f"{name}, slip {low} to {high}: mean {d.mean():+.1f} N, RMS {rms:.1f} N")
    axes[0].legend(title="slip angle", fontsize=8, title_fontsize=8)
    fig.suptitle(
        "Ishigami et al. 2005: smooth wheel, radius 90 mm, width 100 mm, 64.7 N (dots: measured)"
    )
    save(fig, "soil-validation-ishigami")


def pavlov() -> None:
    slips = np.array([-1, -0.7, -0.5, -0.35, -0.2, -0.1, 0, 0.1, 0.23, 0.35, 0.5, 0.65, 0.75, 0.9])
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    parts = (
        ("pull", "drawbar pull [N]", 1),
        ("side", "side force [N]", 1),
        ("sinkage", "sinkage [mm]", 1e3),
    )
    for ax, (name, label, scale) in zip(axes, parts, strict=True):
        for angle, colour in ((0, BLUE), (15, ORANGE), (30, GREEN)):
            rows = wt.pavlov(angle)
            ax.plot(
                [r["slip"] for r in rows], [scale * r[name] for r in rows], "o", color=colour, ms=4
            )
            ax.plot(
                slips, scale * curve(wt.PAVLOV, slips, name, angle), color=colour, label=f"{angle}°"
            )
        ax.set(xlabel="slip", ylabel=label)
        ax.grid(alpha=0.3)
    axes[0].legend(title="slip angle", fontsize=8, title_fontsize=8)
    fig.suptitle(
        "Pavlov: smooth wheel, radius 58 mm, width 50 mm, 24 N (lines: for another, dry sand)"
    )
    save(fig, "soil-validation-pavlov")
    for angle in (0, 15):
        for row in wt.pavlov(angle):
            got = wt.steady(wt.PAVLOV, row["slip"], angle)
            cells = " | ".join(f"{s * row[n]:.1f} → {s * got[n]:.1f}" for n, _, s in parts)
            print(f"| {angle} | {row['slip']:.2f} | {cells} |")


def save(fig, name: str) -> None:
    fig.savefig(IMAGES / f"{name}.png", dpi=110)
    plt.close(fig)


def main() -> None:
    if not wt.there():
        raise SystemExit(f"the measured data are not there: {wt.FOLDER.name}")
    ding()
    ishigami()
    pavlov()


if __name__ == "__main__":
    main()
