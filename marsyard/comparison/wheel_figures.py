"""Figures of compared wheel models: a curve per model and the measured points.

Rows are quantities, columns are what belongs to one curve: a wheel, a load, a slip angle. The
panels of a row share their scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.fit_files import load_groups
from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.analysis.wheel_data import WheelData
from marsyard.comparison.run_figures import MARKS
from marsyard.comparison.wheels import ANGLES, FORCES, SLIPS, Candidate, WheelComparison, zero_of
from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page import number
from marsyard.drawing.page_plots import INK, PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.sheet import FONT, FigureFile, plain, save_png
from marsyard.interaction.wheel_models import WheelModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

#: columns on a sheet, sheets, and the spread of slip that still counts as one slip
COLUMNS, SHEETS, SAME_SLIP = 4, 2, 0.06
_DARK = "#222222"


def save_wheel_figures(result: WheelComparison, folder: Path, dpi: int = 130) -> list[FigureFile]:
    """Draw all figures as PNG files."""
    drawn = _with_points(result) if result.data is not None else _curves_only(result)
    return [
        FigureFile(title, caption, save_png(canvas, folder / f"{k:02d}-{name}.png", dpi))
        for k, (name, title, caption, canvas) in enumerate(drawn, 1)
    ]


def look(index: int) -> dict[str, Any]:
    """Colour and dash of a model; each has a dash of its own, for eyes that see few colours."""
    dashes: Any = ("-", (0, (6, 1.8)), (0, (2.2, 1.4)), (0, (7, 1.6, 1.4, 1.6)), (0, (1, 1.1)))
    return {
        "color": OTHERS[index % len(OTHERS)],
        "linestyle": dashes[index % len(dashes)],
        "linewidth": 1.7,
    }


def key_plot(result: WheelComparison) -> PagePlot | None:
    """Curves over slip for a page, at the first slip angle or through the first measured points."""
    panels = []
    data = result.data
    rows = groups(data)[:1] if data is not None else []
    names = ("pull", "torque", "sinkage") if data is None else data.quantities
    for q in names[:3]:
        factor, curves = QUANTITIES[q][1], []
        for k, c in enumerate(result.candidates):
            if data is None:
                assert result.curves is not None
                x, y = SLIPS, result.curves[FORCES[q]].values[k, 0]
            else:
                ((_, wheel, some),) = rows
                x, y = curve_over_slip(data, c.models[wheel], some, q)
                y = y + (_shift(result, c, data) if q == "sinkage" else 0.0)
            curves.append(PageCurve(c.name, x, factor * y, OTHERS[k % len(OTHERS)]))
        if data is not None:
            ((_, _, some),) = rows
            measured = factor * data.measured[q][some]
            curves.append(PageCurve("measured", data.slip[some], measured, INK, points=True))
        panels.append(PagePanel(f"{QUANTITIES[q][3]} [{QUANTITIES[q][2]}]", tuple(curves)))
    made = plot_over("Key plots", "slip", panels)
    if made is None or not rows or not rows[0][0]:
        return made
    return replace(made, caption=f"The first of the measured curves: {rows[0][0]}.")


# --- sheets


def _sheet(rows: Sequence[str], columns: Sequence[str], title: str) -> tuple[Canvas, Any]:
    """Panels in rows and columns; the columns have headings, the rows their quantity."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    wide = {1: 5.4, 2: 3.9, 3: 3.0}.get(len(columns), 2.6)
    # room for the names of the models on the right
    canvas = Canvas(figsize=(0.7 + wide * len(columns) + 1.5, 0.8 + 2.15 * len(rows)),
                    layout="constrained")  # fmt: skip
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey="row")
    for i, quantity in enumerate(rows):
        _, _, unit, name = QUANTITIES[quantity]
        for j, head in enumerate(columns):
            ax = axes[i][j]
            plain(ax)
            ax.yaxis.set_label_coords(-0.5 / wide, 0.5)
            ax.axhline(0, color="#8a8a8a", linewidth=0.9, zorder=1)
            if i == 0 and head:
                ax.set_title(head, fontsize=FONT, color="#333333")
            if j == 0:
                ax.set_ylabel(f"{name} [{unit}]", fontsize=FONT)
    canvas.suptitle(title, fontsize=FONT + 2, fontweight="bold", x=0.01, ha="left")
    return canvas, axes


def _legend(canvas: Canvas, candidates: Sequence[Candidate], measured: bool) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = [Line2D([], [], label=c.name, **look(k)) for k, c in enumerate(candidates)]
    if measured:
        handles.append(
            Line2D([], [], label="measured", linestyle="none", marker="o", markersize=5,
                   markerfacecolor="white", markeredgecolor=_DARK)
        )  # fmt: skip
    canvas.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=FONT - 1,
                  handlelength=2.6)  # fmt: skip


def _points(ax: Any, data: WheelData, quantity: str, rows: np.ndarray, x: np.ndarray) -> None:
    factor = QUANTITIES[quantity][1]
    y = factor * data.measured[quantity][rows]
    spread = data.spread.get(quantity)
    error = None if spread is None else factor * np.nan_to_num(spread[rows])
    ax.errorbar(
        x, y, yerr=error, linestyle="none", marker="o", markersize=4.4, markerfacecolor="white",
        markeredgecolor=_DARK, markeredgewidth=1.0, ecolor=_DARK, elinewidth=0.8, zorder=5,
    )  # fmt: skip


# --- with measured points


def _with_points(result: WheelComparison) -> list[tuple[str, str, str, Canvas]]:
    data = result.data
    assert data is not None
    out = []
    found = groups(data)
    chosen = found
    most = COLUMNS * SHEETS
    if len(found) > most:
        at = np.unique(np.round(np.linspace(0, len(found) - 1, most)).astype(int))
        chosen = [found[k] for k in at]
    note = "Circles: measured. Lines: each model at the loads of the points."
    if len(chosen) < len(found):
        note += (
            f" {len(chosen)} of {len(found)} groups of points are drawn; compare.csv contains all "
            f"of them."
        )
    for first in range(0, len(chosen), COLUMNS):
        part = chosen[first : first + COLUMNS]
        title = f"{data.name}: against slip" + (", continued" if first else "")
        out.append(("slip", title, note, _over_slip(result, data, part, title)))
    angles = _angle_groups(data)
    if angles:
        title = f"{data.name}: against the slip angle"
        note = "Circles: measured. Lines: each model at the mean slip and load of the points."
        out.append(("slip-angle", title, note, _over_angle(result, data, angles, title)))
    title = f"{data.name}: computed against measured"
    caption = (
        "Each mark is a row of the file with one model; on the line, computed and measured "
        "values agree."
    )
    out.append(("one-to-one", title, caption, _one_to_one(result, data, title)))
    return out


def groups(data: WheelData) -> list[tuple[str, int, np.ndarray]]:
    """Points that belong to one curve over slip: label, number of the wheel, rows.

    One of a wheel, a load and a slip angle (to the degree).
    """
    out = []
    wheels, heavy = data.wheels(), load_groups(data.load)
    degrees = np.round(np.degrees(np.abs(data.slip_angle))).astype(int)
    for i, (size, rows) in enumerate(wheels):
        for angle in np.unique(degrees[rows]):
            for load in np.unique(heavy[rows & (degrees == angle)]):
                some = rows & (degrees == angle) & (heavy == load)
                words = []
                if len(wheels) > 1:
                    words.append(f"r {size[0] * 1e3:g} mm, lugs {size[2] * 1e3:g} mm")
                if degrees.any():
                    words.append(f"{angle}°")
                if heavy.any():
                    words.append(f"{float(np.mean(data.load[some])):.3g} N")
                out.append((", ".join(words), i, some))
    return out


def curve_over_slip(
    data: WheelData, model: WheelModel, rows: np.ndarray, quantity: str
) -> tuple[np.ndarray, np.ndarray]:
    """A quantity over slip for a group of points, its load between those of the points."""
    order = np.argsort(data.slip[rows])
    slips, loads = data.slip[rows][order], data.load[rows][order]
    x = np.linspace(slips[0], slips[-1], 60) if len(slips) > 1 else slips
    forces = model.under_load(np.interp(x, slips, loads), x, float(np.mean(data.slip_angle[rows])))
    return x, np.asarray(getattr(forces, FORCES[quantity]))


def _over_slip(result: WheelComparison, data: WheelData, part: Sequence[Any], title: str) -> Canvas:
    heads = [_head(label, data) for label, _, _ in part]
    canvas, axes = _sheet(data.quantities, heads, title)
    for j, (_, wheel, rows) in enumerate(part):
        for i, quantity in enumerate(data.quantities):
            factor, ax = QUANTITIES[quantity][1], axes[i][j]
            if not np.isfinite(data.measured[quantity][rows]).any():
                continue
            for k, c in enumerate(result.candidates):
                x, y = curve_over_slip(data, c.models[wheel], rows, quantity)
                shift = _shift(result, c, data) if quantity == "sinkage" else 0.0
                ax.plot(x, factor * (y + shift), zorder=3, **look(k))
            _points(ax, data, quantity, rows, data.slip[rows])
    _fit_rows(axes, result, data)
    for ax in axes[-1]:
        ax.set_xlabel("slip", fontsize=FONT)
    _legend(canvas, result.candidates, True)
    return canvas


def _shift(result: WheelComparison, c: Candidate, data: WheelData) -> float:
    """What is added to a computed sinkage [m]."""
    return zero_of(c, data, np.asarray(result.computed[c.name]["sinkage"])) if c.fitted else (
        c.offset if not data.relative_sinkage else _found_zero(c, data)
    )  # fmt: skip


def _found_zero(c: Candidate, data: WheelData) -> float:
    plain_values = np.full(len(data), np.nan)
    for model, (_, rows) in zip(c.models, data.wheels(), strict=True):
        plain_values[rows] = model.under_load(
            data.load[rows], data.slip[rows], data.slip_angle[rows]
        ).sinkage
    return zero_of(c, data, plain_values)


def _fit_rows(axes: Any, result: WheelComparison, data: WheelData) -> None:
    """A row shows all points; a model far off may leave it."""
    for i, quantity in enumerate(data.quantities):
        factor = QUANTITIES[quantity][1]
        values = factor * data.measured[quantity]
        near = [values[np.isfinite(values)]]
        low, high = near[0].min(), near[0].max()
        span = (high - low) or abs(high) or 1.0
        for c in result.candidates:
            y = factor * np.asarray(result.computed[c.name][quantity])
            y = y[np.isfinite(y)]
            near.append(np.clip(y, low - 1.2 * span, high + 1.2 * span))
        together = np.concatenate(near)
        room = 0.07 * (np.ptp(together) or 1.0)
        axes[i][0].set_ylim(together.min() - room, together.max() + room)


def _head(label: str, data: WheelData) -> str:
    """A column's heading; slip angles are said to be such."""
    parts = [f"slip angle {p}" if p.endswith("°") else p for p in label.split(", ") if p]
    if not any(p.endswith("N") for p in parts) and np.ptp(data.load) < 1:
        parts.append(f"{float(np.mean(data.load)):.3g} N")
    text = ", ".join(parts).replace("lugs 0 mm", "smooth")
    return text if len(text) < 34 else text.replace(", ", "\n", 1)


def _angle_groups(data: WheelData) -> list[tuple[str, int, np.ndarray]]:
    """Points of one wheel at nearly one slip and at least three slip angles, the largest first."""
    found = []
    slips = np.round(data.slip, 1)
    for i, (_, rows) in enumerate(data.wheels()):
        for slip in np.unique(slips[rows]):
            some = rows & (slips == slip)
            angles = np.unique(np.round(np.degrees(data.slip_angle[some])))
            if len(angles) >= 3 and np.ptp(data.slip[some]) <= SAME_SLIP:
                found.append((f"slip {number(float(np.mean(data.slip[some])), 2)}", i, some))
    found = sorted(found, key=lambda g: -int(g[2].sum()))[:COLUMNS]
    return sorted(found, key=lambda g: float(np.mean(data.slip[g[2]])))


def _over_angle(
    result: WheelComparison, data: WheelData, part: Sequence[Any], title: str
) -> Canvas:
    rows_shown = [q for q in ("side", "pull", "torque", "sinkage") if q in data.quantities]
    canvas, axes = _sheet(rows_shown, [head for head, _, _ in part], title)
    for j, (_, wheel, rows) in enumerate(part):
        angle = data.slip_angle[rows]
        x = np.linspace(min(0.0, angle.min()), max(0.0, angle.max()), 61)
        load, slip = float(np.mean(data.load[rows])), float(np.mean(data.slip[rows]))
        for i, quantity in enumerate(rows_shown):
            factor = QUANTITIES[quantity][1]
            if not np.isfinite(data.measured[quantity][rows]).any():
                continue
            for k, c in enumerate(result.candidates):
                forces = c.models[wheel].under_load(load, slip, x)
                y = np.asarray(getattr(forces, FORCES[quantity]))
                y = y + (_shift(result, c, data) if quantity == "sinkage" else 0.0)
                axes[i][j].plot(np.degrees(x), factor * y, zorder=3, **look(k))
            _points(axes[i][j], data, quantity, rows, np.degrees(angle))
    for ax in axes[-1]:
        ax.set_xlabel("slip angle [°]", fontsize=FONT)
    _legend(canvas, result.candidates, True)
    return canvas


def _one_to_one(result: WheelComparison, data: WheelData, title: str) -> Canvas:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    names = data.quantities
    canvas = Canvas(figsize=(3.1 * len(names) + 1.6, 3.5), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(1, len(names), squeeze=False)[0]
    for ax, quantity in zip(axes, names, strict=True):
        plain(ax)
        ax.yaxis.set_label_coords(-0.17, 0.5)
        _, factor, unit, name = QUANTITIES[quantity]
        measured = factor * data.measured[quantity]
        known = measured[np.isfinite(measured)]
        low, high = known.min(), known.max()
        room = 0.08 * ((high - low) or 1.0)
        ends = (low - room, high + room)
        ax.plot(ends, ends, color="#8a8a8a", linewidth=1.0, zorder=2)
        for k, c in enumerate(result.candidates):
            ax.plot(
                measured, factor * np.asarray(result.computed[c.name][quantity]),
                linestyle="none", marker=MARKS[k % len(MARKS)], markersize=4.2, alpha=0.8,
                color=OTHERS[k % len(OTHERS)], markeredgecolor="white", markeredgewidth=0.4,
                zorder=3,
            )  # fmt: skip
        ax.set_xlim(*ends)
        ax.set_title(f"{name} [{unit}]", fontsize=FONT)
        ax.set_xlabel("measured", fontsize=FONT)
    axes[0].set_ylabel("computed", fontsize=FONT)
    handles: list[Any] = [
        Line2D([], [], label=c.name, linestyle="none", marker=MARKS[k % len(MARKS)], markersize=5,
               color=OTHERS[k % len(OTHERS)])
        for k, c in enumerate(result.candidates)
    ]  # fmt: skip
    canvas.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=FONT - 1)
    canvas.suptitle(title, fontsize=FONT + 2, fontweight="bold", x=0.01, ha="left")
    return canvas


# --- curves alone


def _curves_only(result: WheelComparison) -> list[tuple[str, str, str, Canvas]]:
    ds = result.curves
    assert ds is not None
    angles, slips = ds["at_angle"].values[:COLUMNS], ds["at_slip"].values[:COLUMNS]
    straight = not np.any(angles)
    rows = ["pull", "torque", "sinkage"] if straight else ["pull", "side", "torque", "sinkage"]
    title = "Drawbar pull, torque and sinkage against slip"
    heads = ["" if straight and len(angles) == 1 else f"slip angle {math.degrees(a):.4g}°"
             for a in angles]  # fmt: skip
    canvas, axes = _sheet(rows, heads, title)
    for j in range(len(angles)):
        for i, q in enumerate(rows):
            for k in range(len(result.candidates)):
                y = ds[FORCES[q]].values[k, j]
                axes[i][j].plot(SLIPS, QUANTITIES[q][1] * y, zorder=3, **look(k))
    for ax in axes[-1]:
        ax.set_xlabel("slip", fontsize=FONT)
    _legend(canvas, result.candidates, False)
    note = f"{result.title[:1].upper()}{result.title[1:]}. Gaps: the wheel sinks to its axle."
    out = [("slip", title, note, canvas)]
    rows = ["side", "pull", "torque", "sinkage"]
    title = "Side force and pull against the slip angle"
    canvas, axes = _sheet(rows, [f"slip {number(s)}" for s in slips], title)
    for j in range(len(slips)):
        for i, q in enumerate(rows):
            for k in range(len(result.candidates)):
                y = ds[f"{FORCES[q]}_over_angle"].values[k, j]
                axes[i][j].plot(np.degrees(ANGLES), QUANTITIES[q][1] * y, zorder=3, **look(k))
    for ax in axes[-1]:
        ax.set_xlabel("slip angle [°]", fontsize=FONT)
    _legend(canvas, result.candidates, False)
    note = (
        "Slip angles are positive when the wheel moves to its left; forces are positive to the "
        "left."
    )
    out.append(("slip-angle", title, note, canvas))
    return out
