"""The convex body that stands for a wheel, and its support point.

Every kind of wheel is one family of convex bodies, the Minkowski sum

    W = centre + disc(rho, normal to the axis a) + segment(±half · a) + ball(r)

    SPHERE    rho = 0      half = 0      r = radius
    DISC      rho = radius half = 0      r = 0          a thin disc
    CYLINDER  rho = radius half = width  r = 0          `width` is half the tread width
    TORUS     rho = R - r  half = 0      r = width      `radius` R rolls, tread rounded with r

whose smallest coordinate along a unit direction n, and the point that attains it, are closed
forms: with s = n·a, m = n - s a, k = |m|,

    min_{w in W} n·w = n·centre - rho k - half |s| - r
    w(n) = centre - rho m / k - half sign(s) a - r n
"""

from __future__ import annotations

import math

from marsyard.interaction.contact_geometry.kinds import CYLINDER, SPHERE, TORUS
from marsyard.jit import inlined, kernel

# below this a direction counts as parallel to the axis, and the hub centre supports the disc
PARALLEL = 1e-12


@inlined
def wheel_core(kind, radius, width):
    """rho, half, r [m] of a wheel kind; see the table above."""
    if kind == SPHERE:
        return 0.0, 0.0, radius
    if kind == CYLINDER:
        return radius, width, 0.0
    if kind == TORUS:
        return radius - width, 0.0, width
    return radius, 0.0, 0.0


@inlined
def support_parts(nx, ny, nz, ax, ay, az):
    """s, k and the unit radial direction m/k (zero if n is parallel to the axis)."""
    s = nx * ax + ny * ay + nz * az
    mx = nx - s * ax
    my = ny - s * ay
    mz = nz - s * az
    k = math.sqrt(mx * mx + my * my + mz * mz)
    if k > PARALLEL:
        return s, k, mx / k, my / k, mz / k
    return s, 0.0, 0.0, 0.0, 0.0


@kernel
def core_to_point(rho, half, cx, cy, cz, ax, ay, az, px, py, pz):
    """Signed distance of a point from the solid cylinder (rho, half) about the wheel centre.

    Returns the distance [m] (negative inside) and the unit direction from the point to the
    cylinder when outside, or the shortest way out of it, reversed, when inside.
    """
    dx = px - cx
    dy = py - cy
    dz = pz - cz
    h = dx * ax + dy * ay + dz * az
    ux = dx - h * ax
    uy = dy - h * ay
    uz = dz - h * az
    radial = math.sqrt(ux * ux + uy * uy + uz * uz)
    side = 1.0 if h >= 0.0 else -1.0
    over_radius = radial - rho
    over_width = abs(h) - half

    # unit radial direction; any one on the axis itself
    if radial > 1e-300:
        ux /= radial
        uy /= radial
        uz /= radial
    else:
        ux, uy, uz = perpendicular(ax, ay, az)

    if over_radius > 0.0 and over_width > 0.0:
        distance = math.sqrt(over_radius * over_radius + over_width * over_width)
        b = over_radius / distance
        f = side * over_width / distance
    elif over_radius >= over_width:
        distance, b, f = over_radius, 1.0, 0.0
    else:
        distance, b, f = over_width, 0.0, side
    return distance, -b * ux - f * ax, -b * uy - f * ay, -b * uz - f * az


@kernel
def tread_to_point(rho, half, cx, cy, cz, ax, ay, az, px, py, pz):
    """For a point inside the solid cylinder the way out through the tread: signed distance [m]
    (infinite for a point not inside) and the direction inwards."""
    dx = px - cx
    dy = py - cy
    dz = pz - cz
    h = dx * ax + dy * ay + dz * az
    ux = dx - h * ax
    uy = dy - h * ay
    uz = dz - h * az
    radial = math.sqrt(ux * ux + uy * uy + uz * uz)
    if radial > rho or radial < 1e-300 or abs(h) > half:
        return math.inf, 0.0, 0.0, 0.0
    return radial - rho, -ux / radial, -uy / radial, -uz / radial


@kernel
def rim_to_point(rho, cx, cy, cz, ax, ay, az, px, py, pz):
    """Distance of a point from the circle (rho) about the axis, and the direction to it."""
    dx = px - cx
    dy = py - cy
    dz = pz - cz
    h = dx * ax + dy * ay + dz * az
    ux = dx - h * ax
    uy = dy - h * ay
    uz = dz - h * az
    radial = math.sqrt(ux * ux + uy * uy + uz * uz)
    if radial > 1e-300:
        ux /= radial
        uy /= radial
        uz /= radial
    else:
        ux, uy, uz = perpendicular(ax, ay, az)
    b = radial - rho
    distance = math.sqrt(b * b + h * h)
    if distance < 1e-300:
        return 0.0, -ux, -uy, -uz
    b /= distance
    f = h / distance
    return distance, -b * ux - f * ax, -b * uy - f * ay, -b * uz - f * az


@kernel
def perpendicular(ax, ay, az):
    """A unit vector normal to the unit vector a."""
    if abs(ax) < 0.6:
        length = math.sqrt(ay * ay + az * az)
        return 0.0, -az / length, ay / length
    length = math.sqrt(ax * ax + ay * ay)
    return -ay / length, ax / length, 0.0
