"""One run of a validation, reduced in its process to the data of the evaluation.

Kept of a run: how each command went; of every limit and command the value with the smallest margin,
with its time and place; of every limit the thinnest value, and the place of the rover, in each of
`BINS` equal spans of time; where and when it ended; why it failed. Records stay in the process.

A run that diverges, and one that cannot begin (a rover placed beyond the edge of its terrain, a
soil with impossible numbers), is an outcome like others, with its reason.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.validation.limits import Limit
from marsyard.operations.validation.quantities import command_numbers, quantities, tilt
from marsyard.operations.validation.winding import Winding
from marsyard.rotations import yaw_of

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.scenario.schema import Scenario
    from marsyard.simulation import Simulation

#: spans of time in which series and tracks are kept
BINS = 160
#: tilt beyond which a rover counts as rolled over [rad]
ROLLED = math.radians(75)
#: how a command may end that was carried out
_GOOD = ("reached", "until")


@dataclass(frozen=True)
class Plan:
    """What all runs of a validation share: limits, paths by command, the length of a bin [s]."""

    limits: tuple[Limit, ...]
    winding: Winding
    lines: Mapping[int, np.ndarray]
    bin: float


@dataclass(frozen=True)
class Outcome:
    """What is kept of a run.

    Attributes:
        number: of the run; 0 is the nominal one. simulated: [s]. wall_time: [s].
        reason: why it failed as a whole, empty if it did not. unconverged: steps.
        end: x, y [m], heading [rad], NaN where it did not begin.
        began, ended: of the commands [s]; outcome: how they stand; note: why, where one failed.
        value: with the smallest margin, [limit, command]; time [s], x, y [m] of it, likewise.
        series: thinnest value of a limit in each bin, [limit, bin]; track: x, y [m], [bin, 2].
    """

    number: int
    simulated: float
    wall_time: float
    reason: str
    unconverged: int
    end: np.ndarray
    began: np.ndarray
    ended: np.ndarray
    outcome: tuple[str, ...]
    note: tuple[str, ...]
    value: np.ndarray
    time: np.ndarray
    x: np.ndarray
    y: np.ndarray
    series: np.ndarray
    track: np.ndarray

    @property
    def carried_out(self) -> np.ndarray:
        """1 where a command was, 0 where it failed, NaN where it was not begun because of it."""
        out = np.array([1.0 if o in _GOOD else 0.0 for o in self.outcome])
        out[[n != "" for n in self.note]] = 0.0
        failed = np.flatnonzero(out == 0.0)
        if failed.size:
            late = np.array([o == "not begun" for o in self.outcome])
            late[failed[0]] = False
            out[late] = np.nan
        return out


@dataclass(frozen=True)
class Task:
    """A run to be done."""

    number: int
    scenario: Scenario
    plan: Plan

    def work(self, tell: Callable[[float], Any]) -> Outcome:
        """Run it; `tell` hears the simulated time [s]."""
        simulation, stopped = None, ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                simulation, stopped = simulate(self.scenario, tell)
            except InputError as error:
                return self._not_begun(f"could not begin: {error}")
            return reduced(self.number, simulation, simulation.dataset(), self.plan, stopped)

    def _not_begun(self, reason: str) -> Outcome:
        drive = self.scenario.drive
        assert drive is not None
        n, m = len(drive.commands), len(self.plan.limits)
        none = np.full(n, np.nan)
        table = np.full((m, n), np.nan)
        return Outcome(
            self.number, 0.0, 0.0, reason, 0, np.full(3, np.nan), none, none,
            ("not begun",) * n, (reason, *[""] * (n - 1)), table, table, table, table,
            np.full((m, BINS), np.nan), np.full((BINS, 2), np.nan),
        )  # fmt: skip


def simulate(
    scenario: Scenario,
    tell: Callable[[float], Any] | None = None,
    check: Callable[[Simulation], Any] | None = None,
) -> tuple[Simulation, str]:
    """A run to its end, and why it diverged; empty if it did not. `check` sees it first."""
    from marsyard.robot.model_file import quiet
    from marsyard.simulation import Diverged, Simulation

    simulation = Simulation(scenario)
    if check is not None:
        check(simulation)
    simulation.warm_up()
    try:
        with quiet():
            simulation.run(tell)
    except Diverged as error:
        return simulation, str(error)
    return simulation, ""


def reduced(
    number: int, simulation: Simulation, ds: xr.Dataset, plan: Plan, stopped: str
) -> Outcome:
    """What is kept of a run."""
    ds = ds.isel(time=np.isfinite(ds.position_base.values).all(axis=1))
    time, place = ds.time.values, ds.position_base.values
    of = command_numbers(ds)
    values = quantities(simulation, ds, plan.limits, plan.winding, plan.lines)
    n, m = ds.sizes["drive_command"], len(plan.limits)
    table = {key: np.full((m, n), np.nan) for key in ("value", "time", "x", "y")}
    series = np.full((m, BINS), np.nan)
    bins = np.minimum((time / plan.bin).astype(int), BINS - 1)
    for i, limit in enumerate(plan.limits):
        v = values[limit.name]
        margin = limit.margin(v)
        for k in np.unique(of):
            at = np.flatnonzero(of == k)
            thin = at[np.argmin(margin[at])]
            for key, taken in (
                ("value", v),
                ("time", time),
                ("x", place[:, 0]),
                ("y", place[:, 1]),
            ):
                table[key][i, k] = taken[thin]
        for b in np.unique(bins):
            at = np.flatnonzero(bins == b)
            series[i, b] = v[at[np.argmin(margin[at])]]
    track = np.full((BINS, 2), np.nan)
    track[bins] = place[:, :2]
    outcome = tuple(str(o) for o in ds.command_outcome.values)
    reasons = tuple(str(o) for o in ds.command_reason.values)
    notes = _notes(outcome, reasons, of, tilt(ds), stopped)
    heading = yaw_of(ds.quaternion_base.values[-1])
    return Outcome(
        number, float(time[-1]), float(simulation.wall_time), next((t for t in notes if t), ""),
        int(ds.unconverged.sum()), np.array([*place[-1, :2], heading]),
        ds.command_began.values, ds.command_ended.values, outcome, notes,
        table["value"], table["time"], table["x"], table["y"], series, track,
    )  # fmt: skip


def _notes(
    outcome: tuple[str, ...],
    reasons: tuple[str, ...],
    of: np.ndarray,
    tilts: np.ndarray,
    stopped: str,
) -> tuple[str, ...]:
    """Why commands were not carried out, empty where they were or were not begun."""
    notes = [""] * len(outcome)
    for k, (how, why) in enumerate(zip(outcome, reasons, strict=True)):
        if how == "aborted":
            notes[k] = f"aborted: {why}" if why else "aborted"
        elif how == "timed out":
            notes[k] = "timed out"
        elif how == "under way":
            notes[k] = f"diverged: {stopped}" if stopped else "not finished in time"
    over = np.flatnonzero(tilts > ROLLED)
    if over.size:
        notes[int(of[over[0]])] = "rolled over"
    elif stopped and not any(notes):
        notes[int(of[-1])] = f"diverged: {stopped}"
    if not any(notes) and "not begun" in outcome:
        notes[outcome.index("not begun")] = "not begun in time"
    return tuple(notes)
