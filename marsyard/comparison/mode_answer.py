"""The answer of a comparison of modes: steepest slopes, and the mode with the least energy on each
slope.

Between two slopes log(energy per metre) of a mode goes straight, and where two of these lines cross
the modes change places. A mode that is ahead by less than 3 % between two spans of another one is
not counted as ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.comparison.mode_measures import Row
from marsyard.comparison.mode_variants import ModeVariant
from marsyard.scenario import Scenario

if TYPE_CHECKING:
    import xarray as xr

#: by which energies of two modes may differ by chance, relative
CHANCE = 0.03


@dataclass(frozen=True)
class Limit:
    """How steep a mode climbs [rad]; None where it climbs no slope, or all that were tried."""

    mode: str
    climbs: float | None
    fails: float | None


@dataclass(frozen=True)
class Cheapest:
    """A range of slopes [rad] in which a mode costs less than every other that climbs there."""

    start: float
    end: float
    mode: str


@dataclass(frozen=True)
class ModeComparison:
    """A finished comparison of modes.

    rows: a run each, by mode and slope. limits: how steep each mode climbs. cheapest: which costs
    least where, over the slopes that several climb. basis: electrical or mechanical energy.
    words: the answer. data: the numbers over mode and slope.
    """

    name: str
    scenario: Scenario
    modes: tuple[ModeVariant, ...]
    rows: tuple[Row, ...]
    limits: tuple[Limit, ...]
    cheapest: tuple[Cheapest, ...]
    basis: str
    words: str
    folder: Path | None
    info: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """As a terminal shows it: the answer."""
        from marsyard.cards import several, text_card

        rows = [
            ("answer", " ".join(self.words.split())),
            ("modes", several([m.name for m in self.modes], "mode")),
            ("runs", len(self.rows)),
            ("report", self.report),
        ]
        return text_card(f"Comparison of modes on '{self.name}'", rows)

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    @property
    def ok(self) -> bool:
        """Whether any mode climbs any slope."""
        return any(row.climbs for row in self.rows)

    @property
    def crossings(self) -> tuple[float, ...]:
        """Slopes at which another mode becomes the cheapest while both climb [rad]."""
        return tuple(
            b.start for a, b in zip(self.cheapest, self.cheapest[1:], strict=False)
            if a.mode != b.mode and abs(a.end - b.start) < 1e-9 and not self._ends(a.mode, a.end)
        )  # fmt: skip

    def _ends(self, mode: str, slope: float) -> bool:
        """Whether the mode climbs no further than this slope."""
        own = next(limit for limit in self.limits if limit.mode == mode)
        return own.climbs is not None and slope >= own.climbs - 1e-9

    @property
    def data(self) -> xr.Dataset:
        """The numbers of the rows over mode and slope."""
        from marsyard.comparison.mode_files import dataset

        return dataset(self)

    def of(self, mode: str) -> list[Row]:
        """The runs of a mode, by increasing slope."""
        return sorted((r for r in self.rows if r.mode == mode), key=lambda r: r.slope)


def answer(
    name: str,
    base: Scenario,
    modes: tuple[ModeVariant, ...],
    rows: Sequence[Row],
    limits: Sequence[Limit],
    target: Path | None,
    info: Mapping[str, Any],
) -> ModeComparison:
    known = [r for r in rows if r.climbs]
    basis = "electrical" if known and all(math.isfinite(r.electrical) for r in known) else ""
    basis = basis or "mechanical"
    found = ModeComparison(
        name, base, modes, tuple(rows), tuple(limits), (), basis, "", target, info
    )
    found = replace(found, cheapest=tuple(cheapest(found)))
    return replace(found, words=words(found))


def cheapest(result: ModeComparison) -> list[Cheapest]:
    """Which mode costs least, over all slopes that one climbs."""
    curves = {}
    for variant in result.modes:
        own = [r for r in result.of(variant.name) if r.climbs and getattr(r, result.basis) > 0]
        if own:
            slopes = np.array([r.slope for r in own])
            curves[variant.name] = (slopes, np.log([getattr(r, result.basis) for r in own]))
    knots = sorted({float(s) for slopes, _ in curves.values() for s in slopes})
    pieces: list[Cheapest] = []
    for low, high in zip(knots, knots[1:], strict=False):
        there = {
            name: np.interp([low, high], *curve)
            for name, curve in curves.items()
            if curve[0][0] <= low + 1e-12 and curve[0][-1] >= high - 1e-12
        }
        pieces += _lowest(there, low, high)
    pieces = _joined(pieces)
    # a mode that is ahead by less than chance, between two spans of another, is not ahead
    while weak := [k for k in range(1, len(pieces) - 1) if _chance(pieces, k, curves)]:
        least = min(weak, key=lambda k: pieces[k].end - pieces[k].start)
        pieces[least] = replace(pieces[least], mode=pieces[least - 1].mode)
        pieces = _joined(pieces)
    return pieces


def _joined(pieces: Sequence[Cheapest]) -> list[Cheapest]:
    """Neighbours of the same mode as one."""
    out: list[Cheapest] = []
    for piece in pieces:
        if out and out[-1].mode == piece.mode and abs(out[-1].end - piece.start) < 1e-12:
            out[-1] = replace(out[-1], end=piece.end)
        else:
            out.append(piece)
    return out


def _chance(pieces: Sequence[Cheapest], k: int, curves: Mapping[str, Any]) -> bool:
    """Whether a span lies between two of another mode that is nowhere worse by more than chance."""
    other, own = pieces[k - 1].mode, pieces[k].mode
    top = curves[other][0][-1]
    if pieces[k + 1].mode != other or pieces[k].end > top + 1e-12:
        return False
    inside = np.linspace(pieces[k].start, pieces[k].end, 21)
    ahead = np.interp(inside, *curves[other]) - np.interp(inside, *curves[own])
    return bool(ahead.max() < CHANCE)


def _lowest(lines: Mapping[str, np.ndarray], low: float, high: float) -> list[Cheapest]:
    """The lowest of straight lines between two slopes, piece by piece."""
    if not lines:
        return []
    cuts = {0.0, 1.0}
    names = list(lines)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            before, after = lines[a] - lines[b]
            if before * after < 0:
                cuts.add(float(before / (before - after)))
    parts = sorted(cuts)
    out = []
    for start, end in zip(parts, parts[1:], strict=False):
        middle = (start + end) / 2
        best = min(names, key=lambda n: lines[n][0] + middle * (lines[n][1] - lines[n][0]))
        out.append(Cheapest(low + start * (high - low), low + end * (high - low), best))
    return out


def words(result: ModeComparison) -> str:
    """The answer in a sentence: steepest slopes, and the mode with the least energy on each
    slope.
    """
    costs = _cost_words(result) if len(result.modes) > 1 else _own_cost(result)
    return "; ".join(part for part in (_limit_words(result.limits), costs) if part) + "."


def _own_cost(result: ModeComparison) -> str:
    """What a mode that is alone costs on its least and on its steepest slope."""
    own = [r for r in result.rows if r.climbs]
    if not own:
        return ""
    ends = own if len(own) == 1 else [own[0], own[-1]]
    costs = [f"{getattr(r, result.basis):.3g} J/m at {_deg(r.slope)}" for r in ends]
    return f"it costs {' and '.join(costs)} ({result.basis})"


def _limit_words(limits: Sequence[Limit]) -> str:
    order = sorted(limits, key=lambda m: -(math.inf if m.fails is None else m.climbs or -1.0))
    parts = []
    for limit in order:
        if limit.climbs is None:
            parts.append(f"{limit.mode} climbs none")
        elif limit.fails is None:
            parts.append(f"{limit.mode} climbs all to {_deg(limit.climbs)}")
        else:
            parts.append(f"{limit.mode} climbs to {_deg(limit.climbs)}")
    return ", ".join(parts)


def _cost_words(result: ModeComparison) -> str:
    """Which mode costs less, over the slopes that at least two climb."""
    tops = sorted((m.climbs for m in result.limits if m.climbs is not None), reverse=True)
    if len(tops) < 2:
        return "only one mode climbs, so costs are not compared" if tops else "no mode climbs"
    common = tops[1]
    pieces = [c for c in result.cheapest if c.start < common - 1e-9]
    if not pieces:
        return "no two modes climb the same slopes"
    if len({c.mode for c in pieces}) == 1:
        return f"{pieces[0].mode} costs less wherever both climb"
    if len(pieces) == 2:
        at = _deg(pieces[1].start)
        return f"{pieces[0].mode} costs less below {at}, {pieces[1].mode} above"
    spans = ", ".join(f"{c.mode} from {_deg(c.start)}" for c in pieces)
    return f"cheapest is {spans}"


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.1f}°"
