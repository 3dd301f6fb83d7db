"""`marsyard import FILE`: any MJCF or URDF becomes a robot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from marsyard.exit_rule import Exit
    from marsyard.robot.importing import Plan
    from marsyard.robot.roles import Roles, Wish

_PATTERNS = "Joint names or patterns, separated by commas"


def import_robot(
    file: Path = typer.Argument(help="An MJCF (.xml) or URDF file; xacro has to be expanded."),
    name: str = typer.Option("", help="Name of the robot [default: the file's]."),
    out: Path = typer.Option(None, "--out", "-o", help="Folder to write [default: ./NAME]."),
    wheels: str = typer.Option(
        None, help=f"{_PATTERNS}, e.g. 'wheel_*' or 'FL=wheel_1,FR=wheel_2'; 'none' for none."
    ),
    drives: str = typer.Option(None, help=f"{_PATTERNS}: driven joints."),
    steering: str = typer.Option(None, help=f"{_PATTERNS}: steering joints."),
    passive: str = typer.Option(None, help=f"{_PATTERNS}: passive joints, without motor."),
    feet: str = typer.Option(None, help="Names or patterns of the bodies that are feet."),
    tracks: str = typer.Option(
        None, help="Rollers of each belt by joint, e.g. 'L=left_*,R=right_*'."
    ),
    keep: str = typer.Option(
        None, help=f"{_PATTERNS}: joints to keep although they neither roll nor walk."
    ),
    base: str = typer.Option(None, help="The body that carries the others."),
    forward: str = typer.Option(None, help="Where the front is in the file: +x, -x, +y, -y."),
    up: str = typer.Option(None, help="Where up is in the file: +z, -z, +y, -y, +x, -x."),
    stance: str = typer.Option(
        None,
        help="Reference pose from which joint angles are measured, PATTERN=ANGLE separated by "
        "commas, e.g. '*_thigh=45deg,*_calf=-90deg', or keyframe for the file's first; gaits "
        "stand with all joints at zero.",
    ),
    fixed: bool = typer.Option(
        None, "--fixed/--free", help="Whether the base is fixed to the world [default: guessed]."
    ),
    wheel_shape: str = typer.Option(None, help="sphere, disc, cylinder or torus, of all wheels."),
    wheel_radius: str = typer.Option(
        None, help="Radius of all wheels, e.g. 12cm [default: measured from the shapes]."
    ),
    wheel_width: str = typer.Option(
        None, help="Width of all wheels, e.g. 8cm [default: measured from the shapes]."
    ),
    exit_: str = typer.Option(
        None, "--exit", help="Exit rule of the wheels, RULE:VALUE, e.g. height:1.0."
    ),
    collisions: str = typer.Option(
        "pieces",
        help="Collision shapes of meshes other than wheels: pieces (boxes and convex hulls near "
        "their surface), box (one around each), mesh (its convex hull) or none.",
    ),
    repair_inertia: bool = typer.Option(
        False,
        "--repair-inertia",
        help="Replace physically impossible inertias by the nearest possible ones.",
    ),
    meshes: list[Path] = typer.Option([], help="A folder with the meshes; may be repeated."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing robot folder."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Accept the guesses without asking."),
) -> None:
    """Import a robot from MJCF or URDF: guess wheels, feet, tracks, drives, steering and passive
    joints, show them, and write a robot folder for use in any scenario.

    \b
    Examples:
      marsyard import rover.urdf
      marsyard import rover.urdf --wheels 'wheel_*' --forward -x --out my_rover
      marsyard run exomars/rough --set robot.name=./rover/robot.yaml
    """
    from marsyard.errors import InputError
    from marsyard.robot.import_shapes import COLLISIONS
    from marsyard.robot.importing import plan_import
    from marsyard.robot.robot_folder import check_folder, robot_name, write_robot
    from marsyard.robot.roles import Wish

    if file.is_dir():
        raise InputError(f"{file}: is a folder; give an MJCF or URDF file")
    folder = out or Path(_plain(name) if name else robot_name(file))
    check_folder(folder, force)
    _one_of(wheel_shape, ("sphere", "disc", "cylinder", "torus"), "--wheel-shape")
    _one_of(collisions, COLLISIONS, "--collisions")
    for place in meshes:
        if not place.is_dir():
            raise InputError(f"--meshes: no such folder '{place}'")
    wish = Wish(
        wheels=_names(wheels), feet=_names(feet), tracks=_names(tracks), drives=_names(drives),
        steering=_names(steering), passive=_names(passive), keep=_names(keep), base=base,
        forward=_signed(forward), up=_signed(up), stance=_names(stance),
        fixed=fixed,
        radius=_length(wheel_radius, "--wheel-radius"),
        width=_length(wheel_width, "--wheel-width"), shape=wheel_shape,
    )  # fmt: skip

    def plan() -> Plan:
        return plan_import(
            file, wish, tuple(meshes), collisions, _exit(exit_), repair=repair_inertia
        )

    found = plan()
    _show(found)
    if sys.stdin.isatty() and not yes:
        while (answer := _ask("right? [Y/n/edit] ").lower()) not in ("", "y", "yes"):
            if answer in ("n", "no"):
                typer.echo("nothing was written")
                return
            if answer in ("e", "edit"):
                edit(wish, found.roles, _ask)
                found = plan()
                _show(found)
    elif not yes:
        typer.echo("not a terminal: the guesses are accepted without asking")
    written = write_robot(found, folder, force)
    _next(found, _shown(written))


def edit(wish: Wish, roles: Roles, ask: Callable[[str], str]) -> None:
    """Ask role by role; an empty answer keeps what is there."""
    from marsyard.robot.roles import FRONTS

    now = {
        "wheels": [f"{k}={w.joint}" for k, w in roles.wheels.items()],
        "drives": roles.of("drives"), "steering": roles.of("steering"),
        "passive": roles.of("passive"), "feet": [f"{k}={b}" for k, b in roles.feet.items()],
        "tracks": [f"{k}={r.joint}" for k, t in roles.tracks.items() for r in t.rollers if r.joint],
        "keep": roles.of("other"),
    }  # fmt: skip
    typer.echo(
        "names or patterns such as wheel_*, separated by commas; 'none' for none; Enter keeps"
    )
    for role, names in now.items():
        answer = _names(ask(f"{role} [{', '.join(names) or 'none'}]: ") or None)
        if answer is not None:
            setattr(wish, role, answer)
    front = ask(f"front, {', '.join(FRONTS)} [{roles.forward}]: ")
    wish.forward = front or wish.forward


def _ask(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return "n"


# --- options


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [part.strip() for part in text.split(",") if part.strip()]
    return [] if names == ["none"] else names


def _signed(direction: str | None) -> str | None:
    """y means +y."""
    return f"+{direction}" if direction in ("x", "y", "z") else direction


def _plain(name: str) -> str:
    from marsyard.errors import InputError

    if not name.strip() or any(c in name for c in "/\\:") or name in (".", ".."):
        raise InputError(f"--name: '{name}' is not a valid name; use letters, digits, - and _")
    return name


def _one_of(value: str | None, valid: tuple[str, ...], option: str) -> None:
    from marsyard.errors import InputError, suggest

    if value is not None and value not in valid:
        raise InputError(f"{option}: '{value}' is not allowed; {suggest(value, valid)}")


def _length(text: str | None, option: str) -> float | None:
    from marsyard.errors import InputError
    from marsyard.units import to_si

    if text is None:
        return None
    try:
        value = to_si(text, "length")
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if not 0 < value < 1e3:
        raise InputError(f"{option}: {text} must be above 0 and below 1 km")
    return value


def _exit(text: str | None) -> Exit | None:
    from pydantic import TypeAdapter

    from marsyard.errors import InputError
    from marsyard.exit_rule import Exit

    if text is None:
        return None
    rule, _, value = text.partition(":")
    try:
        return TypeAdapter(Exit).validate_python({"rule": rule, "value": float(value)})
    except ValueError:
        raise InputError(
            f"--exit: '{text}' is not allowed; give height:VALUE or angle:VALUE, 0 to 2"
        ) from None


# --- what is said


def _show(plan: Plan) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from marsyard.robot.import_table import rows, summary

    console = Console()
    table = Table(title=escape(summary(plan)), title_justify="left")
    for column in ("part", "role", "numbers", "why"):
        table.add_column(column, overflow="fold")
    for line in rows(plan):
        table.add_row(*map(escape, line))
    console.print(table, highlight=False)
    for text in plan.notes:
        console.print(f"- {escape(text)}", highlight=False, soft_wrap=True)
    for text in plan.warnings:
        console.print(f"warning: {escape(text)}", highlight=False, soft_wrap=True, style="yellow")


def _shown(path: Path) -> str:
    try:
        return f"./{path.relative_to(Path.cwd()).as_posix()}"
    except ValueError:
        return str(path)


def _next(plan: Plan, path: str) -> None:
    typer.echo(f"written: {Path(path).parent}")
    typer.echo(f"look:    marsyard show {path}")
    scenario = "exomars/rough" if plan.roles.of("drives") else "rt0448/test-1"
    typer.echo(f"run:     marsyard run {scenario} --set robot.name={path}")
    feet = len(plan.roles.feet)
    if feet >= 4 and feet % 2 == 0:
        pattern = {4: "crawl", 6: "tripod"}.get(feet, "wave")
        typer.echo(
            f"walk:    marsyard run walker/flat --set robot.name={path} "
            f"--set gait.modes.0.pattern={pattern} --set gait.modes.0.least_margin=0"
        )
    if plan.roles.of("legs"):
        typer.echo(
            "the legs are free until a scenario drives them: control: [{joints: legs, speed: 0}]"
        )
