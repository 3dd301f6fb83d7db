"""A wheel model on rough terrain: the plane it stands on, its slip in time, and the rut it leaves.

Plane of interaction (Ding et al. 2011, eqs. (21) to (31)). The ground under the wheel is taken as a
plane, fitted by least squares to nine heights: three along the heading over the length of the
contact, three across the width (the source takes three points). With n its normal, a the axle and
c the wheel's centre at the distance D from the plane,

    e_x = a × n/|a × n|, e_y = n × e_x            directions of pull and side force   (26), (27)
    Z = r |a × n| − D                             sinkage; camber asin(a·n)          (23), (24)
    F = F_x e_x + F_y e_y + F_z n,  M = M_x e_x + M_y a + M_z n   at the centre      (30), (31)

The heights are those of the soil before it was pressed: ruts do not tilt the plane.

Slip in time. A slip ratio is not defined at rest, and jumps when a wheel starts. The soil under a
wheel needs some distance L to be sheared, half the length of the contact. Slip is therefore a
state, as in transient tyre models (Pacejka 2006, section 7.2), with V the larger of |w| and |v_x|:

    L κ̇ = (w − v_x) − V κ,   L λ̇ = v_y − max(V, |v_y|) λ,   L ḋ = v − |v| d

κ and λ tend to the slip ratio and v_y/V over the distance L, are bounded by 1, and stay when the
wheel stands: it holds on a slope like a spring. d is the direction of travel, from −1 to 1, v the
larger of w and v_x; while it turns, forces of forward and backward motion are blended. A wheel that
leaves the ground forgets its slip. The three equations are integrated implicitly. The spring is
damped by its own rate, F_x += (∂F_x/∂κ) T κ̇ with T = 2 ζ √(F_z L/(g ∂F_x/∂κ)), the same across:
nothing in steady motion.

Normal force. F_z(z) of the model, predicted over the step with its slope k_z ≈ (n + ½) F_z/z, and
with damping, c = 2 ζ √(k_z F_z/g); both and ∂F_x/∂κ, ∂F_y/∂λ go into the inertia matrix, as the
forces of the soil contact model do (see `soil_contact.contact`): stable for steps of 5 ms.

Slip digs: a layer of thickness δ is carried away at the speed of slip, from a contact of length L,
while the wheel leaves what it has dug behind,

    L ȧ = δ (w − v_x) − |v_x| a,       a = z_s + z_s²/(b tan φ_r),   z_s at most Z and r/2

for a driven wheel, which is a = δ s/(1 − s) in steady motion (`interaction.tread`). The soil is
pressed to the depth z = Z − z_s.

Ruts and multiple passes. Nodes that the rim's lowest point has passed are pressed down to what the
wheel leaves, averaged over the distance L: its sinkage less the elastic rebound σ/k_u, and less
z_s, for all that it carries is laid down behind it. Where earlier wheels left the plastic sinkage
z_p (mean over the window, which lies ahead of the axle in the direction of travel), the wheel meets
the soil at the bottom of their rut, Z − z_p, and the stress under its lowest point is min(k_u z, k
Zᴺ): it sinks less and meets less resistance. The soil of a rut lies beside it (`ruts`).

Forces are found from the states at the start of a step (`wheel_contact`); the states at its end,
and the ruts, come into force when the step is done (`move_on`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from marsyard.ground.soil_nodes import GridArrays, level_at, node_at
from marsyard.interaction.slip import build_up, trench_depth
from marsyard.interaction.soil_kernels import (
    T_AREA,
    T_BULLDOZING,
    T_COMPACTION,
    T_NODES,
    T_PLASTIC_WORK,
    T_PRESSURE,
    T_SHEAR_WORK,
    T_VOLUME,
)
from marsyard.interaction.wheel_models.arc import MOST_DUG
from marsyard.interaction.wheel_models.model import (
    MAGIC_FORMULA,
    RIGID_SLIP,
    TOUCH,
    push_in_front,
    wheel_forces,
)
from marsyard.interaction.wheel_models.numbers import (
    DUG,
    ENTRY,
    EXIT,
    EXPONENT,
    EXPONENT_SIDE,
    EXPONENT_SLIP,
    F_X,
    F_Y,
    F_Z,
    LAYER,
    M_X,
    M_Y,
    M_Z,
    MODULUS,
    RADIUS,
    RESISTANCE,
    SHEAR_RADIUS,
    SLOPE_X,
    SLOPE_Y,
    THRUST,
    WALLS,
    WIDTH,
)
from marsyard.interaction.wheel_models.ruts import heap_width, lay_berms, leave_rut
from marsyard.jit import F1, F2, F3, I1, by_reference, inlined, kernel

# columns of WheelArrays.state and .next; in the latter 1 if the wheel leaves a rut of depth TRACK
KAPPA, LAMBDA, DIRECTION, LENGTH, TRACK, TRENCH, LEAVES = range(7)
STATE_COLUMNS = 6
# columns of WheelArrays.option
DAMPING_RATIO, GRAVITY, RUT, BERMS = range(4)
OPTION_COLUMNS = 4
#: room for a model's coefficients
OWN_COLUMNS = 32
#: shortest distance over which slip builds up, in radii
_SHORTEST = 0.05
#: step of κ and λ for the slopes of models that do not give them
_STEP = 1e-3


@by_reference
class WheelArrays(NamedTuple):
    """All that the kernels work on; `b` wheels, `s` soils."""

    grid: GridArrays
    model: I1  # int64[b]
    wheel: F2  # float64[b, WHEEL_NUMBERS]
    soil: F3  # float64[b, s, SOIL_NUMBERS]
    own: F3  # float64[b, s, OWN_COLUMNS]
    option: F2  # float64[b, OPTION_COLUMNS]
    unloading: F1  # float64[s], k_u of the soils [Pa/m]
    radius: F1  # float64[b], of the wheel without grousers [m]
    reach: F1  # float64[b], radius of a ball about the centre that holds the wheel [m]
    bounds: F1  # float64[4], of the map: xmin, xmax, ymin, ymax [m]
    flow: F1  # float64[FLOW_NUMBERS], the ground's
    # slips, direction, distance L, depth of the rut, z_s [m]: at the start of a step, and at its
    # end
    state: F2  # float64[b, STATE_COLUMNS]
    next: F2  # float64[b, STATE_COLUMNS + 1]
    total: F2  # float64[b, TOTAL_COLUMNS]
    sums: F2  # float64[b, SUM_COLUMNS]
    stiff: F2  # float64[b, 10], scratch: see `soil_kernels.unpack_wheel`
    ground: F1  # float64[SOIL_NUMBERS], scratch: the soil at hand
    answer: F2  # float64[2, ANSWERS], scratch


@inlined
def plane_under(grid, x, y, ex, ey, ahead, length, half):
    """Plane fitted to nine heights: height below the centre, slopes along and to the left, mean
    plastic sinkage."""
    rear = front = left = right = total = sunk = 0.0
    for a in range(-1, 2):
        for b in range(-1, 2):
            u = ahead + a * length
            v = b * half
            height, depth = level_at(grid, x + u * ex - v * ey, y + u * ey + v * ex)
            total += height
            sunk += depth
            if a < 0:
                rear += height
            elif a > 0:
                front += height
            if b < 0:
                right += height
            elif b > 0:
                left += height
    along = (front - rear) / (6.0 * length)
    across = (left - right) / (6.0 * half)
    return total / 9.0 - along * ahead, along, across, sunk / 9.0


@inlined
def soil_at(grid, x, y):
    """Number of the soil at a place."""
    ds = grid.spacing[0]
    node = node_at(grid, int(round(x / ds)), int(round(y / ds)))
    return grid.soil[node] if node >= 0 else 0


@inlined
def ask(model, wheel, soil, own, z, kappa, lam, camber, back, out):
    """Forces for slip states, travelling forward or back."""
    k = -kappa if back else kappa
    v_x, w = 1.0, 1.0
    if k >= 0.0:
        v_x = 1.0 - k
    else:
        w = 1.0 + k
    wheel_forces(model, wheel, soil, own, z, v_x, lam, w, camber, out)
    if back:
        out[F_X] = -out[F_X]
        out[M_Y] = -out[M_Y]
        out[M_Z] = -out[M_Z]


@kernel
def forces_of(L, b, own, z, camber):
    """The model's forces at the slip states of the step's end, into answer[0], blended while
    turning."""
    model, wheel, soil = L.model[b], L.wheel[b], L.ground
    kappa, lam, d = L.next[b, KAPPA], L.next[b, LAMBDA], L.next[b, DIRECTION]
    out, other = L.answer[0], L.answer[1]
    share = 0.5 * (1.0 + d)
    ask(model, wheel, soil, own, z, kappa, lam, camber, share < 0.5, out)
    less = min(share, 1.0 - share)
    if less > 1e-3:
        ask(model, wheel, soil, own, z, kappa, lam, camber, share >= 0.5, other)
        for i in range(out.shape[0]):
            out[i] += less * (other[i] - out[i])


@inlined
def spring_time(option, normal, length, slope):
    """T = 2 ζ/ω of the wheel's load on the spring slope/length [s], at most 0.1 s."""
    if slope <= 0.0:
        return 0.0
    return min(
        2.0 * option[DAMPING_RATIO] * math.sqrt(normal * length / (option[GRAVITY] * slope)), 0.1
    )


@kernel
def wheel_contact(A, L, b, h, ahead_h):
    """Forces on wheel b by its model, its totals, and its states at the end of the step h, over
    θ h of which the normal force is predicted. Returns whether it touches."""
    grid, force, stiff, total = L.grid, A.F[b], L.stiff[b], L.total[b]
    for i in range(total.shape[0]):
        total[i] = 0.0
    wheel, option, state = L.wheel[b], L.option[b], L.next[b]
    for i in range(STATE_COLUMNS):
        state[i] = L.state[b, i]
    state[LEAVES] = 0.0
    r, r_s, half = wheel[RADIUS], wheel[SHEAR_RADIUS], 0.5 * wheel[WIDTH]
    cx, cy, cz = A.point[b, 0], A.point[b, 1], A.point[b, 2]
    ax, ay, az = A.axis[b, 0], A.axis[b, 1], A.axis[b, 2]
    size = math.sqrt(max(ax * ax + ay * ay, 1e-12))
    hx, hy = ay / size, -ax / size
    length = max(state[LENGTH], _SHORTEST * r)
    # on soil not yet pressed by this wheel, and no finer than the grid
    reach = max(length, grid.spacing[0])
    ahead = state[DIRECTION] * reach
    height, along, across, sunk = plane_under(grid, cx, cy, hx, hy, ahead, reach, half)
    # normal, directions, sinkage
    nz = 1.0 / math.sqrt(1.0 + along * along + across * across)
    nx = -(along * hx - across * hy) * nz
    ny = -(along * hy + across * hx) * nz
    lean = ax * nx + ay * ny + az * nz
    level = math.sqrt(max(1.0 - lean * lean, 1e-12))
    z = r * level - (cz - height) * nz - sunk
    tx, ty, tz = ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx
    tx, ty, tz = tx / level, ty / level, tz / level
    sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    V = A.V[b]
    vn = V[0] * nx + V[1] * ny + V[2] * nz
    v_x = V[0] * tx + V[1] * ty + V[2] * tz
    v_y = V[0] * sx + V[1] * sy + V[2] * sz
    w = r_s * (V[3] * ax + V[4] * ay + V[5] * az)
    # slip, way by way
    per = h / length
    turn = w if abs(w) > abs(v_x) else v_x
    state[DIRECTION] = (state[DIRECTION] + per * turn) / (1.0 + per * abs(turn))
    if z <= 0.0:
        state[KAPPA] = 0.0
        state[LAMBDA] = 0.0
        state[LENGTH] = 0.0
        state[TRENCH] = 0.0
        return False
    kappa, lam = state[KAPPA], state[LAMBDA]
    state[KAPPA], state[LAMBDA], build_x, build_y = build_up(kappa, lam, v_x, v_y, w, per)
    rate_x = (state[KAPPA] - kappa) / h
    rate_y = (state[LAMBDA] - lam) / h
    # soil under the wheel, firmer where it was pressed before
    place = soil_at(grid, cx, cy)
    ground = L.ground
    for i in range(ground.shape[0]):
        ground[i] = L.soil[b, place, i]
    if ground[LAYER] > 0.0:
        driven = max(math.copysign(1.0, w) * (w - v_x), 0.0)
        layer = state[TRENCH] * (1.0 + state[TRENCH] / max(ground[WALLS], 1e-9))
        layer = (layer + per * ground[LAYER] * driven) / (1.0 + per * abs(v_x))
        state[TRENCH] = min(trench_depth(layer, ground[WALLS]), MOST_DUG * r, z)
    ground[DUG] = state[TRENCH]
    z -= state[TRENCH]
    if z <= TOUCH * r:
        return False
    N = ground[EXPONENT] + ground[EXPONENT_SLIP] * abs(state[KAPPA])
    N += ground[EXPONENT_SIDE] * abs(state[LAMBDA])
    power = N
    if sunk > 1e-6 and L.model[b] != RIGID_SLIP:
        again = ground[MODULUS] * (z + sunk) ** N
        power = N * z / (z + sunk)
        if L.unloading[place] * z < again:
            again = L.unloading[place] * z
            power = 1.0
        ground[MODULUS] = again / z**N
    own = L.own[b, place]
    out = L.answer[0]
    camber = math.asin(min(max(lean, -1.0), 1.0))
    if L.model[b] < MAGIC_FORMULA:
        forces_of(L, b, own, z, camber)
        slope_x, slope_y = out[SLOPE_X], out[SLOPE_Y]
    else:
        # slopes by differences, taken first so that the answer is that of the states
        state[KAPPA] -= _STEP
        forces_of(L, b, own, z, camber)
        before = out[F_X]
        state[KAPPA] += _STEP
        state[LAMBDA] -= _STEP
        forces_of(L, b, own, z, camber)
        aside = out[F_Y]
        state[LAMBDA] += _STEP
        forces_of(L, b, own, z, camber)
        slope_x = max((out[F_X] - before) / _STEP, 0.0)
        slope_y = max((aside - out[F_Y]) / _STEP, 0.0)
    normal = out[F_Z]
    if normal <= 0.0:
        return False
    state[LENGTH] = 0.5 * r * (out[ENTRY] - out[EXIT])
    # over the step
    k_z = normal / z
    if L.model[b] != RIGID_SLIP:
        k_z *= power + 0.5
    rate = ahead_h * k_z
    rate += 2.0 * option[DAMPING_RATIO] * math.sqrt(k_z * normal / option[GRAVITY])
    pressed = normal - rate * vn
    if pressed <= 0.0:
        pressed = 0.0
        rate = 0.0
    share = min(pressed / normal, 2.0)
    # the shear spring and its damping
    T_x = spring_time(option, normal, length, slope_x)
    T_y = spring_time(option, normal, length, slope_y)
    most = 0.3 * normal
    more_x = min(max(T_x * slope_x * rate_x, -most), most)
    more_y = -min(max(T_y * slope_y * rate_y, -most), most)
    fx, fy = share * (out[F_X] + more_x), share * (out[F_Y] + more_y)
    mx, mz = share * (out[M_X] + r * more_y), share * out[M_Z]
    my = share * (out[M_Y] - r_s * more_x)
    force[0] = fx * tx + fy * sx + pressed * nx
    force[1] = fx * ty + fy * sy + pressed * ny
    force[2] = fx * tz + fy * sz + pressed * nz
    force[3] = mx * tx + my * ax + mz * nx
    force[4] = mx * ty + my * ay + mz * ny
    force[5] = mx * tz + my * az + mz * nz
    gx = share * slope_x * build_x * (1.0 + T_x / h)
    gy = share * slope_y * build_y * (1.0 + T_y / h)
    stiff[0] = rate * nx * nx + gx * tx * tx + gy * sx * sx
    stiff[1] = rate * nx * ny + gx * tx * ty + gy * sx * sy
    stiff[2] = rate * nx * nz + gx * tx * tz + gy * sx * sz
    stiff[3] = rate * ny * ny + gx * ty * ty + gy * sy * sy
    stiff[4] = rate * ny * nz + gx * ty * tz + gy * sy * sz
    stiff[5] = rate * nz * nz + gx * tz * tz + gy * sz * sz
    stiff[6] = -gx * r_s * tx
    stiff[7] = -gx * r_s * ty
    stiff[8] = -gx * r_s * tz
    stiff[9] = gx * r_s * r_s
    area = 2.0 * half * r * max(out[ENTRY] - out[EXIT], 1e-3)
    total[T_AREA] = area
    total[T_NODES] = 1.0
    front = push_in_front(ground, z)
    total[T_COMPACTION] = share * (out[RESISTANCE] - front)
    total[T_BULLDOZING] = share * front
    total[T_PRESSURE] = pressed / area
    total[T_PLASTIC_WORK] = max(share * out[RESISTANCE] * abs(v_x), 0.0) * h
    total[T_SHEAR_WORK] = max(share * out[THRUST] * (w - v_x), 0.0) * h
    if option[RUT] > 0.0 and abs(state[DIRECTION]) > 0.5 and pressed > 0.0:
        # as deep as the wheel on the mean over the distance L: bounces do not become bumps
        gone = per * abs(v_x)
        rut = z + sunk
        if L.unloading[place] > 0.0:
            rut = max(rut - pressed / (area * L.unloading[place]), 0.0)
        state[TRACK] = (state[TRACK] + gone * rut) / (1.0 + gone)
        state[LEAVES] = 1.0
    return True


@kernel
def move_on(A, L, b, time):
    """The states at the end of the step, and the rut that wheel b leaves."""
    after = L.next[b]
    for i in range(STATE_COLUMNS):
        L.state[b, i] = after[i]
    if after[LEAVES] == 0.0:
        return
    ax, ay = A.axis[b, 0], A.axis[b, 1]
    size = math.copysign(math.sqrt(max(ax * ax + ay * ay, 1e-12)), after[DIRECTION])
    x, y, half = A.point[b, 0], A.point[b, 1], 0.5 * L.wheel[b, WIDTH]
    hx, hy = ay / size, -ax / size
    volume, before = leave_rut(L.grid, x, y, after[TRACK], hx, hy, half, time)
    if volume > 0.0 and L.option[b, BERMS] > 0.0:
        walls, ds = L.soil[b, soil_at(L.grid, x, y), WALLS], L.grid.spacing[0]
        base = heap_width(after[TRACK], half, walls, ds)
        under = heap_width(before, half, walls, ds)
        lay_berms(L.grid, x, y, volume, hx, hy, half, base, under, time)
    L.total[b, T_VOLUME] = volume
