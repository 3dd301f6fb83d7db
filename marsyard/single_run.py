"""A single run from start to end, and its folder.

A run folder holds

    results.nc       everything recorded, labelled (NetCDF)
    scenario.yaml    the scenario as resolved, in SI
    inputs/          copies of the robot and of all files that the scenario names
    model.mjb        the compiled model, for the replay
    ground.nc        the soil as the run left it, for runs on soil
    post/*.csv       tables of post-processing functions, where there are some
    run.json         how it was asked for and what it warned of, to make the report again
    report.html      one self-contained page
    figures/         pictures of the soil; every figure of the report where they are asked for

All but the report and its figures is in place before anything is drawn.
"""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError
from marsyard.run_folder import is_full, write_or_keep
from marsyard.run_report import Finished, draw_report

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from marsyard.convergence import Convergence
    from marsyard.operations.live import LiveRun
    from marsyard.ports import Control, Interaction, PostProcessing
    from marsyard.results import Answer, CheckResult, Ground, Page3D
    from marsyard.run_folder import Placement
    from marsyard.scenario import Scenario

Say = Callable[[str], Any]
#: called with the simulated time and that to come in all [s], and what is going on
Progress = Callable[[float, float, str], Any]
#: called with a run that is evaluated, before its figures are drawn
Checked = Callable[["Run"], Any]


@dataclass(frozen=True)
class Run:
    """A finished run: its data, checks and folder (None if nothing was saved)."""

    name: str
    scenario: Scenario
    data: xr.Dataset
    checks: list[CheckResult]
    folder: Path | None
    info: Mapping[str, Any] = field(default_factory=dict)
    stopped: str | None = None
    warnings: tuple[str, ...] = ()
    ground: Ground | None = field(default=None, kw_only=True)
    #: what post-processing functions gave, by name
    post: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    #: answers to the scenario's questions
    answers: tuple[Answer, ...] = field(default=(), kw_only=True)

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    def to_dataframe(self) -> pd.DataFrame:
        """All curves as a pandas data frame, units in its `attrs`."""
        from marsyard.results import to_dataframe

        return to_dataframe(self.data)

    def show(self, height: int = 500) -> Page3D:
        """The run in 3D, for a notebook (see `marsyard.show`)."""
        from marsyard.results import show

        return show(self, height)

    def __repr__(self) -> str:
        """As a terminal shows it: how it went, and its checks."""
        from marsyard.cards import text_card
        from marsyard.results.headline import headline_of

        ds = self.data
        rows = [
            ("went", headline_of(ds, self.checks, self.stopped).words),
            ("simulated", f"{float(ds['time'][-1]):g} s, {ds.sizes['time']} records"),
            ("stopped", self.stopped),
            *(("warning", text) for text in self.warnings),
            *(("check", _check_words(c)) for c in self.checks),
            ("data", f"{len(ds.data_vars)} variables in .data; .to_dataframe(), .show() for 3D"),
            ("report", self.report),
        ]
        return text_card(f"Run of '{self.name}'", rows)

    def _repr_html_(self) -> str:
        """As notebooks show it: how it went, and its checks."""
        from marsyard.cards import card, table

        ds = self.data
        displacement = ds["position_base"].isel(time=[0, -1]).diff("time").sel(axis=["x", "y"])
        rows = [
            ("simulated", f"{float(ds['time'][-1]):g} s, {ds.sizes['time']} records"),
            ("net displacement", f"{float((displacement**2).sum()) ** 0.5:.3g} m, level"),
            ("curves", f"{len(ds.data_vars)} variables in .data, .to_dataframe(), .show() for 3D"),
        ]
        rows += [("stopped", self.stopped)] if self.stopped else []
        rows += [("warning", text) for text in self.warnings]
        rows += [("report", str(self.report))] if self.report else []
        tables = [table(rows)]
        if self.checks:
            heads = ("check", "computed", "expected", "unit", "verdict")
            checks = [(c.name, c.computed, c.expected, c.unit, c.verdict) for c in self.checks]
            tables.append(table(checks, heads))
        return card(self.scenario.title or self.name, "", *tables)

    @property
    def convergence(self) -> Convergence | None:
        """Convergence of the run in grid and step; None if it was not checked."""
        return self.info.get("convergence")

    @property
    def study(self) -> xr.Dataset | None:
        """The outputs of a study; None for a single run."""
        return None

    @property
    def ok(self) -> bool:
        """Whether the run completed and every check that could be evaluated passed."""
        return self.stopped is None and all(c.ok for c in self.checks if c.judged)


def _check_words(check: CheckResult) -> str:
    """'largest pitch: 0.167 rad, 0.167 expected: pass'."""
    unit = f" {check.unit}" if check.unit else ""
    computed = "–" if check.computed is None else f"{check.computed:.4g}{unit}"
    return f"{check.name}: {computed}, {check.expected:.4g} expected: {check.verdict}"


@dataclass(frozen=True)
class Boxes:
    """Modules of the user's own."""

    control: Control | None = None
    interaction: Interaction | None = None
    post: Mapping[str, PostProcessing] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """There is one."""
        return self.control is not None or self.interaction is not None or bool(self.post)

    def check(self) -> None:
        """Refuse what cannot be called, before the run."""
        if self.post:
            from marsyard.modules.post import check_post

            check_post(self.post)

    def named(self) -> dict[str, str]:
        """Which modules are the user's own, for the report."""
        own = {"control": self.control, "interaction": self.interaction}
        return {
            k: f"{getattr(f, '__name__', type(f).__name__)}(), not the scenario's"
            for k, f in own.items()
            if f
        }

    def notes(self) -> tuple[str, ...]:
        """What scenario.yaml does not hold, for its head."""
        own = {"control": self.control, "interaction": self.interaction}
        return tuple(
            f"{k}: the run used the Python function {getattr(f, '__name__', type(f).__name__)}, "
            f"which is not stored here"
            for k, f in own.items()
            if f
        )


def simulate(
    name: str,
    scenario: Scenario,
    overrides: Mapping[str, Any],
    folder: Path | None,
    say: Say,
    progress: Progress | None = None,
    boxes: Boxes | None = None,
    shortened: bool = False,
    live: LiveRun | None = None,
    out: Path | None = None,
    yes: bool = False,
    checked: Checked | None = None,
    inputs: Path | None = None,
    refine: bool = False,
    figures: str | None = None,
    placement: Placement | None = None,
    given: Mapping[str, str] | None = None,
) -> Run:
    """One run from start to end, its files written into `folder`, which will take the place of
    `out`; `shortened` says that it ends earlier than the scenario's checks expect, `yes` that it
    may take long (`marsyard.simulation.cost`). `inputs` is the folder for copies of the files that
    the scenario names [in `folder`]; runs may share one. With `refine` the run is repeated with
    half the grid and half the step, to say how converged it is (`marsyard.convergence`). `figures`
    is the kind of files that its figures are also written to. With a `placement` the results are
    in place before anything is drawn. `given` holds quantities as the user wrote them, by path."""
    from marsyard.scenario import resolve
    from marsyard.scenario.packing import write_scenario
    from marsyard.simulation import Diverged, Simulation
    from marsyard.simulation.plugged import plugin_names

    boxes = boxes or Boxes()
    scenario = resolve(scenario)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = Simulation(
            scenario, say=say, control=boxes.control, interaction=boxes.interaction
        )
        if folder is not None:  # before the run: files may be edited meanwhile
            write_scenario(scenario, folder / "scenario.yaml", inputs, boxes.notes())
        simulation.warm_up()
    heard = tuple(dict.fromkeys(str(w.message) for w in caught))
    for text in heard:
        say(f"warning: {text}")
    if scenario.report.questions:
        from marsyard.results.questions import check_questions

        check_questions(simulation.dataset(), scenario.report.questions)
    started = time.strftime("%Y-%m-%d %H:%M:%S")
    stopped = None
    total = scenario.run.duration

    def report_time(t: float) -> None:
        if progress is not None:
            progress(t, total, "simulating")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            if live is None:
                simulation.run(report_time, yes=yes)
            else:
                stopped = live.run(simulation, report_time, name, say)
                shortened = shortened or stopped is not None
        except Diverged as error:
            stopped = str(error)
    remarks = list(dict.fromkeys(str(w.message) for w in caught))
    pilot = simulation.drive or simulation.gait
    if pilot is not None and stopped is None:
        remarks += pilot.remarks()
    heard += tuple(remarks)
    for text in remarks:
        say(f"warning: {text}")
    data = simulation.dataset()
    simulation.close()
    data.attrs["scenario"] = name

    from marsyard.results import answer_all, evaluate_all, ground_of

    ground = ground_of(simulation)
    checks = evaluate_all(data, scenario.report.checks, shortened)
    answers = answer_all(data, scenario.report.questions, shortened)
    info = {
        "scenario": name,
        "overrides": [f"{k}={v}" for k, v in overrides.items()],
        "steps": simulation.steps,
        "wall_time": simulation.wall_time,
        "compile_time": simulation.compile_time,
        "started": started,
        "versions": versions(),
        "stopped": stopped,
        "warnings": heard,
        "notes": boxes.notes(),
        "modules": {**plugin_names(scenario), **boxes.named()},
        "laws": [(law.title or law.name, rows) for law in simulation.laws if (rows := law.acted())],
        "hard_contact": simulation.has_hard_contact,
        "given": dict(given or {}),
    }
    post: dict[str, Any] = {}
    if boxes.post:
        from marsyard.modules.post import PostError, evaluate_post

        post = evaluate_post(data, boxes.post)
        failed = tuple(str(value) for value in post.values() if isinstance(value, PostError))
        heard += failed
        info["warnings"] = heard
        for text in failed:
            say(f"warning: {text}")
    result = Run(
        name, scenario, data, checks, folder, info, stopped, heard, ground=ground, post=post,
        answers=answers,
    )  # fmt: skip
    if checked is not None:
        checked(replace(result, folder=out))
    if refine and stopped is None:
        from marsyard.convergence import check_convergence

        wall = simulation.wall_time
        info["convergence"] = check_convergence(scenario, data, wall, say, progress, yes)
    if folder is not None:
        content = (simulation, scenario, data, ground, info, post, shortened)
        finished = Finished(
            data, scenario, simulation.model, ground, simulation.world.surfaces, checks, answers,
            info, _post_texts(post), post,
        )  # fmt: skip

        def draw(into: Path) -> None:
            draw_report(into, finished, figures)

        def write_all(into: Path) -> None:
            write_results(into, *content)
            draw(into)

        write_or_keep(folder, out or folder, lambda into: write_results(into, *content), write_all)
        if placement is not None:
            folder = placement.place()
        say("writing the report …")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            _draw_safely(folder, draw, placement is not None, say)
        said = dict.fromkeys(str(w.message) for w in caught)
        left_out = tuple(text for text in said if text.startswith("figure "))
        for text in left_out:
            say(f"warning: {text}")
        result = replace(result, warnings=heard + left_out)
    if live is not None:
        from marsyard.results import build_scene, ground_meshes

        meshes = ground_meshes(simulation.world.surfaces, data)
        live.show(build_scene(simulation.model, data, meshes, scenario.title, ground))
    return result


def versions() -> dict[str, str]:
    """What was running: package versions, Python and platform."""
    from importlib.metadata import version

    packages = ("marsyard", "mujoco", "numba", "numpy", "xarray")
    out = {p: version(p) for p in packages}
    out["python"] = platform.python_version()
    out["platform"] = f"{sys.platform} {platform.machine()}"
    return out


# --- writing


def _draw_safely(folder: Path, draw: Callable[[Path], None], placed: bool, say: Say) -> None:
    """Draw the report; if that fails, say that the results are there all the same."""
    again = f"the results are in '{folder}', and `marsyard report {folder}` makes the report"
    try:
        draw(folder)
    except KeyboardInterrupt:
        if placed:
            say(f"interrupted while drawing the report: {again}")
        raise
    except OSError as error:
        if placed and is_full(error):
            raise InputError(f"no space is left for the report; {again}") from None
        raise


def _post_texts(post: Mapping[str, Any]) -> dict[str, str]:
    if not post:
        return {}
    from marsyard.modules.post import post_texts

    return post_texts(post)


def write_results(
    folder: Path,
    simulation: Any,
    scenario: Scenario,
    data: Any,
    ground: Ground | None,
    info: Any,
    post: Mapping[str, Any],
    shortened: bool = False,
) -> None:
    """Write the results of a run, nothing drawn; a scenario.yaml that is there stays."""
    import mujoco

    from marsyard.results import save, save_ground
    from marsyard.run_record import record_of, write_record
    from marsyard.scenario.packing import write_scenario

    save(data, folder / "results.nc")
    if ground is not None:
        save_ground(ground, folder)
    if not (folder / "scenario.yaml").exists():
        write_scenario(scenario, folder / "scenario.yaml", notes=info.get("notes", ()))
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"))
    if post:
        from marsyard.modules.post import write_tables

        write_tables(folder, post)
    write_record(record_of(info, shortened, _post_texts(post)), folder)
