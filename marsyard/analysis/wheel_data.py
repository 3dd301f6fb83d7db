"""Logs of wheels in soil, read into one table: a row per operating point.

A row has the wheel (radius, width, lug height [m]), its load [N], slip and slip angle [rad], and
what was measured there: drawbar pull and side force [N], torque [N·m], sinkage [m], each with a
standard deviation where the file gives one. What was not measured is NaN.

Wide files have a column per quantity. A name is one of those below, in any case, with or without
`meas_` before and a unit after it: `Fx_N`, `sinkage_mm`, `beta_deg`, `load [N]`. Without unit: SI.

    radius       radius, wheel_radius, r                                  length: m, mm, cm
    width        width, wheel_width, b
    lug_height   lug_height, grouser_height
    load         load, vertical_load, wheel_load, normal_load, normal_force, fz    N, kN
    slip         slip, slip_ratio, kappa, s                               1, percent
    slip_angle   slip_angle, sideslip_angle, beta, alpha                  rad, deg
    pull         drawbar_pull, pull, dp, f_dp, fx, longitudinal_force     N, kN
    side         side_force, lateral_force, fy, side                      N, kN
    torque       torque, driving_torque, drive_torque, wheel_torque       Nm, mNm
    sinkage      sinkage, wheel_sinkage; sinkage_rel where its zero is not known

`…_sd` (or `_std`, `_sigma`) is the standard deviation, in the quantity's unit if it names none.
Long files have the columns `quantity`, `value` and perhaps `sd`: a row per measured value, its
quantity named as above. Lines that start with # are comments; "r 0.09", "b 0.10" or "load 60 N" in
them are taken where no column says it. Other columns are ignored, but rows can be chosen by them.
Logs over time (a column time, time_s, time_ms, t or t_s) are averaged over windows, separately for
each text in other columns and each `wheel`, `run`, `case` or `test`: the models are for steady
motion. A run of marsyard on soil (its folder, or results.nc) is read in the same way.

Conventions. Slip s = (w − v_x)/max(|w|, |v_x|), with w the speed of the rim and v_x the wheel's
speed along its heading. Some sources count with the whole speed of travel v instead; then
v_x = v cos β is put in (`slip_from="travel"`). "auto" takes that for a file in which a wheel that
travels sideways (over 89°) has any slip but 1. Slip angles are positive when the wheel moves to its
left, forces positive to the left. Soil pushes against the motion: where Σ β F_y > 0 the file counts
its angles the other way, and they are turned round.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.units import to_si

#: what may be measured: unit, factor to show it, unit shown, name
QUANTITIES: dict[str, tuple[str, float, str, str]] = {
    "pull": ("N", 1.0, "N", "drawbar pull"),
    "side": ("N", 1.0, "N", "side force"),
    "torque": ("N·m", 1.0, "N·m", "torque"),
    "sinkage": ("m", 1e3, "mm", "sinkage"),
}
INPUTS = ("radius", "width", "lug_height", "load", "slip", "slip_angle")

_LENGTH = {"": 1.0, "m": 1.0, "mm": 1e-3, "cm": 1e-2}
_FORCE = {"": 1.0, "n": 1.0, "kn": 1e3}
_UNITS: dict[str, Mapping[str, float]] = {
    "radius": _LENGTH, "width": _LENGTH, "lug_height": _LENGTH, "sinkage": _LENGTH,
    "load": _FORCE, "pull": _FORCE, "side": _FORCE,
    "torque": {"": 1.0, "nm": 1.0, "n_m": 1.0, "mnm": 1e-3, "mn_m": 1e-3},
    "slip": {"": 1.0, "percent": 1e-2, "pct": 1e-2},
    "slip_angle": {"": 1.0, "rad": 1.0, "deg": math.pi / 180},
}  # fmt: skip
_ALIASES: dict[str, tuple[str, ...]] = {
    "radius": ("radius", "wheel_radius", "r"),
    "width": ("width", "wheel_width", "b"),
    "lug_height": ("lug_height", "grouser_height"),
    "load": ("load", "vertical_load", "wheel_load", "normal_load", "normal_force", "fz", "f_z"),
    "slip": ("slip", "slip_ratio", "kappa", "s"),
    "slip_angle": ("slip_angle", "sideslip_angle", "beta", "alpha"),
    "pull": ("drawbar_pull", "pull", "dp", "f_dp", "fx", "f_x", "longitudinal_force"),
    "side": ("side_force", "lateral_force", "side", "fy", "f_y"),
    "torque": ("torque", "driving_torque", "drive_torque", "wheel_torque"),
    "sinkage": ("sinkage", "wheel_sinkage", "sinkage_rel", "sinkage_relative", "relative_sinkage"),
}
_BY_ALIAS = {alias: name for name, all_of in _ALIASES.items() for alias in all_of}
_RELATIVE = ("sinkage_rel", "sinkage_relative", "relative_sinkage")
_SPREAD = ("_sd", "_std", "_sigma")
_EMPTY = ("", "nan", "na", "n/a", "-", "null", "none")
#: columns of time and their factor to seconds
_TIMES = {"time": 1.0, "time_s": 1.0, "t": 1.0, "t_s": 1.0, "time [s]": 1.0, "time_ms": 1e-3}
_CONDITION = re.compile(r"^\s*([^<>=!]+?)\s*(<=|>=|!=|=|<|>)\s*(.+?)\s*$")
_IN_COMMENT = {
    "radius": re.compile(r"\b(?:r|radius)\s*[=:]?\s*(\d*\.?\d+)\s*(mm|cm|m)?\b", re.IGNORECASE),
    "width": re.compile(r"\b(?:b|width)\s*[=:]?\s*(\d*\.?\d+)\s*(mm|cm|m)?\b", re.IGNORECASE),
    "load": re.compile(r"\bload\s*[=:]?\s*(\d*\.?\d+)\s*(kN|N)\b", re.IGNORECASE),
}


@dataclass(frozen=True)
class WheelData:
    """Operating points of wheels and what was measured there; see the module's head.

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

    def __len__(self) -> int:
        return len(self.slip)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of what was measured in at least one row."""
        return tuple(q for q in QUANTITIES if np.isfinite(self.measured.get(q, np.nan)).any())

    def wheels(self) -> list[tuple[tuple[float, float, float], np.ndarray]]:
        """Each different wheel (radius, width, lug height [m]) and its rows, bool[n]."""
        size = np.stack([self.radius, self.width, self.lug_height], axis=1)
        kinds, index = np.unique(size, axis=0, return_inverse=True)
        kind = index.reshape(-1)
        return [((float(k[0]), float(k[1]), float(k[2])), kind == i) for i, k in enumerate(kinds)]


def read_wheel_data(
    path: str | Path,
    *,
    wheel: Mapping[str, float] | None = None,
    load: float | None = None,
    where: Sequence[str] = (),
    slip_from: str = "auto",
    window: float = 1.0,
) -> WheelData:
    """Read a log of a wheel or of a rover's wheels.

    path: a CSV file, or the folder (or results.nc) of a run on soil.
    wheel: radius, width, lug_height [m] where the file does not say, or instead of what it says.
    load: of the wheel [N], the same.
    where: conditions on columns, e.g. "wheel=A_smooth", "slip<0.5"; all must hold.
    slip_from: "heading", "travel" or "auto", see the module's head.
    window: of time over which a rover's log is averaged [s].
    """
    path = Path(path)
    given = _given(wheel or {}, load)
    if slip_from not in ("auto", "heading", "travel"):
        raise InputError(f"slip_from '{slip_from}': auto, heading or travel")
    if path.is_dir() or path.suffix == ".nc":
        return _from_run(path, given, where, window)
    rows, comments = _rows(path)
    table = _Table(path.name, rows)
    return table.read(given, comments, where, slip_from, window)


def _given(wheel: Mapping[str, float], load: float | None) -> dict[str, float]:
    given: dict[str, float] = {}
    for key, value in wheel.items():
        if key not in ("radius", "width", "lug_height"):
            allowed = ("radius", "width", "lug_height")
            raise InputError(f"wheel: unknown '{key}'; {suggest(key, allowed)}")
        given[key] = float(value)
    if load is not None:
        given["load"] = float(load)
    for key, value in given.items():
        low = value >= 0 if key == "lug_height" else value > 0
        if not (math.isfinite(value) and low):
            raise InputError(f"{key} = {value:g}: {'0 or more' if key[0] == 'l' else 'above 0'}")
    return given


def _rows(path: Path) -> tuple[list[dict[str, str]], str]:
    """The rows of a CSV file by column, and its comments."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(
            f"'{path}' is no text file; a CSV file or a run folder is expected"
        ) from None
    lines = text.splitlines()
    comments = "\n".join(line for line in lines if line.lstrip().startswith("#"))
    body = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if len(body) < 2:
        raise InputError(f"{path.name}: there are no rows below a line of column names")
    mark = max(",;\t", key=body[0].count)
    rows = list(csv.reader(body, delimiter=mark))
    head = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(head):
            raise InputError(
                f"{path.name}: row {number} has {len(row)} cells, but there are {len(head)} columns"
            )
    return [dict(zip(head, (c.strip() for c in row), strict=True)) for row in rows[1:]], comments


@dataclass(frozen=True)
class _Column:
    """What a column's name says: quantity, factor to SI, whether it is a spread."""

    name: str
    quantity: str
    factor: float
    spread: bool = False
    relative: bool = False
    bare: bool = False  # no unit in the name


def _understand(name: str, file: str) -> _Column | str | None:
    """What a column means; a note where only its unit is not known; None for other columns."""
    text, bracket = name.strip().lower().replace("·", "").replace("°", "deg"), ""
    if match := re.match(r"^(.*?)\s*[\[(](.*)[\])]$", text):
        text, bracket = match.group(1), match.group(2).strip()
        bracket = {"-": "", "%": "percent", "n.m": "nm", "n m": "nm", "1": ""}.get(bracket, bracket)
    text = re.sub(r"[\s\-]+", "_", text)
    for before in ("meas_", "measured_"):
        text = text.removeprefix(before)
    # Fx_sd, Fx_sd_N and Fx_N_sd
    spread = False
    for mark in _SPREAD:
        if text.endswith(mark) or f"{mark}_" in text:
            text, spread = text.replace(mark, "", 1), True
            break
    alias = max(
        (a for a in _BY_ALIAS if text == a or text.startswith(a + "_")), key=len, default=""
    )
    if not alias:
        return None
    quantity, unit = _BY_ALIAS[alias], bracket or text[len(alias) + 1 :]
    if quantity == "slip" and unit == "%":
        unit = "percent"
    factors = _UNITS[quantity]
    if unit not in factors:
        allowed = ", ".join(u for u in factors if u)
        if bracket:
            raise InputError(
                f"{file}: column '{name}': '{bracket}' is no unit of {quantity}; {allowed}"
            )
        if len(alias) < 3 or "_" in unit:
            return None
        return f"column '{name}' is not used: '{unit}' is no unit of {quantity} ({allowed})"
    return _Column(name, quantity, factors[unit], spread, alias in _RELATIVE, not unit)


class _Table:
    """A file's rows and what its columns mean."""

    def __init__(self, file: str, rows: list[dict[str, str]]) -> None:
        self.file, self.rows = file, rows
        self.notes: list[str] = []
        self.columns: dict[tuple[str, bool], _Column] = {}
        for name in rows[0]:
            self._add(name)
        self.long = "quantity" in rows[0] and "value" in rows[0]

    def _add(self, name: str) -> None:
        column = _understand(name, self.file)
        if isinstance(column, str):
            self.notes.append(column)
        elif column is not None:
            key = (column.quantity, column.spread)
            if key in self.columns:
                # nominal and measured, say: the one called measured, else the first
                other = self.columns[key]
                if other.name.lower().startswith("meas") or not name.lower().startswith("meas"):
                    other, column = column, other
                self.notes.append(
                    f"columns '{column.name}' and '{other.name}' both mean {column.quantity}; "
                    f"'{column.name}' is used"
                )
            self.columns[key] = column

    def read(
        self,
        given: dict[str, float],
        comments: str,
        where: Sequence[str],
        slip_from: str,
        window: float,
    ) -> WheelData:
        slip, beta = self._motion()
        if slip_from == "auto":
            sideways = np.abs(beta) > math.radians(89)
            travel = bool(np.any(sideways & (np.abs(slip) < 0.999)))
            slip_from = "travel" if travel else "heading"
            if travel:
                self.notes.append(
                    "slip is taken as counted with the whole speed of travel, because wheels that "
                    "move sideways have slips between −1 and 1"
                )
        if slip_from == "travel":
            slip, beta = _along_heading(slip, beta)
        keep = self._chosen(where)
        inputs = {"slip": slip, "slip_angle": beta}
        for key in ("radius", "width", "lug_height", "load"):
            inputs[key] = self._input(key, given, comments, keep)
        measured, spread, relative = self._long() if self.long else self._wide()
        known = np.any([np.isfinite(v) for v in measured.values()], axis=0)
        if np.any(keep & ~known):
            self.notes.append(f"{np.sum(keep & ~known)} rows without a measured value are left out")
        keep = keep & known
        if not keep.any():
            raise InputError(f"{self.file}: no row has a measured value")
        data = WheelData(
            self.file,
            **{k: v[keep] for k, v in inputs.items()},
            measured={k: v[keep] for k, v in measured.items()},
            spread={k: v[keep] for k, v in spread.items()},
            relative_sinkage=relative,
            notes=tuple(self.notes),
        )
        _sane(data, np.flatnonzero(keep))
        return _against_motion(self._averaged(data, keep, window))

    def _averaged(self, data: WheelData, keep: np.ndarray, window: float) -> WheelData:
        """Means over windows of time, for a log that has a time."""
        name = next((n for n in self.rows[0] if n.strip().lower() in _TIMES), None)
        if name is None:
            return data
        time = self._cells(name)[keep] * _TIMES[name.strip().lower()]
        names = [n for n in self.rows[0] if n != name and self._is_label(n)]
        labels = ["|".join(row[n] for n in names) for row in self.rows]
        label = np.unique(np.array(labels)[keep], return_inverse=True)[1].reshape(-1)
        bins = np.floor((time - time.min()) / window + 1e-9)
        sizes = [data.radius, data.width, data.lug_height]
        kinds, index = np.unique(
            np.stack([label, bins, *sizes], axis=1), axis=0, return_inverse=True
        )
        index = index.reshape(-1)

        def mean(values: np.ndarray) -> np.ndarray:
            known = np.isfinite(values)
            count = np.bincount(index[known], minlength=len(kinds))
            total = np.bincount(index[known], values[known], minlength=len(kinds))
            return np.where(count > 0, total / np.maximum(count, 1), np.nan)

        note = f"{len(data)} rows over time are averaged over {window:g} s to {len(kinds)}"
        inputs: dict[str, Any] = {key: mean(getattr(data, key)) for key in INPUTS}
        return replace(
            data,
            **inputs,
            measured={k: mean(v) for k, v in data.measured.items()},
            spread={k: mean(v) for k, v in data.spread.items()},
            notes=(*data.notes, note),
        )

    def _is_label(self, name: str) -> bool:
        """Whether a column tells rows apart: wheels, runs, or any text."""
        if name.strip().lower() in ("wheel", "run", "case", "test", "quantity"):
            return True
        cells = (row[name] for row in self.rows)
        return any(c.lower() not in _EMPTY and _float(c) is None for c in cells)

    def _motion(self) -> tuple[np.ndarray, np.ndarray]:
        slip = self._numbers("slip", needed=True)
        assert slip is not None
        worst = int(np.argmax(np.abs(slip)))
        if abs(slip[worst]) > 1 + 1e-9:
            name = self.columns["slip", False].name
            raise InputError(
                f"{self.file}: row {worst + 1}: {name} = {slip[worst]:g} is not from −1 to 1; call "
                "the column slip_percent if it is in percent"
            )
        beta = self._numbers("slip_angle")
        beta = np.zeros(len(slip)) if beta is None else beta
        if np.abs(beta).max() > math.radians(90.001):
            raise InputError(
                f"{self.file}: slip angle {np.abs(beta).max():g} rad is above a right angle; call "
                "the column slip_angle_deg if it is in degrees"
            )
        return np.clip(slip, -1.0, 1.0), beta

    def _input(
        self, key: str, given: Mapping[str, float], comments: str, keep: np.ndarray
    ) -> np.ndarray:
        """radius, width, lug height or load of every row."""
        n = len(self.rows)
        if key in given:
            return np.full(n, given[key])
        values = self._numbers(key, keep=keep)
        if values is None and key in _IN_COMMENT and (found := _IN_COMMENT[key].search(comments)):
            unit = (found.group(2) or "m").lower()
            value = float(found.group(1)) * _UNITS[key][unit]
            self.notes.append(f"{key} = {value:g} is taken from the comment of {self.file}")
            values = np.full(n, value)
        if values is None and key == "lug_height":
            values = np.zeros(n)
        if values is None:
            option = "--load 60N" if key == "load" else "--wheel radius=10cm,width=10cm"
            near = [note for note in self.notes if key in note]
            raise InputError(
                f"{self.file}: there is no column for the {key}"
                + (f" ({near[0]})" if near else "")
                + f"; name one {' or '.join(_ALIASES[key][:2])}, or give {option}"
            )
        floor = 0.0 if key == "lug_height" else 1e-12
        bad = np.flatnonzero(keep & ~(values >= floor))
        if bad.size:
            raise InputError(
                f"{self.file}: row {bad[0] + 1}: {key} = {values[bad[0]]:g}: "
                + ("0 or more" if key == "lug_height" else "above 0")
            )
        return values

    def _wide(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bool]:
        measured, spread = {}, {}
        for name in QUANTITIES:
            values = self._numbers(name, blank=True)
            if values is None:
                continue
            measured[name] = values
            main, sd = self.columns[name, False], self.columns.get((name, True))
            if sd is not None:
                factor = main.factor if sd.bare else sd.factor
                deviations = self._cells(sd.name, blank=True) * factor
                spread[name] = np.where(deviations > 0, deviations, np.nan)
        if not measured:
            units = "drawbar_pull_n, side_force_n, torque_nm, sinkage_m"
            near = next((n for n in self.notes if n.startswith("column")), "")
            raise InputError(
                f"{self.file}: there is no column of a measured quantity; expected at least one of "
                f"{units}" + (f" ({near})" if near else "")
            )
        relative = "sinkage" in measured and self.columns["sinkage", False].relative
        return measured, spread, relative

    def _long(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bool]:
        n = len(self.rows)
        values = self._cells("value", blank=True)
        sd = self._cells("sd", blank=True) if "sd" in self.rows[0] else np.full(n, np.nan)
        measured: dict[str, np.ndarray] = {}
        spread: dict[str, np.ndarray] = {}
        relative = False
        kinds = [row["quantity"] for row in self.rows]
        for kind in dict.fromkeys(kinds):
            column = _understand(kind, self.file)
            if not isinstance(column, _Column) or column.quantity not in QUANTITIES:
                raise InputError(
                    f"{self.file}: quantity '{kind}' is not known; "
                    + suggest(kind, ["Fx_N", "Fy_N", "torque_Nm", "sinkage_mm", "sinkage_rel_mm"])
                )
            rows = np.array([k == kind for k in kinds])
            for into, given in ((measured, values), (spread, sd)):
                array = into.setdefault(column.quantity, np.full(n, np.nan))
                array[rows] = given[rows] * column.factor
            relative |= column.relative
        return measured, spread, relative

    def _numbers(
        self, key: str, needed: bool = False, blank: bool = False, keep: np.ndarray | None = None
    ) -> np.ndarray | None:
        """A quantity's column in SI; None where there is none."""
        column = self.columns.get((key, False))
        if column is None:
            if not needed:
                return None
            names = " or ".join(_ALIASES[key][:2])
            raise InputError(
                f"{self.file}: there is no column for the {key}; name one {names} "
                f"(found: {', '.join(self.rows[0])})"
            )
        return self._cells(column.name, blank, keep) * column.factor

    def _cells(self, name: str, blank: bool = False, keep: np.ndarray | None = None) -> np.ndarray:
        out = np.full(len(self.rows), np.nan)
        for i, row in enumerate(self.rows):
            text = row[name]
            if text.lower() in _EMPTY:
                if blank or (keep is not None and not keep[i]):
                    continue
                raise InputError(f"{self.file}: row {i + 1}: '{name}' is empty or not a number")
            try:
                out[i] = float(text)
            except ValueError:
                raise InputError(
                    f"{self.file}: row {i + 1}: '{name}' = '{text}' is not a number"
                ) from None
            if not math.isfinite(out[i]):
                raise InputError(f"{self.file}: row {i + 1}: '{name}' is not finite")
        return out

    def _chosen(self, where: Sequence[str]) -> np.ndarray:
        keep = np.ones(len(self.rows), dtype=bool)
        for condition in where:
            column, test = parse_condition(condition)
            if column not in self.rows[0]:
                names = list(self.rows[0])
                raise InputError(f"where: no column '{column}'; {suggest(column, names)}")
            keep &= np.array([test(row[column]) for row in self.rows])
            if not keep.any():
                some = ", ".join(list(dict.fromkeys(row[column] for row in self.rows))[:8])
                raise InputError(f"where: no row has {condition} ('{column}' holds {some})")
        return keep


def parse_condition(text: str) -> tuple[str, Callable[[str], bool]]:
    """ "slip<0.5" as a column's name and a test of its cells; numbers compare as numbers."""
    match = _CONDITION.match(text)
    if match is None:
        raise InputError(f"where: '{text}' must be COLUMN=VALUE (or <, <=, >, >=, !=)")
    column, sign, value = match.groups()
    number = _float(value)
    if number is None and sign not in ("=", "!="):
        raise InputError(f"where: '{text}': '{value}' is not a number")

    def test(cell: str) -> bool:
        have = _float(cell)
        if number is None or have is None:
            return (cell == value) == (sign == "=") if sign in ("=", "!=") else False
        near = math.isclose(have, number, rel_tol=1e-9, abs_tol=1e-12)
        return {
            "=": near, "!=": not near, "<": have < number, ">": have > number,
            "<=": have <= number, ">=": have >= number,
        }[sign]  # fmt: skip

    return column, test


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _along_heading(slip: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slip counted with the speed along the heading from that with the whole speed v = 1."""
    # a wheel that moves exactly sideways has no slip ratio; a tenth of a degree is taken off
    beta = np.clip(beta, -math.radians(89.9), math.radians(89.9))
    rim = np.where(slip >= 0, 1.0 / np.maximum(1.0 - slip, 1e-9), 1.0 + slip)
    ahead = np.cos(beta)
    return (rim - ahead) / np.maximum(rim, ahead), beta


def _against_motion(data: WheelData) -> WheelData:
    """The slip angles turned round where the side force would push the wheel along."""
    side = data.measured.get("side")
    if side is None or np.nansum(side * data.slip_angle) <= 0:
        return data
    note = "slip angles are turned round, so that the side force acts against the motion"
    return replace(data, slip_angle=-data.slip_angle, notes=(*data.notes, note))


def _sane(data: WheelData, rows: np.ndarray) -> None:
    """One sentence for values that can only be a wrong unit."""
    for key in ("radius", "width"):
        size = getattr(data, key)
        if size.max() > 5:
            raise InputError(
                f"{data.name}: {key} = {size.max():g} m is no wheel; say the unit ({key}_mm)"
            )
    high = data.lug_height >= data.radius
    if high.any():
        raise InputError(
            f"{data.name}: row {rows[high][0] + 1}: lug_height is not below the radius"
        )
    deep = np.abs(data.measured.get("sinkage", np.zeros(len(data)))) > 3 * data.radius
    if deep.any():
        raise InputError(
            f"{data.name}: row {rows[deep][0] + 1}: the sinkage is above three radii; say the unit "
            "(sinkage_mm)"
        )


# --- runs of marsyard


def _from_run(
    path: Path, given: Mapping[str, float], where: Sequence[str], window: float
) -> WheelData:
    """Operating points of a run on soil: means over windows of time, wheel by wheel."""
    from marsyard.results import open_results

    ds = open_results(path)
    names = {
        "slip": "slip_ratio", "slip_angle": "slip_angle", "load": "wheel_load",
        "pull": "drawbar_pull", "side": "side_force", "torque": "driving_torque",
        "sinkage": "sinkage",
    }  # fmt: skip
    for name in ("slip_ratio", "wheel_load"):
        if name not in ds:
            raise InputError(f"{path}: the run has no '{name}'; a run on soil is expected")
    for key in ("radius", "width"):
        if key not in given:
            raise InputError(f"{path}: a run does not tell the wheel's {key}; give --wheel {key}=…")
    names = {k: v for k, v in names.items() if v in ds}
    time, wheels = ds["time"].values, [str(w) for w in ds["wheel"].values]
    chosen = [parse_condition(c) for c in where]
    for column, _ in chosen:
        if column not in ("wheel", "time"):
            raise InputError(f"where: a run has no column '{column}'; valid: wheel, time.")
    columns: dict[str, list[float]] = {k: [] for k in names}
    bins = np.floor((time - time[0]) / window).astype(int)
    for w, wheel in enumerate(wheels):
        for b in np.unique(bins):
            rows = bins == b
            cells = {"wheel": wheel, "time": f"{time[rows].mean():g}"}
            if not all(test(cells[column]) for column, test in chosen):
                continue
            means = {
                k: _mean(ds[v].transpose("time", "wheel").values[rows, w]) for k, v in names.items()
            }
            if means["load"] > 0 and math.isfinite(means["slip"]):
                for key, value in means.items():
                    columns[key].append(value)
    arrays = {k: np.array(v) for k, v in columns.items()}
    if not len(arrays["slip"]):
        raise InputError(f"{path}: no wheel is on soil in the rows chosen")
    n = len(arrays["slip"])
    data = WheelData(
        str(path),
        radius=np.full(n, given["radius"]),
        width=np.full(n, given["width"]),
        lug_height=np.full(n, given.get("lug_height", 0.0)),
        load=np.full(n, given["load"]) if "load" in given else arrays["load"],
        slip=np.clip(arrays["slip"], -1, 1),
        slip_angle=arrays.get("slip_angle", np.zeros(n)),
        measured={q: arrays[q] for q in QUANTITIES if q in arrays},
        notes=(f"means over {window:g} s of a run, wheel by wheel",),
    )
    return data


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def parse_sizes(text: str) -> dict[str, float]:
    """ "radius=58mm,width=5cm" as numbers [m]."""
    out: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"--wheel: '{part}' must be NAME=LENGTH, e.g. radius=58mm")
        key = {"r": "radius", "b": "width", "lugs": "lug_height"}.get(key.strip(), key.strip())
        out[key] = quantity_of(value, "length", f"--wheel: {key}")
    return out


def quantity_of(text: Any, dimension: str, what: str) -> float:
    """A number with unit, or one sentence that says what is wrong with it."""
    try:
        return to_si(text.strip() if isinstance(text, str) else text, dimension)
    except ValueError as error:
        raise InputError(f"{what}: {error}") from None
