"""Polygonal contact of one pair: faces of one body inside another, their forces and derivatives.

Finding. The faces stand in a hierarchy of boxes. A box is passed by when no point of it can be
inside: with the distance d at its middle and the direction n there, when d is larger than half its
diagonal, or, if the other body is convex (its distance is a convex function then), than half its
extent along n. The cost grows with the faces that touch and only with the logarithm of those that
do not. Any shape of the other body will do whose distance is known (`distance`): convex or not,
touching in any number of places.

A face. With s = −d at its corners and its middle, the face is

    outside     all s ≤ 0 and nothing of the other body can bulge into it: left out
    inside      all s > 0:     V = A (¾ s_middle + ¼ mean of the corners'), exact to second order
    at the border, or curved: cut in four, each part looked at again, at most `refine` times; then
                the three triangles around its middle are clipped at s = 0 with s linear on each

V = ∫ s dA, area and middle of pressure are summed over the parts; so are the directions, weighted
with V. A face is cut when the surface bends away from its plane by more than a twentieth of the
depths in it: by ρ²/(2R), ρ the size of the part, R the smallest radius of the other body there; a
plane never cuts faces. Boxes and meshes have sharp edges: they cut at the border, and a part that
is outside at its corners and middle is cut `HIDDEN` times more while an edge may still stand in it.
If the other body is convex, every distance d_i with its direction n_i says d(y) ≥ d_i + n_i·(y −
x_i): an edge may be there while the largest of these bounds, each at its worst corner, is negative.
Else while the directions differ.

Direction. The pressure k s acts on a face along its own normal m, inwards. For a closed surface B
in a body A this sums up to

    −∫_B k s m dA = −∂/∂x ∫_(A∩B) k s dV

(Gauss), so that without friction and damping nothing is lost, whatever the shapes; and what is
parallel to the direction of contact, as the sides of a box pressed on a plane, carries nothing.
Damping counts the rate of s, −v·n, with n the direction of the distance, and acts along n: so it
only takes energy. The derivative acts along n, too (for a plane Σ w A n nᵀ is that of the elastic
force, by Gauss). Area, friction and both of these count with w = max(0, −m·n), the part of the face
that faces the other body. Friction acts on the face as a whole, in its middle of pressure (`law`).

Friction is bounded by the normal force that acts at the end of the step, not by the one at its
start: a stiff layer that is hit fast would promise a force a thousand times what the bodies'
inertia lets it become. `evaluate` takes the force at the start; `tighten` looks at the velocity
that comes out, and where friction is then more than `LEEWAY` beyond its cone, bounds it by what the
faces really carry. The step is solved again with that.

State. Displacement from the anchor, its spring and whether it slips are kept for the faces that
touched in the last step, in a compact list; `slot` says where. `evaluate` changes no state: a step
can be tried again. `account` does, with the velocity at the end of the step.

A profile that changes moves its surface by u q̇ at the point of contact; u q̇ counts in the velocity
of the face against the surface, and −F·u is the force that spreading the profile has to overcome.

Frames. Detection runs in the frame of the other body, the rest in the world's. The displacement is
kept in the frame of the other body, so that it turns with it.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.contact_geometry.mesh import next_node
from marsyard.interaction.polygonal.arrays import (
    CAP,
    CONVEX,
    D_ACROSS,
    D_ALONG,
    D_N,
    D_X,
    D_Y,
    D_Z,
    DAMPING,
    DAMPING_T,
    DEEPEST,
    E_X,
    E_Y,
    E_Z,
    F_A,
    F_D,
    F_NX,
    F_NY,
    F_NZ,
    F_S,
    F_V,
    F_X,
    F_Y,
    F_Z,
    FACE,
    FD,
    FN,
    G_X,
    G_Y,
    G_Z,
    I_X,
    I_Y,
    I_Z,
    N_X,
    N_Y,
    N_Z,
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
    R_X,
    R_Y,
    R_Z,
    REFINE,
    RESULTS,
    ROUND,
    SLIP,
    SLIP_SPEED,
    SLIPPING,
    SPRING,
    STICK,
    STIFFNESS,
    STIFFNESS_T,
    T_AREA,
    T_DAMPED,
    T_FACING,
    T_HELD,
    T_PATCH,
    T_SLIPS,
    T_SPRING,
    T_WAS,
    T_X,
    T_Y,
    T_Z,
    TOO_MANY,
    TRANSITION,
    U_X,
    U_Y,
    U_Z,
    V_X,
    V_Y,
    V_Z,
    WEIGHT,
)  # fmt: skip
from marsyard.interaction.polygonal.distance import (
    HINT,
    REVOLUTION,
    distance,
    section_motion,
    section_roundness,
)
from marsyard.interaction.polygonal.law import drag_anchor, friction, normal_force
from marsyard.jit import inlined, kernel

Array = np.ndarray

#: faces that face the other body by less than this are not counted as touching
EDGEWISE = 1e-3
#: a face is cut where the other body bends away by more than this part of the depths in it
BEND = 0.05
#: cuts beyond the others in search of edges that stand in a face
HIDDEN = 3
#: directions count as one when their cosine is above this
ALIKE = 0.98
#: friction beyond its cone that a step is not solved again for, as a share
LEEWAY = 0.02


@kernel
def change_profile(shapes, r, value):
    """Bring a changing profile to where its joint is: linear between the stations."""
    row = shapes.profile[r]
    first, count, at, stations = row[0], row[1], row[2], row[3]
    if stations < 2:
        return
    i = 0
    while i < stations - 2 and value > shapes.station[at + i + 1]:
        i += 1
    low, high = shapes.station[at + i], shapes.station[at + i + 1]
    share = (value - low) / (high - low)
    per = 1.0 / (high - low) if 0.0 <= share <= 1.0 else 0.0
    share = min(max(share, 0.0), 1.0)
    # the points of the stations lie one after another behind those of earlier profiles
    start = row[4] + i * count
    for k in range(count):
        for c in range(2):
            a, b = shapes.shape[start + k, c], shapes.shape[start + count + k, c]
            shapes.point[first + k, c] = a + share * (b - a)
            shapes.rate[first + k, c] = per * (b - a)


@inlined
def _turn(q, x, y, z):
    return (
        q[0] + q[3] * x + q[4] * y + q[5] * z,
        q[1] + q[6] * x + q[7] * y + q[8] * z,
        q[2] + q[9] * x + q[10] * y + q[11] * z,
    )


@inlined
def relative_pose(a, b, q):
    """q = b⁻¹ a, poses as origin and rotation by rows."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    for i in range(3):
        q[i] = b[3 + i] * x + b[6 + i] * y + b[9 + i] * z
        for j in range(3):
            q[3 + 3 * i + j] = (
                b[3 + i] * a[3 + j] + b[6 + i] * a[6 + j] + b[9 + i] * a[9 + j]
            )  # fmt: skip


@kernel
def evaluate(shapes, pairs, p, h, theta):
    """Faces of pair p that touch, their forces at the pair's twist and the derivatives."""
    mesh = pairs.faces[p]
    start, total = shapes.mesh[mesh, 0], shapes.mesh[mesh, 1]
    base, leaves = shapes.mesh[mesh, 2], shapes.mesh[mesh, 3]
    node = shapes.node
    q = pairs.turn
    relative_pose(pairs.face_pose[p], pairs.other_pose[p], q)
    pairs.counts[p, 0] = 0
    # no guess from earlier steps: they must not matter for the last digit
    shapes.stack[HINT] = -1
    for i in range(RESULTS):
        pairs.result[p, i] = 0.0
    deepest, convex = pairs.numbers[p, DEEPEST], pairs.numbers[p, CONVEX] > 0.0
    i = 1
    while i > 0:
        b = node[base + i]
        x, y, z = _turn(q, 0.5 * (b[0] + b[3]), 0.5 * (b[1] + b[4]), 0.5 * (b[2] + b[5]))
        a0, a1, a2 = b[3] - b[0], b[4] - b[1], b[5] - b[2]
        radius = 0.5 * math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
        d, nx, ny, nz = distance(shapes, pairs, p, radius + deepest, x, y, z)
        if convex:
            radius = 0.5 * (
                a0 * abs(q[3] * nx + q[6] * ny + q[9] * nz)
                + a1 * abs(q[4] * nx + q[7] * ny + q[10] * nz)
                + a2 * abs(q[5] * nx + q[8] * ny + q[11] * nz)
            )
        if d > radius:
            i = next_node(i)
        elif i < leaves:
            i = 2 * i
        else:
            leaf = i - leaves
            for f in range(start + leaf * total // leaves, start + (leaf + 1) * total // leaves):
                look_at(shapes, pairs, p, f)
                if pairs.face[F_V] > 0.0:
                    if pairs.counts[p, 0] == pairs.place[p, 2]:
                        return TOO_MANY
                    touch_down(shapes, pairs, p, f, f - start, h, theta)
            i = next_node(i)
    hold(pairs, p, h, theta)
    return OK


@kernel
def look_at(shapes, pairs, p, f):
    """Sum up what of face f is inside the other body, into pairs.face."""
    sums, q, part = pairs.face, pairs.turn, shapes.part
    for k in range(FACE):
        sums[k] = 0.0
    t = shapes.triangle[f]
    for k in range(3):
        x, y, z = _turn(q, t[3 * k], t[3 * k + 1], t[3 * k + 2])
        part[0, 3 * k], part[0, 3 * k + 1], part[0, 3 * k + 2] = x, y, z
    part[0, 9] = 0.0
    deepest, most = pairs.numbers[p, DEEPEST], pairs.numbers[p, REFINE]
    fade, convex = pairs.numbers[p, TRANSITION], pairs.numbers[p, CONVEX] > 0.0
    revolves = pairs.kind[p] == REVOLUTION
    top = 1
    while top > 0:
        top -= 1
        c = part[top]
        level = c[9]
        x, y, z = (c[0] + c[3] + c[6]) / 3.0, (c[1] + c[4] + c[7]) / 3.0, (c[2] + c[5] + c[8]) / 3.0
        size = 0.0
        for k in range(3):
            ax, ay, az = c[3 * k] - x, c[3 * k + 1] - y, c[3 * k + 2] - z
            size = max(size, ax * ax + ay * ay + az * az)
        size = math.sqrt(size)
        reach = size + deepest
        d, nx, ny, nz = distance(shapes, pairs, p, reach, x, y, z)
        if d > size:
            continue
        d0, px, py, pz = distance(shapes, pairs, p, reach, c[0], c[1], c[2])
        d1, qx, qy, qz = distance(shapes, pairs, p, reach, c[3], c[4], c[5])
        d2, rx, ry, rz = distance(shapes, pairs, p, reach, c[6], c[7], c[8])
        low, high = min(d, d0, d1, d2), max(d, d0, d1, d2)
        bent = pairs.numbers[p, ROUND]
        if bent == 0.0 and 0.0 <= low < size and level < most + HIDDEN:
            if convex:
                hidden = (
                    lowest(c, d, nx, ny, nz, x, y, z) < 0.0
                    and lowest(c, d0, px, py, pz, c[0], c[1], c[2]) < 0.0
                    and lowest(c, d1, qx, qy, qz, c[3], c[4], c[5]) < 0.0
                    and lowest(c, d2, rx, ry, rz, c[6], c[7], c[8]) < 0.0
                )
            else:
                hidden = (
                    min(
                        nx * px + ny * py + nz * pz,
                        nx * qx + ny * qy + nz * qz,
                        nx * rx + ny * ry + nz * rz,
                    )
                    < ALIKE
                )
            if hidden:
                _cut(part, top, level + 1.0)
                top += 4
            continue
        if level < most and revolves and low < size and high > -size:
            rho = math.sqrt(x * x + y * y)
            bent = section_roundness(shapes, pairs.number[p], pairs.size[p, 0], z, rho, size)
        if level < most and _to_cut(low, high, size, bent):
            _cut(part, top, level + 1.0)
            top += 4
            continue
        if low >= 0.0:
            continue
        # twice the area
        ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
        vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
        wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        area = 0.5 * math.sqrt(wx * wx + wy * wy + wz * wz)
        before_v, before_a = sums[F_V], sums[F_A]
        if high <= 0.0:
            mean = -(0.75 * d + (d0 + d1 + d2) / 12.0)
            sums[F_V] += area * mean
            sums[F_A] += area
            # middle of pressure of a linear s
            total = -(d0 + d1 + d2)
            if total > 0.0:
                f0, f1, f2 = (total - d0) / (4.0 * total), (total - d1) / (4.0 * total), (
                    (total - d2) / (4.0 * total)
                )  # fmt: skip
            else:
                f0 = f1 = f2 = 1.0 / 3.0
            v = area * mean
            sums[F_X] += v * (f0 * c[0] + f1 * c[3] + f2 * c[6])
            sums[F_Y] += v * (f0 * c[1] + f1 * c[4] + f2 * c[7])
            sums[F_Z] += v * (f0 * c[2] + f1 * c[5] + f2 * c[8])
        else:
            third = area / 3.0
            clip(sums, third, x, y, z, -d, c[0], c[1], c[2], -d0, c[3], c[4], c[5], -d1)
            clip(sums, third, x, y, z, -d, c[3], c[4], c[5], -d1, c[6], c[7], c[8], -d2)
            clip(sums, third, x, y, z, -d, c[6], c[7], c[8], -d2, c[0], c[1], c[2], -d0)
        v, a = sums[F_V] - before_v, sums[F_A] - before_a
        sums[F_NX] += v * nx
        sums[F_NY] += v * ny
        sums[F_NZ] += v * nz
        sums[F_S] = max(sums[F_S], -low)
        if a > 0.0:
            sums[F_D] += a * (min(v / (a * fade), 1.0) if fade > 0.0 else 1.0)


@inlined
def _to_cut(low, high, size, bent):
    """Whether a part with the distances low to high is to be cut further."""
    border = low < 0.0 < high
    if bent == 0.0:
        # sharp edges may be anywhere
        return border
    bulge = min(size, size * size / (2.0 * bent)) if math.isfinite(bent) else 0.0
    if low >= 0.0:
        return low < bulge
    return bulge > BEND * ((high - low) if border else -low)


@inlined
def lowest(c, d, nx, ny, nz, x, y, z):
    """The least d + n·(y − x) over a part: a bound of the distance to a convex body from below."""
    a = nx * (c[0] - x) + ny * (c[1] - y) + nz * (c[2] - z)
    b = nx * (c[3] - x) + ny * (c[4] - y) + nz * (c[5] - z)
    e = nx * (c[6] - x) + ny * (c[7] - y) + nz * (c[8] - z)
    return d + min(a, b, e)


@inlined
def _cut(part, top, level):
    """Replace the part at `top` by four, at its place and above."""
    c = part[top]
    ax, ay, az, bx, by, bz, cx, cy, cz = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]
    px, py, pz = 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)
    qx, qy, qz = 0.5 * (bx + cx), 0.5 * (by + cy), 0.5 * (bz + cz)
    rx, ry, rz = 0.5 * (cx + ax), 0.5 * (cy + ay), 0.5 * (cz + az)
    _put(part[top], ax, ay, az, px, py, pz, rx, ry, rz, level)
    _put(part[top + 1], px, py, pz, bx, by, bz, qx, qy, qz, level)
    _put(part[top + 2], rx, ry, rz, qx, qy, qz, cx, cy, cz, level)
    _put(part[top + 3], px, py, pz, qx, qy, qz, rx, ry, rz, level)


@inlined
def _put(row, a, b, c, d, e, f, g, h, i, level):
    row[0], row[1], row[2], row[3], row[4] = a, b, c, d, e
    row[5], row[6], row[7], row[8], row[9] = f, g, h, i, level


@kernel
def clip(sums, area, ax, ay, az, sa, bx, by, bz, sb, cx, cy, cz, sc):
    """Add the part of a triangle where s > 0, s linear between its corners."""
    inside = (1 if sa > 0.0 else 0) + (1 if sb > 0.0 else 0) + (1 if sc > 0.0 else 0)
    if inside == 0:
        return
    if inside == 3:
        add_linear(sums, area, ax, ay, az, sa, bx, by, bz, sb, cx, cy, cz, sc)
        return
    # turn round so that a is the one alone on its side
    if (sa > 0.0) == (sb > 0.0):
        ax, ay, az, sa, bx, by, bz, sb, cx, cy, cz, sc = (
            cx, cy, cz, sc, ax, ay, az, sa, bx, by, bz, sb,
        )  # fmt: skip
    elif (sa > 0.0) == (sc > 0.0):
        ax, ay, az, sa, bx, by, bz, sb, cx, cy, cz, sc = (
            bx, by, bz, sb, cx, cy, cz, sc, ax, ay, az, sa,
        )  # fmt: skip
    f, g = sa / (sa - sb), sa / (sa - sc)
    px, py, pz = ax + f * (bx - ax), ay + f * (by - ay), az + f * (bz - az)
    qx, qy, qz = ax + g * (cx - ax), ay + g * (cy - ay), az + g * (cz - az)
    if inside == 1:
        add_linear(sums, area * f * g, ax, ay, az, sa, px, py, pz, 0.0, qx, qy, qz, 0.0)
    else:
        # the quadrilateral p b c q as p b c and p c q
        add_linear(sums, area * (1.0 - f), px, py, pz, 0.0, bx, by, bz, sb, cx, cy, cz, sc)
        add_linear(sums, area * f * (1.0 - g), px, py, pz, 0.0, cx, cy, cz, sc, qx, qy, qz, 0.0)


@inlined
def add_linear(sums, area, ax, ay, az, sa, bx, by, bz, sb, cx, cy, cz, sc):
    """Add a triangle with s linear and nowhere negative: ∫ s x dA = A/12 Σ x_i (Σ s + s_i)."""
    total = sa + sb + sc
    sums[F_A] += area
    sums[F_V] += area * total / 3.0
    f = area / 12.0
    fa, fb, fc = f * (total + sa), f * (total + sb), f * (total + sc)
    sums[F_X] += fa * ax + fb * bx + fc * cx
    sums[F_Y] += fa * ay + fb * by + fc * cy
    sums[F_Z] += fa * az + fb * bz + fc * cz


@kernel
def touch_down(shapes, pairs, p, row_of_face, f, h, theta):
    """Note what is known of face f of pair p, whose sums stand in pairs.face, without friction."""
    triangle = shapes.triangle[row_of_face]
    sums, b, number = pairs.face, pairs.other_pose[p], pairs.numbers[p]
    volume = sums[F_V]
    # middle of pressure and direction, in the world
    lx, ly, lz = sums[F_X] / volume, sums[F_Y] / volume, sums[F_Z] / volume
    centre, V = pairs.centre[p], pairs.twist[p]
    rx = b[0] + b[3] * lx + b[4] * ly + b[5] * lz - centre[0]
    ry = b[1] + b[6] * lx + b[7] * ly + b[8] * lz - centre[1]
    rz = b[2] + b[9] * lx + b[10] * ly + b[11] * lz - centre[2]
    mx, my, mz = sums[F_NX], sums[F_NY], sums[F_NZ]
    size = math.sqrt(mx * mx + my * my + mz * mz)
    if size == 0.0:
        return
    mx, my, mz = mx / size, my / size, mz / size
    nx = b[3] * mx + b[4] * my + b[5] * mz
    ny = b[6] * mx + b[7] * my + b[8] * mz
    nz = b[9] * mx + b[10] * my + b[11] * mz
    # the face's own normal, inwards, and how far it faces the other body
    a = pairs.face_pose[p]
    mx, my, mz = -triangle[9], -triangle[10], -triangle[11]
    ix = a[3] * mx + a[4] * my + a[5] * mz
    iy = a[6] * mx + a[7] * my + a[8] * mz
    iz = a[9] * mx + a[10] * my + a[11] * mz
    facing = max(ix * nx + iy * ny + iz * nz, 0.0)
    area, damped = facing * sums[F_A], facing * sums[F_D]
    # how a changing profile moves there, per its rate
    ux = uy = uz = 0.0
    if pairs.kind[p] == REVOLUTION and shapes.profile[pairs.number[p], 3] > 1:
        mx, my, mz = section_motion(shapes, pairs.number[p], lx, ly, lz)
        ux = b[3] * mx + b[4] * my + b[5] * mz
        uy = b[6] * mx + b[7] * my + b[8] * mz
        uz = b[9] * mx + b[10] * my + b[11] * mz
    vx = V[0] + V[4] * rz - V[5] * ry - ux * V[6]
    vy = V[1] + V[5] * rx - V[3] * rz - uy * V[6]
    vz = V[2] + V[3] * ry - V[4] * rx - uz * V[6]
    vn = vx * nx + vy * ny + vz * nz
    fn, fd, dn = normal_force(
        number[STIFFNESS], number[DAMPING], volume, facing, area, damped, vn, h, theta,
        number[WEIGHT],
    )  # fmt: skip
    row = pairs.place[p, 1] + pairs.counts[p, 0]
    pairs.counts[p, 0] += 1
    pairs.touching[row] = f
    # displacement from the anchor, in this tangent plane
    ex = ey = ez = 0.0
    slipping = False
    at = pairs.slot[pairs.place[p, 0] + f]
    if at >= 0:
        s = pairs.state[pairs.place[p, 1] + at]
        ex = b[3] * s[E_X] + b[4] * s[E_Y] + b[5] * s[E_Z]
        ey = b[6] * s[E_X] + b[7] * s[E_Y] + b[8] * s[E_Z]
        ez = b[9] * s[E_X] + b[10] * s[E_Y] + b[11] * s[E_Z]
        along = ex * nx + ey * ny + ez * nz
        ex, ey, ez = ex - along * nx, ey - along * ny, ez - along * nz
        slipping = s[SLIPPING] > 0.0
    t = pairs.touch[row]
    t[R_X], t[R_Y], t[R_Z] = rx, ry, rz
    t[N_X], t[N_Y], t[N_Z] = nx, ny, nz
    t[T_X], t[T_Y], t[T_Z] = ex, ey, ez
    t[V_X], t[V_Y], t[V_Z] = vx, vy, vz
    t[FN], t[FD], t[D_N] = fn, fd, dn
    t[T_AREA], t[T_DAMPED], t[T_FACING] = area, damped, facing
    t[I_X], t[I_Y], t[I_Z] = ix, iy, iz
    t[T_PATCH], t[T_SPRING] = sums[F_A], -1.0
    t[U_X], t[U_Y], t[U_Z] = ux, uy, uz
    t[T_WAS] = 1.0 if slipping else 0.0
    t[T_HELD] = max(facing * fn + fd, 0.0)
    result = pairs.result[p]
    result[Q_DEPTH] = max(result[Q_DEPTH], sums[F_S])
    result[Q_AREA] += area


@kernel
def hold(pairs, p, h, theta):
    """Friction of the faces that touch, by what holds them (T_HELD); force, derivative of all."""
    number, F, B = pairs.numbers[p], pairs.force[p], pairs.stiff[p]
    for i in range(7):
        F[i] = 0.0
        for j in range(7):
            B[i, j] = 0.0
    first = pairs.place[p, 1]
    # no stiffer along the surface than the step can resolve, for all faces together
    whole = number[STIFFNESS_T] * pairs.result[p, Q_AREA]
    soft = number[CAP] / whole if whole > number[CAP] else 1.0
    for i in range(pairs.counts[p, 0]):
        t = pairs.touch[first + i]
        nx, ny, nz = t[N_X], t[N_Y], t[N_Z]
        rx, ry, rz = t[R_X], t[R_Y], t[R_Z]
        ux, uy, uz = t[U_X], t[U_Y], t[U_Z]
        spring, damper = (
            soft * number[STIFFNESS_T] * t[T_AREA],
            soft * number[DAMPING_T] * t[T_DAMPED],
        )
        if t[T_SPRING] < 0.0:
            t[T_SPRING] = spring
            at = pairs.slot[pairs.place[p, 0] + pairs.touching[first + i]]
            if at >= 0 and spring > pairs.state[first + at, SPRING]:
                keep = pairs.state[first + at, SPRING] / spring
                t[T_X], t[T_Y], t[T_Z] = keep * t[T_X], keep * t[T_Y], keep * t[T_Z]
        vx, vy, vz = t[V_X], t[V_Y], t[V_Z]
        vn = vx * nx + vy * ny + vz * nz
        held = t[T_HELD]
        gx, gy, gz, dx, dy, dz, d_along, d_across, slips = friction(
            spring, damper, number[STICK] * held, number[SLIP] * held, t[T_WAS] > 0.0,
            t[T_X], t[T_Y], t[T_Z], vx - vn * nx, vy - vn * ny, vz - vn * nz, h, theta,
            number[WEIGHT],
        )  # fmt: skip
        t[G_X], t[G_Y], t[G_Z] = gx, gy, gz
        t[D_X], t[D_Y], t[D_Z] = dx, dy, dz
        t[D_ALONG], t[D_ACROSS] = d_along, d_across
        t[T_SLIPS] = 1.0 if slips else 0.0
        fn, fd = t[FN], t[FD]
        add_force(
            F, fn * t[I_X] + fd * nx - gx, fn * t[I_Y] + fd * ny - gy, fn * t[I_Z] + fd * nz - gz,
            rx, ry, rz, ux, uy, uz,
        )  # fmt: skip
        if dx == 0.0 and dy == 0.0 and dz == 0.0:
            # the same along and across: any tangent
            if abs(nx) < 0.6:
                dy, dz = nz, -ny
            else:
                dx, dy = -ny, nx
            size = math.sqrt(dx * dx + dy * dy + dz * dz)
            dx, dy, dz = dx / size, dy / size, dz / size
        add_direction(B, t[D_N], nx, ny, nz, rx, ry, rz, ux, uy, uz)
        add_direction(B, d_along, dx, dy, dz, rx, ry, rz, ux, uy, uz)
        add_direction(
            B, d_across, ny * dz - nz * dy, nz * dx - nx * dz, nx * dy - ny * dx, rx, ry, rz,
            ux, uy, uz,
        )  # fmt: skip


@inlined
def end_forces(t, V):
    """Of a face, at the end of the step with the twist V: its velocity, the change of its normal
    force and friction −F_T, all with the derivatives of the step."""
    rx, ry, rz = t[R_X], t[R_Y], t[R_Z]
    nx, ny, nz = t[N_X], t[N_Y], t[N_Z]
    vx = V[0] + V[4] * rz - V[5] * ry - t[U_X] * V[6]
    vy = V[1] + V[5] * rx - V[3] * rz - t[U_Y] * V[6]
    vz = V[2] + V[3] * ry - V[4] * rx - t[U_Z] * V[6]
    x, y, z = vx - t[V_X], vy - t[V_Y], vz - t[V_Z]
    dn = x * nx + y * ny + z * nz
    x, y, z = x - dn * nx, y - dn * ny, z - dn * nz
    dx, dy, dz = t[D_X], t[D_Y], t[D_Z]
    along = (t[D_ALONG] - t[D_ACROSS]) * (x * dx + y * dy + z * dz)
    return (
        vx, vy, vz, t[FD] - t[D_N] * dn,
        t[G_X] + t[D_ACROSS] * x + along * dx,
        t[G_Y] + t[D_ACROSS] * y + along * dy,
        t[G_Z] + t[D_ACROSS] * z + along * dz,
    )  # fmt: skip


@kernel
def tighten(pairs, p, h, theta, last):
    """Whether friction of pair p would leave its cone with the twist at the end of the step; then
    it is bounded by what the faces carry there, and all is summed up again."""
    first, number, V = pairs.place[p, 1], pairs.numbers[p], pairs.twist[p]
    beyond = allowed = 0.0
    n = pairs.counts[p, 0]
    for i in range(n):
        t = pairs.touch[first + i]
        _, _, _, fd, gx, gy, gz = end_forces(t, V)
        held = max(t[T_FACING] * t[FN] + fd, 0.0)
        cone = (number[SLIP] if t[T_SLIPS] > 0.0 else number[STICK]) * held
        beyond += max(math.sqrt(gx * gx + gy * gy + gz * gz) - cone, 0.0)
        allowed += cone
    if beyond <= LEEWAY * allowed:
        return False
    for i in range(n):
        t = pairs.touch[first + i]
        _, _, _, fd, _, _, _ = end_forces(t, V)
        held = max(t[T_FACING] * t[FN] + fd, 0.0)
        t[T_HELD] = min(held, t[T_HELD]) if last else held
    hold(pairs, p, h, theta)
    return True


@inlined
def add_force(F, fx, fy, fz, rx, ry, rz, ux, uy, uz):
    """F += a force at r, and what it does on the coordinate that moves its point by u."""
    F[0] += fx
    F[1] += fy
    F[2] += fz
    F[3] += ry * fz - rz * fy
    F[4] += rz * fx - rx * fz
    F[5] += rx * fy - ry * fx
    F[6] -= ux * fx + uy * fy + uz * fz


@inlined
def add_direction(B, f, x, y, z, rx, ry, rz, ux, uy, uz):
    """B += f a aᵀ with a = (x, r × x, −u·x), its lower triangle."""
    if f == 0.0:
        return
    a3, a4, a5 = ry * z - rz * y, rz * x - rx * z, rx * y - ry * x
    a = (x, y, z, a3, a4, a5, -(ux * x + uy * y + uz * z))
    for i in range(7):
        g = f * a[i]
        for j in range(i + 1):
            B[i, j] += g * a[j]


@kernel
def account(pairs, p, h, theta):
    """What has acted on pair p, whose twist is now that at the end of the step; new anchors."""
    first, places, slots = pairs.place[p, 1], pairs.place[p, 2], pairs.place[p, 0]
    number, V, F, b = pairs.numbers[p], pairs.twist[p], pairs.force[p], pairs.other_pose[p]
    result = pairs.result[p]
    for i in range(7):
        F[i] = 0.0
    for i in range(pairs.counts[p, 1]):
        pairs.slot[slots + pairs.before[first + i]] = -1
    n = min(pairs.counts[p, 0], places)
    for i in range(n):
        t = pairs.touch[first + i]
        nx, ny, nz = t[N_X], t[N_Y], t[N_Z]
        rx, ry, rz = t[R_X], t[R_Y], t[R_Z]
        vx, vy, vz, fd, gx, gy, gz = end_forces(t, V)
        fn = t[FN]
        x, y, z = fn * t[I_X] + fd * nx, fn * t[I_Y] + fd * ny, fn * t[I_Z] + fd * nz
        fx, fy, fz = x - gx, y - gy, z - gz
        add_force(F, fx, fy, fz, rx, ry, rz, t[U_X], t[U_Y], t[U_Z])
        result[Q_WORK] -= 0.5 * h * (
            fx * (vx + t[V_X]) + fy * (vy + t[V_Y]) + fz * (vz + t[V_Z])
        )  # fmt: skip
        load = fn * t[T_FACING] + fd
        result[Q_NORMAL] += load
        result[Q_NX] += x
        result[Q_NY] += y
        result[Q_NZ] += z
        result[Q_PX] += load * rx
        result[Q_PY] += load * ry
        result[Q_PZ] += load * rz
        # the way of the step, along the surface
        mx = theta * vx + (1.0 - theta) * t[V_X]
        my = theta * vy + (1.0 - theta) * t[V_Y]
        mz = theta * vz + (1.0 - theta) * t[V_Z]
        mn = mx * nx + my * ny + mz * nz
        ex = t[T_X] + h * (mx - mn * nx)
        ey = t[T_Y] + h * (my - mn * ny)
        ez = t[T_Z] + h * (mz - mn * nz)
        vn = vx * nx + vy * ny + vz * nz
        x, y, z = vx - vn * nx, vy - vn * ny, vz - vn * nz
        speed = math.sqrt(x * x + y * y + z * z)
        held = max(load, 0.0)
        ex, ey, ez, slipping = drag_anchor(
            t[T_SPRING], number[STICK] * held, number[SLIP] * held,
            t[T_WAS] > 0.0, t[T_SLIPS] > 0.0, ex, ey, ez, speed, number[SLIP_SPEED],
        )  # fmt: skip
        s = pairs.state[first + i]
        s[E_X] = b[3] * ex + b[6] * ey + b[9] * ez
        s[E_Y] = b[4] * ex + b[7] * ey + b[10] * ez
        s[E_Z] = b[5] * ex + b[8] * ey + b[11] * ez
        s[SPRING] = t[T_SPRING]
        s[SLIPPING] = 1.0 if slipping else 0.0
        result[Q_SLIPPING] += s[SLIPPING]
        f = pairs.touching[first + i]
        pairs.before[first + i] = f
        pairs.slot[slots + f] = i
        result[Q_FACES] += 1.0 if t[T_FACING] > EDGEWISE else 0.0
    pairs.counts[p, 1] = n
