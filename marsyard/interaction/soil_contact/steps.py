"""What laws of bodies on nodes do in a step, whatever the stress on a node.

Their tuples of arrays have the fields of `kernels.SoilArrays`; others may follow.
"""

from __future__ import annotations

import math

from marsyard.interaction.soil_contact.arrays import (
    F_ACROSS,
    F_ALONG,
    F_AREA,
    F_PRESSURE,
    F_X,
    F_Y,
    F_Z,
    Options,
)
from marsyard.interaction.soil_contact.side_wall import take_slip
from marsyard.interaction.soil_kernels import (
    T_NODES,
    add_to_sums,
    note_way,
    put_under_axle,
    unpack_wheel,
)
from marsyard.jit import inlined, inner

#: stresses are worked out in every so many steps
SURVEY = 16


@inlined
def begin_step(A, S, time, h, theta):
    """Take the bodies' rotations. Returns the numbers of the step."""
    for b in range(S.wheel.shape[0]):
        for k in range(9):
            S.bodies.rotation[b, k] = A.pose[b, 0, 3 + k]
    survey = 1 if S.evaluations[0] % SURVEY == 0 else 0
    return Options(h, theta * h, time, S.flows[0], survey)


@inlined
def hand_over(A, S):
    """Tell the engine which bodies touch, and the derivatives of their forces."""
    for b in range(S.wheel.shape[0]):
        if S.patch.total[b, T_NODES] > 0.0:
            A.active[b] = 1
            if S.wheel[b] >= 0:
                unpack_wheel(S.patch.stiff[b], A.axis[b], A.B[b])
            else:
                unpack_body(S.patch.stiff[b], A.B[b])


@inner
def unpack_body(packed, B):
    """The derivative of the force on a body that is no wheel, with its belt's speed."""
    B[0, 0], B[1, 0], B[2, 0] = packed[0], packed[1], packed[2]
    B[1, 1], B[2, 1], B[2, 2] = packed[3], packed[4], packed[5]
    for i in range(3):
        for j in range(3):
            B[3 + j, i] = packed[10 + 3 * i + j]
        B[6, i] = packed[6 + i]
        B[6, 3 + i] = packed[25 + i]
    B[3, 3], B[4, 3], B[5, 3] = packed[19], packed[20], packed[21]
    B[4, 4], B[5, 4], B[5, 5] = packed[22], packed[23], packed[24]
    B[6, 6] = packed[9]


@inlined
def end_step(A, S, h):
    """Sums for the records, and how far soil may have been moved."""
    if S.evaluations[0] % SURVEY == 0:
        add_to_bins(A, S)
    S.evaluations[0] += 1
    for b in range(S.wheel.shape[0]):
        note_way(S.flow, A.start[b], S.bodies.reach[b], h)
        add_to_sums(S.sums[b], S.patch.total[b], h)
        if S.wheel[b] >= 0:
            take_slip(S.bodies, S.patch, b, A.start[b], h)
            put_under_axle(A, b, S.radius[b])


@inner
def add_to_bins(A, S):
    """Add the forces around each wheel to the bins of their angle [N]."""
    S.bin_count[0] += 1.0
    bins = S.bins.shape[1]
    for b in range(S.wheel.shape[0]):
        if S.wheel[b] < 0:
            continue
        ax, ay, az = A.axis[b, 0], A.axis[b, 1], A.axis[b, 2]
        size = math.sqrt(max(ax * ax + ay * ay, 1e-12))
        fx, fy = ay / size, -ax / size
        # up in the wheel's plane
        ux, uy, uz = fy * az, -fx * az, fx * ay - fy * ax
        for n in range(S.patch.field_count[b]):
            q = S.patch.field[b, n]
            down = -(q[F_X] * ux + q[F_Y] * uy + q[F_Z] * uz)
            angle = math.atan2(q[F_X] * fx + q[F_Y] * fy, down)
            i = int((angle / math.pi + 0.5) * bins)
            if 0 <= i < bins:
                cell = S.bins[b, i]
                cell[0] += q[F_AREA] * q[F_PRESSURE]
                cell[1] += q[F_AREA] * q[F_ALONG]
                cell[2] += q[F_AREA] * q[F_ACROSS]
