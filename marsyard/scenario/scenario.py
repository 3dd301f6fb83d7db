"""Reading scenarios: library names, files, `extends` and overrides."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from marsyard import library
from marsyard.errors import InputError, clip, suggest
from marsyard.file_mistakes import sentence
from marsyard.files import exists, is_file, parse_yaml
from marsyard.scenario.resolving import resolve
from marsyard.scenario.schema import Scenario
from marsyard.scenario.short_names import full_path, refuse_name
from marsyard.scenario.terrain_file import resolve_layers, resolve_soil_file


def load_scenario(name: str | Path, settings: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario of the library by name, or from a YAML file, with settings applied on top, and
    resolved (`resolve`).

    `settings` maps dotted paths to values, e.g. {"interaction.friction": 0.5, "run.step": "1 ms"};
    short names do where they are unambiguous: {"friction": 0.5, "step": "1 ms"}.
    """
    data = scenario_data(name)
    for key, value in (settings or {}).items():
        apply_setting(data, key, value)
    return resolve(validate(data, str(name)))


def scenario_data(name: str | Path) -> dict[str, Any]:
    """The merged raw data of a scenario and of those it extends."""
    return _load(_path(str(name), None), [])


def validate(data: Mapping[str, Any], name: str = "scenario") -> Scenario:
    """The scenario that `data` describes, or an InputError with one sentence per first mistake."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error, Scenario)}") from None


def parse_setting(text: str, what: str = "--set") -> tuple[str, Any]:
    """'path.to.value=…' as (path, value); the value is read as YAML. `what` begins sentences."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"{what}: '{clip(text)}' is not of the form path.to.value=VALUE")
    return key.strip(), copy.deepcopy(parse_yaml(value, f"{what} {clip(key.strip())}"))


def dump(scenario: Scenario, defaults: bool = True) -> str:
    """The resolved scenario as YAML, every value in SI; without `defaults` what differs from them,
    in short lines."""
    data = scenario.model_dump(mode="json", exclude_defaults=not defaults)
    flow = False if defaults else None
    return yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=100, default_flow_style=flow
    )


# --- files


def _path(name: str, base: Path | None) -> Path:
    if name in library.names("scenarios"):
        return library.path_of("scenarios", name)
    candidate = Path(name) if base is None else base / name
    if candidate.suffix in (".yaml", ".yml") or exists(candidate):
        if exists(candidate) and candidate.is_dir():
            inner = candidate / "scenario.yaml"
            if inner.exists():
                return inner
            raise InputError(f"{candidate}: is a folder without a scenario.yaml")
        if not exists(candidate):
            raise InputError(f"{candidate}: no such file")
        return candidate
    raise InputError(f"unknown scenario '{name}'; {suggest(name, library.names('scenarios'))}")


def _load(path: Path, seen: list[Path]) -> dict[str, Any]:
    if path in seen:
        chain = " → ".join(p.name for p in seen)
        raise InputError(f"{path.name}: extends itself via {chain}")
    data = library.read_yaml(path)
    resolve_files(data, path.parent)
    parent = data.pop("extends", None)
    if parent is None:
        return data
    if not isinstance(parent, str):
        raise InputError(f"{path.name}: extends: give the name of one scenario")
    merged = _load(_path(parent, path.parent), [*seen, path])
    return _merge(merged, data)


def resolve_files(data: dict[str, Any], folder: Path) -> None:
    # paths of meshes, maps, soils, FMUs and robots count from the scenario's own folder
    ground = data.get("ground")
    for item in ground if isinstance(ground, list) else []:
        if isinstance(item, dict) and isinstance(item.get("file"), str):
            item["file"] = str((folder / item["file"]).absolute())
        if isinstance(item, dict) and item.get("kind") == "terrain":
            _resolve_terrain(item, folder)
    control = data.get("control")
    for law in control if isinstance(control, list) else []:
        if isinstance(law, dict) and isinstance(law.get("file"), str):
            law["file"] = str((folder / law["file"]).absolute())
    robot = data.get("robot")
    if isinstance(robot, dict) and isinstance(robot.get("name"), str):
        path = folder / robot["name"]
        if is_file(path) or is_file(path / "robot.yaml"):
            robot["name"] = str(path.absolute())


def _resolve_terrain(item: dict[str, Any], folder: Path) -> None:
    """The same for a terrain: its file, or those of its layers and its map of soils; and for its
    soils. Names of the library and files found only from here stay as they are."""
    if "soil" in item:
        item["soil"] = resolve_soil_file(item["soil"], folder)
    soils = item.get("soils")
    if isinstance(soils, dict):
        item["soils"] = {name: resolve_soil_file(soil, folder) for name, soil in soils.items()}
    terrain = item.get("terrain")
    if isinstance(terrain, str):
        path = folder / terrain
        if terrain not in library.names("grounds") and is_file(path):
            item["terrain"] = str(path.absolute())
    elif isinstance(terrain, dict):
        resolve_layers(terrain, folder)


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`: mappings merge, everything else (lists too) replaces."""
    out = copy.deepcopy(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(out.get(key), dict):
            out[key] = _merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


def apply_setting(data: dict[str, Any], key: str, value: Any, what: str = "--set") -> None:
    """Put `value` at `key`, a dotted path or a short name, in a scenario's data.

    `what` begins error sentences.
    """
    refuse_name(key, value, what)
    key = full_path(key, data, what)
    parts = key.split(".")
    known = data.get("parameters") or {}
    if parts[0] == "parameters" and len(parts) == 2 and isinstance(known, dict):
        # a new one would be used nowhere
        if parts[1] not in known:
            raise InputError(f"{what} {key}: no such parameter; {suggest(parts[1], known)}")
    at: Any = data
    for k, part in enumerate(parts):
        last = k == len(parts) - 1
        if isinstance(at, list):
            if not part.isdigit() or int(part) >= len(at):
                raise InputError(f"{what} {key}: '{part}' is not an index from 0 to {len(at) - 1}")
            if last:
                at[int(part)] = value
            else:
                at = at[int(part)]
        elif isinstance(at, dict):
            if last:
                at[part] = value
            else:
                _open_soil(at, part, parts[:k])
                at = at.setdefault(part, {})
        else:
            raise InputError(f"{what} {key}: '{'.'.join(parts[:k])}' holds a value, not a group")


def _open_soil(at: dict[str, Any], part: str, before: list[str]) -> None:
    """A soil that a ground, or else its terrain, only names becomes a mapping, into which a setting
    can go."""
    name, terrain = at.get(part), at.get("terrain")
    if name is None and part == "soil" and isinstance(terrain, dict):
        name = terrain.get("soil")
    soil = before[:1] == ["ground"] and (part == "soil" or before[-1] == "soils")
    if soil and isinstance(name, str):
        at[part] = soil_in_place(at, name)


def soil_in_place(ground: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A soil that a ground's data names, as a mapping: one of its own `soils`, or the library's."""
    own = (ground.get("soils") or {}).get(name)
    return dict(own) if isinstance(own, Mapping) else {"name": name}
