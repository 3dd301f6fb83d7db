"""Drawing helpers for figures of campaigns: sheets, labels, maps of cells."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr

from marsyard.campaign.sensitivity import column
from marsyard.drawing.colours import bar_ends
from marsyard.drawing.page import number
from marsyard.drawing.sheet import FONT, FigureFile, frame, save_png, slug, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: a figure with its title and caption: title, caption, figure
Drawn: TypeAlias = "tuple[str, str, Canvas]"
#: good is blue and bad is red, which all can tell apart
BLUE, RED, GREY, ORANGE = "#2b5fc0", "#b42318", "#8a8a8a", "#d55e00"
#: cells up to which their numbers are written into them
WRITTEN = 150
#: least width of a figure [inch]: reports show all of them equally wide
WIDTH = 7.0


def sheet(rows: int, columns: int, width: float, height: float) -> tuple[Canvas, np.ndarray]:
    """A figure of rows × columns of panels, at least `WIDTH` wide [inch]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(max(width, WIDTH), height), layout="constrained")
    FigureCanvasAgg(canvas)
    panels = canvas.subplots(rows, columns, squeeze=False)
    for ax in panels.flat:
        frame(ax)
    return canvas, panels


def save_all(drawn: Iterable[Drawn], folder: Path) -> list[FigureFile]:
    """Save figures as PNG files, numbered in their order."""
    saved = []
    for index, (title, caption, canvas) in enumerate(drawn, 1):
        path = folder / f"{index:02d}-{slug(title)}.png"
        saved.append(FigureFile(title, caption, save_png(canvas, path, 130)))
    return saved


def label(ds: xr.Dataset, name: str) -> str:
    """'friction angle [°]'."""
    attrs = ds[name].attrs
    return with_unit(str(attrs.get("long_name", name)), str(attrs.get("units", "")))


def word_ticks(ax: Axes, ds: xr.Dataset, name: str, axis: str = "x") -> None:
    """Words of a parameter where its values stand."""
    values = column(ds, name)
    if values.dtype.kind in "fiu":
        return
    words = list(dict.fromkeys(str(v) for v in values.tolist()))
    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_ticks(range(len(words)), words)


def colour_bar(canvas: Canvas, ax: Axes, drawn: Any, text: str) -> Any:
    """A bar of colours beside a map."""
    low, high = drawn.get_clim()
    ends = bar_ends(np.ma.filled(drawn.get_array(), np.nan), low, high)
    bar = canvas.colorbar(drawn, ax=ax, extend=ends)
    bar.set_label(text, fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT - 1)
    bar.outline.set_visible(False)
    return bar


def name_axes(ax: Axes, ds: xr.Dataset, x: str, y: str) -> None:
    """Names of two parameters at a map, and their words."""
    ax.set_xlabel(label(ds, x), fontsize=FONT)
    ax.set_ylabel(label(ds, y), fontsize=FONT)
    word_ticks(ax, ds, x)
    word_ticks(ax, ds, y, "y")


def write_cells(
    ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, drawn: Any, texts: np.ndarray
) -> None:
    """A text in each cell that has a value, dark on light and light on dark."""
    for j, i in np.argwhere(np.isfinite(values)):
        r, g, b, _ = drawn.cmap(drawn.norm(values[j, i]))
        light = 0.3 * r + 0.6 * g + 0.1 * b > 0.55
        ax.text(
            (x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2, texts[j, i],
            ha="center", va="center", fontsize=FONT - 2, color="#1d2329" if light else "white",
        )  # fmt: skip


def numbers(values: np.ndarray) -> np.ndarray:
    """Values as texts of three digits."""
    return np.vectorize(lambda v: number(float(v), 3), otypes=[object])(values)
