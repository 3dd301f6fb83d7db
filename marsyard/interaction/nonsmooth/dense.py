r"""Dense linear algebra inside compiled loops: LU with partial pivoting, Cholesky.

The matrices here have a few dozen rows most of the time; plain loops then beat the call overhead of
LAPACK. From `BLOCKED_FROM` rows on, the LU works in panels and leaves the bulk of the arithmetic to
a matrix product (BLAS). Both factorisations are done in place, never raise and report failure by
their return value. Source: Golub & Van Loan 2013, "Matrix Computations", 3.4 and 4.2.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BLOCKED_FROM = 96
_PANEL = 32


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def factor_lu(a, pivots, m):
    """LU of a[:m, :m] in place, row exchanges in `pivots` (floats); False when singular."""
    if m < BLOCKED_FROM:
        return _factor_panel(a, pivots, 0, m, m)
    for first in range(0, m, _PANEL):
        last = min(first + _PANEL, m)
        if not _factor_panel(a, pivots, first, last, m):
            return False
        if last == m:
            break
        # rows of U right of the panel
        for k in range(first, last):
            for i in range(k + 1, last):
                factor = a[i, k]
                if factor != 0.0:
                    for j in range(last, m):
                        a[i, j] -= factor * a[k, j]
        # trailing update by one matrix product
        lower = a[last:m, first:last].copy()
        upper = a[first:last, last:m].copy()
        product = np.dot(lower, upper)
        for i in range(last, m):
            for j in range(last, m):
                a[i, j] -= product[i - last, j - last]
    return True


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
