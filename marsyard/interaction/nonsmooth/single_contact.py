r"""The exact solution of a single frictional contact.

Given the 3×3 block W [1/kg] of one contact, the velocity q [m/s] it would have without its own
impulse, and μ, find r with u = W r + q and K_μ* ∋ û ⊥ r ∈ K_μ. Three cases:

* take-off, q_N ≥ 0:              r = 0;
* stick:                          r = −W⁻¹ q, when that lies in K_μ;
* slide:                          u_N = 0, ‖r_T‖ = μ r_N, u_T = −λ r_T with λ ≥ 0.

In the sliding case u_N = 0 gives r_N = −(q_N + W_NT r_T) / W_NN, which leaves

    (S + λ I) r_T = −b,    S = W_TT − W_TN W_NT / W_NN,    b = q_T − W_TN q_N / W_NN,

so that r_T(λ) is explicit in the eigenbasis of the 2×2 matrix S and only the scalar equation

    g(λ) = ‖r_T(λ)‖ − μ r_N(λ) = 0                                                        (1)

remains. g is continuous on λ > 0; it is positive at λ = 0 (the sticking impulse leaves the cone)
and tends to μ q_N / W_NN < 0 as λ → ∞, so (1) always has a root, which a bracketed Newton iteration
finds to rounding. Newton is applied to the equivalent

    h(λ) = μ r_N / ‖r_T‖ − 1 = 0,                                                         (2)

which is nearly linear in λ (as in trust-region methods, Moré & Sorensen 1983). Multiplied out, (1)
is the quartic of Bonnefon & Daviet 2011, INRIA RR-7734; the bracket needs no polynomial root finder
and does not suffer from nearly singular blocks.

For μ = 0 only W_NN and q_N are read.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marsyard.jit import kernel

TAKE_OFF = 0
STICK = 1
SLIDE = 2

_MAX_ROOT_STEPS = 200


@kernel
def _sliding_gap(lam, s1, s2, b1, b2, w1, w2, inv_wn, qn, mu):
    """g(λ) of equation (1), ‖r_T‖, the Newton step of (2), and r_T in the eigenbasis."""
    d1 = 1.0 / (s1 + lam)
    d2 = 1.0 / (s2 + lam)
    r1 = -b1 * d1
    r2 = -b2 * d2
    size = math.sqrt(r1 * r1 + r2 * r2)
    size_slope = -(r1 * r1 * d1 + r2 * r2 * d2) / size
    normal = -(qn + w1 * r1 + w2 * r2) * inv_wn
    normal_slope = (w1 * r1 * d1 + w2 * r2 * d2) * inv_wn
    gap = size - mu * normal
    step = gap * size / (mu * (normal_slope * size - normal * size_slope))
    return gap, size, step, r1, r2


@kernel
def solve_one_contact(wnn, wnt, wns, wtt, wts, wss, qn, qt, qs, mu):
    """Impulse (r_N, r_T1, r_T2) and case of one contact; the block is given by its upper half.

    Never fails: with W_NN ≤ 0 and q_N < 0 (no impulse can help) it returns r = 0, TAKE_OFF.
    """
    if qn >= 0.0 or wnn <= 0.0:
        return 0.0, 0.0, 0.0, TAKE_OFF
    inv_wn = 1.0 / wnn
    if mu == 0.0:
        return -qn * inv_wn, 0.0, 0.0, SLIDE

    # eliminate the normal impulse
    a = max(wtt - wnt * wnt * inv_wn, 0.0)
    b = wts - wnt * wns * inv_wn
    c = max(wss - wns * wns * inv_wn, 0.0)
    bt = qt - wnt * qn * inv_wn
    bs = qs - wns * qn * inv_wn

    # stick: the linear solution, if the 2×2 matrix is regular and the impulse admissible
    det = a * c - b * b
    if det > 1e-14 * (a + c) * (a + c):
        rt = -(c * bt - b * bs) / det
        rs = -(a * bs - b * bt) / det
        rn = -(qn + wnt * rt + wns * rs) * inv_wn
        if math.sqrt(rt * rt + rs * rs) <= mu * rn:
            return rn, rt, rs, STICK

    # eigenbasis of S: (x, y) for s1, (-y, x) for s2, s1 ≥ s2 ≥ 0
    half = 0.5 * (a - c)
    radius = math.sqrt(half * half + b * b)
    mean = 0.5 * (a + c)
    s1 = mean + radius
    s2 = max(mean - radius, 0.0)
    if radius == 0.0:
        x = 1.0
        y = 0.0
    else:
        if half >= 0.0:
            x = half + radius
            y = b
        else:
            x = b
            y = radius - half
        length = math.sqrt(x * x + y * y)
        x /= length
        y /= length
    b1 = x * bt + y * bs
    b2 = -y * bt + x * bs
    w1 = x * wnt + y * wns
    w2 = -y * wnt + x * wns

    # bracket the root: ‖r_T‖ ≤ ‖b‖/λ bounds both terms of g from above
    low = 0.0
    norm_b = math.sqrt(b1 * b1 + b2 * b2)
    norm_w = math.sqrt(w1 * w1 + w2 * w2)
    high = norm_b * (wnn + mu * norm_w) / (mu * -qn) * 1.0000001
    if high == 0.0:
        return -qn * inv_wn, 0.0, 0.0, STICK
    lam = min(high, mean) if mean > 0.0 else high
    r1 = 0.0
    r2 = 0.0
    for _ in range(_MAX_ROOT_STEPS):
        gap, size, move, r1, r2 = _sliding_gap(lam, s1, s2, b1, b2, w1, w2, inv_wn, qn, mu)
        if abs(gap) <= 2e-16 * size:
            break
        if gap > 0.0:
            low = lam
        else:
            high = lam
        step = lam + move
        # keep inside the bracket; bisect in ratio while it spans orders of magnitude
        if not (low < step < high):
            if low > 0.0 and high > 4.0 * low:
                step = math.sqrt(low * high)
            elif low == 0.0:
                step = 0.03125 * high
            else:
                step = 0.5 * (low + high)
        if abs(step - lam) <= 4e-16 * lam or step < 1e-300:
            break
        lam = step

    # the mantle is met exactly: r_N from ‖r_T‖ unless r_T vanishes
    rt = x * r1 - y * r2
    rs = y * r1 + x * r2
    rn = max(math.sqrt(r1 * r1 + r2 * r2) / mu, -(qn + w1 * r1 + w2 * r2) * inv_wn)
    return rn, rt, rs, SLIDE


def one_contact(
    w: ArrayLike, q: ArrayLike, mu: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Impulse r [N s], velocity u [m/s] and case of one contact, from its 3×3 block `w`."""
    w = np.asarray(w, dtype=float)
    q = np.asarray(q, dtype=float)
    s = 0.5 * (w + w.T)
    *r, case = solve_one_contact(
        s[0, 0], s[0, 1], s[0, 2], s[1, 1], s[1, 2], s[2, 2], q[0], q[1], q[2], float(mu)
    )
    impulse = np.array(r)
    return impulse, w @ impulse + q, case
