"""Named arrays on their way to a data set.

A data set of xarray compares all indices whenever a variable is added, which takes a millisecond
each. Here variables are only collected, and compared once, when the data set is made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from marsyard.lazy import gc_paused

with gc_paused():
    import xarray as xr


class Columns:
    """Variables and coordinates by name, given as (dimensions, values, attributes)."""

    def __init__(self, coords: Mapping[str, Any]) -> None:
        self.variables: dict[str, xr.Variable] = {}
        self.coords: dict[str, xr.Variable] = {}
        self.attrs: dict[str, Any] = {}
        self.assign_coords(coords)

    def assign_coords(self, coords: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Add coordinates; a list alone is the index of the dimension of its name."""
        for name, value in {**(coords or {}), **named}.items():
            parts = value if isinstance(value, tuple) else (name, value)
            self.coords[name] = xr.Variable(*parts)

    def __setitem__(self, name: str, value: tuple[Any, ...]) -> None:
        self.variables[name] = xr.Variable(*value)

    def __getitem__(self, name: str) -> xr.Variable:
        return self.variables[name]

    def __contains__(self, name: str) -> bool:
        return name in self.variables

    def dataset(self, only: Collection[str] | None = None) -> xr.Dataset:
        """All of it as a data set; or some variables alone, with the coordinates they need, which
        is quicker. What is not among the variables may follow from any: then it is all of it."""
        if only is None or not set(only) <= set(self.variables):
            return xr.Dataset(self.variables, self.coords, self.attrs)
        kept = {name: self.variables[name] for name in only}
        dims = {dim for variable in kept.values() for dim in variable.dims}
        coords = {name: c for name, c in self.coords.items() if set(c.dims) <= dims}
        return xr.Dataset(kept, coords, self.attrs)
