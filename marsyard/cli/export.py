"""`marsyard export RUN`: a run in the formats of other tools; a rover as URDF or FMU."""

from __future__ import annotations

from pathlib import Path

import typer

from marsyard.cli import _complete


def export(
    run: str = typer.Argument(
        help="A run folder, e.g. runs/rt0448-test-1; for --urdf also a robot, e.g. exomars; for "
        "--fmu a robot or a scenario.",
        autocompletion=_complete.runs,
    ),
    mcap: bool = typer.Option(
        False, "--mcap", help="ROS 2 messages, for Foxglove and ros2 bag: run.mcap, and a layout."
    ),
    urdf: bool = typer.Option(False, "--urdf", help="The robot: robot.urdf and meshes."),
    csv: bool = typer.Option(False, "--csv", help="CSV tables: results.csv, constants.csv."),
    parquet: bool = typer.Option(
        False, "--parquet", help="Parquet for pandas, Polars, DuckDB: results.parquet."
    ),
    netcdf: bool = typer.Option(
        False, "--netcdf", help="NetCDF 3 with UDUNITS units: results_classic.nc."
    ),
    fmu: bool = typer.Option(
        False, "--fmu",
        help="Rover and ground for co-simulation, FMI 2.0: NAME.fmu. It needs a Python with "
             "marsyard where it runs.",
    ),
    inputs: str = typer.Option(
        "speed", "--inputs", metavar="speed|torque|none",
        help="With --fmu: speed (and steering angles) or torque of the joints, or none for the "
             "scenario's own control.",
    ),
    parameter: list[str] = typer.Option(
        [], "--parameter", metavar="PATH[=NAME]",
        help="With --fmu: a value of the scenario exposed as a parameter, e.g. "
             "interaction.friction=friction. May be given several times.",
    ),
    ground: str = typer.Option(
        "", "--ground", metavar="GROUND[:SOIL]",
        help="With --fmu and a robot: plane (hard), or a ground of the library [default: plane].",
    ),
    soil: str = typer.Option("", "--soil", help="With --fmu and a robot: a soil for that ground."),
    set_: list[str] = typer.Option(
        [], "--set", "-s", metavar="PATH=VALUE", help="With --fmu: change a value of the scenario."
    ),
    out: Path = typer.Option(
        None, "--out", "-o",
        help="Folder for the files [default: RUN/export, or ROBOT-urdf]; with --fmu, the file.",
    ),
) -> None:  # fmt: skip
    """Write a run in the formats of other tools, or a rover as URDF or FMU.

    \b
    Examples:
      marsyard export runs/exomars-rough --mcap --urdf
      marsyard export runs/rt0448-test-1 --parquet
      marsyard export sojourner --urdf
      marsyard export exomars --ground flat --soil dry_sand --fmu
    """
    from marsyard.errors import InputError
    from marsyard.results.export import export as write
    from marsyard.results.export import export_robot

    asked = {"mcap": mcap, "urdf": urdf, "csv": csv, "parquet": parquet, "netcdf": netcdf}
    formats = [name for name, wanted in asked.items() if wanted]
    if fmu:
        from marsyard.cli.export_fmu import write_fmu

        if formats:
            raise InputError(f"--fmu: exports a rover, not a run; leave out --{formats[0]}")
        print(write_fmu(run, out, inputs, parameter, ground, soil, set_))
        return
    if not formats:
        options = ", ".join(f"--{name}" for name in [*asked, "fmu"])
        raise InputError(f"export: choose at least one of {options}")
    _refuse_what_was_not_run(run, formats)
    written = export_robot(run, out) if _is_robot(run, formats) else write(run, formats, out)
    for path in written:
        print(path)


def _is_robot(run: str, formats: list[str]) -> bool:
    """Whether a robot is meant, not a run: for URDF alone."""
    path = Path(run)
    if path.is_dir():
        return formats == ["urdf"] and (path / "robot.yaml").exists()
    return formats == ["urdf"] and not run.endswith(".nc")


def _refuse_what_was_not_run(run: str, formats: list[str]) -> None:
    """A scenario has to be run first; a robot has no results."""
    from marsyard import library
    from marsyard.errors import InputError
    from marsyard.run_folder import default_folder

    path, only = Path(run), formats == ["urdf"]
    if (not path.exists() and run in library.names("scenarios")) or (
        path.is_file() and path.suffix in (".yaml", ".yml") and not only
    ):
        raise InputError(
            f"export: '{run}' is a scenario; run it first (marsyard run {run}), then export "
            f"{default_folder(run)}"
        )
    if path.exists():
        return
    if run in library.names("rovers") and not only:
        raise InputError(
            f"export: '{run}' is a robot, which can only be exported with --urdf and --fmu; "
            f"--{', --'.join(f for f in formats if f != 'urdf')} need the folder of a run"
        )
    if only and len(path.parts) > 1:
        raise InputError(
            f"export: '{run}' does not exist; give the folder of a run, or a robot (marsyard list "
            "rovers)"
        )
