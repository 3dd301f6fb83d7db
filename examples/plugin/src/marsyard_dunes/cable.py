"""A constraint law: a cable from a body of the robot to a fixed anchor, as on tethered rovers.

It cannot stretch and does not push. With the distance d from the hook to the anchor and the length
L the gap is L − d; while the cable is slack nothing acts, and when it is taut the engine finds the
impulse p that keeps the gap from becoming negative, together with all contacts of the rover:

    0 ≤ u + e u⁻ ⊥ p ≥ 0,    u = d/dt (L − d)

with the coefficient of restitution e of a cable that is jerked (0: it takes the whole jerk).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard import InputError
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import LARGEST, PRESENT, Column, Kernels, Law
from marsyard.interaction.rows import (
    Bodies,
    Rows,
    add_row,
    frame_from_normal,
    no_bodies,
    no_rows,
)
from marsyard.jit import F1, I1, by_reference, law_callback

# places of Arrays.numbers: length [m], restitution
LENGTH, RESTITUTION = range(2)


@by_reference
class Arrays(NamedTuple):
    """What the kernels work on; the engine gives the fields `rows` and `bodies`."""

    rows: Rows
    bodies: Bodies
    body: I1  # [1], the body it pulls
    hook: F1  # [3], where on it [m]
    anchor: F1  # [3] [m]
    numbers: F1  # [2]
    row: I1  # [1], of the cable among all rows, or −1
    tension: F1  # [1], largest since the last record [N]
    slack: F1  # [1], now [m]


@law_callback(Attachments, Arrays)
def rows(A, S, time, h, theta, flag):
    """One row along the cable, if it is nearly taut; 1 if there is no room."""
    R, b = S.rows, S.body[0]
    position, turn = S.bodies.position[b], S.bodies.rotation[b]
    S.row[0] = -1
    x = position[0] + turn[0] * S.hook[0] + turn[1] * S.hook[1] + turn[2] * S.hook[2]
    y = position[1] + turn[3] * S.hook[0] + turn[4] * S.hook[1] + turn[5] * S.hook[2]
    z = position[2] + turn[6] * S.hook[0] + turn[7] * S.hook[1] + turn[8] * S.hook[2]
    dx, dy, dz = S.anchor[0] - x, S.anchor[1] - y, S.anchor[2] - z
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    gap = S.numbers[LENGTH] - distance
    S.slack[0] = gap
    if gap > R.margin[0] or distance == 0.0:
        return 0
    i = add_row(R, 0, 0, b, gap)
    if i < 0:
        return 1
    R.point[i, 0], R.point[i, 1], R.point[i, 2] = x, y, z
    # the normal points from the world into the body: along the cable's pull
    frame_from_normal(dx, dy, dz, R.frame[i])
    R.restitution[i] = S.numbers[RESTITUTION]
    S.row[0] = i
    return 0


@law_callback(Attachments, Arrays)
def commit(A, S, time, h, theta, flag):
    """The tension that has acted."""
    if S.row[0] >= 0:
        S.tension[0] = max(S.tension[0], S.rows.impulse[S.row[0], 0] / h)
    return 0


class Cable(Law):
    """A cable to a fixed anchor."""

    name = "cable"
    title = "Cable to an anchor, from outside"
    kernels = Kernels(rows=rows, commit=commit)
    shown = False
    beside = True  # the rover stands on the ground as without it
    most_rows = 1

    @classmethod
    def build(cls, place, length=1.0, x=0.0, y=0.0, z=0.0, restitution=0.0, body=""):
        """A cable of this length from the anchor (x, y, z) to a body, or the robot's base."""
        if not length > 0:
            raise InputError(f"length = {length}: must be above 0 [m]")
        if not 0 <= restitution <= 1:
            raise InputError(f"restitution = {restitution}: must be between 0 and 1")
        names = [place.model.body(b).name for b in range(1, place.model.nbody)]
        body = body or place.robot.base or names[0]
        if body not in names:
            raise InputError(f"body: there is no '{body}'; there are {', '.join(names)}")
        law, f = cls(), np.zeros
        law.attachments = []
        law.arrays = Arrays(
            no_rows(), no_bodies(), np.array([place.model.body(body).id]), f(3),
            np.array([x, y, z], dtype=float), np.array([length, restitution], dtype=float),
            np.array([-1]), f(1), f(1),
        )  # fmt: skip
        law.body = body
        return law

    def columns(self):
        """Tension and slack."""
        return (
            Column("tension", self.arrays.tension, LARGEST, "N", "largest tension of the cable"),
            Column("slack", self.arrays.slack, PRESENT, "m", "length less distance"),
        )

    def acted(self):
        """What the report says of it."""
        x, y, z = self.arrays.anchor
        return [
            ("length", float(self.arrays.numbers[LENGTH]), "m"),
            ("from", f"{self.body} to ({x:g}, {y:g}, {z:g})", "m"),
        ]

    def kept(self):
        """Recorded since the last record."""
        return {"cable_tension": self.arrays.tension}
