"""Slip of a wheel on soil, for the wheel models and the soil contact model alike: how it builds up,
how it softens the soil and how deep it digs (`tread` says why).

A slip ratio is not defined at rest, and jumps when a wheel starts. The soil under a wheel is
sheared over a distance L, half the length of the contact (as tyres are: Pacejka 2006, section 7.2):

    L κ̇ = (w − v_x) − V κ,   L λ̇ = v_y − max(V, |v_y|) λ,   V the larger of |w| and |v_x|

w the speed of the rim, v_x and v_y the wheel's along its heading and across [m/s]; κ and λ are
bounded by 1. The equations are integrated implicitly.
"""

from __future__ import annotations

import math

from marsyard.jit import inlined

#: share of the soil carried by lugs that is released under the rear arc
RELEASED = 1 / 3


@inlined
def build_up(kappa, lam, v_x, v_y, w, per):
    """κ and λ at the end of a step h, `per` = h/L [s/m], and their derivatives with respect to
    w − v_x and v_y."""
    along = 1.0 + per * max(abs(w), abs(v_x))
    across = 1.0 + per * max(max(abs(w), abs(v_x)), abs(v_y))
    kappa = (kappa + per * (w - v_x)) / along
    lam = (lam + per * v_y) / across
    return min(max(kappa, -1.0), 1.0), min(max(lam, -1.0), 1.0), per / along, per / across


@inlined
def softened(power, slip):
    """What slip leaves of the modulus, K_ss^(−power)."""
    if power == 0.0 or slip == 0.0:
        return 1.0
    size = abs(slip)
    return ((1.0 - 0.5 * size) / (1.0 + size)) ** power


@inlined
def trench_depth(layer, scale):
    """z_s where a layer of this thickness is carried out of a trench with sliding walls [m]."""
    return 2.0 * layer / (1.0 + math.sqrt(1.0 + 4.0 * layer / max(scale, 1e-9)))
