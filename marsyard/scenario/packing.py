"""Writing a scenario with all its files: `scenario.yaml`, and copies of its files in `inputs/`.

    scenario.yaml                 resolved: soils and terrains stand in it
    inputs/1f0c9a3b52d4/exomars/  a robot: robot.yaml, its model, meshes, …
    inputs/77d2b0a6e915/map.tif   meshes, elevation maps, arrays of heights, FMUs

Each set of files lies in a folder that is called by its contents, so that scenarios which share
`inputs` (members of a study) share the copies. Paths in scenario.yaml count from its own folder.

What cannot be copied stays where it is, with a warning that names the field: a set of files larger
than `LARGEST`, and files that a model or a map names by an absolute path. Plug-ins are named with
their versions at the head of scenario.yaml.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from marsyard import library, plugins
from marsyard.errors import InputError
from marsyard.files import open_file, read_text
from marsyard.ground.terrain.files import find, raster_files
from marsyard.robot.robot_files import robot_files
from marsyard.run_folder import INPUTS
from marsyard.scenario.resolving import resolve
from marsyard.scenario.schema import Scenario
from marsyard.scenario.soil import TerrainGround

#: most that is copied of one robot, map or mesh [bytes]
LARGEST = 2 * 10**9
_PART = 2**20


def write_scenario(
    scenario: Scenario, file: Path, inputs: Path | None = None, notes: Iterable[str] = ()
) -> None:
    """Write a scenario so that it can be run again without anything but its own folder.

    `inputs` is the folder of copies [beside the file]; `notes` are written at the head.
    """
    data = pack(scenario, Inputs(inputs or file.parent / INPUTS, file.parent))
    text = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )
    head = "".join(f"# {line}\n" for line in (*_origins(scenario), *notes))
    file.write_text(head + text, encoding="utf-8")


class Inputs:
    """Copies of input files in `folder`, named by paths that count from `base`.

    A file that cannot be copied stays where it is with a warning, or is an error if `strict`.
    """

    def __init__(self, folder: Path, base: Path, strict: bool = False) -> None:
        self._folder, self._base, self._strict = folder, base, strict

    def copy(
        self, main: Path, others: Iterable[Path], field: str, keep_folder: bool = False
    ) -> str:
        """Copy a file and those that it needs, in their places to each other; the copy's path."""
        files = sorted({_absolute(main), *map(_absolute, others)})
        root = Path(os.path.commonpath([path.parent for path in files]))
        root = root.parent if keep_folder else root
        size = sum(path.stat().st_size for path in files)
        if size > LARGEST:
            self.tell(f"{field}: '{main.name}' has {size / 1e9:.1f} GB, which is too large to copy")
            return str(_absolute(main))
        names = [path.relative_to(root) for path in files]
        place = self._folder / _digest(files, names)
        if not place.exists():
            with self._staged(place) as staging:
                for path, name in zip(files, names, strict=True):
                    (staging / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, staging / name)
        return self._from_base(place / _absolute(main).relative_to(root))

    def save(self, values: Any, name: str) -> str:
        """Write an array; the path of its file."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        place = self._folder / hashlib.sha256(array.tobytes()).hexdigest()[:12]
        if not place.exists():
            with self._staged(place) as staging:
                np.save(staging / name, array)
        return self._from_base(place / name)

    def tell(self, reason: str) -> None:
        """Say that something is not copied."""
        if self._strict:
            raise InputError(reason)
        warnings.warn(
            f"{reason}; the run folder refers to it in its present location", stacklevel=4
        )

    @contextlib.contextmanager
    def _staged(self, place: Path) -> Iterator[Path]:
        """An empty folder that becomes `place`, unless another process was faster."""
        self._folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".", dir=self._folder))
        staging.chmod(0o755)
        try:
            yield staging
            with contextlib.suppress(OSError):
                os.rename(staging, place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _from_base(self, path: Path) -> str:
        return Path(os.path.relpath(path, self._base)).as_posix()


def pack(scenario: Scenario, inputs: Inputs) -> dict[str, Any]:
    """The data of a scenario, resolved, with copies in place of the files that it names."""
    scenario = _with_saved_arrays(resolve(scenario), inputs)
    data: dict[str, Any] = scenario.model_dump(mode="json")
    data["robot"]["name"] = _pack_robot(scenario.robot.name, inputs)
    for k, ground in enumerate(data["ground"]):
        _pack_file(ground, inputs, f"ground.{k}.file")
        terrain = ground.get("terrain") or {}
        for j, layer in enumerate(terrain.get("layers") or []):
            _pack_file(layer, inputs, f"ground.{k}.terrain.layers.{j}.file")
        _pack_file(terrain.get("soil_map") or {}, inputs, f"ground.{k}.terrain.soil_map.file")
    for k, law in enumerate(data["control"]):
        _pack_file(law, inputs, f"control.{k}.file")
    return data


def _pack_robot(name: str, inputs: Inputs) -> str:
    files = robot_files(name)
    for fixed in files.absolute:
        inputs.tell(f"robot.name: the model names '{fixed}' by an absolute path")
    main = inputs.copy(files.main, files.all, "robot.name", keep_folder=True)
    return str(Path(main).parent.as_posix()) if files.main.name == "robot.yaml" else main


def _pack_file(part: dict[str, Any], inputs: Inputs, field: str) -> None:
    """Put the path of a copy in place of the file that a part of the scenario names."""
    if not isinstance(part.get("file"), str):
        return
    path = find(part["file"], None)
    beside = raster_files(path) if part.get("kind") == "file" or "legend" in part else []
    if path.suffix.lower() == ".vrt" and any(str(p) in read_text(path, "xml") for p in beside):
        inputs.tell(f"{field}: '{path.name}' refers to its sources by absolute paths")
    part["file"] = inputs.copy(path, beside, field)


def _with_saved_arrays(scenario: Scenario, inputs: Inputs) -> Scenario:
    """Heights that were given from Python, in files: YAML is not made for that many numbers."""
    grounds = []
    for ground in scenario.ground:
        if isinstance(ground, TerrainGround) and not isinstance(ground.terrain, str):
            layers = tuple(
                layer.model_copy(update={"values": inputs.save(layer.values, "heights.npy")})
                if layer.kind == "array" and not isinstance(layer.values, str)
                else layer
                for layer in ground.terrain.layers
            )
            terrain = ground.terrain.model_copy(update={"layers": layers})
            ground = ground.model_copy(update={"terrain": terrain})
        grounds.append(ground)
    return scenario.model_copy(update={"ground": tuple(grounds)})


def _origins(scenario: Scenario) -> Iterator[str]:
    """Where a scenario's robot and plug-ins come from, for the reader."""
    import marsyard

    yield f"written by marsyard {marsyard.__version__}; paths count from this file's folder"
    name = scenario.robot.name
    if name in library.names("rovers"):
        origin = library.origin_of("rovers", name) or f"marsyard {marsyard.__version__}"
        yield f"robot: {name} of the library of {origin}"
    uses = [("controllers", scenario.controller), ("laws", scenario.interaction.plugin)]
    named = [(kind, use.name) for kind, use in uses if use is not None]
    for ground in scenario.ground:
        if isinstance(ground, TerrainGround) and not isinstance(ground.terrain, str):
            layers = (layer for layer in ground.terrain.layers if layer.kind == "plugin")
            named += [("generators", layer.generator) for layer in layers]
    for kind, used in named:
        if used in plugins.found(kind):
            yield f"needs the plug-in {plugins.named(kind, used)} ({kind[:-1]})"


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _digest(files: Iterable[Path], names: Iterable[Path]) -> str:
    """A fingerprint of files and of their places."""
    found = hashlib.sha256()
    for path, name in zip(files, names, strict=True):
        found.update(f"{name.as_posix()}\0{path.stat().st_size}\0".encode())
        with open_file(path, "map") as file:
            while part := file.read(_PART):
                found.update(part)
    return found.hexdigest()[:12]
