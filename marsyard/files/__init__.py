"""Reading files named by the user; no other module opens such files.

A file may be anything: damaged, huge, a device that never ends, or made to do harm. Whatever it is,
it is read or refused with an `InputError` of one sentence, in bounded time and memory.

    regular     regular files only, up to a size by kind; bytes and text
    yaml_text   YAML of limited depth, references, digits and lengths
    json_text   JSON likewise
    xml_text    XML without entities, of limited depth
    archives    zip files: complete, and of a size when unpacked
    arrays      .npy and .npz whose heads agree with their sizes
    netcdf      NetCDF (HDF5) data sets
    meshes      triangle meshes
    pictures    pictures of a size

Other libraries that open a file by its name (MuJoCo, rasterio, FMPy) are given it after
`check_file`. A test looks that no other module opens files, but for those it lists.
"""

from marsyard.files.json_text import parse_json, read_json
from marsyard.files.regular import (
    check_file,
    exists,
    is_file,
    open_file,
    read_bytes,
    read_text,
)
from marsyard.files.yaml_text import parse_yaml, read_yaml, read_yaml_text

__all__ = [
    "check_file",
    "exists",
    "is_file",
    "open_file",
    "parse_json",
    "parse_yaml",
    "read_bytes",
    "read_json",
    "read_text",
    "read_yaml",
    "read_yaml_text",
]
