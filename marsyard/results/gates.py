"""How a rover took the gates of a scenario.

    score = score_gates(scenario.gates, times, places, half_width_of(scenario.robot.name))
    score.passed, score.words          # 3, "3 of 4 gates"

A gate with centre c, heading ψ and width w is passed between two places p₀ and p₁ of the rover's
base on the map if the way from one to the other crosses its line forwards, with all wheels between
the posts. With h = (cos ψ, sin ψ), l = (−sin ψ, cos ψ) and b, how far wheels reach to a side,

    a_k = (p_k − c)·h        a₀ < 0 ≤ a₁        time and place of the crossing: linear in a

    d = (p − c)·l at the crossing        |d| + b ≤ w/2        d: offset to the left of c [m]

Gates count in their order. One that is left out is missed as soon as a later one is passed; until
then the rover may come back for it. A crossing outside the posts, or backwards, counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from marsyard.scenario.gates import Gate

GateState = Literal["passed", "missed", "next", "ahead"]


@dataclass(frozen=True)
class GatePassage:
    """A gate that was passed: its number from 1, when [s], how far left of its middle [m]."""

    number: int
    time: float
    offset: float


@dataclass(frozen=True)
class GateScore:
    """What came of gates: one state for each, and the passages in their order."""

    states: tuple[GateState, ...]
    passages: tuple[GatePassage, ...]

    @property
    def passed(self) -> int:
        """How many were passed."""
        return len(self.passages)

    @property
    def missed(self) -> int:
        """How many were left out."""
        return self.states.count("missed")

    @property
    def next(self) -> int:
        """Number of the next gate, from 1; 0 where none is left."""
        return self.states.index("next") + 1 if "next" in self.states else 0

    @property
    def duration(self) -> float | None:
        """From the first gate to the last one that was passed [s]; none with fewer than two."""
        if len(self.passages) < 2:
            return None
        return self.passages[-1].time - self.passages[0].time

    @property
    def mean_offset(self) -> float | None:
        """Mean distance from the middles of the gates that were passed [m]."""
        if not self.passages:
            return None
        return float(np.mean([abs(p.offset) for p in self.passages]))

    @property
    def words(self) -> str:
        """'3 of 4 gates, 1 missed'."""
        missed = f", {self.missed} missed" if self.missed else ""
        return f"{self.passed} of {len(self.states)} gates{missed}"


class GateKeeper:
    """Scores gates as places become known, one at a time."""

    def __init__(self, gates: Sequence[Gate], half_width: float = 0.0) -> None:
        """`half_width`: how far the rover's wheels reach to a side of its base [m]."""
        self._centre = np.array([g.centre for g in gates], dtype=float).reshape(-1, 2)
        heading = np.array([g.heading for g in gates], dtype=float)
        self._ahead = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        self._left = np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
        self._room = 0.5 * np.array([g.width for g in gates], dtype=float) - half_width
        self._last: tuple[float, np.ndarray] | None = None
        self._passages: list[GatePassage] = []

    def observe(self, time: float, x: float, y: float) -> None:
        """The rover's base is at x, y [m] at a time [s]."""
        place = np.array([x, y], dtype=float)
        last, self._last = self._last, (time, place)
        if last is None or not len(self._centre):
            return
        began, before = last
        a0 = np.sum((before - self._centre) * self._ahead, axis=1)
        a1 = np.sum((place - self._centre) * self._ahead, axis=1)
        for k in np.flatnonzero((a0 < 0) & (a1 >= 0)):
            if k + 1 <= self._newest:
                continue  # passed already, or missed
            share = -a0[k] / (a1[k] - a0[k])
            at = before + share * (place - before)
            offset = float((at - self._centre[k]) @ self._left[k])
            if abs(offset) <= self._room[k]:
                when = began + float(share) * (time - began)
                self._passages.append(GatePassage(int(k) + 1, when, offset))

    @property
    def _newest(self) -> int:
        return self._passages[-1].number if self._passages else 0

    @property
    def score(self) -> GateScore:
        """What came of the gates so far."""
        passed = {p.number for p in self._passages}
        newest = self._newest
        states: list[GateState] = []
        for number in range(1, len(self._centre) + 1):
            if number in passed:
                states.append("passed")
            elif number < newest:
                states.append("missed")
            else:
                states.append("next" if number == newest + 1 else "ahead")
        return GateScore(tuple(states), tuple(self._passages))


def score_gates(
    gates: Sequence[Gate],
    times: Sequence[float] | np.ndarray,
    places: np.ndarray,
    half_width: float = 0.0,
) -> GateScore:
    """What came of gates: times [s], places of the base [m], shape [n, 2] or [n, 3], and how far
    its wheels reach to a side [m]."""
    keeper = GateKeeper(gates, half_width)
    for time, place in zip(times, np.asarray(places, dtype=float), strict=True):
        keeper.observe(float(time), float(place[0]), float(place[1]))
    return keeper.score
