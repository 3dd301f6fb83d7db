"""Wheel models once more: plain NumPy with a fine rule, written from the published equations.

Wong and Reece 1967; Ishigami et al. 2007; Hegedus 1960 for the side of the wheel. Nothing is shared
with the kernels.
"""

from __future__ import annotations

import math

import numpy as np


def arc(wheel, soil, z, slip, slip_angle, a0, a1, together, gravity=9.81, count=200_000):
    """Fx, Fy, Fz, Mx, My, Mz by the midpoint rule, for slip in (−1, 1), slip angle in (−π/2, π/2).

    The front is cut at θ_m; both pieces have `count` strips.
    """
    r, b, h = wheel.radius, wheel.width, wheel.lug_height
    r_s, R_j = r + wheel.shear_share * h, r + wheel.lug_share * h
    k = soil.k_c / b + soil.k_phi
    n = soil.exponent + soil.exponent_slip * abs(slip)
    t1 = math.acos(1 - z / r)
    t1_lug = math.acos((r - z) / R_j)
    if wheel.exit.rule == "height":
        t2 = -math.acos(1 - wheel.exit.value * z / r)
    else:
        t2 = -wheel.exit.value * t1
    tm = (a0 + a1 * slip) * t1
    rho = 1 - slip if slip >= 0 else 1 / (1 + slip)  # v_x over the speed of the rim
    K_x = soil.shear_modulus
    K_y = soil.shear_modulus_lateral or K_x
    out = np.zeros(6)
    for low, high, front in ((tm, t1, True), (t2, tm, False)):
        # strips that get finer towards the ends of the contact
        edge = np.linspace(0, 1, count + 1) ** 2
        edges = high - (high - low) * edge if front else low + (high - low) * edge
        t = 0.5 * (edges[1:] + edges[:-1])
        dt = np.abs(np.diff(edges))
        like = t if front else t1 - (t - t2) / (tm - t2) * (t1 - tm)
        sigma = k * (r * np.maximum(np.cos(like) - math.cos(t1), 0)) ** n
        strength = soil.cohesion + sigma * math.tan(soil.friction_angle)
        jx = r_s * ((t1_lug - t) - rho * (math.sin(t1_lug) - np.sin(t)))
        jy = r_s * rho * math.tan(slip_angle) * (t1_lug - t)
        if together:
            size = np.hypot(jx, jy)
            rise = 1 - np.exp(-np.hypot(jx / K_x, jy / K_y))
            tx, ty = (strength * rise * j / np.where(size > 0, size, 1) for j in (jx, jy))
        else:
            tx, ty = (
                strength * np.sign(j) * (1 - np.exp(-np.abs(j) / K))
                for j, K in ((jx, K_x), (jy, K_y))
            )
        # the side of the wheel, a blade of depth d
        xc, phi = math.pi / 4 - soil.friction_angle / 2, soil.friction_angle
        d = r * (np.cos(t) - math.cos(t1))
        d = np.maximum(d, 0)
        gamma = (soil.density or 0.0) * gravity
        blade = (1 / math.tan(xc) + math.tan(xc + phi)) * (
            soil.cohesion * d
            + 0.5 * gamma * d**2 * (1 / math.tan(xc) + math.tan(phi) / math.tan(xc) ** 2)
        )
        j_end = r_s * rho * math.tan(slip_angle) * (t1_lug - t2)
        share = math.copysign(1 - math.exp(-abs(j_end) / K_y), j_end)
        fx = b * (r_s * tx * np.cos(t) - r * sigma * np.sin(t)) * dt
        fz = b * (r_s * tx * np.sin(t) + r * sigma * np.cos(t)) * dt
        fy = -(b * r_s * ty + share * blade * r * np.cos(t)) * dt
        out += [
            fx.sum(), fy.sum(), fz.sum(), (r * np.cos(t) * fy).sum(),
            -(b * r_s**2 * tx * dt).sum(), (r * np.sin(t) * fy).sum(),
        ]  # fmt: skip
    return out
