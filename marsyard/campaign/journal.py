"""A journal: records appended one by one, each written to disk before it counts.

The file is text, a line per record, `CRC32 JSON`; the first line is the header, which says what the
journal is of. A record is written and synced to the disk (fsync) before `append` returns, so that a
power cut loses only what was not appended. A line that a cut tore is found by its checksum and left
out when the journal is opened again. One process at a time may hold a journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from marsyard.errors import InputError
from marsyard.files import check_file, is_file, open_file, parse_json, read_bytes
from marsyard.files.regular import LARGEST
from marsyard.files.replacing import replacing


class Journal:
    """An open journal.

    Attributes:
        header: its first record. records: those it held when it was opened. damaged: lines left out
            because they were torn or changed.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle
        lines, self._good = _read(path)
        records = [_decoded(line) for line in lines]
        if not records or records[0] is None:
            os.close(handle)
            raise InputError(f"'{path}' is not a journal of marsyard, or its head is damaged")
        self.header: dict[str, Any] = records[0]
        self.records = [r for r in records[1:] if r is not None]
        self.damaged = len(records) - 1 - len(self.records)
        if self._good < path.stat().st_size:
            self.damaged += 1
            os.ftruncate(handle, self._good)
        os.lseek(handle, 0, os.SEEK_END)

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> Journal:
        """A new journal, which takes the place of one that was there and that nobody holds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(path.parent):
            if path.exists():
                # closed before the file is replaced, but under the folder's lock
                os.close(_held(path))
            with replacing(path) as part, part.open("wb") as file:
                file.write(_encoded(header))
                file.flush()
                os.fsync(file.fileno())
            _sync_folder(path.parent)
            return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """A journal that is there, to go on with."""
        return cls(path, _held(path))

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Add records; they are on the disk when this returns, all of them or none."""
        data = b"".join(_encoded(r) for r in records)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._handle, view) :]
            os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._good)
                os.lseek(self._handle, 0, os.SEEK_END)
            error.filename = str(self.path)
            raise
        self._good += len(data)

    def close(self) -> None:
        """Let it go."""
        with contextlib.suppress(OSError):
            os.close(self._handle)


def read_header(path: Path) -> dict[str, Any] | None:
    """What a journal is of; None where there is none."""
    if not is_file(path):
        return None
    with open_file(path, "journal") as file:
        return _decoded(file.readline(LARGEST["json"]).rstrip(b"\n"))


def read_records(path: Path) -> list[dict[str, Any]]:
    """All good records of a journal, which somebody may be writing at the time."""
    return [r for r in map(_decoded, _read(path)[0][1:]) if r is not None]


def _read(path: Path) -> tuple[list[bytes], int]:
    """Whole lines, and where the last of them ends."""
    content = read_bytes(path, "journal")
    end = content.rfind(b"\n") + 1
    return content[:end].splitlines(), end


def _encoded(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """A record; None if its line is damaged."""
    try:
        if int(line[:8], 16) != zlib.crc32(line[9:]):
            return None
        found = parse_json(line[9:], "journal")
    except ValueError:  # InputError is one
        return None
    return found if isinstance(found, dict) else None


def _held(path: Path) -> int:
    """The file, open and held by this process; refuses one that another process holds."""
    check_file(path, "journal")
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    if not _locked(handle):
        os.close(handle)
        raise InputError(f"'{path.parent}' is in use: another process writes its results there")
    return handle


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold a folder while its journal is made: of two that begin at once, one is refused."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # folders cannot be opened on this system
        yield
        return
    try:
        if not _locked(handle):
            raise InputError(f"'{folder}' is in use: another process writes its results there")
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Take the file for this process; false if another one has it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
