"""Reading logs of wheels in soil into `WheelData`: a row per operating point.

Wide files have a column per quantity, named as `wheel_columns` says; long ones the columns
`quantity`, `value` and perhaps `sd`: a row per measured value, its quantity named as there. Logs
with the columns of several wheels side by side (slip_FL, slip_FR, …) are put one below another. How
files are written: `wheel_table`. "r 0.09", "wheel width: 100 mm" or "load 60 N" in comments or
above the names are taken where no column says it. Other columns are ignored, but rows can be chosen
by them. Where a file has no slip, it is computed from its speeds: w from the rate of the wheel
times its radius, or the speed of the rim; v_x = v cos β. Logs over time are averaged over windows,
see `steady`. A run of marsyard on soil (its folder, or results.nc) is read in the same way.

slip_from="auto" takes slip as counted with the whole speed of travel for a file in which a wheel
that travels sideways (over 89°) has any slip but 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from marsyard.analysis import steady
from marsyard.analysis.wheel_columns import (
    ALIASES,
    QUANTITIES,
    SPEEDS,
    UNITS,
    Column,
    understand,
    unit_of,
)
from marsyard.analysis.wheel_data import WheelData, along_heading, conventional, sane
from marsyard.analysis.wheel_remarks import remark
from marsyard.analysis.wheel_runs import from_bag, from_run
from marsyard.analysis.wheel_table import Table, number, per_wheel, read_table
from marsyard.errors import InputError, suggest

#: columns that tell runs and wheels apart, whatever their cells
_LABELS = ("wheel", "run", "case", "test", "trial", "experiment", "quantity")


def read_wheel_data(
    path: str | Path,
    *,
    wheel: Mapping[str, float] | None = None,
    load: float | None = None,
    where: Sequence[str] = (),
    slip_from: str = "auto",
    window: float = 1.0,
    columns: Mapping[str, str] | None = None,
    robot: str | None = None,
    topics: Sequence[str] = (),
) -> WheelData:
    """Read a log of a wheel or of a rover's wheels.

    path: a CSV file, or the folder (or results.nc) of a run on soil.
    wheel: radius, width, lug_height [m] where the file does not say, or instead of what it says.
    load: of the wheel [N], the same.
    where: conditions on columns, e.g. "wheel=A_smooth", "slip<0.5"; all must hold.
    slip_from: "heading", "travel" or "auto", see the module docstring.
    window: of time over which a log is averaged [s].
    columns: the column of a quantity by its name in the file where that is not understood, e.g.
        {"pull": "Zugkraft"}; "Zugkraft [kN]" where the file does not say the unit.
    robot, topics: of a recording (.mcap), see `marsyard.results.bags`: the robot it is of, and
        topics by name, e.g. "wrench=/ft/{wheel}".
    """
    from marsyard.results.bags import is_recording

    path = Path(path)
    given = _given(wheel or {}, load)
    if slip_from not in ("auto", "heading", "travel"):
        raise InputError(f"slip_from '{slip_from}': auto, heading or travel")
    if is_recording(path):
        return from_bag(path, robot, topics, given, where, window)
    if path.is_dir() or path.suffix == ".nc":
        return from_run(path, given, where, window)
    if robot or topics:
        raise InputError(f"{path.name}: a robot and topics only apply to recordings (.mcap)")
    said = dict(columns or {})
    table = read_table(path, [*said.values()])
    return _Reader(table, said).read(given, where, slip_from, window)


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


class _Reader:
    """A table and what its columns mean."""

    def __init__(self, table: Table, said: Mapping[str, str]) -> None:
        self.notes: list[str] = []
        self.file = table.file
        self.columns = self._understood(table, said)
        if not {("slip", False), ("rate", False), ("rim", False)} & set(self.columns):
            below = per_wheel(table)
            if below is not table:
                table, self.notes = below, []
                self.columns = self._understood(table, said)
        self.table = table
        self._say_unused()
        self.long = "quantity" in table.names and "value" in table.names

    def _understood(self, table: Table, said: Mapping[str, str]) -> dict[tuple[str, bool], Column]:
        found = {(c.quantity, False): c for c in _said(table, said)}
        fixed = {c.name for c in found.values()}
        for name in table.names:
            column = understand(name, self.file) if name not in fixed else None
            if isinstance(column, str):
                self.notes.append(column)
            elif column is not None:
                key = (column.quantity, column.spread)
                if key in found and found[key].name in fixed:
                    continue
                found[key] = self._better(found[key], column) if key in found else column
        return found

    def _say_unused(self) -> None:
        """A note about columns of numbers that are not used: one of them may be what is missed."""
        used = {c.name for c in self.columns.values()} | {"value", "sd"}
        noted = " ".join(self.notes)
        rest = [
            n for n in self.table.names
            if n not in used and f"'{n}'" not in noted and n.strip().lower() not in _LABELS
            and not self._is_label(n)
        ]  # fmt: skip
        if rest:
            more = f" and {len(rest) - 8} more" if len(rest) > 8 else ""
            self.notes.append(f"columns not used: {', '.join(rest[:8])}{more}")

    def _better(self, one: Column, other: Column) -> Column:
        """Of two columns of one quantity: the measured one, one with a name, else the first."""

        def rank(column: Column) -> tuple[bool, bool]:
            return column.measured, not column.letter

        if rank(other) > rank(one):
            one, other = other, one
        if not other.letter and one.quantity not in SPEEDS:
            self.notes.append(
                f"columns '{one.name}' and '{other.name}' both mean {one.quantity}; "
                f"'{one.name}' is used"
            )
        return one

    def read(
        self, given: Mapping[str, float], where: Sequence[str], slip_from: str, window: float
    ) -> WheelData:
        """All of it as operating points."""
        arrays = self._motion()
        travel = slip_from == "travel" or (slip_from == "auto" and self._counts_travel(arrays))
        for key in ("radius", "width", "lug_height", "load"):
            arrays[key] = self._input(key, given)
        keep = self._complete(arrays, self.table.chosen(where))
        measured, spread, relative = self._long() if self.long else self._wide(arrays["load"])
        known = np.any([np.isfinite(v) for v in measured.values()], axis=0)
        if np.any(keep & ~known):
            self.notes.append(_left_out(np.sum(keep & ~known), "a measured value"))
        keep = keep & known
        if not keep.any():
            raise InputError(f"{self.file}: no row has a measured value")
        rows = np.flatnonzero(keep)
        data = self._points(
            _only(arrays, keep), _only(measured, keep), _only(spread, keep), rows, window, travel
        )
        return conventional(replace(data, relative_sinkage=relative))

    def _points(
        self,
        arrays: dict[str, np.ndarray],
        measured: dict[str, np.ndarray],
        spread: dict[str, np.ndarray],
        rows: np.ndarray,
        window: float,
        travel: bool,
    ) -> WheelData:
        """Operating points of the rows, averaged over time where they have one."""
        if ("time", False) not in self.columns:
            slip, beta = self._slips(arrays, travel, rows)
            return self._data(arrays, slip, beta, measured, spread, rows)
        index, run = self._windows(arrays, rows, window)

        def mean(part: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {k: steady.means(v, index, len(run)) for k, v in part.items()}

        arrays, measured, spread = mean(arrays), mean(measured), mean(spread)
        text = f"{len(rows)} rows over time are averaged over {window:g} s to {len(run)}"
        slip, beta = self._slips(arrays, travel, np.arange(len(run)))
        keep = steady.settled(slip, measured, run)
        if not keep.all():
            text += (
                f"; {np.sum(~keep)} at the start of runs are left out because they are not steady"
            )
        self.notes.append(text)
        arrays, measured, spread = _only(arrays, keep), _only(measured, keep), _only(spread, keep)
        kept = np.flatnonzero(keep)
        return self._data(arrays, slip[keep], beta[keep], measured, spread, kept)

    def _data(
        self,
        arrays: dict[str, np.ndarray],
        slip: np.ndarray,
        beta: np.ndarray,
        measured: dict[str, np.ndarray],
        spread: dict[str, np.ndarray],
        rows: np.ndarray,
    ) -> WheelData:
        data = WheelData(
            self.file, arrays["radius"], arrays["width"], arrays["lug_height"], arrays["load"],
            slip, beta, measured, spread, notes=tuple(self.notes),
        )  # fmt: skip
        sane(data, rows)
        return data

    def _windows(
        self, arrays: Mapping[str, np.ndarray], rows: np.ndarray, window: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Window of each row and run of each window, for different wheels and labels apart."""
        column = self.columns["time", False]
        time = self.table.times(column.name)[rows] * column.factor
        if not np.all(np.isfinite(time)):
            at = rows[~np.isfinite(time)][0] + 1
            raise InputError(f"{self.file}: row {at}: '{column.name}' is empty")
        names = [n for n in self.table.names if n != column.name and self._is_label(n)]
        cells = [self.table.column(n) for n in names]
        texts = ["|".join(c[i] for c in cells) for i in range(len(self.table.rows))]
        label = np.unique(np.array(texts)[rows], return_inverse=True)[1].reshape(-1)
        sizes = np.stack([label, arrays["radius"], arrays["width"], arrays["lug_height"]], axis=1)
        kind = np.unique(sizes, axis=0, return_inverse=True)[1].reshape(-1)
        return steady.windows(time, steady.runs(time, kind), window)

    def _is_label(self, name: str) -> bool:
        """Whether a column tells rows apart: wheels, runs, or any text."""
        if name.strip().lower() in _LABELS:
            return True
        cells = self.table.column(name)
        return any(number(c.rstrip("%")) is None and any(x.isalpha() for x in c) and
                   c.lower() not in ("nan", "na", "null", "none") for c in cells)  # fmt: skip

    # --- motion

    def _motion(self) -> dict[str, np.ndarray]:
        """Columns of slip, slip angle and speeds."""
        out = {k: self._numbers(k) for k in ("slip", "slip_angle", *SPEEDS)}
        found = {k: v for k, v in out.items() if v is not None}
        found.setdefault("slip_angle", np.zeros(len(self.table.rows)))
        if "slip" in found:
            return {k: found[k] for k in ("slip", "slip_angle")}
        if not {"rate", "rim"} & set(found) or not {"travel", "ahead"} & set(found):
            near = next((f" ({n})" for n in self.notes if "slip" in n or "speed" in n), "")
            raise InputError(
                f"{self.file}: there is no column for the slip{near}; name one slip or slip_percent"
                f" (or omega_rad_s and travel_speed_m_s), or give --column slip=NAME (found: "
                f"{', '.join(self.table.names)})"
            )
        return found

    def _counts_travel(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the file counts slip with the whole speed of travel."""
        if "slip" not in arrays:
            return False
        sideways = np.abs(arrays["slip_angle"]) > math.radians(89)
        travel = bool(np.any(sideways & (np.abs(arrays["slip"]) < 0.999)))
        if travel:
            self.notes.append(
                "slip is assumed to refer to the total travel speed, because wheels that move "
                "sideways have slips between −1 and 1"
                ""
            )
        return travel

    def _slips(
        self, arrays: Mapping[str, np.ndarray], travel: bool, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slip ratio and slip angle of operating points."""
        beta = arrays["slip_angle"]
        worst = float(np.abs(beta).max())
        if worst > math.radians(90.001):
            raise InputError(
                f"{self.file}: slip angle {worst:g} rad is above a right angle; call "
                "the column slip_angle_deg if it is in degrees"
            )
        if "slip" not in arrays:
            return self._from_speeds(arrays, beta)
        slip = arrays["slip"]
        at = int(np.argmax(np.abs(slip)))
        if abs(slip[at]) > 1.02:
            name = self.columns["slip", False].name
            raise InputError(
                f"{self.file}: row {rows[at] + 1}: {name} = {slip[at]:g} is not from −1 to 1; call "
                "the column slip_percent if it is in percent"
            )
        slip = np.clip(slip, -1.0, 1.0)
        return along_heading(slip, beta) if travel else (slip, beta)

    def _from_speeds(
        self, arrays: Mapping[str, np.ndarray], beta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slips from the rate of the wheel, or the speed of its rim, and the speed of travel."""
        rim = arrays["rim"] if "rim" in arrays else arrays["rate"] * arrays["radius"]
        ahead = arrays["ahead"] if "ahead" in arrays else arrays["travel"] * np.cos(beta)
        aside = arrays["travel"] * np.sin(beta) if "travel" in arrays else ahead * np.tan(beta)
        aside = arrays.get("aside", aside)
        names = [self.columns[k, False].name for k in SPEEDS if k in arrays]
        if "rim" not in arrays and np.any(arrays["lug_height"] > 0):
            names.append("radius without lugs")
        self.notes.append(f"slip is computed from {', '.join(names)}")
        if np.median(rim * ahead) < 0:
            rim = -rim
            self.notes.append("the sign of the wheel rate is reversed, so the wheel drives forward")
        # forward is where the wheel goes
        back = np.where(np.abs(ahead) > np.abs(rim), ahead, rim) < 0
        rim, ahead = np.where(back, -rim, rim), np.where(back, -ahead, ahead)
        fast = np.maximum(np.abs(rim), np.hypot(ahead, aside))
        if np.any(fast == 0):
            raise InputError(f"{self.file}: row {np.argmin(fast) + 1}: all speeds are 0; choose "
                             "rows in which the wheel moves, e.g. --where 'time>5'")  # fmt: skip
        # a wheel that moves exactly sideways has no slip ratio; a tenth of a degree is taken off
        ahead = np.where(np.abs(ahead) < 1.7e-3 * np.abs(aside), 1.7e-3 * np.abs(aside), ahead)
        slip = (rim - ahead) / np.maximum(np.maximum(np.abs(rim), np.abs(ahead)), 1e-300)
        return np.clip(slip, -1.0, 1.0), np.arctan2(aside, np.abs(ahead))

    # --- the wheel and its load

    def _input(self, key: str, given: Mapping[str, float]) -> np.ndarray:
        """radius, width, lug height or load of every row."""
        count = len(self.table.rows)
        if key in given:
            return np.full(count, given[key])
        values = self._numbers(key)
        if values is None and (said := remark(self.table.remarks, key)) is not None:
            self.notes.append(f"{key} = {said:g} is taken from the comment in {self.file}")
            values = np.full(count, said)
        if values is None and key == "lug_height":
            self.notes.append("the wheels are assumed to be smooth, because no lug height is given")
            values = np.zeros(count)
        if values is None:
            option = "--load 60N" if key == "load" else "--wheel radius=10cm,width=10cm"
            near = [note for note in self.notes if key in note]
            raise InputError(
                f"{self.file}: there is no column for the {key}"
                + (f" ({near[0]})" if near else "")
                + f"; name one {' or '.join(ALIASES[key][:2])}, or give {option} (found: "
                f"{', '.join(self.table.names)})"
            )
        if key == "load" and np.all(values[np.isfinite(values)] < 0):
            self.notes.append("the sign of the load is reversed: all values were negative")
            values = -values
        return values

    def _complete(self, arrays: Mapping[str, np.ndarray], keep: np.ndarray) -> np.ndarray:
        """Rows chosen that have all their inputs, above zero where they must be."""
        for key, values in arrays.items():
            empty = keep & ~np.isfinite(values)
            if empty.any():
                name = self.columns[key, False].name
                if np.all(empty == keep):
                    raise InputError(f"{self.file}: '{name}' is empty in all rows")
                self.notes.append(_left_out(empty.sum(), name))
                keep = keep & ~empty
        for key in ("radius", "width", "lug_height", "load"):
            floor = 0.0 if key == "lug_height" else 1e-12
            bad = np.flatnonzero(keep & ~(arrays[key] >= floor))
            if bad.size:
                raise InputError(
                    f"{self.file}: row {bad[0] + 1}: {key} = {arrays[key][bad[0]]:g}: "
                    + ("0 or more" if key == "lug_height" else "above 0")
                )
        return keep

    # --- what was measured

    def _wide(self, load: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bool]:
        measured, spread = {}, {}
        for name in QUANTITIES:
            values = self._numbers(name)
            if values is None:
                continue
            measured[name] = values
            main, sd = self.columns[name, False], self.columns.get((name, True))
            if sd is not None:
                factor = main.factor if sd.bare else sd.factor
                deviations = self.table.numbers(sd.name) * factor
                spread[name] = np.where(deviations > 0, deviations, np.nan)
        ratio, sd = self._numbers("pull_ratio"), self.columns.get(("pull_ratio", True))
        if ratio is not None and "pull" not in measured:
            name = self.columns["pull_ratio", False].name
            self.notes.append(f"drawbar pull is {name} times the load")
            measured["pull"] = ratio * load
            if sd is not None:
                spread["pull"] = self.table.numbers(sd.name) * sd.factor * load
        if not measured:
            units = "drawbar_pull_n, side_force_n, torque_nm, sinkage_m"
            near = next((n for n in self.notes if n.startswith("column")), "")
            raise InputError(
                f"{self.file}: there is no column of a measured quantity; expected at least one of "
                f"{units}, or give --column pull=NAME (found: {', '.join(self.table.names)})"
                + (f" ({near})" if near else "")
            )
        relative = "sinkage" in measured and self.columns["sinkage", False].relative
        return measured, spread, relative

    def _long(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bool]:
        count = len(self.table.rows)
        values = self.table.numbers("value")
        none = np.full(count, np.nan)
        sd = self.table.numbers("sd") if "sd" in self.table.names else none
        measured: dict[str, np.ndarray] = {}
        spread: dict[str, np.ndarray] = {}
        relative = False
        kinds = self.table.column("quantity")
        for kind in dict.fromkeys(kinds):
            column = understand(kind, self.file)
            if not isinstance(column, Column) or column.quantity not in QUANTITIES:
                raise InputError(
                    f"{self.file}: quantity '{kind}' is not known; "
                    + suggest(kind, ["Fx_N", "Fy_N", "torque_Nm", "sinkage_mm", "sinkage_rel_mm"])
                )
            rows = np.array([k == kind for k in kinds])
            for into, numbers in ((measured, values), (spread, sd)):
                array = into.setdefault(column.quantity, none.copy())
                array[rows] = numbers[rows] * column.factor
            relative |= column.relative
        return measured, spread, relative

    def _numbers(self, key: str) -> np.ndarray | None:
        """A quantity's column in SI, NaN where empty; None where there is none."""
        column = self.columns.get((key, False))
        if column is None:
            return None
        percent = key == "slip" and column.bare
        return self.table.numbers(column.name, percent) * column.factor


def _left_out(count: int, what: str) -> str:
    return f"{count} row{'s' if count > 1 else ''} without {what} left out"


def _only(part: dict[str, np.ndarray], keep: np.ndarray) -> dict[str, np.ndarray]:
    return {k: v[keep] for k, v in part.items()}


def _said(table: Table, said: Mapping[str, str]) -> list[Column]:
    """The columns the user named."""
    out = []
    for key, text in said.items():
        if key not in ALIASES:
            raise InputError(f"--column: no quantity '{key}'; {suggest(key, ALIASES)}")
        match = re.match(r"^(.*?)\s*\[([^\]]*)\]$", text)
        name, unit = (text, "") if text in table.names or match is None else match.groups()
        if name not in table.names:
            raise InputError(f"--column: no column '{name}'; {suggest(name, table.names)}")
        own = re.search(r"[\[(]([^\])]*)[\])]\s*$", name)
        given = unit_of(unit or (own.group(1) if own else ""))
        if given not in UNITS[key]:
            allowed = ", ".join(u for u in UNITS[key] if u)
            raise InputError(f"--column: '{given}' is no unit of {key}; {allowed}")
        quantity = "radius" if key == "diameter" else key
        out.append(Column(name, quantity, UNITS[key][given], bare=not given))
    return out
