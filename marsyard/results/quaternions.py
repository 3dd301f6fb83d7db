"""Vectorised quaternions w x y z: rotation of vectors, and products."""

from __future__ import annotations

import numpy as np

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def rotate(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors [n, 3] of a turned frame in the world; quaternions [n, 4]."""
    w, u = quaternion[..., :1], quaternion[..., 1:]
    across = 2.0 * np.cross(u, vector)
    return vector + w * across + np.cross(u, across)


def rotate_back(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors [n, 3] of the world in a turned frame; quaternions [n, 4]."""
    return rotate(conjugate(quaternion), vector)


def conjugate(quaternion: np.ndarray) -> np.ndarray:
    """The turns back, [n, 4]."""
    return quaternion * _CONJUGATE


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions [n, 4]: b first, then a."""
    w, u, s, v = a[:, :1], a[:, 1:], b[:, :1], b[:, 1:]
    scalar = w * s - np.sum(u * v, axis=1, keepdims=True)
    return np.concatenate([scalar, w * v + s * u + np.cross(u, v)], axis=1)
