"""Small second-order cone programs, compiled: contact forces in exact friction cones.

    minimise cᵀx   subject to  A x = b,   x ∈ K = Q³ × … × Q³ × R₊ × … × R₊

The first 3 q variables are q cones Q³ = {(x₀, x₁, x₂) : x₀ ≥ ‖(x₁, x₂)‖}, the others are 0 or more.

Solved by a primal-dual interior-point method on the homogeneous self-dual embedding

    A x = b τ,    Aᵀy + s = c τ,    cᵀx − bᵀy + κ = 0,    x, s ∈ K,  τ, κ ≥ 0

which ends either at a solution x/τ or at a proof y that there is none (bᵀy > 0, −Aᵀy ∈ K). Each
step is scaled after Nesterov and Todd: W with W x = W⁻¹s = λ, for a cone W = η W̄(w) where

    x̄ = x/√(xᵀJx),  s̄ = s/√(sᵀJs),  J = diag(1, −1, −1),
    γ² = (1 + x̄ᵀs̄)/2,  w = (s̄ + J x̄)/(2γ),  η⁴ = sᵀJs / xᵀJx,
    W̄ = [[w₀, w₁ᵀ], [w₁, 1 + w₁w₁ᵀ/(1 + w₀)]],    W⁻² = η⁻² (2 (Jw)(Jw)ᵀ − J)

so that the normal matrix A W⁻² Aᵀ, of some ten rows, is all that is factorised. Mehrotra's
predictor and corrector share the factor. All is compiled by `marsyard.jit`.

Sources: Y. E. Nesterov, M. J. Todd: Primal-dual interior-point methods for self-scaled cones. SIAM
J. on Optimization 8, 1998. E. D. Andersen, C. Roos, T. Terlaky: On implementing a primal-dual
interior-point method for conic quadratic optimization. Mathematical Programming 95, 2003. L.
Vandenberghe: The CVXOPT linear and quadratic cone program solvers, 2010 (the forms of W).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.jit import VECTOR, inner
from marsyard.linear_algebra import cholesky_in_any_order as cholesky
from marsyard.linear_algebra import solve_in_any_order as solve_cholesky

#: outcome of a cone program
OPTIMAL, IMPOSSIBLE, STUCK = 0, 1, 2
_STEPS, _LOOSE = 50, 1e-6
#: rows of `ConeWork.vector` and of `ConeWork.dual`
_X, _S, _DX, _DS, _G, _W, _L, _RD, _X0, _X1, _C, _BEST = range(12)
_Y, _DY, _RP, _P, _Q, _B = range(6)


class ConeWork(NamedTuple):
    """A program and scratch for it, for at most m rows and n variables.

    A [m, n], scaled [m, n] for A W⁻², normal and factor [m, m]; vector [12, n], whose row
    10 is c; dual [6, m], whose last row is b; eta [n/3].
    """

    A: np.ndarray
    scaled: np.ndarray
    normal: np.ndarray
    factor: np.ndarray
    vector: np.ndarray
    dual: np.ndarray
    eta: np.ndarray


def cone_work(m: int, n: int) -> ConeWork:
    """Room for programs of at most m rows and n variables; one for each thread."""
    f = np.zeros
    return ConeWork(f((m, n)), f((m, n)), f((m, m)), f((m, m)), f((12, n)), f((6, m)), f(n))


@inner(fastmath=VECTOR)
def independent_rows(A, b, m, n):
    """Make the rows of A x = b orthonormal and drop those that depend on others.

    Gram and Schmidt's method, the longest row first. The number of rows that stay, or −1 where
    those dropped contradict the others.
    """
    for k in range(m):
        best, size = k, 0.0
        for i in range(k, m):
            own = 0.0
            for j in range(n):
                own += A[i, j] * A[i, j]
            if own > size:
                best, size = i, own
        if size < 1e-18:
            for i in range(k, m):
                if abs(b[i]) > 1e-7:
                    return -1
            return k
        size = math.sqrt(size)
        for j in range(n):
            A[k, j], A[best, j] = A[best, j], A[k, j]
            A[k, j] /= size
        b[k], b[best] = b[best], b[k]
        b[k] /= size
        for i in range(k + 1, m):
            part = 0.0
            for j in range(n):
                part += A[i, j] * A[k, j]
            for j in range(n):
                A[i, j] -= part * A[k, j]
            b[i] -= part * b[k]
    return m


@inner
def _inside(v, i):
    """vᵀJv of the cone at i, without cancellation where it nears 0."""
    side = math.sqrt(v[i + 1] * v[i + 1] + v[i + 2] * v[i + 2])
    return (v[i] - side) * (v[i] + side)


@inner
def _scale(q, n, x, s, w, eta, scaled_point):
    """The scaling w, η and the scaled point λ."""
    for k in range(q):
        i = 3 * k
        a, b = math.sqrt(max(_inside(x, i), 1e-300)), math.sqrt(max(_inside(s, i), 1e-300))
        dot = (x[i] * s[i] + x[i + 1] * s[i + 1] + x[i + 2] * s[i + 2]) / (a * b)
        gamma = math.sqrt(0.5 * (1.0 + dot))
        w[i + 1] = (s[i + 1] / b - x[i + 1] / a) / (2.0 * gamma)
        w[i + 2] = (s[i + 2] / b - x[i + 2] / a) / (2.0 * gamma)
        w[i] = math.sqrt(1.0 + w[i + 1] * w[i + 1] + w[i + 2] * w[i + 2])
        eta[k] = math.sqrt(b / a)
    for i in range(3 * q, n):
        w[i] = math.sqrt(s[i] / x[i])
    _times(q, n, w, eta, 1.0, x, scaled_point)


@inner
def _times(q, n, w, eta, sign, v, out):
    """out = W v (sign 1) or W⁻¹ v (sign −1); may be the same array."""
    for k in range(q):
        i = 3 * k
        size = eta[k] if sign > 0.0 else 1.0 / eta[k]
        a, b = sign * w[i + 1], sign * w[i + 2]
        dot = a * v[i + 1] + b * v[i + 2]
        more = v[i] + dot / (1.0 + w[i])
        out[i] = size * (w[i] * v[i] + dot)
        out[i + 1] = size * (v[i + 1] + more * a)
        out[i + 2] = size * (v[i + 2] + more * b)
    for i in range(3 * q, n):
        out[i] = v[i] * w[i] if sign > 0.0 else v[i] / w[i]


@inner
def _divide(q, n, point, d):
    """d becomes point \\ d in the cones' own product u∘v = (uᵀv, u₀v₁ + v₀u₁)."""
    for k in range(q):
        i = 3 * k
        det = _inside(point, i)
        first = (point[i] * d[i] - point[i + 1] * d[i + 1] - point[i + 2] * d[i + 2]) / det
        d[i + 1] = (d[i + 1] - first * point[i + 1]) / point[i]
        d[i + 2] = (d[i + 2] - first * point[i + 2]) / point[i]
        d[i] = first
    for i in range(3 * q, n):
        d[i] /= point[i]


@inner
def _longest(q, n, v, dv, most):
    """The longest step, at most `most`, that stays in the cones."""
    for k in range(q):
        i = 3 * k
        a = dv[i] * dv[i] - dv[i + 1] * dv[i + 1] - dv[i + 2] * dv[i + 2]
        b = v[i] * dv[i] - v[i + 1] * dv[i + 1] - v[i + 2] * dv[i + 2]
        c = _inside(v, i)
        root = b * b - a * c
        if root >= 0.0 and (a < 0.0 or b < 0.0):
            most = min(most, c / (math.sqrt(root) - b))
    for i in range(3 * q, n):
        if dv[i] < 0.0:
            most = min(most, -v[i] / dv[i])
    return most


@inner(fastmath=VECTOR)
def _normal_matrix(q, m, n, A, w, eta, scaled, normal):
    """scaled = A W⁻², normal = A W⁻² Aᵀ."""
    for r in range(m):
        for k in range(q):
            i = 3 * k
            size = 1.0 / (eta[k] * eta[k])
            dot = w[i] * A[r, i] - w[i + 1] * A[r, i + 1] - w[i + 2] * A[r, i + 2]
            scaled[r, i] = size * (2.0 * dot * w[i] - A[r, i])
            scaled[r, i + 1] = size * (A[r, i + 1] - 2.0 * dot * w[i + 1])
            scaled[r, i + 2] = size * (A[r, i + 2] - 2.0 * dot * w[i + 2])
        for i in range(3 * q, n):
            scaled[r, i] = A[r, i] / (w[i] * w[i])
    for r in range(m):
        for t in range(r + 1):
            total = 0.0
            for i in range(n):
                total += scaled[r, i] * A[t, i]
            normal[r, t] = total


@inner(fastmath=VECTOR)
def _dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@inner(fastmath=VECTOR)
def _residuals(m, n, A, vector, dual, tau):
    """rp = bτ − Ax, rd = cτ − Aᵀy − s, and their greatest parts; that of Aᵀy + s, too."""
    x, y = vector[_X], dual[_Y]
    most_p, most_d, proof = 0.0, 0.0, 0.0
    for r in range(m):
        dual[_RP, r] = dual[_B, r] * tau - _dot(A[r], x, n)
        most_p = max(most_p, abs(dual[_RP, r]))
    rd, c = vector[_RD], vector[_C]
    for i in range(n):
        rd[i] = vector[_S, i]
    for r in range(m):
        part = y[r]
        for i in range(n):
            rd[i] += A[r, i] * part
    for i in range(n):
        proof = max(proof, abs(rd[i]))
        rd[i] = c[i] * tau - rd[i]
        most_d = max(most_d, abs(rd[i]))
    return most_p, most_d, proof


@inner
def _refine(q, m, n, work, share, d_tau):
    """What the factor's rounding left of A dx = b dτ + rp, solved for again, twice."""
    A, vector, dual = work.A, work.vector, work.dual
    dx, dy, p = vector[_DX], dual[_DY], dual[_P]
    for _ in range(2):
        for r in range(m):
            p[r] = share * dual[_RP, r] + dual[_B, r] * d_tau - _dot(A[r], dx, n)
        solve_cholesky(work.factor, m, p, p)
        for r in range(m):
            part = p[r]
            dy[r] += part
            for i in range(n):
                dx[i] += work.scaled[r, i] * part


@inner
def _direction(q, m, n, work, share, rg, g_tau, tau, kappa):
    """The step for a scaled right-hand side G and `share` of the residuals: dτ, dκ.

    Needs the factor, and Q = (A W⁻² Aᵀ)⁻¹ (b + A W⁻² c) with X1 = W⁻²(Aᵀ Q − c).
    """
    A, scaled, vector, dual = work.A, work.scaled, work.vector, work.dual
    w, eta, x0 = vector[_W], work.eta, vector[_X0]
    # x0 = W⁻¹(G − W⁻¹rd) + W⁻²Aᵀp
    _times(q, n, w, eta, -1.0, vector[_RD], x0)
    for i in range(n):
        x0[i] = vector[_G, i] - share * x0[i]
    _times(q, n, w, eta, -1.0, x0, x0)
    p = dual[_P]
    for r in range(m):
        p[r] = share * dual[_RP, r] - _dot(A[r], x0, n)
    solve_cholesky(work.factor, m, p, p)
    for r in range(m):
        for i in range(n):
            x0[i] += scaled[r, i] * p[r]
    c, b = vector[_C], dual[_B]
    below = -kappa / tau + _dot(c, vector[_X1], n) - _dot(b, dual[_Q], m)
    above = share * rg - g_tau / tau - _dot(c, x0, n) + _dot(b, p, m)
    d_tau = above / below
    for r in range(m):
        dual[_DY, r] = p[r] + d_tau * dual[_Q, r]
    for i in range(n):
        vector[_DX, i] = x0[i] + d_tau * vector[_X1, i]
    _refine(q, m, n, work, share, d_tau)
    # ds from the dual equation, so that its residual falls as it should
    ds = vector[_DS]
    for i in range(n):
        ds[i] = share * vector[_RD, i] + c[i] * d_tau
    for r in range(m):
        part = dual[_DY, r]
        for i in range(n):
            ds[i] -= A[r, i] * part
    return d_tau, (g_tau - kappa * d_tau) / tau


@inner
def _prepare(q, m, n, work):
    """Scaling, factor and the part of the direction that belongs to dτ."""
    A, scaled, vector, dual = work.A, work.scaled, work.vector, work.dual
    w, eta = vector[_W], work.eta
    _scale(q, n, vector[_X], vector[_S], w, eta, vector[_L])
    _normal_matrix(q, m, n, A, w, eta, scaled, work.normal)
    # a pivot that is nothing but rounding takes its row out
    cholesky(work.normal, m, work.factor, 1e-15, 1e100)
    c, x1 = vector[_C], vector[_X1]
    for r in range(m):
        dual[_Q, r] = dual[_B, r] + _dot(scaled[r], c, n)
    solve_cholesky(work.factor, m, dual[_Q], dual[_Q])
    for i in range(n):
        x1[i] = -c[i]
    _times(q, n, w, eta, -1.0, x1, x1)
    _times(q, n, w, eta, -1.0, x1, x1)
    for r in range(m):
        for i in range(n):
            x1[i] += scaled[r, i] * dual[_Q, r]


@inner
def _centred(q, n, work, target):
    """G of the corrector: λ \\ (σμ e − λ∘λ − (W dx)∘(W⁻¹ds))."""
    vector, eta = work.vector, work.eta
    point, g, a, b = vector[_L], vector[_G], vector[_DX], vector[_DS]
    _times(q, n, vector[_W], eta, 1.0, a, a)
    _times(q, n, vector[_W], eta, -1.0, b, b)
    for k in range(q):
        i = 3 * k
        g[i] = target
        for e in range(3):
            g[i] -= point[i + e] * point[i + e] + a[i + e] * b[i + e]
        for e in range(1, 3):
            g[i + e] = -2.0 * point[i] * point[i + e] - a[i] * b[i + e] - b[i] * a[i + e]
    for i in range(3 * q, n):
        g[i] = target - point[i] * point[i] - a[i] * b[i]
    _divide(q, n, point, g)


@inner
def solve_cone(q, m, n, tight, work):
    """Solve the program in `work`, whose m rows are independent, to `tight`: an outcome.

    OPTIMAL: `vector[0]` holds x. IMPOSSIBLE: `vector[1]` holds s = −Aᵀy of the proof.
    """
    vector, dual = work.vector, work.dual
    x, s, y = vector[_X], vector[_S], dual[_Y]
    for i in range(n):
        x[i] = s[i] = 1.0 if i >= 3 * q or i % 3 == 0 else 0.0
    for r in range(m):
        y[r] = 0.0
    tau = kappa = 1.0
    degree = n - 2 * q + 1.0
    least = math.inf
    by, proof = 0.0, math.inf
    for _ in range(_STEPS):
        most_p, most_d, proof = _residuals(m, n, work.A, vector, dual, tau)
        cx, by = _dot(vector[_C], x, n), _dot(dual[_B], y, m)
        rg = by - cx - kappa
        gap = abs(cx - by) / tau
        size = 1.0 + abs(cx) / tau
        error = max(max(most_p, most_d) / tau, gap / size)
        if error < least and tau > kappa:
            least = error
            for i in range(n):
                vector[_BEST, i] = x[i] / tau
        # rounding has the last word: what was reached before counts
        if error < tight or (least < _LOOSE and error > 100.0 * least):
            break
        if by > 0.0 and proof < tight * by:
            return IMPOSSIBLE
        middle = (_dot(x, s, n) + tau * kappa) / degree
        _prepare(q, m, n, work)
        # predictor, then corrector
        share, g_tau = 1.0, -tau * kappa
        for i in range(n):
            vector[_G, i] = -vector[_L, i]
        d_tau, d_kappa = 0.0, 0.0
        for phase in range(2):
            d_tau, d_kappa = _direction(q, m, n, work, share, rg, g_tau, tau, kappa)
            step = _longest(q, n, x, vector[_DX], 1.0 / 0.99)
            step = _longest(q, n, s, vector[_DS], step)
            step = min(step, -tau / d_tau) if d_tau < 0.0 else step
            step = min(step, -kappa / d_kappa) if d_kappa < 0.0 else step
            if phase == 0:
                left = 1.0 - min(step, 1.0)
                sigma = left * left * left
                share = 1.0 - sigma
                g_tau = sigma * middle - tau * kappa - d_tau * d_kappa
                _centred(q, n, work, sigma * middle)
        step *= 0.99
        if not step > 1e-8:
            break
        for i in range(n):
            x[i] += step * vector[_DX, i]
            s[i] += step * vector[_DS, i]
        for r in range(m):
            y[r] += step * dual[_DY, r]
        tau, kappa = tau + step * d_tau, kappa + step * d_kappa
        # the embedding has a free scale
        if tau < 1e-3 and kappa < 1e-3:
            scale = 1.0 / max(tau, kappa)
            for i in range(n):
                x[i] *= scale
                s[i] *= scale
            for r in range(m):
                y[r] *= scale
            tau, kappa = tau * scale, kappa * scale
    if least < max(tight, _LOOSE):
        for i in range(n):
            x[i] = vector[_BEST, i]
        return OPTIMAL
    return IMPOSSIBLE if by > 0.0 and proof < _LOOSE * by else STUCK
