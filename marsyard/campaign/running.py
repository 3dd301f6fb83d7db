"""Running a study: members wherever they run, each on the disk as soon as it is done.

A folder of a sweep holds

    finished.log     a line per finished run, see `journal`; --resume goes on from it
    study.yaml       the study as it was read
    sweep.nc         all results, labelled (`data`); sweep.csv: a row per run
    figures/*.png, report.html

The journal is there from the beginning, the rest when all runs are done.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.campaign.data import FILE_NAME, ZARR, dataset, save_data, write_table
from marsyard.campaign.executors import Executor, Finished, make_executor, run_members
from marsyard.campaign.files import read
from marsyard.campaign.folder import earlier_journal, keep, new_journal, room_for, write_study
from marsyard.campaign.journal import Journal
from marsyard.campaign.member import digest, outcome_of
from marsyard.campaign.prepared import Prepared, prepare
from marsyard.campaign.resume import header_of, what_changed
from marsyard.campaign.sensitivity import indices
from marsyard.campaign.study_file import StudyFile
from marsyard.errors import InputError
from marsyard.runner import Say
from marsyard.study.workers import Outcome

if TYPE_CHECKING:
    import xarray as xr

#: what a finished sweep leaves in its folder
_FILES = (FILE_NAME, ZARR, "sweep.csv", "report.html", "figures")


@dataclass
class Watch:
    """How far a study is, for whoever watches: told after every few runs.

    total: members. kept: those that an earlier call had finished. done: those of this one.
    failed: indices of members that did not go to their end, and why. where: what runs them.
    """

    total: int
    kept: int = 0
    done: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True)
class Sweep:
    """A finished study: `data` is its data set, `outcomes` the runs by number of the member."""

    ready: Prepared
    data: xr.Dataset
    outcomes: Mapping[int, Outcome]
    folder: Path | None
    info: Mapping[str, Any]

    @property
    def study(self) -> StudyFile:
        """The study as it was read."""
        return self.ready.study

    @property
    def failures(self) -> dict[int, str]:
        """Members that did not go to their end, and why."""
        return {k: o.stopped for k, o in sorted(self.outcomes.items()) if o.stopped}

    @property
    def file(self) -> Path | None:
        """The data set on disk."""
        if self.folder is None:
            return None
        zarr = self.folder / ZARR
        return zarr if zarr.exists() else self.folder / FILE_NAME

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"


class Interrupted(Exception):
    """A study was stopped on the way: how many of its members are finished, and where."""

    def __init__(self, finished: int, total: int, folder: Path | None) -> None:
        super().__init__(f"{finished} of {total} runs are finished")
        self.finished, self.total, self.folder = finished, total, folder


def sweep(
    study: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str = "",
    resume: bool = False,
    overwrite: bool = False,
    settings: Mapping[str, Any] | None = None,
    zarr: bool = False,
    say: Say | None = None,
    watch: Callable[[Watch], Any] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Sweep:
    """Run a study, a YAML file or the same as a mapping (`marsyard.campaign.study_file`).

        found = marsyard.sweep("study.yaml", out="runs/friction")
        found.data.distance.mean("point")

    It runs on all cores, in `jobs` processes, or on the Dask cluster of a `scheduler`. With `out`
    results are kept in a folder, finished runs as soon as they are done; with `resume` those that
    are there are not run again, with `overwrite` they are dropped. `settings` are laid on the
    study's own `set`. Results are NetCDF, or with `zarr` that. `watch` hears how far it is; `stop`
    may end it (`Interrupted`).
    """
    say = say or (lambda text: None)
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs}: must be at least 1")
    stop = stop or (lambda: False)
    ready = prepared(study, settings, say)
    folder = None if out is None else Path(out)
    with contextlib.ExitStack() as open_things:
        journal = None
        header = header_of(ready.study, ready.plan.data, ready.model)
        if folder is not None:
            journal = earlier_journal(folder, header, what_changed, resume, overwrite, say)
        if journal is not None:
            open_things.callback(journal.close)
        outcomes = {} if journal is None else finished_members(ready, journal.records)
        executor = None
        if len(outcomes) < len(ready):
            left = len(ready) - len(outcomes)
            executor = make_executor(ready.plan, jobs or cores(), scheduler, left, stop)
            open_things.callback(executor.close)
        # a folder is made when all that is asked for is there
        if folder is not None and journal is None:
            journal = new_journal(folder, header, ready.study, _FILES)
            open_things.callback(journal.close)
        campaign = Campaign(ready, journal, outcomes, watch or (lambda w: None))
        info = campaign.run(executor, stop)
        found = Sweep(ready, results(ready, outcomes), outcomes, folder, info)
        if folder is not None:
            say("drawing figures and writing the report …")
            write_folder(found, folder, zarr)
        return found


def results(ready: Prepared, outcomes: Mapping[int, Outcome]) -> xr.Dataset:
    """The data set of a study, with what it says about which parameter matters."""
    ds = dataset(ready, outcomes)
    found = indices(ds, ready.study.design, ready.study.seed)
    return ds.assign_coords(found.coords).assign(found.data_vars)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepared(
    study: str | Path | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    say: Say | None = None,
) -> Prepared:
    """A study checked and made ready, with `settings` laid on its own `set`."""
    asked, folder, name = read(StudyFile, study)
    if settings:
        asked = asked.model_copy(update={"set": {**asked.set, **settings}})
    return prepare(asked, name, folder, say or (lambda text: None))


# --- the journal


def finished_members(ready: Prepared, records: list[dict[str, Any]]) -> dict[int, Outcome]:
    """The outcomes in a journal by member, of those members that the study has."""
    outcomes: dict[int, Outcome] = {}
    for record in records:
        point, replica = record["point"], record["replica"]
        if point >= len(ready.points) or replica >= ready.study.replicas:
            continue
        index = point * ready.study.replicas + replica
        if record["settings"] == digest(ready.settings(index)):
            outcomes[index] = outcome_of(record)
    return outcomes


def _record(ready: Prepared, index: int, outcome: Outcome) -> dict[str, Any]:
    point, replica = ready.place(index)
    settings = digest(ready.settings(index))
    return {"point": point, "replica": replica, "settings": settings, "outcome": asdict(outcome)}


# --- running


class Campaign:
    """Runs what is left of a study, and keeps count."""

    def __init__(
        self,
        ready: Prepared,
        journal: Journal | None,
        outcomes: dict[int, Outcome],
        watch: Callable[[Watch], Any],
    ) -> None:
        self._ready, self._journal, self._outcomes, self._tell = ready, journal, outcomes, watch
        self._watch = Watch(len(ready), len(outcomes))
        self._asked = 0.0
        self._watch.failed = {k: o.stopped for k, o in outcomes.items() if o.stopped}

    def run(self, executor: Executor | None, stop: Callable[[], bool]) -> dict[str, Any]:
        """Run all members that are not finished; how it went."""
        began, started = time.perf_counter(), time.strftime("%Y-%m-%d %H:%M:%S")
        if executor is not None:
            self._watch.where = executor.words
            self._tell(self._watch)
            if not run_members(
                executor, self._members(), self._done, stop, lambda: self._idle(executor)
            ):
                folder = None if self._journal is None else self._journal.path.parent
                raise Interrupted(len(self._outcomes), self._watch.total, folder)
        return {
            "started": started, "elapsed": time.perf_counter() - began, "ran": self._watch.done,
            "kept": self._watch.kept, "where": self._watch.where,
            "simulated": sum(o.simulated for o in self._outcomes.values()),
            "wall_time": sum(o.wall_time for o in self._outcomes.values()),
        }  # fmt: skip

    def _idle(self, executor: Executor) -> None:
        """Workers may come and go while all wait."""
        if time.monotonic() - self._asked > 2.0:
            self._asked = time.monotonic()
            self._watch.where = executor.words
            self._tell(self._watch)

    def _members(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for index in range(self._watch.total):
            if index not in self._outcomes:
                yield index, self._ready.settings(index)

    def _done(self, finished: list[Finished]) -> None:
        if self._journal is not None:
            records = [_record(self._ready, k, o) for k, o in finished]
            keep(self._journal, records, f"{len(self._outcomes)} of {self._watch.total} runs")
        for k, outcome in finished:
            self._outcomes[k] = outcome
            if outcome.stopped:
                self._watch.failed[k] = outcome.stopped
        self._watch.done += len(finished)
        self._tell(self._watch)


# --- writing


def write_folder(found: Sweep, folder: Path, zarr: bool = False) -> None:
    """Data set, table, figures and report of a finished study."""
    from marsyard.campaign.figures import save_figures
    from marsyard.campaign.report import write_report

    with room_for(folder):
        write_study(found.study, folder)
        save_data(found.data, folder, zarr)
        write_table(folder / "sweep.csv", found.ready, found.outcomes)
        shutil.rmtree(folder / "figures", ignore_errors=True)
        figures = save_figures(found.data, found.study, folder / "figures")
        write_report(found, folder, figures)
