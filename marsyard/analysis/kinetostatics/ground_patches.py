"""Ground drawn below a stance: the given ground, or patches at the contacts.

Contacts in one plane stand on that plane. Others stand on plates, square to their normals. A ground
with `height(x, y)` is drawn as a grid around the robot, a step as its solid (see `climb`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.drawing.layers import slab
from marsyard.drawing.meshes import ROCK, SAND, GroundMesh
from marsyard.ground import Plane, Surface

if TYPE_CHECKING:
    from marsyard.control.placement import Ground

_FLAT = 1e-4  # distance of contacts from a plane [m], and of their normals from its
_STEEP = 0.3  # upward part of a normal below which a plane is a wall
_AROUND = 5.0  # ground drawn beyond the robot [m]
_CELL = 0.06  # of a grid [m]
_THICK = 0.06  # plates, in sizes of the robot


def ground_of(
    stance: Stance, size: float, ground: Ground | Sequence[GroundMesh | Surface] | None = None
) -> tuple[list[Surface], list[GroundMesh]]:
    """Surfaces and meshes to draw below a robot of that size [m]."""
    if ground is None:
        plane = common_plane(stance)
        return ([plane], []) if plane is not None else ([], plates(stance, size))
    if isinstance(ground, Sequence):
        meshes = [g for g in ground if isinstance(g, GroundMesh)]
        return [g for g in ground if not isinstance(g, GroundMesh)], meshes
    return [], [grid_around(stance, ground, size)]


def common_plane(stance: Stance) -> Plane | None:
    """The plane that all contacts lie in and are square to; None if there is none."""
    points = stance.to_world(stance.points)
    normals = stance.in_world(stance.axes[:, 0])
    normal = normals.mean(axis=0)
    normal /= max(float(np.linalg.norm(normal)), 1e-12)
    off = np.abs((points - points.mean(axis=0)) @ normal).max()
    if off > _FLAT or np.abs(normals - normal).max() > _FLAT or normal[2] < _STEEP:
        return None
    return Plane(point=tuple(points.mean(axis=0)), normal=tuple(normal), name="ground")


def plates(stance: Stance, size: float) -> list[GroundMesh]:
    """A plate below each contact, as wide as a wheel."""
    points = stance.to_world(stance.points)
    axes = stance.in_world(stance.axes)
    out = []
    for k, (point, frame) in enumerate(zip(points, axes, strict=True)):
        half = 0.7 * float(stance.radius[k]) or 0.08 * size
        vertices, triangles = slab(point, frame, (half, half), _THICK * size)
        out.append(GroundMesh(vertices, triangles, ROCK, f"plate {k}"))
    return out


def grid_around(stance: Stance, ground: Any, size: float) -> GroundMesh:
    """The ground with `height(x, y)` [m] around the robot."""
    reach = size + _AROUND
    count = int(np.clip(2 * reach / _CELL, 40, 250))
    x, y = (stance.origin[k] + np.linspace(-reach, reach, count) for k in range(2))
    xx, yy = np.meshgrid(x, y)
    z = np.asarray(ground.height(xx.ravel(), yy.ravel()), dtype=float)
    vertices = np.column_stack([xx.ravel(), yy.ravel(), z])
    corner = np.arange(count * count).reshape(count, count)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]
    pairs = [np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))]
    return GroundMesh(vertices, np.concatenate(pairs), SAND[0], "ground")


def step_meshes(height: float, width: float = 1.4, length: float = 3.0) -> list[GroundMesh]:
    """Floor and step {x ≥ 0, z ≤ height} [m], as wide and long as told [m]."""
    up = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    step = slab(np.array([length / 2, 0.0, height]), up, (length / 2, width), height + 0.02)
    # a floor that ends at the step, or both would be drawn at the same place
    floor = slab(np.array([-length / 2, 0.0, 0.0]), up, (length / 2, width), 0.02)
    kinds = ((step, ROCK, "step"), (floor, SAND[0], "floor"))
    return [GroundMesh(mesh[0], mesh[1], colour, name) for mesh, colour, name in kinds]
