"""Compiled topology of triangle meshes: welding, neighbours, orientation."""

from __future__ import annotations

import numpy as np

from marsyard.jit import allocating

# a triangle counts as having no area when twice its area is below this times its longest side²
SLIVER = 1e-12

# an open mesh whose area vector points up or down by this part of its area is ground
UPWARD = 0.1

# entries of the neighbour table for sides with no, or more than one, neighbour
OPEN, CROWDED = -1, -2


@allocating
def weld(points, tolerance):
    """Merge points closer than `tolerance` [m]; returns the kept points and each point's number.

    Points are hashed into cubic cells of 16 tolerances; a point near a cell's border also looks
    into the cells beyond it.
    """
    count = points.shape[0]
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.full(size, -1, np.int64)
    kept = np.empty_like(points)
    number = np.empty(count, np.int64)
    low = np.array([points[:, 0].min(), points[:, 1].min(), points[:, 2].min()])
    cell = max(16.0 * tolerance, 1e-290)
    total = 0
    home = np.empty(3, np.int64)
    shift = np.empty(3, np.int64)
    for i in range(count):
        for axis in range(3):
            place = (points[i, axis] - low[axis]) / cell
            home[axis] = np.int64(place)
            part = place - home[axis]
            shift[axis] = -1 if part < 1 / 16 else (1 if part > 15 / 16 else 0)
        found = -1
        slot = np.int64(0)
        for corner in range(8):
            skip = False
            key = np.int64(0)
            for axis in range(3):
                step = shift[axis] if corner >> axis & 1 else 0
                if corner >> axis & 1 and step == 0:
                    skip = True
                key = (key + home[axis] + step) * np.int64(6364136223846793005)
                key ^= key >> 29
            if skip:
                continue
            at = key & (size - 1)
            while table[at] >= 0 and found < 0:
                j = table[at]
                if (
                    abs(points[i, 0] - kept[j, 0]) <= tolerance
                    and abs(points[i, 1] - kept[j, 1]) <= tolerance
                    and abs(points[i, 2] - kept[j, 2]) <= tolerance
                ):
                    found = j
                at = (at + 1) & (size - 1)
            if corner == 0:
                slot = at
            if found >= 0:
                break
        if found < 0:
            table[slot] = total
            kept[total] = points[i]
            found = total
            total += 1
        number[i] = found
    return kept[:total].copy(), number


@allocating
def degenerate(points, triangles):
    """Numbers of the triangles without area."""
    bad = np.zeros(triangles.shape[0], np.bool_)
    for i in range(triangles.shape[0]):
        a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
        ux, uy, uz = (points[b, 0] - points[a, 0], points[b, 1] - points[a, 1],
                      points[b, 2] - points[a, 2])  # fmt: skip
        vx, vy, vz = (points[c, 0] - points[a, 0], points[c, 1] - points[a, 1],
                      points[c, 2] - points[a, 2])  # fmt: skip
        wx, wy, wz = vx - ux, vy - uy, vz - uz
        x = uy * vz - uz * vy
        y = uz * vx - ux * vz
        z = ux * vy - uy * vx
        longest = max(
            ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz
        )
        bad[i] = not (np.sqrt(x * x + y * y + z * z) > SLIVER * longest)
    return np.flatnonzero(bad)


def neighbours(triangles: np.ndarray, points: int) -> np.ndarray:
    """For each side 3 i + j (corner j to j + 1 of triangle i) the side it shares, or OPEN/CROWDED.

    Returns int64, shape (3 m,).
    """
    start = triangles.reshape(-1)
    end = np.roll(triangles, -1, axis=1).reshape(-1)
    keys = np.minimum(start, end) * np.int64(points) + np.maximum(start, end)
    return _pair(keys, np.argsort(keys))


@allocating
def _pair(keys, order):
    twin = np.empty(keys.shape[0], np.int64)
    i = 0
    while i < order.shape[0]:
        j = i + 1
        while j < order.shape[0] and keys[order[j]] == keys[order[i]]:
            j += 1
        if j - i == 2:
            twin[order[i]] = order[i + 1]
            twin[order[i + 1]] = order[i]
        else:
            for k in range(i, j):
                twin[order[k]] = OPEN if j - i == 1 else CROWDED
        i = j
    return twin


def orient(points: np.ndarray, triangles: np.ndarray) -> int:
    """Turn triangles in place so that neighbours agree; closed parts face out, ground faces up.

    Open parts that stand upright keep the winding most of their area has. Returns how many
    triangles were turned.
    """
    return int(_orient(points, triangles, neighbours(triangles, len(points))))


@allocating
def _orient(points, triangles, twin):
    count = triangles.shape[0]
    sign = np.zeros(count, np.int8)
    queue = np.empty(count, np.int64)
    turned = 0
    for seed in range(count):
        if sign[seed] != 0:
            continue

        # walk over one connected part, turning each triangle to agree with the one before
        head, tail = 0, 1
        queue[0] = seed
        sign[seed] = 1
        closed = True
        volume = up = kept = area = 0.0
        origin = points[triangles[seed, 0]]
        while head < tail:
            i = queue[head]
            head += 1
            a = points[triangles[i, 0]] - origin
            b = points[triangles[i, 1]] - origin
            c = points[triangles[i, 2]] - origin
            u = b - a
            v = c - a
            x = u[1] * v[2] - u[2] * v[1]
            y = u[2] * v[0] - u[0] * v[2]
            z = u[0] * v[1] - u[1] * v[0]
            size = np.sqrt(x * x + y * y + z * z)
            volume += sign[i] * (a[0] * x + a[1] * y + a[2] * z)
            up += sign[i] * z
            kept += sign[i] * size
            area += size
            for j in range(3):
                other = twin[3 * i + j]
                if other < 0:
                    closed = False
                    continue
                k = other // 3
                if sign[k] == 0:
                    same = triangles[i, j] == triangles[k, other % 3]
                    sign[k] = -sign[i] if same else sign[i]
                    queue[tail] = k
                    tail += 1

        # the whole part outwards, or upwards, or as most of it was
        if closed:
            whole = volume
        elif abs(up) > UPWARD * area:
            whole = up
        else:
            whole = kept
        for n in range(tail):
            i = queue[n]
            if (sign[i] > 0) != (whole >= 0.0):
                triangles[i, 1], triangles[i, 2] = triangles[i, 2], triangles[i, 1]
                turned += 1
    return turned
