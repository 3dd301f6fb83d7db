"""Quaternions w, x, y, z, rotation matrices, and roll, pitch, yaw.

    R(q) = | 1 − 2 (y² + z²)   2 (x y − w z)    2 (x z + w y)  |
           | 2 (x y + w z)     1 − 2 (x² + z²)  2 (y z − w x)  |
           | 2 (x z − w y)     2 (y z + w x)    1 − 2 (x² + y²)|

takes vectors of the turned frame into the outer one; its columns are the axes of that frame. Roll,
pitch and yaw [rad] are those of R = Rz(yaw) Ry(pitch) Rx(roll). Quaternions have length 1; arrays
of them, shape [..., 4], give arrays, shape [..., 3] or [..., 3, 3].

Compiled kernels have these formulas in their own files, as scalars.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


# --- one rotation


def quaternion_of(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """The quaternion of roll, pitch, yaw [rad]."""
    (a, p), (b, q), (c, r) = ((math.cos(t / 2), math.sin(t / 2)) for t in (roll, pitch, yaw))
    return np.array([
        a * b * c + p * q * r,
        p * b * c - a * q * r,
        a * q * c + p * b * r,
        a * b * r - p * q * c,
    ])  # fmt: skip


def roll_pitch_yaw(quaternion: Iterable[float]) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of one quaternion."""
    w, x, y, z = map(float, quaternion)
    return (
        math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x)))),
        math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )


def yaw_of(quaternion: Iterable[float]) -> float:
    """The heading [rad] of one quaternion."""
    return roll_pitch_yaw(quaternion)[2]


def matrix_of(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix, shape [3, 3], of one quaternion, as MuJoCo computes it."""
    import mujoco

    rows = np.zeros(9)
    mujoco.mju_quat2Mat(rows, np.asarray(quaternion, dtype=float))
    return rows.reshape(3, 3)


def quaternion_of_matrix(matrix: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation matrix, shape [3, 3]."""
    import mujoco

    out = np.zeros(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(matrix).ravel())
    return out


def quaternion_to(direction: np.ndarray) -> np.ndarray:
    """The shortest turn of z into a direction of any length."""
    import mujoco

    out = np.zeros(4)
    along = np.asarray(direction, dtype=float)
    mujoco.mju_quatZ2Vec(out, along / np.linalg.norm(along))
    return out


# --- many rotations


def x_axes(quaternion: np.ndarray) -> np.ndarray:
    """The x axes of the turned frames, shape [..., 3]."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)


def y_axes(quaternion: np.ndarray) -> np.ndarray:
    """The y axes of the turned frames, shape [..., 3]."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    return np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], axis=-1)


def z_axes(quaternion: np.ndarray) -> np.ndarray:
    """The z axes of the turned frames, shape [..., 3]."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)


def matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices, shape [..., 3, 3]."""
    return np.stack([x_axes(quaternion), y_axes(quaternion), z_axes(quaternion)], axis=-1)


def attitudes(quaternion: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw [rad], shape [..., 3], between −π and π."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=-1)


def rotate(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors [..., 3] of turned frames in the outer one."""
    w, u = quaternion[..., :1], quaternion[..., 1:]
    across = 2.0 * np.cross(u, vector)
    return vector + w * across + np.cross(u, across)


def rotate_back(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors [..., 3] of the outer frame in turned ones."""
    return rotate(conjugate(quaternion), vector)


def conjugate(quaternion: np.ndarray) -> np.ndarray:
    """The turns back."""
    return quaternion * _CONJUGATE


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions: b first, then a."""
    w, u, s, v = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = w * s - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([scalar, w * v + s * u + np.cross(u, v)], axis=-1)


def rotation_vectors(matrix: np.ndarray) -> np.ndarray:
    """Axis times angle [rad], shape [n, 3], of rotations [n, 3, 3] by less than half a turn."""
    skew = matrix - np.swapaxes(matrix, 1, 2)
    sine = np.column_stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]]) / 2
    size = np.linalg.norm(sine, axis=1)
    angle = np.arctan2(size, (np.trace(matrix, axis1=1, axis2=2) - 1) / 2)
    factor = np.where(size > 1e-12, angle / np.where(size > 1e-12, size, 1.0), 1.0)
    return sine * factor[:, None]
