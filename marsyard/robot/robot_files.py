"""All files that a robot consists of: robot.yaml, shapes, the model, what it includes, meshes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from marsyard import library
from marsyard.files import is_file
from marsyard.robot.mesh_file import MeshError, find_mesh
from marsyard.robot.named_files import check_named_files, file_attributes
from marsyard.robot.robot import load_robot, robot_path
from marsyard.robot.xml_file import Element, read_xml


@dataclass(frozen=True)
class RobotFiles:
    """Files of a robot.

    Attributes:
        main: the file by which it is loaded. all: with it all others.
        absolute: names in the model that are absolute paths, which a copy does not change.
    """

    main: Path
    all: tuple[Path, ...]
    absolute: tuple[str, ...]


def robot_files(name: str, folder: Path | None = None) -> RobotFiles:
    """The files of the robot that `load_robot` finds by this name."""
    main = _real(robot_path(name, folder))
    model = _real(load_robot(name, folder).model)
    files = {main, model}
    if main.suffix in (".yaml", ".yml"):
        shapes = library.read_yaml(main).get("shapes")
        files |= {main.parent / shapes} if isinstance(shapes, str) else set()
    root = read_xml(model)
    files |= set(_meshes(root, model) if root.tag == "robot" else check_named_files(root, model))
    named = {element.attributes[key] for element, key in file_attributes(root)}
    absolute = {n for n in named if os.path.isabs(n.removeprefix("file://"))}
    return RobotFiles(main, tuple(sorted(files)), tuple(sorted(absolute)))


def _meshes(root: Element, model: Path) -> list[Path]:
    """Meshes that a URDF names, those that are there."""
    found = []
    for element in root.walk():
        name = element.attributes.get("filename", "") if element.tag == "mesh" else ""
        if name:
            try:
                found.append(find_mesh(name, model.parent))
            except MeshError:  # one that is only drawn may be missing
                continue
    return [path for path in found if is_file(path)]


def _real(path: Path) -> Path:
    """A path without links to its folder, as meshes are looked for beside the model."""
    return Path(os.path.realpath(path.parent)) / path.name
