"""Wheel-soil models: forces of soil on a wheel in closed form or by integrals over its arc.

A model by itself is `WheelModel`; on rough terrain, with slip in time and ruts, it is a law of the
engine (`on_terrain`, `kernels`, `world`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.interaction.wheel_models.model import (
        MODELS,
        PUBLISHED,
        STANDS_IN,
        WheelForces,
        WheelModel,
    )
    from marsyard.interaction.wheel_models.wheel import Exit, Wheel

_HOME = {
    "MODELS": "model",
    "PUBLISHED": "model",
    "STANDS_IN": "model",
    "Exit": "wheel",
    "Wheel": "wheel",
    "WheelForces": "model",
    "WheelModel": "model",
}

__all__ = ["MODELS", "PUBLISHED", "STANDS_IN", "Exit", "Wheel", "WheelForces", "WheelModel"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
