r"""The friction-contact solver as one compiled call, made once per time step.

`solve_kernel` works on plain float64 arrays, holds no state, releases the GIL, raises nothing and
always leaves finite numbers. The methods, cheapest first (``method=AUTO`` goes down the list until
the residual meets the tolerance, and otherwise keeps the best iterate found):

1. nothing to do: q_N ≥ 0 everywhere, r = 0;
2. the sticking pattern of the warm start (`sticking`);
3. semismooth Newton from the warm start (`newton`);
4. Gauss–Seidel sweeps, more each time, each time followed by Newton (`gauss_seidel`);
5. continuation in a proximal term, Newton at each stage (`continuation`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from marsyard.interaction.nonsmooth.gauss_seidel import block_pattern, gauss_seidel
from marsyard.interaction.nonsmooth.newton import newton, newton_work_size
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual, norm
from marsyard.interaction.nonsmooth.sticking import solve_sticking

# methods that can be asked for
AUTO = 0
GAUSS_SEIDEL = 1
NEWTON = 2
CONTINUATION = 3
# methods that can have answered, beyond those
NOTHING = 10
STICKING = 11
HYBRID = 12

# what became of it
CONVERGED = 0
NOT_CONVERGED = 1
NOT_FINITE = 2

_SHIFT = 1e-8
_NEWTON_STEPS = 40


@njit(cache=True, nogil=True)
def work_size(n):
    """Float64 entries of the work array for up to n contacts."""
    return newton_work_size(n) + 6 * n + 64


@njit(cache=True, nogil=True)
def solve_kernel(n, W, q, mu, r, u, work, tolerance, max_iterations, method):
    """Solve u = W r + q, K_μ* ∋ û ⊥ r ∈ K_μ for the first n contacts.

    Parameters
    ----------
    n : int, number of contacts; the arrays may be larger, only their first 3n (n) entries count.
    W : float64[≥3n, ≥3n], Delassus matrix [1/kg]; per contact normal, tangent, tangent.
    q : float64[≥3n], free velocity [m/s].
    mu : float64[≥n], friction coefficients; 0 is frictionless and reads only the normal row.
    r : float64[≥3n], impulse [N s]; the warm start on entry (zeros: cold), the answer on return.
    u : float64[≥3n], contact velocity W r + q [m/s], on return.
    work : float64[≥ work_size(n)], contiguous scratch memory; its content does not matter.
    tolerance : float, for the relative natural-map residual (`residual`), 1e-10 or so.
    max_iterations : int, the most Newton steps and Gauss–Seidel sweeps together.
    method : AUTO, GAUSS_SEIDEL, NEWTON or CONTINUATION.

    Returns
    -------
    (status, iterations, residual, used) with status CONVERGED, NOT_CONVERGED (r is the best
    iterate) or NOT_FINITE (the input has NaN or infinity; r = 0), and the method that answered.
    """
    m = 3 * n
    # reject what is not finite; a bad warm start is only dropped
    total = 0.0
    warm = True
    for i in range(m):
        total += abs(q[i])
        if not math.isfinite(r[i]):
            warm = False
        for j in range(m):
            total += abs(W[i, j])
    for c in range(n):
        total += abs(mu[c])
    if not math.isfinite(total):
        for i in range(m):
            r[i] = 0.0
            u[i] = 0.0
        return NOT_FINITE, 0, math.inf, NOTHING
    if not warm:
        for i in range(m):
            r[i] = 0.0

    # contacts that all separate on their own
    size = norm(m, q)
    scale = 1.0 / size if size > 0.0 else 1.0
    separating = True
    for c in range(n):
        if q[3 * c] < 0.0:
            separating = False
            break
    if separating:
        for i in range(m):
            r[i] = 0.0
            u[i] = q[i]
        return CONVERGED, 0, 0.0, NOTHING

    iterations = 0
    if method == AUTO:
        good, iterations, residual = solve_sticking(n, W, q, mu, r, u, work, scale, tolerance)
        if good:
            return CONVERGED, iterations, residual, STICKING
    return _solve_in_turn(n, W, q, mu, r, u, work, scale, tolerance, max_iterations, method)


@njit(cache=True, nogil=True)
def _keep_best(m, r, best, residual, best_residual):
    """Store r in `best` when its residual is smaller; returns the smaller residual."""
    if residual < best_residual:
        for i in range(m):
            best[i] = r[i]
        return residual
    return best_residual


@njit(cache=True, nogil=True)
def _solve_in_turn(n, W, q, mu, r, u, work, scale, tolerance, max_iterations, method):
    """The iterative methods of `solve_kernel`, from the cheapest on."""
    m = 3 * n
    tail = newton_work_size(n)
    best = work[tail : tail + m]
    begin = work[tail + m : tail + 2 * m]
    mean = 0.0
    for i in range(m):
        mean += W[i, i]
        begin[i] = r[i]
        best[i] = 0.0
    mean /= m
    best_residual = natural_residual(n, best, q, mu, scale)
    used = method
    done = 0

    if method == AUTO or method == NEWTON:
        limit = min(_NEWTON_STEPS, max_iterations) if method == AUTO else max_iterations
        done, residual = newton(
            n, W, q, mu, r, u, work, scale, tolerance, limit, _SHIFT * mean, 1.0, 5
        )
        best_residual = _keep_best(m, r, best, residual, best_residual)
        used = NEWTON

    if best_residual > tolerance and method != NEWTON:
        start, columns = block_pattern(n, W)
        if method == GAUSS_SEIDEL:
            for i in range(m):
                r[i] = begin[i]
            done, residual = gauss_seidel(
                n, W, q, mu, r, u, start, columns, scale, tolerance, max_iterations, 5
            )
            best_residual = _keep_best(m, r, best, residual, best_residual)
        else:
            # sweeps to find the pattern of contacts, Newton to finish
            sweeps = 5
            turn = 0
            for i in range(m):
                begin[i] = 0.0
            while done < max_iterations and turn < 10:
                limit = min(sweeps, max_iterations - done)
                steps, residual = gauss_seidel(
                    n, W, q, mu, begin, u, start, columns, scale, tolerance, limit, limit
                )
                done += steps
                best_residual = _keep_best(m, begin, best, residual, best_residual)
                if best_residual <= tolerance:
                    break
                for i in range(m):
                    r[i] = begin[i]
                factor = 1.0 if turn % 3 == 0 else (0.1 if turn % 3 == 1 else 10.0)
                shift = (_SHIFT if turn % 2 == 0 else 1e-2 * _SHIFT) * mean
                limit = min(30, max_iterations - done)
                steps, residual = newton(
                    n, W, q, mu, r, u, work, scale, tolerance, limit, shift, factor, turn % 2 * 10
                )
                done += steps
                best_residual = _keep_best(m, r, best, residual, best_residual)
                used = HYBRID
                if best_residual <= tolerance:
                    break
                sweeps *= 2
                turn += 1

    for i in range(m):
        r[i] = best[i]
    multiply(m, W, r, q, u)
    status = CONVERGED if best_residual <= tolerance else NOT_CONVERGED
    return status, done, best_residual, used
