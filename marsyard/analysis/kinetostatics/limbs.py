"""Limbs: what joins the platform to the ground, and the wrenches it can pass on.

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
  drives) a row works on several; `works_on` names them. Constraint wrenches may be added to a
  working row without changing its J: the row with the least sum of squares of normal and lateral
  contact forces is taken (for a pod on the platform itself, forces along the wheels alone).
- constraint wrenches: reciprocal to all screws of the limb (J = 0). They forbid motions.

Limbs are groups of contacts that share passive joints or closures, or an axle.

Pods. Two driven wheels with the same joints above them, side by side on one line along their axle
with one normal, are the paper's pod ("monocycle"), with the coordinates of (1):

    (ω_z, v_x) = J_a (θ̇_right, θ̇_left),   J_a = ½ [[R/d, −R/d], [R, R]],

about the contact normal and along the heading at the middle of the contacts; R radius, d half of
the track. (The paper calls wheel 1 the left one. With its z axis up, which $_2 = [0, 1, 0, R, 0, 0]
at the axle's middle asks for, wheel 1 of (1) is the right one.)

    B q̇_a = D X,   q̇_a = J_a θ̇,   J = B J_a.

Size of a row: |m| = 1 at the origin for the row of a pod's ω_z, else |f| = 1, or |m| = 1 where f
vanishes; its first entry in B is positive. For the RobuRoc this is the paper's (5), (6), (8) with
B = diag(C γ, |C λ|, 1, 1, …); the paper's own sign of a row is that of C λ_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from marsyard.analysis.kinetostatics.screws import (
    TOLERANCE,
    echelon,
    null_space,
    readable,
    reciprocal_system,
)
from marsyard.errors import InputError

Lateral = Literal["slips", "holds"]
NORMAL, ALONG, LEFT = range(3)


class Contacts(Protocol):
    """A robot in a pose on its contacts, in the platform's frame.

    contacts: names [n]. wrenches [n, 3, 6]: unit forces (normal, along, left) on the platform.
    radius [m], shape [n]. joints: names [k]. rates [n, 3, k]: velocity of the wheel's material
    contact point per unit joint rate. driven [k]: joints with motors.
    closures [m, k]: closures · q̇ = 0. chain [n, k]: joint lies between platform and contact.
    """

    @property
    def contacts(self) -> Sequence[str]: ...
    @property
    def wrenches(self) -> np.ndarray: ...
    @property
    def radius(self) -> np.ndarray: ...
    @property
    def joints(self) -> Sequence[str]: ...
    @property
    def rates(self) -> np.ndarray: ...
    @property
    def driven(self) -> np.ndarray: ...
    @property
    def closures(self) -> np.ndarray: ...
    @property
    def chain(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Pod:
    """Two driven wheels on one axle, see the head of the module.

    right, left: contacts. drives: their joints (right, left). half_track: d [m].
    jacobian: J_a [2, 2] of (1), for (θ̇_right, θ̇_left). axes: x_j, y_j, z_j as columns.
    middle: of the two contact points [m].
    """

    right: int
    left: int
    drives: tuple[int, int]
    half_track: float
    jacobian: np.ndarray
    axes: np.ndarray
    middle: np.ndarray


@dataclass(frozen=True)
class Limb:
    """One limb and its reciprocal screws.

    contacts: indices. passive, drives: joints (indices). pods: those within the limb.
    coordinates: names of q̇_a; transform: q̇_a = transform · θ̇ of `drives`.
    D [r, 6], B [r, coordinates]: working rows. forces [r, contacts, 3]: contact forces of each.
    works_on: names of the coordinates each row works on. constraints [c, 6]: reciprocal to all.
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

    def freedom(self, length: float | None = None) -> np.ndarray:
        """Twists the limb allows the platform: the system of its serial chain, [n, 6]."""
        return readable(reciprocal_system(self.constraints, "wrench", length), "twist", length)

    def at_rest(self, length: float | None = None) -> np.ndarray:
        """Twists the limb allows with its drives at rest, [n, 6]."""
        rows = np.vstack([self.D, self.constraints])
        return readable(reciprocal_system(rows, "wrench", length), "twist", length)

    def screws(self, length: float | None = None) -> np.ndarray:
        """Twist of the platform per unit of each coordinate, the others at rest, [coordinates, 6].

        Determined up to `at_rest`; the smallest (by length) is given.
        """
        L = size_of(length)
        weight = np.repeat([1.0, 1.0 / L], 3)
        rows = np.vstack([self.D, self.constraints]) * weight
        target = np.vstack([self.B, np.zeros((len(self.constraints), self.B.shape[1]))])
        return (np.linalg.pinv(rows, rcond=TOLERANCE) @ target).T * weight


def size_of(length: float | None) -> float:
    """A length, or 1 m where none is given."""
    return 1.0 if length is None else length


def contact_points(stance: Contacts) -> np.ndarray:
    """Points of the contacts [m], shape [n, 3]: p = ½ Σ s × (p × s) over three unit directions."""
    W = np.asarray(stance.wrenches, float)
    return 0.5 * np.sum(np.cross(W[..., :3], W[..., 3:]), axis=1)


def stance_length(stance: Contacts) -> float:
    """Characteristic length [m]: root mean square distance of the contacts from their centre.

    The mean radius where all contacts coincide.
    """
    points = contact_points(stance)
    spread = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
    return spread if spread > 0 else float(np.mean(stance.radius))


def lateral_holds(stance: Contacts, lateral: Lateral | Sequence[bool]) -> np.ndarray:
    """Whether each contact holds sideways, shape [n]."""
    if isinstance(lateral, str):
        if lateral not in ("slips", "holds"):
            raise InputError(f"lateral is '{lateral}' but must be 'slips' or 'holds'")
        return np.full(len(stance.contacts), lateral == "holds")
    holds = np.asarray(lateral, bool)
    if holds.shape != (len(stance.contacts),):
        raise InputError(f"lateral has {holds.size} entries but there are {len(stance.contacts)}")
    return holds


def limbs_of(stance: Contacts, lateral: Lateral | Sequence[bool] = "slips") -> tuple[Limb, ...]:
    """The limbs of a robot in a pose, in the order of their first contacts."""
    holds = lateral_holds(stance, lateral)
    pods = find_pods(stance)
    groups = _groups(stance, pods)
    return tuple(_limb(stance, group, holds, pods) for group in groups)


def find_pods(stance: Contacts) -> list[Pod]:
    """Pairs of driven wheels that share an axle and a contact normal."""
    points, own = contact_points(stance), [_own_drive(stance, i) for i in range(len(stance.chain))]
    pods: list[Pod] = []
    taken: set[int] = set()
    for i in range(len(own)):
        for k in range(i + 1, len(own)):
            if {i, k} & taken or own[i] is None or own[k] is None:
                continue
            pod = _pod(stance, points, (i, k), (own[i], own[k]))
            if pod is not None:
                pods.append(pod)
                taken |= {i, k}
    return pods


def _own_drive(stance: Contacts, contact: int) -> int | None:
    """The driven joint that turns only this wheel, by −R along its heading."""
    chain, rates = np.asarray(stance.chain, bool), np.asarray(stance.rates, float)
    alone = chain[contact] & (chain.sum(axis=0) == 1) & np.asarray(stance.driven, bool)
    R = float(stance.radius[contact])
    for joint in np.flatnonzero(alone):
        if np.allclose(rates[contact, :, joint], [0.0, -R, 0.0], rtol=0, atol=1e-9 * R):
            return int(joint)
    return None


def _pod(
    stance: Contacts, points: np.ndarray, pair: tuple[int, int], drives: tuple[int | None, ...]
) -> Pod | None:
    i, k = pair
    above = np.array(stance.chain, bool)
    above[i, drives[0]] = above[k, drives[1]] = False
    frames = np.asarray(stance.wrenches, float)[:, :, :3]
    between = points[i] - points[k]
    track = float(np.linalg.norm(between))
    if np.any(above[i] != above[k]) or track == 0 or stance.radius[i] != stance.radius[k]:
        return None
    if np.abs(frames[i] - frames[k]).max() > 1e-9:
        return None
    side = float(between @ frames[i, LEFT]) / track
    if abs(abs(side) - 1.0) > 1e-12:
        return None
    right, left = (k, i) if side > 0 else (i, k)
    order = (drives[1], drives[0]) if side > 0 else (drives[0], drives[1])
    R, d = float(stance.radius[i]), track / 2
    jacobian = 0.5 * np.array([[R / d, -R / d], [R, R]])
    axes = frames[i][[ALONG, LEFT, NORMAL]].T
    middle = 0.5 * (points[i] + points[k])
    return Pod(right, left, (int(order[0] or 0), int(order[1] or 0)), d, jacobian, axes, middle)


def _groups(stance: Contacts, pods: list[Pod]) -> list[list[int]]:
    """Contacts that share passive joints, closures or an axle."""
    chain, closures = np.asarray(stance.chain, bool), _closures(stance)
    passive = ~np.asarray(stance.driven, bool)
    links = [np.flatnonzero(chain[:, j]) for j in np.flatnonzero(passive)]
    links += [np.flatnonzero(chain[:, row != 0].any(axis=1)) for row in closures]
    links += [np.array([p.right, p.left]) for p in pods]
    label = np.arange(len(chain))
    for link in links:
        if len(link):
            old = set(label[link])
            label[[x in old for x in label]] = min(old)
    return [list(np.flatnonzero(label == name)) for name in dict.fromkeys(label.tolist())]


def _limb(stance: Contacts, group: list[int], holds: np.ndarray, pods: list[Pod]) -> Limb:
    driven, closures = np.asarray(stance.driven, bool), _closures(stance)
    touched = np.asarray(stance.chain, bool)[group].any(axis=0)
    mine = np.array([bool(np.any(touched & (row != 0))) for row in closures], bool)
    C = closures[mine] * stance_length(stance)  # [m], as the rates
    joints = touched | (C != 0).any(axis=0)
    passive, drives = np.flatnonzero(joints & ~driven), np.flatnonzero(joints & driven)
    # rows of the rolling conditions: contact, direction
    rows = [(i, a) for i in group for a in range(3) if a != LEFT or holds[i]]
    W = np.array([stance.wrenches[i, a] for i, a in rows] + [np.zeros(6)] * len(C))
    P = np.vstack([[stance.rates[i, a] for i, a in rows], C])
    # forces that do no work on passive joints
    N = null_space(P[:, passive].T)
    J, D = -N.T @ P[:, drives], N.T @ W
    inside = tuple(p for p in pods if {p.right, p.left} <= set(group))
    names, T, yaws = _coordinates(stance, drives, inside)
    normals = np.array([a != ALONG for _, a in rows] + [False] * len(C))
    works, Y, Z = _working(J @ np.linalg.inv(T), N, normals)
    D_work, B, Y = _sized(Y @ D, works, Y, yaws)
    B[np.abs(B) <= TOLERANCE * np.abs(B).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    forces = np.zeros((len(Y), len(group), 3))
    for column, (i, a) in enumerate(rows):
        forces[:, group.index(i), a] = (Y @ N.T)[:, column]
    held = Z @ D
    held = held[np.linalg.norm(held, axis=1) > TOLERANCE] if len(held) else held
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
        constraints=readable(held, "wrench", stance_length(stance)),
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
    J: np.ndarray, N: np.ndarray, normals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of J in echelon form, the sets of forces that make them [r, n], and those with J = 0."""
    size = np.linalg.norm(J, axis=0)
    size = np.where(size > TOLERANCE * size.max(initial=0.0), size, 1.0)
    J = J / size
    Z = null_space(J.T) if J.shape[1] else np.eye(len(J))
    target = echelon(J)
    if not len(target):
        return np.zeros((0, J.shape[1])), np.zeros((0, len(J))), Z.T
    Y = np.linalg.lstsq(J.T, target.T, rcond=TOLERANCE)[0].T
    # of all that work the same, those with the least normal and lateral forces
    across = N[normals]
    if Z.shape[1]:
        Y = Y - (Z @ np.linalg.pinv(across @ Z, rcond=TOLERANCE) @ across @ Y.T).T
    return target * size, Y, Z.T


def _sized(
    D: np.ndarray, works: np.ndarray, Y: np.ndarray, yaws: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Working rows scaled to unit force or moment, see the head of the module."""
    D = np.where(np.abs(D) <= TOLERANCE * np.abs(D).max(axis=1, keepdims=True, initial=0), 0.0, D)
    scale = np.ones(len(D))
    for r, row in enumerate(D):
        f, m = np.linalg.norm(row[:3]), np.linalg.norm(row[3:])
        pivot = int(np.flatnonzero(works[r])[0])
        first, second = (m, f) if yaws[pivot] else (f, m)
        scale[r] = float(first or second or 1.0)
    return D / scale[:, None], works / scale[:, None], Y / scale[:, None]


def _closures(stance: Contacts) -> np.ndarray:
    return np.asarray(stance.closures, float).reshape(-1, len(stance.joints))
