"""Numbers of each law of a comparison, and all their data along one dimension.

Means are over all wheels and the whole run; what a law does not have is missing:

    distance     length of the base's path seen from above [m]
    apart        distance of the base's last position from that of the first law [m]
    slip         mean slip ratio of the wheels
    sinkage      mean sinkage [m]
    torque       mean motor torque of the wheels [N·m]
    pull         drawbar pull, all wheels together [N]; none where it is below a thousandth of the
                 weight, as under a rover that drives freely
    tether       tension of the tethers, together [N]
    energy       work of the motors [J], and per metre of path [J/m]
    electrical   electrical energy of motors that have a model [J]
    offset       largest cross-track error of a drive [m]
    speed        simulated time over computing time
    passed       checks of the scenario that passed, of `checks`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from marsyard.single_run import Run

#: number, heading, unit shown, factor from SI, digits
COLUMNS: tuple[tuple[str, str, str, float, int], ...] = (
    ("distance", "distance", "m", 1.0, 4),
    ("apart", "end position relative to the first", "m", 1.0, 3),
    ("slip", "mean slip", "%", 100.0, 3),
    ("sinkage", "mean sinkage", "mm", 1e3, 3),
    ("torque", "mean torque per wheel", "N·m", 1.0, 3),
    ("pull", "drawbar pull, all wheels", "N", 1.0, 3),
    ("tether", "tension of the tethers", "N", 1.0, 3),
    ("energy", "energy of the motors", "J", 1.0, 4),
    ("energy_per_metre", "energy per metre", "J/m", 1.0, 3),
    ("electrical", "electrical energy", "J", 1.0, 4),
    ("offset", "largest cross-track error", "cm", 100.0, 3),
    ("speed", "speed", "× real time", 1.0, 3),
)


def summary(run: Run, first: Run | None = None) -> dict[str, Any]:
    """The numbers of one law; of a study only its speed and checks."""
    info, checks = run.info, run.checks
    wall = max(float(info["wall_time"]), 1e-9)
    out: dict[str, Any] = {"checks": len(checks), "passed": sum(c.ok for c in checks)}
    if run.study is not None:
        return {**out, "speed": float(info["simulated"]) / wall}
    ds = run.data
    span = float(ds["time"][-1] - ds["time"][0])
    out |= {"speed": span / wall, "simulated": span, "stopped": run.stopped or ""}
    out["unconverged"] = int(np.nansum(ds["unconverged"].values)) if "unconverged" in ds else 0
    base = ds["position_base"].transpose("time", "axis").values
    steps = np.diff(base[:, :2], axis=0)
    out["distance"] = float(np.hypot(steps[:, 0], steps[:, 1]).sum())
    if first is not None and first is not run:
        other = first.data["position_base"].transpose("time", "axis").values[-1]
        out["apart"] = float(np.linalg.norm(base[-1] - other))
    for name, variable in (("slip", "slip_ratio"), ("sinkage", "sinkage")):
        out[name] = _mean(ds, variable)
    out["torque"] = _wheel_torque(run)
    for name, variable, dim in (
        ("pull", "drawbar_pull", "wheel"),
        ("tether", "tether_force", "tether"),
    ):
        if variable in ds and dim in ds[variable].dims:
            values = ds[variable].sum(dim, skipna=True).values
            out[name] = float(np.nanmean(values)) if np.isfinite(values).any() else math.nan
    if abs(out.get("pull", 0.0)) < 1e-3 * abs(float(ds.attrs.get("weight", 0.0))):
        out.pop("pull", None)
    energy = _energy(ds)
    if energy is not None:
        out["energy"] = energy
        if out["distance"] > 0.01:
            out["energy_per_metre"] = out["energy"] / out["distance"]
    if "energy_electrical" in ds:
        out["electrical"] = float(ds["energy_electrical"].values[-1].sum())
    if "path_offset" in ds and np.isfinite(ds["path_offset"].values).any():
        out["offset"] = float(np.nanmax(np.abs(ds["path_offset"].values)))
    return {k: v for k, v in out.items() if not (isinstance(v, float) and math.isnan(v))}


def _mean(ds: xr.Dataset, name: str) -> float:
    if name not in ds or not np.isfinite(ds[name].values).any():
        return math.nan
    return float(np.nanmean(ds[name].values))


def _energy(ds: xr.Dataset) -> float | None:
    """Work of the motors [J], or the integral of their power where it was not summed up."""
    if "energy_motors" in ds and np.any(ds["energy_motors"].values):
        work = ds["energy_motors"].values
        return float(work[-1] - work[0])
    if "motor_power" not in ds:
        return None
    power = np.nansum(ds["motor_power"].transpose("time", ...).values, axis=1)
    return float(np.trapezoid(power, ds["time"].values))


def _wheel_torque(run: Run) -> float:
    """Mean motor torque of the joints that turn wheels."""
    from marsyard.robot import load_robot

    joints = [w.joint for w in load_robot(run.scenario.robot.name).wheels.values()]
    ds = run.data
    have = [j for j in joints if "joint" in ds.coords and j in ds["joint"].values]
    if "motor_torque" not in ds or not have:
        return math.nan
    values = ds["motor_torque"].sel(joint=have).values
    return float(np.nanmean(values)) if np.isfinite(values).any() else math.nan


def shown(numbers: dict[str, Any], key: str, factor: float) -> float | None:
    """A number as the table has it."""
    return factor * numbers[key] if key in numbers else None


def columns_of(all_numbers: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, float, int]]:
    """The columns that at least one law has a number for."""
    return [c for c in COLUMNS if any(c[0] in n for n in all_numbers)]


# --- data along the laws


def along_law(names: Sequence[str], datasets: Sequence[xr.Dataset]) -> xr.Dataset:
    """What was recorded over time, along `law`; NaN where a law has no such variable or time.

    A variable is in it if its other dimensions are the same under every law that has it.
    """
    kept: dict[str, list[xr.DataArray]] = {}
    for ds in datasets:
        for name, variable in ds.data_vars.items():
            if "time" in variable.dims and variable.dtype.kind in "fiub":
                kept.setdefault(str(name), [])
    parts = []
    for name in kept:
        have = [ds[name] for ds in datasets if name in ds]
        if not all(_same_shape(have[0], a) for a in have[1:]) or not have[0].size:
            continue
        arrays = [ds.get(name) for ds in datasets]
        parts.append(_stacked(name, names, arrays))
    out = xr.merge(parts, join="outer", combine_attrs="drop")
    out.attrs = {k: v for k, v in datasets[0].attrs.items() if k in ("title", "gravity", "mass")}
    return out


def _same_shape(a: xr.DataArray, b: xr.DataArray) -> bool:
    if a.dims != b.dims:
        return False
    for dim in a.dims:
        if dim == "time":
            continue
        if a.sizes[dim] != b.sizes[dim]:
            return False
        if dim in a.coords and not np.array_equal(a[dim].values, b[dim].values):
            return False
    return True


def _stacked(
    name: str, names: Sequence[str], arrays: Sequence[xr.DataArray | None]
) -> xr.DataArray:
    template = next(a for a in arrays if a is not None)
    full = [xr.full_like(template, np.nan, dtype=float) if a is None else a for a in arrays]
    law = xr.DataArray(np.array(names, dtype=object), dims="law", name="law")
    joined = xr.concat(full, dim=law, join="outer", combine_attrs="override")
    return joined.rename(name).assign_attrs(template.attrs)


def studies_along_law(names: Sequence[str], datasets: Sequence[xr.Dataset]) -> xr.Dataset:
    """Studies along `law`, which stands where a study has its second axis."""
    plain = [
        ds.drop_vars([v for v in ds.data_vars if str(v).startswith("bisection_")])
        for ds in datasets
    ]
    law = xr.DataArray(
        np.array(names, dtype=object), dims="law", name="law", attrs={"long_name": "law"}
    )
    out = xr.concat(plain, dim=law, join="outer", combine_attrs="override")
    return out.transpose(datasets[0].attrs["varied"], "law", ...)
