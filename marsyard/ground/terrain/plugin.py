"""Heights from a plug-in's generator (`marsyard.plugins`): f(random, **options) gives
heights(x, y) [m] at points x, y [m] of any equal shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from marsyard import plugins
from marsyard.errors import InputError, format_exception
from marsyard.ground.terrain.layer import Layer


def plugin_layer(spec: Any, random: np.random.Generator) -> Layer:
    """The layer of a generator."""
    made = plugins.make("generators", spec.generator, spec.options, random, "generator")

    who = f"generator {plugins.named('generators', spec.generator)}"

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        try:
            z = np.asarray(made(x, y), dtype=np.float64)
        except InputError as error:
            raise InputError(f"{who}: {error}") from None
        except Exception as error:
            raise InputError(f"{who}: {format_exception(error)}") from error
        if z.shape != x.shape:
            shapes = f"shape {z.shape} for points of shape {x.shape}"
            raise InputError(f"{who} gave heights of {shapes}; one for each point is needed")
        if not np.all(np.isfinite(z)):
            raise InputError(f"{who} gave heights that are not finite [m]")
        return z

    return Layer(heights)
