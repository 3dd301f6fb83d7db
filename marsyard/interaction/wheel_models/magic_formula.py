"""Pacejka's magic formula: forces of a wheel as curves fitted to measurements.

Eq. (32) of Ding et al. 2011, as PAC2002 has it (H. B. Pacejka: Tyre and vehicle dynamics, 2nd ed.
2006, section 4.3). Forces are sines, Y = D sin(C atan{B X − E [B X − atan(B X)]}) + S_V, and only
the weights of combined slip are cosines; the cosine of the printed (32) is that of the weights.

With load F_z, δ = (F_z − F_z0)/F_z0, camber γ [rad], κ = slip ratio, and
α = atan(v_y/max(|v_x|, |w|)): the slip angle of a rolling wheel, and defined for a spinning one:

    along   X = κ + S_Hx, C = shape_x, D = F_z (peak_x + peak_x_load δ)(1 − peak_x_camber γ²),
            B C D = F_z (stiff_x + stiff_x_load δ), E = curve_x + curve_x_load δ,
            S_Hx = shift_x, S_V = F_z (offset_x + offset_x_load δ)
    across  the same with _y, X = α + S_Hy, and S_V += F_z camber_y γ; the force is −Y: to the right
            for motion to the left
    combined slip: F_x cos(atan(combine_x α)), F_y cos(atan(combine_y κ))

offset_x < 0 is the resistance of a wheel that rolls without slip. Torque: M_R = r [F_x + F_z
(torque_0 + torque_1 κ)]. The formula knows nothing of sinkage; the load carried at a sinkage z is
that of a rigid wheel that is not too deep, the pressure-sinkage law over the arc with x² = 2 r u:

    F_z = b k √(2r) z^(N+½) G,   G = ∫₀¹ (1 − u²)ᴺ du = ½ √π Γ(N + 1)/Γ(N + 3/2)

G is (3 − n)/3 in Bekker (1969), its series to the first order, exact for n = 0 and 1. N grows with
slip and side slip as in `arc`, n₁ and n₂ of the soil.

E ≤ 1 keeps the curve from turning twice. All coefficients but nominal_load are numbers without
unit, angles in rad.
"""

from __future__ import annotations

import math

from marsyard.interaction.wheel_models.arc import (
    depth_of,
    entry_angles,
    exit_angle,
    exponent,
    modulus,
    slip_ratio,
)
from marsyard.interaction.wheel_models.numbers import (
    ENTRY,
    EXIT,
    F_X,
    F_Y,
    F_Z,
    M_X,
    M_Y,
    RADIUS,
    RESISTANCE,
    STILL,
    THRUST,
    WIDTH,
)
from marsyard.jit import inlined, kernel

#: name and value where it is not given (None: it must be)
COEFFICIENTS = {
    "nominal_load": None,
    "shape_x": 1.5, "peak_x": None, "peak_x_load": 0.0, "peak_x_camber": 0.0, "stiff_x": None,
    "stiff_x_load": 0.0, "curve_x": 0.0, "curve_x_load": 0.0, "shift_x": 0.0, "offset_x": 0.0,
    "offset_x_load": 0.0,
    "shape_y": 1.3, "peak_y": 0.0, "peak_y_load": 0.0, "peak_y_camber": 0.0, "stiff_y": 1.0,
    "stiff_y_load": 0.0, "curve_y": 0.0, "curve_y_load": 0.0, "shift_y": 0.0, "offset_y": 0.0,
    "offset_y_load": 0.0, "camber_y": 0.0,
    "combine_x": 0.0, "combine_y": 0.0, "torque_0": 0.0, "torque_1": 0.0,
}  # fmt: skip
(
    NOMINAL,
    SHAPE_X, PEAK_X, PEAK_X_LOAD, PEAK_X_CAMBER, STIFF_X, STIFF_X_LOAD, CURVE_X, CURVE_X_LOAD,
    SHIFT_X, OFFSET_X, OFFSET_X_LOAD,
    SHAPE_Y, PEAK_Y, PEAK_Y_LOAD, PEAK_Y_CAMBER, STIFF_Y, STIFF_Y_LOAD, CURVE_Y, CURVE_Y_LOAD,
    SHIFT_Y, OFFSET_Y, OFFSET_Y_LOAD, CAMBER_Y,
    COMBINE_X, COMBINE_Y, TORQUE_0, TORQUE_1,
) = range(28)  # fmt: skip


@inlined
def curve(own, at, load, more, camber, slip):
    """Y of the eleven coefficients from `at` on, without the combined-slip weight."""
    peak = load * (own[at + 1] + own[at + 2] * more) * (1.0 - own[at + 3] * camber * camber)
    if peak == 0.0:
        return load * (own[at + 9] + own[at + 10] * more)
    B = load * (own[at + 4] + own[at + 5] * more) / (own[at] * peak)
    E = min(own[at + 6] + own[at + 7] * more, 1.0)
    x = B * (slip + own[at + 8])
    angle = own[at] * math.atan(x - E * (x - math.atan(x)))
    return peak * math.sin(angle) + load * (own[at + 9] + own[at + 10] * more)


@inlined
def bekker_load(wheel, k, N, z):
    """Load of a rigid wheel at the sinkage z [N]."""
    share = 0.5 * math.sqrt(math.pi) * math.exp(math.lgamma(N + 1.0) - math.lgamma(N + 1.5))
    return wheel[WIDTH] * k * math.sqrt(2.0 * wheel[RADIUS] * z) * z**N * share


@kernel
def magic_formula(wheel, soil, own, z, v_x, v_y, w, camber, out):
    """Forces on a wheel that rolls forward."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    z = max(z, 0.0)
    N = exponent(soil, v_x, v_y, w)
    kappa = slip_ratio(v_x, w)
    k = modulus(soil, N, kappa)
    load = bekker_load(wheel, k, N, z)
    more = (load - own[NOMINAL]) / own[NOMINAL]
    size = max(abs(v_x), abs(w))
    alpha = math.atan2(v_y, size) if max(size, abs(v_y)) > STILL else 0.0
    out[F_Z] = load
    fx = curve(own, SHAPE_X, load, more, camber, kappa)
    fy = curve(own, SHAPE_Y, load, more, camber, alpha) + load * own[CAMBER_Y] * camber
    out[F_X] = fx * math.cos(math.atan(own[COMBINE_X] * alpha))
    out[F_Y] = -fy * math.cos(math.atan(own[COMBINE_Y] * kappa))
    r = wheel[RADIUS]
    loss = load * (own[TORQUE_0] + own[TORQUE_1] * kappa)
    out[M_Y] = -r * (out[F_X] + loss)
    out[M_X] = r * out[F_Y]
    out[RESISTANCE] = loss
    out[THRUST] = out[F_X] + loss
    z = depth_of(wheel, soil, z)
    out[ENTRY], _ = entry_angles(wheel, soil, z)
    out[EXIT] = exit_angle(wheel, soil, kappa, z, out[ENTRY], k * z**N)
