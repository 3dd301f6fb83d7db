"""Simple impact craters, one or a population.

A crater of rim-to-rim diameter D = 2R, depth d below the rim crest and rim height t above the
plain has, at the distance r from its centre,

    z = t − d (1 − (r/R)²)              r ≤ R      a paraboloid, as simple craters nearly are
    z = t (r/R)⁻³ w(r/R)                r > R      uplifted rim and ejecta

The exponent −3 is that of McGetchin et al. 1973 (Earth Planet. Sci. Lett. 20, 226–236) for the
thickness of ejecta; here it carries the whole rim. w is 1 up to 3R and falls smoothly to 0 at 4R,
where the profile ends. Fresh lunar craters below 15 km have d = 0.196 D and t = 0.036 D (Pike 1977,
Impact and Explosion Cratering, 489–509, whose powers 1.010 and 1.014 of D in km are taken as 1).
Older ones are shallower; a rim is lowered as the bowl is filled, t = (0.036/0.196) d (assumed). The
inner wall is steepest at the crest, 4 d/D: 38° for a fresh crater.

A population has on average N(≥D) = c D^−b craters per area, D between two limits: their number is
Poisson's, their centres are spread evenly. b = 2 with a few percent of geometric saturation,
c = 1.54 (Gault 1970, Radio Science 5, 273–291), is the equilibrium of small lunar craters (Minton
et al. 2019, Icarus 326, 63–87). Heights of overlapping craters add up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.cells import cell_of, compiled, make_cells, repeated, wrapped
from marsyard.ground.terrain.layer import Layer

RIM_OVER_DEPTH = 0.036 / 0.196
EJECTA = (3.0, 4.0)  # where they begin to fade and where they end, over the radius
SHOWN = 1.5  # of a crater with its rim, over the radius
MOST_CRATERS = 500_000


def crater(spec: Any) -> Layer:
    """The layer of one crater."""
    rim = spec.rim_ratio
    if rim is None:
        rim = RIM_OVER_DEPTH * spec.depth_ratio
    numbers = np.array([spec.diameter / 2, spec.depth_ratio * spec.diameter, rim * spec.diameter])
    layer = _layer(np.array([spec.centre]), numbers[None, :], None)
    (x, y), reach = spec.centre, SHOWN * numbers[0]
    return replace(layer, feature=(x - reach, x + reach, y - reach, y + reach))


def craters(spec: Any, random: np.random.Generator) -> Layer:
    """The layer of a population of craters."""
    centre, numbers = population(spec, random)
    if len(centre) == 0:
        return Layer(lambda x, y: np.zeros(x.shape))
    (x0, x1), (y0, y1) = spec.area
    return _layer(centre, numbers, (x0, x1, y0, y1) if spec.repeat else None)


def population(spec: Any, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres [m], shape [n, 2], and radius, depth and rim height [m], shape [n, 3]."""
    (x0, x1), (y0, y1) = spec.area
    if spec.repeat and EJECTA[1] * spec.largest / 2 > min(x1 - x0, y1 - y0):
        raise InputError(
            f"largest = {spec.largest:g} m: "
            f"a repeated area must be at least twice as wide as its largest crater, here "
            f"{2 * spec.largest:g} m"
        )
    few = float(spec.density * spec.largest**-spec.exponent)
    many = float(spec.density * spec.smallest**-spec.exponent)
    expected = (many - few) * (x1 - x0) * (y1 - y0)
    if expected > MOST_CRATERS:
        raise InputError(
            f"smallest = {spec.smallest:g} m: gives about {expected:.3g} craters; at most "
            f"{MOST_CRATERS} are allowed, so use larger ones, fewer of them or a smaller area"
        )
    count = random.poisson(expected)
    # inverse of the cumulative law, between the limits
    diameter = ((few + (many - few) * random.random(count)) / spec.density) ** (-1 / spec.exponent)
    centre = np.column_stack([random.uniform(x0, x1, count), random.uniform(y0, y1, count)])
    shallow, deep = spec.depth_ratio
    depth = random.uniform(shallow, deep, count) * diameter
    keep = _free(centre, diameter / 2, spec.clear)
    numbers = np.column_stack([diameter / 2, depth, RIM_OVER_DEPTH * depth])
    return centre[keep], numbers[keep]


def _free(centre: np.ndarray, radius: np.ndarray, clear: Any) -> np.ndarray:
    """Which things of a radius touch none of the circles kept free."""
    keep = np.ones(len(centre), dtype=bool)
    for circle in clear:
        keep &= np.hypot(*(centre - circle.centre).T) > radius + circle.radius
    return keep


def _layer(
    centre: np.ndarray, numbers: np.ndarray, repeat: tuple[float, float, float, float] | None
) -> Layer:
    reach = EJECTA[1] * numbers[:, 0]
    if repeat is not None:
        original, centre = repeated(centre, reach, repeat)
        numbers, reach = numbers[original], reach[original]
    cells = make_cells(centre - reach[:, None], centre + reach[:, None], repeat)

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        _heights(x, y, cells, centre, numbers, out)
        return out

    return Layer(heights)


@compiled
def profile(share, depth, rim):
    """Height [m] of a crater at the distance `share` from its centre, in radii."""
    if share <= 1.0:
        return rim - depth * (1.0 - share * share)
    if share >= 4.0:
        return 0.0
    fade = min(max(share - 3.0, 0.0), 1.0)
    return rim / share**3 * (1.0 - fade * fade * (3.0 - 2.0 * fade))


@compiled
def _heights(x, y, cells, centre, numbers, out):
    for p in range(len(x)):
        px = wrapped(x[p], cells.xmin, cells.width)
        py = wrapped(y[p], cells.ymin, cells.height)
        total = 0.0
        c = cell_of(cells, px, py)
        if c >= 0:
            for n in range(cells.first[c], cells.first[c + 1]):
                k = cells.item[n]
                dx, dy = px - centre[k, 0], py - centre[k, 1]
                radius = numbers[k, 0]
                square = dx * dx + dy * dy
                if square < 16.0 * radius * radius:
                    total += profile(math.sqrt(square) / radius, numbers[k, 1], numbers[k, 2])
        out[p] = total
