"""Stresses along the arc in which a rigid wheel touches soil, and their integrals.

A wheel of radius r and width b, sunk by z, touches the soil from the entry angle θ₁ in front of the
lowest point to the exit angle θ₂ behind it (θ positive forward).

    θ₁ = acos(1 − z/r)
    θ₂ = −acos(1 − z_e/r)   exit rule "rebound", z_e = σ_m/k_u + λ z_s (`interaction.tread`)
    θ₂ = −acos(1 − λ z/r)   exit rule "height": soil rises behind the wheel to λ z
    θ₂ = −λ θ₁              exit rule "angle"

The exit alone can turn the pull of a wheel from negative to positive (Ishigami et al. 2005 fitted
λ z with λ of 0.1 to 0.3 to a smooth wheel and of 1.0 to 1.2 to one with paddles, the same at all
slips). "rebound" follows from soil, tread and slip.

Normal stress (Wong and Reece 1967), largest at θ_m = (a₀ + a₁ s) θ₁:

    σ = k rᴺ (cos θ − cos θ₁)ᴺ                                            θ_m ≤ θ ≤ θ₁
    σ = k rᴺ (cos[θ₁ − (θ − θ₂)(θ₁ − θ_m)/(θ_m − θ₂)] − cos θ₁)ᴺ           θ₂ ≤ θ ≤ θ_m
    k = (k_c/b + k_φ) K_ss^(−n N/(n+1))
    N = n + n₁ |s| + n₂ |λ|,   λ = v_y/max(|w|, |v_x|, |v_y|)

K_ss is Lyasko's slip sinkage (`interaction.tread`). What lugs dig away, z_s, is not pressed: z is
the sinkage less z_s.

n₁ is slip sinkage as Ding et al. (2009) have it. n₂ carries their idea over to motion across the
wheel (ours; 0 unless a soil gives it): soil carried aside is lost under the wheel like soil carried
back. Pavlov's wheel sinks 14 mm rolling straight and 26 mm at 45°; with n₂ the models follow.

Shear displacement of the soil under the wheel since it was met, with ρ = v_x/w, w = r_s ω the speed
of its shearing surface (ρ = 1 − s driving, 1/(1 + s) braking):

    j_x = r_s [(θ₁′ − θ) − ρ (sin θ₁′ − sin θ)],   j_y = r_s (v_y/w) (θ₁′ − θ)

r_s is the radius at which soil shears: r for smooth wheels, up to r + h with lugs of height h;
θ₁′ = acos((r − z)/R_j) begins where the lugs do, R_j = r + λ_l h between r and r + h (Ding et al.
2011). Lugs begin to shear the soil before the rim does, about half their height on average, and the
rim where it meets the soil; together λ_l = ½ f, f the share of the tread on which soil shears on
soil (`interaction.tread`), ½ for a wheel as the published models have it.
Shear stress (Janosi and Hanamoto 1961), j_x > 0 pushes the wheel forward:

    separate (Ishigami et al. 2007)   τ_x = (c + σ tan φ)(1 − e^(−|j_x|/K_x)) sgn j_x, same for y
    together                          τ = (c + σ tan φ)(1 − e^(−q)) along (j_x, j_y),
                                      q² = (j_x/K_x)² + (j_y/K_y)²: never above the strength

Forces on the wheel:

    F_x = r_s b ∫ τ_x cos θ dθ − r b ∫ σ sin θ dθ        thrust less compaction resistance
    F_z = r b ∫ σ cos θ dθ + r_s b ∫ τ_x sin θ dθ
    F_y = −r_s b ∫ τ_y dθ − F_b,   M_y = −r_s² b ∫ τ_x dθ
    M_x = ∫ r cos θ dF_y,          M_z = ∫ r sin θ dF_y

Bulldozing by the wheel's side, R_b(d) on a blade of unit width and depth d: `side_wall`. The side
reaches d(θ) = r (cos θ − cos θ₁) + z_s deep at x = r sin θ, so F_b = ∫ R_b(d) r cos θ dθ. (The
weight "r − h cos θ" printed in (17) is not a length of the side; for small angles both are nearly
r.) A blade needs some distance to mobilise the soil: F_b is multiplied by 1 − e^(−|j_y(θ₂)|/K_y),
which makes it vanish smoothly with the side slip.

Quadrature: Gauss-Legendre with 8 points on each side of θ_m, after θ = θ₁ − (θ₁ − θ_m) u² in front
and θ = θ₂ + (θ_m − θ₂) u² behind, because σ starts like a power N < 1 there. Relative error below
1e-4 against a fine rule over the whole range of use (see the verification test).
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.interaction.slip import softened
from marsyard.interaction.wheel_models.numbers import (
    BLADE,
    BLADE_SQUARE,
    BY_HEIGHT,
    BY_REBOUND,
    COHESION,
    DUG,
    ENTRY,
    EXIT,
    EXIT_RULE,
    EXIT_VALUE,
    EXPONENT,
    EXPONENT_SIDE,
    EXPONENT_SLIP,
    F_X,
    F_Y,
    F_Z,
    K_X,
    K_Y,
    LIFTED,
    LUG_RADIUS,
    M_X,
    M_Y,
    M_Z,
    MODULUS,
    RADIUS,
    RESISTANCE,
    SHEAR_RADIUS,
    SLOPE_X,
    SLOPE_Y,
    SOFTENING,
    STILL,
    TAN_PHI,
    THRUST,
    UNLOADING,
    WIDTH,
)
from marsyard.jit import inlined, kernel

_POINTS, _WEIGHTS = (a.copy() for a in np.polynomial.legendre.leggauss(8))
_U = 0.5 * (_POINTS + 1.0)
_WU = 0.5 * _WEIGHTS
#: the wheel's axle stays above the ground
DEEPEST = 0.95
#: a wheel that spins on the spot digs no deeper, in radii
MOST_DUG = 0.5


@inlined
def slip_ratio(v_x, w):
    """s = (w − v_x)/max(|w|, |v_x|), 0 at rest, for motion forward."""
    size = max(abs(w), abs(v_x))
    return min(max((w - v_x) / size, -1.0), 1.0) if size > STILL else 0.0


@inlined
def exponent(soil, v_x, v_y, w):
    """N = n + n₁ |s| + n₂ |λ|: slip sinkage, along and across."""
    size = max(abs(v_x), abs(v_y), abs(w))
    aside = abs(v_y) / size if size > STILL else 0.0
    along = abs(slip_ratio(v_x, w))
    return soil[EXPONENT] + soil[EXPONENT_SLIP] * along + soil[EXPONENT_SIDE] * aside


@inlined
def depth_of(wheel, soil, z):
    """The depth pressed, as far as the models go."""
    return min(max(z, 0.0), DEEPEST * wheel[RADIUS] - soil[DUG])


@inlined
def entry_angles(wheel, soil, z):
    """Entry angle of the rim and of the lugs [rad]."""
    r = wheel[RADIUS]
    return math.acos(1.0 - z / r), math.acos(min((r - z) / soil[LUG_RADIUS], 1.0))


@inlined
def modulus(soil, N, s):
    """k of the pressure-sinkage law under a wheel that slips."""
    return soil[MODULUS] * softened(soil[SOFTENING] * N, s)


@inlined
def exit_angle(wheel, soil, s, z, entry, sigma):
    """θ₂ for the largest stress σ_m [rad]."""
    if wheel[EXIT_RULE] == BY_REBOUND:
        filled = sigma / soil[UNLOADING]
        if s > 0.0:
            filled += wheel[EXIT_VALUE] * soil[LIFTED] * soil[DUG]
        return -math.acos(1.0 - min(filled, z + soil[DUG]) / wheel[RADIUS])
    if wheel[EXIT_RULE] == BY_HEIGHT:
        return -math.acos(1.0 - min(wheel[EXIT_VALUE] * z / wheel[RADIUS], DEEPEST))
    return -wheel[EXIT_VALUE] * entry


@inlined
def peak_share(a0, a1, s):
    """θ_m/θ₁, well inside the arc."""
    return min(max(a0 + a1 * s, 0.02), 0.98)


@inlined
def speeds(v_x, v_y, w):
    """v_x/w and v_y/w, bounded; for a wheel that does not turn they are as large as numbers get."""
    size = max(abs(v_x), abs(v_y), abs(w))
    if size < STILL:
        return 1.0, 0.0
    turn = max(w, 1e-6 * size)
    return v_x / turn, v_y / turn


@inlined
def mobilised(j, K):
    """(1 − e^(−|j|/K)) sgn j."""
    return math.copysign(-math.expm1(-abs(j) / K), j)


@kernel
def arc_forces(wheel, soil, a0, a1, together, z, v_x, v_y, w, out):
    """Forces of the soil on a wheel that rolls forward (v_x, w ≥ 0), into `out`."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    r, b, r_s = wheel[RADIUS], wheel[WIDTH], wheel[SHEAR_RADIUS]
    c, tan_phi, K_x, K_y = soil[COHESION], soil[TAN_PHI], soil[K_X], soil[K_Y]
    s = slip_ratio(v_x, w)
    z = depth_of(wheel, soil, z)
    entry, lug = entry_angles(wheel, soil, z)
    floor = math.cos(entry)
    N = exponent(soil, v_x, v_y, w)
    scale = modulus(soil, N, s) * r**N
    top = peak_share(a0, a1, s) * entry
    leave = exit_angle(wheel, soil, s, z, entry, scale * (math.cos(top) - floor) ** N)
    top = max(top, leave + 0.02 * (entry - leave))
    ahead, aside = speeds(v_x, v_y, w)
    sin_lug = math.sin(lug)
    to_side = mobilised(r_s * aside * (lug - leave), K_y)
    by_depth, by_square = soil[BLADE], soil[BLADE_SQUARE]
    # −∂(v_x/w)/∂s
    faster = 1.0 if s >= 0.0 else ahead * ahead
    Fx = Fy = Fz = Mx = My = Mz = thrust = resistance = slope_x = slope_y = 0.0
    for side in range(2):
        if side == 0:
            start, length = entry, top - entry
        else:
            start, length = leave, top - leave
        for k in range(_U.shape[0]):
            u = _U[k]
            theta = start + length * u * u
            dtheta = abs(length) * 2.0 * u * _WU[k]
            like = theta
            if side == 1:
                like = entry - (theta - leave) * (entry - top) / (top - leave)
            depth = max(math.cos(like) - floor, 0.0)
            sigma = scale * depth**N
            strength = c + sigma * tan_phi
            jx = r_s * ((lug - theta) - ahead * (sin_lug - math.sin(theta)))
            jy = r_s * aside * (lug - theta)
            if together:
                px, py = jx / K_x, jy / K_y
                q = math.sqrt(px * px + py * py)
                size = math.sqrt(jx * jx + jy * jy)
                part = -math.expm1(-q) / size if size > 0.0 else 0.0
                tau_x, tau_y = strength * part * jx, strength * part * jy
                left_x = left_y = 1.0 + math.expm1(-q)
            else:
                mx, my = mobilised(jx, K_x), mobilised(jy, K_y)
                tau_x, tau_y = strength * mx, strength * my
                left_x, left_y = 1.0 - abs(mx), 1.0 - abs(my)
            cos, sin = math.cos(theta), math.sin(theta)
            grip = r_s * r_s * b * strength * dtheta
            slope_x += grip * left_x / K_x * faster * (sin_lug - sin) * cos
            slope_y += grip * left_y / K_y * (lug - theta)
            push = r_s * b * tau_x * dtheta
            press = r * b * sigma * dtheta
            deep = max(r * (cos - floor), 0.0) + soil[DUG]
            fy = -r_s * b * tau_y * dtheta
            fy -= to_side * deep * (by_depth + by_square * deep) * r * cos * dtheta
            thrust += push * cos
            resistance += press * sin
            Fz += press * cos + push * sin
            Fy += fy
            My -= r_s * push
            Mx += r * cos * fy
            Mz += r * sin * fy
    Fx = thrust - resistance
    out[F_X], out[F_Y], out[F_Z] = Fx, Fy, Fz
    out[M_X], out[M_Y], out[M_Z] = Mx, My, Mz
    out[ENTRY], out[EXIT] = entry, leave
    out[THRUST], out[RESISTANCE] = thrust, resistance
    out[SLOPE_X], out[SLOPE_Y] = slope_x, slope_y
