"""Colours of wheels, axes and curves, the same in all figures and 3D views."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

# distinct also to colour-blind eyes (Okabe and Ito 2008, Paul Tol's "bright")
WHEELS = {
    "FL": "#d55e00",
    "FR": "#e69f00",
    "CL": "#009e73",
    "CR": "#66c2a5",
    "RL": "#0072b2",
    "RR": "#56b4e9",
}
#: of the world
AXES = {"x": "#c03a2b", "y": "#2f8f4e", "z": "#2b5fc0"}
#: how a path to follow is drawn
GIVEN_PATH: dict[str, Any] = {"color": "#8e5bb5", "linewidth": 3.5, "alpha": 0.45}
#: of other curves, in turn
OTHERS = ("#2b5fc0", "#d55e00", "#2f8f4e", "#8e5bb5", "#b8860b", "#c2568a", "#4aa3b5", "#6b6b6b")


#: beyond its quartiles by this many times their distance a value runs away
RUNAWAY = 3.0


def robust_limits(values: np.ndarray) -> tuple[float, float]:
    """The ends of a colour scale, which values that run away do not set.

    They are the least and the greatest value that lie within `RUNAWAY` times the distance of the
    quartiles from these (J. W. Tukey: Exploratory Data Analysis, 1977, outer fences); of values
    nearly all alike all count.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    first, third = np.percentile(known, [25, 75])
    room = RUNAWAY * (third - first)
    kept = known[(known >= first - room) & (known <= third + room)] if room > 0 else known
    low, high = float(kept.min()), float(kept.max())
    return (low, high) if high > low else (low, low + 1.0)


def bar_ends(
    values: np.ndarray, low: float, high: float
) -> Literal["neither", "min", "max", "both"]:
    """Which ends of a colour bar are pointed: where values lie beyond it."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    under, over = bool((known < low).any()), bool((known > high).any())
    if under:
        return "both" if over else "min"
    return "max" if over else "neither"


def wheel_colour(wheel: str, index: int) -> str:
    """The colour of a wheel, the same in all figures and in the replay."""
    return WHEELS.get(wheel, OTHERS[index % len(OTHERS)])
