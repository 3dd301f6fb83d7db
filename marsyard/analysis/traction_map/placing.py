"""A rover placed on a grid of heights, compiled: the stand of least potential energy.

The problem, its unknowns u = (z, roll, pitch, passive joints) and the way it is solved are those of
`marsyard.control.placement`, to which this is compared; what differs is how the parts are computed.

Heights are bilinear on a regular grid and go on level outside of it. The pose is a chain of joints:
a slide along z, a turn by `pitch` about the left axis after the heading, a turn by `roll` about the
axis ahead after that, both through the base's origin, then the passive joints. With a_j the axis and
o_j the anchor of a turning joint in the world, p a point that it moves, and i = j or a joint above j

    ∂p/∂q_j = a_j × (p − o_j),    ∂²p/∂q_i∂q_j = a_i × (a_j × (p − o_j))

(for a slide a_j in place of a_j × (p − o_j)), so that the potential energy V = g Σ m p_z has, with
M_j and c_j the mass that joint j moves and its centre,

    ∂V/∂q_j = g M_j [a_j × (c_j − o_j)]_z,    ∂²V/∂q_i∂q_j = g M_j [a_i × (a_j × (c_j − o_j))]_z

The low points of a tread are searched as there, sample for sample: a coarse net, then six ever finer
ones around each low point. A point that is found keeps its place on the wheel when the rover is
lifted, so that one search a step is enough.

Steps are quadratic programs by Goldfarb and Idnani's dual method (`quadratic`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.analysis.traction_map.quadratic import SOLVED, make_positive, quadratic_program
from marsyard.analysis.traction_map.rover_tables import RoverTables
from marsyard.jit import kernel

#: the search, as in marsyard.control.placement
_ITERATIONS, _LONGEST, _DONE, _HALVINGS = 60, 0.1, 1e-9, 12
_REACH, _ALONG, _ACROSS, _PASSES, _FINE = 1.4, 33, 7, 6, 9
_NEAR, _EVEN, _FEEL = 0.03, 1e-8, 1e-3
#: low points of a wheel that are followed
LOW = 12
_SIN = np.sin(np.linspace(-_REACH, _REACH, _ALONG))
_COS = np.cos(np.linspace(-_REACH, _REACH, _ALONG))
_W = np.linspace(-1.0, 1.0, _ACROSS)
_T = np.linspace(-1.0, 1.0, _FINE)


class HeightGrid(NamedTuple):
    """Heights [m] at x0 + i dx, y0 + j dy: float64[j, i]."""

    height: np.ndarray
    x0: float
    y0: float
    dx: float
    dy: float


class PlacingWork(NamedTuple):
    """Scratch and result of one placement, for n links, d = 3 + p unknowns, k low points.

    u: the unknowns, trial: those tried. turn, shift: of the links, [n, 3, 3], [n, 3].
    axis, anchor: of the unknowns in the world [d, 3]; moved: centre of mass each moves [d, 3].
    wheel [k], point [k, 3], gap [k], normal [k, 3], side [k], angle [k]: low points; load [k].
    frame: ahead, up, axle and centre of a wheel [w, 4, 3].
    """

    u: np.ndarray
    trial: np.ndarray
    turn: np.ndarray
    shift: np.ndarray
    axis: np.ndarray
    anchor: np.ndarray
    moved: np.ndarray
    wheel: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    normal: np.ndarray
    angle: np.ndarray
    load: np.ndarray
    frame: np.ndarray
    over: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    vectors: np.ndarray
    copy: np.ndarray
    slopes: np.ndarray
    reduced: np.ndarray
    linear: np.ndarray
    rows: np.ndarray
    right: np.ndarray
    step: np.ndarray
    multiplier: np.ndarray
    program: np.ndarray
    held: np.ndarray
    active: np.ndarray


def placing_work(rover: RoverTables) -> PlacingWork:
    """Room to place a rover; one for each thread."""
    n, p, w = len(rover.mass), len(rover.parent), len(rover.radius)
    d, r, k = 3 + p, 3 + rover.basis.shape[1], LOW * w
    rows = k + 2 * p
    f = np.zeros
    return PlacingWork(
        f(d), f(d), f((n, 3, 3)), f((n, 3)), f((d, 3)), f((d, 3)), f((d, 3)),
        f(k, np.int64), f((k, 3)), f(k), f((k, 3)), f(k), f(k), f((w, 4, 3)), f((_ALONG, _ACROSS)),
        f(d), f((d, d)), f((d, d)), f((d, d)), f((rows, d)),
        f((r, r)), f(r), f((rows, r)), f(rows), f(r), f(rows),
        f((3 * r + 4, r)), f(r, np.int64), f(rows, np.int64),
    )  # fmt: skip


@kernel
def height_at(grid, x, y):
    """Height [m], bilinear, level outside."""
    rows, columns = grid.height.shape
    s = min(max((x - grid.x0) / grid.dx, 0.0), columns - 1.0)
    t = min(max((y - grid.y0) / grid.dy, 0.0), rows - 1.0)
    i, j = min(int(s), columns - 2), min(int(t), rows - 2)
    s, t = s - i, t - j
    h = grid.height
    low = h[j, i] + s * (h[j, i + 1] - h[j, i])
    high = h[j + 1, i] + s * (h[j + 1, i + 1] - h[j + 1, i])
    return low + t * (high - low)


@kernel
def _cross(a, b, out):
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@kernel
def _apply(turn, v, out):
    """out = turn v, which may not be the same array."""
    for i in range(3):
        out[i] = turn[i, 0] * v[0] + turn[i, 1] * v[1] + turn[i, 2] * v[2]


@kernel
def _base(x, y, heading, u, work):
    """Attitude and place of link 0, and the first three axes."""
    ch, sh = math.cos(heading), math.sin(heading)
    cp, sp, cr, sr = math.cos(u[2]), math.sin(u[2]), math.cos(u[1]), math.sin(u[1])
    R = work.turn[0]
    R[0, 0], R[0, 1], R[0, 2] = ch * cp, ch * sp * sr - sh * cr, ch * sp * cr + sh * sr
    R[1, 0], R[1, 1], R[1, 2] = sh * cp, sh * sp * sr + ch * cr, sh * sp * cr - ch * sr
    R[2, 0], R[2, 1], R[2, 2] = -sp, cp * sr, cp * cr
    p = work.shift[0]
    p[0], p[1], p[2] = x, y, u[0]
    a = work.axis
    a[0, 0], a[0, 1], a[0, 2] = 0.0, 0.0, 1.0
    a[1, 0], a[1, 1], a[1, 2] = R[0, 0], R[1, 0], R[2, 0]
    a[2, 0], a[2, 1], a[2, 2] = -sh, ch, 0.0
    for j in range(3):
        for c in range(3):
            work.anchor[j, c] = p[c]


@kernel
def _turned_about(axis, angle, R, out):
    """out = (turn by an angle about an axis of the world) R: Rodrigues' formula."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    for k in range(3):
        a, b, d = R[0, k], R[1, k], R[2, k]
        along = (1.0 - c) * (x * a + y * b + z * d)
        out[0, k] = c * a + s * (y * d - z * b) + along * x
        out[1, k] = c * b + s * (z * a - x * d) + along * y
        out[2, k] = c * d + s * (x * b - y * a) + along * z


@kernel
def forward(rover, x, y, heading, u, work):
    """Links, axes, anchors and the centres of mass that the unknowns move, in the world."""
    _base(x, y, heading, u, work)
    for j in range(len(rover.parent)):
        before, after = rover.parent[j], j + 1
        axis, anchor = work.axis[3 + j], work.anchor[3 + j]
        R, p = work.turn[before], work.shift[before]
        _apply(R, rover.axis[j], axis)
        _apply(R, rover.anchor[j], anchor)
        for c in range(3):
            anchor[c] += p[c]
        if rover.sliding[j]:
            for c in range(3):
                work.shift[after, c] = p[c] + u[3 + j] * axis[c]
                for e in range(3):
                    work.turn[after, c, e] = R[c, e]
        else:
            _turned_about(axis, u[3 + j], R, work.turn[after])
            _apply(work.turn[after], rover.anchor[j], work.shift[after])
            for c in range(3):
                work.shift[after, c] = anchor[c] - work.shift[after, c]
    _centres(rover, work)


@kernel
def _centres(rover, work):
    """Centres of mass of what each unknown moves."""
    moved = work.moved
    for j in range(len(moved)):
        for c in range(3):
            moved[j, c] = 0.0
    for k in range(len(rover.mass)):
        R, p, v = work.turn[k], work.shift[k], rover.com[k]
        for c in range(3):
            place = p[c] + R[c, 0] * v[0] + R[c, 1] * v[1] + R[c, 2] * v[2]
            moved[0, c] += rover.mass[k] * place
            for j in range(len(rover.parent)):
                if rover.above[k, j]:
                    moved[3 + j, c] += rover.mass[k] * place
    for c in range(3):
        moved[0, c] /= rover.carried[0]
        moved[1, c] = moved[2, c] = moved[0, c]
        for j in range(len(rover.parent)):
            moved[3 + j, c] /= max(rover.carried[j + 1], 1e-300)


@kernel
def _wheel_frames(rover, work):
    """Ahead, up, axle and centre of every wheel in the world."""
    for k in range(len(rover.radius)):
        R, p = work.turn[rover.wheel_link[k]], work.shift[rover.wheel_link[k]]
        ahead, up, axle, centre = work.frame[k]
        _apply(R, rover.axle[k], axle)
        _apply(R, rover.centre[k], centre)
        for c in range(3):
            centre[c] += p[c]
        size = math.hypot(axle[0], axle[1])
        ahead[0], ahead[1], ahead[2] = axle[1] / size, -axle[0] / size, 0.0
        _cross(ahead, axle, up)


@kernel
def _over(rover, grid, work, k, sin, cos, w, place):
    """Height over the ground [m] of a point of a tread, which is put into `place`."""
    ahead, up, axle, centre = work.frame[k]
    r = rover.radius[k]
    along, below, across = r * sin, r * cos, 0.0
    if rover.shape[k] == 2:
        side = _REACH * w
        ring = math.cos(side)
        along, below, across = along * ring, below * ring, r * math.sin(side)
    elif rover.shape[k] == 0:
        across = 0.5 * rover.width[k] * w
    for c in range(3):
        place[c] = centre[c] + along * ahead[c] - below * up[c] + across * axle[c]
    return place[2] - height_at(grid, place[0], place[1])


@kernel
def _coarse(rover, grid, work, k, count):
    """Low points of wheel k on the coarse net, added to the `count` there are; how many then."""
    over, place = work.over, work.step[:3]
    least = math.inf
    # all samples across a disc are the same point
    begin, end = (3, 4) if rover.shape[k] == 1 else (0, _ACROSS)
    for i in range(_ALONG):
        for j in range(begin, end):
            value = _over(rover, grid, work, k, _SIN[i], _COS[i], _W[j], place)
            over[i, j] = value + _EVEN * _W[j] * _W[j]
            least = min(least, over[i, j])
    first = count
    for i in range(_ALONG):
        for j in range(begin, end):
            if over[i, j] >= least + _NEAR or not _lowest_around(over, i, j, begin, end):
                continue
            at = count
            if count - first == LOW:
                # no room: the highest of the others gives way
                at = first
                for m in range(first, count):
                    if work.gap[m] > work.gap[at]:
                        at = m
                if work.gap[at] <= over[i, j]:
                    continue
            else:
                count += 1
            work.wheel[at], work.gap[at] = k, over[i, j]
            work.angle[at] = -_REACH + 2.0 * _REACH * i / (_ALONG - 1)
            work.load[at] = _W[j]
    return count


@kernel
def _lowest_around(over, i, j, begin, end):
    for m in range(max(i - 1, 0), min(i + 2, _ALONG)):
        for n in range(max(j - 1, begin), min(j + 2, end)):
            if over[m, n] < over[i, j]:
                return False
    return True


@kernel
def _refine(rover, grid, work, m):
    """Follow low point m through ever finer nets; its place across is kept in `load`."""
    k, place = work.wheel[m], work.step[:3]
    reach_a, reach_w = _REACH * 3.0 / (_ALONG - 1), 3.0 / (_ACROSS - 1)
    begin, end = (3, 4) if rover.shape[k] == 1 else (0, _ACROSS)
    for _ in range(_PASSES):
        least, gap, angle, side = math.inf, 0.0, 0.0, 0.0
        for i in range(_FINE):
            a = min(max(work.angle[m] + reach_a * _T[i], -_REACH), _REACH)
            sin, cos = math.sin(a), math.cos(a)
            for j in range(begin, end):
                w = min(max(work.load[m] + reach_w * _W[j], -1.0), 1.0)
                value = _over(rover, grid, work, k, sin, cos, w, place)
                if value + _EVEN * w * w < least:
                    least, gap, angle, side = value + _EVEN * w * w, value, a, w
        work.angle[m], work.load[m], work.gap[m] = angle, side, gap
        reach_a, reach_w = reach_a * 3.0 / 8.0, reach_w * 3.0 / (_ACROSS - 1)
    a = work.angle[m]
    _over(rover, grid, work, k, math.sin(a), math.cos(a), work.load[m], work.point[m])


@kernel
def low_points(rover, grid, work):
    """Search the low points of all wheels of a rover whose links are set; their number."""
    _wheel_frames(rover, work)
    count = 0
    for k in range(len(rover.radius)):
        first = count
        count = _coarse(rover, grid, work, k, count)
        for m in range(first, count):
            _refine(rover, grid, work, m)
    return count


@kernel
def _normals(rover, grid, work, count):
    """Normals with z = 1, square to the tread, as in marsyard.control.placement."""
    for m in range(count):
        k, point, normal = work.wheel[m], work.point[m], work.normal[m]
        ahead, up, _, centre = work.frame[k]
        if rover.shape[k] == 2:
            steep = max(centre[2] - point[2], 1e-3)
            for c in range(3):
                normal[c] = (centre[c] - point[c]) / steep
            continue
        lx, ly = -ahead[1], ahead[0]
        rise = height_at(grid, point[0] + _FEEL * lx, point[1] + _FEEL * ly) - height_at(
            grid, point[0] - _FEEL * lx, point[1] - _FEEL * ly
        )
        across = min(max(-rise / (2 * _FEEL), -2.0), 2.0)
        along = -math.tan(work.angle[m]) * (across * (up[0] * lx + up[1] * ly) + up[2])
        normal[0] = along * ahead[0] + across * lx
        normal[1] = along * ahead[1] + across * ly
        normal[2] = 1.0


@kernel
def velocity(rover, work, j, link, point, out):
    """∂(point)/∂u_j of a point of a link."""
    if j >= 3 and not rover.above[link, j - 3]:
        out[0] = out[1] = out[2] = 0.0
    elif j == 0 or (j >= 3 and rover.sliding[j - 3]):
        for c in range(3):
            out[c] = work.axis[j, c]
    else:
        a, o = work.axis[j], work.anchor[j]
        x, y, z = point[0] - o[0], point[1] - o[1], point[2] - o[2]
        out[0], out[1], out[2] = a[1] * z - a[2] * y, a[2] * x - a[0] * z, a[0] * y - a[1] * x


@kernel
def _over_joint(rover, i, j):
    """Whether unknown i is j or above it: the order is z, pitch (2), roll (1), passive joints."""
    if i < 3:
        return i == 0 or j >= 3 or i == j or (i == 2 and j == 1)
    return j >= 3 and rover.above[j - 2, i - 3] == 1


@kernel
def _energy_slopes(rover, gravity, work):
    """Gradient and Hessian of the potential energy."""
    d = len(work.u)
    v = work.step[:3]
    for j in range(d):
        link = 0 if j < 3 else j - 2
        pull = gravity * rover.carried[link]
        velocity(rover, work, j, link, work.moved[j], v)
        work.gradient[j] = pull * v[2]
        for i in range(d):
            if not _over_joint(rover, i, j):
                continue
            turns = i > 0 and not (i >= 3 and rover.sliding[i - 3])
            a = work.axis[i]
            value = pull * (a[0] * v[1] - a[1] * v[0]) if turns else 0.0
            work.hessian[i, j] = work.hessian[j, i] = value


@kernel
def _gap_slopes(rover, work, count):
    """Derivatives of the gaps by the unknowns, then rows of the joints' limits; number of rows."""
    d = len(work.u)
    v = work.step[:3]
    for m in range(count):
        n = work.normal[m]
        for j in range(d):
            velocity(rover, work, j, rover.wheel_link[work.wheel[m]], work.point[m], v)
            work.slopes[m, j] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        work.right[m] = -work.gap[m]
    rows = count
    for j in range(d - 3):
        for sign, bound in ((1.0, rover.low[j]), (-1.0, rover.high[j])):
            if math.isinf(bound):
                continue
            for c in range(d):
                work.slopes[rows, c] = 0.0
            work.slopes[rows, 3 + j] = sign
            work.right[rows] = -sign * (work.u[3 + j] - bound)
            rows += 1
    return rows


@kernel
def _reduce(rover, work, rows):
    """The quadratic program in the motions that the constraints leave: basis 1 ⊕ B."""
    d, r = len(work.u), len(work.linear)
    for a in range(r):
        work.linear[a] = _mixed(rover, work.gradient, a, d)
        for m in range(rows):
            work.rows[m, a] = _mixed(rover, work.slopes[m], a, d)
        for i in range(d):
            work.copy[i, a] = _mixed(rover, work.hessian[i], a, d)
    for a in range(r):
        for b in range(r):
            work.reduced[a, b] = _mixed(rover, work.copy[:, b], a, d)


@kernel
def _mixed(rover, vector, a, d):
    """vector · column a of the basis."""
    if a < 3:
        return vector[a]
    total = 0.0
    for j in range(d - 3):
        total += vector[3 + j] * rover.basis[j, a - 3]
    return total


@kernel
def _full_step(rover, work):
    """The step in all unknowns, into `gradient`; its greatest part."""
    length = 0.0
    for i in range(len(work.u)):
        value = work.step[i] if i < 3 else 0.0
        if i >= 3:
            for a in range(rover.basis.shape[1]):
                value += rover.basis[i - 3, a] * work.step[3 + a]
        work.gradient[i] = value
        length = max(length, abs(value))
    return length


@kernel
def _energy(rover, gravity, work):
    return gravity * rover.carried[0] * work.moved[0, 2]


@kernel
def _least_gap(work, count):
    least = math.inf
    for m in range(count):
        least = min(least, work.gap[m])
    return least


@kernel
def _lift(rover, work, count, u, rise):
    """Raise the rover with all that was found."""
    u[0] += rise
    for m in range(count):
        work.gap[m] += rise
        work.point[m, 2] += rise
    for k in range(len(work.shift)):
        work.shift[k, 2] += rise
    for j in range(len(work.anchor)):
        work.anchor[j, 2] += rise
        work.moved[j, 2] += rise
    for k in range(len(rover.radius)):
        work.frame[k, 3, 2] += rise


@kernel
def _begin(rover, grid, x, y, heading, work):
    """Tilted as the plane through the ground below the wheels, the lowest touching."""
    u = work.u
    u[0] = u[1] = u[2] = 0.0
    for j in range(len(rover.parent)):
        u[3 + j] = rover.offset[j]
    forward(rover, x, y, heading, u, work)
    _wheel_frames(rover, work)
    n = len(rover.radius)
    mx = my = mh = xx = xy = yy = xh = yh = 0.0
    for k in range(n):
        cx, cy = work.frame[k, 3, 0], work.frame[k, 3, 1]
        mx, my, mh = mx + cx / n, my + cy / n, mh + height_at(grid, cx, cy) / n
    for k in range(n):
        cx, cy = work.frame[k, 3, 0], work.frame[k, 3, 1]
        a, b, h = cx - mx, cy - my, height_at(grid, cx, cy) - mh
        xx, xy, yy = xx + a * a, xy + a * b, yy + b * b
        xh, yh = xh + a * h, yh + b * h
    size = xx * yy - xy * xy
    if size > 1e-12 * (xx + yy) ** 2:
        sx, sy = (yy * xh - xy * yh) / size, (xx * yh - xy * xh) / size
        c, s = math.cos(heading), math.sin(heading)
        u[1] = math.atan(-s * sx + c * sy)
        u[2] = -math.atan(c * sx + s * sy)
    forward(rover, x, y, heading, u, work)
    count = low_points(rover, grid, work)
    _lift(rover, work, count, u, -_least_gap(work, count))
    return count


@kernel
def _descend(rover, grid, gravity, x, y, heading, energy, work):
    """As much of the step as lowers the energy, lifted out of the ground; low points, or −1."""
    slack = 1e-12 * max(abs(energy), 1.0)
    for _ in range(_HALVINGS):
        for i in range(len(work.u)):
            work.trial[i] = work.u[i] + work.gradient[i]
        forward(rover, x, y, heading, work.trial, work)
        count = low_points(rover, grid, work)
        _lift(rover, work, count, work.trial, -min(_least_gap(work, count), 0.0))
        if _energy(rover, gravity, work) <= energy + slack:
            for i in range(len(work.u)):
                work.u[i] = work.trial[i]
            return count
        for i in range(len(work.u)):
            work.gradient[i] *= 0.5
    return -1


@kernel
def _programme(rover, gravity, work, count):
    """The quadratic program at the stand reached, solved; its outcome."""
    d, r = len(work.u), len(work.linear)
    _energy_slopes(rover, gravity, work)
    make_positive(work.hessian, d, 1e-3 * abs(work.gradient[0]), work.vectors, work.copy)
    rows = _gap_slopes(rover, work, count)
    _reduce(rover, work, rows)
    outcome = quadratic_program(
        work.reduced, work.linear, work.rows, work.right, r, rows, work.step, work.multiplier,
        work.program, work.held, work.active,
    )  # fmt: skip
    for m in range(count):
        work.load[m] = work.multiplier[m]
    return outcome


@kernel
def place(rover, grid, gravity, x, y, heading, work):
    """Place a rover: number of low points and whether the search ended by itself.

    `work` then holds unknowns, links and low points of the stand; normals have z = 1, loads are
    multipliers of the vertical gaps [N]. The number is 0 where joint limits and ground exclude each
    other.
    """
    count = _begin(rover, grid, x, y, heading, work)
    energy = _energy(rover, gravity, work)
    converged = False
    for _ in range(_ITERATIONS):
        _normals(rover, grid, work, count)
        if _programme(rover, gravity, work, count) != SOLVED:
            return 0, False
        length = _full_step(rover, work)
        if length < _DONE:
            converged = True
            break
        if length > _LONGEST:
            for i in range(len(work.u)):
                work.gradient[i] *= _LONGEST / length
        moved = _descend(rover, grid, gravity, x, y, heading, energy, work)
        if moved < 0:
            # the stand before the steps that were tried
            forward(rover, x, y, heading, work.u, work)
            count = low_points(rover, grid, work)
            _normals(rover, grid, work, count)
            if _programme(rover, gravity, work, count) != SOLVED:
                return 0, False
            break
        count = moved
        energy = _energy(rover, gravity, work)
    return count, converged
