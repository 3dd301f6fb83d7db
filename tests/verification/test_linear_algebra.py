"""Factors and solutions against LAPACK's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.linear_algebra import cholesky, solve_cholesky


def positive_definite(n: int, condition: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return Q * np.geomspace(1.0, condition, n) @ Q.T


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e9])
def test_factor_and_solution(n, condition):
    H = positive_definite(n, condition, n)
    b = np.random.default_rng(1).normal(size=n)
    L = np.zeros((n + 2, n + 1))  # with room beyond, which stays as it is
    assert cholesky(H, n, L, 0.0, math.nan)
    np.testing.assert_allclose(L[:n, :n], np.linalg.cholesky(H), rtol=0, atol=1e-12 * condition)
    assert not L[n:].any() and not L[:, n:].any()
    x = np.empty(n)
    solve_cholesky(L, n, b, x)
    residual = np.abs(H @ x - b).max() / (np.abs(H).max() * np.abs(x).max())
    assert residual < 1e-14
    # in place the very same
    lower = np.tril(H)
    assert cholesky(lower, n, lower, 0.0, math.nan)
    np.testing.assert_array_equal(np.tril(lower), np.tril(L[:n, :n]))
    solve_cholesky(L, n, b, b)
    np.testing.assert_array_equal(b, x)


def test_only_the_lower_triangle_is_read():
    H = positive_definite(5, 10.0, 3)
    spoiled = np.where(np.triu(np.ones((5, 5)), 1) > 0, np.nan, H)
    a, b = np.zeros((5, 5)), np.zeros((5, 5))
    assert cholesky(H, 5, a, 0.0, math.nan) and cholesky(spoiled, 5, b, 0.0, math.nan)
    np.testing.assert_array_equal(a, b)


def test_an_indefinite_matrix_is_told_and_gives_no_numbers():
    H = np.diag([1.0, -1.0, 2.0])
    L = np.zeros((3, 3))
    assert not cholesky(H, 3, L, 0.0, math.nan)
    assert np.isnan(L[1, 1])
    assert not cholesky(np.full((2, 2), np.nan), 2, L, 0.0, math.nan)


def test_a_row_that_depends_on_others_is_taken_out():
    A = np.random.default_rng(5).normal(size=(3, 6))
    A = np.vstack([A, A[0] + A[1]])
    L, b = np.zeros((4, 4)), A @ np.ones(6)
    assert not cholesky(A @ A.T, 4, L, 1e-12, 1e100)
    x = np.empty(4)
    solve_cholesky(L, 4, b, x)
    assert abs(x[3]) < 1e-50
    np.testing.assert_allclose(A @ A.T @ x, b, atol=1e-10)
