"""Regular files only, up to a size that depends on their kind.

A file is opened without waiting (a pipe would wait for its other end) and looked at by its handle:
what is a folder, pipe, socket or device, by itself or through links, is refused, and so is what is
larger than a file of its kind may be.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from marsyard.errors import InputError, check_path

_MB, _GB = 10**6, 10**9

#: largest size of a file by what it holds [bytes]
LARGEST = {
    "yaml": 16 * _MB,
    "json": 64 * _MB,
    "xml": 64 * _MB,
    "table": 1 * _GB,
    "picture": 1 * _GB,
    "mesh": 1 * _GB,
    "model": 1 * _GB,
    "fmu": 4 * _GB,
    "array": 8 * _GB,
    "state": 8 * _GB,
    "journal": 8 * _GB,
    "netcdf": 64 * _GB,
    # read in windows and message by message
    "map": 4000 * _GB,
    "recording": 4000 * _GB,
}

_IRREGULAR = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_file(path: str | Path, kind: str, name: str | None = None) -> BinaryIO:
    """A regular file, open for reading bytes; `name` begins error sentences [the path]."""
    name = str(path) if name is None else name
    check_path(path, "file")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        # sockets cannot be opened, nor can folders on some systems
        raise InputError(f"{name}: {_irregular(path) or _cannot(error)}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{name}: {_what(found.st_mode)}")
        if found.st_size > LARGEST[kind]:
            raise InputError(
                f"{name}: holds {_size(found.st_size)}; at most {_size(LARGEST[kind])} are read "
                f"of a file of this kind ({kind})"
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_file(path: str | Path, kind: str, name: str | None = None) -> Path:
    """The path of a regular file of a readable size: for libraries that open it by name."""
    open_file(path, kind, name).close()
    return Path(path)


def read_bytes(path: str | Path, kind: str, name: str | None = None) -> bytes:
    """The content of a file."""
    with open_file(path, kind, name) as file:
        try:
            # it may grow, or be one of the system's whose size is said to be 0
            data = file.read(LARGEST[kind] + 1 if os.fstat(file.fileno()).st_size == 0 else -1)
        except OSError as error:
            raise InputError(f"{name or path}: {_cannot(error)}") from None
        except MemoryError:
            raise InputError(f"{name or path}: is too large for the memory") from None
    if len(data) > LARGEST[kind]:
        raise InputError(f"{name or path}: holds more than {_size(LARGEST[kind])}")
    return data


def read_text(path: str | Path, kind: str, name: str | None = None, encoding: str = "utf-8") -> str:
    """The text of a file, with newlines as \\n."""
    data = read_bytes(path, kind, name)
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{name or path}: cannot be read (it is not UTF-8 text)") from None


def exists(path: str | Path) -> bool:
    """Whether there is something of this name; nothing has a name that no file can have."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def is_file(path: str | Path) -> bool:
    """Whether there is a file of this name, be it regular or not, but no folder."""
    try:
        path = Path(path)
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def format_reason(error: BaseException) -> str:
    """What another library says about a file it cannot read, short and in one line."""
    return " ".join(str(error).split())[:120] or type(error).__name__


def _irregular(path: str | Path) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) else _what(mode)


def _what(mode: int) -> str:
    what = next((text for test, text in _IRREGULAR if test(mode)), "no regular file")
    return f"is {what}; give a file"


def _cannot(error: OSError) -> str:
    if error.errno == errno.ENXIO:
        return "is no regular file; give a file"
    return f"cannot be read ({error.strerror})"


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.4g} GB"
