"""Numerical summary of a study: each output over all runs, and failures by reason."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.campaign.maps import success_words
from marsyard.campaign.sensitivity import block_size
from marsyard.drawing.page import number
from marsyard.drawing.sheet import unit_text
from marsyard.results.study_checks import outputs_of

if TYPE_CHECKING:
    from rich.table import Table

#: shares of all runs below which a value lies
SHARES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Summary:
    """An output over all runs that have a number: how many, mean, standard deviation, extremes and
    the values below which `SHARES` of them lie."""

    name: str
    unit: str
    count: int
    mean: float
    deviation: float
    low: float
    high: float
    at_shares: tuple[float, ...]


def summaries(ds: xr.Dataset) -> list[Summary]:
    """A summary of every output."""
    found = []
    for variable, name in outputs_of(ds).items():
        values = ds[variable].values.ravel()
        values = values[np.isfinite(values)]
        known = values if values.size else np.array([np.nan])
        deviation = float(known.std(ddof=1)) if known.size > 1 else float("nan")
        shares = tuple(float(v) for v in np.quantile(known, SHARES))
        unit = unit_text(str(ds[variable].attrs["units"]))
        ends = float(known.min()), float(known.max())
        found.append(
            Summary(name, unit, values.size, float(known.mean()), deviation, *ends, shares)
        )
    return found


def grouped(failures: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """Failures by reason, numbers that differ in it left out; the most frequent first."""
    groups: dict[str, list[int]] = {}
    for index, reason in failures.items():
        # a number, not a digit of a name
        text = re.sub(r"(?<![\w'-])[-+−]?\d[\d.,e+-]*", "…", reason)
        groups.setdefault(text, []).append(index)
    named = [
        (failures[m[0]] if len({failures[k] for k in m}) == 1 else text, m)
        for text, m in groups.items()
    ]
    return sorted(named, key=lambda g: -len(g[1]))


def output_table(ds: xr.Dataset) -> Table:
    """The summaries for a terminal."""
    from rich.table import Table

    head = ["output", "unit", "runs", "mean", "st. dev.", "min"]
    table = Table(*head, *(f"{100 * s:g} %" for s in SHARES), "max")
    for s in summaries(ds):
        row = (s.mean, s.deviation, s.low, *s.at_shares, s.high)
        table.add_row(s.name, s.unit, str(s.count), *(number(v, 4) for v in row))
    good = success_words(ds)
    if good:
        table.caption = f"succeeded: {good}"
    return table


def sobol_table(ds: xr.Dataset) -> Table | None:
    """Sobol indices for a terminal; None where there are none."""
    from rich.table import Table

    if "sobol_first" not in ds:
        return None
    table = Table("output", "parameter", "first order", "±", "total", "±", title="Sobol indices")
    for row in sobol_rows(ds):
        table.add_row(*row)
    table.caption = left_out(ds) or None
    return table


def sobol_rows(ds: xr.Dataset) -> list[list[str]]:
    """Indices of every output and parameter, with half of their intervals."""
    keys = ("sobol_first", "sobol_first_conf", "sobol_total", "sobol_total_conf")
    return [
        [*_names(ds, o, p), *(number(float(ds[k].sel(output=o, parameter=p)), 3) for k in keys)]
        for o in ds["output"].values
        for p in ds["parameter"].values
    ]


def pair_rows(ds: xr.Dataset) -> list[list[str]]:
    """Indices of every output and pair of parameters, with half of their intervals."""
    names = [str(p) for p in ds["parameter"].values]
    return [
        [
            *_names(ds, o, a), str(ds[b].attrs["long_name"]),
            *(number(float(ds[k].sel(output=o, parameter=a, with_parameter=b)), 3)
              for k in ("sobol_second", "sobol_second_conf")),
        ]
        for o in ds["output"].values
        for a, b in itertools.combinations(names, 2)
    ]  # fmt: skip


def left_out(ds: xr.Dataset) -> str:
    """What runs without a number mean for Sobol indices; empty if there are none."""
    total = ds.sizes["point"] // block_size(ds)
    missing = [
        f"{total - int(used)} of {total} blocks for {ds[str(output)].attrs['long_name']}"
        for output, used in zip(ds["output"].values, ds["sobol_blocks"].values, strict=True)
        if used < total
    ]
    if not missing:
        return ""
    return (
        f"Left out because of runs without a number: {', '.join(missing)}. The indices are based "
        f"on the available numbers; their bias grows with the number of missing ones."
    )


def _names(ds: xr.Dataset, output: object, parameter: object) -> tuple[str, str]:
    return str(ds[str(output)].attrs["long_name"]), str(ds[str(parameter)].attrs["long_name"])
