"""`marsyard report RUN`: rebuild the report of a run."""

from __future__ import annotations

from pathlib import Path

import typer


def report(
    run: Path = typer.Argument(help="The folder of a run."),
    figures: str = typer.Option(
        None,
        "--figures",
        metavar="FORMAT",
        help="Also write every figure as a file for papers: png, svg or pdf.",
    ),
    open_report: bool = typer.Option(False, "--open", help="Open the report in the browser."),
) -> None:
    """Rebuild the report of a run from its folder, e.g. after it was interrupted by ctrl-c.

    Example:  marsyard report runs/rt0448-test-1 --figures svg
    """
    from rich.console import Console

    from marsyard.run_report import make_report
    from marsyard.web.browser import open_page

    page = make_report(run, figures)
    Console().print(f"report: {page}", highlight=False, soft_wrap=True)
    if open_report:
        open_page(page)
