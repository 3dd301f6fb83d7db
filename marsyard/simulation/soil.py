"""Soil under the robot: the glue between the soil contact model and the engine.

Before a step the soil's forces on all bodies that may touch it are evaluated at the step's
configuration, together with their derivative B with respect to each body's velocity
V = (velocity of the centre, spin about the axle or, for bodies that are no wheels, angular
velocity). With J the Jacobian of V, the step solves

    (M + … + h Σ JᵀBJ) (v⁺ − v) = h (… + Σ J₆ᵀ F)

so the force that has really acted over the step is F − B (V⁺ − V). That one is recorded, and its
work goes into the energy balance.

JᵀBJ of a body couples only the degrees of freedom between the body and the world, which MuJoCo's
sparse inertia matrix couples anyway: it is added in place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import carray, types

from marsyard.ground.soil_nodes import GridArrays
from marsyard.interaction.soil_contact.arrays import (
    F_ACROSS,
    F_ALONG,
    F_AREA,
    F_PRESSURE,
    F_X,
    F_Y,
    F_Z,
    T_BULLDOZING,
    T_COMPACTION,
    T_PLASTIC_WORK,
    T_SHEAR_WORK,
    T_VOLUME,
    Bodies,
    Options,
    Patch,
    Soils,
)
from marsyard.interaction.soil_contact.belt import Belts
from marsyard.interaction.soil_contact.kernel import soil_flow, soil_forces
from marsyard.interaction.wheel_models.on_terrain import WheelLaws
from marsyard.jit import allocating, callback, kernel
from marsyard.simulation.body_motion import add_coupling, add_to_chain, body_motion
from marsyard.simulation.callables import Aside
from marsyard.simulation.mujoco_c import void_call
from marsyard.simulation.tables import b1, b3, f1, f2, f3, f4, i1, i2, i3

Array = np.ndarray

# columns of SoilLoop.sums, added up between two records
(
    S_FX, S_FY, S_FZ, S_MX, S_MY, S_MZ, S_COMPACTION, S_BULLDOZING, S_PLASTIC, S_SHEAR, S_WORK,
    S_VOLUME,
) = range(12)  # fmt: skip
SUM_COLUMNS = 12
#: stresses are recorded by the angle around the wheel, in so many steps from −90° to 90°
STRESS_BINS = 36
#: arrays of the law
TABLES = 78
#: places of SoilLoop.numbers: time since the last flow, longest time between two while soil in
#: columns flows [s], how many columns do
FLOW_TIME, FLOW_PERIOD, FLOWING = 11, 16, 17
NUMBERS = 18
#: nodes that one flow of soil may look at before the rest waits for the next
_MOST = 1_000_000


class SoilLoop(NamedTuple):
    """What the compiled loop needs to know of the soil; `b` bodies, `k` dofs in a chain."""

    body: Array  # int64[b], mujoco's body
    joint: Array  # int64[b], mujoco's joint of a wheel's axle, or −1
    geom: Array  # int64[b], mujoco's geom of a mesh body, or −1
    wheel: Array  # int64[b], number of the wheel, or −1
    root: Array  # int64[b], mujoco's body at the root of its tree
    reach: Array  # float64[b], shared with `Bodies`
    chain: Array  # int64[b, k], dofs between world and body, ascending
    chain_count: Array  # int64[b]
    address: Array  # int64[b, k, k], place in the sparse inertia matrix, or −1
    jacobian: Array  # float64[b, 7, k], the last row of a belt's speed
    organ: Array  # int64[b], number of the foot or track, or −1
    belt: Array  # int64[b], dof that moves the belt of a track, or −1
    belt_radius: Array  # float64[b], speed of the belt per rate of it [m]
    centre: Array  # float64[b, 3], shared with `Bodies`, as are the next three
    axis: Array
    rotation: Array
    twist: Array
    force: Array  # float64[b, 7], shared with `Patch`, as are the next two
    stiff: Array
    total: Array
    field: Array  # float64[b, n, 7]
    field_count: Array  # int64[b]
    generalised: Array  # float64[nv], force of the soil
    sums: Array  # float64[b, SUM_COLUMNS]
    bins: Array  # float64[b, STRESS_BINS, 3], forces by the angle around the wheel [N]
    bin_count: Array  # int64[1], how often they were added up
    numbers: Array  # float64[NUMBERS], the fields of `Options`, and the period of flows [s]
    table: Array  # int64[tables, 5], addresses and shapes of the arrays of the law
    flow_after: Array  # float64[1], way of the fastest body between two flows [m]
    travel: Array  # float64[1], way since the last flow [m]
    evaluations: Array  # int64[1], of the forces, so far
    answer: Array  # int64[1]


# --- the law behind plain addresses, as `callables` does it for the contact geometry

_F = types.CPointer(types.float64)
_N = types.CPointer(types.int64)


@allocating
def _grid(t):
    return GridArrays(
        f1(t, 0), i1(t, 1), i1(t, 2), i2(t, 3), f1(t, 4), i1(t, 5), f2(t, 6), b1(t, 7),
        b1(t, 8), i1(t, 9), i1(t, 10), i2(t, 11), i1(t, 12), f2(t, 13),
    )  # fmt: skip


@allocating
def _soils(t):
    return Soils(f2(t, 14), f2(t, 15), f2(t, 16), f3(t, 17), f3(t, 18), f2(t, 19))


@allocating
def _bodies(t):
    return Bodies(
        i1(t, 20), f2(t, 21), f1(t, 22), i2(t, 23), f2(t, 24), f2(t, 25), f2(t, 26),
        f2(t, 27), f2(t, 28),
    )  # fmt: skip


@allocating
def _patch(t):
    return Patch(
        i3(t, 29), i3(t, 30), b3(t, 31), f4(t, 32), i2(t, 33), i1(t, 34), i1(t, 35),
        i1(t, 36), f2(t, 37), i1(t, 38), i1(t, 39), i2(t, 40), i2(t, 41), i2(t, 42),
        f3(t, 43), i1(t, 44), i1(t, 45), f1(t, 46), f1(t, 47), f1(t, 48), f1(t, 49),
        f1(t, 50), i1(t, 51), f1(t, 52), f1(t, 53), f1(t, 54), f2(t, 55), i2(t, 56),
        i2(t, 57), f2(t, 58), f2(t, 59), f2(t, 60),
    )  # fmt: skip


@allocating
def _laws(t):
    return WheelLaws(
        i1(t, 61), f2(t, 62), f3(t, 63), f3(t, 64), f2(t, 65), f2(t, 66), f1(t, 67),
        f1(t, 68), f2(t, 69),
    )  # fmt: skip


@allocating
def _options(n):
    return Options(
        n[0], n[1], n[2], int(n[3]), n[4], int(n[5]), n[6], n[7], n[8], n[9], int(n[10]), n[11],
        n[12], n[13], n[14], int(n[15]),
    )  # fmt: skip


@allocating
def _belts(t):
    return Belts(
        i1(t, 70), f2(t, 71), f2(t, 72), f2(t, 73), f2(t, 74), f2(t, 75), f2(t, 76),
        f3(t, 77),
    )  # fmt: skip


@callback(types.void(_N, types.int64, _F, _N))
def forces_of_soil(table, tables, numbers, answer):
    """`soil_forces` on plain pointers."""
    t = carray(table, (tables, 5))
    answer[0] = soil_forces(
        _grid(t), _soils(t), _bodies(t), _patch(t), _options(numbers), _laws(t), _belts(t)
    )


@callback(types.void(_N, types.int64, _F, types.int64, _N))
def flow_of_soil(table, tables, numbers, most, answer):
    """`soil_flow` on plain pointers."""
    t = carray(table, (tables, 5))
    answer[0] = soil_flow(_grid(t), _soils(t), _bodies(t), _patch(t), _options(numbers), most)


soil_aside = Aside(
    "marsyard.simulation.soil", forces_of_soil=forces_of_soil, flow_of_soil=flow_of_soil
)

_P, _I = types.int64, types.int64
_call_forces = void_call((_P, _I, _P, _P))
_call_flow = void_call((_P, _I, _P, _I, _P))


# --- in the step


@kernel
def evaluate_soil(F, model, data, soil, v, time):
    """Forces of the soil at the present configuration and velocity v. Returns the law's status."""
    fastest = 0.0
    for b in range(soil.body.shape[0]):
        g = soil.geom[b]
        for k in range(3):
            soil.centre[b, k] = data.geom_xpos[g, k] if g >= 0 else data.xpos[soil.body[b], k]
        if g >= 0:
            for k in range(9):
                soil.rotation[b, k] = data.geom_xmat[g, k]
        elif soil.joint[b] >= 0:
            for k in range(3):
                soil.axis[b, k] = data.xaxis[soil.joint[b], k]
        else:
            for k in range(9):
                soil.rotation[b, k] = data.xmat[soil.body[b], k]
            for k in range(3):
                soil.axis[b, k] = soil.rotation[b, 3 * k + 1]
        V = soil.twist[b]
        body_motion(
            data, soil.chain[b], soil.chain_count[b], soil.root[b], soil.centre[b], soil.belt[b],
            soil.belt_radius[b], v, soil.jacobian[b], V,
        )  # fmt: skip
        # how fast soil may be moved: by the body itself, or by the surface of a spinning one
        speed = math.sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
        spin = math.sqrt(V[3] * V[3] + V[4] * V[4] + V[5] * V[5])
        fastest = max(fastest, speed, soil.reach[b] * spin, abs(V[6]))
    soil.numbers[2] = time
    soil.numbers[5] = 1.0 if soil.evaluations[0] % 8 == 0 else 0.0
    _call_forces(
        F.soil_forces, soil.table.ctypes.data, soil.table.shape[0], soil.numbers.ctypes.data,
        soil.answer.ctypes.data,
    )  # fmt: skip
    if soil.answer[0] != 0:
        # tried again, once there are tiles: nothing has happened yet
        return soil.answer[0]
    soil.travel[0] += fastest * soil.numbers[0]
    soil.evaluations[0] += 1
    if soil.numbers[5] > 0.0:
        add_to_bins(soil)
    for i in range(model.nv):
        soil.generalised[i] = 0.0
    for b in range(soil.body.shape[0]):
        add_to_chain(
            soil.jacobian[b], soil.chain[b], soil.chain_count[b], soil.force[b], 1.0,
            soil.generalised,
        )  # fmt: skip
    return soil.answer[0]


@kernel
def add_soil_inertia(data, soil, h):
    """M += h Σ JᵀBJ, in place."""
    for b in range(soil.body.shape[0]):
        B = soil.stiff[b]
        some = False
        for k in range(B.shape[0]):
            some = some or B[k] != 0.0
        if not some:
            continue
        J = soil.jacobian[b]
        ax, ay, az = soil.axis[b, 0], soil.axis[b, 1], soil.axis[b, 2]
        is_wheel = soil.wheel[b] >= 0
        n = soil.chain_count[b]
        for i in range(n):
            x, y, z = J[0, i], J[1, i], J[2, i]
            s = ax * J[3, i] + ay * J[4, i] + az * J[5, i] if is_wheel else J[6, i]
            gx = h * (B[0] * x + B[1] * y + B[2] * z + B[6] * s)
            gy = h * (B[1] * x + B[3] * y + B[4] * z + B[7] * s)
            gz = h * (B[2] * x + B[4] * y + B[5] * z + B[8] * s)
            gs = h * (B[6] * x + B[7] * y + B[8] * z + B[9] * s)
            rx, ry, rz = gs * ax, gs * ay, gs * az
            if not is_wheel:
                p, q, r = J[3, i], J[4, i], J[5, i]
                gx += h * (B[10] * p + B[11] * q + B[12] * r)
                gy += h * (B[13] * p + B[14] * q + B[15] * r)
                gz += h * (B[16] * p + B[17] * q + B[18] * r)
                rx = h * (B[10] * x + B[13] * y + B[16] * z + B[19] * p + B[20] * q + B[21] * r)
                ry = h * (B[11] * x + B[14] * y + B[17] * z + B[20] * p + B[22] * q + B[23] * r)
                rz = h * (B[12] * x + B[15] * y + B[18] * z + B[21] * p + B[23] * q + B[24] * r)
                rx += h * B[25] * s
                ry += h * B[26] * s
                rz += h * B[27] * s
                gs += h * (B[25] * p + B[26] * q + B[27] * r)
            for j in range(i + 1):
                value = gx * J[0, j] + gy * J[1, j] + gz * J[2, j]
                value += rx * J[3, j] + ry * J[4, j] + rz * J[5, j]
                if not is_wheel:
                    value += gs * J[6, j]
                add_coupling(data.inertia, soil.address[b], i, j, value)


@kernel
def account_for_soil(data, soil, wheels, h, sums):
    """Add what the soil has done in this step, now that its end velocity is known."""
    for b in range(soil.body.shape[0]):
        J = soil.jacobian[b]
        B = soil.stiff[b]
        V = soil.twist[b]
        F = soil.force[b]
        cx = cy = cz = wx = wy = wz = belt = 0.0
        is_wheel = soil.wheel[b] >= 0
        for i in range(soil.chain_count[b]):
            v = data.qvel[soil.chain[b, i]]
            belt += J[6, i] * v
            cx += J[0, i] * v
            cy += J[1, i] * v
            cz += J[2, i] * v
            wx += J[3, i] * v
            wy += J[4, i] * v
            wz += J[5, i] * v
        ax, ay, az = soil.axis[b, 0], soil.axis[b, 1], soil.axis[b, 2]
        x, y, z = cx - V[0], cy - V[1], cz - V[2]
        s = belt - V[6]
        if is_wheel:
            s = ax * (wx - V[3]) + ay * (wy - V[4]) + az * (wz - V[5])
        fx = F[0] - (B[0] * x + B[1] * y + B[2] * z + B[6] * s)
        fy = F[1] - (B[1] * x + B[3] * y + B[4] * z + B[7] * s)
        fz = F[2] - (B[2] * x + B[4] * y + B[5] * z + B[8] * s)
        spin = B[6] * x + B[7] * y + B[8] * z + B[9] * s
        mx, my, mz, turning = F[3], F[4], F[5], 0.0
        if is_wheel:
            mx, my, mz = mx - spin * ax, my - spin * ay, mz - spin * az
        else:
            p, q, r = wx - V[3], wy - V[4], wz - V[5]
            fx -= B[10] * p + B[11] * q + B[12] * r
            fy -= B[13] * p + B[14] * q + B[15] * r
            fz -= B[16] * p + B[17] * q + B[18] * r
            mx -= B[10] * x + B[13] * y + B[16] * z + B[19] * p + B[20] * q + B[21] * r
            my -= B[11] * x + B[14] * y + B[17] * z + B[20] * p + B[22] * q + B[23] * r
            mz -= B[12] * x + B[15] * y + B[18] * z + B[21] * p + B[23] * q + B[24] * r
            mx -= B[25] * s
            my -= B[26] * s
            mz -= B[27] * s
            turning = F[6] - spin - (B[25] * p + B[26] * q + B[27] * r)
        row = soil.sums[b]
        row[S_FX] += h * fx
        row[S_FY] += h * fy
        row[S_FZ] += h * fz
        row[S_MX] += h * mx
        row[S_MY] += h * my
        row[S_MZ] += h * mz
        row[S_COMPACTION] += h * soil.total[b, T_COMPACTION]
        row[S_BULLDOZING] += h * soil.total[b, T_BULLDOZING]
        row[S_PLASTIC] += soil.total[b, T_PLASTIC_WORK]
        row[S_SHEAR] += soil.total[b, T_SHEAR_WORK]
        row[S_VOLUME] += soil.total[b, T_VOLUME]
        row[S_WORK] += 0.5 * h * (
            fx * (cx + V[0]) + fy * (cy + V[1]) + fz * (cz + V[2])
            + mx * (wx + V[3]) + my * (wy + V[4]) + mz * (wz + V[5]) + turning * (belt + V[6])
        )  # fmt: skip
        w = soil.wheel[b]
        if w >= 0:
            sums.world[w, 0] += h * fx
            sums.world[w, 1] += h * fy
            sums.world[w, 2] += h * fz
            # the point under the axle stands for the contact
            for k in range(3):
                sums.point[w, k] = soil.centre[b, k]
            sums.point[w, 2] -= wheels.radius[w] * math.sqrt(ax * ax + ay * ay)
        else:
            sums.other[0] += h * fx
            sums.other[1] += h * fy
            sums.other[2] += h * fz
            if soil.organ[b] >= 0:
                sums.organ[soil.organ[b], 0] += h * fx
                sums.organ[soil.organ[b], 1] += h * fy
                sums.organ[soil.organ[b], 2] += h * fz
        for i in range(soil.chain_count[b]):
            total = 0.0
            total += J[0, i] * fx + J[1, i] * fy + J[2, i] * fz
            total += J[3, i] * mx + J[4, i] * my + J[5, i] * mz + J[6, i] * turning
            sums.reaction[soil.chain[b, i]] += h * total


@kernel
def record_soil(soil, records, row):
    """What the soil did since the last record, and the mean forces around the wheels."""
    for b in range(soil.body.shape[0]):
        for k in range(soil.sums.shape[1]):
            records.soil_sums[row, b, k] = soil.sums[b, k]
            soil.sums[b, k] = 0.0
        for k in range(soil.total.shape[1]):
            records.soil_total[row, b, k] = soil.total[b, k]
        w = soil.wheel[b]
        if w >= 0:
            for i in range(soil.bins.shape[1]):
                for k in range(soil.bins.shape[2]):
                    mean = soil.bins[b, i, k] / max(soil.bin_count[0], 1)
                    records.stress[row, w, i, k] = mean
                    soil.bins[b, i, k] = 0.0
    soil.bin_count[0] = 0


@kernel
def add_to_bins(soil):
    """Add the forces around each wheel to the bins of their angle [N]."""
    soil.bin_count[0] += 1
    bins = soil.bins.shape[1]
    for b in range(soil.body.shape[0]):
        if soil.wheel[b] < 0:
            continue
        ax, ay, az = soil.axis[b, 0], soil.axis[b, 1], soil.axis[b, 2]
        size = math.sqrt(max(ax * ax + ay * ay, 1e-12))
        fx, fy = ay / size, -ax / size
        # up in the wheel's plane
        ux, uy, uz = fy * az, -fx * az, fx * ay - fy * ax
        for n in range(soil.field_count[b]):
            q = soil.field[b, n]
            down = -(q[F_X] * ux + q[F_Y] * uy + q[F_Z] * uz)
            angle = math.atan2(q[F_X] * fx + q[F_Y] * fy, down)
            i = int((angle / math.pi + 0.5) * bins)
            if 0 <= i < bins:
                cell = soil.bins[b, i]
                cell[0] += q[F_AREA] * q[F_PRESSURE]
                cell[1] += q[F_AREA] * q[F_ALONG]
                cell[2] += q[F_AREA] * q[F_ACROSS]


@kernel
def flow_soil(F, soil, time):
    """Lay displaced soil down and let it slide, if bodies have moved far enough since the last, or
    if it is due (soil in columns)."""
    soil.numbers[FLOW_TIME] += soil.numbers[0]
    due = soil.numbers[FLOWING] > 0.0 and soil.numbers[FLOW_TIME] >= soil.numbers[FLOW_PERIOD]
    if not due and soil.travel[0] < soil.flow_after[0]:
        return
    soil.travel[0] = 0.0
    soil.numbers[2] = time
    _call_flow(
        F.soil_flow, soil.table.ctypes.data, soil.table.shape[0], soil.numbers.ctypes.data,
        _MOST, soil.answer.ctypes.data,
    )  # fmt: skip
    soil.numbers[FLOW_TIME] = 0.0
    soil.numbers[FLOWING] = float(soil.answer[0])
