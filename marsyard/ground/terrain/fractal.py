"""Fractional Brownian surfaces: roughness that grows with distance by a power law.

The RMS height difference of two points at the distance d (Allan deviation, square root of the
structure function) is

    ν(d) = ν₀ (d / d₀)^H,      0 < H < 1

with the Hurst exponent H, the roughness ν₀ and the lag d₀ (Shepard et al. 2001, J. Geophys. Res.
106(E12), 32777–32795, doi 10.1029/2000JE001429).

It is made of waves on a square patch of edge P with the grid spacing h, which therefore continues
endlessly without a seam. A wave of wave vector k = 2π (i, j) / P has a normal random amplitude of
variance p(k) ∝ |k|^−(2H+2), 2π/P ≤ |k| ≤ π/h. Averaged over directions and over seeds,

    ν²(d) = 2 Σ p(k) (1 − J₀(|k| d)),

which scales the amplitudes so that ν(d₀) = ν₀. Waves longer than the patch can't be there. Over
short distances they act as a tilt, ν² ∝ d²; without it ν would grow too slowly. The longest eight
waves therefore carry in addition what is missing in Σ p k² against the integral of the endless
surface, so that the power law holds up to about a fifth of the patch. With `longest` this is left
out and longer waves are cut away: for roughness on top of an elevation map.

Between the grid points: cubic spline through all of them, slopes and curvatures continuous.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marsyard.ground.terrain.layer import Heights, Layer

_LOW = 4  # waves up to this number along x and y are compared with the integral


def fractal(spec: Any, random: np.random.Generator) -> Layer:
    """The layer of a fractal surface."""
    count = 2 * max(4, round(spec.patch / spec.spacing / 2))
    shape = wave_variances(count, spec.patch, spec.hurst, spec.longest)
    scale = spec.roughness / rms_difference(shape, spec.patch, spec.lag)
    waves = np.fft.rfft2(random.standard_normal((count, count)))
    waves *= np.sqrt(shape) * (scale * count)
    return Layer(_periodic_spline(waves, spec.patch))


def wave_variances(
    count: int, patch: float, hurst: float, longest: float | None = None
) -> np.ndarray:
    """Variances of the waves up to a factor, laid out as numpy's rfft2, shape [n, n/2 + 1]."""
    square = _wave_numbers(count)
    with np.errstate(divide="ignore"):
        variance = np.where(square > 0, square.astype(float) ** (-hurst - 1), 0.0)
    variance[square > (count / 2) ** 2] = 0.0
    if longest is not None:
        variance[square < (patch / longest) ** 2 - 1e-9] = 0.0
        return variance
    variance[(square == 1) | (square == 2)] *= 1.0 + _missing_tilt(hurst)
    return variance


def _wave_numbers(count: int) -> np.ndarray:
    """i² + j² of the waves, laid out as numpy's rfft2."""
    i = np.fft.fftfreq(count, 1 / count).round().astype(np.int64)
    j = np.arange(count // 2 + 1)
    return i[:, None] ** 2 + j[None, :] ** 2


def _missing_tilt(hurst: float) -> float:
    """What the longest eight waves lack of Σ p k² against ∫ p k² dk, as a factor on theirs."""
    # the integral of k^−2H over the square |kx|, |ky| < edge, in polar coordinates
    edge, power = _LOW + 0.5, 2 - 2 * hurst
    node, weight = np.polynomial.legendre.leggauss(24)
    angle = math.pi / 8 * (node + 1)
    integral = 8 * math.pi / 8 * np.sum(weight * (edge / np.cos(angle)) ** power) / power
    i = np.arange(-_LOW, _LOW + 1)
    square = (i[:, None] ** 2 + i[None, :] ** 2).ravel()
    there = np.sum(square[square > 0] ** -float(hurst))
    longest = 4 * 1.0 + 4 * 2.0 ** -float(hurst)
    return float((integral - there) / longest)


def rms_difference(variance: np.ndarray, patch: float, lag: float) -> float:
    """ν(lag) expected of waves with these variances, averaged over directions."""
    from scipy.special import j0

    count = variance.shape[0]
    # waves with j and −j are one entry of rfft2, but for j = 0 and the shortest
    twice = np.full(count // 2 + 1, 2.0)
    twice[0] = twice[-1] = 1.0
    wave = (2 * math.pi / patch) * np.sqrt(_wave_numbers(count))
    return math.sqrt(2 * float(np.sum(variance * twice * (1 - j0(wave * lag)))))


def _periodic_spline(waves: np.ndarray, patch: float) -> Heights:
    """Cubic spline through the periodic grid whose rfft2 is `waves`."""
    from scipy.ndimage import map_coordinates

    count = waves.shape[0]
    # a cubic B-spline at the grid points is (1, 4, 1)/6; undo that smoothing wave by wave
    turn = 2 * math.pi * np.arange(count) / count
    response = (4 + 2 * np.cos(turn)) / 6
    waves = waves / (response[:, None] * response[None, : count // 2 + 1])
    coefficients = np.fft.irfft2(waves, s=(count, count))
    per_metre = count / patch

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        where = np.stack([np.mod(y * per_metre, count), np.mod(x * per_metre, count)])
        return map_coordinates(coefficients, where, order=3, mode="grid-wrap", prefilter=False)

    return heights
