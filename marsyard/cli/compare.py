"""`marsyard compare WHAT`: several laws or settings, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete
from marsyard.cli._campaign import JOBS


def compare(
    what: str = typer.Argument(
        help="A scenario (name or YAML file) to run under each law; or, to compare wheel models "
             "without a simulation, a CSV file of wheel tests (or a run's folder), the name of a "
             "rover, or the word wheel.",
        autocompletion=_complete.scenarios_and_rovers,
    ),
    laws: str = typer.Option(
        "", "--laws", "-l",
        help="Laws separated by commas: as_is, scm, columns, wong_reece, ishigami, ding, "
             "magic_formula, rigid_slip, nonsmooth, compliant, polygonal, mujoco. For wheels, the "
             "five wheel models.",
        autocompletion=_complete.laws,
    ),
    variant: list[str] = typer.Option(
        [], "--variant", "-v", metavar="'NAME: PATH=VALUE, …'",
        help="A named set of settings, in addition to laws or instead of them: -v 'slick: "
             "friction=0.3' -v 'ding, firm: law=ding, ground.0.soil=grc_1'. May be given several "
             "times.",
    ),
    set_: list[str] = typer.Option(
        [], "--set", "-s", metavar="PATH=VALUE", help="Change a value in all runs, as in marsyard "
                                                      "run.",
        autocompletion=_complete.settings,
    ),
    modes: str = typer.Option(
        "", "--modes", "-m",
        help="Compare modes of locomotion instead of laws, separated by commas: rolling, "
             "peristaltic, walking; each is run up increasingly steep slopes. Add more with -v "
             "'long: mode=peristaltic, stride=24cm'.",
    ),
    slopes: str = typer.Option(
        "", metavar="A:B:STEP", help="Modes: slopes in degrees, 0:30:2.5 or 0,5,10 [default: "
        "0:30:5].",
    ),
    tolerance: str = typer.Option(
        "0.5", help="Modes: tolerance of the steepest slope of a mode, in degrees; 0: only the "
                    "slopes given.",
    ),
    least: float = typer.Option(
        0.1, help="Modes: share of its planned speed that a mode must reach to count as climbing."
    ),
    slope_of: str = typer.Option(
        "", metavar="PATH", help="Modes: the slope to vary, where the ground has several."
    ),
    keep: bool = typer.Option(False, "--keep", help="Modes: keep the folder of every run."),
    data: str = typer.Option(
        "", help="Studies of slip: a CSV file of wheel tests, drawn as points, with the rms error "
                 "of each law."
    ),
    soil: str = typer.Option(
        "", help="Wheels: soil of the library, or a file.", autocompletion=_complete.soils
    ),
    load: str = typer.Option(
        "", help="Wheels: load, e.g. 65N [default: the file's; for a rover, the wheel's share of "
                 "the weight]."
    ),
    wheel: str = typer.Option(
        "", help="Wheels: radius=9cm,width=10cm,lug_height=5mm, where the file or rover does not "
                 "give them."
    ),
    exit: str = typer.Option(
        "", help="Wheels: exit rule, height:0.2 or angle:0 [default: the rover's own; required "
                 "otherwise].",
    ),
    gravity: str = typer.Option(
        "earth", help="Wheels: mars (3.72), moon (1.62), earth (9.81), or m/s².",
        autocompletion=_complete.worlds,
    ),
    where: list[str] = typer.Option(
        [], help="Wheels: select rows of the file: --where 'slip<0.5' --where wheel=A_smooth."
    ),
    at_slip: str = typer.Option(
        "0.2", help="Wheels: slips at which forces are drawn against the slip angle."
    ),
    at_angle: str = typer.Option(
        "0deg", help="Wheels: slip angles at which they are drawn against slip, e.g. 0deg,10deg."
    ),
    jobs: int = JOBS,
    no_study: bool = typer.Option(
        False, "--no-study", help="Run the scenario itself, not its study."
    ),
    json_: bool = typer.Option(False, "--json", help="Print the numbers as JSON instead of a "
                                                     "table."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the results [default: runs/compare-WHAT]."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print only the table, no progress "
                                                            "bar."),
) -> None:  # fmt: skip
    """Overlay laws, or any settings, of a drive, a study or a wheel; or modes of locomotion.

    A scenario is run under each law, on the same ground: a table, figures with a curve per law,
    compare.csv, compare.nc, report.html, and each law's own run under laws/. If it is a study, its
    outputs are overlaid against its axis. A wheel takes milliseconds: drawbar pull, torque, sinkage
    and side force against slip and slip angle, with the measured points of a CSV file and the rms
    of each model.

    With --modes the scenario is run in each mode (rolling, peristaltic, walking) on steeper and
    steeper slopes: which climbs further, which costs less energy by metre, and where they change
    places; one figure, compare.csv, compare.nc, report.html.

    Exit code 0 if all runs go through (of modes: if one climbs), 1 if not, 2 for wrong input.

    \b
    Examples:
      marsyard compare eldorado2/rough --laws scm,ding,nonsmooth
      marsyard compare eldorado2/slope --laws scm,ding
      marsyard compare rt0448/test-4 -v 'μ 0.4: friction=0.4' -v 'μ 0.8: friction=0.8'
      marsyard compare modes/sandy-slope --modes rolling,peristaltic --slopes 0:25:2.5
      marsyard compare exomars --laws wong_reece,ding --soil dry_sand --gravity mars -s coefficients.peak_0=0.43 -s coefficients.peak_1=0.32
      marsyard compare tests.csv --laws ding,ishigami --soil fjs_1 --exit height:0.2 -v 'fitted: fit=runs/identify-tests-ding'
    """  # noqa: E501
    of_wheels = {
        "--soil": soil, "--load": load, "--wheel": wheel, "--exit": exit, "--where": where,
    }  # fmt: skip
    if modes or slopes or _are_modes(variant):
        _no_wheel_options(what, of_wheels)
        if laws or data:
            option = "--laws" if laws else "--data"
            raise _wrong(f"{option}: cannot be combined with --modes; remove one of them")
        from marsyard.cli.compare_modes import run_modes

        run_modes(
            what, modes, slopes, variant, set_, tolerance, least, slope_of, keep, out, jobs, quiet,
            json_,
        )  # fmt: skip
    elif _is_wheel(what):
        if data:
            raise _wrong(
                "--data: applies to a study; for wheels give the file itself instead of 'wheel'"
            )
        given = {**of_wheels, "gravity": gravity, "at_slip": at_slip, "at_angle": at_angle}
        _wheels(what, laws, variant, set_, given, out, json_)
    else:
        # what a file does not say of its wheel goes with it
        own = ("--load", "--wheel", "--where") if data else ()
        _no_wheel_options(what, {k: v for k, v in of_wheels.items() if k not in own})
        points = _points(data, of_wheels)
        _runs(what, laws, variant, set_, out, jobs, not no_study, quiet, json_, points)


def _are_modes(variants: list[str]) -> bool:
    """Whether variants name a mode of locomotion."""
    return any(part.strip().startswith("mode=") for v in variants
               for part in v.partition(":")[2].split(","))  # fmt: skip


def _wrong(text: str) -> Exception:
    from marsyard.errors import InputError

    return InputError(text)


def _points(file: str, given: dict[str, Any]) -> dict[str, Any]:
    """Options of `compare` about measured wheels."""
    if not file:
        return {}
    from marsyard.analysis.options import parse_sizes, quantity_of

    load = given["--load"]
    return {
        "measured": file, "where": given["--where"], "wheel": parse_sizes(given["--wheel"]),
        "load": quantity_of(load, "force", "--load") if load else None,
    }  # fmt: skip


def _is_wheel(what: str) -> bool:
    from marsyard import library

    if what == "wheel" or what in library.names("rovers"):
        return True
    if what in library.names("scenarios"):
        return False
    path = Path(what)
    if not path.exists() and not path.suffix:
        from marsyard.errors import InputError, suggest

        known = [*library.names("scenarios"), *library.names("rovers"), "wheel"]
        raise InputError(f"compare: unknown name '{what}'; {suggest(what, known)}")
    run = path.is_dir() and (path / "results.nc").exists()
    return path.suffix.lower() in (".csv", ".nc", ".txt", ".tsv") or run


def _no_wheel_options(what: str, options: dict[str, Any]) -> None:
    from marsyard.errors import InputError

    for option, value in options.items():
        if value:
            raise InputError(
                f"{option}: applies to wheels, but '{what}' is a scenario; use --set, e.g. --set "
                f"ground.0.soil=dry_sand"
            )


# --- runs


def _runs(
    what: str,
    laws: str,
    variants: list[str],
    set_: list[str],
    out: Path | None,
    jobs: int | None,
    study: bool,
    quiet: bool,
    json_: bool,
    points: dict[str, Any],
) -> None:
    from rich.console import Console

    from marsyard.cli.run import _Bar
    from marsyard.comparison import compare as run_all
    from marsyard.scenario import parse_setting

    settings = dict(parse_setting(text) for text in set_)
    with _Bar(Console(stderr=True), quiet) as bar:
        result = run_all(
            what, laws, variants, settings=settings, out=out or _default(what), say=bar.say,
            progress=bar.update, study=study, jobs=jobs, **points,
        )  # fmt: skip
    if json_:
        import json

        typer.echo(json.dumps(result.summary, indent=2, ensure_ascii=False))
    else:
        _print_runs(result)
    if not result.ok:
        sys.exit(1)


def _default(what: str) -> Path:
    from marsyard.run_folder import default_folder

    folder = default_folder(what)
    return folder.with_name(f"compare-{folder.name}")


def _print_runs(result: Any) -> None:
    from rich.console import Console

    from marsyard.comparison.run_files import exit_text, settings_text, tables

    console = Console()
    laws = [side.name for side in result.sides]
    for table in tables(result):
        _print_table(console, [table.head, *laws], table.rows, table.title)
    for side in result.sides:
        tread = exit_text(side)
        text = settings_text(side.changes) + (f"; exit rule {tread}" if tread else "")
        console.print(f"{side.name}: {text}", highlight=False, soft_wrap=True, markup=False)
        for boundary in getattr(side.run, "boundaries", ()):
            console.print(f"{side.name}: {boundary.words}", highlight=False, soft_wrap=True)
        if side.run.stopped:
            console.print(f"{side.name}: {side.run.stopped}", style="bold red", highlight=False)
    for note in result.notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)
    console.print(f"report: {result.report}", highlight=False, soft_wrap=True)


def _print_table(console: Any, heads: Any, rows: Any, title: str = "") -> None:
    """A table whose first column is words and the others numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD,
        pad_edge=False,
    )  # fmt: skip
    # names are not cut short
    longest = max((len(row[0]) for row in rows), default=0)
    for k, head in enumerate(heads):
        if k == 0:
            table.add_column(Text(head), justify="left", min_width=min(longest, 30))
        else:
            table.add_column(Text(head), justify="right")
    for row in rows:
        table.add_row(*(Text(c) for c in row))
    console.print(table, highlight=False)


# --- wheels


def _wheels(
    what: str,
    laws: str,
    variants: list[str],
    set_: list[str],
    given: dict[str, Any],
    out: Path | None,
    json_: bool,
) -> None:
    from marsyard.analysis.options import gravity_of, numbers_of, parse_sizes, quantity_of
    from marsyard.comparison import compare_wheel
    from marsyard.scenario import parse_setting

    load = given["--load"]
    result = compare_wheel(
        what, laws, variants,
        settings=dict(parse_setting(text) for text in set_),
        soil=given["--soil"] or None,
        exit=given["--exit"] or None,
        wheel=parse_sizes(given["--wheel"]),
        load=quantity_of(load, "force", "--load") if load else None,
        gravity=gravity_of(given["gravity"]),
        where=given["--where"],
        at_slip=numbers_of(given["at_slip"], "number", "--at-slip"),
        at_angle=numbers_of(given["at_angle"], "angle", "--at-angle"),
    )  # fmt: skip
    folder = None if json_ and out is None else out or Path("runs") / f"compare-{Path(what).stem}"
    page = None
    if folder is not None:
        from marsyard.comparison.wheel_files import save_wheels

        page = save_wheels(result, folder)
    if json_:
        import json

        typer.echo(json.dumps(result.as_dict(), indent=2, ensure_ascii=False))
    else:
        _print_wheels(result, page)


def _without_shared(
    heads: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]], list[str]]:
    """The table without soil and exit rule where all models that have one have the same one."""
    shared = []
    for head in ("soil", "exit"):
        k = heads.index(head)
        own = {row[k] for row in rows} - {"–"}
        if len(own) <= 1:
            shared += [f"{head} {text}" for text in own]
            heads = heads[:k] + heads[k + 1 :]
            rows = [row[:k] + row[k + 1 :] for row in rows]
    return heads, rows, shared


def _print_wheels(result: Any, page: Path | None) -> None:
    from rich.console import Console

    from marsyard.comparison.wheel_files import heads_and_rows

    console = Console()
    heads, rows, shared = _without_shared(*heads_and_rows(result))
    console.print(", ".join([result.title, *shared]), highlight=False, soft_wrap=True, markup=False)
    _print_table(console, heads, rows)
    for note in result.notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True, markup=False)
    console.print(f"evaluated in {1e3 * result.seconds:.1f} ms", highlight=False)
    console.print(f"report: {page}", highlight=False, soft_wrap=True)
