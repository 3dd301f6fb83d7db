"""Colours of wheels, axes and curves, the same in all figures and 3D views."""

from __future__ import annotations

from typing import Any

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


def wheel_colour(wheel: str, index: int) -> str:
    """The colour of a wheel, the same in all figures and in the replay."""
    return WHEELS.get(wheel, OTHERS[index % len(OTHERS)])
