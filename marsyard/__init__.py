"""marsyard: a virtual Mars Yard for planetary rovers.

    import marsyard
    result = marsyard.run("rt0448/test-1", friction=0.6)
    result.data          # an xarray.Dataset
    result.checks        # computed against published numbers

Names load when first used, so that importing marsyard is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marsyard.comparison import Comparison, WheelComparison, compare, compare_wheel
    from marsyard.errors import InputError
    from marsyard.results import open_results
    from marsyard.runner import Run, run
    from marsyard.scenario import Scenario, load_scenario
    from marsyard.simulation import Diverged, Simulation, State
    from marsyard.study import StudyRun

__version__ = "0.1.0"

_HOME = {
    "Comparison": "comparison",
    "Diverged": "simulation",
    "InputError": "errors",
    "Run": "runner",
    "Scenario": "scenario",
    "Simulation": "simulation",
    "State": "simulation",
    "StudyRun": "study",
    "WheelComparison": "comparison",
    "compare": "comparison",
    "compare_wheel": "comparison",
    "load_scenario": "scenario",
    "open_results": "results",
    "run": "runner",
}

__all__ = [
    "Comparison",
    "Diverged",
    "InputError",
    "Run",
    "Scenario",
    "Simulation",
    "State",
    "StudyRun",
    "WheelComparison",
    "compare",
    "compare_wheel",
    "load_scenario",
    "open_results",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"marsyard.{_HOME[name]}"), name)
    raise AttributeError(f"module 'marsyard' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
