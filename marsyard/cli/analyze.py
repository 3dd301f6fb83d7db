"""`marsyard analyze …`: analyses of a rover or of a finished run without a simulation."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli import _complete
from marsyard.cli._help import WholeSummaries
from marsyard.cli.analyze_energy import energy
from marsyard.cli.analyze_kinetostatics import kinetostatics
from marsyard.run_folder import check_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from marsyard.analysis.mobility import RoverMobility
    from marsyard.exit_rule import Exit
    from marsyard.ground.soil import Soil

analyze = typer.Typer(
    cls=WholeSummaries,
    help="Analyses that need no simulation.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
analyze.command("energy")(energy)
analyze.command("kinetostatics")(kinetostatics)


@analyze.command("mobility")
def mobility(
    rovers: list[str] = typer.Argument(
        help="One or several, separated by spaces or commas.", autocompletion=_complete.rovers
    ),
    soil: str = typer.Option(
        ...,
        "--soil",
        help="Soils separated by commas, changed numbers after a colon: "
        "dry_sand,grc_1:shear_modulus=2cm.",
        autocompletion=_complete.soil_list,
    ),
    model: str = typer.Option(
        "wong_reece", help="Wheel model: wong_reece, ishigami, ding, magic_formula, rigid_slip."
    ),
    coefficients: str = typer.Option(
        "",
        help="Coefficients of the model, e.g. peak_0=0.4,peak_1=0.15 [default: the soil's, or "
        "published].",
    ),
    slope: str = typer.Option("0deg", help="Slope to climb, e.g. 10deg."),
    speed: str = typer.Option("4cm/s", help="Speed over ground, e.g. 4cm/s."),
    gravity: str = typer.Option(
        "mars",
        help="mars (3.72), moon (1.62), earth (9.81), or m/s².",
        autocompletion=_complete.worlds,
    ),
    gravity_scaling: str = typer.Option(
        "none",
        help="Scaling of soils measured at another gravity: none, reece or granular.",
    ),
    exit_rule: str = typer.Option(
        "",
        "--exit",
        help="Exit rule of all wheels, height:1.0 or angle:0 [default: their own].",
    ),
    rolling: float = typer.Option(
        0.0, help="Rolling resistance coefficient of bearings and wheels."
    ),
    bulldozing: str = typer.Option(
        "none", help="Bulldozing resistance in front of the wheels: none, passive or bekker."
    ),
    friction: float = typer.Option(
        0.6, help="Friction coefficient between the wheels and the edge of a step."
    ),
    deflection: float = typer.Option(
        None, help="Tyre deflection over section height, for Rowland's mean maximum pressure."
    ),
    json_: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
    out: Path = typer.Option(
        None,
        "--out",
        "-o",
        help="Folder for figures and report.json [default: runs/mobility-NAME].",
    ),
) -> None:
    """Pressures, resistances, pull, slope, step, torque and power of rovers on soils.

    \b
    Examples:
      marsyard analyze mobility exomars --soil lunar_nominal,dry_sand --slope 10deg
      marsyard analyze mobility exomars sojourner --soil dry_sand --gravity mars --json
    """
    from time import perf_counter

    from marsyard.analysis.mobility import Settings, as_data, compare
    from marsyard.analysis.options import gravity_of
    from marsyard.robot import load_robot

    asked = Settings(
        model=model,
        coefficients=_coefficients(coefficients),
        gravity=gravity_of(gravity),
        gravity_scaling=gravity_scaling,  # type: ignore[arg-type]
        slope=_si(slope, "angle", "--slope"),
        speed=_si(speed, "speed", "--speed"),
        exit=_exit(exit_rule),
        rolling=rolling,
        bulldozing=bulldozing,
        friction=friction,
        deflection=deflection,
    )
    robots = [load_robot(name) for name in _names(",".join(rovers), "ROVER")]
    soils = [_soil(text) for text in _names(soil, "--soil")]
    folder = None if json_ and out is None else _folder(out, [r.name for r in robots])
    _warm_up()
    start = perf_counter()
    with _in_words_of_the_command():
        found = compare(robots, soils, asked)
    seconds = perf_counter() - start
    if json_:
        import json

        data = {**as_data(found), "evaluation_seconds": seconds}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        _print(found)
        typer.echo(f"evaluated in {seconds:.2f} s")
    if folder is not None:
        _save(found, folder, seconds, quiet=json_)


@contextmanager
def _in_words_of_the_command() -> Iterator[None]:
    """A number that a soil lacks is given here as SOIL:NUMBER=…, not as in a scenario."""
    from marsyard.errors import InputError

    try:
        yield
    except InputError as error:
        text = re.sub(r"\{name: ([^,}]+), (\w+): …\}", r"--soil \1:\2=…", str(error))
        raise InputError(text) from None


def _warm_up() -> None:
    """Load the compiled wheel models, which is no part of the evaluation."""
    import scipy.linalg
    import scipy.optimize  # noqa: F401

    from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel

    own = {"friction": 0.5}
    WheelModel("rigid_slip", Wheel(0.1, 0.1, Exit("angle", 0.0)), None, own).under_load(1.0)


def _save(found: Sequence[RoverMobility], folder: Path, seconds: float, quiet: bool) -> None:
    from marsyard.analysis.mobility_figures import save_mobility
    from marsyard.errors import InputError

    try:
        files = save_mobility(found, folder, seconds)
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    if not quiet:
        names = ", ".join(f.path.name for f in files)
        typer.echo(f"written to {folder}: {names}, report.json")


# --- tables


def _print(found: Sequence[RoverMobility]) -> None:
    from rich.console import Console

    # tables keep their numbers where the terminal is narrow: its lines wrap instead
    console = Console(width=max(Console().width, 160))

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    for rover in found:
        s = rover.settings
        say(f"{rover.rover}: {rover.title}" if rover.title else rover.rover)
        say(
            f"mass {rover.mass:.4g} kg, weight {rover.weight:.4g} N at {s.gravity:g} m/s² (soils "
            f"{'as measured' if s.gravity_scaling == 'none' else s.gravity_scaling}); model "
            f"{s.model}; exit {', '.join(rover.exits)}; bulldozing {s.bulldozing}; rolling "
            f"resistance {s.rolling:g}; slope {_deg(s.slope)}; speed {100 * s.speed:.3g} cm/s"
        )
        if rover.free:
            say(
                f"statics leaves {rover.free} wheel load(s) undetermined; wheels of equal "
                f"stiffness are assumed"
            )
        for table in (_wheel_table(rover), _rover_table(rover)):
            console.print(table, highlight=False)
        for soil in rover.soils:
            for note in soil.notes:
                say(f"{soil.soil}: {note}")
        say("")
    if len(found) > 1:
        console.print(_comparison(found), highlight=False)


def _table(title: str, heads: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if k == 0 else "right", no_wrap=True)
    return table


def _wheel_table(rover: RoverMobility) -> Any:
    """Per wheel: a line for each wheel and soil; left and right that are the same are one line."""
    heads = ("soil, wheel", "load\n[N]", "pressure\n[kPa]", "peak\n[kPa]", "sinkage\n[mm]",
             "thrust\n[N]", "compact.\n[N]", "Bekker\n[N]", "bulldoz.\n[N]", "rolling\n[N]",
             "pull\n[N]", "torque\n[N·m]", "power\n[W]")  # fmt: skip
    table = _table("per wheel, at the operating point", heads)
    for soil in rover.soils:
        for names, w in _merged(soil.wheels):
            table.add_row(
                f"{soil.soil}, {names}", _n(w.load), _n(w.pressure / 1e3),
                _n(w.peak_pressure / 1e3), _n(1e3 * w.sinkage), _n(w.thrust), _n(w.compaction),
                _n(w.bekker_resistance), _n(w.bulldozing), _n(w.rolling), _n(w.pull),
                _n(w.torque), _n(w.power),
            )  # fmt: skip
    return table


def _merged(wheels: Sequence[Any]) -> list[tuple[str, Any]]:
    """Wheels with the same load and size together."""
    groups: list[tuple[list[str], Any]] = []
    for wheel in wheels:
        for names, other in groups:
            same = abs(other.load - wheel.load) < 1e-6 * max(abs(wheel.load), 1e-9)
            if same and abs(other.static_sinkage - wheel.static_sinkage) < 1e-9:
                names.append(wheel.name)
                break
        else:
            groups.append(([wheel.name], wheel))
    return [(" ".join(names), wheel) for names, wheel in groups]


def _rover_table(rover: RoverMobility) -> Any:
    heads = ("rover on", "slip\n[%]", "thrust\n[N]", "compact.\n[N]", "bulldoz.\n[N]",
             "rolling\n[N]", "slope\n[N]", "torque\n[N·m]", "power\n[W]", "MMP\n[kPa]",
             "pull 20 %\n[N]", "pull max\n[N]", "by weight", "slope\n[°]",
             "step\n[cm]")  # fmt: skip
    table = _table("rover: at the operating point, then its limits", heads)
    for s in rover.soils:
        rowland = "" if s.rowland is None else f" ({_n(s.rowland / 1e3)})"
        table.add_row(
            s.soil, _n(100 * s.slip) if s.climbs else "cannot", _n(s.thrust), _n(s.compaction),
            _n(s.bulldozing), _n(s.rolling), _n(s.slope), _n(s.torque), _n(s.power),
            _n(s.mean_maximum_pressure / 1e3) + rowland, _n(s.pull_20), _n(s.pull_max),
            _n(s.pull_max / rover.weight), _limit(s), _step(s),
        )  # fmt: skip
    return table


def _comparison(found: Sequence[RoverMobility]) -> Any:
    heads = ("rover, soil", "mass\n[kg]", "MMP\n[kPa]", "sinkage\n[mm]", "pull 20 %\nby weight",
             "pull max\nby weight", "slip\n[%]", "torque\n[N·m]", "power\n[W]",
             "by weight\nand speed", "slope\n[°]", "step\n[cm]")  # fmt: skip
    table = _table("comparison", heads)
    for k in range(len(found[0].soils)):
        for r in found:
            s = r.soils[k]
            deepest = max(w.sinkage for w in s.wheels) if s.climbs else float("nan")
            table.add_row(
                f"{r.rover}, {s.soil}", _n(r.mass), _n(s.mean_maximum_pressure / 1e3),
                _n(1e3 * deepest), _n(s.pull_20 / r.weight), _n(s.pull_max / r.weight),
                _n(100 * s.slip) if s.climbs else "cannot", _n(s.torque), _n(s.power),
                _n(s.power / (r.weight * r.settings.speed)), _limit(s), _step(s),
            )  # fmt: skip
    return table


def _limit(soil: Any) -> str:
    from math import degrees

    mark = {"traction": "", "lift-off": " lift"}.get(soil.slope_limit_by, "+")
    return f"{degrees(soil.slope_limit):.1f}{mark}"


def _step(soil: Any) -> str:
    height = soil.step.height
    return "face" if height is None else f"{100 * height:.1f}"


def _n(value: float) -> str:
    from marsyard.drawing.page import number

    return number(0.0 if abs(value) < 5e-4 else value, 3)


def _deg(angle: float) -> str:
    from math import degrees

    return f"{degrees(angle):.4g}°"


# --- options


def _names(text: str, option: str) -> list[str]:
    from marsyard.errors import InputError

    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise InputError(f"{option}: '{text}' must be names separated by commas, e.g. a,b")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        raise InputError(f"{option}: '{twice}' appears twice")
    return names


def _soil(text: str) -> Soil:
    """A soil, and numbers that replace its own: dry_sand:shear_modulus=2cm:cohesion=0."""
    from dataclasses import replace

    from marsyard.errors import InputError
    from marsyard.ground.soil import load_soil

    name, *changes = (part.strip() for part in text.split(":"))
    own: dict[str, Any] = {"name": name}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise InputError(
                f"--soil: '{change}' in '{text}' must be a number of the soil, e.g. cohesion=1kPa"
            )
        own[key.strip()] = value.strip()
    return replace(load_soil(own), name=text) if changes else load_soil(name)


def _si(text: str, dimension: str, option: str) -> float:
    from marsyard.errors import InputError
    from marsyard.units import to_si

    try:
        return to_si(text.strip(), dimension)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def _exit(text: str) -> Exit | None:
    from marsyard.exit_rule import Exit

    return Exit.parse(text) if text else None


def _coefficients(text: str) -> dict[str, float]:
    from marsyard.errors import InputError

    out: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        try:
            out[key.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(
                f"--coefficients: '{part}' must be a name and a number, e.g. peak_0=0.4"
            )
    return out


def _folder(out: Path | None, rovers: Sequence[str]) -> Path:
    folder = out or Path("runs") / f"mobility-{'-'.join(rovers)}"[:80]
    return check_folder(folder, "report.json")
