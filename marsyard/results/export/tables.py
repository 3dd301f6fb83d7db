"""Tables of a run: CSV, Parquet, a pandas data frame.

`results` has a row per record and a column per curve. Columns are named as `series` names curves:
the variable, then the labels of its dimensions, `position_base.x`, `impulse_normal.FL.plane`. In
CSV the unit stands behind it in brackets, `position_base.x [m]`, in ASCII (`[N m]`), because Excel
does not know that a file is in UTF-8; in Parquet it is metadata of the column (`unit`,
`long_name`), and pandas finds all units in `DataFrame.attrs["units"]`.

`constants` has what does not belong to the records (sizes of wheels, roles of joints, commands of
a drive, paths): one value per row, with `name`, `labels`, `value`, `unit`, `long_name`.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.files.replacing import replacing
from marsyard.results._extras import needed
from marsyard.results.dataset import component_unit, open_results
from marsyard.results.export.spelling import udunits

if TYPE_CHECKING:
    import pandas as pd

#: head of the table of constants
CONSTANT_HEAD = ("name", "labels", "value", "unit", "long_name")


def to_dataframe(run: Any) -> pd.DataFrame:
    """A run as a pandas data frame: index time [s], a column per curve, units in `attrs`.

    `run` is a run folder, its `results.nc`, a data set, or what `marsyard.run` gives.

        marsyard.to_dataframe("runs/rt0448-test-1")["position_base.z"].plot()
    """
    pandas = needed("pandas", "data")
    ds = dataset_of(run)
    columns = {name: values for name, values, _ in curves(ds)}
    index = pandas.Index(ds["time"].values.astype(float), name="time")
    frame = pandas.DataFrame(columns, index=index)
    frame.attrs = {
        "units": {"time": "s", **{name: about["units"] for name, _, about in curves(ds)}},
        **{str(k): _plain(v) for k, v in ds.attrs.items()},
    }
    return frame


def dataset_of(run: Any) -> xr.Dataset:
    """The data set of a run folder, a file, a `Run`, or the data set itself."""
    data = getattr(run, "data", run)
    return data if isinstance(data, xr.Dataset) else open_results(data)


def curves(ds: xr.Dataset) -> Iterator[tuple[str, np.ndarray, dict[str, str]]]:
    """Name, values over the records and attributes of every curve."""
    for variable, array in ds.data_vars.items():
        if "time" not in array.dims:
            continue
        array = array.transpose("time", ...)
        dims = array.dims[1:]
        for labels, index in _components(array, dims):
            at: Any = (slice(None), *index)
            about = _about(array, dict(zip(map(str, dims), index, strict=True)))
            yield ".".join([str(variable), *labels]), array.values[at], about


def constants(ds: xr.Dataset) -> Iterator[tuple[str, str, Any, str, str]]:
    """Rows of the table of constants, see the module docstring."""
    beside = [n for n in ds.coords if n not in ds.dims and "time" not in ds[n].dims]
    for variable in [*ds.data_vars, *beside]:
        array = ds[variable]
        if "time" in array.dims:
            continue
        about = _about(array)
        for labels, index in _components(array, array.dims):
            value = array.values[index]
            yield str(variable), ".".join(labels), _plain(value), about["units"], about["long_name"]


def write_csv(ds: xr.Dataset, folder: Path) -> list[Path]:
    """Write `results.csv` and `constants.csv`."""
    named = list(curves(ds))
    head = ["time [s]", *(_head(name, about["units"]) for name, _, about in named)]
    table = np.column_stack([ds["time"].values.astype(float), *(v for _, v, _ in named)])
    rows: Iterator[Any] = ([_number(v) for v in row] for row in table.tolist())
    results = _write_rows(folder / "results.csv", head, rows)
    fixed = ((*row[:3], udunits(row[3]), row[4]) for row in constants(ds))
    return [results, _write_rows(folder / "constants.csv", CONSTANT_HEAD, fixed)]


def write_parquet(ds: xr.Dataset, folder: Path) -> list[Path]:
    """Write `results.parquet` and `constants.parquet`, compressed by zstd."""
    arrow, parquet = needed("pyarrow", "data"), needed("pyarrow.parquet", "data")
    frame = to_dataframe(ds)
    # the index comes last otherwise, which readers other than pandas would show
    table = arrow.Table.from_pandas(frame).select(["time", *frame.columns])
    about = {name: about for name, _, about in curves(ds)}
    about["time"] = {"units": "s", "long_name": "time"}
    fields = [
        field.with_metadata(
            {"unit": about[field.name]["units"], "long_name": about[field.name]["long_name"]}
        )
        for field in table.schema
    ]
    attributes = {str(k): json.dumps(_plain(v)) for k, v in ds.attrs.items()}
    known = {**(table.schema.metadata or {}), **{k.encode(): v for k, v in attributes.items()}}
    table = table.cast(arrow.schema(fields, metadata=known))
    # a value may be a number or a text: as a text, with the numbers beside it
    rows = list(constants(ds))
    texts = {head: [str(row[k]) for row in rows] for k, head in enumerate(CONSTANT_HEAD)}
    numbers = [float(r[2]) if isinstance(r[2], int | float) else None for r in rows]
    constant = arrow.table({**texts, "number": arrow.array(numbers, type=arrow.float64())})
    written = []
    for name, content in (("results", table), ("constants", constant)):
        path = folder / f"{name}.parquet"
        with replacing(path) as part:
            parquet.write_table(content, part, compression="zstd")
        written.append(path)
    return written


def _components(array: xr.DataArray, dims: Any) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Labels and indices of all components along the dimensions."""
    known = [[_label(v) for v in array[d].values] if d in array.coords else None for d in dims]
    labels = [
        k or [str(i) for i in range(array.sizes[d])] for k, d in zip(known, dims, strict=True)
    ]
    sizes = (range(array.sizes[d]) for d in dims)
    for index in itertools.product(*sizes):
        yield [labels[k][i] for k, i in enumerate(index)], index


def _label(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _about(array: xr.DataArray, index: Mapping[str, int] | None = None) -> dict[str, str]:
    units = component_unit(array, **(index or {}))
    return {"units": units, "long_name": str(array.attrs.get("long_name", ""))}


def _head(name: str, units: str) -> str:
    return f"{name} [{udunits(units)}]" if units not in ("", "1") else name


def _number(value: float) -> str:
    """All digits of a number, nothing for what is not known."""
    return "" if value != value else repr(value)


def _plain(value: Any) -> Any:
    """A value as JSON and CSV can hold it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _write_rows(path: Path, head: Any, rows: Iterator[Any]) -> Path:
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(head)
        table.writerows(rows)
    return path
