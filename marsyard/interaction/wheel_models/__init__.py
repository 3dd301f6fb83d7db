"""Wheel-soil models: forces of soil on a wheel in closed form or by integrals over its arc."""

from marsyard.interaction.wheel_models.model import MODELS, WheelForces, WheelModel
from marsyard.interaction.wheel_models.wheel import Exit, Wheel

__all__ = ["MODELS", "Exit", "Wheel", "WheelForces", "WheelModel"]
