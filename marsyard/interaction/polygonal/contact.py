"""Polygonal contact of one pair: faces of one body inside another, their forces and derivatives.

Finding. The faces stand in a hierarchy of boxes. A box is passed by when no point of it can be
inside: with the distance d at its middle and the direction n there, when d is larger than half its
diagonal, or, if the other body is convex (its distance is a convex function then), than half its
extent along n. What is near is listed for many steps (`near`). The cost grows with the faces that
touch and only with the logarithm of those that do not. Any shape of the other body will do whose
distance is known (`distance`): convex or not, touching in any number of places.

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

from marsyard.interaction.polygonal.arrays import (
    CAP,
    CONVEX,
    CORNERS,
    CORNERS_AND_MIDDLE,
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
    MEMO,
    N_X,
    N_Y,
    N_Z,
    NOTHING,
    OK,
    P_CORNER,
    P_KNOWN,
    P_LEVEL,
    P_MIDDLE,
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
    WIDEST,
)  # fmt: skip
from marsyard.interaction.polygonal.distance import (
    HINT,
    MESH,
    PLANE,
    REVOLUTION,
    SEGMENT,
    distance,
    revolution_distance,
    section_motion,
    section_roundness,
)
from marsyard.interaction.polygonal.law import drag_anchor, friction, normal_force
from marsyard.interaction.polygonal.near import turn, update_near
from marsyard.jit import VECTOR, inlined, inner, kernel

Array = np.ndarray

#: place in Shapes.stack of the number of the evaluation
NUMBER = 125
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
    most = 0.0
    for k in range(count):
        for c in range(2):
            a, b = shapes.shape[start + k, c], shapes.shape[start + count + k, c]
            now = a + share * (b - a)
            most = max(most, abs(now - shapes.point[first + k, c]))
            shapes.point[first + k, c] = now
            shapes.rate[first + k, c] = per * (b - a)
    # in both coordinates
    shapes.path[r] += math.sqrt(2.0) * most


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
    relative_pose(pairs.face_pose[p], pairs.other_pose[p], pairs.turn)
    pairs.counts[p, 0] = 0
    # guesses of what is nearest are for this pair, distances found so far for its last place
    shapes.stack[HINT] = shapes.stack[SEGMENT] = -1
    shapes.stack[NUMBER] += 1
    for i in range(RESULTS):
        pairs.result[p, i] = 0.0
    update_near(shapes, pairs, p)
    start, first = shapes.mesh[pairs.faces[p], 0], pairs.place[p, 0]
    flat = pairs.kind[p] == PLANE
    for i in range(first, first + pairs.close_count[p]):
        f = pairs.close[i]
        if flat:
            look_at_plane(shapes, pairs, p, f)
        else:
            look_at(shapes, pairs, p, f)
        if pairs.face[F_V] > 0.0:
            if pairs.counts[p, 0] == pairs.place[p, 2]:
                return TOO_MANY
            touch_down(shapes, pairs, p, f, f - start, h, theta)
    hold(pairs, p, h, theta)
    return OK


@inlined(fastmath=VECTOR)
def look_at_plane(shapes, pairs, p, f):
    """As `look_at`, for a plane."""
    sums, q, t = pairs.face, pairs.turn, shapes.triangle[f]
    ax, ay, az = turn(q, t[0], t[1], t[2])
    bx, by, bz = turn(q, t[3], t[4], t[5])
    cx, cy, cz = turn(q, t[6], t[7], t[8])
    sums[F_V] = 0.0
    if az >= 0.0 and bz >= 0.0 and cz >= 0.0:
        return
    fade = pairs.numbers[p, TRANSITION]
    if az <= 0.0 and bz <= 0.0 and cz <= 0.0:
        # all of it is inside, and s is linear
        area, total = t[12], -(az + bz + cz)
        v = area * total / 3.0
        f = 0.25 / total
        fa, fb, fc = f * (total - az), f * (total - bz), f * (total - cz)
        sums[F_V], sums[F_A] = v, area
        sums[F_X], sums[F_Y], sums[F_Z] = (
            v * (fa * ax + fb * bx + fc * cx), v * (fa * ay + fb * by + fc * cy),
            v * (fa * az + fb * bz + fc * cz),
        )  # fmt: skip
        sums[F_NX], sums[F_NY], sums[F_NZ] = 0.0, 0.0, v
        sums[F_S] = -min(az, bz, cz)
        sums[F_D] = area * (min(v / (area * fade), 1.0) if fade > 0.0 else 1.0)
        return
    for k in range(FACE):
        sums[k] = 0.0
    clip(sums, t[12], ax, ay, az, -az, bx, by, bz, -bz, cx, cy, cz, -cz)
    v, area = sums[F_V], sums[F_A]
    sums[F_NZ] = v
    sums[F_S] = -min(az, bz, cz)
    if area > 0.0:
        sums[F_D] = area * (min(v / (area * fade), 1.0) if fade > 0.0 else 1.0)


@inner
def remembered(shapes, pairs, p, limit, x, y, z, out):
    """The distance at a point and its direction, into out[:4]. Parts side by side share corners and
    find them here: their coordinates are the same to the last digit."""
    key = int(x * 7.3e9) ^ int(y * 1.93e10) ^ int(z * 8.3e9)
    place = (key ^ key >> 11 ^ key >> 23) & (MEMO - 1)
    m, number = shapes.memo[place], shapes.stack[NUMBER]
    if shapes.memo_number[place] != number or m[4] != x or m[5] != y or m[6] != z:
        shapes.memo_number[place] = number
        m[4], m[5], m[6] = x, y, z
        m[0], m[1], m[2], m[3] = distance(shapes, pairs, p, limit, x, y, z)
    out[0], out[1], out[2], out[3] = m[0], m[1], m[2], m[3]


@inner
def look_at(shapes, pairs, p, f):
    """Sum up what of face f is inside the other body, into pairs.face."""
    sums, q, part = pairs.face, pairs.turn, shapes.part
    for k in range(FACE):
        sums[k] = 0.0
    t = shapes.triangle[f]
    for k in range(3):
        x, y, z = turn(q, t[3 * k], t[3 * k + 1], t[3 * k + 2])
        part[0, 3 * k], part[0, 3 * k + 1], part[0, 3 * k + 2] = x, y, z
    part[0, P_LEVEL], part[0, P_KNOWN] = 0.0, NOTHING
    deepest, most = pairs.numbers[p, DEEPEST], pairs.numbers[p, REFINE]
    fade, convex = pairs.numbers[p, TRANSITION], pairs.numbers[p, CONVEX] > 0.0
    revolves, searched = pairs.kind[p] == REVOLUTION, pairs.kind[p] == MESH
    # what is remembered of meshes does not depend on the part that asked for it
    widest = pairs.numbers[p, WIDEST] + deepest
    top = 1
    while top > 0:
        top -= 1
        c = part[top]
        level = c[P_LEVEL]
        third = 1.0 / 3.0
        x, y, z = third * (c[0] + c[3] + c[6]), third * (c[1] + c[4] + c[7]), (
            third * (c[2] + c[5] + c[8])
        )  # fmt: skip
        size = 0.0
        for k in range(3):
            ax, ay, az = c[3 * k] - x, c[3 * k + 1] - y, c[3 * k + 2] - z
            size = max(size, ax * ax + ay * ay + az * az)
        size = math.sqrt(size)
        reach = size + deepest
        bz = br = 0.0
        at = -1
        if c[P_KNOWN] == CORNERS_AND_MIDDLE:
            m = c[P_MIDDLE:]
            d, nx, ny, nz, bz, br, at = m[0], m[1], m[2], m[3], m[4], m[5], int(m[6])
        elif revolves:
            d, nx, ny, nz, bz, br, at = revolution_distance(
                shapes, pairs.number[p], pairs.size[p, 0], x, y, z
            )
        else:
            d, nx, ny, nz = distance(shapes, pairs, p, reach, x, y, z)
        if searched and abs(d) >= reach:
            d = reach
        if d > size:
            continue
        if convex and lowest(c, d, nx, ny, nz, x, y, z) >= 0.0:
            continue
        if c[P_KNOWN] == NOTHING:
            for k in range(3):
                remembered(
                    shapes, pairs, p, widest, c[3 * k], c[3 * k + 1], c[3 * k + 2],
                    c[P_CORNER + 4 * k :],
                )  # fmt: skip
        m = c[P_CORNER:]
        d0, px, py, pz = m[0], m[1], m[2], m[3]
        d1, qx, qy, qz = m[4], m[5], m[6], m[7]
        d2, rx, ry, rz = m[8], m[9], m[10], m[11]
        if searched:
            # beyond what is searched counts as outside
            if abs(d0) >= reach:
                d0, px, py, pz = reach, 0.0, 0.0, 1.0
            if abs(d1) >= reach:
                d1, qx, qy, qz = reach, 0.0, 0.0, 1.0
            if abs(d2) >= reach:
                d2, rx, ry, rz = reach, 0.0, 0.0, 1.0
        low, high = min(d, d0, d1, d2), max(d, d0, d1, d2)
        bent = pairs.numbers[p, ROUND]
        cut = False
        if bent == 0.0 and 0.0 <= low < size and level < most + HIDDEN:
            if convex:
                cut = (
                    lowest(c, d0, px, py, pz, c[0], c[1], c[2]) < 0.0
                    and lowest(c, d1, qx, qy, qz, c[3], c[4], c[5]) < 0.0
                    and lowest(c, d2, rx, ry, rz, c[6], c[7], c[8]) < 0.0
                )
            else:
                cut = (
                    min(
                        nx * px + ny * py + nz * pz,
                        nx * qx + ny * qy + nz * qz,
                        nx * rx + ny * ry + nz * rz,
                    )
                    < ALIKE
                )
            if not cut:
                continue
        elif level < most:
            if revolves and low < size and high > -size:
                bent = section_roundness(
                    shapes, pairs.number[p], pairs.size[p, 0], bz, br, at, size
                )  # fmt: skip
            cut = _to_cut(low, high, size, bent)
        if cut:
            _cut(part, top, level + 1.0)
            m = part[top + 3, P_MIDDLE:]
            m[0], m[1], m[2], m[3], m[4], m[5], m[6] = d, nx, ny, nz, bz, br, at
            for k in range(3):
                side = part[top + 3, 3 * k :]
                remembered(
                    shapes, pairs, p, widest, side[0], side[1], side[2],
                    part[top + 3, P_CORNER + 4 * k :],
                )  # fmt: skip
            _share(part, top)
            top += 4
            continue
        if low >= 0.0:
            continue
        # twice the area
        ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
        vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
        wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        area = 0.5 * math.sqrt(wx * wx + wy * wy + wz * wz)
        add_part(sums, c, area, x, y, z, d, nx, ny, nz, d0, d1, d2, fade)


@inner(fastmath=VECTOR)
def add_part(sums, c, area, x, y, z, d, nx, ny, nz, d0, d1, d2, fade):
    """Add a part of a face with these distances at its middle and its corners."""
    before_v, before_a = sums[F_V], sums[F_A]
    if max(d, d0, d1, d2) <= 0.0:
        mean = -(0.75 * d + (d0 + d1 + d2) / 12.0)
        sums[F_V] += area * mean
        sums[F_A] += area
        # middle of pressure of a linear s
        total = -(d0 + d1 + d2)
        if total > 0.0:
            f = 0.25 / total
            f0, f1, f2 = f * (total - d0), f * (total - d1), f * (total - d2)
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
    sums[F_S] = max(sums[F_S], -min(d, d0, d1, d2))
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
    """Replace the part at `top` by four, at its place and above: three with one of its corners, the
    last one in its middle, where the distance is known."""
    c = part[top]
    ax, ay, az, bx, by, bz, cx, cy, cz = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]
    px, py, pz = 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)
    qx, qy, qz = 0.5 * (bx + cx), 0.5 * (by + cy), 0.5 * (bz + cz)
    rx, ry, rz = 0.5 * (cx + ax), 0.5 * (cy + ay), 0.5 * (cz + az)
    _put(part[top], ax, ay, az, px, py, pz, rx, ry, rz, level)
    _put(part[top + 1], px, py, pz, bx, by, bz, qx, qy, qz, level)
    _put(part[top + 2], rx, ry, rz, qx, qy, qz, cx, cy, cz, level)
    _put(part[top + 3], px, py, pz, qx, qy, qz, rx, ry, rz, level)
    for k in range(3):
        part[top + k, P_KNOWN] = CORNERS
    part[top + 3, P_KNOWN] = CORNERS_AND_MIDDLE


@inlined
def _share(part, top):
    """Distances at the corners of the four parts from `top` on: the first has those of the whole,
    the last those in the middle of its sides."""
    a, b, c, m = part[top], part[top + 1], part[top + 2], part[top + 3]
    i, j, k = P_CORNER, P_CORNER + 4, P_CORNER + 8
    for n in range(4):
        p, q, r = m[i + n], m[j + n], m[k + n]
        b[i + n], b[j + n], b[k + n] = p, a[j + n], q
        c[i + n], c[j + n], c[k + n] = r, q, a[k + n]
        a[j + n], a[k + n] = p, r


@inlined
def _put(row, a, b, c, d, e, f, g, h, i, level):
    row[0], row[1], row[2], row[3], row[4] = a, b, c, d, e
    row[5], row[6], row[7], row[8], row[P_LEVEL] = f, g, h, i, level


@kernel(fastmath=VECTOR)
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


@inlined(fastmath=VECTOR)
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


@inlined(fastmath=VECTOR)
def touch_down(shapes, pairs, p, row_of_face, f, h, theta):
    """Note what is known of face f of pair p, whose sums stand in pairs.face, without friction."""
    triangle = shapes.triangle[row_of_face]
    sums, b, number = pairs.face, pairs.other_pose[p], pairs.numbers[p]
    volume = sums[F_V]
    # middle of pressure and direction, in the world
    inverse = 1.0 / volume
    lx, ly, lz = inverse * sums[F_X], inverse * sums[F_Y], inverse * sums[F_Z]
    centre, V = pairs.centre[p], pairs.twist[p]
    rx = b[0] + b[3] * lx + b[4] * ly + b[5] * lz - centre[0]
    ry = b[1] + b[6] * lx + b[7] * ly + b[8] * lz - centre[1]
    rz = b[2] + b[9] * lx + b[10] * ly + b[11] * lz - centre[2]
    mx, my, mz = sums[F_NX], sums[F_NY], sums[F_NZ]
    size = math.sqrt(mx * mx + my * my + mz * mz)
    if size == 0.0:
        return
    inverse = 1.0 / size
    mx, my, mz = inverse * mx, inverse * my, inverse * mz
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


@kernel(fastmath=VECTOR)
def hold(pairs, p, h, theta):
    """Friction of the faces that touch, by what holds them (T_HELD); force, derivative of all.

    With D the derivative of a face's force by its velocity, R = [r]× and u the motion of its point
    per rate of the coordinate that changes the profile,

        Σ D,   Σ R D,   Σ R D Rᵀ,   −Σ uᵀD,   −Σ (R D u)ᵀ,   Σ uᵀD u

    are the blocks of B."""
    number, F, B = pairs.numbers[p], pairs.force[p], pairs.stiff[p]
    first = pairs.place[p, 1]
    # no stiffer along the surface than the step can resolve, for all faces together
    whole = number[STIFFNESS_T] * pairs.result[p, Q_AREA]
    soft = number[CAP] / whole if whole > number[CAP] else 1.0
    spring_of, damper_of = soft * number[STIFFNESS_T], soft * number[DAMPING_T]
    stick, slip, weight = number[STICK], number[SLIP], number[WEIGHT]
    f0 = f1 = f2 = f3 = f4 = f5 = 0.0
    b00 = b10 = b11 = b20 = b21 = b22 = 0.0
    b30 = b31 = b32 = b40 = b41 = b42 = b50 = b51 = b52 = 0.0
    b33 = b43 = b44 = b53 = b54 = b55 = 0.0
    for i in range(7):
        F[i] = 0.0
        for j in range(7):
            B[i, j] = 0.0
    for i in range(pairs.counts[p, 0]):
        t = pairs.touch[first + i]
        nx, ny, nz = t[N_X], t[N_Y], t[N_Z]
        rx, ry, rz = t[R_X], t[R_Y], t[R_Z]
        spring, damper = spring_of * t[T_AREA], damper_of * t[T_DAMPED]
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
            spring, damper, stick * held, slip * held, t[T_WAS] > 0.0,
            t[T_X], t[T_Y], t[T_Z], vx - vn * nx, vy - vn * ny, vz - vn * nz, h, theta, weight,
        )  # fmt: skip
        t[G_X], t[G_Y], t[G_Z] = gx, gy, gz
        t[D_X], t[D_Y], t[D_Z] = dx, dy, dz
        t[D_ALONG], t[D_ACROSS] = d_along, d_across
        t[T_SLIPS] = 1.0 if slips else 0.0
        fn, fd = t[FN], t[FD]
        fx = fn * t[I_X] + fd * nx - gx
        fy = fn * t[I_Y] + fd * ny - gy
        fz = fn * t[I_Z] + fd * nz - gz
        f0 += fx
        f1 += fy
        f2 += fz
        f3 += ry * fz - rz * fy
        f4 += rz * fx - rx * fz
        f5 += rx * fy - ry * fx
        # D: across the same in all directions, more along the normal and less along the slip
        a, b = t[D_N] - d_across, d_along - d_across
        ax, ay, az, bx, by, bz = a * nx, a * ny, a * nz, b * dx, b * dy, b * dz
        d00, d11, d22 = (
            d_across + ax * nx + bx * dx, d_across + ay * ny + by * dy,
            d_across + az * nz + bz * dz,
        )  # fmt: skip
        d10, d20, d21 = ax * ny + bx * dy, ax * nz + bx * dz, ay * nz + by * dz
        b00 += d00
        b10 += d10
        b11 += d11
        b20 += d20
        b21 += d21
        b22 += d22
        # R D, by rows
        w00, w01, w02 = ry * d20 - rz * d10, ry * d21 - rz * d11, ry * d22 - rz * d21
        w10, w11, w12 = rz * d00 - rx * d20, rz * d10 - rx * d21, rz * d20 - rx * d22
        w20, w21, w22 = rx * d10 - ry * d00, rx * d11 - ry * d10, rx * d21 - ry * d20
        b30 += w00
        b31 += w01
        b32 += w02
        b40 += w10
        b41 += w11
        b42 += w12
        b50 += w20
        b51 += w21
        b52 += w22
        b33 += ry * w02 - rz * w01
        b43 += ry * w12 - rz * w11
        b44 += rz * w10 - rx * w12
        b53 += ry * w22 - rz * w21
        b54 += rz * w20 - rx * w22
        b55 += rx * w21 - ry * w20
        ux, uy, uz = t[U_X], t[U_Y], t[U_Z]
        if ux != 0.0 or uy != 0.0 or uz != 0.0:
            F[6] -= ux * fx + uy * fy + uz * fz
            x, y, z = (
                d00 * ux + d10 * uy + d20 * uz, d10 * ux + d11 * uy + d21 * uz,
                d20 * ux + d21 * uy + d22 * uz,
            )  # fmt: skip
            B[6, 0] -= x
            B[6, 1] -= y
            B[6, 2] -= z
            B[6, 3] -= ry * z - rz * y
            B[6, 4] -= rz * x - rx * z
            B[6, 5] -= rx * y - ry * x
            B[6, 6] += ux * x + uy * y + uz * z
    F[0], F[1], F[2], F[3], F[4], F[5] = f0, f1, f2, f3, f4, f5
    B[0, 0], B[1, 0], B[1, 1], B[2, 0], B[2, 1], B[2, 2] = b00, b10, b11, b20, b21, b22
    B[3, 0], B[3, 1], B[3, 2], B[4, 0], B[4, 1], B[4, 2] = b30, b31, b32, b40, b41, b42
    B[5, 0], B[5, 1], B[5, 2] = b50, b51, b52
    B[3, 3], B[4, 3], B[4, 4], B[5, 3], B[5, 4], B[5, 5] = b33, b43, b44, b53, b54, b55


@inlined(fastmath=VECTOR)
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


@kernel(fastmath=VECTOR)
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
        squared = gx * gx + gy * gy + gz * gz
        if squared > cone * cone:
            beyond += math.sqrt(squared) - cone
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


@kernel(fastmath=VECTOR)
def account(pairs, p, h, theta):
    """What has acted on pair p, whose twist is now that at the end of the step; new anchors."""
    first, places, slots = pairs.place[p, 1], pairs.place[p, 2], pairs.place[p, 0]
    number, V, F, b = pairs.numbers[p], pairs.twist[p], pairs.force[p], pairs.other_pose[p]
    stick, slip, slip_speed = number[STICK], number[SLIP], number[SLIP_SPEED]
    result = pairs.result[p]
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = 0.0
    work = normal = all_x = all_y = all_z = at_x = at_y = at_z = 0.0
    faces = slip_count = 0.0
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
        f0 += fx
        f1 += fy
        f2 += fz
        f3 += ry * fz - rz * fy
        f4 += rz * fx - rx * fz
        f5 += rx * fy - ry * fx
        f6 -= t[U_X] * fx + t[U_Y] * fy + t[U_Z] * fz
        work -= fx * (vx + t[V_X]) + fy * (vy + t[V_Y]) + fz * (vz + t[V_Z])
        load = fn * t[T_FACING] + fd
        normal += load
        all_x += x
        all_y += y
        all_z += z
        at_x += load * rx
        at_y += load * ry
        at_z += load * rz
        # the displacement of the step, along the surface
        mx = theta * vx + (1.0 - theta) * t[V_X]
        my = theta * vy + (1.0 - theta) * t[V_Y]
        mz = theta * vz + (1.0 - theta) * t[V_Z]
        mn = mx * nx + my * ny + mz * nz
        ex = t[T_X] + h * (mx - mn * nx)
        ey = t[T_Y] + h * (my - mn * ny)
        ez = t[T_Z] + h * (mz - mn * nz)
        vn = vx * nx + vy * ny + vz * nz
        held = max(load, 0.0)
        ex, ey, ez, slipping = drag_anchor(
            t[T_SPRING], stick * held, slip * held, t[T_WAS] > 0.0, t[T_SLIPS] > 0.0, ex, ey, ez,
            vx - vn * nx, vy - vn * ny, vz - vn * nz, slip_speed,
        )  # fmt: skip
        s = pairs.state[first + i]
        s[E_X] = b[3] * ex + b[6] * ey + b[9] * ez
        s[E_Y] = b[4] * ex + b[7] * ey + b[10] * ez
        s[E_Z] = b[5] * ex + b[8] * ey + b[11] * ez
        s[SPRING] = t[T_SPRING]
        s[SLIPPING] = 1.0 if slipping else 0.0
        slip_count += 1.0 if slipping else 0.0
        f = pairs.touching[first + i]
        pairs.before[first + i] = f
        pairs.slot[slots + f] = i
        faces += 1.0 if t[T_FACING] > EDGEWISE else 0.0
    F[0], F[1], F[2], F[3], F[4], F[5], F[6] = f0, f1, f2, f3, f4, f5, f6
    result[Q_WORK] = 0.5 * h * work
    result[Q_NORMAL], result[Q_FACES], result[Q_SLIPPING] = normal, faces, slip_count
    result[Q_NX], result[Q_NY], result[Q_NZ] = all_x, all_y, all_z
    result[Q_PX], result[Q_PY], result[Q_PZ] = at_x, at_y, at_z
    pairs.counts[p, 1] = n
