"""The tables of one mesh that the contact kernels read; `GroundArrays` describes their columns.

Only edges and vertices that a wheel can touch are listed: an edge is listed if it is convex (the
normals of its two faces span an arc of directions) or open; a vertex if at least three such edges
meet in it, or if it lies on a border. Each is owned by one of its triangles, which alone tests it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.ground.bvh import build_nodes, leaf_count, tree_order
from marsyard.ground.mesh_topology import neighbours
from marsyard.jit import allocating

# two faces count as one flat region when their normals differ by less than this angle [rad]
FLAT_ANGLE = 1e-8


class MeshTables(NamedTuple):
    """Columns as in `marsyard.ground.geometry.GroundArrays`, numbers counted within the mesh."""

    node: np.ndarray
    triangle: np.ndarray
    triangle_index: np.ndarray
    edge: np.ndarray
    edge_group: np.ndarray
    vertex: np.ndarray
    ring: np.ndarray
    ray: np.ndarray


def build_tables(points: np.ndarray, triangles: np.ndarray, two_sided: bool) -> MeshTables:
    """Tables of a welded, oriented mesh. A two-sided mesh gets a reversed copy of itself."""
    if two_sided:
        back = triangles[:, ::-1] + len(points)
        points, triangles = np.concatenate([points, points]), np.concatenate([triangles, back])
    leaves = leaf_count(len(triangles))
    triangles = np.ascontiguousarray(triangles[tree_order(points, triangles, leaves)])
    node = build_nodes(points, triangles, leaves)
    faces = _faces(points, triangles)
    twin = neighbours(triangles, len(points))
    region = _flat_regions(faces, twin)
    edges, sides = _edges(faces, twin)
    index, vertex, ring, ray = _vertices(points, triangles, faces, twin, sides)
    index[:, 0] = region
    group = _groups(region, twin, sides)
    return MeshTables(node, faces, index, edges, group, vertex, ring, ray)


@allocating
def _faces(points, triangles):
    """Corners and unit normal of each triangle, shape (m, 12)."""
    out = np.empty((triangles.shape[0], 12))
    for i in range(triangles.shape[0]):
        row = out[i]
        for j in range(3):
            for axis in range(3):
                row[3 * j + axis] = points[triangles[i, j], axis]
        # the cross product of the two shorter sides loses the fewest digits
        best = 0
        longest = -1.0
        for j in range(3):
            k = (j + 1) % 3
            length = 0.0
            for axis in range(3):
                length += (row[3 * k + axis] - row[3 * j + axis]) ** 2
            if length > longest:
                best, longest = j, length
        o, p, q = 3 * ((best + 2) % 3), 3 * best, 3 * ((best + 1) % 3)
        ux, uy, uz = row[p] - row[o], row[p + 1] - row[o + 1], row[p + 2] - row[o + 2]
        vx, vy, vz = row[q] - row[o], row[q + 1] - row[o + 1], row[q + 2] - row[o + 2]
        x = uy * vz - uz * vy
        y = uz * vx - ux * vz
        z = ux * vy - uy * vx
        length = math.sqrt(x * x + y * y + z * z)
        row[9], row[10], row[11] = x / length, y / length, z / length
    return out


@allocating
def _flat_regions(faces, twin):
    """A number for each triangle, shared by neighbours in one plane."""
    count = faces.shape[0]
    parent = np.arange(count)
    for side in range(twin.shape[0]):
        other = twin[side]
        if other < side:
            continue
        i, k = side // 3, other // 3
        dot = cross = 0.0
        for axis in range(3):
            dot += faces[i, 9 + axis] * faces[k, 9 + axis]
            cross += (faces[i, 9 + axis] - faces[k, 9 + axis]) ** 2
        if dot > 0.0 and cross < FLAT_ANGLE * FLAT_ANGLE:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            while parent[k] != k:
                parent[k] = parent[parent[k]]
                k = parent[k]
            parent[max(i, k)] = min(i, k)
    # a root comes before its members, so its number is known when they are reached
    region = np.empty(count, np.int64)
    total = 0
    for i in range(count):
        if parent[i] == i:
            region[i] = total
            total += 1
        else:
            region[i] = region[parent[i]]
    return region


@allocating
def _edges(faces, twin):
    """Edges that can touch, and for each side its edge's number (or -1), negative - 2 if the
    other triangle owns it."""
    sides = np.full(twin.shape[0], -1, np.int64)
    out = np.empty((twin.shape[0], 16))
    total = 0
    for side in range(twin.shape[0]):
        other = twin[side]
        if 0 <= other < side:
            continue
        i, j = side // 3, side % 3
        k = (j + 1) % 3
        row = out[total]

        # start, direction and length of the edge, first normal
        length = 0.0
        for axis in range(3):
            row[axis] = faces[i, 3 * j + axis]
            row[3 + axis] = faces[i, 3 * k + axis] - faces[i, 3 * j + axis]
            length += row[3 + axis] ** 2
            row[7 + axis] = faces[i, 9 + axis]
        length = math.sqrt(length)
        row[3] /= length
        row[4] /= length
        row[5] /= length
        row[6] = length

        # from the first normal the arc turns away from the first face, along e × n
        row[10] = row[4] * row[9] - row[5] * row[8]
        row[11] = row[5] * row[7] - row[3] * row[9]
        row[12] = row[3] * row[8] - row[4] * row[7]
        if other < 0:
            angle = math.pi / 2
        else:
            s = c = 0.0
            for axis in range(3):
                s += faces[other // 3, 9 + axis] * row[10 + axis]
                c += faces[other // 3, 9 + axis] * row[7 + axis]
            angle = math.atan2(s, c)
            # a sheet folded back on itself is a knife's edge
            if angle < -math.pi + 1e-6:
                angle = math.pi
        if angle <= FLAT_ANGLE:
            continue
        row[13], row[14], row[15] = angle, math.cos(angle), math.sin(angle)
        sides[side] = total
        if other >= 0:
            sides[other] = -2 - total
        total += 1
    return out[:total].copy(), sides


@allocating
def _vertices(points, triangles, faces, twin, sides):
    """Numbers of edges and vertices owned by each triangle; vertices that can touch, their rays."""
    count, total = triangles.shape[0], points.shape[0]
    touching = np.zeros(total, np.int64)
    degree = np.zeros(total, np.int64)
    mean = np.zeros((total, 3))
    for side in range(twin.shape[0]):
        i, j = side // 3, side % 3
        k, l = (j + 1) % 3, (j + 2) % 3
        a, b = triangles[i, j], triangles[i, k]

        # each edge counts once at both of its ends; a border makes its ends count
        if not 0 <= twin[side] < side:
            degree[a] += 1
            degree[b] += 1
            weight = 3 if twin[side] < 0 else (1 if sides[side] >= 0 else 0)
            touching[a] += weight
            touching[b] += weight

        # outward normal weighted with the angle at the corner
        dot = first = second = 0.0
        for axis in range(3):
            u = faces[i, 3 * k + axis] - faces[i, 3 * j + axis]
            v = faces[i, 3 * l + axis] - faces[i, 3 * j + axis]
            dot += u * v
            first += u * u
            second += v * v
        angle = math.acos(max(-1.0, min(1.0, dot / math.sqrt(first * second))))
        for axis in range(3):
            mean[a, axis] += angle * faces[i, 9 + axis]

    # number the vertices that can touch, each owned by the first triangle that has it
    number = np.full(total, -1, np.int64)
    listed = rays = 0
    for v in range(total):
        if touching[v] >= 3:
            number[v] = listed
            listed += 1
            rays += degree[v]
    vertex = np.empty((listed, 6))
    ring = np.zeros(listed + 1, np.int64)
    for v in range(total):
        n = number[v]
        if n >= 0:
            ring[n + 1] = ring[n] + degree[v]
            length = math.sqrt(mean[v, 0] ** 2 + mean[v, 1] ** 2 + mean[v, 2] ** 2)
            for axis in range(3):
                vertex[n, axis] = points[v, axis]
                vertex[n, 3 + axis] = mean[v, axis] / max(length, 1e-300)
    index = np.full((count, 7), -1, np.int64)
    owned = np.zeros(total, np.bool_)
    for i in range(count):
        for j in range(3):
            index[i, 1 + j] = max(sides[3 * i + j], -1)
            v = triangles[i, j]
            if number[v] >= 0 and not owned[v]:
                owned[v] = True
                index[i, 4 + j] = number[v]

    # the rays that leave each listed vertex
    ray = np.empty((rays, 3))
    filled = ring[:-1].copy()
    for side in range(twin.shape[0]):
        if 0 <= twin[side] < side:
            continue
        i, j = side // 3, side % 3
        for end in range(2):
            a = triangles[i, (j + end) % 3]
            b = triangles[i, (j + 1 - end) % 3]
            n = number[a]
            if n < 0:
                continue
            length = 0.0
            for axis in range(3):
                length += (points[b, axis] - points[a, axis]) ** 2
            for axis in range(3):
                ray[filled[n], axis] = (points[b, axis] - points[a, axis]) / math.sqrt(length)
            filled[n] += 1
    return index, vertex, ring, ray


def _groups(region: np.ndarray, twin: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """One number for all collinear pieces of an edge: those between the same two flat regions."""
    owner = np.flatnonzero(sides >= 0)
    total = np.int64(region.max() + 1) if len(region) else np.int64(1)
    first = region[owner // 3]
    other = twin[owner]
    second = region[np.maximum(other, 0) // 3]
    keys = np.minimum(first, second) * total + np.maximum(first, second)
    # open edges stand alone
    keys = np.where(other < 0, total * total + owner, keys)
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)
