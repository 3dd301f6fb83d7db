"""The library: rovers, soils, grounds and scenarios as data files, each number with its source.

rovers/NAME/robot.yaml      roles, wheels, sources; robot.xml beside it is the MJCF model
scenarios/GROUP/NAME.yaml   called GROUP/NAME
soils/NAME.yaml
grounds/NAME.yaml           a terrain: layers, soils by place

Other packages may bring libraries of the same shape (`marsyard.plugins`); their names count as if
they were here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from marsyard import plugins
from marsyard.errors import InputError, suggest
from marsyard.files import read_yaml, read_yaml_text

__all__ = ["FOLDER", "KINDS", "names", "origin_of", "path_of", "read_yaml", "read_yaml_text"]

FOLDER = Path(__file__).parent
KINDS = ("scenarios", "rovers", "soils", "grounds")


def names(kind: str) -> list[str]:
    """Names of everything of one kind, sorted."""
    if kind not in KINDS:
        raise InputError(f"unknown kind '{kind}'; {suggest(kind, KINDS)}")
    return list(_entries(kind))


def path_of(kind: str, name: str) -> Path:
    """The file of a library entry, or an InputError with the nearest names."""
    if name in names(kind):
        return _entries(kind)[name][0]
    raise InputError(f"unknown {kind[:-1]} '{name}'; {suggest(name, names(kind))}")


def origin_of(kind: str, name: str) -> str:
    """Name and version of the package that brings an entry; empty for marsyard's own."""
    return _entries(kind)[name][1]


@cache
def _entries(kind: str) -> dict[str, tuple[Path, str]]:
    """File and origin of everything of one kind, sorted by name."""
    entries = {name: (path, "") for name, path in _files(FOLDER, kind).items()}
    for origin, folder in plugins.libraries():
        for name, path in _files(folder, kind).items():
            if name in entries:
                taken = entries[name][1] or "marsyard"
                plugins.leave_out(
                    f"{kind[:-1]} '{name}' of {origin} is left out: {taken} has one of that name"
                )
            else:
                entries[name] = (path, origin)
    return dict(sorted(entries.items()))


def _files(folder: Path, kind: str) -> dict[str, Path]:
    root = folder / kind
    if kind == "rovers":
        return {p.parent.name: p for p in root.glob("*/robot.yaml")}
    return {p.relative_to(root).with_suffix("").as_posix(): p for p in root.rglob("*.yaml")}
