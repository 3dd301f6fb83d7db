"""Elastic booms in the step: Euler-Bernoulli beams between two bodies, of changing length.

A beam of length L, clamped at its root, with bending stiffness E I, torsion stiffness G J and no
mass. Its tip is displaced across the axis a by w₁ along e₁ and w₂ along e₂, tilted towards e₁ and
e₂ by the slopes φ₁ and φ₂ (turning about a × e₁ and a × e₂), and twisted by ψ. With the cubic shape
of a beam loaded at its ends the strain energy is

    U = ½ Σ_planes E I (12 w²/L³ − 12 w φ/L² + 4 φ²/L) + ½ G J ψ²/L           [J]

so that the generalised forces on (w, φ) of each plane, on ψ and on the length are

    Q = −K(L) q − C q̇,    K = E I [12/L³  −6/L²; −6/L²  4/L],    −(G J/L) (ψ + β ψ̇)
    Q_L = −∂U/∂L = ½ Σ E I (36 w²/L⁴ − 24 w φ/L³ + 4 φ²/L²) + ½ G J ψ²/L²     [N]

Q_L lets a bent beam push its drive outwards: with it, U plus kinetic energy plus the work of the
drive balance while L changes. C = β K is damping in proportion to stiffness. L = length + way of
the extension slide. The axial stiffness is that of the joint that extends (a motor, a spring).

In the Moreau-Jean step q and L are taken at q_m like everything else, K and C act at the end of the
step through M̂ = M + h θ C + h² θ² K, with the off-diagonal entries of each plane; Q_L is explicit.
For θ = ½ and L fixed the discrete work of Q is exactly −ΔU.

Assumptions: small deflections and slopes; the tip's rotations add up as if they were a vector; no
mass between root and tip; no shear deformation; no stiffening or softening by axial load, which is
right as long as the load stays well below Euler's π² E I/(4 L²).

Source: any text on strength of materials, e.g. S. Timoshenko, Strength of materials, part I (1930).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.jit import by_reference, inlined, inner

if TYPE_CHECKING:
    from marsyard.robot import Robot
    from marsyard.robot.beams import Beam

Array = np.ndarray

# columns of dof and qpos
EXTENSION, LATERAL, BENDING, TORSION = 0, 1, 3, 5
# columns of numbers
LENGTH, EI, GJ, BETA = range(4)


@by_reference
class BeamLoop(NamedTuple):
    """What the compiled loop needs; `b` beams."""

    dof: Array  # int64[b, 6]: extension or −1, two lateral, two bending, torsion
    qpos: Array  # int64[b, 6], likewise
    rest: Array  # float64[b, 6], joints where the beam is straight and of its given length
    sense: Array  # float64[b, 2], 1 where the hinge tilts the tip along the slide, else −1
    address: Array  # int64[b, 2], place of (bending, lateral) in the sparse inertia matrix
    numbers: Array  # float64[b, 4]: length, E I, G J, β
    generalised: Array  # float64[nv], forces of the step
    lost: Array  # float64[1], taken by damping since the last record [J]


@inlined
def _at(B, data, b, k):
    # way of joint k of beam b from rest
    return data.qpos[B.qpos[b, k]] - B.rest[b, k]


@inlined
def _length(B, data, b):
    length = B.numbers[b, LENGTH]
    if B.dof[b, EXTENSION] >= 0:
        length += _at(B, data, b, EXTENSION)
    return length


@inner
def apply_beams(model, data, v, h, theta):
    """Forces of all beams at q_m, and their implicit part added to the inertia matrix."""
    B = model.beams
    for i in range(B.generalised.shape[0]):
        B.generalised[i] = 0.0
    for b in range(B.dof.shape[0]):
        L = _length(B, data, b)
        beta = B.numbers[b, BETA]
        # the scheme wants stiffness at q + θ h v, and damping at v
        ahead = (2.0 * theta - 1.0) * h + beta
        implicit = h * theta * beta + h * h * theta * theta
        on_length = 0.0
        for p in range(2):
            i, j = B.dof[b, LATERAL + p], B.dof[b, BENDING + p]
            s = B.sense[b, p]
            w, phi = _at(B, data, b, LATERAL + p), s * _at(B, data, b, BENDING + p)
            ei = B.numbers[b, EI]
            k11 = 12.0 * ei / (L * L * L)
            k12 = -6.0 * ei / (L * L)
            k22 = 4.0 * ei / L
            wa, pa = w + ahead * v[i], phi + ahead * s * v[j]
            B.generalised[i] -= k11 * wa + k12 * pa
            B.generalised[j] -= s * (k12 * wa + k22 * pa)
            data.inertia[model.diagonal[i]] += implicit * k11
            data.inertia[model.diagonal[j]] += implicit * k22
            data.inertia[B.address[b, p]] += implicit * s * k12
            on_length += 0.5 * (3.0 * k11 * w * w + 4.0 * k12 * w * phi + k22 * phi * phi) / L
        i = B.dof[b, TORSION]
        psi = _at(B, data, b, TORSION)
        kt = B.numbers[b, GJ] / L
        B.generalised[i] -= kt * (psi + ahead * v[i])
        data.inertia[model.diagonal[i]] += implicit * kt
        on_length += 0.5 * kt * psi * psi / L
        if B.dof[b, EXTENSION] >= 0:
            B.generalised[B.dof[b, EXTENSION]] += on_length


@inner
def account_for_beams(model, data, v, h, theta):
    """What the damping of the step has taken, once the end velocity is known."""
    B = model.beams
    for b in range(B.dof.shape[0]):
        # the length at q_m, with which the forces of the step were made
        L = _length(B, data, b)
        if B.dof[b, EXTENSION] >= 0:
            L -= theta * h * data.qvel[B.dof[b, EXTENSION]]
        ei = B.numbers[b, EI]
        total = 0.0
        for p in range(2):
            i, j = B.dof[b, LATERAL + p], B.dof[b, BENDING + p]
            s = B.sense[b, p]
            w = v[i] + theta * (data.qvel[i] - v[i])
            phi = s * (v[j] + theta * (data.qvel[j] - v[j]))
            wm, pm = 0.5 * (v[i] + data.qvel[i]), 0.5 * s * (v[j] + data.qvel[j])
            total += 12.0 * ei / (L * L * L) * w * wm + 4.0 * ei / L * phi * pm
            total -= 6.0 * ei / (L * L) * (w * pm + phi * wm)
        i = B.dof[b, TORSION]
        psi = v[i] + theta * (data.qvel[i] - v[i])
        total += B.numbers[b, GJ] / L * psi * 0.5 * (v[i] + data.qvel[i])
        B.lost[0] += h * B.numbers[b, BETA] * total


@inner
def beam_energy(model, data):
    """Strain energy of all beams [J]."""
    B = model.beams
    total = 0.0
    for b in range(B.dof.shape[0]):
        L = _length(B, data, b)
        for p in range(2):
            w = _at(B, data, b, LATERAL + p)
            phi = B.sense[b, p] * _at(B, data, b, BENDING + p)
            shape = 12.0 * w * w / (L * L) - 12.0 * w * phi / L + 4.0 * phi * phi
            total += 0.5 * B.numbers[b, EI] / L * shape
        psi = _at(B, data, b, TORSION)
        total += 0.5 * B.numbers[b, GJ] / L * psi * psi
    return total


# --- building


def build_beams(robot: Robot, model: mujoco.MjModel) -> BeamLoop:
    """The beams of a robot, checked against its model."""
    n = len(robot.beams)
    dof, qpos = np.full((n, 6), -1, dtype=np.int64), np.zeros((n, 6), dtype=np.int64)
    sense, address = np.ones((n, 2)), np.zeros((n, 2), dtype=np.int64)
    numbers = np.zeros((n, 4))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for b, (name, beam) in enumerate(robot.beams.items()):
        where = f"{robot.name}: beams.{name}"
        joints = _joints(model, beam, where)
        slots = range(6) if beam.extension is not None else range(1, 6)
        for slot, j in zip(slots, joints, strict=True):
            dof[b, slot], qpos[b, slot] = model.jnt_dofadr[j], model.jnt_qposadr[j]
        _check_chain(model, dof[b, list(slots)], where)
        sense[b] = _check_axes(model, data, beam, joints, where)
        _check_length(model, beam, joints[0], where)
        for p in range(2):
            address[b, p] = _address(model, int(dof[b, BENDING + p]), int(dof[b, LATERAL + p]))
        numbers[b] = beam.length, beam.bending_stiffness, beam.torsion_stiffness, beam.damping
    rest = np.array(model.qpos0)[qpos] if n else np.zeros((0, 6))
    return BeamLoop(
        dof, qpos, rest, sense, address, numbers, np.zeros(model.nv if n else 0), np.zeros(1)
    )


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
                f"{where}.{field}: '{name}' is no joint of the model; {suggest(name, names)}"
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


def _address(model: mujoco.MjModel, row: int, column: int) -> int:
    start, count = int(model.M_rowadr[row]), int(model.M_rownnz[row])
    return start + [int(c) for c in model.M_colind[start : start + count]].index(column)
