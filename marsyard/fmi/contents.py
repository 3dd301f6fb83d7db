"""What an FMU carries of a scenario: scenario.yaml and the files it names, beside each other.

Paths in the packed scenario.yaml count from its folder, and none leads out of it. Names of the
library (soils, grounds) stay names: the marsyard that runs the FMU has them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from marsyard import library
from marsyard.errors import InputError
from marsyard.robot import load_robot
from marsyard.scenario import Scenario

SCENARIO = "scenario.yaml"


def pack_scenario(scenario: Scenario, folder: Path) -> None:
    """Write a scenario and all files it names into a folder."""
    data = scenario.model_dump(mode="json")
    data.pop("report", None)
    data.pop("study", None)
    data["robot"]["name"] = _pack_robot(scenario.robot.name, folder)
    for ground in data["ground"]:
        _pack_file(ground, "file", folder)
        if isinstance(ground.get("terrain"), str):
            if ground["terrain"] not in library.names("grounds"):
                ground["terrain"] = _terrain(ground["terrain"])
        if isinstance(ground.get("terrain"), dict):
            terrain = ground["terrain"]
            for part in [*(terrain.get("layers") or []), terrain.get("soil_map") or {}]:
                _pack_file(part, "file", folder)
        if isinstance(ground.get("soil"), str):
            _refuse_soil_file(ground["soil"])
    for law in data["control"]:
        _pack_file(law, "file", folder)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    (folder / SCENARIO).write_text(text, encoding="utf-8")


def _terrain(name: str) -> dict[str, Any]:
    from marsyard.scenario.terrain_file import terrain_data

    return terrain_data(name)


def _pack_file(part: dict[str, Any], key: str, folder: Path) -> None:
    """Copy a file that a part of the scenario names, and name the copy."""
    if isinstance(part.get(key), str):
        part[key] = _copy(Path(part[key]), folder / "files").relative_to(folder).as_posix()


def _refuse_soil_file(name: str) -> None:
    """Soils of the library go by their names; one of a file is not carried."""
    if name not in library.names("soils"):
        raise InputError(
            f"ground.soil: '{name}' is a file; put its numbers into the scenario, as "
            "soil: {name: …, cohesion: …}, for the FMU to carry them"
        )


def _pack_robot(name: str, folder: Path) -> str:
    """Copy a robot's folder; a bare model file has no folder of its own."""
    robot = load_robot(name)
    home = library.path_of("rovers", name).parent if name in library.names("rovers") else Path(name)
    home = home.parent if home.suffix in (".yaml", ".yml") else home
    if not home.is_dir() or home.resolve() not in robot.model.resolve().parents:
        raise InputError(
            f"robot.name: '{Path(name).name}' is no folder with robot.yaml and model; make one "
            "with `marsyard import`, for the FMU to carry it"
        )
    copy = folder / "robot" / (home.name or robot.name)
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return copy.relative_to(folder).as_posix()


def _copy(path: Path, folder: Path) -> Path:
    """A copy of a file, under a name that is free."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    folder.mkdir(parents=True, exist_ok=True)
    target, k = folder / path.name, 1
    while target.exists():
        if target.read_bytes() == path.read_bytes():
            return target
        k += 1
        target = folder / f"{path.stem}-{k}{path.suffix}"
    shutil.copy(path, target)
    return target
