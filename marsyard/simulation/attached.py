"""Laws in the step: the engine's side of `interaction.attachments`.

For each attachment the engine keeps the degrees of freedom that move one of its two bodies, its
chain, and the Jacobian J (7 × chain) of the velocity V of the first relative to the second; or of
the rates of joints between them. It
places the attachments, has the laws evaluated by their addresses, adds JᵀF to the forces and h JᵀBJ
to the inertia matrix, and accounts for what has acted: F − B (V⁺ − V).

JᵀBJ couples the dofs of both bodies. Where they lie in one chain MuJoCo's sparse inertia matrix has
a place for that; else the matrix is factored dense (`inertia`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import types

from marsyard.c_calls import int_call, read_double, write_double
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import LARGEST, PRESENT, SUM
from marsyard.interaction.rows import Meetings, Rows
from marsyard.jit import F1, F2, F3, I1, I2, I3, by_reference, inlined, inner

#: how often a step is solved again at most, for laws that correct their bounds
MOST_CORRECTIONS = 3
#: status of a step that a law ends: this times its number from one on, and its answer
LAW = 100
#: columns of Chains.sums, since the last record: impulse (3) and its moment about the point (3) on
#: the first body [N·s, N·m·s], work done on it [J]
SUM_COLUMNS = 7
WORK = 6
# bits of Chains.moves: the dof moves the first body, the second; its rate is a component of V
FIRST, SECOND, RATE = 1, 2, 4


@by_reference
class Chains(NamedTuple):
    """What the engine knows of the attachments; `k` dofs in the longest chain."""

    body: I2  # [n, 2], mujoco's bodies
    root: I2  # [n, 2], mujoco's bodies at the roots of their trees
    frame: F3  # [n, 2, 12], of what touches in its body
    about: I1  # [n], the body whose point it is
    at: F2  # [n, 3], the point in that body's frame
    axle: I1  # [n], mujoco's joint of a wheel's axle, or −1
    wheel: I1  # [n], number of the wheel, or −1
    organ: I1  # [n], number of the foot or track, or −1
    sign: F1  # [n], as `Attachment.sign`
    rate: I2  # [n, 7], the dof whose rate is this component of V, or −1
    coordinate: I2  # [n, 7], its place in qpos, or −1
    scale: F1  # [n], V's last component per its rate
    chain: I2  # [n, k], dofs, ascending
    length: I1  # [n], of the chain
    moves: I2  # [n, k], bits
    address: I3  # [n, k, k], place in the sparse inertia matrix, or −1
    jacobian: F3  # [n, 7, k]
    sums: F2  # [n, SUM_COLUMNS]
    generalised: F1  # [nv], force of all laws
    column: F1  # [7]


@by_reference
class Laws(NamedTuple):
    """The laws of a world, by address; `l` of them, `c` columns that they record."""

    calls: I2  # [l, 6], addresses of their kernels (`interaction.law.CALLS`), or 0
    mine: I1  # [l], address of their attachments
    own: I1  # [l], address of their own arrays
    attached: Attachments  # of all laws
    chains: Chains
    column: I2  # [c, 3], address, how many numbers, kind (`interaction.law.SUM` …)
    rows: Rows  # contacts that laws have added to the problem of the step
    meetings: Meetings


PREPARE, EVALUATE, CORRECT, COMMIT, RELAX, ROWS = range(6)
_call = int_call((types.int64, types.int64, *(types.float64,) * 3, types.int64))


@inlined
def call_law(laws, number, which, time, h, theta, flag):
    """Have a law do something; 0 where it has no kernel for that."""
    address = laws.calls[number, which]
    if address == 0:
        return 0
    return _call(address, laws.mine[number], laws.own[number], time, h, theta, flag)


# --- before the step is solved


@inner
def place(data, laws, v):
    """Poses, Jacobians and velocities of all attachments."""
    A, C = laws.attached, laws.chains
    for n in range(C.body.shape[0]):
        for side in range(2):
            put_frame(data, C.body[n, side], C.frame[n, side], A.pose[n, side])
        b, at, axis = C.body[n, C.about[n]], C.at[n], A.axis[n]
        R = data.xmat[b]
        for k in range(3):
            away = R[3 * k] * at[0] + R[3 * k + 1] * at[1] + R[3 * k + 2] * at[2]
            A.point[n, k] = data.xpos[b, k] + away
        if C.axle[n] >= 0:
            for k in range(3):
                axis[k] = data.xaxis[C.axle[n], k]
        else:
            for k in range(3):
                axis[k] = A.pose[n, 0, 4 + 3 * k]
        for k in range(7):
            if C.coordinate[n, k] >= 0:
                A.coordinate[n, k] = data.qpos[C.coordinate[n, k]]
        relative_motion(data, C, n, A.point[n])
        twist(C, n, v, A.V[n])
        for k in range(7):
            A.start[n, k] = A.V[n, k]


@inlined
def put_frame(data, body, frame, pose):
    """pose = that of the body, then the frame's in it."""
    o, R = data.xpos[body], data.xmat[body]
    for i in range(3):
        pose[i] = o[i] + R[3 * i] * frame[0] + R[3 * i + 1] * frame[1] + R[3 * i + 2] * frame[2]
        for j in range(3):
            pose[3 + 3 * i + j] = (
                R[3 * i] * frame[3 + j] + R[3 * i + 1] * frame[6 + j] + R[3 * i + 2] * frame[9 + j]
            )


@inlined
def relative_motion(data, C, n, point):
    """Jacobian of the first body's velocity relative to the second, from mujoco's motion axes,
    which are about the trees' centres of mass."""
    J = C.jacobian[n]
    for i in range(C.length[n]):
        for k in range(7):
            J[k, i] = 0.0
        moves = C.moves[n, i]
        c = data.cdof[C.chain[n, i]]
        # a dof that carries both moves them alike, to the last digit
        one = moves & (FIRST | SECOND)
        if one != 0 and one != FIRST | SECOND and C.rate[n, 0] < 0:
            side = 0 if one == FIRST else 1
            sign = 1.0 if side == 0 else -1.0
            com = data.com[C.root[n, side]]
            rx, ry, rz = point[0] - com[0], point[1] - com[1], point[2] - com[2]
            J[0, i] = sign * (c[3] + c[1] * rz - c[2] * ry)
            J[1, i] = sign * (c[4] + c[2] * rx - c[0] * rz)
            J[2, i] = sign * (c[5] + c[0] * ry - c[1] * rx)
            J[3, i] = sign * c[0]
            J[4, i] = sign * c[1]
            J[5, i] = sign * c[2]
        if moves & RATE:
            for k in range(7):
                if C.rate[n, k] == C.chain[n, i]:
                    J[k, i] = C.scale[n]


@inlined
def twist(C, n, v, V):
    """V = J v."""
    for k in range(7):
        V[k] = 0.0
    for i in range(C.length[n]):
        rate = v[C.chain[n, i]]
        for k in range(7):
            V[k] += C.jacobian[n, k, i] * rate


@inner
def evaluate_laws(data, laws, v, time, h, theta):
    """Forces of all laws at the present configuration and the velocity v. Returns 0, or the number
    of a law and what it answered; then nothing has happened, except in that law."""
    place(data, laws, v)
    A = laws.attached
    for l in range(laws.calls.shape[0]):
        answer = call_law(laws, l, PREPARE, time, h, theta, 0)
        if answer != 0:
            return (l + 1) * LAW + answer
    for n in range(A.active.shape[0]):
        if A.active[n] != 0:
            A.active[n] = 0
            A.touching[n] = 0
            A.depth[n] = 0.0
            A.F[n, :] = 0.0
            A.B[n, :, :] = 0.0
            A.contact[n, :, :] = 0.0
            A.place[n, :] = math.nan
    for l in range(laws.calls.shape[0]):
        answer = call_law(laws, l, EVALUATE, time, h, theta, 0)
        if answer != 0:
            return (l + 1) * LAW + answer
    generalise(laws)
    return 0


@inner
def generalise(laws):
    """Generalised force of all laws, Σ JᵀF."""
    A, C = laws.attached, laws.chains
    C.generalised[:] = 0.0
    for n in range(A.active.shape[0]):
        if A.active[n] != 0:
            add_force(C, n, A.F[n], 1.0, C.generalised)


@inlined
def add_force(C, n, F, scale, out):
    """out += scale JᵀF."""
    for i in range(C.length[n]):
        total = 0.0
        for k in range(7):
            total += C.jacobian[n, k, i] * F[k]
        out[C.chain[n, i]] += scale * total


@inner
def add_implicit_inertia(model, data, laws, h):
    """M += h Σ JᵀBJ."""
    A, C = laws.attached, laws.chains
    for n in range(A.active.shape[0]):
        if A.active[n] == 0:
            continue
        B, J, g = A.B[n], C.jacobian[n], C.column
        for i in range(C.length[n]):
            for k in range(7):
                total = 0.0
                for j in range(7):
                    total += (B[k, j] if k >= j else B[j, k]) * J[j, i]
                g[k] = h * total
            for j in range(i + 1):
                value = 0.0
                for k in range(7):
                    value += g[k] * J[k, j]
                at = C.address[n, i, j]
                if at >= 0:
                    data.inertia[at] += value
                else:
                    model.tree.coupling[C.chain[n, i], C.chain[n, j]] += value


@inner
def correct_laws(laws, v, time, h, theta, last):
    """Have laws bound their forces by the velocity v found so far; True if the step is to be solved
    again. `last`: bounds may only shrink."""
    A, C = laws.attached, laws.chains
    some = False
    for l in range(laws.calls.shape[0]):
        some = some or laws.calls[l, CORRECT] != 0
    if not some:
        return False
    for n in range(A.active.shape[0]):
        twist(C, n, v, A.V[n])
    changed = 0
    for l in range(laws.calls.shape[0]):
        changed += call_law(laws, l, CORRECT, time, h, theta, 1 if last else 0)
    if changed == 0:
        return False
    generalise(laws)
    return True


# --- after it


@inner
def commit_laws(data, laws, time, h, theta, sums, stats):
    """What has acted, now that the end velocity is known; the laws' states move on."""
    A, C = laws.attached, laws.chains
    for n in range(A.active.shape[0]):
        twist(C, n, data.qvel, A.V[n])
        if A.active[n] != 0:
            for k in range(7):
                change = 0.0
                for j in range(7):
                    B = A.B[n, k, j] if k >= j else A.B[n, j, k]
                    change += B * (A.V[n, j] - A.start[n, j])
                A.F[n, k] -= change
    for l in range(laws.calls.shape[0]):
        call_law(laws, l, COMMIT, time, h, theta, 0)
    for n in range(A.active.shape[0]):
        if A.active[n] != 0:
            account(A, C, n, h, sums)
            stats[0] += A.touching[n]


@inlined
def account(A, C, n, h, sums):
    """Add what an attachment has done to the sums of the next record."""
    F = A.F[n]
    for k in range(6):
        C.sums[n, k] += h * F[k]
    for k in range(7):
        C.sums[n, WORK] += 0.5 * h * F[k] * (A.start[n, k] + A.V[n, k])
    if C.rate[n, 0] < 0:
        add_force(C, n, F, h, sums.reaction)
    sign, w, organ = C.sign[n], C.wheel[n], C.organ[n]
    if sign == 0.0:
        return
    for k in range(3):
        if w >= 0:
            sums.world[w, k] += sign * h * F[k]
        else:
            sums.other[k] += sign * h * F[k]
            if organ >= 0:
                sums.organ[organ, k] += sign * h * F[k]
    if w >= 0:
        for s in range(A.contact.shape[1]):
            sums.normal[w, s] += h * A.contact[n, s, 0]
            sums.tangent[w, s, 0] += h * A.contact[n, s, 1]
            sums.tangent[w, s, 1] += h * A.contact[n, s, 2]
        if not math.isnan(A.place[n, 0]):
            for k in range(3):
                sums.point[w, k] = A.place[n, k]


@inner
def deepest(laws):
    """How deep the deepest point is that touches [m]."""
    depth = 0.0
    for n in range(laws.attached.depth.shape[0]):
        depth = max(depth, laws.attached.depth[n])
    return depth


@inner
def relax_laws(laws, time, h, theta):
    """What happens to the ground by itself after a step."""
    for l in range(laws.calls.shape[0]):
        call_law(laws, l, RELAX, time, h, theta, 0)


@inner
def record_laws(laws, records, row):
    """Write what laws and attachments have summed, and empty the sums."""
    C = laws.chains
    for n in range(C.sums.shape[0]):
        for k in range(SUM_COLUMNS):
            records.attached[row, n, k] = C.sums[n, k]
            C.sums[n, k] = 0.0
    summed = largest = present = coarse = 0
    for c in range(laws.column.shape[0]):
        address, count, kind = laws.column[c, 0], laws.column[c, 1], laws.column[c, 2]
        for i in range(count):
            value = read_double(address, i)
            if kind == SUM:
                records.summed[row, summed + i] = value
            elif kind == LARGEST:
                records.largest[row, largest + i] = value
            elif kind == PRESENT:
                records.present[row, present + i] = value
            else:
                records.coarse[row, coarse + i] = value
            if kind != PRESENT:
                write_double(address, i, 0.0)
        if kind == SUM:
            summed += count
        elif kind == LARGEST:
            largest += count
        elif kind == PRESENT:
            present += count
        else:
            coarse += count
