"""Wheel models once more: plain NumPy with a fine rule, written from the published equations.

Wong and Reece 1967; Ishigami et al. 2007; Hegedus 1960 for the side of the wheel; Lyasko 2010 and
Reece 1965 for slip sinkage. Nothing is shared with the kernels.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from marsyard.interaction.wheel_models import PUBLISHED, WheelModel


def published(name, wheel, soil, own=None, gravity=9.81):
    """A model as published: soil as strong under the wheel as in itself, slip sinkage by n₁."""
    bare, own = replace(wheel, surface=None), {**PUBLISHED.get(name, {}), **(own or {})}
    return WheelModel(name, bare, soil, own, gravity, slip_sinkage="exponent", carried=False)


def tread_strength(wheel, soil):
    """c, tan φ, K_x and K_y as the tread's surface and lugs leave them."""
    phi, K = soil.friction_angle, soil.shear_modulus
    K_y = soil.shear_modulus_lateral or K
    plain = np.array([soil.cohesion, math.tan(phi), K, K_y])
    rim = wheel.surface
    if rim is None:
        return plain
    ratio, adhesion = 2 / 3, 0.5  # of metal
    metal = np.array([adhesion * soil.cohesion, math.tan(ratio * phi), min(K, 8.5e-3), K_y])
    covered = cover(wheel, phi)
    return covered * plain + (1 - covered) * metal


def cover(wheel, phi):
    """The part of the tread on which lugs hold soil."""
    wedge = wheel.lug_height / math.tan(math.pi / 4 - phi / 2) + wheel.lug_thickness
    spacing = 2 * math.pi * wheel.radius / (wheel.lug_count or 1e9)
    return min(wedge / spacing, 1) if wheel.lug_height else 0.0


def lug_share(wheel, soil):
    """Where shear begins, in heights of the lugs."""
    if wheel.lug_share is not None:
        return wheel.lug_share
    if wheel.surface is None or not wheel.lug_height:
        return 0.5
    plain = math.tan(soil.friction_angle)
    metal = math.tan(2 / 3 * soil.friction_angle)
    return 0.5 * (tread_strength(wheel, soil)[1] - metal) / (plain - metal)


def dug(wheel, soil, slip):
    """How deep the lugs of a driven wheel dig."""
    held = cover(wheel, soil.friction_angle) * wheel.lug_height
    layer = (held + soil.shear_layer) * max(slip, 0) / (1 - slip)
    scale = wheel.width * math.tan(soil.repose_angle or soil.friction_angle)
    # z + z²/scale = layer: the walls slide in
    return min(0.5 * scale * (math.sqrt(1 + 4 * layer / scale) - 1), 0.5 * wheel.radius)


def arc(
    wheel, soil, z, slip, slip_angle, a0, a1, together, gravity=9.81, count=200_000, sinks=False
):
    """Fx, Fy, Fz, Mx, My, Mz by the midpoint rule, for slip in (−1, 1), slip angle in (−π/2, π/2).

    z is the depth pressed. The front is cut at θ_m; both pieces have `count` strips. `sinks`: with
    slip sinkage.
    """
    r, b, h = wheel.radius, wheel.width, wheel.lug_height
    r_s, R_j = r + wheel.shear_share * h, r + lug_share(wheel, soil) * h
    k = soil.k_c / b + soil.k_phi
    n = soil.exponent + (0 if sinks else soil.exponent_slip * abs(slip))
    trench = dug(wheel, soil, slip) if sinks else 0.0
    if sinks:
        grows = ((1 + abs(slip)) / (1 - abs(slip) / 2)) ** (n / (n + 1))
        k /= grows**n
    c, tan_phi, K_x, K_y = tread_strength(wheel, soil)
    t1 = math.acos(1 - z / r)
    t1_lug = math.acos((r - z) / R_j)
    tm = (a0 + a1 * slip) * t1
    if wheel.exit.rule == "rebound":
        filled = wheel.exit.value * trench if slip > 0 else 0.0
        elastic = k * (r * (math.cos(tm) - math.cos(t1))) ** n / 2e7
        t2 = -math.acos(1 - min(elastic + filled, z + trench) / r)
    elif wheel.exit.rule == "height":
        t2 = -math.acos(1 - wheel.exit.value * z / r)
    else:
        t2 = -wheel.exit.value * t1
    rho = 1 - slip if slip >= 0 else 1 / (1 + slip)  # v_x over the speed of the rim
    out = np.zeros(6)
    for low, high, front in ((tm, t1, True), (t2, tm, False)):
        # strips that get finer towards the ends of the contact
        edge = np.linspace(0, 1, count + 1) ** 2
        edges = high - (high - low) * edge if front else low + (high - low) * edge
        t = 0.5 * (edges[1:] + edges[:-1])
        dt = np.abs(np.diff(edges))
        like = t if front else t1 - (t - t2) / (tm - t2) * (t1 - tm)
        sigma = k * (r * np.maximum(np.cos(like) - math.cos(t1), 0)) ** n
        strength = c + sigma * tan_phi
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
        d = np.maximum(d, 0) + trench
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
