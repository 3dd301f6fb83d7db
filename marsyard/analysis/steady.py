"""From logs over time to operating points: means over windows of steady motion.

The models are for steady motion. A log is cut into windows, separately for each run (a label, or a
time that starts again), and each window's means are one operating point. Slips are computed from
mean speeds, not averaged from noisy ratios.

A wheel needs some distance to sink in. In a run whose slip does not change (its windows' slips
within ±0.05 of their median), the windows at its beginning in which a measured quantity is off the
median of the second half by more than a tenth of it plus three times the scatter there are left
out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

#: slips of a run within this of their median count as one
SAME_SLIP = 0.05
#: a run of fewer windows is taken as it is
FEWEST = 6


def runs(time: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Number of the run of each row, int[n]: rows of one label whose time goes on.

    time [s]: float[n]. labels: int[n].
    """
    out = np.zeros(len(time), dtype=int)
    count = 0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        again = np.concatenate([[0], np.cumsum(np.diff(time[rows]) < 0)])
        out[rows] = count + again
        count += int(again[-1]) + 1
    return out


def windows(time: np.ndarray, run: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Number of the window of each row, int[n], and the run of each window, int[m]."""
    first = np.full(run.max() + 1, np.inf)
    np.minimum.at(first, run, time)
    bins = np.floor((time - first[run]) / length + 1e-9)
    kinds, index = np.unique(np.stack([run, bins], axis=1), axis=0, return_inverse=True)
    return index.reshape(-1), kinds[:, 0].astype(int)


def means(values: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Mean of each window without what is NaN, float[count]."""
    known = np.isfinite(values)
    number = np.bincount(index[known], minlength=count)
    total = np.bincount(index[known], values[known], minlength=count)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def settled(slip: np.ndarray, measured: Mapping[str, np.ndarray], run: np.ndarray) -> np.ndarray:
    """Windows in which the wheel has settled, bool[m]; see the module docstring.

    slip, measured: of each window, in the order of time. run: of each window.
    """
    keep = np.ones(len(slip), dtype=bool)
    for r in np.unique(run):
        rows = np.flatnonzero(run == r)
        spread = np.abs(slip[rows] - np.median(slip[rows]))
        if len(rows) < FEWEST or not np.all(spread <= SAME_SLIP):
            continue
        first = max(_first(values[rows]) for values in measured.values())
        keep[rows[:first]] = False
    return keep


def _first(values: np.ndarray) -> int:
    """How many values at the beginning are off those of the second half; at most half of them."""
    half = len(values) // 2
    late = values[half:][np.isfinite(values[half:])]
    if late.size < 2:
        return 0
    middle = np.median(late)
    scatter = 1.4826 * np.median(np.abs(late - middle))
    off = np.abs(values - middle) > 3 * scatter + 0.1 * abs(middle)
    return int(np.argmin(off[:half])) if not off[:half].all() else half
