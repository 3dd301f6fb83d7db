"""Pictures of a traction map: verdicts, roses of headings, pull, tilt; and of a path's profile.

Verdicts lie over the ground's hillshade, lit from the north-west. A cell's best verdict is that of
its easiest heading, its worst that of its hardest. A rose has one sector per heading, pointing
there, in the colour of its verdict; so its opening is where the rover may drive.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.traction_map.maps import NO_GO, OUTSIDE, VERDICTS
from marsyard.drawing.sheet import FONT, FigureFile, save_png, sheet

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: go, hard, no-go, outside; told apart by colour-blind eyes, too
COLOURS = ("#2a9d8f", "#f2b134", "#b3261e", "#c8c8c8")
_DPI = 130
_MOST_ROSES = 1200
_INK, _SOFT = "#1d2329", "#5c6670"


def save_figures(found: xarray.Dataset, folder: Path | str) -> list[FigureFile]:
    """Draw a traction map into a folder."""
    folder = Path(folder)
    drawn = [
        ("Verdicts", "verdicts", "Best and worst verdict over all headings.", draw_verdicts),
        ("Headings", "headings", "Verdict of each heading.", draw_headings),
        ("Pull and tilt", "pull-and-tilt", "Smallest pull, greatest tilt, smallest tip-over angle "
                                           "and greatest friction demand over all headings."
         "", draw_numbers),
    ]  # fmt: skip
    if found.sizes["x"] * found.sizes["y"] <= _MOST_ROSES:
        drawn.append(("Roses", "roses", "A sector per heading in every cell.", draw_roses))
    return [
        FigureFile(title, text, save_png(draw(found), folder / f"{name}.png", _DPI))
        for title, name, text, draw in drawn
    ]


def draw_verdicts(found: xarray.Dataset) -> Figure:
    """Best and worst verdict of each cell."""
    canvas, panels = _maps(found, f"{found.attrs['title']}: verdict", 1, 2)
    verdict = found["verdict"].to_numpy()
    # a cell that is outside in one heading is in all
    for ax, values, text in (
        (panels[0], verdict.min(axis=2), "best heading"),
        (panels[1], verdict.max(axis=2), "worst heading"),
    ):
        _paint(ax, found, values)
        shares = [np.mean(values[values != OUTSIDE] == k) for k in range(3)]
        listed = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip(VERDICTS, shares, strict=False)
            if not math.isnan(share)
        )
        ax.set_title(f"{text}: {listed}", fontsize=FONT, loc="left")
    _legend(canvas)
    return canvas


def draw_headings(found: xarray.Dataset) -> Figure:
    """Verdict of each cell, a panel for each heading."""
    headings = found["heading"].to_numpy()
    columns = min(4, len(headings))
    rows = math.ceil(len(headings) / columns)
    title = f"{found.attrs['title']}: verdict by heading"
    canvas, panels = _maps(found, title, rows, columns)
    for k, ax in enumerate(panels):
        if k >= len(headings):
            ax.set_axis_off()
            continue
        _paint(ax, found, found["verdict"].to_numpy()[:, :, k])
        ax.set_title(f"{math.degrees(headings[k]):.0f}°", fontsize=FONT, loc="left")
        _arrow(ax, float(headings[k]))
    _legend(canvas)
    return canvas


def draw_roses(found: xarray.Dataset) -> Figure:
    """A rose of verdicts in every cell."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Wedge

    canvas, (ax,) = _maps(found, f"{found.attrs['title']}: verdict by heading", 1, 1, wide=7.0)
    _hillshade(ax, found)
    x, y = found["x"].to_numpy(), found["y"].to_numpy()
    heading, verdict = np.degrees(found["heading"].to_numpy()), found["verdict"].to_numpy()
    radius, half = 0.45 * _spacing(found), 180 / len(heading)
    for kind, colour in enumerate(COLOURS[:3]):
        sectors = [
            Wedge((x[i], y[j]), radius, heading[k] - half, heading[k] + half)
            for j, i, k in np.argwhere(verdict == kind)
        ]
        ax.add_collection(PatchCollection(sectors, facecolor=colour, linewidth=0, alpha=0.85))
    _legend(canvas)
    return canvas


def draw_numbers(found: xarray.Dataset) -> Figure:
    """The hardest number of each cell over its headings."""
    friction = found.attrs["friction"]
    title = f"{found.attrs['title']}: most demanding heading, friction {friction:g}"
    canvas, panels = _maps(found, title, 2, 2, bars=True)
    demand = found["friction_demand"].to_numpy()
    parts = (
        ("pull [weight]", _hardest(found["traction_ratio"].to_numpy(), np.nanmin),
         "viridis", 0.0, max(friction, 0.1)),
        ("tilt [°]", np.degrees(_hardest(found["tilt"].to_numpy(), np.nanmax)),
         "inferno_r", 0.0, math.degrees(found.attrs["limit_tilt"])),
        ("tip-over angle [°]", np.degrees(_hardest(found["margin"].to_numpy(), np.nanmin)),
         "cividis", 0.0, 45.0),
        ("friction demand", _hardest(demand, np.nanmax), "inferno_r", 0.0, friction),
    )  # fmt: skip
    for ax, (text, values, colours, low, high) in zip(panels, parts, strict=True):
        shown = _image(ax, found, values, cmap=colours, vmin=low, vmax=high)
        under, over = np.nanmin(values, initial=low) < low, np.nanmax(values, initial=high) > high
        extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[under, over]
        bar = canvas.colorbar(shown, ax=ax, extend=extend, fraction=0.046, pad=0.03)
        bar.ax.tick_params(labelsize=FONT - 2)
        ax.set_title(text, fontsize=FONT, loc="left")
    return canvas


def draw_profile(along: xarray.Dataset) -> Figure:
    """Pull, friction demand, tilt and tip-over angle along a path, with verdicts below."""
    title = f"{along.attrs['title'].replace('map', 'along a path')}"
    canvas, panels = sheet(title, (1.7, 1.7, 0.35))
    s = along["distance"].to_numpy()
    first, second, band = panels
    first.plot(s, along["traction_ratio"], color=COLOURS[0], label="pull [weight]")
    first.plot(s, along["friction_demand"], color=COLOURS[2], label="demand")
    first.axhline(along.attrs["friction"], color=_SOFT, linewidth=0.8, linestyle="--")
    first.set_ylabel("pull, demand", fontsize=FONT)
    second.plot(s, np.degrees(along["tilt"]), color=_INK, label="tilt [°]")
    second.plot(s, np.degrees(along["margin"]), color="#3467a8", label="tip-over [°]")
    second.set_ylabel("angle [°]", fontsize=FONT)
    for ax in (first, second):
        ax.legend(fontsize=FONT - 1.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    edges = np.concatenate([s[:1], (s[1:] + s[:-1]) / 2, s[-1:]])
    band.pcolormesh(edges, [0, 1], along["verdict"].to_numpy()[None], cmap=_colours(), **_RANGE)
    band.set_yticks([])
    band.grid(False)
    band.set_ylabel("verdict", fontsize=FONT)
    band.set_xlabel("distance [m]", fontsize=FONT)
    return canvas


# --- pieces

_RANGE: dict[str, Any] = {"vmin": -0.5, "vmax": len(COLOURS) - 0.5}


def _colours():
    from matplotlib.colors import ListedColormap

    return ListedColormap(COLOURS)


def _hardest(values: np.ndarray, of) -> np.ndarray:
    """The hardest of the last axis; NaN where none is known, infinity as it is."""
    known = ~np.isnan(values).all(axis=-1)
    out = np.full(values.shape[:-1], np.nan)
    out[known] = of(values[known], axis=-1)
    return out


def _maps(
    found: xarray.Dataset,
    title: str,
    rows: int,
    columns: int,
    wide: float = 0.0,
    bars: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A titled sheet of maps true to scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    x0, x1, y0, y1 = _extent(found)
    each = wide or {1: 5.2, 2: 4.4, 3: 3.2, 4: 2.7}[columns]
    tall = min(max(each * (y1 - y0) / (x1 - x0), 0.5 * each), 1.6 * each)
    beside = 0.85 if bars else 0.0
    width, height = columns * (each + 0.45 + beside) + 0.35, rows * (tall + 0.5) + 0.8
    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    # room around all, so that no label touches the edge
    canvas.get_layout_engine().set(w_pad=0.12, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    ground = found.attrs.get("ground", "")
    canvas.suptitle(title, x=0.01, ha="left", fontsize=FONT + 3, fontweight="bold")
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    panels = list(grid.ravel())
    for ax in panels:
        ax.set_aspect("equal")
        ax.set_xlim(x0, x1)
        ax.set_ylim(y0, y1)
        ax.tick_params(labelsize=FONT - 1.5)
    for ax in grid[-1]:
        ax.set_xlabel("x, east [m]", fontsize=FONT - 1)
    for ax in grid[:, 0]:
        ax.set_ylabel("y, north [m]", fontsize=FONT - 1)
    if ground and not bars:
        canvas.supxlabel(ground[:110], x=0.01, ha="left", fontsize=FONT - 1.5, color=_SOFT)
    return canvas, panels


def _spacing(found: xarray.Dataset) -> float:
    for axis in ("x", "y"):
        if found.sizes[axis] > 1:
            return float(found[axis][1] - found[axis][0])
    return 1.0


def _extent(found: xarray.Dataset) -> tuple[float, float, float, float]:
    half = _spacing(found) / 2
    x, y = found["x"].to_numpy(), found["y"].to_numpy()
    return float(x[0]) - half, float(x[-1]) + half, float(y[0]) - half, float(y[-1]) + half


def _hillshade(ax: Axes, found: xarray.Dataset) -> None:
    from marsyard.ground.terrain import Survey
    from marsyard.results.terrain_figures import shaded_map

    x, y = found["ground_x"].to_numpy(), found["ground_y"].to_numpy()
    z = found["ground"].to_numpy()
    view = Survey("", x, y, z, np.zeros(z.shape, int), float(x[1] - x[0]), ("default",), ())
    grey = shaded_map(view).mean(axis=2)
    ax.imshow(
        0.35 + 0.65 * grey, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", cmap="gray",
        vmin=0.0, vmax=1.0, interpolation="bilinear",
    )  # fmt: skip
    box = _extent(found)
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])


def _image(ax: Axes, found: xarray.Dataset, values: np.ndarray, **more):
    shown = ax.imshow(
        values, extent=_extent(found), origin="lower", interpolation="nearest", **more
    )
    ax.set_facecolor(COLOURS[OUTSIDE])
    return shown


def _paint(ax: Axes, found: xarray.Dataset, verdict: np.ndarray) -> None:
    """Verdicts over the hillshade; those that forbid are the most opaque."""
    _hillshade(ax, found)
    opaque = np.where(verdict >= NO_GO, 0.75, 0.5)
    _image(ax, found, verdict, cmap=_colours(), alpha=opaque, **_RANGE)


def _arrow(ax: Axes, heading: float) -> None:
    """The heading in a corner."""
    c, s = 0.055 * math.cos(heading), 0.055 * math.sin(heading)
    ax.annotate(
        "", xy=(0.9 + c, 0.9 + s), xytext=(0.9 - c, 0.9 - s), xycoords="axes fraction",
        arrowprops={"arrowstyle": "-|>", "color": _INK, "linewidth": 1.4},
        bbox={"fc": "white", "ec": "none"},
    )  # fmt: skip


def _legend(canvas: Figure) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=c, label=n) for c, n in zip(COLOURS, VERDICTS, strict=True)]
    canvas.legend(
        handles=patches, loc="outside lower right", ncols=4, frameon=False, fontsize=FONT - 1
    )
