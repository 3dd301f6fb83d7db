r"""How well an impulse solves a friction-contact problem.

The measure is the natural map of the whole problem with unit scaling,

    e(r) = sqrt( Σ_c ‖ r_c − P_{K_μc}( r_c − û_c ) ‖² ) / ‖q‖,      u = W r + q,

with û = (u_N + μ ‖u_T‖, u_T). It is zero exactly at a solution. The numerator is that of Siconos'
"full error" (``fc3d_compute_error``); Siconos 4.4 divides it by max(‖q‖, ‖r‖, ‖u‖), older ones by
1 + ‖q‖, so that e(r) is never smaller than the error Siconos 4.4 reports, and much larger where the
impulses are large numbers (W small). Where ‖q‖ = 0 the sum is not divided.
Impulses [N s] and velocities [m/s] are subtracted from each other in it, so it depends on the
choice of units; SI throughout.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from marsyard.interaction.nonsmooth.cone import natural_map_squared
from marsyard.jit import kernel


@kernel(fastmath={"reassoc", "contract"})
def multiply(m, W, r, q, u):
    """u = W r + q over the first m rows."""
    for i in range(m):
        total = q[i]
        for j in range(m):
            total += W[i, j] * r[j]
        u[i] = total


@kernel(fastmath={"reassoc", "contract"})
def norm(m, x):
    """Euclidean norm of the first m entries."""
    total = 0.0
    for i in range(m):
        total += x[i] * x[i]
    return math.sqrt(total)


@kernel
def natural_residual(n, r, u, mu, scale):
    """sqrt(Σ_c ‖natural map‖²) · scale, for given velocities u (scale = 1/‖q‖ usually)."""
    total = 0.0
    for c in range(n):
        k = 3 * c
        total += natural_map_squared(r[k], r[k + 1], r[k + 2], u[k], u[k + 1], u[k + 2], mu[c])
    return math.sqrt(total) * scale


def friction_contact_residual(
    W: ArrayLike, q: ArrayLike, mu: ArrayLike, impulse: ArrayLike
) -> float:
    """Relative natural-map residual e(r) of `impulse` (see the module's head)."""
    q = np.ascontiguousarray(q, dtype=float)
    r = np.ascontiguousarray(impulse, dtype=float)
    mu = np.ascontiguousarray(mu, dtype=float)
    size = float(np.linalg.norm(q))
    u = np.asarray(W, dtype=float) @ r + q
    return float(natural_residual(mu.size, r, u, mu, 1.0 / size if size > 0.0 else 1.0))
