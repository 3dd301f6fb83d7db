"""Where a click meets the ground, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.operations.desk.ground import ClickedGround, _to_triangles
from marsyard.scenario import validate

BASE = {"robot": {"name": "exomars"}, "run": {"duration": 1, "step": "1 ms"}}


def ground_of(*grounds, **more) -> ClickedGround:
    return ClickedGround(validate({**BASE, "ground": list(grounds), **more}))


def test_a_slope_is_met_where_the_equation_says():
    slope = math.radians(10)
    ground = ground_of({"kind": "plane", "name": "a", "slope": "10 deg", "uphill": "0 deg"})
    origin, direction = np.array([-3.0, 1.0, 5.0]), np.array([2.0, -0.3, -1.0])
    hit = ground.hit(origin, direction)
    # z = x tan(slope) along the ray
    t = (origin[0] * math.tan(slope) - origin[2]) / (direction[2] - direction[0] * math.tan(slope))
    assert hit == pytest.approx(origin + t * direction, abs=1e-9)
    assert ground.height(2.0, 7.0) == pytest.approx(2 * math.tan(slope))
    assert ground.hit(origin, [0.0, 0.0, 1.0]) is None
    assert ground.hit(origin, [0.0, 0.0, 0.0]) is None
    assert ground.hit([0, 0, math.nan], direction) is None


def test_of_two_the_nearer_one_is_met():
    ball = {"kind": "sphere", "name": "b", "centre": [4, 0, 0.5], "radius": 1.0}
    ground = ground_of({"kind": "plane", "name": "a"}, ball)
    hit = ground.hit([0.0, 0.0, 0.5], [1.0, 0.0, 0.0])
    assert hit == pytest.approx([3.0, 0.0, 0.5], abs=5e-3)  # a ball of triangles
    assert ground.hit([0, 5, 1], [1, 0, -0.1]) == pytest.approx([10, 5, 0])


def test_a_terrain_is_met_where_its_height_is():
    layers = [{"kind": "sine", "amplitude": "0.5 m", "wavelength": "6 m", "heading": "30 deg"}]
    ground = ground_of(
        {"kind": "terrain", "name": "t", "terrain": {"layers": layers}, "soil": "dry_sand"}
    )
    rng = np.random.default_rng(1)
    for _ in range(50):
        origin = np.array([*rng.uniform(-5, 5, 2), rng.uniform(2, 8)])
        direction = np.array([*rng.uniform(-1, 1, 2), rng.uniform(-1.0, -0.2)])
        hit = ground.hit(origin, direction)
        assert hit is not None
        assert hit[2] == pytest.approx(float(ground.terrain.height(hit[0], hit[1])), abs=2e-4)
        # nothing is in the way: points before it are above the terrain
        before = origin + np.linspace(0, 0.995, 400)[:, None] * (hit - origin)
        assert np.all(before[:, 2] > ground.terrain.height(before[:, 0], before[:, 1]))


def test_a_turned_box_of_triangles_is_met_as_by_slabs():
    half = np.array([0.5, 1.0, 1.5])
    a, b = 0.7, -1.1
    turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
    turn = turn @ [[1, 0, 0], [0, math.cos(b), -math.sin(b)], [0, math.sin(b), math.cos(b)]]
    corners = _box(half) @ turn.T
    rng = np.random.default_rng(2)
    met = 0
    for _ in range(200):
        origin = 4 * _unit(rng.normal(size=3))
        direction = _unit(rng.normal(size=3) * 1.5 - origin)
        # in the frame of the box: the last entry into a slab must come before the first exit
        o, d = turn.T @ origin, turn.T @ direction
        ends = np.sort(np.stack([(-half - o) / d, (half - o) / d]), axis=0)
        there = ends[0].max() if ends[0].max() <= ends[1].min() else math.inf
        assert _to_triangles(origin, direction, corners) == pytest.approx(there, abs=1e-9)
        met += math.isfinite(there)
    assert 50 < met < 200


def _box(half: np.ndarray) -> np.ndarray:
    """Triangles of a box, shape (12, 3, 3)."""
    out = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis] = side
            face[:, u], face[:, v] = [-1, 1, 1, -1], [-1, -1, 1, 1]
            out += [face[[0, 1, 2]] * half, face[[0, 2, 3]] * half]
    return np.array(out)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def test_no_ground_is_no_hit():
    ground = ClickedGround.__new__(ClickedGround)
    ground.surfaces, ground.terrain, ground.planes = (), None, []
    ground._corners = np.zeros((0, 3, 3))
    assert ground.hit([0, 0, 1], [0, 0, -1]) is None
    assert ground.height(0.0, 0.0, other=-3.0) == -3.0
