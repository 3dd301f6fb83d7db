"""Force transmission from the drives to the platform, as ellipsoids.

Rows of D are the elementary wrenches of the drives on the platform (paper, section 3). With
amplitudes y of the rows, the grasp matrix and the drives' torques are

    w = G y,   G = Dᵀ [6, r] = (G_f; G_m),       τ = Jᵀ y,

and power is the same on both sides for every motion J θ̇ = D X:

    w · X = yᵀ D X = yᵀ J θ̇ = τ · θ̇.

By torques: w = G_τ τ with G_τ = Dᵀ (Jᵀ)⁺, where J is square and regular Dᵀ J⁻ᵀ. Torques outside
the range of Jᵀ meet no resistance of the ground (the drives would race or turn passive joints) and
count for nothing. The paper's pods have (m_z, f_x) = J_a⁻ᵀ (τ_right, τ_left) with

    J_a⁻ᵀ = [[d/R, −d/R], [1/R, 1/R]];

the factor 1/2 it prints in front is wrong: two wheels that turn with τ each push with 2 τ / R.

Constraint wrenches (normal forces, and lateral ones where wheels hold) are no part of G: they do
no work and are not set by the drives.

Ellipsoids: the image of the ball ‖y‖ ≤ 1 ("unit screws", as the paper; amplitudes of forces and
couples in one ball, which depends on the unit of length) or ‖τ‖ ≤ 1 ("torques", one unit, N m, for
rotary drives). Of the six-dimensional ellipsoid in w there are, for forces f (moments likewise):

    projection   {G_f y : ‖y‖ ≤ 1}                  whatever the moment is
    section      {G_f y : G_m y = 0, ‖y‖ ≤ 1}       forces without any moment about the origin

Semi-axes are the singular values of G_f (of G_f Z, Z spanning the null space of G_m). Along a unit
vector e: `reach` = max e · f = ‖G_fᵀ e‖ (other components as they come) and `pure` = the largest t
with t e inside, 1 / ‖G_f⁺ e‖, 0 where e is outside the range.

Index (12): σ = [det(G_f G_fᵀ)]^½, printed det(G_fᵀ G_f), which vanishes for more than three rows.
It is the product of the semi-axes of the projection, in the chosen force coordinates: the paper's
"reduced wrench space" has (f_x, f_z); with β = 0, f_y of all rows vanishes and the full 3 × 3
determinant with it. By Cauchy and Binet it is the sum over pairs of rows of the squared
determinants; for the RobuRoc at β = 0

    σ² = sin²(φ_1 − φ_2) + sin² φ_1 + sin² φ_2,    φ_j = λ_j + γ_j + α_j.

The paper prints γ_j in place of φ_j. Its "σ = 0 for γ_j = 0" therefore holds where
λ_j + α_j = 0; on a plane with O_0 above the ground λ_j ≠ 0, σ > 0, and (10) lifts the middle pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from marsyard.analysis.kinetostatics.screws import TOLERANCE, null_space, span
from marsyard.analysis.kinetostatics.velocity import VelocityModel
from marsyard.errors import InputError

By = Literal["screws", "torques"]
Part = Literal["force", "moment"]
Other = Literal["any", "zero"]


@dataclass(frozen=True)
class Ellipsoid:
    """{matrix · y : ‖y‖ ≤ 1}: semi-axes [N or N m], largest first, and their directions (rows).

    Axes that vanish are kept, with 0; directions [3, 3] are orthonormal.
    """

    matrix: np.ndarray
    semi_axes: np.ndarray
    directions: np.ndarray

    def reach(self, direction: ArrayLike) -> float:
        """Largest component along a direction, the others as they come."""
        return float(np.linalg.norm(self.matrix.T @ _unit(direction)))

    def pure(self, direction: ArrayLike) -> float:
        """Largest vector along a direction, nothing across it."""
        e = _unit(direction)
        inside = self.semi_axes > TOLERANCE * max(self.semi_axes.max(initial=0.0), 1e-300)
        along = self.directions @ e
        if np.any(np.abs(along[~inside]) > 1e-9) or not inside.any():
            return 0.0
        return float(1.0 / np.linalg.norm(along[inside] / self.semi_axes[inside]))

    @property
    def volume(self) -> float:
        """Product of the semi-axes times 4π/3."""
        return float(4 / 3 * np.pi * np.prod(self.semi_axes))


def grasp(model: VelocityModel, by: By = "screws") -> np.ndarray:
    """G [6, r] of unit screws, or G_τ [6, drives] of torques."""
    if by == "screws":
        return model.D.T
    if by != "torques":
        raise InputError(f"by is '{by}' but must be 'screws' or 'torques'")
    return model.D.T @ np.linalg.pinv(model.J.T, rcond=model.tolerance)


def grasp_parts(model: VelocityModel, by: By = "screws") -> tuple[np.ndarray, np.ndarray]:
    """G_f and G_m, shape [3, columns] each."""
    G = grasp(model, by)
    return G[:3], G[3:]


def ellipsoid(
    model: VelocityModel, part: Part = "force", *, other: Other = "any", by: By = "screws"
) -> Ellipsoid:
    """Ellipsoid of forces or moments; the other half is whatever it is ("any") or "zero"."""
    halves = grasp_parts(model, by)
    if part not in ("force", "moment") or other not in ("any", "zero"):
        raise InputError("part must be 'force' or 'moment', and other 'any' or 'zero'")
    G_f, G_m = halves if part == "force" else halves[::-1]
    if other == "zero":
        # rows of rounding errors ask for nothing
        lever = model.length if part == "force" else 1.0 / model.length
        full = max(np.abs(G_m).max(initial=0.0), lever * np.abs(G_f).max(initial=0.0))
        real = np.abs(G_m).max(axis=1, initial=0.0) > model.tolerance * full
        G_f = G_f @ null_space(G_m[real], model.tolerance)
    return _ellipsoid(G_f)


def traction_index(
    model: VelocityModel, axes: Sequence[int] = (0, 2), *, by: By = "screws"
) -> float:
    """σ of (12) in the force coordinates `axes` (f_x and f_z as the paper, (0, 1, 2) for all)."""
    G_f = grasp(model, by)[list(axes)]
    values = np.linalg.svd(G_f, compute_uv=False)
    return float(np.prod(values)) if len(values) == len(axes) else 0.0


def torques_of(model: VelocityModel, amplitudes: ArrayLike) -> np.ndarray:
    """τ = Jᵀ y [N m] of amplitudes of the rows, shape [drives]."""
    return model.J.T @ np.asarray(amplitudes, float)


def amplitudes_of(model: VelocityModel, wrench: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Smallest amplitudes y for a wrench wanted on the platform [6], and what is left of it.

    Constraint wrenches carry what they can: only the part that works in allowed motions counts.
    Returns y [r] and the wrench [6] that neither drives nor contacts supply; it works on motions
    the drives do not control.
    """
    w = np.asarray(wrench, float)
    weight = np.repeat([1.0, 1.0 / model.length], 3)
    # test by all allowed motions: (D F)ᵀ y = Fᵀ w
    F = span(model.allowed, "twist", model.length, model.tolerance)
    y = np.linalg.pinv(F @ model.D.T, rcond=model.tolerance) @ (F @ w)
    missing = F @ (w - model.D.T @ y)
    left = weight**-2 * (F.T @ np.linalg.pinv(F @ np.diag(weight**-2) @ F.T) @ missing)
    return y, left


def _ellipsoid(matrix: np.ndarray) -> Ellipsoid:
    left, size, _ = np.linalg.svd(matrix)
    axes = np.zeros(3)
    axes[: len(size)] = size
    return Ellipsoid(matrix, axes, left.T)


def _unit(direction: ArrayLike) -> np.ndarray:
    e = np.asarray(direction, float)
    return e / np.linalg.norm(e)
