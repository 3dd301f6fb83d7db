"""Which nodes a body touches, and what its contact with them remembers.

The footprint gives the nodes of the present step in blocks (see `arrays`); each of them takes up
the state of the contact that the body had with it before.
"""

from __future__ import annotations

from marsyard.ground.soil_nodes import UNDER, wake_around
from marsyard.interaction.soil_contact.arrays import (
    DUG,
    DUG_HERE,
    M_ACROSS,
    M_ALONG,
    MOBILE_ACROSS,
    MOBILE_ALONG,
    WHEEL,
)
from marsyard.interaction.soil_contact.footprint import mesh_footprint, wheel_footprint
from marsyard.interaction.soil_kernels import OK, TOO_MANY_NODES
from marsyard.jit import inlined, kernel

_LAST = 2**62


@kernel
def find_nodes(grid, bodies, patch, b):
    """Find the nodes under body b, in blocks, with the state of its contact. Returns a status."""
    c = bodies.centre[b]
    if bodies.kind[b] == WHEEL:
        s = bodies.shape[b]
        found = wheel_footprint(grid, patch, s[0], s[1], s[2], s[3], s[4], c, bodies.axis[b])
    else:
        found = mesh_footprint(
            grid, patch, b, bodies.triangle, bodies.triangles[b, 0], bodies.triangles[b, 1],
            bodies.reach[b], c, bodies.rotation[b],
        )  # fmt: skip
    if found < 0:
        return -found
    if not same_nodes(patch, b, found) and not match(grid, patch, b):
        return TOO_MANY_NODES
    patch.touched[b] = found
    return OK


@kernel
def same_nodes(patch, b, found):
    """The body touches the very nodes it touched before, and no others are listed."""
    now = patch.side[b]
    if patch.listed[now, b] != found or patch.touched[b] != found:
        return False
    key = patch.key[now, b]
    first = 0
    for k in range(patch.blocks[0]):
        count = patch.block_count[k]
        other = 0
        for lane in range(count):
            other |= key[first + lane] ^ patch.block_key[k, lane]
        if other != 0:
            return False
        for lane in range(count):
            patch.block_at[k, lane] = first + lane
        first += count
    return True


@kernel
def match(grid, patch, b):
    """Carry the contact state over to the nodes now found; both lists are in order of their keys.

    Nodes that were left are woken. They stay listed until the next flow: a node that trembles in
    and out of a wheel's edge is still the same contact.
    """
    old = patch.side[b]
    new = 1 - old
    room = patch.key.shape[2]
    count = patch.listed[old, b]
    i = 0
    n = 0
    for k in range(patch.blocks[0] + 1):
        last = k == patch.blocks[0]
        for lane in range(1 if last else patch.block_count[k]):
            key = _LAST if last else patch.block_key[k, lane]
            while i < count and patch.key[old, b, i] < key:
                node = patch.node[old, b, i]
                if patch.touching[old, b, i]:
                    grid.flag[node] &= ~UNDER & 0xFF
                    wake_around(grid, node)
                if n >= room:
                    return False
                _carry(patch, old, new, b, i, n)
                patch.touching[new, b, n] = 0
                n += 1
                i += 1
            if last:
                break
            if n >= room:
                return False
            if i < count and patch.key[old, b, i] == key:
                _carry(patch, old, new, b, i, n)
                i += 1
            else:
                patch.key[new, b, n] = key
                patch.node[new, b, n] = patch.block_node[k, lane]
                for col in range(patch.state.shape[3]):
                    patch.state[new, b, n, col] = 0.0
            patch.touching[new, b, n] = 1
            patch.block_at[k, lane] = n
            n += 1
    patch.listed[new, b] = n
    patch.side[b] = new
    return True


@inlined
def _carry(patch, old, new, b, i, n):
    patch.key[new, b, n] = patch.key[old, b, i]
    patch.node[new, b, n] = patch.node[old, b, i]
    for col in range(patch.state.shape[3]):
        patch.state[new, b, n, col] = patch.state[old, b, i, col]


@inlined
def take_mobilised(patch, b, k):
    """Write what the contact remembers of the nodes of block k into it. Returns its length, filled
    up to a multiple of eight."""
    state, w = patch.state[patch.side[b], b], patch.block[k]
    count = patch.block_count[k]
    padded = (count + 7) & ~7
    for lane in range(count):
        at = patch.block_at[k, lane]
        w[MOBILE_ALONG + lane] = state[at, M_ALONG]
        w[MOBILE_ACROSS + lane] = state[at, M_ACROSS]
        w[DUG_HERE + lane] = state[at, DUG]
    for lane in range(count, padded):
        w[MOBILE_ALONG + lane] = 0.0
        w[MOBILE_ACROSS + lane] = 0.0
        w[DUG_HERE + lane] = 0.0
    return padded
