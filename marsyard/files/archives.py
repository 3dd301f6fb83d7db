"""Zip archives: checked for completeness and unpacked size.

Deflate makes data at most 1032 times smaller [zlib, technical details]; an archive that claims more
is one made to fill memory or disk.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from marsyard.errors import InputError
from marsyard.files.regular import LARGEST, open_file

MOST_MEMBERS = 100_000
#: what reading a damaged archive raises
DAMAGED: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, NotImplementedError,
    RuntimeError, OverflowError, MemoryError,
)  # fmt: skip
try:
    import lzma

    DAMAGED = (*DAMAGED, lzma.LZMAError)
except ImportError:  # Python may be built without it
    pass


def check_sizes(archive: zipfile.ZipFile, kind: str, name: str) -> None:
    """Refuse an archive that is larger unpacked than a file of its kind may be."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise InputError(f"{name}: holds {len(members)} files; at most {MOST_MEMBERS} are read")
    if sum(m.file_size for m in members) > LARGEST[kind]:
        raise InputError(f"{name}: is too large when unpacked")
    for member in members:
        if member.file_size > 1100 * member.compress_size + 1000:
            raise InputError(f"{name}: is damaged: '{member.filename}' is smaller than it can be")


def check_archive(path: str | Path, kind: str, name: str, what: str = "a zip file") -> None:
    """Refuse an archive that is damaged, too large when unpacked, or leaves its folder; `what` it
    should be stands in error sentences."""
    with open_file(path, kind, name) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, kind, name)
                broken = archive.testzip()
                names = archive.namelist()
        except InputError:
            raise
        except DAMAGED:
            raise InputError(f"{name}: is not {what}, or is not complete") from None
    if broken is not None:
        raise InputError(f"{name}: is damaged: '{broken}' cannot be unpacked")
    outside = next((n for n in names if n.startswith(("/", "\\")) or ".." in Path(n).parts), None)
    if outside is not None:
        raise InputError(f"{name}: '{outside}' in it lies outside of its folder")


def read_member(path: str | Path, member: str, kind: str, name: str) -> bytes | None:
    """A file of an archive; None where it holds none of this name."""
    with open_file(path, kind, name) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, kind, name)
                return archive.read(member) if member in archive.namelist() else None
        except InputError:
            raise
        except DAMAGED:
            raise InputError(f"{name}: is damaged: '{member}' cannot be unpacked") from None
