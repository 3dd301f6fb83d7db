"""Rigid ground shapes with a closed form: planes and slopes, spheres, boxes.

A rigid ground is a list of named *surfaces*: any of `Plane`, `Sphere`, `Box` (here) and
`TriangleMesh` (`marsyard.ground.triangle_mesh`). Surfaces are immutable and checked when they are
made. World frame: z up; lengths in metres, angles in radians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marsyard.errors import InputError
from marsyard.rotations import matrices


def finite_vector(field: str, value: Sequence[float], length: int = 3) -> tuple[float, ...]:
    """`value` as a tuple of `length` finite floats, or a sentence that names `field`."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{field} must be {length} numbers, not {value!r}.") from None
    if array.shape != (length,):
        raise InputError(f"{field} must be {length} numbers, not {value!r}.")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{field} must be finite, not {array.tolist()}.")
    return tuple(array.tolist())


def finite_number(field: str, value: float) -> float:
    """`value` as a finite float, or a sentence that names `field`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{field} must be a number, not {value!r}.") from None
    if not math.isfinite(number):
        raise InputError(f"{field} must be finite, not {number}.")
    return number


def positive_number(field: str, value: float) -> float:
    """`value` as a finite float above zero, or a sentence that names `field`."""
    number = finite_number(field, value)
    if number <= 0.0:
        raise InputError(f"{field} must be positive, not {number}.")
    return number


def unit_vector(field: str, value: Sequence[float]) -> tuple[float, ...]:
    """`value` scaled to length 1, or a sentence that names `field`."""
    vector = np.array(finite_vector(field, value))
    peak = float(np.max(np.abs(vector)))
    if peak == 0.0:
        raise InputError(f"{field} must have a length above zero, not {vector.tolist()}.")
    # scale first: the squares of very small or very large components would leave the range
    vector /= peak
    return tuple((vector / np.linalg.norm(vector)).tolist())


def surface_name(value: str) -> str:
    """`value` if it is a non-empty string, or a sentence."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"name must be a non-empty text, not {value!r}.")
    return value


@dataclass(frozen=True)
class Plane:
    """The half space below an unbounded plane, `(x - point) · normal <= 0`.

    Attributes:
        point: a point of the plane [m], shape (3,).
        normal: direction out of the ground, scaled to unit length, shape (3,).
        name: what results and messages call this surface.
    """

    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    name: str = "plane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", finite_vector("plane point", self.point))
        object.__setattr__(self, "normal", unit_vector("plane normal", self.normal))
        object.__setattr__(self, "name", surface_name(self.name))

    @classmethod
    def horizontal(cls, height: float = 0.0, name: str = "plane") -> Plane:
        """The level plane at `height` [m]."""
        return cls(point=(0.0, 0.0, finite_number("plane height", height)), name=name)

    @classmethod
    def slope(
        cls,
        angle: float,
        direction: float = 0.0,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        name: str = "slope",
    ) -> Plane:
        """The plane through `point` that rises by `angle` towards `direction`.

        Args:
            angle: inclination against the horizontal [rad], above -90° and below 90°.
            direction: azimuth of the steepest ascent, counter-clockwise from +x [rad].
            point: a point of the plane [m], shape (3,).
        """
        angle = finite_number("slope angle", angle)
        if not abs(angle) < math.pi / 2:
            raise InputError(f"slope angle must be below 90° (π/2 rad), not {angle} rad.")
        azimuth = finite_number("slope direction", direction)
        normal = (
            -math.sin(angle) * math.cos(azimuth),
            -math.sin(angle) * math.sin(azimuth),
            math.cos(angle),
        )
        return cls(point=point, normal=normal, name=name)


@dataclass(frozen=True)
class Sphere:
    """A solid ball, touched from outside.

    Attributes:
        centre: [m], shape (3,).
        radius: [m], above zero.
        name: what results and messages call this surface.
    """

    centre: Sequence[float]
    radius: float
    name: str = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", finite_vector("sphere centre", self.centre))
        object.__setattr__(self, "radius", positive_number("sphere radius", self.radius))
        object.__setattr__(self, "name", surface_name(self.name))


@dataclass(frozen=True)
class Box:
    """A solid box, touched from outside on its faces, edges and corners.

    Attributes:
        centre: [m], shape (3,).
        half_size: half edge lengths along the box's own axes [m], each above zero, shape (3,).
        rotation: attitude of the box in the world, quaternion w, x, y, z, scaled to unit length.
        name: what results and messages call this surface.
    """

    centre: Sequence[float]
    half_size: Sequence[float]
    rotation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    name: str = "box"

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", finite_vector("box centre", self.centre))
        half = finite_vector("box half_size", self.half_size)
        if min(half) <= 0.0:
            raise InputError(f"box half_size must be positive in each entry, not {list(half)}.")
        object.__setattr__(self, "half_size", half)
        quaternion = np.array(finite_vector("box rotation", self.rotation, 4))
        length = float(np.linalg.norm(quaternion))
        if length < 1e-12:
            raise InputError("box rotation must be a quaternion of length above zero.")
        object.__setattr__(self, "rotation", tuple((quaternion / length).tolist()))
        object.__setattr__(self, "name", surface_name(self.name))

    def rotation_matrix(self) -> np.ndarray:
        """R_WB, columns are the box's axes in the world, shape (3, 3)."""
        return matrices(np.array(self.rotation))

    def corners(self) -> np.ndarray:
        """The eight corners in the world [m], shape (8, 3); corner 4i+2j+k has signs (i, j, k)."""
        signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
        return np.array(self.centre) + (signs * np.array(self.half_size)) @ self.rotation_matrix().T


# the twelve triangles of a box over its corners, counter-clockwise seen from outside
BOX_TRIANGLES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5],
        [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
        [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ],
    dtype=np.int64,
)  # fmt: skip
