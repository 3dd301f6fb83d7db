"""`marsyard export RUN`: a run in the formats of other tools."""

from __future__ import annotations

from pathlib import Path

import typer


def export(
    run: Path = typer.Argument(help="A run folder, e.g. runs/rt0448-test-1."),
    csv: bool = typer.Option(False, "--csv", help="Tables as text: results.csv, constants.csv."),
    parquet: bool = typer.Option(
        False, "--parquet", help="Tables for pandas, Polars, DuckDB: results.parquet."
    ),
    netcdf: bool = typer.Option(
        False, "--netcdf", help="NetCDF 3, units as UDUNITS spells them: results_classic.nc."
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the files [default: RUN/export]."
    ),
) -> None:
    """Write a run in the formats of other tools; several at once if you like.

    Examples:  marsyard export runs/rt0448-test-1 --csv   |   marsyard export runs/exomars-rough
    --parquet --netcdf -o tables
    """
    from marsyard.errors import InputError
    from marsyard.results.export import export as write

    asked = {"csv": csv, "parquet": parquet, "netcdf": netcdf}
    formats = [name for name, wanted in asked.items() if wanted]
    if not formats:
        options = ", ".join(f"--{name}" for name in asked)
        raise InputError(f"export: say what to write, at least one of {options}")
    for path in write(run, formats, out):
        print(path)
