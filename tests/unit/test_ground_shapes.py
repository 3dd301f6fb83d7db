"""Planes, spheres and boxes: what they accept, what they say otherwise, how they are packed."""

import math

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground import Box, Plane, Sphere, TriangleMesh, pack


def test_plane_normal_is_scaled_to_unit_length():
    plane = Plane(point=(1, 2, 3), normal=(0, 0, 5))
    assert plane.normal == (0.0, 0.0, 1.0)
    assert Plane(normal=(1e-200, 0, 0)).normal == (1.0, 0.0, 0.0)
    assert Plane.horizontal(0.4).point == (0.0, 0.0, 0.4)


@pytest.mark.parametrize("angle", [0.0, 0.2, -0.3, 1.5])
@pytest.mark.parametrize("direction", [0.0, 0.7, math.pi])
def test_slope_rises_by_its_angle_in_its_direction(angle, direction):
    slope = Plane.slope(angle, direction, point=(1.0, -2.0, 0.5))
    normal = np.array(slope.normal)
    # height over the point after one metre towards `direction` is tan(angle), none across it
    ahead = np.array([math.cos(direction), math.sin(direction), math.tan(angle)])
    left = np.array([-math.sin(direction), math.cos(direction), 0.0])
    assert abs(normal @ ahead) < 1e-12 * (1 + abs(math.tan(angle)))
    assert abs(normal @ left) < 1e-15
    assert normal[2] > 0


def test_box_corners_turn_with_its_rotation():
    # 90° about z takes the box's x axis to the world's y axis
    half = math.sqrt(0.5)
    box = Box((1, 2, 3), (0.3, 0.2, 0.1), (half, 0, 0, half))
    low, high = box.corners().min(axis=0), box.corners().max(axis=0)
    np.testing.assert_allclose(high - low, [0.4, 0.6, 0.2], atol=1e-15)
    np.testing.assert_allclose((high + low) / 2, [1, 2, 3], atol=1e-15)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Plane(point=(0, 0, math.nan)), "plane point must be finite"),
        (lambda: Plane(point=(0, 0)), "plane point must be 3 numbers"),
        (lambda: Plane(point="here"), "plane point must be 3 numbers"),
        (lambda: Plane(normal=(0, 0, 0)), "plane normal must have a length above zero"),
        (lambda: Plane(normal=(0, math.inf, 0)), "plane normal must be finite"),
        (lambda: Plane.horizontal(math.inf), "plane height must be finite"),
        (lambda: Plane.slope(math.pi / 2), "slope angle must be below 90°"),
        (lambda: Plane.slope(-2.0), "slope angle must be below 90°"),
        (lambda: Plane.slope(math.nan), "slope angle must be finite"),
        (lambda: Plane.slope("steep"), "slope angle must be a number"),
        (lambda: Plane(name=" "), "name must be a non-empty text"),
        (lambda: Sphere((0, 0, 0), 0.0), "sphere radius must be positive"),
        (lambda: Sphere((0, 0, 0), -1.0), "sphere radius must be positive"),
        (lambda: Sphere((0, math.nan, 0), 1.0), "sphere centre must be finite"),
        (lambda: Box((0, 0, 0), (1, 0, 1)), "box half_size must be positive"),
        (lambda: Box((0, 0, 0), (1, 1, 1), (0, 0, 0, 0)), "box rotation must be a quaternion"),
        (lambda: Box((0, 0, 0), (1, 1, 1), (1, 0, 0)), "box rotation must be 4 numbers"),
        (lambda: pack([Plane(), "rock"]), "surface 1 must be a Plane, Sphere, Box or TriangleMesh"),
        (lambda: pack([Plane(), Plane()]), "surface name 'plane' is used twice"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InputError) as error:
        make()
    assert sentence in str(error.value)
    assert str(error.value).endswith(".")


def test_pack_numbers_surfaces_in_the_order_given():
    triangle = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], name="t")
    ground = pack([Box((0, 0, 0), (1, 1, 1)), Plane(), triangle, Sphere((0, 0, 0), 2.0)])
    assert ground.surface.tolist() == [[2, 0], [0, 0], [2, 1], [1, 0]]
    assert ground.plane_surface.tolist() == [1]
    assert ground.sphere_surface.tolist() == [3]
    assert ground.mesh[:, 0].tolist() == [0, 2]
    # a box has twelve convex edges and eight corners; the triangle three of each
    assert len(ground.triangle) == 13
    assert len(ground.edge) == 15
    assert len(ground.vertex) == 11
    for array in ground:
        assert array.flags.c_contiguous
        assert array.dtype in (np.float64, np.int64)


def test_empty_ground_can_be_packed():
    ground = pack([])
    assert len(ground.surface) == 0
    assert ground.node.shape == (0, 6)
