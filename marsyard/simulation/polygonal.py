"""Polygonal contact in the engine: the glue between pairs of surfaces and the step.

Before a step `evaluate_polygonal` places both bodies of every pair at the step's configuration and
asks the law (`interaction.polygonal.contact`) for the force F on the body with the faces and its
derivative B, both for the velocity V of that body relative to the other at one point and the rate
at which the other's profile changes. With J the Jacobian of V (that of the one body less that of
the other, 7 × dofs of both chains) the step solves

    (M + … + h Σ JᵀBJ) (v⁺ − v) = h (… + Σ JᵀF)

so that action equals reaction to rounding, whatever is pressed against what. JᵀBJ couples the dofs
of both bodies; where they lie in one chain, MuJoCo's sparse inertia matrix has a place for that,
else the matrix is factored dense (`inertia`). After the step `account_for_polygonal` works out what
has acted, F − B (V⁺ − V), and the law moves its anchors on.

The law is compiled apart from the loop, and only where a world needs it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray, types

from marsyard.interaction.polygonal.contact import (
    OK,
    Q_AREA,
    Q_DEPTH,
    Q_FACES,
    Q_NORMAL,
    Q_NX,
    Q_NY,
    Q_NZ,
    Q_PX,
    Q_PY,
    Q_PZ,
    Q_SLIPPING,
    Q_WORK,
    Pairs,
    Shapes,
    account,
    change_profile,
    evaluate,
    tighten,
)
from marsyard.jit import allocating, callback, kernel
from marsyard.simulation.callables import Aside
from marsyard.simulation.contacts import wheel_frame
from marsyard.simulation.mujoco_c import void_call
from marsyard.simulation.tables import f1, f2, f3, i1, i2

Array = np.ndarray

# columns of PolygonalLoop.sums, between two records: impulse of force (3) and torque (3) on the
# other body in its frame, about its origin; normal impulse; largest depth, area, faces, slipping;
# work taken
(
    S_FX, S_FY, S_FZ, S_MX, S_MY, S_MZ, S_NORMAL, S_DEPTH, S_AREA, S_FACES, S_SLIPPING, S_WORK,
) = range(12)  # fmt: skip
SUM_COLUMNS = 12


class PolygonalLoop(NamedTuple):
    """What the compiled loop needs; `n` pairs, `k` dofs in both chains of a pair."""

    body: Array  # int64[n, 2], mujoco's bodies: with the faces, the other
    root: Array  # int64[n, 2], mujoco's bodies at the roots of their trees
    frame: Array  # float64[n, 2, 12], of the shapes in their bodies
    chain: Array  # int64[n, k], dofs that move one of the two, ascending
    chain_count: Array  # int64[n]
    moves: Array  # int64[n, k], bits: it moves the body with the faces, the other, its profile
    address: Array  # int64[n, k, k], place in the sparse inertia matrix, or −1
    jacobian: Array  # float64[n, 7, k], the last row of a changing profile's rate
    face_pose: Array  # shared with `Pairs`, as are the next six
    other_pose: Array
    centre: Array
    twist: Array
    force: Array
    stiff: Array
    result: Array
    change: Array  # int64[c, 2], profile that changes and the coordinate it changes with
    value: Array  # float64[c]
    sign: Array  # float64[n], 1 if the robot has the faces, −1 if the ground has, 0 between bodies
    joint: Array  # int64[n], mujoco's joint of a wheel's axle, or −1
    wheel: Array  # int64[n], number of the wheel, or −1
    organ: Array  # int64[n], number of the foot, or −1
    surface: Array  # int64[n], number of the ground's surface, or −1
    generalised: Array  # float64[nv]
    sums: Array  # float64[n, SUM_COLUMNS]
    column: Array  # float64[7]
    normal: Array  # float64[3]
    tangents: Array  # float64[3, 3]
    work: Array  # float64[1], taken by all pairs since the last record [J]
    table: Array  # int64[arrays, 5]
    answer: Array  # int64[1]


# --- the law behind plain addresses

_F = types.CPointer(types.float64)
_N = types.CPointer(types.int64)


@allocating
def _shapes(t):
    return Shapes(
        i2(t, 0), f2(t, 1), f2(t, 2), f2(t, 3), i2(t, 4), f2(t, 5), f2(t, 6), f1(t, 7), f1(t, 8),
        f2(t, 9), i1(t, 10), f2(t, 11),
    )  # fmt: skip


@allocating
def _pairs(t):
    return Pairs(
        i1(t, 12), i1(t, 13), i1(t, 14), f2(t, 15), f2(t, 16), i2(t, 17), f2(t, 18), f2(t, 19),
        f2(t, 20), f2(t, 21), f2(t, 22), f3(t, 23), f2(t, 24), i1(t, 25), i2(t, 26), i1(t, 27),
        f2(t, 28), i1(t, 29), f2(t, 30), f1(t, 31), f1(t, 32),
    )  # fmt: skip


@callback(types.void(_N, types.int64, _N, _F, types.int64, types.float64, types.float64, _N))
def polygon_forces(table, tables, change, value, changes, h, theta, answer):
    """`evaluate` of all pairs on plain pointers."""
    t = carray(table, (tables, 5))
    shapes, pairs = _shapes(t), _pairs(t)
    for c in range(changes):
        change_profile(shapes, change[2 * c], value[c])
    answer[0] = OK
    for p in range(pairs.faces.shape[0]):
        status = evaluate(shapes, pairs, p, h, theta)
        if status != OK:
            answer[0] = status


@callback(types.void(_N, types.int64, types.float64, types.float64))
def polygon_account(table, tables, h, theta):
    """`account` of all pairs on plain pointers."""
    pairs = _pairs(carray(table, (tables, 5)))
    for p in range(pairs.faces.shape[0]):
        account(pairs, p, h, theta)


@callback(types.void(_N, types.int64, types.float64, types.float64, types.int64, _N))
def polygon_tighten(table, tables, h, theta, last, answer):
    """`tighten` of all pairs on plain pointers; answers whether anything has changed."""
    pairs = _pairs(carray(table, (tables, 5)))
    answer[0] = 0
    for p in range(pairs.faces.shape[0]):
        if pairs.counts[p, 0] > 0 and tighten(pairs, p, h, theta, last != 0):
            answer[0] = 1


polygonal_aside = Aside(
    "marsyard.simulation.polygonal",
    polygon_forces=polygon_forces,
    polygon_account=polygon_account,
    polygon_tighten=polygon_tighten,
)

_P, _I, _D = types.int64, types.int64, types.float64
_call_forces = void_call((_P, _I, _P, _P, _I, _D, _D, _P))
_call_account = void_call((_P, _I, _D, _D))
_call_tighten = void_call((_P, _I, _D, _D, _I, _P))


# --- in the step


@kernel
def place_shape(data, body, frame, pose):
    """pose = that of the body, then the shape's in it."""
    o, R = data.xpos[body], data.xmat[body]
    for i in range(3):
        pose[i] = o[i] + R[3 * i] * frame[0] + R[3 * i + 1] * frame[1] + R[3 * i + 2] * frame[2]
        for j in range(3):
            pose[3 + 3 * i + j] = (
                R[3 * i] * frame[3 + j] + R[3 * i + 1] * frame[6 + j] + R[3 * i + 2] * frame[9 + j]
            )


@kernel
def relative_motion(P, data, p, v):
    """Jacobian and velocity of the faces' body relative to the other, at the pair's point."""
    J, V = P.jacobian[p], P.twist[p]
    x = P.centre[p]
    for k in range(7):
        V[k] = 0.0
    for i in range(P.chain_count[p]):
        j = P.chain[p, i]
        for k in range(7):
            J[k, i] = 0.0
        c = data.cdof[j]
        for side in range(2):
            if P.moves[p, i] & (1 << side) == 0:
                continue
            sign = 1.0 if side == 0 else -1.0
            com = data.com[P.root[p, side]]
            rx, ry, rz = x[0] - com[0], x[1] - com[1], x[2] - com[2]
            J[0, i] += sign * (c[3] + c[1] * rz - c[2] * ry)
            J[1, i] += sign * (c[4] + c[2] * rx - c[0] * rz)
            J[2, i] += sign * (c[5] + c[0] * ry - c[1] * rx)
            J[3, i] += sign * c[0]
            J[4, i] += sign * c[1]
            J[5, i] += sign * c[2]
        if P.moves[p, i] & 3 == 3:
            # a dof that carries both moves them alike, to the last digit
            for k in range(7):
                J[k, i] = 0.0
        if P.moves[p, i] & 4:
            J[6, i] = 1.0
        for k in range(7):
            V[k] += J[k, i] * v[j]


@kernel
def evaluate_polygonal(F, model, data, P, h, theta, v):
    """Forces of all pairs at the present configuration and velocity v. Returns the law's status."""
    for c in range(P.change.shape[0]):
        P.value[c] = data.qpos[P.change[c, 1]]
    for p in range(P.body.shape[0]):
        place_shape(data, P.body[p, 0], P.frame[p, 0], P.face_pose[p])
        place_shape(data, P.body[p, 1], P.frame[p, 1], P.other_pose[p])
        moving = P.body[p, 0] if P.body[p, 0] > 0 else P.body[p, 1]
        for k in range(3):
            P.centre[p, k] = data.xpos[moving, k]
        relative_motion(P, data, p, v)
    _call_forces(
        F.polygon_forces, P.table.ctypes.data, P.table.shape[0], P.change.ctypes.data,
        P.value.ctypes.data, P.change.shape[0], h, theta, P.answer.ctypes.data,
    )  # fmt: skip
    generalise(model, P)
    return P.answer[0]


@kernel
def generalise(model, P):
    """Generalised force of all pairs."""
    for i in range(model.nv):
        P.generalised[i] = 0.0
    for p in range(P.body.shape[0]):
        if P.result[p, Q_AREA] > 0.0:
            for i in range(P.chain_count[p]):
                total = 0.0
                for k in range(7):
                    total += P.jacobian[p, k, i] * P.force[p, k]
                P.generalised[P.chain[p, i]] += total


@kernel
def twist_at(P, v):
    """Velocity of all pairs at the velocity v, with the Jacobians of this step."""
    for p in range(P.body.shape[0]):
        V = P.twist[p]
        for k in range(7):
            V[k] = 0.0
        for i in range(P.chain_count[p]):
            for k in range(7):
                V[k] += P.jacobian[p, k, i] * v[P.chain[p, i]]


@kernel
def tighten_polygonal(F, model, P, h, theta, v, last):
    """Bound friction by what the faces carry at the velocity v; True if the step is to be solved
    again. `last`: it may only become smaller."""
    twist_at(P, v)
    _call_tighten(
        F.polygon_tighten, P.table.ctypes.data, P.table.shape[0], h, theta, 1 if last else 0,
        P.answer.ctypes.data,
    )  # fmt: skip
    if P.answer[0] == 0:
        return False
    generalise(model, P)
    return True


@kernel
def add_polygonal_inertia(model, data, P, h):
    """M += h Σ JᵀBJ."""
    for p in range(P.body.shape[0]):
        if P.result[p, Q_AREA] == 0.0:
            continue
        B, J, g = P.stiff[p], P.jacobian[p], P.column
        for i in range(P.chain_count[p]):
            for k in range(7):
                total = 0.0
                for j in range(7):
                    total += (B[k, j] if k >= j else B[j, k]) * J[j, i]
                g[k] = h * total
            for j in range(i + 1):
                value = 0.0
                for k in range(7):
                    value += g[k] * J[k, j]
                at = P.address[p, i, j]
                if at >= 0:
                    data.inertia[at] += value
                else:
                    model.tree.coupling[P.chain[p, i], P.chain[p, j]] += value


@kernel
def account_for_polygonal(F, data, P, h, theta, sums):
    """Forces as they have acted, now that the end velocity is known."""
    twist_at(P, data.qvel)
    _call_account(F.polygon_account, P.table.ctypes.data, P.table.shape[0], h, theta)
    for p in range(P.body.shape[0]):
        if P.result[p, Q_AREA] == 0.0:
            continue
        R, S = P.result[p], P.sums[p]
        force = P.force[p]
        P.work[0] += R[Q_WORK]
        S[S_WORK] += R[Q_WORK]
        S[S_NORMAL] += h * R[Q_NORMAL]
        S[S_DEPTH] = max(S[S_DEPTH], R[Q_DEPTH])
        S[S_AREA] = max(S[S_AREA], R[Q_AREA])
        S[S_FACES] = max(S[S_FACES], R[Q_FACES])
        S[S_SLIPPING] = max(S[S_SLIPPING], R[Q_SLIPPING])
        # on the other body, about its origin, in its frame
        o, c = P.other_pose[p], P.centre[p]
        x, y, z = c[0] - o[0], c[1] - o[1], c[2] - o[2]
        fx, fy, fz = force[0], force[1], force[2]
        mx, my, mz = force[3] + y * fz - z * fy, force[4] + z * fx - x * fz, (
            force[5] + x * fy - y * fx
        )  # fmt: skip
        for k in range(3):
            S[S_FX + k] -= h * (o[3 + k] * fx + o[6 + k] * fy + o[9 + k] * fz)
            S[S_MX + k] -= h * (o[3 + k] * mx + o[6 + k] * my + o[9 + k] * mz)
        for i in range(P.chain_count[p]):
            total = 0.0
            for k in range(7):
                total += P.jacobian[p, k, i] * force[k]
            sums.reaction[P.chain[p, i]] += h * total
        if P.surface[p] >= 0:
            add_to_robot(data, P, p, h, sums)


@kernel
def add_to_robot(data, P, p, h, sums):
    """What the ground does to the robot, by wheel and foot."""
    w, s = P.wheel[p], P.surface[p]
    R, force = P.result[p], P.force[p]
    sign = P.sign[p]
    for k in range(3):
        if w >= 0:
            sums.world[w, k] += sign * h * force[k]
        else:
            sums.other[k] += sign * h * force[k]
            if P.organ[p] >= 0:
                sums.organ[P.organ[p], k] += sign * h * force[k]
    if w < 0 or R[Q_NORMAL] <= 0.0:
        return
    n = P.normal
    n[0], n[1], n[2] = sign * R[Q_NX], sign * R[Q_NY], sign * R[Q_NZ]
    size = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) ** 0.5
    if size == 0.0:
        return
    for k in range(3):
        n[k] /= size
    wheel_frame(n, data.xaxis[P.joint[p]], P.tangents)
    sums.normal[w, s] += h * R[Q_NORMAL]
    # tangential: what is not along the faces' own normals
    tx = sign * (force[0] - R[Q_NX])
    ty = sign * (force[1] - R[Q_NY])
    tz = sign * (force[2] - R[Q_NZ])
    for a in range(2):
        t = P.tangents[1 + a]
        sums.tangent[w, s, a] += h * (t[0] * tx + t[1] * ty + t[2] * tz)
    c = P.centre[p]
    sums.point[w, 0] = c[0] + R[Q_PX] / R[Q_NORMAL]
    sums.point[w, 1] = c[1] + R[Q_PY] / R[Q_NORMAL]
    sums.point[w, 2] = c[2] + R[Q_PZ] / R[Q_NORMAL]


@kernel
def record_polygonal(P, records, row):
    """Write the sums of all pairs and empty them."""
    for p in range(P.sums.shape[0]):
        for k in range(SUM_COLUMNS):
            records.pair[row, p, k] = P.sums[p, k]
            P.sums[p, k] = 0.0
