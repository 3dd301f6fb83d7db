"""Soil that slip carries along: cut ahead of what is pressed, released behind, the rest displaced.

A layer of thickness δ (`tread`) moves back with the body's surface. What it can take in a step is

    V = δ b v_t h,   v_t [m/s] the mean slip of the surface over soil that it drives, b the width,

and it takes it where the surface cuts into soil of which less than the trench z_s is gone (`tread`,
without end under bodies that are no wheels): soil that lies in the way there is not pressed. Where
V is less than what lies in the way, all of it gives the same part, and the rest is pressed; the
part is that of the last step. A wheel that spins on the spot thus digs itself in.

A share ρ of what a driven wheel carries is released where its surface rises out of the soil
(`tread`): it fills the part

    ρ z_s/(ρ z_s + p/k_u),   p on first loading,

of the gap that opens there, as far as there is soil, so that the stress behind the lowest point
falls off over p/k_u + ρ z_s instead of p/k_u alone. The rest is laid down by `flow`.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import DEPTH, LEVELS, REF, STRIPS, TIME, keep_top
from marsyard.interaction.slip import trench_depth
from marsyard.interaction.soil_contact.arrays import (
    CARRIED,
    DUG,
    DUG_HERE,
    FILLED,
    FLUX,
    KAPPA,
    LEFT_OUT,
    M_ACROSS,
    M_ALONG,
    MOBILE_ACROSS,
    MOBILE_ALONG,
    PUSH_X,
    PUSH_Y,
    PUSHED_VOLUME,
    PUSHED_X,
    PUSHED_Y,
    SINKAGE,
    SLIP_X,
    SLIP_Y,
    STRIP_COLUMNS,
    SUNK,
    SUNK_VOLUME,
    V_PUSHED,
    V_SINKAGE,
    WANTED,
    WEIGHT,
    WHEEL,
    Z,
)
from marsyard.interaction.soil_contact.footprint import TINY, has_axle, strip_area
from marsyard.interaction.soil_kernels import T_VOLUME
from marsyard.jit import VECTOR, inlined, kernel, natural

#: slip of a wheel that spins on the spot, for what it carries along
_SPINS = 0.999
_NO_END = 1e9


@inlined
def drive_slip(bodies, b):
    """Slip of a wheel as built up over its contact, positive where the wheel is driven."""
    V, a, kappa = bodies.twist[b], bodies.axis[b], bodies.slip[b, KAPPA]
    spin = V[3] * a[0] + V[4] * a[1] + V[5] * a[2]
    return kappa if spin >= 0.0 else -kappa


@inlined
def depth_dug(bodies, b, layer, released, tan_repose):
    """z_s, how deep slip digs under a wheel that rolls steadily [m], and how far what it releases
    fills the gap behind it; without end under other bodies, which release nothing."""
    if bodies.kind[b] != WHEEL:
        return _NO_END * layer, 0.0
    slip = min(drive_slip(bodies, b), _SPINS)
    per_layer = slip / (1.0 - slip) if slip > 0.0 else -slip
    dug = trench_depth(per_layer * layer, 2.0 * bodies.shape[b, 1] * tan_repose)
    return dug, released * dug if slip > 0.0 else 0.0


@kernel(fastmath=VECTOR)
def cut_ahead(w, count, dug, share):
    """Take this share of what lies in the way of the layer out of a block, before it is pressed."""
    for k in range(count):
        z = w[Z + k]
        over = z - w[SUNK + k] if w[WEIGHT + k] > 0.0 else 0.0
        more = max(dug - w[DUG_HERE + k], 0.0)
        wanted = min(max(over, 0.0), more)
        w[WANTED + k] = wanted
        w[CARRIED + k] = share * wanted
        w[DUG_HERE + k] += share * wanted
        w[Z + k] = max(z - share * wanted, TINY)
        # what the body meets in this step will be cut, too
        w[LEFT_OUT + k] = share if more > over else 0.0


@kernel
def move_soil(grid, soils, bodies, patch, options, b):
    """Release a part of what is carried along behind the wheel, and give nodes and contact their
    new state."""
    cell = strip_area(grid, patch, b)
    total = patch.total[b]
    plan = flux = in_the_way = taken = lifted = gap = 0.0
    for k in range(patch.blocks[0]):
        layer = soils.layer[b, patch.block_soil[k]]
        if layer > 0.0:
            drives, slides, wanted, carried, opened = weigh(patch.block[k], patch.block_count[k])
            plan += cell * drives
            flux += cell * layer * slides
            in_the_way += cell * wanted
            taken += cell * carried
            lifted += cell * soils.released[b, patch.block_soil[k]] * carried
            gap += cell * opened
    room = 0.0
    if flux > 0.0:
        width = 2.0 * bodies.shape[b, 1] if has_axle(bodies, b) else math.sqrt(plan)
        room = options.h * width * flux / plan
    patch.share[b] = room / max(room, in_the_way) if room > 0.0 else 0.0
    filled = min(1.0, lifted / gap) if gap > 0.0 else 0.0
    left = 1.0 - filled * gap / taken if taken > 0.0 else 0.0
    # soil rises under this body, which looks there; others may come to meet it
    if filled > 0.0 and stands_by_wheel(grid, bodies, b):
        grid.risen[0] += filled * gap / cell
    state = patch.state[patch.side[b], b]
    for k in range(patch.blocks[0]):
        w, count = patch.block[k], patch.block_count[k]
        total[T_VOLUME] += carry(w, count, filled, left, cell)
        write_back(
            grid, patch.block_node[k], patch.block_at[k], w, count, patch.strips[b], state, options
        )


@inlined
def stands_by_wheel(grid, bodies, b):
    """Whether another body is a wheel so near to b that soil under b may come to lie in it."""
    c = bodies.centre[b]
    for other in range(bodies.kind.shape[0]):
        if other != b and bodies.kind[other] == WHEEL:
            near = bodies.reach[b] + bodies.reach[other] + 2.0 * grid.spacing[0]
            dx, dy = bodies.centre[other, 0] - c[0], bodies.centre[other, 1] - c[1]
            if dx * dx + dy * dy < near * near:
                return True
    return False


@kernel(fastmath=VECTOR)
def weigh(w, count):
    """Sums over a block: weights of strips over which soil is carried, and by its speed; heights in
    the way, carried away, and open behind."""
    drives = slides = wanted = carried = opened = 0.0
    for k in range(count):
        flux, weight = w[FLUX + k], w[WEIGHT + k]
        drives += weight if flux > 0.0 else 0.0
        slides += weight * flux
        wanted += w[WANTED + k]
        carried += w[CARRIED + k]
        opened += w[FILLED + k]
    return drives, slides, wanted, carried, opened


@kernel(fastmath=VECTOR)
def carry(w, count, filled, left, cell):
    """Heights filled, first in the plastic hollow, and the volumes that are displaced. Returns the
    sum of these."""
    volume = 0.0
    for k in range(count):
        drag = left * cell * w[CARRIED + k]
        w[PUSHED_VOLUME + k] += drag
        w[PUSHED_X + k] += drag * w[SLIP_X + k]
        w[PUSHED_Y + k] += drag * w[SLIP_Y + k]
        volume += w[SUNK_VOLUME + k] + w[PUSHED_VOLUME + k]
        fill = filled * w[FILLED + k]
        hollow = min(fill, w[SINKAGE + k])
        w[SINKAGE + k] -= hollow
        w[FILLED + k] = fill - hollow
    return volume


@inlined
def write_back(grid, nodes, places, w, count, strips, state, options):
    """Give the nodes their new sinkage, and the contact its state and the displaced soil."""
    strips = natural(strips)
    per_strips = 1.0 / strips
    for at in range(count // strips):
        node = natural(nodes[at])
        touch = state[natural(places[at])]
        first = natural(at * strips)
        pressed = raised = 0.0
        for k in range(strips):
            lane = first + k
            touch[M_ALONG + STRIP_COLUMNS * k] = w[MOBILE_ALONG + lane]
            touch[M_ACROSS + STRIP_COLUMNS * k] = w[MOBILE_ACROSS + lane]
            touch[DUG + STRIP_COLUMNS * k] = w[DUG_HERE + lane]
            pressed += w[SINKAGE + lane] - w[SUNK + lane]
            raised += w[FILLED + lane] - w[CARRIED + lane]
        if pressed != 0.0 or raised != 0.0:
            row = grid.node[node]
            row[DEPTH] = max(row[DEPTH] + pressed * per_strips, 0.0)
            mean = raised * per_strips
            row[REF] += mean
            if raised > pressed:
                keep_top(grid, node)
            row[TIME] = options.time
            if strips > 1:
                relief = grid.relief[node]
                for k in range(strips):
                    lane = first + k
                    relief[STRIPS + k] = w[SINKAGE + lane] - row[DEPTH]
                    relief[LEVELS + k] += w[FILLED + lane] - w[CARRIED + lane] - mean
            if options.flow:
                sunk = pushed = push_x = push_y = 0.0
                for lane in range(first, first + strips):
                    sunk += w[SUNK_VOLUME + lane]
                    pushed += w[PUSHED_VOLUME + lane]
                    push_x += w[PUSHED_X + lane]
                    push_y += w[PUSHED_Y + lane]
                touch[V_SINKAGE] += sunk
                touch[V_PUSHED] += pushed
                touch[PUSH_X] += push_x
                touch[PUSH_Y] += push_y
