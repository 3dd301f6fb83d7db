"""Plots inside a page: what the program `page_plots.js` draws, as plain data.

All plots over time share zoom and cursor; a track and plots against another variable have their
own. Arrays are 32-bit floats, each carried once however many plots show it. The page draws them as
SVG in the colours of its style, light, dark or printed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: colour of what is black on paper; light on a dark page
INK = "var(--ink)"


@dataclass(frozen=True)
class PageCurve:
    """A curve, or a cloud of points: values over x, and how it looks.

    dots: each value of the curve is marked. upper: what is between y and it is filled.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    width: float = 1.5
    dash: str = ""
    points: bool = False
    dots: bool = False
    upper: np.ndarray | None = None


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
    along: the cursor reads the values of all curves where it stands, as it does over time.
    x_ticks: values of x that have names.
    """

    title: str
    panels: tuple[PagePanel, ...]
    x_label: str
    x_limits: tuple[float, float]
    caption: str = ""
    linked: bool = True
    equal: bool = False
    along: bool = False
    x_ticks: tuple[tuple[float, str], ...] = ()


def plot_over(
    title: str, x_label: str, panels: Sequence[PagePanel], x_ticks: Sequence[tuple[float, str]] = ()
) -> PagePlot | None:
    """Panels over anything but time, as wide as their curves go; None where nothing is known."""
    known = [c.x[np.isfinite(c.x) & np.isfinite(c.y)] for p in panels for c in p.curves]
    every = np.concatenate([np.zeros(0), *known])
    if not every.size:
        return None
    low, high = float(every.min()), float(every.max())
    room = 0.03 * (high - low) or 0.5
    limits = (low - room, high + room)
    return PagePlot(
        title, tuple(panels), x_label, limits, linked=False, along=True, x_ticks=tuple(x_ticks)
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
            "dots": c.dots, "upper": None if c.upper is None else of(c.upper),
        }  # fmt: skip

    made = [
        {
            "title": plot.title, "x_label": plot.x_label, "x_limits": plot.x_limits,
            "linked": plot.linked, "equal": plot.equal,
            "along": plot.along or plot.linked, "x_ticks": plot.x_ticks,
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
