"""Rows: how a law of interaction adds contacts to the velocity-level problem of a step.

A force law answers with forces (`attachments`); a constraint law answers with contacts instead, for
which the engine finds the impulses p that satisfy, together with all others of the step,

    0 ≤ u_N + e u_N⁻ ⊥ p_N ≥ 0,    ‖p_T‖ ≤ μ p_N with maximal dissipation on u_T + e_T u_T⁻

where u is the velocity of a point of `body2` relative to `body1` along the rows of `frame`: the
normal from body1 into body2 and two tangents. The law's kernel `rows` finds its contacts nearer
than `margin` at the poses in `Bodies` and adds each of them:

    i = add_row(R, key, body1, body2, gap)
    if i < 0:
        return 1                        # no room
    R.point[i, k] = …                   # [m]
    frame_from_normal(nx, ny, nz, R.frame[i])
    R.friction[i] = 0.6

A gap is positive when open; a contact enters the problem when its gap is closed or closes within
the step, and at the end of a step positions are projected so that no gap is negative. So a rope of
length L between two points is one row of gap L − d along the line between them, a stop is one row
along its direction, a wheel on a ground of one's own shape a row with friction. `key` is the same
for the same contact of a law from step to step: its impulses of the last step are the first guess.

The kernel is called several times a step, with the flag `POSITIONS` for rows along whose normals
the projection may move bodies, and with `NEARBY` between steps, for what is near. It must not
change the law's state; `commit` does, where `R.impulse` holds the impulses of the step by row
[N·s], in the order in which the rows were added.

Joint limits and loop closures are rows of the same problem. MuJoCo gives them, as parts of the
robot's model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.jit import F1, F2, F3, I1, I2, by_reference, inlined

#: what a row resists: the motion of a point; a relative rotation about both tangents, or about the
#: normal, by a couple whose normal impulse is given (`pressed`); a joint that leaves its range
POINT, ROLL, SPIN, LIMIT = range(4)
#: `flag` of the kernel: what is near, without couples; and of that, rows along whose normals
#: positions may be moved
NEARBY, POSITIONS = 1, 2


@by_reference
class Bodies(NamedTuple):
    """Where MuJoCo's bodies are now; live."""

    position: F2  # [body, 3] [m]
    rotation: F2  # [body, 9], by rows
    axis: F2  # [joint, 3], axes of the joints


@by_reference
class Meetings(NamedTuple):
    """Pairs of MuJoCo's shapes that are near each other, as its collision detection found them."""

    found: I1  # [1], how many
    geom: I2  # [m, 2]
    gap: F1  # [m] [m]
    point: F2  # [m, 3], in the middle of the gap [m]
    frame: F3  # [m, 3, 3], rows: normal from the first into the second, tangents


@by_reference
class Rows(NamedTuple):
    """Contacts near enough to matter, `c` at most: three rows each."""

    # from the engine
    margin: F1  # [1], gap up to which contacts are asked for [m]
    law: I1  # [1], number of the law that is asked
    last_count: I1  # [1], contacts of the problem of the last step: their laws, keys and impulses
    last_owner: I1  # [c]
    last_key: I1  # [c]
    last_impulse: F1  # [3c] [N·s]
    impulse: F2  # [c, 3], in `commit`: of this step, along the rows of `frame` [N·s]
    # from the law
    used: I1  # [1], how many rows
    owner: I1  # [c], number of the law
    key: I1  # [c], the same for the same contact of that law
    body1: I1  # [c], MuJoCo's bodies; 0 is the world
    body2: I1  # [c]
    gap: F1  # [c] [m]
    point: F2  # [c, 3], where the two touch [m]
    frame: F3  # [c, 3, 3], rows: normal from body1 into body2, first and second tangent
    friction: F1  # [c], Coulomb friction coefficient μ
    restitution: F1  # [c], Newton's coefficient e along the normal
    restitution_tangential: F1  # [c], and along the tangents
    kind: I1  # [c], POINT …
    length: F1  # [c], of ROLL and SPIN: rotations count as velocities by this length [m]
    pressed: F1  # [c], given normal impulse of ROLL and SPIN [N·s]
    belt: I1  # [c], degree of freedom that moves the surface of body2 along itself, or −1
    belt_radius: F1  # [c], speed of that motion per rate [m]
    # for the records
    wheel: I1  # [c], number of the wheel, or −1
    organ: I1  # [c], number of the foot or track, or −1
    surface: I1  # [c], number of the surface of hard ground, or −1


def no_bodies() -> Bodies:
    """Until the engine gives its own."""
    return Bodies(np.zeros((0, 3)), np.zeros((0, 9)), np.zeros((0, 3)))


def no_rows(capacity: int = 0) -> Rows:
    """Room for so many contacts; none until the engine gives its own."""
    c, f, i = capacity, np.zeros, np.int64
    return Rows(
        margin=f(1), law=f(1, i), last_count=f(1, i), last_owner=f(c, i), last_key=f(c, i),
        last_impulse=f(3 * c), impulse=f((c, 3)), used=f(1, i), owner=f(c, i), key=f(c, i),
        body1=f(c, i), body2=f(c, i), gap=f(c), point=f((c, 3)),
        frame=f((c, 3, 3)), friction=f(c), restitution=f(c), restitution_tangential=f(c),
        kind=f(c, i), length=f(c), pressed=f(c), belt=f(c, i),
        belt_radius=f(c), wheel=f(c, i), organ=f(c, i), surface=f(c, i),
    )  # fmt: skip


def no_meetings(capacity: int = 0) -> Meetings:
    """Room for so many pairs of shapes; none until the engine gives its own."""
    m, f, i = capacity, np.zeros, np.int64
    return Meetings(f(1, i), f((m, 2), i), f(m), f((m, 3)), f((m, 3, 3)))


@inlined
def add_row(R, key, body1, body2, gap):
    """One more contact, without friction and restitution; its number, or −1 if there is no room."""
    i = R.used[0]
    if i >= R.gap.shape[0]:
        return -1
    R.used[0] = i + 1
    R.owner[i] = R.law[0]
    R.key[i] = key
    R.body1[i] = body1
    R.body2[i] = body2
    R.gap[i] = gap
    R.friction[i] = 0.0
    R.restitution[i] = 0.0
    R.restitution_tangential[i] = 0.0
    R.kind[i] = POINT
    R.length[i] = 0.0
    R.pressed[i] = 0.0
    R.belt[i] = -1
    R.belt_radius[i] = 0.0
    R.wheel[i] = -1
    R.organ[i] = -1
    R.surface[i] = -1
    return i


@inlined
def frame_from_normal(nx, ny, nz, frame):
    """Rows of `frame`: the unit vector along (nx, ny, nz), and two across it."""
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    frame[0, 0], frame[0, 1], frame[0, 2] = nx / size, ny / size, nz / size
    n = frame[0]
    # across the coordinate axis that is farthest from the normal
    k = 0
    for j in range(1, 3):
        if abs(n[j]) < abs(n[k]):
            k = j
    i, j = (k + 1) % 3, (k + 2) % 3
    across = math.sqrt(n[i] * n[i] + n[j] * n[j])
    frame[1, k] = 0.0
    frame[1, i] = n[j] / across
    frame[1, j] = -n[i] / across
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        frame[2, a] = n[b] * frame[1, c] - n[c] * frame[1, b]
