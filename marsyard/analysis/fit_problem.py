"""The problem of an identification: data, model, start values, free parameters, errors.

The error e_q of a quantity is, unless stated, its pooled standard deviation where the file has one,
else the scatter of rows that repeat one another where there are five or more, and else a twentieth
of its range. Rows with a standard deviation of their own, σ_i, have e_qi² = (σ_i² + e_q²)/2: those
of three runs or so are too rough to be taken alone. What the errors do is weigh the quantities
against each other; how large the scatter really is comes from the fit (see `fit`).

The wheel models are the published ones, without a surface of the tread and without slip sinkage but
n₁ (`interaction.tread`): what is found are numbers of the wheel and the soil together.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marsyard.analysis.parameters import (
    SCM,
    Parameter,
    coefficients,
    default_free,
    find,
    has_exit,
    needs,
    searchable,
)
from marsyard.analysis.wheel_data import QUANTITIES, WheelData
from marsyard.errors import InputError, suggest
from marsyard.ground.soil import NUMBERS, Soil, load_soil
from marsyard.interaction.wheel_models import PUBLISHED, STANDS_IN, Exit, Wheel, WheelModel
from marsyard.interaction.wheel_models.arc import DEEPEST

START_SOIL = "lunar_nominal"
EXIT_SMOOTH, EXIT_LUGS, EXIT_DING = Exit("height", 0.2), Exit("height", 1.1), Exit("angle", 0.0)
#: where a search begins for a number that the soil does not have
USUAL = {
    "cohesion": 200.0, "friction_angle": 0.6, "shear_modulus": 0.015, "exponent": 1.0, "k_c": 0.0,
    "k_phi": 1e6, "density": 1600.0, "unloading_stiffness": 2e7,
}  # fmt: skip
#: residuals per missing part of the load
SHORT = 50.0
#: loads that differ by this factor tell k and n apart
SEVERAL = 2.0
#: widths that differ by this factor tell k_c and k_phi apart
WIDER = 1.25
#: exit values of the literature, rule "height"
EXIT_RANGE = (0.0, 1.2)


@dataclass(frozen=True)
class Problem:
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
        """Start values in the coordinates of the search, 0 to 1, off the bounds."""
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
        """(computed − measured)/error of every value; more where the load is not carried."""
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
        for i, (size, rows) in enumerate(data.wheels()):
            if not self.bears(values, size[1]):
                short[rows] = 1.0
                continue
            body = self.wheel_model(values, i)
            points = np.stack([data.load, data.slip, data.slip_angle], axis=1)[rows]
            few, back = np.unique(points, axis=0, return_inverse=True)
            forces, lacking = _forces(body, few)
            for name in QUANTITIES:
                out[name][rows] = forces[name][back.reshape(-1)]
            short[rows] = lacking[back.reshape(-1)]
        out["sinkage"] = out["sinkage"] + values.get("sinkage_offset", 0.0)
        return out, short

    def bears(self, values: Mapping[str, float], width: float) -> bool:
        """Whether k_c/b + k_φ is positive for a wheel of this width [m], so that it bears."""
        if "k_c" not in values and "k_phi" not in values:
            return True
        soil = self.soil_at(values)
        return soil.number("k_c") / width + soil.number("k_phi") > 0

    def prepare(self, points: Sequence[np.ndarray]) -> None:
        """Called with the points of the search that are evaluated next."""

    def wheel_model(self, values: Mapping[str, float], wheel: int) -> WheelModel:
        """The model of one of the data's wheels."""
        (radius, width, lugs), _ = self.data.wheels()[wheel]
        leave, own_shares = self.exit_at(values, wheel), shares(values)
        body = Wheel(radius, width, leave, lugs, surface=None, **own_shares)
        own = {k: v for k, v in values.items() if k in coefficients(self.model)}
        return WheelModel(
            self.model, body, self.soil_at(values), own, self.gravity, slip_sinkage="exponent",
            carried=False,
        )  # fmt: skip

    def exit_at(self, values: Mapping[str, float], wheel: int) -> Exit:
        """The exit rule of one of the data's wheels."""
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
        known = coefficients(self.model)
        own = {**self.soil.extra, **{k: v for k, v in values.items() if k in known}}
        return replace(self.soil, **numbers, extra=own)  # type: ignore[arg-type]


def shares(values: Mapping[str, float]) -> dict[str, Any]:
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


def make_problem(
    data: WheelData,
    model: str,
    soil: Soil | str | Mapping[str, Any] | None,
    free: Sequence[str],
    fix: Mapping[str, float],
    prior: Mapping[str, tuple[float, float]],
    exit: Exit | None,
    errors: Mapping[str, float],
    gravity: float,
    kind: type[Problem] = Problem,
) -> Problem:
    """The problem that arguments of `identify` describe, or one sentence what is wrong in them."""
    notes = list(data.notes)
    if exit is not None and model == SCM:
        raise InputError("exit: scm has no exit rule; the exit angle is a result of the model")
    if soil is None:
        soil = START_SOIL
        if needs(model):
            notes.append(f"start values of the soil are those of {START_SOIL}")
    begin = soil if isinstance(soil, Soil) else load_soil(soil)
    chosen, fixed = _choose(data, model, free, fix, errors, notes)
    exits = tuple(exit or default_exit(model, size[2]) for size, _ in data.wheels())
    assumed = exit is None and has_exit(model) and "exit" not in fixed
    if assumed and any(p.name == "exit" for p in chosen):
        notes.append(f"the exit value is fitted, starting from {_said(exits)} on")
        assumed = False
    if any(p.name == "n2" for p in chosen) and "n2" not in free:
        notes.append("n2, sinkage by side slip, is fitted; --fix n2=0 excludes it")
    if len(exits) > 1 and any(p.name == "exit" for p in chosen):
        notes.append("a single exit value is fitted for all wheels of the data")
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
    problem = kind(
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


def _choose(
    data: WheelData,
    model: str,
    free: Sequence[str],
    fix: Mapping[str, float],
    errors: Mapping[str, float],
    notes: list[str],
) -> tuple[list[Parameter], dict[str, float]]:
    """The free parameters, and the values of the fixed ones [SI] by name."""
    names = list(free) or list(_default_free(model, data, fix))
    chosen = [searchable(model, name) for name in names]
    if len({p.name for p in chosen}) != len(chosen):
        raise InputError("free: a parameter appears twice")
    fixed = {find(model, name, "fix").name: value for name, value in fix.items()}
    for p in chosen:
        if p.name in fixed:
            raise InputError(f"'{p.name}' is both free and fixed")
    if data.relative_sinkage and "sinkage_offset" not in [p.name for p in chosen]:
        if "sinkage_offset" not in fixed and errors.get("sinkage", 1.0) > 0:
            chosen.append(find(model, "sinkage_offset"))
            notes.append("the zero of the sinkage is unknown; sinkage_offset is fitted")
    _check_choice(data, model, [p.name for p in chosen], fixed)
    return chosen, fixed


def _default_free(model: str, data: WheelData, fix: Mapping[str, float]) -> list[str]:
    known = np.isfinite(data.measured.get("sinkage", np.full(len(data), np.nan)))
    aside = len(np.unique(np.round(np.degrees(np.abs(data.slip_angle[known]))))) > 1
    loads = data.load[known]
    absolute = known.any() and not data.relative_sinkage
    several = absolute and loads.max() > SEVERAL * loads.min()
    widths = absolute and data.width[known].max() > WIDER * data.width[known].min()
    widths = widths and "k" not in fix
    measured = _informative(data)
    names = default_free(model, measured, data.relative_sinkage, aside, bool(several), bool(widths))
    held = {find(model, name, "fix").name for name in fix}
    return [name for name in names if name not in held]


def _said(exits: tuple[Exit, ...]) -> str:
    return ", ".join(str(e) for e in dict.fromkeys(exits))


def _exit_said(problem: Problem) -> str:
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
    """The exit rule of a tread where none is given, see the module docstring."""
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
    for name, default in coefficients(model).items():
        if name in values or name in soil.extra:
            continue
        if name in ("nominal_load", "mean_load"):
            values[name] = float(np.mean(data.load))
        elif default is None or name in STANDS_IN.get(model, {}):
            start = PUBLISHED.get(model, {}).get(name, find(model, name).start)
            values[name] = float(start or 0.0)
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
        return USUAL.get(p.field, 0.02)
    return soil.number(p.field)


def _complete(soil: Soil, model: str, values: Mapping[str, float]) -> Soil:
    """The soil with the numbers that are searched for or fixed, where it had none."""
    extra = {k: v for k, v in soil.extra.items() if k in coefficients(model)}
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
        raise InputError("error: all quantities are excluded, so there is nothing to fit")
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
    """The error of each row, see the module docstring."""
    out = {}
    for name, error in stated.items():
        own = data.spread.get(name, np.full(len(data), np.nan))
        if name in errors:
            own = np.full(len(data), np.nan)
        out[name] = np.sqrt(0.5 * (np.where(np.isfinite(own), own, error) ** 2 + error**2))
    return out
