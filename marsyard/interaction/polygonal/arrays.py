"""What polygonal contact works on: the surfaces, the pairs, and the columns of their tables."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.jit import F1, F2, F3, I1, I2, by_reference

# columns of Pairs.numbers
(
    STIFFNESS, DAMPING, TRANSITION, STIFFNESS_T, DAMPING_T, STICK, SLIP, SLIP_SPEED, DEEPEST,
    REFINE, ROUND, CONVEX, WEIGHT, CAP, WIDEST,
) = range(15)  # fmt: skip
NUMBERS = 15
# columns of Pairs.state
E_X, E_Y, E_Z, SPRING, SLIPPING = range(5)
STATE_COLUMNS = 5
# columns of Pairs.touch
(
    R_X, R_Y, R_Z, N_X, N_Y, N_Z, T_X, T_Y, T_Z, V_X, V_Y, V_Z, FN, G_X, G_Y, G_Z, D_X, D_Y, D_Z,
    D_N, D_ALONG, D_ACROSS, T_AREA, T_DAMPED, T_SLIPS, T_WAS, T_FACING, I_X, I_Y, I_Z,
    T_PATCH, T_SPRING, U_X, U_Y, U_Z, FD, T_HELD,
) = range(37)  # fmt: skip
TOUCH_COLUMNS = 37
# columns of Pairs.result: normal force [N], largest depth [m], area [m²], faces, slipping ones,
# work taken in the step [J], normal force as a vector, its moment F_N r
(
    Q_NORMAL, Q_DEPTH, Q_AREA, Q_FACES, Q_SLIPPING, Q_WORK, Q_NX, Q_NY, Q_NZ, Q_PX, Q_PY, Q_PZ,
) = range(12)  # fmt: skip
RESULTS = 12
# columns of a part of a face on the stack: corners (9), level, what is known of it (NOTHING, …);
# distance and direction at the three corners, and at the middle, there with the nearest point of a
# profile and its segment
P_LEVEL, P_KNOWN, P_CORNER, P_MIDDLE = 9, 10, 11, 23
PART = 30
NOTHING, CORNERS, CORNERS_AND_MIDDLE = range(3)
#: distances that are remembered within an evaluation, a power of two
MEMO = 2048
# columns of Pairs.near_at: pose of the faces in the other body's frame when the list of near faces
# was made (12), path of its profile then, how far bodies may move until it is made again [m],
# evaluations since then; how far faces may move until the list of close ones is made again [m], and
# how much further each time; box around the faces in the list (6)
W_PATH, W_VALID, W_USED, W_CLOSE, W_FURTHER, W_BOX = 12, 13, 14, 15, 16, 17
NEAR = 23
#: what `evaluate` answers
OK, TOO_MANY = 0, 2


@by_reference
class Shapes(NamedTuple):
    """The surfaces of all pairs; `m` meshes, `t` triangles, `r` profiles."""

    mesh: I2  # int64[m, 5]: first triangle, count, node before the first, leaves, first pseudo
    node: F2  # float64[·, 6], boxes in heap order
    triangle: F2  # float64[t, 13], corners, normal, area
    pseudo: F2  # float64[·, 18], normals of corners and sides, of meshes that are searched
    profile: I2  # int64[r, 5]: first point, points, first station, stations, first of `shape`
    point: F2  # float64[·, 2], (z, r) [m] as they are now
    rate: F2  # float64[·, 2], how they move per unit of the coordinate they change with
    bulge: F1  # float64[·], radius with which the section bends outwards at them [m], or inf
    station: F1  # float64[·], coordinates at which a changing profile is given
    shape: F2  # float64[·, 2], profiles at the stations, one after another
    path: F1  # float64[r], how far points of a changing profile have moved in all [m]
    stack: I1  # int64[128]
    memo: F2  # float64[MEMO, 7], distances and directions found, and at which points
    memo_number: I1  # int64[MEMO], in which evaluation
    part: F2  # float64[·, PART]


@by_reference
class Pairs(NamedTuple):
    """What is in contact with what; `n` pairs, `c` places for touching faces of all pairs."""

    faces: I1  # int64[n], mesh whose faces carry
    kind: I1  # int64[n], of the other body: PLANE, SPHERE, …
    number: I1  # int64[n], profile or mesh of the other body
    size: F2  # float64[n, 3], radius or half sizes [m]; side of a profile
    numbers: F2  # float64[n, NUMBERS]
    place: I2  # int64[n, 3], first slot, first place, places
    face_pose: F2  # float64[n, 12], origin and rotation of the faces' frame
    other_pose: F2  # float64[n, 12], of the other body's
    centre: F2  # float64[n, 3], point for twist and torque, in the world
    twist: F2  # float64[n, 7], velocity of the faces' body less that of the other, at `centre`;
    # rate of the coordinate that changes the other's profile
    force: F2  # float64[n, 7], on the faces' body, about `centre`; on that coordinate
    stiff: F3  # float64[n, 7, 7], −∂force/∂twist, its lower triangle
    result: F2  # float64[n, RESULTS]
    slot: I1  # int64[·], place of a face in the list of the last step, or −1
    extent: F2  # float64[n, 6], box around the other body, in its frame
    near: I1  # int64[·], faces near the other body, in order (`near`)
    near_gap: F1  # float64[·], how near they can have been when the list was made [m]
    near_count: I1  # int64[n], how many, or −1
    close: I1  # int64[·], those of them that may touch, as bodies have moved since
    close_count: I1  # int64[n]
    near_at: F2  # float64[n, NEAR]
    counts: I2  # int64[n, 2], faces that touch now, and did in the last step
    touching: I1  # int64[c]
    touch: F2  # float64[c, TOUCH_COLUMNS]
    before: I1  # int64[c]
    state: F2  # float64[c, STATE_COLUMNS]
    face: F1  # float64[FACE], sums over the parts of a face
    turn: F1  # float64[12], from the faces' frame to the other body's


# Pairs.face: V, area, damped area, x V (3), n V (3), depth
F_V, F_A, F_D, F_X, F_Y, F_Z, F_NX, F_NY, F_NZ, F_S = range(10)
FACE = 10
