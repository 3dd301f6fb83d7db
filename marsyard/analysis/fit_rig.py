"""Fitting the soil contact model: each operating point is a run of a wheel in its rig.

All residuals, of the search and of the result, are those of runs of the engine. A run takes a
fraction of a second, and its forces ripple slightly with the parameters as nodes enter and leave
the contact. The search therefore needs few evaluations and no fine differences: it takes
Gauss-Newton steps d within a box |d_i| ≤ Δ and the bounds,

    minimise |r + J d|²,   −Δ ≤ d_i ≤ Δ,   0 ≤ u_i + d_i ≤ 1

a bounded linear least-squares problem, so that a parameter can end exactly at a bound. J is first
taken by differences over `DIFFERENCE` of each range, with all runs in parallel, and then updated
after each step by Broyden's rank-one formula (Mathematics of Computation 19, 1965),

    J ← J + (r(u + d) − r(u) − J d) dᵀ/(dᵀd)

It is recomputed when steps fail. Δ doubles after good steps and halves after bad ones (Dennis and
Schnabel, Numerical Methods for Unconstrained Optimization, 1983, chapters 6 and 8). The search ends
when a new J predicts a gain of less than `WORTH` of the cost. The result is the best point of all
runs, so it is never worse than the start.

The first search begins at the start values, others at the best points of a Latin hypercube around
them that spans `AROUND` of each range: the full ranges of moduli reach from water to rock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from marsyard.analysis.fit_problem import Problem
from marsyard.analysis.wheel_data import QUANTITIES
from marsyard.analysis.wheel_rig import UNSTEADY, Point, Rig, RigModel, RigWheel, Steady
from marsyard.ground.soil import Soil

#: part of each range over which J is taken
DIFFERENCE = 0.01
#: half the width of the box at first, and at most, as parts of the ranges
FIRST, LARGEST = 0.06, 0.25
#: least relative gain that is worth another step, and largest number of steps
WORTH, STEPS = 2e-3, 25
#: part of each range spanned by the hypercube of starts, and its number of points per search
AROUND, LOOKED_AT = 0.3, 10

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class RigProblem(Problem):
    """A problem whose forces come from runs of the engine."""

    rig: Rig = field(default_factory=Rig, compare=False)

    def prepare(self, points: Sequence[np.ndarray]) -> None:
        """Run several points of the search in parallel."""
        self.rig.many([each for u in points for each in self._asked(self.at(u))[0]])

    def compute(self, values: Mapping[str, float]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """What the rig gives at the data's rows, and the missing part of the load, float[n]."""
        found = self.steady(values)
        out = {q: np.array([0.0 if f is None else f.values[q] for f in found]) for q in QUANTITIES}
        short = np.array([1.0 if f is None or f.failed else 0.0 for f in found])
        out["sinkage"] = out["sinkage"] + values.get("sinkage_offset", 0.0)
        return out, short

    def steady(self, values: Mapping[str, float]) -> list[Steady | None]:
        """The run of each row; None where the soil carries nothing."""
        asked, rows = self._asked(values)
        out: list[Steady | None] = [None] * len(self.data)
        for row, found in zip(rows, self.rig.many(asked), strict=True):
            out[row] = found
        return out

    def _asked(self, values: Mapping[str, float]) -> tuple[list[tuple[Point, Soil]], list[int]]:
        data, soil = self.data, self.soil_at(values)
        rows = [k for k in range(len(data)) if self.bears(values, float(data.width[k]))]
        columns = (
            data.radius, data.width, data.lug_height, data.load, data.slip, data.slip_angle,
        )  # fmt: skip
        points = [Point(*(float(column[k]) for column in columns)) for k in rows]
        return [(point, soil) for point in points], rows

    def wheel_model(self, values: Mapping[str, float], wheel: int) -> RigModel:  # type: ignore[override]
        """The model of one of the data's wheels."""
        return RigModel(RigWheel(*self.data.wheels()[wheel][0]), self.soil_at(values))


def search_by_runs(
    problem: RigProblem, starts: int, cube: np.ndarray, tell: Progress
) -> tuple[np.ndarray, tuple[float, ...]]:
    """The best point found, and the costs of all starts, best first.

    cube: points of a hypercube in [0, 1), float[n, p], the best of which are starts.
    """
    start = problem.start()
    points = [start]
    search = _Search(problem, tell)
    search.residuals(start)
    if starts > 1:
        near = list(np.clip(start + AROUND * (cube - 0.5), 1e-3, 1 - 1e-3))
        problem.prepare(near)
        costs = [float(np.sum(search.residuals(u) ** 2)) for u in near]
        points += [near[i] for i in np.argsort(costs, kind="stable")[: starts - 1]]
    costs = []
    for number, point in enumerate(points, start=1):
        search.said = f"search {number} of {len(points)}"
        costs.append(search.descend(point))
    return search.best, tuple(sorted(costs))


class _Search:
    """Gauss-Newton steps in boxes, and the best point that was run."""

    def __init__(self, problem: RigProblem, tell: Progress) -> None:
        self.problem, self.said = problem, "start"
        self.best, self.cost = problem.start(), np.inf
        problem.rig.say = lambda text: tell(0, 0, text)
        problem.rig.tell = lambda runs: tell(runs, 0, self._words(runs))

    def _words(self, runs: int) -> str:
        cost = "" if np.isinf(self.cost) else f", best sum of squares {self.cost:.4g}"
        return f"{self.said}: {runs} runs{cost}"

    def residuals(self, u: np.ndarray) -> np.ndarray:
        """Of data and priors; the best point is kept."""
        r: np.ndarray = self.problem.residuals(u)
        cost = float(r @ r)
        if cost < self.cost:
            self.best, self.cost = u.copy(), cost
        return r

    def descend(self, u: np.ndarray) -> float:
        """Steps from a point until they are not worth it; the cost where they end."""
        from scipy.optimize import lsq_linear

        r, size = self.residuals(u), FIRST
        J, fresh = self._jacobian(u, r), True
        for _ in range(STEPS):
            low, high = np.maximum(-size, -u), np.minimum(size, 1.0 - u)
            d = lsq_linear(J, -r, (np.minimum(low, -1e-12), np.maximum(high, 1e-12)), "bvls").x
            d = np.clip(u + d, 0.0, 1.0) - u
            cost = float(r @ r)
            promised = cost - float(np.sum((r + J @ d) ** 2))
            if promised <= WORTH * cost or size < 0.1 * DIFFERENCE:
                if fresh:
                    break
                J, fresh, size = self._jacobian(u, r), True, max(size, 2 * DIFFERENCE)
                continue
            there = self.residuals(u + d)
            gain = (cost - float(there @ there)) / promised
            # a step of Broyden's: J now says what has happened along d
            J = J + np.outer(there - r - J @ d, d) / float(d @ d)
            if gain > 0:
                u, r, fresh = u + d, there, False
            if gain > 0.7:
                size = min(2.0 * size, LARGEST)
            elif gain < 0.25:
                size = 0.5 * float(np.abs(d).max())
        return float(r @ r)

    def _jacobian(self, u: np.ndarray, r: np.ndarray) -> np.ndarray:
        """By differences into the range; all their runs are one batch."""
        moved = []
        for i in range(len(u)):
            there = u.copy()
            there[i] += DIFFERENCE if u[i] < 0.5 else -DIFFERENCE
            moved.append(there)
        self.problem.prepare(moved)
        columns = [(self.residuals(there) - r) / (there[i] - u[i]) for i, there in enumerate(moved)]
        return np.stack(columns, axis=1)


def unsteady(problem: RigProblem, values: Mapping[str, float]) -> list[str]:
    """One sentence about rows that have not reached a steady state."""
    late = [f for f in problem.steady(values) if f is not None and f.drift > UNSTEADY]
    if not late:
        return []
    return [
        f"in {len(late)} rows the wheel has not reached a steady state: its pull still changes by "
        f"up to {max(f.drift for f in late):.0%} of the load"
    ]
