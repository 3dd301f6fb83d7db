"""The contact law of one face: eqs. (1) and (2) of Krenn and Hirzinger 2008.

Normal force of a face with penetration s [m] and speed v_N into the other body [m/s]:

    F_N = c_N s + d_N v_N                        s > s_d0                               (1)
    F_N = c_N s + d_N (s/s_d0) v_N               0 < s ≤ s_d0

s_d0 is the depth over which damping comes in, so that nothing jumps at touch-down. Here F_N is
summed over the part of the face that is inside the other body: c_N s becomes k ∫ s dA = k V and
d_N becomes d ∫ min(s/s_d0, 1) dA. Eq. (1) would pull where a face leaves fast; here F_N ≥ 0.

Friction:

    stick:   F_T = −(c_T (r − r₀) + d_T v_T)     until |F_T| > μ_stick F_N               (2)
    slip:    F_T = −μ_slip F_N v_T/|v_T|         until |v_T| < v_T0

e = r − r₀ is the tangential displacement of the face from its anchor on the other body. A slipping
face drags its anchor along so that c_T |e| = μ_slip F_N: F_T has the size of (2), points in the
direction in which it has slipped, and stays where it is when the face sticks again. Taken
literally, (2) forgets r₀ on sticking and drops F_T to zero, and has no force at all where v_T = 0;
a slipping body would never come to rest on a slope. As soon as the anchor has reversed (after some
μ F_N/c_T, micrometres) both are the same. Whether a face sticks is decided by its spring; the
damper gets what is left of μ_stick F_N, or a face that is caught would slip for its velocity. No
force depends on a velocity while a face sticks at rest: what sticks does not creep.

The part of a face that touches changes, and with it c_T = k_T A. Where A grows, the force is kept,
e ← e A_before/A, as new area brings no shear with it; where it falls, e is kept. Both ways the
stored energy ½ k_T A e² can only be lost.

Time step. The force is linear in the velocity v⁺ at the end of the step, about v at its start, and
its derivative goes into the inertia matrix. With the weight w = 1 (the default) it is

    F_N = k V − (d_N + h k A) v_N⁺,     F_T = −c_T (e + h ((1−θ) v_T + v_T⁺)) − d_T v_T⁺

(V, A at q_m, `moreau_jean`): backward Euler where θ = 1. Of an oscillation with ω = √(k A/m) a step
leaves 1/√(1 + h²ω²), so that layers of any stiffness come to rest. What matters is the velocity at
the end of the step: a face that still touches may pull within the step in which it leaves, which
takes energy as the damping does (were it let go for its velocity at the start, a body at rest would
fall and be caught in turns for ever). With w = 0 it is the force in
the middle of the step in the sense of θ,

    s_θ = s(q_m) + (1−θ)² h v_N − θ² h v_N⁺,     e_θ = e + h (θ(1−θ) v_T + θ² v_T⁺)

which keeps energy where θ = ½ and the step resolves the layer, h ω < 1; a stiffer one gains energy
from touching and leaving then. In between it is linear in w.

Friction that slips has a given size; the step must not turn it round within a step, or a body that
should come to rest trembles. This needs c_T < m/h² for all faces of a pair together, with m the
mass that the pair moves. Stiffer layers are softened to a tenth of that (`CAP` in `contact`): it is
what the step can resolve, and vanishes with it.

Source: R. Krenn, G. Hirzinger, Contact dynamics simulation for space robotics applications (2008),
section II.B.
"""

from __future__ import annotations

import math

from marsyard.jit import VECTOR, inlined


@inlined(fastmath=VECTOR)
def shares(theta, w):
    """Of a step with θ and the weight w: shares of h in the velocity at its start, and at its end,
    and share of a damper in the latter."""
    start = (2.0 * theta - 1.0) + 2.0 * (1.0 - theta) * w
    end = theta * theta + (1.0 - theta * theta) * w
    return start, end, theta + (1.0 - theta) * w


@inlined(fastmath=VECTOR)
def normal_force(k, d, volume, facing, area, damped, out_speed, h, theta, w):
    """The elastic force, along the face's own normal, the force by velocity, along the direction of
    contact [N], and the derivative of the latter [N·s/m].

    volume: ∫ s dA [m³]; facing: cosine of the two directions; area that touches [m²]; damped:
    ∫ min(s/s_d0, 1) dA [m²], both times facing; out_speed: speed out of the other body [m/s]."""
    start, end, damper = shares(theta, w)
    elastic = k * volume
    damping = damped * d
    if damping * out_speed > facing * elastic:
        # a damper does not pull
        damping = facing * elastic / out_speed
    moving = -(damping + start * h * k * area) * out_speed
    if facing * elastic + moving <= 0.0 and w < 1.0:
        return 0.0, 0.0, 0.0
    return elastic, moving, damper * damping + end * h * k * area


@inlined(fastmath=VECTOR)
def friction(c, d, stick, slip, slipping, ex, ey, ez, vx, vy, vz, h, theta, w):
    """The force that the face takes along the displacement (−F_T) [N], its direction if it slips,
    its derivatives along and across [N·s/m] and whether it slips.

    c, d: of the face [N/m], [N·s/m]; stick, slip: μ F_N of both [N]; e: displacement at q_m."""
    _, end, damper = shares(theta, w)
    reach = (theta + 2.0 * (1.0 - theta) * w) * h
    sx, sy, sz = c * (ex + reach * vx), c * (ey + reach * vy), c * (ez + reach * vz)
    squared = sx * sx + sy * sy + sz * sz
    most = slip if slipping else stick
    if squared <= most * most:
        gx, gy, gz = sx + d * vx, sy + d * vy, sz + d * vz
        if gx * gx + gy * gy + gz * gz > most * most:
            # as much damping as fits: |s + f d v| = most
            a = d * d * (vx * vx + vy * vy + vz * vz)
            b = d * (sx * vx + sy * vy + sz * vz)
            part = (math.sqrt(b * b + a * (most * most - squared)) - b) / a
            d = max(part, 0.0) * d
            gx, gy, gz = sx + d * vx, sy + d * vy, sz + d * vz
        slope = c * end * h + damper * d
        return gx, gy, gz, 0.0, 0.0, 0.0, slope, slope, False
    size = math.sqrt(squared)
    ux, uy, uz = sx / size, sy / size, sz / size
    return slip * ux, slip * uy, slip * uz, ux, uy, uz, 0.0, slip / size * c * end * h, True


@inlined(fastmath=VECTOR)
def drag_anchor(c, stick, slip, slipping, slipped, ex, ey, ez, vx, vy, vz, rest):
    """The displacement e after a step, cut back to what friction holds, and whether it slips; v is
    the velocity along the surface [m/s]."""
    squared = c * c * (ex * ex + ey * ey + ez * ez)
    most = slip if slipping or slipped else stick
    if squared > most * most:
        part = slip / math.sqrt(squared)
        return part * ex, part * ey, part * ez, True
    moves = vx * vx + vy * vy + vz * vz >= rest * rest
    return ex, ey, ez, (slipping or slipped) and moves
