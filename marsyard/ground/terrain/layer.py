"""Interface of a terrain layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: x [m], y [m], shape [n] -> heights [m], shape [n]
Heights = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: xmin, xmax, ymin, ymax [m]
Bounds = tuple[float, float, float, float]


@dataclass(frozen=True)
class Layer:
    """Heights that are added to the others.

    Attributes:
        heights: of the layer at points x, y [m].
        bounds: where it is defined [m]; None everywhere.
        soil: name of the soil where `covers` says so; None if it has none of its own.
        covers: whether points x, y lie on that soil.
        feature: rectangle around what is to be seen of a layer that is one thing at one place [m].
    """

    heights: Heights
    bounds: Bounds | None = None
    soil: str | None = None
    covers: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    feature: Bounds | None = None
