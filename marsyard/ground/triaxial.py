"""The triaxial test of a soil: behaviour of a column under load.

Numbers (of `interaction.soil_columns.triaxial`, where the law is):

    modulus           initial tangent modulus E_i of the deviator stress [Pa]
    failure_ratio     R_f of Kondner's hyperbola
    dilation_angle    ψ at failure [rad]
    residual_angle    friction angle after softening [rad]
    softening_strain  strain over which the soil softens, and dilation fades, after failure
    curve             measured points (axial strain, deviator stress [Pa]) in place of the hyperbola
    volume_curve      measured points (axial strain, volumetric strain, contraction positive)

All are optional: what a soil lacks has a default or is derived. In a soil's file they stand under
`triaxial`, each with value, unit, provenance and source; the curves with `points` in place of
`value`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.units import to_si

Points = tuple[tuple[float, float], ...]

#: most points of a measured curve
MOST_POINTS = 64
_DEG = math.pi / 180
#: name: dimension, smallest, largest value, what is allowed
_NUMBERS: dict[str, tuple[str, float, float, str]] = {
    "modulus": ("pressure", 1.0, 1e12, "at least 1 Pa"),
    "failure_ratio": ("number", 0.1, 0.99, "from 0.1 to 0.99"),
    "dilation_angle": ("angle", -20 * _DEG, 40 * _DEG, "from -20 to 40 deg"),
    "residual_angle": ("angle", 0.0, 60 * _DEG, "from 0 to 60 deg"),
    "softening_strain": ("number", 1e-4, 10.0, "from 0.0001 to 10"),
}
_CURVES = {"curve": "pressure", "volume_curve": "number"}


@dataclass(frozen=True)
class Triaxial:
    """Numbers of a triaxial test, SI; None: not known."""

    modulus: float | None = None
    failure_ratio: float | None = None
    dilation_angle: float | None = None
    residual_angle: float | None = None
    softening_strain: float | None = None
    curve: Points | None = None
    volume_curve: Points | None = None


def read_triaxial(soil: str, entries: Any) -> dict[str, Any]:
    """The fields of `Triaxial` from a mapping; values may carry units."""
    if not isinstance(entries, Mapping):
        raise InputError(f"soil {soil}: triaxial: a mapping of numbers is expected")
    out: dict[str, Any] = {}
    for key, entry in entries.items():
        if key in _NUMBERS:
            out[key] = _number(soil, key, entry)
        elif key in _CURVES:
            points = entry.get("points") if isinstance(entry, Mapping) else entry
            out[key] = _points(soil, key, points)
        else:
            known = [*_NUMBERS, *_CURVES]
            raise InputError(f"soil {soil}: triaxial: unknown '{key}'; {suggest(str(key), known)}")
    return out


def _number(soil: str, key: str, entry: Any) -> float:
    dimension, low, high, allowed = _NUMBERS[key]
    value = entry
    if isinstance(entry, Mapping):
        value, unit = entry.get("value"), str(entry.get("unit") or "")
        if unit and isinstance(value, int | float) and not isinstance(value, bool):
            value = f"{value!r} {unit}"
    try:
        number = to_si(value, dimension)
    except ValueError as error:
        raise InputError(f"soil {soil}: triaxial.{key}: {error}") from None
    if not low * (1 - 1e-9) - 1e-12 <= number <= high * (1 + 1e-9):
        raise InputError(f"soil {soil}: triaxial.{key} = {value}: {allowed}")
    return number


def _points(soil: str, key: str, points: Any) -> Points:
    what = f"soil {soil}: triaxial.{key}"
    try:
        pairs = tuple((to_si(x, "number"), to_si(y, _CURVES[key])) for x, y in points)
    except (TypeError, ValueError):
        raise InputError(f"{what}: a list of pairs [strain, value] is expected") from None
    if not 2 <= len(pairs) <= MOST_POINTS:
        raise InputError(f"{what}: {len(pairs)} points: from 2 to {MOST_POINTS}")
    if pairs[0] != (0.0, 0.0):
        raise InputError(f"{what}: the first point must be [0, 0]")
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(pairs, pairs[1:], strict=False)]
    if any(dx <= 0 for dx, _ in steps):
        raise InputError(f"{what}: strains must rise from point to point")
    if key == "curve" and any(y <= 0 for _, y in pairs[1:]):
        raise InputError(f"{what}: stresses after the first point must be above 0 [Pa]")
    if key == "volume_curve" and any(dy > dx for dx, dy in steps):
        raise InputError(f"{what}: a column cannot lose more volume than it is shortened by")
    return pairs
