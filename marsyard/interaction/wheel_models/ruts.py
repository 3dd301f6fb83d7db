"""The rut that a wheel leaves, and the berms beside it.

Soil is displaced, not made denser: what is pressed out of the rut lies beside it, half on either
side, as a heap whose slopes have the angle of repose. A rut of width b and depth d makes on each
side a heap of the cross-section

    b d/2 = H²/tan φ_r,   that is the height H = √(½ d b tan φ_r) on a base of 2 H/tan φ_r.

A later wheel that deepens the rut lays its soil on the heap's outer side. The foot is a spacing of
the grid away from the rut, since heights under a wheel that follows in the rut are interpolated
between nodes. Berms are soil that was laid down (`ref` of the nodes): wheels that come there roll
over them, and where other laws let soil flow they slide as all soil does. Soil that is laid into
another rut fills it. Nothing is lost but over the edge of the map.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import DEPTH, TIME, deposit, node_at
from marsyard.jit import inlined, kernel

#: soil is pressed down, and laid beside, from so many spacings behind the axle …
_NEAR = 1.0
#: … to so many: nearer nodes belong to the wheel's window
_FAR = 2.5


@kernel
def leave_rut(grid, x, y, depth, hx, hy, half, time):
    """Press the nodes behind the axle down to `depth`. Returns the volume [m³], and how deep the
    rut was there before, the mean over this soil."""
    ds = grid.spacing[0]
    wide = _FAR * ds * abs(hx) + half * abs(hy)
    high = _FAR * ds * abs(hy) + half * abs(hx)
    volume = before = 0.0
    for i in range(int(math.ceil((x - wide) / ds)), int(math.floor((x + wide) / ds)) + 1):
        for j in range(int(math.ceil((y - high) / ds)), int(math.floor((y + high) / ds)) + 1):
            px, py = i * ds - x, j * ds - y
            u, v = px * hx + py * hy, -px * hy + py * hx
            if u < -_FAR * ds or u > -_NEAR * ds or abs(v) > half:
                continue
            node = node_at(grid, i, j)
            if node < 0:
                continue
            more = (depth - grid.node[node, DEPTH]) * ds * ds
            if more > 0.0:
                volume += more
                before += more * grid.node[node, DEPTH]
                grid.node[node, DEPTH] = depth
                grid.node[node, TIME] = time
    return volume, before / volume if volume > 0.0 else 0.0


@inlined
def heap_width(depth, half, scale, ds):
    """Base of the heap beside a rut, 2 H/tan φ_r [m], of a rut that is up to a spacing wider than
    the wheel; `scale` is b tan φ_r of the wheel."""
    if scale <= 0.0:
        return 0.0
    return math.sqrt(2.0 * depth * (2.0 * half + ds) * 2.0 * half / scale)


@inlined
def heap_within(beside, base):
    """Cross-section of a heap of this base from its foot to a place beside it, by tan φ_r [m²]."""
    x = min(max(beside, 0.0), base)
    low, high = min(x, 0.5 * base), max(x - 0.5 * base, 0.0)
    return 0.5 * low * low + 0.5 * high * (base - high)


@kernel
def lay_berms(grid, x, y, volume, hx, hy, half, base, before, time):
    """Lay the soil of the rut beside it, on heaps that grow from one base to another: each node
    gets the mean over its cell."""
    ds = grid.spacing[0]
    foot = half + ds
    reach = foot + base + ds
    wide = _FAR * ds * abs(hx) + reach * abs(hy)
    high = _FAR * ds * abs(hy) + reach * abs(hx)
    total = share = 0.0
    # first the sum of the weights, then each node's part
    for turn in range(2):
        for i in range(int(math.ceil((x - wide) / ds)), int(math.floor((x + wide) / ds)) + 1):
            for j in range(int(math.ceil((y - high) / ds)), int(math.floor((y + high) / ds)) + 1):
                px, py = i * ds - x, j * ds - y
                u, beside = px * hx + py * hy, abs(-px * hy + py * hx) - foot
                near, far = beside - 0.5 * ds, beside + 0.5 * ds
                weight = heap_within(far, base) - heap_within(near, base)
                weight -= heap_within(far, before) - heap_within(near, before)
                if u < -_FAR * ds or u > -_NEAR * ds or weight <= 0.0:
                    continue
                node = node_at(grid, i, j)
                if node < 0:
                    continue
                if turn == 0:
                    total += weight
                else:
                    deposit(grid, node, share * weight)
                    grid.node[node, TIME] = time
        if total <= 0.0:
            return
        share = volume / (ds * ds * total)
