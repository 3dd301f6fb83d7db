"""A compiled law for tests: springs with dampers between points of bodies, or of bodies and world.

Force on the first body k (L₀ − |d|) e − c (V·e) e along e = d/|d|, d from the second body's point
to the first's. Length and speed are those of the mean over the step, with what is not yet known of
it in B = (θ c + θ² h k) e eᵀ: of second order in h for θ = ½.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.interaction.attachments import HERE, Attachment, Attachments
from marsyard.interaction.law import LARGEST, Column, Kernels, Law
from marsyard.jit import F1, F2, by_reference, law_callback

STIFFNESS, DAMPING, REST = range(3)


@by_reference
class Springs(NamedTuple):
    """`n` springs."""

    numbers: F1  # [3]
    longest: F2  # [n, 1], since the last record [m]


@law_callback(Attachments, Springs)
def evaluate_springs(A, S, time, h, theta, flag):
    """Forces at the present lengths, predicted over the step."""
    k, c, rest = S.numbers[STIFFNESS], S.numbers[DAMPING], S.numbers[REST]
    for n in range(S.longest.shape[0]):
        x = A.pose[n, 0, 0] - A.pose[n, 1, 0]
        y = A.pose[n, 0, 1] - A.pose[n, 1, 1]
        z = A.pose[n, 0, 2] - A.pose[n, 1, 2]
        length = math.sqrt(x * x + y * y + z * z)
        e = (x / length, y / length, z / length)
        speed = A.V[n, 0] * e[0] + A.V[n, 1] * e[1] + A.V[n, 2] * e[2]
        force = k * (rest - length - (2.0 * theta - 1.0) * h * speed) - c * speed
        A.active[n] = 1
        for i in range(3):
            A.F[n, i] = force * e[i]
            for j in range(i + 1):
                A.B[n, i, j] = (theta * c + theta * theta * h * k) * e[i] * e[j]
        S.longest[n, 0] = max(S.longest[n, 0], length)
    return 0


class Spring(Law):
    """Springs from the bodies named in `pairs` to the next, or to a point of the world."""

    name = "spring"
    kernels = Kernels(evaluate=evaluate_springs)
    stiffness, damping, rest = 100.0, 0.0, 0.5
    pairs: tuple[tuple[str, str], ...] = (("a", "b"),)
    anchor = (0.0, 0.0, 0.0)

    @classmethod
    def build(cls, place):
        """The springs of a place."""
        law = cls()
        frame = np.concatenate([cls.anchor, HERE[3:]])
        law.attachments = []
        for first, second in cls.pairs:
            a = place.model.body(first).id
            b = place.model.body(second).id if second else 0
            frames = (HERE, HERE if second else frame)
            sign = 0.0 if second else 1.0
            law.attachments.append(Attachment(f"{first}-{second}", (a, b), frames, sign=sign))
        numbers = np.array([cls.stiffness, cls.damping, cls.rest])
        law.arrays = Springs(numbers, np.zeros((len(cls.pairs), 1)))
        return law

    def columns(self):
        """The longest they were."""
        return (Column("longest", self.arrays.longest, LARGEST, "m", "largest length"),)
