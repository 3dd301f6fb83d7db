"""A compiled law: the simple wheel whose friction grows with slip, on any terrain.

It is marsyard's own wheel model `rigid_slip`, written from outside: it shows all that a compiled
law has, and costs as much as the one inside (`marsyard bench outside_law`).

    F_z = k z,   F = μ F_z (1 − e^(−C |S|/μ)) along S,  S = (κ, −λ),   F_x ← F_x − c_r F_z

z is how deep the wheel stands in the plane that is fitted to nine heights of the ground under it;
κ and λ are slips that build up over the distance L = r/20 (Pacejka 2006, section 7.2):

    L κ̇ = (w − v_x) − V κ,   L λ̇ = v_y − max(V, |v_y|) λ,   V = max(|w|, |v_x|)

w = r_s ω is the speed of the grousers' tips, v_x and v_y are the velocity of the centre along the
heading and to its left. Normal force and slip springs are damped, and all go into the step by
B = −∂F/∂V.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard import InputError
from marsyard.ground.soil_nodes import GridArrays, ask_for_tiles, level_at
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import NEEDS_ROOM, PRESENT, SINK, Column, Kernels, Law
from marsyard.jit import F1, F2, by_reference, inner, law_callback

# columns of Arrays.state: slips, direction of travel
KAPPA, LAMBDA, DIRECTION = range(3)
# columns of Arrays.wheel: radius, half width, radius at the tips of the grousers [m]
RADIUS, HALF, SHEAR = range(3)
# places of Arrays.numbers
FRICTION, SLIP_STIFFNESS, ROLLING, STIFFNESS, DAMPING_RATIO, GRAVITY = range(6)
#: way over which slip builds up, in radii
WAY = 0.05


@by_reference
class Arrays(NamedTuple):
    """What the kernels work on; `n` wheels. F2: a float64 array of two dimensions."""

    grid: GridArrays
    wheel: F2  # [n, 3]
    state: F2  # [n, 3]
    slope: F2  # [n, 3], along and across [rad], sinkage [m]
    numbers: F1


@law_callback(Attachments, Arrays)
def prepare(A, L, time, h, theta, flag):
    """Ask for the tiles of ground under the wheels that are not there yet."""
    ready = True
    for n in range(L.wheel.shape[0]):
        reach = 2.0 * L.wheel[n, RADIUS] + L.wheel[n, HALF]
        ready = ask_for_tiles(L.grid, A.point[n, 0], A.point[n, 1], reach) and ready
    return 0 if ready else NEEDS_ROOM


@law_callback(Attachments, Arrays)
def evaluate(A, L, time, h, theta, flag):
    """Forces on all wheels; the states do not change."""
    for n in range(L.wheel.shape[0]):
        act(A, L, n, h, theta)
    return 0


@law_callback(Attachments, Arrays)
def commit(A, L, time, h, theta, flag):
    """The slips move on."""
    for n in range(L.wheel.shape[0]):
        move_on(A, L, n, h)
    return 0


@inner
def plane_under(grid, x, y, ex, ey, ahead, length, half):
    """Plane fitted to nine heights: height below the centre, slopes along and to the left."""
    rear = front = left = right = total = 0.0
    for a in range(-1, 2):
        for b in range(-1, 2):
            u, v = ahead + a * length, b * half
            height, _ = level_at(grid, x + u * ex - v * ey, y + u * ey + v * ex)
            total += height
            if a < 0:
                rear += height
            elif a > 0:
                front += height
            if b < 0:
                right += height
            elif b > 0:
                left += height
    along = (front - rear) / (6.0 * length)
    return total / 9.0 - along * ahead, along, (left - right) / (6.0 * half)


@inner
def frame_of(A, L, n):
    """Normal of the ground, heading and left in its plane, and how deep the wheel stands in it."""
    state, r = L.state[n], L.wheel[n, RADIUS]
    ax, ay, az = A.axis[n, 0], A.axis[n, 1], A.axis[n, 2]
    size = math.sqrt(max(ax * ax + ay * ay, 1e-12))
    hx, hy = ay / size, -ax / size
    reach = max(WAY * r, L.grid.spacing[0])
    height, along, across = plane_under(
        L.grid, A.point[n, 0], A.point[n, 1], hx, hy, state[DIRECTION] * reach, reach,
        L.wheel[n, HALF],
    )  # fmt: skip
    nz = 1.0 / math.sqrt(1.0 + along * along + across * across)
    nx, ny = -(along * hx - across * hy) * nz, -(along * hy + across * hx) * nz
    lean = ax * nx + ay * ny + az * nz
    level = math.sqrt(max(1.0 - lean * lean, 1e-12))
    z = r * level - (A.point[n, 2] - height) * nz
    tx, ty, tz = (ay * nz - az * ny) / level, (az * nx - ax * nz) / level, (
        ax * ny - ay * nx
    ) / level  # fmt: skip
    sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    L.slope[n, 0], L.slope[n, 1], L.slope[n, 2] = math.atan(along), math.atan(across), max(z, 0.0)
    return nx, ny, nz, tx, ty, tz, sx, sy, sz, z


@inner
def slips(A, L, n, h, tx, ty, tz, sx, sy, sz):
    """The slips at the end of the step, and by how much they grow per speed."""
    V, state, r = A.start[n], L.state[n], L.wheel[n, RADIUS]
    v_x = V[0] * tx + V[1] * ty + V[2] * tz
    v_y = V[0] * sx + V[1] * sy + V[2] * sz
    w = L.wheel[n, SHEAR] * (V[3] * A.axis[n, 0] + V[4] * A.axis[n, 1] + V[5] * A.axis[n, 2])
    per = h / (WAY * r)
    fast = max(abs(w), abs(v_x))
    aside = max(fast, abs(v_y))
    kappa = min(max((state[KAPPA] + per * (w - v_x)) / (1.0 + per * fast), -1.0), 1.0)
    lam = min(max((state[LAMBDA] + per * v_y) / (1.0 + per * aside), -1.0), 1.0)
    turn = w if abs(w) > abs(v_x) else v_x
    way = (state[DIRECTION] + per * turn) / (1.0 + per * abs(turn))
    return kappa, lam, way, per / (1.0 + per * fast), per / (1.0 + per * aside)


@inner
def act(A, L, n, h, theta):
    """Force on wheel n and its derivative."""
    nx, ny, nz, tx, ty, tz, sx, sy, sz, z = frame_of(A, L, n)
    if z <= 0.0:
        return
    q, r, r_s, V = L.numbers, L.wheel[n, RADIUS], L.wheel[n, SHEAR], A.V[n]
    kappa, lam, _, build_x, build_y = slips(A, L, n, h, tx, ty, tz, sx, sy, sz)
    load = q[STIFFNESS] * z
    # over the step: stiffness ahead, and a damper
    rate = theta * h * q[STIFFNESS]
    rate += 2.0 * q[DAMPING_RATIO] * math.sqrt(q[STIFFNESS] * load / q[GRAVITY])
    pressed = load - rate * (V[0] * nx + V[1] * ny + V[2] * nz)
    if pressed <= 0.0:
        return
    share = min(pressed / load, 2.0)
    slip = math.sqrt(kappa * kappa + lam * lam)
    mu, c = q[FRICTION], q[SLIP_STIFFNESS]
    slope = c * load * math.exp(-c * slip / mu)
    per = c * load
    if slip > 0.0:
        per = -mu * load * math.expm1(-c * slip / mu) / slip
    # the slip springs are damped by their own rates, nothing in steady motion
    T = min(2.0 * q[DAMPING_RATIO] * math.sqrt(load * WAY * r / (q[GRAVITY] * slope)), 0.1)
    most = 0.3 * load
    more_x = min(max(T * slope * (kappa - L.state[n, KAPPA]) / h, -most), most)
    more_y = -min(max(T * slope * (lam - L.state[n, LAMBDA]) / h, -most), most)
    fx = share * (per * kappa - q[ROLLING] * load * L.state[n, DIRECTION] + more_x)
    fy = share * (-per * lam + more_y)
    mx, my = r * fy, -share * (r * per * kappa + r_s * more_x)
    A.active[n] = 1
    F, a = A.F[n], A.axis[n]
    F[0] = fx * tx + fy * sx + pressed * nx
    F[1] = fx * ty + fy * sy + pressed * ny
    F[2] = fx * tz + fy * sz + pressed * nz
    F[3] = mx * tx + my * a[0]
    F[4] = mx * ty + my * a[1]
    F[5] = mx * tz + my * a[2]
    gx = share * slope * build_x * (1.0 + T / h)
    gy = share * slope * build_y * (1.0 + T / h)
    B, normal, t, s = A.B[n], (nx, ny, nz), (tx, ty, tz), (sx, sy, sz)
    for i in range(3):
        for j in range(i + 1):
            B[i, j] = rate * normal[i] * normal[j] + gx * t[i] * t[j] + gy * s[i] * s[j]
            B[3 + i, 3 + j] = gx * r_s * r_s * a[i] * a[j]
        for j in range(3):
            B[3 + i, j] = -gx * r_s * a[i] * t[j]


@inner
def move_on(A, L, n, h):
    """The slips at the end of the step; a wheel that leaves the ground forgets them."""
    state = L.state[n]
    _, _, _, tx, ty, tz, sx, sy, sz, z = frame_of(A, L, n)
    kappa, lam, way, _, _ = slips(A, L, n, h, tx, ty, tz, sx, sy, sz)
    state[DIRECTION] = way
    if z <= 0.0:
        kappa = lam = 0.0
    state[KAPPA], state[LAMBDA] = kappa, lam


class RigidSlip(Law):
    """Wheels with friction that grows with slip, on any terrain."""

    name = "rigid_slip_outside"
    title = "Wheels with friction by slip, from outside"
    kernels = Kernels(prepare=prepare, evaluate=evaluate, commit=commit)
    placing = SINK
    moves_soil = False  # nothing has to flow after a step

    @classmethod
    def build(
        cls,
        place,
        friction=0.7,
        slip_stiffness=10.0,
        rolling=0.0,
        stiffness=1e5,
        damping_ratio=0.3,
    ):
        """The law under the wheels of a place; the names are the options of a scenario."""
        if place.grid is None:
            raise InputError("needs a ground of kind terrain")
        for name, value in (("friction", friction), ("stiffness", stiffness)):
            if not value > 0:
                raise InputError(f"{name} = {value}: must be above 0")
        law, wheels, f = cls(), place.wheels(), np.zeros
        law.grid, law.attachments = place.grid, [attachment for _, attachment in wheels]
        numbers = (friction, slip_stiffness, rolling, stiffness, damping_ratio)
        gravity = max(place.scenario.gravity, 0.1)
        sizes = [(w.radius, w.width / 2, w.radius + w.lug_height) for w, _ in wheels]
        law.arrays = Arrays(
            place.grid.arrays, np.array(sizes, dtype=float).reshape(-1, 3), f((len(wheels), 3)),
            f((len(wheels), 3)), np.array([*numbers, gravity], dtype=float),
        )  # fmt: skip
        return law

    def columns(self):
        """Slip states and what the wheels stand on, in every record."""
        return (
            Column("slip", self.arrays.state, PRESENT, "1", "slip along and across, direction"),
            Column("stand", self.arrays.slope, PRESENT, "rad, m", "slopes, depth of the wheel"),
        )

    def acted(self):
        """What the report says of it."""
        names = ("friction", "slip stiffness", "rolling", "stiffness", "damping ratio")
        units = ("", "", "", "N/m", "")
        return list(zip(names, self.arrays.numbers[:5].tolist(), units, strict=True))

    def gap(self, data):
        """How high the lowest wheel is over the ground, for robots that are placed on it."""
        gaps = []
        for a, (radius, _, _) in zip(self.attachments, self.arrays.wheel, strict=True):
            x, y, z = data.xpos[a.body[0]]
            gaps.append(float(z - radius - self.grid.terrain.height(x, y)))
        return min(gaps, default=math.inf), "a wheel"

    def make_room(self):
        """Make the tiles that `prepare` asked for."""
        self.grid.fill_requests()

    def refresh(self):
        """The grid has got tiles, or was restored: its arrays are others."""
        self.arrays = self.arrays._replace(grid=self.grid.arrays)
        self.packed.replace(self.arrays)

    def kept(self):
        """The arrays that must be kept to go on as if nothing had happened."""
        return {"rigid_slip_outside_state": self.arrays.state}
