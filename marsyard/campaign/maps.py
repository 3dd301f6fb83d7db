"""Probability of success over one or two parameters: runs counted in cells, with intervals.

A parameter with few values has a cell for each; one that was drawn is cut into equal spans, as many
as give about a dozen runs to a cell. What the other parameters were is averaged over. A run that
failed is no success.

Intervals are those of Clopper and Pearson at 95 %. Where points are drawn, the runs at one point
(its replicas) share its parameters, those of a Saltelli block most of them, and are not
independent. Of N such groups, with m_i runs of which k_i succeed, n = Σ m_i runs are worth

    n* = p (1 − p)/v · (t(n − 1)/t(N − 1))²,   v = N/(N − 1) Σ (k_i − p m_i)²/n²,   1 ≤ n* ≤ n

independent ones, with p = Σ k_i/n and t(k) the 97.5 % quantile of Student's distribution of k
degrees of freedom (E. L. Korn, B. I. Graubard: Confidence intervals for proportions with small
expected number of positive counts estimated from survey data. Survey Methodology 24, 1998), and N
where all groups agree. Points of grids and lists are not drawn: what is seen of them says how
likely a success is at these points, and their runs count in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from marsyard.campaign.sensitivity import block_size, column, places
from marsyard.campaign.study_file import DRAWN
from marsyard.operations.verdict import Chance, clopper_pearson
from marsyard.results.study_map import edges

#: values up to which each has a cell of its own
_FEW = 25
#: runs in a cell that are aimed at
_RUNS = 12


@dataclass(frozen=True)
class Cells:
    """The borders of a parameter's cells, which one each run is in, and words for them if the
    parameter has words."""

    name: str
    borders: np.ndarray
    of_run: np.ndarray
    words: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.borders) - 1


@dataclass(frozen=True)
class SuccessMap:
    """Runs, successes, and the interval of their probability by cell, [cells of x] or
    [cells of y, cells of x]; NaN where there is no run."""

    x: Cells
    y: Cells | None
    runs: np.ndarray
    good: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """good/runs; NaN where there is no run."""
        with np.errstate(invalid="ignore"):
            return np.where(self.runs > 0, self.good / np.maximum(self.runs, 1), np.nan)


def drawn(ds: xr.Dataset) -> bool:
    """Whether the points of a study were drawn."""
    return str(ds.attrs["design"]) in DRAWN


def cells(ds: xr.Dataset, name: str, dimensions: int) -> Cells:
    """The cells of a parameter for a map of that many dimensions."""
    given = column(ds, name)
    at = places(given)
    values, of_run = np.unique(at, return_inverse=True)
    if given.dtype.kind not in "fiu":
        words = tuple(str(w) for w in dict.fromkeys(given.tolist()))
        return Cells(name, edges(values), of_run, words)
    # values that hardly ever come twice are no levels, however few there are
    scattered = drawn(ds) and len(values) > ds.sizes["point"] / 2
    if len(values) <= _FEW and not scattered:
        return Cells(name, edges(values), of_run)
    count = int(np.clip((at.size / _RUNS) ** (1 / dimensions), 2, 20))
    borders = np.linspace(values[0], values[-1], count + 1)
    of_run = np.clip(np.searchsorted(borders, at, side="right") - 1, 0, count - 1)
    return Cells(name, borders, of_run)


def success_map(ds: xr.Dataset, x: str, y: str | None = None) -> SuccessMap:
    """How often runs succeeded over one parameter, or two."""
    along = cells(ds, x, 2 if y else 1)
    across = cells(ds, y, 2) if y else None
    good = ds["succeeded"].values.ravel() == 1
    flat = along.of_run
    shape: tuple[int, ...] = (len(along),)
    if across is not None:
        flat, shape = across.of_run * len(along) + along.of_run, (len(across), len(along))
    group = _groups(ds)
    size = int(np.prod(shape))
    runs, won = (np.bincount(f, minlength=size) for f in (flat, flat[good]))
    ends = np.full((2, size), np.nan)
    for cell in np.flatnonzero(runs):
        inside = flat == cell
        ends[:, cell] = _interval(good[inside], group[inside])
    return SuccessMap(along, across, *(a.reshape(shape) for a in (runs, won, *ends)))


def success_of(ds: xr.Dataset) -> Chance | None:
    """How many of all runs succeeded, with the interval; None where that is not asked."""
    if "succeeded" not in ds or not ds["succeeded"].size:
        return None
    good = ds["succeeded"].values.ravel() == 1
    return Chance(int(good.sum()), good.size, *_interval(good, _groups(ds)))


def success_words(ds: xr.Dataset) -> str:
    """'12 of 48, 25 % (14 to 40 %)'; of points that were not drawn only how many, and nothing where
    success is not asked."""
    found = success_of(ds)
    if found is None:
        return ""
    return found.words if drawn(ds) else f"{found.broken} of {found.runs}"


def _groups(ds: xr.Dataset) -> np.ndarray:
    """Of every run the group of those that depend on each other that it belongs to."""
    runs = np.arange(ds["succeeded"].size)
    if not drawn(ds):
        return runs
    point = runs // ds.sizes.get("replica", 1)
    return point // block_size(ds) if ds.attrs["design"] == "saltelli" else point


def _interval(good: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """The interval of the probability that a run succeeds, of runs in groups."""
    p, worth = float(good.mean()), _worth(good, group)
    return clopper_pearson(p * worth if 0 < p < 1 else int(p) * worth, worth)


def _worth(good: np.ndarray, group: np.ndarray) -> float:
    """How many independent runs those in groups are worth."""
    from scipy.stats import t

    _, place = np.unique(group, return_inverse=True)
    runs = np.bincount(place)
    n, groups = good.size, runs.size
    if groups in (1, n):
        return groups
    p = float(good.mean())
    off = np.bincount(place, weights=good) - p * runs
    v = groups / (groups - 1) * float(np.sum(off**2)) / n**2
    if v < 1e-15:
        return groups
    few = (t.ppf(0.975, n - 1) / t.ppf(0.975, groups - 1)) ** 2
    return float(np.clip(p * (1 - p) / v * few, 1, n))
