"""Dense linear algebra of small systems inside kernels: Cholesky's factor of a symmetric matrix.

    H = L Lᵀ,   L_ij = (H_ij − Σ_{k<j} L_ik L_jk) / L_jj,   L_ii = sqrt(H_ii − Σ_{k<i} L_ik²)

Rows are gone through one number after the other, which is best for up to some twenty of them. The
solver of contacts has larger ones, and its own loops over eight numbers at a time
(`interaction.nonsmooth.dense`). Source: Golub and Van Loan 2013, "Matrix Computations", 4.2.
"""

from __future__ import annotations

import math

from marsyard.jit import VECTOR, inner, kernel


@kernel
def cholesky(H, n, L, least, instead):
    """The lower triangle L of H[:n, :n], of which only the lower triangle is read; L may be H.

    A pivot that is not above `least` of its diagonal entry becomes `instead`: of a matrix that is
    not positive definite NaN, or a huge number, which takes the row out. Returns whether there was
    none.
    """
    positive = True
    for i in range(n):
        for j in range(i + 1):
            diagonal = total = H[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i != j:
                L[i, j] = total / L[j, j]
            elif total > least * diagonal:
                L[i, i] = math.sqrt(total)
            else:
                L[i, i] = instead
                positive = False
    return positive


@kernel
def solve_cholesky(L, n, rhs, out):
    """out = (L Lᵀ)⁻¹ rhs; out may be rhs."""
    for i in range(n):
        total = rhs[i]
        for k in range(i):
            total -= L[i, k] * out[k]
        out[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, n):
            total -= L[k, i] * out[k]
        out[i] = total / L[i, i]


#: the same with sums in any order, on vector units
cholesky_in_any_order = inner(cholesky.py_func, fastmath=VECTOR)
solve_in_any_order = inner(solve_cholesky.py_func, fastmath=VECTOR)
