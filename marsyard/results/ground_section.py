"""Cross sections of the ground after a run: across the direction of travel, by default where most
wheels have passed, as far as possible from their start and end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.drawing.colours import wheel_colour
from marsyard.drawing.sheet import FONT, SPAN, legend, sheet
from marsyard.results.ground_file import Ground
from marsyard.results.rut_map import SAND, wheel_paths, wheels_at_end
from marsyard.results.terrain_figures import INK, SOFT
from marsyard.scenario.report_schema import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class _Crossing:
    """Where a wheel passed a line: distance from its start [m] and time [s]."""

    wheel: str
    number: int
    distance: float


def find_section(ds: xr.Dataset, ground: Ground) -> Section | None:
    """A line across the direction of travel that most wheels have passed; None without travel."""
    paths = wheel_paths(ds)
    if not paths or not ground.touched.any():
        return None
    direction = np.mean([p[-1, :2] - p[0, :2] for _, _, p in paths], axis=0)
    if np.hypot(*direction) < 4 * ground.spacing:
        return None
    sampled = [p[np.unique(np.linspace(0, len(p) - 1, 200).astype(int)), :2] for _, _, p in paths]
    best: tuple[tuple[float, float], np.ndarray, np.ndarray] | None = None
    ends = np.array([p[at, :2] for at in (0, -1) for _, _, p in paths])
    for own in sampled:
        for k in range(2, len(own) - 2, 4):
            step = own[k + 2] - own[k - 2]
            if np.hypot(*step) < 1e-4:
                continue
            ahead = step / np.hypot(*step)
            passed = sum(_crosses(p, own[k], ahead) is not None for p in sampled)
            clear = float(np.min(np.abs((ends - own[k]) @ ahead)))
            if best is None or (passed, clear) > best[0]:
                best = (passed, clear), own[k], ahead
    if best is None:
        return None
    _, point, ahead = best
    left = np.array([-ahead[1], ahead[0]])
    offsets = [d for d in (_crosses(p, point, ahead) for p in sampled) if d is not None]
    width = max((w[4] for w in wheels_at_end(ground)), default=0.1)
    room = max(2.0 * width, 6 * ground.spacing)
    low, high = min(offsets) - room, max(offsets) + room
    a, b = point + high * left, point + low * left
    return Section(start=(float(a[0]), float(a[1])), end=(float(b[0]), float(b[1])), title=None)


def _crosses(path: np.ndarray, point: np.ndarray, ahead: np.ndarray) -> float | None:
    """How far to the left of `point` a path crosses the line through it across `ahead` [m]."""
    along = (path - point) @ ahead
    turns = np.flatnonzero((along[:-1] < 0) != (along[1:] < 0))
    if not turns.size:
        return None
    k = int(turns[-1])
    share = along[k] / (along[k] - along[k + 1])
    at = path[k] + share * (path[k + 1] - path[k])
    offset = float((at - point) @ np.array([-ahead[1], ahead[0]]))
    return offset if abs(offset) < 20.0 else None


def _crossings(ds: xr.Dataset, section: Section) -> list[_Crossing]:
    """Wheels that have passed a section between its ends."""
    a, b = np.array(section.start), np.array(section.end)
    length = float(np.hypot(*(b - a)))
    along = (b - a) / length
    ahead = np.array([-along[1], along[0]])
    out = []
    for wheel, k, path in wheel_paths(ds):
        offset = _crosses(path[:, :2], a, ahead)
        distance = -offset if offset is not None else math.nan
        if 0 <= distance <= length:
            out.append(_Crossing(wheel, k, distance))
    return out


def draw_section(
    ground: Ground, ds: xr.Dataset | None, section: Section, title: str = "Cross section"
) -> Canvas:
    """Undisturbed and final surface along a line, with the wheels that have passed it."""
    cut = ground.profile(section.start, section.end)
    s = cut["distance"].values
    known = cut["undisturbed"].values[np.isfinite(cut["undisturbed"].values)]
    level = float(known.mean()) if known.size else 0.0
    before = 1000 * (cut["undisturbed"].values - level)
    after = 1000 * (cut["height"].values - level)
    canvas, (ax,) = sheet(title, [2.9])
    finite = np.concatenate([before[np.isfinite(before)], after[np.isfinite(after)], [0.0]])
    spread = max(float(np.ptp(finite)), 2.0)
    bottom, top = float(finite.min()) - 0.35 * spread, float(finite.max()) + 0.18 * spread
    ax.fill_between(s, bottom, after, color=SAND, alpha=0.6, linewidth=0)
    ax.fill_between(s, before, after, where=after < before, color="#4393c3", alpha=0.45,
                    linewidth=0, label="lower", interpolate=True)  # fmt: skip
    ax.fill_between(s, before, after, where=after > before, color="#d6604d", alpha=0.45,
                    linewidth=0, label="higher", interpolate=True)  # fmt: skip
    ax.plot(s, before, color=SOFT, linewidth=1.1, linestyle=(0, (5, 2)), label="undisturbed")
    ax.plot(s, after, color=INK, linewidth=1.5, label="final")
    ax.set_xlim(0, s[-1])
    ax.set_ylim(bottom, top)
    _draw_wheels(ax, ground, _crossings(ds, section) if ds is not None else [], bottom, spread)
    stretch = 2.9 / (top - bottom) / (SPAN / (1000 * s[-1]))
    (x0, y0), (x1, y1) = section.start, section.end
    where = (
        f"A ({x0:.2f}, {y0:.2f}) to B ({x1:.2f}, {y1:.2f}) m, heights exaggerated {stretch:.2g} "
        f"times"
    )
    ax.set_title(where, fontsize=FONT - 1, loc="right", color=SOFT)
    ax.set_xlabel("distance from A [m]", fontsize=FONT)
    ax.set_ylabel("height [mm]", fontsize=FONT)
    legend(ax)
    return canvas


def _draw_wheels(
    ax: Axes, ground: Ground, crossings: list[_Crossing], bottom: float, spread: float
) -> None:
    """Bars as wide as the wheels below the surface, those on the same track above each other."""
    names = [str(n) for n in ground.data["body"].values]
    rows: list[tuple[float, float, int]] = []
    for crossing in crossings:
        width = 0.1
        if crossing.wheel in names:
            width = float(ground.data["body_width"].values[names.index(crossing.wheel)])
        # the name stands to the right of the bar
        low, high = crossing.distance - width / 2, crossing.distance + width / 2
        beside = {r for a, b, r in rows if low < b + 0.4 * width and a < high + 0.4 * width}
        rows.append((low, high, next(r for r in range(len(rows) + 1) if r not in beside)))
    step = 0.09 * spread * min(1.0, 3 / (1 + max((r for _, _, r in rows), default=0)))
    for crossing, (low, high, row) in zip(crossings, rows, strict=True):
        y = bottom + 0.08 * spread + row * step
        colour = wheel_colour(crossing.wheel, crossing.number)
        ax.plot([low, high], [y, y], color=colour, linewidth=3.5, solid_capstyle="butt")
        ax.annotate(crossing.wheel, (high, y), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=FONT - 2, color=colour)  # fmt: skip
