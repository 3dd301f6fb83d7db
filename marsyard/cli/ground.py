"""`marsyard ground NAME`: look at a terrain before driving on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli import _complete
from marsyard.run_folder import check_folder

if TYPE_CHECKING:
    from marsyard.ground.terrain import Survey


def ground(
    name: str = typer.Argument(
        help="A ground of the library (see `marsyard list grounds`), a YAML file, or an elevation "
        "file (.tif, .csv, .xyz, .npy, .png, .stl, .obj …).",
        autocompletion=_complete.grounds,
    ),
    size: str = typer.Option(
        "", help="Size of the area shown, e.g. 20m for a square, or 30m,10m [default: 20m, or all]."
    ),
    centre: str = typer.Option(
        "", help="Centre of the area, e.g. 5m,-2m [default: the origin, or all]."
    ),
    spacing: str = typer.Option(
        "", help="Grid spacing, e.g. 2cm [default: 500 points along a side]."
    ),
    grid: str = typer.Option(
        "", "--grid", help="Spacing of the heights in a file that does not state it, e.g. 1m."
    ),
    seed: int = typer.Option(None, min=0, help="Seed of the terrain [default: its own]."),
    profile: str = typer.Option(
        "", help="End points of the profile, x0,y0:x1,y1 [default: west to east]."
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the pictures [default: runs/ground-NAME]."
    ),
    view: bool = typer.Option(False, "--view", help="Show it in 3D in the browser afterwards."),
    port: int = typer.Option(8080, help="Port of the 3D view; 0: any free port."),
    host: str = typer.Option("127.0.0.1", help="Address of the 3D view."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address of the view without opening it."
    ),
) -> None:
    """Look at a ground: map, slopes, profile, relief and roughness as pictures, and its numbers.

    \b
    Examples:
      marsyard ground rocks_pathfinder --size 10m
      marsyard ground dem.tif --view
    """
    from rich.console import Console

    from marsyard.errors import InputError
    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.results.terrain_figures import save_terrain
    from marsyard.scenario import load_terrain

    say = Console(stderr=True)
    area = _pair(size, "--size") if "," in size else _square(size)
    middle = _pair(centre, "--centre") if centre else None
    step = _length(spacing, "--spacing") if spacing else None
    line = _line(profile) if profile else None
    folder = _folder(out, name)
    spec, files = load_terrain(name)
    if grid:
        spec = _with_grid(spec, _length(grid, "--grid"))
    if seed is not None:
        spec = spec.model_copy(update={"seed": seed})
    with say.status("building the terrain …"):
        terrain = build_terrain(spec, files)
        seen = survey(terrain, area, middle, step)

    def tell(text: str) -> None:
        say.print(text, highlight=False)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = save_terrain(terrain, seen, folder, line, tell, spec.description, spec.sources)
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    _print(seen, page)
    if view:
        from marsyard.results.terrain_view import serve_terrain

        serve_terrain(seen, host=host, port=port, browser=not no_browser)


def _print(seen: Survey, page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from marsyard.results.terrain_figures import summary

    table = Table(show_header=False, title=seen.title or None, title_justify="left")
    for key, value in summary(seen):
        table.add_row(key, value)
    console = Console()
    console.print(table, highlight=False)
    console.print(f"pictures: {page}", highlight=False, soft_wrap=True)


def _length(text: str, option: str, positive: bool = True) -> float:
    from marsyard.errors import InputError
    from marsyard.units import to_si

    try:
        value = to_si(text.strip(), "length")
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if positive and value <= 0:
        raise InputError(f"{option}: {text} must be above 0")
    return value


def _square(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    side = _length(text, "--size")
    return side, side


def _pair(text: str, option: str) -> tuple[float, float]:
    from marsyard.errors import InputError

    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(
            f"{option}: '{text}' must be two lengths separated by a comma, e.g. 5m,-2m"
        )
    x, y = (_length(part, option, positive=option == "--size") for part in parts)
    return x, y


def _line(text: str) -> tuple[tuple[float, float], tuple[float, float]]:
    from marsyard.errors import InputError

    ends = text.split(":")
    if len(ends) != 2:
        raise InputError(f"--profile: '{text}' must be two points, x0,y0:x1,y1, e.g. -5,0:5,2")
    start, end = (_pair(part, "--profile") for part in ends)
    if start == end:
        raise InputError(f"--profile: '{text}' has no length")
    return start, end


def _with_grid(spec: Any, spacing: float) -> Any:
    """The terrain of a bare elevation file, with the spacing it does not say."""
    from marsyard.errors import InputError

    if len(spec.layers) != 1 or spec.layers[0].kind != "file":
        raise InputError("--grid: applies to elevation files; a YAML file has its own 'spacing'")
    return spec.model_copy(
        update={"layers": (spec.layers[0].model_copy(update={"spacing": spacing}),)}
    )


def _folder(out: Path | None, name: str) -> Path:
    stem = Path(name).stem if Path(name).suffix else name
    folder = out or Path("runs") / f"ground-{stem.replace('/', '-')}"
    return check_folder(folder, "heights.npz")
