"""NetCDF (HDF5) data sets, whose claims are compared with the size of the file first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError
from marsyard.files.regular import check_file, format_reason

if TYPE_CHECKING:
    import xarray as xr

#: deflate makes data at most so many times smaller
_DENSEST = 1100
_SMALL = 10**7  # bytes that any file may claim


def load_netcdf(path: str | Path, what: str) -> xr.Dataset:
    """The whole data set of a file; `what` it should be stands in error sentences."""
    import xarray as xr

    path = check_file(path, "netcdf")
    try:
        _check_claims(path)
        return xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # HDF5, h5netcdf and xarray raise whatever they meet
        raise InputError(f"'{path}' is not {what} (NetCDF): {format_reason(error)}") from None


def _check_claims(path: Path) -> None:
    """Refuse a file whose variables claim more values than it can hold."""
    import h5py

    room = _DENSEST * path.stat().st_size + _SMALL

    def count(name: str, found: Any) -> None:
        nonlocal room
        if isinstance(found, h5py.Dataset) and found.size is not None:
            room -= found.size * max(found.dtype.itemsize, 1)
            if room < 0:
                raise ValueError(f"'{name}' claims more values than the file can hold")

    with h5py.File(path, "r") as file:
        file.visititems(count)
