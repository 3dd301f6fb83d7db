r"""Contacts without friction: a linear complementarity problem, by principal pivoting.

    u_N = W_NN r_N + q_N,      0 ≤ u_N ⊥ r_N ≥ 0.

Each contact is taken to be open or closed, and one Cholesky factorisation gives the impulses of the
closed ones. Contacts with the wrong sign change sides: all of them while their number falls,
otherwise the one that is furthest off (Júdice & Pires 1994, Comput. Oper. Res. 21, with another
rule for the single change). Changing all of them each time, which is Newton's method, can go round
in circles where contacts outnumber the degrees of freedom.

W_NN is regularised, and the problem solved again around its last solution with a weaker term
(`newton`): the impulses are near those of least norm.
"""

from __future__ import annotations

from marsyard.interaction.nonsmooth.dense import (
    back_substitute,
    factor_cholesky,
    row_length,
    storage,
    storage_size,
)
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import kernel

_SHIFT, _WEAKER = 1e-6, 0.01
_CENTRES = 4
#: wrong by rounding only, over ‖q‖
_ROUNDING = 1e-14


@kernel
def solve_frictionless(n, W, q, mu, r, u, work, scale, tolerance):
    """(True, factorisations, e(r)) with r and u set, or (False, …) and r kept. All μ are zero."""
    m = 3 * n
    begin, end = storage(work, n)
    a = work[begin:end].reshape((n + 1, row_length(n)))
    base = storage_size(n)
    b = work[base : base + n]
    marked = work[base + n : base + 2 * n]
    closed = work[base + 2 * n : base + 3 * n]
    index = work[base + 3 * n : base + 4 * n]
    value = work[base + 4 * n : base + 5 * n]
    centre = work[base + 5 * n : base + 6 * n]
    x = work[base + 6 * n : base + 6 * n + m]
    mean = 0.0
    warm = False
    for c in range(n):
        mean += W[3 * c, 3 * c] / n
        warm = warm or r[3 * c] > 0.0
    for c in range(n):
        closed[c] = 1.0 if (r[3 * c] > 0.0 if warm else q[3 * c] < 0.0) else 0.0
        centre[c] = 0.0
    small = _ROUNDING / scale
    shift = _SHIFT * mean
    last = 1e300
    done = 0
    residual = 0.0
    for _ in range(_CENTRES):
        fewest = n + 1
        solved = False
        for _ in range(20 + 4 * n):
            # impulses of closed contacts, velocities of open ones
            size = 0
            for c in range(n):
                if closed[c] > 0.0:
                    index[size] = c
                    size += 1
            for p in range(size):
                i = int(index[p])
                for s in range(p, size):
                    a[p, s] = W[3 * i, 3 * int(index[s])]
                a[p, p] += shift
                b[p] = shift * centre[i] - q[3 * i]
            if not factor_cholesky(a, b, size):
                return False, done, residual
            back_substitute(a, b, size)
            done += 1
            wrong = 0
            furthest, most = 0, 0.0
            p = 0
            for c in range(n):
                if closed[c] > 0.0:
                    value[c] = b[p]
                    p += 1
                    off = -value[c] * mean
                else:
                    value[c] = q[3 * c] - shift * centre[c]
                    for s in range(size):
                        value[c] += W[3 * c, 3 * int(index[s])] * b[s]
                    off = -value[c]
                # marked, and changed below
                marked[c] = 1.0 if off > small else 0.0
                if off > small:
                    wrong += 1
                    if off > most:
                        furthest, most = c, off
            if wrong == 0:
                solved = True
                break
            if wrong < fewest:
                fewest = wrong
                for c in range(n):
                    if marked[c] > 0.0:
                        closed[c] = 1.0 - closed[c]
            else:
                closed[furthest] = 1.0 - closed[furthest]
        if not solved:
            return False, done, residual
        for c in range(n):
            centre[c] = max(value[c], 0.0) if closed[c] > 0.0 else 0.0
            x[3 * c] = centre[c]
            x[3 * c + 1] = 0.0
            x[3 * c + 2] = 0.0
        multiply(m, W, x, q, u)
        residual = natural_residual(n, x, u, mu, scale)
        if residual <= tolerance:
            for i in range(m):
                r[i] = x[i]
            return True, done, residual
        if not residual < 0.5 * last:
            break
        last = residual
        shift *= _WEAKER
    return False, done, residual
