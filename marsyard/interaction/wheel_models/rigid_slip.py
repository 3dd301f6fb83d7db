"""The simple wheel on hard ground: friction that grows with slip. The baseline to start from.

    F_z = k z                                         stiffness k [N/m]
    F = μ F_z (1 − e^(−C |S|/μ)) along S,  S = (s, −v_y/max(|w|, |v_x|, |v_y|))
    M_R = r (F_x + c_r F_z),  F_x ← F_x − c_r F_z      rolling resistance c_r

s slip ratio, μ friction, C stiffness of slip: F ≈ C F_z S for small slip. There is no soil in it.

Coefficients: friction, slip_stiffness, rolling, stiffness [N/m].
"""

from __future__ import annotations

import math

from marsyard.interaction.wheel_models.arc import slip_ratio
from marsyard.interaction.wheel_models.numbers import (
    F_X,
    F_Y,
    F_Z,
    M_X,
    M_Y,
    RADIUS,
    RESISTANCE,
    STILL,
    THRUST,
)
from marsyard.jit import kernel

FRICTION, SLIP_STIFFNESS, ROLLING, STIFFNESS = range(4)
COEFFICIENTS = {"friction": None, "slip_stiffness": 10.0, "rolling": 0.0, "stiffness": 1e5}


@kernel
def rigid_slip(wheel, own, z, v_x, v_y, w, out):
    """Forces on a wheel that rolls forward."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    load = own[STIFFNESS] * z
    mu = own[FRICTION]
    s = slip_ratio(v_x, w)
    size = max(abs(v_x), abs(v_y), abs(w))
    aside = -v_y / size if size > STILL else 0.0
    slip = math.sqrt(s * s + aside * aside)
    per = 0.0
    if slip > 0.0 and mu > 0.0:
        per = -mu * load * math.expm1(-own[SLIP_STIFFNESS] * slip / mu) / slip
    r = wheel[RADIUS]
    out[F_Z] = load
    out[THRUST] = per * s
    out[RESISTANCE] = own[ROLLING] * load
    out[F_X] = out[THRUST] - out[RESISTANCE]
    out[F_Y] = per * aside
    out[M_Y] = -r * out[THRUST]
    out[M_X] = r * out[F_Y]
