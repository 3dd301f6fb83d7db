"""marsyard: a virtual Mars Yard for planetary rovers.

    import marsyard
    result = marsyard.run("rt0448/test-1", friction=0.6)
    result.data          # an xarray.Dataset
    result.checks        # computed against published numbers

Names load when first used, so that importing marsyard is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.campaign import Sweep, open_sweep, sweep
    from marsyard.campaign.optimize import Optimized, open_optimized, optimize
    from marsyard.comparison import (
        Comparison,
        ModeComparison,
        WheelComparison,
        compare,
        compare_modes,
        compare_wheel,
    )
    from marsyard.errors import InputError
    from marsyard.results import energy_account, open_results, show, to_dataframe
    from marsyard.runner import Run, run
    from marsyard.scenario import Scenario, load_scenario
    from marsyard.simulation import Diverged, Simulation, State
    from marsyard.study import StudyRun

__version__ = "0.1.0"

_HOME = {
    "Comparison": "comparison",
    "Diverged": "simulation",
    "InputError": "errors",
    "ModeComparison": "comparison",
    "Optimized": "campaign.optimize",
    "Run": "runner",
    "Scenario": "scenario",
    "Simulation": "simulation",
    "State": "simulation",
    "StudyRun": "study",
    "Sweep": "campaign",
    "WheelComparison": "comparison",
    "compare": "comparison",
    "compare_modes": "comparison",
    "compare_wheel": "comparison",
    "energy_account": "results",
    "load_scenario": "scenario",
    "open_optimized": "campaign.optimize",
    "open_results": "results",
    "open_sweep": "campaign",
    "optimize": "campaign.optimize",
    "run": "runner",
    "sweep": "campaign",
    "show": "results",
    "to_dataframe": "results",
}

__all__ = [
    "Comparison",
    "Diverged",
    "InputError",
    "ModeComparison",
    "Optimized",
    "Run",
    "Scenario",
    "Simulation",
    "State",
    "StudyRun",
    "Sweep",
    "WheelComparison",
    "compare",
    "compare_modes",
    "compare_wheel",
    "energy_account",
    "load_scenario",
    "open_optimized",
    "open_results",
    "open_sweep",
    "optimize",
    "run",
    "sweep",
    "show",
    "to_dataframe",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
