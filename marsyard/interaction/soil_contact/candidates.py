"""The nodes under a wheel, found among those that it may touch.

Whether soil lies in a wheel takes some twenty numbers of a node and its neighbours to say, and the
box around a wheel holds three times the nodes that are in it. Nodes whose soil is nearer to the
wheel than a margin of an eighth of the spacing are therefore listed, with that distance and with
what never changes there. A node is looked at once the wheel or soil may have moved by its distance,

    |Δc| + 2 R |Δa|/|a_xy| + ½ |Δ lean| (ds + d) + Δ risen

c the wheel's centre, a its axle, R its reach, `lean` that of its strips (`footprint`), d the
steepest drop across them, Δ risen a bound on how far any soil has risen (`grid.risen`), all since
the list was made. A new list is made when that exceeds the margin, and, where the wheel is slow,
when it comes to the gap in which soil lies behind it (`footprint`). What is found depends on the
wheel and the soil alone, not on the list: a run that is resumed finds the same.

A cell that was not cut as this wheel cuts it is listed as if it had not been pressed, for what its
strips will be depends on its neighbours.

Soil is found where a point of its surface, the middle of a strip, lies in the cylinder of the
largest radius, or above the height of the axle in its shadow.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    BASE,
    CUT,
    DEPTH,
    LEVELS,
    REF,
    SIDE,
    STRIPS,
    find_tile,
    highest_soil,
    tile_key,
)
from marsyard.interaction.soil_contact.arrays import (
    AHEAD,
    AT_X,
    AT_Y,
    BEHIND,
    DISTANCE,
    LANES,
    LEFT,
    LEVEL,
    LISTED_LEAN,
    LISTED_MOVED,
    LISTED_RISEN,
    LISTED_STEEP,
    LISTED_STEPS,
    PX,
    PY,
    RIGHT,
    SUNK,
)
from marsyard.interaction.soil_contact.footprint import (
    GAP,
    ROUNDING,
    STRAIGHT,
    base_drops,
    cut_code,
    incline,
    lean_of,
    new_block,
    sinkage_slope,
)
from marsyard.interaction.soil_kernels import NEEDS_TILES, OK, TOO_MANY_NODES
from marsyard.jit import inlined, kernel, natural

#: nodes nearer to a wheel than this are listed, in grid spacings
_MARGIN = 0.125
#: after so many steps a list is made anew when the wheel has moved so far: less than the gap that
#: soil leaves behind it
_STEPS, _NEARLY = 8, 0.8 * GAP


@kernel
def wheel_footprint(grid, patch, b, radius, half, c, a, strips, cut):
    """Nodes where soil lies in wheel b, with their strips. Returns their number or −status."""
    lean = lean_of(strips, cut, a[0], a[1])
    if not list_holds(grid, patch, b, math.sqrt(radius * radius + half * half), c, a, lean):
        status = list_nodes(grid, patch, b, radius, half, c, a, strips, cut, lean)
        if status != OK:
            return -status
    return lay_strips(grid, patch, b, radius, half, c, a, strips, cut, lean)


@inlined
def flat_of(a):
    """Length of the level part of an axle, not 0."""
    return math.sqrt(max(a[0] * a[0] + a[1] * a[1], 1e-12))


@inlined
def shadow_of(radius, half, a):
    """How far the shadow of a wheel reaches along its axle."""
    return half * flat_of(a) + radius * abs(a[2]) + ROUNDING


@inlined
def list_holds(grid, patch, b, reach, c, a, lean):
    """Whether no node that is not listed can have come to lie in wheel b; notes how far wheel and
    soil have moved at most."""
    if patch.candidates[b] < 0:
        return False
    then = patch.listed_at[b]
    x, y, z = c[0] - then[0], c[1] - then[1], c[2] - then[2]
    u, v, w = a[0] - then[3], a[1] - then[4], a[2] - then[5]
    ds = grid.spacing[0]
    turned = abs(lean - then[LISTED_LEAN]) + STRAIGHT
    turn = math.sqrt(u * u + v * v + w * w) / flat_of(a)
    moved = math.sqrt(x * x + y * y + z * z) + 2.0 * reach * turn
    moved += 0.5 * turned * (ds + then[LISTED_STEEP]) + grid.risen[0] - then[LISTED_RISEN]
    moved = max(moved, then[LISTED_MOVED])
    then[LISTED_MOVED] = moved
    then[LISTED_STEPS] += 1.0
    return moved <= (_NEARLY if then[LISTED_STEPS] > _STEPS else _MARGIN) * ds


@kernel
def lay_strips(grid, patch, b, radius, half, c, a, strips, cut, lean):
    """Put the strips of all listed nodes where soil lies in wheel b into blocks. Returns the number
    of nodes or −status."""
    ds = grid.spacing[0]
    cx, cy, cz = c[0], c[1], c[2]
    ax, ay, az = a[0], a[1], a[2]
    # strips lie one behind the other along the heading: a spacing along x or y, `lean` across
    step_x = lean * ds if cut else ds
    step_y = ds if cut else lean * ds
    wide, shadow, per_flat = half + ROUNDING, shadow_of(radius, half, a), 1.0 / flat_of(a)
    square = radius * radius
    far = square + wide * wide
    strips = natural(strips)
    per_strips = 1.0 / strips
    code = cut_code(strips, cut)
    n = -1
    lanes = 0
    soil = -1
    found = 0
    w = patch.block[0]
    moved = patch.listed_at[b, LISTED_MOVED]
    for index in range(patch.candidates[b]):
        q = patch.candidate[b, index]
        if q[DISTANCE] > moved:
            continue
        node = natural(patch.candidate_node[b, index])
        px, py = q[AT_X] - cx, q[AT_Y] - cy
        place, relief = grid.node[node], grid.relief[node]
        level, sunk = place[BASE] + place[REF] - cz, place[DEPTH]
        known = relief[CUT] == code
        back, ahead = incline(lean, q[BEHIND], q[AHEAD], q[LEFT], q[RIGHT])
        sinks = 0.0
        if strips > 1 and not known:
            sinks = sinkage_slope(grid, node, cut, lean)
        if n < 0 or lanes + strips > LANES or grid.soil[node] != soil:
            soil = grid.soil[node]
            # a block of which nothing was used is taken for the other soil
            if n >= 0 and lanes == 0:
                patch.block_soil[n] = soil
            else:
                if not new_block(patch, n, lanes, soil):
                    return -TOO_MANY_NODES
                n += 1
                lanes = 0
                w = patch.block[n]
        inside = False
        for k in range(strips):
            lane = natural(lanes + k)
            off = (k + 0.5) * per_strips - 0.5
            x, y = px + off * step_x, py + off * step_y
            higher = relief[LEVELS + k] if known else 0.0
            deeper = relief[STRIPS + k] if known else off * sinks
            top = level + off * (back if off < 0.0 else ahead) + higher
            pressed = max(sunk + deeper, 0.0)
            w[PX + lane], w[PY + lane] = x, y
            w[LEVEL + lane], w[SUNK + lane] = top, pressed
            s = top - pressed
            over = s >= 0.0
            u = ax * x + ay * y
            u = u * per_flat if over else u + az * s
            s = 0.0 if over else s
            plan = x * x + y * y
            beside = abs(u) > (shadow if over else wide)
            inside |= (not beside) & (plan + s * s - u * u <= square) & (plan <= far)
        if inside:
            at = lanes // strips
            patch.block_node[n, at] = node
            patch.block_key[n, at] = patch.candidate_key[b, index]
            lanes += strips
            found += 1
    if n >= 0 and lanes == 0:
        n -= 1
    elif n >= 0:
        patch.block_count[n] = lanes
    patch.blocks[0] = n + 1
    return found


@kernel
def list_nodes(grid, patch, b, radius, half, c, a, strips, cut, lean):
    """List the nodes that wheel b may touch before it has moved by the margin, in the order of
    their keys. Returns a status."""
    ds = grid.spacing[0]
    patch.candidates[b] = -1
    patch.blocks[0] = 0
    margin = _MARGIN * ds
    radius, half = radius + margin, half + margin
    cx, cy, cz = c[0], c[1], c[2]
    ax, ay, az = a[0], a[1], a[2]
    flat = flat_of(a)
    shadow = shadow_of(radius, half, a)
    ball = math.sqrt(radius * radius + half * half) + ROUNDING
    hx = radius * math.sqrt(max(0.0, 1.0 - ax * ax)) + half * abs(ax)
    hy = radius * math.sqrt(max(0.0, 1.0 - ay * ay)) + half * abs(ay)
    hx = min(max(hx, (abs(ax) * shadow + abs(ay) * radius) / flat), ball)
    hy = min(max(hy, (abs(ay) * shadow + abs(ax) * radius) / flat), ball)
    # one more node all round: there the displaced soil will be laid down
    i0 = int(math.ceil((cx - hx) / ds)) - 1
    i1 = int(math.floor((cx + hx) / ds)) + 1
    j0 = int(math.ceil((cy - hy) / ds)) - 1
    j1 = int(math.floor((cy + hy) / ds)) + 1
    top = highest_soil(grid, i0 // SIDE, i1 // SIDE, j0 // SIDE, j1 // SIDE)
    if top == math.inf:
        return NEEDS_TILES
    # only what is lower than the highest soil counts: a chord of the wheel
    below = (cz - top - half * abs(az)) / flat
    if below >= radius:
        note_list(grid, patch, b, c, a, lean, 0.0, 0)
        return OK
    step_x = lean * ds if cut else ds
    step_y = ds if cut else lean * ds
    # the strips of nodes next to the wheel may lie in it
    farthest = 0.5 - 0.5 / strips
    if below > 0.0:
        chord = math.sqrt(radius * radius - below * below)
        slack = radius * abs(az)
        hx = min(hx, chord * abs(ay) / flat + half * abs(ax) + slack) + ROUNDING
        hy = min(hy, chord * abs(ax) / flat + half * abs(ay) + slack) + ROUNDING
    hx += farthest * abs(step_x)
    hy += farthest * abs(step_y)
    i0 = int(math.ceil((cx - hx) / ds))
    i1 = int(math.floor((cx + hx) / ds))
    j0 = int(math.ceil((cy - hy) / ds))
    j1 = int(math.floor((cy + hy) / ds))
    # rows of nodes are taken along y: where the axle is not along x they are cut to the width
    slack = half + ROUNDING + radius * abs(az)
    per_ds = 1.0 / ds
    per_ay = 1.0 / ay if abs(ay) > 0.1 else 0.0
    reach = slack * abs(per_ay)
    steep = 0.0
    count = 0
    for ti in range(i0 // SIDE, i1 // SIDE + 1):
        for tj in range(j0 // SIDE, j1 // SIDE + 1):
            slot = find_tile(grid, ti, tj)
            rank = tile_key(ti, tj) * (SIDE * SIDE) - slot * (SIDE * SIDE)
            for i in range(max(i0, ti * SIDE), min(i1, ti * SIDE + SIDE - 1) + 1):
                px = i * ds - cx
                row = (slot * SIDE + (i - ti * SIDE)) * SIDE - tj * SIDE
                first = max(j0, tj * SIDE)
                last = min(j1, tj * SIDE + SIDE - 1)
                if per_ay != 0.0:
                    middle = cy - ax * px * per_ay
                    first = max(first, math.ceil((middle - reach) * per_ds))
                    last = min(last, math.floor((middle + reach) * per_ds))
                elif abs(ax * px) > slack + abs(ay) * hy:
                    continue
                for j in range(first, last + 1):
                    node = row + j
                    if count >= patch.candidate_node.shape[1]:
                        return TOO_MANY_NODES
                    q = patch.candidate[b, count]
                    q[AT_X], q[AT_Y] = i * ds, j * ds
                    q[BEHIND], q[AHEAD], q[LEFT], q[RIGHT] = 0.0, 0.0, 0.0, 0.0
                    if strips > 1:
                        drops = base_drops(grid, node, cut)
                        q[BEHIND], q[AHEAD], q[LEFT], q[RIGHT] = drops
                        steep = max(steep, abs(q[LEFT]), abs(q[RIGHT]))
                    away = distance(grid, q, node, radius, half, c, a, strips, cut, lean, margin)
                    if away <= margin:
                        q[DISTANCE] = away
                        patch.candidate_node[b, count] = node
                        patch.candidate_key[b, count] = rank + node
                        count += 1
    note_list(grid, patch, b, c, a, lean, steep, count)
    return OK


@inlined
def distance(grid, q, node, radius, half, c, a, strips, cut, lean, margin):
    """How far soil of a node lies from a wheel at least, infinite if it is not near one that was
    made larger by the margin."""
    ds = grid.spacing[0]
    ax, ay, az = a[0], a[1], a[2]
    per_flat = 1.0 / flat_of(a)
    shadow = shadow_of(radius, half, a)
    far = radius * radius + (half + ROUNDING) * (half + ROUNDING)
    place, relief = grid.node[node], grid.relief[node]
    known = relief[CUT] == cut_code(strips, cut)
    back, ahead = incline(lean, q[BEHIND], q[AHEAD], q[LEFT], q[RIGHT])
    least = math.inf
    for k in range(strips):
        off = (k + 0.5) / strips - 0.5
        x = q[AT_X] - c[0] + off * ds * (lean if cut else 1.0)
        y = q[AT_Y] - c[1] + off * ds * (1.0 if cut else lean)
        s = place[BASE] + place[REF] - c[2] + off * (back if off < 0.0 else ahead)
        if known:
            s += relief[LEVELS + k] - max(place[DEPTH] + relief[STRIPS + k], 0.0)
        elif strips == 1:
            s -= place[DEPTH]
        level = ax * x + ay * y
        u = level + az * s
        plan = x * x + y * y
        if max(s, s - az * u) >= -margin or (az * u > 0.0 and abs(u) > half):
            # soil above the axle, or above the upper side of a leaning wheel, may come down on it
            along = level * per_flat
            across = plan - along * along
            if abs(along) <= shadow and across <= radius * radius and plan <= far:
                least = 0.0
            continue
        rim = math.sqrt(max(plan + s * s - u * u, 0.0))
        away = max(abs(u) - half, rim - radius) + margin - ROUNDING
        if away <= margin:
            # not cut yet: as if it had not been pressed
            least = min(least, max(away, 0.0) if known or strips == 1 else 0.0)
    return least


@inlined
def note_list(grid, patch, b, c, a, lean, steep, count):
    """Note where wheel b stands that has a new list of so many nodes."""
    now = patch.listed_at[b]
    for i in range(3):
        now[i], now[3 + i] = c[i], a[i]
    now[LISTED_LEAN], now[LISTED_STEEP], now[LISTED_RISEN] = lean, steep, grid.risen[0]
    now[LISTED_MOVED], now[LISTED_STEPS] = 0.0, 0.0
    patch.candidates[b] = count
