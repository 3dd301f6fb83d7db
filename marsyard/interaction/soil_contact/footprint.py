"""The footprint: grid nodes under a body, with the body's lower surface above each of them.

A wheel is not a cloud of vertices (Krenn, Fig. 14) but the surface itself: for a vertical line
through a node, the point where it enters the wheel from below is found in closed form. The wheel is
a surface of revolution about its axle a with radius R(y) at lateral place y:

    cylinder  R(y) = r                                    |y| ≤ w/2
    rounded   R(y) = r − ρ + √(ρ² − (|y| − w/2 + ρ)²)      where |y| > w/2 − ρ
    crowned   R(y) = r − R_c + √(R_c² − y²)

(both together are allowed). A line p + t e_z enters the cylinder of radius R at

    (1 − a_z²) t² − 2 a_z u t + |p|² − u² − R² = 0,   u = a·p,   lower root,

and the slab |y| ≤ w/2 at t = (∓w/2 − u)/a_z; the wheel is entered at the later of the two. Where R
depends on y = u + a_z t, Newton's method goes on from there (not needed for a level axle).

Other bodies are triangle meshes: each triangle that faces down is laid over the nodes it covers,
and all nodes get the same weight, so that together they stand for the area of the lower side as
seen from above.

Weights. The width of a wheel is seldom a whole number of grid spacings. A node stands for the strip
from half way to its inner neighbours to the wheel's edge if no other node lies between: weight
(e_left + e_right)/D with e = D/2, or the distance to the edge where that is below D;
D = ds max(|a_x|, |a_y|) is the lateral distance of rows of nodes. The weights add up to the width
exactly for a wheel along the grid or its diagonal, and on average for every other heading.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    BASE,
    DEPTH,
    REF,
    SIDE,
    ask_for_tile,
    find_tile,
    node_x,
    node_y,
    tile_key,
)
from marsyard.interaction.soil_contact.arrays import (
    NEEDS_TILES,
    NX,
    NY,
    NZ,
    PX,
    PY,
    PZ,
    TOO_MANY_NODES,
    WEIGHT,
    WHEEL,
    Z,
)
from marsyard.jit import inlined, kernel

#: surfaces steeper than this are not pressed on from above
STEEPEST = 0.05


@inlined
def tread(radius, half, rounding, crown, y):
    """Radius of the tread at lateral place y, and its slope dR/dy."""
    R = radius
    slope = 0.0
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
def wheel_underside(radius, half, rounding, crown, ax, ay, az, px, py):
    """Where the vertical line through (px, py), from the wheel's centre, enters the wheel.

    Returns whether it does, the height t over the centre, the lateral place y, the tread's radius
    and slope there, and ±1 if it enters through a flat side (the sign of a_z), else 0.
    """
    u = ax * px + ay * py
    t = 0.0
    y = u
    R = radius
    slope = 0.0
    if abs(u) > half + radius * abs(az):
        return False, t, y, R, slope, 0.0
    square = px * px + py * py - u * u
    profiled = rounding > 0.0 or crown > 0.0
    if profiled and abs(az) < 1e-9:
        R, slope = tread(radius, half, rounding, crown, min(max(u, -half), half))
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
            # from below onto the tread inside it, a convex function of t
            for _ in range(30):
                y = u + az * t
                R, slope = tread(radius, half, rounding, crown, min(max(y, -half), half))
                if abs(y) > half:
                    slope = 0.0
                rho = math.sqrt(max(square + u * u + t * t - y * y, 1e-18))
                rate = (t - y * az) / rho - slope * az
                if rho - R > 1e-13 and rate > -1e-9:
                    return False, t, y, R, slope, 0.0
                change = (rho - R) / rate
                t -= change
                if abs(change) < 1e-13:
                    break
    # the flat side, if the axle is not level
    y = u + az * t
    if abs(y) > half:
        if abs(az) < 1e-9 or y * az > 0.0:
            return False, t, y, R, slope, 0.0
        y = math.copysign(half, y)
        t = (y - u) / az
        if square + u * u + t * t - half * half > R * R:
            return False, t, y, R, slope, 0.0
        return True, t, y, R, slope, math.copysign(1.0, az)
    return True, t, y, R, slope, 0.0


@kernel
def clearance(grid, bodies, node):
    """Free height between the soil at a node and the wheels above it [m], infinite if none."""
    x = node_x(grid, node)
    y = node_y(grid, node)
    surface = grid.node[node, BASE] + grid.node[node, REF] - grid.node[node, DEPTH]
    free = math.inf
    for b in range(bodies.kind.shape[0]):
        if bodies.kind[b] != WHEEL:
            continue
        px = x - bodies.centre[b, 0]
        py = y - bodies.centre[b, 1]
        if px * px + py * py > bodies.reach[b] * bodies.reach[b]:
            continue
        s = bodies.shape[b]
        a = bodies.axis[b]
        hit, t, _, _, _, _ = wheel_underside(
            s[0], s[1], s[2], s[3], a[0], a[1], a[2], px, py
        )  # fmt: skip
        if hit:
            free = min(free, bodies.centre[b, 2] + t - surface)
    return max(free, 0.0)


@kernel
def wheel_footprint(grid, patch, radius, half, rounding, crown, c, a):
    """Nodes whose surface lies above the wheel's lower side. Returns their number or −status."""
    ds = grid.spacing[0]
    cx, cy, cz = c[0], c[1], c[2]
    ax, ay, az = a[0], a[1], a[2]
    flat = math.sqrt(max(ax * ax + ay * ay, 1e-12))
    hx = radius * math.sqrt(max(0.0, 1.0 - ax * ax)) + half * abs(ax)
    hy = radius * math.sqrt(max(0.0, 1.0 - ay * ay)) + half * abs(ay)
    # one more node all round: there the displaced soil will be laid down
    i0 = int(math.ceil((cx - hx) / ds)) - 1
    i1 = int(math.floor((cx + hx) / ds)) + 1
    j0 = int(math.ceil((cy - hy) / ds)) - 1
    j1 = int(math.floor((cy + hy) / ds)) + 1
    D = ds * max(abs(ax), abs(ay)) / flat if flat > 1e-5 else ds
    per_D = 1.0 / D
    square = radius * radius
    # rows of nodes are taken along y: where the axle is not along x they are cut to the width
    slack = half + radius * abs(az)
    room = patch.found_key.shape[0]
    n = 0
    missing = False
    for ti in range(i0 // SIDE, i1 // SIDE + 1):
        for tj in range(j0 // SIDE, j1 // SIDE + 1):
            slot = find_tile(grid, ti, tj)
            if slot < 0:
                ask_for_tile(grid, ti, tj)
                missing = True
                continue
            rank = tile_key(ti, tj)
            for i in range(max(i0, ti * SIDE), min(i1, ti * SIDE + SIDE - 1) + 1):
                px = i * ds - cx
                row = (slot * SIDE + (i - ti * SIDE)) * SIDE - tj * SIDE
                first = max(j0, tj * SIDE)
                last = min(j1, tj * SIDE + SIDE - 1)
                if abs(ay) > 0.1:
                    middle = cy - ax * px / ay
                    reach = slack / abs(ay)
                    first = max(first, math.ceil((middle - reach) / ds))
                    last = min(last, math.floor((middle + reach) / ds))
                elif abs(ax * px) > slack + abs(ay) * hy:
                    continue
                for j in range(first, last + 1):
                    py = j * ds - cy
                    # quick look: is the soil's surface inside the wheel's tread and width?
                    node = row + j
                    level = grid.node[node, BASE] + grid.node[node, REF] - cz
                    s = level - grid.node[node, DEPTH]
                    if s < 0.0:
                        u = ax * px + ay * py + az * s
                        if abs(u) > half or px * px + py * py + s * s - u * u > square:
                            continue
                    hit, t, y, R, slope, side = wheel_underside(
                        radius, half, rounding, crown, ax, ay, az, px, py
                    )
                    if not hit:
                        continue
                    z = level - t
                    if z <= grid.node[node, DEPTH]:
                        continue
                    # normal into the wheel
                    if side != 0.0:
                        nx, ny, nz = side * ax, side * ay, side * az
                    else:
                        # the vector to the axle has the length R
                        f = 1.0 / R
                        if slope != 0.0:
                            f /= math.sqrt(1.0 + slope * slope)
                        g = y + slope * R
                        nx, ny, nz = f * (g * ax - px), f * (g * ay - py), f * (g * az - t)
                    if nz < STEEPEST:
                        continue
                    if n >= room:
                        return -TOO_MANY_NODES
                    strip = D
                    if side == 0.0:
                        strip = 0.5 * D if half - y >= D else half - y
                        strip += 0.5 * D if half + y >= D else half + y
                    patch.found_key[n] = rank * (SIDE * SIDE) + (node - slot * (SIDE * SIDE))
                    patch.found_node[n] = node
                    row_n = patch.found[n]
                    row_n[Z] = z
                    row_n[WEIGHT] = strip * per_D
                    row_n[NX] = nx
                    row_n[NY] = ny
                    row_n[NZ] = nz
                    row_n[PX] = px
                    row_n[PY] = py
                    row_n[PZ] = t
                    n += 1
    return -NEEDS_TILES if missing else n


@inlined
def _outside(xa, ya, xb, yb, px, py):
    """The point lies left of the edge from a to b, or on an edge that belongs to its neighbour."""
    # from the same end for both triangles at the edge, so that both round alike
    if xa < xb or (xa == xb and ya < yb):
        e = (xb - xa) * (py - ya) - (yb - ya) * (px - xa)
    else:
        e = -((xa - xb) * (py - yb) - (ya - yb) * (px - xb))
    return e > 0.0 or (e == 0.0 and (yb < ya or (yb == ya and xb < xa)))


@kernel
def mesh_footprint(grid, patch, triangle, first, last, reach, c, R):
    """Nodes whose surface lies above the lower side of a mesh. Returns their number or −status."""
    ds = grid.spacing[0]
    i0 = int(math.ceil((c[0] - reach) / ds)) - 1
    i1 = int(math.floor((c[0] + reach) / ds)) + 1
    j0 = int(math.ceil((c[1] - reach) / ds)) - 1
    j1 = int(math.floor((c[1] + reach) / ds)) + 1
    missing = False
    top = -math.inf
    for ti in range(i0 // SIDE, i1 // SIDE + 1):
        for tj in range(j0 // SIDE, j1 // SIDE + 1):
            slot = find_tile(grid, ti, tj)
            if slot < 0:
                ask_for_tile(grid, ti, tj)
                missing = True
            else:
                top = max(top, grid.top[slot])
    if missing:
        return -NEEDS_TILES
    # a body that is higher than all soil around it
    lowest = math.inf
    for k in range(first, last):
        q = triangle[k]
        for m in range(3):
            z = R[6] * q[3 * m] + R[7] * q[3 * m + 1] + R[8] * q[3 * m + 2]
            lowest = min(lowest, z)
    if c[2] + lowest > top:
        return 0
    room = patch.found_key.shape[0]
    n = 0
    covered = 0
    area = 0.0
    for k in range(first, last):
        q = triangle[k]
        # corners relative to the centre, in the world
        x0 = R[0] * q[0] + R[1] * q[1] + R[2] * q[2]
        y0 = R[3] * q[0] + R[4] * q[1] + R[5] * q[2]
        z0 = R[6] * q[0] + R[7] * q[1] + R[8] * q[2]
        x1 = R[0] * q[3] + R[1] * q[4] + R[2] * q[5]
        y1 = R[3] * q[3] + R[4] * q[4] + R[5] * q[5]
        z1 = R[6] * q[3] + R[7] * q[4] + R[8] * q[5]
        x2 = R[0] * q[6] + R[1] * q[7] + R[2] * q[8]
        y2 = R[3] * q[6] + R[4] * q[7] + R[5] * q[8]
        z2 = R[6] * q[6] + R[7] * q[7] + R[8] * q[8]
        nx = (y1 - y0) * (z2 - z0) - (z1 - z0) * (y2 - y0)
        ny = (z1 - z0) * (x2 - x0) - (x1 - x0) * (z2 - z0)
        nz = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0)
        size = math.sqrt(nx * nx + ny * ny + nz * nz)
        # faces that look down: outward normal below the horizon
        if size <= 0.0 or -nz < STEEPEST * size:
            continue
        area -= 0.5 * nz
        slope_x = -nx / nz
        slope_y = -ny / nz
        lo_i = int(math.ceil((c[0] + min(x0, x1, x2)) / ds))
        hi_i = int(math.floor((c[0] + max(x0, x1, x2)) / ds))
        lo_j = int(math.ceil((c[1] + min(y0, y1, y2)) / ds))
        hi_j = int(math.floor((c[1] + max(y0, y1, y2)) / ds))
        for i in range(lo_i, hi_i + 1):
            px = i * ds - c[0]
            for j in range(lo_j, hi_j + 1):
                py = j * ds - c[1]
                # seen from above the triangle runs clockwise; a node on a shared edge counts once
                if (
                    _outside(x0, y0, x1, y1, px, py)
                    or _outside(x1, y1, x2, y2, px, py)
                    or _outside(x2, y2, x0, y0, px, py)
                ):
                    continue
                covered += 1
                t = z0 + slope_x * (px - x0) + slope_y * (py - y0)
                ti = i // SIDE
                tj = j // SIDE
                slot = find_tile(grid, ti, tj)
                node = (slot * SIDE + i - ti * SIDE) * SIDE + j - tj * SIDE
                z = grid.node[node, BASE] + grid.node[node, REF] - c[2] - t
                if z <= grid.node[node, DEPTH]:
                    continue
                key = tile_key(ti, tj) * (SIDE * SIDE) + (node - slot * (SIDE * SIDE))
                # kept in order; a node under two faces belongs to the lower one
                at = n
                while at > 0 and patch.found_key[at - 1] > key:
                    at -= 1
                if at > 0 and patch.found_key[at - 1] == key:
                    if patch.found[at - 1, Z] >= z:
                        continue
                    at -= 1
                else:
                    if n >= room:
                        return -TOO_MANY_NODES
                    for m in range(n, at, -1):
                        patch.found_key[m] = patch.found_key[m - 1]
                        patch.found_node[m] = patch.found_node[m - 1]
                        for col in range(patch.found.shape[1]):
                            patch.found[m, col] = patch.found[m - 1, col]
                    n += 1
                patch.found_key[at] = key
                patch.found_node[at] = node
                patch.found[at, Z] = z
                patch.found[at, NX] = -nx / size
                patch.found[at, NY] = -ny / size
                patch.found[at, NZ] = -nz / size
                patch.found[at, PX] = px
                patch.found[at, PY] = py
                patch.found[at, PZ] = t
    # together the nodes stand for the true area of the lower side
    for k in range(n):
        patch.found[k, WEIGHT] = area / (covered * ds * ds)
    return n
