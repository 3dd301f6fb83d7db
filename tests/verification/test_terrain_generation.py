"""Generated terrains against the laws they are said to follow.

Fractal surfaces against ν(d) = ν₀ (d/d₀)^H, rocks against Golombek and Rapp's distribution, craters
against Pike's proportions and the power law of their number. Bands are statistical: several seeds,
and where a band is tighter than chance allows in a test, its width is said.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from marsyard.ground.terrain import build_terrain, craters, fractal, rocks
from marsyard.scenario import validate_terrain


def part(**layer):
    return validate_terrain({"layers": [layer]}).layers[0]


def build(**layer):
    return build_terrain(validate_terrain({"layers": [layer]}))


# --- fractal


def structure(heights, spacing, lags):
    """Mean squared height difference by direct counting along x and y, without wrapping."""
    found = []
    for lag in lags:
        n = round(lag / spacing)
        along = np.concatenate([
            (heights[:, n:] - heights[:, :-n]).ravel(), (heights[n:] - heights[:-n]).ravel()
        ])  # fmt: skip
        found.append(np.mean(along**2))
    return np.array(found)


@pytest.mark.parametrize("hurst", [0.35, 0.5, 0.65, 0.8])
def test_structure_function_of_a_fractal_surface(hurst):
    spacing, patch, lag, rough = 0.1, 51.2, 1.0, 0.07
    x, y = np.meshgrid(np.arange(512) * spacing, np.arange(512) * spacing)
    lags = np.array([0.4, 0.6, 1.0, 1.6, 2.5, 4.0])
    found = []
    for seed in range(12):
        land = build(kind="fractal", hurst=hurst, roughness=rough, lag=lag, spacing=spacing,
                     patch=patch, seed=seed)  # fmt: skip
        found.append(structure(land.height(x, y), spacing, lags))
    mean = np.mean(found, axis=0)
    slope = np.polyfit(np.log(lags), np.log(mean), 1)[0]
    # 12 patches: the slope scatters by some 0.02 with H = 0.35 and 0.05 with H = 0.8
    assert slope == pytest.approx(2 * hurst, abs=0.12)
    assert math.sqrt(mean[2]) == pytest.approx(rough, rel=0.08)
    # each single surface is within a factor of its expectation too
    single = np.sqrt(np.array(found)[:, 2]) / rough
    assert single.min() > 0.6 and single.max() < 1.6


@pytest.mark.parametrize("hurst", [0.5, 0.65, 0.8])
def test_expected_structure_function_is_the_power_law(hurst):
    # no chance here: what the variances of the waves add up to, from 4 spacings to an 8th of the
    # patch, stays within 3 % of the power law; without the tilt of longer waves it would lack 20 %
    count, patch = 512, 51.2
    variance = fractal.wave_variances(count, patch, hurst)
    lags = np.geomspace(0.4, 6.4, 9)
    nu = np.array([fractal.rms_difference(variance, patch, d) for d in lags])
    law = nu[3] * (lags / lags[3]) ** hurst
    assert nu == pytest.approx(law, rel=0.03)
    variance = fractal.wave_variances(count, patch, hurst, longest=patch)
    bare = np.array([fractal.rms_difference(variance, patch, d) for d in lags])
    assert bare[-1] / bare[3] < 0.97 * law[-1] / law[3]


def test_heights_are_normal_and_isotropic():
    rng = np.random.default_rng(5)
    along_x, along_y, values = [], [], []
    for seed in range(12):
        land = build(kind="fractal", hurst=0.5, roughness=0.1, seed=seed)
        x, y = rng.uniform(-25, 25, (2, 4000))
        along_x.append(land.height(x + 1, y) - land.height(x, y))
        along_y.append(land.height(x, y + 1) - land.height(x, y))
        values.append(along_x[-1])
    ratio = np.std(along_x) / np.std(along_y)
    assert ratio == pytest.approx(1, abs=0.06)
    scaled = np.concatenate(values) / np.std(values)
    assert np.mean(scaled) == pytest.approx(0, abs=0.03)
    assert np.mean(scaled**4) == pytest.approx(3, abs=0.25)


def test_the_surface_passes_through_its_grid_and_has_continuous_slopes():
    spec = part(kind="fractal", hurst=0.6, roughness=0.1, spacing=0.2, patch=12.8)
    land = fractal.fractal(spec, np.random.default_rng(1))
    # the grid itself, by the plain inverse transform
    shape = fractal.wave_variances(64, 12.8, 0.6)
    scale = 0.1 / fractal.rms_difference(shape, 12.8, 1.0)
    noise = np.fft.rfft2(np.random.default_rng(1).standard_normal((64, 64)))
    grid = np.fft.irfft2(noise * np.sqrt(shape) * scale * 64, s=(64, 64))
    x, y = np.meshgrid(np.arange(64) * 0.2, np.arange(64) * 0.2)
    assert land.heights(x.ravel(), y.ravel()) == pytest.approx(grid.ravel(), abs=1e-12)
    # slopes from both sides of grid lines agree
    s = np.linspace(0, 12.8, 500)
    for at in (0.0, 0.2, 6.4, 12.6):
        before = (land.heights(s * 0 + at, s) - land.heights(s * 0 + at - 1e-6, s)) / 1e-6
        after = (land.heights(s * 0 + at + 1e-6, s) - land.heights(s * 0 + at, s)) / 1e-6
        assert after == pytest.approx(before, abs=1e-4)


# --- craters


def test_profile_of_a_fresh_crater():
    land = build(kind="crater", diameter=10, centre=[3, -2])
    r = np.array([0.0, 2.5, 5.0, 7.5, 10.0, 20.0, 30.0])
    z = land.height(3 + r * math.cos(1.1), -2 + r * math.sin(1.1))
    depth, rim = 1.96, 0.36
    assert z[0] == pytest.approx(rim - depth)
    assert z[2] == pytest.approx(rim, abs=1e-9)
    assert z[1] == pytest.approx(rim - depth * 0.75)
    assert z[3:5] == pytest.approx([rim / 1.5**3, rim / 8])
    assert (z[5:] == 0).all()
    # steepest just inside the crest: 4 d/D
    x = np.linspace(3 + 4.0, 3 + 4.999, 1000)
    steepest = np.max(np.gradient(land.height(x, np.full_like(x, -2)), x))
    assert steepest == pytest.approx(4 * 0.196, rel=2e-3)


def test_volume_of_a_crater():
    # closed form of the bowl below the plain: π R² (d−t)² / 2d
    land = build(kind="crater", diameter=4)
    x, y = np.meshgrid(np.linspace(-2, 2, 801), np.linspace(-2, 2, 801))
    z = land.height(x, y)
    depth, rim = 4 * 0.196, 4 * 0.036
    volume = -np.sum(z[(z < 0) & (np.hypot(x, y) < 2)]) * 0.005**2
    assert volume == pytest.approx(math.pi * 4 * (depth - rim) ** 2 / (2 * depth), rel=2e-3)


def test_number_of_craters_follows_the_power_law():
    spec = part(kind="craters", density=0.077, exponent=2.4, smallest=0.5, largest=12,
                area=[[-100, 100], [-100, 100]])  # fmt: skip
    area, diameters, counts = 200.0**2, [], []
    for seed in range(6):
        centre, numbers = craters.population(spec, np.random.default_rng(seed))
        diameters.append(2 * numbers[:, 0])
        counts.append(len(centre))
        assert (np.abs(centre) <= 100).all()
    all_ = np.concatenate(diameters)
    assert all_.min() >= 0.5 and all_.max() <= 12
    for d in (0.5, 0.7, 1.0, 2.0, 4.0):
        expected = 6 * area * 0.077 * (d**-2.4 - 12**-2.4)
        found = np.sum(all_ >= d)
        assert abs(found - expected) < 4 * math.sqrt(expected), d
    # the maximum likelihood estimate of the exponent, over a range without the upper limit's bend
    small = all_[all_ < 4]
    log = np.log(small / 0.5)
    b = np.linspace(1.5, 3.5, 2001)
    likelihood = len(small) * np.log(b / (1 - (4 / 0.5) ** -b)) - b * log.sum()
    assert b[np.argmax(likelihood)] == pytest.approx(2.4, abs=0.05)
    # the number itself varies as Poisson's
    assert np.var(counts) < 8 * np.mean(counts)


def test_overlapping_craters_add_up_against_brute_force():
    spec = part(kind="craters", smallest=1, largest=8, area=[[-10, 10], [-10, 10]])
    centre, numbers = craters.population(spec, np.random.default_rng(3))
    land = craters.craters(spec, np.random.default_rng(3))
    x, y = np.random.default_rng(0).uniform(-30, 30, (2, 500))
    total = np.zeros(500)
    for (cx, cy), (radius, depth, rim) in zip(centre, numbers, strict=True):
        s = np.hypot(x - cx, y - cy) / radius
        outside = rim * s**-3.0
        fade = np.clip(s - 3, 0, 1)
        total += np.where(
            s <= 1, rim - depth * (1 - s**2), outside * (1 - fade**2 * (3 - 2 * fade))
        )
    assert land.heights(x, y) == pytest.approx(total, abs=1e-12)


# --- rocks


@pytest.mark.parametrize("coverage", [0.05, 0.19, 0.35])
def test_rocks_follow_golombek_and_rapp(coverage):
    spec = part(kind="rocks", coverage=coverage, smallest=0.08, largest=3,
                area=[[-25, 25], [-25, 25]], repeat=True)  # fmt: skip
    q = 1.79 + 0.152 / coverage
    area, seeds = 2500.0, 4
    found = []
    for seed in range(seeds):
        _, numbers = rocks.field(spec, np.random.default_rng(seed))
        found.append(4 * numbers[:, 0] * numbers[:, 1])  # D² of the ellipse's area
    square = np.concatenate(found)
    for d in (0.08, 0.15, 0.3, 0.5, 0.8):
        covered = np.sum(math.pi / 4 * square[square >= d**2]) / (seeds * area)
        expected = coverage * (math.exp(-q * d) - math.exp(-q * 3))
        # Poisson's scatter of a sum of areas: the variance is the sum of their squares
        scatter = math.sqrt(np.sum((math.pi / 4 * square[square >= d**2]) ** 2)) / (seeds * area)
        assert abs(covered - expected) < 4 * scatter + 1e-5, (d, covered, expected)
    # what the terrain shows is the same share
    land = rocks.rocks(spec, np.random.default_rng(0))
    x, y = np.random.default_rng(9).uniform(-25, 25, (2, 200_000))
    share = np.mean(land.covers(x, y))
    expected = np.sum(math.pi / 4 * found[0]) / area
    assert share == pytest.approx(expected, abs=5 * math.sqrt(expected / 200_000))


@pytest.mark.parametrize("repeat", [False, True])
def test_rocks_never_overlap(repeat):
    spec = part(kind="rocks", coverage=0.35, smallest=0.05, area=[[-6, 6], [-4, 4]], repeat=repeat)
    centre, numbers = rocks.field(spec, np.random.default_rng(2))
    assert len(centre) > 500
    # outlines of every rock, moved by whole periods where it repeats, against all others
    turn = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    for k in range(len(centre)):
        long, short, heading, _ = numbers[k]
        u, v = long * np.cos(turn), short * np.sin(turn)
        x = centre[k, 0] + u * math.cos(heading) - v * math.sin(heading)
        y = centre[k, 1] + u * math.sin(heading) + v * math.cos(heading)
        dx = x[:, None] - centre[None, :, 0]
        dy = y[:, None] - centre[None, :, 1]
        if repeat:
            dx, dy = dx - 12 * np.round(dx / 12), dy - 8 * np.round(dy / 8)
        c, s = np.cos(numbers[:, 2]), np.sin(numbers[:, 2])
        inside = ((dx * c + dy * s) / numbers[:, 0]) ** 2 + ((dy * c - dx * s) / numbers[:, 1]) ** 2
        inside[:, k] = 2.0
        assert inside.min() > 1.0


def test_shape_of_a_rock():
    spec = part(kind="rocks", coverage=0.02, smallest=0.5, largest=2, height_ratio=0.4,
                elongation=2, area=[[-8, 8], [-8, 8]])  # fmt: skip
    centre, numbers = rocks.field(spec, np.random.default_rng(1))
    land = rocks.rocks(spec, np.random.default_rng(1))
    long, short, heading, height = numbers.T
    diameter = 2 * np.sqrt(long * short)
    assert height == pytest.approx(0.4 * diameter)
    assert (long / short >= 1).all() and (long / short <= 2).all()
    assert land.heights(*centre.T) == pytest.approx(height)
    # an ellipsoid: at half its long axis √(3/4) of the height, just beyond its end nothing
    step = np.column_stack([np.cos(heading), np.sin(heading)])
    half = centre + 0.5 * long[:, None] * step
    assert land.heights(*half.T) == pytest.approx(height * math.sqrt(0.75))
    across = centre + 1.001 * short[:, None] * np.column_stack([-step[:, 1], step[:, 0]])
    assert (land.heights(*across.T) == 0).all()
    # volume of the half ellipsoids
    x, y = np.meshgrid(np.arange(-10, 10, 0.01), np.arange(-10, 10, 0.01))
    volume = np.sum(land.heights(x.ravel(), y.ravel())) * 1e-4
    assert volume == pytest.approx(np.sum(2 / 3 * math.pi * long * short * height), rel=3e-3)


def test_no_room_for_rocks_is_said():
    from marsyard.errors import InputError

    spec = part(kind="rocks", coverage=0.4, elongation=3, smallest=1.0, largest=1.1,
                area=[[0, 3], [0, 3]])  # fmt: skip
    crowded = spec.model_copy(update={"coverage": 40.0})
    with pytest.raises(InputError, match="no space"):
        rocks.rocks(crowded, np.random.default_rng(0))


# --- speed: tiles of ground are asked for while a rover drives


@pytest.mark.parametrize(
    "layer",
    [
        {"kind": "fractal", "hurst": 0.6, "roughness": 0.05},
        {"kind": "craters", "smallest": 0.5, "largest": 10, "area": [[-100, 100], [-100, 100]]},
        {"kind": "rocks", "coverage": 0.19, "repeat": True},
    ],
    ids=lambda layer: layer["kind"],
)
def test_a_tile_of_heights_is_cheap(layer):
    land = build(**layer)
    x, y = np.meshgrid(np.arange(32) * 0.02, np.arange(32) * 0.02)
    land.height(x, y)
    took = []
    for k in range(40):
        start = time.perf_counter()
        land.height(x + 0.5 * k - 10, y - 0.3 * k)
        took.append(time.perf_counter() - start)
    assert np.median(took) < 2e-3  # 0.1 to 0.3 ms on a quiet core
