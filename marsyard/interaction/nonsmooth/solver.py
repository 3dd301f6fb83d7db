r"""The public face of the friction-contact solver.

Find impulses r [N s] and velocities u [m/s] of n contacts with

    u = W r + q,        K_μ* ∋ (u_N + μ ‖u_T‖, u_T) ⊥ r ∈ K_μ        for each contact,

the exact Coulomb law (see `cone`). W may be singular (hyperstatic contact): the impulse is then not
unique, and the one reported is the least-norm one when all closed contacts stick inside their
cones; where cones are saturated it is the limit of the proximally regularised problem started at
zero (see `newton`), which is near the least norm but not guaranteed to be it, or at the warm start
(see `proximal`), or, with many contacts and no warm start, what Gauss–Seidel sweeps reach from
zero. The velocity u does not depend on that choice, unless friction is saturated, where locked-in
impulses can decide which contacts slide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marsyard.errors import InputError, suggest
from marsyard.interaction.nonsmooth import codes, kernel

METHODS: dict[str, int] = {
    "auto": codes.AUTO,
    "gauss_seidel": codes.GAUSS_SEIDEL,
    "newton": codes.NEWTON,
    "proximal": codes.PROXIMAL,
    "central_path": codes.CENTRAL_PATH,
}

_USED = {code: name for name, code in METHODS.items()} | {
    codes.NOTHING: "nothing",
    codes.STICKING: "sticking",
    codes.HYBRID: "hybrid",
    codes.PIVOTING: "pivoting",
}


@dataclass(frozen=True)
class FrictionContactSolution:
    """Answer of `solve_friction_contact`; `converged` says whether to trust it."""

    impulse: NDArray[np.float64]
    """r [N s], shape [3n]: normal, tangent, tangent of each contact."""
    velocity: NDArray[np.float64]
    """u = W r + q [m/s], shape [3n]."""
    residual: float
    """Relative natural-map residual (see `residual`)."""
    iterations: int
    """Newton steps and Gauss–Seidel sweeps made."""
    converged: bool
    """Whether `residual` meets the tolerance; if not, this is the best iterate found."""
    method: str
    """The method that gave the answer."""


def _array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of real numbers.") from error
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a number that is not finite.")
    return array


def solve_friction_contact(
    W: ArrayLike,
    q: ArrayLike,
    mu: ArrayLike,
    *,
    method: str = "auto",
    tolerance: float = 1e-10,
    max_iterations: int = 20_000,
    start: ArrayLike | None = None,
) -> FrictionContactSolution:
    """Solve the 3D Coulomb friction-contact problem (W, q, μ).

    Parameters
    ----------
    W : Delassus matrix [1/kg], shape [3n, 3n], positive semidefinite up to rounding.
    q : contact velocity without contact impulses [m/s], shape [3n].
    mu : friction coefficients, shape [n] or one number for all; 0 means frictionless, and then the
        tangential rows and columns of that contact are not used and may be zero.
    method : "auto" (recommended), "newton", "gauss_seidel", "proximal", "central_path".
    tolerance : bound on the relative natural-map residual.
    max_iterations : the most Newton steps and Gauss–Seidel sweeps together.
    start : impulse to start from [N s], shape [3n]; zero if absent.

    A problem without solution, or too hard, comes back with ``converged=False``.
    """
    if method not in METHODS:
        raise InputError(f"method '{method}' is unknown; {suggest(method, METHODS)}")
    if not tolerance > 0.0:
        raise InputError("tolerance must be positive.")
    if max_iterations < 0:
        raise InputError("max_iterations must not be negative.")
    q = np.asarray(q)
    if q.ndim != 1 or q.size % 3 or not q.size:
        raise InputError("q must be a vector of three entries for each contact.")
    n = q.size // 3
    q = _array("q", q, (3 * n,))
    W = _array("W", W, (3 * n, 3 * n))
    mu = _array("mu", np.full(n, mu) if np.ndim(mu) == 0 else mu, (n,))
    if (mu < 0.0).any():
        raise InputError("mu holds a negative friction coefficient; it must be zero or more.")
    if start is None:
        r = np.zeros(3 * n)
    else:
        r = _array("start", start, (3 * n,)).copy()

    u = np.empty(3 * n)
    work = np.empty(kernel.work_size(n))
    status, iterations, residual, used = kernel.solve_kernel(
        n, W, q, mu, r, u, work, float(tolerance), int(max_iterations), METHODS[method]
    )
    return FrictionContactSolution(
        impulse=r,
        velocity=u,
        residual=float(residual),
        iterations=int(iterations),
        converged=status == codes.CONVERGED,
        method=_USED[used],
    )
