"""What the soil contact kernels work on: named tuples of plain arrays.

`b` bodies that may touch soil, `s` soils, room for `n` nodes or `k` blocks under one body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marsyard.ground.soil_nodes import MOST_STRIPS
from marsyard.interaction.soil_kernels import TOTAL_COLUMNS
from marsyard.jit import F1, F2, F3, F4, I1, I2, I3, U3, by_reference

# kinds of body: a wheel, a mesh, a track
WHEEL, MESH, BELT = 0, 1, 2
# columns of Soils.table
EXPONENT, UNLOADING, DAMPING, TAN_REPOSE, SOFTENING, EXPONENT_SLIP = range(6)
SOIL_COLUMNS = 6
# columns of Soils.strength
COHESION, TAN_PHI, K_ALONG, K_ACROSS = range(4)
# columns of Bodies.slip
KAPPA, LAMBDA = range(2)
# columns of Patch.state: displaced volumes of the node, the way they were pushed, 1 once it was
# touched; then, for each strip of its cell, the mobilised strength and the height dug away
V_SINKAGE, V_PUSHED, PUSH_X, PUSH_Y, TOUCHED, M_ALONG, M_ACROSS, DUG = range(8)
STRIP_COLUMNS = 3
STATE_COLUMNS = M_ALONG + MOST_STRIPS * STRIP_COLUMNS
# What lies under a body in the present step stands in blocks of up to so many lanes, one soil to a
# block; the strips of a node stand side by side. All columns of a block lie in one row, so that
# loops over its lanes run on vector units.
LANES = 64
# Columns of Patch.block: lane k of a block has its entry at [column + k].
# Found by the footprint: place from the body's centre, level of soil and plastic sinkage before the
# step, sinkage, weight (0 where the body does not touch), normal into the body
(
    PX, PY, PZ, LEVEL, SUNK, Z, WEIGHT, NX, NY, NZ,
    # of a wheel's surface: lateral place, tread's radius and slope, ±1 on a flat side, 1 if kept
    LATERAL, TREAD, SLOPE, FLANK, KEPT,
    # of the contact: mobilised strength along and across; p on first loading and its derivative, p,
    # strength, area
    MOBILE_ALONG, MOBILE_ACROSS, LOADED, TANGENT, PRESSURE, STRENGTH, AREA,
    # directions along (t) and across (c) in the tangent plane
    TX, TY, TZ, CX, CY, CZ,
    # force and its derivative along n, t, c
    FORCE_N, FORCE_T, FORCE_C, RATE_N, RATE_T, RATE_C,
    # plastic sinkage after the step, height carried away, and what goes to `Patch.state`
    SINKAGE, CARRIED, SUNK_VOLUME, PUSHED_VOLUME, PUSHED_X, PUSHED_Y,
    # work into the soil
    PLASTIC_WORK, SHEAR_WORK,
    # direction of slip over the ground, flux of a carried layer by its thickness [m/s], height dug
    # away under the body so far, height in the way of the layer, how much of what the body meets
    # will be cut, and the rise that carried soil would fill
    SLIP_X, SLIP_Y, FLUX, DUG_HERE, WANTED, LEFT_OUT, FILLED,
) = range(0, 49 * LANES, LANES)  # fmt: skip
BLOCK_COLUMNS = 49
# columns of Patch.candidate: place of the node [m], how far the undisturbed ground rises over a
# spacing behind and ahead of it, to its left and right, and how far the soil is from the wheel [m]
AT_X, AT_Y, BEHIND, AHEAD, LEFT, RIGHT, DISTANCE = range(7)
CANDIDATE_COLUMNS = 7
# columns of Patch.listed_at after the centre and the axle of the wheel: lean of its strips,
# steepest drop across them, how far soil had risen; how far wheel and soil have moved since, and in
# how many steps
LISTED_LEAN, LISTED_STEEP, LISTED_RISEN, LISTED_MOVED, LISTED_STEPS = range(6, 11)
LISTED_COLUMNS = 11
# columns of Patch.field, the stresses as last recorded
F_X, F_Y, F_Z, F_PRESSURE, F_ALONG, F_ACROSS, F_AREA = range(7)
FIELD_COLUMNS = 7
# columns of Patch.force, the law's answer for each body; the last one turns the belt of a track
FORCE_COLUMNS = 7
# columns of Patch.stiff: xx, xy, xz, yy, yz, zz of the centre; for wheels coupling x, y, z with
# spin, spin; for other bodies from 10 on: coupling with rotation (9, by rows), rotation (6); for
# tracks 6 to 9 are for the belt's speed, and its coupling with rotation is at the end (3)
STIFF_COLUMNS = 28


@by_reference
class Soils(NamedTuple):
    """Numbers of the soils, SI."""

    table: F2  # float64[s, SOIL_COLUMNS]
    modulus: F2  # float64[b, s], k = k_c/b + k_φ of each body's width [N/m^(n+2)]
    layer: F2  # float64[b, s], thickness of the soil layer carried along by slip [m]
    released: F2  # float64[b, s], share of it that is released under the rear arc
    strength: F3  # float64[b, s, 4], mean cohesion [Pa], tan φ, K along and across [m] (`tread`)
    wall: F3  # float64[b, s, 2], resistance to a side wall by depth and by its square (`side_wall`)


@by_reference
class Bodies(NamedTuple):
    """Shapes and poses of the bodies that may touch soil."""

    kind: I1  # int64[b]
    # float64[b, 5], wheels: largest radius, half width, edge rounding, crown radius [m], taper
    shape: F2
    reach: F1  # float64[b], radius of a ball about the centre that holds the body [m]
    triangles: I2  # int64[b, 2], first and last triangle of a mesh
    triangle: F2  # float64[t, 9], corners in the body's frame [m]
    centre: F2  # float64[b, 3], in the world [m]
    axis: F2  # float64[b, 3], axle of a wheel, left of a track, unit
    rotation: F2  # float64[b, 9], body's frame in the world, by rows
    # float64[b, 7], velocity of the centre [m/s], angular velocity [rad/s], speed of a belt [m/s]
    twist: F2
    slip: F2  # float64[b, 2], a wheel's slip along and across, built up over its contact


@by_reference
class Patch(NamedTuple):
    """Nodes under the bodies: what belongs to the contact, and scratch."""

    key: I3  # int64[2, b, n], order of the nodes
    node: I3  # int64[2, b, n]
    touching: U3  # uint8[2, b, n], 0 = left, but its displaced soil is not yet laid down
    state: F4  # float64[2, b, n, STATE_COLUMNS]
    listed: I2  # int64[2, b], how many nodes are listed
    side: I1  # int64[b], which of the two is the present one
    found: I1  # int64[b], how many nodes stood in the blocks in the last step, −1: not known
    found_key: I2  # int64[b, n], which
    found_at: I2  # int64[b, n], their places in the list
    touched: I1  # int64[b], how many of them the body touched
    candidates: I1  # int64[b], nodes that the wheel may touch (`candidates`), −1: not known
    candidate_node: I2  # int64[b, n]
    candidate_key: I2  # int64[b, n]
    candidate: F3  # float64[b, n, CANDIDATE_COLUMNS]
    listed_at: F2  # float64[b, LISTED_COLUMNS], where the wheel stood when they were listed
    strips: I1  # int64[b], into how many strips the cells of its nodes are cut
    cut: I1  # int64[b], 0: one behind the other along x, 1: along y
    share: F1  # float64[b], of the soil in its way that slip carries along
    blocks: I1  # int64[1], blocks in use for the body at hand
    block: F2  # float64[k, BLOCK_COLUMNS · LANES]
    block_count: I1  # int64[k], lanes of a block in use: nodes × strips
    block_soil: I1  # int64[k], their soil
    block_key: I2  # int64[k, LANES], of its nodes
    block_node: I2  # int64[k, LANES]
    block_at: I2  # int64[k, LANES], their place in the list of the contact
    field: F3  # float64[b, n, FIELD_COLUMNS]
    field_count: I1  # int64[b]
    border: I1  # int64[n]
    border_side: I1  # int64[n], on which side of a wheel (`deposition`)
    border_x: F1  # float64[n]
    border_y: F1
    border_free: F1  # free height under wheels [m]
    border_weight: F1
    border_amount: F1  # volume offered to the node [m³]
    # float64[4], by side of the wheel: how far the footprint reaches [m], share, sum of weights
    side_reach: F1
    side_share: F1
    side_weight: F1
    near: I1  # int64[8], neighbours of the node that settles
    near_height: F1  # float64[8], their surfaces [m]
    near_excess: F1  # float64[8], how much too low they lie [m]
    near_free: F1  # float64[8], free height under bodies there [m]
    window: F2  # float64[b, n], height of a mesh's lower side over its centre, by nodes [m]
    window_face: I2  # int64[b, n], the triangle it belongs to
    window_box: I2  # int64[b, 4], first node along x and y, how many along x and y
    force: F2  # float64[b, FORCE_COLUMNS], on the body at its centre [N, N·m]
    stiff: F2  # float64[b, STIFF_COLUMNS], h-implicit part, see `contact`
    total: F2  # float64[b, TOTAL_COLUMNS]


class Options(NamedTuple):
    """Numbers of a step."""

    h: float  # step [s]
    implicit: float  # θ h, how far ahead the normal stress is predicted [s]
    time: float  # [s]
    flow: int  # 1: displaced soil is laid down
    survey: int  # 1: stresses, their peaks and the split of the resistance are worked out


def make_patch(bodies: int, room: int) -> Patch:
    """Empty contacts with room for `room` nodes under a body."""
    f, i = np.zeros, np.int64
    b, n = bodies, room
    k = max(room // LANES * 2, 256)
    return Patch(
        key=f((2, b, n), i), node=f((2, b, n), i), touching=f((2, b, n), np.uint8),
        state=f((2, b, n, STATE_COLUMNS)), listed=f((2, b), i), side=f(b, i),
        found=f(b, i), found_key=f((b, n), i), found_at=f((b, n), i), touched=f(b, i),
        candidates=np.full(b, -1), candidate_node=f((b, n), i), candidate_key=f((b, n), i),
        candidate=f((b, n, CANDIDATE_COLUMNS)), listed_at=f((b, LISTED_COLUMNS)),
        strips=np.ones(b, i), cut=f(b, i), share=f(b), blocks=f(1, i),
        block=f((k, BLOCK_COLUMNS * LANES)), block_count=f(k, i),
        block_soil=f(k, i), block_key=f((k, LANES), i), block_node=f((k, LANES), i),
        block_at=f((k, LANES), i),
        field=f((b, n, FIELD_COLUMNS)), field_count=f(b, i), border=f(n, i),
        border_side=f(n, i), side_reach=f(4), side_share=f(4), side_weight=f(4),
        border_x=f(n), border_y=f(n), border_free=f(n), border_weight=f(n), border_amount=f(n),
        near=f(8, i), near_height=f(8), near_excess=f(8), near_free=f(8),
        window=f((b, n)), window_face=f((b, n), i), window_box=f((b, 4), i),
        force=f((b, FORCE_COLUMNS)), stiff=f((b, STIFF_COLUMNS)), total=f((b, TOTAL_COLUMNS)),
    )  # fmt: skip
