"""Identification: the parameters of a wheel model with which it fits measured forces best.

    minimise  Σ_q Σ_i [(y_q(x_i; p) − y_qi)/e_q]²  +  Σ_j [(p_j − μ_j)/σ_j]²    within bounds

over pull, side force, torque and sinkage q, operating points i and the free parameters p. The
error e_q of a quantity is, unless stated, its pooled standard deviation where the file has one,
else the scatter of rows that repeat one another where there are five or more, and else a twentieth
of its range. Rows with a standard deviation of their own, σ_i, have e_qi² = (σ_i² + e_q²)/2: those
of three runs or so are too rough to be taken alone. Priors are Gaussian, for a parameter searched
by its logarithm in the logarithm (relative σ). What the errors do is weigh the quantities against
each other; how large the scatter really is comes from the fit (see `fit`).

Search: scipy's trust region with bounds (trf), from the start values and from the best of a Latin
hypercube over the bounds (seeded), until four of them agree. A set of parameters with which a wheel
cannot carry its load is not refused: its forces are those at the greatest depth, and the missing
part of the load counts. Where the zero of the sinkage is not known, `sinkage_offset` is searched
for, too.

Bootstrap: fitted values plus residuals drawn anew, quantity by quantity, blown up by √(n/(n − p))
and, because they are centred, by √(m/(m − 1)), m of that quantity; each set is fitted from the
optimum. The interval leaves Φ(−t) of the values out at either end, t Student's 97.5 % quantile,
which is 2.5 % for many values and less for few (expanded percentiles, Hesterberg 2015).

Start values of what is not given, each said in the notes of the fit: soil `lunar_nominal`; peak_0
0.4, peak_1 0.15 (Ishigami et al. 2007); the exit rule. No exit value holds for a kind of wheel:
Ishigami, Mizuuchi and Yoshida (2005) fitted "height" 0.1 to 0.3 to a smooth wheel and 1.0 to 1.2 to
paddles, but Ding et al. (2011) let contact end at the lowest point also with lugs, and a fit to
their wheel says the same. It is therefore searched for by default, from "height" 0.2 (smooth) or
1.1 (lugs) on; by the model ding it is "angle" 0, as its source has it. Where it is neither given
nor searched for, a warning (for ding a note) says what was assumed and how much pull hangs on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marsyard.analysis.fit import Fit, Found, certainty, rms, warn
from marsyard.analysis.parameters import Parameter, default_free, find, searchable
from marsyard.analysis.wheel_data import QUANTITIES, WheelData
from marsyard.errors import InputError, suggest
from marsyard.ground.soil import NUMBERS, Soil, load_soil
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel
from marsyard.interaction.wheel_models.arc import DEEPEST

START_SOIL = "lunar_nominal"
EXIT_SMOOTH, EXIT_LUGS, EXIT_DING = Exit("height", 0.2), Exit("height", 1.1), Exit("angle", 0.0)
#: points of the hypercube looked at for each start that is taken from it
LOOKED_AT = 12
#: residuals per missing part of the load
SHORT = 50.0
#: searches that agree in their cost within this part are enough when they are four
AGREE, ENOUGH = 1e-3, 4
#: loads that differ by this factor tell k and n apart
SEVERAL = 2.0
#: a misfit of this many times the scatter of the measurements is the model's
LACKS = 2.0
#: exit values of the literature, rule "height"
EXIT_RANGE = (0.0, 1.2)
#: nearer to a bound than this part of the range counts as on it
AT_BOUND = 1e-4

Progress = Callable[[int, int, str], None]


def identify(
    data: WheelData,
    model: str,
    *,
    soil: Soil | str | Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    exit: Exit | None = None,
    errors: Mapping[str, float] | None = None,
    starts: int = 6,
    bootstrap: int = 0,
    seed: int = 0,
    gravity: float = 9.81,
    progress: Progress | None = None,
) -> Fit:
    """Fit a wheel model to measurements.

    soil: start values; a soil, its name or file.
    free: names of the parameters to search for, see `parameters`; by default those of
        `DEFAULT_FREE` that suit the measured quantities.
    fix: values of others, SI. prior: mean and standard deviation of free ones, SI.
    exit: the exit rule and its (start) value.
    errors: stated error of a quantity, SI; 0 leaves it out of the fit.
    starts: searches, the first from the start values. bootstrap: number of sets drawn.
    """
    problem = _problem(data, model, soil, free, fix or {}, prior or {}, exit, errors or {}, gravity)
    if starts < 1 or bootstrap < 0:
        raise InputError("identify: starts must be 1 or more, bootstrap 0 or more")
    tell = progress or (lambda done, total, what: None)
    rng = np.random.default_rng(seed)
    u, costs = _search(problem, starts, rng, tell)
    samples = _bootstrap(problem, u, bootstrap, rng, tell) if bootstrap else None
    return _result(problem, u, costs, samples, seed)


# --- the problem


@dataclass(frozen=True)
class _Problem:
    """What is compared with what: data, model, start values, free parameters, errors."""

    data: WheelData
    model: str
    soil: Soil
    exits: tuple[Exit, ...]
    values: Mapping[str, float]  # start value of every parameter that is free or fixed, SI
    free: tuple[Parameter, ...]
    fixed: Mapping[str, float]
    prior: Mapping[str, tuple[float, float]]
    stated: Mapping[str, float]
    errors: Mapping[str, np.ndarray]  # of each row, SI
    gravity: float
    notes: tuple[str, ...]
    scatter_known: tuple[str, ...] = ()  # quantities whose error is a measured scatter
    warnings: tuple[str, ...] = ()

    def start(self) -> np.ndarray:
        u = np.array([p.to_unit(self.values[p.name]) for p in self.free])
        return np.clip(u, 1e-3, 1 - 1e-3)

    def at(self, u: np.ndarray) -> dict[str, float]:
        """Values of all parameters at a point of the search."""
        return {
            **self.values,
            **{p.name: p.from_unit(x) for p, x in zip(self.free, u, strict=True)},
        }

    def residuals(self, u: np.ndarray, measured: Mapping[str, np.ndarray] | None = None) -> Any:
        """Scaled residuals of the data and of the priors."""
        return np.concatenate([self.data_residuals(u, measured), self.prior_residuals(u)])

    def data_residuals(
        self, u: np.ndarray, measured: Mapping[str, np.ndarray] | None = None
    ) -> np.ndarray:
        computed, short = self.compute(self.at(u))
        measured = measured or self.data.measured
        parts = []
        for name, error in self.errors.items():
            known = np.isfinite(measured[name])
            off = (computed[name][known] - measured[name][known]) / error[known]
            parts.append(off + SHORT * short[known])
        return np.concatenate(parts)

    def prior_residuals(self, u: np.ndarray) -> np.ndarray:
        """How many standard deviations each prior is off."""
        out = [
            (self._search_value(p, p.from_unit(x)) - mean) / sd
            for p, x in zip(self.free, u, strict=True)
            if p.name in self.prior
            for mean, sd in [self._search_prior(p)]
        ]
        return np.array(out)

    def prior_weights(self) -> np.ndarray:
        """1/σ² of the priors in the coordinates of the search; 0 without prior."""
        out = np.zeros(len(self.free))
        for i, p in enumerate(self.free):
            if p.name in self.prior:
                _, sd = self._search_prior(p)
                span = self._search_value(p, p.high) - self._search_value(p, p.low)
                out[i] = (span / sd) ** 2
        return out

    @staticmethod
    def _search_value(p: Parameter, value: float) -> float:
        return math.log(value) if p.log else value

    def _search_prior(self, p: Parameter) -> tuple[float, float]:
        mean, sd = self.prior[p.name]
        return (math.log(mean), sd / mean) if p.log else (mean, sd)

    def compute(self, values: Mapping[str, float]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """What the model gives at the data's rows, and the missing part of the load, float[n]."""
        data, n = self.data, len(self.data)
        out = {name: np.zeros(n) for name in QUANTITIES}
        short = np.zeros(n)
        for i, (_, rows) in enumerate(data.wheels()):
            body = self.wheel_model(values, i)
            points = np.stack([data.load, data.slip, data.slip_angle], axis=1)[rows]
            few, back = np.unique(points, axis=0, return_inverse=True)
            forces, lacking = _forces(body, few)
            for name in QUANTITIES:
                out[name][rows] = forces[name][back.reshape(-1)]
            short[rows] = lacking[back.reshape(-1)]
        out["sinkage"] = out["sinkage"] + values.get("sinkage_offset", 0.0)
        return out, short

    def wheel_model(self, values: Mapping[str, float], wheel: int) -> WheelModel:
        (radius, width, lugs), _ = self.data.wheels()[wheel]
        body = Wheel(radius, width, self.exit_at(values, wheel), lugs, **shares(values))
        own = {k: v for k, v in values.items() if k in MODELS[self.model][1]}
        return WheelModel(self.model, body, self.soil_at(values), own, self.gravity)

    def exit_at(self, values: Mapping[str, float], wheel: int) -> Exit:
        rule = self.exits[wheel]
        return replace(rule, value=values["exit"]) if "exit" in values else rule

    def soil_at(self, values: Mapping[str, float]) -> Soil:
        """The soil with the parameters' values in it."""
        numbers: dict[str, float] = {}
        for name, value in values.items():
            place = find(self.model, name)
            if place.place == "soil":
                numbers[place.field] = value
        if "k" in numbers:
            numbers["k_phi"], numbers["k_c"] = numbers.pop("k"), 0.0
        own = {**self.soil.extra, **{k: v for k, v in values.items() if k in MODELS[self.model][1]}}
        return replace(self.soil, **numbers, extra=own)  # type: ignore[arg-type]


def shares(values: Mapping[str, float]) -> dict[str, float]:
    """Where the lugs shear the soil, if it was said."""
    return {k: values[k] for k in ("shear_share", "lug_share") if k in values}


def _forces(body: WheelModel, points: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Forces at load, slip, slip angle [n, 3]; where the wheel sinks in, those at the deepest."""
    load, slip, angle = points.T
    f = body.under_load(load, slip, angle)
    columns = {"pull": f.drawbar_pull, "side": f.side_force, "torque": f.torque}
    columns["sinkage"] = f.sinkage
    lost = ~np.isfinite(f.sinkage) | ~np.isfinite(f.drawbar_pull)
    short = np.zeros(len(load))
    if lost.any():
        deep = body.at_sinkage(DEEPEST * body.wheel.radius, slip[lost], angle[lost])
        instead = {"pull": deep.drawbar_pull, "side": deep.side_force, "torque": deep.torque}
        instead["sinkage"] = deep.sinkage
        for name, values in instead.items():
            columns[name] = columns[name].copy()
            columns[name][lost] = np.nan_to_num(values)
        short[lost] = np.clip(1.0 - np.nan_to_num(deep.load) / load[lost], 0.0, 1.0)
    return columns, short


def _problem(
    data: WheelData,
    model: str,
    soil: Soil | str | Mapping[str, Any] | None,
    free: Sequence[str],
    fix: Mapping[str, float],
    prior: Mapping[str, tuple[float, float]],
    exit: Exit | None,
    errors: Mapping[str, float],
    gravity: float,
) -> _Problem:
    if model not in MODELS:
        raise InputError(f"model '{model}'; {suggest(model, MODELS)}")
    notes = list(data.notes)
    if soil is None:
        soil = START_SOIL
        if MODELS[model][2]:
            notes.append(f"start values of the soil are those of {START_SOIL}")
    begin = soil if isinstance(soil, Soil) else load_soil(soil)
    names = list(free) or list(_default_free(model, data, fix))
    chosen = [searchable(model, name) for name in names]
    if len({p.name for p in chosen}) != len(chosen):
        raise InputError("free: a parameter is named twice")
    fixed = {find(model, name, "fix").name: value for name, value in fix.items()}
    for p in chosen:
        if p.name in fixed:
            raise InputError(f"'{p.name}' is both free and fixed")
    if data.relative_sinkage and "sinkage_offset" not in [p.name for p in chosen]:
        if "sinkage_offset" not in fixed and errors.get("sinkage", 1.0) > 0:
            chosen.append(find(model, "sinkage_offset"))
            notes.append("the zero of the sinkage is not known; sinkage_offset is searched for")
    _check_choice(data, model, [p.name for p in chosen], fixed)
    exits = tuple(exit or default_exit(model, size[2]) for size, _ in data.wheels())
    assumed = exit is None and "strength" in MODELS[model][2] and "exit" not in fixed
    if assumed and any(p.name == "exit" for p in chosen):
        notes.append(f"the exit value is searched for, from {_said(exits)} on")
        assumed = False
    if any(p.name == "n2" for p in chosen) and "n2" not in free:
        notes.append("n2, sinkage by side slip, is searched for; --fix n2=0 leaves it out")
    if len(exits) > 1 and any(p.name == "exit" for p in chosen):
        notes.append("one exit value is searched for, for all wheels of the data")
    values = _start_values(data, model, begin, chosen, fixed, exits, notes)
    begin = _complete(begin, model, values)
    stated = _stated(data, errors)
    count = sum(int(np.isfinite(data.measured[q]).sum()) for q in stated)
    beliefs = {searchable(model, k).name: v for k, v in prior.items()}
    _check_priors(chosen, beliefs)
    if count + len(beliefs) < len(chosen):
        raise InputError(
            f"identify: {len(chosen)} free parameters, but only {count} measured values; free fewer"
        )
    problem = _Problem(
        data, model, begin, exits, values, tuple(chosen), fixed, beliefs, stated,
        _row_errors(data, stated, errors), gravity, tuple(notes),
        tuple(q for q in stated if q not in errors and _scatter(data, q)),
    )  # fmt: skip
    if any(p.name == "sinkage_offset" for p in chosen):
        # the best zero for the start values
        computed, _ = problem.compute(values)
        off = float(np.nanmean(data.measured["sinkage"] - computed["sinkage"]))
        problem = replace(problem, values={**values, "sinkage_offset": off})
    for i in range(len(exits)):
        problem.wheel_model(values, i)
    if not assumed:
        return problem
    # contact to the lowest point is part of what ding's source says
    if model == "ding":
        return replace(problem, notes=(*problem.notes, _exit_said(problem)))
    return replace(problem, warnings=(_exit_said(problem),))


def _default_free(model: str, data: WheelData, fix: Mapping[str, float]) -> list[str]:
    known = np.isfinite(data.measured.get("sinkage", np.full(len(data), np.nan)))
    aside = len(np.unique(np.round(np.degrees(np.abs(data.slip_angle[known]))))) > 1
    loads = data.load[known]
    several = known.any() and not data.relative_sinkage and loads.max() > SEVERAL * loads.min()
    names = default_free(model, _informative(data), data.relative_sinkage, aside, bool(several))
    held = {find(model, name, "fix").name for name in fix}
    return [name for name in names if name not in held]


def _said(exits: tuple[Exit, ...]) -> str:
    return ", ".join(str(e) for e in dict.fromkeys(exits))


def _exit_said(problem: _Problem) -> str:
    """What was assumed about the exit, and how much pull hangs on it."""
    data, pulls = problem.data, []
    for value in EXIT_RANGE:
        exits = (Exit("height", value),) * len(problem.exits)
        computed, _ = replace(problem, exits=exits).compute(problem.values)
        pulls.append(computed["pull"])
    at = int(np.argmax(np.abs(pulls[1] - pulls[0])))
    low, high = pulls[0][at], pulls[1][at]
    return (
        f"the exit rule is assumed, {_said(problem.exits)}; from height:{EXIT_RANGE[0]:g} to "
        f"height:{EXIT_RANGE[1]:g} (what the literature has) the pull at slip {data.slip[at]:.2g} "
        f"goes from {low:.3g} to {high:.3g} N with the start values; give --exit or free it"
    )


def default_exit(model: str, lug_height: float) -> Exit:
    """The exit rule of a tread where none is given, see the module's head."""
    if model == "ding":
        return EXIT_DING
    return EXIT_LUGS if lug_height > 0 else EXIT_SMOOTH


def _informative(data: WheelData) -> tuple[str, ...]:
    """The measured quantities; side forces of wheels that move straight on say nothing."""
    straight = not np.any(data.slip_angle != 0)
    return tuple(q for q in data.quantities if not (q == "side" and straight))


def _check_choice(data: WheelData, model: str, free: list[str], fixed: Mapping[str, float]) -> None:
    names = {*free, *fixed}
    if "k" in names and names & {"k_c", "k_phi"}:
        raise InputError("free: 'k' is k_c/b + k_phi in one; give either k or k_c and k_phi")
    smooth = not np.any(data.lug_height > 0)
    for name in ("shear_share", "lug_share"):
        if name in free and smooth:
            raise InputError(f"free: '{name}' needs a wheel with lugs; these wheels are smooth")
    if "sinkage_offset" in free and "sinkage" not in data.quantities:
        raise InputError("free: 'sinkage_offset' needs a measured sinkage")
    for name, value in fixed.items():
        p = find(model, name, "fix")
        if not p.low <= value <= p.high:
            low, high = p.low * p.factor, p.high * p.factor
            raise InputError(
                f"fix: {name} = {value * p.factor:g} {p.unit}".rstrip()
                + f": from {low:g} to {high:g}"
            )


def _check_priors(free: list[Parameter], prior: Mapping[str, tuple[float, float]]) -> None:
    by_name = {p.name: p for p in free}
    for name, (mean, sd) in prior.items():
        if name not in by_name:
            raise InputError(f"prior: '{name}' is not free; {suggest(name, by_name)}")
        p = by_name[name]
        if not (math.isfinite(sd) and sd > 0):
            raise InputError(f"prior: the standard deviation of {name} must be above 0")
        if not p.low <= mean <= p.high:
            low, high = p.low * p.factor, p.high * p.factor
            raise InputError(f"prior: {name}: from {low:g} to {high:g} {p.unit}".rstrip())


def _start_values(
    data: WheelData,
    model: str,
    soil: Soil,
    free: list[Parameter],
    fixed: Mapping[str, float],
    exits: tuple[Exit, ...],
    notes: list[str],
) -> dict[str, float]:
    """Start values of the free, values of the fixed, and of the coefficients nobody gave."""
    values = dict(fixed)
    for p in free:
        values[p.name] = _start(data, soil, p, exits)
    for name, default in MODELS[model][1].items():
        if name in values or name in soil.extra:
            continue
        if name in ("nominal_load", "mean_load"):
            values[name] = float(np.mean(data.load))
        elif default is None:
            values[name] = float(find(model, name).start or 0.0)
            notes.append(f"{name} = {values[name]:g} (not given)")
    return values


def _start(data: WheelData, soil: Soil, p: Parameter, exits: tuple[Exit, ...]) -> float:
    if p.place == "wheel":
        return {"exit": exits[0].value, "shear_share": 1.0, "lug_share": 0.5}[p.name]
    if p.place == "model":
        given = soil.extra.get(p.name, p.start)
        return float(given if given is not None else 0.5 * (p.low + p.high))
    if p.place == "data":
        return 0.0
    if p.field == "k":
        return soil.pressure_modulus(float(data.width[0])) if soil.has("k_c", "k_phi") else 1e6
    if not soil.has(p.field):
        # a soil without this number: the usual one, as the search needs a beginning
        usual = {"cohesion": 200.0, "friction_angle": 0.6, "shear_modulus": 0.015, "exponent": 1.0}
        return {**usual, "k_c": 0.0, "k_phi": 1e6, "density": 1600.0}.get(p.field, 0.02)
    return soil.number(p.field)


def _complete(soil: Soil, model: str, values: Mapping[str, float]) -> Soil:
    """The soil with the numbers that are searched for or fixed, where it had none."""
    extra = {k: v for k, v in soil.extra.items() if k in MODELS[model][1]}
    numbers = {}
    for name, value in values.items():
        place = find(model, name)
        if place.place == "soil" and place.field in NUMBERS and not soil.has(place.field):
            numbers[place.field] = value
        if place.field == "k" and not soil.has("k_c", "k_phi"):
            numbers |= {"k_c": 0.0, "k_phi": value}
    return replace(soil, **numbers, extra=extra)  # type: ignore[arg-type]


def _stated(data: WheelData, errors: Mapping[str, float]) -> dict[str, float]:
    """The error of each quantity that takes part, SI."""
    for name, error in errors.items():
        if name not in QUANTITIES:
            raise InputError(f"error: '{name}'; {suggest(name, QUANTITIES)}")
        if not (math.isfinite(error) and error >= 0):
            raise InputError(f"error: {name} = {error:g}: 0 or more (0 leaves it out)")
    out = {}
    for name in _informative(data):
        if name in errors:
            if errors[name] > 0:
                out[name] = errors[name]
            continue
        values = data.measured[name]
        if scatter := _scatter(data, name):
            out[name] = scatter
        else:
            span = np.nanmax(values) - np.nanmin(values)
            out[name] = 0.05 * float(span or np.nanmax(np.abs(values)) or 1.0)
    if not out:
        raise InputError("error: every quantity is left out; nothing is to be fitted")
    return out


def _scatter(data: WheelData, name: str) -> float:
    """Pooled standard deviation of a quantity: the file's own, or of repeated rows; 0: unknown."""
    spread = data.spread.get(name, np.full(len(data), np.nan))
    known = np.isfinite(spread) & np.isfinite(data.measured[name])
    if known.any():
        return float(np.sqrt(np.mean(spread[known] ** 2)))
    return _repeats(data, name)


def _repeats(data: WheelData, name: str) -> float:
    """Pooled standard deviation of rows that repeat one another; 0 where there are too few."""
    sizes = [data.radius, data.width, data.lug_height, np.round(data.load / data.load.mean(), 2)]
    sizes += [np.round(data.slip, 2), np.round(np.degrees(data.slip_angle), 1)]
    known = np.isfinite(data.measured[name])
    index = np.unique(np.stack(sizes, axis=1)[known], axis=0, return_inverse=True)[1].reshape(-1)
    values = data.measured[name][known]
    count = np.bincount(index)
    off = values - (np.bincount(index, values) / np.maximum(count, 1))[index]
    freedom = int(np.sum(count - 1))
    return math.sqrt(float(np.sum(off**2)) / freedom) if freedom >= 5 else 0.0


def _row_errors(
    data: WheelData, stated: Mapping[str, float], errors: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """The error of each row, see the module's head."""
    out = {}
    for name, error in stated.items():
        own = data.spread.get(name, np.full(len(data), np.nan))
        if name in errors:
            own = np.full(len(data), np.nan)
        out[name] = np.sqrt(0.5 * (np.where(np.isfinite(own), own, error) ** 2 + error**2))
    return out


# --- the search


def _search(
    problem: _Problem, starts: int, rng: np.random.Generator, tell: Progress
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
    # what has no influence stays where it began
    still = np.abs(_jacobian(problem, best)).max(axis=0) < 1e-9
    return np.where(still, points[0], best), tuple(cost for _, cost in found)


def hypercube(count: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """A Latin hypercube, float[count, dimensions] in [0, 1): one point in each slice each way."""
    slices = np.tile(np.arange(count), (dimensions, 1))
    return (rng.permuted(slices, axis=1).T + rng.random((count, dimensions))) / count


def _minimise(
    problem: _Problem,
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


def _jacobian(problem: _Problem, u: np.ndarray) -> np.ndarray:
    """Of the data's residuals, by central differences inside the bounds."""
    columns = []
    for i in range(len(u)):
        ends = []
        for step in (-1e-5, 1e-5):
            moved = u.copy()
            moved[i] = min(max(u[i] + step, 0.0), 1.0)
            ends.append((moved[i], problem.data_residuals(moved)))
        columns.append((ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0]))
    return np.stack(columns, axis=1)


def _bootstrap(
    problem: _Problem, u: np.ndarray, count: int, rng: np.random.Generator, tell: Progress
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


def _lacking(problem: _Problem, after: Mapping[str, float]) -> list[str]:
    """One sentence about quantities that the model misses by more than they scatter."""
    times = {q: after[q] / problem.stated[q] for q in problem.scatter_known}
    words = [f"{QUANTITIES[q][3]} by {t:.2g}" for q, t in times.items() if t > LACKS]
    if not words:
        return []
    return [
        f"the model misses {' and '.join(words)} times the scatter of the measurements; it lacks "
        "something, and the intervals are too small"
    ]


def _result(
    problem: _Problem,
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
    warnings += _lacking(problem, rms(data, computed))
    if len(costs) > 1 and costs[1] > 1.02 * costs[0]:
        warnings.append("only one of the starts reached the best fit; try more starts")
    wheels = len(problem.exits)
    start_computed, _ = problem.compute(problem.values)
    return Fit(
        data=data,
        model=problem.model,
        soil=problem.soil_at(values),
        start_soil=problem.soil,
        models=tuple(problem.wheel_model(values, i) for i in range(wheels)),
        start_models=tuple(problem.wheel_model(problem.values, i) for i in range(wheels)),
        offset=values.get("sinkage_offset", 0.0),
        found=tuple(found),
        fixed={k: v for k, v in values.items() if k not in {p.name for p in free}},
        correlation=sure.correlation,
        before=rms(data, start_computed),
        after=rms(data, computed),
        computed=computed,
        computed_start=start_computed,
        stated=dict(problem.stated),
        cost=chi_square,
        freedom=sure.freedom,
        condition=sure.condition,
        collinearity=sure.collinearity,
        warnings=tuple(warnings),
        notes=problem.notes,
        samples=samples,
        seed=seed,
        costs=costs,
    )
