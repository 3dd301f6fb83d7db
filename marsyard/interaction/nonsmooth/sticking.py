r"""The fast path: contacts that stick, or are open, and stay so.

A rover at rest, or a stack of boxes, has contacts that either stick inside their cones or are
open. Guessing that pattern P from the last step's impulses leaves a linear problem with the
least-norm solution

    W_PP r_P = −q_P,      r_P = −W_PP⁺ q_P,

found by Cholesky of W_PP + δ I and proximal refinement r ← r − (W_PP + δ I)⁻¹ (W_PP r + q_P), which
starts at r = 0 and so leaves the null space of W_PP empty. The guess is accepted only if the
residual of the whole problem meets the tolerance.
"""

from __future__ import annotations

from marsyard.interaction.nonsmooth.dense import (
    back_substitute,
    factor_cholesky,
    row_length,
    solve_cholesky,
    storage,
    storage_size,
)
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import kernel

_SHIFT = 1e-6
_REFINEMENTS = 6
#: an open contact whose normal velocity is below this share of ‖q‖ rests
AT_REST = 1e-6
# an impulse that closes a contact in the pattern and is nothing otherwise
_TRACE = 1e-100


@kernel
def close_resting(n, r, u, scale):
    """Let open contacts that rest count as closed in the pattern of r; True when there are any.

    Sweeps load the contacts they come to first and leave others of the same body without impulse.
    """
    found = False
    for c in range(n):
        k = 3 * c
        if r[k] <= 0.0 and u[k] * scale <= AT_REST:
            r[k] = _TRACE
            found = True
    return found


@kernel
def solve_sticking(n, W, q, mu, r, u, work, scale, tolerance):
    """Try the sticking pattern of r: (True, solves, e(r)) with r and u set, or (False, …), r kept.

    Not tried when a closed contact is frictionless or slides (‖r_T‖ ≥ μ r_N).
    """
    m = 3 * n
    first, last = storage(work, m)
    a = work[first:last].reshape((m + 1, row_length(m)))
    base = storage_size(m)
    x = work[base : base + m]
    b = work[base + m : base + 2 * m]
    index = work[base + 2 * m : base + 3 * m]

    # the pattern: closed contacts strictly inside their cones
    size = 0
    for c in range(n):
        k = 3 * c
        if r[k] > 0.0:
            limit = mu[c] * r[k]
            if r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2] >= limit * limit:
                return False, 0, 0.0
            index[size] = k
            index[size + 1] = k + 1
            index[size + 2] = k + 2
            size += 3
    if size == 0:
        return False, 0, 0.0

    # upper half of W_PP + δ I
    trace = 0.0
    if size == m:
        for i in range(m):
            trace += W[i, i]
            for j in range(i, m):
                a[i, j] = W[i, j]
    else:
        for p in range(size):
            i = int(index[p])
            trace += W[i, i]
            for s in range(p, size):
                a[p, s] = W[i, int(index[s])]
    shift = _SHIFT * trace / size
    for p in range(size):
        a[p, p] += shift
    # proximal refinement from zero
    for i in range(m):
        x[i] = 0.0
        u[i] = q[i]
    residual = 0.0
    before = 1e300
    for step in range(_REFINEMENTS):
        for p in range(size):
            b[p] = u[int(index[p])]
        if step > 0:
            solve_cholesky(a, b, size)
        elif factor_cholesky(a, b, size):
            back_substitute(a, b, size)
        else:
            return False, 0, 0.0
        for p in range(size):
            x[int(index[p])] -= b[p]
        multiply(m, W, x, q, u)
        residual = natural_residual(n, x, u, mu, scale)
        if residual <= tolerance:
            for i in range(m):
                r[i] = x[i]
            return True, step + 1, residual
        if not residual < 0.5 * before:
            break
        before = residual
    return False, 0, residual
