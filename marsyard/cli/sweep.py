"""`marsyard sweep STUDY.yaml`: a scenario over parameters, on all cores or on a cluster."""

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
    from marsyard.campaign import Sweep


def sweep(
    study: Path = typer.Argument(help="YAML file of the study (docs/how-to/sweep.md)."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/sweep-STUDY]."
    ),
    jobs: int = JOBS,
    scheduler: str = SCHEDULER,
    resume: bool = RESUME,
    overwrite: bool = OVERWRITE,
    set_: list[str] = SET,
    dry: bool = typer.Option(
        False,
        "--dry-run",
        help="Check the study and list its first points, without running anything.",
    ),
    zarr: bool = typer.Option(False, "--zarr", help="Write sweep.zarr instead of sweep.nc."),
    quiet: bool = QUIET,
) -> None:
    """Run a scenario over a design of parameters: grid, list, Latin hypercube, Sobol, Monte-Carlo.

    A study file defines the scenario, the varied parameters and the outputs:

    \b
      scenario: rt0448/test-1
      design: {kind: sobol, n: 64}
      vary: {interaction.friction: "uniform(0.3, 0.8)", gravity: [1.62, 3.69, 9.81]}
      outputs: [{name: height, of: position_base.z}]

    Every finished run is saved at once: a sweep can be stopped at any time and continued with
    --resume. A run that fails is recorded with its reason and does not stop the others. Results are
    one labelled data set, sweep.nc, the same bit for bit on any number of workers.

    Exit code 0; 1 if no run completed, 2 for wrong input, 130 if stopped by ctrl-c.

    \b
    Examples:
      marsyard sweep examples/sweep/climb.yaml
      marsyard sweep study.yaml --dry-run
      marsyard sweep study.yaml --scheduler tcp://10.0.0.5:8786 --resume
    """
    from marsyard.campaign import sweep as run

    if dry:
        _show(study, settings_of(set_))
        return
    found = run_watched(
        "sweep", run, study, out, scheduler, set_, quiet, jobs=jobs, resume=resume,
        overwrite=overwrite, zarr=zarr,
    )  # fmt: skip
    _print(found)
    if len(found.failures) == len(found.outcomes):
        sys.exit(1)


def _show(study: Path, settings: dict[str, Any]) -> None:
    """The members of a study, without running them."""
    from marsyard.campaign import prepared

    ready = prepared(study, settings)
    points, replicas = len(ready.points), ready.study.replicas
    many = f"{points} points" + (f" × {replicas} replicas = {len(ready)} runs" if replicas > 1
                                 else "")  # fmt: skip
    typer.echo(f"{ready.study.design.kind}: {many} of {ready.study.scenario}")
    for point in range(min(points, 20)):
        typer.echo(f"  {point}: {ready.points.words(point)}")
    if points > 20:
        typer.echo(f"  … and {points - 20} more")


def _print(found: Sweep) -> None:
    from rich.console import Console

    from marsyard.campaign import grouped, output_table, sobol_table

    console = Console(width=max(Console().width, 120))
    say = speaker(console)
    console.print(output_table(found.data))
    indices = sobol_table(found.data)
    if indices is not None:
        console.print(indices)
    for name, reasons in found.gaps.items():
        for reason, members in grouped(reasons)[:3]:
            say(f"{name}: {len(members)} runs without a number: {reason}", style="bold red")
    if found.failures:
        say(f"{len(found.failures)} of {len(found.outcomes)} runs failed:", style="bold red")
        for reason, members in grouped(found.failures)[:8]:
            say(f"  {len(members)} × {reason}; e.g. {found.ready.words(members[0])}")
    tell_warnings(say, found.warned, found.ready.words, f"{len(found.outcomes)} runs")
    say(pace(found.info))
    say(f"results: {found.file}")
    say(f"report: {found.report}")
