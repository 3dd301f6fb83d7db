"""One member of a study: settings in, outputs out, on any executor.

`Plan` is what all members share and travels once to each process or machine; a member is then only
its settings. Whatever goes wrong in a member is its outcome: it diverged, it could not begin (a
rover beyond the edge of its terrain), its code failed, or it took too long.

A limit of time counts on the clock from a run's first word, which it gives about ten times a
second; building the model and compiling kernels come before. A run that gives no word any more is
ended from outside where it has a process of its own (`executors`).
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from marsyard.campaign.base import varied
from marsyard.errors import InputError
from marsyard.executors import Stopped, too_long
from marsyard.scenario.study_schema import Limit, Output
from marsyard.study.bisection import between
from marsyard.study.task import Outcome, take

Tell = Callable[[float], Any]
#: what a member changes of the study's scenario
Settings = Mapping[str, Any]


class Late(Exception):
    """A run has taken longer than it may."""


@dataclass(frozen=True)
class Plan:
    """What all members share: the scenario's name and data, what is taken of each run, and how
    long one may take on the clock [s]."""

    name: str
    data: Mapping[str, Any]
    outputs: tuple[Output, ...]
    time_limit: float | None = None

    def evaluate(self, settings: Mapping[str, Any], tell: Tell | None = None) -> Outcome:
        """Run the member with these settings; what goes wrong is its outcome.

        `tell` hears the simulated time [s] now and then, and may raise `Stopped` to end the run.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                outcome = self._run(settings, within(self.time_limit, tell))
            except Stopped:
                raise
            except Late:
                outcome = failed(self, too_long(self.time_limit))
            except InputError as error:
                outcome = failed(self, f"could not begin: {error}")
            except Exception as error:  # one member must not stop the others
                outcome = failed(self, f"failed with {type(error).__name__}: {error}")
        said = tuple(dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning))
        return replace(outcome, warnings=said)

    def lost(self, reason: str) -> Outcome:
        """The outcome of a member that took its processes with it."""
        return failed(self, reason)

    def _run(self, settings: Mapping[str, Any], tell: Tell | None) -> Outcome:
        from marsyard.operations.validation.members import simulate
        from marsyard.simulation.recorder import columns

        simulation, stopped = simulate(varied(self.name, self.data, settings), tell)
        ds = columns(simulation).dataset({"unconverged", *self._variables()})
        taken = [take(ds, output, stopped or None) for output in self.outputs]
        return Outcome(
            numbers=tuple(t[0] for t in taken),
            units=tuple(t[1] for t in taken),
            reasons=tuple(t[2] for t in taken),
            stopped=stopped or None,
            unconverged=int(ds["unconverged"].values.sum()),
            steps=int(simulation.steps),
            simulated=float(simulation.time),
            wall_time=float(simulation.wall_time),
            warnings=(),
        )

    def _variables(self) -> set[str]:
        """The variables that outputs are taken of; impacts are found from several."""
        return {o.of.split(".")[0] if "impact" not in o.take else "impact" for o in self.outputs}


def within(limit: float | None, tell: Tell | None) -> Tell | None:
    """`tell`, but `Late` is raised once `limit` seconds have passed since its first call."""
    if limit is None:
        return tell
    began: list[float] = []

    def clocked(simulated: float) -> None:
        if not began:
            began.append(time.monotonic())
        if time.monotonic() - began[0] > limit:
            raise Late
        if tell is not None:
            tell(simulated)

    return clocked


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """The outcome in a record of a journal, where tuples have become lists."""
    plain: dict[str, Any] = record["outcome"]
    lists = {k: tuple(v) for k, v in plain.items() if isinstance(v, list)}
    return Outcome(**{**plain, **lists})


def failed(plan: Plan, reason: str) -> Outcome:
    """The outcome of a member without numbers."""
    n = len(plan.outputs)
    units = tuple(o.unit for o in plan.outputs)
    return Outcome((None,) * n, units, (reason,) * n, reason, 0, 0, 0.0, 0.0, ())


def succeeded(outputs: tuple[Output, ...], limits: tuple[Limit, ...], outcome: Outcome) -> bool:
    """Whether a run completed and kept all limits."""
    numbers = dict(zip((o.name for o in outputs), outcome.numbers, strict=True))
    return outcome.stopped is None and all(
        between(numbers[limit.output], limit.at_least, limit.at_most) for limit in limits
    )


def digest(value: Any) -> str:
    """A short fingerprint of plain data, the same on every machine."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
