"""Soil against the side wall of a sunk wheel.

The wall on the side to which the wheel moves is a blade of the depth d(x) between the wheel's
lowest line, x along the heading, and the soil's surface beside the wheel, its berm included:

    F_b = (1 − e^(−j/K_y)) ∫ [a₁ d + a₂ d²] dx,   j = l |λ|

a₁, a₂ of `interaction.side_wall`, l the length of the wall in the soil, λ = v_y/max(|w|, |v_x|,
|v_y|) built up over the contact: the soil beside the wheel is met at its front and has been pushed
aside by l |λ| when it is left. It acts across the heading, level, at a third of the depth as far as
weight resists and at half of it as far as cohesion does. The integral is the midpoint rule over
`_STRIPS` strips of the chord; the surface is interpolated between nodes one spacing beside the
wheel. The derivative of F_b with respect to v_y goes into the step as those of the nodes do.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import level_at, node_at
from marsyard.interaction.slip import build_up
from marsyard.interaction.soil_contact.arrays import K_ACROSS, KAPPA, LAMBDA, WHEEL
from marsyard.interaction.soil_kernels import T_AREA, T_NODES
from marsyard.jit import inlined, kernel

_STRIPS = 12
#: a wheel whose axle is steeper than this lies on its side
_UPRIGHT = 0.5
#: shortest distance over which slip builds up, in radii
_SHORTEST = 0.05


@inlined
def slip_after(bodies, patch, b, V, h):
    """κ and λ at the end of a step (`interaction.slip`), and the derivative of λ."""
    a, shape = bodies.axis[b], bodies.shape[b]
    flat = math.sqrt(max(a[0] * a[0] + a[1] * a[1], 1e-12))
    v_x = (V[0] * a[1] - V[1] * a[0]) / flat
    v_y = (V[0] * a[0] + V[1] * a[1]) / flat
    w = shape[0] * (V[3] * a[0] + V[4] * a[1] + V[5] * a[2])
    length = 0.25 * patch.total[b, T_AREA] / shape[1]
    per = h / max(length, _SHORTEST * shape[0])
    slip = bodies.slip[b]
    kappa, lam, _, growth = build_up(slip[KAPPA], slip[LAMBDA], v_x, v_y, w, per)
    return kappa, lam, growth


@kernel
def take_slip(bodies, patch, b, V, h):
    """The slip of a wheel at the end of a step that began with the velocity V; a wheel that leaves
    the ground forgets it."""
    kappa, lam = 0.0, 0.0
    if patch.total[b, T_NODES] > 0.0:
        kappa, lam, _ = slip_after(bodies, patch, b, V, h)
    bodies.slip[b, KAPPA], bodies.slip[b, LAMBDA] = kappa, lam


@kernel
def push_on_wall(grid, soils, bodies, patch, h, b):
    """Add the force on the side wall of wheel b to its sums."""
    if bodies.kind[b] != WHEEL or patch.total[b, T_NODES] == 0.0:
        return
    a, c, shape = bodies.axis[b], bodies.centre[b], bodies.shape[b]
    flat = math.sqrt(a[0] * a[0] + a[1] * a[1])
    ds = grid.spacing[0]
    node = node_at(grid, int(round(c[0] / ds)), int(round(c[1] / ds)))
    if flat < _UPRIGHT or node < 0:
        return
    soil = grid.soil[node]
    by_depth, by_square = soils.wall[b, soil, 0], soils.wall[b, soil, 1]
    if by_depth == 0.0 and by_square == 0.0:
        return
    _, lam, growth = slip_after(bodies, patch, b, bodies.twist[b], h)
    if lam == 0.0:
        return
    lx, ly = a[0] / flat, a[1] / flat
    ex, ey = ly, -lx
    side = math.copysign(1.0, lam)
    beside = side * (shape[1] * flat + ds)
    r = shape[0]
    # half the chord, from the depth at the middle and a little more for berms
    height, sunk = level_at(grid, c[0] + beside * lx, c[1] + beside * ly)
    low = c[2] - r * flat - side * shape[1] * a[2]
    middle = height - sunk - low
    if middle <= 0.0:
        return
    deep = min(1.2 * middle / flat, r)
    half = math.sqrt(max(deep * (2.0 * r - deep), 0.0))
    dx = 2.0 * half / _STRIPS
    force = turn = lift = length = 0.0
    for k in range(_STRIPS):
        x = half * ((2.0 * k + 1.0) / _STRIPS - 1.0)
        height, sunk = level_at(grid, c[0] + x * ex + beside * lx, c[1] + x * ey + beside * ly)
        rim = c[2] - math.sqrt(r * r - x * x) * flat - side * shape[1] * a[2]
        d = height - sunk - rim
        if d <= 0.0:
            continue
        plain, heavy = by_depth * d * dx, by_square * d * d * dx
        force += plain + heavy
        turn += x * (plain + heavy)
        lift += plain * (rim + 0.5 * d - c[2]) + heavy * (rim + d / 3.0 - c[2])
        length += dx
    K = soils.strength[b, soil, K_ACROSS]
    left = math.exp(-length * abs(lam) / K)
    share = -side * (1.0 - left)
    F, stiff = patch.force[b], patch.stiff[b]
    fy = share * force
    F[0] += fy * lx
    F[1] += fy * ly
    # moments of forces along (lx, ly) at x (ex, ey) and the height of the wall
    F[3] -= share * lift * ly
    F[4] += share * lift * lx
    F[5] += share * turn * (ex * ly - ey * lx)
    g = force * left * length / K * growth
    stiff[0] += g * lx * lx
    stiff[1] += g * lx * ly
    stiff[3] += g * ly * ly
