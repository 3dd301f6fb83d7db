"""The recorded data set: reading, writing, and named series.

On disk it is NetCDF (HDF5), `results.nc` in the folder of a run. A series is asked for by name:
a variable, then labels that pick components, in any order: `position_base.z`,
`impulse_normal.RL.plane`, `contact_velocity.normal`. Dimensions that are not picked stay, except
`surface`: impulses are summed over the surfaces, of the gaps the smallest is taken. The labels
`mean`, `sum`, `min` and `max` reduce what is left to one curve: `wheel_rate.mean` is the mean of
the wheels at each instant, `impulse_tangent.forward.sum` the sum of theirs. Two names with `+`,
`-` or `/` between spaces are combined: `sinkage.FL / sinkage.CL`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard.errors import InputError, suggest
from marsyard.files.netcdf import checksum_line, encode_netcdf, load_netcdf
from marsyard.files.regular import format_reason
from marsyard.files.replacing import replacing
from marsyard.rotations import attitudes

FILE_NAME = "results.nc"


def save(ds: xr.Dataset, path: str | Path) -> Path:
    """Write the data set to `path` (a folder takes `results.nc`), atomically."""
    path = Path(path)
    if path.suffix != ".nc":
        path = path / FILE_NAME
    plain = ds.copy(deep=False)
    plain.attrs = _plain_attributes(ds.attrs)
    for variable in plain.variables.values():
        variable.attrs = _plain_attributes(variable.attrs)
        variable.encoding = {}
    compressed = {
        str(name): {"zlib": True, "complevel": 4, "shuffle": True}
        for name, variable in plain.data_vars.items()
        if variable.dtype.kind in "fiu" and variable.size > 256
    }
    # by way of memory: HDF5 does not survive a disk that gets full under it
    content = encode_netcdf(plain, compressed)
    with replacing(path) as part:
        part.write_bytes(content)
        with part.open("ab") as file:
            file.write(checksum_line(content))
    return path


def open_results(path: str | Path) -> xr.Dataset:
    """Read a run: its folder or its `results.nc`."""
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        kept = sorted(path.glob("members/*/results.nc"))
        if (path / "study.nc").exists():
            which = (
                f"give one of its members, e.g. '{kept[-1].parent}'" if kept else "none is stored"
            )
            raise InputError(f"'{path}' is the folder of a study, not of one run; {which}")
        if path.is_dir():
            raise InputError(f"'{path}' is not the folder of a run: it has no {FILE_NAME}")
        raise InputError(f"'{path}' does not exist; give the folder of a run or its {FILE_NAME}")
    ds = load_file(file)
    if "time" not in ds.dims:
        raise InputError(f"'{file}' is not the result of a run: it has no dimension 'time'")
    return with_present_names(ds)


#: dimensions and variables of files of earlier versions, and what they are called now
RENAMED = {
    "organ": "contact_body",
    "organ_force": "contact_body_force",
    "organ_moment": "contact_body_moment",
}


def with_present_names(ds: xr.Dataset) -> xr.Dataset:
    """A data set of an earlier version with the present names of variables and dimensions."""
    old = {name: new for name, new in RENAMED.items() if name in ds.variables or name in ds.dims}
    return ds.rename(old) if old else ds


def load_file(file: Path, **options: Any) -> xr.Dataset:
    """The data set of a file of results: NetCDF, unless options of xarray say otherwise."""
    if not options:
        return load_netcdf(file, "a file of results")
    try:
        return xr.load_dataset(file, **options)
    except Exception as error:  # zarr and xarray raise whatever they meet
        raise InputError(f"'{file}' is not a file of results: {format_reason(error)}") from None


def _plain_attributes(attrs: dict[Any, Any]) -> dict[str, Any]:
    """Attributes as NetCDF can hold them: texts and numbers; anything else as JSON."""
    plain: dict[str, Any] = {}
    for key, value in attrs.items():
        if isinstance(value, bool | np.bool_):
            plain[str(key)] = int(value)
        elif isinstance(value, str | int | float | np.number | np.ndarray):
            plain[str(key)] = value
        elif value is not None:
            plain[str(key)] = json.dumps(value, default=str)
    return plain


# --- derived quantities, each from variables of the data set


def record_period(ds: xr.Dataset) -> float:
    """Time between two records [s]."""
    if "record_period" in ds.attrs:
        return float(ds.attrs["record_period"])
    if ds.sizes["time"] < 2:
        raise InputError("a single record has no record period")
    return float(np.median(np.diff(ds["time"].values)))


def record_intervals(ds: xr.Dataset) -> xr.DataArray:
    """Time over which each record's impulses were summed [s]: the record period, or less for the
    last record of a drive that ended within one."""
    period, time = record_period(ds), ds["time"].values.astype(float)
    since = np.diff(time, prepend=time[:1] - period)
    since = np.where((since > 1e-9 * period) & (since < period), since, period)
    return xr.DataArray(since, coords={"time": ds["time"]}, dims="time")


def attitude(quaternion: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw [rad], shape [time, 3], of quaternions w, x, y, z, shape [time, 4].

    R = Rz(yaw) Ry(pitch) Rx(roll); roll and yaw run on past ±π.
    """
    roll, pitch, yaw = np.moveaxis(attitudes(quaternion), -1, 0)
    return np.stack([np.unwrap(roll), pitch, np.unwrap(yaw)], axis=-1)


def _per_time(name: str, long_name: str) -> Callable[[xr.Dataset], xr.DataArray]:
    def force(ds: xr.Dataset) -> xr.DataArray:
        mean = _need(ds, name) / record_intervals(ds)
        return mean.assign_attrs(units="N", long_name=long_name)

    return force


def _impulse_sum(ds: xr.Dataset) -> xr.DataArray:
    impulse = _need(ds, "impulse_normal")
    total = impulse.sum([d for d in impulse.dims if d != "time"])
    return total.assign_attrs(units="N s", long_name="normal impulse, all wheels")


def _force_sum(ds: xr.Dataset) -> xr.DataArray:
    total = _impulse_sum(ds) / record_intervals(ds)
    return total.assign_attrs(units="N", long_name="normal force, all wheels")


def _speed(ds: xr.Dataset) -> xr.DataArray:
    speed = (_need(ds, "velocity_base") ** 2).sum("axis", skipna=False) ** 0.5
    return speed.assign_attrs(units="m/s", long_name="base speed")


def _angle(index: int, name: str) -> Callable[[xr.Dataset], xr.DataArray]:
    def angle(ds: xr.Dataset) -> xr.DataArray:
        values = attitude(_need(ds, "quaternion_base").transpose("time", "quat").values)
        return xr.DataArray(
            values[:, index],
            coords={"time": ds["time"]},
            dims="time",
            attrs={"units": "rad", "long_name": name},
        )

    return angle


def _energy(ds: xr.Dataset) -> xr.DataArray:
    total = _need(ds, "energy_kinetic") + _need(ds, "energy_potential")
    return total.assign_attrs(units="J", long_name="mechanical energy")


def _hard_load(ds: xr.Dataset) -> xr.DataArray:
    """What of a wheel's load the soil does not carry."""
    load = _per_time("contact_impulse_world", "")(ds).sel(axis="z", drop=True)
    if "wheel_load" in ds:
        load = load - ds["wheel_load"]
    return load.assign_attrs(units="N", long_name="load on hard ground")


def _friction_use(ds: xr.Dataset) -> xr.DataArray:
    """|F_t|/F_n by wheel, on the surface where it is largest; 0 in the air [1].

    Of means over a record, which a wheel that changes its contact within one can only lower.
    """
    normal = _need(ds, "impulse_normal")
    tangent = (_need(ds, "impulse_tangent") ** 2).sum("tangent", skipna=False) ** 0.5
    use = xr.where(normal > 0, tangent / normal.where(normal > 0, 1.0), 0.0)
    return use.max("surface").assign_attrs(units="", long_name="tangential over normal force")


DERIVED: dict[str, Callable[[xr.Dataset], xr.DataArray]] = {
    "force_normal": _per_time("impulse_normal", "normal contact force"),
    "force_tangent": _per_time("impulse_tangent", "tangential contact force"),
    "contact_force_world": _per_time(
        "contact_impulse_world", "contact force of hard and soft ground, in the world"
    ),
    "hard_load": _hard_load,
    "friction_use": _friction_use,
    "impulse_normal_sum": _impulse_sum,
    "force_normal_sum": _force_sum,
    "speed": _speed,
    "roll": _angle(0, "roll"),
    "pitch": _angle(1, "pitch"),
    "yaw": _angle(2, "yaw"),
    "energy": _energy,
}


def _need(ds: xr.Dataset, name: str) -> xr.DataArray:
    if name not in ds:
        raise InputError(f"the results hold no '{name}'")
    return ds[name]


# --- a series by name


@dataclass(frozen=True)
class Line:
    """One curve over time: its values, what it is called and its unit."""

    label: str
    time: np.ndarray
    values: np.ndarray
    units: str
    variable: str
    picks: tuple[str, ...]


def series(ds: xr.Dataset, name: str) -> xr.DataArray:
    """The series called `name`, time first; see the head of this module for the names."""
    two = _TWO.fullmatch(name)
    return _named(ds, name) if two is None else _combined(ds, name, *two.groups())


#: two series with an operator between them
_TWO = re.compile(r"(\S+) ([+/-]) (\S+)")


def _combined(ds: xr.Dataset, name: str, first: str, sign: str, second: str) -> xr.DataArray:
    """Sum, difference or quotient of two series."""
    a, b = _named(ds, first), _named(ds, second)
    units = [str(array.attrs.get("units", "")) for array in (a, b)]
    if sign != "/" and units[0] != units[1]:
        raise InputError(f"'{name}': '{units[0]}' and '{units[1]}' cannot be added")
    drop = [c for c in (*a.coords, *b.coords) if c not in ("time", *a.dims, *b.dims)]
    a, b = a.drop_vars(drop, errors="ignore"), b.drop_vars(drop, errors="ignore")
    if sign == "/":
        unit = "1" if units[0] == units[1] else f"{units[0] or '1'}/({units[1] or '1'})"
        made = a / b.where(b != 0)
    else:
        unit, made = units[0], a + b if sign == "+" else a - b
    return made.assign_attrs(units=unit, long_name=name).transpose("time", ...).rename(name)


def _named(ds: xr.Dataset, name: str) -> xr.DataArray:
    variable, *labels = name.split(".")
    array = _variable(ds, variable)
    reduction, labels = _reduction(array, labels)
    while labels:
        array, labels = _pick(array, variable, labels)
    if "surface" in array.dims:
        attrs = array.attrs
        if variable.startswith(("impulse", "force")):
            array = array.sum("surface").assign_attrs(attrs)
        elif variable == "gap":
            if array.sizes["surface"] == 0:
                raise InputError(f"'{name}': the run has no hard ground")
            array = array.min("surface").assign_attrs(attrs)
    if reduction:
        array = _reduce(array, name, reduction)
    unit = component_unit(array)
    if unit != array.attrs.get("units", ""):
        array = array.assign_attrs(units=unit)
    return array.transpose("time", ...).rename(name)


def component_unit(array: xr.DataArray, **index: int) -> str:
    """The unit of a component of an array, picked already or by `index` (dimension: number). It is
    that of the array, but for dimensions whose components have their own, `DIM_unit`."""
    own = [name for name in array.coords if str(name).endswith("_unit")]
    picked = [array[name].isel(index, missing_dims="ignore") for name in own]
    found = [str(unit.values) for unit in picked if unit.ndim == 0]
    return found[0] if found else str(array.attrs.get("units", ""))


def lines(ds: xr.Dataset, name: str) -> list[Line]:
    """The series called `name` as single curves, one per combination of the labels left over."""
    array = series(ds, name)
    given = tuple(name.split(".")[1:])
    variable = name.split(".")[0]
    time = array["time"].values.astype(float)
    rest = [d for d in array.dims if d != "time"]
    curves = []
    for index in np.ndindex(*(array.sizes[d] for d in rest)):
        picks = tuple(_labels(array, d)[i] for d, i in zip(rest, index, strict=True))
        curves.append(
            Line(
                label=" ".join(picks) or " ".join(given) or variable,
                time=time,
                values=array.values[(slice(None), *index)].astype(float),
                units=component_unit(array, **dict(zip(map(str, rest), index, strict=True))),
                variable=variable,
                picks=given + picks,
            )
        )
    return curves


def names(ds: xr.Dataset) -> list[str]:
    """All variables over time that `series` can give, recorded and derived."""
    recorded = [str(n) for n, v in ds.data_vars.items() if "time" in v.dims]
    return sorted({*recorded, *DERIVED})


def _variable(ds: xr.Dataset, variable: str) -> xr.DataArray:
    if variable in ds.data_vars and "time" in ds[variable].dims:
        return ds[variable]
    if variable in DERIVED:
        return DERIVED[variable](ds)
    raise InputError(f"no variable '{variable}' in the results; {suggest(variable, names(ds))}")


def _labels(array: xr.DataArray, dim: Any) -> list[str]:
    """The labels along a dimension; its indices where it has no coordinate."""
    if dim in array.coords:
        return [str(v) for v in array[dim].values]
    return [str(i) for i in range(array.sizes[dim])]


#: what reduces several curves to one; values that are not known do not count
REDUCTIONS: dict[str, Callable[[xr.DataArray, list[Any]], xr.DataArray]] = {
    "mean": lambda array, dims: array.mean(dims),
    "sum": lambda array, dims: array.sum(dims, min_count=1),
    "min": lambda array, dims: array.min(dims),
    "max": lambda array, dims: array.max(dims),
    "spread": lambda array, dims: array.std(dims),
}


def _reduction(array: xr.DataArray, labels: list[str]) -> tuple[str, list[str]]:
    """The reduction asked for among the labels (a component of that name goes before), and the
    labels without it."""
    found = {label for dim in array.dims if dim != "time" for label in _labels(array, dim)}
    asked = [label for label in labels if label in REDUCTIONS and label not in found]
    if len(asked) > 1:
        raise InputError(f"'{'.'.join(labels)}': one of {', '.join(asked)} at a time")
    return "".join(asked), [label for label in labels if label not in asked]


def _reduce(array: xr.DataArray, name: str, reduction: str) -> xr.DataArray:
    dims = [d for d in array.dims if d != "time"]
    if not dims:
        raise InputError(f"'{name}' is one curve already; drop '.{reduction}'")
    return REDUCTIONS[reduction](array, dims).assign_attrs(array.attrs)


def _pick(array: xr.DataArray, variable: str, labels: list[str]) -> tuple[xr.DataArray, list[str]]:
    """Pick the component that the first label names; a label may itself hold dots."""
    dims = [d for d in array.dims if d != "time"]
    for count in range(len(labels), 0, -1):
        label = ".".join(labels[:count])
        for dim in dims:
            found = _labels(array, dim)
            if label in found:
                return array.isel({dim: found.index(label)}), labels[count:]
    valid = [label for dim in dims for label in _labels(array, dim)]
    valid += REDUCTIONS if dims else []
    raise InputError(f"'{variable}' has no component '{labels[0]}'; {suggest(labels[0], valid)}")


def span_text(start: float | None, end: float | None) -> str:
    """Words for a span of time [s] that may be open at either end."""
    if start is None:
        return "at all" if end is None else f"up to {end:g} s"
    return f"from {start:g} s on" if end is None else f"between {start:g} s and {end:g} s"
