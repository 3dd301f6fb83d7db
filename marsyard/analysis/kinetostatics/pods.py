"""Pods: two driven wheels on one axle, the paper's "monocycles".

Two driven wheels with the same joints above them, side by side on one line along their axle
with one normal, are the paper's pod ("monocycle"), with the coordinates of (1):

    (ω_z, v_x) = J_a (θ̇_right, θ̇_left),   J_a = ½ [[R/d, −R/d], [R, R]],

about the contact normal and along the heading at the middle of the contacts; R radius, d half of
the track. (The paper calls wheel 1 the left one. With its z axis up, which $_2 = [0, 1, 0, R, 0, 0]
at the axle's middle asks for, wheel 1 of (1) is the right one.)

R is the lever of a drive at its contact, the radius of a round wheel (negative where the joint
turns the other way); each wheel has its own.
Directions and lines count as the same within 1e-6 (or a given tolerance): (ω_z, v_x) are only
coordinates for the two rates, and the model is exact for any regular J_a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marsyard.analysis.kinetostatics.contacts import (
    ALONG,
    LEFT,
    NORMAL,
    Contacts,
    contact_points,
)


@dataclass(frozen=True)
class Pod:
    """Two driven wheels on one axle, see the module docstring.

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


def find_pods(stance: Contacts, tolerance: float = 1e-6) -> list[Pod]:
    """Pairs of driven wheels that share an axle and a contact normal."""
    points = contact_points(stance)
    own = own_drives(stance, tolerance)
    pods: list[Pod] = []
    taken: set[int] = set()
    for i in range(len(own)):
        for k in range(i + 1, len(own)):
            first, second = own[i], own[k]
            if {i, k} & taken or first is None or second is None:
                continue
            pod = _pod(stance, points, (i, k), (first, second), tolerance)
            if pod is not None:
                pods.append(pod)
                taken |= {i, k}
    return pods


def own_drives(stance: Contacts, tolerance: float = 1e-6) -> list[int | None]:
    """For each contact the driven joint that turns its wheel, None where there is none."""
    return [_own_drive(stance, i, tolerance) for i in range(len(stance.contacts))]


def _own_drive(stance: Contacts, contact: int, tolerance: float) -> int | None:
    """The driven joint that moves only this wheel, along its heading at the contact."""
    chain, rates = np.asarray(stance.chain, bool), np.asarray(stance.rates, float)
    alone = chain[contact] & (chain.sum(axis=0) == 1) & np.asarray(stance.driven, bool)
    for joint in np.flatnonzero(alone):
        across = np.hypot(rates[contact, NORMAL, joint], rates[contact, LEFT, joint])
        if abs(rates[contact, ALONG, joint]) * tolerance > across:
            return int(joint)
    return None


def _pod(
    stance: Contacts,
    points: np.ndarray,
    pair: tuple[int, int],
    drives: tuple[int, int],
    tolerance: float,
) -> Pod | None:
    i, k = pair
    above = np.array(stance.chain, bool)
    above[i, drives[0]] = above[k, drives[1]] = False
    frames = np.asarray(stance.wrenches, float)[:, :, :3]
    if np.any(above[i] != above[k]) or np.abs(frames[i] - frames[k]).max() > tolerance:
        return None
    n, x, y = frames[i] @ (points[i] - points[k])
    if np.hypot(n, x) >= tolerance * abs(y):
        return None
    (right, left), joints = ((k, i), drives[::-1]) if y > 0 else ((i, k), drives)
    d = abs(float(y)) / 2
    lever = [-float(stance.rates[c, ALONG, j]) for c, j in zip((right, left), joints, strict=True)]
    jacobian = 0.5 * np.array([[lever[0] / d, -lever[1] / d], lever])
    axes = frames[i][[ALONG, LEFT, NORMAL]].T
    return Pod(right, left, (joints[0], joints[1]), d, jacobian, axes, points[[i, k]].mean(axis=0))
