"""Planning over terrain: straight, around, refused; lengths against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control import DrivingLimits, cost_map, plan
from marsyard.errors import InputError
from marsyard.ground.terrain import build_terrain
from marsyard.scenario import validate_terrain


def _terrain(*layers, **more):
    return build_terrain(validate_terrain({"title": "t", "layers": list(layers), **more}, "t"))


FLAT = _terrain({"kind": "plane"})


class Pillar:
    """Flat ground with a round pillar of 1 m, or a ring of that height."""

    def __init__(self, radius, inner=0.0):
        self.radius, self.inner = radius, inner

    def height(self, x, y):
        r = np.hypot(x, y)
        return np.where((r < self.radius) & (r >= self.inner), 1.0, 0.0)


def test_straight_on_flat_ground():
    path = plan(FLAT, (0.03, 0.0), (7.21, 3.3))
    assert path.length == pytest.approx(np.hypot(7.18, 3.3), rel=1e-9)
    assert np.allclose(path.point(0), (0.03, 0)) and np.allclose(path.point(99), (7.21, 3.3))


def test_the_map_of_a_plane_and_a_wave():
    slope = np.radians(12)
    ground = _terrain({"kind": "plane", "slope": "12 deg", "uphill": "30 deg"})
    costs = cost_map(ground, (-2, 2, -1, 1), 0.1)
    assert costs.slope.shape == (41, 21) and np.allclose(costs.slope, slope)
    assert np.allclose(costs.roughness, 0, atol=1e-7) and np.allclose(costs.step, 0, atol=1e-12)
    assert np.allclose(costs.cost, 1 + 3 * (12 / 20) ** 2)
    # waves much shorter than the footprint: roughness is amplitude/√2, slope next to none
    waves = _terrain({"kind": "sine", "amplitude": 0.02, "wavelength": 0.4})
    costs = cost_map(waves, (-1, 1, -1, 1), 0.05, DrivingLimits(footprint=1.2))
    assert costs.roughness.mean() == pytest.approx(0.02 / np.sqrt(2), rel=0.05)
    assert costs.slope.max() < np.radians(1.5)


def test_around_a_pillar_by_the_shortest_way():
    """Two tangents and an arc: 2 √(D² − ρ²) + 2 ρ asin(ρ/D), ρ the pillar and the footprint."""
    limits = DrivingLimits(
        slope=np.radians(60), footprint=0.5, slope_weight=0, roughness_weight=0, roughness=9
    )
    path = plan(Pillar(1.0), (-4.0, 0.0), (4.0, 0.0), limits=limits, cell=0.05)
    blocked, D = 1.5, 4.0
    shortest = 2 * np.sqrt(D**2 - blocked**2) + 2 * blocked * np.arcsin(blocked / D)
    assert 0.97 * shortest < path.length < 1.04 * shortest
    s = np.linspace(0, path.length, 500)
    assert np.hypot(*path.point(s).T).min() > 1.4


def test_around_a_steep_crater():
    ground = _terrain({"kind": "crater", "centre": [0, 0], "diameter": 8, "depth_ratio": 0.25})
    path = plan(ground, (-8.0, 0.3), (8.0, 0.0), cell=0.2)
    s = np.linspace(0, path.length, 400)
    x, y = path.point(s).T
    h = 0.05
    gx = (ground.height(x + h, y) - ground.height(x - h, y)) / (2 * h)
    gy = (ground.height(x, y + h) - ground.height(x, y - h)) / (2 * h)
    assert np.degrees(np.arctan(np.hypot(gx, gy))).max() < 25
    t = np.linspace(-8, 8, 400)
    through = np.degrees(np.arctan(np.abs(np.gradient(ground.height(t, 0 * t), t))))
    assert through.max() > 30
    assert path.length < 1.4 * 16


def test_a_gentle_detour_is_taken_instead_of_a_hill():
    """Over the hill is allowed but dear; the cost found is below that of the straight line."""
    hill = _terrain({"kind": "bump", "centre": [0, 0.4], "radius": 3, "height": 0.7})
    costs = cost_map(hill, (-8, 8, -6, 6), 0.1)
    assert not costs.blocked.any()
    path = plan(hill, (-5.0, 0.0), (5.0, 0.0), bounds=(-8, 8, -6, 6))
    straight = costs.cost_of(np.array([[-5.0, 0.0], [5.0, 0.0]]))
    assert costs.cost_of(path.points) < 0.9 * straight
    assert np.abs(path.points[:, 1]).max() > 1


def test_refused_in_one_sentence():
    ring = Pillar(2.5, inner=2.0)
    limits = DrivingLimits(footprint=0.3)
    with pytest.raises(InputError, match=r"no path exists from \(0, 0\) m to \(6, 0\) m"):
        plan(ring, (0.0, 0.0), (6.0, 0.0), limits=limits)
    with pytest.raises(InputError, match="goal: .* not traversable"):
        plan(ring, (0.0, 0.0), (2.2, 0.0), limits=limits)
    bounded = _terrain({"kind": "plane"}, bounds=[[-3, 3], [-3, 3]])
    with pytest.raises(InputError, match="outside"):
        plan(bounded, (0.0, 0.0), (8.0, 0.0))
    with pytest.raises(InputError, match="cell: 0 m"):
        plan(FLAT, (0.0, 0.0), (6.0, 0.0), cell=0)


def test_start_is_goal():
    path = plan(FLAT, (0.0, 0.0), (0.02, 0.0))
    assert path.length == pytest.approx(0.02)


def test_a_goal_too_far_for_a_map():
    with pytest.raises(InputError, match=r"bounds: a map of 1600 by 800 m has .* cells of 0.1 m"):
        plan(FLAT, (0.0, 0.0), (800.0, 0.0))
    with pytest.raises(InputError, match="bounds: from .* give at most"):
        plan(FLAT, (0.0, 0.0), (1e12, 0.0))
