"""Writing contacts into the caller's arrays: feature numbers, merging, and what to keep."""

from __future__ import annotations

from marsyard.jit import inlined, kernel

# two contacts of one surface closer than this part of the wheel radius, with normals closer than
# this cosine (2.6°), press on the same spot: the deeper one is kept
SAME_SPOT = 0.05
SAME_NORMAL = 0.999

# features of a surface
FACE, EDGE, VERTEX = 0, 1, 2


@inlined
def feature_number(surface, what, number, rim):
    """One int64 for a feature: surface, FACE/EDGE/VERTEX, its number, and the wheel's rim.

    `rim` is 0 for wheels with one support point, 1 and 2 for the rims of a cylinder on the -a and
    +a sides. The same feature keeps its number from step to step.
    """
    return (surface << 42) | (((number << 2) | what) << 2) | rim


@inlined
def kind_of_feature(feature):
    """FACE, EDGE or VERTEX."""
    return (feature >> 2) & 3


@inlined
def write(i, px, py, pz, nx, ny, nz, gap, surface, feature, point, normal, gaps, surfaces, ids):
    """Put one contact into row i."""
    point[i, 0] = px
    point[i, 1] = py
    point[i, 2] = pz
    normal[i, 0] = nx
    normal[i, 1] = ny
    normal[i, 2] = nz
    gaps[i] = gap
    surfaces[i] = surface
    ids[i] = feature


@kernel
def append(
    count, room, px, py, pz, nx, ny, nz, gap, surface, feature, point, normal, gaps, surfaces, ids
):
    """Add a contact; with no room left it takes the place of the shallowest, if deeper."""
    i = count
    if count == room:
        i = -1
        shallowest = gap
        for j in range(count):
            if gaps[j] > shallowest:
                i, shallowest = j, gaps[j]
        if i < 0:
            return count
    else:
        count += 1
    write(i, px, py, pz, nx, ny, nz, gap, surface, feature, point, normal, gaps, surfaces, ids)
    return count


@kernel
def insert(
    count, room, first, radius, px, py, pz, nx, ny, nz, gap, surface, feature,
    point, normal, gaps, surfaces, ids,
):  # fmt: skip
    """Add a mesh contact unless one of rows first.. presses on the same spot and is deeper."""
    reach = SAME_SPOT * radius
    for j in range(first, count):
        if surfaces[j] != surface:
            continue
        if nx * normal[j, 0] + ny * normal[j, 1] + nz * normal[j, 2] < SAME_NORMAL:
            continue
        dx = px - point[j, 0]
        dy = py - point[j, 1]
        dz = pz - point[j, 2]
        # contacts of different rims are the same only where they coincide
        near = reach if (ids[j] & 3) == (feature & 3) else 1e-6 * radius
        if dx * dx + dy * dy + dz * dz < near * near:
            if gap < gaps[j]:
                write(j, px, py, pz, nx, ny, nz, gap, surface, feature,
                      point, normal, gaps, surfaces, ids)  # fmt: skip
            return count
    return append(count, room, px, py, pz, nx, ny, nz, gap, surface, feature,
                  point, normal, gaps, surfaces, ids)  # fmt: skip


@kernel
def insert_end(
    count, room, first, radius, ox, oy, oz, px, py, pz, nx, ny, nz, gap, surface, feature,
    point, normal, gaps, surfaces, ids,
):  # fmt: skip
    """Add one end of a cylinder's tread on an edge; of collinear pieces the outermost end stays.

    (ox, oy, oz) points outwards along the wheel's axis.
    """
    for j in range(first, count):
        if ids[j] == feature:
            out = (px - point[j, 0]) * ox + (py - point[j, 1]) * oy + (pz - point[j, 2]) * oz
            if out > 0.0:
                write(j, px, py, pz, nx, ny, nz, gap, surface, feature,
                      point, normal, gaps, surfaces, ids)  # fmt: skip
            return count
    return insert(count, room, first, radius, px, py, pz, nx, ny, nz, gap, surface, feature,
                  point, normal, gaps, surfaces, ids)  # fmt: skip
