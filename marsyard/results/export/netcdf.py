"""NetCDF 3 of a run, for tools that read neither HDF5 nor texts in UTF-8.

`results.nc` of a run is NetCDF 4, which most tools read. This is the older kind (64-bit offset),
with units as UDUNITS spells them ("N m" for N·m, "m2" for m²) and the attribute `Conventions`, as
the CF conventions ask for. Labels become arrays of characters, whole numbers have 32 bits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard.results._files import replacing

FILE_NAME = "results_classic.nc"
_SPELLED = {"·": " ", "²": "2", "³": "3", "Ω": "ohm", "µ": "u", "°": "degree"}


def write_netcdf(ds: xr.Dataset, folder: Path) -> list[Path]:
    """Write `results_classic.nc`."""
    plain = ds.copy(deep=False)
    plain.encoding = {}
    plain.attrs = {str(k): _attribute(v) for k, v in ds.attrs.items()}
    plain.attrs["Conventions"] = "CF-1.11"
    empty = [n for n, v in plain.variables.items() if 0 in v.shape]
    plain = plain.drop_vars(empty)
    for variable in plain.variables.values():
        variable.attrs = {str(k): _attribute(v) for k, v in variable.attrs.items()}
        variable.encoding = {}
        if "units" in variable.attrs:
            variable.attrs["units"] = udunits(str(variable.attrs["units"]))
    content = plain.to_netcdf(None, engine="scipy", format="NETCDF3_64BIT")
    path = folder / FILE_NAME
    with replacing(path) as part:
        part.write_bytes(content)
    return [path]


def udunits(unit: str) -> str:
    """A unit in the spelling of UDUNITS."""
    for sign, word in _SPELLED.items():
        unit = unit.replace(sign, word)
    return unit


def _attribute(value: Any) -> Any:
    """An attribute as the classic format can hold it: numbers, and texts in ASCII."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.number | np.ndarray):
        return value
    return value if isinstance(value, str) else json.dumps(value, default=str)
