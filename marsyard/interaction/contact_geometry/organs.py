"""Conical wheels and tracks as the contact kernels take them: discs and cylinders on bodies.

A conical wheel is a stack of thin discs of different radii: on plane ground its larger rim touches,
on rocks whichever disc does.

A track on hard ground touches by a disc in the middle of each roller, made larger by the belt's
thickness, and elsewhere by cylinders as wide as the belt: of the rollers, and small ones along the
straight parts between them. These lie 1 mm inside the belt, so that on plane ground the discs alone
carry and the contact problem stays small; a stone or an edge beside the middle or between two
rollers is felt by them. How the weight is shared between more than three rigid rollers is not
determined, as for any rigid body on more than three points.
The surface of a belt moves along itself with r_s ω_s (`robot.contact_bodies`): the contact's
Jacobian has that rate in the column of the sprocket, and the ground's pull turns it.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.interaction.contact_geometry.body_shapes import BodyShapes
from marsyard.interaction.contact_geometry.kinds import CYLINDER, DISC
from marsyard.robot import Robot, Track, Wheel
from marsyard.robot.belt import runs

#: where the discs of a conical wheel stand besides the middle one, in half widths
_SLICES = (-1.0, -0.5, 0.5, 1.0)
#: how far the cylinders between rollers lie inside the belt [m]
_RECESS = 1e-3
#: runs of a belt that face up more than this are not felt
_UPWARDS = 0.5


class Parts(NamedTuple):
    """Shapes beyond one per wheel, see `hard_ground.Wheels`."""

    shapes: BodyShapes
    wheel: np.ndarray
    organ: np.ndarray
    dof: np.ndarray
    radius: np.ndarray


class _Part(NamedTuple):
    body: int
    position: np.ndarray
    axis: np.ndarray
    kind: int
    radius: float
    width: float
    wheel: int = -1
    organ: int = -1
    dof: int = -1
    per_rate: float = 0.0


def organ_bodies(robot: Robot, model: mujoco.MjModel) -> np.ndarray:
    """MuJoCo's bodies of feet, then tracks: the order of the contact bodies in the loop."""
    names = [f.body for f in robot.feet.values()] + [t.body for t in robot.tracks.values()]
    return np.array([model.body(name).id for name in names], dtype=np.int64)


def organ_of_bodies(robot: Robot, model: mujoco.MjModel) -> np.ndarray:
    """Number of the foot that each of MuJoCo's bodies is, or −1. Belts know their tracks; what else
    of a track's frame touches is no track."""
    feet = organ_bodies(robot, model)[: len(robot.feet)]
    made = np.full(model.nbody, -1, dtype=np.int64)
    made[feet] = np.arange(len(feet))
    return made


def is_cone(wheel: Wheel, shape: str | None) -> bool:
    """Whether a wheel is conical; not where the scenario's `shape` makes it something else."""
    return wheel.taper != 0.0 and shape in (None, "cylinder")


def build_parts(robot: Robot, model: mujoco.MjModel, shape: str | None = None) -> Parts:
    """All parts of a robot; `shape` is that which the scenario gives all wheels."""
    rows: list[_Part] = []
    for k, wheel in enumerate(robot.wheels.values()):
        if is_cone(wheel, shape):
            axis = np.array(model.jnt_axis[model.joint(wheel.joint).id])
            for share in _SLICES:
                off = share * wheel.width / 2
                rows.append(
                    _Part(
                        model.body(wheel.body).id,
                        off * axis,
                        axis,
                        DISC,
                        wheel.radius + wheel.taper * off,
                        0.0,
                        wheel=k,
                    )  # fmt: skip
                )
    for k, track in enumerate(robot.tracks.values()):
        rows += _belt(track, model, len(robot.feet) + k)
    return Parts(
        BodyShapes(
            body=np.array([r.body for r in rows], dtype=np.int64),
            position=np.array([r.position for r in rows], dtype=float).reshape(-1, 3),
            axis=np.array([r.axis for r in rows], dtype=float).reshape(-1, 3),
            kind=np.array([r.kind for r in rows], dtype=np.int64),
            radius=np.array([r.radius for r in rows], dtype=float),
            width=np.array([r.width for r in rows], dtype=float),
        ),
        wheel=np.array([r.wheel for r in rows], dtype=np.int64),
        organ=np.array([r.organ for r in rows], dtype=np.int64),
        dof=np.array([r.dof for r in rows], dtype=np.int64),
        radius=np.array([r.per_rate for r in rows], dtype=float),
    )


def _belt(track: Track, model: mujoco.MjModel, organ: int) -> list[_Part]:
    body = model.body(track.body).id
    dof = int(model.jnt_dofadr[model.joint(track.joint).id])
    half = track.width / 2
    rest = (organ, dof, track.pitch_radius)

    def part(x: float, z: float, radius: float, kind: int = CYLINDER) -> _Part:
        place, axis = np.array([x, track.y, z]), np.array([0.0, 1.0, 0.0])
        return _Part(body, place, axis, kind, radius, half, -1, *rest)

    rows = []
    for r in track.rollers:
        outside = r.radius + track.thickness
        rows.append(part(r.x, r.z, outside, DISC))
        rows.append(part(r.x, r.z, outside - _RECESS))
    small = 0.5 * min(r.radius for r in track.rollers)
    for run in runs(track):
        if run.normal[1] > _UPWARDS:
            continue
        count = int(np.ceil(run.length / small))
        for share in (np.arange(count) + 0.5) / count:
            x, z = run.start + share * (run.end - run.start) - (small + _RECESS) * run.normal
            rows.append(part(x, z, small))
    return rows
