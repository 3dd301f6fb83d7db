"""`marsyard optimize STUDY.yaml`: the best rovers or controllers, on all cores or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli._campaign import (
    JOBS,
    OVERWRITE,
    QUIET,
    RESUME,
    SCHEDULER,
    SET,
    pace,
    run_watched,
    settings_of,
    speaker,
    tell_warnings,
)

if TYPE_CHECKING:
    from marsyard.campaign.optimize import Optimized


def optimize(
    study: Path = typer.Argument(help="YAML file of the study (docs/how-to/optimize.md)."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/optimize-STUDY]."
    ),
    jobs: int = JOBS,
    scheduler: str = SCHEDULER,
    resume: bool = RESUME,
    overwrite: bool = OVERWRITE,
    set_: list[str] = SET,
    dry: bool = typer.Option(
        False,
        "--dry-run",
        help="Check the study and print what it would do, without running anything.",
    ),
    quiet: bool = QUIET,
) -> None:
    """Optimise a rover (wheels, track, pivots, mass) or a controller for several objectives.

    A study file defines design variables, outputs, objectives and constraints:

    \b
      scenario: rashid/obstacle
      vary: {robot.design.wheel_radius: [8 cm, 13 cm], robot.design.mass: [8 kg, 14 kg]}
      outputs: [{name: energy, of: energy_motors}, {name: distance, of: position_base.x}]
      objectives: [{minimise: energy}, {maximise: distance}]
      constraints: [{output: distance, at_least: 0.5}]
      optimiser: {kind: nsga2, population: 24, evaluations: 240}

    The result is the Pareto front: candidates that cannot be better in one objective without being
    worse in another. Its scenarios are written to best/, ready for marsyard run.

    Every finished run is on the disk at once: stop it at any time, and --resume goes on without
    doing anything twice. The same file gives the same result, bit for bit, on any number of
    workers.

    Exit code 0; 1 if no candidate is feasible, 2 for wrong input, 130 if stopped by ctrl-c.

    \b
    Examples:
      marsyard optimize examples/optimize/slope.yaml
      marsyard optimize study.yaml --dry-run
      marsyard optimize study.yaml --scheduler tcp://10.0.0.5:8786 --resume
    """
    from marsyard.campaign.optimize import optimize as run

    if dry:
        _show(study, settings_of(set_))
        return
    found = run_watched(
        "optimize", run, study, out, scheduler, set_, quiet, jobs=jobs, resume=resume,
        overwrite=overwrite,
    )  # fmt: skip
    _print(found)
    if not found.front:
        sys.exit(1)


def _show(study: Path, settings: dict[str, Any]) -> None:
    """What a study would do, without doing it."""
    from marsyard.campaign.optimize import prepared

    problem = prepared(study, settings)
    asked = problem.study.optimiser
    runs = asked.evaluations * problem.runs
    typer.echo(
        f"{asked.kind}: {asked.evaluations} candidates in generations of {asked.population}, "
        f"{runs} runs of {', '.join(c.scenario for c in problem.study.all_cases.values())}"
    )
    for v in problem.variables:
        values = ", ".join(map(str, v.choices)) or f"{v.low:g} to {v.high:g} {v.unit}".rstrip()
        typer.echo(f"  {v.label}: {values}  ({', '.join(v.paths)})")
    for o in problem.study.objectives:
        typer.echo(f"  {'minimise' if o.sign > 0 else 'maximise'} {o.output}")


def _print(found: Optimized) -> None:
    from rich.console import Console

    from marsyard.campaign import grouped
    from marsyard.campaign.optimize import front_table, nearest_words

    console = Console(width=max(Console().width, 120))
    say = speaker(console)
    if found.front:
        console.print(front_table(found))
    else:
        say("no candidate is feasible:", style="bold red")
    if found.infeasible:
        many = f"{len(found.infeasible)} of {len(found.candidates)}"
        say(f"{many} candidates are not feasible; most frequent reasons:")
        for reason, members in grouped(found.infeasible)[:5]:
            say(f"  {len(members)} × {reason}; e.g. {found.words(members[0])}")
    if found.nearest is not None:
        say(nearest_words(found))
    tell_warnings(say, found.warned, found.words, f"{len(found.candidates)} candidates")
    say(pace(found.info))
    if found.folder is not None and found.front:
        say(f"best scenarios: {found.folder / 'best'}")
    say(f"report: {found.report}")
