"""NetCDF 3 of a run, for tools that read neither HDF5 nor texts in UTF-8.

`results.nc` of a run is NetCDF 4, which most tools read. This is the older kind (64-bit offset),
with units as UDUNITS spells them ("N m" for N·m, "m2" for m²). Labels become arrays of characters,
whole numbers have 32 bits. Variables without a value (contacts with surfaces where there is none)
are left out.

It does not claim the CF conventions: they want times as dates, and the time of a run has none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard import __version__
from marsyard.files.replacing import replacing
from marsyard.results.export.spelling import udunits

FILE_NAME = "results_classic.nc"


def write_netcdf(ds: xr.Dataset, folder: Path) -> list[Path]:
    """Write `results_classic.nc`."""
    plain = ds.copy(deep=False)
    plain.encoding = {}
    plain.attrs = {str(k): _attribute(v) for k, v in ds.attrs.items()}
    plain.attrs["history"] = f"written by marsyard {__version__}"
    empty = [n for n, v in plain.variables.items() if 0 in v.shape]
    plain = plain.drop_vars(empty)
    for name, variable in plain.variables.items():
        variable.attrs = {str(k): _attribute(v) for k, v in variable.attrs.items()}
        # coordinates are known everywhere; a value for what is missing is for the others
        variable.encoding = {"_FillValue": None} if name in plain.coords else {}
        unit = udunits(str(variable.attrs.pop("units", "")))
        if "," in unit or unit.startswith("see "):
            # one unit for hinges, another for slides, or by FMU: UDUNITS has no word for it
            variable.attrs["comment"] = f"units by component: {unit}"
        elif unit:
            variable.attrs["units"] = unit
    content = plain.to_netcdf(None, engine="scipy", format="NETCDF3_64BIT")
    path = folder / FILE_NAME
    with replacing(path) as part:
        part.write_bytes(content)
    return [path]


def _attribute(value: Any) -> Any:
    """An attribute as the classic format can hold it: numbers, and texts in ASCII."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.number | np.ndarray):
        return value
    return value if isinstance(value, str) else json.dumps(value, default=str)
