"""Signed distance of a point to the other body of a contact, and its direction.

The distance d [m] is negative inside; the direction n is that in which it grows, so that a point
inside is pushed out along n by −d. Points are given in the frame of the shape.

Bodies of revolution (about z). The point is mapped into the radial-axial plane,
(x, y, z) → (ρ, z), ρ = √(x² + y²), where the body is its own longitudinal section: a line through
the points (z_i, r_i), z_i increasing. It is inside where ρ < r(z) (or ρ > r(z), if the body lies
outside the profile, as a nozzle does around its throat), which is the radial comparison of Krenn
and Hirzinger 2008, Fig. 5; how deep, and in which direction, the nearest point of the profile says.
Bodies inside their profile are closed by discs at both ends; bodies outside it end there.

Meshes. The nearest triangle is found in a hierarchy of boxes, nearer boxes first; the side follows
from the normal of what is nearest there: of the face, of the edge (sum of both faces) or of the
corner (faces weighted by their angle), which is right for any closed mesh, convex or not
(J. A. Bærentzen, H. Aanæs, Signed distance computation using the angle weighted pseudonormal,
IEEE TVCG 2005). Meshes are searched up to a limit: what is further away counts as outside.
"""

from __future__ import annotations

import math

from marsyard.jit import FUSED, inlined, inner, kernel

PLANE, SPHERE, BOX, REVOLUTION, MESH = range(5)
#: place in Shapes.stack of the triangle that was nearest last time: a good guess for the next point
HINT = 127
#: likewise of the segment of a profile
SEGMENT = 126
#: nearer than this the direction is that of the surface, not of the point [m]
_ON = 1e-12


@inlined
def box_distance(a, b, c, x, y, z):
    """A box with the half sizes a, b, c about the origin."""
    px, py, pz = abs(x) - a, abs(y) - b, abs(z) - c
    if px <= 0.0 and py <= 0.0 and pz <= 0.0:
        if px >= py and px >= pz:
            return px, math.copysign(1.0, x), 0.0, 0.0
        if py >= pz:
            return py, 0.0, math.copysign(1.0, y), 0.0
        return pz, 0.0, 0.0, math.copysign(1.0, z)
    px, py, pz = max(px, 0.0), max(py, 0.0), max(pz, 0.0)
    d = math.sqrt(px * px + py * py + pz * pz)
    if d == 0.0:
        return 0.0, 0.0, 0.0, 1.0
    return d, math.copysign(px, x) / d, math.copysign(py, y) / d, math.copysign(pz, z) / d


@inlined(fastmath=FUSED)
def _to_segment(z, r, az, ar, bz, br):
    """Nearest point of a segment, and its squared distance."""
    ez, er = bz - az, br - ar
    t = ((z - az) * ez + (r - ar) * er) / (ez * ez + er * er)
    t = min(max(t, 0.0), 1.0)
    pz, pr = az + t * ez, ar + t * er
    return pz, pr, (z - pz) * (z - pz) + (r - pr) * (r - pr)


@inlined
def find_segment(point, first, count, guess, z):
    """The segment of a profile over which z stands, or the one at that end."""
    last = first + count - 1
    if first <= guess < last and point[guess, 0] <= z < point[guess + 1, 0]:
        return guess
    low, high = first, last
    while high - low > 1:
        middle = (low + high) // 2
        if point[middle, 0] <= z:
            low = middle
        else:
            high = middle
    return low


@kernel
def nearest_in_section(point, first, count, guess, z, rho):
    """Nearest point of a profile, without discs at its ends: squared distance, z, r, the segment it
    lies on, and the segment over which (z, ρ) stands; guess: which one that may be."""
    last = first + count - 1
    low = find_segment(point, first, count, guess, z)
    best = math.inf
    bz = br = 0.0
    at = low
    # outwards from there, as long as a segment can be nearer
    i = low
    while i >= first:
        gap = z - point[i + 1, 0]
        if gap > 0.0 and gap * gap >= best:
            break
        pz, pr, d2 = _to_segment(z, rho, point[i, 0], point[i, 1], point[i + 1, 0], point[i + 1, 1])
        if d2 < best:
            best, bz, br, at = d2, pz, pr, i
        i -= 1
    i = low + 1
    while i < last:
        gap = point[i, 0] - z
        if gap > 0.0 and gap * gap >= best:
            break
        pz, pr, d2 = _to_segment(z, rho, point[i, 0], point[i, 1], point[i + 1, 0], point[i + 1, 1])
        if d2 < best:
            best, bz, br, at = d2, pz, pr, i
        i += 1
    return best, bz, br, at, low


@kernel
def section_distance(point, first, count, side, z, rho):
    """Distance to a profile in the radial-axial plane: d, and its direction (along z, radial).

    point: (z, r) of all profiles; side: 1 if the body is inside the profile, −1 outside."""
    d, nz, nr, _, _, _, _ = distance_and_place(point, first, count, side, -1, z, rho)
    return d, nz, nr


@inlined(fastmath=FUSED)
def distance_and_place(point, first, count, side, guess, z, rho):
    """As `section_distance`; and the nearest point of the profile (z, r), the segment it lies on,
    and the segment over which (z, ρ) stands."""
    last = first + count - 1
    within = point[first, 0] < z < point[last, 0]
    best, bz, br, at, low = nearest_in_section(point, first, count, guess, z, rho)
    pz, pr, end_disc = bz, br, 0.0
    if side > 0.0:
        # discs at the ends
        for end in range(2):
            k = first if end == 0 else last
            cz, cr = point[k, 0], min(rho, point[k, 1])
            d2 = (z - cz) * (z - cz) + (rho - cr) * (rho - cr)
            if d2 < best:
                best, bz, br = d2, cz, cr
                end_disc = -1.0 if end == 0 else 1.0
    inside = False
    if within:
        # r(z) − ρ, times the length of the segment along z
        ez, er = point[low + 1, 0] - point[low, 0], point[low + 1, 1] - point[low, 1]
        inside = side * ((point[low, 1] - rho) * ez + (z - point[low, 0]) * er) > 0.0
    d = math.sqrt(best)
    if d > _ON:
        nz, nr = (z - bz) / d, (rho - br) / d
        if inside:
            nz, nr = -nz, -nr
    elif end_disc != 0.0:
        nz, nr = end_disc, 0.0
    else:
        # outward normal of that segment: (−dr, dz) for a body inside
        ez, er = point[at + 1, 0] - point[at, 0], point[at + 1, 1] - point[at, 1]
        length = math.sqrt(ez * ez + er * er)
        nz, nr = -side * er / length, side * ez / length
    return (-d if inside else d), nz, nr, pz, pr, at, low


@inlined
def section_roundness(shapes, r, side, bz, br, at, reach):
    """The smallest radius [m] with which a body of revolution bulges within `reach` [m] of the
    point (bz, br) of its profile, on the segment `at`: of its section, and of its circles if it is
    inside."""
    first, count = shapes.profile[r, 0], shapes.profile[r, 1]
    last = first + count - 1
    least = max(br, 1e-9) if side > 0.0 else math.inf
    i = at
    while i >= first and bz - shapes.point[i, 0] <= reach:
        least = min(least, shapes.bulge[i])
        i -= 1
    i = at + 1
    while i <= last and shapes.point[i, 0] - bz <= reach:
        least = min(least, shapes.bulge[i])
        i += 1
    return least


@inlined
def section_motion(shapes, r, x, y, z):
    """How the surface of a changing profile moves at the point nearest to (x, y, z), per unit of
    its coordinate, in the frame of the shape."""
    first, count = shapes.profile[r, 0], shapes.profile[r, 1]
    rho = math.sqrt(x * x + y * y)
    _, bz, br, at, _ = nearest_in_section(shapes.point, first, count, -1, z, rho)
    a, b = shapes.point[at], shapes.point[at + 1]
    ez, er = b[0] - a[0], b[1] - a[1]
    share = ((bz - a[0]) * ez + (br - a[1]) * er) / (ez * ez + er * er)
    uz = shapes.rate[at, 0] + share * (shapes.rate[at + 1, 0] - shapes.rate[at, 0])
    ur = shapes.rate[at, 1] + share * (shapes.rate[at + 1, 1] - shapes.rate[at, 1])
    if rho > 0.0:
        return ur * x / rho, ur * y / rho, uz
    return ur, 0.0, uz


@inner(fastmath=FUSED)
def revolution_distance(shapes, r, side, x, y, z):
    """A body of revolution about z; with the nearest point of its profile and its segment."""
    rho = math.sqrt(x * x + y * y)
    first, count = shapes.profile[r, 0], shapes.profile[r, 1]
    d, nz, nr, bz, br, at, low = distance_and_place(
        shapes.point, first, count, side, shapes.stack[SEGMENT], z, rho
    )
    shapes.stack[SEGMENT] = low
    if rho > 0.0:
        f = nr / rho
        return d, f * x, f * y, nz, bz, br, at
    # on the axis every radial direction is as good: one that is there
    return d, nr, 0.0, nz, bz, br, at


@inlined
def _box_gap(node, row, x, y, z):
    """Squared distance of a point to a box of the hierarchy."""
    dx = max(node[row, 0] - x, x - node[row, 3], 0.0)
    dy = max(node[row, 1] - y, y - node[row, 4], 0.0)
    dz = max(node[row, 2] - z, z - node[row, 5], 0.0)
    return dx * dx + dy * dy + dz * dz


@inlined
def nearest_on_triangle(t, x, y, z):
    """Nearest point of a triangle (nine coordinates), and on what it lies: 0 to 2 a corner, 3 to 5
    the side after that corner, 6 the face."""
    abx, aby, abz = t[3] - t[0], t[4] - t[1], t[5] - t[2]
    acx, acy, acz = t[6] - t[0], t[7] - t[1], t[8] - t[2]
    px, py, pz = x - t[0], y - t[1], z - t[2]
    d1 = abx * px + aby * py + abz * pz
    d2 = acx * px + acy * py + acz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return t[0], t[1], t[2], 0
    px, py, pz = x - t[3], y - t[4], z - t[5]
    d3 = abx * px + aby * py + abz * pz
    d4 = acx * px + acy * py + acz * pz
    if d3 >= 0.0 and d4 <= d3:
        return t[3], t[4], t[5], 1
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        f = d1 / (d1 - d3)
        return t[0] + f * abx, t[1] + f * aby, t[2] + f * abz, 3
    px, py, pz = x - t[6], y - t[7], z - t[8]
    d5 = abx * px + aby * py + abz * pz
    d6 = acx * px + acy * py + acz * pz
    if d6 >= 0.0 and d5 <= d6:
        return t[6], t[7], t[8], 2
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        f = d2 / (d2 - d6)
        return t[0] + f * acx, t[1] + f * acy, t[2] + f * acz, 5
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        f = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return t[3] + f * (t[6] - t[3]), t[4] + f * (t[7] - t[4]), t[5] + f * (t[8] - t[5]), 4
    f = 1.0 / (va + vb + vc)
    v, w = vb * f, vc * f
    return (
        t[0] + abx * v + acx * w, t[1] + aby * v + acy * w, t[2] + abz * v + acz * w, 6,
    )  # fmt: skip


@kernel
def mesh_distance(shapes, mesh, limit, x, y, z):
    """A closed mesh, searched up to `limit` [m] around the point; beyond it `limit` is returned."""
    start, count = shapes.mesh[mesh, 0], shapes.mesh[mesh, 1]
    base, leaves = shapes.mesh[mesh, 2], shapes.mesh[mesh, 3]
    normals = shapes.mesh[mesh, 4]
    node, triangle, stack = shapes.node, shapes.triangle, shapes.stack
    best = limit * limit
    found, feature = -1, 0
    qx = qy = qz = 0.0
    guess = stack[HINT]
    if start <= guess < start + count:
        px, py, pz, what = nearest_on_triangle(triangle[guess], x, y, z)
        d2 = (x - px) * (x - px) + (y - py) * (y - py) + (z - pz) * (z - pz)
        if d2 < best:
            best, found, feature = d2, guess, what
            qx, qy, qz = px, py, pz
    top = 0
    # of triangles equally near the first one counts: the guess must not matter for the last digit
    if _box_gap(node, base + 1, x, y, z) <= best:
        stack[0] = 1
        top = 1
    while top > 0:
        top -= 1
        i = stack[top]
        if _box_gap(node, base + i, x, y, z) > best:
            continue
        if i < leaves:
            near, far = 2 * i, 2 * i + 1
            a, b = _box_gap(node, base + near, x, y, z), _box_gap(node, base + far, x, y, z)
            if b < a:
                near, far, a, b = far, near, b, a
            if b <= best:
                stack[top] = far
                top += 1
            if a <= best:
                stack[top] = near
                top += 1
            continue
        leaf = i - leaves
        for k in range(start + leaf * count // leaves, start + (leaf + 1) * count // leaves):
            px, py, pz, what = nearest_on_triangle(triangle[k], x, y, z)
            d2 = (x - px) * (x - px) + (y - py) * (y - py) + (z - pz) * (z - pz)
            if d2 < best or (d2 == best and k < found):
                best, found, feature = d2, k, what
                qx, qy, qz = px, py, pz
    if found < 0:
        return limit, 0.0, 0.0, 1.0
    stack[HINT] = found
    if feature == 6:
        nx, ny, nz = triangle[found, 9], triangle[found, 10], triangle[found, 11]
    else:
        row = shapes.pseudo[normals + found - start]
        o = 3 * feature
        nx, ny, nz = row[o], row[o + 1], row[o + 2]
    dx, dy, dz = x - qx, y - qy, z - qz
    d = math.sqrt(best)
    inside = nx * dx + ny * dy + nz * dz < 0.0
    if d > _ON and feature != 6:
        # towards the nearest point; on a face its normal is the same and has no rounding
        f = -1.0 / d if inside else 1.0 / d
        nx, ny, nz = f * dx, f * dy, f * dz
    return (-d if inside else d), nx, ny, nz


@inner
def distance(shapes, pairs, p, limit, x, y, z):
    """Distance [m] of a point to the other body of pair p, and its direction, in its frame."""
    kind = pairs.kind[p]
    size = pairs.size[p]
    if kind == REVOLUTION:
        d, nx, ny, nz, _, _, _ = revolution_distance(shapes, pairs.number[p], size[0], x, y, z)
        return d, nx, ny, nz
    if kind == MESH:
        return mesh_distance(shapes, pairs.number[p], limit, x, y, z)
    if kind == PLANE:
        return z, 0.0, 0.0, 1.0
    if kind == SPHERE:
        d = math.sqrt(x * x + y * y + z * z)
        if d == 0.0:
            return -size[0], 0.0, 0.0, 1.0
        return d - size[0], x / d, y / d, z / d
    return box_distance(size[0], size[1], size[2], x, y, z)
