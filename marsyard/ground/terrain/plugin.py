"""Heights from a generator that a plug-in brings (`marsyard.plugins`): f(random, **options) gives
heights(x, y) [m] at points x, y [m] of any equal shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from marsyard import plugins
from marsyard.errors import InputError
from marsyard.ground.terrain.layer import Layer


def plugin_layer(spec: Any, random: np.random.Generator) -> Layer:
    """The layer of a generator."""
    made = plugins.make("generators", spec.generator, spec.options, random, "generator")

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = np.asarray(made(x, y), dtype=np.float64)
        if z.shape != x.shape or not np.all(np.isfinite(z)):
            raise InputError(
                f"generator: '{spec.generator}' gave heights of shape {z.shape} for points of "
                f"shape {x.shape}, or some that are not finite"
            )
        return z

    return Layer(heights)
