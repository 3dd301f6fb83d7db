"""Campaigns: one scenario run many times over, on all cores or on a cluster."""

from marsyard.campaign.data import open_sweep
from marsyard.campaign.progress_tracker import Interrupted, Watch
from marsyard.campaign.running import Sweep, prepared, sweep
from marsyard.campaign.study_file import StudyFile
from marsyard.campaign.tables import grouped, output_table, sobol_table

__all__ = [
    "Interrupted",
    "StudyFile",
    "Sweep",
    "Watch",
    "grouped",
    "open_sweep",
    "output_table",
    "prepared",
    "sobol_table",
    "sweep",
]
