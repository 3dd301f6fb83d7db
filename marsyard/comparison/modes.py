"""Modes of locomotion over slopes: `marsyard compare SCENARIO --modes … --slopes …`.

The scenario is run in each mode on one slope after the other. A mode that fails on a slope is tried
on no steeper one; the interval between its last success and that failure is halved until it is no
wider than the tolerance. What is measured is told in `mode_measures`.

Which may be asked for stands in `mode_variants` and `mode_slopes`, how the answer is found in
`mode_answer`.

The ground must have a slope: a plane, or a terrain with a layer of kind plane. The robot starts as
the scenario says, turned so that it stands on the slope.

The folder of such a comparison holds

    compare.csv, compare.nc    a row per run; the same over mode and slope
    figures/*.png, report.html
    scenario.yaml              the unchanged scenario
    modes/NAME/SLOPE/          run folders, if they are kept
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marsyard.comparison.mode_answer import Limit, ModeComparison, answer
from marsyard.comparison.mode_measures import Row, measure
from marsyard.comparison.mode_slopes import SLOPES, Ramp, Search, find_ramp, parse_slopes
from marsyard.comparison.mode_variants import (
    ModeVariant,
    mode_variants,
    must_measure,
    scenario_at,
)
from marsyard.comparison.runs import base_data, run_quietly
from marsyard.cores import job_count
from marsyard.errors import InputError
from marsyard.run_folder import INPUTS, written_whole
from marsyard.scenario import Scenario, validate
from marsyard.scenario.short_names import full_paths
from marsyard.single_run import Progress, Say, versions


def compare_modes(
    scenario: str | Path | Scenario,
    modes: str | Sequence[str] = (),
    slopes: str | Sequence[Any] = SLOPES,
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    tolerance: float = math.radians(0.5),
    least: float = 0.1,
    slope_of: str = "",
    keep: bool = False,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    jobs: int | None = 1,
) -> ModeComparison:
    """Compare modes of locomotion: steepest slopes and energy, and where they are equal.

        marsyard.compare_modes("modes/sandy-slope", "rolling,peristaltic", "0:30:2.5")

    modes: of the scenario's gait, or with their defaults; all of the scenario's if none are given.
    slopes: "start:stop:step" or a list, in degrees or with a unit. variants: modes under names,
    {"long": {"mode": "peristaltic", "stride": 0.24}}; other keys are paths of the scenario.
    settings: for all. tolerance: of the steepest slope [rad], 0 for no refinement. least: share of
    the planned speed that a mode must make to count as climbing. slope_of: path of the slope where
    the scenario has several. keep: also write every run's folder. `say`, `progress`, `jobs`, `out`
    as in `marsyard.run`.
    """
    say = say or (lambda text: None)
    processes = job_count(jobs)
    _check(tolerance, least)
    angles = parse_slopes(slopes)
    name, data, _ = base_data(scenario, settings or {}, study=False)
    settings = full_paths(settings or {}, data)
    base = validate(data, name)
    asked = mode_variants(base, modes, variants)
    ramp = find_ramp(base, slope_of)
    began, started = time.perf_counter(), time.strftime("%Y-%m-%d %H:%M:%S")
    target = None if out is None else Path(out)
    with written_whole(target) as staging:
        kept = staging if keep else None
        crew = _Crew(name, base, ramp, asked, least, settings, kept, processes, say, progress)
        crew.try_all(angles[0])
        searches = [Search(angles, tolerance) for _ in asked]
        rows = crew.run(searches)
        limits = [Limit(v.name, s.climbs, s.fails) for v, s in zip(asked, searches, strict=True)]
        result = answer(name, base, asked, rows, limits, target, {
            "scenario": name, "overrides": [f"{k}={v}" for k, v in settings.items()],
            "jobs": processes, "elapsed": time.perf_counter() - began, "started": started,
            "versions": versions(), "least": least, "tolerance": tolerance,
        })  # fmt: skip
        if staging is not None:
            say("drawing figures and writing the report …")
            from marsyard.comparison.mode_files import write_modes

            write_modes(staging, result)
    return result


def _check(tolerance: float, least: float) -> None:
    if not tolerance >= 0:
        raise InputError(f"tolerance = {tolerance}: must be at least 0")
    if not 0 <= least < 1:
        raise InputError(f"least = {least:g}: must be a share of the planned speed, from 0 to 1")


# --- the runs


@dataclass(frozen=True)
class _Done:
    row: Row
    simulated: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    """One run of a mode, in whichever process."""

    name: str
    variant: ModeVariant
    scenario: Scenario
    slope: float
    ramp: Ramp
    least: float
    overrides: Mapping[str, Any]
    folder: Path | None
    inputs: Path | None = None

    def work(self, tell: Callable[[float], Any]) -> _Done:
        """Run and measure; `tell` hears the simulated time [s]."""
        run = run_quietly(self.name, self.scenario, self.overrides, self.folder, tell, self.inputs)
        assert self.scenario.gait is not None
        row = measure(
            run.data, self.variant.name, self.scenario.gait.modes[0], self.slope,
            self.ramp.uphill, self.ramp.heading, self.least, run.stopped,
            float(run.info["wall_time"]),
        )  # fmt: skip
        return _Done(row, float(run.data["time"][-1]), run.warnings)


@dataclass
class _Crew:
    """Runs the modes of a comparison, round after round."""

    name: str
    base: Scenario
    ramp: Ramp
    modes: Sequence[ModeVariant]
    least: float
    settings: Mapping[str, Any]
    staging: Path | None
    jobs: int
    say: Say
    progress: Progress | None

    def try_all(self, slope: float) -> None:
        """Build each mode's simulation once: wrong input shows before any run."""
        from marsyard.simulation import Simulation

        for variant in self.modes:
            scenario = scenario_at(self.base, variant, self.ramp, slope)
            # nothing moves here, so the robot may stay in the air
            robot = scenario.robot.model_copy(update={"settle": False})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    Simulation(scenario.model_copy(update={"robot": robot}), say=self.say).warm_up()
            except InputError as error:
                raise InputError(f"mode {variant.name}: {error}") from None
            must_measure(scenario, variant)

    def run(self, searches: Sequence[Search]) -> list[Row]:
        """All rows, by mode and slope."""
        from marsyard.executors import Workers

        rows: list[Row] = []
        done_time = 0.0
        with Workers(self.jobs, len(self.modes) * self.jobs) as workers:
            while True:
                open_ = sum(s.left() > 0 for s in searches)
                share = max(1, self.jobs // max(open_, 1))
                tasks = [
                    self._task(v, slope)
                    for v, search in zip(self.modes, searches, strict=True)
                    for slope in search.next(share)
                ]
                if not tasks:
                    break
                left = sum(s.left() for s in searches)
                tell = self._teller(done_time, len(rows), len(tasks), left)
                found = workers.run(tasks, tell, lambda k, done: self._tell_done(done))
                done_time += sum(done.simulated for done in found)
                for done in found:
                    at = [v.name for v in self.modes].index(done.row.mode)
                    searches[at].tell(done.row.slope, done.row.climbs)
                rows += [done.row for done in found]
        order = [v.name for v in self.modes]
        return sorted(rows, key=lambda r: (order.index(r.mode), r.slope))

    def _task(self, variant: ModeVariant, slope: float) -> _Task:
        label = f"{variant.name} at {math.degrees(slope):.4g}°"
        folder = inputs = None
        if self.staging is not None:
            inputs = self.staging / INPUTS
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", variant.name).strip("-.") or "mode"
            folder = self.staging / "modes" / plain / f"{math.degrees(slope):.4g}"
        scenario = scenario_at(self.base, variant, self.ramp, slope)
        overrides = {**self.settings, **variant.settings, self.ramp.path: slope}
        return _Task(
            f"{self.name}, {label}", variant, scenario, slope, self.ramp, self.least, overrides,
            folder, inputs,
        )  # fmt: skip

    def _teller(self, before: float, ran: int, now: int, left: int) -> Callable[[float], Any]:
        span = self.base.run.duration
        total = before + span * (now + left)

        def tell(simulated: float) -> None:
            if self.progress:
                at = ran + min(int(simulated // span) + 1, now)
                self.progress(before + simulated, total, f"run {at} of {ran + now + left} or less")

        return tell

    def _tell_done(self, done: _Done) -> None:
        row = done.row
        how = row.why or (
            f"{1e3 * row.speed:.3g} mm/s, slip {100 * row.slip:.3g} %, "
            f"{row.mechanical:.4g} J/m mechanical"
        )
        if not row.why and math.isfinite(row.electrical):
            how += f", {row.electrical:.4g} J/m electrical"
        self.say(f"{row.mode}, {math.degrees(row.slope):.4g}°: {how}")
