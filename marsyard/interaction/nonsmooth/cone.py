r"""The Coulomb friction cone, its dual, projections and the natural map.

A contact impulse ``r = (r_N, r_T)`` [N s] obeys Coulomb's law with friction coefficient μ when it
lies in the second-order cone

    K_μ  = { r : ‖r_T‖ ≤ μ r_N },          its dual   K_μ* = { û : û_N ≥ μ ‖û_T‖ } = K_{1/μ}

and, with de Saxcé's change of variable of the contact velocity ``u`` [m/s],

    û = (u_N + μ ‖u_T‖, u_T),               K_μ* ∋ û ⊥ r ∈ K_μ.                         (1)

(1) holds exactly when the *natural map* ``r − P_{K_μ}(r − û)`` vanishes. For μ = 0 the cone is the
half line ``r_N ≥ 0, r_T = 0`` and its dual the half space ``û_N ≥ 0``: frictionless contact.

Vectors are ordered normal, tangent, tangent. The cone is the exact one: no facets, no smoothing.

Sources: de Saxcé & Feng 1998, Math. Comput. Modelling 28; Acary & Brogliato 2008, "Numerical
Methods for Nonsmooth Dynamical Systems", ch. 13; Fukushima, Luo & Tseng 2001 for the projection.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marsyard.jit import kernel

Vector = NDArray[np.float64]


# --- scalar kernels ------------------------------------------------------------------------------


@kernel(forceinline=True)
def project_kernel(n, t, s, mu):
    """Projection of (n, t, s) onto K_μ, as three numbers."""
    tangent = math.sqrt(t * t + s * s)
    # inside the cone
    if n >= 0.0 and tangent <= mu * n:
        return n, t, s
    # inside the polar cone -K*: the apex is nearest
    if mu * tangent <= -n:
        return 0.0, 0.0, 0.0
    # onto the mantle
    normal = (n + mu * tangent) / (1.0 + mu * mu)
    if tangent == 0.0:
        return normal, 0.0, 0.0
    scale = mu * normal / tangent
    return normal, scale * t, scale * s


@kernel(forceinline=True)
def project_dual_kernel(n, t, s, mu):
    """Projection of (n, t, s) onto K_μ* by Moreau: P_{K*}(x) = x + P_K(−x)."""
    a, b, c = project_kernel(-n, -t, -s, mu)
    return n + a, t + b, s + c


@kernel(forceinline=True)
def natural_map(rn, rt, rs, un, ut, us, mu):
    """P_K(r − û) − r of one contact, as three numbers; û is formed from u here."""
    n, t, s = project_kernel(rn - un - mu * math.sqrt(ut * ut + us * us), rt - ut, rs - us, mu)
    return n - rn, t - rt, s - rs


@kernel(forceinline=True)
def natural_map_squared(rn, rt, rs, un, ut, us, mu):
    """‖r − P_K(r − û)‖² of one contact."""
    n, t, s = natural_map(rn, rt, rs, un, ut, us, mu)
    return n * n + t * t + s * s


# --- numpy faces ---------------------------------------------------------------------------------


def _split(x: ArrayLike, mu: ArrayLike) -> tuple[Vector, Vector]:
    x = np.asarray(x, dtype=float)
    return x, np.broadcast_to(np.asarray(mu, dtype=float), x.shape[:-1])


def project(x: ArrayLike, mu: ArrayLike) -> Vector:
    """Nearest point of K_μ to each vector of `x`, shape [..., 3]; `mu` broadcasts, shape [...]."""
    x, mu = _split(x, mu)
    tangent = np.hypot(x[..., 1], x[..., 2])
    inside = (x[..., 0] >= 0.0) & (tangent <= mu * x[..., 0])
    polar = ~inside & (mu * tangent <= -x[..., 0])
    normal = (x[..., 0] + mu * tangent) / (1.0 + mu * mu)
    scale = mu * normal / np.where(tangent > 0.0, tangent, 1.0)
    mantle = np.stack([normal, scale * x[..., 1], scale * x[..., 2]], axis=-1)
    return np.where(inside[..., None], x, np.where(polar[..., None], 0.0, mantle))


def project_dual(x: ArrayLike, mu: ArrayLike) -> Vector:
    """Nearest point of the dual cone K_μ* to each vector of `x`, shape [..., 3]."""
    x, mu = _split(x, mu)
    return x + project(-x, mu)


def is_inside(x: ArrayLike, mu: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Whether each vector lies in K_μ, allowing ‖x_T‖ to exceed μ x_N by `tolerance`."""
    x, mu = _split(x, mu)
    tangent = np.hypot(x[..., 1], x[..., 2])
    return (tangent <= mu * x[..., 0] + tolerance) & (x[..., 0] >= -tolerance)


def is_inside_dual(x: ArrayLike, mu: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Whether each vector lies in K_μ*, allowing μ ‖x_T‖ to exceed x_N by `tolerance`."""
    x, mu = _split(x, mu)
    return mu * np.hypot(x[..., 1], x[..., 2]) <= x[..., 0] + tolerance


def dual(mu: float) -> float:
    """Coefficient of the dual cone: K_μ* = K_{1/μ}; infinite (a half space) for μ = 0."""
    return math.inf if mu == 0.0 else 1.0 / mu


def de_saxce(u: ArrayLike, mu: ArrayLike) -> Vector:
    """de Saxcé's variable û = (u_N + μ ‖u_T‖, u_T) of each velocity [m/s], shape [..., 3]."""
    u, mu = _split(u, mu)
    shifted = u.copy()
    shifted[..., 0] += mu * np.hypot(u[..., 1], u[..., 2])
    return shifted
