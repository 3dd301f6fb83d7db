r"""Dense linear algebra inside compiled loops: LU with partial pivoting, Cholesky.

The matrices here have a few dozen rows most of the time; loops of our own then beat the call
overhead of LAPACK and use no threads (many simulations may run side by side). A matrix for the LU
lies where `storage` says: its rows are filled up to a multiple of eight numbers and begin where
vector units load them at once (`lanes`). Eight columns at a time are eliminated, and the right side goes
along as one more column. Systems of `LAPACK_FROM` rows and more are solved by
LAPACK. Nothing here raises; failure is told by the return value. Source: Golub & Van Loan 2013,
"Matrix Computations", 3.4 and 4.2.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.lanes import (
    LANES,
    eliminate,
    exchange,
    substitute,
    subtract_four,
    subtract_one,
    subtract_product,
)
from marsyard.jit import allocating, kernel

#: rows from which LAPACK is worth its call
LAPACK_FROM = 72


@kernel
def row_length(m):
    """Length of the rows of a matrix of m rows with its right side: a multiple of `LANES`."""
    return (m + LANES) // LANES * LANES


@kernel
def storage_size(m):
    """Float64 entries at the head of a work array that belong to a matrix of m rows."""
    return (m + 1) * row_length(m) + LANES


@kernel
def storage(work, m):
    """Where it begins and ends in them, to be shaped (m + 1, `row_length`): m rows and columns, the
    right side, and a row that the elimination needs."""
    first = -(work.ctypes.data // 8) % LANES
    return first, first + (m + 1) * row_length(m)


@kernel
def _factor_columns(a, pivots, first, last, m, right):
    """LU with row exchanges (of `right` columns) of columns first…last−1, eight at most, of what
    is below row `first`; the eight columns from `first` on are changed."""
    p = first
    big = abs(a[first, first])
    for i in range(first + 1, m):
        value = abs(a[i, first])
        more = value > big
        p = i if more else p
        big = value if more else big
    for k in range(first, last):
        pivots[k] = p
        if not big > 0.0 or big == math.inf:
            return False
        if p != k:
            for j in range(0, right, LANES):
                exchange(a, k, p, j)
        # the pivot's row without what has been eliminated, in the spare one
        for j in range(first, k + 1):
            a[m, j] = 0.0
        for j in range(k + 1, first + LANES):
            a[m, j] = a[k, j]
        inverse = 1.0 / a[k, k]
        # and the largest entry of the next column meanwhile
        following = min(k + 1, last - 1)
        p = k + 1
        big = -1.0
        for i in range(k + 1, m):
            factor = a[i, k] * inverse
            eliminate(a, i, first, factor, m)
            a[i, k] = factor
            value = abs(a[i, following])
            more = value > big
            p = i if more else p
            big = value if more else big
    return True


@kernel
def factor_lu(a, pivots, b, m):
    """LU of a[:m, :m] in place, row exchanges in `pivots` (floats); False when singular.

    a: laid out as `storage` says. Column m becomes L⁻¹ b, for `back_substitute`.
    """
    right = row_length(m)
    for i in range(m):
        a[i, m] = b[i]
        for j in range(m + 1, right):
            a[i, j] = 0.0
    for first in range(0, m, LANES):
        last = min(first + LANES, m)
        if not _factor_columns(a, pivots, first, last, m, right):
            return False
        for j in range(first + LANES, right, LANES):
            substitute(a, first, j)
            fours = last + (m - last) // 4 * 4
            for i in range(last, fours, 4):
                subtract_four(a, i, first, j)
            for i in range(fours, m):
                subtract_one(a, i, first, j)
    return True


@kernel
def back_substitute(a, b, m):
    """Write the solution of A x = b into b[:m], right after `factor_lu`."""
    # x lies in the spare row, zeros behind it
    for j in range(m, row_length(m)):
        a[m, j] = 0.0
    for first in range((m - 1) // LANES * LANES, -1, -LANES):
        last = min(first + LANES, m)
        for k in range(last - 1, first - 1, -1):
            value = a[k, m] / a[k, k]
            b[k] = value
            a[m, k] = value
            for i in range(first, k):
                a[i, m] -= a[i, k] * value
        for i in range(first):
            subtract_product(a, i, first, m, m)


@kernel(fastmath={"reassoc", "contract"})
def solve_lu(a, pivots, b, m):
    """Overwrite b[:m] with the solution of A x = b for another b, from `factor_lu`."""
    for k in range(m):
        p = int(pivots[k])
        if p != k:
            swap = b[k]
            b[k] = b[p]
            b[p] = swap
    for i in range(m):
        total = b[i]
        for j in range(i):
            total -= a[i, j] * b[j]
        a[i, m] = total
        b[i] = total
    back_substitute(a, b, m)


@allocating
def _solve_large(a, b, m):
    """Overwrite b[:m] with the solution of A x = b by LAPACK; False when A is singular."""
    try:
        x = np.linalg.solve(np.ascontiguousarray(a[:m, :m]), b[:m])
    except Exception:
        return False
    for i in range(m):
        b[i] = x[i]
    return True


@kernel
def solve(a, pivots, b, m):
    """Overwrite b[:m] with the solution of A x = b, A laid out as `storage` says; False when A is singular.

    Below `LAPACK_FROM` rows, `solve_lu` may follow.
    """
    if m >= LAPACK_FROM:
        return _solve_large(a, b, m)
    if not factor_lu(a, pivots, b, m):
        return False
    back_substitute(a, b, m)
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
