"""Figures of kineto-static results: maps of σ, sections of polytopes, friction use, climbs, runs.

Each function gives a canvas; `marsyard.drawing.sheet.save_png` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.balance import Forces
from marsyard.analysis.kinetostatics.path_figures import (
    BLUE,
    GREY,
    LIMIT,
    VIOLET,
    along_figure,
    climb_demand,
)
from marsyard.analysis.kinetostatics.polytope import AXES as WRENCH
from marsyard.analysis.kinetostatics.polytope import Polytope
from marsyard.analysis.kinetostatics.transmission import Ellipsoid
from marsyard.drawing.colours import bar_ends, robust_limits, wheel_colour
from marsyard.drawing.sheet import FONT, LEFT, SPAN, WIDTH, legend, plain, sheet
from marsyard.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = [
    "DPI", "along_figure", "climb_demand", "friction_use", "polytope_section", "projected_ellipse",
    "sigma_map",
]  # fmt: skip

DPI = 130
_LEVELS = 12
_ZERO = 0.02  # of the largest value, up to which a map that has no change of sign counts as zero


# --- maps


def sigma_map(
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    names: tuple[str, str],
    *,
    title: str = "Traction index over the pose",
    value_name: str = "traction index σ",
    mark: Mapping[str, tuple[float, float]] | None = None,
) -> Canvas:
    """Filled contours of values [y, x] over two angles [rad], with the set marked where it is zero.

    Args:
        names: of the angles along x and y. mark: points by name, in rad.
    """
    values = np.asarray(values, dtype=float)
    if values.shape != (len(y), len(x)):
        raise InputError(
            f"values: shape {values.shape} does not fit {len(y)} rows and {len(x)} columns"
        )
    if not np.isfinite(values).any():
        raise InputError("values: none is finite; there is nothing to draw")
    canvas, (ax,) = sheet(title, [4.9])
    across, up = np.degrees(x), np.degrees(y)
    low, high = robust_limits(values)
    if high - low < 1e-12:
        high = low + 1.0
    levels = _round_levels(min(low, 0.0) if low > -1e-9 else low, high)
    ends = bar_ends(values, levels[0], levels[-1])
    filled = ax.contourf(across, up, values, levels=levels, cmap="viridis", extend=ends)
    lines = ax.contour(across, up, values, levels=levels[1:-1:2], colors="white", linewidths=0.5,
                       alpha=0.7)  # fmt: skip
    ax.clabel(lines, fmt="%g", fontsize=FONT - 2)
    _draw_zero(ax, across, up, values)
    for k, (name, (a, b)) in enumerate((mark or {}).items()):
        ax.plot(math.degrees(a), math.degrees(b), "os^Dv"[k % 5], color="white",
                markeredgecolor="black", markersize=7, linestyle="none", label=name)  # fmt: skip
    ax.grid(False)
    ax.set_xlabel(f"{names[0]} [°]", fontsize=FONT)
    ax.set_ylabel(f"{names[1]} [°]", fontsize=FONT)
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    height = canvas.get_figheight()
    bar = canvas.add_axes(((LEFT + SPAN + 0.12) / WIDTH, 0.5 / height, 0.16 / WIDTH, 3.3 / height))
    scale = canvas.colorbar(filled, cax=bar)
    scale.set_label(value_name, fontsize=FONT)
    scale.ax.tick_params(labelsize=FONT - 1)
    if ax.get_legend_handles_labels()[0]:
        legend(ax)
    return canvas


def _draw_zero(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> None:
    """Where values pass through zero, or, if they are never negative, where they nearly vanish."""
    look: dict[str, Any] = {"colors": "#ff4d3d", "linewidths": 2.0}
    if np.nanmin(values) < 0 < np.nanmax(values):
        ax.contour(x, y, values, levels=[0.0], **look)
        ax.plot([], [], color="#ff4d3d", linewidth=2.0, label="zero")
        return
    small = _ZERO * float(np.nanmax(np.abs(values)))
    if np.nanmin(values) >= small:
        return
    ax.contour(x, y, values, levels=[small], **look)
    ax.plot([], [], color="#ff4d3d", linewidth=2.0, label=f"below {small:.2g}")
    row, column = np.unravel_index(int(np.nanargmin(values)), values.shape)
    ax.plot(x[column], y[row], "x", color="#ff4d3d", markersize=9, markeredgewidth=2.2,
            linestyle="none", label=f"least, {values[row, column]:.2g}")  # fmt: skip


def _round_levels(low: float, high: float) -> np.ndarray:
    from matplotlib.ticker import MaxNLocator

    return np.asarray(MaxNLocator(_LEVELS).tick_values(low, high))


# --- forces


def polytope_section(
    found: Sequence[Polytope],
    ellipsoid: Ellipsoid | None = None,
    torque: float = 1.0,
    *,
    names: Sequence[str] = (),
    weight: float | None = None,
    title: str = "Forces that the platform can exert",
) -> Canvas:
    """Sections of the set of forces in two axes, a panel for each polytope, all to one scale.

    Args:
        found: polytopes in two force axes. names: their titles, e.g. `friction 0.6`.
        ellipsoid: of forces; its projection for Στ² ≤ `torque`² [N·m] is drawn inside.
        weight: of the robot [N], drawn as a circle to compare with.
    """
    for p in found:
        if len(p.axes) != 2 or p.empty:
            raise InputError("polytope: one that is not empty, in two axes, is expected")
    canvas, panels = _beside(title, len(found))
    reach = 1.12 * max(float(np.abs(p.points).max()) for p in found)
    for k, (ax, p) in enumerate(zip(panels, found, strict=True)):
        ring = np.vstack([p.points, p.points[:1]])
        ax.fill(*ring.T, color=BLUE, alpha=0.16, linewidth=0)
        ax.plot(*ring.T, color=BLUE, linewidth=1.6, label="friction and torques")
        _draw_cuts(ax, p)
        if ellipsoid is not None:
            rows = [WRENCH.index(name) for name in p.axes]
            line = torque * projected_ellipse(ellipsoid, rows)
            words = f"drives, |τ| = {torque:.3g} N·m"
            ax.fill(*line.T, color=VIOLET, alpha=0.2, linewidth=0)
            ax.plot(*line.T, color=VIOLET, linewidth=1.4, label=words)
        if weight is not None:
            angle = np.linspace(0, 2 * np.pi, 181)
            ax.plot(weight * np.cos(angle), weight * np.sin(angle), color=GREY, linewidth=0.9,
                    linestyle=":", label="robot's weight")  # fmt: skip
        ax.plot(0, 0, "+", color="black", markersize=8)
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        ax.set_xlabel(f"{_axis(p.axes[0])}", fontsize=FONT)
        ax.set_ylabel(f"{_axis(p.axes[1])}", fontsize=FONT, labelpad=2)
        if k < len(names):
            ax.set_title(names[k], fontsize=FONT, loc="left")
    _legend_below(canvas, panels[0])
    return canvas


def projected_ellipse(ellipsoid: Ellipsoid, rows: Sequence[int], count: int = 181) -> np.ndarray:
    """Outline of an ellipsoid seen along the axes that are left out, [count, 2].

    It is the image of a circle by the two singular directions of the rows of its matrix.
    """
    left, size, _ = np.linalg.svd(ellipsoid.matrix[list(rows)], full_matrices=False)
    angle = np.linspace(0, 2 * np.pi, count)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ (left * size).T


def _draw_cuts(ax: Axes, p: Polytope) -> None:
    """Mark the sides where the set goes on but was cut."""
    low, high = p.points.min(axis=0), p.points.max(axis=0)
    label: str | None = "truncated"
    for axis in range(2):
        for side, at in enumerate((low[axis], high[axis])):
            if not p.cut[axis, side]:
                continue
            on = np.abs(p.points[:, axis] - at) < 1e-3 * float(np.ptp(p.points[:, axis]))
            ends = p.points[on][:, 1 - axis]
            line = [[at, at], [ends.min(), ends.max()]]
            ax.plot(*(line if axis == 0 else line[::-1]), color="black", linewidth=1.8,
                    linestyle=(0, (1.5, 1.5)), label=label)  # fmt: skip
            label = None


def _axis(name: str) -> str:
    unit = "N" if name[0] == "f" else "N·m"
    return f"{'force' if name[0] == 'f' else 'moment'} {name} [{unit}]"


def friction_use(
    forces: Forces, friction: float | Mapping[str, float], demand: float | None = None,
    *, title: str = "Loads and friction use of the wheels",
) -> Canvas:  # fmt: skip
    """Normal loads, and the use of friction √(T² + S²)/N with its limit, as bars per contact.

    `demand`: the least friction with which the stance can be held, as a line.
    """
    names = _distinct(forces.contacts)
    canvas, (top, bottom) = sheet(title, [1.9, 2.3])
    at = np.arange(len(names))
    colours = [wheel_colour(c, k) for k, c in enumerate(forces.contacts)]
    top.bar(at, forces.normal, 0.62, color=colours)
    bottom.bar(at, forces.use, 0.62, color=colours)
    _number_bars(top, forces.normal, "{:.0f}")
    _number_bars(bottom, forces.use, "{:.3f}")
    limit = [_of(friction, c) for c in forces.contacts]
    words = f"μ = {limit[0]:g}" if np.ptp(limit) < 1e-12 else "friction μ"
    for k, mu in enumerate(limit):
        ends = [k - 0.42, k + 0.42]
        if np.ptp(limit) < 1e-12:
            ends = [-0.6, len(names) - 0.4]
        bottom.plot(ends, [mu, mu], **LIMIT, label=words if k == 0 else None)
        if np.ptp(limit) < 1e-12:
            break
    if demand is not None and math.isfinite(demand):
        bottom.axhline(demand, color=BLUE, linewidth=1.4, linestyle=":", label="demand")
    top.set_ylabel("normal load [N]", fontsize=FONT)
    bottom.set_ylabel("friction use", fontsize=FONT)
    bottom.set_ylim(0, 1.15 * max(float(np.max(forces.use)), max(limit), demand or 0.0, 1e-3))
    top.set_ylim(0, 1.15 * max(float(np.max(forces.normal)), 1e-9))
    bottom.set_xticks(at, names)
    bottom.set_xlim(-0.6, len(names) - 0.4)
    for ax in (top, bottom):
        ax.grid(False, axis="x")
    legend(bottom)
    return canvas


def _number_bars(ax: Axes, values: np.ndarray, form: str) -> None:
    for k, value in enumerate(values):
        ax.annotate(form.format(value), (k, value), xytext=(0, 2), textcoords="offset points",
                    ha="center", fontsize=FONT - 2)  # fmt: skip


def _of(friction: float | Mapping[str, float], contact: str) -> float:
    return float(friction.get(contact, 0.0) if isinstance(friction, Mapping) else friction)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names, numbered where a wheel touches more than once."""
    out = []
    for k, name in enumerate(names):
        before = list(names[:k]).count(name)
        out.append(f"{name} ({before + 1})" if list(names).count(name) > 1 else name)
    return out


# --- sheets of another kind


def _beside(title: str, count: int) -> tuple[Canvas, list[Axes]]:
    """A titled sheet with square panels side by side, and room for a legend below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    side = min(3.9, (WIDTH - 0.3 - 0.95 * count) / count)
    height = 0.75 + side + 0.95
    canvas = Canvas(figsize=(max(0.3 + count * (side + 0.95), 4.6), height))
    FigureCanvasAgg(canvas)
    wide = canvas.get_figwidth()
    canvas.text(0.12 / wide, 1 - 0.12 / height, title, va="top", fontsize=FONT + 3,
                fontweight="bold")  # fmt: skip
    panels = []
    for k in range(count):
        left = 0.95 + k * (side + 0.95)
        ax = canvas.add_axes((left / wide, 0.95 / height, side / wide, side / height))
        plain(ax)
        ax.yaxis.set_label_coords(-0.17, 0.5)
        panels.append(ax)
    return canvas, panels


def _legend_below(canvas: Canvas, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False,
                  fontsize=FONT - 1)  # fmt: skip
