"""Soft soil as a law of the engine: its kernels (`interaction.law`).

An attachment is a body and the soil, its point the centre of the wheel or geom; the rate in V is
the speed of a track's belt. The soil contact model, soil in columns and the wheel models work on
one grid, each under its own bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, Kernels
from marsyard.interaction.soil_contact.arrays import (
    F_ACROSS,
    F_ALONG,
    F_AREA,
    F_PRESSURE,
    F_X,
    F_Y,
    F_Z,
    OK,
    T_BULLDOZING,
    T_COMPACTION,
    T_NODES,
    T_PLASTIC_WORK,
    T_SHEAR_WORK,
    T_VOLUME,
    Bodies,
    Options,
    Patch,
    Soils,
)
from marsyard.interaction.soil_contact.belt import Belts
from marsyard.interaction.soil_contact.kernel import forces_on_bodies, soil_flow, tiles_ready
from marsyard.interaction.wheel_models.on_terrain import WheelLaws
from marsyard.jit import F1, F2, F3, I1, by_reference, inlined, inner, law_callback

# columns of SoilArrays.sums, added up between two records: impulse of the resistances [N·s], work
# [J], volume pressed down [m³]
S_COMPACTION, S_BULLDOZING, S_PLASTIC, S_SHEAR, S_VOLUME = range(5)
SUM_COLUMNS = 5
#: stresses are recorded by the angle around the wheel, in so many steps from −90° to 90°
STRESS_BINS = 36
#: places of SoilArrays.numbers: fields of `Options`; longest time between two flows while soil in
#: columns flows [s], way of the fastest body between two [m], time since the last [s], how many
#: columns flow
(
    FLOW, DEPOSIT, XMIN, XMAX, YMIN, YMAX, COLUMNS, CHUNK, GRAVITY, VISCOSITY, PLANAR, FLOW_PERIOD,
    FLOW_AFTER, FLOW_TIME, FLOWING,
) = range(15)  # fmt: skip
NUMBERS = 15
#: nodes that one flow of soil may look at before the rest waits for the next
MOST_NODES = 1_000_000
#: stresses are worked out in every so many steps
SURVEY = 8


@by_reference
class SoilArrays(NamedTuple):
    """All that the soil's kernels work on; `b` bodies."""

    grid: GridArrays
    soils: Soils
    bodies: Bodies
    patch: Patch
    laws: WheelLaws
    belts: Belts
    wheel: I1  # int64[b], number of the wheel, or −1
    radius: F1  # float64[b], of a wheel without grousers [m]
    sums: F2  # float64[b, SUM_COLUMNS]
    bins: F3  # float64[wheels, STRESS_BINS, 3], forces by the angle around the wheel [N]
    bin_count: F1  # float64[1], how often they were added up
    numbers: F1  # float64[NUMBERS]
    travel: F1  # float64[1], way of the fastest body since the last flow [m]
    evaluations: I1  # int64[1], of the forces, so far


@inlined
def _options(S, time, h, theta):
    n = S.numbers
    survey = 1 if S.evaluations[0] % SURVEY == 0 else 0
    return Options(
        h, theta * h, time, int(n[FLOW]), n[DEPOSIT], survey, n[XMIN], n[XMAX], n[YMIN], n[YMAX],
        int(n[COLUMNS]), n[FLOW_TIME], n[CHUNK], n[GRAVITY], n[VISCOSITY], int(n[PLANAR]),
    )  # fmt: skip


@law_callback(Attachments, SoilArrays)
def prepare_soil(A, S, time, h, theta, flag):
    """Ask for the tiles under and next to the bodies that are not there."""
    return 0 if tiles_ready(S.grid, S.bodies) else NEEDS_ROOM


@law_callback(Attachments, SoilArrays)
def evaluate_soil(A, S, time, h, theta, flag):
    """Forces of the soil on all bodies."""
    for b in range(S.wheel.shape[0]):
        for k in range(9):
            S.bodies.rotation[b, k] = A.pose[b, 0, 3 + k]
    options = _options(S, time, h, theta)
    answer = forces_on_bodies(S.grid, S.soils, S.bodies, S.patch, options, S.laws, S.belts)
    if answer != OK:
        return answer
    for b in range(S.wheel.shape[0]):
        if S.patch.total[b, T_NODES] > 0.0:
            A.active[b] = 1
            if S.wheel[b] >= 0:
                unpack_wheel(S.patch.stiff[b], A.axis[b], A.B[b])
            else:
                unpack_body(S.patch.stiff[b], A.B[b])
    return OK


@inner
def unpack_wheel(packed, axis, B):
    """The derivative of a wheel's force, whose angular part is the spin about its axle."""
    B[0, 0], B[1, 0], B[2, 0] = packed[0], packed[1], packed[2]
    B[1, 1], B[2, 1], B[2, 2] = packed[3], packed[4], packed[5]
    for i in range(3):
        for j in range(3):
            B[3 + i, j] = axis[i] * packed[6 + j]
        for j in range(i + 1):
            B[3 + i, 3 + j] = packed[9] * axis[i] * axis[j]


@inner
def unpack_body(packed, B):
    """The derivative of any other body's, with its belt's speed."""
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


@law_callback(Attachments, SoilArrays)
def commit_soil(A, S, time, h, theta, flag):
    """Sums for the records, and how far soil may have been moved."""
    if S.evaluations[0] % SURVEY == 0:
        add_to_bins(A, S)
    S.evaluations[0] += 1
    fastest = 0.0
    for b in range(S.wheel.shape[0]):
        # by the body itself, or by the surface of a spinning one
        V = A.start[b]
        speed = math.sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
        spin = math.sqrt(V[3] * V[3] + V[4] * V[4] + V[5] * V[5])
        fastest = max(fastest, speed, S.bodies.reach[b] * spin, abs(V[6]))
        row, total = S.sums[b], S.patch.total[b]
        row[S_COMPACTION] += h * total[T_COMPACTION]
        row[S_BULLDOZING] += h * total[T_BULLDOZING]
        row[S_PLASTIC] += total[T_PLASTIC_WORK]
        row[S_SHEAR] += total[T_SHEAR_WORK]
        row[S_VOLUME] += total[T_VOLUME]
        if S.wheel[b] >= 0:
            # the point under the axle stands for the contact
            ax, ay = A.axis[b, 0], A.axis[b, 1]
            A.place[b, 0], A.place[b, 1] = A.point[b, 0], A.point[b, 1]
            A.place[b, 2] = A.point[b, 2] - S.radius[b] * math.sqrt(ax * ax + ay * ay)
    S.travel[0] += fastest * h
    return 0


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


@law_callback(Attachments, SoilArrays)
def relax_soil(A, S, time, h, theta, flag):
    """Lay displaced soil down and let it slide, if bodies have moved far enough since the last, or
    if it is due (soil in columns)."""
    n = S.numbers
    n[FLOW_TIME] += h
    due = n[FLOWING] > 0.0 and n[FLOW_TIME] >= n[FLOW_PERIOD]
    if not due and S.travel[0] < n[FLOW_AFTER]:
        return 0
    S.travel[0] = 0.0
    options = _options(S, time, h, theta)
    awake = soil_flow(S.grid, S.soils, S.bodies, S.patch, options, MOST_NODES)
    n[FLOW_TIME] = 0.0
    n[FLOWING] = float(awake)
    return 0


kernels = Kernels(
    prepare=prepare_soil, evaluate=evaluate_soil, commit=commit_soil, relax=relax_soil
)
