"""`marsyard edit [SCENARIO]`: make and edit a scenario's ground in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from marsyard.cli import _complete

if TYPE_CHECKING:
    from marsyard.operations.editor import Environment


def edit(
    scenario: str = typer.Argument(
        "",
        help="A scenario of the library or a file [default: a new scenario on level ground].",
        autocompletion=_complete.scenarios,
    ),
    ground: str = typer.Option(
        "",
        help="Start with this ground: one of the library, a YAML file or an elevation file.",
        autocompletion=_complete.grounds,
    ),
    rover: str = typer.Option(
        "", help="Start with this rover of the library.", autocompletion=_complete.rovers
    ),
    soil: str = typer.Option(
        "", help="Start with this soil of the library.", autocompletion=_complete.soils
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="File that Save writes to [default: SCENARIO, or a new file]."
    ),
    port: int = typer.Option(8080, help="Port of the page; 0: any free port."),
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; 0.0.0.0 accepts other machines as well."
    ),
    token: str = typer.Option(None, help="Token in the printed address [default: a random one]."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address without opening the page in the browser."
    ),
) -> None:
    """Edit a scenario in 3D in the browser: rocks, craters, soils, start and goal, rover.

    \b
    Examples:
      marsyard edit
      marsyard edit control/goal --out mine.yaml
      marsyard edit --ground dem.tif --rover exomars
    """
    from marsyard.operations.editor import Environment, serve_editor
    from marsyard.operations.editor.writing import check_target

    if out is not None:
        begun = Path(scenario, "scenario.yaml") if Path(scenario).is_dir() else Path(scenario)
        same = bool(scenario) and out.absolute() == begun.absolute()
        check_target(out, overwrite=same)
    environment = Environment.open(scenario) if scenario else Environment.new()
    if ground:
        _begin_with(environment, ground)
    if rover:
        environment.choose_robot(rover)
    if soil:
        environment.choose_soil(soil)
    serve_editor(
        environment, host=host, port=port, token=token, file=out or "", browser=not no_browser
    )


def _begin_with(environment: Environment, ground: str) -> None:
    from marsyard import library

    if ground in library.names("grounds") or ground.endswith((".yaml", ".yml")):
        environment.new_ground(ground)
    elif Path(ground).suffix or Path(ground).exists():
        environment.load_dem(ground)
    else:
        environment.new_ground(ground)
