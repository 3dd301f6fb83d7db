"""Checks of an edited scenario: errors of the engine, and a start or goal inside rocks.

The rover is stood on the undisturbed ground with its joints as the model has them: lowest point of
each wheel, or of the whole robot where it has none, and the ground below it touch at the least
clearance. Points of its shapes, at most 4 cm apart, are then looked for in the ellipsoids that
rocks nearly are.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.editor.environment import Environment
from marsyard.scenario.drive import GoalCommand

if TYPE_CHECKING:
    from marsyard.drawing.meshes import Shape
    from marsyard.scenario import Scenario

NEAR = 0.04  # distance of the points of a robot that are tested [m]
STEEP = math.radians(30)


@dataclass(frozen=True)
class Standing:
    """A robot as its model has it: names of bodies, their shapes, places [m] and attitudes about
    the base, and the points of wheels, or of all bodies, that may touch the ground, [n, 3]."""

    names: tuple[str, ...]
    shapes: tuple[tuple[Shape, ...], ...]
    position: np.ndarray
    rotation: np.ndarray
    feet: np.ndarray

    def points(self) -> np.ndarray:
        """Points on all shapes about the base [m], [n, 3]."""
        found = [np.zeros((0, 3))]
        for parts, place, turn in zip(self.shapes, self.position, self.rotation, strict=True):
            for shape in parts:
                local = _dense(shape.vertices, shape.triangles)
                found.append(local @ turn.T + place)
        return np.concatenate(found)


@lru_cache(maxsize=4)
def standing(robot: str) -> Standing:
    """A robot of the library or of a file."""
    import mujoco

    from marsyard.drawing.meshes import body_shapes
    from marsyard.robot import load_robot

    made = load_robot(robot)
    model = made.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    shapes = body_shapes(model)
    base = model.body(made.base).id if made.base else 1
    home, level = data.xpos[base].copy(), data.xmat[base].reshape(3, 3).copy()
    place = {b: (data.xpos[b] - home) @ level for b in shapes}
    turn = {b: level.T @ data.xmat[b].reshape(3, 3) for b in shapes}
    wheels = {model.body(w.body).id for w in made.wheels.values()} & set(shapes)
    feet = [s.vertices @ turn[b].T + place[b] for b in (wheels or set(shapes)) for s in shapes[b]]
    return Standing(
        tuple(model.body(b).name or f"body {b}" for b in shapes),
        tuple(tuple(parts) for parts in shapes.values()),
        np.array([place[b] for b in shapes]),
        np.array([turn[b] for b in shapes]),
        np.concatenate([np.zeros((0, 3)), *feet]),
    )


@lru_cache(maxsize=4)
def _points(robot: str) -> np.ndarray:
    return standing(robot).points()


def stand(environment: Environment) -> tuple[np.ndarray, np.ndarray]:
    """Place [m] and attitude, 3 × 3, of the base of the rover at its start, level on the ground."""
    robot = standing(environment.scenario.robot.name)
    x, y, heading = environment.start
    cos, sin = math.cos(heading), math.sin(heading)
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    feet = robot.feet @ turn.T
    if not len(feet):
        return np.array([x, y, float(environment.relief.height(x, y))]), turn
    ground = environment.relief.height(x + feet[:, 0], y + feet[:, 1])
    return np.array([x, y, float(np.max(ground - feet[:, 2]))]), turn


def check(environment: Environment, full: bool = True) -> list[str]:
    """What keeps the scenario from running or is doubtful, one sentence each; empty: nothing.

    `full` also makes the simulation and puts the rover on the ground, where the engine has been
    compiled before.
    """
    found: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            _build(environment.scenario, full)
        except InputError as error:
            found.append(f"The scenario cannot run: {error}")
    found += [f"{warning.message}" for warning in said if warning.category is UserWarning]
    found += _start(environment)
    found += _too_far(environment)
    return found


def _too_far(environment: Environment) -> list[str]:
    """A goal that cannot be reached within the run's duration, even straight on."""
    scenario, goal = environment.scenario, environment.goal
    commands = scenario.drive.commands if scenario.drive is not None else ()
    speeds = [c.speed for c in commands if isinstance(c, GoalCommand)]
    if goal is None or not speeds or not speeds[-1]:
        return []
    x, y, _ = environment.start
    least = math.hypot(goal[0] - x, goal[1] - y) / speeds[-1]
    if least <= scenario.run.duration:
        return []
    return [
        f"The goal is {least * speeds[-1]:.1f} m away, at {100 * speeds[-1]:.3g} cm/s at least "
        f"{least:.0f} s, but the run ends after {scenario.run.duration:g} s (run.duration)."
    ]


def _build(scenario: Scenario, full: bool) -> None:
    from marsyard.simulation import Simulation, build_world, needs_compiling

    world = build_world(scenario)
    if full and not needs_compiling():
        Simulation(scenario, world)


def _start(environment: Environment) -> list[str]:
    x, y, _ = environment.start
    bounds = environment.relief.bounds
    if bounds and not (bounds[0] <= x <= bounds[1] and bounds[2] <= y <= bounds[3]):
        return [f"The start ({x:.2f}, {y:.2f}) m is outside the ground."]
    found = []
    try:
        rock = rock_in_robot(environment)
    except InputError:
        return []  # the robot cannot be read; said already
    if rock is not None:
        found.append(
            f"The start position is inside a rock at ({rock[0]:.2f}, {rock[1]:.2f}) m; "
            f"move one of them."
        )
    step = 0.3
    dx = environment.relief.height(x + step, y) - environment.relief.height(x - step, y)
    dy = environment.relief.height(x, y + step) - environment.relief.height(x, y - step)
    slope = math.atan(float(np.hypot(dx, dy)) / (2 * step))
    if slope > STEEP:
        found.append(f"The ground at the start is inclined by {math.degrees(slope):.0f}°.")
    goal = environment.goal
    for rock in rocks_of(environment) if goal else ():
        if goal and math.hypot(rock[0] - goal[0], rock[1] - goal[1]) < max(rock[2], rock[3]) / 2:
            found.append(f"The goal ({goal[0]:.2f}, {goal[1]:.2f}) m is on a rock.")
            break
    return found


def rocks_of(environment: Environment) -> np.ndarray:
    """Places x, y [m], length, width [m], heading [rad], height [m] and share buried of all hard
    rocks, [n, 7]."""
    rows = [row for _, row in rocks_with_keys(environment)]
    return np.array(rows).reshape(-1, 7)


def rocks_with_keys(environment: Environment) -> list[tuple[str, np.ndarray]]:
    """The same one by one, each with the key of its item: its own, or that of its field."""
    from marsyard.ground.rocks import layout

    found = []
    for number, ground in enumerate(environment.scenario.ground):
        if ground.kind == "rocks":
            place, numbers, _ = layout(ground, environment.relief.terrain)
            for k, row in enumerate(np.column_stack([place, numbers])):
                own = k < len(ground.rocks)
                key = f"ground.{number}.rocks.{k}" if own else f"ground.{number}.field"
                found.append((key, row))
    return found


def rock_in_robot(environment: Environment) -> tuple[float, float] | None:
    """Place of a rock that the rover at its start would be in [m]; None: there is none."""
    rocks = rocks_of(environment)
    if not len(rocks):
        return None
    place, turn = stand(environment)
    points = _points(environment.scenario.robot.name) @ turn.T + place
    low, high = points.min(axis=0), points.max(axis=0)
    for x, y, length, width, heading, height, buried in rocks:
        reach = max(length, width) / 2
        if not (low[0] - reach < x < high[0] + reach and low[1] - reach < y < high[1] + reach):
            continue
        z = float(environment.relief.height(x, y)) + (0.5 - buried) * height
        away = points - [x, y, z]
        along = math.cos(heading) * away[:, 0] + math.sin(heading) * away[:, 1]
        across = math.cos(heading) * away[:, 1] - math.sin(heading) * away[:, 0]
        inside = (2 * along / length) ** 2 + (2 * across / width) ** 2
        inside += (2 * away[:, 2] / height) ** 2
        if np.any(inside < 0.9):
            return float(x), float(y)
    return None


def _dense(vertices: np.ndarray, triangles: Any) -> np.ndarray:
    """Points on triangles, at most `NEAR` apart along their sides."""
    corner = vertices[triangles]
    side = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).max(axis=1)
    parts = np.clip(np.ceil(side / NEAR), 1, 40).astype(int)
    found = [vertices]
    for n in np.unique(parts[parts > 1]):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
        u, v = i[i + j <= n] / n, j[i + j <= n] / n
        a, b, c = corner[parts == n].transpose(1, 0, 2)[:, :, None]
        found.append((a + u[:, None] * (b - a) + v[:, None] * (c - a)).reshape(-1, 3))
    return np.concatenate(found)
