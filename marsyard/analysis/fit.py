"""Result of an identification: values with intervals, correlations, warnings, errors before and
after.

Covariance of the free parameters in the scaled coordinates u the search works in, J the Jacobian
of the data's residuals (each divided by its stated error), P the diagonal of the priors' 1/σ²:

    A = JᵀJ + P,   cov = A⁻¹ (s² JᵀJ + P) A⁻¹,   s² = Σ r²/(n − p + priors)

so that the measured scatter counts, not the stated errors alone; priors are taken at their word.
Without priors it is s² (JᵀJ)⁻¹. Intervals are u ± t σ_u, t Student's with n − p + priors degrees of
freedom, carried to the parameter (not symmetric where the search is by logarithm) and cut at the
bounds. Parameters that end at a bound have no interval and count as fixed for the others.

Which parameters the data tell apart: singular values of J with columns of unit length. 1/σ_min is
the collinearity index of Brun, Reichert and Künsch (Water Resources Research 37, 2001); above 15
the parameters that make up the singular vector can be traded for each other, unless all their
intervals are below a tenth of their ranges. Two parameters with |correlation| above 0.95 are named,
too; so is one whose interval covers half of its range, and one that moves no residual by a stated
error over its whole range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marsyard.analysis.parameters import Parameter
from marsyard.analysis.wheel_data import QUANTITIES, WheelData
from marsyard.analysis.wheel_rig import RigModel
from marsyard.ground.soil import Soil
from marsyard.interaction.wheel_models import WheelModel

COLLINEAR = 15.0
CORRELATED = 0.95
#: two parameters of a weak direction that are less correlated than this are told apart by others
TRADED = 0.9
#: part of its range that an interval may cover before it counts as undetermined
WIDE = 0.5
#: and below which a parameter is known, however it goes together with others
NARROW = 0.1


@dataclass(frozen=True)
class Found:
    """One identified parameter, SI.

    low, high: 95 % interval, None where it ended at a bound. error: half its width, about.
    boot: the same interval from the bootstrap.
    """

    parameter: Parameter
    value: float
    start: float
    low: float | None
    high: float | None
    error: float | None
    at_bound: str = ""
    prior: tuple[float, float] | None = None
    boot: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        return self.parameter.name


@dataclass(frozen=True)
class Fit:
    """An identification: see the module docstring.

    models: the fitted model for each of the data's wheels, ready to be asked; `start_models` those
        with the start values.
    offset: added to the computed sinkage [m].
    found: the free parameters; fixed: the others that were set by hand.
    correlation: float[p, p] of `found`, NaN for those at a bound. covariance: the same, of the
        parameters as parts of their ranges (`Parameter.to_unit`).
    before, after: root mean square of computed minus measured, by quantity, SI.
    computed: what the fitted model gives at the data's rows; `computed_start` that at the start.
    stated: error each quantity's residuals were divided by, SI.
    condition: largest by smallest singular value of the scaled Jacobian. collinearity: its index.
    samples: bootstrap values, float[N, p], SI, or None.
    """

    data: WheelData
    model: str
    soil: Soil
    start_soil: Soil
    models: tuple[WheelModel | RigModel, ...]
    start_models: tuple[WheelModel | RigModel, ...]
    offset: float
    found: tuple[Found, ...]
    fixed: Mapping[str, float]
    correlation: np.ndarray
    before: Mapping[str, float]
    after: Mapping[str, float]
    computed: Mapping[str, np.ndarray]
    computed_start: Mapping[str, np.ndarray]
    stated: Mapping[str, float]
    cost: float
    freedom: int
    condition: float
    collinearity: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    covariance: np.ndarray = field(repr=False)
    samples: np.ndarray | None = field(default=None, repr=False)
    seed: int = 0
    costs: tuple[float, ...] = ()

    def __getitem__(self, name: str) -> Found:
        return next(f for f in self.found if f.name == name)

    @property
    def start_offset(self) -> float:
        """Added to the sinkage computed with the start values [m]."""
        return next((f.start for f in self.found if f.name == "sinkage_offset"), self.offset)

    @property
    def exit_rule(self) -> str:
        """The exit rule of the first wheel; nothing for models without one."""
        first = self.models[0]
        return first.wheel.exit.rule if isinstance(first, WheelModel) else ""

    @property
    def has_priors(self) -> bool:
        return any(f.prior for f in self.found)

    def as_dict(self) -> dict[str, Any]:
        """All of it but the arrays, for JSON."""
        return {
            "model": self.model,
            "data": self.data.name,
            "rows": len(self.data),
            "soil_start": self.start_soil.name,
            "wheels": [_wheel(m) for m in self.models],
            "coefficients": dict(self.models[0].coefficients),
            "sinkage_offset": self.offset,
            "parameters": {f.name: _entry(f) for f in self.found},
            "fixed": dict(self.fixed),
            "correlation": {
                f.name: {g.name: _plain(self.correlation[i, j]) for j, g in enumerate(self.found)}
                for i, f in enumerate(self.found)
            },
            "rms_before": dict(self.before),
            "rms_after": dict(self.after),
            "stated_errors": dict(self.stated),
            "chi_square": self.cost,
            "degrees_of_freedom": self.freedom,
            "condition": _plain(self.condition),
            "collinearity": _plain(self.collinearity),
            "costs_of_starts": list(self.costs),
            "bootstrap": 0 if self.samples is None else len(self.samples),
            "seed": self.seed,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _wheel(model: WheelModel | RigModel) -> dict[str, Any]:
    """A wheel's sizes and, where the model takes them, how soil leaves its tread and its lugs."""
    sizes = {key: getattr(model.wheel, key) for key in ("radius", "width", "lug_height")}
    if isinstance(model, RigModel):
        return sizes
    wheel = model.wheel
    return {
        **sizes, "exit_rule": wheel.exit.rule, "exit_value": wheel.exit.value,
        "shear_share": wheel.shear_share, "lug_share": wheel.lug_share,
    }  # fmt: skip


def _plain(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _entry(f: Found) -> dict[str, Any]:
    p = f.parameter
    entry: dict[str, Any] = {
        "value": f.value,
        "low": f.low,
        "high": f.high,
        "start": f.start,
        "bounds": [p.low, p.high],
        "shown": {"value": f.value * p.factor, "unit": p.unit},
    }
    if f.at_bound:
        entry["at_bound"] = f.at_bound
    if f.prior:
        entry["prior"] = {"mean": f.prior[0], "sd": f.prior[1]}
    if f.boot:
        entry["bootstrap"] = list(f.boot)
    return entry


@dataclass(frozen=True)
class Certainty:
    """Covariance and what it means; arrays over the free parameters, NaN where at a bound."""

    covariance: np.ndarray
    sigma: np.ndarray
    correlation: np.ndarray
    condition: float
    collinearity: float
    scatter: float  # s²
    freedom: int
    groups: tuple[tuple[int, ...], ...]  # parameters that can be traded for each other
    silent: tuple[int, ...]  # those without influence


def certainty(
    jacobian: np.ndarray, weights: np.ndarray, chi_square: float, bound: np.ndarray
) -> Certainty:
    """Covariance, correlation and identifiability.

    jacobian: of the data's residuals, float[n, p]. weights: 1/σ² of the priors or 0, float[p].
    chi_square: Σ r² of the data. bound: parameters at a bound, bool[p].
    """
    n, p = jacobian.shape
    length = np.linalg.norm(jacobian, axis=0)
    silent = (np.abs(jacobian).max(axis=0, initial=0.0) < 1.0) & (length**2 < 1.0)
    silent &= weights == 0
    use = np.flatnonzero(~bound & (length > 0))
    freedom = max(n - int(np.sum(~bound)) + int(np.sum(weights[~bound] > 0)), 1)
    scatter = chi_square / freedom
    covariance = np.full((p, p), np.nan)
    J, P = jacobian[:, use], np.diag(weights[use])
    A = J.T @ J + P
    # scaled, so that the inverse does not depend on units
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    weak, directions = np.linalg.eigh(A / np.outer(scale, scale))
    # a direction that nothing determines gets a variance beyond all bounds, not none
    inverse = (directions / np.maximum(weak, 1e-14)) @ directions.T / np.outer(scale, scale)
    # A⁻¹ (s² JᵀJ + P) A⁻¹, written so that undetermined directions stay so
    covariance[np.ix_(use, use)] = scatter * inverse + (1.0 - scatter) * inverse @ P @ inverse
    sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    # no influence at all: nothing is known
    sigma[~bound & (length == 0)] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.clip(covariance / np.outer(sigma, sigma), -1.0, 1.0)
    condition, collinearity, groups = _directions(np.vstack([J, np.sqrt(P)]), use)
    return Certainty(
        covariance, sigma, correlation, condition, collinearity, scatter, freedom, groups,
        tuple(int(i) for i in np.flatnonzero(silent & ~bound)),
    )  # fmt: skip


def _directions(J: np.ndarray, use: np.ndarray) -> tuple[float, float, tuple[tuple[int, ...], ...]]:
    """Condition, collinearity index, and the parameters of each weak direction."""
    if len(use) < 2:
        return 1.0, 1.0, ()
    unit = J / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    _, values, vectors = np.linalg.svd(unit, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(use) - len(values))])
    weakest = max(values[-1], 1e-16)
    groups = []
    for value, vector in zip(values[::-1], vectors[::-1], strict=True):
        if value * COLLINEAR > 1.0:
            break
        members = tuple(int(use[i]) for i in np.flatnonzero(np.abs(vector) > 0.3))
        if len(members) > 1:
            groups.append(members)
    return float(values[0] / weakest), float(1.0 / weakest), tuple(groups)


def warn(found: list[Found], sure: Certainty, sigma_u: np.ndarray, quantile: float) -> list[str]:
    """Plain sentences about what the data do not distinguish."""
    names = [f.name for f in found]
    out = []
    for i, f in enumerate(found):
        p = f.parameter
        if f.at_bound:
            end = p.low if f.at_bound == "low" else p.high
            out.append(
                f"{f.name} ended at its {'lower' if f.at_bound == 'low' else 'upper'} bound, "
                f"{end * p.factor:.4g} {p.unit}".rstrip()
                + "; the data favour a value beyond it"
            )
        elif i in sure.silent:
            if abs(f.value - f.start) <= 1e-9 * max(abs(f.start), abs(f.value)):
                out.append(f"the data do not depend on {f.name}; its start value is kept")
                continue
            out.append(
                f"the data do not depend on {f.name} near the fit, but its start value fits worse; "
                f"others near {f.value * p.factor:.4g} {p.unit}".rstrip()
                + " fit as well"
            )
    reported: set[frozenset[int]] = set()
    for group in _apart(sure.groups):
        pair = _strongest(sure.correlation, group)
        if len(group) == 2 and pair is not None and abs(sure.correlation[pair]) < TRADED:
            continue
        # they go together, but each is known well enough
        if all(2 * quantile * sigma_u[i] < NARROW for i in group):
            continue
        reported |= {frozenset((i, j)) for i in group for j in group}
        text = "the data do not distinguish " + _and([names[i] for i in group])
        if pair is not None:
            i, j = pair
            text += f" (correlation {_signed(sure.correlation[i, j])}"
            text += ")" if len(group) == 2 else f" of {names[i]} and {names[j]})"
        out.append(text + "; fix one of them or give a prior")
    pairs = [
        f"{names[j]} and {names[i]} ({_signed(sure.correlation[i, j])})"
        for i in range(len(names))
        for j in range(i)
        if abs(sure.correlation[i, j]) > CORRELATED and frozenset((i, j)) not in reported
    ]
    if pairs:
        out.append("weakly identifiable combinations, by correlation: " + ", ".join(pairs))
    wide = [
        f.name
        for i, f in enumerate(found)
        if not f.at_bound and i not in sure.silent and 2 * quantile * sigma_u[i] > WIDE
    ]
    if wide:
        verb = "are" if len(wide) > 1 else "is"
        names_text = _and(wide) if len(wide) > 1 else wide[0]
        out.append(f"{names_text} {verb} not identifiable: the interval covers most of the range")
    return out


def _apart(groups: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    """The groups, weakest direction first, without those that are part of an earlier one."""
    out: list[tuple[int, ...]] = []
    for group in groups:
        if not any(set(group) <= set(other) for other in out):
            out.append(group)
    return out


def _strongest(correlation: np.ndarray, group: tuple[int, ...]) -> tuple[int, int] | None:
    pairs = [(i, j) for i in group for j in group if i < j and np.isfinite(correlation[i, j])]
    return max(pairs, key=lambda p: abs(correlation[p]), default=None)


def _signed(c: float) -> str:
    return f"{c:+.3f}".replace("-", "−")


def _and(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1]


def rms(data: WheelData, computed: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Root mean square of computed minus measured, by quantity, SI."""
    out = {}
    for name in QUANTITIES:
        if name in data.measured:
            off = computed[name] - data.measured[name]
            off = off[np.isfinite(data.measured[name])]
            if off.size:
                out[name] = float(np.sqrt(np.mean(off**2)))
    return out
