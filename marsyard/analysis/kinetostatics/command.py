"""The command `marsyard analyze kinetostatics`: from options to results, tables and files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.contacts import Lateral
from marsyard.analysis.kinetostatics.stance import Stance, stance_at, stance_on
from marsyard.analysis.kinetostatics.summary import Analysis, analyse
from marsyard.analysis.options import quantity_of
from marsyard.errors import InputError, suggest
from marsyard.robot import Robot, load_robot

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.analysis.kinetostatics.climb import Climb

Report = Callable[[str, float, float], object]
#: distance of poses along a path [m]
EVERY = 0.1
#: values of each angle of a map of σ
ACROSS = 31


@dataclass(frozen=True)
class Asked:
    """The options, in SI; see `marsyard analyze kinetostatics --help`."""

    robot: str
    joints: dict[str, float] = field(default_factory=dict)
    attitude: tuple[float, ...] = (0.0, 0.0, 0.0)
    contact: dict[str, float] | float = 0.0
    lifted: tuple[str, ...] = ()
    brakes: tuple[str, ...] = ()
    ground: str = ""
    place: tuple[float, ...] = (0.0, 0.0)
    heading: float = 0.0
    path: np.ndarray | None = None
    friction: float = 0.6
    torque: float | None = None
    gravity: float = 9.81
    frame: str | None = None
    lateral: Lateral = "slips"
    twist: tuple[float, ...] | None = None
    step: float | None = None
    largest_step: bool = False
    sigma: tuple[Range, ...] = ()
    map: bool = False
    headings: int = 8
    spacing: float | None = None
    bounds: tuple[float, ...] | None = None
    view: bool = False
    port: int = 8080


@dataclass(frozen=True)
class Range:
    """An angle that is varied: joints or contacts of wheels by name, from low to high [rad]."""

    names: tuple[str, ...]
    low: float
    high: float


@dataclass
class Answer:
    """What was found: parts are there as they were asked for."""

    asked: Asked
    analysis: Analysis | None = None
    terrain: Any = None
    climb: Climb | None = None
    largest: float | None = None
    sigma: np.ndarray | None = None
    run: xr.Dataset | None = None
    map: xr.Dataset | None = None
    path: xr.Dataset | None = None

    @property
    def data(self) -> dict[str, Any]:
        """Everything as plain numbers and words."""
        from marsyard.analysis.kinetostatics.tables import as_data

        return as_data(self)

    def tables(self) -> list[Any]:
        """Tables and sentences to print."""
        from marsyard.analysis.kinetostatics.tables import tables_of

        return tables_of(self)

    def save(self, out: Path | None) -> list[Path]:
        """Write figures and kinetostatics.json; returns the files."""
        from marsyard.analysis.kinetostatics.files import save_answer

        return save_answer(self, out)

    def view(self, port: int, browser: bool = False) -> None:
        """Show the stance in the browser until ctrl-c; with `browser` open it there."""
        from marsyard.analysis.kinetostatics.view import view_stance

        assert self.analysis is not None  # maps and runs were refused
        options = {} if self.terrain is None else {"ground": self.terrain}
        asked = self.asked
        view_stance(
            self.analysis.stance, asked.friction, asked.torque, port=port,
            model=self.analysis.model, browser=browser, **options,
        )  # fmt: skip


def answer(asked: Asked, report: Report) -> Answer:
    """Do what was asked; `report` is told how far it is."""
    _check(asked)
    folder = Path(asked.robot)
    if (folder / "results.nc").exists() or folder.suffix == ".nc":
        _check_run(asked)
        return _of_run(asked, report)
    robot = load_robot(asked.robot)
    _check_names(asked, robot)
    out = Answer(asked)
    if asked.ground:
        out.terrain = _terrain(asked.ground)
        _check_place(asked, out.terrain)
    if asked.map:
        out.map = _map(asked, robot, out.terrain, report)
        return out
    if asked.path is not None:
        out.path = _path(asked, robot, out.terrain, report)
    stance = _stance(asked, robot, out.terrain)
    _check_reach(asked, stance, out.terrain)
    out.analysis = analyse(
        stance, asked.friction, asked.torque, lateral=asked.lateral, exact=not asked.ground,
        brakes=asked.brakes,
    )  # fmt: skip
    _check_balance(out.analysis)
    if asked.step is not None:
        from marsyard.analysis.kinetostatics.climb import climb_step

        report("climbing", 0, 1)
        out.climb = climb_step(
            robot, asked.step, gravity=asked.gravity, torque=asked.torque, joints=asked.joints
        )  # fmt: skip
    if asked.largest_step:
        from marsyard.analysis.kinetostatics.climb import largest_step

        out.largest = largest_step(
            robot, asked.friction, gravity=asked.gravity, torque=asked.torque,
            progress=lambda left: report("largest step", 1 - left, 1),
        )  # fmt: skip
    if asked.sigma:
        out.sigma = _sigma_map(asked, robot, report)
    return out


def _check_balance(analysis: Analysis) -> None:
    """Refuse a pose that nothing holds."""
    if analysis.demand[1] is not None:
        return
    passive = [
        j for j, d in zip(analysis.stance.joints, analysis.stance.driven, strict=True) if not d
    ]
    hint = f"; does it need brakes (--brake {passive[0]},…)?" if passive else ""
    raise InputError(
        f"pose: {analysis.stance.robot.name} "
        f"is not in equilibrium with any friction: it tips or its joints move{hint}"
    )


def _check(asked: Asked) -> None:
    _check_numbers(asked)
    given = _given(asked)
    for name in ("--path", "--map", "--at", "--heading"):
        if given[name] and not asked.ground:
            raise InputError(f"{name}: needs a ground; give --ground")
    for name in ("--headings", "--spacing", "--bounds"):
        if given[name] and not asked.map:
            raise InputError(f"{name}: is of the map; give --map")
    if asked.ground and (asked.contact or asked.lifted):
        raise InputError("--contact, --lifted: not with --ground, which says where wheels touch")
    if asked.sigma and asked.ground:
        raise InputError("--sigma: not with --ground; angles are given, not found")
    for step in ("--step", "--largest-step"):
        others = ("--ground", "--contact", "--lifted", "--attitude")
        _refuse(given, step, others, "the rover climbs from level ground")
    _refuse(given, "--ground", ("--attitude",), "the rover takes that of the ground")
    _refuse(given, "--path", ("--at", "--heading"), "the path defines the positions")
    alone = ("--path", "--at", "--heading", "--twist", "--view")
    _refuse(given, "--map", alone, "the map covers all positions and headings")


def _check_numbers(asked: Asked) -> None:
    if not (math.isfinite(asked.friction) and asked.friction >= 0):
        raise InputError(f"--friction = {asked.friction:g}: must be 0 or more")
    if asked.torque is not None and not asked.torque > 0:
        raise InputError(f"--torque = {asked.torque:g} N·m: must be above 0")
    if asked.step is not None and not asked.step > 0:
        raise InputError(f"--step = {asked.step:g} m: must be above 0")
    if asked.spacing is not None and not asked.spacing > 0:
        raise InputError(f"--spacing = {asked.spacing:g} m: must be above 0")
    if asked.headings < 1:
        raise InputError(f"--headings = {asked.headings}: must be 1 or more")
    if not 0 <= asked.port <= 65535:
        raise InputError(f"--port = {asked.port}: must be 0 to 65535")


def _given(asked: Asked) -> dict[str, bool]:
    """Which options were given, other than as they are by default."""
    return {
        "--pose": bool(asked.joints), "--attitude": any(asked.attitude),
        "--contact": bool(asked.contact), "--lifted": bool(asked.lifted),
        "--ground": bool(asked.ground), "--at": any(asked.place), "--heading": bool(asked.heading),
        "--path": asked.path is not None, "--map": asked.map,
        "--headings": asked.headings != 8, "--spacing": asked.spacing is not None,
        "--bounds": asked.bounds is not None, "--frame": asked.frame is not None,
        "--twist": asked.twist is not None, "--step": asked.step is not None,
        "--largest-step": asked.largest_step, "--sigma": bool(asked.sigma), "--view": asked.view,
    }  # fmt: skip


def _refuse(given: dict[str, bool], option: str, others: tuple[str, ...], why: str) -> None:
    for other in others:
        if given[option] and given[other]:
            raise InputError(f"{other}: not with {option}; {why}")


def _check_run(asked: Asked) -> None:
    for name, is_given in _given(asked).items():
        if is_given:
            raise InputError(f"{name}: not with the folder of a run, which has its own poses")


def _check_names(asked: Asked, robot: Robot) -> None:
    """Joints within their stops, wheels that there are."""
    wheels = [*robot.wheels, *robot.feet]
    contact = asked.contact if isinstance(asked.contact, dict) else {"all wheels": asked.contact}
    for name, angle in contact.items():
        if name not in wheels and isinstance(asked.contact, dict):
            raise InputError(_no(robot, "--contact", "wheel", name, wheels))
        if not abs(angle) <= math.pi:
            words = f"--contact {name} = {math.degrees(angle):g}°"
            raise InputError(f"{words}: must be within -180° and 180° of the lowest point")
    for name in asked.lifted:
        if name not in wheels:
            raise InputError(_no(robot, "--lifted", "wheel", name, wheels))
    if asked.joints or asked.sigma:
        _check_joints(asked, robot, wheels)


def _check_joints(asked: Asked, robot: Robot, wheels: list[str]) -> None:
    model = robot.compile()
    known = {model.joint(j).name: j for j in range(model.njnt) if model.jnt_type[j] >= 2}
    for name, angle in asked.joints.items():
        if name not in known:
            raise InputError(_no(robot, "--pose", "joint", name, list(known)))
        low, high = (float(v) for v in model.jnt_range[known[name]])
        turns = model.jnt_type[known[name]] == 3
        if model.jnt_limited[known[name]] and not low - 1e-9 <= angle <= high + 1e-9:
            a, b, c = (_joint_words(v, turns) for v in (angle, low, high))
            raise InputError(f"--pose {name} = {a}: beyond its stops, {b} to {c}")
    names = [name for span in asked.sigma for name in span.names]
    for name in names:
        if name not in known and name not in wheels:
            raise InputError(_no(robot, "--sigma", "wheel or joint", name, [*wheels, *known]))
        if names.count(name) > 1:
            raise InputError(f"--sigma: '{name}' is given twice; vary it once")


def _joint_words(value: float, turns: bool) -> str:
    return f"{math.degrees(value):g}°" if turns else f"{value:g} m"


def _no(robot: Robot, option: str, kind: str, name: str, known: list[str]) -> str:
    return f"{option}: {robot.name} has no {kind} '{name}'; {suggest(name, known)}"


def _check_place(asked: Asked, terrain: Any, reach: float = 0.0) -> None:
    """The rover stands on the ground, and by `reach` [m] within its border."""
    bounds = getattr(terrain, "bounds", None)
    if bounds is None or asked.map or asked.path is not None:
        return
    (x, y), (x0, x1, y0, y1) = asked.place, bounds
    inside = x0 + reach <= x <= x1 - reach and y0 + reach <= y <= y1 - reach
    if not inside:
        far = f", or nearer than {reach:.2g} m to its border" if reach else ""
        raise InputError(
            f"--at {x:g},{y:g}: outside the ground{far}; it reaches from x = {x0:g} to {x1:g} m "
            f"and y = {y0:g} to {y1:g} m"
        )


def _check_reach(asked: Asked, stance: Stance, terrain: Any) -> None:
    radius = float(np.max(stance.radius, initial=0.0))
    reach = float(np.linalg.norm(stance.points[:, :2], axis=1).max()) + radius
    _check_place(asked, terrain, reach if asked.frame is None else 0.0)


def _terrain(name: str) -> Any:
    from marsyard.ground.terrain import build_terrain
    from marsyard.scenario import load_terrain

    spec, folder = load_terrain(name)
    return build_terrain(spec, folder)


def _stance(asked: Asked, robot: Robot, terrain: Any) -> Stance:
    if terrain is not None:
        (x, y), heading = asked.place, asked.heading
        if asked.path is not None:  # at its start
            (x, y), leg = asked.path[0], _first_leg(asked.path)
            heading = math.atan2(leg[1], leg[0])
        return stance_on(
            robot, terrain, float(x), float(y), heading,
            joints=asked.joints, gravity=asked.gravity, platform=asked.frame,
        )  # fmt: skip
    return stance_at(
        robot, asked.joints, asked.contact, lifted=asked.lifted, gravity=asked.gravity,
        attitude=asked.attitude, platform=asked.frame,
    )  # fmt: skip


def _first_leg(path: np.ndarray) -> np.ndarray:
    """From the first point to the next one that is elsewhere [m]."""
    legs = path - path[0]
    away = np.flatnonzero(np.linalg.norm(legs, axis=1) > 1e-9)
    if not away.size:
        raise InputError("--path: give at least two different points")
    return legs[away[0]]


def _of_run(asked: Asked, report: Report) -> Answer:
    from marsyard.analysis.kinetostatics.runs import along_run

    found = along_run(
        asked.robot, torque=asked.torque, progress=lambda k, n: report("poses of the run", k, n)
    )
    return Answer(asked, run=found)


def _sigma_map(asked: Asked, robot: Robot, report: Report) -> np.ndarray:
    """σ over two angles, [second, first]."""
    from marsyard.analysis.kinetostatics.runs import sigma
    from marsyard.analysis.kinetostatics.stance import restance

    first, second = asked.sigma
    base = _stance(asked, robot, None)
    values = np.full((ACROSS, ACROSS), np.nan)
    for j, b in enumerate(np.linspace(second.low, second.high, ACROSS)):
        for i, a in enumerate(np.linspace(first.low, first.high, ACROSS)):
            joints = dict(asked.joints)
            contact = _by_wheel(robot, asked.contact)
            for span, value in ((first, a), (second, b)):
                for name in span.names:
                    if name in robot.wheels:
                        contact[name] = float(value)
                    else:
                        joints[name] = float(value)
            values[j, i] = sigma(restance(base, joints, contact, asked.lifted))
        report("map of σ", j + 1, ACROSS)
    return values


def _by_wheel(robot: Robot, contact: dict[str, float] | float) -> dict[str, float]:
    if isinstance(contact, dict):
        return {name: contact.get(name, 0.0) for name in robot.wheels}
    return {name: contact for name in robot.wheels}


def _map(asked: Asked, robot: Robot, terrain: Any, report: Report) -> xr.Dataset:
    from marsyard.analysis.traction_map import traction_map

    def tell(done: int, total: int) -> None:
        report("poses of the map", done, total)

    return traction_map(
        robot, terrain, friction=asked.friction, headings=asked.headings, gravity=asked.gravity,
        spacing=0.5 if asked.spacing is None else asked.spacing, torque=asked.torque,
        joints=asked.joints, progress=tell, bounds=asked.bounds,  # type: ignore[arg-type]
    )  # fmt: skip


def _path(asked: Asked, robot: Robot, terrain: Any, report: Report) -> xr.Dataset:
    from marsyard.analysis.traction_map import path_profile

    report("poses of the path", 0, 1)
    assert asked.path is not None
    return path_profile(
        robot, terrain, asked.path, step=EVERY, friction=asked.friction, gravity=asked.gravity,
        torque=asked.torque, joints=asked.joints,
    )  # fmt: skip


# --- options as text


def angles_of(text: str, option: str) -> dict[str, float]:
    """ "pitch_front=-10deg,roll_front=5deg" by name [rad]."""
    out: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{option}: '{part}' must be NAME=ANGLE, e.g. pitch_front=-10deg")
        out[name.strip()] = quantity_of(value, "angle", f"{option} {name.strip()}")
    return out


def attitude_of(text: str) -> tuple[float, float, float]:
    """ "roll=5deg,pitch=-15deg" as roll, pitch, yaw [rad]."""
    given, known = angles_of(text, "--attitude"), ("roll", "pitch")
    for name in given:
        if name not in known:
            raise InputError(f"--attitude: '{name}' is unknown; {suggest(name, known)}")
    return given.get("roll", 0.0), given.get("pitch", 0.0), 0.0


def contact_of(text: str) -> dict[str, float] | float:
    """ "30deg" for all wheels or "FL=30deg,FR=30deg" [rad]."""
    if not text.strip():
        return 0.0
    if "=" in text:
        return angles_of(text, "--contact")
    return quantity_of(text, "angle", "--contact")


def numbers_of(text: str, count: int, option: str) -> tuple[float, ...]:
    """ "1,2" as that many numbers."""
    parts = text.split(",")
    try:
        values = tuple(float(p) for p in parts)
    except ValueError:
        values = ()
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InputError(f"{option}: '{text}' must be {count} finite numbers separated by commas")
    return values


def path_of(text: str) -> np.ndarray | None:
    """ "0,0;3,1;5,1" as points x, y [m], [n, 2]."""
    if not text.strip():
        return None
    points = [numbers_of(p, 2, "--path") for p in text.split(";") if p.strip()]
    if len(points) < 2:
        raise InputError(f"--path: '{text}' must have at least two points, e.g. 0,0;3,1")
    return np.array(points)


def lateral_of(text: str) -> Lateral:
    """ "slips" or "holds"."""
    known = ("slips", "holds")
    if text not in known:
        raise InputError(f"--lateral: '{text}' is unknown; {suggest(text, known)}")
    return text  # type: ignore[return-value]


def ranges_of(text: str) -> tuple[Range, ...]:
    """ "FL+FR=-60deg:60deg,pitch_rear=-30deg:30deg" as two ranges."""
    if not text.strip():
        return ()
    out = []
    for part in text.split(","):
        names, equals, span = part.partition("=")
        low, colon, high = span.partition(":")
        if not (equals and colon):
            raise InputError(f"--sigma: '{part.strip()}' must be NAME=LOW:HIGH, with units")
        what = f"--sigma {names.strip()}"
        ends = [quantity_of(v, "angle", what) for v in (low, high)]
        if not ends[0] < ends[1]:
            raise InputError(f"{what}: must rise from low to high")
        out.append(Range(tuple(n.strip() for n in names.split("+")), *ends))
    if len(out) != 2:
        raise InputError("--sigma: two angles separated by a comma are expected")
    return tuple(out)
