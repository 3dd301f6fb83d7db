"""Ding's closed form: the integrals of a wheel's stresses, taken as triangles over the arc.

L. Ding, H. Gao, Z. Deng, W. Li: Advances in simulation of planetary wheeled mobile robots, 2011,
eq. (16). With σ and τ rising linearly from the exit angle θ₂ to θ_m = θ₁/2 and falling to zero at
the entry angle θ₁,

    A = (cos θ_m − cos θ₂)/(θ_m − θ₂) + (cos θ_m − cos θ₁)/(θ₁ − θ_m)     ∫ σ cos θ dθ = σ_m A
    B = (sin θ_m − sin θ₂)/(θ_m − θ₂) + (sin θ_m − sin θ₁)/(θ₁ − θ_m)     ∫ σ sin θ dθ = σ_m B
    C = (θ₁ − θ₂)/2                                                       ∫ σ dθ = σ_m C
    σ_m = k rᴺ (cos θ_m − cos θ₁)ᴺ,  k = k_c/b + k_φ,  N = n₀ + n₁ |s|
    D = 1 − exp{−r_s [(θ₁′ − θ_m) − (1 − s)(sin θ₁′ − sin θ_m)]/K}        not printed; it is the
                                                                          bracket of τ_m
    τ_m = (c + σ_m tan φ) D

    F_N = r b A σ_m + r_s b B τ_m
    M_R = r_s² C D [b c + (1 + c_M (W̄ − F_N)/W̄) F_N tan φ/(r A)] / [1 + r_s B D tan φ/(r A)]
    F_DP = [M_R (A² + B²)/(r_s A C) − B F_N/A] (1 + c_P1 + c_P2 s)(1 + c_P3 (W̄ − F_N)/W̄)

M_R is r_s² b C τ_m with τ_m expressed by F_N, and F_DP the same for r_s b A τ_m − r b B σ_m:
without the four corrections both are the exact integrals of the triangles. W̄ is the mean load of
the rover's wheels. 1 − s is v_x/w here, so that braking is covered; |s| is taken in N, and the
first correction does not fall below zero. Side force by `arc`, eqs. (17) to (20).

Coefficients: c_P1, c_P2, c_P3, c_M (0: the plain closed form), mean_load W̄ [N].
Assumption of the source: θ₂ ≈ 0; here the exit rule of the tread decides, as in all models.
"""

from __future__ import annotations

import math

from marsyard.interaction.wheel_models.arc import angles, arc_forces, mobilised, slip_ratio, speeds
from marsyard.interaction.wheel_models.numbers import (
    COHESION,
    ENTRY,
    EXIT,
    EXPONENT,
    EXPONENT_SLIP,
    F_X,
    F_Z,
    K_X,
    M_Y,
    MODULUS,
    RADIUS,
    RESISTANCE,
    SHEAR_RADIUS,
    TAN_PHI,
    THRUST,
    WIDTH,
)
from marsyard.jit import kernel

C_P1, C_P2, C_P3, C_M, MEAN_LOAD = range(5)
COEFFICIENTS = {"c_P1": 0.0, "c_P2": 0.0, "c_P3": 0.0, "c_M": 0.0, "mean_load": 1.0}


@kernel
def ding(wheel, soil, own, z, v_x, v_y, w, out):
    """Forces on a wheel that rolls forward."""
    # side force and its moments first; they leave the rest to the closed form
    if v_y != 0.0:
        arc_forces(wheel, soil, 0.5, 0.0, False, z, v_x, v_y, w, out)
    else:
        for i in range(out.shape[0]):
            out[i] = 0.0
    r, b, r_s = wheel[RADIUS], wheel[WIDTH], wheel[SHEAR_RADIUS]
    c, tan_phi = soil[COHESION], soil[TAN_PHI]
    s = slip_ratio(v_x, w)
    entry, lug, leave = angles(wheel, z)
    top = 0.5 * entry
    A = (math.cos(top) - math.cos(leave)) / (top - leave)
    A += (math.cos(top) - math.cos(entry)) / (entry - top)
    B = (math.sin(top) - math.sin(leave)) / (top - leave)
    B += (math.sin(top) - math.sin(entry)) / (entry - top)
    C = 0.5 * (entry - leave)
    N = soil[EXPONENT] + soil[EXPONENT_SLIP] * abs(s)
    sigma = soil[MODULUS] * r**N * (math.cos(top) - math.cos(entry)) ** N
    ahead, _ = speeds(v_x, v_y, w)
    j = r_s * ((lug - top) - ahead * (math.sin(lug) - math.sin(top)))
    D = mobilised(j, soil[K_X])
    # cohesion and friction act against the motion, whichever way it is
    tau = (c + sigma * tan_phi) * D
    normal = r * b * A * sigma + r_s * b * B * tau
    lighter = (own[MEAN_LOAD] - normal) / own[MEAN_LOAD]
    below = 1.0 + r_s * B * D * tan_phi / (r * A)
    friction = (1.0 + own[C_M] * lighter) * normal * tan_phi / (r * A)
    moment = r_s * r_s * C * D * (b * c + friction) / below
    grip = moment * (A * A + B * B) / (r_s * A * C)
    factor = max(0.0, 1.0 + own[C_P1] + own[C_P2] * s) * (1.0 + own[C_P3] * lighter)
    out[F_X] = (grip - B * normal / A) * factor
    out[F_Z] = normal
    out[M_Y] = -moment
    out[ENTRY], out[EXIT] = entry, leave
    out[RESISTANCE] = r * b * B * sigma
    out[THRUST] = out[F_X] + out[RESISTANCE]
