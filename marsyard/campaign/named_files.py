"""Fingerprints of the files that a scenario names, to detect changes.

Meshes, maps, FMUs, grounds and robots decide about the numbers of a run as the scenario's own text
does. Of a file beyond `WHOLE` bytes (a map of a whole planet) its size and both ends are taken.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from marsyard import library
from marsyard.errors import InputError
from marsyard.files import open_file

#: files up to this size are read whole [bytes]
WHOLE = 256 * 2**20
_END = 2**20


def file_digests(data: Any) -> dict[str, str]:
    """Fingerprints of all files that plain data names, by path."""
    return {str(path): _digest(path) for path in sorted(set(_files(data, Path())))}


def changed_file(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The name of the first file that is not what it was; empty if none is."""
    changed = (path for path in new if path in old and old[path] != new[path])
    return Path(next(changed, "")).name


def _files(data: Any, folder: Path, seen: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Files named in data, and those that YAML files among them name; `seen` led here."""
    if isinstance(data, Mapping):
        data = list(data.values())
    if isinstance(data, list | tuple):
        for value in data:
            yield from _files(value, folder, seen)
    path = _file(data, folder) if isinstance(data, str) else None
    if path is None:
        return
    yield path
    if path.suffix in (".yaml", ".yml") and path not in seen:
        try:
            inner = library.read_yaml(path)
        except InputError:  # told by whoever needs it
            return
        named = {k: v for k, v in inner.items() if k != "extends"}
        yield from _files(named, path.parent, seen | {path})


def _file(text: str, folder: Path) -> Path | None:
    """The file that a text names; of a robot's folder its robot.yaml."""
    if not text or "\n" in text or len(text) > 1000:
        return None
    path = folder / text
    try:
        if path.suffix and path.is_file():
            return path
        return path / "robot.yaml" if (path / "robot.yaml").is_file() else None
    except (OSError, ValueError):
        return None


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with open_file(path, "map") as file:
        size = os.fstat(file.fileno()).st_size
        found.update(str(size).encode())
        if size > WHOLE:
            found.update(file.read(_END))
            file.seek(-_END, 2)
        while part := file.read(_END):
            found.update(part)
    return found.hexdigest()[:16]
