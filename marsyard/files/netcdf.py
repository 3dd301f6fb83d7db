"""NetCDF (HDF5) data sets, whose claims are compared with the size of the file first.

HDF5 checks most but not all of what it reads: a damaged heap of texts can keep it busy for ever. So
files of marsyard end with a line that tells the checksum of what stands before it; HDF5 passes over
bytes behind its end. Files without that line are read as they are.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError
from marsyard.files.regular import check_file, format_reason, open_file

if TYPE_CHECKING:
    import xarray as xr

_MARK = b"\nmarsyard crc32 "
_BLOCK = 2**20
#: deflate makes data at most so many times smaller
_DENSEST = 1100
_SMALL = 10**7  # bytes that any file may claim


def load_netcdf(path: str | Path, what: str) -> xr.Dataset:
    """The whole data set of a file; `what` it should be stands in error sentences."""
    import xarray as xr

    path = check_file(path, "netcdf")
    if _is_damaged(path):
        raise InputError(f"'{path}' is damaged: its content does not have its checksum")
    try:
        _check_claims(path)
        return xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # HDF5, h5netcdf and xarray raise whatever they meet
        raise InputError(f"'{path}' is not {what} (NetCDF): {format_reason(error)}") from None


def encode_netcdf(ds: xr.Dataset, encoding: Mapping[str, Mapping[str, Any]]) -> bytes:
    """A data set in memory as the content of a file; `encoding` says how variables are stored.

    `Dataset.to_netcdf` asks dask, where it is installed, which cluster should write, and loads it
    for that, which takes longer than writing.
    """
    from xarray.backends import H5NetCDFStore

    content = io.BytesIO()
    store = H5NetCDFStore.open(content, mode="w", lock=False)
    try:
        ds.dump_to_store(store, encoding=encoding)
    finally:
        store.close()
    return content.getvalue()


def checksum_line(content: bytes | memoryview) -> bytes:
    """The line that a file of this content ends with."""
    return _line(zlib.crc32(content))


def _line(checksum: int) -> bytes:
    return _MARK + b"%08x\n" % checksum


def _is_damaged(path: Path) -> bool:
    """Whether a file has another checksum than it tells."""
    size = path.stat().st_size - len(_line(0))
    if size <= 0:
        return False
    with open_file(path, "netcdf") as file:
        file.seek(size)
        line = file.read()
        if not line.startswith(_MARK):
            return False
        file.seek(0)
        checksum = 0
        while size > 0:
            part = file.read(min(size, _BLOCK))
            checksum = zlib.crc32(part, checksum)
            size -= len(part) or size
    return line != _line(checksum)


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
