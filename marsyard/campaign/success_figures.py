"""Figures of the probability of success: a curve over one parameter, maps over pairs.

Beside a map stands how wide the interval of each cell is. Where each cell of a grid is one run,
which would come out the same again, the map says yes or no.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.campaign._drawing import (
    BLUE,
    WRITTEN,
    Drawn,
    colour_bar,
    label,
    name_axes,
    numbers,
    sheet,
    word_ticks,
    write_cells,
)
from marsyard.campaign.maps import SuccessMap, drawn, success_map
from marsyard.campaign.sensitivity import column, strongest
from marsyard.drawing.sheet import FONT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: red to blue, which all can tell apart
_COLOURS = "RdYlBu"


def success_figures(ds: xr.Dataset, names: list[str]) -> Iterator[Drawn]:
    """Title, caption and figure, over the parameters called `names`."""
    good = column(ds, "succeeded").astype(float)
    if len(names) == 1:
        yield _curve(ds, success_map(ds, names[0]))
        return
    chosen = names if len(names) <= 3 else sorted(strongest(ds, good, names)[:3], key=names.index)
    for x, y in itertools.combinations(chosen, 2):
        yield _map(ds, success_map(ds, x, y))


def _failed(ds: xr.Dataset) -> str:
    lost = int((ds["completed"].values != 1).sum())
    if not lost:
        return ""
    runs = "1 run with an error counts" if lost == 1 else f"{lost} runs with an error count"
    return f" {runs} as failures."


def _certain(ds: xr.Dataset, found: SuccessMap) -> bool:
    """Whether each cell is one run that nothing random is in."""
    return not drawn(ds) and int(found.runs.max()) == 1


def _curve(ds: xr.Dataset, found: SuccessMap) -> Drawn:
    canvas, panels = sheet(1, 1, 7.0, 3.2)
    ax = panels[0, 0]
    seen = found.runs > 0
    middle = ((found.x.borders[1:] + found.x.borders[:-1]) / 2)[seen]
    ax.set_xlabel(label(ds, found.x.name), fontsize=FONT)
    word_ticks(ax, ds, found.x.name)
    ax.set_ylim(-0.05, 1.05)
    if _certain(ds, found):
        ax.plot(middle, found.good[seen], "o", color=BLUE, markersize=5)
        ax.set_yticks([0, 1], ["no", "yes"])
        ax.set_ylabel("succeeded", fontsize=FONT)
        return "Success", f"Each dot is a run.{_failed(ds)}", canvas
    low, high = found.low[seen], found.high[seen]
    ax.fill_between(middle, low, high, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(middle, found.probability[seen], "o-", color=BLUE, markersize=4)
    ax.set_ylabel("probability of success", fontsize=FONT)
    caption = f"Band: 95 % interval (Clopper and Pearson), {_runs(found)}.{_failed(ds)}"
    return "Probability of success", caption, canvas


def _runs(found: SuccessMap) -> str:
    low, high = int(found.runs[found.runs > 0].min()), int(found.runs.max())
    many = f"{low}" if low == high else f"{low} to {high}"
    return f"{many} run{'s' if high > 1 else ''} each"


def _map(ds: xr.Dataset, found: SuccessMap) -> Drawn:
    assert found.y is not None
    certain = _certain(ds, found)
    canvas, panels = sheet(1, 1 if certain else 2, 7.0 if certain else 10.5, 4.2)
    p = found.probability
    texts = np.where(p > 0.5, "yes", "no") if certain else _counts(found)
    bar = "" if certain else "probability of success"
    _cells(canvas, panels[0, 0], ds, found, p, texts, _COLOURS, bar)
    words = [str(ds[n].attrs["long_name"]) for n in (found.x.name, found.y.name)]
    over = f"over {words[0]} and {words[1]}"
    if certain:
        return f"Success {over}", f"A cell is a run.{_failed(ds)}", canvas
    width = found.high - found.low
    _cells(
        canvas, panels[0, 1], ds, found, width, numbers(width), "Greys",
        "width of its 95 % interval",
    )  # fmt: skip
    caption = (
        "Left: share of successful runs in each cell, and their number. Right: width of the 95 % "
        f"interval (Clopper and Pearson); 1: no information.{_failed(ds)}"
    )
    return f"Probability of success {over}", caption, canvas


def _counts(found: SuccessMap) -> np.ndarray:
    shares = numbers(found.probability)
    texts = np.empty(found.runs.shape, dtype=object)
    for at in np.ndindex(texts.shape):
        texts[at] = f"{shares[at]}\n{found.good[at]} of {found.runs[at]}"
    return texts


def _cells(
    canvas: Canvas, ax: Axes, ds: xr.Dataset, found: SuccessMap, values: np.ndarray,
    texts: np.ndarray, colours: Any, bar: str,
) -> None:  # fmt: skip
    """A map of the cells, with a bar of colours if it has a name."""
    assert found.y is not None
    x, y = found.x.borders, found.y.borders
    ax.grid(False)
    drawn_cells = ax.pcolormesh(
        x, y, np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, edgecolors="white",
        linewidth=0.3,
    )  # fmt: skip
    if bar:
        colour_bar(canvas, ax, drawn_cells, bar)
    if values.size <= WRITTEN:
        write_cells(ax, x, y, values, drawn_cells, texts)
    name_axes(ax, ds, found.x.name, found.y.name)
