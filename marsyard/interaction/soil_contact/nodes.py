"""Which nodes a body touches, and what its contact with them remembers.

The footprint gives the nodes of the present step in blocks (see `arrays`); each of them takes up
the state of the contact that the body had with it before. A node of which the body touches no
strip any more is left.
"""

from __future__ import annotations

from marsyard.ground.soil_nodes import CUT, DEPTH, LEVELS, STRIPS, UNDER, wake_around
from marsyard.interaction.soil_contact.arrays import (
    DUG,
    DUG_HERE,
    M_ACROSS,
    M_ALONG,
    MOBILE_ACROSS,
    MOBILE_ALONG,
    STRIP_COLUMNS,
    SUNK,
    TOUCHED,
    WEIGHT,
    WHEEL,
)
from marsyard.interaction.soil_contact.candidates import wheel_footprint
from marsyard.interaction.soil_contact.footprint import cut_code, strips_of, wheel_surface
from marsyard.interaction.soil_contact.mesh_footprint import mesh_footprint
from marsyard.interaction.soil_kernels import OK, TOO_MANY_NODES
from marsyard.jit import inlined, kernel, natural

_LAST = 2**62
#: cells are cut the other way when the axle has turned so far beyond the diagonal, as a ratio
_TURNED = 1.2
#: of `Patch.touching` for a moment: the body has just left
_LEFT = 2


@kernel
def find_nodes(grid, bodies, patch, b, most):
    """Find the nodes under body b, in blocks, with the state of its contact; their cells are cut
    into at most so many strips. Returns a status."""
    c, a, s = bodies.centre[b], bodies.axis[b], bodies.shape[b]
    is_wheel = bodies.kind[b] == WHEEL
    if is_wheel:
        strips = strips_of(s[0], grid.spacing[0], most)
        patch.strips[b] = strips
        if strips > 1:
            cut_across(patch, b, a)
        found = wheel_footprint(grid, patch, b, s[0], s[1], c, a, strips, patch.cut[b])
    else:
        found = mesh_footprint(
            grid, patch, b, bodies.triangle, bodies.triangles[b, 0], bodies.triangles[b, 1],
            bodies.reach[b], c, bodies.rotation[b],
        )  # fmt: skip
    if found < 0:
        return -found
    same = same_nodes(patch, b, found)
    if not same and not match(patch, b):
        return TOO_MANY_NODES
    if is_wheel:
        wheel_surface(grid, patch, s[0], s[1], s[2], s[3], s[4], a)
    patch.touched[b] = 0
    left = not same
    for k in range(patch.blocks[0]):
        left |= note_touched(grid, patch, b, k)
    if left:
        leave_nodes(grid, patch, b)
    return OK


@inlined
def cut_across(patch, b, a):
    """Cut the cells across the wheel's heading, along x or along y, whichever is nearer."""
    ax, ay = abs(a[0]), abs(a[1])
    cut = patch.cut[b]
    if (ax > _TURNED * ay and cut == 0) or (ay > _TURNED * ax and cut == 1):
        patch.cut[b] = 1 - cut
        patch.candidates[b] = -1
        # the strips lie another way now: they begin with the means of their cells
        now = patch.side[b]
        strips = patch.strips[b]
        for i in range(patch.listed[now, b]):
            state = patch.state[now, b, i]
            along, across = 0.0, 0.0
            for k in range(strips):
                along += state[M_ALONG + STRIP_COLUMNS * k] / strips
                across += state[M_ACROSS + STRIP_COLUMNS * k] / strips
            for k in range(strips):
                state[M_ALONG + STRIP_COLUMNS * k] = along
                state[M_ACROSS + STRIP_COLUMNS * k] = across


@kernel
def same_nodes(patch, b, found):
    """The blocks hold the very nodes they held in the last step, and these are listed as then."""
    if patch.found[b] != found:
        return False
    key = patch.found_key[b]
    strips = patch.strips[b]
    first = 0
    for k in range(patch.blocks[0]):
        count = patch.block_count[k] // strips
        other = 0
        for n in range(count):
            other |= key[first + n] ^ patch.block_key[k, n]
        if other != 0:
            return False
        for n in range(count):
            patch.block_at[k, n] = patch.found_at[b, first + n]
        first += count
    return True


@kernel
def match(patch, b):
    """Carry the contact state over to the nodes now found; both lists are in order of their keys.

    Nodes that were left stay listed until the next flow: a node that trembles in and out of a
    wheel's edge is still the same contact.
    """
    old = patch.side[b]
    new = 1 - old
    room = patch.key.shape[2]
    count = patch.listed[old, b]
    strips = patch.strips[b]
    columns = M_ALONG + STRIP_COLUMNS * strips
    i = 0
    n = 0
    found = 0
    for k in range(patch.blocks[0] + 1):
        last = k == patch.blocks[0]
        for at in range(1 if last else patch.block_count[k] // strips):
            key = _LAST if last else patch.block_key[k, at]
            while i < count and patch.key[old, b, i] < key:
                if n >= room:
                    return False
                _carry(patch, old, new, b, i, n, columns)
                patch.touching[new, b, n] = _LEFT if patch.touching[old, b, i] else 0
                n += 1
                i += 1
            if last:
                break
            if n >= room:
                return False
            if i < count and patch.key[old, b, i] == key:
                _carry(patch, old, new, b, i, n, columns)
                patch.touching[new, b, n] = patch.touching[old, b, i]
                i += 1
            else:
                patch.key[new, b, n] = key
                patch.node[new, b, n] = patch.block_node[k, at]
                patch.touching[new, b, n] = 0
                for col in range(columns):
                    patch.state[new, b, n, col] = 0.0
            patch.block_at[k, at] = n
            patch.found_key[b, found] = key
            patch.found_at[b, found] = n
            found += 1
            n += 1
    patch.listed[new, b] = n
    patch.side[b] = new
    patch.found[b] = found
    return True


@inlined
def _carry(patch, old, new, b, i, n, columns):
    patch.key[new, b, n] = patch.key[old, b, i]
    patch.node[new, b, n] = patch.node[old, b, i]
    for col in range(columns):
        patch.state[new, b, n, col] = patch.state[old, b, i, col]


@inlined
def leave_nodes(grid, patch, b):
    """Where body b has just left, soil may move again."""
    now = patch.side[b]
    for i in range(patch.listed[now, b]):
        if patch.touching[now, b, i] == _LEFT:
            patch.touching[now, b, i] = 0
            node = patch.node[now, b, i]
            grid.flag[node] &= ~UNDER & 0xFF
            wake_around(grid, node)


@inlined
def note_touched(grid, patch, b, k):
    """Flag the nodes of block k of which a strip is touched. Returns whether others were left."""
    left = False
    w = patch.block[k]
    strips = natural(patch.strips[b])
    touching = patch.touching[patch.side[b], b]
    for at in range(patch.block_count[k] // strips):
        first = natural(at * strips)
        most = 0.0
        for strip in range(strips):
            most = max(most, w[WEIGHT + first + strip])
        place, node = natural(patch.block_at[k, at]), natural(patch.block_node[k, at])
        if most > 0.0:
            touching[place] = 1
            grid.flag[node] |= UNDER
            patch.touched[b] += 1
            patch.state[patch.side[b], b, place, TOUCHED] = 1.0
            code = cut_code(strips, patch.cut[b])
            relief = grid.relief[node]
            if strips > 1 and relief[CUT] != code:
                # to a body that cuts as it was cut before, the cell has other strips now
                grid.risen[0] += grid.spacing[0] if relief[CUT] != 0.0 else 0.0
                relief[CUT] = code
                for strip in range(strips):
                    sunk = w[SUNK + first + strip]
                    relief[STRIPS + strip] = sunk - grid.node[node, DEPTH]
                    relief[LEVELS + strip] = 0.0
        elif touching[place]:
            touching[place] = _LEFT
            left = True
    return left


@inlined
def take_mobilised(patch, b, k):
    """Write what the contact remembers of the strips of block k into it. Returns its length, filled
    up to a multiple of eight."""
    state, w = patch.state[patch.side[b], b], patch.block[k]
    strips, count = natural(patch.strips[b]), patch.block_count[k]
    padded = (count + 7) & ~7
    for at in range(count // strips):
        touch = state[natural(patch.block_at[k, at])]
        first = natural(at * strips)
        for strip in range(strips):
            w[MOBILE_ALONG + first + strip] = touch[M_ALONG + STRIP_COLUMNS * strip]
            w[MOBILE_ACROSS + first + strip] = touch[M_ACROSS + STRIP_COLUMNS * strip]
            w[DUG_HERE + first + strip] = touch[DUG + STRIP_COLUMNS * strip]
    for lane in range(count, padded):
        w[MOBILE_ALONG + lane] = 0.0
        w[MOBILE_ACROSS + lane] = 0.0
        w[DUG_HERE + lane] = 0.0
    return padded
