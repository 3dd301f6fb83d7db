"""What the soil contact kernels work on: named tuples of plain arrays.

`b` bodies that may touch soil, `s` soils, room for `n` nodes under one body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray

# kinds of body
WHEEL, MESH = 0, 1
# columns of Soils.table
EXPONENT, COHESION, TAN_PHI, K_ALONG, K_ACROSS, UNLOADING, DAMPING, TAN_REPOSE = range(8)
SOIL_COLUMNS = 8
# columns of Patch.state
M_ALONG, M_ACROSS, V_SINKAGE, V_PUSHED, PUSH_X, PUSH_Y = range(6)
STATE_COLUMNS = 6
# columns of Patch.found, the nodes under a body in the present step
Z, WEIGHT, NX, NY, NZ, PX, PY, PZ = range(8)
FOUND_COLUMNS = 8
# columns of Patch.field, the stresses of the last step
F_X, F_Y, F_Z, F_PRESSURE, F_ALONG, F_ACROSS, F_AREA = range(7)
FIELD_COLUMNS = 7
# columns of Patch.force, the law's answer for each body
FORCE_COLUMNS = 6
# columns of Patch.stiff: xx, xy, xz, yy, yz, zz of the centre; for wheels coupling x, y, z with
# spin, spin; for other bodies from 10 on: coupling with rotation (9, by rows), rotation (6)
STIFF_COLUMNS = 25
# columns of Patch.total, what a step adds up for each body
(
    T_AREA, T_PLAN, T_NORMAL, T_COMPACTION, T_BULLDOZING, T_PRESSURE, T_SHEAR, T_PLASTIC_WORK,
    T_SHEAR_WORK, T_NODES, T_VOLUME,
) = range(11)  # fmt: skip
TOTAL_COLUMNS = 11

# what a call can answer
OK, NEEDS_TILES, TOO_MANY_NODES, LEFT_THE_MAP = range(4)


class Soils(NamedTuple):
    """Numbers of the soils, SI."""

    table: Array  # float64[s, SOIL_COLUMNS]
    modulus: Array  # float64[b, s], k = k_c/b + k_φ of each body's width [N/m^(n+2)]
    layer: Array  # float64[b, s], thickness of the soil layer carried along by slip [m]


class Bodies(NamedTuple):
    """Shapes and poses of the bodies that may touch soil."""

    kind: Array  # int64[b]
    shape: Array  # float64[b, 4], wheels: radius, half width, edge rounding, crown radius [m]
    reach: Array  # float64[b], radius of a ball about the centre that holds the body [m]
    triangles: Array  # int64[b, 2], first and last triangle of a mesh
    triangle: Array  # float64[t, 9], corners in the body's frame [m]
    centre: Array  # float64[b, 3], in the world [m]
    axis: Array  # float64[b, 3], axle of a wheel, unit
    rotation: Array  # float64[b, 9], body's frame in the world, by rows
    twist: Array  # float64[b, 6], velocity of the centre [m/s], angular velocity [rad/s]


class Patch(NamedTuple):
    """Nodes under the bodies: what belongs to the contact, and scratch."""

    key: Array  # int64[2, b, n], order of the nodes
    node: Array  # int64[2, b, n]
    touching: Array  # uint8[2, b, n], 0 = left, but its displaced soil is not yet laid down
    state: Array  # float64[2, b, n, STATE_COLUMNS]
    listed: Array  # int64[2, b], how many nodes are listed
    side: Array  # int64[b], which of the two is the present one
    found_key: Array  # int64[n]
    found_node: Array  # int64[n]
    found: Array  # float64[n, FOUND_COLUMNS]
    field: Array  # float64[b, n, FIELD_COLUMNS]
    field_count: Array  # int64[b]
    border: Array  # int64[n]
    border_x: Array  # float64[n]
    border_y: Array
    border_free: Array  # free height under wheels [m]
    border_weight: Array
    border_amount: Array  # volume offered to the node [m³]
    window: Array  # float64[b, n], height of a mesh's lower side over its centre, by nodes [m]
    window_face: Array  # int64[b, n], the triangle it belongs to
    window_box: Array  # int64[b, 4], first node along x and y, how many along x and y
    force: Array  # float64[b, FORCE_COLUMNS], on the body at its centre [N, N·m]
    stiff: Array  # float64[b, STIFF_COLUMNS], h-implicit part, see `contact`
    total: Array  # float64[b, TOTAL_COLUMNS]


class Options(NamedTuple):
    """Numbers of the method."""

    h: float  # step [s]
    implicit: float  # θ h, how far ahead the normal stress is predicted [s]
    time: float  # [s]
    flow: int  # 1: displaced soil is laid down
    deposit_exponent: float  # m of eq. (10)
    split: int  # 1: work out the split of the resistance in this step
    xmin: float
    xmax: float
    ymin: float
    ymax: float


def make_patch(bodies: int, room: int) -> Patch:
    """Empty contacts with room for `room` nodes under a body."""
    f, i = np.zeros, np.int64
    b, n = bodies, room
    return Patch(
        key=f((2, b, n), i), node=f((2, b, n), i), touching=f((2, b, n), np.uint8),
        state=f((2, b, n, STATE_COLUMNS)), listed=f((2, b), i), side=f(b, i),
        found_key=f(n, i), found_node=f(n, i), found=f((n, FOUND_COLUMNS)),
        field=f((b, n, FIELD_COLUMNS)), field_count=f(b, i), border=f(n, i),
        border_x=f(n), border_y=f(n), border_free=f(n), border_weight=f(n), border_amount=f(n),

        window=f((b, n)), window_face=f((b, n), i), window_box=f((b, 4), i),
        force=f((b, FORCE_COLUMNS)), stiff=f((b, STIFF_COLUMNS)), total=f((b, TOTAL_COLUMNS)),
    )  # fmt: skip
