"""Margins against what can be seen by hand."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control.stability_margin import (
    energy_margin,
    hull,
    longitudinal_margin,
    static_margin,
    support_polygon,
    tip_over_angle,
)

A, B, H = 0.3, 0.2, 0.25
FEET = np.array([[A, B, 0], [A, -B, 0], [-A, B, 0], [-A, -B, 0]])


def _tilted(angle: float) -> np.ndarray:
    """Down, seen from ground that rises by an angle towards +x."""
    return np.array([-np.sin(angle), 0, -np.cos(angle)])


def test_hull_of_random_points_is_convex_and_holds_all():
    rng = np.random.default_rng(1)
    for _ in range(50):
        points = rng.normal(size=(12, 2))
        corners = points[hull(points)]
        edges = np.roll(corners, -1, axis=0) - corners
        for a, e in zip(corners, edges, strict=True):
            side = e[0] * (points[:, 1] - a[1]) - e[1] * (points[:, 0] - a[0])
            assert np.all(side >= -1e-12)


def test_static_margin_of_a_rectangle():
    assert static_margin(FEET, [0, 0, H]) == pytest.approx(B)
    assert static_margin(FEET, [0.25, 0, H]) == pytest.approx(0.05)
    assert static_margin(FEET, [0.4, 0, H]) == pytest.approx(-0.1)
    assert static_margin(FEET, [0.33, 0.24, H]) == pytest.approx(-0.05)
    inner = np.vstack([FEET, [0, 0, 0]])
    assert len(support_polygon(inner)) == 4
    # on two feet or one: how far it is off them
    assert static_margin(FEET[:2], [0.1, 0, H]) == pytest.approx(-0.2)
    assert static_margin(FEET[:1], [0, B, H]) == pytest.approx(-A)
    assert static_margin(FEET[:0], [0, 0, H]) == -np.inf


def test_static_margin_on_a_slope():
    """The centre of mass is seen h tan θ further down, lengths shrink by cos θ."""
    for angle in (0.1, 0.3, 0.6):
        expected = min((A - H * np.tan(angle)) * np.cos(angle), B)
        assert static_margin(FEET, [0, 0, H], _tilted(angle)) == pytest.approx(expected)


def test_longitudinal_margin():
    triangle = FEET[:3]
    # its long edge runs through the middle
    assert longitudinal_margin(triangle, [0, 0, H]) == pytest.approx(0, abs=1e-12)
    assert longitudinal_margin(triangle, [0.1, 0, H]) == pytest.approx(0.1)
    assert longitudinal_margin(FEET, [0.1, 0, H]) == pytest.approx(0.2)
    assert longitudinal_margin(FEET, [0.1, 0, H], along=(0, 1, 0)) == pytest.approx(B)
    assert longitudinal_margin(FEET, [0.4, 0, H]) == pytest.approx(-0.1)
    assert longitudinal_margin(FEET, [0, 0.5, H]) == -np.inf


def test_energy_margin_is_the_rise_of_the_centre():
    assert energy_margin(FEET, [0, 0, H]) == pytest.approx(np.hypot(B, H) - H)
    for angle in (0.1, 0.4):
        down = _tilted(angle)
        # about the rear edge: from standing to straight above it
        rear = np.hypot(A, H) - np.array([A, 0, H]) @ -down
        side = (np.hypot(B, H) - H) * np.cos(angle)
        assert energy_margin(FEET, [0, 0, H], down) == pytest.approx(min(rear, side))
    assert energy_margin(FEET, [0.5, 0, H]) < 0


def test_tip_over_angle_is_the_slope_that_tips():
    weight = np.array([0, 0, -10.0])
    assert tip_over_angle(FEET, [0, 0, H], weight) == pytest.approx(np.arctan2(B, H))
    tips = np.arctan2(A, H)
    narrow = FEET * [1, 3, 1]
    for angle in (0.0, 0.3, 0.6):
        left = tip_over_angle(narrow, [0, 0, H], 10 * _tilted(angle))
        assert left == pytest.approx(min(tips - angle, np.arctan2(3 * B, H)), abs=1e-9)
    assert tip_over_angle(narrow, [0, 0, H], 10 * _tilted(tips + 0.1)) == pytest.approx(-0.1)
    # braking throws it forwards
    pushed = tip_over_angle(narrow, [0, 0, H], np.array([5.0, 0, -10.0]))
    assert pushed == pytest.approx(tips - np.arctan(0.5))
