"""Momentum of what floats freely.

Where nothing outside acts (no gravity, no ground, every tree on a free joint) linear momentum P and
angular momentum L about the common centre of mass do not change. Contacts, loops and motors act in
pairs, so that a step changes P and L only by what its discretisation leaves, O(h³). That much is
taken out again at the end of each step by moving the whole system as one rigid body: with the mass
m, inertia I about the centre of mass c and what is missing, ΔP and ΔL,

    v = ΔP/m,    ω = I⁻¹ ΔL

is added to the velocity of every tree at its root, v + ω × (x − c). Momentum is so kept to rounding
for as long as a run lasts; energy changes by O(h³) a step.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.jit import kernel
from marsyard.scenario.schema import Scenario
from marsyard.simulation.mujoco_c import call_md


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


def free_roots(model: mujoco.MjModel) -> np.ndarray:
    """Body and first degree of freedom of every tree on a free joint, int64[trees, 2]."""
    free = mujoco.mjtJoint.mjJNT_FREE
    rows = [
        (int(model.jnt_bodyid[j]), int(model.jnt_dofadr[j]))
        for j in range(model.njnt)
        if int(model.jnt_type[j]) == free
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


@kernel
def measure_momentum(F, m, d, data, out):
    """Linear and angular momentum of everything at the present state, into `out`."""
    call_md(F.kinematics, m, d)
    call_md(F.com_pos, m, d)
    call_md(F.com_vel, m, d)
    call_md(F.subtree_vel, m, d)
    for k in range(3):
        out[k] = data.mass[0] * data.com_velocity[0, k]
        out[3 + k] = data.angular_momentum[0, k]


@kernel
def restore_momentum(F, m, d, model, data, work):
    """Give the system the momentum work.momentum, by a motion as one rigid body."""
    now, missing = work.momentum[1], work.momentum[2]
    measure_momentum(F, m, d, data, now)
    for k in range(6):
        missing[k] = work.momentum[0, k] - now[k]
    c = data.com[0]
    # inertia about c: of the bodies about their tree's centre, and of the trees
    xx = yy = zz = xy = xz = yz = 0.0
    for b in range(1, model.tree.body.shape[0]):
        i = model.tree.body[b]
        xx += i[0]
        yy += i[1]
        zz += i[2]
        xy += i[3]
        xz += i[4]
        yz += i[5]
    for r in range(model.roots.shape[0]):
        b = model.roots[r, 0]
        mass = data.mass[b]
        x, y, z = data.com[b, 0] - c[0], data.com[b, 1] - c[1], data.com[b, 2] - c[2]
        xx += mass * (y * y + z * z)
        yy += mass * (x * x + z * z)
        zz += mass * (x * x + y * y)
        xy -= mass * x * y
        xz -= mass * x * z
        yz -= mass * y * z
    # ω = I⁻¹ ΔL by cofactors
    a, b_, e = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    det = xx * a + xy * b_ + xz * e
    lx, ly, lz = missing[3], missing[4], missing[5]
    f, g, k_ = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    wx = (a * lx + b_ * ly + e * lz) / det
    wy = (b_ * lx + f * ly + g * lz) / det
    wz = (e * lx + g * ly + k_ * lz) / det
    vx, vy, vz = missing[0] / data.mass[0], missing[1] / data.mass[0], missing[2] / data.mass[0]
    for r in range(model.roots.shape[0]):
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
