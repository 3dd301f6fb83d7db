"""Figures of a study: outputs over the varied value, with reference points.

A line joins the runs of a curve, a dot is a run. Runs of a bisection are small dots. Where a
boundary was found, the side that fails is shaded; a run that stopped is a cross at the bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page import capital, number, quantity
from marsyard.drawing.sheet import (
    FONT,
    FigureFile,
    legend,
    save_png,
    sheet,
    slug,
    unit_text,
    with_unit,
    wrap,
)
from marsyard.results.study_checks import (
    axis_unit,
    curve_index,
    outputs_of,
    second_axis,
    variable_name,
)
from marsyard.results.study_map import draw_map
from marsyard.scenario.study_schema import Reference, Study, StudyFigure
from marsyard.units import in_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (1.2, 1.2)), (0, (6, 1.6, 1.2, 1.6)))
_MARKS = ("s", "^", "D", "v", "P", "X")
_DARK, _FAIL = "#222222", "#b42318"


def save_study_figures(
    ds: xr.Dataset, study: Study, folder: str | Path, dpi: int = 150
) -> list[FigureFile]:
    """Draw the figures of a study (a panel per output where it names none) as PNG files."""
    saved = []
    for index, figure in enumerate(study.figures or default_study_figures(ds), 1):
        path = Path(folder) / f"{index:02d}-{slug(figure.title)}.png"
        canvas = draw_study(ds, study, figure)
        saved.append(FigureFile(figure.title, _caption(figure), save_png(canvas, path, dpi)))
    return saved


def default_study_figures(ds: xr.Dataset) -> tuple[StudyFigure, ...]:
    """Every output, four panels to a figure."""
    names = list(outputs_of(ds).values())
    label = str(ds[ds.attrs["varied"]].attrs["long_name"])
    groups = [names[k : k + 4] for k in range(0, len(names), 4)]
    return tuple(
        StudyFigure(title=f"{_listed(group)} against {label}", panels=tuple((n,) for n in group))
        for group in groups
    )


def draw_study(ds: xr.Dataset, study: Study, figure: StudyFigure) -> Canvas:
    """One figure as a matplotlib object."""
    if figure.kind == "map":
        return draw_map(ds, figure)
    varied = ds.attrs["varied"]
    count = max(len(figure.panels), 1)
    canvas, panels = sheet(figure.title, [{1: 3.3, 2: 2.4}.get(count, 1.95)] * count)
    said: list[str] = []
    for k, (ax, names) in enumerate(zip(panels, figure.panels, strict=False)):
        compared = any(r.panel == k for r in figure.reference)
        own = _runs(ax, ds, names, "computed" if compared else "")
        for j, reference in enumerate(r for r in figure.reference if r.panel == k):
            _reference(ax, ds, reference, j)
        _threshold(ax, study, names)
        _labels(ax, ds, names)
        # the same curves are named once
        again = own == said
        for line in ax.get_lines() if again else ():
            if line.get_label() in own and len(own) > 1:
                line.set_label("_")
        if ax.get_legend_handles_labels()[1]:
            legend(ax, "" if again else _legend_title(ds, names))
        said = own
    _boundaries(panels, ds)
    for ax in panels:
        _stopped(ax, ds)
    coordinate = ds[varied]
    label = with_unit(str(coordinate.attrs["long_name"]), axis_unit(ds, varied))
    panels[-1].set_xlabel(label, fontsize=FONT)
    if coordinate.dtype.kind not in "fiu":
        panels[-1].set_xticks(range(coordinate.size), [str(v) for v in coordinate.values])
        panels[-1].set_xlim(-0.5, coordinate.size - 0.5)
    return canvas


# --- the runs


def _curves(ds: xr.Dataset) -> list[tuple[str, str, xr.Dataset]]:
    """Label, colour and data of each curve."""
    other = second_axis(ds)
    if other is None:
        return [("", OTHERS[0], ds)]
    values = ds[other].values
    if values.dtype.kind in "fiu" and len(values) > 2:
        # an ordered quantity gets ordered colours
        import matplotlib

        shades = matplotlib.colormaps["viridis"](np.linspace(0.05, 0.82, len(values)))
        ranks = np.argsort(np.argsort(values))
        colours = [matplotlib.colors.to_hex(shades[r]) for r in ranks]
    else:
        colours = [OTHERS[k % len(OTHERS)] for k in range(len(values))]
    labels = [v if isinstance(v, str) else number(float(v)) for v in values.tolist()]
    return [
        (label, colour, ds.isel({other: k}))
        for k, (label, colour) in enumerate(zip(labels, colours, strict=True))
    ]


def _places(array: xr.Dataset, varied: str) -> np.ndarray:
    """Where the runs stand along the axis: their value, or their number for words."""
    values = array[varied].values
    return values if values.dtype.kind in "fiu" else np.arange(len(values), dtype=float)


def _runs(ax: Axes, ds: xr.Dataset, names: Sequence[str], alone: str) -> list[str]:
    """Draw all curves of a panel; their labels. `alone` is what a single one is called."""
    varied = ds.attrs["varied"]
    curves = _curves(ds)
    several = len(curves) > 1
    labels = []
    for n, name in enumerate(names):
        variable = variable_name(name)
        for label, own, curve in curves:
            colour = own if several or len(names) == 1 else OTHERS[n % len(OTHERS)]
            text = " ".join(t for t in (name if len(names) > 1 else "", label) if t) or alone
            x, y = _places(curve, varied), curve[variable].values
            dash = _DASHES[n % len(_DASHES)] if several else "-"
            _line(ax, curve, variable, x, y, {"color": colour, "linestyle": dash}, text)
            labels.append(text)
    if all(ds[variable_name(n)].notnull().any() for n in names):
        low, high = ax.get_ylim()
        if low < 0 < high:
            ax.axhline(0, color="#8a8a8a", linewidth=0.9, zorder=1)
    return labels


def _line(
    ax: Axes,
    curve: xr.Dataset,
    variable: str,
    x: np.ndarray,
    y: np.ndarray,
    look: dict[str, Any],
    label: str,
) -> None:
    dots: dict[str, Any] = {
        "color": look["color"],
        "markeredgecolor": "white",
        "linestyle": "none",
        "zorder": 4,
    }
    words = curve[curve.attrs["varied"]].dtype.kind not in "fiu"
    whole_x, whole_y = x, y
    refined = f"bisection_{variable}"
    if refined in curve:
        more_x, more_y = curve["bisection_value"].values, curve[refined].values
        whole_x, whole_y = np.append(x, more_x), np.append(y, more_y)
        ax.plot(more_x, more_y, marker="o", markersize=3.6, markeredgewidth=0.5, **dots)
    known = np.isfinite(whole_x) & np.isfinite(whole_y)
    order = np.argsort(whole_x[known], kind="stable")
    handle: dict[str, Any] = {
        "marker": "o",
        "markersize": 5.6,
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }
    ax.plot(
        whole_x[known][order], whole_y[known][order], linewidth=0 if words else 1.7, zorder=3,
        **look,
    )  # fmt: skip
    ax.plot(x, y, markersize=5.6, markeredgewidth=0.7, marker="o", **dots)
    if label:
        # the legend shows line and dot together
        width = 0 if words else 1.7
        ax.plot([], [], label=label, linewidth=width, **look, **handle)


def _stopped(ax: Axes, ds: xr.Dataset) -> None:
    """Crosses at the bottom of the panel for runs that stopped."""
    varied = ds.attrs["varied"]
    for _, colour, curve in _curves(ds):
        bad = curve["completed"].values == 0
        if bad.any():
            colour = colour if second_axis(ds) else _FAIL
            ax.plot(
                _places(curve, varied)[bad], np.full(bad.sum(), 0.04), "x", color=colour,
                markersize=6, markeredgewidth=1.8, transform=ax.get_xaxis_transform(), zorder=6,
                clip_on=False,
            )  # fmt: skip


# --- what they are compared with


def _reference(ax: Axes, ds: xr.Dataset, reference: Reference, index: int) -> None:
    unit, other = axis_unit(ds, ds.attrs["varied"]), second_axis(ds)
    x = [in_unit(v, unit) for v in reference.x]
    colour = _DARK
    if reference.also is not None and other is not None:
        shown = ds[other].values.tolist()
        curve = curve_index(reference.also, shown, axis_unit(ds, other), reference.name)
        colour = _curves(ds)[curve][1]
    if reference.draw == "line":
        look = {"color": colour, "linewidth": 1.2, "linestyle": _DASHES[1 + index % 3], "zorder": 5}
        ax.plot(x, reference.y, label=reference.name, **look)
        return
    ax.plot(
        x, reference.y, linestyle="none", marker=_MARKS[index % len(_MARKS)], markersize=5.2,
        markerfacecolor="white", markeredgecolor=colour, markeredgewidth=1.1, zorder=5,
        label=reference.name,
    )  # fmt: skip


def _threshold(ax: Axes, study: Study, names: Sequence[str]) -> None:
    """The level that decides on success, in the panel of its output."""
    if study.bisect is None or study.bisect.output not in names:
        return
    side = "below" if study.bisect.below is not None else "above"
    level = getattr(study.bisect, side)
    ax.axhline(level, color=_FAIL, linewidth=1.0, linestyle=(0, (2, 2)), zorder=2)
    ax.annotate(
        f"fails {side} {number(level)}", (1, level), xycoords=("axes fraction", "data"),
        xytext=(-3, 3 if side == "above" else -3), textcoords="offset points", ha="right",
        va="bottom" if side == "above" else "top", fontsize=FONT - 1.5, color=_FAIL,
    )  # fmt: skip


def _boundaries(panels: Sequence[Axes], ds: xr.Dataset) -> None:
    if "boundary_success" not in ds:
        return
    unit = unit_text(axis_unit(ds, ds.attrs["varied"]))
    several = second_axis(ds) is not None
    left, right = panels[0].get_xlim()
    for _, colour, curve in _curves(ds):
        good, bad = float(curve["boundary_success"]), float(curve["boundary_failure"])
        if not np.isfinite([good, bad]).all():
            continue
        middle = (good + bad) / 2
        for ax in panels:
            ax.axvline(
                middle, color=colour if several else _FAIL, linewidth=1.1, zorder=2,
                linestyle=(0, (4, 2)),
            )  # fmt: skip
            if not several:
                end = right if bad > good else left
                ax.axvspan(middle, end, color=_FAIL, alpha=0.06, linewidth=0, zorder=0)
        if not several:
            away = 4 if bad > good else -4
            panels[0].annotate(
                f"fails from {quantity(bad, unit, 4)}", (middle, 1),
                xycoords=("data", "axes fraction"), xytext=(away, -2), textcoords="offset points",
                ha="left" if away > 0 else "right", va="top", fontsize=FONT - 1, color=_FAIL,
                fontweight="bold", annotation_clip=False,
            )  # fmt: skip
    panels[0].set_xlim(left, right)


# --- words


def _labels(ax: Axes, ds: xr.Dataset, names: Sequence[str]) -> None:
    from marsyard.drawing.ticks import PlainNumbers

    units = {unit_text(str(ds[variable_name(n)].attrs["units"])) for n in names}
    unit = f" [{next(iter(units))}]" if len(units) == 1 and "" not in units else ""
    ax.set_ylabel(wrap(", ".join(names) + unit), fontsize=FONT)
    ax.yaxis.set_major_formatter(PlainNumbers(-3, 5))
    ax.yaxis.get_offset_text().set_fontsize(FONT - 1.5)


def _legend_title(ds: xr.Dataset, names: Sequence[str]) -> str:
    other = second_axis(ds)
    if other is None or len(names) > 1:
        return ""
    return with_unit(str(ds[other].attrs["long_name"]), axis_unit(ds, other))


def _caption(figure: StudyFigure) -> str:
    sources = [f"{r.name}: {r.source.rstrip('.')}." for r in figure.reference]
    if figure.kind == "map":
        sources.append("Each cell is a run. Outlined: successful runs; hatched: failed runs.")
    return " ".join([*sources, *([figure.note] if figure.note else [])])


def _listed(names: Sequence[str]) -> str:
    """'Drawbar pull, torque and sinkage'."""
    text = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return capital(text)
