r"""The friction-contact solver as one compiled call, made once per time step.

`solve_kernel` works on plain float64 arrays, holds no state, releases the GIL, raises nothing and
always leaves finite numbers. The methods, cheapest first (``method=AUTO`` goes down the list until
the residual meets the tolerance, and otherwise keeps the best iterate found):

1. nothing to do: q_N ≥ 0 everywhere, r = 0;
2. the sticking pattern of the warm start (`sticking`);
3. islands of contacts that do not see each other are split (`blocks`), and each one goes on alone;
4. Gauss–Seidel sweeps: one from a warm start; from a cold one two, with many contacts as many as
   pay (`gauss_seidel`), and through a factor of W where its rank is low (`low_rank`);
5. semismooth Newton from there (`newton`), the fewer steps the more contacts a pile has;
6. without friction, principal pivoting (`frictionless`) of up to 20 contacts;
7. with many contacts of few bodies, smoothing Newton along the central path (`central_path`), where
   many contacts are at their cones without sliding and Newton finds no active set;
8. proximal points (`proximal`), from a warm start that nearly solves the problem, then from zero:
   hyperstatic contacts at their friction limits, and piles, for which the matrix of their steps is
   factored as a sparse one (`sparse`);
9. sweeps from zero, more each time, each time followed by Newton;
10. the central path of a regularised W, Newton to finish.

From 8 on the work is bounded (`_BUDGET`), so that a hopeless problem ends within seconds.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.nonsmooth.blocks import FEW, block_matrix, islands
from marsyard.interaction.nonsmooth.central_path import central_path
from marsyard.interaction.nonsmooth.codes import (
    AUTO,
    CENTRAL_PATH,
    CONVERGED,
    GAUSS_SEIDEL,
    HYBRID,
    NEWTON,
    NOT_CONVERGED,
    NOT_FINITE,
    NOTHING,
    PIVOTING,
    PROXIMAL,
    STICKING,
)
from marsyard.interaction.nonsmooth.cone import natural_map_squared
from marsyard.interaction.nonsmooth.frictionless import solve_frictionless
from marsyard.interaction.nonsmooth.gauss_seidel import gauss_seidel
from marsyard.interaction.nonsmooth.low_rank import (
    factor_low_rank,
    sweep_low_rank,
)
from marsyard.interaction.nonsmooth.newton import newton, newton_work_size
from marsyard.interaction.nonsmooth.proximal import proximal
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual, norm
from marsyard.interaction.nonsmooth.single_contact import solve_one_contact
from marsyard.interaction.nonsmooth.sparse import FULL, make_pattern, no_pattern
from marsyard.interaction.nonsmooth.sticking import close_resting, solve_sticking
from marsyard.jit import allocating, kernel

_SHIFT = 1e-8
_NEWTON_STEPS = 100
# the most proximal steps, and up to how many contacts they come before the central path
_PROXIMAL_STEPS = 400
_SEVERAL = 20
# contacts from which they do so where W is sparse, and what Newton may spend before (unit of
# `_BUDGET`)
_PILE = 40
_PILE_BUDGET = 2e8
# newton steps from a warm start before that: it is there in three to six, or not at all
_FEW_STEPS = 8
# e(r) of a warm start that counts as the impulses of a step before; what another one has locked in
# must not be seen in the answer
_SETTLED = 1.0
# arithmetic of the heavy methods, in the time of a floating-point operation of LAPACK (0.1 ns)
_BUDGET = 2e10


@kernel
def work_size(n):
    """Float64 entries of the work array for up to n contacts."""
    return newton_work_size(n) + 6 * n + 64


@kernel(fastmath={"reassoc"})
def _sum_of_sizes(n, W, q, mu):
    """Sum of all absolute values of the input: not finite exactly when an entry is not."""
    total = 0.0
    for c in range(n):
        total += abs(mu[c])
    for i in range(3 * n):
        total += abs(q[i])
        for j in range(3 * n):
            total += abs(W[i, j])
    return total


@kernel
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
    max_iterations : int, the most Newton steps and Gauss–Seidel sweeps together, for each island.
    method : AUTO, GAUSS_SEIDEL, NEWTON, PROXIMAL or CENTRAL_PATH.

    Returns
    -------
    (status, iterations, residual, used) with status CONVERGED, NOT_CONVERGED (r is the best
    iterate) or NOT_FINITE (the input has NaN or infinity; r = 0), and the method that answered. Of
    several islands the one with the maximum iterations counts.
    """
    m = 3 * n
    # reject what is not finite; a bad warm start is only dropped
    if not math.isfinite(_sum_of_sizes(n, W, q, mu)):
        for i in range(m):
            r[i] = 0.0
            u[i] = 0.0
        return NOT_FINITE, 0, math.inf, NOTHING
    if not math.isfinite(norm(m, r)):
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
    # plain integers, so that literals in the caller do not make numba compile everything anew
    limit = np.int64(max_iterations)
    return _solve_in_turn(
        np.int64(n), W, q, mu, r, u, work, scale, tolerance, limit, np.int64(method)
    )


@kernel
def _keep_best(m, r, best, residual, best_residual):
    """Store r in `best` when its residual is smaller; returns the smaller residual."""
    if residual < best_residual:
        for i in range(m):
            best[i] = r[i]
        return residual
    return best_residual


@kernel
def _newton_cost(n):
    """Arithmetic of one Newton step with most contacts closed (unit of `_BUDGET`)."""
    m = 2.5 * n
    return 0.7 * m * m * m + 100.0 * m * m


@kernel
def _sweep_cost(n, blocks):
    """Arithmetic of one sweep over that many 3×3 blocks (unit of `_BUDGET`)."""
    return 2500.0 * n + 90.0 * blocks


@allocating
def _hybrid(
    n, W, q, mu, r, u, work, start, columns, values, scale, tolerance, max_iterations, mean
):
    """Sweeps from r to find the pattern of contacts, then Newton; twice the sweeps each turn."""
    m = 3 * n
    swept = np.empty(m)
    best = np.empty(m)
    for i in range(m):
        swept[i] = r[i]
        best[i] = r[i]
    best_residual = math.inf
    done = 0
    # many contacts: sweeps for about the time of a few Newton steps
    sweep_cost = _sweep_cost(n, columns.size)
    sweeps = max(5, int(2.0 * _newton_cost(n) / sweep_cost)) if n >= FEW else 5
    spent = 0.0
    turn = 0
    while done < max_iterations and (turn < 7 or n >= FEW) and turn < 12 and spent < _BUDGET:
        limit = min(sweeps, (max_iterations - done + 1) // 2)
        steps, residual = gauss_seidel(
            n, W, q, mu, swept, u, start, columns, values, scale, tolerance, limit, 20, limit
        )
        done += steps
        spent += steps * sweep_cost
        best_residual = _keep_best(m, swept, best, residual, best_residual)
        if best_residual <= tolerance:
            break
        for i in range(m):
            r[i] = swept[i]
        factor = 1.0 if turn % 3 == 0 else (0.1 if turn % 3 == 1 else 10.0)
        shift = (_SHIFT if turn % 2 == 0 else 1e-2 * _SHIFT) * mean
        full = 0.0 if turn % 2 == 0 else 10.0
        limit = min(_NEWTON_STEPS, max_iterations - done)
        steps, residual = newton(
            n, W, q, mu, r, u, work, scale, tolerance, limit, shift, factor, full
        )
        done += steps
        spent += steps * _newton_cost(n)
        best_residual = _keep_best(m, r, best, residual, best_residual)
        if best_residual <= tolerance:
            break
        sweeps *= 2
        turn += 1
    for i in range(m):
        r[i] = best[i]
    return done, best_residual


@allocating
def _follow_path(n, W, q, mu, r, u, work, scale, tolerance, max_iterations, mean, shift, tries):
    """The central path of W + `shift`·mean I to ever smaller κ; at each stop `tries` of Newton."""
    m = 3 * n
    path = np.zeros(m)
    best = np.zeros(m)
    best_residual = math.inf
    energy = 1.0 / (scale * scale * mean * n)
    for c in range(n):
        path[3 * c] = math.sqrt(energy / max(W[3 * c, 3 * c], 1e-300))
    kappa = energy
    done = 0
    floor = 1e-4 * energy
    while done < max_iterations and floor > 1e-21 * energy:
        limit = min(200, max_iterations - done)
        steps, residual, kappa = central_path(
            n, W, q, mu, path, u, work, scale, limit, shift * mean, kappa, floor
        )
        done += steps
        best_residual = _keep_best(m, path, best, residual, best_residual)
        if best_residual <= tolerance:
            break
        for turn in range(tries):
            for i in range(m):
                r[i] = path[i]
            delta = (_SHIFT if turn == 0 else 1e-3 * _SHIFT) * mean
            limit = min(_NEWTON_STEPS, max(max_iterations - done, 0))
            steps, residual = newton(
                n, W, q, mu, r, u, work, scale, tolerance, limit, delta, 1.0, 5.0
            )
            done += steps
            best_residual = _keep_best(m, r, best, residual, best_residual)
            if best_residual <= tolerance:
                break
        if best_residual <= tolerance or kappa > 1.01 * floor:
            break
        floor *= 1e-2
    for i in range(m):
        r[i] = best[i]
    return done, best_residual


@kernel
def _is_frictionless(n, mu):
    """No contact has friction."""
    most = 0.0
    for c in range(n):
        most = max(most, mu[c])
    return most == 0.0


@kernel
def _is_sparse(n, columns):
    """So few blocks of W that a sparse factorisation pays; needs them in `columns`."""
    return n > _SEVERAL and columns.size < FULL * n * n


@allocating
def _proximal_steps(
    n, W, q, mu, r, u, work, begin, start, columns, values, scale, tolerance, limit, bounded
):
    """Proximal points from `begin`, then from zero; r is the better. Returns steps, e(r)."""
    m = 3 * n
    warm = norm(m, begin) > 0.0
    if _is_sparse(n, columns):
        pattern = make_pattern(n, start, columns, values)
        most = 4 * _PROXIMAL_STEPS
        first, last = most // 2, most // 2
    else:
        pattern = no_pattern()
        most = min(_PROXIMAL_STEPS, int(50.0 + _BUDGET / _newton_cost(n)))
        first, last = 5 * most // 8, most
    # zero is tried before the last step's impulses have had all; the methods after it take longer
    most = min(limit, first if warm else most) if bounded else limit
    for i in range(m):
        r[i] = begin[i]
    done, residual = proximal(n, W, pattern, q, mu, r, u, work, scale, tolerance, most)
    if warm and residual > tolerance:
        kept = r[:m].copy()
        for i in range(m):
            r[i] = 0.0
        most = min(last, limit - done) if bounded else limit - done
        steps, second = proximal(n, W, pattern, q, mu, r, u, work, scale, tolerance, most)
        done += steps
        if second < residual:
            residual = second
        else:
            for i in range(m):
                r[i] = kept[i]
    return done, residual


@kernel
def _solve_alone(k, W, q, mu, r):
    """The contact of rows k, k + 1, k + 2 by itself; returns its natural map's norm."""
    wnt = 0.5 * (W[k, k + 1] + W[k + 1, k])
    wns = 0.5 * (W[k, k + 2] + W[k + 2, k])
    wts = 0.5 * (W[k + 1, k + 2] + W[k + 2, k + 1])
    a, b, e, _ = solve_one_contact(
        W[k, k], wnt, wns, W[k + 1, k + 1], wts, W[k + 2, k + 2], q[k], q[k + 1], q[k + 2], mu
    )
    r[k], r[k + 1], r[k + 2] = a, b, e
    un = q[k] + W[k, k] * a + W[k, k + 1] * b + W[k, k + 2] * e
    ut = q[k + 1] + W[k + 1, k] * a + W[k + 1, k + 1] * b + W[k + 1, k + 2] * e
    us = q[k + 2] + W[k + 2, k] * a + W[k + 2, k + 1] * b + W[k + 2, k + 2] * e
    return math.sqrt(natural_map_squared(a, b, e, un, ut, us, mu))


@allocating
def _solve_in_turn(n, W, q, mu, r, u, work, scale, tolerance, max_iterations, method):
    """The iterative methods of `solve_kernel`, island by island."""
    m = 3 * n
    # a cold start may well be one of many bodies
    least = 3 if method == AUTO and norm(m, r) == 0.0 else FEW
    start, columns, values = block_matrix(n, W, least)
    count = 1
    if n >= least and method == AUTO:
        order, first = islands(n, start, columns)
        count = first.size - 1
    if count == 1:
        done, residual, used = _solve_island(
            n,
            W,
            q,
            mu,
            r,
            u,
            work,
            start,
            columns,
            values,
            scale,
            tolerance,
            max_iterations,
            method,
        )
    else:
        done = 0
        used = NOTHING
        total = 0.0
        share = tolerance / math.sqrt(count)
        for island in range(count):
            some = order[first[island] : first[island + 1]]
            k = some.size
            closing = False
            for c in range(k):
                if q[3 * some[c]] < 0.0:
                    closing = True
            if not closing:
                for c in range(k):
                    for i in range(3):
                        r[3 * some[c] + i] = 0.0
                continue
            if k == 1:
                # alone: no need of anything else
                left = _solve_alone(3 * some[0], W, q, mu[some[0]], r) * scale
                if left <= share:
                    total += left * left
                    used = max(used, GAUSS_SEIDEL) if used != NOTHING else GAUSS_SEIDEL
                    done = max(done, 1)
                    continue
            part = np.empty((3 * k, 3 * k))
            part_q = np.empty(3 * k)
            part_mu = np.empty(k)
            part_r = np.empty(3 * k)
            part_u = np.empty(3 * k)
            for c in range(k):
                part_mu[c] = mu[some[c]]
                for i in range(3):
                    row = 3 * some[c] + i
                    part_q[3 * c + i] = q[row]
                    part_r[3 * c + i] = r[row]
                    for d in range(k):
                        for j in range(3):
                            part[3 * c + i, 3 * d + j] = W[row, 3 * some[d] + j]
            solved, steps, residual = solve_sticking(
                k, part, part_q, part_mu, part_r, part_u, work, scale, share
            )
            if not solved:
                start, columns, values = block_matrix(k, part, FEW)
                steps, residual, by = _solve_island(
                    k,
                    part,
                    part_q,
                    part_mu,
                    part_r,
                    part_u,
                    work,
                    start,
                    columns,
                    values,
                    scale,
                    share,
                    max_iterations,
                    method,
                )
                used = max(used, by) if used != NOTHING else by
            done = max(done, steps)
            total += residual * residual
            for c in range(k):
                for i in range(3):
                    r[3 * some[c] + i] = part_r[3 * c + i]
        residual = math.sqrt(total)
    multiply(m, W, r, q, u)
    status = CONVERGED if residual <= tolerance else NOT_CONVERGED
    return status, done, residual, used


@allocating
def _solve_island(
    n, W, q, mu, r, u, work, start, columns, values, scale, tolerance, max_iterations, method
):
    """The iterative methods, from the cheapest on; returns steps, e(r), the method."""
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
    several = n <= _SEVERAL
    frictionless = _is_frictionless(n, mu)
    warm = norm(m, begin) > 0.0
    multiply(m, W, begin, q, u)
    if method == AUTO and several and natural_residual(n, begin, u, mu, scale) >= _SETTLED:
        for i in range(m):
            begin[i] = 0.0
    used = method
    done = 0

    # many contacts of few bodies: sweeps through a factor of W
    if method == AUTO and n >= FEW and 2 * columns.size > n * n and norm(m, r) == 0.0:
        factor = factor_low_rank(n, W, min(n // 2, 24))
        if factor.shape[1] > 0:
            cost = 2500.0 * n + 90.0 * n * factor.shape[1]
            patience = int(3.0 * _newton_cost(n) / cost)
            limit = min(10 + 2 * patience, max_iterations)
            done, residual = sweep_low_rank(
                n, W, factor, q, mu, r, scale, tolerance, limit, patience
            )
            if residual <= tolerance:
                multiply(m, W, r, q, u)
                residual = natural_residual(n, r, u, mu, scale)
                if residual <= tolerance:
                    return done, residual, GAUSS_SEIDEL

    # sweeps, so that Newton sees which contacts close and slide; a cold start with many contacts
    # is swept for as long as that promises to be cheaper than Newton
    if method == AUTO:
        if norm(m, r) > 0.0 or done > 0:
            limit, check, patience = 1, 2, 1
        elif n == 1:
            limit, check, patience = 5, 1, 5
        elif n < FEW:
            limit, check, patience = 2, 2, 2
        else:
            patience = int(5.0 * _newton_cost(n) / _sweep_cost(n, columns.size))
            limit, check = 20 + 2 * patience, 5
        limit = min(limit, max_iterations - done)
        steps, residual = gauss_seidel(
            n, W, q, mu, r, u, start, columns, values, scale, tolerance, limit, check, patience
        )
        done += steps
        if limit > 1:
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = GAUSS_SEIDEL

    pile = method == AUTO and n >= _PILE and _is_sparse(n, columns)
    if method in (AUTO, NEWTON) and best_residual > tolerance:
        limit = max_iterations - done
        if method == AUTO:
            most = _NEWTON_STEPS // 4 if several or pile else _NEWTON_STEPS // 2
            if several and (warm or frictionless):
                most = _FEW_STEPS
            elif pile:
                most = min(most, int(_PILE_BUDGET / _newton_cost(n)))
            limit = min(most, limit)
        steps, residual = newton(
            n, W, q, mu, r, u, work, scale, tolerance, limit, _SHIFT * mean, 1.0, 5.0
        )
        done += steps
        best_residual = _keep_best(m, r, best, residual, best_residual)
        used = NEWTON

    if method == AUTO and several and frictionless and best_residual > tolerance:
        for i in range(m):
            r[i] = begin[i]
        good, steps, residual = solve_frictionless(n, W, q, mu, r, u, work, scale, tolerance)
        done += steps
        if good:
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = PIVOTING

    if best_residual > tolerance and method != NEWTON:
        if method == GAUSS_SEIDEL:
            for i in range(m):
                r[i] = begin[i]
            done, residual = gauss_seidel(
                n,
                W,
                q,
                mu,
                r,
                u,
                start,
                columns,
                values,
                scale,
                tolerance,
                max_iterations,
                5,
                max_iterations,
            )
            best_residual = _keep_best(m, r, best, residual, best_residual)
        if method == AUTO and not several and not pile:
            limit = min(100, max_iterations - done)
            steps, residual = _follow_path(
                n, W, q, mu, r, u, work, scale, tolerance, limit, mean, 1e-13, 0
            )
            done += steps
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = CENTRAL_PATH
        if method in (AUTO, PROXIMAL) and best_residual > tolerance:
            steps, residual = _proximal_steps(
                n, W, q, mu, r, u, work, begin, start, columns, values, scale, tolerance,
                max_iterations - done, method == AUTO,
            )  # fmt: skip
            done += steps
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = PROXIMAL
        if method == AUTO and best_residual > tolerance:
            for i in range(m):
                r[i] = 0.0
            steps, residual = _hybrid(
                n,
                W,
                q,
                mu,
                r,
                u,
                work,
                start,
                columns,
                values,
                scale,
                tolerance,
                3 * (max_iterations - done) // 4,
                mean,
            )
            done += steps
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = HYBRID
        if method in (AUTO, CENTRAL_PATH) and best_residual > tolerance and done < max_iterations:
            heavy = int(min(1500.0, 50.0 + _BUDGET / _newton_cost(n)))
            limit = min(heavy, max_iterations - done)
            steps, residual = _follow_path(
                n, W, q, mu, r, u, work, scale, tolerance, limit, mean, 1e-9, 2
            )
            done += steps
            best_residual = _keep_best(m, r, best, residual, best_residual)
            used = CENTRAL_PATH
        # from the best of all these, sweeps and Newton once more
        if method == AUTO and best_residual > tolerance and done < max_iterations:
            for i in range(m):
                r[i] = best[i]
            steps, residual = _hybrid(
                n,
                W,
                q,
                mu,
                r,
                u,
                work,
                start,
                columns,
                values,
                scale,
                tolerance,
                max_iterations - done,
                mean,
            )
            done += steps
            if residual < best_residual:
                used = HYBRID
            best_residual = _keep_best(m, r, best, residual, best_residual)

    for i in range(m):
        r[i] = best[i]
    # all sticking after all: the same least-norm impulse as from a good warm start
    good = False
    if used == GAUSS_SEIDEL and method == AUTO:
        multiply(m, W, r, q, u)
        if close_resting(n, r, u, scale):
            good, _, residual = solve_sticking(n, W, q, mu, r, u, work, scale, tolerance)
            if not good:
                for i in range(m):
                    r[i] = best[i]
    if not good:
        good, _, residual = solve_sticking(n, W, q, mu, r, u, work, scale, tolerance)
    if good:
        best_residual = residual
    return done, best_residual, used
