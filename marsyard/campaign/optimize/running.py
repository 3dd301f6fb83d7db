"""Running an optimisation generation by generation; each run is saved when it finishes.

A folder holds

    finished.log     a line per finished run; --resume goes on from it
    study.yaml       the study as it was read
    optimize.nc      all candidates, labelled (`data`); optimize.csv: a row per candidate
    best/            the best candidates as scenarios that `marsyard run` takes
    figures/*.png, report.html

A run is known by what it sets: one that is in the journal, or that two candidates share, is not run
again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.campaign.cluster import make_executor
from marsyard.campaign.files import read
from marsyard.campaign.folder import earlier_journal, new_journal, room_for, write_study
from marsyard.campaign.journal import Journal
from marsyard.campaign.optimize.problem import Member, Problem, Values, make_problem
from marsyard.campaign.optimize.resume import header_of, what_changed
from marsyard.campaign.optimize.sampler import Asker
from marsyard.campaign.optimize.scoring import Score, score
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.progress_tracker import Count, Watch, known
from marsyard.cores import job_count
from marsyard.executors import Executor
from marsyard.single_run import Say
from marsyard.study.task import Outcome

if TYPE_CHECKING:
    import xarray as xr

#: what a finished study leaves in its folder
_FILES = ("optimize.nc", "optimize.csv", "report.html", "best", "figures")


@dataclass(frozen=True)
class Candidate:
    """A candidate: values by key of the variable, its generation, score, and runs by case and
    replica."""

    values: Values
    generation: int
    score: Score
    outcomes: Mapping[tuple[str, int], Outcome]


def _objectives(found: Optimized, k: int) -> str:
    """The objectives of a candidate, by name."""
    objectives, values = found.study.objectives, found.candidates[k].score.objectives
    return ", ".join(f"{o.output} {v:.4g}" for o, v in zip(objectives, values, strict=True))


@dataclass(frozen=True)
class Optimized:
    """A finished optimisation: `data` is its data set, `front` the non-dominated candidates."""

    problem: Problem
    candidates: tuple[Candidate, ...]
    data: xr.Dataset
    folder: Path | None
    info: Mapping[str, Any]

    def __repr__(self) -> str:
        """As a terminal shows it: the candidates that none dominates."""
        from marsyard.cards import text_card

        front = self.front
        best = [(f"front {k}", f"{self.words(k)}: {_objectives(self, k)}") for k in front[:8]]
        rows = [
            ("candidates", f"{len(self.candidates)}, {len(self.infeasible)} of them infeasible"),
            *best,
            ("more", f"{len(front) - 8} on the front, in .front" if len(front) > 8 else ""),
            ("data", ".data, an xarray.Dataset; .candidates, .front"),
            ("folder", self.folder),
        ]
        return text_card("Optimisation", rows)

    @property
    def study(self) -> OptimizeFile:
        """The validated study file."""
        return self.problem.study

    @property
    def front(self) -> list[int]:
        """Non-dominated feasible candidates, ordered by the first objective."""
        found = [k for k, rank in enumerate(self.data["rank"].values) if rank == 1]
        signs = [o.sign for o in self.study.objectives]
        return sorted(
            found,
            key=lambda k: [
                s * v for s, v in zip(signs, self.candidates[k].score.objectives, strict=True)
            ],
        )

    def words(self, k: int) -> str:
        """The values of a candidate, in words."""
        return self.problem.words(self.candidates[k].values)

    @property
    def infeasible(self) -> dict[int, str]:
        """Candidates that failed or violate a limit, with reasons."""
        return {k: c.score.reason for k, c in enumerate(self.candidates) if not c.score.feasible}

    @property
    def warned(self) -> dict[int, str]:
        """Candidates whose runs gave warnings, with the warnings."""
        said = (
            dict.fromkeys(w for o in c.outcomes.values() for w in o.warnings)
            for c in self.candidates
        )
        return {k: "; ".join(words) for k, words in enumerate(said) if words}

    @property
    def nearest(self) -> int | None:
        """The candidate with the smallest violation of limits, if no candidate satisfies them."""
        whole = [k for k, c in enumerate(self.candidates) if c.score.complete]
        if self.front or not whole:
            return None
        return min(whole, key=lambda k: sum(max(v, 0) for v in self.candidates[k].score.violations))

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"


def optimize(
    study: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str = "",
    resume: bool = False,
    overwrite: bool = False,
    settings: Mapping[str, Any] | None = None,
    say: Say | None = None,
    watch: Callable[[Watch], Any] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Optimized:
    """Optimise a rover or a controller, by a YAML file or the same as a mapping.

        found = marsyard.optimize("study.yaml", out="runs/wheels")
        found.data.objective.sel(candidate=found.front)

    It runs on all cores, in `jobs` processes, or on the Dask cluster of a `scheduler`. With `out`
    results are kept in a folder, finished runs as soon as they are done; with `resume` those that
    are there are not run again, with `overwrite` they are dropped. `settings` are laid on the
    study's own `set`. `watch` hears how far it is; `stop` may end it (`Interrupted`).
    """
    say = say or (lambda text: None)
    processes = job_count(jobs)
    problem = prepared(study, settings, say)
    return solve(
        problem, None if out is None else Path(out), processes, scheduler, resume, overwrite, say,
        watch or (lambda w: None), stop or (lambda: False),
    )  # fmt: skip


def prepared(
    study: str | Path | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    say: Say | None = None,
) -> Problem:
    """A checked and prepared study, with `settings` applied on top of its `set`."""
    asked, folder, name = read(OptimizeFile, study)
    return make_problem(asked.with_settings(settings or {}), name, folder, say or (lambda t: None))


def solve(
    problem: Problem,
    folder: Path | None,
    jobs: int,
    scheduler: str,
    resume: bool,
    overwrite: bool,
    say: Say,
    watch: Callable[[Watch], Any],
    stop: Callable[[], bool],
) -> Optimized:
    """Run a problem that is ready; see `optimize`."""
    from marsyard.campaign.optimize.data import dataset

    asker = Asker(problem.study, problem.variables)
    earlier = None
    if folder is not None:
        earlier = earlier_journal(folder, header_of(problem), what_changed, resume, overwrite, say)
    campaign = _Campaign(problem, folder, earlier, watch, jobs, scheduler)
    try:
        candidates = campaign.run(asker, stop)
        found = Optimized(
            problem, tuple(candidates), dataset(problem, candidates), folder, campaign.info()
        )
        if folder is not None:
            say("drawing figures and writing the report …")
            write_folder(found, folder)
        return found
    finally:
        campaign.close()


class _Campaign:
    """Asks for candidates, runs them in generations and judges them."""

    def __init__(
        self, problem: Problem, folder: Path | None, journal: Journal | None,
        watch: Callable[[Watch], Any], jobs: int, scheduler: str,
    ) -> None:  # fmt: skip
        self._problem, self._folder = problem, folder
        self._jobs, self._scheduler = jobs, scheduler
        records = [] if journal is None else journal.records
        self._count: Count[str] = Count(
            problem.study.optimiser.evaluations * problem.runs,
            known(records, lambda record: record["key"], problem.study.time_limit),
            lambda key, run, o: {"key": key, "run": dict(run), "outcome": asdict(o)},
            watch,
            journal,
        )
        self._count.watch.where = "disk"
        self._executor: Executor | None = None
        self.info = self._count.info

    def run(self, asker: Asker, stop: Callable[[], bool]) -> list[Candidate]:
        """All candidates, in the order in which they were asked for."""
        asked = self._problem.study.optimiser
        candidates: list[Candidate] = []
        while len(candidates) < asked.evaluations:
            size = min(asked.population, asked.evaluations - len(candidates))
            proposed = asker.ask(size)
            self._evaluate(proposed, stop)
            generation = len(candidates) // asked.population
            made = [self._candidate(values, generation) for values in proposed]
            asker.tell([c.score for c in made])
            candidates += made
        return candidates

    def close(self) -> None:
        """End what is active."""
        if self._executor is not None:
            self._executor.close()
        if self._count.journal is not None:
            self._count.journal.close()

    def _evaluate(self, proposed: list[dict[str, Any]], stop: Callable[[], bool]) -> None:
        """Run what is not known yet of a generation."""
        new: dict[str, Member] = {}
        again: list[str] = []
        for member in (m for values in proposed for m in self._problem.members(values)):
            if member.key in self._count.outcomes or member.key in new:
                again.append(member.key)
            else:
                new[member.key] = member
        if new:
            executor = self._begun(stop)
            self._count.run(executor, ((key, m.settings) for key, m in new.items()), stop)
        self._count.need_no_run(again)
        self._count.tell()

    def _begun(self, stop: Callable[[], bool]) -> Executor:
        """Who runs members; a folder is made when all that is asked for is there."""
        if self._executor is None:
            most = self._problem.study.optimiser.population * self._problem.runs
            self._executor = make_executor(
                self._problem.plan, self._jobs, self._scheduler, most, stop
            )
        if self._folder is not None and self._count.journal is None:
            header = header_of(self._problem)
            self._count.journal = new_journal(self._folder, header, self._problem.study, _FILES)
        return self._executor

    def _candidate(self, values: Values, generation: int) -> Candidate:
        outcomes = {
            (m.case, m.replica): self._count.outcomes[m.key] for m in self._problem.members(values)
        }
        return Candidate(values, generation, score(self._problem.study, outcomes), outcomes)


def write_folder(found: Optimized, folder: Path) -> None:
    """Data set, table, best scenarios, figures and report of a finished study."""
    from marsyard.campaign.optimize.best import write_best
    from marsyard.campaign.optimize.data import save_data, write_table
    from marsyard.campaign.optimize.figures import save_figures
    from marsyard.campaign.optimize.report import write_report

    with room_for(folder):
        write_study(found.study, folder)
        save_data(found.data, folder)
        write_table(folder / "optimize.csv", found)
        best = write_best(found, folder / "best")
        shutil.rmtree(folder / "figures", ignore_errors=True)
        figures = save_figures(found, folder / "figures")
        write_report(found, folder, figures, best)
