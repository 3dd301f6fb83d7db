"""Validate a sequence: run it many times with uncertain values, and evaluate.

    nominal run → limits, paths → n runs on all cores → data set → judgement → folder

The folder holds

    report.html       map, timeline, limits, margins, replay of the worst run
    validation.nc     every run, limit and command (`validation.data`)
    validation.json   verdicts and probabilities
    sequence.yaml, scenario.yaml, figures/*.png
    worst/            the worst run, for `marsyard view`

A run is given up, as not finished, after twice the nominal time and 10 s more, or the limit of time
where that is longer, but never later than the scenario's (or the sequence's) own duration.

The same seed gives the same data bit for bit, whatever the number of processes. A validation that
is stopped judges by the runs it has.
"""

from __future__ import annotations

import json
import math
import time as clock
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.cores import job_count
from marsyard.errors import InputError
from marsyard.executors import Stopped, Workers
from marsyard.operations.distributions import Uncertain, read_uncertain, uncertain_of
from marsyard.operations.sequence import Sequence, load_sequence, on_scenario, sequence_text
from marsyard.operations.validation.data import dataset
from marsyard.operations.validation.judgement import Judgement, judge_runs
from marsyard.operations.validation.limits import (
    Limit,
    Limits,
    judged,
    limits_of,
    policy_of,
    read_limits,
)
from marsyard.operations.validation.members import BINS, Outcome, Plan, Task, reduced, simulate
from marsyard.operations.validation.quantities import reference_lines
from marsyard.operations.validation.uncertainty import Scatter
from marsyard.operations.validation.worst import WorstRun, run_again, save_worst
from marsyard.operations.verdict import Word
from marsyard.run_folder import write_or_keep, written_whole
from marsyard.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.simulation import Simulation

#: between records [s], or the next multiple of the control period
RECORD = 0.1
#: exit codes of `marsyard validate`
EXIT: dict[Word, int] = {"go": 0, "caution": 3, "no-go": 4}
FILE_NAME = "validation.nc"

#: called with the runs done (with fractions), those to do, and what is going on
Progress = Callable[[float, int, str], Any]


@dataclass(frozen=True)
class Validation:
    """A finished validation.

    Attributes:
        data: every run, limit and command (`validation.data`).
        judgement: verdicts, probabilities, where margins are thinnest, where the rover ends.
        sequence: what was validated. scenario: the nominal one.
        limits: those that were judged; not_judged: why others were not, by name.
        uncertain: what scattered; assumed: whether that is the default.
        stopped: whether it was stopped before all runs were done.
        info: times and versions. folder: where it is kept, none if nowhere.
    """

    data: xr.Dataset
    judgement: Judgement
    sequence: Sequence
    scenario: Scenario
    limits: tuple[Limit, ...]
    not_judged: Mapping[str, str]
    uncertain: Uncertain
    assumed: bool
    stopped: bool
    info: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    def __repr__(self) -> str:
        """As a terminal shows it: the verdict and why."""
        from marsyard.cards import several, text_card

        rows = [
            ("verdict", f"{self.verdict.upper()}: {self.judgement.why}"),
            ("runs", f"{self.data.sizes.get('run', 0)}" + ", stopped early" * self.stopped),
            ("commands", len(self.sequence.sequence)),
            ("limits", several([limit.name for limit in self.limits], "limit")),
            ("not judged", "; ".join(f"{k}: {v}" for k, v in self.not_judged.items())),
            ("data", ".data, an xarray.Dataset; .judgement"),
            ("report", self.report),
        ]
        return text_card("Validation", rows)

    @property
    def verdict(self) -> Word:
        """go, caution or no-go."""
        return self.judgement.verdict

    @property
    def exit_code(self) -> int:
        """0 go, 3 caution, 4 no-go."""
        return EXIT[self.verdict]

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    def as_dict(self) -> dict[str, Any]:
        """Verdicts and probabilities, ready for JSON."""
        from marsyard.operations.validation.table import as_dict

        return as_dict(self)


def validate(
    sequence: str | Path | Sequence,
    scenario: str | Path | Scenario,
    uncertain: str | Path | Mapping[str, Any] | Uncertain | None = None,
    n: int = 200,
    limits: str | Path | Mapping[str, Any] | Limits | None = None,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
    workers: int | None = None,
) -> Validation:
    """Run a sequence `n` times with uncertain values, and evaluate it.

    Args:
        sequence: the commands, or their file.
        scenario: rover, ground and all settings: one of the library, a file, or an object
            (`base_scenario(robot, ground)` makes one).
        uncertain: what scatters (`operations.uncertain`): a file, a mapping as in one; default:
            start pose, soil and roughness (`validation.uncertainty`).
        limits: a file, or a mapping as in one; default: see `validation.limits`.
        seed: of the samples; default: that of `uncertain`, or 0.
        jobs: processes; default: one per core. `workers` is its name of before.
        out: folder for results and report; none is written without.
        progress: hears the runs done, those to do, and a word; called from this thread.
        stop: asked several times a second; once it says true, what is done is judged. Before
            the first run is done there is nothing to judge, and `Stopped` is raised.
    """
    if isinstance(n, bool) or n < 1:
        raise InputError(f"n = {n}: must be 1 or more")
    if workers is not None:
        warnings.warn("validate: 'workers' is called 'jobs' now", DeprecationWarning, stacklevel=2)
        jobs = workers
    if seed is not None and seed < 0:
        raise InputError(f"seed = {seed}: must be 0 or more")
    job = _Job(
        sequence if isinstance(sequence, Sequence) else load_sequence(sequence),
        scenario if isinstance(scenario, Scenario) else load_scenario(scenario),
        _uncertain(uncertain),
        n,
        read_limits(limits) if isinstance(limits, str | Path) else limits_of(limits),
        seed,
        job_count(jobs),
        progress or (lambda done, total, what: None),
        stop or (lambda: False),
    )
    target = None if out is None else Path(out)
    with written_whole(target) as staging:
        found = job.run()
        if staging is not None:
            write_or_keep(staging, target or staging, lambda folder: job.write(folder, found))
    return replace(found, folder=target)


def _uncertain(given: Any) -> Uncertain | None:
    if given is None or isinstance(given, Uncertain):
        return given
    return read_uncertain(given) if isinstance(given, str | Path) else uncertain_of(given)


@dataclass
class _Job:
    """The steps of a validation."""

    sequence: Sequence
    base: Scenario
    uncertain: Uncertain | None
    n: int
    limits: Limits
    seed: int | None
    workers: int
    progress: Progress
    stop: Callable[[], bool]

    def run(self) -> Validation:
        """All but the folder."""
        began, started = clock.perf_counter(), clock.strftime("%Y-%m-%d %H:%M:%S")
        scenario = on_scenario(self.sequence, self.base)
        self.scatter = Scatter(scenario, self.uncertain, self.seed)
        self.samples = self.scatter.samples(self.n)
        longest = scenario.run.duration
        self.nominal = _timed(self.scatter.nominal, longest)
        simulation, first, plan, left = self._nominal_run(longest)
        self.simulation = simulation
        budget = self._budget(first, longest)
        plan = replace(plan, bin=budget / BINS)
        first = reduced(0, simulation, simulation.dataset(), plan, simulation.stopped or "")
        self.tasks = [
            Task(k + 1, _timed(self.scatter.scenario(sample), budget), plan)
            for k, sample in enumerate(self.samples)
        ]
        outcomes = self._runs(first.simulated)
        done = [o for o in outcomes if o is not None]
        if not done:
            raise Stopped
        everything = [first, *done]
        assert self.nominal.drive is not None
        data = dataset(
            everything, [{}, *(self.samples[o.number - 1] for o in done)], plan,
            self.nominal.drive.commands, self._attributes(done),
        )  # fmt: skip
        info = {
            "elapsed": clock.perf_counter() - began, "started": started, "workers": self.workers,
            "simulated": sum(o.simulated for o in everything),
            "wall_time": sum(o.wall_time for o in everything),
        }  # fmt: skip
        return Validation(
            data, judge_runs(data, policy_of(self.limits)), self.sequence, self.nominal,
            plan.limits, left, self.scatter.uncertain, self.scatter.assumed, len(done) < self.n,
            info,
        )  # fmt: skip

    def _attributes(self, done: list[Outcome]) -> dict[str, Any]:
        return {
            "title": self.nominal.title, "robot": self.nominal.robot.name,
            "seed": self.scatter.uncertain.seed, "asked": self.n, "done": len(done),
            **{f"policy_{k}": v for k, v in self.limits.policy.model_dump().items()},
        }  # fmt: skip

    def _nominal_run(self, longest: float) -> tuple[Simulation, Outcome, Plan, dict[str, str]]:
        """The nominal run, what is kept of it, the plan that follows from it."""
        self.progress(0.0, self.n, "nominal run")

        def tell(time: float) -> None:
            if self.stop():
                raise Stopped

        # a first look at the limits: what is wrong with them is told before the run
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulation, _ = simulate(self.nominal, tell, lambda s: judged(self.limits, s))
        limits, left = judged(self.limits, simulation)
        ds = simulation.dataset()
        plan = Plan(limits, self.limits.winding, reference_lines(ds), longest / BINS)
        outcome = reduced(0, simulation, ds, plan, simulation.stopped or "")
        return simulation, outcome, plan, left

    def _budget(self, first: Outcome, longest: float) -> float:
        """How long a run may take [s]."""
        allowed = 2 * first.simulated + 10.0
        if self.limits.limits.time is not None:
            allowed = max(allowed, 1.05 * self.limits.limits.time)
        return min(allowed, longest)

    def _runs(self, nominal_time: float) -> list[Outcome | None]:
        done: set[int] = set()
        past = [0.0]

        def finished(k: int, outcome: Outcome) -> None:
            done.add(k)
            past[0] += outcome.simulated

        def tell(simulated: float) -> None:
            # active runs count by the time of the nominal one
            under_way = max(simulated - past[0], 0.0) / max(nominal_time, 1e-9)
            most = min(float(self.workers), float(self.n - len(done)))
            self.progress(len(done) + 0.99 * min(under_way, most), self.n, "runs")

        with Workers(self.workers, self.n) as workers:
            outcomes = workers.run(self.tasks, tell, finished, self.stop)
        self.progress(len(done), self.n, "runs")
        return outcomes

    # --- the folder

    def write(self, folder: Path, found: Validation) -> None:
        """Data, the worst run, and the report."""
        from marsyard.operations.validation.report.page import write_page_of
        from marsyard.results import save
        from marsyard.scenario.packing import write_scenario
        from marsyard.single_run import versions

        save(found.data, folder / FILE_NAME)
        text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
        (folder / "validation.json").write_text(text + "\n", encoding="utf-8")
        (folder / "sequence.yaml").write_text(sequence_text(found.sequence), encoding="utf-8")
        write_scenario(found.scenario, folder / "scenario.yaml")
        done = found.data.sizes["run"] - 1
        self.progress(done, self.n, "repeating the worst run")
        again = self._worst(found.judgement.worst_run)
        if again is not None:
            save_worst(again, folder)
        self.progress(done, self.n, "report")
        info = {**found.info, "versions": versions()}
        write_page_of(folder, replace(found, info=info), self.simulation, again)

    def _worst(self, number: int) -> WorstRun | None:
        """The worst run; none if it could not begin."""
        try:
            return run_again(self.nominal if number == 0 else self.tasks[number - 1].scenario)
        except InputError:
            return None


def _timed(scenario: Scenario, duration: float) -> Scenario:
    """The scenario with a duration of whole records, every `RECORD` or so, and no checks."""
    run = scenario.run
    control = run.control_period or run.step
    record = max(1, round(RECORD / control)) * control
    whole = max(1, math.ceil(duration / record - 1e-9)) * record
    changed = run.model_copy(update={"record_period": record, "duration": whole})
    return scenario.model_copy(update={"run": changed, "study": None})
