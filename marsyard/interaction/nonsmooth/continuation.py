r"""Continuation in a strong regularisation, for problems where Newton from anywhere fails.

For α > 0 the problem with W + α I has a solution whatever q, and for α of the size of W it is easy:
the contacts hardly see each other. Starting there, α is lowered, each solution starting Newton's
iteration for the next one (a few Gauss–Seidel sweeps in between let contacts change state):

    u = W r + q + α (r − c),        α → 0,

with the centre c = 0 throughout (Tikhonov; follows the least-norm solutions) or c = the last
solution (proximal point, "PROX" in Acary, Brémond & Huber 2018, "On solving contact problems with
Coulomb friction: formulations and numerical comparisons"). The factor between two values of α
adapts to failures. As soon as the true residual is small, Newton tries the true problem (α = 0).
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.gauss_seidel import sweep
from marsyard.interaction.nonsmooth.newton import newton
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import allocating

_SHIFT = 1e-8
_STEPS = 150
_FIRST_RATIO = 0.1
_SMALLEST = 1e-12


@allocating
def continuation(
    n, W, q, mu, r, u, work, start, columns, values, scale, tolerance, max_iterations, proximal
):
    """Follow α from the mean of W's diagonal to zero; r is the best found. Returns steps, e(r)."""
    m = 3 * n
    shifted = np.empty((m, m))
    shifted_q = np.empty(m)
    solved = np.zeros(m)
    trial = np.empty(m)
    best = np.zeros(m)
    mean = 0.0
    for i in range(m):
        mean += W[i, i]
        for j in range(m):
            shifted[i, j] = W[i, j]
    mean /= m
    best_residual = math.inf
    done = 0
    ratio = _FIRST_RATIO
    alpha = mean
    reached = mean / ratio
    tried = math.inf
    while done < max_iterations and alpha > _SMALLEST * mean:
        for i in range(m):
            shifted[i, i] = W[i, i] + alpha
            shifted_q[i] = q[i] - alpha * solved[i] if proximal else q[i]

        # the stage: few sweeps and Newton, then many sweeps and Newton
        inner = math.inf
        inner_tolerance = max(0.1 * tolerance, 1e-11)
        for attempt in range(2):
            for i in range(m):
                trial[i] = solved[i]
            for k in range(3 if attempt == 0 else 50):
                backward = k % 2 == 1
                sweep(n, W, shifted_q, mu, trial, start, columns, values, alpha, backward)
            steps, inner = newton(
                n,
                shifted,
                shifted_q,
                mu,
                trial,
                u,
                work,
                scale,
                inner_tolerance,
                min(_STEPS, max_iterations - done),
                _SHIFT * mean,
                1.0,
                5.0,
            )
            done += steps
            if inner <= 10.0 * tolerance:
                break
        multiply(m, W, trial, q, u)
        residual = natural_residual(n, trial, u, mu, scale)
        if residual < best_residual:
            best_residual = residual
            for i in range(m):
                best[i] = trial[i]
        if best_residual <= tolerance:
            break

        if inner > 10.0 * tolerance:
            # too far: a smaller step down
            if ratio > 0.9:
                break
            ratio = math.sqrt(ratio)
            alpha = reached * ratio
            continue
        for i in range(m):
            solved[i] = trial[i]
        reached = alpha

        # near the end: try the true problem
        if residual < 1e-3 and residual < 0.5 * tried:
            tried = residual
            steps, residual = newton(
                n,
                W,
                q,
                mu,
                trial,
                u,
                work,
                scale,
                tolerance,
                min(_STEPS, max_iterations - done),
                _SHIFT * mean,
                1.0,
                5.0,
            )
            done += steps
            if residual < best_residual:
                best_residual = residual
                for i in range(m):
                    best[i] = trial[i]
            if best_residual <= tolerance:
                break
        ratio = max(ratio * ratio, 0.01)
        alpha = reached * ratio
    for i in range(m):
        r[i] = best[i]
    multiply(m, W, r, q, u)
    return done, best_residual
