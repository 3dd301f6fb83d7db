"""Maps of a study with two varied values: an output as colour over both.

A cell is a run. Where the study says what a success is, the region of the runs that succeeded is
outlined and the others are hatched; a run that stopped, or gave no number, has no colour and a
cross.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.drawing.colours import bar_ends, robust_limits
from marsyard.drawing.page import number
from marsyard.drawing.sheet import FONT, LEFT, SPAN, WIDTH, sheet, with_unit
from marsyard.results.study_checks import axis_unit, second_axis, variable_name
from marsyard.scenario.study_schema import StudyFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_REGION, _FAILED = "#b42318", "#5c5c5c"
#: values are written into the cells up to this many of them
_WRITTEN = 150


def draw_map(ds: xr.Dataset, figure: StudyFigure) -> Canvas:
    """One figure as a matplotlib object: a map per output, all over the same two axes."""
    varied, other = ds.attrs["varied"], second_axis(ds)
    assert other is not None
    ds = ds.transpose(other, varied, ...)
    for dim in (varied, other):
        if ds[dim].dtype.kind in "fiu":
            ds = ds.sortby(dim)
    names = [name for panel in figure.panels for name in panel]
    canvas, panels = sheet(figure.title, [{1: 3.6}.get(len(names), 2.7)] * len(names))
    x, y = edges(ds[varied].values), edges(ds[other].values)
    for ax, name in zip(panels, names, strict=True):
        values = ds[variable_name(name)].values
        ax.grid(False)
        low, high = robust_limits(values)
        drawn = ax.pcolormesh(
            x, y, np.ma.masked_invalid(values), cmap="viridis", vmin=low, vmax=high, zorder=1
        )
        _bar(canvas, ax, drawn, name, str(ds[variable_name(name)].attrs["units"]))
        if "succeeded" in ds:
            _region(ax, x, y, ds["succeeded"].values == 1)
        _crosses(ax, x, y, ~np.isfinite(values))
        if values.size <= _WRITTEN:
            _numbers(ax, x, y, values, drawn)
        _ticks(ax, ds, varied, other)
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
    panels[-1].set_xlabel(_label(ds, varied), fontsize=FONT)
    return canvas


def edges(values: np.ndarray) -> np.ndarray:
    """Borders of the cells around values in ascending order; around their numbers for words."""
    at = values.astype(float) if values.dtype.kind in "fiu" else np.arange(len(values), dtype=float)
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])


def outline(inside: np.ndarray) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Sides of cells between inside and outside, as pairs of corners (column, row)."""
    padded = np.pad(inside, 1)
    sides = [
        ((int(i), int(j)), (int(i), int(j) + 1))
        for j, i in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    ]
    sides += [
        ((int(i), int(j)), (int(i) + 1, int(j)))
        for j, i in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    ]
    return sides


def _region(ax: Axes, x: np.ndarray, y: np.ndarray, inside: np.ndarray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    for j, i in np.argwhere(~inside):
        corner, width, height = (x[i], y[j]), x[i + 1] - x[i], y[j + 1] - y[j]
        ax.add_patch(
            Rectangle(corner, width, height, fill=False, hatch="///", edgecolor="white",
                      alpha=0.55, linewidth=0, zorder=2)
        )  # fmt: skip
    sides = [[(x[a], y[b]) for a, b in side] for side in outline(inside)]
    ax.add_collection(
        LineCollection(sides, colors=_REGION, linewidths=2.4, capstyle="projecting", zorder=4,
                       clip_on=False, label="succeeded")
    )  # fmt: skip


def _crosses(ax: Axes, x: np.ndarray, y: np.ndarray, where: np.ndarray) -> None:
    j, i = np.nonzero(where)
    ax.plot((x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2, "x", color=_FAILED, zorder=5)


def _numbers(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, drawn: object) -> None:
    """Each value in its cell, dark on light and light on dark."""
    low, high = drawn.get_clim()  # type: ignore[attr-defined]
    for j, i in np.argwhere(np.isfinite(values)):
        light = values[j, i] > low + 0.6 * (high - low)
        ax.text(
            (x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2, number(float(values[j, i]), 3),
            ha="center", va="center", fontsize=FONT - 2, zorder=5,
            color="#1d2329" if light else "white",
        )  # fmt: skip


def _bar(canvas: Canvas, ax: Axes, drawn: object, name: str, units: str) -> None:
    place = ax.get_position()
    bar = canvas.add_axes(((LEFT + SPAN + 0.15) / WIDTH, place.y0, 0.12 / WIDTH, place.height))
    values, (low, high) = drawn.get_array(), drawn.get_clim()  # type: ignore[attr-defined]
    ends = bar_ends(np.ma.filled(values, np.nan), low, high)
    canvas.colorbar(drawn, cax=bar, extend=ends)  # type: ignore[arg-type]
    bar.tick_params(labelsize=FONT - 1.5, color="#8a8a8a")
    bar.set_ylabel(with_unit(name, units), fontsize=FONT - 1)
    for spine in bar.spines.values():
        spine.set_visible(False)


def _ticks(ax: Axes, ds: xr.Dataset, varied: str, other: str) -> None:
    for dim, axis in ((varied, ax.xaxis), (other, ax.yaxis)):
        values = ds[dim].values
        if values.dtype.kind not in "fiu":
            axis.set_ticks(range(len(values)), [str(v) for v in values])
        elif len(values) <= 12:
            axis.set_ticks(values, [number(float(v)) for v in values])
    ax.set_ylabel(_label(ds, other), fontsize=FONT)


def _label(ds: xr.Dataset, dim: str) -> str:
    return with_unit(str(ds[dim].attrs["long_name"]), axis_unit(ds, dim))
