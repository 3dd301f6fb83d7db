"""The covariance of identified soil numbers, for the soil's file.

A fit has the covariance C of its parameters as fractions u of their ranges (linear or logarithmic).
The file contains the part that belongs to the soil, s: its numbers and the model's coefficients.
The tread, w (exit rule and lugs), is set beside the soil in a scenario, so the covariance is
conditional on its fitted values:

    C_s|w = C_ss − C_sw C_ww⁻¹ C_ws

The zero of the sinkage belongs to the data and is marginalised: its row and column are dropped.
Parameters that the data do not determine are limited by their bounds: standard deviations along the
principal axes of C are at most 1/√12, that of a uniform distribution over the range. Parameters at
a bound and those without influence count as known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marsyard.analysis.parameters import Parameter
from marsyard.ground.soil import NUMBERS

#: variance of what may lie anywhere between 0 and 1
ANYWHERE = 1.0 / 12.0
#: digits of the correlations in the file
_DIGITS = 9


def soil_covariance(covariance: np.ndarray, parameters: list[Parameter]) -> dict[str, Any]:
    """The `covariance` of the soil's file (`ground.soil_covariance`); empty if there is none.

    covariance: of the parameters as parts of their ranges, float[p, p], NaN where there is none.
    """
    kept, matrix = conditional(covariance, parameters)
    if not kept:
        return {}
    sd = np.sqrt(np.diag(matrix))
    correlation = matrix / np.outer(sd, sd)
    numbers = {_name(p): _entry(p, float(s)) for p, s in zip(kept, sd, strict=True)}
    rows = [[round(float(c), _DIGITS) for c in row] for row in correlation]
    return {"numbers": numbers, "correlation": rows}


def conditional(
    covariance: np.ndarray, parameters: list[Parameter]
) -> tuple[list[Parameter], np.ndarray]:
    """Parameters of the soil whose covariance is known, and it, given those of the wheel."""
    known = np.flatnonzero(np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0))
    values, vectors = np.linalg.eigh(covariance[np.ix_(known, known)])
    capped = (vectors * np.clip(values, 0.0, ANYWHERE)) @ vectors.T
    of = [parameters[i] for i in known]
    soil = [i for i, p in enumerate(of) if p.place in ("soil", "model")]
    tread = [i for i, p in enumerate(of) if p.place == "wheel"]
    matrix = capped[np.ix_(soil, soil)]
    if tread and soil:
        across = capped[np.ix_(soil, tread)]
        matrix = matrix - across @ np.linalg.pinv(capped[np.ix_(tread, tread)]) @ across.T
    # what the tread tells wholly would have no variance at all
    floor = 1e-12 * ANYWHERE
    return [of[i] for i in soil], matrix + floor * np.eye(len(soil))


def _name(p: Parameter) -> str:
    """The number in the soil's file; a lumped modulus stands under k_phi."""
    return "k_phi" if p.field == "k" else p.field


def _entry(p: Parameter, sd: float) -> dict[str, Any]:
    """The spread of a number whose sd is that of its part of the range."""
    low, high = p.low, p.high
    if p.place == "soil":
        kind = NUMBERS[_name(p)]
        low, high = max(low, kind.low), min(high, kind.high)
    out: dict[str, Any] = {"sd": float(sd * p.span)}
    if p.log:
        out["scale"] = "log"
    return {**out, "low": float(low), "high": float(high)}
