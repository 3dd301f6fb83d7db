r"""Block Gauss–Seidel: sweep over the contacts, solving each one exactly.

    r_c ← sol( W_cc, q_c + Σ_{j≠c} W_cj r_j, μ_c )         for c = 1 … n, again and again

(Jean & Touzot 1988; Jourdan, Alart & Jean 1998, Comput. Methods Appl. Mech. Eng. 155; "NSGS" in
Siconos). Robust and slow: linear convergence at best, sublinear on hyperstatic stacks. Blocks of
zeros are skipped (`blocks`). An optional α > 0 added to the diagonal makes each block regular.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.blocks import block_residual
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.interaction.nonsmooth.single_contact import solve_one_contact
from marsyard.jit import kernel


@kernel
def sweep(n, W, q, mu, r, start, columns, values, alpha, backward):
    """One Gauss–Seidel pass over all contacts, in place, for W + α I.

    No blocks (`columns` of size 0) stands for a full matrix.
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
        qn = q[k] - (W[k, k] * a + wnt * b + wns * e)
        qt = q[k + 1] - (wnt * a + W[k + 1, k + 1] * b + wts * e)
        qs = q[k + 2] - (wns * a + wts * b + W[k + 2, k + 2] * e)
        if dense:
            for j in range(0, 3 * n, 3):
                a = r[j]
                b = r[j + 1]
                e = r[j + 2]
                qn += W[k, j] * a + W[k, j + 1] * b + W[k, j + 2] * e
                qt += W[k + 1, j] * a + W[k + 1, j + 1] * b + W[k + 1, j + 2] * e
                qs += W[k + 2, j] * a + W[k + 2, j + 1] * b + W[k + 2, j + 2] * e
        else:
            for p in range(start[c], start[c + 1]):
                j = 3 * columns[p]
                a = r[j]
                b = r[j + 1]
                e = r[j + 2]
                qn += values[p, 0] * a + values[p, 1] * b + values[p, 2] * e
                qt += values[p, 3] * a + values[p, 4] * b + values[p, 5] * e
                qs += values[p, 6] * a + values[p, 7] * b + values[p, 8] * e
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
def gauss_seidel(
    n, W, q, mu, r, u, start, columns, values, scale, tolerance, max_sweeps, check_every, patience
):
    """Sweep until e(r) ≤ tolerance; symmetric order (forward, backward). Returns sweeps, e(r).

    e(r) is looked at every `check_every` sweeps; where its fall since the last look says that more
    than `patience` sweeps are still needed, the sweeps end.
    """
    m = 3 * n
    residual = np.inf
    last = np.inf
    done = 0
    while done < max_sweeps:
        sweep(n, W, q, mu, r, start, columns, values, 0.0, done % 2 == 1)
        done += 1
        if done % check_every == 0 or done == max_sweeps:
            if columns.size == 0:
                multiply(m, W, r, q, u)
                residual = natural_residual(n, r, u, mu, scale)
            else:
                residual = block_residual(n, start, columns, values, q, mu, r, u, scale)
            if residual <= tolerance:
                break
            if last < np.inf and patience < max_sweeps:
                if not residual < last:
                    break
                per_sweep = math.log(last / residual) / check_every
                if math.log(residual / tolerance) > per_sweep * patience:
                    break
            last = residual
    return done, residual
