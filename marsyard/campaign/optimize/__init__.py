"""Optimisation: the best rovers and controllers for several objectives, with limits."""

from marsyard.campaign.optimize.data import open_optimized
from marsyard.campaign.optimize.pareto import hypervolume, ranks
from marsyard.campaign.optimize.running import Candidate, Optimized, optimize, prepared
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.optimize.tables import front_table, nearest_words

__all__ = [
    "Candidate",
    "OptimizeFile",
    "Optimized",
    "front_table",
    "hypervolume",
    "nearest_words",
    "open_optimized",
    "optimize",
    "prepared",
    "ranks",
]
