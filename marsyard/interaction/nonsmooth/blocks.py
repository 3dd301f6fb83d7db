r"""The sparsity of a Delassus matrix: its 3×3 blocks that are not zero, and its islands.

Two contacts see each other only through a body that both touch, so most blocks of a pile's W are
zero. They are found once per problem and kept as in CSR, block by block in memory. Contacts that no
chain of bodies links (the ground links nothing) form *islands*, which are problems of their own.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.cone import natural_map_squared
from marsyard.jit import allocating, kernel

#: below this many contacts W is usually taken as full
FEW = 10


@allocating
def block_matrix(n, W, least):
    """Row starts, columns and values [blocks, 9] of the blocks of W that are not all zero.

    Empty below `least` contacts, which are handled as if W were full.
    """
    if n < least:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, np.empty((0, 9))
    start = np.zeros(n + 1, dtype=np.int64)
    columns = np.empty(n * n, dtype=np.int64)
    count = 0
    for c in range(n):
        k = 3 * c
        for d in range(n):
            j = 3 * d
            if (
                W[k, j] != 0.0
                or W[k + 1, j + 1] != 0.0
                or W[k + 2, j + 2] != 0.0
                or W[k, j + 1] != 0.0
                or W[k, j + 2] != 0.0
                or W[k + 1, j] != 0.0
                or W[k + 1, j + 2] != 0.0
                or W[k + 2, j] != 0.0
                or W[k + 2, j + 1] != 0.0
            ):
                columns[count] = d
                count += 1
        start[c + 1] = count
    values = np.empty((count, 9))
    for c in range(n):
        for p in range(start[c], start[c + 1]):
            j = 3 * columns[p]
            for i in range(3):
                for s in range(3):
                    values[p, 3 * i + s] = W[3 * c + i, j + s]
    return start, columns[:count].copy(), values


@kernel
def block_residual(n, start, columns, values, q, mu, r, u, scale):
    """u = W r + q from the blocks; returns e(r) as `natural_residual` does."""
    total = 0.0
    for c in range(n):
        k = 3 * c
        x = q[k]
        y = q[k + 1]
        z = q[k + 2]
        for p in range(start[c], start[c + 1]):
            j = 3 * columns[p]
            a = r[j]
            b = r[j + 1]
            e = r[j + 2]
            x += values[p, 0] * a + values[p, 1] * b + values[p, 2] * e
            y += values[p, 3] * a + values[p, 4] * b + values[p, 5] * e
            z += values[p, 6] * a + values[p, 7] * b + values[p, 8] * e
        u[k] = x
        u[k + 1] = y
        u[k + 2] = z
        total += natural_map_squared(r[k], r[k + 1], r[k + 2], x, y, z, mu[c])
    return math.sqrt(total) * scale


@allocating
def islands(n, start, columns):
    """Contacts in the order of their islands, and where each island starts in it."""
    order = np.empty(n, dtype=np.int64)
    first = np.empty(n + 1, dtype=np.int64)
    seen = np.zeros(n, dtype=np.bool_)
    count = 0
    filled = 0
    for c in range(n):
        if seen[c]:
            continue
        first[count] = filled
        count += 1
        at = filled
        order[filled] = c
        filled += 1
        seen[c] = True
        while at < filled:
            d = order[at]
            at += 1
            for p in range(start[d], start[d + 1]):
                e = columns[p]
                if not seen[e]:
                    seen[e] = True
                    order[filled] = e
                    filled += 1
        # in the order given, so that sweeps do not depend on how the island was found
        order[first[count - 1] : filled] = np.sort(order[first[count - 1] : filled])
    first[count] = n
    return order, first[: count + 1].copy()
