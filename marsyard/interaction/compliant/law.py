"""The contact law of one element: normal stress by penetration, friction by displacement.

Source: C. Grand, F. Ben Amar, P. Bidaud, G. Andrade, A simulation system for behaviour evaluation
of off-road mobile robots, CLAWAR 2001, section 3.1.

Normal force. A flat element of area A [m²] and length l [m] with its outward normal m stands with
its middle at the depth δ [m] below the ground, whose normal is n. Over the element the depth varies
by ± a, a = ½ l sin(m, −n). The force is the mean over the element,

    F_n = A max(0, k ⟨δ₊⟩ + c s δ̇)                          k [Pa/m], c [Pa·s/m]
    ⟨δ₊⟩ = δ,   s = 1                    for δ ≥ a           the whole element is in the ground
         = (δ + a)²/(4a),   s = (δ + a)/(2a)   for |δ| < a   a part s of it
         = 0                             for δ ≤ −a

and acts in the middle of its pressure: shifted from the element's middle towards its deeper end by
l² sin/(12 δ), or l/2 − s l/3. Elements that do not face the ground (m·n > −0.1) carry nothing.

An element that is an arc of radius r about an axle stands over the angles ψ₁ to ψ₂ from the arc's
deepest point, whose depth is δ₀. With r' = r sin(axle, n), the depth of the arc above ψ is

    δ(ψ) = δ₀ − r' (1 − cos ψ),  in the ground for |ψ| < ψ₀,  sin²(ψ₀/2) = δ₀/(2 r')

and over the angles α to β that are in the ground, the part s = (β − α)/(ψ₂ − ψ₁) of it, with
x = r sin ψ along the ground,

    ⟨δ₊⟩ (ψ₂ − ψ₁) = (δ₀ − r') (β − α) + r' (sin β − sin α)
    ∫ δ sin ψ dψ   = ½ (cos α − cos β) (δ(α) + δ(β))
    x̄  = r (cos α − cos β)/(β − α)                                  the middle of that part
    σ² = r² (½ − ¼ (sin 2β − sin 2α)/(β − α)) − x̄²                  and its spread

F_n acts at x̄, and with it the moment of the pressure's distribution: A k ⟨δ₊⟩ (x_p − x̄) with the
middle of the elastic pressure x_p, and A s c σ² ω of the damping, ω [rad/s] the rate at which the
wheel rolls over it (no more than F_n σ). The arcs of a ring add up to the integral over the ring,
wherever they stand and whatever their length: neither force nor moment depends on the wheel's
angle. (Flat elements make a polygon of the wheel, which rolls into its hollows.) Across, an arc is
looked at in two rows, at ± w/√12 of its width w (Gauss).

Friction. F_t = −μ F_n κ e. e [m] is the elastic part of the element's displacement X along the
ground since it touched, s [m] the distance it has slipped, X = e + s, and for a displacement dX

    X* = |e + dX| + s,    s ← max(s, X* − φ(X*)/κ),    |e| ← X* − s

For a displacement in one direction this is the curve itself, |F_t|/F_n = μ φ(X), exactly and with
any steps; when it turns round, the element is unloaded with the steepest slope κ of the curve, and
yields the other way where the curve has come to (isotropic hardening, and weakening past a peak).
Inside that range it is a spring: there is no velocity in the law, and what sticks does not creep.
dX along the curve is split by s' = 1 − φ'/κ ≥ 0, so that slip is never taken back, and what it
dissipates, μ F_n κ |e| ds ≥ 0.

The stored energy is ½ μ F_n κ e². Where F_n grows, the force is kept and not its ratio,
e ← e F_n,before/F_n, as new pressure brings no shear with it; where F_n falls, e is kept. Both ways
stored energy can only be lost: T²/(2 μ F_n κ) falls as F_n grows at constant T, and ½ μ F_n κ e²
falls with F_n.

A sticking element also damps, with the ground's own relaxation time τ = c/k [s]: κ (e + τ v_t) in
place of κ e as long as it does not slip.

e and s are forgotten when the element leaves the ground.

Time step. The force is that in the middle of the step, in the sense of θ (`moreau_jean`): with the
velocity v at its start and v⁺ at its end,

    δ_θ = δ(q_m) + (1−θ)² h v_n − θ² h v_n⁺,     e_θ = e + h (θ(1−θ) v_t + θ² v_t⁺)

linearised about v⁺ = v. `press` and `shear` give the force there and its derivative,

    D = A s θ (c + θ h k) n nᵀ + μ F_n [d_along ê êᵀ + d_across (1 − ê êᵀ − n nᵀ)],

which goes into the inertia matrix. θ = ½ keeps energy and is of second order, θ = 1 damps.
"""

from __future__ import annotations

import math

from marsyard.interaction.compliant.curves import DENSE, LOOSE
from marsyard.jit import FUSED, inlined, inner, kernel

#: m·n of elements that face the ground lies below this
FACING = -0.1
#: slip below this is rounding [m], and relative to the slip so far
_NO_SLIP, _SAME = 1e-15, 1e-12


@inlined(fastmath=FUSED)
def curve(numbers, xs, ys, x):
    """φ and φ' [1/m] at the displacement x [m]."""
    kind = numbers[0]
    if kind == LOOSE:
        gone = math.exp(-x / numbers[3])
        return 1.0 - gone, gone / numbers[3]
    if kind == DENSE:
        length, beta = numbers[3], numbers[4]
        gone = math.exp(-x / length)
        rest = (1.0 - gone) * (1.0 + beta * gone)
        return rest, gone / length * (2.0 * beta * gone - beta + 1.0)
    last = xs.shape[0] - 1
    if x >= xs[last]:
        return ys[last], 0.0
    i = 0
    while x >= xs[i + 1]:
        i += 1
    slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])
    return ys[i] + slope * (x - xs[i]), slope


@inlined
def immersed(depth, slant, length):
    """Mean depth [m], part in the ground, and how far the middle of pressure lies from that of the
    element towards its deeper end [m]; slant is the sine between element and ground."""
    a = 0.5 * length * slant
    if depth >= a:
        shift = length * length * slant / (12.0 * depth) if depth > 0.0 else 0.0
        return depth, 1.0, shift
    if depth <= -a:
        return 0.0, 0.0, 0.0
    part = (depth + a) / (2.0 * a)
    return part * part * a, part, length * (0.5 - part / 3.0)


@kernel
def immersed_arc(deepest, radius, middle, half):
    """Mean depth [m], part in the ground, sin ψ of the middle of pressure and of the middle of that
    part, and the variance of sin ψ over it.

    deepest: depth of the arc's deepest point [m], middle: angle of the arc's own middle from it."""
    if deepest <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    cosine, sine = math.cos(middle), math.sin(middle)
    al, cl, ah, ch = arc_ends(cosine, sine, math.sin(0.5 * half), math.cos(0.5 * half))
    if all_in_ground(deepest, radius, al, cl, ah, ch):
        mean, pressed = whole_arc(deepest, radius, al, cl, ah, ch, 2.0 * half, 0.5 / half)
        centre, spread = middle_of_arc(al, cl, ah, ch, 0.5 / half)
        return mean, 1.0, pressed, centre, spread
    return part_of_arc(deepest, radius, half, al, cl, ah, ch)


@inlined(fastmath=FUSED)
def arc_ends(cosine, sine, half_sine, half_cosine):
    """Sine and cosine of half the angles of both ends of an arc, from the deepest point on; of its
    middle's angle, and of a quarter of its own angle."""
    if cosine > -0.5:
        c = math.sqrt(0.5 * (1.0 + cosine))
        s = 0.5 * sine / c
    else:
        s = math.copysign(math.sqrt(0.5 * (1.0 - cosine)), sine)
        c = 0.5 * sine / s
    return (
        s * half_cosine - c * half_sine, c * half_cosine + s * half_sine,
        s * half_cosine + c * half_sine, c * half_cosine - s * half_sine,
    )  # fmt: skip


@inlined(fastmath=FUSED)
def all_in_ground(deepest, radius, al, cl, ah, ch):
    """Whether both ends of an arc, and so all of it, are in the ground."""
    if cl < 0.0 or ch < 0.0:
        return False
    return (al >= 0.0 or 2.0 * radius * al * al <= deepest) and (
        ah <= 0.0 or 2.0 * radius * ah * ah <= deepest
    )


# by half angles: barely in the ground, differences of cosines would be rounding


@inlined(fastmath=FUSED)
def whole_arc(deepest, radius, al, cl, ah, ch, wide, inverse):
    """Mean depth [m] between two ends, and sin ψ of the middle of pressure; inverse: 1/wide."""
    whole = (deepest - radius) * wide + 2.0 * radius * (ah * ch - al * cl)
    if whole <= 0.0:
        return 0.0, 0.0
    moment = 2.0 * (ah * ah - al * al) * (deepest - radius * (al * al + ah * ah))
    return whole * inverse, min(max(moment / whole, -1.0), 1.0)


@inlined(fastmath=FUSED)
def middle_of_arc(al, cl, ah, ch, inverse):
    """Mean and variance of sin ψ between two ends; inverse: one over the angle between them."""
    centre = 2.0 * (ah * ah - al * al) * inverse
    twice = 2.0 * (ah * ch * (1.0 - 2.0 * ah * ah) - al * cl * (1.0 - 2.0 * al * al))
    return centre, max(0.5 - 0.5 * twice * inverse - centre * centre, 0.0)


@inlined(fastmath=FUSED)
def arcsine(x):
    """arcsin x, by its series where that is exact to the last digit or two."""
    if abs(x) > 0.1:
        return math.asin(x)
    y = x * x
    s = 231.0 / 13312.0 + y * (143.0 / 10240.0)
    s = 35.0 / 1152.0 + y * (63.0 / 2816.0 + y * s)
    return x + x * y * (1.0 / 6.0 + y * (3.0 / 40.0 + y * (5.0 / 112.0 + y * s)))


@inner(fastmath=FUSED)
def part_of_arc(deepest, radius, half, al, cl, ah, ch):
    """As `immersed_arc`, of an arc that may be in the ground with a part only."""
    if deepest <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    border = math.sqrt(deepest / (2.0 * radius)) if deepest < 2.0 * radius else 1.0
    level = math.sqrt(1.0 - border * border)
    # an end with a negative cosine is beyond the highest point
    if (ch >= 0.0 and ah < -border) or (cl >= 0.0 and al > border):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    if cl < 0.0 or al < -border:
        al, cl = -border, level
    if ch < 0.0 or ah > border:
        ah, ch = border, level
    wide = 2.0 * (arcsine(ah) - arcsine(al))
    if wide <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    inverse = 1.0 / wide
    mean, pressed = whole_arc(deepest, radius, al, cl, ah, ch, wide, inverse)
    if mean <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    part = wide / (2.0 * half)
    centre, spread = middle_of_arc(al, cl, ah, ch, inverse)
    return part * mean, part, pressed, centre, spread


@inlined(fastmath=FUSED)
def press(k, c, area, mean, part, speed, h, theta):
    """Normal force [N] for the mean depth, and its derivative [N·s/m]; speed v_n out of the ground
    [m/s]."""
    force = area * (k * mean - part * (c + (2.0 * theta - 1.0) * h * k) * speed)
    if force <= 0.0:
        return 0.0, 0.0
    return force, area * part * theta * (c + theta * h * k)


@inlined(fastmath=FUSED)
def spread_pressure(k, c, area, part, force, rate, h, theta):
    """As `press`, for what the damping's part of the pressure does by its spread: moment per spread
    [N] where the speed changes by `rate` [m/s] over it, and its derivative; no more than the force.
    """
    pull = -area * part * (c + (2.0 * theta - 1.0) * h * k) * rate
    if abs(pull) >= force:
        return math.copysign(force, pull), 0.0
    return pull, area * part * theta * (c + theta * h * k)


@inlined(fastmath=FUSED)
def advance_slip(numbers, xs, ys, size, slip):
    """The return to the curve: elastic size and slip [m] after a trial |e + dX| = size, φ and φ'
    at the curve, and whether it slips."""
    x = size + slip
    share, slope = curve(numbers, xs, ys, x)
    after = x - share / numbers[1]
    if after > slip * (1.0 + _SAME) + _NO_SLIP:
        return x - after, after, share, slope, True
    return size, slip, numbers[1] * size, numbers[1], False


@inlined(fastmath=FUSED)
def shear(numbers, xs, ys, tx, ty, tz, slip, vx, vy, vz, delay, h, theta):
    """Share of μ F_n along each axis for the trial e_θ = t and velocity v in the tangent plane, its
    direction, and its derivatives along and across [s/m].

    Returns gx, gy, gz, ex, ey, ez, along, across."""
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    kappa = numbers[1]
    half = theta * theta * h
    if size < 1e-300:
        damp = kappa * delay
        d = kappa * half + theta * damp
        return damp * vx, damp * vy, damp * vz, 0.0, 0.0, 0.0, d, d
    elastic, _, share, slope, slips = advance_slip(numbers, xs, ys, size, slip)
    ex, ey, ez = tx / size, ty / size, tz / size
    g = kappa * elastic
    if slips:
        return g * ex, g * ey, g * ez, ex, ey, ez, max(slope, 0.0) * half, g / size * half
    damp = kappa * delay
    gx, gy, gz = g * ex + damp * vx, g * ey + damp * vy, g * ez + damp * vz
    if gx * gx + gy * gy + gz * gz > numbers[2] * numbers[2]:
        # more than the curve ever gives: without damping
        damp = 0.0
        gx, gy, gz = g * ex, g * ey, g * ez
    d = kappa * half + theta * damp
    return gx, gy, gz, ex, ey, ez, d, d


@kernel
def shear_path(numbers, xs, ys, path, ratio):
    """|F_t|/(μ F_n) with the sign of F_t along a path of displacements in one dimension [m]: the
    law alone, for figures and tests."""
    e = 0.0
    s = 0.0
    last = 0.0
    for i in range(path.shape[0]):
        trial = e + path[i] - last
        last = path[i]
        size, s, _, _, _ = advance_slip(numbers, xs, ys, abs(trial), s)
        e = math.copysign(size, trial)
        ratio[i] = numbers[1] * e
