"""Operating points of wheels from a run on soil or a recording: means over windows of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.analysis.wheel_data import WheelData
from marsyard.analysis.wheel_table import parse_condition
from marsyard.errors import InputError
from marsyard.files import parse_json

if TYPE_CHECKING:
    import xarray as xr

#: sizes of a wheel, and what the results call them
_SIZES = {"radius": "wheel_radius", "width": "wheel_width", "lug_height": "grouser_height"}


def from_run(
    path: Path, given: Mapping[str, float], where: Sequence[str], window: float
) -> WheelData:
    """Operating points of a run on soil: means over windows of time, wheel by wheel."""
    from marsyard.results import open_results

    return from_dataset(open_results(path), path, given, where, window)


def from_bag(
    path: Path,
    robot: str | None,
    topics: Sequence[str],
    given: Mapping[str, float],
    where: Sequence[str],
    window: float,
) -> WheelData:
    """Operating points of a recording (MCAP): a rover's wheels with wrenches, or a run's export."""
    from marsyard.results.bags import Topics, read_bag

    chosen = Topics.of(topics)
    ds = read_bag(path, robot, chosen)
    if "wheel" not in ds.coords:
        raise InputError(f"{path.name}: the robot has no wheels")
    if "wheel_load" not in ds:
        raise InputError(
            f"{path.name}: no wheel has a wrench; {chosen.wrench} was looked for, "
            "--topic wrench=/…/{wheel}/… names another"
        )
    if not np.isfinite(ds["slip_ratio"].values).any():
        raise InputError(
            f"{path.name}: no wheel's joint is in {chosen.joint_states}, so that no slip is known; "
            "--topic joint_states=TOPIC names another"
        )
    data = from_dataset(ds, path, given, where, window)
    return replace(data, notes=(*data.notes, *parse_json(ds.attrs["notes"], "notes")))


def from_dataset(
    ds: xr.Dataset,
    path: Path,
    given: Mapping[str, float],
    where: Sequence[str],
    window: float,
) -> WheelData:
    """Operating points of a data set with the names of results: see `from_run`."""
    names = {
        "slip": "slip_ratio", "slip_angle": "slip_angle", "load": "wheel_load",
        "pull": "drawbar_pull", "side": "side_force", "torque": "driving_torque",
        "sinkage": "sinkage",
    }  # fmt: skip
    for name in ("slip_ratio", "wheel_load"):
        if name not in ds:
            raise InputError(f"{path}: the run has no '{name}'; a run on soil is expected")
    # rigs are level, and a recording does not say how the ground sloped
    level = {"pull": "drawbar_pull_level", "side": "side_force_level"}
    names |= {k: v for k, v in level.items() if v in ds}
    names = {k: v for k, v in names.items() if v in ds}
    time, wheels = ds["time"].values, [str(w) for w in ds["wheel"].values]
    chosen = [parse_condition(c) for c in where]
    for column, _ in chosen:
        if column not in ("wheel", "time"):
            raise InputError(f"where: a run has no column '{column}'; valid: wheel, time.")
    columns: dict[str, list[float]] = {k: [] for k in [*names, *_SIZES]}
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
            means |= {k: _size(ds, path, given, k, w) for k in _SIZES}
            if means["load"] > 0 and math.isfinite(means["slip"]):
                for key, value in means.items():
                    columns[key].append(value)
    arrays = {k: np.array(v) for k, v in columns.items()}
    if not len(arrays["slip"]):
        raise InputError(f"{path}: no wheel is on soil in the rows chosen")
    n = len(arrays["slip"])
    data = WheelData(
        str(path),
        radius=arrays["radius"],
        width=arrays["width"],
        lug_height=arrays["lug_height"],
        load=np.full(n, given["load"]) if "load" in given else arrays["load"],
        slip=np.clip(arrays["slip"], -1, 1),
        slip_angle=arrays.get("slip_angle", np.zeros(n)),
        measured={q: arrays[q] for q in QUANTITIES if q in arrays},
        notes=(f"means over {window:g} s of a run, wheel by wheel",),
    )
    return data


def _size(ds: Any, path: Path, given: Mapping[str, float], key: str, wheel: int) -> float:
    """A size of a wheel: as given, else as the run has it."""
    if key in given:
        return given[key]
    if _SIZES[key] not in ds:
        if key == "lug_height":
            return 0.0
        raise InputError(
            f"{path}: the run does not contain the wheel's {key}; give --wheel {key}=…"
        )
    return float(ds[_SIZES[key]].values[wheel])


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan
