"""`marsyard identify DATA`: parameters of a wheel model from measured wheels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli import _complete
from marsyard.cli._campaign import JOBS
from marsyard.run_folder import check_folder

if TYPE_CHECKING:
    from marsyard.analysis.fit import Fit


def identify(
    data: list[str] = typer.Argument(
        help="A CSV file of wheel tests or a log over time, a recording (.mcap), or the folder of "
        "a run on soil. Several are fitted together, with one soil."
    ),
    model: str = typer.Option(
        "wong_reece", "--model", "-m",
        help="wong_reece, ishigami, ding, magic_formula, rigid_slip, or scm, the soil contact "
        "model (a minute or so: every row is a run of a wheel in a rig).",
    ),
    free: str = typer.Option(
        "", help="Parameters to fit, separated by commas: c, phi, K, Ky, n, n1, n2, k (or k_c, "
                 "k_phi), density, exit, shear_share, and those of the model [default: depends on "
                 "the model].",
    ),
    soil: str = typer.Option(
        "", help="Soil of the library, or a file, to start from [default: lunar_nominal].",
        autocompletion=_complete.soils,
    ),
    fix: list[str] = typer.Option(None, help="Fix a parameter: --fix n=1.1 --fix c=200Pa."),
    prior: list[str] = typer.Option(
        None, help="Prior knowledge, mean±sd: --prior phi=35±2deg (or 35+-2deg)."
    ),
    error: list[str] = typer.Option(
        None, help="Measurement error of a quantity, which sets its weight: --error pull=1N "
                   "--error sinkage=1mm; 0 ignores the quantity [default: the spread in the file "
                   "or of repeated rows, else 1/20 of the range].",
    ),
    wheel: str = typer.Option(
        "", help="Dimensions the file does not give: radius=58mm,width=50mm,lug_height=0."
    ),
    load: str = typer.Option("", help="Load of the wheel where the file does not give it, e.g. "
                                      "65N."),
    exit: str = typer.Option(
        "", help="Exit rule and value, height:0.2 or angle:0 [default: fitted with rule height; "
                 "angle:0 for ding; assumptions are reported].",
    ),
    column: list[str] = typer.Option(
        None, help="Assign a column whose name is not recognised: --column 'pull=Zugkraft [N]'.",
    ),
    where: list[str] = typer.Option(
        None, help="Select rows: --where wheel=A_smooth --where 'slip<0.5'."
    ),
    robot: str = typer.Option(
        None, help="Robot of a recording: a rover of the library or a file."
    ),
    topic: list[str] = typer.Option(
        None, help="Topic of a recording: --topic 'wrench=/ft/{wheel}' --topic odom=/odometry.",
    ),
    slip: str = typer.Option(
        "auto", help="Speed on which the file's slip is based: heading, travel, or auto."
    ),
    window: str = typer.Option("1s", help="Averaging window of a log."),
    starts: int = typer.Option(
        None, min=1, help="Number of searches from different start values [default: 6; scm 2]."
    ),
    bootstrap: int = typer.Option(0, min=0, help="Number of resampled data sets for bootstrap "
                                                 "intervals."),
    seed: int = typer.Option(0, min=0, help="Seed of start values and bootstrap."),
    gravity: str = typer.Option(
        "earth", help="Gravity, for the weight of displaced soil: mars, moon, earth, or m/s².",
        autocompletion=_complete.worlds,
    ),
    jobs: int = JOBS,
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/identify-DATA-MODEL]."
    ),
) -> None:  # fmt: skip
    """Fit the parameters of a wheel model to measured wheels.

    DATA has a row per operating point (or moment) and columns by name, in any order, with a unit:
    slip or slip_percent (or omega and travel speed), load, at least one of drawbar_pull (Fx, DP),
    side_force (Fy), torque, sinkage; perhaps slip_angle_deg (beta), radius, width, lug_height,
    …_sd, time_s. So "Fx_N", "drawbar pull (kN)", "sinkage_mm"; SI where no unit is said. Commas,
    semicolons, tabs; decimal comma; # comments. Other columns are ignored.

    Prints values with 95 % intervals, errors before and after, and warnings about what the data do
    not distinguish; writes soil.yaml (to use at once), fit.json, points.csv, figures and
    report.html.

    \b
    Examples:
      marsyard identify ding2011_single_wheel.csv --where grouser_height_m=0 --soil hit_lss1 --free phi,K,k,n1,exit
      marsyard identify narrow.csv wide.csv -m scm --soil hit_lss1 --free phi,K,n,k_c,k_phi
      marsyard identify drive.mcap --robot exomars --where 'time>5'
      marsyard identify tests.csv -m ding --wheel radius=58mm,width=5cm --load 24N --free phi,K,k,n1 --prior phi=35±2deg --bootstrap 200
    """  # noqa: E501
    from marsyard.analysis.options import (
        columns_of,
        errors_of,
        fixed_of,
        gravity_of,
        parse_sizes,
        priors_of,
        quantity_of,
    )
    from marsyard.analysis.wheel_files import read_wheel_data
    from marsyard.exit_rule import Exit

    folder = _folder(out, data[0], model)
    reading: dict[str, Any] = {
        "wheel": parse_sizes(wheel),
        "load": quantity_of(load, "force", "--load") if load else None,
        "where": where or [],
        "slip_from": slip,
        "window": _window(window),
        "columns": columns_of(column or []),
        "robot": robot,
        "topics": topic or [],
    }
    fit = _fit(
        [read_wheel_data(file, **reading) for file in data], model,
        free=[name.strip() for name in free.split(",") if name.strip()],
        soil=soil or None,
        fix=fixed_of(model, fix or []),
        prior=priors_of(model, prior or []),
        errors=errors_of(error or []),
        exit=Exit.parse(exit) if exit else None,
        starts=starts, bootstrap=bootstrap, seed=seed, gravity=gravity_of(gravity), jobs=jobs,
    )  # fmt: skip
    page = _save(fit, folder)
    _print(fit, folder, page)


def _window(text: str) -> float:
    from marsyard.analysis.options import quantity_of
    from marsyard.errors import InputError

    value = quantity_of(text, "time", "--window")
    if value <= 0:
        raise InputError(f"--window: {text} must be above 0")
    return value


def _fit(rows, model, **options) -> Fit:  # type: ignore[no-untyped-def]
    """The identification, with a bar while it lasts."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from marsyard.analysis import identify as search

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("searching", total=None)

        def tell(done: int, total: int, what: str) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        return search(rows, model, progress=tell, **options)


def _save(fit: Fit, folder: Path) -> Path:
    from marsyard.analysis.fit_files import save_fit
    from marsyard.errors import InputError

    try:
        return save_fit(fit, folder)
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None


def _print(fit: Fit, folder: Path, page: Path) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from marsyard.analysis.fit_files import (
        ERROR_HEADS,
        error_rows,
        parameter_heads,
        parameter_rows,
        use,
    )

    console = Console()
    title = f"{fit.model}, {len(fit.data)} rows of {fit.data.name}"
    for heads, rows, name in (
        (parameter_heads(fit), parameter_rows(fit), title),
        (ERROR_HEADS, error_rows(fit), None),
    ):
        table = Table(title=name, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for head in heads:
            table.add_column(head, no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table, highlight=False)
    for text in fit.notes:
        console.print(f"note: {text}", highlight=False, soft_wrap=True, markup=False)
    for text in fit.warnings:
        console.print(f"warning: {text}", highlight=False, soft_wrap=True, markup=False)
    console.print(f"soil: {folder / 'soil.yaml'}", highlight=False, soft_wrap=True)
    console.print(f"use it with: {use(fit)}", highlight=False, soft_wrap=True, markup=False)
    console.print(f"report: {page}", highlight=False, soft_wrap=True)


def _folder(out: Path | None, data: str, model: str) -> Path:
    folder = out or Path("runs") / f"identify-{Path(data).stem}-{model}"
    return check_folder(folder, "fit.json")
