"""Layers with a closed form: plane, step, bump, waves. Lengths in metres, angles in radians.

    plane   z = z₀ + tan(slope) · ((x − x₀) cos u + (y − y₀) sin u),   u = uphill
    step    z = height · clip((s − position) / ramp, 0, 1),            s = x cos h + y sin h
    bump    z = height · cos²(π r / 2R) for r < R, else 0;             steepest slope π height / 2R
    sine    z = amplitude · sin(2π s / wavelength + phase)

A step without a ramp is a jump: points at or past `position` are high.
"""

from __future__ import annotations

import math

import numpy as np

from marsyard.ground.terrain.layer import Heights


def plane(spec) -> Heights:
    """Heights of a plane layer."""
    x0, y0, z0 = spec.through
    rise = math.tan(spec.slope)
    gx, gy = rise * math.cos(spec.uphill), rise * math.sin(spec.uphill)
    return lambda x, y: z0 + gx * (x - x0) + gy * (y - y0)


def step(spec) -> Heights:
    """Heights of a step layer."""
    cos, sin = math.cos(spec.heading), math.sin(spec.heading)

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        past = x * cos + y * sin - spec.position
        if spec.ramp == 0.0:
            return np.where(past >= 0.0, spec.height, 0.0)
        return spec.height * np.clip(past / spec.ramp, 0.0, 1.0)

    return heights


def bump(spec) -> Heights:
    """Heights of a bump layer."""
    x0, y0 = spec.centre

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        share = np.minimum(np.hypot(x - x0, y - y0) / spec.radius, 1.0)
        return spec.height * np.cos(0.5 * math.pi * share) ** 2

    return heights


def sine(spec) -> Heights:
    """Heights of a sine layer."""
    k = 2 * math.pi / spec.wavelength
    kx, ky = k * math.cos(spec.heading), k * math.sin(spec.heading)
    return lambda x, y: spec.amplitude * np.sin(kx * x + ky * y + spec.phase)
