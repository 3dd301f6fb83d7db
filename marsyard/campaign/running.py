"""Running a study: members on any executor, each saved when it finishes.

A folder of a sweep holds

    finished.log     a line per finished run, see `journal`; --resume goes on from it
    study.yaml       the study as it was read
    scenario.yaml    the scenario that it varies, as resolved; inputs/: copies of its files
    sweep.nc         all results, labelled (`data`); sweep.csv: a row per run
    figures/*.png, report.html

The journal is there from the beginning, the rest when all runs are done.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.campaign.cluster import make_executor
from marsyard.campaign.data import FILE_NAME, ZARR, dataset, save_data, write_table
from marsyard.campaign.files import read
from marsyard.campaign.folder import earlier_journal, new_journal, room_for, write_study
from marsyard.campaign.journal import Journal
from marsyard.campaign.member import digest
from marsyard.campaign.prepared import Prepared, prepare
from marsyard.campaign.progress_tracker import Count, Watch, known
from marsyard.campaign.resume import header_of, what_changed
from marsyard.campaign.sensitivity import indices
from marsyard.campaign.study_file import StudyFile
from marsyard.cores import job_count
from marsyard.run_folder import INPUTS
from marsyard.single_run import Say
from marsyard.study.task import Outcome

if TYPE_CHECKING:
    import xarray as xr

#: what a finished sweep leaves in its folder
_FILES = (FILE_NAME, ZARR, "sweep.csv", "report.html", "figures", "scenario.yaml", INPUTS)


@dataclass(frozen=True)
class Sweep:
    """A finished study: `data` is its data set, `outcomes` the runs by number of the member."""

    ready: Prepared
    data: xr.Dataset
    outcomes: Mapping[int, Outcome]
    folder: Path | None
    info: Mapping[str, Any]

    def __repr__(self) -> str:
        """As a terminal shows it."""
        from marsyard.cards import several, text_card

        over = ", ".join(f"{d} ({n})" for d, n in self.data.sizes.items())
        rows = [
            ("runs", f"{len(self.outcomes)} over {over}"),
            ("failed", len(self.failures) or None),
            ("outputs", several([str(v) for v in self.data.data_vars], "variable")),
            ("data", ".data, an xarray.Dataset; .outcomes by number, .failures with reasons"),
            ("folder", self.folder),
        ]
        return text_card(f"Sweep of '{self.study.scenario}'", rows)

    @property
    def study(self) -> StudyFile:
        """The validated study file."""
        return self.ready.study

    @property
    def failures(self) -> dict[int, str]:
        """Members that did not complete, with reasons."""
        return {k: o.stopped for k, o in sorted(self.outcomes.items()) if o.stopped}

    @property
    def warned(self) -> dict[int, str]:
        """Completed members with warnings."""
        ended = sorted((k, o) for k, o in self.outcomes.items() if o.warnings and not o.stopped)
        return {k: "; ".join(o.warnings) for k, o in ended}

    @property
    def gaps(self) -> dict[str, dict[int, str]]:
        """Completed members without a value of an output, with reasons, by output."""
        found: dict[str, dict[int, str]] = {}
        for k, outcome in sorted(self.outcomes.items()):
            for output, value, why in zip(
                self.study.outputs, outcome.numbers, outcome.reasons, strict=True
            ):
                if value is None and not outcome.stopped:
                    found.setdefault(output.name, {})[k] = why
        return found

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
    processes = job_count(jobs)
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
            executor = make_executor(ready.plan, processes, scheduler, left, stop)
            open_things.callback(executor.close)
        # a folder is made when all that is asked for is there
        if folder is not None and journal is None:
            journal = new_journal(folder, header, ready.study, _FILES)
            open_things.callback(journal.close)
            _write_base(ready, folder)
        count = counted(ready, outcomes, watch or (lambda w: None), journal)
        if executor is not None:
            count.run(executor, members_left(ready, outcomes), stop)
        found = Sweep(ready, results(ready, outcomes), outcomes, folder, count.info())
        if folder is not None:
            say("drawing figures and writing the report …")
            write_folder(found, folder, zarr)
        return found


def _write_base(ready: Prepared, folder: Path) -> None:
    """Write the scenario that members vary, with copies of its files, once for all of them."""
    from marsyard.scenario import validate
    from marsyard.scenario.packing import write_scenario

    with room_for(folder):
        write_scenario(validate(ready.plan.data, ready.plan.name), folder / "scenario.yaml")


def results(ready: Prepared, outcomes: Mapping[int, Outcome]) -> xr.Dataset:
    """The data set of a study, with what it says about which parameter matters."""
    ds = dataset(ready, outcomes)
    found = indices(ds, ready.study.design, ready.study.seed)
    return ds.assign_coords(found.coords).assign(found.data_vars)


def prepared(
    study: str | Path | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    say: Say | None = None,
) -> Prepared:
    """A checked and prepared study, with `settings` applied on top of its `set`."""
    asked, folder, name = read(StudyFile, study)
    if settings:
        asked = asked.model_copy(update={"set": {**asked.set, **settings}})
    return prepare(asked, name, folder, say or (lambda text: None))


# --- the journal


def finished_members(ready: Prepared, records: Iterable[Mapping[str, Any]]) -> dict[int, Outcome]:
    """The outcomes in a journal by member, of those members that the study has."""

    def index(record: Mapping[str, Any]) -> int | None:
        point, replica = record["point"], record["replica"]
        if point >= len(ready.points) or replica >= ready.study.replicas:
            return None
        number = point * ready.study.replicas + replica
        return number if record["settings"] == digest(ready.settings(number)) else None

    return known(records, index, ready.study.time_limit)


def counted(
    ready: Prepared,
    outcomes: dict[int, Outcome],
    tell: Callable[[Watch], Any],
    journal: Journal | None = None,
) -> Count[int]:
    """Who runs what is left of a study, and keeps count."""

    def record(index: int, settings: Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
        point, replica = ready.place(index)
        return {
            "point": point, "replica": replica, "settings": digest(settings),
            "outcome": asdict(outcome),
        }  # fmt: skip

    count: Count[int] = Count(len(ready), outcomes, record, tell, journal)
    count.need_no_run(sorted(outcomes))
    return count


def members_left(
    ready: Prepared, outcomes: Mapping[int, Outcome]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Members that are not finished, and what they set."""
    return ((k, ready.settings(k)) for k in range(len(ready)) if k not in outcomes)


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
