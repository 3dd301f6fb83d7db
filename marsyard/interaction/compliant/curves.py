"""Curves of friction: the share φ(X) of the coefficient μ that a displacement X [m] mobilises.

F_t/F_n = f(X) = μ φ(X), Grand et al. 2001, section 3.1, figure 3. φ is 0 at X = 0 and tends to 1:
μ is the coefficient that is left after a long displacement. Three forms,

loose   φ = 1 − e^(−X/K)                                    Janosi and Hanamoto 1961
dense   φ = 1 + (β − 1) E − β E²,  E = e^(−X/L)             with a peak P > 1 at X_p
        Wong's curve with a hump (Wong and Preston-Thomas 1983), (1 + β E)(1 − E), here with β and
        L such that the peak is exactly P and lies exactly at X_p:
        β = 2P − 1 + √((2P − 1)² − 1),   L = −X_p/ln((β − 1)/(2β))
table   straight lines between points (X, φ); constant after the last

and each with its steepest slope κ = max φ' [1/m]: 1/K, (1 + β)/L, the steepest line. κ is the slope
of unloading (see `law`).

Values. K [m] of sands is 1 to 2.5 cm under plates and tracks (Wong, Theory of Ground Vehicles); a
thin layer of sand on hard ground is sheared through sooner: the default is 1 mm, an assumed value.
Dense sand has P of 1.1 to 1.5 (peak 35° to 45° over 30° to 33° at constant volume: Das, Advanced
Soil Mechanics). The default P = 1.3 stands in the middle.

J. Y. Wong, J. Preston-Thomas, On the characterization of the shear stress-displacement
relationship of terrain, J. Terramechanics 19 (1983) 225-234.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.compliant.options import table_mistake

LOOSE, DENSE, TABLE = range(3)


class Curve(NamedTuple):
    """A curve as the kernels take it."""

    numbers: np.ndarray  # kind, κ [1/m], largest φ, then K; or L and β
    x: np.ndarray  # [m], of a table
    y: np.ndarray


def loose(displacement: float) -> Curve:
    """φ = 1 − e^(−X/K), K = displacement [m]."""
    return _curve(LOOSE, 1.0 / displacement, 1.0, displacement, 0.0)


def dense(displacement: float, peak: float) -> Curve:
    """With its peak at displacement [m], that many times what is left in the end."""
    double = 2.0 * peak - 1.0
    beta = double + math.sqrt(double * double - 1.0)
    length = -displacement / math.log((beta - 1.0) / (2.0 * beta))
    return _curve(DENSE, (1.0 + beta) / length, peak, length, beta)


def table(points: list[tuple[float, float]] | tuple[tuple[float, float], ...]) -> Curve:
    """Lines between points (X [m], φ); (0, 0) need not be given."""
    if mistake := table_mistake(points):
        raise InputError(f"table: {mistake}")
    x = np.array([p[0] for p in points], dtype=float)
    y = np.array([p[1] for p in points], dtype=float)
    if x[0] > 0.0:
        x, y = np.concatenate([[0.0], x]), np.concatenate([[0.0], y])
    steepest = float(np.max(np.diff(y) / np.diff(x)))
    made = _curve(TABLE, steepest, float(y.max()), 0.0, 0.0)
    return made._replace(x=x, y=y)


def _curve(kind: int, slope: float, most: float, first: float, second: float) -> Curve:
    numbers = np.array([float(kind), slope, most, first, second])
    return Curve(numbers, np.zeros(1), np.zeros(1))
