"""Analyses that need no simulation: wheel loads, mobility, identification from measurements.

from marsyard.analysis import identify, read_wheel_data

fit = identify(read_wheel_data("wheel.csv"), "wong_reece", free=["phi", "K", "k"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.analysis.fit import Fit
    from marsyard.analysis.identification import identify
    from marsyard.analysis.wheel_data import WheelData
    from marsyard.analysis.wheel_files import read_wheel_data

__all__ = ["Fit", "WheelData", "identify", "read_wheel_data"]

_HOME = {
    "Fit": "fit",
    "identify": "identification",
    "WheelData": "wheel_data",
    "read_wheel_data": "wheel_files",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
