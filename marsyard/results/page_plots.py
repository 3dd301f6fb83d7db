"""Plots of a run in a page: the plain data drawn by `page_plots.js`.

All plots over time share zoom and cursor; a track and plots against another variable have their
own. Arrays are 32-bit floats, each carried once however many plots show it, thinned to what can be
seen. The page draws them as SVG in the colours of its style, light, dark or printed.
"""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import GIVEN_PATH, wheel_colour
from marsyard.drawing.page import escape
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
)
from marsyard.results.dataset import Line, lines, series
from marsyard.results.energy_figures import account_of, balance_words, energy_curves
from marsyard.scenario.report_schema import Figure

#: colour of what is black on paper; light on a dark page
INK = "var(--ink)"
_DASHED = (0, (4, 1.6))


@dataclass(frozen=True)
class PageCurve:
    """A curve, or a cloud of points: values over x, and how it looks."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    width: float = 1.5
    dash: str = ""
    points: bool = False


@dataclass(frozen=True)
class PagePanel:
    """Curves over one axis.

    ticks: values that have names. limits: of the ordinate, where not as far as the curves go.
    """

    label: str
    curves: tuple[PageCurve, ...]
    logarithmic: bool = False
    limits: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    whole: bool = False
    x_label: str = ""


@dataclass(frozen=True)
class PagePlot:
    """Panels below each other over the same x.

    linked: x is time, and zoom and cursor are those of all such plots. equal: x and y to scale.
    """

    title: str
    panels: tuple[PagePanel, ...]
    x_label: str
    x_limits: tuple[float, float]
    caption: str = ""
    linked: bool = True
    equal: bool = False


# --- the plots of a run


def plots_of_run(ds: xr.Dataset, figures: Sequence[Figure] = ()) -> list[PagePlot]:
    """The figures (the default ones where there are none), the track, and the energy.

    What a figure asks for and the data set does not have is left out, with a warning.
    """
    out = []
    for figure in figures or default_figures(ds):
        there, missing = drawable(ds, figure)
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            warnings.warn(f"figure '{figure.title}': {missing[0]}{more}", stacklevel=2)
        if there is not None:
            left_out = (f"Left out: {text}" for text in missing)
            caption = " ".join([figure_caption(there), *left_out]).strip()
            made = _over_time if there.against is None else _against
            out.append(made(ds, there, caption))
    if has_travelled(ds):
        out.append(track_plot(ds))
    energy = _energy_plot(ds)
    return out if energy is None else [*out, energy]


#: what tells most of a run, the first that it has of each row: title, series
_KEY = (
    (("path_offset",), ("slip_ratio",), ("track_slip",), ("gait_slip",), ("position_base.z",)),
    (("sinkage",), ("force_normal_sum",), ("stability_margin",), ("speed",)),
    (("electrical_power.sum",), ("motor_power.sum",), ("speed",), ("velocity_base.z",)),
)  # fmt: skip
KEY_PANELS, OWN_PANELS = 3, 2


def key_plot(ds: xr.Dataset, figures: Sequence[Figure] = ()) -> PagePlot | None:
    """Three panels that tell most of a run: the first of the scenario's first two figures over
    time, then those that matter for most runs."""
    wanted: list[tuple[tuple[str, ...], str]] = []
    for figure in figures:
        there = drawable(ds, figure)[0]
        if there is not None and there.against is None and there.start is there.end is None:
            wanted.append((there.panels[0], next(iter(there.units), "")))
    wanted = wanted[:OWN_PANELS]
    for row in _KEY:
        first = next((names for names in row if _tells(ds, names)), None)
        if first is not None:
            wanted.append((first, ""))
    panels: list[PagePanel] = []
    seen: set[tuple[str, ...]] = set()
    for names, unit in wanted:
        if names not in seen and len(panels) < KEY_PANELS:
            seen.add(names)
            (panel,) = panels_of(ds, Figure(title="Key plots", panels=(names,), units=(unit,)))
            # where nothing moves there is nothing to see
            if scale_of(panel.curves).limits is None:
                panels.append(_panel(ds, panel))
    if not panels:
        return None
    return PagePlot("Key plots", tuple(panels), "time [s]", _time_limits(ds))


def _tells(ds: xr.Dataset, names: Sequence[str]) -> bool:
    """Whether a run has these series, and anything happens in them."""
    try:
        values = [series(ds, name).values for name in names]
    except ValueError:  # InputError is one
        return False
    return all(v.size and bool(np.isfinite(v).any()) and bool(np.nanmax(np.abs(v)) > 0)
               for v in values)  # fmt: skip


def _time_limits(ds: xr.Dataset) -> tuple[float, float]:
    time = ds["time"].values
    return float(time[0]), float(max(time[-1], time[0] + 1e-9))


def _over_time(ds: xr.Dataset, figure: Figure, caption: str) -> PagePlot:
    first, last = _time_limits(ds)
    start = first if figure.start is None else figure.start
    end = last if figure.end is None else figure.end
    limits = (start, end) if end > start else (first, last)
    panels = tuple(_panel(ds, panel) for panel in panels_of(ds, figure))
    return PagePlot(figure.title, panels, "time [s]", limits, caption)


def _panel(ds: xr.Dataset, panel: Panel) -> PagePanel:
    styled = zip(panel.curves, panel.names, panel.styles, strict=True)
    scale = scale_of(panel.curves)
    whole, ticks = _counted(ds, panel.curves)
    return PagePanel(
        panel.label.replace("\n", " "), tuple(_curve(*each) for each in styled),
        scale.logarithmic, scale.limits, ticks, whole,
    )  # fmt: skip


def _counted(ds: xr.Dataset, curves: Sequence[Line]) -> tuple[bool, tuple[tuple[float, str], ...]]:
    """Whether the values are few whole numbers, and the words that they stand for."""
    values = np.concatenate([c.values[np.isfinite(c.values)] for c in curves] or [np.zeros(0)])
    if not values.size or np.any(values != np.round(values)) or not 0 < np.ptp(values) <= 10:
        return False, ()
    names = {str(ds[c.variable].attrs.get("flag_meanings", "")) for c in curves if c.variable in ds}
    words = names.pop().split() if len(names) == 1 else []
    return True, tuple((float(k), word) for k, word in enumerate(words))


def _curve(line: Line, name: str, look: dict[str, Any]) -> PageCurve:
    time, values = thinned(line.time, line.values)
    return PageCurve(name, time, values, str(look["color"]), look["linewidth"], _dash(look))


def _dash(look: dict[str, Any]) -> str:
    style = look.get("linestyle", "-")
    if isinstance(style, str):
        return ""
    return " ".join(f"{look.get('linewidth', 1.5) * d:.3g}" for d in style[1])


def _against(ds: xr.Dataset, figure: Figure, caption: str) -> PagePlot:
    """Records as points over another variable, and the median in each of 24 bins."""
    (across,) = lines(ds, str(figure.against))
    x = cut_curve(in_panel_unit(across, "", figure), figure.start, figure.end)
    panels = []
    for panel in panels_of(ds, figure):
        curves = []
        for line, name, look in zip(panel.curves, panel.names, panel.styles, strict=True):
            keep = np.flatnonzero(np.isfinite(x.values) & np.isfinite(line.values))
            keep = keep[:: len(keep) // POINTS + 1]
            colour = str(look["color"])
            curves.append(PageCurve("", x.values[keep], line.values[keep], colour, points=True))
            own = INK if len(panel.curves) == 1 else colour
            medians = binned_medians(x.values, line.values)
            curves.append(PageCurve(name or "median", *medians, own, 1.4, _dash(look)))
        scale = scale_of(panel.curves)
        label = panel.label.replace("\n", " ")
        panels.append(PagePanel(label, tuple(curves), scale.logarithmic, scale.limits))
    known = x.values[np.isfinite(x.values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    room = 0.03 * (high - low) or 0.5
    label = axis_label(ds, [x], list(x.picks)).replace("\n", " ")
    limits = (low - room, high + room)
    return PagePlot(figure.title, tuple(panels), label, limits, caption, linked=False)


def track_plot(ds: xr.Dataset) -> PagePlot:
    """The paths of the base and of the wheels' contact points, from above."""
    base = series(ds, "position_base").values
    curves = [
        PageCurve("path to follow" if k == 0 else "", p[:, 0], p[:, 1], GIVEN_PATH["color"], 3.0)
        for k, p in enumerate(followed_paths(ds))
    ]
    if "contact_point" in ds:
        points = ds["contact_point"].transpose("time", "wheel", "axis").values
        for i, wheel in enumerate(str(w) for w in ds["wheel"].values):
            if np.isfinite(points[:, i]).any():
                look = {"linestyle": _DASHED if wheel.endswith("R") else "-", "linewidth": 1.1}
                path = _thin_path(points[:, i])
                curves.append(PageCurve(f"wheel {wheel}", path[:, 0], path[:, 1],
                                        wheel_colour(wheel, i), 1.1, _dash(look)))  # fmt: skip
    path = _thin_path(base)
    curves.append(PageCurve("base", path[:, 0], path[:, 1], INK, 1.8))
    every = np.concatenate([np.stack([c.x, c.y], axis=1) for c in curves])
    low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    room = 0.06 * max(high - low)
    wide = max(high[0] - low[0] + 2 * room, 0.5 * (high[1] - low[1]))
    middle = (low[0] + high[0]) / 2
    rise = max(high[1] - low[1] + 2 * room, 0.25 * wide)
    centre = (low[1] + high[1]) / 2
    panel = PagePanel("y [m]", tuple(curves), limits=(centre - rise / 2, centre + rise / 2))
    limits = (float(middle - wide / 2), float(middle + wide / 2))
    about = "Path of the base" + (" and the wheels' contact points" if len(curves) > 1 else "")
    return PagePlot("Track", (panel,), "x [m]", limits, f"{about}, from above.", False, True)


def _thin_path(path: np.ndarray) -> np.ndarray:
    return path[:: max(1, len(path) // POINTS)]


def _energy_plot(ds: xr.Dataset) -> PagePlot | None:
    """Power by group of joints, and the work of the motors with where it went."""
    account = account_of(ds)
    if account is None:
        return None
    time = ds["time"].values
    panels = []
    for label, curves in energy_curves(ds, account):
        shown = []
        for name, values, colour, width, dashed in curves:
            line = thinned(time, np.asarray(values, dtype=float))
            look = {"linestyle": _DASHED if dashed else "-", "linewidth": width}
            shown.append(PageCurve(name, *line, colour or INK, width, _dash(look)))
        panels.append(PagePanel(label, tuple(shown)))
    about = balance_words(account)
    return PagePlot("Power and energy", tuple(panels), "time [s]", _time_limits(ds), about)


# --- in the page


def plot_html(index: int, plot: PagePlot, number: int | None = None) -> str:
    """The place of a plot in the page; `index` is its number among those of `plots_block`."""
    head = f"Figure {number}: {plot.title}." if number is not None else plot.title
    caption = f"<b>{escape(head)}</b> {escape(plot.caption)}" if number is not None else ""
    return (
        f'<figure class="plot" data-plot="{index}">'
        f"<noscript>{escape(plot.title)}: this plot needs JavaScript.</noscript>"
        f"<figcaption>{caption}</figcaption></figure>"
    )


def plots_data(plots: Sequence[PagePlot]) -> dict[str, Any]:
    """What the program draws, ready for JSON."""
    arrays: dict[bytes, int] = {}

    def of(values: np.ndarray) -> int:
        return arrays.setdefault(np.asarray(values, dtype="<f4").tobytes(), len(arrays))

    def curve(c: PageCurve) -> dict[str, Any]:
        return {
            "name": c.name, "x": of(c.x), "y": of(c.y), "colour": c.colour,
            "width": round(c.width, 2), "dash": c.dash, "points": c.points,
        }  # fmt: skip

    made = [
        {
            "title": plot.title, "x_label": plot.x_label, "x_limits": plot.x_limits,
            "linked": plot.linked, "equal": plot.equal,
            "panels": [
                {
                    "label": p.label, "logarithmic": p.logarithmic, "limits": p.limits,
                    "ticks": p.ticks, "whole": p.whole, "x_label": p.x_label,
                    "curves": [curve(c) for c in p.curves],
                }
                for p in plot.panels
            ],
        }
        for plot in plots
    ]  # fmt: skip
    return {"arrays": [base64.b64encode(a).decode("ascii") for a in arrays], "plots": made}


def json_in_page(data: Any) -> str:
    """JSON that cannot end the element it stands in, whatever texts it carries."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
