"""From the runs of a candidate to its score: objectives and violations of limits, or the reason for
a failure.

A limit's violation counts by the size of its bound, so that limits of different quantities can be
added up:

    at_most b:   (x − b)/|b|        at_least b:   (b − x)/|b|

and ≤ 0 where it is kept; for b = 0 the difference itself. A candidate of which a run failed, or an
output has no number, has no score: it counts as worse than all that only miss a limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from marsyard.campaign.optimize.study_file import Constraint, OptimizeFile
from marsyard.study.task import Outcome

#: violation that a candidate without a score counts with
FAILED = 1e12


@dataclass(frozen=True)
class Score:
    """numbers: of outputs and ratios by name, one per replica (nan: none). objectives: in the
    order of the study. violations: of its constraints. reason: reason for infeasibility."""

    numbers: Mapping[str, tuple[float, ...]]
    objectives: tuple[float, ...]
    violations: tuple[float, ...]
    reason: str

    @property
    def complete(self) -> bool:
        """Whether all runs gave their numbers."""
        return all(math.isfinite(v) for v in (*self.objectives, *self.violations))

    @property
    def feasible(self) -> bool:
        """Whether it has a score and satisfies all limits."""
        return self.complete and all(v <= 0 for v in self.violations)


def score(study: OptimizeFile, outcomes: Mapping[tuple[str, int], Outcome]) -> Score:
    """The score of a candidate from its runs by case and replica."""
    numbers, reasons = _numbers(study, outcomes)
    objectives = tuple(_over(numbers[o.output], o.over, o.sign > 0) for o in study.objectives)
    if any(outcome.stopped for outcome in outcomes.values()):
        # also a run of which no objective is taken must go to its end
        objectives = (math.nan,) * len(objectives)
    violations = tuple(_violation(c, numbers[c.output]) for c in study.constraints)
    if not reasons:
        reasons = [
            max(_misses(c, numbers[c.output]))[1]
            for c, v in zip(study.constraints, violations, strict=True)
            if v > 0
        ]
    return Score(numbers, objectives, violations, "; ".join(dict.fromkeys(reasons)))


def _numbers(
    study: OptimizeFile, outcomes: Mapping[tuple[str, int], Outcome]
) -> tuple[dict[str, tuple[float, ...]], list[str]]:
    """Numbers by name and replica, and why some are lacking."""
    found: dict[str, list[float]] = {}
    reasons: list[str] = []
    for name, case in study.all_cases.items():
        prefix = f"{name}: " if len(study.all_cases) > 1 else ""
        for replica in range(study.replicas):
            outcome = outcomes[name, replica]
            if outcome.stopped:
                reasons.append(f"{prefix}{outcome.stopped}")
            for k, output in enumerate(case.outputs):
                value = outcome.numbers[k] if k < len(outcome.numbers) else None
                if value is None and not outcome.stopped:
                    why = outcome.reasons[k] if k < len(outcome.reasons) else ""
                    reasons.append(f"{prefix}{output.name}: {why or 'no number'}")
                found.setdefault(output.name, []).append(math.nan if value is None else value)
    for ratio in study.ratios:
        pairs = zip(found[ratio.of], found[ratio.by], strict=True)
        found[ratio.name] = [a / b if b else math.nan for a, b in pairs]
        if any(b == 0 for b in found[ratio.by]):
            reasons.append(f"{ratio.name}: {ratio.by} is 0")
    return {name: tuple(values) for name, values in found.items()}, reasons


def _over(values: Sequence[float], over: str, small: bool) -> float:
    """The mean of replicas, or the worst: the largest of what is to be small."""
    if any(math.isnan(v) for v in values):
        return math.nan
    if over == "mean":
        return float(np.mean(values))
    return max(values) if small else min(values)


def _misses(limit: Constraint, values: Sequence[float]) -> list[tuple[float, str]]:
    """By how much each bound is missed, and how that is said."""
    found = []
    for bound, sign, word in ((limit.at_most, 1.0, "above"), (limit.at_least, -1.0, "below")):
        if bound is not None:
            value = _over(values, limit.over, sign > 0)
            by = abs(bound) if bound else 1.0
            found.append((sign * (value - bound) / by, f"{limit.output} is {word} its limit"))
    return found


def _violation(limit: Constraint, values: Sequence[float]) -> float:
    misses = [miss for miss, _ in _misses(limit, values)]
    return math.nan if any(math.isnan(m) for m in misses) else max(misses)
