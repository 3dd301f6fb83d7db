"""Figures of kineto-statics along a path: the climb of a step, a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.climb import Climb
from marsyard.drawing.colours import OTHERS
from marsyard.drawing.sheet import FONT, legend, sheet

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LIMIT: dict[str, Any] = {"color": "#c0392b", "linewidth": 1.4, "linestyle": (0, (5, 2))}
BLUE, VIOLET, GREY, ORANGE = "#2b5fc0", "#8e5bb5", "#6b6b6b", "#d55e00"


def climb_demand(
    climbs: Sequence[Climb], friction: float, names: Sequence[str] = (), *,
    title: str | None = None, most: float = 3.0,
) -> Canvas:  # fmt: skip
    """Friction demand along the climbs of steps, axle after axle, with what there is.

    Args:
        names: of the climbs; their height unless told. most: demand at which the axis ends.
    """
    heading = title or "Friction demand of climbing a step"
    canvas, (ax,) = sheet(heading, [3.6])
    highest = friction
    for k, climb in enumerate(climbs):
        if not climb.moments:
            continue
        colour = OTHERS[k % len(OTHERS)]
        at = np.array([m.axle + m.progress for m in climb.moments])
        demand = np.array([m.demand for m in climb.moments])
        name = names[k] if k < len(names) else f"{100 * climb.step:.3g} cm"
        shown = np.where(demand <= most, demand, np.nan)
        for axle in sorted({m.axle for m in climb.moments}):
            own = np.array([m.axle == axle for m in climb.moments])
            label = name if axle == climb.moments[0].axle else None
            ax.plot(at[own], shown[own], ".-", color=colour, linewidth=1.5, markersize=4,
                    label=label)  # fmt: skip
        _mark_hardest(ax, climb, colour, most)
        finite = demand[np.isfinite(demand) & (demand <= most)]
        highest = max(highest, float(finite.max(initial=0.0)))
        if not np.isfinite(demand).all() or (demand > most).any():
            highest = most
    ax.axhline(friction, **LIMIT, label=f"μ = {friction:g}")
    ax.plot([], [], "o", color=GREY, markersize=8, markerfacecolor="none", markeredgewidth=1.8,
            label="hardest pose")  # fmt: skip
    if not all(climb.complete for climb in climbs):
        ax.plot([], [], "x", color=GREY, markersize=8, markeredgewidth=2.0, linestyle="none",
                label="no further pose")  # fmt: skip
    _name_axles(ax, climbs)
    ax.set_ylim(0, min(1.12 * highest, most))
    ax.set_ylabel("friction demand", fontsize=FONT)
    ax.set_xlabel("climb of each axle, from the floor to the top of the step [%]", fontsize=FONT)
    legend(ax, "step")
    return canvas


def _mark_hardest(ax: Axes, climb: Climb, colour: str, most: float) -> None:
    last = climb.moments[-1]
    if not climb.complete and last.demand <= most:
        ax.plot(last.axle + last.progress, last.demand, "x", color=colour, markersize=8,
                markeredgewidth=2.0)  # fmt: skip
    hardest = climb.hardest
    at = hardest.axle + hardest.progress
    if math.isfinite(hardest.demand) and hardest.demand <= most:
        ax.plot(at, hardest.demand, "o", color=colour, markersize=8, markerfacecolor="none",
                markeredgewidth=1.8)  # fmt: skip
        text = f"{hardest.demand:.2f}"
    else:
        ax.plot(at, 0.97, "^", color=colour, markersize=8, transform=ax.get_xaxis_transform())
        text = f"{hardest.demand:.2f}" if math.isfinite(hardest.demand) else "none"
        ax.annotate(text, (at, 0.93), xycoords=ax.get_xaxis_transform(), ha="center", va="top",
                    fontsize=FONT - 1, color=colour)  # fmt: skip
        return
    ax.annotate(text, (at, hardest.demand), xytext=(0, 8), textcoords="offset points",
                ha="center", fontsize=FONT - 1, color=colour)  # fmt: skip


def _name_axles(ax: Axes, climbs: Sequence[Climb]) -> None:
    """Ticks at the ends and half way, and the wheels of each axle above its part."""
    wheels: dict[int, tuple[str, ...]] = {}
    for climb in climbs:
        wheels |= {m.axle: m.wheels for m in climb.moments}
    count = max(wheels, default=0) + 1
    ax.set_xlim(0, count)
    ticks = [a + p for a in range(count) for p in (0.0, 0.5)] + [count]
    words = [w for a in range(count) for w in ("0" if a == 0 else "100 | 0", "50")] + ["100"]
    ax.set_xticks(ticks, words)
    for axle in range(1, count):
        ax.axvline(axle, color="#8a8a8a", linewidth=0.9)
    for axle, names in wheels.items():
        ax.text(axle + 0.5, 1.01, ", ".join(names), transform=ax.get_xaxis_transform(),
                ha="center", va="bottom", fontsize=FONT - 1, color=GREY)  # fmt: skip


def along_figure(found: xr.Dataset, title: str | None = None) -> Canvas:
    """σ, friction demand beside the friction used in the simulation, and height, over time."""
    name = title or str(found.attrs.get("scenario", "")) or "a run"
    canvas, (top, middle, bottom) = sheet(f"Kineto-statics along {name}", [1.6, 2.4, 1.4])
    time = found["time"].values
    top.plot(time, found["sigma"].values, color=VIOLET, linewidth=1.4, label="σ, eq. (12)")
    top.set_ylabel("traction index σ", fontsize=FONT)
    top.set_ylim(bottom=0)
    demand, use = found["demand"].values, found["use"].values
    friction = float(found.attrs["friction"])
    middle.plot(time, use, color=ORANGE, linewidth=0.9, alpha=0.8, label="used in the simulation")
    lost = ~np.isfinite(demand) & ~np.isnan(demand)
    middle.plot(time, np.where(lost, np.nan, demand), color=BLUE, linewidth=1.6,
                label="demand of the stance")  # fmt: skip
    if "moving" in found:
        moving = found["moving"].values
        middle.plot(time, np.where(np.isfinite(moving), moving, np.nan), color=GREY, linewidth=0.9,
                    linestyle=(0, (3, 1.5)), label="with inertia forces")  # fmt: skip
    middle.axhline(friction, **LIMIT, label=f"μ = {friction:g}")
    finite = np.concatenate([demand[np.isfinite(demand)], use[np.isfinite(use)], [friction]])
    upper = min(1.15 * float(finite.max()), 2.5 * friction)
    middle.set_ylim(0, upper)
    over = lost | (demand > upper)
    if over.any():
        middle.plot(time[over], np.full(int(over.sum()), 0.985 * upper), "^", color=BLUE,
                    markersize=4, linestyle="none", label="higher, or no equilibrium")  # fmt: skip
    middle.set_ylabel("friction", fontsize=FONT)
    bottom.plot(time, found["height"].values, color=GREY, linewidth=1.4, label="base")
    bottom.set_ylabel("height [m]", fontsize=FONT)
    bottom.set_xlabel("time [s]", fontsize=FONT)
    bottom.set_xlim(time[0], time[-1])
    for ax in (top, middle, bottom):
        legend(ax)
    return canvas
