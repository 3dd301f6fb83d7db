"""Studies: a scenario run as a family, `marsyard run` on a scenario with a `study`.

The folder of a study holds

    study.nc, study.csv    outputs of each run, labelled; and a row per run
    scenario.yaml          the scenario as resolved
    inputs/                copies of the files that it names, shared by all members
    figures/*.png, report.html
    members/…              run folders of the members that are kept

A member that diverges is recorded with its reason and does not stop the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError, refuse_all
from marsyard.executors import Workers
from marsyard.results.study_checks import check_values, evaluate_study
from marsyard.run_folder import INPUTS, written_whole
from marsyard.scenario import Scenario, resolve
from marsyard.single_run import Checked, Progress, Run, Say, versions
from marsyard.study import bisection
from marsyard.study.bisection import Boundary
from marsyard.study.data import dataset, write_table
from marsyard.study.members import Family, Member, Result
from marsyard.study.task import Outcome, Task

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.simulation import Simulation

__all__ = ["Boundary", "Family", "Member", "Outcome", "Result", "StudyRun", "run_study"]


@dataclass(frozen=True)
class StudyRun(Run):
    """A finished study: `study` (and `data`) is its data set, `members` its runs in order."""

    members: tuple[Result, ...] = ()
    boundaries: tuple[Boundary, ...] = ()

    def __repr__(self) -> str:
        """As a terminal shows it: what was varied, and its checks."""
        from marsyard.cards import several, text_card

        stopped = sum(r.outcome.stopped is not None for r in self.members)
        over = ", ".join(f"{d} ({n})" for d, n in self.data.sizes.items())
        rows = [
            (
                "runs",
                f"{len(self.members)} over {over}" + (f", {stopped} ended early" * bool(stopped)),
            ),
            ("outputs", several([str(v) for v in self.data.data_vars], "output")),
            *(("warning", text) for text in self.warnings),
            *(("check", f"{c.name}: {c.verdict}") for c in self.checks),
            ("data", ".study, an xarray.Dataset; .members has the runs"),
            ("report", self.report),
        ]
        return text_card(f"Study of '{self.name}'", rows)

    @property
    def study(self) -> xr.Dataset:
        """The outputs over the varied value."""
        return self.data

    @property
    def ok(self) -> bool:
        """Whether a member completed and every check of the study passed."""
        ended = any(r.outcome.stopped is None for r in self.members)
        return ended and all(c.ok for c in self.checks)


def run_study(
    name: str,
    scenario: Scenario,
    overrides: Mapping[str, Any],
    target: Path | None,
    jobs: int,
    say: Say,
    progress: Progress | None,
    checked: Checked | None = None,
) -> StudyRun:
    """Run all members of a scenario's study; with a target also write its folder."""
    from marsyard.scenario.packing import write_scenario

    began = time.perf_counter()
    started = time.strftime("%Y-%m-%d %H:%M:%S")
    scenario = resolve(scenario)
    study, family = scenario.study, Family(name, scenario)
    assert study is not None
    axis, also = family.axis, family.also
    check_values(
        study, axis.unit, [str(v) for v in axis.shown] if axis.words else None,
        also.shown if also else (), also.unit if also else "",
    )  # fmt: skip
    grid = family.grid()
    _check_members(name, grid)
    with written_whole(target) as staging:
        _warm_up(name, family, grid, say)
        if staging is not None:  # before the runs: files may be edited meanwhile
            write_scenario(scenario, staging / "scenario.yaml")
        with Workers(jobs, len(grid)) as workers:
            crew = _Crew(name, scenario, overrides, staging, workers, say, progress)
            results = crew.run(grid, keep_last=True)
            boundaries = _refine(scenario, family, results, crew)
        data = dataset(name, scenario, family, results, boundaries)
        checks = evaluate_study(data, study)
        info = {
            "scenario": name,
            "overrides": [f"{k}={v}" for k, v in overrides.items()],
            "steps": sum(r.outcome.steps for r in results),
            "simulated": sum(r.outcome.simulated for r in results),
            "wall_time": sum(r.outcome.wall_time for r in results),
            "elapsed": time.perf_counter() - began,
            "jobs": jobs,
            "started": started,
            "versions": versions(),
            "kept": crew.kept,
        }
        heard = tuple(dict.fromkeys(w for r in results for w in r.outcome.warnings))
        run = StudyRun(
            name, scenario, data, checks, target, info, None, heard, tuple(results),
            tuple(boundaries),
        )  # fmt: skip
        if checked is not None:
            checked(run)
        if staging is not None:
            say("drawing figures and writing the report …")
            _write(staging, family, run)
    return run


def _check_members(name: str, grid: Sequence[Member]) -> None:
    """Refuse, all at once, members whose soils, terrains or options are not there."""
    mistakes = []
    for member in grid:
        try:
            resolve(member.scenario)
        except InputError as error:
            mistakes.append((member.label, str(error)))
    refuse_all(mistakes, len(grid), f"{name}, study")


def _warm_up(name: str, family: Family, grid: Sequence[Member], say: Say) -> None:
    """Build the first member once: wrong input shows, and kernels compile, before any process.

    Where an axis holds names (of soils, laws, robots), all members are built, and those that cannot
    run are refused at once.
    """
    named = family.axis.words or (family.also is not None and family.also.words)
    mistakes, warm = [], False
    for member in grid:
        if warm and not named:
            break
        try:
            simulation = _build(member.scenario, say, settle=not warm)
        except InputError as error:
            mistakes.append((member.label, str(error)))
            if not named:
                raise
            continue
        if not warm:
            simulation.warm_up()
            warm, say = True, lambda text: None
    refuse_all(mistakes, len(grid), f"{name}, study")


def _build(scenario: Scenario, say: Say, settle: bool) -> Simulation:
    """The simulation of a scenario; without `settle` the robot is not placed, for nothing moves."""
    from marsyard.simulation import Simulation

    if not settle:
        robot = scenario.robot.model_copy(update={"settle": False})
        scenario = scenario.model_copy(update={"robot": robot})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Simulation(scenario, say=say)


class _Crew:
    """Runs members, keeps count of time and members for the progress bar, says what came out."""

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        overrides: Mapping[str, Any],
        staging: Path | None,
        workers: Workers,
        say: Say,
        progress: Progress | None,
    ) -> None:
        study = scenario.study
        assert study is not None
        self._name, self._study, self._overrides = name, study, overrides
        self._staging, self._workers, self._say = staging, workers, say
        self._progress = progress or (lambda time, total, what: None)
        self._done_time = self._total_time = 0.0
        self._done = self._total = 0
        self._heard: set[str] = set()
        self.kept: dict[int, str] = {}

    def run(self, members: Sequence[Member], keep_last: bool = False) -> list[Result]:
        """The results in the order of the members."""
        self._total += len(members)
        self._total_time += sum(m.scenario.run.duration for m in members)
        last = members[-1].index if keep_last and members else -1
        tasks = [self._task(m, m.index == last) for m in members]
        outcomes = self._workers.run(
            tasks, self._tell, lambda k, outcome: self._tell_done(members[k], outcome)
        )
        self._done_time += sum(o.simulated for o in outcomes)
        return [Result(m, o) for m, o in zip(members, outcomes, strict=True)]

    def _task(self, member: Member, last: bool) -> Task:
        kept = self._study.keep == "all" or (self._study.keep == "last" and last)
        folder = inputs = None
        if self._staging is not None and kept:
            inputs = self._staging / INPUTS
            folder = self._staging / "members" / member.folder
            self.kept[member.index] = f"members/{member.folder}"
        return Task(
            f"{self._name}: {member.label}", member.scenario,
            {**self._overrides, **member.settings}, self._study.outputs, folder, inputs,
        )  # fmt: skip

    def _tell(self, simulated: float) -> None:
        at = min(self._done + 1, self._total)
        self._progress(self._done_time + simulated, self._total_time, f"run {at} of {self._total}")

    def _tell_done(self, member: Member, outcome: Outcome) -> None:
        from marsyard.drawing.page import quantity

        self._done += 1
        if outcome.stopped:
            text = f"the run {outcome.stopped}"
        else:
            text = ", ".join(
                f"{output.name} {quantity(number, unit, 4)}"
                for output, number, unit in zip(
                    self._study.outputs, outcome.numbers, outcome.units, strict=True
                )
            )
        self._say(f"{member.label}: {text}")
        for warning in outcome.warnings:
            if warning not in self._heard:
                self._heard.add(warning)
                self._say(f"warning: {warning}")


def _refine(
    scenario: Scenario, family: Family, results: list[Result], crew: _Crew
) -> list[Boundary]:
    """Bisect every curve, one more run each at a time; the runs are added to `results`."""
    study = scenario.study
    assert study is not None
    if study.bisect is None:
        return []
    found = bisection.brackets(study, family, results)
    while more := bisection.next_members(study, family, found):
        ran = crew.run([member for _, member in more])
        for (bracket, _), result in zip(more, ran, strict=True):
            bracket.members.append(result)
            bracket.narrow(bisection.succeeded(study, result.outcome))
        results += ran
    return [bisection.boundary(study, family, b, k, results) for k, b in enumerate(found)]


def _write(folder: Path, family: Family, run: StudyRun) -> None:
    from marsyard.results import save
    from marsyard.results.study_plots import save_study_figures
    from marsyard.results.study_report import Row, write_study_report

    study = run.scenario.study
    assert study is not None
    save(run.study, folder / "study.nc")
    write_table(folder / "study.csv", run.study, family, run.members)
    figures = save_study_figures(run.study, study, folder / "figures")
    rows = [
        Row(
            value=family.axis.text(r.member.value),
            place=r.member.value if isinstance(r.member.value, float) else float(r.member.index),
            curve_index=r.member.curve,
            curve=family.also.text(family.also.shown[r.member.curve]) if family.also else "",
            refined=r.member.refined,
            numbers=r.outcome.numbers,
            succeeded=bisection.succeeded(study, r.outcome) if bisection.judged(study) else None,
            stopped=r.outcome.stopped or "",
            reasons=tuple(dict.fromkeys(t for t in r.outcome.reasons if t)),
            unconverged=r.outcome.unconverged,
            wall_time=r.outcome.wall_time,
            kept=run.info["kept"].get(r.member.index, ""),
        )
        for r in run.members
    ]
    found = [b.words for b in run.boundaries]
    write_study_report(
        folder, run.study, run.scenario, run.checks, figures, rows, found,
        {**run.info, "warnings": run.warnings},
    )  # fmt: skip
