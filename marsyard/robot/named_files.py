"""Checks of files named by an MJCF model, before MuJoCo opens them.

`<include>` and `<asset><model>` name further XML; meshes, textures, height fields and skins name
data. MuJoCo waits for a pipe and reads a device without end, so that each of them must be a regular
file of a size. What is not there MuJoCo says itself, with the line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from marsyard.errors import InputError
from marsyard.files import check_file, exists
from marsyard.robot.xml_file import Element, read_xml

_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MOST_FILES = 1000  # of XML


def check_named_files(root: Element, path: Path) -> list[Path]:
    """The files that a model names, those that are there; refuses a model that names what is no
    regular file, is too large, or includes itself."""
    found: list[Path] = []
    read = 0
    waiting = [root]
    folders = {path.parent}
    seen: set[Path] = {Path(os.path.abspath(path))}
    while waiting:
        part = waiting.pop()
        folders |= {path.parent / e.attributes[k] for e, k in _attributes(part, _FOLDERS)}
        for element, key in _attributes(part, None):
            for place in sorted(folder / element.attributes[key] for folder in folders):
                if not exists(place):
                    continue
                found.append(Path(os.path.abspath(place)))
                further = element.tag == "include" or (element.tag == "model" and key == "file")
                try:
                    check_file(place, "xml" if further else "mesh")
                    if not further or Path(os.path.abspath(place)) in seen:
                        continue
                    waiting.append(read_xml(place))
                except InputError as error:
                    raise element.error(str(error)) from None
                seen.add(Path(os.path.abspath(place)))
                read += 1
                if read > _MOST_FILES:
                    raise element.error(f"more than {_MOST_FILES} files are included")
    return found


def file_attributes(root: Element) -> Iterator[tuple[Element, str]]:
    """Elements and those of their attributes that name a file or the folder of files."""
    yield from _attributes(root, None)
    yield from _attributes(root, _FOLDERS)


def _attributes(root: Element, keys: tuple[str, ...] | None) -> Iterator[tuple[Element, str]]:
    """Elements and those of their attributes that have one of these names, or name a file."""
    for element in root.walk():
        for key, text in element.attributes.items():
            if text and (key in keys if keys is not None else key.startswith("file")):
                yield element, key
