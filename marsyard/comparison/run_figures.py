"""Figures of a comparison: every panel of the scenario's own figures, a curve per law.

A law keeps its colour and mark from figure to figure. Where a panel of the scenario shows a curve
per wheel, the mean of the wheels is drawn, and with up to three laws a band from the lowest to the
highest wheel; a second figure has a panel for each wheel. A panel with several quantities becomes
one panel for each.

A curve that is mostly jitter (it turns at more than a third of its records, and its distance from
its moving mean over a fortieth of the time is as large as what that mean does) is drawn pale, with
the moving mean over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot
from marsyard.drawing.sheet import (
    FONT,
    SPAN,
    FigureFile,
    legend,
    plain,
    save_png,
    sheet,
    slug,
    unit_text,
    wrap,
)
from marsyard.errors import InputError
from marsyard.results.curves import (
    binned_medians,
    cut_curve,
    default_figures,
    followed_paths,
    has_travelled,
    long_name_of,
    thinned,
)
from marsyard.results.dataset import Line, lines
from marsyard.results.plots import scale_ordinate
from marsyard.scenario.report_schema import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

MARKS = ("o", "s", "^", "D", "v", "P", "X", "p")
#: with more laws than this, bands would cover each other
BANDS = 3
#: panels on one sheet
MOST_PANELS = 6
#: as `look`, on a page
_DASHES = ("", "5 2", "1.5 1.5")
#: jitter below this is rounding, in any unit
NOISE = 1e-6
#: letters of a name that fit beside a panel
LONG = 22
#: default figures that are of interest for several laws at once
_WORTH = (
    "Base position, velocity and reaction", "Attitude and speed", "Slip and sinkage on soil",
    "Forces of the soil", "Driving torque and resistances in soil", "Motor torque and power",
    "Tension of the tethers", "Energy",
)  # fmt: skip
_OF_WHEELS = ("motor_torque", "motor_power")


@dataclass
class Curve:
    """One law's curve: mean of what it stands for, and the lowest and highest of it."""

    law: int
    time: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    single: list[tuple[str, np.ndarray]] = field(default_factory=list)  # by wheel


@dataclass
class Quantity:
    """What one panel shows."""

    variable: str
    picks: tuple[str, ...]
    name: str
    units: str
    count: int = 1
    curves: list[Curve] = field(default_factory=list)


def look(index: int) -> dict[str, Any]:
    """Colour, dash and mark of a law."""
    dash = ("-", (0, (5, 1.8)), (0, (1.2, 1.2)))[(index // len(OTHERS)) % 3]
    return {
        "color": OTHERS[index % len(OTHERS)], "linestyle": dash,
        "marker": MARKS[index % len(MARKS)], "markersize": 4.6,
        "markeredgecolor": "white", "markeredgewidth": 0.6,
        # later curves are thinner: where several coincide, the others show as a rim
        "linewidth": max(1.1, 2.0 - 0.18 * index),
    }  # fmt: skip


def save_run_figures(
    names: Sequence[str],
    datasets: Sequence[xr.Dataset],
    figures: Sequence[Figure],
    folder: Path,
    dpi: int = 130,
) -> list[FigureFile]:
    """Draw the scenario's figures (the default ones where it has none) and the paths."""
    saved: list[FigureFile] = []

    def keep(title: str, caption: str, canvas: Canvas) -> None:
        path = folder / f"{len(saved) + 1:02d}-{slug(title)}.png"
        saved.append(FigureFile(title, caption, save_png(canvas, path, dpi)))

    for figure in figures or _defaults(datasets):
        if figure.against is not None:
            canvas = _draw_against(names, datasets, figure)
            if canvas is not None:
                keep(figure.title, "Binned medians of each law.", canvas)
            continue
        found, missing = quantities(datasets, figure)
        for first in range(0, len(found), MOST_PANELS):
            part = found[first : first + MOST_PANELS]
            title = figure.title if first == 0 else f"{figure.title}, continued"
            keep(title, _caption(names, part, missing, figure), draw(names, part, title, figure))
        single = [q for q in found if q.count > 1]
        if single:
            title = f"{figure.title}: by wheel"
            caption = _jitter_note(single)
            keep(title, caption, draw_by_wheel(names, single[:MOST_PANELS], title, figure))
    if any(has_travelled(ds) for ds in datasets):
        caption = "Path of the base with each law, from above and from the side."
        keep("Path", caption, draw_paths(names, datasets))
    return saved


def _defaults(datasets: Sequence[xr.Dataset]) -> list[Figure]:
    out: dict[str, Figure] = {}
    for ds in datasets:
        for figure in default_figures(ds):
            if figure.title in _WORTH:
                out.setdefault(figure.title, figure)
    return [out[t] for t in _WORTH if t in out]


#: panels of the key plot of a page
KEY_PANELS = 3


def key_plot(
    names: Sequence[str], datasets: Sequence[xr.Dataset], figures: Sequence[Figure]
) -> PagePlot | None:
    """The first quantities over time for a page, a curve per law; the mean where there are many
    wheels."""
    own = [f for f in figures if f.against is None] or _defaults(datasets)
    found: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    for figure in own:
        for quantity in quantities(datasets, figure)[0]:
            found.setdefault((quantity.variable, quantity.picks), quantity)
    shown = [q for q in found.values() if any(np.ptp(c.mean) > 0 for c in q.curves)][:KEY_PANELS]
    times = [c.time for q in shown for c in q.curves]
    if not times:
        return None
    panels = []
    for quantity in shown:
        curves = []
        for curve in quantity.curves:
            smooth = moving_mean(curve.mean)
            values = curve.mean if smooth is None else smooth
            dash, colour = _DASHES[(curve.law // len(OTHERS)) % 3], OTHERS[curve.law % len(OTHERS)]
            if len(names) <= BANDS and quantity.count > 1:
                time, low = thinned(curve.time, _begun(curve.low))
                same, high = thinned(curve.time, _begun(curve.high))
                high = np.interp(time, same, high)
                curves.append(PageCurve("", time, low, colour, upper=high))
            line = thinned(curve.time, _begun(values))
            # where curves coincide the earlier ones show as a rim
            width = max(1.2, 2.4 - 0.4 * curve.law)
            curves.append(PageCurve(names[curve.law], *line, colour, width, dash))
        panels.append(PagePanel(_label(quantity).replace("\n", " "), tuple(curves)))
    limits = (float(min(t[0] for t in times)), float(max(t[-1] for t in times)))
    return PagePlot("Key plots", tuple(panels), "time [s]", limits)


# --- what is drawn


def quantities(
    datasets: Sequence[xr.Dataset], figure: Figure
) -> tuple[list[Quantity], dict[str, set[int]]]:
    """The panels of a figure over all laws, and which quantity which laws do not have."""
    found: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    missing: dict[str, set[int]] = {}
    for wanted in figure.panels:
        for k, ds in enumerate(datasets):
            groups: dict[tuple[str, tuple[str, ...]], list[Line]] = {}
            for name in wanted:
                try:
                    curves = lines(ds, name)
                except InputError:
                    curves = []
                if not any(np.isfinite(c.values).any() for c in curves):
                    missing.setdefault(name.split(".")[0], set()).add(k)
                    continue
                for curve in curves:
                    cut = cut_curve(curve, figure.start, figure.end)
                    if len(cut.time):  # a run may end before the figure begins
                        groups.setdefault((cut.variable, _rest(ds, cut)), []).append(cut)
            for key, some in groups.items():
                _add(found, key, ds, k, some)
    shown = {q.variable for q in found.values()}
    return list(found.values()), {n: laws for n, laws in missing.items() if n in shown}


def _rest(ds: xr.Dataset, curve: Line) -> tuple[str, ...]:
    """The labels of a curve that tell quantities apart: not its wheel, nor a wheel's motor."""
    wheels = [str(w) for w in ds["wheel"].values] if "wheel" in ds.coords else []
    motor = curve.variable in _OF_WHEELS
    return tuple(
        p
        for p in curve.picks
        if p not in wheels and not (motor and any(p.startswith(w) for w in wheels))
    )


def _add(
    found: dict[Any, Quantity], key: Any, ds: xr.Dataset, law: int, curves: Sequence[Line]
) -> None:
    values = np.stack([c.values for c in curves])
    known = np.isfinite(values)
    count = known.sum(axis=0)
    mean = np.where(
        count > 0, np.where(known, values, 0).sum(axis=0) / np.maximum(count, 1), np.nan
    )
    low = np.where(count > 0, np.where(known, values, np.inf).min(axis=0), np.nan)
    high = np.where(count > 0, np.where(known, values, -np.inf).max(axis=0), np.nan)
    if len(curves) == 1:
        # the very numbers that were recorded
        mean = low = high = values[0]
    if key not in found:
        name = long_name_of(ds, key[0])
        if len(name) > LONG:
            name = key[0].replace("_", " ")
        picks = key[1]
        if len(curves) == 1 and ds.sizes.get("wheel", 0) > 1:
            picks = curves[0].picks
        found[key] = Quantity(key[0], picks, name, curves[0].units)
    quantity = found[key]
    quantity.count = max(quantity.count, len(curves))
    single = [(_wheel_of(ds, c), c.values) for c in curves] if len(curves) > 1 else []
    quantity.curves.append(Curve(law, curves[0].time, mean, low, high, single))


def _wheel_of(ds: xr.Dataset, curve: Line) -> str:
    """The wheel a curve belongs to."""
    wheels = [str(w) for w in ds["wheel"].values]
    return next(w for w in wheels if any(p == w or p.startswith(w) for p in curve.picks))


# --- drawing


def draw(names: Sequence[str], panels: Sequence[Quantity], title: str, figure: Figure) -> Canvas:
    """Panels below each other over time, a curve per law."""
    canvas, axes = sheet(title, [1.85] * len(panels))
    bands = len(names) <= BANDS
    for ax, quantity in zip(axes, panels, strict=True):
        for curve in quantity.curves:
            style = look(curve.law)
            if bands and quantity.count > 1:
                time, low = thinned(curve.time, _begun(curve.low))
                same, high = thinned(curve.time, _begun(curve.high))
                ax.fill_between(
                    time, low, np.interp(time, same, high), color=style["color"], alpha=0.13,
                    linewidth=0, zorder=1,
                )  # fmt: skip
            _plot(ax, curve.time, curve.mean, style, len(names), curve.law)
        ax.set_ylabel(_label(quantity), fontsize=FONT)
        scale_ordinate(ax, [_line(c, quantity) for c in quantity.curves])
        _room(ax)
    _name_laws(axes[0], names)
    start = min((c.time[0] for q in panels for c in q.curves), default=0.0)
    end = max((c.time[-1] for q in panels for c in q.curves), default=1.0)
    start = start if figure.start is None else figure.start
    end = end if figure.end is None else figure.end
    if end > start:
        axes[-1].set_xlim(start, end)
    axes[-1].set_xlabel("time [s]", fontsize=FONT)
    return canvas


def _plot(
    ax: Axes, time: np.ndarray, values: np.ndarray, style: dict[str, Any], laws: int, law: int
) -> None:
    """A curve, pale below its moving mean where it is mostly jitter."""
    values = _begun(values)
    steady = moving_mean(values)
    if steady is not None:
        pale = {"color": style["color"], "alpha": 0.22, "linewidth": 0.7, "zorder": 1.5}
        ax.plot(*thinned(time, values), **pale)
        values = steady
    time, values = thinned(time, values)
    if style.get("marker"):
        style = {**style, "markevery": _every(len(time), law, laws)}
    ax.plot(time, values, **style)


def moving_mean(values: np.ndarray) -> np.ndarray | None:
    """The moving mean of a curve that is mostly jitter; None for one that is not."""
    count = len(values)
    if count < 80 or not np.isfinite(values).all():
        return None
    steps = np.diff(values)
    turns = np.sum(steps[1:] * steps[:-1] < 0) / len(steps)
    half = max(count // 80, 1)
    padded = np.pad(values, half, mode="reflect")
    mean = np.convolve(padded, np.full(2 * half + 1, 1 / (2 * half + 1)), mode="valid")
    jitter = float(np.std(values - mean))
    if turns < 1 / 3 or jitter < np.std(mean) or jitter < NOISE:
        return None
    return mean


def _begun(values: np.ndarray) -> np.ndarray:
    """Without a first record of zero, made before any force was there."""
    rest = values[1:]
    if len(values) > 3 and values[0] == 0 and (np.all(rest > 0) or np.all(rest < 0)):
        return np.concatenate([values[1:2], rest])
    return values


def _room(ax: Axes) -> None:
    """A curve that hardly changes is not blown up."""
    low, high = ax.get_ylim()
    middle = (low + high) / 2
    if 0 < high - low < 0.06 * abs(middle) and ax.get_yscale() == "linear":
        ax.set_ylim(middle - 0.05 * abs(middle), middle + 0.05 * abs(middle))


def draw_by_wheel(
    names: Sequence[str], rows: Sequence[Quantity], title: str, figure: Figure
) -> Canvas:
    """A row per quantity, a column per wheel, a curve per law."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    wheels = list(dict.fromkeys(w for q in rows for c in q.curves for w, _ in c.single))
    size = (1.4 + min(2.1, 8.6 / len(wheels)) * len(wheels) + 1.2, 0.75 + 1.75 * len(rows))
    canvas = Canvas(figsize=size, layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(len(rows), len(wheels), squeeze=False, sharex=True, sharey="row")
    for i, quantity in enumerate(rows):
        for curve in quantity.curves:
            style = {**look(curve.law), "marker": None, "linewidth": 1.2}
            for wheel, values in curve.single:
                ax = axes[i][wheels.index(wheel)]
                _plot(ax, curve.time, values, style, len(names), curve.law)
        for j, ax in enumerate(axes[i]):
            plain(ax)
            ax.tick_params(labelsize=FONT - 2)
            if i == 0:
                ax.set_title(wheels[j], fontsize=FONT, color="#333333")
        unit = unit_text(quantity.units)
        words = " ".join([quantity.name, *quantity.picks])
        axes[i][0].set_ylabel(wrap(f"{words} [{unit}]" if unit else words, 18), fontsize=FONT - 1)
        axes[i][0].yaxis.set_label_coords(-0.29, 0.5)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", fontsize=FONT - 1)
    if figure.start is not None or figure.end is not None:
        axes[0][0].set_xlim(figure.start, figure.end)
    handles = [Line2D([], [], label=n, **{**look(k), "marker": None}) for k, n in enumerate(names)]
    canvas.legend(
        handles=handles, loc="outside right upper", frameon=False, fontsize=FONT - 1.5,
        handlelength=1.8,
    )  # fmt: skip
    canvas.suptitle(title, fontsize=FONT + 3, fontweight="bold", x=0.01, ha="left")
    return canvas


def _every(count: int, law: int, laws: int) -> Any:
    """Seven marks along a curve, each law's at other places."""
    step = max(count // 7, 1)
    return (int((law + 0.5) * step / max(laws, 1)), step)


def _line(curve: Curve, quantity: Quantity) -> Line:
    return Line("", curve.time, curve.mean, quantity.units, quantity.variable, quantity.picks)


def _label(quantity: Quantity) -> str:
    unit = unit_text(quantity.units)
    words = [quantity.name, *quantity.picks]
    text = " ".join(words) + (", mean" if quantity.count > 1 else "")
    return wrap(f"{text} [{unit}]" if unit else text)


def _name_laws(ax: Axes, names: Sequence[str]) -> None:
    for k, name in enumerate(names):
        ax.plot([], [], label=name, **look(k))
    legend(ax)


def _draw_against(
    names: Sequence[str], datasets: Sequence[xr.Dataset], figure: Figure
) -> Canvas | None:
    """Panels over another variable: the median of each law in bins of it."""
    assert figure.against is not None
    panels: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    across = None
    for k, ds in enumerate(datasets):
        try:
            x = cut_curve(lines(ds, figure.against)[0], figure.start, figure.end)
        except InputError:
            continue
        across = across or (ds, x)
        plain = figure.model_copy(update={"against": None})
        for quantity in quantities([ds], plain)[0]:
            key = (quantity.variable, quantity.picks)
            mine = panels.setdefault(
                key, Quantity(quantity.variable, quantity.picks, quantity.name, quantity.units)
            )
            mine.count = max(mine.count, quantity.count)
            bins = binned_medians(x.values, quantity.curves[0].mean)
            mine.curves.append(Curve(k, *bins, *bins))
    if across is None or not panels:
        return None
    canvas, axes = sheet(figure.title, [2.3] * len(panels))
    for ax, quantity in zip(axes, panels.values(), strict=True):
        for curve in quantity.curves:
            ax.plot(curve.time, curve.mean, **look(curve.law))
        ax.set_ylabel(_label(quantity), fontsize=FONT)
        scale_ordinate(ax, [_line(c, quantity) for c in quantity.curves])
    _name_laws(axes[0], names)
    ds, x = across
    unit = unit_text(x.units)
    label = " ".join([long_name_of(ds, x.variable), *x.picks])
    axes[-1].set_xlabel(f"{label} [{unit}]" if unit else label, fontsize=FONT)
    return canvas


def draw_paths(names: Sequence[str], datasets: Sequence[xr.Dataset]) -> Canvas:
    """The base's path under each law, from above (x, y) and from the side (x, z)."""
    paths = [ds["position_base"].transpose("time", "axis").values for ds in datasets]
    low = np.min([np.nanmin(p, axis=0) for p in paths], axis=0)
    high = np.max([np.nanmax(p, axis=0) for p in paths], axis=0)
    middle, span = (low + high) / 2, 1.12 * (high - low)
    width = max(span[0], span[1] / 0.75)
    depth = max(span[1], 0.25 * width)
    canvas, axes = sheet("Path", [SPAN * depth / width, 1.4])
    for ax, across in zip(axes, (1, 2), strict=True):
        for k, path in enumerate(paths):
            style = {**look(k), "marker": None}
            ax.plot(path[:, 0], path[:, across], **style)
            end = {**look(k), "markersize": 7.5, "linestyle": "none", "zorder": 5}
            ax.plot(path[-1, 0], path[-1, across], **end)
        ax.plot(*paths[0][0, [0, across]], "o", color="#222222", markersize=5, zorder=6)
        ax.set_ylabel(f"{'xyz'[across]} [m]", fontsize=FONT)
    dotted: dict[str, Any] = {"color": "#222222", "linewidth": 1.0, "linestyle": (0, (1, 1.6))}
    wanted = next((p for p in map(followed_paths, datasets) if p), [])
    for k, points in enumerate(wanted):
        label = "path to follow" if k == 0 else "_"
        axes[0].plot(points[:, 0], points[:, 1], zorder=4, label=label, **dotted)
    axes[0].annotate(
        "start", (paths[0][0, 0], paths[0][0, 1]), xytext=(-7, 3), textcoords="offset points",
        fontsize=FONT - 1.5, ha="right",
    )  # fmt: skip
    axes[0].set_xlim(middle[0] - width / 2, middle[0] + width / 2)
    axes[0].set_ylim(middle[1] - depth / 2, middle[1] + depth / 2)
    axes[-1].set_xlabel("x [m]", fontsize=FONT)
    _name_laws(axes[0], names)
    return canvas


def _caption(
    names: Sequence[str], panels: Sequence[Quantity], missing: dict[str, set[int]], figure: Figure
) -> str:
    parts = []
    if any(q.count > 1 for q in panels):
        text = "Mean of the wheels"
        parts.append(text + ("; the band covers the range of the wheels."
                             if len(names) <= BANDS else "."))  # fmt: skip
    for variable, laws in missing.items():
        if any(q.variable == variable for q in panels):
            without = ", ".join(names[k] for k in sorted(laws))
            parts.append(f"No {variable.replace('_', ' ')} under {without}.")
    if note := _jitter_note(panels):
        parts.append(note)
    if figure.note:
        parts.append(figure.note.rstrip(".") + ".")
    return " ".join(parts)


def _jitter_note(panels: Sequence[Quantity]) -> str:
    jitter = [c for q in panels for c in q.curves if moving_mean(c.mean) is not None]
    if not jitter:
        return ""
    time = jitter[0].time
    width = (2 * max(len(time) // 80, 1) + 1) * float(np.median(np.diff(time)))
    return f"Pale: as recorded; solid: mean over {width:.2g} s."
