"""`marsyard bench`: the benchmarks of the source tree, each a ratio measured in one run.

A benchmark is a file `benchmarks/NAME.py` with a function `run()` that returns rows of
{name, value, unit, bar, ok, note}.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def bench(
    names: list[str] = typer.Argument(None, help="Benchmarks to run [default: all]."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Run benchmarks: name, value, unit, bar, ok.

    Example:  marsyard bench step
    """
    rows = _run(names or [])
    if json:
        import json as writer

        typer.echo(writer.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("benchmark", "value", "unit", "bar", "ok", "note")
    for row in rows:
        ok = {True: "[green]yes[/]", False: "[red]no[/]", None: "–"}[row["ok"]]
        bar = row["bar"] if row["bar"] is not None else ""
        table.add_row(row["name"], f"{row['value']:.3g}", row["unit"], str(bar), ok, row["note"])
    Console().print(table)


def _run(wanted: list[str]) -> list[dict[str, Any]]:
    import runpy

    import marsyard
    from marsyard.errors import InputError, suggest

    folder = Path(marsyard.__file__).parents[1] / "benchmarks"
    names = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    if not names:
        raise InputError("bench: the benchmarks lie in the source tree; run this in a checkout")
    for name in wanted:
        if name not in names:
            raise InputError(f"bench: unknown benchmark '{name}'; {suggest(name, names)}")
    rows = []
    for name in wanted or names:
        typer.echo(f"running {name} …", err=True)
        rows += runpy.run_path(str(folder / f"{name}.py"))["run"]()
    return rows
