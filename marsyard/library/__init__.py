"""The library: rovers, soils, grounds and scenarios as data files, each number with its source.

rovers/NAME/robot.yaml      roles, wheels, sources; robot.xml beside it is the MJCF model
scenarios/GROUP/NAME.yaml   called GROUP/NAME
soils/NAME.yaml
grounds/NAME.yaml           a terrain: layers, soils by place

Other packages may bring libraries of the same shape (`marsyard.plugins`); their names count as if
they were here.
"""

from __future__ import annotations

import copy
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from marsyard import plugins
from marsyard.errors import InputError, check_path, suggest

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


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping; errors name the file and the line."""
    check_path(path, "file")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason})") from None
    return read_yaml_text(text, str(path))


def read_yaml_text(text: str, name: str) -> dict[str, Any]:
    """A YAML text that holds a mapping; errors name it by `name` and the line."""
    try:
        # many runs of a family read the same few files
        data = copy.deepcopy(_parsed(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", error)
        raise InputError(f"{name}{where}: not valid YAML ({problem})") from None
    if not isinstance(data, dict):
        raise InputError(f"{name}: holds no keys; a mapping such as 'robot: …' is expected")
    return data


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


class _Loader(yaml.SafeLoader):
    """The safe loader, where 1e-3 is a number (YAML 1.1 takes it for a text) and a key said twice
    is an error."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def _mapping_without_twins(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=deep)
        if isinstance(key, list | dict):
            raise yaml.constructor.ConstructorError(
                None, None, "a list or mapping stands where a key should", key_node.start_mark
            )
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' stands twice", key_node.start_mark
            )
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_twins)
