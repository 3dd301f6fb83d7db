"""Contacts of one wheel with one triangle mesh: walk the hierarchy, test faces, edges, vertices.

Each triangle tests its face and those edges and vertices it owns. A face is a contact where the
wheel's support point along the face normal lies over the triangle; edges and vertices where the
normal lies inside their arc or cone. Features deeper than a part of the wheel's own thickness are
taken for the far side of the ground and left out.
"""

from __future__ import annotations

import math

from marsyard.interaction.contact_geometry.collect import (
    EDGE,
    FACE,
    VERTEX,
    feature_number,
    insert,
    insert_end,
)
from marsyard.interaction.contact_geometry.edge import NOTHING, cut_tread, solve_edge
from marsyard.interaction.contact_geometry.wheel import (
    core_to_point,
    support_parts,
    tread_to_point,
)
from marsyard.jit import inlined, inner, kernel

# deepest penetration that still counts, in half thicknesses of the wheel along the normal, and a
# little more for thin wheels pressed sideways [wheel radii]; beyond it a feature is taken for the
# far side of the ground
DEPTH = 0.75
SIDE_DEPTH = 0.05

# borders of triangles and edges include this much beyond them [wheel radii]
BORDER = 1e-8

# least room to the side of a wheel, for ground points under a leaning and sunken one [wheel radii]
SIDE_ROOM = 0.15

# a cylinder rests on an edge with both rims while the edge is this near to its axis (cosine)
ALONG_AXIS = 0.9

# a cylinder's upper rim counts too while the axis is within 30° of the face
SECOND_RIM = 0.5


@inlined
def next_node(i):
    """The node that follows i's subtree in heap order, 0 after the last."""
    while i & 1:
        i >>= 1
    return i + 1 if i > 0 else 0


@inlined
def _deepest(s, radius, rho, half, ball):
    """The most negative gap [m] that counts along a normal with s = n·a."""
    thickness = rho * math.sqrt(max(1.0 - s * s, 0.0)) + half * abs(s) + ball
    return -DEPTH * thickness - SIDE_DEPTH * radius


@kernel
def mesh_contacts(
    mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
    count, room, point, normal, gaps, surfaces, ids,
):  # fmt: skip
    """Add the contacts with one mesh to the rows from `count` on; returns the new count."""
    base = ground.mesh[mesh, 3]
    leaves = ground.mesh[mesh, 4]
    start = ground.mesh[mesh, 1]
    total = ground.mesh[mesh, 2]
    node = ground.node
    first = count

    # the wheel's bounding box
    extra = ball + margin
    wide = half + max(SIDE_ROOM * radius - margin, 0.0)
    ex = rho * math.sqrt(max(1.0 - ax * ax, 0.0)) + wide * abs(ax) + extra
    ey = rho * math.sqrt(max(1.0 - ay * ay, 0.0)) + wide * abs(ay) + extra
    ez = rho * math.sqrt(max(1.0 - az * az, 0.0)) + wide * abs(az) + extra

    # skip what is outside the box, or further from the centre than any point of the wheel
    reach = math.sqrt(rho * rho + half * half) + extra
    i = 1
    while i > 0:
        row = base + i
        dx = max(node[row, 0] - cx, cx - node[row, 3], 0.0)
        dy = max(node[row, 1] - cy, cy - node[row, 4], 0.0)
        dz = max(node[row, 2] - cz, cz - node[row, 5], 0.0)
        if dx > ex or dy > ey or dz > ez or dx * dx + dy * dy + dz * dz > reach * reach:
            i = next_node(i)
        elif i < leaves:
            i = 2 * i
        else:
            leaf = i - leaves
            for t in range(start + leaf * total // leaves, start + (leaf + 1) * total // leaves):
                # beside the wheel
                h0, h1, h2 = _beside(ground.triangle, t, cx, cy, cz, ax, ay, az)
                if min(h0, h1, h2) > wide + extra or max(h0, h1, h2) < -wide - extra:
                    continue
                count = _triangle_contacts(
                    mesh, t, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
                    first, count, room, point, normal, gaps, surfaces, ids,
                )  # fmt: skip
            i = next_node(i)
    return count


@inlined
def _beside(triangle, t, cx, cy, cz, ax, ay, az):
    """Coordinates of triangle t's corners along the wheel's axis [m]."""
    middle = cx * ax + cy * ay + cz * az
    return (
        triangle[t, 0] * ax + triangle[t, 1] * ay + triangle[t, 2] * az - middle,
        triangle[t, 3] * ax + triangle[t, 4] * ay + triangle[t, 5] * az - middle,
        triangle[t, 6] * ax + triangle[t, 7] * ay + triangle[t, 8] * az - middle,
    )


@inlined
def _over_triangle(triangle, t, border, nx, ny, nz, px, py, pz):
    """Whether p lies over triangle t, its border included, seen along its normal."""
    for j in range(3):
        o = 3 * j
        e = 3 * j + 3 if j < 2 else 0
        ex = triangle[t, e] - triangle[t, o]
        ey = triangle[t, e + 1] - triangle[t, o + 1]
        ez = triangle[t, e + 2] - triangle[t, o + 2]
        # n × e points into the triangle
        side = (
            (px - triangle[t, o]) * (ny * ez - nz * ey)
            + (py - triangle[t, o + 1]) * (nz * ex - nx * ez)
            + (pz - triangle[t, o + 2]) * (nx * ey - ny * ex)
        )
        if side < 0.0 and side * side > border * border * (ex * ex + ey * ey + ez * ez):
            return False
    return True


@inlined
def _triangle_contacts(
    mesh, t, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
    first, count, room, point, normal, gaps, surfaces, ids,
):  # fmt: skip
    triangle = ground.triangle
    index = ground.triangle_index
    surface = ground.mesh[mesh, 0]
    nx, ny, nz = triangle[t, 9], triangle[t, 10], triangle[t, 11]
    height = (cx - triangle[t, 0]) * nx + (cy - triangle[t, 1]) * ny + (cz - triangle[t, 2]) * nz
    s = nx * ax + ny * ay + nz * az
    lift = rho * math.sqrt(max(1.0 - s * s, 0.0)) + half * abs(s) + ball
    if height - lift >= margin or height + lift <= -margin:
        return count

    # the face: lowest point of the wheel, or of both rims
    deepest = -DEPTH * lift - SIDE_DEPTH * radius
    if height - lift > deepest - 2.0 * half * abs(s):
        s, k, ux, uy, uz = support_parts(nx, ny, nz, ax, ay, az)
        rims = 2 if half > 0.0 else 1
        for j in range(rims):
            along = 0.0
            if half > 0.0:
                along = half * (2.0 * j - 1.0)
                if along * s > 0.0 and abs(s) > SECOND_RIM:
                    continue
            gap = height - rho * k - ball + along * s
            if gap >= margin or gap < deepest:
                continue
            px = cx - rho * ux + along * ax - (ball + gap) * nx
            py = cy - rho * uy + along * ay - (ball + gap) * ny
            pz = cz - rho * uz + along * az - (ball + gap) * nz
            if _over_triangle(triangle, t, BORDER * radius, nx, ny, nz, px, py, pz):
                rim = j + 1 if half > 0.0 else 0
                count = insert(
                    count, room, first, radius, px, py, pz, nx, ny, nz, gap, surface,
                    feature_number(surface, FACE, index[t, 0], rim),
                    point, normal, gaps, surfaces, ids,
                )  # fmt: skip

    # edges and vertices owned by this triangle
    reach = rho + half + ball + margin
    for j in range(1, 4):
        if index[t, j] >= 0:
            count = _edge_contacts(
                mesh, index[t, j], radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
                first, count, room, point, normal, gaps, surfaces, ids,
            )  # fmt: skip
    for j in range(4, 7):
        v = index[t, j]
        if v >= 0:
            dx, dy, dz = (
                cx - ground.vertex[v, 0],
                cy - ground.vertex[v, 1],
                cz - ground.vertex[v, 2],
            )
            if dx * dx + dy * dy + dz * dz > reach * reach:
                continue
            found, gap, nx, ny, nz = vertex_gap(v, rho, half, ball, cx, cy, cz, ax, ay, az, ground)
            s = nx * ax + ny * ay + nz * az
            if found and _deepest(s, radius, rho, half, ball) <= gap < margin:
                count = insert(
                    count, room, first, radius,
                    ground.vertex[v, 0], ground.vertex[v, 1], ground.vertex[v, 2],
                    nx, ny, nz, gap, surface, feature_number(surface, VERTEX, v, 0),
                    point, normal, gaps, surfaces, ids,
                )  # fmt: skip
    return count


@inlined
def _edge_contacts(
    mesh, i, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
    first, count, room, point, normal, gaps, surfaces, ids,
):  # fmt: skip
    edge = ground.edge
    surface = ground.mesh[mesh, 0]
    fixed = ground.mesh_normal[mesh, 3] > 0.0
    ex, ey, ez = edge[i, 3], edge[i, 4], edge[i, 5]
    length = edge[i, 6]
    if fixed and abs(ez) > 1e-6:
        return count

    # quick look: an edge further away than the wheel reaches cannot touch
    dx, dy, dz = cx - edge[i, 0], cy - edge[i, 1], cz - edge[i, 2]
    at = min(max(dx * ex + dy * ey + dz * ez, 0.0), length)
    dx, dy, dz = dx - at * ex, dy - at * ey, dz - at * ez
    reach = rho + half + ball + margin
    away = dx * dx + dy * dy + dz * dz
    if away > reach * reach:
        return count

    what, theta, middle, place, share = solve_edge(
        edge, i, away > rho * rho, rho, half, ball, cx, cy, cz, ax, ay, az
    )
    cut = False
    if what == NOTHING:
        # a tread on one of the faces may still hang over the edge
        if half == 0.0:
            return count
        cut, middle, place, share = cut_tread(
            edge, i, False, rho, half, ball, cx, cy, cz, ax, ay, az
        )
        if not cut:
            cut, middle, place, share = cut_tread(
                edge, i, True, rho, half, ball, cx, cy, cz, ax, ay, az
            )
            theta = edge[i, 13]
        if not cut:
            return count
    c = math.cos(theta)
    si = math.sin(theta)
    nx = edge[i, 7] * c + edge[i, 10] * si
    ny = edge[i, 8] * c + edge[i, 11] * si
    nz = edge[i, 9] * c + edge[i, 12] * si
    s = ax * nx + ay * ny + az * nz
    along = ax * ex + ay * ey + az * ez
    deepest = _deepest(s, radius, rho, half, ball)
    group = ground.edge_group[i]

    if half > 0.0 and abs(along) > ALONG_AXIS and not fixed:
        # the tread lies along the edge: both ends of the part they share
        span = half * along
        low = min(place - abs(span), length)
        high = max(place + abs(span), 0.0)
        if cut or place - abs(span) > length or place + abs(span) < 0.0:
            return count
        for j in range(2):
            side = 2.0 * j - 1.0
            at = min(max(high if side * along > 0.0 else low, 0.0), length)
            gap = middle + (at - place) / along * s
            if deepest <= gap < margin:
                count = insert_end(
                    count, room, first, radius, side * ax, side * ay, side * az,
                    edge[i, 0] + at * ex, edge[i, 1] + at * ey, edge[i, 2] + at * ez,
                    nx, ny, nz, gap, surface, feature_number(surface, EDGE, group, j + 1),
                    point, normal, gaps, surfaces, ids,
                )  # fmt: skip
        return count

    # one point of the edge
    at = place + share * half * along
    gap = middle + share * half * s
    if at < -BORDER * radius or at > length + BORDER * radius:
        return count
    if gap >= margin or gap < deepest:
        return count
    px, py, pz = edge[i, 0] + at * ex, edge[i, 1] + at * ey, edge[i, 2] + at * ez
    if fixed:
        # the given normal, at the wheel's support point along it
        nx = ground.mesh_normal[mesh, 0]
        ny = ground.mesh_normal[mesh, 1]
        nz = ground.mesh_normal[mesh, 2]
        s, _, ux, uy, uz = support_parts(nx, ny, nz, ax, ay, az)
        rim = -half if s > 0.0 else half
        px = cx - rho * ux + rim * ax - (ball + gap) * nx
        py = cy - rho * uy + rim * ay - (ball + gap) * ny
        pz = cz - rho * uz + rim * az - (ball + gap) * nz
    return insert(
        count, room, first, radius, px, py, pz, nx, ny, nz, gap, surface,
        feature_number(surface, EDGE, group, 0), point, normal, gaps, surfaces, ids,
    )  # fmt: skip


@inlined
def vertex_gap(v, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """Whether vertex v touches (its normal is in its cone), the gap [m] and the unit normal."""
    px, py, pz = ground.vertex[v, 0], ground.vertex[v, 1], ground.vertex[v, 2]
    distance, nx, ny, nz = core_to_point(rho, half, cx, cy, cz, ax, ay, az, px, py, pz)
    if _in_cone(v, nx, ny, nz, ground):
        return True, distance - ball, nx, ny, nz
    if half > 0.0:
        # inside a cylinder the way out through the tread may be open where that through the
        # side is not
        distance, nx, ny, nz = tread_to_point(rho, half, cx, cy, cz, ax, ay, az, px, py, pz)
        if distance < math.inf and _in_cone(v, nx, ny, nz, ground):
            return True, distance - ball, nx, ny, nz
    return False, 0.0, 0.0, 0.0, 0.0


@inlined
def _in_cone(v, nx, ny, nz, ground):
    """Whether no edge that leaves vertex v comes nearer along n, on the front side."""
    if nx * ground.vertex[v, 3] + ny * ground.vertex[v, 4] + nz * ground.vertex[v, 5] <= 0.0:
        return False
    for i in range(ground.ring[v], ground.ring[v + 1]):
        if nx * ground.ray[i, 0] + ny * ground.ray[i, 1] + nz * ground.ray[i, 2] > 0.0:
            return False
    return True


@inlined
def _box_bound(node, row, cx, cy, cz, reach):
    """No gap to anything in the node's box is below this [m]."""
    dx = max(node[row, 0] - cx, 0.0, cx - node[row, 3])
    dy = max(node[row, 1] - cy, 0.0, cy - node[row, 4])
    dz = max(node[row, 2] - cz, 0.0, cz - node[row, 5])
    return math.sqrt(dx * dx + dy * dy + dz * dz) - reach


@kernel
def mesh_distance(mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """Signed gap [m] to the nearest feature of one mesh and its triangle; infinite and −1 if no
    front side faces the wheel."""
    thick = is_thick(radius, rho, half, ball)
    if thick:
        limit = _some_distance(mesh, rho, half, cx, cy, cz, ax, ay, az, ground)
        gap, nearest = _nearest_below(
            max(limit - ball, 0.0) + 1e-6, thick, mesh, radius, rho, half, ball, cx, cy, cz,
            ax, ay, az, ground,
        )  # fmt: skip
        # what is there may show its back side
        if nearest >= 0:
            return gap, nearest
    return _nearest_below(
        math.inf, thick, mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground
    )


@inner
def _some_distance(mesh, rho, half, cx, cy, cz, ax, ay, az, ground):
    """Distance [m] of one of the nearest corners to the wheel without its rounding."""
    start, total = ground.mesh[mesh, 1], ground.mesh[mesh, 2]
    base, leaves = ground.mesh[mesh, 3], ground.mesh[mesh, 4]
    node, triangle = ground.node, ground.triangle
    i = 1
    while i < leaves:
        i = 2 * i
        left = _middle_distance(node, base + i, rho, half, cx, cy, cz, ax, ay, az)
        right = _middle_distance(node, base + i + 1, rho, half, cx, cy, cz, ax, ay, az)
        i += 1 if right < left else 0
    leaf = i - leaves
    best = math.inf
    for t in range(start + leaf * total // leaves, start + (leaf + 1) * total // leaves):
        for k in range(0, 9, 3):
            x, y, z = triangle[t, k] - cx, triangle[t, k + 1] - cy, triangle[t, k + 2] - cz
            best = min(best, _outside(x, y, z, rho, half, ax, ay, az))
    return math.sqrt(best)


@inlined
def _middle_distance(node, row, rho, half, cx, cy, cz, ax, ay, az):
    """As `_outside`, of the middle of a box."""
    x = 0.5 * (node[row, 0] + node[row, 3]) - cx
    y = 0.5 * (node[row, 1] + node[row, 4]) - cy
    z = 0.5 * (node[row, 2] + node[row, 5]) - cz
    return _outside(x, y, z, rho, half, ax, ay, az)


@inner
def _nearest_below(best, thick, mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """As `mesh_distance`, of what has a gap below `best`."""
    base = ground.mesh[mesh, 3]
    leaves = ground.mesh[mesh, 4]
    start = ground.mesh[mesh, 1]
    total = ground.mesh[mesh, 2]
    node = ground.node
    reach = math.sqrt(rho * rho + half * half) + ball
    nearest = -1

    # nearer child first; whether a node was first is found again from the two bounds
    i = 1
    while i > 0:
        if _box_bound(node, base + i, cx, cy, cz, reach) < best and not (
            thick and _box_away(node, base + i, best, rho, half, ball, cx, cy, cz, ax, ay, az)
        ):
            if i < leaves:
                left = _box_bound(node, base + 2 * i, cx, cy, cz, reach)
                right = _box_bound(node, base + 2 * i + 1, cx, cy, cz, reach)
                i = 2 * i + (1 if right < left else 0)
                continue
            leaf = i - leaves
            for t in range(start + leaf * total // leaves, start + (leaf + 1) * total // leaves):
                below = best if thick else math.inf
                gap = triangle_gap(
                    mesh, t, below, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground
                )
                if gap < best:
                    best, nearest = gap, t
        # go on to the sibling if this was the nearer child, else up
        while i > 1:
            left = _box_bound(node, base + (i & ~1), cx, cy, cz, reach)
            right = _box_bound(node, base + (i | 1), cx, cy, cz, reach)
            nearer = 1 if right < left else 0
            if (i & 1) == nearer:
                break
            i >>= 1
        i = i ^ 1 if i > 1 else 0
    return (best if nearest >= 0 else math.inf), nearest


@inner
def is_thick(radius, rho, half, ball):
    """Whether a wheel goes on from its surface inwards, along any normal, as far as contacts count:
    then what lies outside of it has no negative gap."""
    if rho > 0.0 and half == 0.0:
        return False
    for i in range(33):
        s = i / 32.0
        k = math.sqrt(1.0 - s * s)
        inside = min(
            2.0 * half / s if s > 0.0 else math.inf, 2.0 * rho / k if k > 0.0 else math.inf
        )
        if 0.9 * (inside + 2.0 * ball) < -_deepest(s, radius, rho, half, ball):
            return False
    return True


@inlined
def _edge_away(edge, i, below, rho, half, ball, cx, cy, cz, ax, ay, az):
    """Whether edge i is outside the wheel by more than `below`: the distance of its middle to the
    wheel less half its length."""
    l = 0.5 * edge[i, 6]
    x = edge[i, 0] + l * edge[i, 3] - cx
    y = edge[i, 1] + l * edge[i, 4] - cy
    z = edge[i, 2] + l * edge[i, 5] - cz
    return _ball_away(x, y, z, l, below, rho, half, ball, ax, ay, az)


@inlined
def _box_away(node, row, below, rho, half, ball, cx, cy, cz, ax, ay, az):
    """As `_edge_away`, for all that is in the node's box."""
    x, u = 0.5 * (node[row, 0] + node[row, 3]) - cx, 0.5 * (node[row, 3] - node[row, 0])
    y, v = 0.5 * (node[row, 1] + node[row, 4]) - cy, 0.5 * (node[row, 4] - node[row, 1])
    z, w = 0.5 * (node[row, 2] + node[row, 5]) - cz, 0.5 * (node[row, 5] - node[row, 2])
    size = math.sqrt(u * u + v * v + w * w)
    return _ball_away(x, y, z, size, below, rho, half, ball, ax, ay, az)


@inlined
def _ball_away(x, y, z, size, below, rho, half, ball, ax, ay, az):
    """Whether a ball of this size about a point, from the wheel's centre, is outside the wheel by
    more than `below`."""
    least = size + ball + max(below, 0.0) + 1e-6
    return _outside(x, y, z, rho, half, ax, ay, az) > least * least


@inlined
def _outside(x, y, z, rho, half, ax, ay, az):
    """Squared distance [m²] of a point, from the wheel's centre, to the wheel without its rounding,
    a solid cylinder."""
    along = x * ax + y * ay + z * az
    beside = math.sqrt(max(x * x + y * y + z * z - along * along, 0.0))
    u, v = max(abs(along) - half, 0.0), max(beside - rho, 0.0)
    return u * u + v * v


@inner
def triangle_gap(mesh, t, below, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """Smallest gap [m] among the face, edges and vertices of one triangle that face the wheel;
    edges with a gap larger than `below` may be left out."""
    triangle = ground.triangle
    index = ground.triangle_index
    best = math.inf
    nx, ny, nz = triangle[t, 9], triangle[t, 10], triangle[t, 11]
    height = (cx - triangle[t, 0]) * nx + (cy - triangle[t, 1]) * ny + (cz - triangle[t, 2]) * nz
    s, k, ux, uy, uz = support_parts(nx, ny, nz, ax, ay, az)
    gap = height - rho * k - half * abs(s) - ball
    if gap >= _deepest(s, radius, rho, half, ball):
        along = -half if s > 0.0 else half
        px = cx - rho * ux + along * ax
        py = cy - rho * uy + along * ay
        pz = cz - rho * uz + along * az
        if _over_triangle(triangle, t, BORDER * radius, nx, ny, nz, px - ball * nx,
                          py - ball * ny, pz - ball * nz):  # fmt: skip
            best = gap
    for j in range(1, 4):
        i = index[t, j]
        if i >= 0 and not (ground.mesh_normal[mesh, 3] > 0.0 and abs(ground.edge[i, 5]) > 1e-6):
            if _edge_away(ground.edge, i, below, rho, half, ball, cx, cy, cz, ax, ay, az):
                continue
            gap = _edge_gap(i, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground)
            best = min(best, gap)
    for j in range(4, 7):
        if index[t, j] >= 0:
            found, gap, nx, ny, nz = vertex_gap(
                index[t, j], rho, half, ball, cx, cy, cz, ax, ay, az, ground
            )
            s = nx * ax + ny * ay + nz * az
            if found and gap >= _deepest(s, radius, rho, half, ball):
                best = min(best, gap)
    return best


@inlined
def _edge_gap(i, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """Gap [m] to edge i, infinite if it is no contact, too deep or beyond the edge's ends."""
    edge = ground.edge
    what, theta, middle, place, share = solve_edge(
        edge, i, False, rho, half, ball, cx, cy, cz, ax, ay, az
    )
    if what == NOTHING:
        return math.inf
    along = ax * edge[i, 3] + ay * edge[i, 4] + az * edge[i, 5]
    a = ax * edge[i, 7] + ay * edge[i, 8] + az * edge[i, 9]
    b = ax * edge[i, 10] + ay * edge[i, 11] + az * edge[i, 12]
    s = a * math.cos(theta) + b * math.sin(theta)
    border = BORDER * radius
    deepest = _deepest(s, radius, rho, half, ball)
    if half > 0.0 and abs(along) > ALONG_AXIS:
        # the smaller gap at the ends of the part of the edge under the tread
        low = place - half * abs(along)
        high = place + half * abs(along)
        if low > edge[i, 6] + border or high < -border:
            return math.inf
        low = min(max(low, 0.0), edge[i, 6])
        high = min(max(high, 0.0), edge[i, 6])
        gap = middle + min((low - place) / along * s, (high - place) / along * s)
        return gap if gap >= deepest else math.inf
    at = place + share * half * along
    if at < -border or at > edge[i, 6] + border:
        return math.inf
    gap = middle + share * half * s
    return gap if gap >= deepest else math.inf
