"""Motions and wrenches in words, in the platform's frame (x forward, y left, z up).

A basis element has no sign, so "forward" also means backward and "sideways" to either side. A
line counts as one through the origin, a direction as an axis, and a pitch as zero where they
differ by less than 1e-6 (of the characteristic length).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marsyard.analysis.kinetostatics.screws import describe

_SAME = 1e-6
_WAYS = ("forward", "sideways", "up")
_TURNS = ("roll about x", "pitch about y", "turning about a vertical axis (yaw)")


def motion_in_words(twist: ArrayLike, length: float = 1.0) -> str:
    """A motion: "forward", "roll about x", "rotation about a line through … along …"."""
    found = describe(twist, "twist", length)
    axis = _axis(found.direction)
    if found.magnitude == 0:
        return "no motion"
    if found.point is None or _beyond(found.point, found.pitch, length):
        direction = np.asarray(twist, float)[:3]
        axis = _axis(direction / np.linalg.norm(direction))
        return _WAYS[axis] if axis is not None else f"translation along {_vector(direction)}"
    if abs(found.pitch) > _SAME * length:
        line = _line(found.point, found.direction, axis, length)
        return f"screw about a line {line}, pitch {found.pitch:.4g} m/rad"
    if axis is not None and np.linalg.norm(found.point) < _SAME * length:
        return _TURNS[axis]
    if axis == 2:
        x, y = _clean(found.point)[:2]
        return f"turning about a vertical axis through ({x:.4g}, {y:.4g})"
    return f"rotation about a line {_line(found.point, found.direction, axis, length)}"


def wrench_in_words(wrench: ArrayLike, length: float = 1.0) -> str:
    """A wrench: "force along z through the origin", "couple about x", …"""
    found = describe(wrench, "wrench", length)
    if found.magnitude == 0:
        return "no wrench"
    if found.point is None or _beyond(found.point, found.pitch, length):
        moment = np.asarray(wrench, float)[3:]
        moment = moment / np.linalg.norm(moment)
        return f"couple about {_name(moment)}"
    axis = _axis(found.direction)
    line = _line(found.point, found.direction, axis, length)
    if abs(found.pitch) > _SAME * length:
        return f"wrench on a line {line}, pitch {found.pitch:.4g} m"
    return f"force on a line {line}"


def _beyond(point: np.ndarray, pitch: float, length: float) -> bool:
    """Whether a line is so far off that the motion is a translation for all purposes."""
    return bool(np.hypot(np.linalg.norm(point), pitch) > length / _SAME)


def _line(point: np.ndarray, direction: np.ndarray, axis: int | None, length: float) -> str:
    if np.linalg.norm(point) < _SAME * length:
        through = "through the origin"
    else:
        through = f"through {_vector(point)}"
    return f"{through} along {'xyz'[axis] if axis is not None else _vector(direction)}"


def _name(direction: np.ndarray) -> str:
    axis = _axis(direction)
    return "xyz"[axis] if axis is not None else _vector(direction)


def _axis(direction: np.ndarray) -> int | None:
    largest = int(np.argmax(np.abs(direction)))
    return largest if np.linalg.norm(np.delete(direction, largest)) < _SAME else None


def _vector(vector: np.ndarray) -> str:
    return "(" + ", ".join(f"{c:.4g}" for c in _clean(vector)) + ")"


def _clean(vector: np.ndarray) -> np.ndarray:
    return np.where(np.abs(vector) < _SAME * np.abs(vector).max(initial=0.0), 0.0, vector) + 0.0
