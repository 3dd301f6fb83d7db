r"""Proximal points: the method for hyperstatic contacts at their friction limits.

A rover whose axles are not exactly parallel (by 1e-8 rad, as CAD exports are) drags its wheels
sideways at 1e-8 of its speed. In rigid Coulomb contact that saturates friction however small the
speed: the null space of W holds impulses as large as the load, and directions of friction follow
velocities of 1e-10 m/s. Newton's method on equations that mix impulses of 0.1 N s with such
velocities creeps along a narrow curved valley. Here the impulses follow from velocities instead.

For a centre c and δ > 0 take the impulse of a stiff viscous contact around c,

    r(u) = P(c − u/δ),      P_N(τ) = max(0, τ_N),    P_T(τ) = projection of τ_T on D(μ P_N(τ)),  (1)

which lies in the cone whatever u is, and solve u = W r(u) + q. With c ← r and again, the solutions
tend to one of the true problem (Rockafellar 1976). A contact that slides at a speed s needs about
r δ/s such steps to saturate; so δ falls tenfold from step to step. Started at the impulses of the
last time step, most problems need two or three.

*Inner iteration*, for x with u = W x + q and x = r(u). Newton's step is that of `newton` with
ρ = 1/δ. It is taken when it halves ‖W (r(u) − x)‖. Otherwise the discs of friction are held at the
radii g = μ P_N(τ) they have now. Then r(u) = −∇φ(u) with a convex φ, x minimises the convex

    f(x) = ½ xᵀ W x + φ(W x + q),                                                          (2)

Newton's direction with fixed discs descends on f, and the step is as long as f falls. Fixing discs
and updating them is Panagiotopoulos' iteration (1975); Newton's step on a convex regularised
potential with an exact line search is that of Castro, Permenter & Han 2022 ("An unconstrained
convex formulation of compliant contact").
"""

from __future__ import annotations

import math

from marsyard.interaction.nonsmooth.dense import LAPACK_FROM, factor_lu, solve_large, solve_lu
from marsyard.interaction.nonsmooth.newton import (
    OPEN,
    SLIP,
    SMOOTH,
    STICK,
    assemble,
    expand,
)
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import kernel

#: first δ over the mean diagonal of W, from a good warm start and from a poor one
GOOD, POOR = 1e-6, 1e-3
#: e(r) of a warm start that counts as good
NEAR = 1e-3
#: smallest δ over the mean diagonal of W: below it u/δ is rounding
FLOOR = 1e-10
_LOWER = 0.1
_INNER_STEPS = 12
_SEARCHES = 12
_FURTHEST = 1e3


@kernel
def impulse_of(n, u, centre, delta, mu, bound, fixed, status, tx, ty, k_slip, out):
    """r(u) of (1) and its branches; with `fixed` the discs have the radii in `bound`, otherwise
    their radii are written there."""
    for c in range(n):
        k = 3 * c
        tn = centre[k] - u[k] / delta
        out[k] = max(tn, 0.0)
        out[k + 1] = 0.0
        out[k + 2] = 0.0
        if not fixed:
            bound[c] = mu[c] * out[k]
        if mu[c] == 0.0:
            status[c] = SMOOTH if tn > 0.0 else OPEN
            continue
        tt = centre[k + 1] - u[k + 1] / delta
        ts = centre[k + 2] - u[k + 2] / delta
        size = math.sqrt(tt * tt + ts * ts)
        if size <= bound[c]:
            status[c] = STICK if tn > 0.0 else OPEN
            out[k + 1] = tt
            out[k + 2] = ts
        else:
            status[c] = SLIP if tn > 0.0 else OPEN
            tx[c] = tt / size
            ty[c] = ts / size
            k_slip[c] = bound[c] / size
            out[k + 1] = bound[c] * tx[c]
            out[k + 2] = bound[c] * ty[c]


@kernel
def _multiply(m, W, x, out):
    """out = W x over the first m rows, every row summed in the same order."""
    for i in range(m):
        total = 0.0
        for j in range(m):
            total += W[i, j] * x[j]
        out[i] = total


@kernel
def _dot(m, x, y):
    total = 0.0
    for i in range(m):
        total += x[i] * y[i]
    return total


@kernel
def _mismatch(m, W, x, law, scale, spare, out):
    """‖W (r(u) − x)‖ · scale."""
    for i in range(m):
        spare[i] = law[i] - x[i]
    _multiply(m, W, spare, out)
    return math.sqrt(_dot(m, out, out)) * scale


@kernel
def _offsets(n, mu, x, bound, held, status, tx, ty, out):
    """The part of Newton's step that is known beforehand: open contacts go to zero, sliding ones
    to the rim of their disc, of the radius `bound` if discs are `held`, of μ x_N otherwise."""
    for c in range(n):
        k = 3 * c
        state = status[c]
        out[k] = -x[k] if state == OPEN else 0.0
        if state == STICK:
            out[k + 1] = 0.0
            out[k + 2] = 0.0
        elif state == SLIP:
            radius = bound[c] if held else mu[c] * x[k]
            short = radius - (tx[c] * x[k + 1] + ty[c] * x[k + 2])
            out[k + 1] = short * tx[c]
            out[k + 2] = short * ty[c]
        else:
            out[k + 1] = -x[k + 1]
            out[k + 2] = -x[k + 2]


@kernel
def _right_side(n, u, x, centre, delta, status, tx, ty, k_slip, b):
    """What the unknowns of the step have to bring to zero, from the velocity u at the offset."""
    p = 0
    for c in range(n):
        k = 3 * c
        state = status[c]
        if state == OPEN:
            continue
        b[p] = -u[k] - delta * (x[k] - centre[k])
        if state == STICK:
            b[p + 1] = -u[k + 1] - delta * (x[k + 1] - centre[k + 1])
            b[p + 2] = -u[k + 2] - delta * (x[k + 2] - centre[k + 2])
            p += 3
        elif state == SLIP:
            across = ty[c] * x[k + 1] - tx[c] * x[k + 2]
            centred = ty[c] * centre[k + 1] - tx[c] * centre[k + 2]
            share = max(k_slip[c], 1e-12)
            b[p + 1] = -(ty[c] * u[k + 1] - tx[c] * u[k + 2]) - delta * (across / share - centred)
            p += 2
        else:
            p += 1


@kernel
def _newton_step(
    n, W, mu, slope, x, u, centre, delta, bound, held, rho, status, tx, ty, k_slip, a, b, pivots,
    spare, step, du,
):  # fmt: skip
    """Newton's `step` of x and du = W step; False when singular or not finite.

    slope: how discs grow with the normal impulse, μ, or 0 if they are `held`.
    """
    m = 3 * n
    _offsets(n, mu, x, bound, held, status, tx, ty, spare)
    _multiply(m, W, spare, du)
    for i in range(m):
        du[i] += u[i]
    size = assemble(n, W, slope, rho, delta, status, tx, ty, k_slip, a)
    _right_side(n, du, x, centre, delta, status, tx, ty, k_slip, b)
    if size >= LAPACK_FROM:
        if not solve_large(a, b, size):
            return False
    else:
        if not factor_lu(a, pivots, size):
            return False
        solve_lu(a, pivots, b, size)
    finite = expand(n, slope, status, tx, ty, b, step)
    for i in range(m):
        step[i] += spare[i]
    _multiply(m, W, step, du)
    return finite


@kernel
def _length(n, x, u, step, du, centre, delta, mu, bound, status, tx, ty, k_slip, law, ahead, out):
    """How far to go along a step with discs held: until f no longer falls, or all of it."""
    m = 3 * n
    constant, linear = _dot(m, x, du), _dot(m, step, du)
    first = constant - _dot(m, law, du)
    low, high = 0.0, 1.0
    low_slope, high_slope = first, 0.0
    length = 1.0
    for _ in range(_SEARCHES):
        for i in range(m):
            ahead[i] = u[i] + length * du[i]
        impulse_of(n, ahead, centre, delta, mu, bound, True, status, tx, ty, k_slip, out)
        slope = constant + length * linear - _dot(m, out, du)
        if slope <= 0.1 * abs(first) and (length == 1.0 or slope >= -0.1 * abs(first)):
            break
        # false position, kept away from the ends of the bracket
        if slope > 0.0:
            high, high_slope = length, slope
        else:
            low, low_slope = length, slope
        share = low_slope / (low_slope - high_slope)
        length = low + min(max(share, 0.1), 0.9) * (high - low)
    return length


@kernel
def solve_regularised(n, W, q, mu, x, u, centre, delta, work, scale, tolerance, max_iterations):
    """x with x = r(W x + q), from the x given. Returns steps, ‖W (r(u) − x)‖ · scale.

    x and u change by increments, so that velocities far below the rounding of q are told apart.
    r(u) is left in the fifth vector of the work array (`law`).
    """
    m = 3 * n
    a = work[: m * m].reshape((m, m))
    base = m * m
    b = work[base : base + m]
    step = work[base + m : base + 2 * m]
    du = work[base + 2 * m : base + 3 * m]
    law = work[base + 4 * m : base + 5 * m]
    trial = work[base + 5 * m : base + 6 * m]
    ahead = work[base + 6 * m : base + 7 * m]
    spare = work[base + 7 * m : base + 8 * m]
    pivots = work[base + 8 * m : base + 9 * m]
    rho = work[base + 9 * m : base + 9 * m + 2 * n]
    bound = work[base + 9 * m + 2 * n : base + 10 * m]
    status = work[base + 10 * m : base + 10 * m + n]
    tx = work[base + 10 * m + n : base + 10 * m + 2 * n]
    ty = work[base + 10 * m + 2 * n : base + 11 * m]
    k_slip = work[base + 11 * m : base + 11 * m + n]
    nothing = work[base + 11 * m + n : base + 11 * m + 2 * n]
    trial_bound = work[base + 11 * m + 2 * n : base + 12 * m]
    trial_x = work[base + 12 * m : base + 13 * m]
    for c in range(n):
        rho[2 * c] = 1.0 / delta
        rho[2 * c + 1] = 1.0 / delta
        nothing[c] = 0.0

    multiply(m, W, x, q, u)
    impulse_of(n, u, centre, delta, mu, bound, False, status, tx, ty, k_slip, law)
    error = _mismatch(m, W, x, law, scale, spare, trial)
    lowest = error
    done = 0
    while error > tolerance and done < max_iterations:
        done += 1
        # newton's step, if it halves the mismatch
        if not _newton_step(
            n, W, mu, mu, x, u, centre, delta, bound, False, rho, status, tx, ty, k_slip, a, b,
            pivots, spare, step, du,
        ):  # fmt: skip
            break
        slides = False
        for c in range(n):
            slides = slides or status[c] == SLIP
        for i in range(m):
            trial_x[i] = x[i] + step[i]
            ahead[i] = u[i] + du[i]
        impulse_of(n, ahead, centre, delta, mu, trial_bound, False, status, tx, ty, k_slip, trial)
        there = _mismatch(m, W, trial_x, trial, scale, spare, b)
        if there < 0.5 * lowest:
            lowest = there
            for i in range(m):
                x[i] = trial_x[i]
                u[i] = ahead[i]
                law[i] = trial[i]
            for c in range(n):
                bound[c] = trial_bound[c]
            error = there
            continue

        # newton's direction with discs held, and a line search on f
        impulse_of(n, u, centre, delta, mu, bound, True, status, tx, ty, k_slip, law)
        if slides and not _newton_step(
            n, W, mu, nothing, x, u, centre, delta, bound, True, rho, status, tx, ty, k_slip, a, b,
            pivots, spare, step, du,
        ):  # fmt: skip
            break
        length = _length(
            n, x, u, step, du, centre, delta, mu, bound, status, tx, ty, k_slip, law, ahead, trial
        )
        for i in range(m):
            x[i] += length * step[i]
            u[i] += length * du[i]
        impulse_of(n, u, centre, delta, mu, bound, False, status, tx, ty, k_slip, law)
        error = _mismatch(m, W, x, law, scale, spare, trial)
    return done, error


@kernel
def proximal(n, W, q, mu, r, u, work, scale, tolerance, max_iterations):
    """Proximal steps from r, in place; u = W r + q on return. Returns Newton steps, e(r)."""
    m = 3 * n
    base = m * m
    centre = work[base + 3 * m : base + 4 * m]
    law = work[base + 4 * m : base + 5 * m]
    x = work[base + 13 * m : base + 14 * m]
    mean = 0.0
    for i in range(m):
        mean += W[i, i] / m
        centre[i] = r[i]
    multiply(m, W, r, q, u)
    best = natural_residual(n, r, u, mu, scale)
    residual = best
    level = GOOD if best < NEAR else POOR
    lower = _LOWER
    reach, furthest = 1.0, _FURTHEST
    done = 0
    while best > tolerance and done < max_iterations:
        for i in range(m):
            x[i] = centre[i]
        inner = max(0.1 * tolerance, min(1e-3 * residual, 1e-6))
        limit = min(_INNER_STEPS, max_iterations - done)
        steps, error = solve_regularised(
            n, W, q, mu, x, u, centre, level * mean, work, scale, inner, limit
        )
        done += max(steps, 1)
        if not error <= inner:
            # too stiff from here
            if reach > 1.0:
                for i in range(m):
                    centre[i] = r[i]
                furthest = max(0.25 * reach, 1.0)
                reach = 1.0
                continue
            lower = math.sqrt(lower)
            level *= 10.0
            if level > 1.0:
                break
            continue
        multiply(m, W, law, q, u)
        last = residual
        residual = natural_residual(n, law, u, mu, scale)
        if residual < best:
            best = residual
            for i in range(m):
                r[i] = law[i]
        # where velocities in the null space are left, go further in the same direction
        falls_slowly = 0.5 * last < residual < last
        reach = min(2.0 * reach, furthest) if falls_slowly else 1.0
        for i in range(m):
            centre[i] += reach * (law[i] - centre[i])
        level = max(lower * level, FLOOR)
    multiply(m, W, r, q, u)
    return done, best
