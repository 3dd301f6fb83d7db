"""Rovers for other tools: a rover and its ground as an FMU (FMI 2.0, co-simulation).

FMUs of others inside a scenario are `marsyard.control.fmu` and `control: [{kind: fmu, …}]`.
"""

from __future__ import annotations

from marsyard.fmi.export import export_fmu

__all__ = ["export_fmu"]
