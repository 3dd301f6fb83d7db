"""Limbs: kinematic chains between platform and ground, and the wrenches they transmit.

The platform (a rover's base) is seen as that of a parallel mechanism (paper, section 2.3); each
limb is a chain or tree of joints that ends in wheels on the ground. Everything is in the
platform's frame, at its origin. Contact i moves with

    u_i = W_i X + P_i q̇        (normal, along, left) [m/s]

with X = (v, ω) the platform's twist, W_i the unit forces at the contact as wrenches [3, 6], and
P_i [3, k] the velocity of the wheel's material point per unit of each joint's rate. Wheels roll:
normal and along vanish; left vanishes too where `lateral` is "holds", or is free where it "slips"
(as in the paper). Loops and differentials add C q̇ = 0.

Split the joints into driven (θ̇) and passive (p). A set y of contact forces and loop forces that
does no work on the passive joints, yᵀ [P_p; C_p] = 0, makes a reciprocal screw of the limb:

    D = yᵀ [W; 0],    J = −yᵀ [P_d; C_d],    J θ̇ = D X.

For a limb that is an open chain these are the paper's reciprocal screws: a wrench that works on no
passive joint, no rotation about a contact point and no free slip is carried by forces at the
contacts, and the other way round. They are of two kinds:

- working rows: reciprocal to all screws of the limb except those of one driven coordinate each
  (the paper's $_3^r and $_4^r). Where the drives of a limb cannot be told apart (fewer rows than
  drives) a row works on several, wheels first; `works_on` names them. Constraint wrenches may be
  added to a working row without changing its J: the row with the least sum of squares of normal and
  lateral contact forces is taken (for a pod on the platform itself, forces along the wheels alone).
- constraint wrenches: reciprocal to all screws of the limb (J = 0). They forbid motions.

Limbs are groups of contacts that share passive joints or closures, or an axle.

Pods (see `pods`) have ω_z and v_x in place of their two drives:

    B q̇_a = D X,   q̇_a = J_a θ̇,   J = B J_a.

Size of a row: |m| = 1 at the origin for the row of a pod's ω_z, else |f| = 1, or |m| = 1 where f
vanishes; its first entry in B is positive. For the RobuRoc this is the paper's (5), (6), (8) with
B = diag(C γ, |C λ|, 1, 1, …); the paper's own sign of a row is that of C λ_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marsyard.analysis.kinetostatics.contacts import (
    ALONG,
    LEFT,
    Contacts,
    Lateral,
    closures_of,
    lateral_holds,
    rates_of,
    stance_length,
)
from marsyard.analysis.kinetostatics.pods import Pod, find_pods, own_drives
from marsyard.analysis.kinetostatics.screws import (
    TOLERANCE,
    echelon,
    null_space,
    readable,
    reciprocal_system,
)


@dataclass(frozen=True)
class Limb:
    """One limb and its reciprocal screws.

    contacts: indices. passive, drives: joints (indices). pods: those within the limb.
    coordinates: names of q̇_a; transform: q̇_a = transform · θ̇ of `drives`.
    D [r, 6], B [r, coordinates]: working rows. forces [r, contacts, 3]: contact forces of each.
    works_on: names of the coordinates each row works on. constraints [c, 6]: reciprocal to all.
    length, tolerance: of the decompositions, see `screws`.
    """

    name: str
    contacts: tuple[int, ...]
    passive: tuple[int, ...]
    drives: tuple[int, ...]
    pods: tuple[Pod, ...]
    coordinates: tuple[str, ...]
    transform: np.ndarray
    D: np.ndarray
    B: np.ndarray
    forces: np.ndarray
    works_on: tuple[tuple[str, ...], ...]
    constraints: np.ndarray
    length: float
    tolerance: float

    @property
    def freedom(self) -> np.ndarray:
        """Twists the limb allows the platform: the system of its serial chain, [n, 6]."""
        return self._free(self.constraints)

    @property
    def at_rest(self) -> np.ndarray:
        """Twists the limb allows with its drives at rest, [n, 6]."""
        return self._free(np.vstack([self.D, self.constraints]))

    @property
    def screws(self) -> np.ndarray:
        """Twist of the platform per unit of each coordinate, the others at rest, [coordinates, 6].

        Determined up to `at_rest`; the smallest (by length) is given. Not a number where a drive
        cannot turn alone, because drives of the limb close a loop with the ground.
        """
        weight = np.repeat([1.0, 1.0 / self.length], 3)
        rows = np.vstack([self.D, self.constraints]) * weight
        target = np.vstack([self.B, np.zeros((len(self.constraints), self.B.shape[1]))])
        found = np.linalg.pinv(rows, rcond=self.tolerance) @ target
        wrong = np.abs(rows @ found - target).max(axis=0, initial=0.0)
        found[:, wrong > 10 * self.tolerance * np.abs(target).max(initial=0.0)] = np.nan
        return found.T * weight

    def _free(self, wrenches: np.ndarray) -> np.ndarray:
        twists = reciprocal_system(wrenches, "wrench", self.length, self.tolerance)
        return readable(twists, "twist", self.length, self.tolerance)


def limbs_of(
    stance: Contacts,
    lateral: Lateral | Sequence[bool] = "slips",
    tolerance: float = TOLERANCE,
) -> tuple[Limb, ...]:
    """The limbs of a robot in a pose, in the order of their first contacts."""
    holds = lateral_holds(stance, lateral)
    pods = find_pods(stance, max(1e-6, tolerance))
    return tuple(_limb(stance, *group, holds, pods, tolerance) for group in _groups(stance, pods))


def _groups(stance: Contacts, pods: list[Pod]) -> list[tuple[list[int], np.ndarray]]:
    """Contacts that share passive joints, closures or an axle, and which closures they share."""
    chain, closures = np.asarray(stance.chain, bool), closures_of(stance)
    n, joints = chain.shape
    label = np.arange(n + joints)

    def link(contacts: np.ndarray, through: np.ndarray) -> None:
        old = np.unique(label[np.concatenate([contacts, n + through])])
        label[np.isin(label, old)] = old[0]

    for joint in np.flatnonzero(~np.asarray(stance.driven, bool)):
        link(np.flatnonzero(chain[:, joint]), np.array([joint]))
    for row in closures:
        used = np.flatnonzero(row)
        if len(used):
            link(np.flatnonzero(chain[:, used].any(axis=1)), used)
    for pod in pods:
        link(np.array([pod.right, pod.left]), np.zeros(0, int))
    names = dict.fromkeys(label[:n].tolist())
    shared = [np.array([np.any(label[n:][row != 0] == x) for row in closures], bool) for x in names]
    return [(list(np.flatnonzero(label[:n] == x)), c) for x, c in zip(names, shared, strict=True)]


def _limb(
    stance: Contacts,
    group: list[int],
    mine: np.ndarray,
    holds: np.ndarray,
    pods: list[Pod],
    tolerance: float,
) -> Limb:
    """The limb of a group of contacts and of the closures they share."""
    driven, rates = np.asarray(stance.driven, bool), rates_of(stance, tolerance)
    touched = np.asarray(stance.chain, bool)[group].any(axis=0)
    L = stance_length(stance)
    C = closures_of(stance)[mine] * L  # [m], as the rates
    joints = touched | (C != 0).any(axis=0)
    passive, drives = np.flatnonzero(joints & ~driven), np.flatnonzero(joints & driven)
    own = own_drives(stance, max(1e-6, tolerance))
    drives = np.array(sorted(drives, key=lambda j: j not in own), int)  # wheels first
    # rows of the rolling conditions: contact, direction
    rows = [(i, a) for i in group for a in range(3) if a != LEFT or holds[i]]
    W = np.array([stance.wrenches[i, a] for i, a in rows] + [np.zeros(6)] * len(C))
    P = np.vstack([[rates[i, a] for i, a in rows], C])
    # forces that do no work on passive joints
    N = null_space(P[:, passive].T, tolerance)
    J, D = -N.T @ P[:, drives], N.T @ W
    inside = tuple(p for p in pods if {p.right, p.left} <= set(group))
    names, T, yaws = _coordinates(stance, drives, inside)
    normals = np.array([a != ALONG for _, a in rows] + [False] * len(C))
    back = np.linalg.inv(T)
    full = np.linalg.norm(P[:, drives] @ back, axis=0)
    works, Y, Z = _working(J @ back, full, N, normals, tolerance)
    D_work, B, Y = _sized(Y @ D, works, Y, yaws, L, tolerance)
    B[np.abs(B) <= tolerance * np.abs(B).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    forces = np.zeros((len(Y), len(group), 3))
    for column, (i, a) in enumerate(rows):
        forces[:, group.index(i), a] = (Y @ N.T)[:, column]
    held = Z @ D
    held = held[np.linalg.norm(held / np.repeat([1.0, L], 3), axis=1) > tolerance]
    return Limb(
        name=" + ".join(stance.contacts[i] for i in group),
        contacts=tuple(int(i) for i in group),
        passive=tuple(passive.tolist()),
        drives=tuple(drives.tolist()),
        pods=inside,
        coordinates=names,
        transform=T,
        D=D_work,
        B=B,
        forces=forces,
        works_on=tuple(tuple(names[a] for a in np.flatnonzero(row)) for row in B),
        constraints=readable(held, "wrench", L, tolerance),
        length=L,
        tolerance=tolerance,
    )


def _coordinates(
    stance: Contacts, drives: np.ndarray, pods: Sequence[Pod]
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names of q̇_a, the matrix from θ̇, and which are yaw rates of pods.

    Each pod has ω_z and v_x in place of its two drives; all other drives stand for themselves.
    """
    names, T, yaws = [stance.joints[j] for j in drives], np.eye(len(drives)), []
    for pod in pods:
        where = [int(np.flatnonzero(drives == j)[0]) for j in pod.drives]
        first, second = sorted(where)
        T[np.ix_([first, second], where)] = pod.jacobian
        both = " + ".join(stance.contacts[i] for i in sorted((pod.right, pod.left)))
        names[first], names[second] = f"yaw rate of {both}", f"speed of {both}"
        yaws.append(first)
    return tuple(names), T, np.array([k in yaws for k in range(len(drives))], bool)


def _working(
    J: np.ndarray, full: np.ndarray, N: np.ndarray, normals: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of J in echelon form, the sets of forces that make them [r, n], and those with J = 0.

    full: size of each column before passive joints were taken out; next to it zero is told.
    """
    size = np.linalg.norm(J, axis=0)
    idle = size <= tolerance * full
    size = np.where(idle, 1.0, size)
    J = np.where(idle, 0.0, J / size)
    Z = null_space(J.T, tolerance) if J.shape[1] else np.eye(len(J))
    target = echelon(J, tolerance)
    if not len(target):
        return np.zeros((0, J.shape[1])), np.zeros((0, len(J))), Z.T
    Y = np.linalg.lstsq(J.T, target.T, rcond=tolerance)[0].T
    # of all that work the same, those with the least normal and lateral forces
    across = N[normals]
    if Z.shape[1]:
        open_ = across @ Z
        open_[np.abs(open_) < tolerance] = 0.0
        Y = Y - (Z @ np.linalg.pinv(open_, rcond=tolerance) @ across @ Y.T).T
    return target * size, Y, Z.T


def _sized(
    D: np.ndarray,
    works: np.ndarray,
    Y: np.ndarray,
    yaws: np.ndarray,
    length: float,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Working rows scaled to unit force or moment, see the module docstring."""
    # rounding errors, next to the forces that make a row: loop forces alone make no wrench
    small = tolerance * np.linalg.norm(Y, axis=1)[:, None] * np.repeat([1.0, length], 3)
    D = np.where(np.abs(D) <= small, 0.0, D)
    scale = np.ones(len(D))
    for r, row in enumerate(D):
        f, m = np.linalg.norm(row[:3]), np.linalg.norm(row[3:])
        pivot = int(np.flatnonzero(works[r])[0])
        first, second = (m, f) if yaws[pivot] else (f, m)
        scale[r] = float(first or second or 1.0)
    return D / scale[:, None], works / scale[:, None], Y / scale[:, None]
