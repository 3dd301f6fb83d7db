"""Polygonal contact as a law of the engine: its kernels (`interaction.law`).

An attachment is a pair of surfaces: the body with the faces and the other one; the rate in V is
that of the coordinate with which the other's profile changes.
"""

from __future__ import annotations

from typing import NamedTuple

from marsyard.interaction.attachments import Attachments
from marsyard.interaction.contact_geometry.frame import wheel_frame
from marsyard.interaction.law import Kernels
from marsyard.interaction.polygonal.arrays import (
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
    Pairs,
    Shapes,
)
from marsyard.interaction.polygonal.contact import account, change_profile, evaluate, tighten
from marsyard.jit import F1, F2, I1, by_reference, inner, law_callback

# columns of PolygonalArrays.sums, between two records: impulse of force (3) and torque (3) on the
# other body in its frame, about its origin; normal impulse
S_FX, S_FY, S_FZ, S_MX, S_MY, S_MZ, S_NORMAL = range(7)
SUM_COLUMNS = 7
# columns of PolygonalArrays.largest
L_DEPTH, L_AREA, L_FACES, L_SLIPPING = range(4)
LARGEST_COLUMNS = 4


@by_reference
class PolygonalArrays(NamedTuple):
    """All pairs of a world, `n` of them."""

    shapes: Shapes
    pairs: Pairs
    changes: I1  # int64[n], 1 if the other's profile changes with the coordinate
    sign: F1  # float64[n], as `Attachment.sign`
    surface: I1  # int64[n], number of the ground's surface, or −1
    wheel: I1  # int64[n], number of the wheel, or −1
    sums: F2  # float64[n, SUM_COLUMNS]
    largest: F2  # float64[n, LARGEST_COLUMNS]
    normal: F1  # float64[3]
    tangents: F2  # float64[3, 3]


@law_callback(Attachments, PolygonalArrays)
def evaluate_pairs(A, P, time, h, theta, flag):
    """Forces of all pairs."""
    pairs = P.pairs
    for p in range(pairs.faces.shape[0]):
        for k in range(12):
            pairs.face_pose[p, k] = A.pose[p, 0, k]
            pairs.other_pose[p, k] = A.pose[p, 1, k]
        if P.changes[p] != 0:
            change_profile(P.shapes, pairs.number[p], A.coordinate[p, 6])
    for p in range(pairs.faces.shape[0]):
        status = evaluate(P.shapes, pairs, p, h, theta)
        if status != OK:
            return status
        if pairs.result[p, Q_AREA] > 0.0:
            A.active[p] = 1
    return OK


@law_callback(Attachments, PolygonalArrays)
def correct_pairs(A, P, time, h, theta, flag):
    """Friction by what the faces carry, where that differs from what the start promised."""
    pairs = P.pairs
    changed = 0
    for p in range(pairs.faces.shape[0]):
        if pairs.counts[p, 0] > 0 and tighten(pairs, p, h, theta, flag != 0):
            changed = 1
    return changed


@law_callback(Attachments, PolygonalArrays)
def commit_pairs(A, P, time, h, theta, flag):
    """What has acted; anchors move on."""
    for p in range(P.pairs.faces.shape[0]):
        account(P.pairs, p, h, theta)
        if P.pairs.result[p, Q_AREA] > 0.0:
            add_to_sums(A, P, p, h)
            if P.surface[p] >= 0 and P.wheel[p] >= 0:
                report(A, P, p)
    return 0


@inner
def add_to_sums(A, P, p, h):
    """What passes between a pair, for the records."""
    R, S, most = P.pairs.result[p], P.sums[p], P.largest[p]
    S[S_NORMAL] += h * R[Q_NORMAL]
    most[L_DEPTH] = max(most[L_DEPTH], R[Q_DEPTH])
    most[L_AREA] = max(most[L_AREA], R[Q_AREA])
    most[L_FACES] = max(most[L_FACES], R[Q_FACES])
    most[L_SLIPPING] = max(most[L_SLIPPING], R[Q_SLIPPING])
    # on the other body, about its origin, in its frame
    force, o, c = A.F[p], A.pose[p, 1], A.point[p]
    x, y, z = c[0] - o[0], c[1] - o[1], c[2] - o[2]
    fx, fy, fz = force[0], force[1], force[2]
    mx = force[3] + y * fz - z * fy
    my = force[4] + z * fx - x * fz
    mz = force[5] + x * fy - y * fx
    for k in range(3):
        S[S_FX + k] -= h * (o[3 + k] * fx + o[6 + k] * fy + o[9 + k] * fz)
        S[S_MX + k] -= h * (o[3 + k] * mx + o[6 + k] * my + o[9 + k] * mz)


@inner
def report(A, P, p):
    """What the ground does to a wheel, along its normal and heading."""
    R, force, sign, s = P.pairs.result[p], A.F[p], P.sign[p], P.surface[p]
    if R[Q_NORMAL] <= 0.0:
        return
    n = P.normal
    n[0], n[1], n[2] = sign * R[Q_NX], sign * R[Q_NY], sign * R[Q_NZ]
    size = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) ** 0.5
    if size == 0.0:
        return
    for k in range(3):
        n[k] /= size
    wheel_frame(n, A.axis[p], P.tangents)
    A.contact[p, s, 0] = R[Q_NORMAL]
    # tangential: what is not along the faces' own normals
    tx = sign * (force[0] - R[Q_NX])
    ty = sign * (force[1] - R[Q_NY])
    tz = sign * (force[2] - R[Q_NZ])
    for a in range(2):
        t = P.tangents[1 + a]
        A.contact[p, s, 1 + a] = t[0] * tx + t[1] * ty + t[2] * tz
    c = A.point[p]
    A.place[p, 0] = c[0] + R[Q_PX] / R[Q_NORMAL]
    A.place[p, 1] = c[1] + R[Q_PY] / R[Q_NORMAL]
    A.place[p, 2] = c[2] + R[Q_PZ] / R[Q_NORMAL]


kernels = Kernels(evaluate=evaluate_pairs, correct=correct_pairs, commit=commit_pairs)
