"""Hard ground as contact geometry sees it: its surfaces, and what of a robot may touch them.

A resource that laws share, as `soft_ground` is that of soil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.ground import GroundArrays, Surface, pack
from marsyard.interaction.about import law_of_hard_ground
from marsyard.interaction.contact_geometry import WHEEL_KINDS
from marsyard.interaction.contact_geometry.body_shapes import BodyShapes, body_shapes, mesh_ground
from marsyard.interaction.contact_geometry.callbacks import ground_table
from marsyard.interaction.contact_geometry.organs import Parts, build_parts, is_cone
from marsyard.jit import F1, I1, I2, by_reference
from marsyard.robot import Robot, Wheel
from marsyard.scenario.schema import Scenario


@by_reference
class Wheels(NamedTuple):
    """Bodies, axes and shapes of the wheels, and what else touches hard ground."""

    body: I1
    joint: I1  # mujoco's joint number
    dof: I1
    qpos: I1
    kind: I1
    radius: F1  # [m]
    width: F1  # half of it [m]
    shapes: BodyShapes  # colliding shapes of other bodies, for mesh grounds
    parts: BodyShapes  # further discs of conical wheels, rollers of tracks, on every ground
    part_wheel: I1  # wheel they belong to, or −1
    part_organ: I1  # track they belong to among the contact bodies, or −1
    part_dof: I1  # degree of freedom that moves the belt, or −1
    part_radius: F1  # belt speed per rate of it [m]
    bodies: I1  # those whose shapes above meet the ground, each once
    extent: F1  # how far the shapes reach from their body's origin [m]
    meshes: I2  # table of the mesh grounds alone
    mesh_surface: I1  # their numbers among all surfaces


@dataclass(frozen=True)
class HardGround:
    """The surfaces of a scenario, packed, and the shapes of its robot.

    Attributes:
        table: addresses of the packed surfaces, as contact geometry takes them.
        wheels: what may touch them.
        kept: what the tables point into.
    """

    surfaces: tuple[Surface, ...]
    table: np.ndarray
    wheels: Wheels
    kept: tuple[GroundArrays, ...]


def hard_ground(
    scenario: Scenario, robot: Robot, model: mujoco.MjModel, surfaces: tuple[Surface, ...]
) -> HardGround:
    """The hard ground of a scenario; `surfaces` as its layout says."""
    law = law_of_hard_ground(scenario)
    packed = pack(surfaces, law.walls)
    meshes, numbers = mesh_ground(surfaces)
    shapes = body_shapes(model, surfaces if law.places_as_rigid else ())
    parts = build_parts(robot, model, scenario.robot.wheel_shape)
    wheels = _wheels(
        robot, model, scenario.robot.wheel_shape, parts, shapes, ground_table(meshes), numbers
    )
    return HardGround(surfaces, ground_table(packed), wheels, (packed, meshes))


def _wheels(
    robot: Robot,
    m: mujoco.MjModel,
    shape: str | None,
    parts: Parts,
    shapes: BodyShapes,
    meshes: np.ndarray,
    numbers: np.ndarray,
) -> Wheels:
    """What touches; `meshes` is the table of the ground's meshes, `numbers` their surfaces."""
    wheels = list(robot.wheels.values())
    ids = [m.joint(w.joint).id for w in wheels]
    bodies = [m.body(w.body).id for w in wheels]
    extent: dict[int, float] = {}
    for b, w in zip(bodies, wheels, strict=True):
        extent[b] = max(extent.get(b, 0.0), w.radius + w.width)
    for rows in (parts.shapes, shapes):
        reach = np.linalg.norm(rows.position, axis=1) + rows.radius + rows.width
        for b, r in zip(rows.body, reach, strict=True):
            extent[int(b)] = max(extent.get(int(b), 0.0), float(r))
    return Wheels(
        body=np.array(bodies, dtype=np.int64),
        joint=np.array(ids, dtype=np.int64),
        dof=np.array([m.jnt_dofadr[j] for j in ids], dtype=np.int64),
        qpos=np.array([m.jnt_qposadr[j] for j in ids], dtype=np.int64),
        kind=np.array([_kind(w, shape) for w in wheels], dtype=np.int64),
        radius=np.array([w.radius for w in wheels], dtype=float),
        width=np.array([w.width / 2 for w in wheels], dtype=float),
        shapes=shapes, parts=parts.shapes, part_wheel=parts.wheel,
        part_organ=parts.organ, part_dof=parts.dof, part_radius=parts.radius,
        bodies=np.array(list(extent), dtype=np.int64), extent=np.array(list(extent.values())),
        meshes=meshes, mesh_surface=numbers,
    )  # fmt: skip


def _kind(wheel: Wheel, shape: str | None) -> int:
    """The contact kernels' number for a wheel's shape; of a cone, its middle disc."""
    if is_cone(wheel, shape):
        return WHEEL_KINDS["disc"]
    return WHEEL_KINDS[shape or wheel.shape]


def by_surface(scenario: Scenario, surfaces: tuple[Surface, ...], field: str) -> np.ndarray:
    """A number of the interaction for each surface, and at the end between bodies."""
    law = scenario.interaction
    values = []
    for surface in surfaces:
        own = getattr(law.surfaces.get(surface.name), field, None)
        values.append(getattr(law, field) if own is None else own)
    return np.array([*values, getattr(law, field)], dtype=float)
