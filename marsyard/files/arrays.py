"""Arrays in .npy and .npz files, whose heads are compared with the sizes of the files first."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy

from marsyard.errors import InputError
from marsyard.files.archives import DAMAGED, check_sizes
from marsyard.files.regular import format_reason, open_file

_ZIP = b"PK"


def load_arrays(path: str | Path, kind: str = "array") -> np.ndarray | dict[str, np.ndarray]:
    """The array of an .npy file, or those of an .npz by name."""
    with open_file(path, kind) as file:
        return read_arrays(file, kind, str(path))


def read_arrays(file: BinaryIO, kind: str, name: str) -> np.ndarray | dict[str, np.ndarray]:
    """The same of an open file; `name` begins error sentences."""
    start = file.read(2)
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    try:
        if start != _ZIP:
            return _read_array(file, size)
        with zipfile.ZipFile(file) as archive:
            check_sizes(archive, kind, name)
            arrays = {}
            for member in archive.infolist():
                with archive.open(member) as stream:
                    key = member.filename.removesuffix(".npy")
                    arrays[key] = _read_array(stream, member.file_size)
            return arrays
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError(f"{name}: cannot be read by numpy ({format_reason(error)})") from None


def _read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """An array whose head and values take `size` bytes."""
    try:
        version = npy.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = npy.read_array_header_2_0(stream)
        else:
            raise ValueError(f"the format's version {version[0]}.{version[1]} is not known")
    except TokenError:  # from the second of numpy's two ways to read a head
        raise ValueError("its head is not whole") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    if any(n < 0 for n in shape):
        raise ValueError("its shape is negative")
    # a Python integer, which does not overflow
    count = math.prod(int(n) for n in shape)
    room = size - stream.tell()
    claimed = count * dtype.itemsize
    if claimed > room:
        raise ValueError(f"its head claims {claimed} bytes of values, but there are {room}")
    data = stream.read(claimed)
    array = np.frombuffer(data, dtype=dtype, count=count)
    return np.array(array.reshape(shape, order="F" if fortran else "C"))
