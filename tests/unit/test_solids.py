"""Solids to look at: closed, outward, and of the volume that they should have."""

import numpy as np
import pytest

from marsyard.drawing.solids import Solid, box, capsule, cylinder, ellipsoid, join, torus


def volume(solid: Solid) -> float:
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    return float(np.sum(np.cross(a, b) * c) / 6)


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (box([1, 2, 3]), 6.0),
        (cylinder(0.5, 2.0, 200), np.pi * 0.5),
        (ellipsoid([1, 2, 3], 80, 160), 4 / 3 * np.pi * 6),
        (capsule(1.0, 2.0, 80, 160), 4 / 3 * np.pi + 2 * np.pi),
        (torus(2.0, 0.3, 200, 100), 2 * np.pi**2 * 2 * 0.09),
    ],
    ids=["box", "cylinder", "ellipsoid", "capsule", "torus"],
)
def test_volume_by_the_divergence_theorem(solid, expected):
    assert volume(solid) == pytest.approx(expected, rel=2e-3)
    # moved and turned it is the same; of a surface that is not closed the volume changes with place
    assert volume(solid.moved([3, -2, 5]).turned(0.7, 1)) == pytest.approx(volume(solid))


def test_turning_is_right_handed():
    one = Solid(np.array([[1.0, 0, 0]]), np.zeros((0, 3), dtype=int))
    np.testing.assert_allclose(one.turned(np.pi / 2).vertices, [[0, 1, 0]], atol=1e-15)
    up = one.turned(np.pi / 2).turned(np.pi / 2, 0)
    np.testing.assert_allclose(up.vertices, [[0, 0, 1]], atol=1e-15)


def test_joined_solids_keep_their_faces():
    two = join([box([1, 1, 1]), box([1, 1, 1]).moved([5, 0, 0])])
    assert volume(two) == pytest.approx(2.0) and two.faces.max() == len(two.vertices) - 1
