"""Evaluation of the runs of a validation: verdicts by limit, by command and overall.

Of a limit and a command the runs count that began the command; k of them broke the limit
(`operations.verdict` has probability, interval and verdict). A command's verdict is the worst of
its limits and of "any of them"; likewise over all. A command that no run began is no-go. The
nominal run is none of the samples: it does not count for the probabilities, but no limit may be
violated in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from marsyard.operations.validation.limits import COMPLETION
from marsyard.operations.verdict import (
    Chance,
    Ellipse,
    Policy,
    Word,
    chance,
    end_ellipse,
    judge,
    percent,
    runs_needed,
    worst,
)


@dataclass(frozen=True)
class Spot:
    """Where a margin is thinnest: which run, limit and command, its margin and value there, when
    [s] and where [m]."""

    run: int
    limit: str
    command: int
    margin: float
    value: float
    time: float
    x: float
    y: float

    @property
    def words(self) -> str:
        """ "at (3.2, 1.1) m, 41 s"."""
        return f"at ({self.x:.2f}, {self.y:.2f}) m, {self.time:.3g} s".replace("-", "−")


@dataclass(frozen=True)
class Finding:
    """Of one limit, or of any of several: how likely it is broken, the verdict, whether the nominal
    run breaks it, and where its margin is thinnest (none for any)."""

    chance: Chance | None
    verdict: Word
    nominal_broken: bool
    spot: Spot | None = None


@dataclass(frozen=True)
class CommandFinding:
    """Of one command: each limit, any of them, and the limit that decides."""

    number: int
    kind: str
    note: str
    runs: int
    limits: Mapping[str, Finding]
    any: Finding
    verdict: Word
    deciding: str

    @property
    def words(self) -> str:
        """ "2 arc: round the corner"."""
        return f"{self.number} {self.kind}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class Judgement:
    """Over all: by command, by limit, any of them; the verdict and why; where the rover ends."""

    verdict: Word
    why: str
    commands: tuple[CommandFinding, ...]
    limits: Mapping[str, Finding]
    any: Finding
    thinnest: Spot | None
    worst_run: int
    ellipse: Ellipse | None
    runs: int
    policy: Policy


def judge_runs(ds: xr.Dataset, policy: Policy) -> Judgement:
    """The judgement of a validation's data set."""
    broken = ds.broken.values
    names = [str(n) for n in ds.limit.values]
    commands = tuple(_command(ds, broken, names, k, policy) for k in range(ds.sizes["command"]))
    limits = {
        name: _finding(ds, broken[:, i : i + 1], [i], None, policy) for i, name in enumerate(names)
    }
    overall = _finding(ds, broken, range(len(names)), None, policy)
    verdict = worst([*(c.verdict for c in commands), *(f.verdict for f in limits.values()),
                     overall.verdict])  # fmt: skip
    thin = _thinnest(ds, range(len(names)), None)
    found = Judgement(
        verdict, "", commands, limits, overall, thin, _worst_run(ds), _ellipse(ds),
        ds.sizes["run"] - 1, policy,
    )  # fmt: skip
    return Judgement(**{**vars(found), "why": _why(found, ds)})


def _command(
    ds: xr.Dataset, broken: np.ndarray, names: list[str], k: int, policy: Policy
) -> CommandFinding:
    at = broken[:, :, k : k + 1]
    limits = {n: _finding(ds, at[:, i : i + 1], [i], k, policy) for i, n in enumerate(names)}
    overall = _finding(ds, at, range(len(names)), k, policy)
    verdict = worst([*(f.verdict for f in limits.values()), overall.verdict])
    begun = int(np.sum(np.any(at[1:, :, 0] >= 0, axis=1)))
    if overall.chance is None:
        verdict = "no-go"
    return CommandFinding(
        k, str(ds.command_kind.values[k]), str(ds.command_note.values[k]), begun, limits, overall,
        verdict, _deciding(limits),
    )  # fmt: skip


def _deciding(limits: Mapping[str, Finding]) -> str:
    """The limit that is broken most often, or else that with the smallest margin."""

    def rank(name: str) -> tuple[bool, float, float]:
        f = limits[name]
        share = f.chance.share if f.chance else 0.0
        thin = f.spot.margin if f.spot else np.inf
        return f.nominal_broken, share, -thin

    return max(limits, key=rank)


def _finding(
    ds: xr.Dataset, broken: np.ndarray, which: range | list[int], command: int | None,
    policy: Policy,
) -> Finding:  # fmt: skip
    """Of limits `which`, in one command or all; `broken`: theirs, [run, limit, command]."""
    known = np.any(broken >= 0, axis=(1, 2))
    any_broken = np.any(broken == 1, axis=(1, 2))
    runs, count = int(known[1:].sum()), int(any_broken[1:].sum())
    found = chance(count, runs, policy.confidence) if runs else None
    nominal = bool(any_broken[0])
    if found is None:
        verdict: Word = "no-go" if nominal else "go"
    else:
        verdict = judge(found, policy, nominal)
    return Finding(found, verdict, nominal, _thinnest(ds, which, command))


def _thinnest(ds: xr.Dataset, which: range | list[int], command: int | None) -> Spot | None:
    at = slice(None) if command is None else slice(command, command + 1)
    margin = ds.margin.values[:, list(which), at]
    if not np.isfinite(margin).any():
        return None
    run, i, j = map(int, np.unravel_index(int(np.nanargmin(margin)), margin.shape))
    limit, k = list(which)[i], j + (command or 0)
    here = ds.isel(run=run, limit=limit, command=k)
    return Spot(
        int(ds.run.values[run]), str(ds.limit.values[limit]), k, float(here.margin),
        float(here.value), float(here.margin_time), float(here.margin_x), float(here.margin_y),
    )  # fmt: skip


def _worst_run(ds: xr.Dataset) -> int:
    """The number of the run with the most broken commands and limits, of these the thinnest."""
    broken = np.sum(ds.broken.values == 1, axis=(1, 2))
    thin = np.nanmin(np.where(np.isnan(ds.margin.values), np.inf, ds.margin.values), axis=(1, 2))
    order = np.lexsort((np.arange(len(broken)), thin, -broken))
    return int(ds.run.values[order[0]])


def _ellipse(ds: xr.Dataset) -> Ellipse | None:
    points = ds.end.values[1:, :2]
    points = points[np.isfinite(points).all(axis=1)]
    return end_ellipse(points) if len(points) >= 4 else None


# --- the sentence


def _why(j: Judgement, ds: xr.Dataset) -> str:
    if j.any.chance is None:
        return "no run finished, so there is nothing to evaluate."
    never = [c for c in j.commands if c.any.chance is None]
    if j.verdict == "go":
        return _all_well(j, ds)
    if j.any.chance.broken == 0 and not j.any.nominal_broken and not never:
        enough = runs_needed(j.policy.refused, j.policy.confidence)
        return (
            f"no limit was violated, but {j.runs} runs only show that the probability is at most "
            f"{percent(j.any.chance.high)} %; {enough} runs would show enough."
        )
    bad = [(c, n) for c in j.commands for n in c.limits if c.limits[n].verdict == j.verdict]
    if not bad and never:
        return f"command {never[0].words} was not started in any run."
    if not bad:
        return (
            f"no single limit is decisive, but some limit was violated in {j.any.chance.words} of "
            f"the "
            "runs."
        )

    def rank(pair: tuple[CommandFinding, str]) -> tuple[bool, float]:
        f = pair[0].limits[pair[1]]
        return f.nominal_broken, f.chance.share if f.chance else 0.0

    command, name = max(bad, key=rank)
    f = command.limits[name]
    where = f", {f.spot.words}" if f.spot is not None and f.spot.margin < 0 else ""
    what = _what(ds, name, command.number)
    nominal = ", and in the nominal run" if f.nominal_broken else ""
    often = f"in {f.chance.words}" if f.chance else "in the nominal run"
    return f"{what} {often}{nominal}; command {command.words}{where}."


def _what(ds: xr.Dataset, name: str, command: int) -> str:
    if name != COMPLETION:
        words = str(ds.limit_words.sel(limit=name).values)
        return f"the limit '{words}' is violated"
    notes = [str(n) for n in ds.note.values[:, command] if n]
    # the first words, the same in all runs
    kinds = [n.split(":")[0] for n in notes]
    most = max(set(kinds), key=lambda k: (kinds.count(k), k)) if kinds else "failed"
    return f"the command is not carried out (mostly: {most})"


def _all_well(j: Judgement, ds: xr.Dataset) -> str:
    assert j.any.chance is not None
    text = (
        f"limits were violated in {j.any.chance.words}, within the accepted probability"
        if j.any.chance.broken
        else f"no limit was violated in {j.runs} runs (probability at most "
        f"{percent(j.any.chance.high)} %)"
    )
    if j.thinnest is not None:
        words = str(ds.limit_words.sel(limit=j.thinnest.limit).values)
        left = margin_words(j.thinnest.margin, float(ds.limit_value.sel(limit=j.thinnest.limit)))
        text += (
            f"; smallest margin {left} of '{words}', {j.thinnest.words}, "
            f"command {j.commands[j.thinnest.command].words}"
        )
    return text + "."


def margin_words(margin: float, limit: float) -> str:
    """A margin as it is read: per cent of the limit, or of a limit of 0 its distance [m]."""
    if not np.isfinite(margin):
        return "–"
    text = f"{100 * margin:.0f} %" if limit else f"{margin:.2f} m"
    return text.replace("-", "−")
