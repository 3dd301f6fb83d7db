"""What a study gave, in numbers: each output over all its runs, and failures by reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.operations.verdict import Chance, chance
from marsyard.results._page import number
from marsyard.results._sheet import unit_text
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
        deviation = float(known.std(ddof=1)) if known.size > 1 else 0.0
        shares = tuple(float(v) for v in np.quantile(known, SHARES))
        unit = unit_text(str(ds[variable].attrs["units"]))
        ends = float(known.min()), float(known.max())
        found.append(
            Summary(name, unit, values.size, float(known.mean()), deviation, *ends, shares)
        )
    return found


def success_of(ds: xr.Dataset) -> Chance | None:
    """How many of all runs succeeded, with the interval; None where that is not asked."""
    if "succeeded" not in ds or not ds["succeeded"].size:
        return None
    return chance(int(ds["succeeded"].sum()), int(ds["succeeded"].size))


def grouped(failures: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """Failures by reason, numbers that differ in it left out; the most frequent first."""
    groups: dict[str, list[int]] = {}
    for index, reason in failures.items():
        # a number, not a digit of a name
        text = re.sub(r"(?<![\w'])[-+−]?\d[\d.,e+-]*", "…", reason)
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
    found = success_of(ds)
    if found is not None:
        table.caption = f"succeeded: {found.words}"
    return table
