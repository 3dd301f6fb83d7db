"""Bisection of the boundary between success and failure of a family of runs.

A run has failed when its output lies beyond the threshold, could not be computed, or the run
stopped before its end; a study may also name limits of several outputs (`success`). The values of
the study must hold both kinds; the first change between neighbours, in ascending order, is refined
until the interval is no wider than the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from marsyard.scenario.study_schema import Study
from marsyard.study.axes import Axis
from marsyard.study.members import Family, Member, Result
from marsyard.study.task import Outcome
from marsyard.units import in_unit

_MOST = 60  # halvings; far below any tolerance that means something


def judged(study: Study) -> bool:
    """Whether the study says what a success is."""
    return study.bisect is not None or bool(study.success)


def succeeded(study: Study, outcome: Outcome) -> bool:
    """Whether a run counts as a success: beyond no threshold, and all limits kept."""
    numbers = dict(zip((o.name for o in study.outputs), outcome.numbers, strict=True))
    asked = [(limit.output, limit.at_least, limit.at_most) for limit in study.success]
    if study.bisect is not None:
        asked.append((study.bisect.output, study.bisect.below, study.bisect.above))
    return outcome.stopped is None and all(
        between(numbers[name], low, high) for name, low, high in asked
    )


def between(number: float | None, low: float | None, high: float | None) -> bool:
    if number is None:
        return False
    return (low is None or number >= low) and (high is None or number <= high)


@dataclass
class Bracket:
    """The interval of one curve: parts 0 … 1 of the way between two neighbours of the axis."""

    curve: int
    first: int
    second: int
    first_succeeds: bool
    changes: int
    low: float = 0.0
    high: float = 1.0
    members: list[Result] = field(default_factory=list)

    def middle(self) -> float:
        """Where the next run goes."""
        return (self.low + self.high) / 2

    def narrow(self, success: bool) -> None:
        """Take the half that still holds the change."""
        if success == self.first_succeeds:
            self.low = self.middle()
        else:
            self.high = self.middle()

    def ends(self, axis: Axis) -> tuple[float, float]:
        """The last success and the first failure, as shown."""
        a, b = (axis.between(self.first, self.second, p)[0] for p in (self.low, self.high))
        return (a, b) if self.first_succeeds else (b, a)


@dataclass(frozen=True)
class Boundary:
    """The boundary of one curve: both ends as shown (None: no boundary), and a sentence."""

    curve: int
    success: float | None
    failure: float | None
    words: str


def brackets(study: Study, family: Family, results: Sequence[Result]) -> list[Bracket | None]:
    """For each curve the neighbours between which success turns into failure, if any."""
    axis = family.axis
    order = sorted(range(len(axis)), key=lambda k: axis.shown[k])
    found: list[Bracket | None] = []
    for curve in range(family.curves):
        of_curve = [r.outcome for r in results if r.member.curve == curve]
        good = [succeeded(study, of_curve[k]) for k in order]
        changes = [k for k in range(len(good) - 1) if good[k] != good[k + 1]]
        if not changes:
            found.append(None)
            continue
        k = changes[0]
        found.append(Bracket(curve, order[k], order[k + 1], good[k], len(changes)))
    return found


def next_members(
    study: Study, family: Family, open_: Sequence[Bracket | None]
) -> list[tuple[Bracket, Member]]:
    """One more member for every bracket that is still too wide."""
    assert study.bisect is not None
    axis = family.axis
    tolerance = in_unit(study.bisect.tolerance, axis.unit)
    more = []
    for bracket in open_:
        if bracket is None or len(bracket.members) >= _MOST:
            continue
        success, failure = bracket.ends(axis)
        if abs(success - failure) > tolerance * (1 + 1e-9):
            member = family.between(bracket.first, bracket.second, bracket.middle(), bracket.curve)
            more.append((bracket, member))
    return more


def boundary(
    study: Study, family: Family, bracket: Bracket | None, curve: int, results: Sequence[Result]
) -> Boundary:
    """What was found, in words."""
    axis, bisect = family.axis, study.bisect
    assert bisect is not None
    where = "" if family.also is None else f"{family.also.say(family.also.shown[curve])}: "
    limit = f"below {bisect.below:g}" if bisect.below is not None else f"above {bisect.above:g}"
    if bracket is None:
        of_curve = [r.outcome for r in results if r.member.curve == curve and not r.member.refined]
        kind = "succeed" if succeeded(study, of_curve[0]) else "fail"
        ends = [axis.text(v) for v in (min(axis.shown), max(axis.shown))]
        words = (
            f"{where}no boundary found: all runs from {ends[0]} to {ends[1]} {kind}; the values "
            f"must include a success and a failure"
            ""
        )
        return Boundary(curve, None, None, words)
    success, failure = bracket.ends(axis)
    # as many digits as the interval is wide
    digits = max(0, 1 - math.floor(math.log10(abs(success - failure))))
    good, bad = (axis.text(round(v, digits)) for v in (success, failure))
    words = (
        f"{where}{axis.label} {good} succeeds, {bad} fails "
        f"(a run fails when {bisect.output} is {limit}, or when it stops)"
    )
    if bracket.changes > 1:
        words += f"; the outcome changes {bracket.changes} times, this is the first change"
    return Boundary(curve, success, failure, words)
