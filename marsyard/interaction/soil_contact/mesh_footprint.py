"""The footprint of a mesh: grid nodes under a body that is no wheel, looked at from below.

Each triangle that faces down is laid over the nodes it covers, and all nodes get the same weight,
so that together they stand for the area of the lower side as seen from above.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import BASE, DEPTH, REF, SIDE, find_tile, highest_soil, tile_key
from marsyard.interaction.soil_contact.arrays import LANES, NX, NY, NZ, PX, PY, PZ, SUNK, WEIGHT, Z
from marsyard.interaction.soil_contact.footprint import STEEPEST, fill_lanes, new_block
from marsyard.interaction.soil_kernels import NEEDS_TILES, TOO_MANY_NODES
from marsyard.jit import inlined, kernel


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
def mesh_footprint(grid, patch, b, triangle, first, last, reach, c, R):
    """Nodes whose surface lies above the lower side of a mesh. Returns their number or −status.

    The lower side is drawn into a window of nodes around the body, which `clearance` reads too.
    """
    ds = grid.spacing[0]
    i0 = int(math.ceil((c[0] - reach) / ds)) - 1
    i1 = int(math.floor((c[0] + reach) / ds)) + 1
    j0 = int(math.ceil((c[1] - reach) / ds)) - 1
    j1 = int(math.floor((c[1] + reach) / ds)) + 1
    patch.blocks[0] = 0
    box = patch.window_box[b]
    box[0], box[1], box[2], box[3] = i0, j0, 0, 0
    top = highest_soil(grid, i0 // SIDE, i1 // SIDE, j0 // SIDE, j1 // SIDE)
    if top == math.inf:
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
    ni = i1 - i0 + 1
    nj = j1 - j0 + 1
    window = patch.window[b]
    face = patch.window_face[b]
    if ni * nj > window.shape[0]:
        return -TOO_MANY_NODES
    box[2], box[3] = ni, nj
    for k in range(ni * nj):
        window[k] = math.inf
    covered, area = draw_lower_side(
        window, face, triangle, first, last, c, R, ds, i0, j0, nj
    )  # fmt: skip
    # the nodes in order, and with them the true area of the lower side
    weight = area / (covered * ds * ds) if covered > 0 else 0.0
    n = -1
    lanes = LANES
    soil = -1
    found = 0
    for ti in range(i0 // SIDE, i1 // SIDE + 1):
        for tj in range(j0 // SIDE, j1 // SIDE + 1):
            slot = find_tile(grid, ti, tj)
            rank = tile_key(ti, tj) * (SIDE * SIDE) - slot * (SIDE * SIDE)
            for i in range(max(i0, ti * SIDE), min(i1, ti * SIDE + SIDE - 1) + 1):
                for j in range(max(j0, tj * SIDE), min(j1, tj * SIDE + SIDE - 1) + 1):
                    t = window[(i - i0) * nj + j - j0]
                    if t == math.inf:
                        continue
                    node = (slot * SIDE + i - ti * SIDE) * SIDE + j - tj * SIDE
                    z = grid.node[node, BASE] + grid.node[node, REF] - c[2] - t
                    if z <= grid.node[node, DEPTH]:
                        continue
                    if lanes == LANES or grid.soil[node] != soil:
                        soil = grid.soil[node]
                        if not new_block(patch, n, lanes, soil):
                            return -TOO_MANY_NODES
                        n += 1
                        lanes = 0
                    nx, ny, nz = face_normal(triangle[face[(i - i0) * nj + j - j0]], R)
                    w = patch.block[n]
                    patch.block_key[n, lanes] = rank + node
                    patch.block_node[n, lanes] = node
                    w[Z + lanes] = z
                    w[SUNK + lanes] = grid.node[node, DEPTH]
                    w[WEIGHT + lanes] = weight
                    w[NX + lanes] = -nx
                    w[NY + lanes] = -ny
                    w[NZ + lanes] = -nz
                    w[PX + lanes] = i * ds - c[0]
                    w[PY + lanes] = j * ds - c[1]
                    w[PZ + lanes] = t
                    lanes += 1
                    found += 1
    if n >= 0:
        patch.block_count[n] = lanes
    for k in range(n + 1):
        fill_lanes(patch.block[k], patch.block_count[k])
    patch.blocks[0] = n + 1
    return found


@inlined
def turned(R, x, y, z):
    """A vector of the body's frame in the world."""
    return (
        R[0] * x + R[1] * y + R[2] * z,
        R[3] * x + R[4] * y + R[5] * z,
        R[6] * x + R[7] * y + R[8] * z,
    )


@kernel
def face_normal(q, R):
    """Unit outward normal of a triangle, in the world."""
    ax, ay, az = q[3] - q[0], q[4] - q[1], q[5] - q[2]
    bx, by, bz = q[6] - q[0], q[7] - q[1], q[8] - q[2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    size = 1.0 / size if size > 0.0 else 0.0
    return turned(R, size * nx, size * ny, size * nz)


@kernel
def draw_lower_side(window, face, triangle, first, last, c, R, ds, i0, j0, nj):
    """Height of the lower side over the centre at each node of the window, and its triangle.

    Returns how many nodes it covers and the area of its shadow.
    """
    covered = 0
    area = 0.0
    for k in range(first, last):
        q = triangle[k]
        nx, ny, nz = face_normal(q, R)
        # faces that look down
        if -nz < STEEPEST:
            continue
        x0, y0, z0 = turned(R, q[0], q[1], q[2])
        x1, y1, z1 = turned(R, q[3], q[4], q[5])
        x2, y2, z2 = turned(R, q[6], q[7], q[8])
        area -= 0.5 * ((x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0))
        slope_x = -nx / nz
        slope_y = -ny / nz
        for i in range(
            int(math.ceil((c[0] + min(x0, x1, x2)) / ds)),
            int(math.floor((c[0] + max(x0, x1, x2)) / ds)) + 1,
        ):
            px = i * ds - c[0]
            for j in range(
                int(math.ceil((c[1] + min(y0, y1, y2)) / ds)),
                int(math.floor((c[1] + max(y0, y1, y2)) / ds)) + 1,
            ):
                py = j * ds - c[1]
                # seen from above the triangle runs clockwise; a node on a shared edge counts once
                if (
                    _outside(x0, y0, x1, y1, px, py)
                    or _outside(x1, y1, x2, y2, px, py)
                    or _outside(x2, y2, x0, y0, px, py)
                ):
                    continue
                covered += 1
                at = (i - i0) * nj + j - j0
                t = z0 + slope_x * (px - x0) + slope_y * (py - y0)
                if t < window[at]:
                    window[at] = t
                    face[at] = k
    return covered, area
