"""Quaternions and matrices against scipy's, which uses other formulas, and against MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from marsyard import rotations as r

N = 2000


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, Rotation]:
    """Quaternions w, x, y, z and the same rotations of scipy's."""
    made = Rotation.random(N, random_state=5)
    return np.roll(made.as_quat(), 1, axis=1), made


def test_matrices_and_their_columns(many):
    q, other = many
    R = r.matrices(q)
    np.testing.assert_allclose(R, other.as_matrix(), atol=4e-15)
    for k, axes in enumerate((r.x_axes, r.y_axes, r.z_axes)):
        np.testing.assert_array_equal(axes(q), R[..., k])
    np.testing.assert_allclose(np.einsum("nij,nik->njk", R, R), np.tile(np.eye(3), (N, 1, 1)),
                               atol=4e-15)  # fmt: skip
    np.testing.assert_array_equal(r.matrices(q[3]), R[3])


def test_one_matrix_and_back(many):
    q, _ = many
    for one in q[:100]:
        R = r.matrix_of(one)
        np.testing.assert_allclose(R, r.matrices(one), atol=1e-15)
        back = r.quaternion_of_matrix(R)
        np.testing.assert_allclose(back * np.sign(back @ one), one, atol=1e-14)


def test_roll_pitch_yaw(many):
    q, other = many
    angles = other.as_euler("ZYX")[:, ::-1]
    np.testing.assert_allclose(r.attitudes(q), angles, atol=1e-10)
    for one, (roll, pitch, yaw) in zip(q[:100], angles[:100], strict=True):
        np.testing.assert_allclose(r.roll_pitch_yaw(one), (roll, pitch, yaw), atol=1e-10)
        assert r.yaw_of(one) == r.roll_pitch_yaw(one)[2]
        back = r.quaternion_of(roll, pitch, yaw)
        np.testing.assert_allclose(back * np.sign(back @ one), one, atol=1e-12)


def test_straight_up_has_a_pitch_of_a_quarter_turn():
    """Rounding may take the sine beyond 1, where it has no angle."""
    q = r.quaternion_of(0.0, np.pi / 2, 0.3) * (1 + 1e-15)
    assert r.roll_pitch_yaw(q)[1] == pytest.approx(np.pi / 2, abs=1e-7)
    assert np.isfinite(r.attitudes(q)).all()


def test_products_and_turned_vectors(many):
    q, other = many
    v = np.random.default_rng(7).normal(size=(N, 3))
    np.testing.assert_allclose(r.rotate(q, v), other.apply(v), atol=1e-14)
    np.testing.assert_allclose(r.rotate_back(q, r.rotate(q, v)), v, atol=1e-14)
    both = np.roll((other * other[::-1]).as_quat(), 1, axis=1)
    made = r.product(q, q[::-1])
    np.testing.assert_allclose(made * np.sign((made * both).sum(1))[:, None], both, atol=1e-14)
    np.testing.assert_allclose(r.product(q, r.conjugate(q))[:, 0], 1.0, atol=1e-14)
    one = np.zeros(4)
    mujoco.mju_mulQuat(one, q[0], q[1])
    np.testing.assert_allclose(r.product(q[0], q[1]), one, atol=1e-15)


def test_rotation_vectors(many):
    _, other = many
    np.testing.assert_allclose(r.rotation_vectors(other.as_matrix()), other.as_rotvec(), atol=1e-7)
    none = r.rotation_vectors(np.eye(3)[None])
    np.testing.assert_array_equal(none, 0.0)


def test_the_turn_into_a_direction():
    for direction in np.random.default_rng(1).normal(size=(50, 3)):
        q = r.quaternion_to(direction)
        np.testing.assert_allclose(r.z_axes(q), direction / np.linalg.norm(direction), atol=1e-14)
        assert abs(q[3]) < 1e-15  # the shortest turn has no part about z
