"""`marsyard validate SEQUENCE`: go or no-go of a command sequence, before it is sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli import _complete

if TYPE_CHECKING:
    from marsyard.operations.validation.validate import Validation


def validate(
    sequence: Path = typer.Argument(help="YAML file of the commands (docs/how-to/sequence.md)."),
    robot: str = typer.Option(
        "", "--robot", help="A robot of the library, or its folder.",
        autocompletion=_complete.rovers,
    ),
    ground: str = typer.Option(
        "", "--ground", metavar="GROUND[:SOIL]",
        help="plane (hard), a ground of the library or an elevation map; with a soil: "
        "fractal_mild:dry_sand [default: plane].",
        autocompletion=_complete.ground_and_soil,
    ),
    scenario: str = typer.Option(
        "", "--scenario", help="Take rover, ground and settings from this scenario instead.",
        autocompletion=_complete.scenarios,
    ),
    soil: Path = typer.Option(
        None, "--soil", "--uncertain", metavar="FILE",
        help="YAML file of the uncertain values [default: start pose, soil and roughness].",
    ),
    limits: Path = typer.Option(
        None, "--limits", metavar="FILE", help="YAML file of limits [default: built-in limits]."
    ),
    n: int = typer.Option(200, "-n", "--runs", metavar="N", help="Number of runs."),
    seed: int = typer.Option(None, help="Seed of the samples [default: that of --soil, or 0]."),
    jobs: int = typer.Option(
        None, "--jobs", "-j", "--workers", min=1, metavar="N",
        help="Processes for the runs [default: one per core].",
    ),
    set_: list[str] = typer.Option(
        [], "--set", "-s", metavar="PATH=VALUE",
        help="Change a value of the scenario, e.g. --set friction=0.5. May be given several "
        "times.",
        autocompletion=_complete.settings,
    ),
    strict: bool = typer.Option(False, "--strict", help="Treat caution as no-go."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/validate-SEQUENCE]."
    ),
    json_: bool = typer.Option(False, "--json", help="Print the verdicts as JSON instead of "
                                                     "tables."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress bar."),
) -> None:  # fmt: skip
    """Simulate a sequence over uncertain soil, start pose and roughness, and evaluate every
    command.

    Exit code 0 go, 3 caution, 4 no-go; 2 for wrong input, 130 if stopped before any run finished.
    With --strict, caution is 4. Ctrl-c stops the runs and evaluates the finished ones.

    \b
    Examples:
      marsyard validate examples/validate/sequence.yaml --robot exomars -n 50
      marsyard validate monday.yaml --robot exomars --ground fractal_mild:dry_sand
      marsyard validate monday.yaml --scenario control/goal --strict -q && ./uplink monday.yaml
    """
    from rich.console import Console

    from marsyard.executors import Stopped
    from marsyard.operations import load_sequence
    from marsyard.operations import validate as validate_sequence
    from marsyard.scenario import parse_setting

    commands = load_sequence(sequence)
    base = _base(robot, ground, scenario, dict(parse_setting(text) for text in set_))
    folder = out or Path("runs") / f"validate-{sequence.stem}"
    try:
        with _Bar(Console(stderr=True), quiet or json_) as bar:
            found = validate_sequence(
                commands, base, soil, n, limits, seed=seed, jobs=jobs, out=folder,
                progress=bar.update, stop=bar.stopped,
            )  # fmt: skip
    except Stopped:
        raise KeyboardInterrupt from None
    _print(found, json_)
    code = found.exit_code
    sys.exit(4 if strict and code == 3 else code)


def _base(robot: str, ground: str, scenario: str, settings: dict[str, Any]) -> Any:
    from marsyard.errors import InputError
    from marsyard.scenario import load_scenario

    if scenario:
        if robot or ground:
            raise InputError(
                "--scenario: already defines robot and ground; leave out --robot and --ground"
            )
        return load_scenario(scenario, settings)
    if not robot:
        raise InputError("--robot: give a robot (see `marsyard list rovers`), or a --scenario")
    from marsyard.operations import base_scenario

    return base_scenario(robot, ground or "plane", settings)


def _print(found: Validation, as_json: bool) -> None:
    import json

    from rich.console import Console

    from marsyard.operations.validation.table import command_table, end_words, limit_table

    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
        return
    # tables keep their numbers where the terminal is narrow: its lines wrap instead
    console = Console(width=max(Console().width, 150))

    def say(text: str, **style: Any) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True, **style)

    console.print(command_table(found))
    console.print(limit_table(found))
    for reason, count in list(found.as_dict()["reasons"].items())[:8]:
        say(f"{count} × {reason}")
    say(end_words(found))
    info, j = found.info, found.judgement
    say(
        f"{j.runs} runs, {info['simulated']:.0f} s simulated in {info['elapsed']:.0f} s: "
        f"{info['simulated'] / max(info['elapsed'], 1e-9):.0f} times real time on "
        f"{info['workers']} processes; seed {found.uncertain.seed}"
    )
    if found.stopped:
        asked = int(found.data.attrs["asked"])
        say(f"stopped: evaluated on {j.runs} of {asked} runs, so intervals are wider",
            style="yellow")  # fmt: skip
    colour = {"go": "bold green", "caution": "bold yellow", "no-go": "bold red"}[j.verdict]
    say(f"{j.verdict.upper()}: {j.why}", style=colour)
    say(f"report: {found.report}")
    if found.folder is not None and (found.folder / "worst").is_dir():
        say(f"replay of the worst run: marsyard view {found.folder / 'worst'}")


class _Bar:
    """A progress bar over runs on stderr; ctrl-c asks for the end, a second time it is one."""

    def __init__(self, console: Any, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(),
            TextColumn("{task.fields[done]} of {task.total:g}, {task.fields[rate]}"),
            TimeRemainingColumn(), console=console, transient=True,
            disable=quiet or not console.is_terminal,
        )  # fmt: skip
        self._console, self._quiet = console, quiet
        self._task: Any = None
        self._began = 0.0
        self._asked = False
        self._said = ""
        self._before: Any = None

    def stopped(self) -> bool:
        return self._asked

    def update(self, done: float, total: int, what: str) -> None:
        from time import perf_counter

        if what != "runs" or not self._began:
            self._began = perf_counter()
        if not self._quiet and not self._console.is_terminal and what != self._said:
            self._console.print(what + " …", highlight=False)
        self._said = what
        since = perf_counter() - self._began
        rate = f"{60 * done / since:.3g} runs/min" if since > 1 and done > 0 else "–"
        shown: dict[str, Any] = {"description": what, "done": f"{int(done)}", "rate": rate}
        if self._task is None:
            self._task = self._progress.add_task(what, total=total, done="0", rate="–")
        self._progress.update(self._task, completed=done, **shown)

    def _interrupt(self, *_: Any) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._console.print("stopping the runs; the finished ones are evaluated …", highlight=False)

    def __enter__(self) -> _Bar:
        import signal

        self._before = signal.signal(signal.SIGINT, self._interrupt)
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)
        self._progress.stop()
