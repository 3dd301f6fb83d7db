"""Which candidates are best: domination, ranks, crowding, and the volume that a front dominates.

All values are to be small. a dominates b if a ≤ b in all objectives and a < b in one. Rank 1 is
what nobody dominates, rank 2 what only rank 1 dominates, and so on (K. Deb et al.: A fast and
elitist multiobjective genetic algorithm: NSGA-II. IEEE Trans. Evol. Comp. 6, 2002).

The hypervolume of a set of points is the volume of all that one of them dominates, up to a
reference point (E. Zitzler, L. Thiele: Multiobjective evolutionary algorithms. IEEE Trans. Evol.
Comp. 3, 1999). It grows with every better point, and never shrinks. Here it is exact: slices along
the last objective, each as thick as the step between two points and as large as the hypervolume of
those below it in one dimension less.
"""

from __future__ import annotations

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Pareto ranks, from 1, of values [n, m] to be minimised; shape [n]."""
    n = len(values)
    rank = np.zeros(n, dtype=np.int64)
    no_worse, better = np.ones((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for column in values.T:
        no_worse &= column[:, None] <= column[None, :]
        better |= column[:, None] < column[None, :]
    dominates = no_worse & better
    level = 0
    while (rank == 0).any():
        level += 1
        left = rank == 0
        front = left & ~(dominates & left[:, None]).any(axis=0)
        rank[front] = level
    return rank


def hypervolume(values: np.ndarray, reference: np.ndarray) -> float:
    """Volume dominated by points [n, m] up to a reference point [m]; all are to be small."""
    inside = values[(values < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    order = inside[np.argsort(inside[:, -1], kind="stable")]
    steps = np.append(order[1:, -1], reference[-1]) - order[:, -1]
    if inside.shape[1] == 2:
        widths = reference[0] - np.minimum.accumulate(order[:, 0])
        return float(np.sum(widths * steps))
    return float(
        sum(
            hypervolume(order[: k + 1, :-1], reference[:-1]) * step
            for k, step in enumerate(steps)
            if step > 0
        )
    )


def spread(values: np.ndarray, most: int) -> list[int]:
    """Indices of at most `most` points of a front [n, m]: the best in each objective first, then
    always the one farthest from those chosen, distances by the range of each objective."""
    n = len(values)
    if n <= most:
        return sorted(range(n), key=lambda k: tuple(values[k]))
    reach = np.ptp(values, axis=0)
    scaled = (values - values.min(axis=0)) / np.where(reach > 0, reach, 1.0)
    chosen = list(dict.fromkeys(int(k) for k in values.argmin(axis=0)))[:most]
    while len(chosen) < most:
        gaps = np.linalg.norm(scaled[:, None] - scaled[chosen][None], axis=2).min(axis=1)
        chosen.append(int(gaps.argmax()))
    return sorted(chosen, key=lambda k: tuple(values[k]))
