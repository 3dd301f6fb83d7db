"""`marsyard view RUN`: replay a run or a recording in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from marsyard.cli import _complete

if TYPE_CHECKING:
    from marsyard.results import Scene


def view(
    run: Path = typer.Argument(
        help="A run folder, e.g. runs/rt0448-test-1, or a ROS 2 recording (.mcap, or a ros2 bag "
        "folder).",
        autocompletion=_complete.runs,
    ),
    port: int = typer.Option(8080, help="Port of the page; 0: any free port."),
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; 0.0.0.0 accepts other machines as well."
    ),
    token: str = typer.Option(None, help="Token in the printed address [default: a random one]."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address without opening the page in the browser."
    ),
    robot: str = typer.Option(None, help="Robot of a recording [default: named in the file]."),
    topic: list[str] = typer.Option(
        None, help="Topic of a recording, e.g. --topic odom=/rover/odometry."
    ),
) -> None:
    """Replay a run in 3D in the browser: time slider, contact forces, wheel tracks.

    \b
    Examples:
      marsyard view runs/rt0448-test-1
      marsyard view drive.mcap --robot exomars

    For slides and papers see `marsyard movie`; for a running simulation `marsyard run --live`.
    """
    from marsyard.results import serve
    from marsyard.results.bags import is_recording

    scene = _recording(run, robot, topic or []) if is_recording(run) else _run(run, robot)
    serve(scene, host=host, port=port, token=token, browser=not no_browser)


def _run(run: Path, robot: str | None) -> Scene:
    from marsyard.errors import InputError
    from marsyard.results import open_results, open_scene
    from marsyard.scenario import load_scenario
    from marsyard.simulation import make_surfaces

    open_results(run).close()
    if robot is not None:
        raise InputError("--robot: applies to recordings (.mcap); a run stores its robot")
    scenario = load_scenario(run / "scenario.yaml")
    return open_scene(run, make_surfaces(scenario))


def _recording(path: Path, robot: str | None, topics: list[str]) -> Scene:
    from marsyard.results.bags import Topics, bag_scene

    return bag_scene(path, robot, Topics.of(topics))
