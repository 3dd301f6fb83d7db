"""The elastic booms of a robot in a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.interaction import about
from marsyard.interaction.attachments import Attachment
from marsyard.interaction.beam.kernels import (
    BENDING,
    BETA,
    EI,
    EXTENSION,
    GJ,
    LATERAL,
    LENGTH,
    TORSION,
    Arrays,
    kernels,
)
from marsyard.interaction.law import Law, Recorded, Variable

if TYPE_CHECKING:
    from marsyard.interaction.place import Place
    from marsyard.robot import Robot
    from marsyard.robot.beams import Beam

Array = np.ndarray


class Beams(Law):
    """All beams of a robot."""

    name = "beam"
    title = "Booms"
    kernels = kernels
    passive = stores = True
    shown = False

    def __init__(self, robot: Robot, model: mujoco.MjModel) -> None:
        n = len(robot.beams)
        self.attachments: list[Attachment] = []
        self._places = np.full((n, 6), -1, dtype=np.int64)
        arrays = Arrays(np.zeros((n, 6)), np.ones((n, 2)), np.zeros((n, 4)))
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        for b, (name, beam) in enumerate(robot.beams.items()):
            where = f"{robot.name}: beams.{name}"
            joints = _joints(model, beam, where)
            _check_chain(model, model.jnt_dofadr[joints], where)
            arrays.sense[b] = _check_axes(model, data, beam, joints, where)
            _check_length(model, beam, joints[0], where)
            arrays.numbers[b] = (
                beam.length, beam.bending_stiffness, beam.torsion_stiffness, beam.damping
            )  # fmt: skip
            # as components of V: the extension, if there is one, comes last
            moved = [*joints[-5:], *joints[:-5]]
            self._places[b, : len(moved)] = model.jnt_qposadr[moved]
            arrays.rest[b, : len(moved)] = model.qpos0[self._places[b, : len(moved)]]
            bodies = (int(model.jnt_bodyid[joints[-1]]), int(model.jnt_bodyid[joints[0]]))
            root = int(model.body_parentid[bodies[1]])
            self.attachments.append(
                Attachment(name, (bodies[0], root), sign=0.0, joints=tuple(moved))
            )
        self.arrays = arrays

    def stored(self, coordinates: Array) -> Array:
        """Strain energy of all beams."""
        A = self.arrays
        q = np.where(self._places >= 0, coordinates[:, self._places] - A.rest, 0.0)
        length = A.numbers[:, LENGTH] + q[..., EXTENSION]
        w, phi = q[..., LATERAL : LATERAL + 2], A.sense * q[..., BENDING : BENDING + 2]
        L = length[..., None]
        shape = np.sum(12.0 * (w / L) ** 2 - 12.0 * w * phi / L + 4.0 * phi**2, axis=-1)
        twist = q[..., TORSION] ** 2
        return np.sum(0.5 * (A.numbers[:, EI] * shape + A.numbers[:, GJ] * twist) / length, axis=-1)

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """What damping has taken: work that is not stored."""
        stored = self.stored(seen.coordinates)
        taken = -np.cumsum(seen.work.sum(axis=1)) - (stored - stored[:1])
        text = "work dissipated by the damping of beams since the start"
        return {"energy_beams": Variable((), taken, "J", text)}

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Stiffness and damping of each beam."""
        units = {LENGTH: "m", EI: "N·m²", GJ: "N·m²", BETA: "s"}
        words = {LENGTH: "length", EI: "E I", GJ: "G J", BETA: "damping β"}
        return [
            (f"{words[k]} of {a.name}", float(self.arrays.numbers[n, k]), units[k])
            for n, a in enumerate(self.attachments)
            for k in words
        ]


def build_law(place: Place) -> Beams | None:
    """The beams of the robot, checked against its model; None if it has none."""
    if not place.robot.beams:
        return None
    integrator = place.scenario.run.integrator
    if integrator not in about.OURS:
        raise InputError(
            f"run.integrator: '{integrator}' "
            f"is MuJoCo's and does not support the beams of {place.robot.name}; use {about.OURS[0]}"
        )
    return Beams(place.robot, place.model)


def _joints(model: mujoco.MjModel, beam: Beam, where: str) -> list[int]:
    """MuJoCo's numbers of the beam's joints, which must be there and of the right kind."""
    slide, hinge = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)
    names = [model.joint(j).name for j in range(model.njnt)]
    slides = (beam.extension, *beam.lateral)
    out = []
    for name in beam.joints:
        field = next(f for f in ("extension", "lateral", "bending", "torsion")
                     if name in (getattr(beam, f) or ()) or name == getattr(beam, f))  # fmt: skip
        if name not in names:
            raise InputError(
                f"{where}.{field}: '{name}' is not a joint of the model; {suggest(name, names)}"
            )
        j = names.index(name)
        wanted = slide if name in slides else hinge
        if int(model.jnt_type[j]) != wanted:
            kind = "slide" if wanted == slide else "hinge"
            raise InputError(f"{where}.{field}: joint '{name}' must be a {kind}")
        out.append(j)
    return out


def _check_chain(model: mujoco.MjModel, dofs: Array, where: str) -> None:
    """Slides before hinges, all in one chain from root to tip."""
    order = [*dofs[:-5], *sorted(dofs[-5:-3]), *sorted(dofs[-3:])]
    if sorted(order) != order:
        raise InputError(
            f"{where}: its joints must follow each other from root to tip: extension, lateral "
            "slides, then the hinges"
        )
    for upper, lower in zip(order, order[1:], strict=False):
        above = int(model.dof_parentid[lower])
        while above > upper:
            above = int(model.dof_parentid[above])
        if above != upper:
            raise InputError(f"{where}: its joints must lie in one chain of bodies, root to tip")


def _check_axes(
    model: mujoco.MjModel, data: mujoco.MjData, beam: Beam, joints: list[int], where: str
) -> tuple[float, float]:
    """Axes at right angles, hinges at one point; 1 or −1 for the sense of each bending hinge."""
    axes = [data.xaxis[j] for j in joints]
    e, bend, along = axes[-5:-3], axes[-3:-1], axes[-1]
    if beam.extension is not None and axes[0] @ along < 1 - 1e-9:
        raise InputError(
            f"{where}.torsion: the axis of '{beam.torsion}' must be that of '{beam.extension}', "
            "which makes the beam longer"
        )
    if max(abs(e[0] @ e[1]), abs(e[0] @ along), abs(e[1] @ along)) > 1e-6:
        raise InputError(
            f"{where}.lateral: the axes of {beam.lateral[0]}, {beam.lateral[1]} and of the torsion "
            "must be at right angles"
        )
    senses = [float(b @ np.cross(along, s)) for b, s in zip(bend, e, strict=True)]
    for p, sense in enumerate(senses):
        if abs(sense) < 1 - 1e-9:
            raise InputError(
                f"{where}.bending: '{beam.bending[p]}' must turn in the plane of the beam and of "
                f"'{beam.lateral[p]}'; are the two hinges in the other order?"
            )
    tip = [data.xanchor[j] for j in joints[-3:]]
    if max(np.linalg.norm(tip[0] - tip[1]), np.linalg.norm(tip[0] - tip[2])) > 1e-9:
        raise InputError(f"{where}: bending and torsion hinges must meet in one point, the tip")
    return float(np.sign(senses[0])), float(np.sign(senses[1]))


def _check_length(model: mujoco.MjModel, beam: Beam, extension: int, where: str) -> None:
    """The stops of the extension keep the beam from vanishing."""
    if beam.extension is None:
        return
    lowest = float(model.jnt_range[extension, 0] - model.qpos0[model.jnt_qposadr[extension]])
    if not model.jnt_limited[extension] or beam.length + lowest <= 0:
        raise InputError(
            f"{where}.extension: joint '{beam.extension}' needs a range that keeps the length, "
            f"{beam.length:g} m in the reference pose, above 0"
        )
