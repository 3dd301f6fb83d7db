"""`marsyard run SCENARIO`: run it, check it, report it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer


def run(
    scenario: str = typer.Argument(help="Name of a scenario (see `marsyard list`) or a YAML file."),
    set_: list[str] = typer.Option(
        [],
        "--set",
        "-s",
        metavar="PATH=VALUE",
        help="Change a value, e.g. --set interaction.friction=0.5 --set run.duration='5 s'. "
        "May be given several times.",
    ),  # fmt: skip
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/SCENARIO]."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress bar, only the checks."),
) -> None:
    """Run a scenario: progress bar, then results.nc, figures and report.html in a folder.

    Exit code 0 if all checks pass, 1 if one fails or the run diverges, 2 for wrong input.

    Examples:  marsyard run rt0448/test-1   |   marsyard run rt0448/test-4 -s run.step='1 ms'
    """
    from rich.console import Console

    from marsyard import runner
    from marsyard.scenario import load_scenario, parse_setting

    console = Console(stderr=True)
    settings = dict(parse_setting(text) for text in set_)
    resolved = load_scenario(scenario, settings)
    folder = out or runner.default_folder(scenario)
    with _Bar(resolved.run.duration, console, quiet) as bar:
        result = runner.run(
            scenario, settings=settings, out=folder, say=bar.say, progress=bar.update
        )
    _print(result)
    if not result.ok:
        sys.exit(1)


def _print(result: Any) -> None:
    from rich.console import Console

    from marsyard.results import check_table

    console = Console()
    if result.checks:
        console.print(check_table(result.checks))
    info = result.info
    simulated = float(result.data.time[-1])
    wall = max(info["wall_time"], 1e-9)
    console.print(
        f"{info['steps']} steps, {simulated:g} s simulated in {wall:.2f} s: {simulated / wall:.0f} "
        f"times real time, {1e6 * wall / max(info['steps'], 1):.1f} µs a step",
        highlight=False,
    )
    failed = int(result.data.unconverged.sum())
    if failed:
        console.print(f"{failed} steps whose contact problem did not converge", style="bold red")
    if result.stopped:
        console.print(result.stopped, style="bold red", highlight=False)
    console.print(f"report: {result.report}", highlight=False, soft_wrap=True)
    console.print(f"replay: marsyard view {result.folder}", highlight=False, soft_wrap=True)


class _Bar:
    """A progress bar over simulated time, on stderr."""

    def __init__(self, duration: float, console: Any, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.4g} of {task.total:g} s"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._console = console
        self._quiet = quiet
        self._task = self._progress.add_task("simulating", total=duration)

    def say(self, text: str) -> None:
        if not self._quiet or text.startswith("warning"):
            self._console.print(text, highlight=False, soft_wrap=True)

    def update(self, time: float) -> None:
        self._progress.update(self._task, completed=time)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
