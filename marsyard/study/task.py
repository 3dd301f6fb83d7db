"""One run of a study and what is kept of it; where it runs is for `marsyard.executors` to say.

An outcome does not depend on that: every run is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.scenario.schema import Scenario
    from marsyard.scenario.study_schema import Output


@dataclass(frozen=True)
class Task:
    """One run of the family: what to run, which numbers to take, where to keep it (or nowhere)."""

    name: str
    scenario: Scenario
    overrides: Mapping[str, Any]
    outputs: tuple[Output, ...]
    folder: Path | None = None
    inputs: Path | None = None  # for copies of the scenario's files, shared by all runs

    def work(self, tell: Callable[[float], Any]) -> Outcome:
        """Run it; `tell` hears the simulated time [s]."""
        return work(self, tell)


@dataclass(frozen=True)
class Outcome:
    """What is kept of a run: a number per output (None: see `reasons`), their units, its health."""

    numbers: tuple[float | None, ...]
    units: tuple[str, ...]
    reasons: tuple[str, ...]
    stopped: str | None
    unconverged: int
    steps: int
    simulated: float
    wall_time: float
    warnings: tuple[str, ...]


def work(task: Task, tell: Callable[[float], Any]) -> Outcome:
    """Run one member; `tell` hears the simulated time [s]."""
    from marsyard.single_run import simulate

    def progress(time: float, total: float, what: str) -> None:
        tell(time)

    if task.folder is not None:
        task.folder.mkdir(parents=True)
    result = simulate(
        task.name, task.scenario, task.overrides, task.folder, lambda text: None, progress,
        yes=True,  # the study was confirmed as a whole
        inputs=task.inputs,
    )  # fmt: skip
    taken = [take(result.data, output, result.stopped) for output in task.outputs]
    return Outcome(
        numbers=tuple(t[0] for t in taken),
        units=tuple(t[1] for t in taken),
        reasons=tuple(t[2] for t in taken),
        stopped=result.stopped,
        unconverged=int(result.data["unconverged"].sum()),
        steps=int(result.info["steps"]),
        simulated=float(result.data["time"][-1]),
        wall_time=float(result.info["wall_time"]),
        warnings=result.warnings,
    )


def take(ds: xr.Dataset, output: Output, stopped: str | None) -> tuple[float | None, str, str]:
    """An output's number, unit, and why there is none; a run that stopped gives none."""
    from marsyard.results.checks import measure_in

    try:
        number, unit, reason = measure_in(ds, output, output.unit)
    except InputError as error:
        raise InputError(f"study.outputs '{output.name}': {error}") from None
    if stopped is not None:
        return None, unit, f"the run {stopped}"
    return number, unit, reason
