"""`marsyard view RUN`: replay a run in the browser."""

from __future__ import annotations

from pathlib import Path

import typer


def view(
    run: Path = typer.Argument(help="A run folder, e.g. runs/rt0448-test-1."),
    port: int = typer.Option(8080, help="Port of the page; 0 takes a free one."),
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; other machines need the token it prints."
    ),
    token: str = typer.Option(None, help="Token to ask for [default: a random one]."),
) -> None:
    """Replay a run in 3D in the browser: time slider, contact forces, wheel tracks.

    Example:  marsyard view runs/rt0448-test-1

    For slides and papers see `marsyard movie`; for a run under way `marsyard run --live`.
    """
    from marsyard.results import open_results, open_scene, serve
    from marsyard.scenario import load_scenario
    from marsyard.simulation import make_surfaces

    open_results(run).close()
    scenario = load_scenario(run / "scenario.yaml")
    serve(open_scene(run, make_surfaces(scenario)), host=host, port=port, token=token)
