"""What the commands of campaigns share: options, resuming, and summaries."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete

JOBS: Any = typer.Option(
    None, "--jobs", "-j", min=1, metavar="N", help="Processes for the runs [default: one per core]."
)
SCHEDULER: Any = typer.Option(
    "", "--scheduler", metavar="ADDRESS",
    help="Run on a Dask cluster: the address of its scheduler, e.g. tcp://10.0.0.5:8786, or "
    "the file that it wrote (*.json).",
)  # fmt: skip
RESUME: Any = typer.Option(
    False,
    "--resume",
    help="Continue where an earlier call stopped; start afresh if there was none.",
)
OVERWRITE: Any = typer.Option(
    False, "--overwrite", help="Discard the results of an earlier call in the folder."
)
SET: Any = typer.Option(
    [], "--set", "-s", metavar="PATH=VALUE",
    help="Change a value of the scenario in every run, e.g. --set run.duration='5 s'. May be "
    "given several times.",
    autocompletion=_complete.settings,
)  # fmt: skip
QUIET: Any = typer.Option(False, "--quiet", "-q", help="No progress bar.")


def run_watched(
    command: str,
    run: Callable[..., Any],
    study: Path,
    out: Path | None,
    scheduler: str,
    set_: list[str],
    quiet: bool,
    **more: Any,
) -> Any:
    """What `run` gives, with a progress bar; stopped by ctrl-c it says how to go on, and ends."""
    from rich.console import Console

    from marsyard.campaign import Interrupted
    from marsyard.cli._screen import Screen

    folder = out or Path("runs") / f"{command}-{study.stem}"
    try:
        with Screen(Console(stderr=True), quiet) as screen:
            return run(
                study,
                out=folder,
                scheduler=scheduler,
                settings=settings_of(set_),
                say=screen.say,
                watch=screen.watch,
                stop=screen.stopped,
                **more,
            )
    except Interrupted as stopped:
        call = again(command, study, out, scheduler, set_)
        print(f"stopped: {stopped}; continue with: {call}", file=sys.stderr)
        sys.exit(130)


def settings_of(set_: list[str]) -> dict[str, Any]:
    """Values of `--set` by path."""
    from marsyard.scenario import parse_setting

    return dict(parse_setting(text) for text in set_)


def again(command: str, study: Path, out: Path | None, scheduler: str, set_: list[str]) -> str:
    """The call that goes on with a campaign."""
    words = [str(study)]
    words += ["--out", str(out)] if out else []
    words += ["--scheduler", scheduler] if scheduler else []
    words += [w for text in set_ for w in ("--set", text)]
    return " ".join([f"marsyard {command}", *(shlex.quote(w) for w in words), "--resume"])


def speaker(console: Any) -> Callable[..., None]:
    """Prints a line as it is, without colours of its own."""

    def say(text: str, **style: Any) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True, **style)

    return say


def tell_warnings(
    say: Callable[..., None], warned: Mapping[int, str], words: Callable[[int], str], of: str
) -> None:
    """Say which warnings runs gave, the most frequent first, each with an example in `words`."""
    from marsyard.campaign import grouped

    if warned:
        say(f"{len(warned)} of {of} gave warnings:", style="yellow")
        for said, members in grouped(warned)[:3]:
            say(f"  {len(members)} × {said}; e.g. {words(members[0])}")


def pace(info: Mapping[str, Any]) -> str:
    """How many runs in which time, and how many need none."""
    if not info["ran"]:
        return f"all {info['kept']} runs were already finished"
    more = f", {info['kept']} were already finished" if info["kept"] else ""
    more += f"; {info['repeated']} were repeats" if info["repeated"] else ""
    return (
        f"{info['ran']} runs in {info['elapsed']:.1f} s "
        f"({info['ran'] / info['elapsed']:.3g} a second) on {info['where']}{more}"
    )
