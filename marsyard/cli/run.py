"""`marsyard run SCENARIO`: run, check and report a scenario."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete
from marsyard.cli._campaign import JOBS
from marsyard.cli._compiling import LINES


def run(
    scenario: str = typer.Argument(
        help="Name of a scenario (see `marsyard list`), a YAML file, or a run folder to repeat.",
        autocompletion=_complete.scenarios,
    ),
    set_: list[str] = typer.Option(
        [],
        "--set",
        "-s",
        metavar="PATH=VALUE",
        help="Change a value, e.g. --set friction=0.5 --set duration='5 s' --set "
        "ground.0.soil=dry_sand. May be given several times.",
        autocompletion=_complete.settings,
    ),  # fmt: skip
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/SCENARIO]."
    ),
    jobs: int = JOBS,
    sequence: Path = typer.Option(
        None,
        "--sequence",
        metavar="FILE",
        help="A command sequence (YAML) in place of the scenario's drive.",
    ),  # fmt: skip
    no_study: bool = typer.Option(
        False, "--no-study", help="Run the scenario itself, not its study."
    ),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print only the checks, no progress bar."
    ),
    live: bool = typer.Option(
        False,
        "--live",
        help="Watch and control the run in the browser, then its replay until ctrl-c.",
    ),
    port: int = typer.Option(8080, help="Port of the live view; 0: any free port."),
    host: str = typer.Option(
        "127.0.0.1",
        help="Address the live view listens on; 0.0.0.0 accepts other machines as well.",
    ),
    token: str = typer.Option(None, help="Token in the printed address [default: a random one]."),
    speed: str = typer.Option(
        "1", metavar="X", help="Initial speed of the live view as a multiple of real time, or max."
    ),
    wait: bool = typer.Option(False, "--wait", help="Wait until a browser shows the page."),
    open_report: bool = typer.Option(
        False, "--open", help="Open the report in the browser after the run."
    ),
    figures: str = typer.Option(
        None,
        "--figures",
        metavar="FORMAT",
        help="Also write every figure of the report as a file for papers: png, svg or pdf.",
    ),  # fmt: skip
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address of the live view without opening it."
    ),
    check_convergence: bool = typer.Option(
        False,
        "--check-convergence",
        help="Repeat the run with half the grid spacing and with half the step, and report how "
        "far checks and headline numbers change.",
    ),
    yes: bool = typer.Option(
        False,
        "--yes",
        "-y",
        help="Run even if it would take more than a day or most of the memory.",
    ),
) -> None:
    """Run a scenario: progress bar, then results.nc and report.html in a folder.

    A scenario with a study runs all its members and writes study.nc and study.csv instead.

    Exit code 0 if all checks pass, 1 if one fails or the run diverges, 2 for wrong input.

    With --live, a run stopped by ctrl-c keeps and reports its results. Results are saved before
    anything is drawn; `marsyard report` rebuilds a report interrupted by ctrl-c.

    \b
    Examples:
      marsyard run rt0448/test-1
      marsyard run rt0448/test-4 -s step='1 ms'
      marsyard run exomars/drawbar-pull --live --speed max
      marsyard run soil/plate --check-convergence
    """
    from rich.console import Console

    from marsyard import runner
    from marsyard.run_folder import default_folder
    from marsyard.scenario import parse_setting
    from marsyard.web.browser import open_page

    settings = dict(parse_setting(text) for text in set_)
    watched = _live(host, port, token, speed, wait) if live else None
    if watched is not None and not no_browser:
        open_page(watched.url)
    try:
        with _Bar(Console(stderr=True), quiet) as bar:
            result = runner.run(
                scenario, settings=settings, out=out or default_folder(scenario), say=bar.say,
                progress=bar.update, study=not no_study, jobs=jobs, live=watched,
                sequence=sequence, yes=yes, checked=bar.show, check_convergence=check_convergence,
                figures=figures,
            )  # fmt: skip
        if check_convergence:
            _print_convergence(result)
        _print_places(result)
        if open_report and not no_browser and result.report is not None:
            open_page(result.report)
        if watched is not None:
            _keep(watched)
    finally:
        if watched is not None:
            watched.stop()
    if not result.ok:
        sys.exit(1)


def _live(host: str, port: int, token: str | None, speed: str, wait: bool) -> Any:
    from marsyard.operations.live import LiveRun
    from marsyard.operations.live.mailbox import read_speed

    pace = read_speed(speed)
    watched = LiveRun(host, port, token=token, speed=pace, wait=wait)
    print(f"live view: {watched.url}", flush=True)
    return watched


def _keep(watched: Any) -> None:
    """Let the finished run be looked at."""
    import contextlib

    with contextlib.suppress(KeyboardInterrupt):
        print(f"replay: {watched.url}  (press ctrl-c to stop)", flush=True)
        watched.wait()


def _print(result: Any) -> None:
    from rich.console import Console

    from marsyard.results import check_table, questions_text, timeline_table, wheel_table

    console = Console()
    if result.answers:
        console.print(questions_text(result.answers), highlight=False)
    if result.checks:
        console.print(check_table(result.checks))
    commands = timeline_table(result.data)
    if commands is not None:
        console.print(commands)
    wheels = wheel_table(result.data)
    if wheels is not None:
        console.print(wheels)
    info = result.info
    simulated = float(result.data.time[-1])
    wall = max(info["wall_time"], 1e-9)
    console.print(
        f"{info['steps']} steps, {simulated:g} s simulated in {wall:.2f} s: "
        f"{_pace(simulated / wall)} times real time, "
        f"{1e6 * wall / max(info['steps'], 1):.1f} µs a step",
        highlight=False,
    )
    failed = int(result.data.unconverged.sum())
    if failed:
        console.print(f"{failed} steps with an unconverged contact problem", style="bold red")
    if result.stopped:
        console.print(result.stopped, style="bold red", highlight=False)
    _print_judgement(console, result)


#: findings that are said by the lines above, or were when they were found
_SAID = ("end", "solver", "warning")


def _print_judgement(console: Any, result: Any) -> None:
    """The run in one line, and what is to be said against it; notes are left to the report."""
    from marsyard.results import findings_of, headline_of

    console.print(headline_of(result.data, result.checks, result.stopped).words, highlight=False)
    for found in findings_of(result.data, result.scenario, result.info, result.ground):
        if found.level != "note" and found.subject not in _SAID:
            style = "bold red" if found.level == "bad" else "yellow"
            console.print(f"! {found.text}", style=style, highlight=False, markup=False)


def _print_convergence(result: Any) -> None:
    from rich.console import Console

    from marsyard.convergence import convergence_table

    found = result.convergence
    if found is not None:  # None: the run diverged
        console = Console()
        console.print(convergence_table(found))
        style = "green" if found.converged else "bold red"
        console.print(str(found), style=style, highlight=False)


def _print_places(result: Any) -> None:
    from rich.console import Console

    console = Console()
    console.print(f"report: {result.report}", highlight=False, soft_wrap=True)
    kept = [result.folder]
    if result.study is not None:
        kept = [result.folder / folder for folder in result.info["kept"].values()][:1]
    for folder in kept:
        console.print(f"replay: marsyard view {folder}", highlight=False, soft_wrap=True)


def _pace(times: float) -> str:
    """Two digits where one would say 0 or 1, whole numbers above ten."""
    return f"{times:.0f}" if times >= 10.0 else f"{times:.2g}"


def _print_study(result: Any) -> None:
    from rich.console import Console

    from marsyard.results import check_table

    console = Console()
    if result.checks:
        console.print(check_table(result.checks))
    for boundary in result.boundaries:
        console.print(boundary.words, highlight=False)
    info, outcomes = result.info, [r.outcome for r in result.members]
    console.print(
        f"{len(outcomes)} runs, {info['simulated']:g} s simulated in {info['elapsed']:.1f} s",
        highlight=False,
    )
    stopped = sum(o.stopped is not None for o in outcomes)
    if stopped:
        console.print(f"{stopped} runs diverged and were stopped", style="bold red")
    failed = sum(o.unconverged > 0 for o in outcomes)
    if failed:
        console.print(f"{failed} runs had steps that did not converge", style="bold red")


class _Bar:
    """A progress bar over compiled kernels, then over simulated time, on stderr.

    Where that is no terminal, lines tell of the kernels (`_compiling`).
    """

    def __init__(self, console: Any, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.4g} of {task.total:g} {task.fields[unit]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._console = console
        self._quiet = quiet
        self._task: Any = None
        self._compiling = self._simulating = False

    def say(self, text: str) -> None:
        if not self._quiet or text.startswith("warning"):
            self._console.print(text, highlight=False, soft_wrap=True)

    def count_kernels(self, what: str, done: int, total: int) -> None:
        """Show kernels that compile, before anything is simulated."""
        if not self._simulating:
            self._compiling = True
            self._show(done, total, what, "kernels")

    def show(self, result: Any) -> None:
        # nothing is simulated any more; below a bar, tables would go to stderr
        self._progress.stop()
        if result.study is None:
            _print(result)
        else:
            _print_study(result)

    def update(self, time: float, total: float, what: str) -> None:
        self._simulating = True
        if self._compiling:
            self._end_compiling()
        self._show(time, total, what, "s")

    def _show(self, done: float, total: float, what: str, unit: str) -> None:
        # the bar appears when there is something to show, again where runs are refined
        if not self._progress.disable and not self._progress.live.is_started:
            self._progress.start()
        if self._task is None:
            self._task = self._progress.add_task(what, total=total, unit=unit)
        self._progress.update(self._task, completed=done, total=total, description=what, unit=unit)

    def _end_compiling(self) -> None:
        self._compiling = False
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def __enter__(self) -> _Bar:
        if not self._progress.disable:
            LINES.bar = self.count_kernels
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        LINES.bar = None
        self._progress.stop()
