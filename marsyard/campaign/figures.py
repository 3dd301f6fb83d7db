"""Figures of a study, drawn by default.

| study | figures |
| --- | --- |
| grid of two parameters | each output as a map; as curves where one of them has words |
| other grids and lists | each output against each parameter: mean and spread over the rest |
| drawn points | each output against each parameter, a dot per run; its histogram |
| limits of success | probability of success over a parameter, or maps (`success_figures`) |
| saltelli | Sobol indices with their intervals |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.campaign._drawing import (
    BLUE,
    ORANGE,
    RED,
    WRITTEN,
    Drawn,
    colour_bar,
    label,
    name_axes,
    numbers,
    save_all,
    sheet,
    word_ticks,
    write_cells,
)
from marsyard.campaign.maps import drawn as are_drawn
from marsyard.campaign.sensitivity import column, parameters_of, places, strongest
from marsyard.campaign.study_file import StudyFile
from marsyard.campaign.success_figures import success_figures
from marsyard.drawing.colours import robust_limits
from marsyard.drawing.page import capital
from marsyard.drawing.sheet import FONT, FigureFile, wrap
from marsyard.results.study_checks import outputs_of
from marsyard.results.study_map import edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: parameters, and outputs, side by side in one figure
_WIDE, _HIGH = 4, 5
#: words up to which each has a curve of its own
_CURVES = 8


def save_figures(ds: xr.Dataset, study: StudyFile, folder: Path) -> list[FigureFile]:
    """Draw the figures of a study as PNG files."""
    return save_all(_titled(draw_all(ds, study)), folder)


def _titled(figures: Iterable[Drawn]) -> Iterator[Drawn]:
    """Figures with their titles written above them."""
    for title, caption, canvas in figures:
        canvas.suptitle(title, x=0.01, ha="left", fontsize=FONT + 3, fontweight="bold")
        yield title, caption, canvas


def draw_all(ds: xr.Dataset, study: StudyFile) -> Iterator[Drawn]:
    """Title, caption and figure, one after the other."""
    names = parameters_of(ds)
    drawn = are_drawn(ds)
    if not _numbered(ds):
        return
    if study.design.kind == "grid" and len(names) == 2:
        for output in _numbered(ds):
            yield _over_two(ds, output, *names)
    else:
        yield _against(ds, names, drawn)
    if drawn:
        yield _histograms(ds, study)
    if "succeeded" in ds:
        yield from success_figures(ds, names)
    if "sobol_first" in ds and np.isfinite(ds["sobol_first"]).any():
        yield _bars(ds)


# --- outputs


def _numbered(ds: xr.Dataset) -> list[str]:
    """Outputs of which some run has a number."""
    return [name for name in outputs_of(ds) if np.isfinite(ds[name].values).any()]


def _against(ds: xr.Dataset, names: list[str], drawn: bool) -> Drawn:
    """Outputs, one below the other, against parameters side by side."""
    outputs = _numbered(ds)[:_HIGH]
    shown = names
    if len(names) > _WIDE:
        shown = strongest(ds, column(ds, outputs[0]).astype(float), names)[:_WIDE]
    width = max(4.5, 2.6 * len(shown) + 0.8)
    canvas, panels = sheet(len(outputs), len(shown), width, 2.3 * len(outputs) + 0.5)
    for row, output in enumerate(outputs):
        y = column(ds, output).astype(float)
        for k, name in enumerate(shown):
            ax, x = panels[row, k], places(column(ds, name))
            (_dots if drawn else _spread)(ax, ds, x, y)
            word_ticks(ax, ds, name)
            if k == 0:
                ax.set_ylabel(wrap(label(ds, output)), fontsize=FONT)
            if row == len(outputs) - 1:
                ax.set_xlabel(wrap(label(ds, name), 30), fontsize=FONT)
    caption = (
        "Each dot is a run" + ("; blue: success, red: failure." if "succeeded" in ds else ".")
        if drawn
        else "Mean over the runs at each value; the band covers all runs."
    )
    if len(names) > len(shown):
        caption += (
            f" The {_WIDE} of {len(names)} parameters with the greatest influence on the "
            f"first output."
        )
    if (column(ds, "completed") != 1).any():
        caption += " Crosses at the bottom: runs that failed."
    return "Outputs against parameters", caption, canvas


def _dots(ax: Axes, ds: xr.Dataset, x: np.ndarray, y: np.ndarray) -> None:
    size = float(np.clip(1200 / max(x.size, 1), 2, 18))
    look: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.75, "rasterized": True}
    if "succeeded" in ds:
        good = column(ds, "succeeded") == 1
        ax.scatter(x[~good], y[~good], color=RED, **look)
        ax.scatter(x[good], y[good], color=BLUE, **look)
    else:
        ax.scatter(x, y, color=BLUE, **look)
    _crosses(ax, ds, x)


def _spread(ax: Axes, ds: xr.Dataset, x: np.ndarray, y: np.ndarray) -> None:
    good = np.isfinite(y)
    if good.any():
        at = np.unique(x[good])
        groups = [y[good & (x == v)] for v in at]
        low, high = ([f(g) for g in groups] for f in (np.min, np.max))
        ax.fill_between(at, low, high, color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(at, [g.mean() for g in groups], "o-", color=BLUE, markersize=3.5, linewidth=1.3)
    _crosses(ax, ds, x)


def _crosses(ax: Axes, ds: xr.Dataset, x: np.ndarray) -> None:
    lost = column(ds, "completed") != 1
    if lost.any():
        ax.plot(
            x[lost], np.full(int(lost.sum()), 0.02), "x", color=RED, markersize=4,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip


def _over_two(ds: xr.Dataset, output: str, a: str, b: str) -> Drawn:
    """An output over a grid of two: curves where one has few words and the other numbers."""
    words = [name for name in (a, b) if ds[name].dtype.kind not in "fiu"]
    if len(words) == 1 and ds.sizes[words[0]] <= _CURVES:
        return _curves(ds, output, b if words[0] == a else a, words[0])
    return _output_map(ds, output, a, b)


def _curves(ds: xr.Dataset, output: str, x: str, words: str) -> Drawn:
    canvas, panels = sheet(1, 1, 7.0, 3.8)
    ax = panels[0, 0]
    caption = ""
    for k, word in enumerate(ds[words].values):
        array = ds[output].sel({words: word})
        if "replica" in array.dims:
            low, high = array.min("replica").values, array.max("replica").values
            ax.fill_between(ds[x].values, low, high, color=f"C{k}", alpha=0.15, linewidth=0)
            array, caption = array.mean("replica"), "Mean over replicas, with their range. "
        ax.plot(ds[x].values, array.values, "o-", color=f"C{k}", markersize=3.5, label=str(word))
    ax.set_xlabel(label(ds, x), fontsize=FONT)
    ax.set_ylabel(label(ds, output), fontsize=FONT)
    ax.legend(title=label(ds, words), frameon=False, fontsize=FONT - 1, title_fontsize=FONT - 1)
    if np.isnan(ds[output].values).any():
        caption += "Points without a value are left out."
    title = str(ds[output].attrs["long_name"])
    return capital(title), caption.strip(), canvas


def _output_map(ds: xr.Dataset, output: str, x: str, y: str) -> Drawn:
    array = ds[output]
    more = ""
    if "replica" in array.dims:
        array, more = array.mean("replica"), " Mean over the replicas."
    values = array.transpose(y, x).values
    canvas, ax, drawn = _map(ds, values, x, y)
    colour_bar(canvas, ax, drawn, label(ds, output))
    title = str(ds[output].attrs["long_name"])
    empty = "Cells without colour have no value." if np.isnan(values).any() else ""
    return capital(title), f"{empty}{more}".strip(), canvas


def _map(ds: xr.Dataset, values: np.ndarray, x: str, y: str) -> Any:
    """A map over two parameters of a grid."""
    canvas, panels = sheet(1, 1, 6.4, 4.4)
    ax = panels[0, 0]
    ax.grid(False)
    borders: dict[str, np.ndarray] = {}
    for name, dim in ((x, 1), (y, 0)):
        at = places(ds[name].values)
        order = np.argsort(at)
        values = np.take(values, order, axis=dim)
        borders[name] = edges(at[order])
    shown = np.ma.masked_invalid(values)
    low, high = robust_limits(np.ma.filled(shown, np.nan))
    drawn = ax.pcolormesh(borders[x], borders[y], shown, cmap="viridis", vmin=low, vmax=high)
    if values.size <= WRITTEN:
        write_cells(ax, borders[x], borders[y], values, drawn, numbers(values))
    name_axes(ax, ds, x, y)
    return canvas, ax, drawn


def _histograms(ds: xr.Dataset, study: StudyFile) -> Drawn:
    outputs = _numbered(ds)[:_HIGH]
    canvas, panels = sheet(1, len(outputs), max(4.5, 2.8 * len(outputs) + 0.5), 2.6)
    for ax, output in zip(panels[0], outputs, strict=True):
        values = column(ds, output).astype(float)
        values = values[np.isfinite(values)]
        if values.size:
            ax.hist(values, bins=int(np.clip(np.sqrt(values.size), 5, 40)), color=BLUE, alpha=0.6)
            for share, dash in ((0.05, ":"), (0.5, "-"), (0.95, ":")):
                ax.axvline(float(np.quantile(values, share)), color="#222222", lw=1, ls=dash)
        for limit in study.success:
            if limit.output == ds[output].attrs["long_name"]:
                for end in (limit.at_least, limit.at_most):
                    if end is not None:
                        ax.axvline(end, color=RED, lw=1.2)
        ax.set_xlabel(wrap(label(ds, output), 30), fontsize=FONT)
    panels[0, 0].set_ylabel("runs", fontsize=FONT)
    lines = "Lines: 5th, 50th and 95th percentile"
    return "Distribution of outputs", lines + ("; red: limits." if study.success else "."), canvas


# --- sensitivity


def _bars(ds: xr.Dataset) -> Drawn:
    """First and total indices of all parameters, a panel per output."""
    outputs = [o for o in _numbered(ds) if np.isfinite(ds["sobol_first"].sel(output=o)).any()]
    outputs = outputs[:_HIGH]
    names = [str(p) for p in ds["parameter"].values]
    width = max(4.5, (0.5 * len(names) + 1.2) * len(outputs))
    canvas, panels = sheet(1, len(outputs), min(width, 12), 3.2)
    at = np.arange(len(names))
    for ax, output in zip(panels[0], outputs, strict=True):
        one = ds.sel(output=output)
        for shift, key, colour, text in (
            (-0.2, "sobol_first", BLUE, "first order"),
            (0.2, "sobol_total", ORANGE, "total"),
        ):
            ax.bar(
                at + shift, one[key].values, 0.38, yerr=one[f"{key}_conf"].values, color=colour,
                ecolor="#555555", capsize=2, label=text,
            )  # fmt: skip
        labels = [wrap(str(ds[n].attrs.get("long_name", n)), 12) for n in names]
        ax.set_xticks(at, labels, fontsize=FONT - 1, rotation=0 if len(names) <= 4 else 45)
        ax.set_title(str(ds[output].attrs["long_name"]), fontsize=FONT)
    ends = np.array([ax.get_ylim() for ax in panels[0]])
    for ax in panels[0]:
        ax.set_ylim(min(0.0, ends.min()), max(1.0, ends.max()))
    panels[0, 0].set_ylabel("Sobol index", fontsize=FONT)
    panels[0, -1].legend(frameon=False, fontsize=FONT - 1)
    caption = "Share of an output's variance: of a parameter by itself, and with all it does "
    return "Sensitivity", caption + "together with others; 95 % intervals.", canvas
