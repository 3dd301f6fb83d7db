r"""Block Gauss–Seidel: sweep over the contacts, solving each one exactly.

    r_c ← sol( W_cc, q_c + Σ_{j≠c} W_cj r_j, μ_c )         for c = 1 … n, again and again

(Jean & Touzot 1988; Jourdan, Alart & Jean 1998, Comput. Methods Appl. Mech. Eng. 155; "NSGS" in
Siconos). Robust and slow: linear convergence at best, sublinear on hyperstatic stacks. Blocks of
zeros are skipped. An optional proximal term ``α (r − r_0)`` makes each block regular.
"""

from __future__ import annotations

import numpy as np

from marsyard.interaction.nonsmooth.one_contact import solve_one_contact
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import allocating, kernel

_FEW = 10


@allocating
def block_pattern(n, W):
    """Row starts and columns of the 3×3 blocks of W that are not all zero, as in CSR.

    Empty for few contacts, which are swept as if W were full.
    """
    if n < _FEW:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    start = np.zeros(n + 1, dtype=np.int64)
    nonzero = np.zeros((n, n), dtype=np.bool_)
    for c in range(n):
        for d in range(n):
            found = False
            for i in range(3):
                for j in range(3):
                    if W[3 * c + i, 3 * d + j] != 0.0:
                        found = True
            nonzero[c, d] = found
            if found:
                start[c + 1] += 1
    for c in range(n):
        start[c + 1] += start[c]
    columns = np.empty(max(start[n], 1), dtype=np.int64)
    k = 0
    for c in range(n):
        for d in range(n):
            if nonzero[c, d]:
                columns[k] = d
                k += 1
    return start, columns


@kernel
def sweep(n, W, q, mu, r, start, columns, alpha, centre, backward):
    """One Gauss–Seidel pass over all contacts, in place; W + α I and q − α·centre.

    An empty pattern (`columns` of size 0) stands for a full matrix.
    """
    dense = columns.size == 0
    for step in range(n):
        c = n - 1 - step if backward else step
        k = 3 * c
        # velocity without this contact's own impulse; the block's small antisymmetric part, if
        # any, is kept with the old impulse
        wnt = 0.5 * (W[k, k + 1] + W[k + 1, k])
        wns = 0.5 * (W[k, k + 2] + W[k + 2, k])
        wts = 0.5 * (W[k + 1, k + 2] + W[k + 2, k + 1])
        a = r[k]
        b = r[k + 1]
        e = r[k + 2]
        qn = q[k] - alpha * centre[k] - (W[k, k] * a + wnt * b + wns * e)
        qt = q[k + 1] - alpha * centre[k + 1] - (wnt * a + W[k + 1, k + 1] * b + wts * e)
        qs = q[k + 2] - alpha * centre[k + 2] - (wns * a + wts * b + W[k + 2, k + 2] * e)
        first = 0 if dense else start[c]
        last = n if dense else start[c + 1]
        for p in range(first, last):
            j = 3 * (p if dense else columns[p])
            a = r[j]
            b = r[j + 1]
            e = r[j + 2]
            qn += W[k, j] * a + W[k, j + 1] * b + W[k, j + 2] * e
            qt += W[k + 1, j] * a + W[k + 1, j + 1] * b + W[k + 1, j + 2] * e
            qs += W[k + 2, j] * a + W[k + 2, j + 1] * b + W[k + 2, j + 2] * e
        r[k], r[k + 1], r[k + 2], _ = solve_one_contact(
            W[k, k] + alpha,
            wnt,
            wns,
            W[k + 1, k + 1] + alpha,
            wts,
            W[k + 2, k + 2] + alpha,
            qn,
            qt,
            qs,
            mu[c],
        )


@kernel
def gauss_seidel(n, W, q, mu, r, u, start, columns, scale, tolerance, max_sweeps, check_every):
    """Sweep until e(r) ≤ tolerance; symmetric order (forward, backward). Returns sweeps, e(r)."""
    m = 3 * n
    residual = np.inf
    done = 0
    while done < max_sweeps:
        sweep(n, W, q, mu, r, start, columns, 0.0, r, done % 2 == 1)
        done += 1
        if done % check_every == 0 or done == max_sweeps:
            multiply(m, W, r, q, u)
            residual = natural_residual(n, r, u, mu, scale)
            if residual <= tolerance:
                break
    return done, residual
