"""Reading terrains: by name from the library, from a YAML file, or an elevation file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from marsyard import library
from marsyard.errors import InputError, suggest
from marsyard.file_mistakes import sentence
from marsyard.files import is_file
from marsyard.scenario.terrain import TerrainSpec

MESHES = (".stl", ".obj", ".ply")


def load_terrain(name: str | Path) -> tuple[TerrainSpec, Path | None]:
    """The terrain called `name` and the folder its files count from.

    `name` is one of the library's grounds, a YAML file of the same shape, or an elevation file
    (a map, a table, an array, a picture, a mesh), which then is the only layer.
    """
    name = str(name)
    if name in library.names("grounds"):
        path = library.path_of("grounds", name)
        return validate_terrain(library.read_yaml(path), name), path.parent
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return validate_terrain(library.read_yaml(path), path.name), path.parent
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a file or one of the library's grounds")
    if is_file(path):
        kind = "mesh" if path.suffix.lower() in MESHES else "file"
        layer = {"kind": kind, "file": str(path.absolute())}
        return validate_terrain({"title": path.name, "layers": [layer]}, path.name), None
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"{path}: no such file")
    raise InputError(f"unknown ground '{name}'; {suggest(name, library.names('grounds'))}")


def terrain_data(name: str | Path) -> dict[str, Any]:
    """What `load_terrain` reads, as it is written, with the paths of its files made absolute."""
    name = str(name)
    known = name in library.names("grounds")
    path = library.path_of("grounds", name) if known else Path(name)
    if path.suffix in (".yaml", ".yml"):
        data = library.read_yaml(path)
        resolve_layers(data, path.parent)
        return data
    spec, _ = load_terrain(name)  # an elevation file
    return spec.model_dump(mode="json", exclude_defaults=True)


def resolve_layers(terrain: dict[str, Any], folder: Path) -> None:
    """Make paths of the files of a terrain's layers, of its map of soils and of its soils absolute,
    those that lie in `folder`."""
    layers, places, soil_map = (terrain.get(key) for key in ("layers", "places", "soil_map"))
    parts = [p for p in (layers, places) if isinstance(p, list)]
    for part in [terrain, *(item for many in parts for item in many), soil_map]:
        if not isinstance(part, dict):
            continue
        for key in ("file", "values"):
            if isinstance(part.get(key), str) and is_file(folder / part[key]):
                part[key] = str((folder / part[key]).absolute())
        if "soil" in part:
            part["soil"] = resolve_soil_file(part["soil"], folder)
        if isinstance(part.get("legend"), dict):
            legend = part["legend"].items()
            part["legend"] = {value: resolve_soil_file(soil, folder) for value, soil in legend}


def resolve_soil_file(soil: Any, folder: Path) -> Any:
    """A soil, or the mapping that names one, with the path of its file absolute if that lies in
    `folder`; everything else as it is."""
    if isinstance(soil, dict) and "definition" not in soil and "name" in soil:
        return {**soil, "name": resolve_soil_file(soil["name"], folder)}
    if not isinstance(soil, str) or not soil.endswith((".yaml", ".yml")):
        return soil
    return str((folder / soil).absolute()) if is_file(folder / soil) else soil


def validate_terrain(data: Mapping[str, Any], name: str = "terrain") -> TerrainSpec:
    """The terrain that `data` describes, or an InputError with one sentence."""
    try:
        return TerrainSpec.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error, TerrainSpec)}") from None
