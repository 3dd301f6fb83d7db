"""Pictures of a mobility evaluation: pull against slip, resistances by cause, limits, chassis."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.mobility import CAUSES, RoverMobility, as_data
from marsyard.drawing.colours import OTHERS, WHEELS
from marsyard.drawing.sheet import FONT, FigureFile, legend, save_png, sheet
from marsyard.files.replacing import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

DPI = 130
COLOURS = {
    "compaction": "#8c5a2b",
    "bulldozing": "#d9a441",
    "rolling": "#7f8c99",
    "slope": "#2b5fc0",
}
_SHOWN = 0.6  # of a row of bars


def save_mobility(
    found: Sequence[RoverMobility], folder: Path, seconds: float | None = None
) -> list[FigureFile]:
    """Draw everything into `folder` and write report.json beside it."""
    drawn = [
        ("Drawbar pull against slip", "pull", draw_pull(found)),
        ("Resistances by cause", "resistances", draw_resistances(found)),
        ("Largest slope and step", "limits", draw_limits(found)),
    ]
    if len(found) > 1:
        drawn.append(("Comparison of chassis", "comparison", draw_comparison(found)))
    else:
        drawn.append(("Wheel loads", "loads", draw_loads(found[0])))
    files = [
        FigureFile(title, "", save_png(canvas, folder / f"{stem}.png", DPI))
        for title, stem, canvas in drawn
    ]
    data = as_data(found)
    if seconds is not None:
        data["evaluation_seconds"] = seconds
    with replacing(folder / "report.json") as part:
        part.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return files


def draw_pull(found: Sequence[RoverMobility]) -> Canvas:
    """P/W against slip, with a dot at its largest: all soils of one rover, or a panel per soil."""
    title = _title(found, "drawbar pull on level ground")
    if len(found) == 1:
        canvas, axes = sheet(title, [4.2])
        groups = [[(s.soil, found[0], s) for s in found[0].soils]]
    else:
        names = [s.soil for s in found[0].soils]
        canvas, axes = sheet(title, [2.3] * len(names))
        groups = [[(r.rover, r, r.soils[k]) for r in found] for k in range(len(names))]
    for ax, group in zip(axes, groups, strict=True):
        for k, (name, rover, soil) in enumerate(group):
            share = 100 * soil.curve_pull / rover.weight
            ax.plot(100 * soil.curve_slip, share, color=_colour(k), linewidth=1.5,
                    label=_broken(name))  # fmt: skip
            ax.plot(100 * soil.slip_max, 100 * soil.pull_max / rover.weight, "o", color=_colour(k),
                    markersize=4)  # fmt: skip
        ax.axhline(0, color="#8a8a8a", linewidth=0.8)
        ax.axvline(20, color="#8a8a8a", linewidth=0.8, linestyle=":")
        ax.set_ylabel("pull by weight [%]", fontsize=FONT)
        if len(found) > 1:
            ax.set_title(group[0][2].soil, fontsize=FONT, loc="left")
    axes[0].set_xlim(0, 100 * found[0].soils[0].curve_slip[-1])
    axes[-1].set_xlabel("slip [%]", fontsize=FONT)
    legend(axes[0])
    return canvas


def draw_resistances(found: Sequence[RoverMobility]) -> Canvas:
    """Resistances at work, stacked by cause; Bekker's compaction as a tick."""
    slope = math.degrees(found[0].settings.slope)
    rows = [(r, s) for r in found for s in r.soils]
    canvas, (ax,) = sheet(_title(found, f"resistances at {slope:.3g}°"), [_height(len(rows))])
    places = np.arange(len(rows))[::-1]
    left = np.zeros(len(rows))
    for cause in CAUSES:
        share = [100 * _known(getattr(s, cause)) / r.weight for r, s in rows]
        share = [v if s.climbs or cause == "slope" else 0.0
                 for v, (_, s) in zip(share, rows, strict=True)]  # fmt: skip
        ax.barh(places, share, _SHOWN, left=left, color=COLOURS[cause], label=cause)
        left += share
    bekker = [100 * _known(s.bekker_resistance) / r.weight for r, s in rows]
    ax.plot(bekker, places, "|", color="#1d2329", markersize=14, markeredgewidth=1.6,
            label="Bekker's compaction")  # fmt: skip
    for place, (_, soil) in zip(places, rows, strict=True):
        if not soil.climbs:
            ax.text(0.5, place, "  cannot climb", va="center", fontsize=FONT - 1, color="white")
    _names(ax, places, rows, found)
    ax.set_xlabel("force by weight [%]", fontsize=FONT)
    legend(ax)
    return canvas


def draw_limits(found: Sequence[RoverMobility]) -> Canvas:
    """Largest slope by soil, and the largest step in wheel radii."""
    rows = [(r, s) for r in found for s in r.soils]
    canvas, axes = _pair(_title(found, "largest slope and step"), _height(len(rows)))
    places = np.arange(len(rows))[::-1]
    colours = [_colour(k) for r in found for k in range(len(r.soils))]
    slopes = [math.degrees(s.slope_limit) for _, s in rows]
    axes[0].barh(places, slopes, _SHOWN, color=colours)
    for place, value, (_, soil) in zip(places, slopes, rows, strict=True):
        by = "" if soil.slope_limit_by == "traction" else f" {soil.slope_limit_by}"
        axes[0].text(value, place, f" {value:.1f}°{by}", va="center", fontsize=FONT - 1)
    axes[0].set_xlim(0, 1.3 * max([1.0, *slopes]))
    axes[0].set_xlabel("largest slope [°]", fontsize=FONT)
    _names(axes[0], places, rows, found)
    steps = [None if s.step.height is None else 100 * s.step.height for _, s in rows]
    top = max([1.0, *(s for s in steps if s is not None)])
    axes[1].barh(places, [top if s is None else s for s in steps], _SHOWN, color=colours)
    for place, step in zip(places, steps, strict=True):
        text = " a vertical face" if step is None else f" {step:.1f} cm"
        axes[1].text(top if step is None else step, place, text, va="center", fontsize=FONT - 1)
    axes[1].set_xlim(0, 1.45 * top)
    axes[1].set_yticks([])
    axes[1].set_xlabel(f"largest step [cm], friction {found[0].settings.friction:g}", fontsize=FONT)
    return canvas


def draw_loads(rover: RoverMobility) -> Canvas:
    """Loads of the wheels on the level and on the slope."""
    slope = math.degrees(rover.settings.slope)
    canvas, (ax,) = sheet(f"{rover.rover}: wheel loads", [3.0])
    names = list(rover.loads)
    places = np.arange(len(names))
    level = [rover.loads_level[n] for n in names]
    ax.bar(places - 0.2, level, 0.38, color="#c8ccd0", label="level")
    if slope:
        colours = [WHEELS.get(n, OTHERS[0]) for n in names]
        ax.bar(places + 0.2, [rover.loads[n] for n in names], 0.38, color=colours,
               label=f"{slope:.3g}° uphill")  # fmt: skip
    ax.set_xticks(places, names)
    ax.set_ylabel("load [N]", fontsize=FONT)
    legend(ax)
    return canvas


def draw_comparison(found: Sequence[RoverMobility]) -> Canvas:
    """Rovers side by side: best pull, slope, power by weight, mean maximum pressure."""
    panels: list[tuple[str, Any]] = [
        ("pull at 20 % slip\nby weight [%]", lambda r, s: 100 * s.pull_20 / r.weight),
        ("largest pull\nby weight [%]", lambda r, s: 100 * s.pull_max / r.weight),
        ("largest slope [°]", lambda r, s: math.degrees(s.slope_limit)),
        ("mean maximum\npressure [kPa]", lambda r, s: s.mean_maximum_pressure / 1e3),
        ("power by weight\nand speed",
         lambda r, s: s.power / (r.weight * r.settings.speed)),
    ]  # fmt: skip
    canvas, axes = sheet(_title(found, "comparison of chassis"), [1.35] * len(panels))
    soils = [s.soil for s in found[0].soils]
    width = 0.8 / len(soils)
    places = np.arange(len(found))
    for ax, (label, value) in zip(axes, panels, strict=True):
        for k, soil in enumerate(soils):
            heights = [_known(value(r, r.soils[k])) for r in found]
            at = places + (k - (len(soils) - 1) / 2) * width
            ax.bar(at, heights, 0.92 * width, color=_colour(k), label=_broken(soil))
        ax.set_ylabel(label, fontsize=FONT - 1)
    axes[-1].set_xticks(places, [r.rover for r in found])
    legend(axes[0])
    return canvas


def _pair(title: str, height: float) -> tuple[Canvas, list[Axes]]:
    """Two panels side by side on the usual sheet."""
    from marsyard.drawing.sheet import plain

    canvas, (ax,) = sheet(title, [height])
    box = ax.get_position()
    ax.set_position((box.x0 + 0.06, box.y0, 0.42, box.height))
    other = canvas.add_axes((box.x0 + 0.53, box.y0, 0.32, box.height))
    plain(other)
    return canvas, [ax, other]


def _names(ax: Axes, places: np.ndarray, rows: Sequence[Any], found: Sequence[Any]) -> None:
    names = [s.soil if len(found) == 1 else f"{r.rover}\n{s.soil}" for r, s in rows]
    ax.set_yticks(places, names, fontsize=FONT - 2)
    ax.tick_params(axis="y", length=0)


def _title(found: Sequence[RoverMobility], what: str) -> str:
    rover = found[0].rover if len(found) == 1 else f"{len(found)} rovers"
    settings = found[0].settings
    return f"{rover}: {what} ({settings.model}, g = {settings.gravity:g} m/s²)"


def _broken(name: str) -> str:
    """A long name in two lines, for legends."""
    if len(name) <= 14 or "_" not in name:
        return name
    at = min((k for k, c in enumerate(name) if c == "_"), key=lambda k: abs(k - len(name) / 2))
    return f"{name[: at + 1]}\n{name[at + 1 :]}"


def _height(rows: int) -> float:
    return max(1.8, 0.42 * rows)


def _colour(index: int) -> str:
    return OTHERS[index % len(OTHERS)]


def _known(value: float) -> float:
    return value if math.isfinite(value) else 0.0
