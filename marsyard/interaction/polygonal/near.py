"""Lists of the faces of a pair that may touch, used for many steps.

A body that moves by ε changes any distance to it by at most ε. When the list of near faces is made,
each face gets a lower bound g of its distance to the other body: it cannot touch before some point
has moved by more than g. A second list, the close faces, has those that may touch by now. Faces and
boxes of the hierarchy further away than a margin are left out; the list is made again once bodies
have moved as far as the nearest of them was away. Lists leave out only what cannot touch and keep
the order of the hierarchy. So the result does not depend on when they were made, to the last bit,
and they are no part of the state.

How far points have moved: let x_o = t + Q x take a point from the frame of the faces to that of the
other body, and Δ be the change since the list was made. Then

    max |Δt + ΔQ x|                over the box of the faces, all or those in the list
    max |Δo + ΔQᵀ y|               over the box of the other body, o = −Qᵀ t

each bound the change of all distances. For a plane only motion along its normal counts, for a ball
that of its centre, and for a body of revolution that of its axis, as turning about it changes
nothing. The change of a profile is added.
"""

from __future__ import annotations

import math

from marsyard.interaction.contact_geometry.mesh import next_node
from marsyard.interaction.polygonal.arrays import (
    CONVEX,
    DEEPEST,
    W_BOX,
    W_CLOSE,
    W_FURTHER,
    W_PATH,
    W_USED,
    W_VALID,
)
from marsyard.interaction.polygonal.distance import PLANE, REVOLUTION, SPHERE, distance
from marsyard.jit import FUSED, inlined, inner

#: for how many evaluations a list should do
USES = 32
#: margin of a list [m]: least and most
LEAST, MOST = 1e-5, 2e-3
#: for how many evaluations the list of close faces should do
FURTHER = 6
#: bounds may be wrong by rounding [m]
ROUNDING = 1e-10


@inlined(fastmath=FUSED)
def turn(q, x, y, z):
    """A point of the faces' frame in that of the other body."""
    return (
        q[0] + q[3] * x + q[4] * y + q[5] * z,
        q[1] + q[6] * x + q[7] * y + q[8] * z,
        q[2] + q[9] * x + q[10] * y + q[11] * z,
    )


@inner
def moved_since(shapes, pairs, p, b):
    """How far points of the faces in the box b have moved at most since the list of pair p was made
    [m]."""
    q, w = pairs.turn, pairs.near_at[p]
    mx, my, mz = 0.5 * (b[0] + b[3]), 0.5 * (b[1] + b[4]), 0.5 * (b[2] + b[5])
    hx, hy, hz = 0.5 * (b[3] - b[0]), 0.5 * (b[4] - b[1]), 0.5 * (b[5] - b[2])
    kind = pairs.kind[p]
    if kind == PLANE:
        x, y, z = q[9] - w[9], q[10] - w[10], q[11] - w[11]
        middle = abs(q[2] - w[2] + x * mx + y * my + z * mz)
        return middle + abs(x) * hx + abs(y) * hy + abs(z) * hz
    # the box of the faces
    own = 0.0
    for i in range(3):
        a = q[i] - w[i]
        for j in range(3):
            a += (q[3 + 3 * i + j] - w[3 + 3 * i + j]) * (mx if j == 0 else my if j == 1 else mz)
        own += a * a
    own = math.sqrt(own)
    for j in range(3):
        x, y, z = q[3 + j] - w[3 + j], q[6 + j] - w[6 + j], q[9 + j] - w[9 + j]
        own += (hx if j == 0 else hy if j == 1 else hz) * math.sqrt(x * x + y * y + z * z)
    # the other body, in the frame of the faces
    e = pairs.extent[p]
    other = 0.0
    for j in range(3):
        a = 0.0
        for i in range(3):
            now, then = q[3 + 3 * i + j], w[3 + 3 * i + j]
            a -= now * q[i] - then * w[i]
            if kind != SPHERE and (kind != REVOLUTION or i == 2):
                a += 0.5 * (e[i] + e[3 + i]) * (now - then)
        other += a * a
    other = math.sqrt(other)
    if kind != SPHERE:
        for i in range(3):
            x, y = q[3 + 3 * i] - w[3 + 3 * i], q[4 + 3 * i] - w[4 + 3 * i]
            z = q[5 + 3 * i] - w[5 + 3 * i]
            size = math.sqrt(x * x + y * y + z * z)
            if kind != REVOLUTION:
                other += 0.5 * (e[3 + i] - e[i]) * size
            elif i == 2:
                # along the axis, and how far the rim turns with it
                other += (0.5 * (e[5] - e[2]) + e[3]) * size
    changed = 0.0
    if kind == REVOLUTION:
        changed = shapes.path[pairs.number[p]] - w[W_PATH]
    return min(own, other) + changed


@inner
def update_near(shapes, pairs, p):
    """Make the lists of pair p again where they may be out of date: the faces that may touch stand
    in pairs.close then."""
    w = pairs.near_at[p]
    margin = LEAST
    if pairs.near_count[p] >= 0:
        moved = moved_since(shapes, pairs, p, shapes.node[shapes.mesh[pairs.faces[p], 2] + 1])
        w[W_USED] += 1.0
        if moved + ROUNDING < w[W_VALID]:
            if pairs.near_count[p] > 0:
                moved = moved_since(shapes, pairs, p, w[W_BOX:]) + ROUNDING
                if not moved <= w[W_CLOSE]:
                    w[W_FURTHER] = FURTHER * moved / w[W_USED]
                    list_close(pairs, p, moved)
            return
        margin = max(USES * moved / w[W_USED], LEAST)
        if not margin < MOST:
            margin = MOST
    list_near(shapes, pairs, p, margin)
    list_close(pairs, p, ROUNDING)


@inner
def list_close(pairs, p, moved):
    """List the near faces of pair p that can touch after a motion a little larger than this."""
    w, first = pairs.near_at[p], pairs.place[p, 0]
    limit = moved + w[W_FURTHER]
    w[W_CLOSE] = limit
    count = 0
    for i in range(first, first + pairs.near_count[p]):
        pairs.close[first + count] = pairs.near[i]
        count += 1 if pairs.near_gap[i] <= limit else 0
    pairs.close_count[p] = count


@inner
def list_near(shapes, pairs, p, margin):
    """List the faces of pair p that are nearer than the margin, in the order of the hierarchy."""
    q, w, node = pairs.turn, pairs.near_at[p], shapes.node
    for k in range(12):
        w[k] = q[k]
    w[W_PATH] = shapes.path[pairs.number[p]] if pairs.kind[p] == REVOLUTION else 0.0
    w[W_USED] = 0.0
    box = w[W_BOX:]
    for k in range(3):
        box[k], box[3 + k] = math.inf, -math.inf
    mesh = pairs.faces[p]
    start, total = shapes.mesh[mesh, 0], shapes.mesh[mesh, 1]
    base, leaves = shapes.mesh[mesh, 2], shapes.mesh[mesh, 3]
    deepest, convex = pairs.numbers[p, DEEPEST], pairs.numbers[p, CONVEX] > 0.0
    flat = pairs.kind[p] == PLANE
    first = pairs.place[p, 0]
    count = 0
    valid = math.inf
    i = 1
    while i > 0:
        b = node[base + i]
        x, y, z = turn(q, 0.5 * (b[0] + b[3]), 0.5 * (b[1] + b[4]), 0.5 * (b[2] + b[5]))
        a0, a1, a2 = b[3] - b[0], b[4] - b[1], b[5] - b[2]
        if flat:
            d = z
            radius = 0.5 * (a0 * abs(q[9]) + a1 * abs(q[10]) + a2 * abs(q[11]))
        else:
            d, radius = box_distance(
                shapes, pairs, p, x, y, z, a0, a1, a2, deepest + margin, convex
            )
        if d - radius > margin:
            valid = min(valid, d - radius)
            i = next_node(i)
        elif i < leaves:
            i = 2 * i
        else:
            leaf = i - leaves
            for f in range(start + leaf * total // leaves, start + (leaf + 1) * total // leaves):
                t = shapes.triangle[f]
                if flat:
                    gap = q[2] + min(
                        q[9] * t[0] + q[10] * t[1] + q[11] * t[2],
                        q[9] * t[3] + q[10] * t[4] + q[11] * t[5],
                        q[9] * t[6] + q[10] * t[7] + q[11] * t[8],
                    )
                else:
                    gap = face_gap(shapes, pairs, p, f, deepest + margin, convex)
                if gap > margin:
                    valid = min(valid, gap)
                else:
                    pairs.near[first + count] = f
                    pairs.near_gap[first + count] = gap
                    count += 1
                    for k in range(3):
                        box[k] = min(box[k], t[k], t[3 + k], t[6 + k])
                        box[3 + k] = max(box[3 + k], t[k], t[3 + k], t[6 + k])
            i = next_node(i)
    pairs.near_count[p] = count
    w[W_VALID] = valid


@inlined
def box_distance(shapes, pairs, p, x, y, z, a0, a1, a2, deeper, convex):
    """Distance of the middle of a box with the sides a to the other body of pair p, and how much
    nearer its other points can be [m]."""
    q = pairs.turn
    radius = 0.5 * math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
    d, nx, ny, nz = distance(shapes, pairs, p, radius + deeper, x, y, z)
    if convex:
        radius = 0.5 * (
            a0 * abs(q[3] * nx + q[6] * ny + q[9] * nz)
            + a1 * abs(q[4] * nx + q[7] * ny + q[10] * nz)
            + a2 * abs(q[5] * nx + q[8] * ny + q[11] * nz)
        )
    return d, radius


@inlined
def face_gap(shapes, pairs, p, f, deeper, convex):
    """A lower bound of the distance of face f to the other body of pair p [m]: the distance of its
    middle less its size, or, to a convex body, less its extent along the direction there."""
    t, q = shapes.triangle[f], pairs.turn
    ax, ay, az = turn(q, t[0], t[1], t[2])
    bx, by, bz = turn(q, t[3], t[4], t[5])
    cx, cy, cz = turn(q, t[6], t[7], t[8])
    x, y, z = (ax + bx + cx) / 3.0, (ay + by + cy) / 3.0, (az + bz + cz) / 3.0
    ax, ay, az, bx, by, bz = ax - x, ay - y, az - z, bx - x, by - y, bz - z
    cx, cy, cz = cx - x, cy - y, cz - z
    size = math.sqrt(
        max(
            ax * ax + ay * ay + az * az,
            bx * bx + by * by + bz * bz,
            cx * cx + cy * cy + cz * cz,
        )
    )
    d, nx, ny, nz = distance(shapes, pairs, p, size + deeper, x, y, z)
    if not convex:
        return d - size
    return d + min(
        nx * ax + ny * ay + nz * az, nx * bx + ny * by + nz * bz, nx * cx + ny * cy + nz * cz
    )
