"""Go, caution or no-go: the probability that a limit is violated, estimated from n runs.

Of n runs k break a limit. The probability p of breaking it has the estimate k/n and, at confidence
1 − α, the interval of Clopper and Pearson (Biometrika 26, 1934), which is never too narrow:

    p_low = Beta⁻¹(α/2; k, n − k + 1),      p_high = Beta⁻¹(1 − α/2; k + 1, n − k)

(0 for k = 0, 1 for k = n). With p_go the probability that is accepted and p_no the one that is not:

    no-go      p_low > p_no, or the nominal run breaks the limit
    go         p_high ≤ p_no and k/n ≤ p_go
    caution    else: it may be broken too often, or there were too few runs to tell

With no failure in n runs p_high is about 3.7/n at 95 %: 200 runs show that p is below 1.8 %.

Margins. A limit leaves (limit − value)/|limit| of itself, 0 when it is just met, negative when it
is broken; the smallest margin is where it is smallest over all runs.

Where a rover ends: mean and covariance of its end points; the ellipse that holds a share q of a
Gaussian is (x − m)ᵀ S⁻¹ (x − m) = −2 ln(1 − q), with S from n points multiplied by
2 (n + 1)(n − 1)/(n (n − 2)) · F⁻¹(q; 2, n − 2)/(−2 ln(1 − q)), so that it holds a new one with that
probability (Hotelling's T², prediction region).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from marsyard.errors import InputError

Word = Literal["go", "caution", "no-go"]
ORDER: tuple[Word, ...] = ("go", "caution", "no-go")


@dataclass(frozen=True)
class Policy:
    """What is accepted: p_go and p_no, and the confidence of intervals."""

    accepted: float = 0.02
    refused: float = 0.10
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.refused < 1:
            raise InputError(
                f"accepted, refused = {self.accepted:g}, {self.refused:g}: must increase, from 0 "
                f"to below 1"
            )
        if not 0.5 <= self.confidence < 1:
            raise InputError(f"confidence = {self.confidence:g}: must be from 0.5 to below 1")


@dataclass(frozen=True)
class Chance:
    """How often a limit was violated: k of n, the estimate and its interval."""

    broken: int
    runs: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """k/n."""
        return self.broken / self.runs

    @property
    def words(self) -> str:
        """ "3 of 200, 1.5 % (0.3 to 4.3 %)"."""
        return (
            f"{self.broken} of {self.runs}, {percent(self.share)} % "
            f"({percent(self.low)} to {percent(self.high)} %)"
        )


def percent(share: float) -> str:
    """A share in per cent, two digits or a whole number."""
    return f"{100 * share:.2g}" if share < 0.0995 else f"{100 * share:.0f}"


def chance(broken: int, runs: int, confidence: float = 0.95) -> Chance:
    """The probability of what happened in `broken` of `runs`, with its interval."""
    if runs < 1 or not 0 <= broken <= runs:
        raise InputError(f"broken, runs = {broken}, {runs}: must be 0 … runs, and one run or more")
    return Chance(broken, runs, *clopper_pearson(broken, runs, confidence))


def clopper_pearson(k: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a probability of which k of n are seen; n may be a number of runs that
    others, which are not independent, are worth."""
    from scipy.stats import beta

    half = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(beta.ppf(half, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - half, k + 1, n - k))
    return low, high


def judge(found: Chance, policy: Policy, nominal_broken: bool = False) -> Word:
    """The verdict on one limit."""
    if nominal_broken or found.low > policy.refused:
        return "no-go"
    if found.high <= policy.refused and found.share <= policy.accepted:
        return "go"
    return "caution"


def worst(words: Sequence[Word]) -> Word:
    """The verdict over several: the worst of them; go of none."""
    return max(words, key=ORDER.index, default="go")


def runs_needed(refused: float, confidence: float = 0.95) -> int:
    """How many runs without a failure show that p is at most `refused`."""
    if not 0 < refused < 1:
        raise InputError(f"refused = {refused:g}: must be between 0 and 1")
    # p_high of 0 in n is 1 − (α/2)^(1/n)
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-refused))


def margin(value: float, at_most: float | None = None, at_least: float | None = None) -> float:
    """What a value leaves of its limit, as a share of it; the smaller one of two."""
    left = math.inf
    for limit, room in (
        (at_most, None if at_most is None else at_most - value),
        (at_least, None if at_least is None else value - at_least),
    ):
        if limit is not None and room is not None:
            left = min(left, room / abs(limit) if limit else room)
    return left


@dataclass(frozen=True)
class Ellipse:
    """Centre [m], semi-axes [m], largest first, and the angle of the first from x [rad]."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    angle: float

    def points(self, count: int = 73) -> np.ndarray:
        """Its outline [m], [count, 2], closed."""
        t = np.linspace(0, 2 * np.pi, count)
        local = np.stack([self.semi_axes[0] * np.cos(t), self.semi_axes[1] * np.sin(t)], axis=1)
        c, s = math.cos(self.angle), math.sin(self.angle)
        return np.array(self.centre) + local @ np.array([[c, s], [-s, c]])

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Which points [n, 2] are inside."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        local = (np.asarray(points, float) - self.centre) @ np.array([[c, -s], [s, c]])
        size = np.maximum(self.semi_axes, 1e-300)
        return np.sum((local / size) ** 2, axis=1) <= 1.0


def end_ellipse(points: np.ndarray, share: float = 0.95) -> Ellipse:
    """The ellipse that holds the next end point with the probability `share`; points [n, 2]."""
    from scipy.stats import f

    xy = np.asarray(points, dtype=float)
    xy = xy[np.isfinite(xy).all(axis=1)]
    n = len(xy)
    if n < 4:
        raise InputError(f"end points: {n} are too few for an ellipse; at least 4 are needed")
    spread = np.cov(xy.T)
    factor = 2 * (n + 1) * (n - 1) / (n * (n - 2)) * float(f.ppf(share, 2, n - 2))
    values, vectors = np.linalg.eigh(spread)
    axes = np.sqrt(np.maximum(values, 0.0) * factor)
    first = vectors[:, 1]
    centre = xy.mean(axis=0)
    return Ellipse(
        (float(centre[0]), float(centre[1])), (float(axes[1]), float(axes[0])),
        math.atan2(first[1], first[0]),
    )  # fmt: skip
