"""Attachments: what a law of interaction sees of the bodies, and what it answers.

An attachment is a pair of bodies between which something passes: a wheel and the ground, a foot and
the ground, a rock and a wheel. It is seen at one point, with the velocity V of the first body
relative to the second: of the point, angular, and the rate of a belt or of a changing profile; or
it is seen through joints between the two (a boom), and V are their rates. The
law answers with the force F on the first body (force, moment about the point, force along that
rate) and B = −∂F/∂V, whose symmetric part must not be negative. With J the Jacobian of V the engine
solves

    (M + … + h Σ JᵀBJ) (v⁺ − v) = h (… + Σ JᵀF)

so that F − B (V⁺ − V) acts over the step: implicit, and stable for stiff laws. All else is the
engine's: Jacobians, generalised forces, work, sums by wheel, foot and track, records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from marsyard.jit import F1, F2, F3, I1, by_reference

#: position and rotation of a frame that is the body's own
HERE = np.concatenate([np.zeros(3), np.eye(3).ravel()])


@by_reference
class Attachments(NamedTuple):
    """The attachments of a law; `n` of them, `s` surfaces of hard ground."""

    # from the engine, before every call
    pose: F3  # [n, 2, 12], position and rotation (by rows) of what touches, of both bodies
    axis: F2  # [n, 3], axle of a wheel, else the first frame's y axis
    point: F2  # [n, 3], where V and the moment count
    coordinate: F2  # [n, 7], coordinates of joints whose rates are in V, else 0 [rad, m]
    start: F2  # [n, 7], V at the start of the step [m/s, rad/s]
    V: F2  # [n, 7]: evaluate: at the start, correct: as found so far, commit: at the end
    # from the law: zero when `evaluate` is called
    F: F2  # [n, 7], [N, N·m]; in `commit` what has acted, F − B (V⁺ − V), unless the law says else
    B: F3  # [n, 7, 7], −∂F/∂V, symmetric: its lower triangle
    active: I1  # [n], not 0 where F or B is not
    # of hard ground, for the records; by `commit`
    contact: F3  # [n, s, 3], force along the normal, forwards and to the left by surface [N]
    place: F2  # [n, 3], the point that stands for the contact, NaN where there is none [m]
    # for the statistics; by `evaluate`
    touching: I1  # [n], points that touch
    depth: F1  # [n], how deep the deepest of them is [m]


@dataclass
class Attachment:
    """One of a law's attachments, as the engine must know it."""

    name: str
    body: tuple[int, int]  # mujoco's bodies; 0 is the world
    frame: tuple[np.ndarray, np.ndarray] = field(default_factory=lambda: (HERE, HERE))
    about: int = 0  # the body whose point it is
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # the point in that body's frame [m]
    axle: int = -1  # mujoco's joint of a wheel's axle
    wheel: int = -1  # number of the wheel
    organ: int = -1  # number of the foot or track
    sign: float = 1.0  # 1: the ground acts on the first body, −1: on the second, 0: no ground
    joint: int = -1  # mujoco's joint whose rate is the last component of V
    scale: float = 1.0  # that component per its rate
    joints: tuple[int, ...] = ()  # mujoco's joints whose rates are V, if it is seen through joints


def no_attachments(n: int, surfaces: int) -> Attachments:
    """Room for `n` attachments."""
    f, i = np.zeros, np.int64
    return Attachments(
        pose=f((n, 2, 12)), axis=f((n, 3)), point=f((n, 3)), coordinate=f((n, 7)), start=f((n, 7)),
        V=f((n, 7)), F=f((n, 7)), B=f((n, 7, 7)), active=f(n, i), contact=f((n, surfaces, 3)),
        place=np.full((n, 3), np.nan), touching=f(n, i), depth=f(n),
    )  # fmt: skip
