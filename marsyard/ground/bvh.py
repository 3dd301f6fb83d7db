"""A bounding-volume hierarchy over triangles in one flat array.

A complete binary tree in heap order: the children of node i are 2 i and 2 i + 1, leaf l is node
2^d + l. Each node halves its triangles at the median of their centres along the longest side of
the box around those centres, and a leaf holds two to four of them. Such a tree needs no child
pointers and is walked without a stack.
"""

from __future__ import annotations

import numpy as np

from marsyard.jit import allocating

LEAF_SIZE = 4


def leaf_count(triangles: int) -> int:
    """Number of leaves, a power of two, with at most LEAF_SIZE triangles each."""
    leaves = 1
    while LEAF_SIZE * leaves < triangles:
        leaves *= 2
    return leaves


@allocating
def _select(order, key, low, high, middle):
    """Permute order[low:high] so that no key before `middle` is above one from `middle` on."""
    high -= 1
    while low < high:
        # the median of three as pivot
        a, b, c = key[order[low]], key[order[(low + high) // 2]], key[order[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[order[i]] < pivot:
                i += 1
            while key[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@allocating
def tree_order(points, triangles, leaves):
    """The order of the triangles along the leaves, int64, shape (m,)."""
    count = triangles.shape[0]
    centre = np.empty((3, count))
    for i in range(count):
        for axis in range(3):
            centre[axis, i] = (
                points[triangles[i, 0], axis]
                + points[triangles[i, 1], axis]
                + points[triangles[i, 2], axis]
            )
    order = np.arange(count)
    width = leaves
    while width > 1:
        for first in range(0, leaves, width):
            low = first * count // leaves
            middle = (first + width // 2) * count // leaves
            high = (first + width) * count // leaves
            best, longest = 0, -1.0
            for axis in range(3):
                least, most = np.inf, -np.inf
                for i in range(low, high):
                    x = centre[axis, order[i]]
                    least = min(least, x)
                    most = max(most, x)
                if most - least > longest:
                    best, longest = axis, most - least
            _select(order, centre[best], low, high, middle)
        width //= 2
    return order


@allocating
def build_nodes(points, triangles, leaves):
    """Bounding boxes of all nodes, low then high corner [m], root first, shape (2 leaves - 1, 6).

    Leaf l holds triangles l m // leaves to (l + 1) m // leaves of the m in `tree_order`.
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
