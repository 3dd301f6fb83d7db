"""Figures of a run: stacked panels over a shared time axis, and the track seen from above.

A wheel keeps its colour from figure to figure; wheels of the right side are dashed, so that a
pair that does the same can still be told apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import GIVEN_PATH, wheel_colour
from marsyard.drawing.sheet import (
    FONT,
    LEFT,
    SPAN,
    WIDTH,
    FigureFile,
    legend,
    save_png,
    sheet,
    slug,
)
from marsyard.errors import InputError
from marsyard.results.curves import (
    POINTS,
    Panel,
    axis_label,
    binned_medians,
    cut_curve,
    default_figures,
    drawable,
    figure_caption,
    followed_paths,
    has_travelled,
    in_panel_unit,
    panels_of,
    scale_of,
    thinned,
    wheel_names,
)
from marsyard.results.dataset import Line, lines, series
from marsyard.results.energy_figures import account_of, save_energy_figures
from marsyard.results.wheel_order import in_reading_order
from marsyard.scenario.report_schema import Figure, GroundFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from marsyard.ground import Surface
    from marsyard.results.ground_file import Ground


def save_figures(
    ds: xr.Dataset,
    figures: Sequence[Figure],
    folder: str | Path,
    dpi: int = 130,
    ground: Ground | None = None,
    ground_figures: GroundFigures | None = None,
    surfaces: Sequence[Surface] = (),
    kind: str = "png",
) -> list[FigureFile]:
    """Draw the figures (the default ones where there are none), the track and, of a robot that
    moves itself, its energy as files of a kind, png, svg or pdf.

    What a figure asks for and the data set does not have is left out, with a warning.

    With a `ground` also those of the soil, as far as `ground_figures` wants them; meshes among the
    `surfaces` of hard ground are drawn on its map.
    """
    folder, ds = Path(folder), in_reading_order(ds)
    saved: list[FigureFile] = []
    for figure in figures or default_figures(ds):
        there, missing = drawable(ds, figure)
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            warnings.warn(f"figure '{figure.title}': {missing[0]}{more}", stacklevel=2)
        if there is None:
            continue
        path = folder / f"{len(saved) + 1:02d}-{slug(figure.title)}.{kind}"
        left_out = (f"Left out: {text}" for text in missing)
        caption = " ".join([figure_caption(there), *left_out]).strip()
        saved.append(FigureFile(figure.title, caption, save_png(draw(ds, there), path, dpi)))
    if has_travelled(ds):
        path = folder / f"{len(saved) + 1:02d}-track.{kind}"
        wheels = " and the wheels' contact points" if wheel_names(ds) else ""
        caption = f"Path of the base{wheels}, from above and from the side."
        saved.append(FigureFile("Track", caption, save_png(draw_track(ds), path, dpi)))
    account = account_of(ds)
    if account is not None:
        saved += save_energy_figures(
            ds, account, folder, len(saved) + 1, dpi, motors=False, kind=kind
        )
    if ground is not None:
        saved += save_ground_figures(
            ds, ground, folder, dpi, ground_figures, surfaces, len(saved) + 1, kind
        )
    return saved


def save_ground_figures(
    ds: xr.Dataset,
    ground: Ground,
    folder: str | Path,
    dpi: int = 130,
    wanted: GroundFigures | None = None,
    surfaces: Sequence[Surface] = (),
    first: int = 1,
    kind: str = "png",
) -> list[FigureFile]:
    """Draw the soil after the run; files are numbered from `first`."""
    from marsyard.results.ground_figures import draw_all

    saved = []
    drawn = draw_all(in_reading_order(ds), ground, wanted or GroundFigures(), surfaces)
    for number, (title, caption, canvas) in enumerate(drawn, first):
        path = Path(folder) / f"{number:02d}-{slug(title)}.{kind}"
        saved.append(FigureFile(title, caption, save_png(canvas, path, dpi)))
    return saved


# --- one figure


def draw(ds: xr.Dataset, figure: Figure) -> Canvas:
    """The figure as a matplotlib object: one panel below the other over the same time."""
    if figure.against is not None:
        return _draw_against(ds, figure, figure.against)
    count = max(len(figure.panels), 1)
    canvas, panels = sheet(figure.title, [1.85] * count)
    shown: list[str] = []
    for ax, panel in zip(panels, panels_of(ds, figure), strict=False):
        _panel(ax, ds, panel)
        # the same legend is said once
        labels = ax.get_legend_handles_labels()[1]
        if len(labels) > 1 and labels != shown:
            legend(ax)
            shown = labels
    time = ds["time"].values
    start = time[0] if figure.start is None else figure.start
    end = time[-1] if figure.end is None else figure.end
    if end > start:
        panels[-1].set_xlim(start, end)
    panels[-1].set_xlabel("time [s]", fontsize=FONT)
    return canvas


def _draw_against(ds: xr.Dataset, figure: Figure, name: str) -> Canvas:
    """Panels over another variable: every record a point, and the median in each of 24 bins.

    A single curve is coloured by time; several keep their own colours.
    """
    across = lines(ds, name)
    if len(across) != 1:
        raise InputError(
            f"figure '{figure.title}': against '{name}' has several curves; select one"
        )
    x = cut_curve(in_panel_unit(across[0], "", figure), figure.start, figure.end)
    canvas, panels = sheet(figure.title, [2.3] * max(len(figure.panels), 1))
    for ax, panel in zip(panels, panels_of(ds, figure), strict=False):
        curves = list(panel.curves)
        for curve, label, look in zip(curves, panel.names, panel.styles, strict=True):
            alone = len(curves) == 1
            points = _cloud(ax, x.values, curve, None if alone else str(look["color"]))
            # thin, so that the points show beside it
            ink = {**look, "linewidth": 1.2, "zorder": 5}
            if alone:
                ink |= {"color": "#222222", "linestyle": "-"}
            ax.plot(*binned_medians(x.values, curve.values), label=label, **ink)
            if alone and points is not None:
                _time_bar(canvas, ax, points)
        ax.set_ylabel(panel.label, fontsize=FONT)
        scale_ordinate(ax, curves)
        if len(curves) > 1:
            legend(ax)
    panels[-1].set_xlabel(axis_label(ds, [x], list(x.picks)).replace("\n", " "), fontsize=FONT)
    return canvas


def _cloud(ax: Axes, x: np.ndarray, curve: Line, colour: str | None) -> Any:
    """The records as light points, at most some thousand; by time where no colour is given."""
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(curve.values))
    keep = keep[:: len(keep) // POINTS + 1]
    if not keep.size:
        return None
    look: dict[str, Any] = {"s": 15, "linewidths": 0, "rasterized": True}
    if colour is not None:
        look |= {"color": colour, "alpha": 0.3}
    else:
        look |= {"c": curve.time[keep], "cmap": "viridis", "alpha": 0.65}
    return ax.scatter(x[keep], curve.values[keep], **look)


def _time_bar(canvas: Canvas, ax: Axes, points: Any) -> None:
    place = ax.get_position()
    bar = canvas.add_axes(((LEFT + SPAN + 0.15) / WIDTH, place.y0, 0.12 / WIDTH, place.height))
    canvas.colorbar(points, cax=bar).set_alpha(1.0)
    bar.tick_params(labelsize=FONT - 1.5, color="#8a8a8a")
    bar.set_ylabel("time [s]", fontsize=FONT - 1)
    for spine in bar.spines.values():
        spine.set_visible(False)


def _panel(ax: Axes, ds: xr.Dataset, panel: Panel) -> None:
    """One panel: its curves, axis label with unit, and legend."""
    for curve, label, look in zip(panel.curves, panel.names, panel.styles, strict=True):
        time, values = thinned(curve.time, curve.values)
        ax.plot(time, values, label=label, **look)
    ax.set_ylabel(panel.label, fontsize=FONT)
    curves = list(panel.curves)
    scale_ordinate(ax, curves)
    _count(ax, ds, curves)


def _count(ax: Axes, ds: xr.Dataset, curves: list[Line]) -> None:
    """Whole ticks for whole numbers, and words for those that stand for something."""
    from matplotlib.ticker import MaxNLocator

    values = np.concatenate([c.values[np.isfinite(c.values)] for c in curves] or [np.zeros(0)])
    # not what merely happens to be zero all the time
    if not values.size or np.any(values != np.round(values)) or not 0 < np.ptp(values) <= 10:
        return
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    names = {str(ds[c.variable].attrs.get("flag_meanings", "")) for c in curves if c.variable in ds}
    if len(names) == 1 and (meanings := names.pop().split()):
        ax.set_yticks(range(len(meanings)), meanings)
        ax.set_ylim(-0.3, len(meanings) - 0.7)
        # words need the room of the label, which goes above
        ax.set_title(ax.get_ylabel().replace("\n", " "), loc="left", fontsize=FONT)
        ax.set_ylabel("")


def scale_ordinate(ax: Axes, curves: list[Line]) -> None:
    """Powers of ten above the axis; logarithmic for residuals; no zoom into rounding noise."""
    from marsyard.drawing.ticks import PlainNumbers

    scale = scale_of(curves)
    if scale.logarithmic:
        ax.set_yscale("log")
        return
    ax.yaxis.set_major_formatter(PlainNumbers(-3, 4))
    ax.yaxis.get_offset_text().set_fontsize(FONT - 1.5)
    if scale.limits is not None:
        ax.set_ylim(*scale.limits)


# --- the track


def draw_track(ds: xr.Dataset) -> Canvas:
    """Path of the base and of the contact points, from above (x, y) and from the side (x, z)."""
    base = series(ds, "position_base").values
    paths: list[tuple[str, np.ndarray, dict[str, Any]]] = [
        ("base", base, {"color": "#222222", "linewidth": 1.8}),
    ]
    if "contact_point" in ds:
        points = ds["contact_point"].transpose("time", "wheel", "axis").values
        for i, wheel in enumerate(str(w) for w in ds["wheel"].values):
            style: dict[str, Any] = {"color": wheel_colour(wheel, i), "linewidth": 1.2}
            if wheel.endswith("R"):
                style["linestyle"] = (0, (4, 1.6))
            paths.append((f"wheel {wheel}", points[:, i], style))
    given = followed_paths(ds)
    # the same scale along x and y, neither a sliver nor a tower
    low = np.nanmin([np.nanmin(p[1], axis=0) for p in paths if np.isfinite(p[1]).any()], axis=0)
    high = np.nanmax([np.nanmax(p[1], axis=0) for p in paths if np.isfinite(p[1]).any()], axis=0)
    middle, span = (low + high) / 2, 1.12 * (high - low)
    width = max(span[0], span[1] / 0.75)
    depth = max(span[1], 0.25 * width)
    canvas, panels = sheet("Track", [SPAN * depth / width, 1.4])
    for number, path in enumerate(given):
        label = "" if number else "path to follow"
        panels[0].plot(path[:, 0], path[:, 1], label=label, **GIVEN_PATH)
    for ax, across in zip(panels, (1, 2), strict=True):
        for label, path, style in paths:
            ax.plot(path[:, 0], path[:, across], label=label, **style)
        for end, mark, label in ((0, "o", "start"), (-1, "s", "end")):
            ax.plot(*base[end, [0, across]], mark, color="#222222", markersize=5, label=label)
        ax.set_ylabel(f"{'xyz'[across]} [m]", fontsize=FONT)
    panels[0].set_xlim(middle[0] - width / 2, middle[0] + width / 2)
    panels[0].set_ylim(middle[1] - depth / 2, middle[1] + depth / 2)
    panels[-1].set_xlabel("x [m]", fontsize=FONT)
    legend(panels[0])
    return canvas


# --- files
