"""Run a scenario and keep what it gives: the whole job behind `marsyard run` and `marsyard.run`.

A run folder holds

    results.nc       everything recorded, labelled (NetCDF)
    scenario.yaml    the scenario as resolved, in SI
    model.mjb        the compiled model, for the replay
    ground.nc        the soil as the run left it, for runs on soil
    figures/*.png
    post/*.csv       tables of post-processing functions, where there are some
    report.html      one self-contained page

It is written beside its place and moved there when complete, so that nothing half-written is left.
The folder of a study is told in `marsyard.study`.
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

from marsyard.errors import InputError, suggest
from marsyard.run_folder import write_or_keep, written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from marsyard.modules.ports import Control, Interaction, PostProcessing
    from marsyard.operations import Sequence
    from marsyard.operations.live import LiveRun
    from marsyard.results import Answer, CheckResult, Ground, Page3D
    from marsyard.scenario import Scenario

Say = Callable[[str], Any]
#: called with the simulated time and that to come in all [s], and what is going on
Progress = Callable[[float, float, str], Any]


@dataclass(frozen=True)
class Run:
    """A finished run: its data, checks and folder (None if nothing was kept on disk)."""

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

    def _repr_html_(self) -> str:
        """As notebooks show it: how it went, and its checks."""
        from marsyard.cards import card, table

        ds = self.data
        way = ds["position_base"].isel(time=[0, -1]).diff("time").sel(axis=["x", "y"])
        rows = [
            ("simulated", f"{float(ds['time'][-1]):g} s, {ds.sizes['time']} records"),
            ("way of the base", f"{float((way**2).sum()) ** 0.5:.3g} m from start to end"),
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
    def study(self) -> xr.Dataset | None:
        """The outputs of a study; None for a single run."""
        return None

    @property
    def ok(self) -> bool:
        """The run went through and every check passed that could be judged."""
        return self.stopped is None and all(c.ok for c in self.checks if c.judged)


def run(
    scenario: str | Path | Scenario,
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    study: bool = True,
    jobs: int = 1,
    control: Control | Any = None,
    interaction: Interaction | Any = None,
    post: Mapping[str, PostProcessing] | None = None,
    sequence: str | Path | Sequence | None = None,
    live: LiveRun | None = None,
    yes: bool = False,
    **short: Any,
) -> Run:
    """Run a scenario; with `out` also write a run folder.

    `settings` maps dotted paths to values ({"interaction.friction": 0.6}); `short` takes the last
    part alone where it is unambiguous (friction=0.6, duration=5), or a parameter's name. `say` gets
    a line about each stage; `progress` the simulated time, that to come in all [s], and a word.

        marsyard.run("rt0448/test-1", friction=0.6, out="runs/slippery").report

    A scenario with a `study` stands for a family of runs and gives a `StudyRun`; with study=False
    it is run alone. `jobs` is the number of processes for the members.

    A function `control` or `interaction` replaces that of the scenario (`marsyard.modules.ports`);
    anything else is a setting of that name. Functions in `post` get the data set; what they give is
    kept in `Run.post` and stands in the report.

        marsyard.run("rt0448/test-1", post={"slip": lambda ds: float(ds.slip_ratio.mean())})

    A `sequence`, or its file, takes the place of the scenario's drive (`marsyard.operations`).
    With `live` the run can be watched and steered in the browser (`marsyard.operations.live`).
    A run that would take longer than a day or most of the memory is refused, unless `yes`.
    """
    from marsyard.scenario import Scenario, scenario_data, validate
    from marsyard.scenario.scenario import apply_setting

    say = say or (lambda text: None)
    boxes = Boxes(
        control if callable(control) else None,
        interaction if callable(interaction) else None,
        _functions(post),
    )
    boxes.check()
    given = {"control": control, "interaction": interaction}
    short |= {k: v for k, v in given.items() if v is not None and not callable(v)}
    if jobs < 1:
        raise InputError(f"jobs = {jobs}: must be at least 1")
    if isinstance(scenario, Scenario):
        if settings or short:
            raise InputError("settings: apply to a scenario given by name, not to an object")
        name, resolved, overrides = scenario.title or "scenario", scenario, {}
        shortened = False
    else:
        name, data = str(scenario), scenario_data(scenario)
        overrides = {**(settings or {}), **{full_path(k, data): v for k, v in short.items()}}
        planned = _duration(data)
        for key, value in overrides.items():
            apply_setting(data, key, value)
        resolved = validate(data, name)
        shortened = resolved.run.duration < planned
    if sequence is not None:
        from marsyard.operations import load_sequence, on_scenario

        if isinstance(sequence, str | Path):
            overrides = {**overrides, "sequence": str(sequence)}
            sequence = load_sequence(sequence)
        resolved = on_scenario(sequence, resolved)
    from marsyard.simulation.cost import check_cost

    check_cost(resolved, yes, say)
    target = None if out is None else Path(out)
    if resolved.study is not None and study:
        from marsyard.study import run_study

        if boxes.any:
            raise InputError("study: modules of one's own need a single run; give study=False")
        if live is not None:
            raise InputError("--live: shows a single run; leave the study out with --no-study")
        return run_study(name, resolved, overrides, target, jobs, say, progress)
    alone = resolved.model_copy(update={"study": None})
    with written_whole(target) as staging:
        result = simulate(
            name, alone, overrides, staging, say, progress, boxes, shortened, live, target, yes
        )
    return replace(result, folder=target)


def _duration(data: Mapping[str, Any]) -> float:
    """How long a scenario's file says it runs [s]; 0 where it does not."""
    from marsyard.units import to_si

    given = data.get("run")
    try:
        return to_si(given["duration"], "time") if isinstance(given, Mapping) else 0.0
    except (KeyError, ValueError, TypeError):
        return 0.0  # what is wrong is told by the validation


def _functions(post: Any) -> dict[str, PostProcessing]:
    if post is not None and not isinstance(post, Mapping):
        raise InputError("post: must be functions by name, e.g. {'slip': my_function}")
    return dict(post or {})


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
) -> Run:
    """One run from start to end, its files written into `folder`, which will take the place of
    `out`; `shortened` says that it ends earlier than the scenario's checks expect, `yes` that it
    may take long (`marsyard.simulation.cost`)."""
    from marsyard.simulation import Diverged, Simulation
    from marsyard.simulation.plugged import plugin_names

    boxes = boxes or Boxes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = Simulation(
            scenario, say=say, control=boxes.control, interaction=boxes.interaction
        )
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

    def told(t: float) -> None:
        if progress is not None:
            progress(t, total, "simulating")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            if live is None:
                simulation.run(told, yes=yes)
            else:
                say("running; ctrl-c ends the run and keeps what was recorded")
                stopped = live.run(simulation, told, name)
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
        "modules": {**plugin_names(scenario), **boxes.named()},
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
    if folder is not None:
        say("drawing figures and writing the report …")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            content = (simulation, scenario, data, ground, checks, answers, info, post)
            write_or_keep(folder, out or folder, lambda into: _write(into, *content))
        said = [str(w.message) for w in caught]
        left_out = tuple(text for text in said if text.startswith("figure "))
        for text in left_out:
            say(f"warning: {text}")
        heard += left_out
    if live is not None:
        from marsyard.results import build_scene, ground_meshes

        meshes = ground_meshes(simulation.world.surfaces, data)
        live.show(build_scene(simulation.model, data, meshes, scenario.title, ground))
    return Run(
        name, scenario, data, checks, folder, info, stopped, heard, ground=ground, post=post,
        answers=answers,
    )  # fmt: skip


def versions() -> dict[str, str]:
    """What was running: package versions, Python and platform."""
    from importlib.metadata import version

    packages = ("marsyard", "mujoco", "numba", "numpy", "xarray")
    out = {p: version(p) for p in packages}
    out["python"] = platform.python_version()
    out["platform"] = f"{sys.platform} {platform.machine()}"
    return out


# --- writing


def _write(
    folder: Path,
    simulation: Any,
    scenario: Scenario,
    data: Any,
    ground: Ground | None,
    checks: Any,
    answers: Any,
    info: Any,
    post: Mapping[str, Any],
) -> None:
    import mujoco

    from marsyard.results import save, save_figures, save_ground, write_report
    from marsyard.scenario import dump

    save(data, folder / "results.nc")
    if ground is not None:
        save_ground(ground, folder)
    (folder / "scenario.yaml").write_text(dump(scenario), encoding="utf-8")
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"))
    report = scenario.report
    figures = save_figures(
        data, report.figures, folder / "figures", ground=ground, ground_figures=report.ground,
        surfaces=simulation.world.surfaces,
    )  # fmt: skip
    results = ""
    if post:
        from marsyard.modules.post import write_post

        results, drawn = write_post(folder, post)
        figures += drawn
    write_report(folder, data, scenario, checks, figures, info, ground, results, answers)


# --- short names


def full_path(key: str, data: Mapping[str, Any]) -> str:
    """'friction' → 'interaction.friction', a parameter → 'parameters.…'; dotted keys stay."""
    from marsyard.scenario import Scenario

    if "." in key or key in Scenario.model_fields:
        return key
    places: dict[str, str] = {}
    for part in ("robot", "interaction", "run"):
        for name in Scenario.model_fields[part].annotation.model_fields:  # type: ignore[union-attr]
            places.setdefault(name, f"{part}.{name}")
    parameters = data.get("parameters") or {}
    if key in parameters and key in places:
        raise InputError(
            f"setting '{key}': could be parameters.{key} or {places[key]}; give the whole path"
        )
    places |= {str(name): f"parameters.{name}" for name in parameters}
    if key not in places:
        valid = [*places, *Scenario.model_fields]
        raise InputError(f"unknown setting '{key}'; {suggest(key, valid)}")
    return places[key]
