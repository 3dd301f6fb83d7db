r"""Dense linear algebra inside compiled loops: LU with partial pivoting, Cholesky.

The matrices here have a few dozen rows most of the time; plain loops then beat the call overhead of
LAPACK, use no threads (many simulations may run side by side) and give the same bits everywhere.
The LU eliminates a few columns at a time, so that an entry is loaded and stored once for all of
them; from `BLOCKED_FROM` rows on it works in panels of columns, so that the rows being updated stay
in cache; systems of `LAPACK_FROM` rows and more are for `solve_large`, which is LAPACK's. Nothing
here raises; failure is told by the return value. Source: Golub & Van Loan 2013, "Matrix
Computations", 3.4 and 4.2.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.jit import allocating, kernel

BLOCKED_FROM = 48
#: rows from which LAPACK is worth its call
LAPACK_FROM = 72
_PANEL = 32
_STRIP = 8
_NARROW = 4


@kernel
def _factor_panel(a, pivots, first, last, m):
    """Unblocked LU with row exchanges (over whole rows) of columns first…last−1."""
    for k in range(first, last):
        # largest entry of the column
        p = k
        big = abs(a[k, k])
        for i in range(k + 1, m):
            value = abs(a[i, k])
            if value > big:
                big = value
                p = i
        pivots[k] = p
        if not big > 0.0 or big == math.inf:
            return False
        if p != k:
            for j in range(m):
                swap = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = swap
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, m):
            factor = a[i, k] * inverse
            a[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, last):
                    a[i, j] -= factor * a[k, j]
    return True


@kernel(fastmath={"contract"})
def _subtract_rows(a, i, k, end, left, right):
    """a[i, left:right] −= Σ_{k ≤ p < end} a[i, p] a[p, left:right], at most eight p."""
    if end - k == 8:
        f0 = a[i, k]
        f1 = a[i, k + 1]
        f2 = a[i, k + 2]
        f3 = a[i, k + 3]
        f4 = a[i, k + 4]
        f5 = a[i, k + 5]
        f6 = a[i, k + 6]
        f7 = a[i, k + 7]
        if (
            f0 == 0.0
            and f1 == 0.0
            and f2 == 0.0
            and f3 == 0.0
            and f4 == 0.0
            and f5 == 0.0
            and f6 == 0.0
            and f7 == 0.0
        ):
            return
        for j in range(left, right):
            a[i, j] -= (
                f0 * a[k, j]
                + f1 * a[k + 1, j]
                + f2 * a[k + 2, j]
                + f3 * a[k + 3, j]
                + f4 * a[k + 4, j]
                + f5 * a[k + 5, j]
                + f6 * a[k + 6, j]
                + f7 * a[k + 7, j]
            )
    else:
        for p in range(k, end):
            factor = a[i, p]
            for j in range(left, right):
                a[i, j] -= factor * a[p, j]


@kernel
def _update(a, first, last, left, right, m):
    """Columns left…right−1 after the elimination of columns first…last−1."""
    if left == right:
        return
    # rows of U
    for k in range(first, last):
        for i in range(k + 1, last):
            factor = a[i, k]
            if factor != 0.0:
                for j in range(left, right):
                    a[i, j] -= factor * a[k, j]
    # rows below
    for i in range(last, m):
        for k in range(first, last, _STRIP):
            _subtract_rows(a, i, k, min(k + _STRIP, last), left, right)


@kernel
def _update_narrow(a, k, m):
    """Columns k + 4…m−1 after the elimination of columns k…k+3."""
    right = k + _NARROW
    for p in range(k, right):
        for i in range(p + 1, right):
            factor = a[i, p]
            for j in range(right, m):
                a[i, j] -= factor * a[p, j]
    for i in range(right, m):
        f0, f1, f2, f3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
        if f0 == 0.0 and f1 == 0.0 and f2 == 0.0 and f3 == 0.0:
            continue
        for j in range(right, m):
            a[i, j] -= f0 * a[k, j] + f1 * a[k + 1, j] + f2 * a[k + 2, j] + f3 * a[k + 3, j]


@kernel
def factor_lu(a, pivots, m):
    """LU of a[:m, :m] in place, row exchanges in `pivots` (floats); False when singular."""
    if m < BLOCKED_FROM:
        for k in range(0, m, _NARROW):
            if not _factor_panel(a, pivots, k, min(k + _NARROW, m), m):
                return False
            if k + _NARROW < m:
                _update_narrow(a, k, m)
        return True
    for first in range(0, m, _PANEL):
        last = min(first + _PANEL, m)
        # the panel itself, eight columns at a time
        for k in range(first, last, _STRIP):
            end = min(k + _STRIP, last)
            if not _factor_panel(a, pivots, k, end, m):
                return False
            _update(a, k, end, end, last, m)
        # everything right of the panel
        _update(a, first, last, last, m, m)
    return True


@kernel(fastmath={"reassoc", "contract"})
def solve_lu(a, pivots, b, m):
    """Overwrite b[:m] with the solution of A x = b, from `factor_lu`."""
    for k in range(m):
        p = int(pivots[k])
        if p != k:
            swap = b[k]
            b[k] = b[p]
            b[p] = swap
    for i in range(1, m):
        total = b[i]
        for j in range(i):
            total -= a[i, j] * b[j]
        b[i] = total
    for i in range(m - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, m):
            total -= a[i, j] * b[j]
        b[i] = total / a[i, i]


@allocating
def solve_large(a, b, m):
    """Overwrite b[:m] with the solution of A x = b by LAPACK; False when A is singular."""
    try:
        x = np.linalg.solve(np.ascontiguousarray(a[:m, :m]), b[:m])
    except Exception:
        return False
    for i in range(m):
        b[i] = x[i]
    return True


@kernel(fastmath={"contract"})
def factor_cholesky(a, inverse_diagonal, m):
    """A = Uᵀ U of the upper half of a[:m, :m] in place; False when not positive definite.

    Row oriented, so that the inner loop runs along memory. 1/U_kk goes to `inverse_diagonal`.
    """
    for k in range(m):
        pivot = a[k, k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        inverse_diagonal[k] = inverse
        for j in range(k, m):
            a[k, j] *= inverse
        for i in range(k + 1, m):
            factor = a[k, i]
            if factor != 0.0:
                for j in range(i, m):
                    a[i, j] -= factor * a[k, j]
    return True


@kernel(fastmath={"reassoc", "contract"})
def solve_cholesky(a, inverse_diagonal, b, m):
    """Overwrite b[:m] with the solution of A x = b, from `factor_cholesky`."""
    for i in range(m):
        value = b[i] * inverse_diagonal[i]
        b[i] = value
        for j in range(i + 1, m):
            b[j] -= a[i, j] * value
    for i in range(m - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, m):
            total -= a[i, j] * b[j]
        b[i] = total * inverse_diagonal[i]
