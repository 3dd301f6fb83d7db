r"""Proximal points: the method for hyperstatic contacts at their friction limits.

A rover whose axles are not exactly parallel (by 1e-8 rad, as CAD exports are) drags its wheels
sideways at 1e-8 of its speed. In rigid Coulomb contact that saturates friction however small the
speed: the null space of W holds impulses as large as the load, and directions of friction follow
velocities of 1e-10 m/s. Newton's method on equations that mix impulses of 0.1 N s with such
velocities creeps along a narrow curved valley. Here the impulses follow from velocities instead.

For a centre c and δ > 0 take the impulse of a stiff viscous contact around c,

    r(u) = P(c − u/δ),      P_N(τ) = max(0, τ_N),    P_T(τ) = projection of τ_T on D(μ P_N(τ)),  (1)

which lies in the cone whatever u is, and solve u = W r(u) + q. With c ← r and again, the solutions
tend to one of the true problem (Rockafellar 1976). These are implicit steps of length 1/δ of

    dr/ds = −u,     r held in the cone,                                                      (2)

the impulses of contacts that creep until they stick or slide. A contact that slides at a speed v
saturates after a "time" s of r/v, and v differs from wheel to wheel by many orders of magnitude; so
δ falls twentyfold from step to step, less while the residual grows. Impulses that nearly solve the
problem, as those of the last step may, have settled long ago: δ begins in proportion to e(r), for
where it begins large, (2) may lead away from the solution at hand before it is seen.

*When a step fails.* A wheel that lets go takes load off others, and what (2) came to then stands no
longer: followed beyond that point, solutions of (1) turn back towards larger δ, and none is near.
(2) leaves such a place at a rate of its own, by a factor of two or so a step. But where it comes to
depends on how fast normal impulses creep beside tangential ones, while the solutions do not. So δ
in (1) is a number δ_T for tangents and δ_N for normals: the same at first; after a step that failed
δ_N is far smaller, normals having settled before friction follows; after the next one they are the
same again, and so on, each time from a larger δ. A rover on four rigid legs with two rims a wheel,
whose normal impulses are hyperstatic, too, gets away from most such places in this way.

*When the residual grows* below a few times the tolerance, (2) leads away from where it is least,
which may be a little behind: e(r) below the tolerance is all that is asked for. Then, once, the
last two centres are continued backwards to where their natural maps, taken as linear between them,
are smallest, and a few steps follow from there.

*Inner iteration*, for x with u = W x + q and x = r(u). Newton's step is that of `newton` with
ρ = 1/δ. Its first linearisation is the one that solved the step before, where u/δ has grown but
who sticks and who slides is likely the same: classified anew, whatever moved last would be taken to
move many times as far. A step is taken, or else half of it, when it lowers ‖W (r(u) − x)‖, in
which normal velocities count for more where δ_N is smaller. Otherwise the discs of friction are
held at the radii g = μ P_N(τ) they have now. Then r(u) = −∇φ(u) with a convex φ, x minimises the
convex

    f(x) = ½ xᵀ W x + φ(W x + q),                                                          (3)

Newton's direction with fixed discs descends on f, and the step is as long as f falls. Fixing discs
and updating them is Panagiotopoulos' iteration (1975); Newton's step on a convex regularised
potential with an exact line search is that of Castro, Permenter & Han 2022 ("An unconstrained
convex formulation of compliant contact"). It may raise the mismatch; too many such steps in
turn, or one that raises it too far, end the iteration.
"""

from __future__ import annotations

import math

from marsyard.interaction.nonsmooth.cone import natural_map, project_kernel
from marsyard.interaction.nonsmooth.dense import (
    LAPACK_FROM,
    back_substitute,
    factor_cholesky,
    multiply_symmetric,
    row_length,
    solve,
    storage,
    storage_size,
)
from marsyard.interaction.nonsmooth.newton import (
    OPEN,
    SLIP,
    SMOOTH,
    STICK,
    assemble,
    expand,
)
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.interaction.nonsmooth.sparse import (
    assemble_blocks,
    expand_blocks,
    factor_blocks,
    multiply_blocks,
    solve_blocks,
)
from marsyard.jit import VECTOR, kernel

#: first, smallest and largest δ over the mean diagonal of W: below the smallest u/δ is rounding
FIRST, FLOOR, CEILING = 1e-1, 1e-10, 1e3
#: the first one over e(r), where that is small
_NEAR = 20.0
#: how δ falls, how while e(r) grows, how it is raised after a failure
_LOWER, _GROWING, _RAISE = 0.05, 0.7, 10.0
#: δ_N over δ_T where normals settle first, in a few contacts and in piles
_STIFF, _STIFF_PILE = 1e-3, 0.2
#: the inner iteration's tolerance: over e(r), and at most
_INEXACT, _ROUGH = 0.5, 1e-3
_INNER_STEPS = 30
#: steps with discs held in turn, and by how much they may raise the mismatch
_HELD_STEPS = 7
_HIGHEST = 100.0
_HALVINGS = 1
_DESCENT = 0.1
_SEARCHES = 12
#: residual over the tolerance below which a step back is tried, what it must promise, δ of what
#: follows, and the Newton steps of each
_CLOSE, _PROMISE = 20.0, 0.95
_LEVELS = (1e-3, 1e-5, 1e-6, 1e-7)
_SHORT = 8


@kernel
def impulse_of(n, u, centre, delta, normal, mu, bound, fixed, status, tx, ty, k_slip, out):
    """r(u) of (1) and its branches, `delta` and `normal` being δ_T and δ_N; with `fixed` the discs
    have the radii in `bound`, otherwise their radii are written there."""
    for c in range(n):
        k = 3 * c
        tn = centre[k] - u[k] / normal
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
def _multiply(m, W, pattern, x, out):
    """out = W x."""
    if pattern[3].size > 0:
        multiply_blocks(m // 3, pattern, x, out)
    else:
        multiply_symmetric(m, W, x, out)


@kernel
def _velocity(m, W, pattern, x, q, u):
    """u = W x + q."""
    if pattern[3].size > 0:
        multiply_blocks(m // 3, pattern, x, u)
        for i in range(m):
            u[i] += q[i]
    else:
        multiply(m, W, x, q, u)


@kernel(fastmath=VECTOR)
def _dot(m, x, y):
    total = 0.0
    for i in range(m):
        total += x[i] * y[i]
    return total


@kernel
def _mismatch(m, W, pattern, x, law, stiffness, scale, spare, out):
    """‖W (r(u) − x)‖ · scale, normal velocities squared times `stiffness`."""
    for i in range(m):
        spare[i] = law[i] - x[i]
    _multiply(m, W, pattern, spare, out)
    total = 0.0
    for k in range(0, m, 3):
        total += stiffness * out[k] * out[k] + out[k + 1] * out[k + 1] + out[k + 2] * out[k + 2]
    return math.sqrt(total) * scale


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
def _right_side(n, u, x, centre, delta, normal, status, tx, ty, k_slip, apart, b):
    """What the unknowns of the step have to bring to zero, from the velocity u at the offset.

    apart: each contact has three places in b, filled up with zeros; otherwise those it needs.
    """
    p = 0
    for c in range(n):
        k = 3 * c
        if apart:
            p = k
            b[k] = 0.0
            b[k + 1] = 0.0
            b[k + 2] = 0.0
        state = status[c]
        if state == OPEN:
            continue
        b[p] = -u[k] - normal * (x[k] - centre[k])
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
    n, W, pattern, mu, slope, x, u, centre, delta, normal, bound, held, rho, status, tx, ty,
    k_slip, a, b, pivots, spare, step, du,
):  # fmt: skip
    """Newton's `step` of x and du = W step; False when singular or not finite.

    slope: how discs grow with the normal impulse, μ, or 0 if they are `held`.
    """
    m = 3 * n
    _offsets(n, mu, x, bound, held, status, tx, ty, spare)
    _multiply(m, W, pattern, spare, du)
    for i in range(m):
        du[i] += u[i]
    if pattern[3].size > 0:
        assemble_blocks(n, pattern, slope, delta, normal, status, tx, ty, k_slip)
        if not factor_blocks(n, pattern):
            return False
        _right_side(n, du, x, centre, delta, normal, status, tx, ty, k_slip, True, b)
        solve_blocks(n, pattern, b)
        finite = expand_blocks(n, slope, status, tx, ty, b, step)
        for i in range(m):
            step[i] += spare[i]
        _multiply(m, W, pattern, step, du)
        return finite
    # with discs held the matrix is symmetric
    symmetric = held and m < LAPACK_FROM
    size = assemble(n, W, slope, rho, delta, normal, status, tx, ty, k_slip, symmetric, a)
    _right_side(n, du, x, centre, delta, normal, status, tx, ty, k_slip, False, b)
    if symmetric:
        if not factor_cholesky(a, b, size):
            return False
        back_substitute(a, b, size)
    elif not solve(a, pivots, b, size):
        return False
    finite = expand(n, slope, status, tx, ty, b, step)
    for i in range(m):
        step[i] += spare[i]
    _multiply(m, W, pattern, step, du)
    return finite


@kernel
def _length(
    n, x, u, step, du, centre, delta, normal, mu, bound, status, tx, ty, k_slip, law, ahead, out
):
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
        impulse_of(n, ahead, centre, delta, normal, mu, bound, True, status, tx, ty, k_slip, out)
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
def solve_regularised(
    n,
    W,
    pattern,
    q,
    mu,
    x,
    u,
    centre,
    delta,
    normal,
    before,
    work,
    scale,
    tolerance,
    max_iterations,
):
    """x with x = r(W x + q), from the x given. Returns steps, ‖W (r(u) − x)‖ · scale.

    x and u change by increments, so that velocities far below the rounding of q are told apart.
    r(u) is left in the fifth vector of the work array (`law`). `before`: the δ whose solution, the
    last thing done with this work array, gives the first linearisation; 0 if there is none.
    """
    m = 3 * n
    first, last = storage(work, m)
    a = work[first:last].reshape((m + 1, row_length(m)))
    base = storage_size(m)
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
    stiffness = delta / normal
    for c in range(n):
        rho[2 * c] = 1.0 / delta
        rho[2 * c + 1] = 1.0 / delta
        nothing[c] = 0.0

    _velocity(m, W, pattern, x, q, u)
    if before > 0.0:
        # a contact that slides at the speed it had: (1 − k)/k grows as δ falls
        for c in range(n):
            share = max(k_slip[c], 1e-12)
            k_slip[c] = share / (share + (1.0 - share) * before / delta)
        impulse_of(
            n, u, centre, delta, normal, mu, bound, False, trial_x[:n], trial_x[n : 2 * n],
            trial_x[2 * n :], trial_bound, law,
        )  # fmt: skip
    else:
        impulse_of(n, u, centre, delta, normal, mu, bound, False, status, tx, ty, k_slip, law)
    error = _mismatch(m, W, pattern, x, law, stiffness, scale, spare, trial)
    lowest = error
    done = 0
    held = 0
    while error > tolerance and done < max_iterations and held < _HELD_STEPS:
        done += 1
        # newton's step, or part of it, if that lowers the mismatch
        if not _newton_step(
            n, W, pattern, mu, mu, x, u, centre, delta, normal, bound, False, rho, status, tx, ty,
            k_slip, a, b, pivots, spare, step, du,
        ):  # fmt: skip
            break
        slides = False
        for c in range(n):
            slides = slides or status[c] == SLIP
        length = 1.0
        lower = False
        for _ in range(1 + _HALVINGS):
            for i in range(m):
                trial_x[i] = x[i] + length * step[i]
                ahead[i] = u[i] + length * du[i]
            impulse_of(
                n,
                ahead,
                centre,
                delta,
                normal,
                mu,
                trial_bound,
                False,
                status,
                tx,
                ty,
                k_slip,
                trial,
            )
            error = _mismatch(m, W, pattern, trial_x, trial, stiffness, scale, spare, b)
            lower = error < (1.0 - _DESCENT * length) * lowest
            if lower:
                break
            length *= 0.5
        if lower:
            lowest = error
            held = 0
            for i in range(m):
                x[i] = trial_x[i]
                u[i] = ahead[i]
                law[i] = trial[i]
            for c in range(n):
                bound[c] = trial_bound[c]
            continue

        # newton's direction with discs held, and a line search on f
        held += 1
        impulse_of(n, u, centre, delta, normal, mu, bound, True, status, tx, ty, k_slip, law)
        if slides and not _newton_step(
            n, W, pattern, mu, nothing, x, u, centre, delta, normal, bound, True, rho, status, tx,
            ty, k_slip, a, b, pivots, spare, step, du,
        ):  # fmt: skip
            break
        length = _length(
            n,
            x,
            u,
            step,
            du,
            centre,
            delta,
            normal,
            mu,
            bound,
            status,
            tx,
            ty,
            k_slip,
            law,
            ahead,
            trial,
        )
        for i in range(m):
            x[i] += length * step[i]
            u[i] += length * du[i]
        impulse_of(n, u, centre, delta, normal, mu, bound, False, status, tx, ty, k_slip, law)
        error = _mismatch(m, W, pattern, x, law, stiffness, scale, spare, trial)
        if error > _HIGHEST * lowest:
            break
    return done, error


@kernel
def _maps_product(n, r, u, s, v, mu):
    """Inner product of the natural maps of the impulses r and s, with velocities u and v."""
    total = 0.0
    for c in range(n):
        k = 3 * c
        a, b, e = natural_map(r[k], r[k + 1], r[k + 2], u[k], u[k + 1], u[k + 2], mu[c])
        x, y, z = natural_map(s[k], s[k + 1], s[k + 2], v[k], v[k + 1], v[k + 2], mu[c])
        total += a * x + b * y + e * z
    return total


@kernel
def _step_back(
    n, W, pattern, q, mu, x, u, centre, law, spare, work, mean, scale, tolerance, last, residual
):
    """Back from `law`, with e(r) = `residual`, beyond `centre`, with `last`; u belongs to `law`.

    Returns Newton steps, e(r); where that meets the tolerance, `law` is the solution.
    """
    m = 3 * n
    _velocity(m, W, pattern, centre, q, spare)
    here, before = residual * residual, last * last
    both = _maps_product(n, law, u, centre, spare, mu) * scale * scale
    apart = here + before - 2.0 * both
    if not here * before - both * both < (_PROMISE * tolerance) ** 2 * apart:
        return 0, residual
    share = (here - both) / apart
    largest, furthest = 0.0, 0.0
    for i in range(m):
        largest = max(largest, abs(law[i]))
        furthest = max(furthest, abs(share * (centre[i] - law[i])))
    if not furthest <= largest:
        return 0, residual
    for c in range(n):
        k = 3 * c
        centre[k], centre[k + 1], centre[k + 2] = project_kernel(
            law[k] + share * (centre[k] - law[k]),
            law[k + 1] + share * (centre[k + 1] - law[k + 1]),
            law[k + 2] + share * (centre[k + 2] - law[k + 2]),
            mu[c],
        )
    _velocity(m, W, pattern, centre, q, u)
    residual = natural_residual(n, centre, u, mu, scale)
    done = 0
    known = 0.0
    for level in _LEVELS:
        for i in range(m):
            x[i] = centre[i]
        inner = max(0.1 * tolerance, min(_INEXACT * residual, _ROUGH))
        delta = level * mean
        steps, error = solve_regularised(
            n, W, pattern, q, mu, x, u, centre, delta, delta, known, work, scale, inner, _SHORT
        )
        done += max(steps, 1)
        if not error <= inner:
            break
        _velocity(m, W, pattern, law, q, u)
        residual = natural_residual(n, law, u, mu, scale)
        if residual <= tolerance:
            break
        for i in range(m):
            centre[i] = law[i]
        known = delta
    return done, residual


@kernel
def proximal(n, W, pattern, q, mu, r, u, work, scale, tolerance, max_iterations):
    """Proximal steps from r, in place; u = W r + q on return. Returns Newton steps, e(r).

    pattern: from `sparse`, that of W or the one for a W taken as full.
    """
    m = 3 * n
    base = storage_size(m)
    centre = work[base + 3 * m : base + 4 * m]
    law = work[base + 4 * m : base + 5 * m]
    x = work[base + 13 * m : base + 14 * m]
    kept = work[base + 14 * m : base + 15 * m]
    spare = work[base + 7 * m : base + 8 * m]
    mean = 0.0
    for i in range(m):
        mean += W[i, i] / m
        centre[i] = r[i]
    _velocity(m, W, pattern, r, q, u)
    best = natural_residual(n, r, u, mu, scale)
    residual = best
    # δ over the mean diagonal: now, at the last step solved, and of the linearisation at hand
    level, solved, known = min(FIRST, _NEAR * best), 0.0, 0.0
    lower = _LOWER
    ratio = 1.0
    stiff = _STIFF_PILE if pattern[3].size > 0 else _STIFF
    back = False
    done = 0
    while best > tolerance and done < max_iterations and level <= CEILING:
        for i in range(m):
            x[i] = centre[i]
        inner = max(0.1 * tolerance, min(_INEXACT * residual, _ROUGH))
        limit = min(_INNER_STEPS, max_iterations - done)
        delta = level * mean
        steps, error = solve_regularised(
            n, W, pattern, q, mu, x, u, centre, delta, ratio * delta, known * mean, work, scale,
            inner, limit,
        )  # fmt: skip
        done += max(steps, 1)
        if not error <= inner:
            known = 0.0
            if solved > 0.0:
                level = solved
                ratio = stiff if ratio == 1.0 else 1.0
                solved = 0.0
            level *= _RAISE
            continue
        _velocity(m, W, pattern, law, q, u)
        last = residual
        residual = natural_residual(n, law, u, mu, scale)
        if residual < best:
            best = residual
            for i in range(m):
                r[i] = law[i]
        for i in range(m):
            kept[i] = law[i]
        known = level
        if not back and last < residual < _CLOSE * tolerance and last > tolerance:
            steps, found = _step_back(
                n, W, pattern, q, mu, x, u, centre, law, spare, work, mean, scale, tolerance, last,
                residual,
            )  # fmt: skip
            if steps > 0:
                back = True
                known = 0.0
                done += steps
            if found <= tolerance:
                best = found
                for i in range(m):
                    r[i] = law[i]
        for i in range(m):
            centre[i] = kept[i]
        solved = level
        lower = _GROWING if residual > last else max(lower * lower, _LOWER)
        level = max(lower * level, FLOOR)
    _velocity(m, W, pattern, r, q, u)
    return done, best
