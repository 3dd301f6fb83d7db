"""`marsyard movie RUN`: render a run without a display."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete


def movie(
    run: Path = typer.Argument(
        help="A run folder, e.g. runs/rt0448-test-1.", autocompletion=_complete.runs
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="File, .mp4 or .gif (.png with --frame) [default: RUN/movie.mp4]."
    ),
    gif: bool = typer.Option(False, "--gif", help="Write a GIF beside the MP4."),
    camera: str = typer.Option("follow", help="follow, fixed, orbit, wheel, side, top or front."),
    wheel: str = typer.Option(
        None, metavar="NAME", help="Wheel shown in the close-up [default: front right]."
    ),
    body: str = typer.Option(
        None, metavar="NAME", help="Body the camera looks at, instead of the whole robot."
    ),
    azimuth: str = typer.Option(
        None, metavar="ANGLE", help="Azimuth of the camera relative to the heading, e.g. 45deg."
    ),
    elevation: str = typer.Option(
        None, metavar="ANGLE", help="Elevation of the camera, e.g. -20deg."
    ),
    distance: str = typer.Option(None, metavar="LENGTH", help="Distance of the camera, e.g. 4m."),
    size: str = typer.Option(
        None,
        help="Width x height, or 480p, 720p, 1080p [default: 720p; 480p without a graphics card].",
    ),
    fps: float = typer.Option(
        None, help="Frames per second [default: 25; 12.5 without a graphics card]."
    ),
    speed: float = typer.Option(
        None,
        help="Playback speed as a multiple of real time [default: so that the movie lasts "
        "at most 20 s].",
    ),
    start: str = typer.Option(None, metavar="TIME", help="Start time, e.g. 5s."),
    end: str = typer.Option(None, metavar="TIME", help="End time."),
    frame: str = typer.Option(
        None, metavar="TIME", help="Write a single frame at that time instead [RUN/frame.png]."
    ),
    no_forces: bool = typer.Option(False, "--no-forces", help="Do not draw contact forces."),
    force_scale: float = typer.Option(
        None, metavar="M/N", help="Length of force arrows per newton."
    ),
    colour: str = typer.Option("change", help="Colour of soft ground: change (of height) or soil."),
    caption: str = typer.Option("", help="Caption below the title [default: the scenario]."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress bar."),
) -> None:
    """Render a run as MP4 (H.264) or GIF with contact forces, ruts and time, without a display.

    \b
    Examples:
      marsyard movie runs/rt0448-test-7
      marsyard movie runs/exomars-drawbar-pull --camera wheel --wheel FL --speed 0.5
      marsyard movie runs/control-goal --frame 60s
    """
    from marsyard.results import Shot, write_still
    from marsyard.results.movie.graphics import picture_size

    shot = Shot(
        camera=camera,
        wheel=wheel,
        body=body,
        azimuth=_si(azimuth, "angle", "azimuth"),
        elevation=_si(elevation, "angle", "elevation"),
        distance=_si(distance, "length", "distance"),
        size=None if size is None else picture_size(size),
        forces=not no_forces,
        force_scale=force_scale,
        colour=colour,
        caption=caption,
    )
    at = _si(frame, "time", "frame")
    if at is not None:
        print(write_still(run, at, shot, out))
        return
    span = {name: _si(text, "time", name) for name, text in (("start", start), ("end", end))}
    _film(run, shot, quiet, {"out": out, "gif": gif, "rate": fps, "speed": speed, **span})


def _film(run: Path, shot: Any, quiet: bool, settings: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from marsyard.results import write_movie

    console = Console(stderr=True)
    columns = (
        TextColumn("drawing"), BarColumn(), TextColumn("{task.completed} of {task.total} frames"),
        TimeRemainingColumn(),
    )  # fmt: skip
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("drawing", total=None)
        made = write_movie(
            run, shot, progress=lambda k, n: bar.update(task, completed=k, total=n),
            say=None if quiet else lambda text: print(text, file=sys.stderr, flush=True),
            **settings,
        )  # fmt: skip
    print(
        f"{made.duration:.1f} s at {made.speed:g} times real time, {made.frames} frames of "
        f"{made.size[0]}x{made.size[1]}: {', '.join(map(str, made.files))}"
    )


def _si(text: str | None, dimension: str, name: str) -> float | None:
    """A number with a unit, or None."""
    from marsyard.errors import InputError
    from marsyard.units import to_si

    if text is None:
        return None
    try:
        return to_si(text, dimension)
    except ValueError as error:
        raise InputError(f"--{name}: {error}") from None
