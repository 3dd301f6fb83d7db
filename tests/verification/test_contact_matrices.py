"""Dense factors of contact matrices, eight numbers at a time, against NumPy."""

import numpy as np
import pytest

from marsyard.interaction.nonsmooth.dense import (
    LAPACK_FROM,
    back_substitute,
    factor_cholesky,
    multiply_symmetric,
    row_length,
    solve,
    solve_cholesky,
    solve_lu,
    storage,
    storage_size,
)
from marsyard.jit import kernel


@kernel
def by_lu(work, matrix, b, other, pivots, m, room):
    """Solve for b, then for another right side, in a work array for `room` rows."""
    first, last = storage(work, room)
    a = work[first:last].reshape((room + 1, row_length(room)))
    for i in range(m):
        for j in range(m):
            a[i, j] = matrix[i, j]
    good = solve(a, pivots, b, m)
    if good and m < LAPACK_FROM:
        solve_lu(a, pivots, other, m)
    return good


@kernel
def by_cholesky(work, matrix, b, other, m, room):
    """Likewise, from the upper half of a symmetric matrix."""
    first, last = storage(work, room)
    a = work[first:last].reshape((room + 1, row_length(room)))
    for i in range(m):
        for j in range(i, m):
            a[i, j] = matrix[i, j]
    if not factor_cholesky(a, b, m):
        return False
    back_substitute(a, b, m)
    solve_cholesky(a, other, m)
    return True


def work_for(room, shift):
    """A work array full of NaN, at any alignment."""
    return np.full(storage_size(room) + 8, np.nan)[shift:]


@pytest.mark.parametrize("spare", [0, 5])
def test_factors_of_any_size_against_numpy(spare):
    rng = np.random.default_rng(0)
    for m in range(1, 81):
        root = rng.normal(size=(m, m))
        for matrix, lu in ((root, True), (root @ root.T + np.eye(m), False)):
            b, other = rng.normal(size=(2, m))
            x, y = b.copy(), other.copy()
            work = work_for(m + spare, m % 8)
            if lu:
                assert by_lu(work, matrix, x, y, np.zeros(m), m, m + spare)
            else:
                assert by_cholesky(work, matrix, x, y, m, m + spare)
            size = np.abs(matrix).sum(axis=1).max()
            assert np.abs(matrix @ x - b).max() <= 1e-13 * size * np.abs(x).max()
            if not lu or m < LAPACK_FROM:
                assert np.abs(matrix @ y - other).max() <= 1e-13 * size * np.abs(y).max()


def test_alignment_changes_no_bit():
    rng = np.random.default_rng(1)
    matrix, b = rng.normal(size=(21, 21)), rng.normal(size=21)
    found = set()
    for shift in range(8):
        x, y = b.copy(), b.copy()
        assert by_lu(work_for(24, shift), matrix, x, y, np.zeros(21), 21, 24)
        found.add(x.tobytes() + y.tobytes())
    assert len(found) == 1


def test_matrices_without_factors_are_told():
    for matrix in (np.zeros((9, 9)), np.full((9, 9), np.nan), np.diag([1.0] * 8 + [0.0])):
        b = np.ones(9)
        assert not by_lu(work_for(9, 0), matrix, b.copy(), b.copy(), np.zeros(9), 9, 9)
        assert not by_cholesky(work_for(9, 0), matrix, b.copy(), b.copy(), 9, 9)


def test_products_stay_inside_the_matrix():
    # the last eight columns are read once more where eight do not divide their number
    rng = np.random.default_rng(2)
    for m in range(1, 70):
        w = rng.normal(size=(m, m))
        w += w.T
        x, out = rng.normal(size=m), np.full(m + 8, np.nan)
        multiply_symmetric(m, w, x, out)
        assert out[:m] == pytest.approx(w @ x, abs=1e-12)
        assert np.isnan(out[m:]).all()
