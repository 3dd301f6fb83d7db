"""`marsyard analyze kinetostatics ROBOT`: what a rover can move and push in a pose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete


def kinetostatics(
    robot: str = typer.Argument(
        help="A robot of the library or a folder of one; or the folder of a run on hard ground.",
        autocompletion=_complete.rovers,
    ),
    pose: str = typer.Option(
        "", metavar="JOINT=ANGLE,…", help="Joint angles, e.g. pitch_front=-10deg [default: 0]."
    ),
    attitude: str = typer.Option(
        "", metavar="roll=ANGLE,pitch=ANGLE",
        help="Attitude of the base; the ground tilts with it unless --contact turns it back: a "
             "level floor below a nose-up base is pitch=-15deg with --contact -15deg [default: "
             "level].",
    ),
    contact: str = typer.Option(
        "", metavar="WHEEL=ANGLE,…",
        help="Contact angle of the wheels, ahead of their lowest points: FL=30deg,FR=30deg, or "
             "one angle for all; 90deg is a vertical face ahead [default: 0].",
    ),
    lifted: str = typer.Option("", metavar="WHEEL,…", help="Wheels without ground contact."),
    brake: str = typer.Option("", metavar="JOINT,…", help="Passive joints that are braked."),
    ground: str = typer.Option(
        "", help="A ground of the library or an elevation map, on which the rover is placed at "
                 "rest.",
        autocompletion=_complete.grounds,
    ),
    at: str = typer.Option("0,0", metavar="X,Y", help="Position on the ground [m]."),
    heading: str = typer.Option("0deg", help="Heading on the ground, measured from x towards y."),
    path: str = typer.Option(
        "", metavar="X,Y;X,Y;…", help="Path over the ground: the analysis is repeated every 10 cm "
                                      "along it."
    ),
    map_: bool = typer.Option(
        False, "--map", help="Traction map of the ground: a verdict for every cell and heading."
    ),
    headings: int = typer.Option(8, help="Number of headings of the map over 360°."),
    spacing: str = typer.Option("", help="Size of the map's cells, e.g. 20cm [default: 50cm]."),
    bounds: str = typer.Option(
        "", metavar="XMIN,XMAX,YMIN,YMAX",
        help="Bounds of the map [m] [default: the ground's, or 20 m about the origin].",
    ),
    friction: float = typer.Option(0.6, help="Friction coefficient μ of the wheels on the ground."),
    torque: str = typer.Option(
        "", help="Torque limit of each drive, e.g. 40N*m [default: no limit]."
    ),
    gravity: str = typer.Option(
        "earth", help="mars (3.72), moon (1.62), earth (9.81), or m/s².",
        autocompletion=_complete.worlds,
    ),
    frame: str = typer.Option(
        "", metavar="BODY", help="Body whose frame and motion are analysed [default: the robot's "
                                 "base]."
    ),
    lateral: str = typer.Option(
        "slips", help="Lateral behaviour of a wheel: slips (as in the paper) or holds."
    ),
    twist: str = typer.Option(
        "", metavar="VX,VY,VZ,WX,WY,WZ", help="Compute the wheel rates for this motion [m/s, "
                                              "rad/s]."
    ),
    step: str = typer.Option("", metavar="HEIGHT", help="Analyse the climb of a step, e.g. 40cm, "
                                                        "pose by pose."),
    largest_step: bool = typer.Option(
        False, "--largest-step", help="Find the highest step that can be climbed with --friction."
    ),
    sigma: str = typer.Option(
        "", metavar="A=LOW:HIGH,B=LOW:HIGH",
        help="Map of σ over two angles of joints or wheel contacts (FL+FR for both): "
             "FL+FR=-60deg:60deg,RL+RR=-60deg:60deg.",
    ),
    view: bool = typer.Option(False, "--view", help="Show it in the browser."),
    port: int = typer.Option(8080, help="Port of the browser view."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address of the view without opening it."
    ),
    json_: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
    out: Path = typer.Option(
        None, "--out", "-o",
        help="Folder for figures and kinetostatics.json [default: runs/kinetostatics-NAME].",
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress bar."),
) -> None:  # fmt: skip
    """Reciprocal screws, mobility, traction ellipsoids, friction demand, pulls, slopes and steps.

    Motions that a rover's wheels can produce in a pose (matrices B, D, J_a, controllable and
    uncontrolled motions), what it can push (ellipsoid, index σ, wrench polytope with friction cones
    and torque limits), what friction the pose takes, and how the torques are best shared.

    \b
    Examples:
      marsyard analyze kinetostatics roburoc
      marsyard analyze kinetostatics roburoc --contact FL=60deg,FR=60deg --pose pitch_front=-10deg
      marsyard analyze kinetostatics exomars --ground fractal_rough --at 3,2 --heading 30deg --view
      marsyard analyze kinetostatics roburoc --step 40cm
      marsyard analyze kinetostatics exomars --ground crater_10m --map --friction 0.5 --gravity mars
      marsyard run roburoc/step && marsyard analyze kinetostatics runs/roburoc-step
    """
    from marsyard.analysis.kinetostatics import command
    from marsyard.analysis.options import gravity_of, quantity_of

    asked = command.Asked(
        robot=robot,
        joints=command.angles_of(pose, "--pose"),
        attitude=command.attitude_of(attitude),
        contact=command.contact_of(contact),
        lifted=tuple(name.strip() for name in lifted.split(",") if name.strip()),
        brakes=tuple(name.strip() for name in brake.split(",") if name.strip()),
        ground=ground,
        place=command.numbers_of(at, 2, "--at"),
        heading=quantity_of(heading, "angle", "--heading"),
        path=command.path_of(path),
        friction=friction,
        torque=quantity_of(torque, "torque", "--torque") if torque else None,
        gravity=gravity_of(gravity),
        frame=frame or None,
        lateral=command.lateral_of(lateral),
        twist=command.numbers_of(twist, 6, "--twist") if twist else None,
        step=quantity_of(step, "length", "--step") if step else None,
        largest_step=largest_step,
        sigma=command.ranges_of(sigma),
        map=map_,
        headings=headings,
        spacing=quantity_of(spacing, "length", "--spacing") if spacing else None,
        bounds=command.numbers_of(bounds, 4, "--bounds") if bounds else None,
        view=view,
        port=port,
    )
    with _progress(quiet or json_) as bar:
        answer = command.answer(asked, bar)
    if json_:
        import json

        typer.echo(json.dumps(answer.data, indent=2, ensure_ascii=False))
    else:
        console = _console()
        for text in answer.tables():
            console.print(text, highlight=False, markup=False, soft_wrap=isinstance(text, str))
    if out is not None or not json_:
        for file in answer.save(out):
            typer.echo(str(file), err=json_)
    if view:
        answer.view(port, browser=not no_browser)


def _console() -> Any:
    from rich.console import Console

    # tables keep their numbers where the terminal is narrow: its lines wrap instead
    return Console(width=max(Console().width, 140))


def _progress(hidden: bool) -> Any:
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)

    @contextmanager
    def bar():
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        with Progress(
            *columns, console=console, transient=True, disable=hidden or not console.is_terminal
        ) as shown:
            task = shown.add_task("working", total=None)

            def report(words: str, done: float, total: float) -> None:
                shown.update(task, description=words, completed=done, total=total)

            yield report

    return bar()
