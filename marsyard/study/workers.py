"""Running the members of a study, one after the other or in several processes.

A member's outcome does not depend on where it runs: every run is deterministic, and outcomes are
kept in the order of the tasks. Who may want to stop early says so by `stop`: active runs end at
their next word, and have no outcome.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
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
    """Stored results of a run: a value per output (None: see `reasons`), units, solver health."""

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


# --- processes

_times: Any = None


class Stopped(Exception):
    """A run was ended on the way, because nobody waits for it any more."""


def _start_worker(times: Any, patient: bool) -> None:
    global _times
    _times = times
    # ctrl-c ends a worker without a word; the first process speaks, or sees to it
    signal.signal(signal.SIGINT, signal.SIG_IGN if patient else signal.SIG_DFL)


def _work_at(slot: int, task: Any) -> Any:
    def tell(time: float) -> None:
        _times[slot] = time
        if _times[-1]:
            raise Stopped

    if _times[-1]:
        raise Stopped
    return task.work(tell)


@contextlib.contextmanager
def block_sigint(patient: bool) -> Iterator[None]:
    """Processes that begin meanwhile do not hear ctrl-c, not even while Python starts in them."""
    if not patient or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers:
    """Runs tasks in `jobs` processes, at most `most` at a time; in this one for a single job.

    A task has `work(tell)`, which gives an outcome with `simulated` [s]. Processes that are
    `patient` leave ctrl-c to the first one.
    """

    def __init__(self, jobs: int, most: int, patient: bool = False) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._patient = patient
        if min(jobs, most) > 1:
            context = multiprocessing.get_context("spawn")
            # the last number says that all are to stop
            self._times = context.Array("d", most + 1)
            self._pool = ProcessPoolExecutor(
                min(jobs, most), context, initializer=_start_worker,
                initargs=(self._times, patient),
            )  # fmt: skip

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def run(
        self,
        tasks: Sequence[Any],
        tell: Callable[[float], Any],
        done: Callable[[int, Any], Any],
        stop: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """The outcomes in the order of the tasks; None of those that `stop` ended.

        `tell` hears the simulated time of all tasks together [s], `done` a task's number and
        outcome as soon as it is there. Once `stop` gives true, no more is begun.
        """
        stop = stop or (lambda: False)
        if self._pool is None:
            return self._run_here(tasks, tell, done, stop)
        return self._run_aside(self._pool, tasks, tell, done, stop)

    def _run_here(
        self, tasks: Sequence[Any], tell: Any, done: Any, stop: Callable[[], bool]
    ) -> list[Any]:
        outcomes: list[Any] = []
        before = 0.0

        def report_time(time: float) -> None:
            tell(before + time)
            if stop():
                raise Stopped

        for k, task in enumerate(tasks):
            try:
                outcome = None if stop() else task.work(report_time)
            except Stopped:
                outcome = None
            outcomes.append(outcome)
            if outcome is not None:
                before += outcome.simulated
                done(k, outcome)
        return outcomes

    def _run_aside(
        self,
        pool: ProcessPoolExecutor,
        tasks: Sequence[Any],
        tell: Any,
        done: Any,
        stop: Callable[[], bool],
    ) -> list[Any]:
        for slot in range(len(self._times)):
            self._times[slot] = 0.0
        try:
            with block_sigint(self._patient):
                slots: dict[Future[Any], int] = {
                    pool.submit(_work_at, k, task): k for k, task in enumerate(tasks)
                }
            waiting = set(slots)
            while waiting:
                ready, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in sorted(ready, key=slots.__getitem__):
                    outcome = _result(future)
                    if outcome is not None:
                        done(slots[future], outcome)
                if stop() and not self._times[-1]:
                    self._times[-1] = 1.0
                tell(sum(self._times[k] for k in range(len(tasks))))
        except BrokenProcessPool:
            raise InputError(
                "jobs: a worker process ended unexpectedly; try fewer (memory), and in a script "
                "call marsyard.run under if __name__ == '__main__'"
            ) from None
        return [_result(future) for future in slots]


def _result(future: Future[Any]) -> Any:
    """What a task gave; None if it was stopped."""
    try:
        return future.result()
    except Stopped:
        return None
