"""The footprint of a wheel: its lower surface above the soil, strip by strip.

A wheel is not a cloud of vertices (Krenn, Fig. 14) but the surface itself: for a vertical line
through a point of the ground, the point where it enters the wheel from below is found in closed
form. The wheel is a surface of revolution about its axle a with radius R(y) at lateral place y:

    cylinder  R(y) = r                                    |y| ≤ w/2
    rounded   R(y) = r − ρ + √(ρ² − (|y| − w/2 + ρ)²)      where |y| > w/2 − ρ
    crowned   R(y) = r − R_c + √(R_c² − y²)
    conical   R(y) = r − |c| w/2 + c y                     r at the larger end

(all together are allowed). A line p + t e_z enters the cylinder of radius R at

    (1 − a_z²) t² − 2 a_z u t + |p|² − u² − R² = 0,   u = a·p,   lower root,

and the slab |y| ≤ w/2 at t = (∓w/2 − u)/a_z; the wheel is entered at the later of the two. Where R
depends on y = u + a_z t, Newton's method goes on from there (not needed for a level axle).

Strips. A wheel stands on few nodes: two to six along its contact on a grid of 2 cm, and stresses
change over much less. Behind the lowest point the soil rebounds along a steep line within

    ℓ = √(2 r p/k_u)        8 mm at r = 0.15 m, p = 5 kPa, k_u = 2·10⁷ Pa/m,

which carries a tenth of the load and turns round the resistance. Looked at in nodes alone, whole
rows of them come and go, the wheel trembles, each tremor presses the soil down a little more, and
what is lost is pull: 10 % of the load for a small wheel. Interpolating the plastic sinkage between
nodes does not help: over a spacing ds the wheel's curvature is ds²/8r = 0.3 mm high, more than the
whole rebound p/k_u = 0.25 mm. The soil must remember where it was pressed, and how deep, more
finely than that. So the cell of a node under a wheel is cut into

    m = ⌈22 ds/r⌉ strips, at most 8,

in the direction x or y that is nearer to the heading, with a sample each in its middle. Samples lie
on the line through the node along the heading, at (δ, δ tan ψ) with δ a strip's place along x:
their lateral place is the node's, so that cells at the wheel's sides are in or out as a whole, and
those at the front and the rear in part. Each strip has a plastic sinkage and a mobilised strength
of its own, is fixed to the ground, and obeys the law of a node for a part 1/m of the cell (the
midpoint rule, of second order; where the stress has a kink, at the entry, the exit and the lowest
point, with an error that averages out over the rows of nodes). Along the heading this is a grid of
r/22, whatever ds; across, where stresses change little, the grid stays as it is.

The ground remembers how much deeper than the node each strip was pressed (`relief`, its sum is
zero), so that a node's sinkage is the mean of its strips' and soil is conserved exactly as without
them. A cell that was not cut yet, or otherwise, begins with the slope of the plastic sinkage from
node to node, the smaller one to both sides, none at a peak: this keeps the mean, and makes no ruts
where fresh soil meets pressed soil. The undisturbed ground is interpolated linearly between nodes.
What was moved (`ref`) is level over a cell: interpolated, soil laid down beside a wheel at rest
would lift it, and shake it for ever.

Weights. The width of a wheel is seldom a whole number of grid spacings. A node stands for the strip
from half way to its inner neighbours to the wheel's edge if no other node lies between: weight
(e_left + e_right)/D with e = D/2, or the distance to the edge where that is below D;
D = ds max(|a_x|, |a_y|) is the lateral distance of rows of nodes. The weights of the nodes in line
along x or y add up to the width exactly for every heading.

The flat side of a wheel that leans is met by nodes beside the tread. Seen from above the part of it
that lies in the soil is e = z |a_z|/√(1 − a_z²) wide, z the depth of the tread's edge below the
soil. Where e is a small fraction of a spacing, single rows of nodes would be rails for wheels that
drive across a slope: such a node has the weight min(1, 2 e/D), which is 1 where the grid resolves
the side, and leaves the sides of upright wheels on coarse grids to the law of `side_wall`.

The nodes in which soil lies in a wheel are found by `candidates`. Other bodies are triangle meshes
(`mesh_footprint`), in nodes.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    BASE,
    CUT,
    DEPTH,
    LEVELS,
    REF,
    STRIPS,
    beside,
    node_x,
    node_y,
)
from marsyard.interaction.soil_contact.arrays import (
    BELT,
    FLANK,
    KEPT,
    LANES,
    LATERAL,
    LEVEL,
    NX,
    NY,
    NZ,
    PX,
    PY,
    PZ,
    SLOPE,
    SUNK,
    TREAD,
    WEIGHT,
    WHEEL,
    Z,
)
from marsyard.jit import VECTOR, inlined, kernel

#: soil is not laid nearer to a body than this, in grid spacings
GAP = 0.05
#: nodes on the very edge of a wheel belong to it on both sides [m]
ROUNDING = 1e-9
#: surfaces steeper than this are not pressed on from above
STEEPEST = 0.05
#: sinkage where there is none [m]: powers are taken of it
TINY = 1e-12
#: below this lean strips are taken to lie along x or y when the soil's slope is looked at
STRAIGHT = 1e-3
#: strips are no longer than this part of the wheel's radius
FINEST = 1.0 / 22.0


@inlined
def tread(radius, half, rounding, crown, taper, y):
    """Radius of the tread at lateral place y, and its slope dR/dy."""
    R = radius + taper * y - abs(taper) * half
    slope = taper
    if crown > 0.0:
        root = math.sqrt(max(crown * crown - y * y, 1e-12))
        R += root - crown
        slope -= y / root
    if rounding > 0.0:
        over = abs(y) - half + rounding
        if over > 0.0:
            root = math.sqrt(max(rounding * rounding - over * over, 1e-4 * rounding * rounding))
            R += root - rounding
            slope -= math.copysign(over / root, y)
    return R, slope


@inlined
def wheel_underside(radius, half, rounding, crown, taper, ax, ay, az, px, py):
    """Where the vertical line through (px, py), from the wheel's centre, enters the wheel.

    Returns whether it does, the height t over the centre, the lateral place y, the tread's radius
    and slope there, and ±1 if it enters through a flat side (the sign of a_z), else 0.
    """
    u = ax * px + ay * py
    t = 0.0
    y = u
    R = radius
    slope = 0.0
    if abs(u) > half + ROUNDING + radius * abs(az):
        return False, t, y, R, slope, 0.0
    square = px * px + py * py - u * u
    profiled = rounding > 0.0 or crown > 0.0 or taper != 0.0
    if profiled and abs(az) < 1e-9:
        R, slope = tread(radius, half, rounding, crown, taper, min(max(u, -half), half))
    if 1.0 - az * az < 1e-9:
        # an axle that points up: entered through a flat side, or not at all
        if square > R * R:
            return False, t, y, R, slope, 0.0
        t = -1e6
    else:
        # the cylinder of the largest radius
        per_A = 1.0 / (1.0 - az * az)
        disc = az * az * u * u * per_A * per_A - per_A * (square - R * R)
        if disc < 0.0:
            return False, t, y, R, slope, 0.0
        t = az * u * per_A - math.sqrt(disc)
        if profiled and abs(az) >= 1e-9:
            # begin inside the width, too
            sideways = (-math.copysign(half, az) - u) / az
            from_side = sideways > t
            t = max(t, sideways)
            # from below onto the tread inside it, a convex function of t
            for k in range(30):
                y = u + az * t
                R, slope = tread(radius, half, rounding, crown, taper, min(max(y, -half), half))
                if abs(y) > half:
                    slope = 0.0
                rho = math.sqrt(max(square + u * u + t * t - y * y, 1e-18))
                rate = (t - y * az) / rho - slope * az
                if k == 0 and from_side and rho <= R:
                    # through the flat side
                    return True, t, y, R, slope, math.copysign(1.0, az)
                if rho - R > 1e-13 and rate > -1e-9:
                    return False, t, y, R, slope, 0.0
                change = (rho - R) / rate
                t -= change
                if abs(change) < 1e-13:
                    break
    # the flat side, if the axle is not level
    y = u + az * t
    if abs(y) > half + ROUNDING:
        if abs(az) < 1e-9 or y * az > 0.0:
            return False, t, y, R, slope, 0.0
        y = math.copysign(half, y)
        t = (y - u) / az
        if square + u * u + t * t - half * half > R * R:
            return False, t, y, R, slope, 0.0
        return True, t, y, R, slope, math.copysign(1.0, az)
    return True, t, y, R, slope, 0.0


@inlined
def strips_of(radius, ds, most):
    """Into how many strips the cells of the nodes under a wheel are cut, at most `most`."""
    return max(1, min(most, int(math.ceil(ds / (FINEST * radius)))))


@inlined
def cut_code(strips, cut):
    """How cells are cut as one number, see `soil_nodes`; no number that occurs for a single one."""
    if strips == 1:
        return math.inf
    return -1.0 * strips if cut else 1.0 * strips


@inlined
def even_slope(before, here, after):
    """Slope per spacing of what has these values at three nodes in a row: the smaller one of the
    two, none at a peak."""
    left, right = here - before, after - here
    least = min(abs(left), abs(right))
    least = least if left > 0.0 else -least
    return least if left * right > 0.0 else 0.0


@inlined
def lean_of(strips, cut, ax, ay):
    """How far strips lie across for a spacing along x or y: they follow the heading."""
    if strips == 1 or ax * ax + ay * ay < 1e-10:
        return 0.0
    return -ay / ax if cut else -ax / ay


@inlined
def base_drops(grid, node, cut):
    """How far the undisturbed ground rises over a spacing: from the node behind to this one, on to
    the one ahead, and so across, along the strips and beside them."""
    along = 1 - cut
    here = grid.node[node, BASE]
    behind = here - grid.node[beside_or_same(grid, node, -along, -cut), BASE]
    ahead = grid.node[beside_or_same(grid, node, along, cut), BASE] - here
    left = here - grid.node[beside_or_same(grid, node, -cut, -along), BASE]
    right = grid.node[beside_or_same(grid, node, cut, along), BASE] - here
    return behind, ahead, left, right


@inlined
def incline(lean, behind, ahead, left, right):
    """Slopes of the undisturbed ground from strip to strip, per spacing, behind and ahead of a
    node."""
    if abs(lean) > STRAIGHT:
        left, right = lean * left, lean * right
        behind += left if lean > 0.0 else right
        ahead += right if lean > 0.0 else left
    return behind, ahead


@inlined
def sinkage_slope(grid, node, cut, lean):
    """Slope of the plastic sinkage from strip to strip of a node, per spacing."""
    along = 1 - cut
    here = grid.node[node, DEPTH]
    before = grid.node[beside_or_same(grid, node, -along, -cut), DEPTH]
    after = grid.node[beside_or_same(grid, node, along, cut), DEPTH]
    sinks = even_slope(before, here, after)
    if abs(lean) > STRAIGHT:
        before = grid.node[beside_or_same(grid, node, -cut, -along), DEPTH]
        after = grid.node[beside_or_same(grid, node, cut, along), DEPTH]
        sinks += lean * even_slope(before, here, after)
    return sinks


@inlined
def beside_or_same(grid, node, di, dj):
    """The node next to one, or itself where there is no tile."""
    other = beside(grid, node, di, dj)
    return node if other < 0 else other


@kernel
def clearance(grid, bodies, patch, node):
    """Free height between the soil at a node and the bodies above it [m], infinite if none.

    The soil of all strips of the node counts. A gap of GAP spacings is left: soil that slides
    against a body at rest must not push it.
    """
    ds = grid.spacing[0]
    level = grid.node[node, BASE] + grid.node[node, REF]
    depth = grid.node[node, DEPTH]
    free = math.inf
    for b in range(bodies.kind.shape[0]):
        if bodies.kind[b] != WHEEL:
            box = patch.window_box[b]
            i = int(round(node_x(grid, node) / ds)) - box[0]
            j = int(round(node_y(grid, node) / ds)) - box[1]
            if 0 <= i < box[2] and 0 <= j < box[3]:
                free = min(
                    free, bodies.centre[b, 2] + patch.window[b, i * box[3] + j] - level + depth
                )
            continue
        px = node_x(grid, node) - bodies.centre[b, 0]
        py = node_y(grid, node) - bodies.centre[b, 1]
        if px * px + py * py > (bodies.reach[b] + ds) * (bodies.reach[b] + ds):
            continue
        s = bodies.shape[b]
        a = bodies.axis[b]
        strips, cut = patch.strips[b], patch.cut[b]
        lean = lean_of(strips, cut, a[0], a[1])
        relief = grid.relief[node]
        known = relief[CUT] == cut_code(strips, cut)
        back, ahead, sinks = 0.0, 0.0, 0.0
        if strips > 1:
            behind, before, left, right = base_drops(grid, node, cut)
            back, ahead = incline(lean, behind, before, left, right)
            sinks = 0.0 if known else sinkage_slope(grid, node, cut, lean)
        for k in range(strips):
            off = (k + 0.5) / strips - 0.5
            x = px + off * ds * (lean if cut else 1.0)
            y = py + off * ds * (1.0 if cut else lean)
            hit, t, _, _, _, _ = wheel_underside(
                s[0], s[1], s[2], s[3], s[4], a[0], a[1], a[2], x, y
            )  # fmt: skip
            if hit:
                sunk = max(depth + (relief[STRIPS + k] if known else off * sinks), 0.0)
                height = level + off * (back if off < 0.0 else ahead) - sunk
                height += relief[LEVELS + k] if known else 0.0
                free = min(free, bodies.centre[b, 2] + t - height)
    return max(free - GAP * ds, 0.0)


@inlined
def strip_area(grid, patch, b):
    """Area of the soil under a strip [m²]."""
    return grid.spacing[0] * grid.spacing[0] / patch.strips[b]


@inlined
def has_axle(bodies, b):
    """A wheel or a track, whose axis tells along from across."""
    return bodies.kind[b] == WHEEL or bodies.kind[b] == BELT


@inlined
def is_above(grid, bodies, b, node):
    """Whether body b is a wheel that stands above a node."""
    if bodies.kind[b] != WHEEL:
        return False
    a, s = bodies.axis[b], bodies.shape[b]
    x = node_x(grid, node) - bodies.centre[b, 0]
    y = node_y(grid, node) - bodies.centre[b, 1]
    u = a[0] * x + a[1] * y
    return abs(u) <= s[1] and x * x + y * y - u * u <= s[0] * s[0]


@inlined
def new_block(patch, n, lanes, soil):
    """Close block n, which holds so many nodes, and begin the next. False if there is no room."""
    if n >= 0:
        patch.block_count[n] = lanes
    if n + 1 >= patch.block_soil.shape[0]:
        return False
    patch.block_soil[n + 1] = soil
    return True


@kernel
def wheel_surface(grid, patch, radius, half, rounding, crown, taper, a):
    """The wheel's surface above the strips found, and which of them it touches."""
    ds = grid.spacing[0]
    ax, ay, az = a[0], a[1], a[2]
    flat = math.sqrt(max(ax * ax + ay * ay, 1e-12))
    D = ds * max(abs(ax), abs(ay)) / flat if flat > 1e-5 else ds
    for k in range(patch.blocks[0]):
        w = patch.block[k]
        count = patch.block_count[k]
        if rounding > 0.0 or crown > 0.0 or taper != 0.0 or flat * flat < 1e-9:
            undersides(w, count, radius, half, rounding, crown, taper, ax, ay, az)
        else:
            cylinder_undersides(w, count, radius, half, ax, ay, az)
        normals(w, count, half, D, ax, ay, az)
        fill_lanes(w, count)


@kernel
def undersides(w, count, radius, half, rounding, crown, taper, ax, ay, az):
    """The wheel's lower side above the nodes of a block, any wheel, one by one."""
    for k in range(count):
        hit, t, y, R, slope, side = wheel_underside(
            radius, half, rounding, crown, taper, ax, ay, az, w[PX + k], w[PY + k]
        )
        w[PZ + k] = t
        w[LATERAL + k] = y
        w[TREAD + k] = R
        w[SLOPE + k] = slope
        w[FLANK + k] = side
        w[KEPT + k] = 1.0 if hit else 0.0


@kernel(fastmath=VECTOR)
def cylinder_undersides(w, count, radius, half, ax, ay, az):
    """The same for cylinders, as `wheel_underside` does it, on vector units."""
    per_A = 1.0 / (1.0 - az * az)
    tilted = abs(az) >= 1e-9
    per_az = 1.0 / az if tilted else 0.0
    sign = math.copysign(1.0, az)
    square = radius * radius
    for k in range(count):
        px, py = w[PX + k], w[PY + k]
        u = ax * px + ay * py
        rest = px * px + py * py - u * u
        disc = az * az * u * u * per_A * per_A - per_A * (rest - square)
        t = az * u * per_A - math.sqrt(max(disc, 0.0))
        y = u + az * t
        beside = abs(y) > half + ROUNDING
        # through the flat side that looks down
        ts = (-sign * half - u) * per_az
        side_hit = tilted and sign * y < 0.0 and rest + u * u + ts * ts - half * half <= square
        w[PZ + k] = ts if beside else t
        w[LATERAL + k] = -sign * half if beside else y
        w[TREAD + k] = radius
        w[SLOPE + k] = 0.0
        w[FLANK + k] = sign if beside else 0.0
        kept = (1.0 if side_hit else 0.0) if beside else 1.0
        w[KEPT + k] = kept if disc >= 0.0 else 0.0


@kernel(fastmath=VECTOR)
def normals(w, count, half, D, ax, ay, az):
    """Normal, sinkage and weight of each strip, 0 where the wheel does not touch it."""
    half_D = 0.5 * D
    near = D - ROUNDING
    per_D = 1.0 / D
    flat = math.sqrt(max(1.0 - az * az, 1e-12))
    per_flat = 1.0 / flat
    leaning = 2.0 * abs(az) * per_flat * per_D
    for k in range(count):
        px, py, t = w[PX + k], w[PY + k], w[PZ + k]
        y, R, slope, side = w[LATERAL + k], w[TREAD + k], w[SLOPE + k], w[FLANK + k]
        # the vector to the axle has the length R
        f = 1.0 / (R * math.sqrt(1.0 + slope * slope))
        g = y + slope * R
        on_tread = side == 0.0
        nx = f * (g * ax - px) if on_tread else side * ax
        ny = f * (g * ay - py) if on_tread else side * ay
        nz = f * (g * az - t) if on_tread else side * az
        left = half_D if half - y >= near else half - y
        right = half_D if half + y >= near else half + y
        z = w[LEVEL + k] - t
        keep = w[KEPT + k] > 0.0 and z > w[SUNK + k] and nz >= STEEPEST
        x = (px * ay - py * ax) * per_flat
        edge = flat * math.sqrt(max(R * R - x * x, 0.0)) + half * abs(az)
        beside = min(max(w[LEVEL + k] + edge, 0.0) * leaning, 1.0)
        weight = (left + right) * per_D if on_tread else beside
        w[NX + k] = nx if keep else 0.0
        w[NY + k] = ny if keep else 0.0
        w[NZ + k] = nz if keep else 1.0
        w[Z + k] = max(z, TINY) if keep else TINY
        w[WEIGHT + k] = weight if keep else 0.0


@inlined
def fill_lanes(w, count):
    """Fill a block up to a multiple of eight with lanes that carry nothing."""
    for k in range(count, (count + 7) & ~7):
        for column in range(PX, LATERAL, LANES):
            w[column + k] = 0.0
        w[Z + k] = 1.0
        w[SUNK + k] = 1.0
        w[NZ + k] = 1.0
