"""Nonsmooth contact as a law of the engine: its rows (`interaction.rows`).

Wheels meet the ground through the exact kernels of `contact_geometry`, called by address; other
bodies, and bodies among themselves, collide by MuJoCo's shapes. A wheel's first tangent is its
heading, its second points to its left. Couples against rolling and spinning are rows, too
(`couples`).
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from marsyard.c_calls import void_call
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.contact_geometry.collect import EDGE, kind_of_feature
from marsyard.interaction.contact_geometry.frame import place_shape, wheel_frame
from marsyard.interaction.hard_ground import Wheels
from marsyard.interaction.law import Kernels
from marsyard.interaction.nonsmooth.couples import add_couples
from marsyard.interaction.rows import POSITIONS, Bodies, Meetings, Rows, add_row
from marsyard.jit import F1, F2, I1, I2, by_reference, inlined, inner, law_callback

_P, _I, _D = types.int64, types.int64, types.float64
_call_contacts = void_call((_I, _D, _D, _P, _P, _P, _I, _D, _I, _P, _P, _P, _P, _P, _P))


@by_reference
class ContactArrays(NamedTuple):
    """What the kernel looks at: `s` surfaces, and friction between bodies as one more."""

    rows: Rows
    bodies: Bodies
    meetings: Meetings
    wheels: Wheels
    ground: I2  # table of the hard ground
    finder: I1  # [1], address of the contact geometry
    false_edges: I1  # [s], 1: edges have a normal that is not their own
    hard: I1  # [1], not 0 where the ground is hard for this law
    friction: F1  # [s + 1]
    restitution: F1  # [s + 1]
    restitution_tangential: F1  # [s + 1]
    rolling: F1  # [s + 1], lever of the couple against rolling [m]
    spinning: F1  # [s + 1], and against spinning [m]
    geom_body: I1  # [geom]
    geom_surface: I1  # [geom], number of the surface, or −1
    organ: I1  # [body], number of the foot, or −1
    meets_ground: I1  # [body], 0 for bodies under a law that takes them from hard ground
    # what the geometry answers, of features of the ground near one shape
    near_point: F2
    near_normal: F2
    near_gap: F1
    near_surface: I1
    near_feature: I1
    near_count: I1
    place: F2  # [2, 3], centre and axis of a shape


@law_callback(Attachments, ContactArrays)
def find_contacts(A, S, time, h, theta, flag):
    """Add everything nearer than the margin; 1 if it does not fit."""
    first = S.rows.used[0]
    if S.hard[0] != 0 and not with_ground(S, flag == POSITIONS):
        return 1
    if not between_shapes(S):
        return 1
    if flag == 0 and not add_couples(S, first):
        return 1
    return 0


# --- wheels, parts and shapes on the ground


@inlined
def near(S, shapes, i, centre, axis, ground):
    """Contacts of a wheel (or of a shape likewise) into S.near_…; their number."""
    _call_contacts(
        S.finder[0], shapes.kind[i], shapes.radius[i], shapes.width[i], centre.ctypes.data,
        axis.ctypes.data, ground.ctypes.data, ground.shape[0], S.rows.margin[0],
        S.near_gap.shape[0], S.near_point.ctypes.data, S.near_normal.ctypes.data,
        S.near_gap.ctypes.data, S.near_surface.ctypes.data, S.near_feature.ctypes.data,
        S.near_count.ctypes.data,
    )  # fmt: skip
    return S.near_count[0]


@inner
def is_false(S, k, surface):
    """Whether near contact k is with an edge whose normal is not its own."""
    return S.false_edges[surface] != 0 and kind_of_feature(S.near_feature[k]) == EDGE


@inner
def keep_near(S, k, key, body, surface, axis):
    """Near contact k becomes a row, on the body's surface and not on the ground's; its number."""
    R = S.rows
    i = add_row(R, key << 48 ^ S.near_feature[k], 0, body, S.near_gap[k])
    if i >= 0:
        for a in range(3):
            R.point[i, a] = S.near_point[k, a] + S.near_gap[k] * S.near_normal[k, a]
        wheel_frame(S.near_normal[k], axis, R.frame[i])
        lay_on_surface(S, i, surface)
    return i


@inlined
def lay_on_surface(S, i, surface):
    """Row i has the friction and restitution of a surface."""
    R = S.rows
    R.surface[i] = surface
    R.friction[i] = S.friction[surface]
    R.restitution[i] = S.restitution[surface]
    R.restitution_tangential[i] = S.restitution_tangential[surface]


@inner
def with_ground(S, true_ones):
    """What is near the ground by the exact kernels, or those with `true_ones` normals; False if it
    does not fit."""
    R, B, wheels = S.rows, S.bodies, S.wheels
    for w in range(wheels.body.shape[0]):
        body = wheels.body[w]
        if S.meets_ground[body] == 0:
            continue
        axis = B.axis[wheels.joint[w]]
        for k in range(near(S, wheels, w, B.position[body], axis, S.ground)):
            if true_ones and is_false(S, k, S.near_surface[k]):
                continue
            i = keep_near(S, k, w + 1, body, S.near_surface[k], axis)
            if i < 0:
                return False
            R.wheel[i] = w
    # the other discs of conical wheels, and tracks
    parts = wheels.parts
    for p in range(parts.body.shape[0]):
        if S.meets_ground[parts.body[p]] == 0:
            continue
        place_shape(B.position, B.rotation, parts, p, S.place)
        for k in range(near(S, parts, p, S.place[0], S.place[1], S.ground)):
            if true_ones and is_false(S, k, S.near_surface[k]):
                continue
            i = keep_near(S, k, p + 8192, parts.body[p], S.near_surface[k], S.place[1])
            if i < 0:
                return False
            R.wheel[i], R.organ[i] = wheels.part_wheel[p], wheels.part_organ[p]
            R.belt[i], R.belt_radius[i] = wheels.part_dof[p], wheels.part_radius[p]
    # other bodies on meshes
    shapes = wheels.shapes
    for p in range(shapes.body.shape[0]):
        if S.meets_ground[shapes.body[p]] == 0:
            continue
        place_shape(B.position, B.rotation, shapes, p, S.place)
        for k in range(near(S, shapes, p, S.place[0], S.place[1], wheels.meshes)):
            surface = wheels.mesh_surface[S.near_surface[k]]
            if true_ones and is_false(S, k, surface):
                continue
            i = keep_near(S, k, p + 4096, shapes.body[p], surface, S.place[1])
            if i < 0:
                return False
            R.organ[i] = S.organ[shapes.body[p]]
    return True


# --- MuJoCo's shapes


@inner
def between_shapes(S):
    """What MuJoCo's collision detection has found; False if it does not fit."""
    R, M = S.rows, S.meetings
    last1 = -1
    last2 = -1
    ordinal = 0
    for m in range(M.found[0]):
        g1, g2 = M.geom[m, 0], M.geom[m, 1]
        surface = max(S.geom_surface[g1], S.geom_surface[g2])
        b1, b2 = S.geom_body[g1], S.geom_body[g2]
        if surface >= 0 and S.meets_ground[max(b1, b2)] == 0:
            continue
        # several points of one pair of geoms are told apart by their order
        ordinal = ordinal + 1 if g1 == last1 and g2 == last2 else 0
        last1, last2 = g1, g2
        flip = b2 == 0
        first, second = (b2, b1) if flip else (b1, b2)
        key = -((g1 * 65536 + g2) * 64 + ordinal) - 1
        i = add_row(R, key, first, second, M.gap[m])
        if i < 0:
            return False
        lay_on_surface(S, i, surface if surface >= 0 else S.friction.shape[0] - 1)
        R.organ[i] = S.organ[second] if first == 0 else -1
        sign = -1.0 if flip else 1.0
        # mujoco's point lies in the middle of the gap; against the ground, take the body's side
        shift = 0.5 * M.gap[m] if first == 0 else 0.0
        for k in range(3):
            R.frame[i, 0, k] = sign * M.frame[m, 0, k]
            R.point[i, k] = M.point[m, k] + shift * R.frame[i, 0, k]
            R.frame[i, 1, k] = M.frame[m, 1, k]
            R.frame[i, 2, k] = sign * M.frame[m, 2, k]
    return True


kernels = Kernels(rows=find_contacts)
