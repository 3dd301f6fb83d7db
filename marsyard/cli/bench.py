"""`marsyard bench`: the benchmarks of the source tree, each a ratio measured in one run.

A benchmark is a file `benchmarks/NAME.py` with a function `run()` that returns rows of
{name, value, unit, bar, ok, note}; `value` is None where nothing could be measured, `ok` None where
nothing is judged. The first sentence of its docstring says what it is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def bench(
    names: list[str] = typer.Argument(None, help="Benchmarks to run [default: all]."),
    list_: bool = typer.Option(False, "--list", help="List the benchmarks and exit."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Measure how fast marsyard is on this machine.

    Each row has a value, the bar it must reach, and whether it does. All of them take about six
    minutes; nothing else should run meanwhile.

    \b
    Examples:
      marsyard bench --list
      marsyard bench step laws
      marsyard bench --json > bench.json
    """
    about = benchmarks()
    if list_:
        width = max(map(len, about))
        for name, words in about.items():
            typer.echo(f"{name:{width}}  {words}")
        return
    rows = _run(names or [], about)
    if json:
        import json as writer

        typer.echo(writer.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))
        return
    _print(rows)


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("benchmark", "value", "unit", "bar", "ok", "note")
    before = None
    for row in rows:
        if row["benchmark"] != before:
            before = row["benchmark"]
            table.add_section()
            table.add_row(f"[bold]{before}[/]")
        ok = {True: "[green]yes[/]", False: "[red]no[/]", None: "–"}[row["ok"]]
        value = "–" if row["value"] is None else f"{row['value']:.3g}"
        table.add_row(row["name"], value, row["unit"], row["bar"] or "", ok, row["note"])
    Console().print(table)


def _folder() -> Path:
    import marsyard

    return Path(marsyard.__file__).parents[1] / "benchmarks"


def benchmarks() -> dict[str, str]:
    """Names of the benchmarks, each with what it is about."""
    import ast

    from marsyard.errors import InputError

    files = sorted(p for p in _folder().glob("*.py") if not p.stem.startswith("_"))
    if not files:
        raise InputError(
            "bench: the benchmarks are part of the source tree; run this in a checkout"
        )
    docs = {p.stem: ast.get_docstring(ast.parse(p.read_text(encoding="utf-8"))) for p in files}
    return {name: (words or "").partition("\n\n")[0] for name, words in docs.items()}


def _run(wanted: list[str], about: dict[str, str]) -> list[dict[str, Any]]:
    import runpy

    from marsyard.errors import InputError, suggest

    for name in wanted:
        if name not in about:
            raise InputError(f"bench: unknown benchmark '{name}'; {suggest(name, list(about))}")
    rows = []
    for name in wanted or about:
        typer.echo(f"running {name} …", err=True)
        found = runpy.run_path(str(_folder() / f"{name}.py"))["run"]()
        rows += [{"benchmark": name, **row} for row in found]
    return rows
