"""The results of a study as one labelled data set, and as a table.

Dimensions are the parameters of a grid, or `point` for other designs, with the parameters as
coordinates along it; `replica` where there are several. Variables: the outputs with their units,
`completed`, `reason` (reason for a missing number), `unconverged` (steps), and where limits of
success are given `succeeded` and, over the replicas, `success_probability` with its interval of
Clopper and Pearson at 95 % (`success_low`, `success_high`). Nothing in it depends on the machine,
the number of workers or the order in which they finished.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard.campaign.member import succeeded
from marsyard.campaign.prepared import Prepared
from marsyard.errors import InputError
from marsyard.results.dataset import load_file
from marsyard.results.study_checks import variable_name
from marsyard.study.task import Outcome

FILE_NAME, ZARR = "sweep.nc", "sweep.zarr"
NOT_RUN = "not run yet"


def dataset(ready: Prepared, outcomes: Mapping[int, Outcome]) -> xr.Dataset:
    """All outcomes, labelled; members without one are NaN, with that as their reason."""
    study, points = ready.study, ready.points
    dims, shape = _dims(ready)
    laid = _Layer(dims, shape)
    rows = [outcomes.get(k) for k in range(len(ready))]
    variables: dict[str, Any] = {}
    for k, output in enumerate(study.outputs):
        units = next((o.units[k] for o in rows if o is not None and o.units[k]), output.unit)
        attrs = {"units": units or "1", "long_name": output.name, "of": output.of}
        numbers = [_number(o, k) for o in rows]
        variables[variable_name(output.name)] = laid(numbers, float, {**attrs, "take": output.take})
    done = [int(o is not None and o.stopped is None) for o in rows]
    variables["completed"] = laid(done, np.int8, {"long_name": "run completed"})
    reasons = [NOT_RUN if o is None else reason_of(o) for o in rows]
    variables["reason"] = laid(reasons, object, {"long_name": "reason for a missing number"})
    bad = [0 if o is None else o.unconverged for o in rows]
    variables["unconverged"] = laid(bad, np.int64, {"long_name": "steps not converged"})
    if study.success:
        good = [int(o is not None and succeeded(study.outputs, study.success, o)) for o in rows]
        variables["succeeded"] = laid(good, np.int8, {"long_name": "run succeeded"})
        ran = [int(o is not None) for o in rows]
        variables |= _probability(ready, good, ran)
    about: dict[str, Any] = {
        "title": study.title, "study": ready.name, "scenario": study.scenario,
        "design": study.design.kind, "seed": study.seed,
        "parameters": ",".join(p.name for p in points.parameters),
    }  # fmt: skip
    return xr.Dataset(variables, _coordinates(ready), about)


def reason_of(outcome: Outcome) -> str:
    """Why a run has no numbers, or lacks one; empty if it has all."""
    return outcome.stopped or "; ".join(dict.fromkeys(t for t in outcome.reasons if t))


class _Layer:
    """Puts a value per member into the shape of the data set."""

    def __init__(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> None:
        self._dims, self._shape = dims, shape

    def __call__(self, values: Sequence[Any], dtype: Any, attrs: Mapping[str, Any]) -> Any:
        flat = np.empty(len(values), dtype)
        flat[:] = values
        return self._dims, flat.reshape(self._shape), dict(attrs)


def _dims(ready: Prepared) -> tuple[tuple[str, ...], tuple[int, ...]]:
    points, replicas = ready.points, ready.study.replicas
    dims: tuple[str, ...] = ("point",)
    shape: tuple[int, ...] = (len(points),)
    if points.shape is not None:
        dims, shape = tuple(p.name for p in points.parameters), points.shape
    return ((*dims, "replica"), (*shape, replicas)) if replicas > 1 else (dims, shape)


def _number(outcome: Outcome | None, k: int) -> float:
    value = None if outcome is None else outcome.numbers[k]
    return float("nan") if value is None else value


def _coordinates(ready: Prepared) -> dict[str, Any]:
    points = ready.points
    coords: dict[str, Any] = {}
    for k, parameter in enumerate(points.parameters):
        attrs = {"long_name": parameter.label, "path": ", ".join(parameter.paths)}
        if not parameter.words:
            attrs["units"] = parameter.unit or "1"
        if points.shape is None:
            dim, shown = "point", points.shown(k)
        else:
            dim = parameter.name
            shown = [parameter.level(i).shown for i in range(len(parameter))]  # type: ignore
        values = np.empty(len(shown), object if parameter.words else float)
        values[:] = shown
        coords[parameter.name] = (dim, values, attrs)
    if points.shape is None:
        coords["point"] = ("point", np.arange(len(points)))
    if ready.study.replicas > 1:
        coords["replica"] = ("replica", np.arange(ready.study.replicas))
    return coords


def _probability(ready: Prepared, good: Sequence[int], ran: Sequence[int]) -> dict[str, Any]:
    """The probability of success over the replicas of each point; NaN where none was run."""
    from marsyard.operations.verdict import chance

    replicas = ready.study.replicas
    if replicas == 1:
        return {}
    dims, shape = _dims(ready)
    table = np.full((len(ready.points), 3), np.nan)
    known: dict[tuple[int, int], tuple[float, float, float]] = {}
    for point in range(len(ready.points)):
        of = slice(point * replicas, (point + 1) * replicas)
        key = (sum(good[of]), sum(ran[of]))
        if key[1]:
            if key not in known:
                found = chance(*key)
                known[key] = (found.share, found.low, found.high)
            table[point] = known[key]
    names = ("success_probability", "success_low", "success_high")
    words = (
        "share of successful runs",
        "lower bound of its 95 % interval",
        "upper bound of its 95 % interval",
    )
    return {
        name: (dims[:-1], table[:, k].reshape(shape[:-1]), {"units": "1", "long_name": text})
        for k, (name, text) in enumerate(zip(names, words, strict=True))
    }


def save_data(ds: xr.Dataset, folder: Path, zarr: bool) -> Path:
    """Write the data set as NetCDF or Zarr, whole or not at all; the other one is removed."""
    from marsyard.results import save

    if zarr:
        _save_zarr(ds, folder / ZARR)
        (folder / FILE_NAME).unlink(missing_ok=True)
        return folder / ZARR
    save(ds, folder / FILE_NAME)
    shutil.rmtree(folder / ZARR, ignore_errors=True)
    return folder / FILE_NAME


def _save_zarr(ds: xr.Dataset, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        texts = {n: v.astype(str) for n, v in ds.variables.items() if v.dtype == object}
        ds.assign({n: v for n, v in texts.items() if n in ds.data_vars}).assign_coords(
            {n: v for n, v in texts.items() if n in ds.coords}
        ).to_zarr(part, mode="w", consolidated=False, zarr_format=2)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
    except ImportError:
        raise InputError(
            "--zarr: needs the package zarr; pip install 'marsyard[campaign]'"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def open_sweep(path: str | Path) -> xr.Dataset:
    """Read the results of a sweep: its folder, its sweep.nc or its sweep.zarr."""
    path = Path(path)
    found = [p for p in (path / FILE_NAME, path / ZARR, path) if p.exists()]
    if not found or found == [path] and path.is_dir() and path.suffix != ".zarr":
        raise InputError(f"'{path}' holds no {FILE_NAME}; give the folder of a finished sweep")
    zarr = {"engine": "zarr", "consolidated": False} if found[0].suffix == ".zarr" else {}
    return load_file(found[0], **zarr)


def write_table(path: Path, ready: Prepared, outcomes: Mapping[int, Outcome]) -> None:
    """A row per run: parameters, outputs, whether it succeeded, and why not."""
    from marsyard.files.replacing import replacing

    study, points = ready.study, ready.points
    head = ["point", "replica", *(column_head(p.label, p.unit) for p in points.parameters)]
    units = next((o.units for o in outcomes.values()), tuple(o.unit for o in study.outputs))
    head += [column_head(o.name, unit) for o, unit in zip(study.outputs, units, strict=True)]
    head += ["completed", *(["succeeded"] if study.success else []), "reason"]
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for k, outcome in sorted(outcomes.items()):
            point, replica = ready.place(k)
            row: list[Any] = [point, replica, *(p.shown for p in points.picked[point])]
            row += ["" if n is None else repr(n) for n in outcome.numbers]
            row.append("no" if outcome.stopped else "yes")
            if study.success:
                good = succeeded(study.outputs, study.success, outcome)
                row.append("yes" if good else "no")
            writer.writerow([*row, reason_of(outcome)])


def column_head(label: str, unit: str) -> str:
    """The head of a column of a table, with its unit."""
    return f"{label} [{unit}]" if unit not in ("", "1") else label
