"""`marsyard compare SCENARIO --modes …`: compare modes of locomotion over slopes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer


def run_modes(
    what: str,
    modes: str,
    slopes: str,
    variants: list[str],
    set_: list[str],
    tolerance: str,
    least: float,
    slope_of: str,
    keep: bool,
    out: Path | None,
    jobs: int | None,
    quiet: bool,
    json_: bool,
) -> None:
    """Run the comparison and print its answer."""
    from rich.console import Console

    from marsyard.analysis.options import quantity_of
    from marsyard.cli.run import _Bar
    from marsyard.comparison.mode_slopes import SLOPES
    from marsyard.comparison.modes import compare_modes
    from marsyard.run_folder import default_folder
    from marsyard.scenario import parse_setting

    folder = default_folder(what)
    with _Bar(Console(stderr=True), quiet) as bar:
        result = compare_modes(
            what, modes, slopes or SLOPES, variants,
            settings=dict(parse_setting(text) for text in set_),
            tolerance=quantity_of(_degrees(tolerance), "angle", "--tolerance"),
            least=least, slope_of=slope_of, keep=keep,
            out=out or folder.with_name(f"modes-{folder.name}"),
            say=bar.say, progress=bar.update, jobs=jobs,
        )  # fmt: skip
    if json_:
        import json

        from marsyard.comparison.mode_files import as_dict

        typer.echo(json.dumps(as_dict(result), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(result)
    if not result.ok:
        sys.exit(1)


def _degrees(text: str) -> str:
    """A bare number is in degrees."""
    try:
        return f"{float(text)!r} deg"
    except ValueError:
        return text


def _print(result: Any) -> None:
    from rich.console import Console

    from marsyard.cli.compare import _print_table
    from marsyard.comparison.mode_files import table_of

    console = Console(width=max(Console().width, 130))
    for variant in result.modes:
        heads, rows = table_of(result, variant.name)
        _print_table(console, heads, rows, variant.name)
    console.print(result.words, highlight=False, soft_wrap=True, markup=False)
    console.print(f"report: {result.report}", highlight=False, soft_wrap=True)
