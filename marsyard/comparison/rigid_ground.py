"""Rigid ground of the shape of a terrain, for laws of rigid contact.

A terrain without layers, or of planes only, becomes a plane. Any other becomes a mesh: its heights
on a square grid, two triangles a cell, cut along the same diagonal. The cells are half a wheel's
radius wide (finer ones change a drive by less than a millimetre and cost much), wider where there
would be more than MOST along a side, and never finer than the soil's grid. The mesh covers the
terrain's bounds; where it has none, a square about the start as far as the wheels can roll: with
the largest speed v = r |ω| of the drives' speed laws and the duration T, half its side is
1.1 v T + 1 m. For a `drive` it is the rectangle about the start and the points of its paths, 2 m
around them, and as far as commands to the motors can roll. Rigid ground is no map to plan on, so a
drive's goals become the paths that are planned to them over the terrain.

Soil that was laid on the terrain (heaps) is left out: it would slide. Rigid contact has no
grousers: wheels that have some get the radius of their tips, on which they roll on hard ground.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.scenario import Scenario, validate

#: cells along a side of the mesh
MOST = 400
#: ground around where the wheels can roll [m]
ROOM = 1.0
#: distance of points along a planned path [m]
_POINTS = 0.25


def make_rigid(data: dict[str, Any], files: Path | None) -> dict[str, Any]:
    """Put rigid ground in place of the terrain in a scenario's data; what was changed, in words.

    files: folder for the mesh.
    """
    changes: dict[str, Any] = {}
    ground = list(data.get("ground") or [])
    for k, part in enumerate(ground):
        if not (isinstance(part, dict) and part.get("kind") == "terrain"):
            continue
        changes |= _plan_goals(data, k)
        rigid, words = _rigid(data, k, files)
        changes[f"ground.{k}"] = words
        ground[k] = rigid
    if changes:
        changes |= _on_tips(data)
        data["ground"] = ground
    return changes


def _plan_goals(data: dict[str, Any], index: int) -> dict[str, Any]:
    """Put planned paths in place of a drive's goals."""
    from marsyard.control.planner import DrivingLimits, plan
    from marsyard.interaction.soft_ground import terrain_of
    from marsyard.scenario.drive import GoalCommand, PathCommand, PostureCommand, WaitCommand

    scenario = _plain(data)
    drive, changes = scenario.drive, {}
    if drive is None or not any(isinstance(c, GoalCommand) for c in drive.commands):
        return {}
    terrain = terrain_of(scenario.ground[index])  # type: ignore[arg-type]
    limits = DrivingLimits(**drive.limits.model_dump())
    commands = list(data["drive"]["commands"])
    here: tuple[float, float] | None = (scenario.robot.position or (0.0, 0.0, 0.0))[:2]
    for k, command in enumerate(drive.commands):
        if isinstance(command, PathCommand):
            here = command.path[-1]
        elif isinstance(command, WaitCommand | PostureCommand):
            continue
        elif not isinstance(command, GoalCommand):
            here = None
        elif here is None:
            raise InputError(
                f"drive.commands.{k}.goal: on rigid ground, a goal cannot be planned after "
                f"commands without a path; give a path instead"
                ""
            )
        else:
            path = plan(terrain, here, command.goal, limits=limits)
            along = np.linspace(0.0, path.length, 1 + math.ceil(path.length / _POINTS))
            rest = command.model_dump(exclude_defaults=True, exclude={"goal"})
            commands[k] = {**rest, "path": path.point(along).tolist()}
            words = f"a path of {path.length:.3g} m, planned over the terrain"
            changes[f"drive.commands.{k}"] = words
            here = command.goal
    data["drive"] = {**data["drive"], "commands": commands}
    return changes


def _on_tips(data: dict[str, Any]) -> dict[str, Any]:
    """Smooth wheels as large as those with grousers."""
    from marsyard.simulation.world import robot_of

    scenario = _plain(data)
    robot = robot_of(scenario)
    tips = {round(_tip(w, scenario), 9) for w in robot.wheels.values()}
    rims = {round(scenario.robot.wheel.radius or w.radius, 9) for w in robot.wheels.values()}
    if tips == rims or len(tips) != 1:
        return {}
    radius = tips.pop()
    own = {**(data["robot"].get("wheel") or {}), "radius": radius, "grousers": "none"}
    data["robot"] = {**data["robot"], "wheel": own}
    return {"robot.wheel.radius": f"{radius:g} m, to the tips of the grousers"}


def _plain(data: dict[str, Any]) -> Scenario:
    """The scenario without what is no concern of shapes, and may be wrong or missing here."""
    plain = {**data, "interaction": {}, "study": None, "report": {}}
    plain["run"] = {**data.get("run", {}), "integrator": "moreau_jean"}
    return validate(plain, "ground")


def _rigid(data: dict[str, Any], index: int, files: Path | None) -> tuple[dict[str, Any], str]:
    from marsyard.interaction.soft_ground import terrain_of

    scenario = _plain(data)
    part = scenario.ground[index]
    terrain = terrain_of(part)  # type: ignore[arg-type]
    plane = _plane(terrain)
    if plane is not None:
        slope, uphill, height = plane
        words = f"a plane, slope {math.degrees(slope):.4g}°" if slope else "a level plane"
        return {
            "kind": "plane", "name": part.name, "through": [0.0, 0.0, height], "slope": slope,
            "uphill": uphill,
        }, words  # fmt: skip
    bounds = terrain.bounds or _reach(scenario)
    spacing = float(part.spacing)  # type: ignore[union-attr]
    xmin, xmax, ymin, ymax = bounds
    spacing = max(spacing, _cell(scenario), (xmax - xmin) / MOST, (ymax - ymin) / MOST)
    if files is None:
        raise InputError("a folder is needed for the mesh of the terrain")
    file = files / f"{part.name}-rigid.ply"
    count = _write_mesh(terrain, bounds, spacing, file)
    words = f"a mesh of {count} triangles, spacing {100 * spacing:.3g} cm"
    return {"kind": "mesh", "name": part.name, "file": str(file.absolute())}, words


def _cell(scenario: Scenario) -> float:
    """Half the radius of the smallest wheel [m]; 2 cm for a robot without wheels."""
    from marsyard.simulation.world import robot_of

    wheels = robot_of(scenario).wheels.values()
    return min((_tip(w, scenario) / 2 for w in wheels), default=0.02)


def _plane(terrain: Any) -> tuple[float, float, float] | None:
    """Slope, heading uphill and height at the origin of a terrain that is a plane."""
    if terrain.bounds is not None:
        return None
    # heights over many scales and odd places: a plane is one everywhere
    r = np.geomspace(1e-2, 1e3, 60)
    angle = 2.399963 * np.arange(len(r))
    x, y = r * np.cos(angle), r * np.sin(angle)
    z = terrain.height(x, y)
    a = np.stack([x, y, np.ones_like(x)], axis=1)
    (p, q, height), *_ = np.linalg.lstsq(a, z, rcond=None)
    if np.abs(a @ [p, q, height] - z).max() > 1e-9 * (1 + np.abs(z).max()):
        return None
    steep = math.hypot(p, q)
    if steep < 1e-12:
        return 0.0, 0.0, float(height) if abs(height) > 1e-12 else 0.0
    return math.atan(steep), math.atan2(q, p), float(height)


def _reach(scenario: Scenario) -> tuple[float, float, float, float]:
    """A square about the start as far as the wheels can roll."""
    from marsyard.simulation.world import robot_of

    robot = robot_of(scenario)
    if scenario.drive is not None:
        return _drive_bounds(scenario, robot)
    speed = _rim_speed(scenario, robot)
    if speed is None:
        raise InputError(
            "rigid ground of this terrain's shape needs bounds, because the distance travelled is "
            "unknown; give the terrain bounds, or control the speed of the drives"
            ""
        )
    half = 1.1 * speed * scenario.run.duration + ROOM
    x, y = (scenario.robot.position or (0.0, 0.0, 0.0))[:2]
    return x - half, x + half, y - half, y + half


def _drive_bounds(scenario: Scenario, robot: Any) -> tuple[float, float, float, float]:
    """The rectangle in which a drive's commands take place."""
    from marsyard.scenario.drive import (
        ArcCommand,
        CrabCommand,
        MotorCommand,
        PathCommand,
        SteerCommand,
    )

    assert scenario.drive is not None
    places = [tuple((scenario.robot.position or (0.0, 0.0, 0.0))[:2])]
    room = 2 * ROOM
    for command in scenario.drive.commands:
        if isinstance(command, PathCommand):
            places += command.path
        elif isinstance(command, MotorCommand):
            rates = command.rate.values() if isinstance(command.rate, dict) else [command.rate]
            tip = max((_tip(w, scenario) for w in robot.wheels.values()), default=0.0)
            room += tip * max(map(abs, rates)) * command.duration
        elif isinstance(command, ArcCommand):
            # no farther than across the circle
            across = 2 / abs(command.arc.bend) if command.arc.bend else np.inf
            room += min(abs(command.arc.distance), across)
        elif isinstance(command, CrabCommand):
            room += command.length
        elif isinstance(command, SteerCommand):
            room += abs(command.steer) * command.duration
    x, y = np.array(places, dtype=float).T
    return (
        float(x.min() - room), float(x.max() + room),
        float(y.min() - room), float(y.max() + room),
    )  # fmt: skip


def _rim_speed(scenario: Scenario, robot: Any) -> float | None:
    """Largest speed of a wheel's rim that the laws of speed ask for [m/s]."""
    from marsyard.control.expression import STACK, compile_expression, evaluate
    from marsyard.control.names import STATE_NAMES

    wheels = {w.joint: w for w in robot.wheels.values()}
    joints = [*wheels, *(j for group in robot.roles.values() for j in group)]
    index = {name: k for k, name in enumerate(dict.fromkeys(joints))}
    found = None
    for law in scenario.control:
        driven = robot.joints_of(law.joints, list(index), "control")
        radii = [_tip(wheels[j], scenario) for j in driven if j in wheels]
        if not radii:
            continue
        if not hasattr(law, "speed"):
            return None
        program = compile_expression(law.speed, index, "control", scenario.parameters)
        state, still = np.zeros(len(STATE_NAMES)), np.zeros(len(index))
        for t in np.linspace(0.0, scenario.run.duration, 101):
            state[STATE_NAMES.index("t")] = t
            rate = evaluate.py_func(
                program.op, program.argument, 0, len(program.op), state, still, still, 0,
                np.zeros(STACK),
            )  # fmt: skip
            found = max(found or 0.0, abs(float(rate)) * max(radii))
    return found


def _tip(wheel: Any, scenario: Scenario) -> float:
    """Radius of a wheel to the tips of its grousers [m]."""
    radius = scenario.robot.wheel.radius or wheel.radius
    change = scenario.robot.wheel.grousers
    lugs = wheel.lug_height
    if change is not None:
        lugs = 0.0 if change == "none" else change.height
    return float(radius + lugs)


def _write_mesh(terrain: Any, bounds: Any, spacing: float, file: Path) -> int:
    """Write the terrain as triangles that face up; how many."""
    import trimesh

    xmin, xmax, ymin, ymax = bounds
    nx, ny = (math.ceil((b - a) / spacing - 1e-9) for a, b in ((xmin, xmax), (ymin, ymax)))
    x, y = np.linspace(xmin, xmax, nx + 1), np.linspace(ymin, ymax, ny + 1)
    grid_x, grid_y = np.meshgrid(x, y, indexing="ij")
    points = np.stack([grid_x, grid_y, terrain.height(grid_x, grid_y)], axis=-1).reshape(-1, 3)
    node = np.arange(points.shape[0]).reshape(nx + 1, ny + 1)
    a, b, c, d = node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]
    faces = np.concatenate(
        [np.stack([a, b, c], axis=-1).reshape(-1, 3), np.stack([a, c, d], axis=-1).reshape(-1, 3)]
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    trimesh.Trimesh(points, faces, process=False).export(file)
    return len(faces)
