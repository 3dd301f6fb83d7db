r"""Deposition: displaced soil is laid down around the footprint (Krenn and Hirzinger 2008).

The border of a footprint are the nodes next to it that are under no body. Each footprint node gives
its displaced volume to the border nodes,

    sinkage part               w = 1/|d|²                          eq. (9)
    bulldozing and shearing    w = max(0, cos α)^m                 eq. (10)

d from the footprint node to the border node, α the angle between d and the direction in which the
soil was pushed, weights normalised to one. Where no border node lies in that direction, eq. (9) is
used.

*Sides of a wheel.* A wheel meets again what it lays down ahead: it rides on it, higher by the part
of its depth that goes there. This part must not depend on how many nodes stand along the contact.
For wheels the four sides of the footprint, a rectangle from `ahead` of the axle to `behind` it and
as wide as the wheel, therefore share the sinkage part as (9) integrated along them,

    ∫ dy/(a² + ζ² + y²) = (arctan(y₁/α) + arctan(y₂/α)) / α,        α² = a² + ζ²,          (9a)

a from the node to the side, y₁ and y₂ to its two ends; the border nodes of each side share its part
as (9). How far the footprint reaches follows from the height of the soil ahead and behind. Soil
that yields under a footing does not rise at its very edge but in a zone beside it as wide as its
shorter side (Prandtl 1920, Terzaghi 1943); ζ is half of that. With ζ = 0 all that is pressed where
a wheel enters the soil would be moved ahead, by no distance at all.

*Room.* Soil is not put where a body is: a border node under a body's overhang takes no more than
the free height there, less a gap of a twentieth of the spacing. The rest goes to the next nodes
with room further out, along or across the wheel; or to the other border nodes; or waits for the
next flow.

Every volume that leaves one node arrives at others: soil is conserved to rounding.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    MARKED,
    TIME,
    UNDER,
    deposit,
    neighbour,
    node_x,
    node_y,
    surface,
    wake,
)
from marsyard.interaction.soil_contact.arrays import (
    DUG,
    M_ACROSS,
    M_ALONG,
    PUSH_X,
    PUSH_Y,
    STRIP_COLUMNS,
    TOUCHED,
    V_PUSHED,
    V_SINKAGE,
    WHEEL,
)
from marsyard.interaction.soil_contact.erosion import around
from marsyard.interaction.soil_contact.footprint import clearance, is_above
from marsyard.jit import inlined, kernel

#: sides of a wheel's footprint: ahead of the axle, behind it, left and right
FRONT, REAR, LEFT, RIGHT = range(4)
SIDES = 4
#: a footprint node is no nearer to a side than this part of the wheel's half width
_LEAST = 1e-3
#: the zone where soil rises beside a footprint, half way through, by the shorter side of that
_ZONE = 0.5
#: an axle steeper than this (cosine of its slope) has no sides
_UPRIGHT = 0.1


@kernel
def lay_down(grid, bodies, patch, time, exponent, b):
    """Lay the displaced soil of body b down on the border of its footprint; `exponent` is m of eq.
    (10)."""
    now = patch.side[b]
    waiting = volume_waiting(patch, b)
    n = 0
    rest = 0.0
    if waiting > 0.0:
        rest = 1.0
        n = find_border(grid, bodies, patch, b)
    if n > 0:
        for k in range(n):
            patch.border_amount[k] = 0.0
        for i in range(patch.listed[now, b]):
            state = patch.state[now, b, i]
            if state[V_SINKAGE] + state[V_PUSHED] > 0.0:
                offer(grid, bodies, patch, exponent, b, i, state[V_SINKAGE], n)
        rest = take(grid, bodies, patch, time, b, n) / waiting
    end_flow(grid, bodies, patch, time, b, n, rest)


@inlined
def volume_waiting(patch, b):
    """Displaced soil of body b that is not laid down yet [m³]."""
    now = patch.side[b]
    waiting = 0.0
    for i in range(patch.listed[now, b]):
        waiting += patch.state[now, b, i, V_SINKAGE] + patch.state[now, b, i, V_PUSHED]
    return waiting


@inlined
def end_flow(grid, bodies, patch, time, b, n, rest):
    """Wake the n nodes of the border. What found no room, a share `rest` of all, waits; nodes that
    were left and are done are forgotten, but for how deep a wheel has dug there while it stands
    above them."""
    now = patch.side[b]
    for k in range(n):
        node = patch.border[k]
        grid.flag[node] &= ~MARKED & 0xFF
        grid.node[node, TIME] = time
        # it is higher now; its neighbours are not more likely to slide for that
        wake(grid, node)
    kept = 0
    for i in range(patch.listed[now, b]):
        state = patch.state[now, b, i]
        if n > 0:
            state[V_SINKAGE] = rest * (state[V_SINKAGE] + state[V_PUSHED])
            state[V_PUSHED] = 0.0
            state[PUSH_X] = 0.0
            state[PUSH_Y] = 0.0
        touches = patch.touching[now, b, i] > 0
        dug = 0.0
        if not touches:
            for k in range(0, STRIP_COLUMNS * patch.strips[b], STRIP_COLUMNS):
                state[M_ALONG + k] = 0.0
                state[M_ACROSS + k] = 0.0
                dug = max(dug, state[DUG + k])
        waits = state[V_SINKAGE] + state[V_PUSHED] > 0.0
        node = patch.node[now, b, i]
        if touches or waits or (dug > 0.0 and is_above(grid, bodies, b, node)):
            if kept < i:
                patch.key[now, b, kept] = patch.key[now, b, i]
                patch.node[now, b, kept] = patch.node[now, b, i]
                patch.touching[now, b, kept] = patch.touching[now, b, i]
                for col in range(patch.state.shape[3]):
                    patch.state[now, b, kept, col] = state[col]
            kept += 1
    if kept < patch.listed[now, b]:
        patch.found[b] = -1  # their places in the list are others now
    patch.listed[now, b] = kept


@kernel
def find_border(grid, bodies, patch, b):
    """Nodes next to the footprint and under no body; they are marked. Returns their number."""
    now = patch.side[b]
    n = 0
    for i in range(patch.listed[now, b]):
        if patch.touching[now, b, i]:
            for k in range(8):
                other = around(grid, patch.node[now, b, i], k)
                if other >= 0 and not grid.flag[other] & MARKED:
                    n = add_to_border(grid, bodies, patch, other, n)
    if n == 0:
        # the body has left: its last soil goes back to the nodes it left
        for i in range(patch.listed[now, b]):
            node = patch.node[now, b, i]
            touched = patch.state[now, b, i, TOUCHED]
            if touched > 0.0 and not grid.flag[node] & (UNDER | MARKED):
                n = add_to_border(grid, bodies, patch, node, n)
    find_sides(grid, bodies, patch, b, n)
    return n


@kernel
def add_to_border(grid, bodies, patch, node, n):
    """Make `node` number n of the border, if there is room. Returns how many there are then."""
    if n >= patch.border.shape[0]:
        return n
    grid.flag[node] |= MARKED
    patch.border[n] = node
    patch.border_x[n] = node_x(grid, node)
    patch.border_y[n] = node_y(grid, node)
    patch.border_free[n] = clearance(grid, bodies, patch, node)
    return n + 1


@inlined
def has_sides(bodies, b):
    """A wheel that does not lie flat."""
    a = bodies.axis[b]
    return bodies.kind[b] == WHEEL and a[0] * a[0] + a[1] * a[1] > _UPRIGHT * _UPRIGHT


@inlined
def beside_wheel(bodies, b, x, y):
    """A place as seen from a wheel: how far ahead of its centre, and how far to its left [m]."""
    x -= bodies.centre[b, 0]
    y -= bodies.centre[b, 1]
    ax, ay = bodies.axis[b, 0], bodies.axis[b, 1]
    size = math.sqrt(ax * ax + ay * ay)
    return (x * ay - y * ax) / size, (x * ax + y * ay) / size


@kernel
def find_sides(grid, bodies, patch, b, n):
    """On which side of a wheel its n border nodes are, and how far its footprint reaches ahead of
    the axle and behind it: to where the wheel is as high as the mean of the soil there."""
    if not has_sides(bodies, b):
        for k in range(n):
            patch.border_side[k] = FRONT
        return
    reach = patch.side_reach
    for g in range(SIDES):
        reach[g] = 0.0
        patch.side_weight[g] = 0.0
    for k in range(n):
        along, left = beside_wheel(bodies, b, patch.border_x[k], patch.border_y[k])
        if abs(left) >= bodies.shape[b, 1]:
            g = LEFT if left > 0.0 else RIGHT
        else:
            g = FRONT if along > 0.0 else REAR
        patch.border_side[k] = g
        patch.side_weight[g] += 1.0
        reach[g] += bodies.centre[b, 2] - surface(grid, patch.border[k])
    radius = bodies.shape[b, 0]
    for g in (FRONT, REAR):
        if patch.side_weight[g] > 0.0:
            drop = min(max(reach[g] / patch.side_weight[g], 0.0), radius)
            reach[g] = math.sqrt(radius * radius - drop * drop)
    for g in (LEFT, RIGHT):
        reach[g] = bodies.shape[b, 1]


@inlined
def toward_side(far, one, other, zone):
    """Eq. (9a): a side at the distance `far`, with its ends `one` and `other` beside the node."""
    alpha = math.sqrt(far * far + zone * zone)
    return (math.atan(one / alpha) + math.atan(other / alpha)) / alpha


@kernel
def share_sides(bodies, patch, b, x, y):
    """What each side of a wheel takes of soil that sinks at a node, up to a factor, eq. (9a)."""
    along, left = beside_wheel(bodies, b, x, y)
    reach = patch.side_reach
    least = _LEAST * bodies.shape[b, 1]
    front = max(reach[FRONT] - along, least)
    rear = max(reach[REAR] + along, least)
    right = max(reach[RIGHT] + left, least)
    left = max(reach[LEFT] - left, least)
    zone = _ZONE * min(front + rear, left + right)
    patch.side_share[FRONT] = toward_side(front, left, right, zone)
    patch.side_share[REAR] = toward_side(rear, left, right, zone)
    patch.side_share[LEFT] = toward_side(left, front, rear, zone)
    patch.side_share[RIGHT] = toward_side(right, front, rear, zone)


@kernel
def offer(grid, bodies, patch, exponent, b, i, volume, n):
    """Add what footprint node i of body b gives to each of the n border nodes, as volumes: `volume`
    to all sides, and what it pushes."""
    node = patch.node[patch.side[b], b, i]
    state = patch.state[patch.side[b], b, i]
    x = node_x(grid, node)
    y = node_y(grid, node)
    tiny = 0.25 * grid.spacing[0] * grid.spacing[0]
    pushed = state[V_PUSHED]
    weight = patch.border_weight
    gx, gy = state[PUSH_X], state[PUSH_Y]
    size = math.sqrt(gx * gx + gy * gy)
    if pushed > 0.0 and size > 1e-9 * pushed:
        gx, gy = gx / size, gy / size
        for k in range(n):
            dx = patch.border_x[k] - x
            dy = patch.border_y[k] - y
            along = max(dx * gx + dy * gy, 0.0)
            weight[k] = along * along / max(dx * dx + dy * dy, tiny)
        total = 0.0
        for k in range(n):
            if exponent != 2.0:
                weight[k] = weight[k] ** (0.5 * exponent)
            total += weight[k]
        if total > 0.0:
            factor = pushed / total
            for k in range(n):
                patch.border_amount[k] += factor * weight[k]
            pushed = 0.0
    volume += pushed
    if volume > 0.0:
        if has_sides(bodies, b):
            share_sides(bodies, patch, b, x, y)
        else:
            patch.side_share[:] = 1.0
        patch.side_weight[:] = 0.0
        for k in range(n):
            dx = patch.border_x[k] - x
            dy = patch.border_y[k] - y
            weight[k] = 1.0 / max(dx * dx + dy * dy, tiny)
            patch.side_weight[patch.border_side[k]] += weight[k]
        total = 0.0
        for g in range(SIDES):
            if patch.side_weight[g] > 0.0:
                total += patch.side_share[g]
        for k in range(n):
            g = patch.border_side[k]
            share = volume * patch.side_share[g] / total
            patch.border_amount[k] += share * weight[k] / patch.side_weight[g]


@kernel
def take(grid, bodies, patch, time, b, n):
    """Deposit what was offered, where there is room; what is too much for a node goes further out,
    or else to the others in proportion to what they were offered. Returns the volume left over."""
    area = grid.spacing[0] * grid.spacing[0]
    factor = 1.0
    rest = 0.0
    for _ in range(3):
        rest = 0.0
        open_ = 0.0
        for k in range(n):
            offered = factor * patch.border_amount[k]
            free = area * patch.border_free[k]
            given = min(offered, free)
            if given > 0.0:
                deposit(grid, patch.border[k], given / area)
                patch.border_free[k] -= given / area
            left = 0.0
            if given < offered:
                over = (offered - given) / area
                left = area * pass_on(grid, bodies, patch, time, b, k, over)
            if left > 0.0:
                rest += left
                patch.border_amount[k] = 0.0
            else:
                open_ += patch.border_amount[k]
        if rest <= 0.0 or open_ <= 0.0:
            break
        factor = rest / open_
    return rest


@kernel
def pass_on(grid, bodies, patch, time, b, k, height):
    """Lay soil for which border node k has no room down further out, from node to node, as far as
    the body is large. Returns how much of `height` finds no room."""
    x = patch.border_x[k] - bodies.centre[b, 0]
    y = patch.border_y[k] - bodies.centre[b, 1]
    if has_sides(bodies, b):
        # along the wheel in front of it and behind it, across it at its sides
        a = bodies.axis[b]
        across = (x * a[0] + y * a[1]) / (a[0] * a[0] + a[1] * a[1])
        if patch.border_side[k] == LEFT or patch.border_side[k] == RIGHT:
            x, y = across * a[0], across * a[1]
        else:
            x, y = x - across * a[0], y - across * a[1]
    size = math.sqrt(x * x + y * y)
    if size == 0.0:
        return height
    di = int(round(x / size))
    dj = int(round(y / size))
    node = patch.border[k]
    for _ in range(int(bodies.reach[b] / grid.spacing[0]) + 1):
        node = neighbour(grid, node, di, dj)
        if node < 0 or grid.flag[node] & UNDER:
            break
        # the border takes what it is offered itself
        if grid.flag[node] & MARKED:
            continue
        given = min(height, clearance(grid, bodies, patch, node))
        if given > 0.0:
            deposit(grid, node, given)
            grid.node[node, TIME] = time
            wake(grid, node)
            height -= given
        if height <= 0.0:
            break
    return height
