"""The inverse and forward velocity models of a rover on its contacts.

The working rows of all limbs (see `limbs`) are stacked to the paper's model, (8) to (10):

    B q̇_a = D X,      q̇_a = J_a θ̇,      J θ̇ = D X  with  J = B J_a

θ̇ [rad/s or m/s]: rates of all driven joints; q̇_a: ω_z and v_x of each pod, other drives as they
are; X = (v, ω): the platform's twist. J_a is block diagonal with one block (1) per pod. On top of
it stand the constraint wrenches K, of the limbs and of drives that several limbs share (the left
null space of J times D):

    K X = 0.

Together the two are equivalent to the rolling conditions of all contacts with the passive joints
taken out.

Inverse model. The twist wanted, X, is split into X = X_F + X_K: X_F is the nearest twist that the
ground allows (K X_F = 0), nearest by |v|² + L² |ω|² with L the characteristic length; X_K is the
part that it forbids. All joint rates q̇ then solve P q̇ = −W X_F, C q̇ = 0 exactly. Where they are
not unique the smallest are given and the joints left open are named.

Forward model. For given drive rates, the twist and passive rates that minimise the sum of squares
of the contacts' velocities that should vanish [m/s], loops being kept:

    min Σ |W X + P_p p + P_d θ̇|²   with   C_p p = −C_d θ̇

Drive rates that no rolling motion has give a misfit > 0: wheels must slip or leave the ground.
Twists with D X = 0, K X = 0 are not determined by the drives; the smallest X is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marsyard.analysis.kinetostatics.contacts import (
    LEFT,
    Contacts,
    Lateral,
    closures_of,
    lateral_holds,
    rates_of,
    stance_length,
)
from marsyard.analysis.kinetostatics.limbs import Limb, limbs_of
from marsyard.analysis.kinetostatics.screw_description import motion_in_words
from marsyard.analysis.kinetostatics.screws import (
    TOLERANCE,
    null_space,
    readable,
    reciprocal_system,
)
from marsyard.errors import InputError


@dataclass(frozen=True)
class Inverse:
    """Joint rates of a motion.

    rates: of all joints [k]. followed: the twist that is possible, X_F. forbidden: X_K, and its
    name in words ("" where nothing is forbidden). slip [m/s]: velocity of each contact to the
    left, shape [n]. coordinates: q̇_a. open: names of joints whose rates are not determined.
    """

    rates: np.ndarray
    followed: np.ndarray
    forbidden: np.ndarray
    forbidden_words: str
    slip: np.ndarray
    coordinates: np.ndarray
    open: tuple[str, ...]


@dataclass(frozen=True)
class Forward:
    """Motion of given drive rates.

    twist: the platform's [6]. rates: of all joints [k]. misfit [m/s]: root mean square velocity of
    the contacts in the directions that should not move. velocities [n, 3]: of the contacts
    (normal, along, left). undetermined: twists the drives leave open, shape [u, 6].
    """

    twist: np.ndarray
    rates: np.ndarray
    misfit: float
    velocities: np.ndarray
    undetermined: np.ndarray


@dataclass(frozen=True)
class VelocityModel:
    """B q̇_a = D X of a robot in a pose, see the module docstring.

    holds [n]: contacts that hold sideways. limbs: in the order of the rows of D.
    drives: driven joints (indices), the columns of J and J_a. coordinates: names of q̇_a.
    rows: name of each row of D. D [r, 6], B [r, a], J_a [a, drives]. length: L [m].
    tolerance: see `velocity_model`.
    """

    stance: Contacts
    holds: np.ndarray
    limbs: tuple[Limb, ...]
    drives: tuple[int, ...]
    coordinates: tuple[str, ...]
    rows: tuple[str, ...]
    D: np.ndarray
    B: np.ndarray
    J_a: np.ndarray
    length: float
    tolerance: float

    @property
    def J(self) -> np.ndarray:
        """J θ̇ = D X, shape [r, drives]."""
        return self.B @ self.J_a

    @cached_property
    def constraints(self) -> np.ndarray:
        """K: wrenches that do no work in any motion the ground allows, readable, [c, 6]."""
        held = [limb.constraints for limb in self.limbs]
        if len(self.D):
            held.append(
                null_space(self.J.T, self.tolerance).T @ self.D if self.J.shape[1] else self.D
            )
        rows = np.vstack([*held, np.zeros((0, 6))])
        size = np.linalg.norm(rows * self._weight, axis=1)
        return readable(rows[size > self.tolerance], "wrench", self.length, self.tolerance)

    @cached_property
    def allowed(self) -> np.ndarray:
        """Twists that the ground allows, K X = 0; readable basis [f, 6]."""
        return self.reciprocal(self.constraints)

    @cached_property
    def undetermined(self) -> np.ndarray:
        """Twists the ground allows with all drives at rest; readable basis [u, 6]."""
        return self.reciprocal(np.vstack([self.D, self.constraints]))

    def reciprocal(self, wrenches: np.ndarray) -> np.ndarray:
        """Twists on which wrenches do no work; readable basis [n, 6]."""
        free = reciprocal_system(wrenches, "wrench", self.length, self.tolerance)
        return readable(free, "twist", self.length, self.tolerance)

    @property
    def _weight(self) -> np.ndarray:
        """Wrenches without units: (f, m / L)."""
        return np.repeat([1.0, 1.0 / self.length], 3)

    def reduced(self, columns: Sequence[int]) -> np.ndarray:
        """The control model of the paper, J_a θ̇ = D' X: B⁻¹ D on some coordinates of X.

        Where B is not square its pseudo-inverse is taken.
        """
        return np.linalg.pinv(self.B, rcond=self.tolerance) @ self.D[:, list(columns)]

    def split(self, twist: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """X_F and X_K of a twist."""
        X = _twist(twist)
        K = self.constraints * self._weight
        forbidden = np.linalg.pinv(K, rcond=self.tolerance) @ (self.constraints @ X) * self._weight
        followed = X - forbidden
        small = self.tolerance * np.linalg.norm(X / self._weight) * self._weight
        followed[np.abs(followed) < small] = 0.0
        forbidden[np.abs(forbidden) < small] = 0.0
        return followed, forbidden

    def inverse(self, twist: ArrayLike) -> Inverse:
        """Rates of wheels, steering and passive joints for a wanted twist [6]."""
        followed, forbidden = self.split(twist)
        W, P = self._rolling()
        rates = self._least(P, -W @ followed)
        rates[np.abs(rates) < 1e-13 * np.abs(rates).max(initial=0.0)] = 0.0
        size = np.linalg.norm(P, axis=0)
        loose = null_space(P / np.where(size > 0, size, 1.0), self.tolerance)
        open_ = np.linalg.norm(loose, axis=1) > 1e-6
        left = self.stance.wrenches[:, LEFT] @ followed + self.stance.rates[:, LEFT] @ rates
        words = motion_in_words(forbidden, self.length, self.tolerance) if np.any(forbidden) else ""
        return Inverse(
            rates=rates,
            followed=followed,
            forbidden=forbidden,
            forbidden_words=words,
            slip=np.where(self.holds, 0.0, left),
            coordinates=self.J_a @ rates[list(self.drives)],
            open=tuple(n for n, o in zip(self.stance.joints, open_, strict=True) if o),
        )

    def forward(self, drive_rates: ArrayLike) -> Forward:
        """The motion of given drive rates [drives], least squares."""
        theta = np.asarray(drive_rates, float)
        if theta.shape != (len(self.drives),):
            raise InputError(f"drive_rates has {theta.size} entries, but {len(self.drives)} drives")
        drives = list(self.drives)
        passive = [j for j in range(len(self.stance.joints)) if j not in set(drives)]
        W, P = self._rolling()
        rolling = len(self._imposed())
        p0, Z = self._loops(P[rolling:], theta, passive)
        W, P = W[:rolling], P[:rolling]
        known = P[:, drives] @ theta + P[:, passive] @ p0
        moved = P[:, passive] @ Z
        found = self._least(np.hstack([W * self._weight, moved]), -known)[:6]
        # what the drives leave open is set to zero, then passive joints follow
        U = self.undetermined / self._weight
        found = found - U.T @ self._least(U.T, found)
        twist = found * self._weight
        z = self._least(moved, -known - W @ twist)
        rates = np.zeros(len(self.stance.joints))
        rates[drives], rates[passive] = theta, p0 + Z @ z
        u = self.stance.wrenches @ twist + self.stance.rates @ rates
        left = W @ twist + moved @ z + known
        return Forward(twist, rates, float(np.sqrt(np.mean(left**2))), u, self.undetermined)

    def _loops(
        self, C: np.ndarray, theta: np.ndarray, passive: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Passive rates p0 + Z z that keep the loops closed at these drive rates."""
        if not len(C):
            return np.zeros(len(passive)), np.eye(len(passive))
        known = C[:, list(self.drives)] @ theta
        p0 = self._least(C[:, passive], -known)
        size = np.abs(C).max() * np.abs(theta).max(initial=0.0)
        if np.abs(C[:, passive] @ p0 + known).max() > self.tolerance * size:
            raise InputError("drive_rates break a closed loop: they must obey closures · rates = 0")
        return p0, null_space(C[:, passive], self.tolerance)

    def _least(self, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Least squares with columns brought to one size, so that the rank has no units."""
        if not matrix.shape[1]:
            return np.zeros(0)
        size = np.linalg.norm(matrix, axis=0)
        size = np.where(size > 0, size, 1.0)
        return np.asarray(np.linalg.lstsq(matrix / size, right, rcond=self.tolerance)[0] / size)

    def _imposed(self) -> list[tuple[int, int]]:
        n = len(self.stance.contacts)
        return [(i, a) for i in range(n) for a in range(3) if a != LEFT or self.holds[i]]

    def _rolling(self) -> tuple[np.ndarray, np.ndarray]:
        """W and P of W X + P q̇ = 0: rolling conditions, then closures times L."""
        rows, C = self._imposed(), closures_of(self.stance)
        rates = rates_of(self.stance, self.tolerance)
        W = np.array([self.stance.wrenches[r] for r in rows] + [np.zeros(6)] * len(C))
        return W, np.vstack([[rates[r] for r in rows], C * self.length])


def velocity_model(
    stance: Contacts,
    lateral: Lateral | Sequence[bool] = "slips",
    *,
    tolerance: float = TOLERANCE,
) -> VelocityModel:
    """The model of a robot in a pose.

    Args:
        lateral: wheels slip sideways, or hold, or a bool per contact (True: holds).
        tolerance: what counts as zero next to one. The default is for exact poses. Where contacts
            were searched numerically, or levers of less than a millimetre should not count (the
            trail of a steered wheel on a slope), take 1e-3.
    """
    limbs = limbs_of(stance, lateral, tolerance)
    drives = tuple(np.flatnonzero(stance.driven).tolist())
    coordinates = tuple(dict.fromkeys(c for limb in limbs for c in limb.coordinates))
    rows = [(limb, k) for limb in limbs for k in range(len(limb.D))]
    B = np.zeros((len(rows), len(coordinates)))
    J_a = np.zeros((len(coordinates), len(drives)))
    for limb in limbs:
        here = [coordinates.index(c) for c in limb.coordinates]
        J_a[np.ix_(here, [drives.index(j) for j in limb.drives])] = limb.transform
    for r, (limb, k) in enumerate(rows):
        B[r, [coordinates.index(c) for c in limb.coordinates]] = limb.B[k]
    return VelocityModel(
        stance=stance,
        holds=lateral_holds(stance, lateral),
        limbs=limbs,
        drives=drives,
        coordinates=coordinates,
        rows=tuple(" and ".join(limb.works_on[k]) for limb, k in rows),
        D=np.array([limb.D[k] for limb, k in rows]).reshape(-1, 6),
        B=B,
        J_a=J_a,
        length=stance_length(stance),
        tolerance=tolerance,
    )


def _twist(twist: ArrayLike) -> np.ndarray:
    found = np.asarray(twist, float)
    if found.shape != (6,):
        raise InputError(f"twist has shape {found.shape} but must be (v_x … ω_z), six numbers")
    return found
