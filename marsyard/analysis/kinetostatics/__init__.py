"""Kineto-statics of articulated rovers: motions and forces a rover can produce, without a
simulation.

from marsyard.analysis.kinetostatics import analyse, stance_at

found = analyse(stance_at("roburoc", contact={"FL": 0.5, "FR": 0.5}), friction=0.6)
found.mobility.controllable_words, found.sigma, found.demand[0], found.pulls["ahead"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.analysis.kinetostatics.balance import Balance
    from marsyard.analysis.kinetostatics.climb import climb_step, largest_step
    from marsyard.analysis.kinetostatics.mobility import mobility_of, singular_poses
    from marsyard.analysis.kinetostatics.picture import draw_stance
    from marsyard.analysis.kinetostatics.polytope import wrench_polytope
    from marsyard.analysis.kinetostatics.runs import along_run
    from marsyard.analysis.kinetostatics.stance import Stance, stance_at, stance_of, stance_on
    from marsyard.analysis.kinetostatics.summary import Analysis, analyse
    from marsyard.analysis.kinetostatics.transmission import ellipsoid, traction_index
    from marsyard.analysis.kinetostatics.velocity import velocity_model
    from marsyard.analysis.kinetostatics.view import view_stance

__all__ = [
    "Analysis", "Balance", "Stance", "along_run", "analyse", "climb_step", "draw_stance",
    "ellipsoid", "largest_step", "mobility_of", "singular_poses", "stance_at", "stance_of",
    "stance_on", "traction_index", "velocity_model", "view_stance", "wrench_polytope",
]  # fmt: skip

_HOME = {
    "Analysis": "summary", "analyse": "summary", "Balance": "balance", "Stance": "stance",
    "stance_at": "stance", "stance_of": "stance", "stance_on": "stance",
    "along_run": "runs", "climb_step": "climb", "largest_step": "climb",
    "mobility_of": "mobility", "singular_poses": "mobility", "draw_stance": "picture",
    "view_stance": "view", "wrench_polytope": "polytope", "ellipsoid": "transmission",
    "traction_index": "transmission", "velocity_model": "velocity",
}  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, _HOME)
