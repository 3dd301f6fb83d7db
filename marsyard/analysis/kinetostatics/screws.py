"""Twists, wrenches and screw systems on plain arrays.

Conventions. A twist is X = (v, ω): v [m/s] the velocity of the point of the body that is at the
origin, ω [rad/s]. A wrench is w = (f, m): f [N], m [N m] the moment about the origin. Both are
arrays of shape [6], a system of them [n, 6]. Their power is the plain product

    w · X = f · v + m · ω,

and two of them are reciprocal where it vanishes.

The paper (Bidaud, Ben Amar, Poulain 2005) writes a screw as (s; s0*), s along its axis and
s0* = p × s + μ s: for a twist (ω; v), for a wrench (f; m). Its condition of reciprocity
s1 · s02* + s2 · s01* = 0 is the product above. The rows of its D are wrenches (f; m) and act on
(v_x, v_y, v_z, ω_x, ω_y, ω_z), so D is the same array in both notations; only its twists have
their halves exchanged (`from_paper`, which is its own inverse).

    line with direction s (unit) through the point p, pitch μ [m]:
        twist  (p × s + μ s, s)        rotation about the line μ = 0
        wrench (s, p × s + μ s)        force along the line μ = 0
    pitch and axis of a screw (s, s0), s ≠ 0:
        μ = s · s0 / s²,   p = s × s0 / s²  (the point of the axis nearest to the origin)

Change of frame. The new frame has the axes R (columns, in the old frame) and the origin o:

    v' = Rᵀ (v + ω × o),   ω' = Rᵀ ω        f' = Rᵀ f,   m' = Rᵀ (m − o × f)

Power is the same in both.

Rank and length. Lengths and angles cannot be compared, so a system is made free of units by a
characteristic length L before any decomposition: twists (v, L ω), wrenches (f, m / L); the power
stays as it is. Each screw is then scaled to unit norm. A singular value below TOLERANCE = 1e-9 of
the largest counts as zero. L is, if none is given, the root of Σ|v|²/Σ|ω|² (twists) or Σ|m|²/Σ|f|²
(wrenches), 1 where one of these vanishes: with another unit of length L changes by the same
factor, the scaled arrays are the same, and so is the rank. The rank in exact arithmetic does not
depend on L at all; L only says which of two nearly dependent screws counts as dependent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Kind = Literal["twist", "wrench"]

#: singular values below this share of the largest count as zero, unless another share is given
TOLERANCE = 1e-9


def rotation(axis: ArrayLike, point: ArrayLike, pitch: float = 0.0) -> np.ndarray:
    """Unit twist about the line along `axis` through `point` [m]; pitch [m/rad]."""
    s = _unit(axis)
    return np.concatenate([np.cross(np.asarray(point, float), s) + pitch * s, s])


def translation(direction: ArrayLike) -> np.ndarray:
    """Unit twist of a translation."""
    return np.concatenate([_unit(direction), np.zeros(3)])


def force(direction: ArrayLike, point: ArrayLike, pitch: float = 0.0) -> np.ndarray:
    """Unit wrench of a force along the line through `point` [m]; pitch [m]: its couple along it."""
    s = _unit(direction)
    return np.concatenate([s, np.cross(np.asarray(point, float), s) + pitch * s])


def couple(direction: ArrayLike) -> np.ndarray:
    """Unit wrench of a pure couple."""
    return np.concatenate([np.zeros(3), _unit(direction)])


def power(wrench: ArrayLike, twist: ArrayLike) -> np.ndarray:
    """Reciprocal product f · v + m · ω [W] of the last axes."""
    return np.asarray(np.sum(np.asarray(wrench) * np.asarray(twist), axis=-1))


def from_paper(screw: ArrayLike) -> np.ndarray:
    """A twist of the paper, (ω; v), as ours, (v, ω), and back."""
    screw = np.asarray(screw, float)
    return np.concatenate([screw[..., 3:], screw[..., :3]], axis=-1)


def twist_in(twist: ArrayLike, axes: np.ndarray, origin: ArrayLike) -> np.ndarray:
    """Twists [..., 6] in the frame with these axes (columns) and origin [m]."""
    twist = np.asarray(twist, float)
    v, w = twist[..., :3], twist[..., 3:]
    return np.concatenate([(v + np.cross(w, np.asarray(origin, float))) @ axes, w @ axes], axis=-1)


def wrench_in(wrench: ArrayLike, axes: np.ndarray, origin: ArrayLike) -> np.ndarray:
    """Wrenches [..., 6] in the frame with these axes (columns) and origin [m]."""
    wrench = np.asarray(wrench, float)
    f, m = wrench[..., :3], wrench[..., 3:]
    return np.concatenate([f @ axes, (m - np.cross(np.asarray(origin, float), f)) @ axes], axis=-1)


@dataclass(frozen=True)
class Screw:
    """Axis, pitch and size of a twist or wrench.

    direction: unit vector. point: of the axis, nearest to the origin [m]; None for translations
    and couples. pitch [m]: infinite for these. magnitude: |ω| or |f|, else |v| or |m|.
    """

    direction: np.ndarray
    point: np.ndarray | None
    pitch: float
    magnitude: float


def describe(screw: ArrayLike, kind: Kind, length: float = 1.0) -> Screw:
    """Axis, pitch and magnitude; lines further than 1/TOLERANCE lengths off count as infinite."""
    line, moment = _halves(np.asarray(screw, float), kind)
    size, far = float(np.linalg.norm(line)), float(np.linalg.norm(moment))
    if size * length <= TOLERANCE * far or size == 0:
        if far == 0:
            return Screw(np.zeros(3), None, 0.0, 0.0)
        return Screw(moment / far, None, float("inf"), far)
    pitch = float(line @ moment) / size**2
    return Screw(line / size, np.cross(line, moment) / size**2, pitch, size)


def characteristic_length(screws: ArrayLike, kind: Kind) -> float:
    """L of a system, see the module docstring."""
    line, moment = _halves(_rows(screws), kind)
    below, above = float(np.sum(line**2)), float(np.sum(moment**2))
    return float(np.sqrt(above / below)) if above > 0 and below > 0 else 1.0


def scaled(screws: ArrayLike, kind: Kind, length: float) -> np.ndarray:
    """Screws without units: (v, L ω) or (f, m / L), shape [n, 6]."""
    return _rows(screws) * _weights(kind, length)


def rank(
    screws: ArrayLike, kind: Kind, length: float | None = None, tolerance: float = TOLERANCE
) -> int:
    """Dimension of the system spanned by screws."""
    return len(span(screws, kind, length, tolerance))


def span(
    screws: ArrayLike, kind: Kind, length: float | None = None, tolerance: float = TOLERANCE
) -> np.ndarray:
    """A basis of the system, shape [rank, 6], orthonormal after scaling by the length."""
    length, rows = _prepare(screws, kind, length)
    return _decompose(rows, tolerance)[0] / _weights(kind, length)


def reciprocal_system(
    screws: ArrayLike, kind: Kind, length: float | None = None, tolerance: float = TOLERANCE
) -> np.ndarray:
    """All wrenches that do no work on twists, or twists on which wrenches do none.

    kind: of `screws`. Returns a basis of the other kind, shape [6 − rank, 6].
    """
    length, rows = _prepare(screws, kind, length)
    return _decompose(rows, tolerance)[1] / _weights(_other(kind), length)


def intersection(
    one: ArrayLike,
    other: ArrayLike,
    kind: Kind,
    length: float | None = None,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Basis of what two systems share: reciprocal to the sum of their reciprocals."""
    if length is None:
        length = characteristic_length(np.vstack([_rows(one), _rows(other)]), kind)
    both = [reciprocal_system(s, kind, length, tolerance) for s in (one, other)]
    return reciprocal_system(np.vstack(both), _other(kind), length, tolerance)


def contains(
    system: ArrayLike,
    screws: ArrayLike,
    kind: Kind,
    length: float | None = None,
    tolerance: float = TOLERANCE,
) -> bool:
    """Whether all screws lie in the system."""
    if length is None:
        length = characteristic_length(np.vstack([_rows(system), _rows(screws)]), kind)
    _, inside = _prepare(screws, kind, length)
    basis = scaled(span(system, kind, length, tolerance), kind, length)
    outside = inside - inside @ basis.T @ basis
    return bool(np.all(np.linalg.norm(outside, axis=1) < 10 * tolerance))


def readable(
    screws: ArrayLike, kind: Kind, length: float | None = None, tolerance: float = TOLERANCE
) -> np.ndarray:
    """Reduced basis, row echelon with ones as pivots and exact zeros, shape [rank, 6].

    The half that makes a line (ω, f) is reduced first, so that translations (couples) of the
    system come last, as such, and are taken out of the rows above.
    """
    length, rows = _prepare(screws, kind, length)
    order = np.r_[3:6, 0:3] if kind == "twist" else np.r_[0:6]
    reduced = echelon(rows[:, order], tolerance)
    out = np.empty_like(reduced)
    out[:, order] = reduced
    out /= _weights(kind, length)
    pivot = [order[np.flatnonzero(row)[0]] for row in reduced]
    return out / out[np.arange(len(out)), pivot][:, None]


def echelon(matrix: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Reduced row echelon form of the row space, shape [rank, columns]; small entries are zeros.

    The rank is that of the singular values. Columns whose entries are all below the tolerance (of
    a basis that is orthonormal) have no pivot.
    """
    left = np.array(_decompose(np.asarray(matrix, float), tolerance)[0])
    row = 0
    for column in range(left.shape[1]):
        if row == len(left):
            break
        best = row + int(np.argmax(np.abs(left[row:, column])))
        if abs(left[best, column]) <= tolerance:
            continue
        left[[row, best]] = left[[best, row]]
        left[row] /= left[row, column]
        others = np.arange(len(left)) != row
        left[others] -= np.outer(left[others, column], left[row])
        left[others, column] = 0.0
        row += 1
    left[np.abs(left) <= tolerance * np.abs(left).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    return left


def null_space(matrix: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Orthonormal basis of {x: matrix · x = 0}, shape [columns, n]; rows are scaled first."""
    matrix = np.atleast_2d(matrix)
    if matrix.shape[0] == 0:
        return np.eye(matrix.shape[1])
    return _decompose(_normalised(matrix), tolerance)[1].T


def _decompose(rows: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal bases of the row space and of its complement."""
    if rows.size == 0:
        return np.zeros((0, rows.shape[1])), np.eye(rows.shape[1])
    _, size, right = np.linalg.svd(rows)
    found = int(np.sum(size > tolerance * max(float(size[0]), 1e-300)))
    return right[:found], right[found:]


def _prepare(screws: ArrayLike, kind: Kind, length: float | None) -> tuple[float, np.ndarray]:
    if length is None:
        length = characteristic_length(screws, kind)
    return length, _normalised(scaled(screws, kind, length))


def _normalised(rows: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(size > 0, size, 1.0)


def _weights(kind: Kind, length: float) -> np.ndarray:
    return np.repeat([1.0, length if kind == "twist" else 1.0 / length], 3)


def _halves(screws: np.ndarray, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """The half along the line and the moment half."""
    first, second = screws[..., :3], screws[..., 3:]
    return (second, first) if kind == "twist" else (first, second)


def _other(kind: Kind) -> Kind:
    return "wrench" if kind == "twist" else "twist"


def _rows(screws: ArrayLike) -> np.ndarray:
    return np.asarray(screws, float).reshape(-1, 6)


def _unit(vector: ArrayLike) -> np.ndarray:
    vector = np.asarray(vector, float)
    return vector / np.linalg.norm(vector)
