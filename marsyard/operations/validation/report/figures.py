"""Figures of a validation: map and timeline, and the limits over time as plots of its page.

Map: the nominal ground as a hillshade, the tracks of all runs, light, the nominal one, the ellipse
that is the 95 % confidence region of the end, keep-out zones, and by number of the command the
place where its deciding limit is nearest or most broken. Timeline: the commands of the nominal run
in the colours of their verdicts; whiskers from the 5th to the 95th percentile of their ends over
the runs.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.page_plots import INK as INK_OF_PAGE
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot
from marsyard.drawing.sheet import FONT, LEFT, SPAN, WIDTH, FigureFile, save_png, sheet
from marsyard.operations.validation.clearance import ground_height
from marsyard.operations.validation.limits import Limit
from marsyard.results.rut_map import SAND, bar_of_length, hillshade, map_sheet
from marsyard.results.terrain_figures import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from marsyard.operations.validation.validate import Validation
    from marsyard.simulation import Simulation

COLOUR = {"go": "#1a7f37", "caution": "#c98a00", "no-go": "#b42318"}
_NOMINAL, _RUN, _BAND = "#0b3c8c", "#14181c", "#5b84c4"
#: points of the map along its longer side
_PIXELS = 500
#: shown beside the tracks at least [m]: what the rover itself, wider than its track, may meet
_AROUND = 1.0


def save_figures(found: Validation, simulation: Simulation, folder: Path) -> dict[str, FigureFile]:
    """Draw all into a folder."""
    runs = found.judgement.runs
    drawn = {
        "map": (
            "Map", draw_map(found, simulation),
            f"Tracks of {runs} runs (thin) and of the nominal run (blue) on the nominal ground. "
            f"Numbers mark commands, at the smallest margin of their decisive limit. Dots: end "
            f"points of the runs; ellipse: 95 % confidence region of the end point.",
        ),
        "timeline": (
            "Timeline", draw_timeline(found),
            "Commands of the nominal run, coloured by verdict; whiskers: 5th to 95th percentile "
            "of the end time.",
        ),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    return {
        key: FigureFile(title, caption, save_png(canvas, folder / f"{key}.png", 130))
        for key, (title, canvas, caption) in drawn.items()
    }


# --- map


def draw_map(found: Validation, simulation: Simulation) -> Canvas:
    """Where the rover goes, and where it gets narrow."""
    box = _box(found)
    canvas, ax = map_sheet("Map", box)
    _ground(ax, simulation, box)
    tracks = found.data.track.values
    alpha = float(np.clip(12 / max(len(tracks), 1), 0.08, 0.5))
    for track in tracks[1:]:
        ax.plot(*track.T, color=_RUN, linewidth=0.7, alpha=alpha, zorder=3)
    ax.plot(*tracks[0].T, color=_NOMINAL, linewidth=1.8, zorder=4)
    ax.plot(*tracks[0][0], "o", color="white", markeredgecolor=INK, markersize=6, zorder=6)
    ends = found.data.end.values[1:, :2]
    ax.plot(*ends.T, ".", color=_RUN, markersize=3, alpha=min(1.0, 3 * alpha), zorder=5)
    if found.judgement.ellipse is not None:
        ax.plot(*found.judgement.ellipse.points().T, color="white", linewidth=3.2, zorder=5)
        ax.plot(*found.judgement.ellipse.points().T, color=_NOMINAL, linewidth=1.4, zorder=6)
    for limit in found.limits:
        if limit.zone is not None:
            _zone(ax, limit)
    _spots(ax, found)
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])
    bar_of_length(ax, box)
    _legend(canvas, ax, found)
    return canvas


def _box(found: Validation) -> tuple[float, float, float, float]:
    """Around all tracks, zones near them, and the ellipse; no sliver."""
    points = [found.data.track.values.reshape(-1, 2)]
    if found.judgement.ellipse is not None:
        points.append(found.judgement.ellipse.points())
    points += [x.zone.outline() for x in found.limits if x.zone is not None]
    every = np.concatenate(points)
    every = every[np.isfinite(every).all(axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    room = max(_AROUND, 0.12 * float(np.max(high - low)))
    low, high = low - room, high + room
    size, middle = high - low, (low + high) / 2
    half = np.array([max(size[0], 0.9 * size[1]), max(size[1], 0.4 * size[0])]) / 2
    (x0, y0), (x1, y1) = middle - half, middle + half
    return float(x0), float(x1), float(y0), float(y1)


def _ground(ax: Axes, simulation: Simulation, box: tuple[float, ...]) -> None:
    x0, x1, y0, y1 = box
    step = max(x1 - x0, y1 - y0) / _PIXELS
    x, y = np.arange(x0, x1 + step, step), np.arange(y0, y1 + step, step)
    z = ground_height(simulation, box)(*np.meshgrid(x, y))
    known = np.isfinite(z)
    light = hillshade(np.where(known, z, 0.0), x, y)
    picture = np.clip(light[..., None] * SAND, 0, 1)
    picture[~known] = 1.0
    ax.imshow(picture, extent=(x0, x1, y0, y1), origin="lower", aspect="equal", zorder=1)
    if known.all() and float(np.ptp(z)) > 0.02:
        lines = ax.contour(x, y, z, levels=8, colors=INK, linewidths=0.4, alpha=0.45, zorder=2)
        ax.clabel(lines, fontsize=FONT - 3, fmt="%.2g m")


def _zone(ax: Axes, limit: Limit) -> None:
    assert limit.zone is not None
    outline = limit.zone.outline()
    x, y = map(float, outline[:-1].mean(axis=0))
    ax.fill(*outline.T, facecolor="#b4231822", edgecolor="#b42318", hatch="////", zorder=3)
    ax.annotate(
        limit.zone.name, (x, y), ha="center", va="center", fontsize=FONT - 1,
        color="#7a1410", zorder=7, bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none",
                                         "alpha": 0.8},
    )  # fmt: skip


def _spots(ax: Axes, found: Validation) -> None:
    """The commands' numbers at their smallest margins; those that coincide are drawn beside."""
    taken: list[tuple[float, float]] = []
    for c in found.judgement.commands:
        spot = c.limits[c.deciding].spot
        if spot is None or not np.isfinite([spot.x, spot.y]).all():
            continue
        place = (spot.x, spot.y)
        near = sum(np.hypot(place[0] - x, place[1] - y) < 0.15 for x, y in taken)
        taken.append(place)
        ax.plot(*place, "o", color=COLOUR[c.verdict], markersize=4, zorder=8)
        ax.annotate(
            str(c.number), place, xytext=(9 + 13 * near, 9), textcoords="offset points", zorder=9,
            fontsize=FONT - 1, fontweight="bold", color="white", ha="center", va="center",
            bbox={"boxstyle": "circle,pad=0.22", "fc": COLOUR[c.verdict], "ec": "white"},
        )  # fmt: skip


def _legend(canvas: Canvas, ax: Axes, found: Validation) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=_NOMINAL, linewidth=1.8, label="nominal run"),
        Line2D([], [], color=_RUN, linewidth=0.8, alpha=0.6, label=f"{found.judgement.runs} runs"),
        Line2D([], [], marker="o", linestyle="none", color="white", markeredgecolor=INK,
               label="start"),
        Line2D([], [], color=_NOMINAL, linewidth=1.4, label="end, 95 %"),
    ]  # fmt: skip
    handles += [
        Line2D([], [], marker="o", linestyle="none", color=COLOUR[w], markersize=8, label=w)
        for w in dict.fromkeys(c.verdict for c in found.judgement.commands)
    ]
    if any(x.zone is not None for x in found.limits):
        handles.append(
            Patch(facecolor="#b4231822", edgecolor="#b42318", hatch="////", label="keep out")
        )
    place = ax.get_position()
    canvas.legend(
        handles=handles, loc="upper left", frameon=False, fontsize=FONT - 1, borderaxespad=0,
        bbox_to_anchor=((LEFT + SPAN + 0.1) / WIDTH, place.y1),
    )  # fmt: skip


# --- timeline


def draw_timeline(found: Validation) -> Canvas:
    """The commands over time."""
    data, commands = found.data, found.judgement.commands
    canvas, (ax,) = sheet("Timeline", [0.35 + 0.3 * len(commands)])
    names = []
    for row, c in enumerate(commands):
        began, ended = data.began.values[:, row], data.ended.values[:, row]
        start = began[0] if np.isfinite(began[0]) else _nanmean(began)
        end = ended[0] if np.isfinite(ended[0]) else _nanmean(ended)
        names.append(c.words if len(c.words) <= 26 else c.words[:25] + "…")
        if not np.isfinite(start):
            continue
        end = end if np.isfinite(end) else float(data.simulated.values[0])
        ax.barh(row, end - start, left=start, height=0.62, color=COLOUR[c.verdict], alpha=0.85)
        known = ended[1:][np.isfinite(ended[1:])]
        if known.size:
            low, high = np.percentile(known, [5, 95])
            ax.plot([low, high], [row, row], color=INK, linewidth=1.3)
            ax.plot([low, low, high, high], [row, row, row, row], "|", color=INK, markersize=8)
        if end - start < 0.07 * float(np.nanmax(data.ended.values[:, : len(commands)])):
            continue
        ax.annotate(
            c.verdict, (start, row), xytext=(3, 0), textcoords="offset points", va="center",
            fontsize=FONT - 2, color="white", fontweight="bold",
        )  # fmt: skip
    place = ax.get_position()
    left = 2.0 / WIDTH
    ax.set_position((left, place.y0, (LEFT + SPAN + 0.8) / WIDTH - left, place.height))
    ax.set_yticks(range(len(commands)), names, fontsize=FONT - 1)
    ax.set_ylim(len(commands) - 0.4, -0.6)
    ax.set_xlabel("time [s]", fontsize=FONT)
    return canvas


def _nanmean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


# --- margins


#: limits among the key plots
KEY_PANELS = 3


def limits_plot(found: Validation, most: int | None = None) -> PagePlot | None:
    """Limits over time, those with the smallest margins first: the nominal and the worst run, and
    where 90 % of the runs under way lie."""
    limits = [x for x in found.limits if x.name != "time"]
    limits.sort(key=lambda x: _thinnest(found, x))
    data, span = found.data, found.data.span.values
    worst = [int(r) for r in data.run.values].index(found.judgement.worst_run)
    known = np.isfinite(data.track.values[:, :, 0]).any(axis=0)
    if not limits or not known.any():
        return None
    panels = []
    for limit in limits[:most]:
        values = data.series.sel(limit=limit.name).values / limit.factor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            low, high = np.nanpercentile(values, [5, 95], axis=0)
        bound = np.full(len(span), limit.value / limit.factor)
        curves = (
            PageCurve("5 to 95 % of the runs", span, low, _BAND, upper=high),
            PageCurve("worst run", span, values[worst], INK_OF_PAGE, 1.0),
            PageCurve("nominal run", span, values[0], "#2b5fc0", 1.8),
            PageCurve(limit.words, span, bound, "#c0392b", 1.4, "5 3"),
        )
        unit = f" [{limit.unit}]" if limit.unit else ""
        panels.append(PagePanel(f"{limit.label}{unit}".replace("keep-out ", "to "), curves))
    last = float(span[known].max())
    return PagePlot("Limits over time", tuple(panels), "time [s]", (0.0, last))


def _thinnest(found: Validation, limit: Limit) -> float:
    spot = found.judgement.limits[limit.name].spot if limit.name in found.judgement.limits else None
    return np.inf if spot is None else spot.margin
