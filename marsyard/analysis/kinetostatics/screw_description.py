"""Motions and wrenches in words, in the platform's frame (x forward, y left, z up).

A basis element has no sign, so "forward" also means backward and "sideways" to either side. A
line counts as one through the origin, a direction as an axis, and a pitch as zero where they
differ by less than 1e-6, or a larger tolerance if one is given (of the characteristic length).
Other screws are called "nearly" a simple motion where |v|² + L² |ω|² of the rest is below 2 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marsyard.analysis.kinetostatics.screws import describe

_SAME = 1e-6
_WAYS = ("forward", "sideways", "up")
_TURNS = ("roll about x", "pitch about y", "turning about a vertical axis (yaw)")


def motion_in_words(twist: ArrayLike, length: float = 1.0, tolerance: float = 0.0) -> str:
    """A motion: "forward", "roll about x", "rotation about a line through … along …"."""
    same = max(_SAME, tolerance)
    found = describe(twist, "twist", length)
    axis = _axis(found.direction, same)
    if found.magnitude == 0:
        return "no motion"
    if found.point is None or _beyond(found.point, found.pitch, length, same):
        direction = np.asarray(twist, float)[:3]
        axis = _axis(direction / np.linalg.norm(direction), same)
        return _WAYS[axis] if axis is not None else f"translation along {_vector(direction, same)}"
    near = _near(np.asarray(twist, float), length)
    if abs(found.pitch) > same * length:
        line = _line(found.point, found.direction, axis, length, same)
        return f"{near}screw about a line {line}, pitch {found.pitch:.4g} m/rad"
    if axis is not None and np.linalg.norm(found.point) < same * length:
        return _TURNS[axis]
    if axis == 2:
        x, y = _clean(found.point, same)[:2]
        return f"{near}turning about a vertical axis through ({x:.4g}, {y:.4g})"
    return f"{near}rotation about a line {_line(found.point, found.direction, axis, length, same)}"


def wrench_in_words(wrench: ArrayLike, length: float = 1.0, tolerance: float = 0.0) -> str:
    """A wrench: "force along z through the origin", "couple about x", …"""
    same = max(_SAME, tolerance)
    found = describe(wrench, "wrench", length)
    if found.magnitude == 0:
        return "no wrench"
    if found.point is None or _beyond(found.point, found.pitch, length, same):
        moment = np.asarray(wrench, float)[3:]
        moment = moment / np.linalg.norm(moment)
        return f"couple about {_name(moment, same)}"
    axis = _axis(found.direction, same)
    line = _line(found.point, found.direction, axis, length, same)
    if abs(found.pitch) > same * length:
        return f"wrench on a line {line}, pitch {found.pitch:.4g} m"
    return f"force on a line {line}"


def _near(twist: np.ndarray, length: float) -> str:
    """ "nearly forward: " where one coordinate is all but 2 % of the motion, by (v, L ω)."""
    share = np.abs(twist * np.repeat([1.0, length], 3))
    most = int(np.argmax(share))
    if np.linalg.norm(np.delete(share, most)) > 0.14 * share[most]:
        return ""
    return f"nearly {(*_WAYS, *_TURNS)[most]}: "


def _beyond(point: np.ndarray, pitch: float, length: float, same: float) -> bool:
    """Whether a line is so far off that the motion is a translation for all purposes."""
    return bool(np.hypot(np.linalg.norm(point), pitch) > length / same)


def _line(
    point: np.ndarray, direction: np.ndarray, axis: int | None, length: float, same: float
) -> str:
    if np.linalg.norm(point) < same * length:
        through = "through the origin"
    else:
        through = f"through {_vector(point, same)}"
    return f"{through} along {'xyz'[axis] if axis is not None else _vector(direction, same)}"


def _name(direction: np.ndarray, same: float) -> str:
    axis = _axis(direction, same)
    return "xyz"[axis] if axis is not None else _vector(direction, same)


def _axis(direction: np.ndarray, same: float) -> int | None:
    largest = int(np.argmax(np.abs(direction)))
    return largest if np.linalg.norm(np.delete(direction, largest)) < same else None


def _vector(vector: np.ndarray, same: float) -> str:
    return "(" + ", ".join(f"{c:.4g}" for c in _clean(vector, same)) + ")"


def _clean(vector: np.ndarray, same: float) -> np.ndarray:
    return np.where(np.abs(vector) < same * np.abs(vector).max(initial=0.0), 0.0, vector) + 0.0
