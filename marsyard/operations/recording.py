"""A sequence from motor commands of a run, or of a manual drive.

A drive keeps the wheel rates and steering angles it told the servos at the begin of each period
(`setpoint_rate`, `setpoint_angle`, `setpoint_joint` over `drive_time` in the results). Each becomes
a motor command that lasts to the next; those that are the same are joined. Run again on the same
scenario they give the same motion, whatever commanded it first: path, goal, or a hand.
"""

from __future__ import annotations

from collections.abc import Sequence as Values
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.sequence import Sequence, make_sequence


def record_sequence(run: Any, *, title: str = "") -> Sequence:
    """The motor commands of a run as a sequence.

    `run` is what `marsyard.run` returns, a simulation, a data set, or a run's folder.
    """
    ds = _data(run)
    if "setpoint_rate" not in ds:
        raise InputError(
            "record_sequence: the run has no drive, so there are no commands to record"
        )
    time = ds.drive_time.values
    if len(time) and time[0] > 1e-9:
        raise InputError(
            f"record_sequence: the run was resumed at {time[0]:g} sand does not contain the "
            f"earlier commands"
        )
    joints = ds.setpoint_joint.values if "setpoint_joint" in ds else None
    posed = [str(name) for name in ds.posed.values] if "posed" in ds.coords else []
    steered = ~np.isnan(ds.setpoint_angle.values).any(axis=0)
    wheels = [str(w) for w in ds.wheel.values]
    return sequence_of_setpoints(
        time, _by_name(wheels, ds.setpoint_rate.values),
        _by_name(wheels, ds.setpoint_angle.values, steered),
        None if joints is None else _by_name(posed, joints),
        end=float(ds.time.values[-1]), title=title or f"recorded: {ds.attrs.get('title', '')}",
    )  # fmt: skip


def sequence_of_setpoints(
    time: Values[float] | np.ndarray,
    rate: dict[str, np.ndarray],
    angle: dict[str, np.ndarray] | None = None,
    joints: dict[str, np.ndarray] | None = None,
    *,
    end: float,
    title: str = "",
) -> Sequence:
    """The sequence of set-points over time.

    Args:
        time: of each set-point [s], rising; the first holds from the start.
        rate: of each wheel, positive forwards [rad/s], by name.
        angle: of each steered wheel, positive left [rad]. joints: rates of other joints [rad/s].
        end: when the last one ends [s].
    """
    time = np.asarray(time, dtype=float)
    given = {"rate": rate, "angle": angle or {}, "joints": joints or {}}
    _check(time, given, end)
    commands: list[dict[str, Any]] = []
    begins: list[float] = []
    for k, begin in enumerate(np.where(np.arange(len(time)) == 0, 0.0, time)):
        if begin >= end - 1e-9:
            break
        values = {
            key: {name: float(v[k]) for name, v in columns.items()}
            for key, columns in given.items()
            if columns
        }
        if not commands or values != commands[-1]:
            commands.append(values)
            begins.append(float(begin))
    for command, begin, over in zip(commands, begins, [*begins[1:], end], strict=True):
        command["duration"] = _round(over - begin)
    return make_sequence({"title": title, "sequence": commands}, "setpoints")


def _round(seconds: float) -> float:
    """Without the dust of differences, so that a duration stays a whole number of periods."""
    return round(float(seconds), 9)


def _check(time: np.ndarray, given: dict[str, Any], end: float) -> None:
    if time.ndim != 1 or len(time) == 0 or np.any(np.diff(time) <= 0):
        raise InputError("setpoints.time: give increasing times, at least one")
    if not np.all(np.isfinite(time)) or time[0] < 0:
        raise InputError("setpoints.time: must be finite and not negative")
    if not given["rate"]:
        raise InputError("setpoints.rate: give the rates of at least one wheel")
    for key, columns in given.items():
        for name, values in columns.items():
            values = np.asarray(values, dtype=float)
            if values.shape != time.shape or not np.all(np.isfinite(values)):
                raise InputError(
                    f"setpoints.{key}.{name}: needs {len(time)} finite numbers, one per time"
                )
    if not end > 0:
        raise InputError(f"setpoints: end = {end:g} s: must be above 0")


def _by_name(
    names: list[str], values: np.ndarray, which: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    return {n: values[:, k] for k, n in enumerate(names) if which is None or which[k]}


def _data(run: Any) -> Any:
    import xarray as xr

    if isinstance(run, xr.Dataset):
        return run
    if isinstance(run, str | Path):
        from marsyard.results import open_results

        return open_results(run)
    if hasattr(run, "dataset"):
        return run.dataset()
    return run.data
