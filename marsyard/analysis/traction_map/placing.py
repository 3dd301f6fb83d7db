"""A rover placed on a grid of heights, compiled: the stand of least potential energy.

The problem, its unknowns u = (z, roll, pitch, passive joints) and the way it is solved are those of
`marsyard.control.placement`, to which this is compared; what differs is how the parts are computed.

Heights are bilinear on a regular grid and go on level outside of it. The pose is a chain of joints:
a slide along z, a turn by `pitch` about the left axis after the heading, a turn by `roll` about the
axis ahead after that, both through the base's origin, then the passive joints. With a_j the axis
and o_j the anchor of a turning joint in the world, p a point that it moves, and i = j or a joint
above j

    ∂p/∂q_j = a_j × (p − o_j),    ∂²p/∂q_i∂q_j = a_i × (a_j × (p − o_j))

(for a slide a_j in place of a_j × (p − o_j)), so that the potential energy V = g Σ m p_z has, with
M_j and c_j the mass that joint j moves and its centre,

    ∂V/∂q_j = g M_j [a_j × (c_j − o_j)]_z,    ∂²V/∂q_i∂q_j = g M_j [a_i × (a_j × (c_j − o_j))]_z

The low points of a tread are searched as there, sample for sample: a coarse net, then ever finer
ones around each low point; six of them, where the placer takes twelve. On rough ground
that leaves 0.1 mm and 0.2 mrad of a stand, and one hundredth of the loads. A point that is found
keeps its place on the wheel when the rover is lifted, so that one search a step is enough.

Steps are quadratic programs by Goldfarb and Idnani's dual method (`quadratic`). All is compiled by
`marsyard.jit`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.analysis.traction_map.quadratic import SOLVED, make_positive, quadratic_program
from marsyard.analysis.traction_map.rover_tables import RoverTables
from marsyard.jit import inner

#: the search, as in marsyard.control.placement
_ITERATIONS, _LONGEST, _DONE, _HALVINGS = 60, 0.1, 1e-9, 12
_REACH, _ALONG, _ACROSS, _PASSES, _FINE = 1.4, 33, 7, 6, 9
_NEAR, _EVEN, _FEEL = 0.03, 1e-8, 1e-3
#: tipping: turn [rad], drop of the centre of mass that is a fall [m], falls at most, gap of a point
#: that resists [m]
_TIP, _FALL, _FALLS, _MET = 5e-3, 1e-7, 3, 1e-5
#: low points of a wheel that are followed
LOW = 12
_W = np.linspace(-1.0, 1.0, _ACROSS)


class HeightGrid(NamedTuple):
    """Heights [m] at x0 + i dx, y0 + j dy: float64[j, i]; per_x = 1/dx, per_y = 1/dy."""

    height: np.ndarray
    x0: float
    y0: float
    per_x: float
    per_y: float


class Pose(NamedTuple):
    """A rover in the world, for n links, d = 3 + p unknowns, w wheels.

    u: the unknowns, trial: those tried [d]. turn, shift: of the links, [n, 3, 3], [n, 3].
    axis, anchor: of the unknowns [d, 3]; moved: centre of mass that each moves [d, 3].
    frame: ahead, up, axle and centre of the wheels [w, 4, 3].
    """

    u: np.ndarray
    trial: np.ndarray
    turn: np.ndarray
    shift: np.ndarray
    axis: np.ndarray
    anchor: np.ndarray
    moved: np.ndarray
    frame: np.ndarray


class Touch(NamedTuple):
    """Low points of the wheels, at most k.

    wheel [k], point [k, 3], gap [k], normal [k, 3]; place: angle and place across of each on its
    tread [k, 2]; load: multipliers of the gaps [k]. over: the coarse net of one wheel; ring,
    across: of its samples across.
    """

    wheel: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    normal: np.ndarray
    place: np.ndarray
    load: np.ndarray
    over: np.ndarray
    ring: np.ndarray
    across: np.ndarray


class Programme(NamedTuple):
    """The quadratic program of one step: in all unknowns, and in those the constraints leave."""

    gradient: np.ndarray
    hessian: np.ndarray
    scratch: np.ndarray
    slopes: np.ndarray
    reduced: np.ndarray
    linear: np.ndarray
    rows: np.ndarray
    right: np.ndarray
    step: np.ndarray
    multiplier: np.ndarray
    work: np.ndarray
    held: np.ndarray
    active: np.ndarray


class PlacingWork(NamedTuple):
    """Scratch and result of one placement."""

    pose: Pose
    touch: Touch
    programme: Programme


def placing_work(rover: RoverTables) -> PlacingWork:
    """Room to place a rover; one for each thread."""
    n, p, w = len(rover.chain.mass), len(rover.chain.parent), len(rover.wheels.radius)
    d, r, k = 3 + p, 3 + rover.limits.basis.shape[1], LOW * w
    rows = k + 2 * p
    f = np.zeros
    return PlacingWork(
        Pose(f(d), f(d), f((n, 3, 3)), f((n, 3)), f((d, 3)), f((d, 3)), f((d, 3)), f((w, 4, 3))),
        Touch(
            f(k, np.int64), f((k, 3)), f(k), f((k, 3)), f((k, 2)), f(k), f((_ALONG, _ACROSS)),
            f(_ACROSS), f(_ACROSS),
        ),
        Programme(
            f(d), f((d, d)), f((2, d, d)), f((rows, d)), f((r, r)), f(r), f((rows, r)), f(rows),
            f(r), f(rows), f((3 * r + 4, r)), f(r, np.int64), f(rows, np.int64),
        ),
    )  # fmt: skip


@inner
def height_at(grid, x, y):
    """Height [m], bilinear, level outside."""
    rows, columns = grid.height.shape
    s = (x - grid.x0) * grid.per_x
    t = (y - grid.y0) * grid.per_y
    s = s if s > 0.0 else 0.0
    t = t if t > 0.0 else 0.0
    # unsigned numbers of cells: no look whether they count from the end
    i = np.uintp(np.int64(s if s < columns - 2.0 else columns - 2.0))
    j = np.uintp(np.int64(t if t < rows - 2.0 else rows - 2.0))
    s, t = s - i, t - j
    s = s if s < 1.0 else 1.0
    t = t if t < 1.0 else 1.0
    h, one = grid.height, np.uintp(1)
    low = h[j, i] + s * (h[j, i + one] - h[j, i])
    high = h[j + one, i] + s * (h[j + one, i + one] - h[j + one, i])
    return low + t * (high - low)


@inner
def _cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@inner
def _apply(turn, v, out):
    for i in range(3):
        out[i] = turn[i, 0] * v[0] + turn[i, 1] * v[1] + turn[i, 2] * v[2]


@inner
def _base(x, y, heading, u, pose):
    """Attitude and place of link 0, and the first three axes."""
    ch, sh = math.cos(heading), math.sin(heading)
    cp, sp, cr, sr = math.cos(u[2]), math.sin(u[2]), math.cos(u[1]), math.sin(u[1])
    R = pose.turn[0]
    R[0, 0], R[0, 1], R[0, 2] = ch * cp, ch * sp * sr - sh * cr, ch * sp * cr + sh * sr
    R[1, 0], R[1, 1], R[1, 2] = sh * cp, sh * sp * sr + ch * cr, sh * sp * cr - ch * sr
    R[2, 0], R[2, 1], R[2, 2] = -sp, cp * sr, cp * cr
    p, a = pose.shift[0], pose.axis
    p[0], p[1], p[2] = x, y, u[0]
    a[0, 0], a[0, 1], a[0, 2] = 0.0, 0.0, 1.0
    a[1, 0], a[1, 1], a[1, 2] = R[0, 0], R[1, 0], R[2, 0]
    a[2, 0], a[2, 1], a[2, 2] = -sh, ch, 0.0
    for j in range(3):
        for c in range(3):
            pose.anchor[j, c] = p[c]


@inner
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


@inner
def forward(chain, wheels, x, y, heading, u, pose):
    """Links, axes, anchors, centres of mass and wheels of a rover, in the world."""
    _base(x, y, heading, u, pose)
    for j in range(len(chain.parent)):
        before, after = chain.parent[j], j + 1
        axis, anchor = pose.axis[3 + j], pose.anchor[3 + j]
        R, p = pose.turn[before], pose.shift[before]
        _apply(R, chain.axis[j], axis)
        _apply(R, chain.anchor[j], anchor)
        for c in range(3):
            anchor[c] += p[c]
        slide = u[3 + j] if chain.sliding[j] else 0.0
        _turned_about(axis, 0.0 if chain.sliding[j] else u[3 + j], R, pose.turn[after])
        _apply(pose.turn[after], chain.anchor[j], pose.shift[after])
        for c in range(3):
            pose.shift[after, c] = anchor[c] + slide * axis[c] - pose.shift[after, c]
    _centres(chain, pose)
    for k in range(len(wheels.radius)):
        R, p = pose.turn[wheels.link[k]], pose.shift[wheels.link[k]]
        ahead, up, axle, centre = pose.frame[k]
        _apply(R, wheels.axle[k], axle)
        _apply(R, wheels.centre[k], centre)
        for c in range(3):
            centre[c] += p[c]
        size = math.hypot(axle[0], axle[1])
        ahead[0], ahead[1], ahead[2] = axle[1] / size, -axle[0] / size, 0.0
        _cross(ahead, axle, up)


@inner
def _centres(chain, pose):
    """Centres of mass of what each unknown moves."""
    moved = pose.moved
    for j in range(len(moved)):
        for c in range(3):
            moved[j, c] = 0.0
    for k in range(len(chain.mass)):
        R, p, v = pose.turn[k], pose.shift[k], chain.com[k]
        for c in range(3):
            place = p[c] + R[c, 0] * v[0] + R[c, 1] * v[1] + R[c, 2] * v[2]
            moved[0, c] += chain.mass[k] * place
            for j in range(len(chain.parent)):
                if chain.above[k, j]:
                    moved[3 + j, c] += chain.mass[k] * place
    for c in range(3):
        moved[0, c] /= chain.carried[0]
        moved[1, c] = moved[2, c] = moved[0, c]
        for j in range(len(chain.parent)):
            moved[3 + j, c] /= max(chain.carried[j + 1], 1e-300)


@inner
def _spread(wheels, k, middle, reach, touch):
    """Samples across a tread around w = middle: width of the ring and place along the axle."""
    for j in range(_ACROSS):
        w = min(max(middle + reach * _W[j], -1.0), 1.0)
        touch.ring[j], touch.across[j] = 1.0, 0.0
        if wheels.shape[k] == 2:
            touch.ring[j] = math.cos(_REACH * w)
            touch.across[j] = wheels.radius[k] * math.sin(_REACH * w)
        elif wheels.shape[k] == 0:
            touch.across[j] = 0.5 * wheels.width[k] * w


@inner
def _net(grid, frame, radius, middle, reach, count, touch):
    """Heights over the ground of `count` samples along and 7 across, in `over`."""
    ahead, up, axle, centre = frame
    ex, ey, ez = axle[0], axle[1], axle[2]
    for i in range(count):
        t = -1.0 + 2.0 * i / (count - 1)
        a = min(max(middle + reach * t, -_REACH), _REACH)
        s, c = radius * math.sin(a), radius * math.cos(a)
        dx, dy, dz = s * ahead[0] - c * up[0], s * ahead[1] - c * up[1], -c * up[2]
        for j in range(_ACROSS):
            ring, across = touch.ring[j], touch.across[j]
            x, y = centre[0] + ring * dx + across * ex, centre[1] + ring * dy + across * ey
            touch.over[i, j] = centre[2] + ring * dz + across * ez - height_at(grid, x, y)


@inner
def _coarse(touch, k, count):
    """Low points of wheel k on the coarse net, added to the `count` there are; how many then."""
    over = touch.over
    least = math.inf
    for i in range(_ALONG):
        for j in range(_ACROSS):
            over[i, j] += _EVEN * _W[j] * _W[j]
            least = min(least, over[i, j])
    first = count
    for i in range(_ALONG):
        for j in range(_ACROSS):
            if over[i, j] >= least + _NEAR or not _lowest_around(over, i, j):
                continue
            at = count
            if count - first == LOW:
                # no room: the highest of the others gives way
                at = first
                for m in range(first, count):
                    if touch.gap[m] > touch.gap[at]:
                        at = m
                if touch.gap[at] <= over[i, j]:
                    continue
            else:
                count += 1
            touch.wheel[at], touch.gap[at] = k, over[i, j]
            touch.place[at, 0] = -_REACH + 2.0 * _REACH * i / (_ALONG - 1)
            touch.place[at, 1] = _W[j]
    return count


@inner
def _lowest_around(over, i, j):
    for m in range(max(i - 1, 0), min(i + 2, _ALONG)):
        for n in range(max(j - 1, 0), min(j + 2, _ACROSS)):
            if over[m, n] < over[i, j]:
                return False
    return True


@inner
def _lowest_of_net(touch, m, reach_a, reach_w):
    """Move low point m to the lowest sample of the fine net around it."""
    least, at_i, at_j = math.inf, 0, 0
    for j in range(_ACROSS):
        w = min(max(touch.place[m, 1] + reach_w * _W[j], -1.0), 1.0)
        for i in range(_FINE):
            value = touch.over[i, j] + _EVEN * w * w
            # the first in the order along, then across
            if value < least or (value == least and i < at_i):
                least, at_i, at_j = value, i, j
    touch.gap[m] = touch.over[at_i, at_j]
    t = -1.0 + 2.0 * at_i / (_FINE - 1)
    touch.place[m, 0] = min(max(touch.place[m, 0] + reach_a * t, -_REACH), _REACH)
    touch.place[m, 1] = min(max(touch.place[m, 1] + reach_w * _W[at_j], -1.0), 1.0)
    return at_j


@inner
def _refine(grid, wheels, k, frame, m, first, passes, touch):
    """Follow low point m of wheel k through ever finer nets, from number `first` on."""
    reach_a = _REACH * 3.0 / (_ALONG - 1) * (3.0 / 8.0) ** first
    reach_w = (3.0 / (_ACROSS - 1)) ** (first + 1)
    j, r = 0, wheels.radius[k]
    for _ in range(passes):
        _spread(wheels, k, touch.place[m, 1], reach_w, touch)
        _net(grid, frame, r, touch.place[m, 0], reach_a, np.int64(_FINE), touch)
        j = _lowest_of_net(touch, m, reach_a, reach_w)
        reach_a, reach_w = reach_a * 3.0 / 8.0, reach_w * 3.0 / (_ACROSS - 1)
    ahead, up, axle, centre = frame
    s, c = r * math.sin(touch.place[m, 0]), r * math.cos(touch.place[m, 0])
    for e in range(3):
        outward = touch.ring[j] * (s * ahead[e] - c * up[e])
        touch.point[m, e] = centre[e] + outward + touch.across[j] * axle[e]


@inner
def low_points(grid, wheels, pose, touch):
    """Search the low points of all wheels of a rover whose links are set; their number."""
    # a plain 0 would have every function it is passed to compiled once more
    count = np.int64(0)
    for k in range(len(wheels.radius)):
        first, frame = count, pose.frame[k]
        _spread(wheels, k, 0.0, 1.0, touch)
        _net(grid, frame, wheels.radius[k], 0.0, _REACH, np.int64(_ALONG), touch)
        count = _coarse(touch, k, first)
        for m in range(first, count):
            _refine(grid, wheels, k, frame, m, np.int64(0), np.int64(_PASSES), touch)
    return count


@inner
def sharpen(grid, wheels, pose, touch, count, near):
    """Follow the points whose gap is below `near` further, for normals to 1e-7 instead of 1e-4."""
    for m in range(count):
        if touch.gap[m] < near:
            k = touch.wheel[m]
            _refine(grid, wheels, k, pose.frame[k], m, np.int64(_PASSES), np.int64(8), touch)
    _normals(grid, wheels, pose, touch, count)


@inner
def _normals(grid, wheels, pose, touch, count):
    """Normals with z = 1, square to the tread, as in marsyard.control.placement."""
    for m in range(count):
        k, point, normal = touch.wheel[m], touch.point[m], touch.normal[m]
        ahead, up, _, centre = pose.frame[k]
        if wheels.shape[k] == 2:
            steep = max(centre[2] - point[2], 1e-3)
            for c in range(3):
                normal[c] = (centre[c] - point[c]) / steep
            continue
        lx, ly = -ahead[1], ahead[0]
        rise = height_at(grid, point[0] + _FEEL * lx, point[1] + _FEEL * ly) - height_at(
            grid, point[0] - _FEEL * lx, point[1] - _FEEL * ly
        )
        across = min(max(-rise / (2 * _FEEL), -2.0), 2.0)
        along = -math.tan(touch.place[m, 0]) * (across * (up[0] * lx + up[1] * ly) + up[2])
        normal[0] = along * ahead[0] + across * lx
        normal[1] = along * ahead[1] + across * ly
        normal[2] = 1.0


@inner
def velocity(chain, pose, j, link, point, out):
    """∂(point)/∂u_j of a point of a link."""
    if j >= 3 and not chain.above[link, j - 3]:
        out[0] = out[1] = out[2] = 0.0
    elif j == 0 or (j >= 3 and chain.sliding[j - 3]):
        for c in range(3):
            out[c] = pose.axis[j, c]
    else:
        a, o = pose.axis[j], pose.anchor[j]
        x, y, z = point[0] - o[0], point[1] - o[1], point[2] - o[2]
        out[0], out[1], out[2] = a[1] * z - a[2] * y, a[2] * x - a[0] * z, a[0] * y - a[1] * x


@inner
def _over_joint(chain, i, j):
    """Whether unknown i is j or above it: the order is z, pitch (2), roll (1), passive joints."""
    if i < 3:
        return i == 0 or j >= 3 or i == j or (i == 2 and j == 1)
    return j >= 3 and chain.above[j - 2, i - 3] == 1


@inner
def _energy_slopes(chain, gravity, pose, programme):
    """Gradient and Hessian of the potential energy, the Hessian made positive."""
    d = len(pose.u)
    v = programme.step[:3]
    for i in range(d):
        for j in range(d):
            programme.hessian[i, j] = 0.0
    for j in range(d):
        link = max(j - 2, 0)
        pull = gravity * chain.carried[link]
        velocity(chain, pose, j, link, pose.moved[j], v)
        programme.gradient[j] = pull * v[2]
        for i in range(d):
            if not _over_joint(chain, i, j):
                continue
            if i > 0 and not (i >= 3 and chain.sliding[i - 3]):
                a = pose.axis[i]
                value = pull * (a[0] * v[1] - a[1] * v[0])
                programme.hessian[i, j] = programme.hessian[j, i] = value
    least = 1e-3 * abs(programme.gradient[0])
    make_positive(programme.hessian, d, least, programme.scratch[0], programme.scratch[1])


@inner
def _gap_slopes(chain, wheels, limits, pose, touch, programme, count):
    """Derivatives of the gaps by the unknowns, then rows of the joints' limits; number of rows."""
    d = len(pose.u)
    v = programme.step[:3]
    slopes, right = programme.slopes, programme.right
    for m in range(count):
        n = touch.normal[m]
        for j in range(d):
            velocity(chain, pose, j, wheels.link[touch.wheel[m]], touch.point[m], v)
            slopes[m, j] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        right[m] = -touch.gap[m]
    rows = count
    for side in range(2 * (d - 3)):
        j, sign = side // 2, 1.0 - 2.0 * (side % 2)
        bound = limits.low[j] if sign > 0.0 else limits.high[j]
        if not math.isinf(bound):
            for c in range(d):
                slopes[rows, c] = 0.0
            slopes[rows, 3 + j] = sign
            right[rows] = sign * (bound - pose.u[3 + j])
            rows += 1
    return rows


@inner
def _mixed(basis, vector, a):
    """vector · column a of the basis 1 ⊕ B of the motions that the constraints leave."""
    if a < 3:
        return vector[a]
    total = 0.0
    for j in range(len(basis)):
        total += vector[3 + j] * basis[j, a - 3]
    return total


@inner
def _reduce(basis, programme, rows):
    """The quadratic program in the motions that the constraints leave."""
    d, r = len(programme.gradient), len(programme.linear)
    half = programme.scratch[0]
    for a in range(r):
        programme.linear[a] = _mixed(basis, programme.gradient, a)
        for m in range(rows):
            programme.rows[m, a] = _mixed(basis, programme.slopes[m], a)
        for i in range(d):
            half[a, i] = _mixed(basis, programme.hessian[i], a)
    for a in range(r):
        for b in range(r):
            programme.reduced[a, b] = _mixed(basis, half[b], a)


@inner
def _step(rover, gravity, pose, touch, programme, count):
    """The step in all unknowns, into `gradient`; its greatest part, or −1 if there is none."""
    _energy_slopes(rover.chain, gravity, pose, programme)
    rows = _gap_slopes(rover.chain, rover.wheels, rover.limits, pose, touch, programme, count)
    basis = rover.limits.basis
    _reduce(basis, programme, rows)
    outcome = quadratic_program(
        programme.reduced, programme.linear, programme.rows, programme.right,
        len(programme.linear), rows, programme.step, programme.multiplier,
        programme.work, programme.held, programme.active,
    )  # fmt: skip
    if outcome != SOLVED:
        return -1.0
    for m in range(count):
        touch.load[m] = programme.multiplier[m]
    length = 0.0
    for i in range(len(pose.u)):
        value = programme.step[i] if i < 3 else 0.0
        if i >= 3:
            for a in range(basis.shape[1]):
                value += basis[i - 3, a] * programme.step[3 + a]
        programme.gradient[i] = value
        length = max(length, abs(value))
    if length > _LONGEST:
        for i in range(len(pose.u)):
            programme.gradient[i] *= _LONGEST / length
    return length


@inner
def _lift(pose, touch, count, u, highest):
    """Raise the rover with all that was found so that its least gap is 0, or at most `highest`."""
    least = highest
    for m in range(count):
        least = min(least, touch.gap[m])
    u[0] -= least
    for m in range(count):
        touch.gap[m] -= least
        touch.point[m, 2] -= least
    for k in range(len(pose.shift)):
        pose.shift[k, 2] -= least
    for j in range(len(pose.anchor)):
        pose.anchor[j, 2] -= least
        pose.moved[j, 2] -= least
    for k in range(len(pose.frame)):
        pose.frame[k, 3, 2] -= least


@inner
def _begin(grid, rover, x, y, heading, pose):
    """Unknowns to begin with: tilted as the plane through the ground below the wheels."""
    u = pose.u
    u[0] = u[1] = u[2] = 0.0
    for j in range(len(rover.limits.offset)):
        u[3 + j] = rover.limits.offset[j]
    forward(rover.chain, rover.wheels, x, y, heading, u, pose)
    frame = pose.frame
    n = len(frame)
    mx = my = mh = xx = xy = yy = xh = yh = 0.0
    for k in range(n):
        cx, cy = frame[k, 3, 0], frame[k, 3, 1]
        frame[k, 3, 2] = height_at(grid, cx, cy)
        mx, my, mh = mx + cx / n, my + cy / n, mh + frame[k, 3, 2] / n
    for k in range(n):
        a, b, h = frame[k, 3, 0] - mx, frame[k, 3, 1] - my, frame[k, 3, 2] - mh
        xx, xy, yy = xx + a * a, xy + a * b, yy + b * b
        xh, yh = xh + a * h, yh + b * h
    size = xx * yy - xy * xy
    if size > 1e-12 * (xx + yy) ** 2:
        sx, sy = (yy * xh - xy * yh) / size, (xx * yh - xy * xh) / size
        c, s = math.cos(heading), math.sin(heading)
        u[1] = math.atan(-s * sx + c * sy)
        u[2] = -math.atan(c * sx + s * sy)


@inner
def _free_direction(basis, rows, programme):
    """A motion that no touching point or joint limit resists, into `gradient`; whether there is
    one. Gram-Schmidt over the rows that are met; then of all unknowns that which is freest."""
    r, orthogonal = len(programme.linear), programme.work
    held = 0
    for m in range(rows):
        if abs(programme.right[m]) > _MET or held == r:
            continue
        size = left = 0.0
        for a in range(r):
            orthogonal[held, a] = programme.rows[m, a]
            size += programme.rows[m, a] ** 2
        for k in range(held):
            along = 0.0
            for a in range(r):
                along += orthogonal[k, a] * orthogonal[held, a]
            for a in range(r):
                orthogonal[held, a] -= along * orthogonal[k, a]
        for a in range(r):
            left += orthogonal[held, a] ** 2
        if left > 1e-6 * size:
            for a in range(r):
                orthogonal[held, a] /= math.sqrt(left)
            held += 1
    best, free = 0, 0.0
    for a in range(r):
        rest = 1.0
        for k in range(held):
            rest -= orthogonal[k, a] ** 2
        if rest > free:
            best, free = a, rest
    if held == r or free < 1e-6:
        return False
    for a in range(r):
        value = 1.0 if a == best else 0.0
        for k in range(held):
            value -= orthogonal[k, best] * orthogonal[k, a]
        programme.step[a] = value / math.sqrt(free)
    for i in range(len(programme.gradient)):
        value = programme.step[i] if i < 3 else 0.0
        if i >= 3:
            for a in range(basis.shape[1]):
                value += basis[i - 3, a] * programme.step[3 + a]
        programme.gradient[i] = value
    return True


@inner
def place(rover, grid, gravity, x, y, heading, work):
    """Place a rover: number of low points and whether the search ended by itself.

    `work` then holds unknowns, links and low points of the stand; normals have z = 1, loads are
    multipliers of the vertical gaps [N]. The number is 0 where joint limits and ground exclude each
    other.

    Where the search ends with a motion left that nothing resists (a rigid rover balanced on two
    diagonal wheels is a saddle of the energy, and found from a symmetric start) the rover is tipped
    a little to either side, and falls if that lowers it.
    """
    pose, touch, programme = work.pose, work.touch, work.programme
    _begin(grid, rover, x, y, heading, pose)
    for i in range(len(pose.u)):
        pose.trial[i], programme.gradient[i] = pose.u[i], 0.0
    # the first pass places the rover on the ground, the others lower it
    energy, highest = math.inf, math.inf
    halvings, last = 0, False
    # tipping: sides to try (2, 1) or none (0), and how often it has fallen
    sides, falls = 0, 0
    for _ in range(_ITERATIONS * _HALVINGS):
        forward(rover.chain, rover.wheels, x, y, heading, pose.trial, pose)
        count = low_points(grid, rover.wheels, pose, touch)
        _lift(pose, touch, count, pose.trial, highest)
        highest = 0.0
        found = gravity * rover.chain.carried[0] * pose.moved[0, 2]
        slack = 1e-12 * max(abs(energy), 1.0) if energy < math.inf else 0.0
        if sides > 0:
            if found < energy - _FALL * gravity * rover.chain.carried[0]:
                # it falls to this side: the search goes on from here
                sides, falls = 0, falls + 1
            else:
                # the other side, then back to where it was
                sides -= 1
                for i in range(len(pose.u)):
                    programme.gradient[i] *= -1.0 if sides == 1 else 0.0
                for i in range(len(pose.u)):
                    pose.trial[i] = pose.u[i] + programme.gradient[i]
                if sides == 0:
                    falls, last = _FALLS, True
                highest = math.inf
                continue
        if found <= energy + slack or last:
            for i in range(len(pose.u)):
                pose.u[i] = pose.trial[i]
            energy, halvings = found, 0
            _normals(grid, rover.wheels, pose, touch, count)
            length = _step(rover, gravity, pose, touch, programme, count)
            if length < 0.0:
                return 0, False
            if length < _DONE or last:
                rows = count
                for j in range(len(rover.limits.low)):
                    rows += 0 if math.isinf(rover.limits.low[j]) else 1
                    rows += 0 if math.isinf(rover.limits.high[j]) else 1
                if falls == _FALLS or not _free_direction(rover.limits.basis, rows, programme):
                    return count, length < _DONE
                sides, last, highest = 2, False, math.inf
                for i in range(len(pose.u)):
                    programme.gradient[i] *= _TIP
        else:
            # too far: half the step; if that has been tried too often, back to the stand before
            halvings += 1
            last = halvings == _HALVINGS
            for i in range(len(pose.u)):
                programme.gradient[i] *= 0.0 if last else 0.5
        for i in range(len(pose.u)):
            pose.trial[i] = pose.u[i] + programme.gradient[i]
    return count, False
