"""Ding's closed form: the integrals of a wheel's stresses, taken as triangles over the arc.

L. Ding, H. Gao, Z. Deng, W. Li: Advances in simulation of planetary wheeled mobile robots, 2011,
eq. (16). With σ and τ rising linearly from the exit angle θ₂ to θ_m = (a₀ + a₁ s) θ₁ and falling to
zero at the entry angle θ₁,

    A = (cos θ_m − cos θ₂)/(θ_m − θ₂) + (cos θ_m − cos θ₁)/(θ₁ − θ_m)     ∫ σ cos θ dθ = σ_m A
    B = (sin θ_m − sin θ₂)/(θ_m − θ₂) + (sin θ_m − sin θ₁)/(θ₁ − θ_m)     ∫ σ sin θ dθ = σ_m B
    C = (θ₁ − θ₂)/2                                                       ∫ σ dθ = σ_m C
    σ_m = k rᴺ (cos θ_m − cos θ₁)ᴺ,  k = k_c/b + k_φ,  N = n₀ + n₁ |s| + n₂ |λ|
    D = 1 − exp{−r_s [(θ₁′ − θ_m) − (1 − s)(sin θ₁′ − sin θ_m)]/K}        not printed; it is the
                                                                          bracket of τ_m
    τ_m = (c + σ_m tan φ) D

    F_N = r b A σ_m + r_s b B τ_m
    M_R = r_s² C D [b c + (1 + c_M (W̄ − F_N)/W̄) F_N tan φ/(r A)] / [1 + r_s B D tan φ/(r A)]
    F_DP = [M_R (A² + B²)/(r_s A C) − B F_N/A] (1 + c_P1 + c_P2 s)(1 + c_P3 (W̄ − F_N)/W̄)

M_R is r_s² b C τ_m with τ_m expressed by F_N, and F_DP the same for r_s b A τ_m − r b B σ_m:
without the four corrections both are the exact integrals of the triangles. W̄ is the mean load of
the rover's wheels; where it is not known (0) each wheel's own load stands in. 1 − s is v_x/w here,
so that braking is covered; |s| is taken in N, n₂ is that of `arc` (0 in the source). No correction
falls below zero: they are fitted near W̄, and under several times that load pull and torque would
change their sign.

Side force, eqs. (17) to (20), with the same triangles and j_y as in `arc`:

    τ_ym = (c + σ_m tan φ)(1 − e^(−|j_y(θ_m)|/K_y)),   F_y = −r_s b C τ_ym − F_b
    F_b = (1 − e^(−|j_y(θ₂)|/K_y)) ∫ (a₁ d + a₂ d²) r cos θ dθ, d = r (cos θ − cos θ₁) + z_s, closed
    form between −θ₁ or θ₂, whichever is nearer, and θ₁;  M_x = r cos θ_m F_y, M_z = r sin θ_m F_y

Coefficients: c_P1, c_P2, c_P3, c_M (0: the plain closed form), mean_load W̄ [N], and peak_0 and
peak_1, a₀ and a₁. The source has θ_m = θ₁/2, which is peak_0 = 0.5 and peak_1 = 0 (`PUBLISHED`):
soils that were identified with it say so. Where nobody gives them, those of `wong_reece` stand in,
with a warning, so that models agree about the same wheel.
Assumption of the source: θ₂ ≈ 0; here the exit rule of the tread decides, as in all models.
"""

from __future__ import annotations

import math

from marsyard.interaction.wheel_models.arc import (
    depth_of,
    entry_angles,
    exit_angle,
    exponent,
    mobilised,
    modulus,
    peak_share,
    slip_ratio,
    speeds,
)
from marsyard.interaction.wheel_models.numbers import (
    BLADE,
    BLADE_SQUARE,
    COHESION,
    DUG,
    ENTRY,
    EXIT,
    F_X,
    F_Y,
    F_Z,
    K_X,
    K_Y,
    M_X,
    M_Y,
    M_Z,
    RADIUS,
    RESISTANCE,
    SHEAR_RADIUS,
    SLOPE_X,
    SLOPE_Y,
    TAN_PHI,
    THRUST,
    WIDTH,
)
from marsyard.interaction.wheel_models.wong_reece import COEFFICIENTS as PEAKS
from marsyard.jit import inlined, kernel

C_P1, C_P2, C_P3, C_M, MEAN_LOAD, PEAK_0, PEAK_1 = range(7)
COEFFICIENTS = {
    "c_P1": 0.0, "c_P2": 0.0, "c_P3": 0.0, "c_M": 0.0, "mean_load": 0.0, **PEAKS
}  # fmt: skip
#: θ_m = θ₁/2 of the source
PUBLISHED = {"peak_0": 0.5, "peak_1": 0.0}


@inlined
def beside(r, entry, theta):
    """∫ d r cos θ dθ and ∫ d² r cos θ dθ up to θ, d = r (cos θ − cos θ₁)."""
    floor = math.cos(entry)
    sin = math.sin(theta)
    double = 0.5 * theta + 0.25 * math.sin(2.0 * theta)
    one = r * r * (double - floor * sin)
    two = r * r * r * (sin - sin * sin * sin / 3.0 - 2.0 * floor * double + floor * floor * sin)
    return one, two


@kernel
def ding(wheel, soil, own, z, v_x, v_y, w, out):
    """Forces on a wheel that rolls forward."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    r, b, r_s = wheel[RADIUS], wheel[WIDTH], wheel[SHEAR_RADIUS]
    c, tan_phi = soil[COHESION], soil[TAN_PHI]
    s = slip_ratio(v_x, w)
    z = depth_of(wheel, soil, z)
    entry, lug = entry_angles(wheel, soil, z)
    top = peak_share(own[PEAK_0], own[PEAK_1], s) * entry
    cos_top, sin_top = math.cos(top), math.sin(top)
    N = exponent(soil, v_x, v_y, w)
    sigma = modulus(soil, N, s) * (r * (cos_top - math.cos(entry))) ** N
    leave = exit_angle(wheel, soil, s, z, entry, sigma)
    A = (cos_top - math.cos(leave)) / (top - leave) + (cos_top - math.cos(entry)) / (entry - top)
    B = (sin_top - math.sin(leave)) / (top - leave) + (sin_top - math.sin(entry)) / (entry - top)
    C = 0.5 * (entry - leave)
    ahead, aside = speeds(v_x, v_y, w)
    way = math.sin(lug) - sin_top
    D = mobilised(r_s * ((lug - top) - ahead * way), soil[K_X])
    strength = c + sigma * tan_phi
    normal = r * b * A * sigma + r_s * b * B * strength * D
    mean = own[MEAN_LOAD] if own[MEAN_LOAD] > 0.0 else normal
    lighter = (mean - normal) / max(mean, 1e-12)
    below = 1.0 + r_s * B * D * tan_phi / (r * A)
    friction = max(0.0, 1.0 + own[C_M] * lighter) * normal * tan_phi / (r * A)
    moment = r_s * r_s * C * D * (b * c + friction) / below
    grip = (A * A + B * B) / (r_s * A * C)
    factor = max(0.0, 1.0 + own[C_P1] + own[C_P2] * s) * max(0.0, 1.0 + own[C_P3] * lighter)
    out[F_X] = (moment * grip - B * normal / A) * factor
    out[F_Z] = normal
    out[M_Y] = -moment
    out[ENTRY], out[EXIT] = entry, leave
    out[RESISTANCE] = r * b * B * sigma
    out[THRUST] = out[F_X] + out[RESISTANCE]
    # −∂(v_x/w)/∂s
    faster = 1.0 if s >= 0.0 else ahead * ahead
    more = (1.0 - abs(D)) / soil[K_X] * r_s * way * faster
    out[SLOPE_X] = abs(factor) * r_s * r_s * C * (b * c + friction) / below * grip * more
    # across
    my = mobilised(r_s * aside * (lug - top), soil[K_Y])
    side = r_s * b * C * strength
    out[SLOPE_Y] = side * (1.0 - abs(my)) / soil[K_Y] * r_s * (lug - top)
    if aside != 0.0:
        by_depth, by_square = soil[BLADE], soil[BLADE_SQUARE]
        one, two = beside(r, entry, entry)
        first, second = beside(r, entry, max(leave, -entry))
        share = mobilised(r_s * aside * (lug - leave), soil[K_Y])
        # the walls of the trench that slip has dug stand above the ground that is pressed
        dug, one, two = soil[DUG], one - first, two - second
        plain = r * (math.sin(entry) - math.sin(max(leave, -entry)))
        two += dug * (2.0 * one + dug * plain)
        one += dug * plain
        fy = -side * my - share * (by_depth * one + by_square * two)
        out[F_Y] = fy
        out[M_X] = r * cos_top * fy
        out[M_Z] = r * sin_top * fy
