"""Identification of the parameters of a wheel model from measured forces.

    minimise  Σ_q Σ_i [(y_q(x_i; p) − y_qi)/e_q]²  +  Σ_j [(p_j − μ_j)/σ_j]²    within bounds

over pull, side force, torque and sinkage q, operating points i and the free parameters p. The
errors e_q and the start values are those of `fit_problem`; priors are Gaussian, for a parameter
searched by its logarithm in the logarithm (relative σ).

Search: scipy's trust region with bounds (trf), from the start values and from the best of a Latin
hypercube over the bounds (seeded), until four of them agree. A set of parameters with which a wheel
cannot carry its load is not refused: its forces are those at the greatest depth, and the missing
part of the load counts. Where the zero of the sinkage is not known, `sinkage_offset` is searched
for, too.

Bootstrap: fitted values plus residuals drawn anew, quantity by quantity, blown up by √(n/(n − p))
and, because they are centred, by √(m/(m − 1)), m of that quantity; each set is fitted from the
optimum. The interval leaves Φ(−t) of the values out at either end, t Student's 97.5 % quantile,
which is 2.5 % for many values and less for few (expanded percentiles, Hesterberg 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from marsyard.analysis.fit import Fit, Found, certainty, rms, warn
from marsyard.analysis.fit_covariance import soil_covariance
from marsyard.analysis.fit_problem import Problem, make_problem
from marsyard.analysis.fit_rig import DIFFERENCE, RigProblem, search_by_runs, unsteady
from marsyard.analysis.fit_rig import LOOKED_AT as RUN_FIRST
from marsyard.analysis.parameters import SCM
from marsyard.analysis.wheel_data import QUANTITIES, WheelData, join
from marsyard.analysis.wheel_rig import Rig
from marsyard.cores import job_count
from marsyard.errors import InputError
from marsyard.ground.soil import Soil, with_covariance
from marsyard.interaction.wheel_models import Exit
from marsyard.units import read_gravity

#: points of the hypercube looked at for each start that is taken from it
LOOKED_AT = 12
#: searches that agree in their cost within this part are enough when they are four
AGREE, ENOUGH = 1e-3, 4
#: a misfit of this many times the scatter of the measurements is the model's
LACKS = 2.0
#: nearer to a bound than this part of the range counts as on it
AT_BOUND = 1e-4

Progress = Callable[[int, int, str], None]


def identify(
    data: WheelData | Sequence[WheelData],
    model: str,
    *,
    soil: Soil | str | Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    exit: Exit | None = None,
    errors: Mapping[str, float] | None = None,
    starts: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    gravity: float | str = 9.81,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a wheel model, or the soil contact model (`scm`), to measurements.

    data: measured wheels; several are fitted together, with one soil.
    soil: start values; a soil, its name or file.
    free: names of the parameters to search for, see `parameters`; by default those of
        `DEFAULT_FREE` that suit the measured quantities.
    fix: values of others, SI. prior: mean and standard deviation of free ones, SI.
    exit: the exit rule and its (start) value.
    errors: stated error of a quantity, SI; 0 leaves it out of the fit.
    starts: searches, the first from the start values; 6, for scm 2.
    bootstrap: number of sets drawn.
    gravity: for the weight of soil pushed aside [m/s²], or a world's name.
    jobs: processes for the runs that scm takes; one per core. More than one start a script anew, so
        that it calls this under `if __name__ == "__main__"`.
    progress: hears how much is done, of how much (0: unknown), and of what.
    """
    if starts is not None and starts < 1 or bootstrap < 0:
        raise InputError("identify: starts must be 1 or more, bootstrap 0 or more")
    processes = job_count(jobs)
    tell = progress or (lambda done, total, what: None)
    rng = np.random.default_rng(seed)
    data = data if isinstance(data, WheelData) else join(data)
    kind = RigProblem if model == SCM else Problem
    problem = make_problem(
        data,
        model,
        soil,
        free,
        fix or {},
        prior or {},
        exit,
        errors or {},
        read_gravity(gravity),
        kind,
    )
    if isinstance(problem, RigProblem):
        if bootstrap:
            raise InputError(
                "bootstrap: each of its data sets would take as many runs as the fit itself; "
                "remove it, scm provides the intervals of the Jacobian"
                ""
            )
        return _identify_by_runs(problem, starts or 2, seed, processes, rng, tell)
    u, costs = _search(problem, starts or 6, rng, tell)
    samples = _bootstrap(problem, u, bootstrap, rng, tell) if bootstrap else None
    return _result(problem, u, costs, samples, seed)


def _identify_by_runs(
    problem: RigProblem,
    starts: int,
    seed: int,
    jobs: int,
    rng: np.random.Generator,
    tell: Progress,
) -> Fit:
    """The same for the soil contact model."""
    with Rig(jobs) as rig:
        problem = replace(problem, rig=rig)
        cube = hypercube(RUN_FIRST * (starts - 1), len(problem.free), rng)
        u, costs = search_by_runs(problem, starts, cube, tell)
        u = _settled(problem, problem.start(), u)
        fit = _result(problem, u, costs, None, seed)
        warnings = (*fit.warnings, *unsteady(problem, problem.at(u)))
        notes = (*fit.notes, f"{rig.runs} runs of the rig")
        return replace(fit, warnings=warnings, notes=notes)


# --- the search


def _search(
    problem: Problem, starts: int, rng: np.random.Generator, tell: Progress
) -> tuple[np.ndarray, tuple[float, ...]]:
    """The best point found, and the costs of all starts, best first."""
    points = [problem.start()]
    if starts > 1:
        cube = hypercube(LOOKED_AT * (starts - 1), len(problem.free), rng)
        costs = [float(np.sum(problem.residuals(u) ** 2)) for u in cube]
        points += [cube[i] for i in np.argsort(costs, kind="stable")[: starts - 1]]
    found = []
    for i, point in enumerate(points):
        tell(i, len(points), "searching")
        found.append(_minimise(problem, point))
        least = min(cost for _, cost in found)
        if sum(cost <= (1 + AGREE) * least for _, cost in found) >= ENOUGH:
            break
    tell(len(points), len(points), "searching")
    found.sort(key=lambda pair: pair[1])
    best, _ = _minimise(problem, found[0][0], tolerance=1e-12)
    return _settled(problem, points[0], best), tuple(cost for _, cost in found)


def _settled(problem: Problem, start: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The fit, never worse than the start: what has no influence stays where it began, but not
    where it has none only near the fit (on a plateau that the start is not on)."""
    cost = float(np.sum(problem.residuals(best) ** 2))
    if not cost <= float(np.sum(problem.residuals(start) ** 2)):
        return start
    for i in np.flatnonzero(np.abs(_jacobian(problem, best)).max(axis=0) < 1e-9):
        back = best.copy()
        back[i] = start[i]
        if float(np.sum(problem.residuals(back) ** 2)) <= cost * (1 + 1e-9) + 1e-12:
            best = back
    return best


def hypercube(count: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """A Latin hypercube, float[count, dimensions] in [0, 1): one point in each slice each way."""
    slices = np.tile(np.arange(count), (dimensions, 1))
    return (rng.permuted(slices, axis=1).T + rng.random((count, dimensions))) / count


def _minimise(
    problem: Problem,
    u: np.ndarray,
    measured: Mapping[str, np.ndarray] | None = None,
    tolerance: float = 1e-5,
    steps: int = 60,
) -> tuple[np.ndarray, float]:
    from scipy.optimize import least_squares

    done = least_squares(
        problem.residuals, np.clip(u, 1e-6, 1 - 1e-6), bounds=(0.0, 1.0), x_scale="jac",
        ftol=tolerance, xtol=tolerance, gtol=1e-12, max_nfev=steps, args=(measured,),
    )  # fmt: skip
    return done.x, float(2 * done.cost)


def _jacobian(problem: Problem, u: np.ndarray) -> np.ndarray:
    """Of the data's residuals, by central differences inside the bounds."""
    half = DIFFERENCE if isinstance(problem, RigProblem) else 1e-5
    pairs = []
    for i in range(len(u)):
        ends = [u.copy(), u.copy()]
        ends[0][i], ends[1][i] = max(u[i] - half, 0.0), min(u[i] + half, 1.0)
        pairs.append(ends)
    problem.prepare([point for ends in pairs for point in ends])
    columns = [
        (problem.data_residuals(high) - problem.data_residuals(low)) / (high[i] - low[i])
        for i, (low, high) in enumerate(pairs)
    ]
    return np.stack(columns, axis=1)


def _bootstrap(
    problem: Problem, u: np.ndarray, count: int, rng: np.random.Generator, tell: Progress
) -> np.ndarray:
    """Parameters of `count` sets with residuals drawn anew, float[count, p], SI."""
    data, free = problem.data, problem.free
    computed, _ = problem.compute(problem.at(u))
    total = sum(int(np.isfinite(data.measured[q]).sum()) for q in problem.stated)
    blow_up = math.sqrt(total / max(total - len(free), 1))
    pools = {}
    for name in problem.stated:
        known = np.isfinite(data.measured[name])
        off = ((data.measured[name] - computed[name]) / problem.errors[name])[known]
        centred = math.sqrt(len(off) / max(len(off) - 1, 1))
        pools[name] = (known, blow_up * centred * (off - off.mean()))
    out = []
    for i in range(count):
        tell(i, count, "bootstrap")
        drawn = dict(data.measured)
        for name, (known, pool) in pools.items():
            values = np.full(len(data), np.nan)
            noise = problem.errors[name][known] * rng.choice(pool, known.sum())
            values[known] = computed[name][known] + noise
            drawn[name] = values
        best, _ = _minimise(problem, u, drawn, tolerance=1e-8, steps=25)
        out.append([p.from_unit(x) for p, x in zip(free, best, strict=True)])
    tell(count, count, "bootstrap")
    return np.array(out)


# --- the result


def _lacking(problem: Problem, after: Mapping[str, float]) -> list[str]:
    """One sentence about quantities that the model misses by more than they scatter."""
    times = {q: after[q] / problem.stated[q] for q in problem.scatter_known}
    words = [f"{QUANTITIES[q][3]} by {t:.2g}" for q, t in times.items() if t > LACKS]
    if not words:
        return []
    return [
        f"the model misses {' and '.join(words)} times the scatter of the measurements; the model "
        f"is incomplete, and the intervals are too small"
        ""
    ]


def _traded(
    problem: Problem, before: Mapping[str, float], after: Mapping[str, float], cost: float
) -> list[str]:
    """One sentence about quantities that fit worse than at the start, in favour of others."""
    worse = [QUANTITIES[q][3] for q in problem.stated if after[q] > 1.02 * before[q]]
    if not worse:
        return []
    start = float(np.sum(problem.data_residuals(problem.start()) ** 2))
    return [
        f"{' and '.join(worse)} fit worse than at the start, in favour of other quantities; the "
        f"sum of squares fell from {start:.4g} to {cost:.4g} (--error sets the weights)"
    ]


def _result(
    problem: Problem,
    u: np.ndarray,
    costs: tuple[float, ...],
    samples: np.ndarray | None,
    seed: int,
) -> Fit:
    from scipy.special import ndtr, stdtrit

    data, free = problem.data, problem.free
    bound = (u < AT_BOUND) | (u > 1 - AT_BOUND)
    u = np.where(bound, np.round(u), u)
    chi_square = float(np.sum(problem.data_residuals(u) ** 2))
    weights = problem.prior_weights()
    sure = certainty(_jacobian(problem, u), weights, chi_square, bound)
    quantile = float(stdtrit(sure.freedom, 0.975))
    found = []
    for i, p in enumerate(free):
        value = p.from_unit(u[i])
        start, prior = problem.values[p.name], problem.prior.get(p.name)
        ends = ndtr([-quantile, quantile])
        boot = None if samples is None else tuple(np.quantile(samples[:, i], ends))
        if bound[i]:
            end = "low" if u[i] < 0.5 else "high"
            found.append(Found(p, value, start, None, None, None, end, prior, boot))
            continue
        half = quantile * sure.sigma[i]
        low, high = p.from_unit(u[i] - half), p.from_unit(u[i] + half)
        error = half * p.slope(u[i]) if np.isfinite(half) else None
        found.append(Found(p, value, start, low, high, error, "", prior, boot))
    values = problem.at(u)
    computed, short = problem.compute(values)
    warnings = [*problem.warnings, *warn(found, sure, sure.sigma, quantile)]
    if np.any(short > 0):
        warnings.insert(
            0,
            f"with the fitted parameters the wheel sinks to its axle in {int(np.sum(short > 0))} "
            "rows; the model cannot describe them",
        )
    if len(costs) > 1 and costs[1] > 1.02 * costs[0]:
        warnings.append("only one of the searches reached the best fit; try more start values")
    wheels = len(problem.exits)
    start_computed, _ = problem.compute(problem.values)
    covariance = soil_covariance(sure.covariance, [f.parameter for f in found])
    before, after = rms(data, start_computed), rms(data, computed)
    warnings += _lacking(problem, after)
    return Fit(
        data=data,
        model=problem.model,
        soil=with_covariance(problem.soil_at(values), covariance),
        start_soil=problem.soil,
        models=tuple(problem.wheel_model(values, i) for i in range(wheels)),
        start_models=tuple(problem.wheel_model(problem.values, i) for i in range(wheels)),
        offset=values.get("sinkage_offset", 0.0),
        found=tuple(found),
        fixed={k: v for k, v in values.items() if k not in {p.name for p in free}},
        correlation=sure.correlation,
        covariance=sure.covariance,
        before=before,
        after=after,
        computed=computed,
        computed_start=start_computed,
        stated=dict(problem.stated),
        cost=chi_square,
        freedom=sure.freedom,
        condition=sure.condition,
        collinearity=sure.collinearity,
        warnings=tuple(warnings),
        notes=(*problem.notes, *_traded(problem, before, after, chi_square)),
        samples=samples,
        seed=seed,
        costs=costs,
    )
