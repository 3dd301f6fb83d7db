"""Layout of figures: stacked panels below a title, plain frames, legends at the side."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.files.replacing import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

FONT = 9
WIDTH, LEFT, SPAN = 8.6, 0.95, 6.45  # of a figure, its left margin and its panels [inch]
_LINES = 13  # of names beside a panel
_UNITS = {"N s": "N·s", "N m s": "N·m·s", "N m": "N·m", "deg": "°", "1": "", "": ""}


@dataclass(frozen=True)
class FigureFile:
    """A figure on disk."""

    title: str
    caption: str
    path: Path


def sheet(title: str, heights: Sequence[float]) -> tuple[Canvas, list[Axes]]:
    """A titled sheet with panels of the given heights [inch], all at the same place sideways."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    top, bottom, between = 0.55, 0.5, 0.28
    height = top + bottom + sum(heights) + between * (len(heights) - 1)
    canvas = Canvas(figsize=(WIDTH, height))
    FigureCanvasAgg(canvas)
    canvas.text(
        0.12 / WIDTH, 1 - 0.12 / height, title, va="top", fontsize=FONT + 3, fontweight="bold"
    )
    panels: list[Axes] = []
    y = height - top
    for h in heights:
        y -= h
        place = (LEFT / WIDTH, y / height, SPAN / WIDTH, h / height)
        panels.append(canvas.add_axes(place, sharex=panels[0] if panels else None))
        y -= between
    for ax in panels:
        plain(ax)
        ax.tick_params(labelbottom=ax is panels[-1])
    return canvas, panels


def legend(ax: Axes, title: str = "") -> None:
    """Names of the curves beside the panel."""
    handles, labels, columns = _fitting(*ax.get_legend_handles_labels())
    ax.legend(
        handles, labels, loc="upper left",
        bbox_to_anchor=(1.005, 1.04), frameon=False, fontsize=FONT - 1.5, handlelength=1.8,
        labelspacing=0.3, borderaxespad=0.2, columnspacing=0.8, handletextpad=0.5,
        ncols=columns, title=wrap(title, 16) or None, title_fontsize=FONT - 1.5,
        alignment="left",
    )  # fmt: skip


def _fitting(handles: list[Any], labels: list[str]) -> tuple[list[Any], list[str], int]:
    """As many names as there is room for beside a panel, and in how many columns: short ones go
    into several, of long ones that take too many lines the rest is counted."""
    from matplotlib.lines import Line2D

    folded = [fold(label) for label in labels]
    if max(map(len, labels), default=0) <= 7:
        return handles, folded, 1 + len(labels) // _LINES
    ends = list(accumulate(1 + text.count("\n") for text in folded))
    if ends[-1] <= _LINES:
        return handles, folded, 1
    kept = sum(end < _LINES for end in ends)
    blank = Line2D([], [], linestyle="none")
    return [*handles[:kept], blank], [*folded[:kept], f"and {len(labels) - kept} more"], 1


def plain(ax: Axes) -> None:
    """A light frame, and the label of the ordinate where those of other panels are."""
    frame(ax)
    ax.yaxis.set_label_coords(-0.085, 0.5)


def frame(ax: Axes) -> None:
    """A light frame: thin rules behind the data, no box."""
    ax.grid(True, color="#e4e4e4", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#8a8a8a")
    ax.tick_params(labelsize=FONT - 1, color="#8a8a8a")


def unit_text(units: str) -> str:
    """A unit as it is written on an axis."""
    return _UNITS.get(units, units)


def with_unit(text: str, units: str) -> str:
    """'friction angle [°]'; the text alone for what has no unit."""
    unit = unit_text(units)
    return f"{text} [{unit}]" if unit else text


def wrap(text: str, width: int = 24) -> str:
    """Break a long axis label into two lines near its middle."""
    if len(text) <= width or " " not in text:
        return text
    spaces = [m.start() for m in re.finditer(" ", text)]
    middle = min(spaces, key=lambda i: abs(i - len(text) / 2))
    return text[:middle] + "\n" + text[middle + 1 :]


def fold(text: str, width: int = 15) -> str:
    """Break the name of a curve into lines that fit beside a panel."""
    words = " ".join(_parted(word, width - 1) for word in text.split())
    lines = [line for part in words.split("\n") for line in
             textwrap.wrap(part, width, break_long_words=False)]  # fmt: skip
    return "\n".join(lines) or text


def _parted(word: str, width: int) -> str:
    """A long name of a joint in lines, broken behind underscores and before capitals."""
    lines = [""]
    for part in re.split(r"(?<=_)|(?<=[a-z0-9])(?=[A-Z])", word) if len(word) > width else [word]:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


#: kinds of files for figures
FORMATS = ("png", "svg", "pdf")


def save_png(canvas: Canvas, path: Path, dpi: int) -> Path:
    """Write a figure, whole or not at all: PNG, or as the path ends."""
    kind = path.suffix.lstrip(".")
    with replacing(path) as part:
        canvas.savefig(part, format=kind if kind in FORMATS else "png", dpi=dpi)
    return path


def slug(title: str) -> str:
    """A title as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "figure"
