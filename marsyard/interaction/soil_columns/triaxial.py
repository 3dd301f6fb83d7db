"""A column under load: the curves of the triaxial test.

Grand et al. 2001, section 3.2, take the normal force from the curve of a triaxial test (a vertical
force on a sample under the lateral pressure P₀) and the matter that leaves a column from its second
curve, the change of volume. They give neither the curves nor what height and lateral pressure a
column in the field has. Here:

    z      sinkage of the body's surface below the column's level [m]
    H      active height of the column [m]: as deep as the load is felt, H = 2 b for a body of width
           b (Schmertmann 1970: strain ends two widths below a footing), less on a thin layer
    ε      axial strain, ε = z/H
    f      share of the strength that is mobilised, f = q/q_f of the test, 0 to 1

stress on the body [Pa], Kondner's hyperbola as Duncan and Chang (1970) use it

    p = q_f(z) f(ε),   f = min(1, ε/(ε_r + R_f ε)),   ε_r = q_f(0)/E_i

R_f is the failure ratio, E_i [Pa] the initial tangent modulus. f reaches 1 at ε_f = ε_r/(1 − R_f).
A soil with a residual angle softens from there: f = r + (1 − r) e^(−(ε − ε_f)/ε_s),
r = (K_r − 1)/(K_p − 1) with K = tan²(45° + φ/2) for its two angles. A measured curve of (strain,
deviator stress) points replaces f, divided by its largest stress, straight between the points.

strength [Pa]. The force of a test is the deviator's, q_f = (2 c cos φ + 2 P₀ sin φ)/(1 − sin φ)
(Mohr-Coulomb). In the field P₀ is what the neighbours can put up against being pushed away. It is
taken so that q_f is the bearing capacity of a strip of the body's width (Terzaghi 1943, factors of
Prandtl, Reissner and Vesić 1973), γ = ρ g the unit weight:

    q_f(z) = c N_c + ½ γ b N_γ + γ z N_q
    N_q = e^(π tan φ) tan²(45° + φ/2),   N_c = (N_q − 1) cot φ,   N_γ = 2 (N_q + 1) tan φ

so that P₀ = (q_f (1 − sin φ) − 2 c cos φ)/(2 sin φ). The same curve f holds at all depths: the
modulus grows with the strength (normalised behaviour).

change of volume, Rowe's stress-dilatancy (1962), contraction positive

    dε_v/dε = 1 − R/K_cv,   R = σ₁'/σ₃' = 1 + (K_p − 1) f

(with cohesion the stresses count from −c cot φ, which makes R linear in f). It contracts first, by
1 − 1/K_cv, and dilates at failure by 2 sin ψ/(1 − sin ψ) per strain, ψ the angle of dilation
(Schanz and Vermeer 1996), hence K_cv = K_p (1 − sin ψ)/(1 + sin ψ). After ε_f dilation fades with
e^(−(ε − ε_f)/ε_s): the soil comes to its critical state. With the hyperbola, up to ε_f,

    ε_v = (1 − 1/K_cv) ε − (K_p − 1)/K_cv · (ε/R_f − ε_r/R_f² · ln(1 + R_f ε/ε_r))

A measured curve of (strain, volumetric strain) points replaces it. ε is the plastic strain here:
what rebounds has left nothing.

Of a plastic sinkage dz the column keeps H dε_v as compaction, and dz − H dε_v goes to its
neighbours (see `push`). Unloading and reloading are elastic, as in `soil_contact`.

The tangential force is soil_contact's: its mobilised strength is a friction law by displacement,
F_t/F_n = f(X), as section 3.1 asks for (with cohesion added to it).
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import COMPACTION
from marsyard.interaction.soil_columns.arrays import (
    CONTRACTS,
    CURVE_SHARE,
    CURVE_STRAIN,
    DILATES,
    HEIGHT,
    POINTS,
    RATIO,
    RESIDUAL,
    STRAIN_F,
    STRAIN_R,
    STRAIN_S,
    STRENGTH_0,
    STRENGTH_1,
    VOLUME_CHANGE,
    VOLUME_POINTS,
    VOLUME_STRAIN,
)
from marsyard.interaction.soil_contact.arrays import (
    LOADED,
    PUSHED_VOLUME,
    SINKAGE,
    SUNK,
    SUNK_VOLUME,
    TANGENT,
    Z,
)
from marsyard.jit import VECTOR, kernel


@kernel
def on_curve(x, y, count, at):
    """Value and slope at a place of a curve of points; level beyond its ends."""
    if at <= x[0]:
        return y[0], (y[1] - y[0]) / (x[1] - x[0]) if at == x[0] else 0.0
    for k in range(1, count):
        if at < x[k]:
            slope = (y[k] - y[k - 1]) / (x[k] - x[k - 1])
            return y[k - 1] + slope * (at - x[k - 1]), slope
    return y[count - 1], 0.0


@kernel
def share_of_strength(law, curve, strain):
    """f, the part of the strength that is mobilised at a strain, and df/dε."""
    if law[POINTS] > 0.0:
        return on_curve(curve[CURVE_STRAIN], curve[CURVE_SHARE], int(law[POINTS]), strain)
    if strain < law[STRAIN_F]:
        per = 1.0 / (law[STRAIN_R] + law[RATIO] * strain)
        return strain * per, law[STRAIN_R] * per * per
    part = (1.0 - law[RESIDUAL]) * math.exp(-(strain - law[STRAIN_F]) / law[STRAIN_S])
    return law[RESIDUAL] + part, -part / law[STRAIN_S]


@kernel
def volume_change(law, curve, strain):
    """ε_v at a strain, contraction positive."""
    if law[VOLUME_POINTS] > 0.0:
        count = int(law[VOLUME_POINTS])
        return on_curve(curve[VOLUME_STRAIN], curve[VOLUME_CHANGE], count, strain)[0]
    R = law[RATIO]
    up_to = min(strain, law[STRAIN_F])
    mobilised = up_to / R - law[STRAIN_R] / (R * R) * math.log1p(R * up_to / law[STRAIN_R])
    change = law[CONTRACTS] * up_to - law[DILATES] * mobilised
    if strain > law[STRAIN_F]:
        fading = -math.expm1(-(strain - law[STRAIN_F]) / law[STRAIN_S])
        change += (law[CONTRACTS] - law[DILATES]) * law[STRAIN_S] * fading
    return change


@kernel
def volume_rate(law, strain):
    """dε_v/dε of the formulas."""
    if strain < law[STRAIN_F]:
        return law[CONTRACTS] - law[DILATES] * strain / (law[STRAIN_R] + law[RATIO] * strain)
    fading = math.exp(-(strain - law[STRAIN_F]) / law[STRAIN_S])
    return (law[CONTRACTS] - law[DILATES]) * fading


@kernel
def triaxial_loading(w, count, law, curve):
    """Stress on first loading and its derivative, in a block."""
    if law[POINTS] == 0.0 and law[RESIDUAL] == 1.0:
        hyperbola(w, count, law)
        return
    per_H = 1.0 / law[HEIGHT]
    for k in range(count):
        z = w[Z + k]
        f, rate = share_of_strength(law, curve, z * per_H)
        strength = law[STRENGTH_0] + law[STRENGTH_1] * z
        w[LOADED + k] = strength * f
        w[TANGENT + k] = max(law[STRENGTH_1] * f + strength * rate * per_H, 0.0)


@kernel(fastmath=VECTOR)
def hyperbola(w, count, law):
    """The same without softening, on vector units."""
    s0, s1, r, R = law[STRENGTH_0], law[STRENGTH_1], law[STRAIN_R], law[RATIO]
    per_H = 1.0 / law[HEIGHT]
    for k in range(count):
        z = w[Z + k]
        e = z * per_H
        per = 1.0 / (r + R * e)
        f = e * per
        failed = f >= 1.0
        f = 1.0 if failed else f
        rate = 0.0 if failed else r * per * per
        strength = s0 + s1 * z
        w[LOADED + k] = strength * f
        w[TANGENT + k] = s1 * f + strength * rate * per_H


@kernel
def compact(grid, nodes, w, count, law, curve, cell):
    """Of what a block was pressed down, keep the change of volume; the rest stays as displaced."""
    H = law[HEIGHT]
    for k in range(count):
        before = w[SUNK + k]
        dz = w[SINKAGE + k] - before
        if dz <= 0.0:
            continue
        if law[VOLUME_POINTS] > 0.0:
            kept = volume_change(law, curve, (before + dz) / H)
            kept = H * (kept - volume_change(law, curve, before / H))
        else:
            # dz is so small that the rate in its middle will do
            kept = dz * volume_rate(law, (before + 0.5 * dz) / H)
        grid.column[nodes[k], COMPACTION] += kept
        sunk = w[SUNK_VOLUME + k]
        share = kept / dz
        w[PUSHED_VOLUME + k] -= share * (cell * dz - sunk)
        w[SUNK_VOLUME + k] = sunk - share * sunk
