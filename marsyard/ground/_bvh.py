"""A bounding-volume hierarchy over triangles in one flat array.

Triangles are sorted along a space-filling (Morton) curve and cut into 2^d equal runs of two to
four, the leaves of a complete binary tree in heap order: the children of node i are 2 i and
2 i + 1, leaf l is node 2^d + l. Such a tree needs no child pointers and is walked without a stack.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LEAF_SIZE = 4


@njit(cache=True, nogil=True)
def _spread(value):
    """The 21 low bits of `value`, two zeros between each and the next."""
    x = np.uint64(value) & np.uint64(0x1FFFFF)
    x = (x | x << np.uint64(32)) & np.uint64(0x1F00000000FFFF)
    x = (x | x << np.uint64(16)) & np.uint64(0x1F0000FF0000FF)
    x = (x | x << np.uint64(8)) & np.uint64(0x100F00F00F00F00F)
    x = (x | x << np.uint64(4)) & np.uint64(0x10C30C30C30C30C3)
    x = (x | x << np.uint64(2)) & np.uint64(0x1249249249249249)
    return x


@njit(cache=True, nogil=True)
def morton_codes(points, triangles):
    """Place of each triangle's centre on the curve, uint64, shape (m,)."""
    count = triangles.shape[0]
    low = np.array([points[:, 0].min(), points[:, 1].min(), points[:, 2].min()])
    high = np.array([points[:, 0].max(), points[:, 1].max(), points[:, 2].max()])
    scale = 2097151.0 / max((high - low).max(), 1e-290)
    codes = np.empty(count, np.uint64)
    for i in range(count):
        code = np.uint64(0)
        for axis in range(3):
            centre = 0.0
            for j in range(3):
                centre += points[triangles[i, j], axis]
            place = np.int64((centre / 3.0 - low[axis]) * scale)
            code |= _spread(place) << np.uint64(axis)
        codes[i] = code
    return codes


def leaf_count(triangles: int) -> int:
    """Number of leaves, a power of two, with at most LEAF_SIZE triangles each."""
    leaves = 1
    while LEAF_SIZE * leaves < triangles:
        leaves *= 2
    return leaves


@njit(cache=True, nogil=True)
def build_nodes(points, triangles, leaves):
    """Bounding boxes of all nodes, low then high corner [m], root first, shape (2 leaves - 1, 6).

    Leaf l holds triangles l m // leaves to (l + 1) m // leaves of the m sorted ones.
    """
    count = triangles.shape[0]
    node = np.empty((2 * leaves - 1, 6))
    for leaf in range(leaves):
        box = node[leaves - 1 + leaf]
        box[:3] = np.inf
        box[3:] = -np.inf
        for i in range(leaf * count // leaves, (leaf + 1) * count // leaves):
            for j in range(3):
                for axis in range(3):
                    x = points[triangles[i, j], axis]
                    box[axis] = min(box[axis], x)
                    box[3 + axis] = max(box[3 + axis], x)
    for i in range(leaves - 1, 0, -1):
        for axis in range(3):
            node[i - 1, axis] = min(node[2 * i - 1, axis], node[2 * i, axis])
            node[i - 1, 3 + axis] = max(node[2 * i - 1, 3 + axis], node[2 * i, 3 + axis])
    return node
