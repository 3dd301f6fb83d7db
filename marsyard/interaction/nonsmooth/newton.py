r"""Semismooth Newton on the Alart–Curnier equations, with a proximal term for hyperstatic contact.

With τ = r − ρ u per contact (ρ_N, ρ_T > 0 fixed numbers, the inverse of the contact's own
compliance), Coulomb's law is the nonsmooth equation (Alart & Curnier 1991, Comput. Methods Appl.
Mech. Eng. 92)

    Φ_N = r_N − max(0, τ_N) = 0,        Φ_T = r_T − P_{D(μ max(0, τ_N))}(τ_T) = 0,         (1)

D(a) being the disc of radius a. A Newton step linearises (1) branch by branch:

* open,  τ_N ≤ 0:             r⁺ = 0
* stick, ‖τ_T‖ ≤ μ τ_N:       u⁺ = 0                                        (three unknowns)
* slip,  otherwise:           u_N⁺ = 0,   r_T⁺ = μ r_N⁺ t + b n,
                              (1 − k) b + k ρ_T n·u_T⁺ = 0                  (two unknowns r_N⁺, b)

with t = τ_T/‖τ_T‖, n ⊥ t, k = μ τ_N/‖τ_T‖ < 1. Only closed contacts enter the linear system. For
μ = 0 a closed contact has the single unknown r_N and the tangential rows are never read.

*Least norm.* W is singular when the contacts are more than the degrees of freedom, and r then is
not unique. The step is made for the proximally regularised problem

    u = W r + q + δ (r − c),        δ small against W, centre c = 0 at first,

which is regular and whose solution tends to the one of least norm. When it is solved, c ← r and
again: a proximal-point iteration that leaves the null space of the active contacts untouched and
removes the bias δ r, so that the true problem (δ = 0) is solved to tolerance. Where all contacts
stick inside their cones, r = −W⁺ q. (Rockafellar 1976, SIAM J. Control Optim. 14.) Each time the
centre moves and the residual has fallen, δ falls tenfold: W of a rover's wheels that push against
each other through stiff axles has eigenvalues as small as δ, and the iteration would crawl there.
"""

from __future__ import annotations

import math

from marsyard.interaction.nonsmooth.dense import (
    LAPACK_FROM,
    row_length,
    solve,
    solve_lu,
    storage,
    storage_size,
)
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import kernel

OPEN = 0.0
STICK = 1.0
SLIP = 2.0
SMOOTH = 3.0  # closed and frictionless

_ROWS_OF_WORK = 15
_MEMORY = 4
_MAX_HALVINGS = 12
_PATIENCE = 20
_WEAKER = 0.1
_WEAKEST = 1e-4


@kernel
def newton_work_size(n):
    """Float64 entries of work that `newton` needs for n contacts."""
    return storage_size(3 * n) + 3 * n * _ROWS_OF_WORK


@kernel
def scaling(n, W, delta, factor, rho):
    """ρ_N, ρ_T of each contact: `factor` over its own compliance."""
    for c in range(n):
        k = 3 * c
        rho[2 * c] = factor / max(W[k, k] + delta, 1e-300)
        rho[2 * c + 1] = factor / max(0.5 * (W[k + 1, k + 1] + W[k + 2, k + 2]) + delta, 1e-300)


@kernel
def merit(n, r, u, mu, rho):
    """Σ ‖Φ‖²/ρ [J], zero at a solution of (1)."""
    total = 0.0
    for c in range(n):
        k = 3 * c
        tn = max(r[k] - rho[2 * c] * u[k], 0.0)
        f = r[k] - tn
        total += f * f / rho[2 * c]
        if mu[c] > 0.0:
            tt = r[k + 1] - rho[2 * c + 1] * u[k + 1]
            ts = r[k + 2] - rho[2 * c + 1] * u[k + 2]
            size = math.sqrt(tt * tt + ts * ts)
            limit = mu[c] * tn
            if size > limit:
                tt *= limit / size
                ts *= limit / size
            f = r[k + 1] - tt
            g = r[k + 2] - ts
            total += (f * f + g * g) / rho[2 * c + 1]
        else:
            total += (r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]) / rho[2 * c + 1]
    return total


@kernel
def classify(n, r, u, mu, rho, status, tx, ty, k_slip):
    """Branch of (1) of each contact and, for slip, t and k; True when a branch changed."""
    changed = False
    for c in range(n):
        k = 3 * c
        tn = r[k] - rho[2 * c] * u[k]
        if tn <= 0.0:
            now = OPEN
        elif mu[c] == 0.0:
            now = SMOOTH
        else:
            tt = r[k + 1] - rho[2 * c + 1] * u[k + 1]
            ts = r[k + 2] - rho[2 * c + 1] * u[k + 2]
            size = math.sqrt(tt * tt + ts * ts)
            if size <= mu[c] * tn:
                now = STICK
            else:
                now = SLIP
                tx[c] = tt / size
                ty[c] = ts / size
                k_slip[c] = mu[c] * tn / size
        if now != status[c]:
            changed = True
            status[c] = now
    return changed


@kernel
def _column(a, W, row_weight_n, row_weight_t, row_weight_s, i, row, left, p, n, status, mu, tx, ty):
    """One row of the reduced matrix, from contact `left` and column p on: the weighted rows i, i+1,
    i+2 of W times the unknowns."""
    for d in range(left, n):
        state = status[d]
        if state == OPEN:
            continue
        j = 3 * d
        wn = row_weight_n * W[i, j]
        if state == SMOOTH:
            if row_weight_t != 0.0 or row_weight_s != 0.0:
                wn += row_weight_t * W[i + 1, j] + row_weight_s * W[i + 2, j]
            a[row, p] = wn
            p += 1
            continue
        wt = row_weight_n * W[i, j + 1]
        ws = row_weight_n * W[i, j + 2]
        if row_weight_t != 0.0 or row_weight_s != 0.0:
            wn += row_weight_t * W[i + 1, j] + row_weight_s * W[i + 2, j]
            wt += row_weight_t * W[i + 1, j + 1] + row_weight_s * W[i + 2, j + 1]
            ws += row_weight_t * W[i + 1, j + 2] + row_weight_s * W[i + 2, j + 2]
        if state == STICK:
            a[row, p] = wn
            a[row, p + 1] = wt
            a[row, p + 2] = ws
            p += 3
        else:
            a[row, p] = wn + mu[d] * (tx[d] * wt + ty[d] * ws)
            a[row, p + 1] = ty[d] * wt - tx[d] * ws
            p += 2
    return p


@kernel
def assemble(n, W, mu, rho, delta, normal, status, tx, ty, k_slip, upper, a):
    """Matrix of the reduced Newton system; returns its size. n = (ty, −tx) is normal to t.

    `delta`, `normal`: the proximal weights of tangential and normal impulses. `upper`: only the
    upper half.
    """
    row = 0
    for c in range(n):
        state = status[c]
        if state == OPEN:
            continue
        i = 3 * c
        left, p = (c, row) if upper else (0, 0)
        # u_N⁺ = 0
        _column(a, W, 1.0, 0.0, 0.0, i, row, left, p, n, status, mu, tx, ty)
        a[row, row] += normal
        if state == STICK:
            _column(a, W, 0.0, 1.0, 0.0, i, row + 1, left, p, n, status, mu, tx, ty)
            _column(a, W, 0.0, 0.0, 1.0, i, row + 2, left, p, n, status, mu, tx, ty)
            a[row + 1, row + 1] += delta
            a[row + 2, row + 2] += delta
            row += 3
        elif state == SLIP:
            # n·u_T⁺ + (1 − k)/(k ρ_T) b = 0
            _column(a, W, 0.0, ty[c], -tx[c], i, row + 1, left, p, n, status, mu, tx, ty)
            k = max(k_slip[c], 1e-12)
            a[row + 1, row + 1] += delta + (1.0 - k) / (k * rho[2 * c + 1])
            row += 2
        else:
            row += 1
    return row


@kernel
def right_side(n, q, delta, centre, status, tx, ty, b):
    """−q + δ c of the equations kept in the reduced system."""
    p = 0
    for c in range(n):
        state = status[c]
        if state == OPEN:
            continue
        k = 3 * c
        b[p] = delta * centre[k] - q[k]
        if state == STICK:
            b[p + 1] = delta * centre[k + 1] - q[k + 1]
            b[p + 2] = delta * centre[k + 2] - q[k + 2]
            p += 3
        elif state == SLIP:
            b[p + 1] = ty[c] * (delta * centre[k + 1] - q[k + 1]) - tx[c] * (
                delta * centre[k + 2] - q[k + 2]
            )
            p += 2
        else:
            p += 1


@kernel
def expand(n, mu, status, tx, ty, b, r):
    """Impulses r from the reduced unknowns b; False when one is not finite."""
    p = 0
    finite = True
    for c in range(n):
        k = 3 * c
        state = status[c]
        if state in (OPEN, SMOOTH):
            r[k] = 0.0
            if state == SMOOTH:
                r[k] = b[p]
                p += 1
            r[k + 1] = 0.0
            r[k + 2] = 0.0
        elif state == STICK:
            r[k] = b[p]
            r[k + 1] = b[p + 1]
            r[k + 2] = b[p + 2]
            p += 3
        else:
            r[k] = b[p]
            r[k + 1] = mu[c] * tx[c] * b[p] + ty[c] * b[p + 1]
            r[k + 2] = mu[c] * ty[c] * b[p] - tx[c] * b[p + 1]
            p += 2
        if not (math.isfinite(r[k]) and math.isfinite(r[k + 1]) and math.isfinite(r[k + 2])):
            finite = False
    return finite


@kernel
def newton(n, W, q, mu, r, u, work, scale, tolerance, max_iterations, delta, rho_factor, search):
    """Newton iterations from r, in place; u = W r + q on return. Returns iterations, e(r).

    `delta` is the proximal weight [1/kg], `search` how many full steps are taken before steps are
    shortened until the merit falls. The best iterate is returned.
    """
    m = 3 * n
    first, last = storage(work, m)
    a = work[first:last].reshape((m + 1, row_length(m)))
    base = storage_size(m)
    b = work[base : base + m]
    target = work[base + m : base + 2 * m]
    du = work[base + 2 * m : base + 3 * m]
    centre = work[base + 3 * m : base + 4 * m]
    v = work[base + 4 * m : base + 5 * m]
    trial_r = work[base + 5 * m : base + 6 * m]
    trial_v = work[base + 6 * m : base + 7 * m]
    best = work[base + 7 * m : base + 8 * m]
    pivots = work[base + 8 * m : base + 9 * m]
    rho = work[base + 9 * m : base + 10 * m]
    status = work[base + 10 * m : base + 10 * m + n]
    tx = work[base + 10 * m + n : base + 10 * m + 2 * n]
    ty = work[base + 10 * m + 2 * n : base + 11 * m]
    k_slip = work[base + 11 * m : base + 11 * m + n]
    memory = work[base + 12 * m : base + 12 * m + _MEMORY]

    scaling(n, W, delta, rho_factor, rho)
    floor = _WEAKEST * delta
    for i in range(m):
        centre[i] = 0.0
    centred = natural_residual(n, centre, q, mu, scale)
    for i in range(m):
        best[i] = r[i]
    for c in range(n):
        status[c] = -1.0
    for i in range(_MEMORY):
        memory[i] = math.inf
    multiply(m, W, r, q, u)
    best_residual = natural_residual(n, r, u, mu, scale)
    factored = False
    done = 0
    size = 0
    stalls = 0
    lowest = math.inf
    before = math.inf
    while True:
        # the true residual decides, after one solve at least: a warm start that happens to be a
        # solution may be one with a large null-space part
        residual = natural_residual(n, r, u, mu, scale)
        if residual < best_residual or (done > 0 and residual <= tolerance):
            best_residual = residual
            for i in range(m):
                best[i] = r[i]
        if (residual <= tolerance and done > 0) or done >= max_iterations:
            break

        # velocity of the regularised problem; move the centre once that is solved
        for i in range(m):
            v[i] = u[i] + delta * (r[i] - centre[i])
        if done > 0 and natural_residual(n, r, v, mu, scale) <= 0.1 * residual:
            for i in range(m):
                centre[i] = r[i]
                v[i] = u[i]
            for i in range(_MEMORY):
                memory[i] = math.inf
            lowest = math.inf
            before = math.inf
            # where it helps, what is left is small, and so is what a weaker term lets into the
            # null space
            if residual < 0.5 * centred:
                delta = max(_WEAKER * delta, floor)
                factored = False
            centred = residual

        # linearise and solve
        changed = classify(n, r, v, mu, rho, status, tx, ty, k_slip)
        slipping = False
        for c in range(n):
            if status[c] == SLIP:
                slipping = True
        if changed or slipping or not factored:
            size = assemble(n, W, mu, rho, delta, delta, status, tx, ty, k_slip, False, a)
            factored = False
        right_side(n, q, delta, centre, status, tx, ty, b)
        if factored:
            solve_lu(a, pivots, b, size)
        elif solve(a, pivots, b, size):
            factored = size < LAPACK_FROM
        else:
            break
        if not expand(n, mu, status, tx, ty, b, target):
            break
        done += 1

        # full step, or the longest that lowers the merit
        multiply(m, W, target, q, du)
        step = 1.0
        if done > search:
            here = merit(n, r, v, mu, rho)
            # give up when the merit has not halved for a while
            lowest = min(lowest, here)
            if (done - search) % _PATIENCE == 0:
                if lowest > 0.5 * before:
                    break
                before = lowest
            memory[done % _MEMORY] = here
            worst = 0.0
            for i in range(_MEMORY):
                if memory[i] < math.inf and memory[i] > worst:
                    worst = memory[i]
            accepted = False
            for _ in range(_MAX_HALVINGS):
                for i in range(m):
                    trial_r[i] = r[i] + step * (target[i] - r[i])
                    trial_v[i] = u[i] + step * (du[i] - u[i]) + delta * (trial_r[i] - centre[i])
                value = merit(n, trial_r, trial_v, mu, rho)
                if value <= (1.0 - 1e-4 * step) * worst:
                    accepted = True
                    break
                step *= 0.5
            if not accepted:
                stalls += 1
                if stalls > 3:
                    break
                step = 1.0
        if step == 1.0:
            for i in range(m):
                r[i] = target[i]
                u[i] = du[i]
        else:
            for i in range(m):
                r[i] = trial_r[i]
                u[i] += step * (du[i] - u[i])
    for i in range(m):
        r[i] = best[i]
    multiply(m, W, r, q, u)
    return done, best_residual
