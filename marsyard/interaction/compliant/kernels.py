"""Compliant contact as a law of the engine: its kernels (`interaction.law`).

An attachment is a body and the ground, its point the body's origin, the rate in V that of its belt.
Before a step `evaluate_elements` finds the elements that touch at the step's configuration, and
adds up their forces and derivatives (`law`) for each body:

    F = Σ Lᵀf,   B = Σ LᵀDL

L (3 × 7) takes V to the velocity of an element. After the step `commit_elements` works out what has
really acted on each element, f − D L (V⁺ − V), and brings displacement and slip up to date with the
distance the element has really travelled. Evaluating changes no state: a step can be tried again.

Which elements touch, and how deep, says `finding`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marsyard.interaction.attachments import Attachments
from marsyard.interaction.compliant.finding import (
    DAMPING,
    STIFFNESS,
    deepest_plane,
    move_belt,
    nearest_place,
    search_near,
    stand,
    to_world,
    update_near,
)
from marsyard.interaction.compliant.law import advance_slip, press, shear, spread_pressure
from marsyard.interaction.contact_geometry.frame import wheel_frame
from marsyard.interaction.law import Kernels
from marsyard.jit import F1, F2, I1, I2, VECTOR, by_reference, inlined, inner, law_callback

# columns of CompliantArrays.state
E_X, E_Y, E_Z, SLIP, LOAD = range(5)
STATE_COLUMNS = 5
# columns of CompliantArrays.touch
(
    P_X, P_Y, P_Z, N_X, N_Y, N_Z, R_X, R_Y, R_Z, T_X, T_Y, T_Z, V_X, V_Y, V_Z, FN, G_X, G_Y, G_Z,
    D_X, D_Y, D_Z, D_N, D_ALONG, D_ACROSS, B_X, B_Y, B_Z, M_X, M_Y, M_Z, S_X, S_Y, S_Z, S_RATE, D_S,
) = range(36)  # fmt: skip
TOUCH_COLUMNS = 36


@by_reference
class CompliantArrays(NamedTuple):
    """What the law works on; `b` bodies, `c` balls, `n` elements, `s` surfaces."""

    wheel: I1  # int64[b], number of the wheel, or −1
    balls: I2  # int64[b, 2], first ball and the one after the last
    belt: I2  # int64[b, 2]: first row of `outline` and the one after the last; or −1
    belt_size: F2  # float64[b, 2], belt's displacement per angle [m], length of the outline [m]
    outline: F2  # float64[p, 4]
    along: F1  # float64[n], place on the outline at angle 0 [m]
    ball: F2  # float64[c, 4], centre in the body's frame, radius
    ball_seen: F2  # float64[c, 4], where it was last looked at, and the gap it had there
    ball_next: I2  # int64[c, 3], ball to go on with, first and last element of a leaf
    place: F2  # float64[n, 3], in the body's frame
    normal: F2  # float64[n, 3]
    size: F2  # float64[n, 3], area [m²], length [m] and how far it reaches from its middle [m]
    arc: F2  # float64[n, 8], as `elements.Elements.arc`
    half: F2  # float64[n, 3], half the angle of an arc [rad], sine and cosine of its half
    seen: F2  # float64[n, 4], as ball_seen
    range: I2  # int64[b, 2], first element and the one after the last
    listed: I1  # int64[n], elements of a body that may touch, from the body's first place on
    listed_gap: F1  # float64[n], how near planes can have been when the list was made [m]
    listed_count: I1  # int64[b], how many, or −1
    listed_at: F2  # float64[b, LISTED], see `finding`
    state: F2  # float64[n, STATE_COLUMNS]
    now: I1  # int64[n], 1 while in `touching`
    touching: I2  # int64[n, 3], element, body, surface
    touch: F2  # float64[n, TOUCH_COLUMNS]
    before: I1  # int64[n], elements whose state is not zero
    counts: I1  # int64[2], how many touch, how many did before
    friction: F1  # float64[s]
    plane: F2  # float64[p, 4], normal and offset, where the ground is of planes alone
    plane_surface: I1  # int64[p]
    ground: I2  # int64[tables, 3], of the surfaces
    geometry: I1  # int64[2], addresses of the kernels that find contacts and distances
    near_point: F2  # float64[m, 3], what they find for one element
    near_normal: F2  # float64[m, 3]
    near_gap: F1  # float64[m]
    near_surface: I1  # int64[m]
    near_feature: I1  # int64[m]
    near_count: I1  # int64[1]
    answer: F1  # float64[4]
    numbers: F1  # float64[4]
    curve: F1  # float64[5]
    curve_x: F1
    curve_y: F1
    scratch: F2  # float64[6, 3]; its second row is the axis of all balls


@law_callback(Attachments, CompliantArrays)
def evaluate_elements(A, C, time, h, theta, flag):
    """Elements that touch at the present configuration, their forces and the derivatives."""
    for i in range(C.counts[0]):
        C.now[C.touching[i, 0]] = 0
    C.counts[0] = 0
    for b in range(C.balls.shape[0]):
        evaluate_body(A, C, b, h, theta)
    return 0


@inner
def evaluate_body(A, C, b, h, theta):
    """Those of one body."""
    pose = A.pose[b, 0]
    if C.belt[b, 0] >= 0:
        move_belt(C, A.coordinate[b, 6], b)
    if C.plane.shape[0] > 0 and C.belt[b, 0] < 0:
        moved = update_near(C, b, pose)
    else:
        search_near(C, b, pose)
        moved = 0.0
    o, R = pose, pose[3:]
    first = C.range[b, 0]
    for i in range(first, first + C.listed_count[b]):
        if C.listed_gap[i] <= moved:
            element(A, C, b, C.listed[i], o, R, h, theta)


@inlined
def element(A, C, b, e, o, R, h, theta):
    """Add element e of body b, if it touches."""
    q, m = C.scratch[2], C.scratch[3]
    to_world(o, R, C.place[e], q)
    local = C.normal[e]
    m[0] = R[0] * local[0] + R[1] * local[1] + R[2] * local[2]
    m[1] = R[3] * local[0] + R[4] * local[1] + R[5] * local[2]
    m[2] = R[6] * local[0] + R[7] * local[1] + R[8] * local[2]
    if C.plane.shape[0] > 0:
        surface, depth = deepest_plane(C)
    else:
        surface, depth = nearest_place(C, e)
    if surface < 0:
        return
    mean, part = stand(C, e, R, depth)
    if part <= 0.0:
        return
    A.active[b] = 1
    A.touching[b] += 1
    A.depth[b] = max(A.depth[b], depth)
    C.touching[C.counts[0], 0] = e
    C.touching[C.counts[0], 1] = b
    C.touching[C.counts[0], 2] = surface
    row = C.touch[C.counts[0]]
    C.counts[0] += 1
    C.now[e] = 1
    push(A, C, b, e, row, o, R, mean, part, C.friction[surface], h, theta)


@inlined(fastmath=VECTOR)
def push(A, C, b, e, row, o, R, mean, part, mu, h, theta):
    """Force of a touching element at C.scratch[2] on ground of the normal C.scratch[4] and its
    derivative, into `row` and the sums."""
    q, n, V = C.scratch[2], C.scratch[4], A.V[b]
    nx, ny, nz, area = n[0], n[1], n[2], C.size[e, 0]
    k, c = C.numbers[STIFFNESS], C.numbers[DAMPING]
    rx, ry, rz = q[0] - o[0], q[1] - o[1], q[2] - o[2]
    # displacement of a belt's surface per its speed: against the outline's direction, (−n_z, n_x)
    bx = by = bz = 0.0
    if C.belt[b, 0] >= 0:
        x, z = C.normal[e, 2], -C.normal[e, 0]
        bx, by, bz = R[0] * x + R[2] * z, R[3] * x + R[5] * z, R[6] * x + R[8] * z
    vx = V[0] + V[4] * rz - V[5] * ry + bx * V[6]
    vy = V[1] + V[5] * rx - V[3] * rz + by * V[6]
    vz = V[2] + V[3] * ry - V[4] * rx + bz * V[6]
    vn = vx * nx + vy * ny + vz * nz
    fn, dn = press(k, c, area, mean, part, vn, h, theta)
    # elastic displacement so far: in this tangent plane, less where pressure has grown
    s = C.state[e]
    along = s[E_X] * nx + s[E_Y] * ny + s[E_Z] * nz
    keep = s[LOAD] / fn if fn > s[LOAD] else 1.0
    ex, ey, ez = keep * (s[E_X] - along * nx), keep * (s[E_Y] - along * ny), keep * (
        s[E_Z] - along * nz
    )  # fmt: skip
    tx, ty, tz = vx - vn * nx, vy - vn * ny, vz - vn * nz
    way = theta * h
    gx, gy, gz, dx, dy, dz, d_along, d_across = shear(
        C.curve, C.curve_x, C.curve_y, ex + way * tx, ey + way * ty, ez + way * tz, s[SLIP],
        tx, ty, tz, c / k, h, theta,
    )  # fmt: skip
    grip = mu * fn
    gx, gy, gz = grip * gx, grip * gy, grip * gz
    d_along, d_across = grip * d_along, grip * d_across
    row[P_X], row[P_Y], row[P_Z] = C.scratch[5, 0], C.scratch[5, 1], C.scratch[5, 2]
    row[N_X], row[N_Y], row[N_Z] = nx, ny, nz
    row[R_X], row[R_Y], row[R_Z] = rx, ry, rz
    row[T_X], row[T_Y], row[T_Z] = ex, ey, ez
    row[V_X], row[V_Y], row[V_Z] = vx, vy, vz
    row[FN] = fn
    row[G_X], row[G_Y], row[G_Z] = gx, gy, gz
    row[D_X], row[D_Y], row[D_Z] = dx, dy, dz
    row[D_N], row[D_ALONG], row[D_ACROSS] = dn, d_along, d_across
    row[B_X], row[B_Y], row[B_Z] = bx, by, bz
    fx, fy, fz = fn * nx - gx, fn * ny - gy, fn * nz - gz
    F = A.F[b]
    F[0] += fx
    F[1] += fy
    F[2] += fz
    F[3] += ry * fz - rz * fy
    F[4] += rz * fx - rx * fz
    F[5] += rx * fy - ry * fx
    F[6] += bx * fx + by * fy + bz * fz
    B = A.B[b]
    add_spread(C, row, area, mean, part, V, F, B, h, theta)
    # D: across the same in all directions, other along the normal and the displacement
    f, g = dn - d_across, d_along - d_across
    x, y, z = f * nx, f * ny, f * nz
    ex, ey, ez = g * dx, g * dy, g * dz
    d00, d11, d22 = (
        d_across + x * nx + ex * dx, d_across + y * ny + ey * dy, d_across + z * nz + ez * dz,
    )  # fmt: skip
    d10, d20, d21 = x * ny + ex * dy, x * nz + ex * dz, y * nz + ey * dz
    add_derivative(B, d00, d10, d11, d20, d21, d22, rx, ry, rz)
    if C.belt[b, 0] >= 0:
        x, y, z = (
            d00 * bx + d10 * by + d20 * bz, d10 * bx + d11 * by + d21 * bz,
            d20 * bx + d21 * by + d22 * bz,
        )  # fmt: skip
        B[6, 0] += x
        B[6, 1] += y
        B[6, 2] += z
        B[6, 3] += ry * z - rz * y
        B[6, 4] += rz * x - rx * z
        B[6, 5] += rx * y - ry * x
        B[6, 6] += bx * x + by * y + bz * z


@inlined(fastmath=VECTOR)
def add_spread(C, row, area, mean, part, V, F, B, h, theta):
    """The moment by which the pressure's distribution differs from a force where it acts."""
    k, c = C.numbers[STIFFNESS], C.numbers[DAMPING]
    q, w, n, p = C.scratch[2], C.scratch[3], C.scratch[4], C.scratch[5]
    sx, sy, sz = w[1] * n[2] - w[2] * n[1], w[2] * n[0] - w[0] * n[2], w[0] * n[1] - w[1] * n[0]
    rate = V[3] * sx + V[4] * sy + V[5] * sz
    pull, d = spread_pressure(k, c, area, part, row[FN], rate, h, theta)
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    f = area * k * mean if row[FN] > 0.0 else 0.0
    row[M_X] = f * (y * n[2] - z * n[1]) + pull * sx
    row[M_Y] = f * (z * n[0] - x * n[2]) + pull * sy
    row[M_Z] = f * (x * n[1] - y * n[0]) + pull * sz
    row[S_X], row[S_Y], row[S_Z], row[S_RATE], row[D_S] = sx, sy, sz, rate, d
    F[3] += row[M_X]
    F[4] += row[M_Y]
    F[5] += row[M_Z]
    B[3, 3] += d * sx * sx
    B[4, 3] += d * sy * sx
    B[4, 4] += d * sy * sy
    B[5, 3] += d * sz * sx
    B[5, 4] += d * sz * sy
    B[5, 5] += d * sz * sz


@inlined(fastmath=VECTOR)
def add_derivative(B, d00, d10, d11, d20, d21, d22, rx, ry, rz):
    """B += LᵀDL without the belt's row, its lower triangle: D, R D and R D Rᵀ with R = [r]×."""
    w00, w01, w02 = ry * d20 - rz * d10, ry * d21 - rz * d11, ry * d22 - rz * d21
    w10, w11, w12 = rz * d00 - rx * d20, rz * d10 - rx * d21, rz * d20 - rx * d22
    w20, w21, w22 = rx * d10 - ry * d00, rx * d11 - ry * d10, rx * d21 - ry * d20
    B[0, 0] += d00
    B[1, 0] += d10
    B[1, 1] += d11
    B[2, 0] += d20
    B[2, 1] += d21
    B[2, 2] += d22
    B[3, 0] += w00
    B[3, 1] += w01
    B[3, 2] += w02
    B[3, 3] += ry * w02 - rz * w01
    B[4, 0] += w10
    B[4, 1] += w11
    B[4, 2] += w12
    B[4, 3] += ry * w12 - rz * w11
    B[4, 4] += rz * w10 - rx * w12
    B[5, 0] += w20
    B[5, 1] += w21
    B[5, 2] += w22
    B[5, 3] += ry * w22 - rz * w21
    B[5, 4] += rz * w20 - rx * w22
    B[5, 5] += rx * w21 - ry * w20


@law_callback(Attachments, CompliantArrays)
def commit_elements(A, C, time, h, theta, flag):
    """Forces as they have acted, now that the end velocity is known; displacement and slip."""
    for i in range(C.counts[1]):
        if C.now[C.before[i]] == 0:
            for k in range(STATE_COLUMNS):
                C.state[C.before[i], k] = 0.0
    for b in range(C.balls.shape[0]):
        for k in range(7):
            A.F[b, k] = 0.0
    for i in range(C.counts[0]):
        C.before[i] = C.touching[i, 0]
        act(A, C, i, h, theta)
        if C.wheel[C.touching[i, 1]] >= 0:
            report(A, C, i)
    C.counts[1] = C.counts[0]
    middle_of_pressure(A, C)
    return 0


@inlined(fastmath=VECTOR)
def act(A, C, i, h, theta):
    """What has acted on touching element i."""
    e, b = C.touching[i, 0], C.touching[i, 1]
    row, V = C.touch[i], A.V[b]
    nx, ny, nz = row[N_X], row[N_Y], row[N_Z]
    rx, ry, rz = row[R_X], row[R_Y], row[R_Z]
    vx = V[0] + V[4] * rz - V[5] * ry + row[B_X] * V[6]
    vy = V[1] + V[5] * rx - V[3] * rz + row[B_Y] * V[6]
    vz = V[2] + V[3] * ry - V[4] * rx + row[B_Z] * V[6]
    x, y, z = vx - row[V_X], vy - row[V_Y], vz - row[V_Z]
    dn = x * nx + y * ny + z * nz
    fn = row[FN] - row[D_N] * dn
    x, y, z = x - dn * nx, y - dn * ny, z - dn * nz
    dx, dy, dz = row[D_X], row[D_Y], row[D_Z]
    along = (row[D_ALONG] - row[D_ACROSS]) * (x * dx + y * dy + z * dz)
    tx = -(row[G_X] + row[D_ACROSS] * x + along * dx)
    ty = -(row[G_Y] + row[D_ACROSS] * y + along * dy)
    tz = -(row[G_Z] + row[D_ACROSS] * z + along * dz)
    fx, fy, fz = fn * nx + tx, fn * ny + ty, fn * nz + tz
    F = A.F[b]
    F[0] += fx
    F[1] += fy
    F[2] += fz
    F[3] += ry * fz - rz * fy
    F[4] += rz * fx - rx * fz
    F[5] += rx * fy - ry * fx
    F[6] += row[B_X] * fx + row[B_Y] * fy + row[B_Z] * fz
    change = row[D_S] * (V[3] * row[S_X] + V[4] * row[S_Y] + V[5] * row[S_Z] - row[S_RATE])
    F[3] += row[M_X] - change * row[S_X]
    F[4] += row[M_Y] - change * row[S_Y]
    F[5] += row[M_Z] - change * row[S_Z]
    # the displacement of the step
    mx = theta * vx + (1.0 - theta) * row[V_X]
    my = theta * vy + (1.0 - theta) * row[V_Y]
    mz = theta * vz + (1.0 - theta) * row[V_Z]
    mn = mx * nx + my * ny + mz * nz
    ex = row[T_X] + h * (mx - mn * nx)
    ey = row[T_Y] + h * (my - mn * ny)
    ez = row[T_Z] + h * (mz - mn * nz)
    s = C.state[e]
    size = math.sqrt(ex * ex + ey * ey + ez * ez)
    if fn <= 0.0:
        # pressed on by nothing it grips anew; its curve is not used up by that
        ex = ey = ez = 0.0
    elif size > 0.0:
        left, slip, _, _, _ = advance_slip(C.curve, C.curve_x, C.curve_y, size, s[SLIP])
        s[SLIP] = slip
        left /= size
        ex, ey, ez = left * ex, left * ey, left * ez
    s[E_X], s[E_Y], s[E_Z] = ex, ey, ez
    s[LOAD] = max(fn, 0.0)
    row[D_X], row[D_Y], row[D_Z], row[D_N] = tx, ty, tz, fn


@inlined(fastmath=VECTOR)
def report(A, C, i):
    """What has acted on touching element i of a wheel, along its normal and heading."""
    b, surface, row = C.touching[i, 1], C.touching[i, 2], C.touch[i]
    n, frame = C.scratch[2], C.scratch[3:6]
    # elements side by side mostly stand on the same plane
    last = C.touch[max(i - 1, 0)]
    same = i > 0 and C.touching[i - 1, 1] == b
    if not (same and last[N_X] == row[N_X] and last[N_Y] == row[N_Y] and last[N_Z] == row[N_Z]):
        n[0], n[1], n[2] = row[N_X], row[N_Y], row[N_Z]
        wheel_frame(n, A.axis[b], frame)
    tx, ty, tz = row[D_X], row[D_Y], row[D_Z]
    found = A.contact[b, surface]
    found[0] += row[D_N]
    found[1] += frame[1, 0] * tx + frame[1, 1] * ty + frame[1, 2] * tz
    found[2] += frame[2, 0] * tx + frame[2, 1] * ty + frame[2, 2] * tz


@inner
def middle_of_pressure(A, C):
    """The point that stands for a wheel's contact: its elements' places by their load."""
    i = 0
    while i < C.counts[0]:
        b = C.touching[i, 1]
        x = y = z = total = 0.0
        while i < C.counts[0] and C.touching[i, 1] == b:
            row = C.touch[i]
            x += row[FN] * row[P_X]
            y += row[FN] * row[P_Y]
            z += row[FN] * row[P_Z]
            total += row[FN]
            i += 1
        if C.wheel[b] >= 0 and total > 0.0:
            A.place[b, 0] = x / total
            A.place[b, 1] = y / total
            A.place[b, 2] = z / total


kernels = Kernels(evaluate=evaluate_elements, commit=commit_elements)
