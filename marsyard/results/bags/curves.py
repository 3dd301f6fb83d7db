"""Curves over time: interpolation, and attitudes without jumps."""

from __future__ import annotations

import numpy as np


def interpolated(time: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values [n, k] at other times, each column linearly."""
    return np.stack([np.interp(time, at, column) for column in values.T], axis=1)


def continuous(turn: np.ndarray) -> np.ndarray:
    """Quaternions [n, 4] that do not jump between q and −q."""
    flips = np.sum(turn[1:] * turn[:-1], axis=1) < 0
    sign = np.concatenate([[1.0], np.where(flips, -1.0, 1.0)])
    return turn * np.cumprod(sign)[:, None]
