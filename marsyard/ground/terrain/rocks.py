"""Fields of rocks with the sizes counted on Mars.

The share of the ground covered by rocks of diameter D or more is (Golombek and Rapp 1997, J.
Geophys. Res. 102(E2), 4117–4129, doi 10.1029/96JE03319; D in metres)

    F(D) = k exp(−q D),     q = 1.79 + 0.152 / k  [1/m]

with the coverage k by rocks of all sizes. A rock of diameter D covers π D²/4, so that per area
there are n(D) dD = (4 k q / π) exp(−q D) D⁻² dD rocks. Their number between the smallest and the
largest diameter is Poisson's; diameters follow n(D); places are spread evenly, largest rocks first,
and drawn again where a rock would touch another. Beyond the limits rocks are left out, so that the
share covered is F(smallest) − F(largest).

A rock is the upper half of an ellipsoid: seen from above an ellipse of the area π D²/4, length over
width evenly spread up to `elongation`, turned at random; height H = ratio · D, as a rule half the
diameter. Where a rock is, its height is added to the ground below; its rim is vertical.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.cells import cell_of, compiled, make_cells, repeated, wrapped
from marsyard.ground.terrain.craters import _free
from marsyard.ground.terrain.layer import Layer

MOST_ROCKS = 500_000
TRIES = 32  # places drawn at once for a rock
ROUNDS = 200  # times they are drawn before giving up


def steepness(coverage: float) -> float:
    """q of the size distribution [1/m]."""
    return 1.79 + 0.152 / coverage


def rocks(spec: Any, random: np.random.Generator) -> Layer:
    """The layer of a field of rocks."""
    centre, numbers = field(spec, random)
    if len(centre) == 0:
        return Layer(lambda x, y: np.zeros(x.shape))
    reach = numbers[:, 0]
    repeat = None
    if spec.repeat:
        (x0, x1), (y0, y1) = spec.area
        repeat = (x0, x1, y0, y1)
        original, centre = repeated(centre, reach, repeat)
        numbers, reach = numbers[original], reach[original]
    cells = make_cells(centre - reach[:, None], centre + reach[:, None], repeat)

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        _heights(x, y, cells, centre, numbers, out)
        return out

    return Layer(heights, None, spec.soil, lambda x, y: heights(x, y) > 0.0)


def field(spec: Any, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres [m], shape [n, 2], and long and short half axis [m], heading of the long one [rad]
    and height [m], shape [n, 4], of the rocks of a field, largest first."""
    (x0, x1), (y0, y1) = spec.area
    if spec.repeat and 2 * spec.largest > min(x1 - x0, y1 - y0):
        raise InputError("largest: a repeated area must be at least twice as wide as its rocks")
    diameter = _diameters(spec, (x1 - x0) * (y1 - y0), random)
    count = len(diameter)
    stretch = np.sqrt(random.uniform(1.0, spec.elongation, count))
    half = np.column_stack([diameter / 2 * stretch, diameter / 2 / stretch])
    heading = random.uniform(0.0, math.pi, count)
    # no two touch: circles around the ellipses are kept apart
    order = np.argsort(-half[:, 0], kind="stable")
    diameter, half, heading = diameter[order], half[order], heading[order]
    centre = _place(half[:, 0], (x0, x1, y0, y1), spec.repeat, random)
    numbers = np.column_stack([half, heading, spec.height_ratio * diameter])
    keep = _free(centre, half[:, 0], spec.clear)
    return centre[keep], numbers[keep]


def _diameters(spec: Any, area: float, random: np.random.Generator) -> np.ndarray:
    """Diameters [m] of a random number of rocks between the limits."""
    q = steepness(spec.coverage)
    edge = np.geomspace(spec.smallest, spec.largest, 4001)
    # rocks per area between the edges: n(D) integrated by the midpoint in log D
    middle = np.sqrt(edge[1:] * edge[:-1])
    density = 4 * spec.coverage * q / math.pi * np.exp(-q * middle) / middle**2
    cumulative = np.concatenate([[0.0], np.cumsum(density * middle * np.diff(np.log(edge)))])
    expected = cumulative[-1] * area
    if expected > MOST_ROCKS:
        raise InputError(
            f"smallest = {spec.smallest:g} m: gives about {expected:.3g} rocks; at most "
            f"{MOST_ROCKS} are allowed, so use larger ones, fewer of them or a smaller area"
        )
    count = random.poisson(expected)
    return np.interp(random.random(count) * cumulative[-1], cumulative, edge)


def _place(
    radius: np.ndarray,
    area: tuple[float, float, float, float],
    repeat: bool,
    random: np.random.Generator,
) -> np.ndarray:
    """Centres [m] of circles that do not touch, shape [n, 2]; radii in falling order."""
    xmin, xmax, ymin, ymax = area
    centre = np.zeros((len(radius), 2))
    if len(radius) == 0:
        return centre
    size = max(2.0 * radius[0], math.sqrt((xmax - xmin) * (ymax - ymin) / 1e6))
    nx = max(1, int((xmax - xmin) / size))
    ny = max(1, int((ymax - ymin) / size))
    head = np.full(nx * ny, -1)
    following = np.full(len(radius), -1)
    placed, stuck = 0, 0
    while placed < len(radius):
        batch = min(4096, len(radius) - placed)
        x = random.uniform(xmin, xmax, (batch, TRIES))
        y = random.uniform(ymin, ymax, (batch, TRIES))
        done = _place_batch(
            placed, x, y, radius, centre, head, following, np.array(area), nx, ny, repeat
        )
        stuck = stuck + 1 if done == placed else 0
        if stuck > ROUNDS:
            raise InputError(
                f"no space for a rock of {2 * radius[placed]:.3g} m beside {placed} larger ones; "
                "take a lower coverage or elongation, or a larger area"
            )
        placed = done
    return centre


@compiled
def _place_batch(start, x, y, radius, centre, head, following, area, nx, ny, repeat):
    """Place rocks from `start` at the first free of their tries; the number placed so far."""
    wide, deep = area[1] - area[0], area[3] - area[2]
    for b in range(len(x)):
        k = start + b
        found = False
        for t in range(x.shape[1]):
            px, py = x[b, t], y[b, t]
            i = min(nx - 1, int((px - area[0]) / wide * nx))
            j = min(ny - 1, int((py - area[2]) / deep * ny))
            free = True
            for dj in range(-1, 2):
                for di in range(-1, 2):
                    ci, cj = i + di, j + dj
                    if repeat:
                        ci, cj = ci % nx, cj % ny
                    elif ci < 0 or cj < 0 or ci >= nx or cj >= ny:
                        continue
                    other = head[cj * nx + ci]
                    while other >= 0 and free:
                        dx, dy = abs(px - centre[other, 0]), abs(py - centre[other, 1])
                        if repeat:
                            dx, dy = min(dx, wide - dx), min(dy, deep - dy)
                        reach = radius[k] + radius[other]
                        free = dx * dx + dy * dy > reach * reach
                        other = following[other]
                    if not free:
                        break
                if not free:
                    break
            if free:
                centre[k, 0], centre[k, 1] = px, py
                following[k] = head[j * nx + i]
                head[j * nx + i] = k
                found = True
                break
        if not found:
            return k
    return start + len(x)


@compiled
def _heights(x, y, cells, centre, numbers, out):
    for p in range(len(x)):
        px = wrapped(x[p], cells.xmin, cells.width)
        py = wrapped(y[p], cells.ymin, cells.height)
        out[p] = 0.0
        c = cell_of(cells, px, py)
        if c < 0:
            continue
        for n in range(cells.first[c], cells.first[c + 1]):
            k = cells.item[n]
            dx, dy = px - centre[k, 0], py - centre[k, 1]
            long, short = numbers[k, 0], numbers[k, 1]
            if dx * dx + dy * dy >= long * long:
                continue
            cos, sin = math.cos(numbers[k, 2]), math.sin(numbers[k, 2])
            u, v = (dx * cos + dy * sin) / long, (dy * cos - dx * sin) / short
            inside = 1.0 - u * u - v * v
            if inside > 0.0:
                out[p] = max(out[p], numbers[k, 3] * math.sqrt(inside))
