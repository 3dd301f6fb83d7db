r"""Sparse LU of Newton's matrix for piles: 3×3 blocks, contacts in an order that fills in little.

Of a pile's W few blocks are not zero (`blocks`). Newton's matrix of `proximal` is, block by block,

    A_cd = R_c W_cd C_d + δ_cd E_c,

R_c being the equations kept and C_c the directions in which the impulse of contact c may change:
all three if it sticks, two if it slides, none if it is open; what is left over is an identity in
E_c. Contacts are eliminated in the order of least degree (Tinney & Walker 1967): the next one is
that with the fewest neighbours left, and its neighbours become neighbours of each other. A pile of
400 contacts takes 1e6 operations where a full matrix takes 7e8. Blocks are pivots as they come,
rows are exchanged only inside them: A is W, which is positive semidefinite, plus δ > 0, but for
what sliding adds. A step that is off is found out where it is tried.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.newton import OPEN, SLIP, STICK
from marsyard.jit import allocating, kernel

#: blocks of W over all blocks from which it is taken as full
FULL = 0.2


@allocating
def no_pattern():
    """The pattern of a W that is taken as full."""
    nothing = np.empty(0, dtype=np.int64)
    full = np.empty((0, 9))
    return nothing, nothing, full, nothing, nothing, nothing, np.empty((0, 0), np.int64), full


@allocating
def make_pattern(n, start, columns, values):
    """What a factorisation needs to know of W: its blocks (start, columns, values); the order of
    elimination; for the k-th one the contacts left that it touches, members[first[k]:first[k+1]];
    where block (c, d) lies in the factors (−1: nowhere); room for the factors [blocks, 9]."""
    touches = np.zeros((n, n), dtype=np.bool_)
    degree = np.zeros(n, dtype=np.int64)
    for c in range(n):
        for p in range(start[c], start[c + 1]):
            d = columns[p]
            if d != c:
                touches[c, d] = True
                touches[d, c] = True
    for c in range(n):
        for d in range(n):
            degree[c] += touches[c, d]
    order = np.empty(n, dtype=np.int64)
    first = np.zeros(n + 1, dtype=np.int64)
    members = np.empty(n * n // 2 + 1, dtype=np.int64)
    place = np.full((n, n), -1, dtype=np.int64)
    gone = np.zeros(n, dtype=np.bool_)
    count = 0
    for k in range(n):
        c = -1
        for d in range(n):
            if not gone[d] and (c < 0 or degree[d] < degree[c]):
                c = d
        order[k] = c
        gone[c] = True
        place[c, c] = c
        for d in range(n):
            if touches[c, d] and not gone[d]:
                members[count] = d
                place[c, d] = n + 2 * count
                place[d, c] = n + 2 * count + 1
                count += 1
        first[k + 1] = count
        for p in range(first[k], count):
            d = members[p]
            degree[d] -= 1
            for s in range(first[k], count):
                e = members[s]
                if e != d and not touches[d, e]:
                    touches[d, e] = True
                    degree[d] += 1
    room = np.empty((n + 2 * count, 9))
    return start, columns, values, order, first, members[:count].copy(), place, room


@kernel
def multiply_blocks(n, pattern, x, out):
    """out = W x."""
    start, columns, values = pattern[0], pattern[1], pattern[2]
    for c in range(n):
        a = 0.0
        b = 0.0
        e = 0.0
        for p in range(start[c], start[c + 1]):
            j = 3 * columns[p]
            a += values[p, 0] * x[j] + values[p, 1] * x[j + 1] + values[p, 2] * x[j + 2]
            b += values[p, 3] * x[j] + values[p, 4] * x[j + 1] + values[p, 5] * x[j + 2]
            e += values[p, 6] * x[j] + values[p, 7] * x[j + 1] + values[p, 8] * x[j + 2]
        out[3 * c] = a
        out[3 * c + 1] = b
        out[3 * c + 2] = e


@kernel
def assemble_blocks(n, pattern, slope, delta, normal, status, tx, ty, k_slip):
    """A into the room for the factors; slope: how discs grow with the normal impulse; `delta` and
    `normal`: the proximal weights of tangential and normal impulses."""
    start, columns, values, place, room = pattern[0], pattern[1], pattern[2], pattern[6], pattern[7]
    room[:, :] = 0.0
    for c in range(n):
        if status[c] != OPEN:
            for p in range(start[c], start[c + 1]):
                d = columns[p]
                if status[d] == OPEN:
                    continue
                to = place[c, d]
                for i in range(3):
                    # the impulses of the unknowns of d
                    wn, wt, ws = values[p, 3 * i], values[p, 3 * i + 1], values[p, 3 * i + 2]
                    if status[d] == SLIP:
                        wn += slope[d] * (tx[d] * wt + ty[d] * ws)
                        wt = ty[d] * wt - tx[d] * ws
                        ws = 0.0
                    elif status[d] != STICK:
                        wt = 0.0
                        ws = 0.0
                    # the equations of c
                    if i == 0 or status[c] == STICK:
                        room[to, 3 * i] += wn
                        room[to, 3 * i + 1] += wt
                        room[to, 3 * i + 2] += ws
                    elif status[c] == SLIP:
                        weight = ty[c] if i == 1 else -tx[c]
                        room[to, 3] += weight * wn
                        room[to, 4] += weight * wt
                        room[to, 5] += weight * ws
        if status[c] == STICK:
            own = (normal, delta, delta)
        elif status[c] == SLIP:
            own = (normal, delta / max(k_slip[c], 1e-12), 1.0)
        elif status[c] == OPEN:
            own = (1.0, 1.0, 1.0)
        else:
            own = (normal, 1.0, 1.0)
        for i in range(3):
            room[c, 4 * i] += own[i]


@kernel
def _invert(a):
    """Overwrite a 3×3 block by its inverse; False when singular."""
    scale = 0.0
    for i in range(9):
        scale = max(scale, abs(a[i]))
    if not 0.0 < scale < math.inf:
        return False
    # cofactors of rows and columns divided by the largest entries of the rows
    r0 = 1.0 / max(abs(a[0]), abs(a[1]), abs(a[2]), 1e-300)
    r1 = 1.0 / max(abs(a[3]), abs(a[4]), abs(a[5]), 1e-300)
    r2 = 1.0 / max(abs(a[6]), abs(a[7]), abs(a[8]), 1e-300)
    x0, x1, x2 = a[0] * r0, a[1] * r0, a[2] * r0
    y0, y1, y2 = a[3] * r1, a[4] * r1, a[5] * r1
    z0, z1, z2 = a[6] * r2, a[7] * r2, a[8] * r2
    c0 = y1 * z2 - y2 * z1
    c1 = y2 * z0 - y0 * z2
    c2 = y0 * z1 - y1 * z0
    determinant = x0 * c0 + x1 * c1 + x2 * c2
    if determinant == 0.0:
        return False
    f = 1.0 / determinant
    a[0], a[1], a[2] = f * c0 * r0, f * (x2 * z1 - x1 * z2) * r1, f * (x1 * y2 - x2 * y1) * r2
    a[3], a[4], a[5] = f * c1 * r0, f * (x0 * z2 - x2 * z0) * r1, f * (x2 * y0 - x0 * y2) * r2
    a[6], a[7], a[8] = f * c2 * r0, f * (x1 * z0 - x0 * z1) * r1, f * (x0 * y1 - x1 * y0) * r2
    return True


@kernel
def _subtract_product(a, b, out):
    """out −= a b for 3×3 blocks."""
    for i in range(3):
        x, y, z = a[3 * i], a[3 * i + 1], a[3 * i + 2]
        out[3 * i] -= x * b[0] + y * b[3] + z * b[6]
        out[3 * i + 1] -= x * b[1] + y * b[4] + z * b[7]
        out[3 * i + 2] -= x * b[2] + y * b[5] + z * b[8]


@kernel
def factor_blocks(n, pattern):
    """LU in place: inverse pivots, A_cd of U, L_dc; False when a pivot is singular."""
    order, first, members, place, room = pattern[3], pattern[4], pattern[5], pattern[6], pattern[7]
    for k in range(n):
        c = order[k]
        pivot = room[c]
        if not _invert(pivot):
            return False
        for p in range(first[k], first[k + 1]):
            row = room[n + 2 * p + 1]
            for i in range(3):
                x, y, z = row[3 * i], row[3 * i + 1], row[3 * i + 2]
                row[3 * i] = x * pivot[0] + y * pivot[3] + z * pivot[6]
                row[3 * i + 1] = x * pivot[1] + y * pivot[4] + z * pivot[7]
                row[3 * i + 2] = x * pivot[2] + y * pivot[5] + z * pivot[8]
            for s in range(first[k], first[k + 1]):
                to = place[members[p], members[s]]
                _subtract_product(row, room[n + 2 * s], room[to])
    return True


@kernel
def _subtract_image(a, x, c, out, d):
    """out_d −= a x_c for a 3×3 block."""
    u, v, w = x[3 * c], x[3 * c + 1], x[3 * c + 2]
    for i in range(3):
        out[3 * d + i] -= a[3 * i] * u + a[3 * i + 1] * v + a[3 * i + 2] * w


@kernel
def solve_blocks(n, pattern, b):
    """Overwrite b, shape [3n], with the solution of A x = b, from `factor_blocks`."""
    order, first, members, room = pattern[3], pattern[4], pattern[5], pattern[7]
    for k in range(n):
        for p in range(first[k], first[k + 1]):
            _subtract_image(room[n + 2 * p + 1], b, order[k], b, members[p])
    for k in range(n - 1, -1, -1):
        c = order[k]
        for p in range(first[k], first[k + 1]):
            _subtract_image(room[n + 2 * p], b, members[p], b, c)
        a = room[c]
        u, v, w = b[3 * c], b[3 * c + 1], b[3 * c + 2]
        for i in range(3):
            b[3 * c + i] = a[3 * i] * u + a[3 * i + 1] * v + a[3 * i + 2] * w


@kernel
def expand_blocks(n, slope, status, tx, ty, b, step):
    """Impulses of the unknowns b, three a contact; False when one is not finite."""
    finite = True
    for c in range(n):
        k = 3 * c
        x, y, z = b[k], b[k + 1], b[k + 2]
        if status[c] == SLIP:
            along = slope[c] * x
            z = along * ty[c] - y * tx[c]
            y = along * tx[c] + y * ty[c]
        elif status[c] != STICK:
            y = 0.0
            z = 0.0
            if status[c] == OPEN:
                x = 0.0
        step[k], step[k + 1], step[k + 2] = x, y, z
        finite = finite and math.isfinite(x + y + z)
    return finite
