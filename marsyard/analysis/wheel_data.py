"""Operating points of wheels in soil and their measurements, in one convention.

A row has the wheel (radius, width, lug height [m]), its load [N], slip and slip angle [rad], and
what was measured there: drawbar pull and side force [N], torque [N·m], sinkage [m], each with a
standard deviation where the file gives one. What was not measured is NaN.

Slip s = (w − v_x)/max(|w|, |v_x|), with w the speed of the rim and v_x the wheel's speed along its
heading. Some sources count slip with the whole speed of travel v instead; then v_x = v cos β is put
in. Slip angles are positive when the wheel moves to its left, forces positive to the left.

Signs are reversed, and a note says so, where physics leaves no choice: sinkages that are mostly
below zero; torques against the drive at driving slips; a pull that falls as slip grows from braking
to 0.4; angles with Σ β F_y > 0, because soil pushes against the motion. Values that can only be a
wrong unit are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marsyard.analysis.wheel_columns import INPUTS, QUANTITIES
from marsyard.errors import InputError, suggest

__all__ = ["INPUTS", "QUANTITIES", "WheelData", "along_heading", "conventional", "join", "sane"]


@dataclass(frozen=True)
class WheelData:
    """Operating points of wheels and their measurements; see the module docstring.

    radius, width, lug_height [m], load [N], slip, slip_angle [rad]: float[n].
    measured, spread: by name of `QUANTITIES`, float[n], NaN where there is none.
    relative_sinkage: the zero of the sinkage is not known; a fit has to find it.
    notes: what was assumed while reading.
    """

    name: str
    radius: np.ndarray
    width: np.ndarray
    lug_height: np.ndarray
    load: np.ndarray
    slip: np.ndarray
    slip_angle: np.ndarray
    measured: Mapping[str, np.ndarray]
    spread: Mapping[str, np.ndarray] = field(default_factory=dict)
    relative_sinkage: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.slip)
        for key in INPUTS:
            array = np.asarray(getattr(self, key), dtype=float)
            object.__setattr__(self, key, np.broadcast_to(array, (n,)).copy())
        for name in self.measured:
            if name not in QUANTITIES:
                raise InputError(f"measured quantity '{name}'; {suggest(name, QUANTITIES)}")
        if n == 0:
            raise InputError(f"{self.name}: there are no rows")

    def points(self) -> dict[str, np.ndarray]:
        """The operating points as columns of a table, SI, the units in their names."""
        return {
            "radius_m": self.radius, "width_m": self.width, "lug_height_m": self.lug_height,
            "load_n": self.load, "slip": self.slip, "slip_angle_rad": self.slip_angle,
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self.slip)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities measured in at least one row."""
        return tuple(q for q in QUANTITIES if np.isfinite(self.measured.get(q, np.nan)).any())

    def wheels(self) -> list[tuple[tuple[float, float, float], np.ndarray]]:
        """Each different wheel (radius, width, lug height [m]) and its rows, bool[n]."""
        size = np.stack([self.radius, self.width, self.lug_height], axis=1)
        kinds, index = np.unique(size, axis=0, return_inverse=True)
        kind = index.reshape(-1)
        return [((float(k[0]), float(k[1]), float(k[2])), kind == i) for i, k in enumerate(kinds)]


def join(parts: Sequence[WheelData]) -> WheelData:
    """The rows of several data as one."""
    if not parts:
        raise InputError("data: there are none")
    if len(parts) == 1:
        return parts[0]
    names = [part.name for part in parts]
    relative = {part.relative_sinkage for part in parts if "sinkage" in part.quantities}
    if len(relative) > 1:
        raise InputError(
            f"{', '.join(names)}: the zero of the sinkage is known in some data but not in "
            f"others; identify them separately"
            ""
        )
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    if relative == {True}:
        notes.append("the sinkages of all data are assumed to share one zero")

    return WheelData(
        ", ".join(names),
        **{key: np.concatenate([getattr(part, key) for part in parts]) for key in INPUTS},
        measured=_columns([(len(part), part.measured) for part in parts]),
        spread=_columns([(len(part), part.spread) for part in parts]),
        relative_sinkage=relative == {True},
        notes=tuple(notes),
    )


def _columns(parts: list[tuple[int, Mapping[str, np.ndarray]]]) -> dict[str, np.ndarray]:
    """Columns one below another, NaN where a part has none."""
    names = dict.fromkeys(name for _, columns in parts for name in columns)
    return {
        name: np.concatenate([columns.get(name, np.full(rows, np.nan)) for rows, columns in parts])
        for name in names
    }


def conventional(data: WheelData) -> WheelData:
    """The data with all signs as here, see the module docstring."""
    return _against_motion(_turned(data))


def along_heading(slip: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slip counted with the speed along the heading from that with the whole speed v = 1."""
    # a wheel that moves exactly sideways has no slip ratio; a tenth of a degree is taken off
    beta = np.clip(beta, -math.radians(89.9), math.radians(89.9))
    rim = np.where(slip >= 0, 1.0 / np.maximum(1.0 - slip, 1e-9), 1.0 + slip)
    ahead = np.cos(beta)
    return (rim - ahead) / np.maximum(rim, ahead), beta


def _turned(data: WheelData) -> WheelData:
    """Signs reversed where physics leaves no choice, see the module docstring."""
    measured, notes = dict(data.measured), list(data.notes)
    sinkage = measured.get("sinkage")
    if sinkage is not None and not data.relative_sinkage and np.nanmedian(sinkage) < 0:
        measured["sinkage"] = -sinkage
        notes.append("the sign of the sinkage is reversed: negative values were below ground")
    torque, slip = measured.get("torque"), data.slip
    clear = (slip > 0.1) | (slip < -0.3)
    if torque is not None and np.nansum((torque * np.sign(slip))[clear]) < 0:
        measured["torque"] = -torque
        notes.append("the sign of the torque is reversed, so a slipping wheel is driven")
    pull = measured.get("pull")
    if pull is not None and _falls(slip, pull / data.load):
        measured["pull"] = -pull
        notes.append("the sign of the pull is reversed, so it grows with slip")
    return replace(data, measured=measured, notes=tuple(notes))


def _falls(slip: np.ndarray, pull: np.ndarray) -> bool:
    """Whether a pull falls while slip grows to 0.4, beyond doubt."""
    rows = np.isfinite(pull) & (slip <= 0.4)
    if np.sum(rows) < 4 or np.ptp(slip[rows]) < 0.15 or np.ptp(pull[rows]) == 0:
        return False
    return bool(np.corrcoef(slip[rows], pull[rows])[0, 1] < -0.5)


def _against_motion(data: WheelData) -> WheelData:
    """The slip angles reversed where the side force would push the wheel along."""
    side = data.measured.get("side")
    if side is None or np.nansum(side * data.slip_angle) <= 0:
        return data
    note = "the sign of the slip angle is reversed, so the side force opposes the motion"
    return replace(data, slip_angle=-data.slip_angle, notes=(*data.notes, note))


def sane(data: WheelData, rows: np.ndarray) -> None:
    """One sentence for values that can only be a wrong unit."""
    for key in ("radius", "width"):
        size = getattr(data, key)
        if size.max() > 5:
            raise InputError(
                f"{data.name}: {key} = {size.max():g} m is not plausible for a wheel; state the "
                f"unit ({key}_mm)"
            )
    high = data.lug_height >= data.radius
    if high.any():
        raise InputError(
            f"{data.name}: row {rows[high][0] + 1}: lug_height is not below the radius"
        )
    deep = np.abs(data.measured.get("sinkage", np.zeros(len(data)))) > 3 * data.radius
    if deep.any():
        raise InputError(
            f"{data.name}: row {rows[deep][0] + 1}: the sinkage is above three radii; state the "
            f"unit ("
            "sinkage_mm)"
        )
    depth = np.abs(data.measured.get("sinkage", np.array([np.nan])))
    if np.isfinite(depth).any() and 0 < np.nanmax(depth) < 5e-5:
        raise InputError(
            f"{data.name}: no sinkage is above {np.nanmax(depth):.2g} m; state the unit "
            f"(sinkage_mm)"
        )
    if np.median(data.load) < 0.2:
        raise InputError(
            f"{data.name}: a load of {np.median(data.load):.2g} N is not plausible; state the "
            f"unit ("
            "load_kn)"
        )
    for key in ("pull", "side"):
        force = np.abs(data.measured.get(key, np.array([np.nan])))
        if np.isfinite(force).any() and np.nanmin(force / np.min(data.load)) > 20:
            raise InputError(
                f"{data.name}: the {QUANTITIES[key][3]} is above 20 times the load; state the unit"
            )
