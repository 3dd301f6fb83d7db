r"""Sweeps over many contacts of few bodies, through a factor of W.

n contacts of one rigid body have a full W of rank 6 at most. Cholesky with diagonal pivoting gives
W = L Lᵀ with as many columns as the rank (Higham 1990, "Analysis of the Cholesky decomposition of a
semidefinite matrix"), for O(n · rank²). With y = Lᵀ r kept up to date, a Gauss–Seidel sweep costs
O(n · rank) instead of O(n²), and the least-norm impulse of sticking contacts is

    r = −W⁺ q = −L (Lᵀ L)⁻² Lᵀ q.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.cone import natural_map_squared
from marsyard.interaction.nonsmooth.dense import (
    back_substitute,
    factor_cholesky,
    row_length,
    solve_cholesky,
    storage,
    storage_size,
)
from marsyard.interaction.nonsmooth.single_contact import solve_one_contact
from marsyard.interaction.nonsmooth.sticking import AT_REST
from marsyard.jit import allocating, kernel

_ROUNDING = 1e-14
_REFINEMENTS = 6


@allocating
def factor_low_rank(n, W, limit):
    """L [3n, rank] with W = L Lᵀ up to rounding; no columns when the rank exceeds `limit`."""
    m = 3 * n
    nothing = np.empty((m, 0))
    left = np.empty(m)
    for i in range(m):
        left[i] = W[i, i]
    floor = _ROUNDING * m * left.max()
    factor = np.zeros((m, limit))
    for k in range(limit + 1):
        p = np.argmax(left)
        if left[p] <= floor:
            return factor[:, :k].copy()
        if k == limit:
            break
        inverse = 1.0 / math.sqrt(left[p])
        for i in range(m):
            total = W[i, p]
            for j in range(k):
                total -= factor[i, j] * factor[p, j]
            factor[i, k] = total * inverse
            left[i] -= factor[i, k] * factor[i, k]
        left[p] = 0.0
    return nothing


@kernel
def _velocity(factor, y, q, row):
    """Entry `row` of L y + q."""
    total = q[row]
    for j in range(y.size):
        total += factor[row, j] * y[j]
    return total


@allocating
def _stick(n, factor, q, mu, r, now, rest, scale, tolerance):
    """Least-norm impulse of the sticking pattern of r, as `solve_sticking`, with W = L Lᵀ.

    `now` is Lᵀ r; open contacts slower than `rest` [m/s] are taken as closed, too, and all contacts
    whatever r where `rest` is infinite.
    """
    m = 3 * n
    rank = factor.shape[1]
    closed = np.zeros(m, dtype=np.bool_)
    found = False
    for c in range(n):
        k = 3 * c
        if r[k] > 0.0:
            limit = mu[c] * r[k]
            if r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2] >= limit * limit and rest < math.inf:
                return False, 0.0
            closed[k : k + 3] = True
            found = True
        elif _velocity(factor, now, q, k) <= rest:
            closed[k : k + 3] = True
            found = True
    if not found:
        return False, 0.0
    room = np.zeros(storage_size(rank))
    first, last = storage(room, rank)
    gram = room[first:last].reshape((rank + 1, row_length(rank)))
    for i in range(m):
        if closed[i]:
            for j in range(rank):
                for k in range(j, rank):
                    gram[j, k] += factor[i, j] * factor[i, k]
    trace = 0.0
    for j in range(rank):
        trace += gram[j, j]
    for j in range(rank):
        gram[j, j] += 1e-12 * trace
    x = np.zeros(m)
    y = np.zeros(rank)
    b = np.empty(rank)
    before = math.inf
    residual = math.inf
    for step in range(_REFINEMENTS):
        b[:] = 0.0
        for i in range(m):
            if closed[i]:
                velocity = _velocity(factor, y, q, i)
                for j in range(rank):
                    b[j] += factor[i, j] * velocity
        if step > 0:
            solve_cholesky(gram, b, rank)
        elif factor_cholesky(gram, b, rank):
            back_substitute(gram, b, rank)
        else:
            return False, 0.0
        solve_cholesky(gram, b, rank)
        for i in range(m):
            if closed[i]:
                for j in range(rank):
                    x[i] -= factor[i, j] * b[j]
        y[:] = 0.0
        for i in range(m):
            if closed[i]:
                for j in range(rank):
                    y[j] += factor[i, j] * x[i]
        total = 0.0
        for c in range(n):
            k = 3 * c
            un = _velocity(factor, y, q, k)
            ut = _velocity(factor, y, q, k + 1)
            us = _velocity(factor, y, q, k + 2)
            total += natural_map_squared(x[k], x[k + 1], x[k + 2], un, ut, us, mu[c])
        residual = math.sqrt(total) * scale
        if residual <= 0.9 * tolerance:
            for i in range(m):
                r[i] = x[i]
            return True, residual
        if not residual < 0.5 * before:
            break
        before = residual
    return False, residual


@allocating
def sweep_low_rank(n, W, factor, q, mu, r, scale, tolerance, max_sweeps, patience):
    """As `gauss_seidel`, with W = L Lᵀ; r enters as zeros. Returns sweeps, e(r).

    Sticking (`_stick`) is tried first, for all contacts, and then every few sweeps, for the closed
    ones.
    """
    rank = factor.shape[1]
    y = np.zeros(rank)
    residual = math.inf
    last = math.inf
    done = 0
    check = 4
    sticks, stuck = _stick(n, factor, q, mu, r, y, math.inf, scale, tolerance)
    if sticks:
        return done, stuck
    while done < max_sweeps:
        for step in range(n):
            c = n - 1 - step if done % 2 == 1 else step
            k = 3 * c
            wnt = 0.5 * (W[k, k + 1] + W[k + 1, k])
            wns = 0.5 * (W[k, k + 2] + W[k + 2, k])
            wts = 0.5 * (W[k + 1, k + 2] + W[k + 2, k + 1])
            a = r[k]
            b = r[k + 1]
            e = r[k + 2]
            qn = _velocity(factor, y, q, k) - (W[k, k] * a + wnt * b + wns * e)
            qt = _velocity(factor, y, q, k + 1) - (wnt * a + W[k + 1, k + 1] * b + wts * e)
            qs = _velocity(factor, y, q, k + 2) - (wns * a + wts * b + W[k + 2, k + 2] * e)
            r[k], r[k + 1], r[k + 2], _ = solve_one_contact(
                W[k, k], wnt, wns, W[k + 1, k + 1], wts, W[k + 2, k + 2], qn, qt, qs, mu[c]
            )
            a = r[k] - a
            b = r[k + 1] - b
            e = r[k + 2] - e
            for j in range(rank):
                y[j] += factor[k, j] * a + factor[k + 1, j] * b + factor[k + 2, j] * e
        done += 1
        if done % check == 0 or done == max_sweeps:
            total = 0.0
            for c in range(n):
                k = 3 * c
                un = _velocity(factor, y, q, k)
                ut = _velocity(factor, y, q, k + 1)
                us = _velocity(factor, y, q, k + 2)
                total += natural_map_squared(r[k], r[k + 1], r[k + 2], un, ut, us, mu[c])
            residual = math.sqrt(total) * scale
            for attempt in range(2):
                rest = AT_REST / scale if attempt == 0 else -math.inf
                sticks, stuck = _stick(n, factor, q, mu, r, y, rest, scale, tolerance)
                if sticks:
                    return done, stuck
            if residual <= 0.9 * tolerance:
                break
            if done >= 16:
                if not residual < last:
                    break
                if math.log(residual / tolerance) > math.log(last / residual) / check * patience:
                    break
            last = residual
    return done, residual
