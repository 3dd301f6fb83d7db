"""What the kernels of soil models share: answers of a call, sums by body, the ground's flow.

A law adds up, for each of its bodies, the columns `T_…` in a step and `S_…` between two records.

Soil that a body has displaced lies loose until the ground flows (`soil_bed`), which it does when
the fastest body has moved far enough. Every law notes how far its own have moved in a step with
`note_way`; the ground adds up the largest of all laws, once a step.
"""

from __future__ import annotations

import math

from marsyard.jit import inlined, inner

# what a call can answer
OK, NEEDS_TILES, TOO_MANY_NODES, LEFT_THE_MAP = range(4)

# columns of `total`, what a step adds up for each body
(
    T_AREA, T_COMPACTION, T_BULLDOZING, T_PRESSURE, T_SHEAR, T_PLASTIC_WORK, T_SHEAR_WORK, T_NODES,
    T_VOLUME,
) = range(9)  # fmt: skip
TOTAL_COLUMNS = 9
# columns of `sums`, added up between two records: impulse of the resistances [N·s], work [J],
# volume pressed down [m³]
S_COMPACTION, S_BULLDOZING, S_PLASTIC, S_SHEAR, S_VOLUME = range(5)
SUM_COLUMNS = 5
# places of `SoftGround.flow`: distance of the fastest body in the step at hand, and before it
# since the last flow [m]; time since the last flow [s]; how many columns still flow
WAY, TRAVELLED, SINCE, FLOWING = range(4)
FLOW_NUMBERS = 4


@inlined
def on_map(bounds, c):
    """Whether a place is within xmin, xmax, ymin, ymax."""
    return bounds[0] <= c[0] <= bounds[1] and bounds[2] <= c[1] <= bounds[3]


@inner
def unpack_wheel(packed, axis, B):
    """The derivative of a wheel's force, whose angular part is the spin about its axle: xx, xy, xz,
    yy, yz, zz of the centre, coupling x, y, z with the spin, spin."""
    B[0, 0], B[1, 0], B[2, 0] = packed[0], packed[1], packed[2]
    B[1, 1], B[2, 1], B[2, 2] = packed[3], packed[4], packed[5]
    for i in range(3):
        for j in range(3):
            B[3 + i, j] = axis[i] * packed[6 + j]
        for j in range(i + 1):
            B[3 + i, 3 + j] = packed[9] * axis[i] * axis[j]


@inlined
def add_to_sums(row, total, h):
    """Add the totals of a step to the sums of the next record."""
    row[S_COMPACTION] += h * total[T_COMPACTION]
    row[S_BULLDOZING] += h * total[T_BULLDOZING]
    row[S_PLASTIC] += total[T_PLASTIC_WORK]
    row[S_SHEAR] += total[T_SHEAR_WORK]
    row[S_VOLUME] += total[T_VOLUME]


@inlined
def note_way(flow, V, reach, h):
    """How far a body moves in a step: itself, the surface of a spinning one, or its belt."""
    speed = math.sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    spin = math.sqrt(V[3] * V[3] + V[4] * V[4] + V[5] * V[5])
    flow[WAY] = max(flow[WAY], max(speed, reach * spin, abs(V[6])) * h)


@inlined
def put_under_axle(A, b, radius):
    """The point under the axle of a wheel stands for its contact."""
    ax, ay = A.axis[b, 0], A.axis[b, 1]
    A.place[b, 0], A.place[b, 1] = A.point[b, 0], A.point[b, 1]
    A.place[b, 2] = A.point[b, 2] - radius * math.sqrt(ax * ax + ay * ay)


@inlined
def move_clock(flow, h):
    """Advance the ground's clock and distance by a step."""
    flow[TRAVELLED] += flow[WAY]
    flow[WAY] = 0.0
    flow[SINCE] += h
