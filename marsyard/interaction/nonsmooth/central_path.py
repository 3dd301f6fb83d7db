r"""Smoothing Newton along the central path: the method for problems where active sets are hopeless.

Scale each contact to the self-dual cone L = {x : x_0 ≥ ‖x_v‖} by r̃ = (μ r_N, r_T) and
ũ = (û_N/μ, û_T). In the Jordan algebra of L the complementarity L ∋ ũ ⊥ r̃ ∈ L reads ũ ∘ r̃ = 0, and
the central path ũ ∘ r̃ = κ e, κ > 0 [J], runs through the interior of the cones to a solution as
κ → 0. On it, for any ρ > 0 and with ε² = ρ κ,

    Φ = r̃ − p_ε(r̃ − ρ ũ) = 0,      p_ε(z) = ½ Σ_± g(z_0 ± ‖z_v‖) (1, ±z_v/‖z_v‖),            (1)
                                     g(λ) = (λ + sqrt(λ² + 4 ε²)) / 2,

p_ε being the smoothed projection onto L. (1) is differentiable, so Newton's method with a line
search on ‖Φ‖² is sound, and no guess of who sticks and who slips is made until κ is tiny. De
Saxcé's term is smoothed likewise, μ (sqrt(‖u_T‖² + ε_u²) − ε_u), and its derivative kept in the
Jacobian. κ falls by a factor that follows the step lengths.

Sources: Fukushima, Luo & Tseng 2001, SIAM J. Optim. 12 (smoothing functions of the second-order
cone); Hayashi, Yamashita & Fukushima 2005, SIAM J. Optim. 15; Acary, Armand, Nguyen & Shpakovych
2023 (interior points for friction, with the same central path).
"""

from __future__ import annotations

import math

from marsyard.interaction.nonsmooth.dense import row_length, solve, storage, storage_size
from marsyard.interaction.nonsmooth.residual import multiply, natural_residual
from marsyard.jit import kernel

_MAX_HALVINGS = 20


@kernel(forceinline=True)
def _plus(x, epsilon):
    """g(λ) and g'(λ) without cancellation."""
    root = math.sqrt(x * x + 4.0 * epsilon * epsilon)
    if x >= 0.0:
        value = 0.5 * (x + root)
    else:
        value = 2.0 * epsilon * epsilon / (root - x)
    return value, value / root


@kernel
def _smoothed(n, r, u, mu, rho, kappa, phi, slopes, with_slopes):
    """Φ of (1) and, if asked, the coefficients of its derivative; returns Σ ‖Φ‖²/ρ [J].

    slopes holds per contact a, b, c, w (2), t (2): p' = [[b, c wᵀ], [c w, a I + (b − a) w wᵀ]] and
    t = ∂ sqrt(‖u_T‖² + ε_u²) / ∂u_T.
    """
    total = 0.0
    for c in range(n):
        k = 3 * c
        epsilon = math.sqrt(rho[c] * kappa)
        if mu[c] == 0.0:
            value, slope = _plus(r[k] - rho[c] * u[k], epsilon)
            phi[k] = r[k] - value
            phi[k + 1] = r[k + 1]
            phi[k + 2] = r[k + 2]
            if with_slopes:
                slopes[7 * c + 1] = slope
        else:
            speed = epsilon / rho[c]
            root = math.sqrt(u[k + 1] * u[k + 1] + u[k + 2] * u[k + 2] + speed * speed)
            shifted = u[k] / mu[c] + (root - speed)
            z0 = mu[c] * r[k] - rho[c] * shifted
            z1 = r[k + 1] - rho[c] * u[k + 1]
            z2 = r[k + 2] - rho[c] * u[k + 2]
            size = math.sqrt(z1 * z1 + z2 * z2)
            w1 = z1 / size if size > 0.0 else 1.0
            w2 = z2 / size if size > 0.0 else 0.0
            low, low_slope = _plus(z0 - size, epsilon)
            high, high_slope = _plus(z0 + size, epsilon)
            half = 0.5 * (high - low)
            phi[k] = mu[c] * r[k] - 0.5 * (high + low)
            phi[k + 1] = r[k + 1] - half * w1
            phi[k + 2] = r[k + 2] - half * w2
            if with_slopes:
                slopes[7 * c] = half / size if size > 0.0 else high_slope
                slopes[7 * c + 1] = 0.5 * (high_slope + low_slope)
                slopes[7 * c + 2] = 0.5 * (high_slope - low_slope)
                slopes[7 * c + 3] = w1
                slopes[7 * c + 4] = w2
                slopes[7 * c + 5] = u[k + 1] / root
                slopes[7 * c + 6] = u[k + 2] / root
        total += (phi[k] ** 2 + phi[k + 1] ** 2 + phi[k + 2] ** 2) / rho[c]
    return total


@kernel
def _jacobian(n, W, mu, rho, slopes, a):
    """∂Φ/∂r = (I − p') D + ρ p' (∂ũ/∂u) W with D = diag(μ, 1, 1), row by row."""
    m = 3 * n
    for c in range(n):
        k = 3 * c
        if mu[c] == 0.0:
            slope = slopes[7 * c + 1]
            for j in range(m):
                a[k, j] = rho[c] * slope * W[k, j]
                a[k + 1, j] = 0.0
                a[k + 2, j] = 0.0
            a[k, k] += 1.0 - slope
            a[k + 1, k + 1] = 1.0
            a[k + 2, k + 2] = 1.0
            continue
        s = 7 * c
        aa, bb, cc = slopes[s], slopes[s + 1], slopes[s + 2]
        w1, w2, t1, t2 = slopes[s + 3], slopes[s + 4], slopes[s + 5], slopes[s + 6]
        p00 = bb
        p01 = cc * w1
        p02 = cc * w2
        p11 = aa + (bb - aa) * w1 * w1
        p12 = (bb - aa) * w1 * w2
        p22 = aa + (bb - aa) * w2 * w2
        # ρ p' ∂ũ/∂u
        inverse = 1.0 / mu[c]
        g00 = rho[c] * p00 * inverse
        g01 = rho[c] * (p00 * t1 + p01)
        g02 = rho[c] * (p00 * t2 + p02)
        g10 = rho[c] * p01 * inverse
        g11 = rho[c] * (p01 * t1 + p11)
        g12 = rho[c] * (p01 * t2 + p12)
        g20 = rho[c] * p02 * inverse
        g21 = rho[c] * (p02 * t1 + p12)
        g22 = rho[c] * (p02 * t2 + p22)
        for j in range(m):
            x = W[k, j]
            y = W[k + 1, j]
            z = W[k + 2, j]
            a[k, j] = g00 * x + g01 * y + g02 * z
            a[k + 1, j] = g10 * x + g11 * y + g12 * z
            a[k + 2, j] = g20 * x + g21 * y + g22 * z
        a[k, k] += (1.0 - p00) * mu[c]
        a[k + 1, k] -= p01 * mu[c]
        a[k + 2, k] -= p02 * mu[c]
        a[k, k + 1] -= p01
        a[k + 1, k + 1] += 1.0 - p11
        a[k + 2, k + 1] -= p12
        a[k, k + 2] -= p02
        a[k + 1, k + 2] -= p12
        a[k + 2, k + 2] += 1.0 - p22


@kernel
def central_path(n, W, q, mu, r, u, work, scale, max_iterations, delta, kappa, floor):
    """Follow the central path from κ = `kappa` down to `floor`; returns (steps, e(r), κ reached).

    r enters as the first iterate and leaves as the last one; the matrix used is W + δ I.
    """
    m = 3 * n
    first, last = storage(work, m)
    a = work[first:last].reshape((m + 1, row_length(m)))
    base = storage_size(m)
    phi = work[base : base + m]
    step = work[base + m : base + 2 * m]
    du = work[base + 2 * m : base + 3 * m]
    trial_r = work[base + 3 * m : base + 4 * m]
    trial_u = work[base + 4 * m : base + 5 * m]
    pivots = work[base + 5 * m : base + 6 * m]
    rho = work[base + 6 * m : base + 7 * m]
    slopes = work[base + 7 * m : base + 10 * m]

    # one ρ per contact: the inverse of the scaled compliance
    for c in range(n):
        k = 3 * c
        compliance = W[k, k] + delta
        if mu[c] > 0.0:
            compliance = (
                compliance / mu[c] ** 2 + W[k + 1, k + 1] + W[k + 2, k + 2] + 2.0 * delta
            ) / 3.0
        rho[c] = 1.0 / max(compliance, 1e-300)

    multiply(m, W, r, q, u)
    for i in range(m):
        u[i] += delta * r[i]
    done = 0
    failures = 0
    shrink = 0.2
    while done < max_iterations:
        here = _smoothed(n, r, u, mu, rho, kappa, phi, slopes, True)
        # on the path well enough: go on to a smaller κ
        if here <= 0.1 * n * kappa:
            if kappa <= floor:
                break
            kappa = max(kappa * shrink, floor)
            here = _smoothed(n, r, u, mu, rho, kappa, phi, slopes, True)
        _jacobian(n, W, mu, rho, slopes, a)
        if delta > 0.0:
            _add_shift(n, mu, rho, slopes, delta, a)
        for i in range(m):
            step[i] = -phi[i]
        if not solve(a, pivots, step, m):
            break
        done += 1

        # Armijo on the smooth merit
        for i in range(m):
            trial_r[i] = 0.0
        multiply(m, W, step, trial_r, du)
        length = 1.0
        accepted = False
        for _ in range(_MAX_HALVINGS):
            for i in range(m):
                trial_r[i] = r[i] + length * step[i]
                trial_u[i] = u[i] + length * (du[i] + delta * step[i])
            value = _smoothed(n, trial_r, trial_u, mu, rho, kappa, phi, slopes, False)
            if value <= (1.0 - 2e-4 * length) * here:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            # off the path: widen it
            failures += 1
            if failures > 3:
                break
            kappa *= 10.0
            shrink = 0.5
            continue
        for i in range(m):
            r[i] = trial_r[i]
            u[i] = trial_u[i]
        if length > 0.9:
            shrink = max(0.5 * shrink, 0.01)
        elif length < 0.3:
            shrink = min(2.0 * shrink, 0.7)
    multiply(m, W, r, q, u)
    return done, natural_residual(n, r, u, mu, scale), kappa


@kernel
def _add_shift(n, mu, rho, slopes, delta, a):
    """The contribution of δ I in W to the Jacobian: ρ δ p' ∂ũ/∂u on the diagonal blocks."""
    for c in range(n):
        k = 3 * c
        weight = rho[c] * delta
        if mu[c] == 0.0:
            a[k, k] += weight * slopes[7 * c + 1]
            continue
        s = 7 * c
        aa, bb, cc = slopes[s], slopes[s + 1], slopes[s + 2]
        w1, w2, t1, t2 = slopes[s + 3], slopes[s + 4], slopes[s + 5], slopes[s + 6]
        p01 = cc * w1
        p02 = cc * w2
        p11 = aa + (bb - aa) * w1 * w1
        p12 = (bb - aa) * w1 * w2
        p22 = aa + (bb - aa) * w2 * w2
        a[k, k] += weight * bb / mu[c]
        a[k + 1, k] += weight * p01 / mu[c]
        a[k + 2, k] += weight * p02 / mu[c]
        a[k, k + 1] += weight * (bb * t1 + p01)
        a[k + 1, k + 1] += weight * (p01 * t1 + p11)
        a[k + 2, k + 1] += weight * (p02 * t1 + p12)
        a[k, k + 2] += weight * (bb * t2 + p02)
        a[k + 1, k + 2] += weight * (p01 * t2 + p12)
        a[k + 2, k + 2] += weight * (p02 * t2 + p22)
