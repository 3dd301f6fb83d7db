"""How likely a success is, over one parameter or two: runs counted in cells.

A parameter with few values has a cell for each; one that was drawn is cut into equal spans, as many
as give about a dozen runs to a cell. What the other parameters were is averaged over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from marsyard.campaign.sensitivity import column, places
from marsyard.results.study_map import edges

#: values up to which each has a cell of its own
_FEW = 25
#: runs in a cell that are aimed at
_RUNS = 12


@dataclass(frozen=True)
class Cells:
    """The borders of a parameter's cells, which one each run is in, and words for them if the
    parameter has words."""

    name: str
    borders: np.ndarray
    of_run: np.ndarray
    words: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.borders) - 1


@dataclass(frozen=True)
class SuccessMap:
    """Runs and successes by cell, [cells of x] or [cells of y, cells of x]."""

    x: Cells
    y: Cells | None
    runs: np.ndarray
    good: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """good/runs; NaN where there is no run."""
        with np.errstate(invalid="ignore"):
            return np.where(self.runs > 0, self.good / np.maximum(self.runs, 1), np.nan)


def cells(ds: xr.Dataset, name: str, dimensions: int) -> Cells:
    """The cells of a parameter for a map of that many dimensions."""
    given = column(ds, name)
    at = places(given)
    values, of_run = np.unique(at, return_inverse=True)
    if given.dtype.kind not in "fiu":
        words = tuple(str(w) for w in dict.fromkeys(given.tolist()))
        return Cells(name, edges(values), of_run, words)
    if len(values) <= _FEW:
        return Cells(name, edges(values), of_run)
    count = int(np.clip((at.size / _RUNS) ** (1 / dimensions), 2, 20))
    borders = np.linspace(values[0], values[-1], count + 1)
    of_run = np.clip(np.searchsorted(borders, at, side="right") - 1, 0, count - 1)
    return Cells(name, borders, of_run)


def success_map(ds: xr.Dataset, x: str, y: str | None = None) -> SuccessMap:
    """How often runs succeeded over one parameter, or two."""
    along = cells(ds, x, 2 if y else 1)
    across = cells(ds, y, 2) if y else None
    good = ds["succeeded"].values.ravel() == 1
    if across is None:
        runs = np.bincount(along.of_run, minlength=len(along))
        won = np.bincount(along.of_run[good], minlength=len(along))
        return SuccessMap(along, None, runs, won)
    shape = (len(across), len(along))
    flat = across.of_run * shape[1] + along.of_run
    size = shape[0] * shape[1]
    runs = np.bincount(flat, minlength=size).reshape(shape)
    won = np.bincount(flat[good], minlength=size).reshape(shape)
    return SuccessMap(along, across, runs, won)
