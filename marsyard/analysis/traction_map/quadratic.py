"""Small dense problems for the kernels: convex quadratic programs, symmetric eigenvalues.

Quadratic program:  minimise ½ xᵀH x + gᵀx  subject to  G x ≥ h,  H positive definite.

D. Goldfarb, A. Idnani: A numerically stable dual method for solving strictly convex quadratic
programs. Mathematical Programming 27, 1983. It begins at the free minimum −H⁻¹g and takes in the
most violated row, one after the other; a step is as long as no multiplier of the rows held turns
negative (then that row is let go) until the row is met. With H = L Lᵀ the matrix J = L⁻ᵀQ and the
upper triangle R of the rows held, Jᵀ Gᵀ_held = [R; 0], are kept by Givens rotations.

Eigenvalues: cyclic Jacobi rotations (G. H. Golub, C. F. Van Loan: Matrix computations, section on
Jacobi methods).
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.jit import inner, kernel
from marsyard.linear_algebra import cholesky

#: outcome of a quadratic program
SOLVED, INFEASIBLE, UNDECIDED = 0, 1, 2


@inner
def _begin(H, g, n, L, J, x):
    """x = −H⁻¹g and J = L⁻ᵀ."""
    if not cholesky(H, n, L, 0.0, math.nan):
        return False
    for c in range(n):
        # column c of L⁻¹ is row c of L⁻ᵀ
        for i in range(n):
            total = 1.0 if i == c else 0.0
            for k in range(c, i):
                total -= L[i, k] * J[c, k]
            J[c, i] = total / L[i, i] if i >= c else 0.0
    for i in range(n):
        x[i] = 0.0
    for k in range(n):
        total = 0.0
        for i in range(n):
            total += J[i, k] * g[i]
        for i in range(n):
            x[i] -= J[i, k] * total
    return True


@inner
def _rotate_in(J, R, d, n, held):
    """Take the row with d = Jᵀ(row) in: rotate the tail of d away; whether it is independent."""
    for j in range(n - 1, held, -1):
        if d[j] == 0.0:
            continue
        size = math.hypot(d[j - 1], d[j])
        c, s = d[j - 1] / size, d[j] / size
        d[j - 1], d[j] = size, 0.0
        for i in range(n):
            a, b = J[i, j - 1], J[i, j]
            J[i, j - 1] = c * a + s * b
            J[i, j] = c * b - s * a
    for i in range(held + 1):
        R[i, held] = d[i]


@inner
def _rotate_out(J, R, n, held, out):
    """Let row number `out` of those held go."""
    for j in range(out, held - 1):
        for i in range(held):
            R[i, j] = R[i, j + 1]
    for j in range(out, held - 1):
        size = math.hypot(R[j, j], R[j + 1, j])
        if size == 0.0:
            continue
        c, s = R[j, j] / size, R[j + 1, j] / size
        for k in range(j, held - 1):
            a, b = R[j, k], R[j + 1, k]
            R[j, k] = c * a + s * b
            R[j + 1, k] = c * b - s * a
        for i in range(n):
            a, b = J[i, j], J[i, j + 1]
            J[i, j] = c * a + s * b
            J[i, j + 1] = c * b - s * a


@inner
def _most_violated(G, h, x, n, rows, active):
    """The row that is missed most, in its own scale, and by how much."""
    worst, which = 0.0, -1
    for k in range(rows):
        if active[k]:
            continue
        value, size = -h[k], abs(h[k])
        for i in range(n):
            part = G[k, i] * x[i]
            value += part
            size = max(size, abs(part))
        if value < -1e-13 * (1.0 + size) and value < worst:
            worst, which = value, k
    return which, worst


@kernel
def quadratic_program(H, g, G, h, n, rows, x, multiplier, work, held_row, active):
    """Solve it: `x` [n], `multiplier` [rows]; SOLVED, INFEASIBLE or UNDECIDED.

    work: float64[3 n + 4, n] at least; held_row: int64[n]; active: int64[rows].
    """
    L, J, R = work[:n], work[n : 2 * n], work[2 * n : 3 * n]
    d, z, r, u = work[3 * n], work[3 * n + 1], work[3 * n + 2], work[3 * n + 3]
    for k in range(rows):
        multiplier[k], active[k] = 0.0, 0
    if not _begin(H, g, n, L, J, x):
        return UNDECIDED
    held = np.int64(0)
    for _ in range(10 * (n + rows)):
        row, short = _most_violated(G, h, x, n, rows, active)
        if row < 0:
            for k in range(held):
                multiplier[held_row[k]] = u[k]
            return SOLVED
        own = 0.0
        while True:
            for i in range(n):
                d[i] = 0.0
                for k in range(n):
                    d[i] += J[k, i] * G[row, k]
            free, total = 0.0, 0.0
            for i in range(n):
                total += d[i] * d[i]
                if i >= held:
                    free += d[i] * d[i]
            for i in range(n):
                z[i] = 0.0
                for k in range(held, n):
                    z[i] += J[i, k] * d[k]
            for i in range(held - 1, -1, -1):
                r[i] = d[i]
                for k in range(i + 1, held):
                    r[i] -= R[i, k] * r[k]
                r[i] /= R[i, i]
            # the longest step that keeps the multipliers, and the one that meets the row
            most, out = math.inf, np.int64(0)
            for k in range(held):
                if r[k] > 0.0 and u[k] / r[k] < most:
                    most, out = u[k] / r[k], np.int64(k)
            independent = held < n and free > 1e-20 * total
            full = -short / free if independent else math.inf
            step = min(most, full)
            if step == math.inf:
                return INFEASIBLE
            for k in range(held):
                u[k] -= step * r[k]
            own += step
            if independent:
                for i in range(n):
                    x[i] += step * z[i]
                short += step * free
            if full <= most:
                _rotate_in(J, R, d, n, held)
                u[held] = own
                held_row[held], active[row] = row, 1
                held += 1
                break
            active[held_row[out]] = 0
            _rotate_out(J, R, n, held, out)
            for k in range(out, held - 1):
                u[k], held_row[k] = u[k + 1], held_row[k + 1]
            held -= 1
    return UNDECIDED


@inner
def eigenvalues(A, n, V):
    """Make the symmetric A diagonal in place; V [n, n] holds the vectors in its columns."""
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, size = 0.0, 0.0
        for i in range(n):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if off <= 1e-30 * (size + off):
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p, q] == 0.0:
                    continue
                half = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                t = math.copysign(1.0, half) / (abs(half) + math.sqrt(half * half + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    a, b = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * a - s * b, s * a + c * b
                for k in range(n):
                    a, b = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * a - s * b, s * a + c * b
                    a, b = V[k, p], V[k, q]
                    V[k, p], V[k, q] = c * a - s * b, s * a + c * b


@inner
def make_positive(A, n, least, V, copy):
    """A symmetric matrix with its eigenvalues replaced by their sizes, at least `least`."""
    for i in range(n):
        for j in range(n):
            copy[i, j] = A[i, j]
    eigenvalues(copy, n, V)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += V[i, k] * max(abs(copy[k, k]), least) * V[j, k]
            A[i, j] = A[j, i] = total


def program_work(n: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scratch for `quadratic_program`: work, held_row, active."""
    return np.zeros((3 * n + 4, max(n, 1))), np.zeros(n, np.int64), np.zeros(rows, np.int64)
