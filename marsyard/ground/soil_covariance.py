"""The covariance of a soil's numbers, in its file as `marsyard identify` writes it.

    covariance:
      numbers:
        friction_angle: {sd: 0.0113, low: 0.0175, high: 1.047}
        shear_modulus: {sd: 0.12, scale: log, low: 0.0002, high: 0.2}
      correlation:
        - [1, -0.62]
        - [-0.62, 1]

`numbers` names numbers of the soil or of its `extra`; their values in the file are the means, or
with `scale: log` the medians. sd is the standard deviation, SI, or with `scale: log` that of the
natural logarithm; low and high bound the samples. Texts with a unit are allowed. `correlation`, in
the order of `numbers`, is that of the numbers or of their logarithms; by default they are
independent.

Samples have normal or lognormal marginal distributions, truncated at the bounds, joined by a
Gaussian copula. Where the bounds are some standard deviations away this is the multivariate normal
distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.units import to_si

_KEYS = ("sd", "scale", "low", "high")
_SCALES = ("linear", "log")
#: rounding of a matrix that was written with a few digits
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Spread:
    """Spread of one number: sd, SI, or that of the natural logarithm if `log`; bounds, SI."""

    sd: float
    log: bool = False
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class SoilCovariance:
    """Spreads by name of a number, and their correlation, float[n, n] as tuples."""

    spreads: tuple[tuple[str, Spread], ...]
    correlation: tuple[tuple[float, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.spreads)


def read_covariance(
    soil: str, data: Any, dimensions: Mapping[str, str], values: Mapping[str, float]
) -> SoilCovariance:
    """The `covariance` of a soil's file.

    dimensions: of each number that a soil can have; extra ones are plain. values: those that it
    has, SI.
    """
    what = f"soil {soil}: covariance"
    if not isinstance(data, Mapping) or not isinstance(data.get("numbers"), Mapping):
        raise InputError(f"{what}: a mapping with 'numbers' and 'correlation' is expected")
    for key in data:
        if key not in ("numbers", "correlation"):
            raise InputError(
                f"{what}: unknown key '{key}'; {suggest(str(key), ('numbers', 'correlation'))}"
            )
    spreads = []
    for name, entry in data["numbers"].items():
        if name not in values:
            raise InputError(f"{what}: the soil has no number '{name}'; {suggest(name, values)}")
        dimension = dimensions.get(name, "number")
        spreads.append((str(name), _spread(f"{what}: {name}", entry, dimension, values[name])))
    if not spreads:
        raise InputError(f"{what}: 'numbers' is empty; at least one is expected")
    return SoilCovariance(tuple(spreads), _correlation(what, data.get("correlation"), len(spreads)))


def _spread(what: str, entry: Any, dimension: str, value: float) -> Spread:
    if not isinstance(entry, Mapping) or "sd" not in entry:
        raise InputError(f"{what}: a mapping with 'sd' is expected, e.g. {{sd: 0.01}}")
    for key in entry:
        if key not in _KEYS:
            raise InputError(f"{what}: unknown key '{key}'; {suggest(str(key), _KEYS)}")
    scale = entry.get("scale", "linear")
    if scale not in _SCALES:
        raise InputError(f"{what}: scale = '{scale}'; {suggest(str(scale), _SCALES)}")
    log = scale == "log"
    sd = _number(f"{what}: sd", entry["sd"], "number" if log else dimension)
    ends = [
        _number(f"{what}: {key}", entry[key], dimension) if key in entry else none
        for key, none in (("low", -math.inf), ("high", math.inf))
    ]
    low, high = ends
    if not (math.isfinite(sd) and sd > 0):
        raise InputError(f"{what}: sd = {sd:g}: must be above 0")
    if not low < high:
        raise InputError(f"{what}: low must be below high")
    if log and not value > 0:
        raise InputError(f"{what}: scale: log needs a number above 0, not {value:g}")
    return Spread(sd, log, max(low, 0.0) if log else low, high)


def _number(what: str, value: Any, dimension: str) -> float:
    try:
        return to_si(value, dimension)
    except ValueError as error:
        raise InputError(f"{what}: {error}") from None


def _correlation(what: str, data: Any, n: int) -> tuple[tuple[float, ...], ...]:
    """The matrix, or the unit one; refused where it is none of correlations."""
    matrix: Any = np.eye(n)
    if data is not None:
        try:
            matrix = np.array(data, dtype=float)
        except (ValueError, TypeError):
            matrix = None
        if matrix is None or matrix.shape != (n, n):
            raise InputError(f"{what}: correlation: {n} rows of {n} numbers are expected")
    wrong = ""
    if not np.isfinite(matrix).all() or np.abs(np.diag(matrix) - 1).max() > _ROUNDING:
        wrong = "1 is expected on the diagonal"
    elif np.abs(matrix - matrix.T).max() > _ROUNDING:
        wrong = "must be symmetric"
    elif np.linalg.eigvalsh(matrix).min() < -1e-3:
        wrong = "must be positive semidefinite (it has a negative eigenvalue)"
    if wrong:
        raise InputError(f"{what}: correlation: {wrong}")
    return tuple(tuple(float(x) for x in row) for row in matrix)


def correlated(shares: np.ndarray, correlation: Sequence[Sequence[float]]) -> np.ndarray:
    """Independent shares between 0 and 1, float[n, d], as correlated ones: Φ(L Φ⁻¹(share)), with
    L Lᵀ the correlation. Each column stays uniform."""
    from scipy.special import ndtr, ndtri

    values, vectors = np.linalg.eigh(np.asarray(correlation, dtype=float))
    # a triangular factor, so that the first number keeps its own shares; unlike a Cholesky factor
    # it exists for singular matrices, too
    square = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    root = np.asarray(np.linalg.qr(square, mode="r")).T
    root = root * np.where(np.diag(root) < 0, -1.0, 1.0)
    root = root / np.linalg.norm(root, axis=1, keepdims=True)
    return np.clip(ndtr(ndtri(shares) @ root.T), 1e-12, 1 - 1e-12)
