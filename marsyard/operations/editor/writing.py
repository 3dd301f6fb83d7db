"""Writing a scenario as readable YAML, with one line for each rock, crater and patch.

Numbers that the editor writes are texts with a unit ("0.35 m"), rounded to what is seen: lengths to
a millimetre, angles to a hundredth of a degree. A list of mappings (layers, rocks, places,
commands, checks, …) has one mapping per line as long as it fits; so has a mapping of plain values.
"""

from __future__ import annotations

import copy
import errno
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

from marsyard import library
from marsyard.errors import InputError, check_path

WIDTH = 150  # of a line
SHORT = 90  # of a mapping that is not in a list
HEAD = "# written by `marsyard edit`; every key: docs/scenario-reference.md\n"


def metres(value: float) -> str:
    """A length as text, to the millimetre, or to three digits where it is smaller than 10 cm."""
    digits = 3 if abs(value) >= 0.1 or value == 0 else 3 - math.floor(math.log10(abs(value))) - 1
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return f"{'0' if text in ('-0', '') else text} m"


def degrees(angle: float) -> str:
    """An angle [rad] as text, to a hundredth of a degree."""
    text = f"{math.degrees(angle):.2f}".rstrip("0").rstrip(".")
    return f"{'0' if text in ('-0', '') else text} deg"


def share(value: float) -> float:
    """A plain number, to four digits."""
    return float(f"{value:.4g}")


def text_of(data: dict[str, Any], folder: Path) -> str:
    """The data as YAML for a file in `folder`; paths of files in there become relative to it."""
    out = copy.deepcopy(data)
    _relative(out, folder.absolute())
    return HEAD + yaml.dump(
        _lines(out), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH
    )


def write(text: str, path: Path) -> None:
    """Write the file, whole or not at all; one sentence where that is not possible."""
    from marsyard.files.replacing import replacing

    try:
        with replacing(path) as part, part.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise _unwritable(path, error) from None


def check_target(path: Path, overwrite: bool) -> Path:
    """The path to write to; refuses the library, folders, files that are already there, and places
    where no file can be made."""
    check_path(path, "save")
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"save: '{path}' must end with .yaml")
    try:
        if path.absolute().resolve().is_relative_to(library.FOLDER.resolve()):
            raise InputError(f"save: '{path}' belongs to the library; choose another place")
        if path.is_dir():
            raise InputError(f"save: '{path}' is a folder; give a file")
        if path.exists() and not overwrite:
            raise InputError(f"save: '{path}' already exists; choose another name or overwrite it")
        _try(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def _try(path: Path) -> None:
    """Make a file for a moment in the folder of a path, or in the one it would be made in."""
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or "unknown reason"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        reason = "a part of the path is a file"
    return InputError(f"save: '{path}' cannot be written ({reason})")


def _relative(data: dict[str, Any], folder: Path) -> None:
    parts: list[dict[str, Any]] = []
    for ground in data.get("ground", ()):
        parts.append(ground)
        terrain = ground.get("terrain")
        if isinstance(terrain, dict):
            parts += [p for p in terrain.get("layers", ()) if isinstance(p, dict)]
            if isinstance(terrain.get("soil_map"), dict):
                parts.append(terrain["soil_map"])
        elif isinstance(terrain, str):
            ground["terrain"] = _short(terrain, folder)
    for part in parts:
        if isinstance(part.get("file"), str):
            part["file"] = _short(part["file"], folder)
    robot = data.get("robot")
    if isinstance(robot, dict) and isinstance(robot.get("name"), str):
        robot["name"] = _short(robot["name"], folder)


def _short(name: str, folder: Path) -> str:
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return name


class _Line(dict):  # type: ignore[type-arg]
    """A mapping on one line."""


def _lines(value: Any, depth: int = 0, in_list: bool = False) -> Any:
    """The same with short mappings marked for one line."""
    if isinstance(value, dict):
        made = {k: _lines(v, depth + 1) for k, v in value.items()}
        inner = [v for v in value.values() if isinstance(v, dict | list | tuple)]
        if in_list:
            one = len(str(value)) < WIDTH and not any(_has_mappings(v) for v in inner)
        else:
            plain = not any(isinstance(v, dict) or _has_mappings(v) for v in inner)
            one = depth > 0 and plain and len(str(value)) < SHORT
        return _Line(made) if one and value else made
    if isinstance(value, list | tuple):
        return [_lines(v, depth + 1, in_list=True) for v in value]
    return value


def _has_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(v, dict) for v in value)


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def _map(dumper: _Dumper, value: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping(
        "tag:yaml.org,2002:map", value.items(), flow_style=isinstance(value, _Line)
    )


def _list(dumper: _Dumper, value: list[Any]) -> yaml.Node:
    plain = not any(isinstance(v, dict) for v in value) and len(str(value)) < WIDTH
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(dict, _map)
_Dumper.add_representer(_Line, _map)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(str, _text)
