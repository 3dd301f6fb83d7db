"""Momentum of what floats freely.

Where nothing outside acts (no gravity, no ground, every tree on a free joint) linear momentum P and
angular momentum L of all trees that may touch each other do not change; L counts about their common
centre of mass. Contacts, loops and motors act in pairs, so that a step changes P and L only by what
its discretisation leaves, O(h³). That much is taken out again at the end of each step by moving
each such group as one rigid body: with the mass m, inertia I about the centre of mass c and what is
missing, ΔP and ΔL,

    v = ΔP/m,    ω = I⁻¹ ΔL

is added to the velocity of every tree at its root, v + ω × (x − c). Momentum is so kept to rounding
for as long as a run lasts; energy changes by O(h³) a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from marsyard.jit import inner
from marsyard.simulation.mujoco_c import call_md

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario


def floats_freely(model: mujoco.MjModel, scenario: Scenario) -> bool:
    """Nothing outside acts on the robot."""
    if scenario.gravity != 0.0 or scenario.ground or scenario.tethers or model.ntendon:
        return False
    free = mujoco.mjtJoint.mjJNT_FREE
    roots = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
    for b in roots:
        first = int(model.body_jntadr[b])
        if first < 0 or int(model.jnt_type[first]) != free:
            return False
        dofs = slice(int(model.jnt_dofadr[first]), int(model.jnt_dofadr[first]) + 6)
        if np.any(model.dof_damping[dofs] != 0.0) or model.jnt_stiffness[first] != 0.0:
            return False
    return bool(roots) and model.opt.viscosity == 0.0 and model.opt.density == 0.0


def free_roots(
    model: mujoco.MjModel, touching: list[tuple[int, int]], any_touch: bool
) -> np.ndarray:
    """Body, first degree of freedom and group of every tree on a free joint, int64[trees, 3].

    touching: pairs of bodies that may touch; any_touch: all may."""
    free = mujoco.mjtJoint.mjJNT_FREE
    rows = [
        [int(model.jnt_bodyid[j]), int(model.jnt_dofadr[j]), 0]
        for j in range(model.njnt)
        if int(model.jnt_type[j]) == free
    ]
    group = {row[0]: 0 if any_touch else k for k, row in enumerate(rows)}
    for pair in touching:
        a, b = (group.get(int(model.body_rootid[body]), 0) for body in pair)
        group = {root: (a if g == b else g) for root, g in group.items()}
    names = sorted(set(group.values()))
    for row in rows:
        row[2] = names.index(group[row[0]])
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def group_of_bodies(model: mujoco.MjModel, roots: np.ndarray) -> np.ndarray:
    """Group of the tree of every body, or −1."""
    made = np.full(model.nbody, -1, dtype=np.int64)
    for body, _, group in roots:
        made[np.array(model.body_rootid) == body] = group
    return made


@inner
def update_motion(F, m, d):
    """Everything that momentum needs of the present state."""
    call_md(F.kinematics, m, d)
    call_md(F.com_pos, m, d)
    call_md(F.com_vel, m, d)
    call_md(F.subtree_vel, m, d)


@inner
def measure_group(model, data, g, out, centre):
    """Mass of group g of trees; its momentum into `out`, its centre of mass into `centre`."""
    mass = 0.0
    for k in range(3):
        centre[k] = 0.0
        out[k] = 0.0
        out[3 + k] = 0.0
    for r in range(model.roots.shape[0]):
        if model.roots[r, 2] == g:
            b = model.roots[r, 0]
            mass += data.mass[b]
            for k in range(3):
                centre[k] += data.mass[b] * data.com[b, k]
                out[k] += data.mass[b] * data.com_velocity[b, k]
    for k in range(3):
        centre[k] /= mass
    for r in range(model.roots.shape[0]):
        if model.roots[r, 2] == g:
            b = model.roots[r, 0]
            x, y, z = data.com[b, 0] - centre[0], data.com[b, 1] - centre[1], (
                data.com[b, 2] - centre[2]
            )  # fmt: skip
            px, py, pz = (
                data.mass[b] * data.com_velocity[b, 0],
                data.mass[b] * data.com_velocity[b, 1],
                data.mass[b] * data.com_velocity[b, 2],
            )
            out[3] += data.angular_momentum[b, 0] + y * pz - z * py
            out[4] += data.angular_momentum[b, 1] + z * px - x * pz
            out[5] += data.angular_momentum[b, 2] + x * py - y * px
    return mass


@inner
def is_as_left(model, data, work):
    """Whether nobody has changed the state since the loop left it (`leave_state`)."""
    same = True
    for i in range(model.nq):
        same = same and work.left[i] == data.qpos[i]
    for i in range(model.nv):
        same = same and work.left[model.nq + i] == data.qvel[i]
    return same


@inner
def leave_state(model, data, work):
    """Note the state, so that the next steps keep the same momentum to the last digit, however
    many the loop takes at once."""
    for i in range(model.nq):
        work.left[i] = data.qpos[i]
    for i in range(model.nv):
        work.left[model.nq + i] = data.qvel[i]


@inner
def measure_momentum(F, m, d, model, data, work):
    """Momentum of every group at the present state, as that to be kept."""
    update_motion(F, m, d)
    for g in range(work.momentum.shape[0]):
        measure_group(model, data, g, work.momentum[g, 0], work.momentum[g, 2])


@inner
def restore_momentum(F, m, d, model, data, work):
    """Give every group the momentum it is to keep, by a motion as one rigid body."""
    update_motion(F, m, d)
    for g in range(work.momentum.shape[0]):
        restore_group(model, data, g, work.momentum[g])


@inner
def restore_group(model, data, g, momentum):
    """`restore_momentum` of one group."""
    missing, c = momentum[1], momentum[2]
    mass = measure_group(model, data, g, missing, c)
    for k in range(6):
        missing[k] = momentum[0, k] - missing[k]
    # inertia about c: of the bodies about their tree's centre, and of the trees
    xx = yy = zz = xy = xz = yz = 0.0
    for b in range(1, model.tree.body.shape[0]):
        if model.body_group[b] == g:
            i = model.tree.body[b]
            xx += i[0]
            yy += i[1]
            zz += i[2]
            xy += i[3]
            xz += i[4]
            yz += i[5]
    for r in range(model.roots.shape[0]):
        if model.roots[r, 2] == g:
            b = model.roots[r, 0]
            x, y, z = data.com[b, 0] - c[0], data.com[b, 1] - c[1], data.com[b, 2] - c[2]
            xx += data.mass[b] * (y * y + z * z)
            yy += data.mass[b] * (x * x + z * z)
            zz += data.mass[b] * (x * x + y * y)
            xy -= data.mass[b] * x * y
            xz -= data.mass[b] * x * z
            yz -= data.mass[b] * y * z
    # ω = I⁻¹ ΔL by cofactors
    a, e, f = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    det = xx * a + xy * e + xz * f
    lx, ly, lz = missing[3], missing[4], missing[5]
    h, p, q = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    wx = (a * lx + e * ly + f * lz) / det
    wy = (e * lx + h * ly + p * lz) / det
    wz = (f * lx + p * ly + q * lz) / det
    vx, vy, vz = missing[0] / mass, missing[1] / mass, missing[2] / mass
    for r in range(model.roots.shape[0]):
        if model.roots[r, 2] != g:
            continue
        b, i = model.roots[r, 0], model.roots[r, 1]
        o, R = data.xpos[b], data.xmat[b]
        x, y, z = o[0] - c[0], o[1] - c[1], o[2] - c[2]
        data.qvel[i] += vx + wy * z - wz * y
        data.qvel[i + 1] += vy + wz * x - wx * z
        data.qvel[i + 2] += vz + wx * y - wy * x
        # angular velocity counts in the body's frame
        data.qvel[i + 3] += R[0] * wx + R[3] * wy + R[6] * wz
        data.qvel[i + 4] += R[1] * wx + R[4] * wy + R[7] * wz
        data.qvel[i + 5] += R[2] * wx + R[5] * wy + R[8] * wz
