r"""Dense linear algebra inside compiled loops: LU with partial pivoting, Cholesky.

The matrices here have a few dozen rows most of the time; loops of our own then beat the call
overhead of LAPACK and use no threads (many simulations may run side by side). A matrix
lies where `storage` says: its rows are filled up to a multiple of eight numbers and begin where
vector units load them at once (`lanes`). Eight columns at a time are eliminated, and the right side
goes along as one more column. Systems of `LAPACK_FROM` rows and more are solved by LAPACK. Nothing
here raises; failure is told by the return value. Source: Golub & Van Loan 2013, "Matrix
Computations", 3.4 and 4.2.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.lanes import (
    LANES,
    combine_four,
    combine_one,
    eliminate,
    exchange,
    substitute,
    subtract_four,
    subtract_one,
    subtract_product,
    subtract_turned,
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
        a[k, k] = inverse
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

    a: laid out as `storage` says. Column m becomes L⁻¹ b, for `back_substitute`; the diagonal holds
    inverses.
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
            value = a[k, m] * a[k, k]
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
    """Overwrite b[:m] with the solution of A x = b; False when A is singular.

    a: laid out as `storage` says. Below `LAPACK_FROM` rows, `solve_lu` may follow.
    """
    if m >= LAPACK_FROM:
        return _solve_large(a, b, m)
    if not factor_lu(a, pivots, b, m):
        return False
    back_substitute(a, b, m)
    return True


@kernel
def multiply_symmetric(m, W, x, out):
    """out = W x for a symmetric W, every entry summed in the same order."""
    if m < LANES:
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += W[j, i] * x[j]
            out[i] = total
        return
    j = 0
    while j + 4 * LANES <= m:
        combine_four(W, x, m, j, out)
        j += 4 * LANES
    while j + LANES <= m:
        combine_one(W, x, m, j, out)
        j += LANES
    if j < m:
        combine_one(W, x, m, m - LANES, out)


@kernel
def factor_cholesky(a, b, m):
    """A = Uᵀ U of the upper half of a[:m, :m] in place; False when not positive definite.

    a: laid out as `storage` says. Column m becomes U⁻ᵀ b, for `back_substitute`; the diagonal holds
    inverses.
    """
    right = row_length(m)
    for i in range(m):
        a[i, m] = b[i]
        for j in range(m + 1, right):
            a[i, j] = 0.0
    for first in range(0, m, LANES):
        last = min(first + LANES, m)
        for k in range(first, last):
            pivot = a[k, k]
            if not pivot > 0.0 or pivot == math.inf:
                return False
            inverse = 1.0 / math.sqrt(pivot)
            # what is below the diagonal must not be seen beside it
            for j in range(first, k):
                a[k, j] = 0.0
            for j in range(k + 1, right):
                a[k, j] *= inverse
            a[k, k] = inverse
            for i in range(k + 1, last):
                factor = a[k, i]
                for j in range(first, right, LANES):
                    eliminate(a, i, j, factor, k)
        for i in range(last, m, LANES):
            for j in range(i, right, LANES):
                if i + LANES <= m:
                    subtract_turned(a, i, first, j)
                else:
                    for k in range(i, m):
                        for p in range(first, last):
                            eliminate(a, k, j, a[p, k], p)
    return True


@kernel
def solve_cholesky(a, b, m):
    """Overwrite b[:m] with the solution of A x = b for another b, from `factor_cholesky`."""
    right = row_length(m)
    for j in range(m):
        a[m, j] = b[j]
    for j in range(m, right):
        a[m, j] = 0.0
    for i in range(m):
        value = a[m, i] * a[i, i]
        a[i, m] = value
        for j in range(i // LANES * LANES, right, LANES):
            eliminate(a, m, j, value, i)
    back_substitute(a, b, m)
