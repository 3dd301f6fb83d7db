"""Run a scenario, alone or as a study: the implementation of `marsyard run` and `marsyard.run`.

A run's folder (`marsyard.single_run`) is written beside its place and moved there when complete, so
that nothing half-written is left. The folder of a study is told in `marsyard.study`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.compile_watch import tell_compiling
from marsyard.cores import job_count
from marsyard.errors import InputError
from marsyard.run_folder import placed_early
from marsyard.single_run import Boxes, Checked, Progress, Run, Say, simulate

if TYPE_CHECKING:
    from marsyard.operations import Sequence
    from marsyard.operations.live import LiveRun
    from marsyard.ports import Control, Interaction, PostProcessing
    from marsyard.scenario import Scenario

__all__ = ["Run", "run"]


def run(
    scenario: str | Path | Scenario,
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    study: bool = True,
    jobs: int | None = 1,
    control: Control | Any = None,
    interaction: Interaction | Any = None,
    post: Mapping[str, PostProcessing] | None = None,
    sequence: str | Path | Sequence | None = None,
    live: LiveRun | None = None,
    yes: bool = False,
    checked: Checked | None = None,
    check_convergence: bool = False,
    figures: str | None = None,
    **short: Any,
) -> Run:
    """Run a scenario; with `out` also write a run folder.

    `settings` maps dotted paths to values ({"interaction.friction": 0.6}); the last part alone
    will do where it is unambiguous, and so will a parameter's name, so that such settings can be
    keyword arguments, too (friction=0.6, duration=5). `say` gets a line about each stage;
    `progress` the simulated time, that to come in all [s], and a word; `checked` the run once its
    checks are evaluated, before figures and report are made.

        marsyard.run("rt0448/test-1", friction=0.6, out="runs/slippery").report

    A scenario with a `study` stands for a family of runs and gives a `StudyRun`; with study=False
    it is run alone. `jobs` is the number of processes for the members, None one per core;
    with more than one a script calls this under `if __name__ == "__main__"`.

    A function `control` or `interaction` replaces that of the scenario (`marsyard.ports`);
    anything else is a setting of that name. Functions in `post` get the data set; what they give is
    kept in `Run.post` and stands in the report.

        marsyard.run("rt0448/test-1", post={"slip": lambda ds: float(ds.slip_ratio.mean())})

    A `sequence`, or its file, takes the place of the scenario's drive (`marsyard.operations`).
    With `live` the run can be watched and steered in the browser (`marsyard.operations.live`).
    A run that would take longer than a day or most of the memory is refused, unless `yes`.
    With `check_convergence` it is repeated with half the grid and half the step, and
    `Run.convergence` and the report say how far its numbers move (`marsyard.convergence`).
    `figures` (png, svg or pdf) also writes every figure of the report as a file.
    """
    from marsyard.run_record import written_quantities
    from marsyard.run_report import check_format
    from marsyard.scenario import Scenario, resolve, scenario_data, validate
    from marsyard.scenario.scenario import apply_setting
    from marsyard.scenario.short_names import full_paths

    say = say or tell_compiling
    boxes = Boxes(
        control if callable(control) else None,
        interaction if callable(interaction) else None,
        _functions(post),
    )
    boxes.check()
    check_format(figures)
    given = {"control": control, "interaction": interaction}
    short |= {k: v for k, v in given.items() if v is not None and not callable(v)}
    processes = job_count(jobs)
    if isinstance(scenario, Scenario):
        if settings or short:
            raise InputError(
                "settings: can only be applied to a scenario given by name, not to an object"
            )
        name, resolved, overrides = scenario.title or "scenario", scenario, {}
        shortened, given_units = False, {}
    else:
        name, data = str(scenario), scenario_data(scenario)
        overrides = full_paths(settings or {}, data, "--set") | full_paths(short, data)
        planned = _duration(data)
        for key, value in overrides.items():
            apply_setting(data, key, value)
        resolved = validate(data, name)
        given_units = written_quantities(data)
        shortened = resolved.run.duration < planned
    if sequence is not None:
        from marsyard.operations import load_sequence, on_scenario

        if isinstance(sequence, str | Path):
            overrides = {**overrides, "sequence": str(sequence)}
            sequence = load_sequence(sequence)
        resolved = on_scenario(sequence, resolved)
    resolved = resolve(resolved)
    from marsyard.simulation.cost import check_cost

    check_cost(resolved, yes, say)
    if check_convergence:
        from marsyard.convergence import check_refinable

        own = boxes.control is not None or boxes.interaction is not None
        alone = resolved if study else resolved.model_copy(update={"study": None})
        check_refinable(alone, own, live is not None)
    target = None if out is None else Path(out)
    if resolved.study is not None and study:
        from marsyard.study import run_study

        if boxes.any:
            raise InputError("study: custom modules need a single run; give study=False")
        if live is not None:
            raise InputError(
                "--live: can only show a single run; disable the study with --no-study"
            )
        return run_study(name, resolved, overrides, target, processes, say, progress, checked)
    alone = resolved.model_copy(update={"study": None})
    with placed_early(target) as placement:
        staging = None if placement is None else placement.folder
        result = simulate(
            name, alone, overrides, staging, say, progress, boxes, shortened, live, target, yes,
            checked, refine=check_convergence, figures=figures, placement=placement,
            given=given_units,
        )  # fmt: skip
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
