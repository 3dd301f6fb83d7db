"""Poses of frames, and numbers as MJCF writes them, in full.

A pose p_AB, R_AB puts frame B into frame A: a point p_B is p_AB + R_AB p_B in A.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from marsyard.rotations import matrix_of, quaternion_of_matrix


class Pose(NamedTuple):
    """Place [m] and turn (rotation matrix) of a frame in another."""

    place: np.ndarray
    turn: np.ndarray

    @staticmethod
    def none() -> Pose:
        """The frame itself."""
        return Pose(np.zeros(3), np.eye(3))

    @staticmethod
    def of_rpy(place: Iterable[float], rpy: Iterable[float]) -> Pose:
        """From roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll)."""
        (cr, cp, cy), (sr, sp, sy) = np.cos(list(rpy)), np.sin(list(rpy))
        turn = np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
        # quarter turns are exact
        turn[np.abs(turn) < 1e-15] = 0.0
        return Pose(np.array(list(place), dtype=float), turn)

    @staticmethod
    def of_quat(place: np.ndarray, quat: np.ndarray) -> Pose:
        """From a quaternion w, x, y, z."""
        return Pose(np.array(place, dtype=float), matrix_of(quat))

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame that stands at `inner` in this one."""
        return Pose(self.place + self.turn @ inner.place, self.turn @ inner.turn)

    def inverse(self) -> Pose:
        """The outer frame seen from this one."""
        return Pose(-self.turn.T @ self.place, self.turn.T)

    def quat(self) -> np.ndarray:
        """The turn as a quaternion w, x, y, z with w ≥ 0."""
        quat = quaternion_of_matrix(self.turn)
        return -quat if quat[0] < 0 else quat

    def attributes(self) -> dict[str, str]:
        """`pos` and `quat` of an MJCF element, without what is zero."""
        out = {}
        if np.any(self.place != 0):
            out["pos"] = row(self.place)
        if np.abs(self.turn - np.eye(3)).max() > 1e-14:
            out["quat"] = row(self.quat())
        return out


def row(values: Iterable[float]) -> str:
    """Numbers in a row, in full; what is zero but for rounding is zero."""
    return " ".join(_text(float(v)) for v in values)


def _text(value: float) -> str:
    if abs(value) < 1e-15:
        return "0"
    text = f"{value:.12g}"
    return text if float(text) == value else repr(value)
