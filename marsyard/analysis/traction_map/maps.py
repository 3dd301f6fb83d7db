"""The traction map: positions and headings in which a rover can stand and pull.

For every cell of a map and every heading the rover is placed on the ground (`placing`) and its
statics solved (`traction`). The ground is rigid, its friction μ the same everywhere; every pose is
judged alone and at rest, so that the map knows nothing of how the rover gets there, of sinkage, of
slip, or of a belly that hits a rock.

Verdict of a pose, with the limits of `VerdictLimits`:

    no-go    no stand is found, its friction demand exceeds μ, its largest pull is below 0, its tilt
             above `tilt` or its tip-over angle below `margin`
    hard     otherwise, if the pull is below `hard_traction` weights, the demand above `hard_demand`
             μ, the tilt above `hard_tilt`, or the tip-over angle below `hard_margin`
    go       otherwise
    outside  the rover would reach over the border of the ground

Where the search for a stand ends at a kink of the ground (not `converged`: its last step was not
below 1e-9) the stand is nearly always within 0.3 mm of the lowest one, on smooth ground within
micrometres, and its verdict is that of its numbers. Among rocks it may hang further off; wheels in
the air do not carry there, and such a pose is mostly no-go.

Heights are sampled on a regular grid once and are bilinear between its points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.traction_map.placing import HeightGrid
from marsyard.analysis.traction_map.poses import COLUMNS, Asked, judge, typical_length
from marsyard.analysis.traction_map.rover_tables import RoverNames, RoverTables, rover_tables
from marsyard.errors import InputError
from marsyard.ground.terrain import Terrain, build_terrain
from marsyard.robot import Robot
from marsyard.units import read_gravity

if TYPE_CHECKING:
    import xarray

    from marsyard.control.path_following import Path
    from marsyard.control.placement import Ground

GO, HARD, NO_GO, OUTSIDE = 0, 1, 2, 3
VERDICTS = ("go", "hard", "no-go", "outside")
Bounds = tuple[float, float, float, float]
#: side of what is looked at of an endless ground [m]
USUAL_SIZE = 20.0
_MOST_POINTS, _MOST_POSES, _SHOWN = 25_000_000, 20_000_000, 400


@dataclass(frozen=True)
class VerdictLimits:
    """Thresholds of the verdicts no-go and hard.

    Attributes:
        tilt, margin: greatest tilt and least tip-over angle of a pose that is not no-go [rad].
        hard_tilt, hard_margin: those of one that is not hard [rad].
        hard_traction: least pull of one that is not hard [weight].
        hard_demand: greatest friction demand of one that is not hard [μ].
    """

    tilt: float = math.radians(30)
    margin: float = math.radians(5)
    hard_tilt: float = math.radians(20)
    hard_margin: float = math.radians(10)
    hard_traction: float = 0.1
    hard_demand: float = 0.8


_ABOUT = {
    "height": ("m", "height of the base's origin"),
    "roll": ("rad", "roll of the base"),
    "pitch": ("rad", "pitch of the base, nose down positive"),
    "tilt": ("rad", "angle between the base's and the world's vertical"),
    "margin": ("rad", "tip-over angle: least angle of gravity to the support polygon's edges"),
    "traction": ("N", "largest pull at the base's origin along the heading"),
    "traction_ratio": ("1", "largest pull in weights of the rover"),
    "friction_demand": ("1", "smallest friction with which the rover stands"),
    "wheel_load": ("N", "normal forces of the wheels at rest without friction"),
    "contacts": ("1", "points where wheels touch the ground"),
    "converged": ("1", "whether the equilibrium search ended with a step below 1e-9"),
    "verdict": ("1", "verdict"),
}


def traction_map(
    robot: Robot | str,
    ground: Any,
    friction: float = 0.6,
    headings: int | np.ndarray = 8,
    spacing: float = 0.5,
    gravity: float | str = 9.81,
    torque: float | Mapping[str, float] | None = None,
    limits: VerdictLimits | None = None,
    bounds: Bounds | None = None,
    resolution: float | None = None,
    joints: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Evaluate a rover at every cell and heading of a map: a Dataset over (y, x, heading).

    Args:
        robot: of the library, by name.
        ground: a terrain, anything with heights, the ground of a scenario of kind terrain, or the
            name of a ground of the library, a YAML or an elevation file.
        friction: μ between wheels and ground.
        headings: how many, evenly from 0, or the headings themselves [rad].
        spacing: of the cells [m].
        gravity: [m/s²], or a world's name.
        torque: largest of every drive [N·m], or by wheel; not bounded unless told.
        limits: of the verdicts.
        bounds: xmin, xmax, ymin, ymax of the map [m]; the ground's own, or 20 m about the origin.
        resolution: of the grid of heights [m]; a third of the smallest wheel's radius unless told.
        joints: angles of joints that are held [rad], by name; zero unless told.
        threads: as many as there are cores unless told.
        progress: is told how many poses are done, of how many.
    """
    import xarray

    gravity = read_gravity(gravity)
    asked_for = {"friction": friction, "spacing": spacing, "gravity": gravity}
    _check_positive(asked_for)
    rover, names = rover_tables(robot, joints, torque)
    terrain, title = _ground(ground)
    own = getattr(terrain, "bounds", None)
    area = _area(bounds, own, terrain)
    heading = _headings(headings)
    x, y = _cells(area[0], area[1], spacing), _cells(area[2], area[3], spacing)
    if len(x) * len(y) * len(heading) > _MOST_POSES:
        raise InputError(
            f"spacing: {len(x)} × {len(y)} cells in {len(heading)} headings are more than "
            f"{_MOST_POSES:,} poses; give a wider spacing or smaller bounds"
        )
    reach = _reach(rover)
    grid = _heights(terrain, _grown(area, reach, own), resolution or rover.wheels.radius.min() / 3)
    Y, X, H = np.meshgrid(y, x, heading, indexing="ij")
    poses = np.column_stack([X.ravel(), Y.ravel(), H.ravel()])
    inside = _inside(poses, own, reach)
    asked = Asked(gravity, float(friction), typical_length(rover))
    numbers, loads = _judged(rover, grid, asked, poses, inside, threads, progress)
    found = _variables(rover, asked, numbers, loads, inside, limits or VerdictLimits())
    shape = X.shape
    data = {
        name: (("y", "x", "heading", *(("wheel",) if name == "wheel_load" else ())),
               values.reshape(*shape, *values.shape[1:]))
        for name, values in found.items()
    }  # fmt: skip
    coords = {
        "y": ("y", y, {"units": "m", "long_name": "y, north"}),
        "x": ("x", x, {"units": "m", "long_name": "x, east"}),
        "heading": ("heading", heading, {"units": "rad", "long_name": "heading"}),
        "wheel": ("wheel", list(names.wheels)),
    }
    made = xarray.Dataset(data, coords)
    return _labelled(_with_ground(made, terrain, area), names, title, rover, asked, limits)


def path_profile(
    robot: Robot | str,
    ground: Any,
    path: Path | np.ndarray,
    friction: float = 0.6,
    step: float = 0.1,
    gravity: float | str = 9.81,
    torque: float | Mapping[str, float] | None = None,
    limits: VerdictLimits | None = None,
    resolution: float | None = None,
    joints: Mapping[str, float] | None = None,
    threads: int | None = None,
) -> xarray.Dataset:
    """Evaluate a rover along a path: a Dataset over `distance` [m].

    path: poses [n, 3] of x, y [m] and heading [rad], as they are; or a path, or its points [n, 2],
    looked at every `step` [m] with the heading along it. The rest as in `traction_map`.
    """
    import xarray

    gravity = read_gravity(gravity)
    _check_positive({"friction": friction, "step": step, "gravity": gravity})
    rover, names = rover_tables(robot, joints, torque)
    terrain, title = _ground(ground)
    poses, distance = _poses(path, step)
    own, reach = getattr(terrain, "bounds", None), _reach(rover)
    low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
    area = _grown((low[0], high[0], low[1], high[1]), reach, own)
    grid = _heights(terrain, area, resolution or rover.wheels.radius.min() / 3)
    inside = _inside(poses, own, reach)
    asked = Asked(gravity, float(friction), typical_length(rover))
    numbers, loads = _judged(rover, grid, asked, poses, inside, threads, None)
    found = _variables(rover, asked, numbers, loads, inside, limits or VerdictLimits())
    data = {
        name: (("distance", "wheel") if name == "wheel_load" else ("distance",), values)
        for name, values in found.items()
    }
    coords = {
        "distance": ("distance", distance, {"units": "m", "long_name": "distance from the start"}),
        "x": ("distance", poses[:, 0], {"units": "m", "long_name": "x, east"}),
        "y": ("distance", poses[:, 1], {"units": "m", "long_name": "y, north"}),
        "heading": ("distance", poses[:, 2], {"units": "rad", "long_name": "heading"}),
        "wheel": ("wheel", list(names.wheels)),
    }
    return _labelled(xarray.Dataset(data, coords), names, title, rover, asked, limits)


# --- what is asked


def _check_positive(values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: must be above 0, not {value}")


def _ground(ground: Any) -> tuple[Ground, str]:
    """Something with heights, and its title."""
    from marsyard.scenario import load_terrain
    from marsyard.scenario.terrain import TerrainSpec

    if getattr(ground, "kind", None) == "terrain":
        ground = ground.terrain
    if isinstance(ground, TerrainSpec):
        ground = build_terrain(ground)
    elif isinstance(ground, str | FilePath):
        ground = build_terrain(*load_terrain(ground))
    if not callable(getattr(ground, "height", None)):
        raise InputError(
            "ground: must be a terrain, the name of a ground of the library, or an elevation file, "
            f"not {type(ground).__name__}"
        )
    return ground, ground.title if isinstance(ground, Terrain) else ""


def _area(bounds: Bounds | None, own: Bounds | None, ground: Any = None) -> Bounds:
    from marsyard.ground.terrain import Terrain, usual_view

    half = USUAL_SIZE / 2
    usual = usual_view(ground) if isinstance(ground, Terrain) else (-half, half, -half, half)
    area = bounds or own or usual
    if not (area[0] < area[1] and area[2] < area[3] and np.all(np.isfinite(area))):
        raise InputError(
            f"bounds: {area} must be xmin < xmax, ymin < ymax, all four finite numbers in metres"
        )
    return area


def _headings(headings: int | np.ndarray) -> np.ndarray:
    if np.ndim(headings) == 0:
        if int(headings) < 1:
            raise InputError(f"headings: must be 1 or more, not {headings}")
        return np.arange(int(headings)) * (2 * np.pi / int(headings))
    return np.asarray(headings, dtype=float)


def _cells(low: float, high: float, spacing: float) -> np.ndarray:
    """Middles of the cells that fit between two ends, in their middle."""
    count = max(int(math.floor((high - low) / spacing + 1e-9)), 1)
    return (low + high) / 2 + (np.arange(count) - (count - 1) / 2) * spacing


def _poses(path: Path | np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Poses [n, 3] along a path and their distance from its start [m]."""
    from marsyard.control.path_following import Path

    if not isinstance(path, Path):
        given = np.asarray(path, dtype=float)
        if given.ndim == 2 and given.shape[1] == 3 and len(given) and np.isfinite(given).all():
            steps = np.linalg.norm(np.diff(given[:, :2], axis=0), axis=1)
            return given, np.concatenate([[0.0], np.cumsum(steps)])
        path = Path(given)
    distance = np.linspace(0, path.length, max(int(np.ceil(path.length / step)), 1) + 1)
    heading = [path.heading(float(s)) for s in distance]
    return np.column_stack([path.point(distance), heading]), distance


# --- the ground below the rover


def _reach(rover: RoverTables) -> float:
    """How far from the base's origin a wheel touches the ground [m]."""
    wheels = rover.wheels
    own = np.hypot(wheels.radius, wheels.width / 2)
    return float(np.max(np.linalg.norm(wheels.centre, axis=1) + own))


def _grown(area: Bounds, reach: float, own: Bounds | None) -> Bounds:
    xmin, xmax, ymin, ymax = area
    grown = xmin - reach, xmax + reach, ymin - reach, ymax + reach
    if own is None:
        return grown
    x0, x1, y0, y1 = own
    if xmax < x0 or xmin > x1 or ymax < y0 or ymin > y1:
        raise InputError(
            f"bounds: the ground reaches from x = {x0:g} to {x1:g} m and y = {y0:g} to {y1:g} m, "
            "the requested area is outside"
        )
    return max(grown[0], x0), min(grown[1], x1), max(grown[2], y0), min(grown[3], y1)


def _heights(terrain: Ground, area: Bounds, resolution: float) -> HeightGrid:
    """The heights that the kernels see, at whole multiples of the resolution: a place has the same
    neighbours in every map and on every path."""
    _check_positive({"resolution": resolution})
    first = [math.floor(area[k] / resolution + 1e-9) for k in (0, 2)]
    last = [math.ceil(area[k] / resolution - 1e-9) for k in (1, 3)]
    nx, ny = (max(b - a, 1) + 1 for a, b in zip(first, last, strict=True))
    if nx * ny > _MOST_POINTS:
        raise InputError(
            f"resolution: a grid of {nx} × {ny} heights is more than {_MOST_POINTS:,} points; give "
            "a wider resolution or smaller bounds"
        )
    x, y = (resolution * (a + np.arange(n)) for a, n in zip(first, (nx, ny), strict=True))
    height = np.array([terrain.height(x, np.full(nx, at)) for at in y])
    if not np.isfinite(height).all():
        raise InputError("ground: has points without a height; fill them, or give other bounds")
    return HeightGrid(
        np.ascontiguousarray(height, dtype=float), float(x[0]), float(y[0]),
        1.0 / resolution, 1.0 / resolution,
    )  # fmt: skip


def _inside(poses: np.ndarray, own: Bounds | None, reach: float) -> np.ndarray:
    """Where the rover does not reach over the ground's border."""
    if own is None:
        return np.ones(len(poses), dtype=bool)
    x, y = poses[:, 0], poses[:, 1]
    return (
        (x - reach >= own[0]) & (x + reach <= own[1])
        & (y - reach >= own[2]) & (y + reach <= own[3])
    )  # fmt: skip


# --- the answer


def _judged(
    rover: RoverTables,
    grid: HeightGrid,
    asked: Asked,
    poses: np.ndarray,
    inside: np.ndarray,
    threads: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.full((len(poses), len(COLUMNS)), np.nan)
    loads = np.full((len(poses), len(rover.wheels.radius)), np.nan)
    if inside.any():
        numbers[inside], loads[inside] = judge(rover, grid, asked, poses[inside], threads, progress)
    return numbers, loads


def _variables(
    rover: RoverTables,
    asked: Asked,
    numbers: np.ndarray,
    loads: np.ndarray,
    inside: np.ndarray,
    limits: VerdictLimits,
) -> dict[str, np.ndarray]:
    column = dict(zip(COLUMNS, numbers.T, strict=True))
    weight = asked.gravity * float(rover.chain.carried[0])
    return {
        **{name: column[name] for name in ("height", "roll", "pitch", "tilt", "margin")},
        "traction": weight * column["pull"],
        "traction_ratio": column["pull"],
        "friction_demand": column["demand"],
        "wheel_load": loads,
        "contacts": np.nan_to_num(column["contacts"]).astype(np.int16),
        "converged": column["converged"] == 1,
        "verdict": _verdicts(column, inside, asked.friction, limits),
    }


def _verdicts(
    column: Mapping[str, np.ndarray],
    inside: np.ndarray,
    friction: float,
    limits: VerdictLimits,
) -> np.ndarray:
    """See the head of the module; what is not known fails."""
    pull, demand = column["pull"], column["demand"] / friction
    tilt, margin = column["tilt"], column["margin"]
    possible = (pull >= 0) & (demand <= 1) & (tilt <= limits.tilt) & (margin >= limits.margin)
    easy = (
        (pull >= limits.hard_traction)
        & (demand <= limits.hard_demand)
        & (tilt <= limits.hard_tilt)
        & (margin >= limits.hard_margin)
    )
    verdict = np.where(possible, np.where(easy, GO, HARD), NO_GO)
    return np.where(inside, verdict, OUTSIDE).astype(np.int8)


def _with_ground(made: xarray.Dataset, terrain: Ground, area: Bounds) -> xarray.Dataset:
    """The map with the ground's heights, coarse, for pictures."""
    step = max(area[1] - area[0], area[3] - area[2]) / (_SHOWN - 1)
    x = np.linspace(area[0], area[1], max(int(round((area[1] - area[0]) / step)) + 1, 2))
    y = np.linspace(area[2], area[3], max(int(round((area[3] - area[2]) / step)) + 1, 2))
    heights = terrain.height(*np.meshgrid(x, y))
    made = made.assign_coords(
        ground_x=("ground_x", x, {"units": "m", "long_name": "x, east"}),
        ground_y=("ground_y", y, {"units": "m", "long_name": "y, north"}),
    )
    about = {"units": "m", "long_name": "height of the ground"}
    return made.assign(ground=(("ground_y", "ground_x"), heights, about))


def _labelled(
    made: xarray.Dataset,
    names: RoverNames,
    title: str,
    rover: RoverTables,
    asked: Asked,
    limits: VerdictLimits | None,
) -> xarray.Dataset:
    for name, (units, text) in _ABOUT.items():
        made[name].attrs.update(units=units, long_name=text)
    made["verdict"].attrs.update(
        flag_values=np.arange(len(VERDICTS), dtype=np.int8), flag_meanings=" ".join(VERDICTS)
    )
    made.attrs.update(
        title=f"Traction map of {names.robot}",
        robot=names.robot,
        ground=title,
        friction=asked.friction,
        gravity=asked.gravity,
        weight=asked.gravity * float(rover.chain.carried[0]),
        **{f"limit_{name}": value for name, value in asdict(limits or VerdictLimits()).items()},
    )
    return made
