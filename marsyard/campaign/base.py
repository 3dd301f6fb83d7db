"""The scenario of a study, with the parts that parameters change.

Settings are put into the scenario's data as its file has them, not into one with all defaults
written out: a default that follows from other values (the period of records from the duration)
must follow the varied ones too. Where a path leads into something that the file only names or
leaves out, that is written out first:

| path | what is written out |
| --- | --- |
| `ground.0.soil.cohesion` | the soil, as a mapping with its name |
| `ground.0.terrain.layers.0.roughness` | the terrain, as its layers |
| `robot.position.0`, `robot.attitude.2` | the start, as the model has it |
| `robot.velocity.0`, and other lists | the default |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError, suggest
from marsyard.operations.distributions import SOIL_PATH
from marsyard.scenario import Scenario, apply_setting, resolve, soil_in_place, validate
from marsyard.study.members import plain_copy

if TYPE_CHECKING:
    from marsyard.ground.soil import Soil

_SOIL = re.compile(r"ground\.(\d+)\.(soil|soils\.[^.]+)\.([^.]+)")


class Base:
    """What all members of a study begin with.

    Attributes:
        name: of the scenario. data: of it, opened.
    """

    def __init__(
        self, name: str, data: Mapping[str, Any], fixed: Mapping[str, Any], paths: Sequence[str]
    ) -> None:
        """Set `fixed` values in a scenario's data, and open it at `paths`."""
        self.name = name
        self.data = {k: v for k, v in data.items() if k != "study"}
        self._full = self._written()
        for path, value in fixed.items():
            self._open(path)
            apply_setting(self.data, path, value, "set")
        self._full = self._written()
        for path in paths:
            self._open(path)
        self._full = self._written()

    def vary(self, settings: Mapping[str, Any]) -> Scenario:
        """The scenario with values set at some paths."""
        return varied(self.name, self.data, settings)

    def resolved(self) -> dict[str, Any]:
        """The data with soils and terrains in place of their names: the same for all members, and
        what a journal compares."""
        given = validate(self.data, self.name)
        found = resolve(given)
        if found is given or "ground" not in self.data:
            return self.data
        ground = [g.model_dump(mode="json", exclude_defaults=True) for g in found.ground]
        return {**self.data, "ground": ground}

    def check(self, settings: Mapping[str, Any], what: str) -> None:
        """Refuse values that the scenario or a soil of it cannot take, and names of robots, soils
        and terrains that are not there; `what` begins sentences."""
        scenario = varied(what, self.data, settings)
        if "robot.name" in settings:
            from marsyard.robot import load_robot

            load_robot(scenario.robot.name)
        if any(path.startswith("ground") for path in settings):
            _check_grounds(scenario)

    def own(self, path: str) -> Any:
        """The scenario's own value at a path [SI], given or by default; None where it has none."""
        soil = _SOIL.fullmatch(path)
        if soil is not None and self._is_terrain(int(soil[1])):
            return self._soil_numbers(path)[soil[3]]
        return _at(self._full, path.split("."))

    def soil(self, path: str, field: str) -> Soil:
        """The soil at a path; `field` begins the sentence where there is none."""
        from marsyard.ground.soil import load_soil

        k = int(path.split(".")[1]) if SOIL_PATH.fullmatch(path) else -1
        if k < 0 or not self._is_terrain(k):
            raise InputError(f"{field}: '{path}' is not a soil of a terrain, such as ground.0.soil")
        self._open_terrain(k, "soil", path)
        at = _at(self.data, path.split("."))
        if not isinstance(at, Mapping):
            own = self.data["ground"][k].get("soils") or {}
            raise InputError(f"{field}: no soil '{path.split('.')[-1]}'; {suggest(path, own)}")
        return load_soil(at)

    def seeds(self, varied: Sequence[str]) -> tuple[str, ...]:
        """Paths of the seeds of all that is random in the scenario and not varied; terrains of the
        library are written out for it."""
        for k, ground in enumerate(self._full.get("ground") or []):
            if ground.get("kind") == "terrain":
                self._open(f"ground.{k}.terrain.seed")
        return tuple(p for p in _seeds(self._written(), "") if p not in varied)

    def _written(self) -> dict[str, Any]:
        """The whole scenario with all its defaults, in SI."""
        return validate(self.data, self.name).model_dump(mode="json", exclude={"study"})

    # --- opening

    def _open(self, path: str) -> None:
        parts = path.split(".")
        if parts[0] == "ground" and "ground" not in self.data:
            self.data["ground"] = plain_copy(self._full["ground"])
        if parts[:2] in (["robot", "position"], ["robot", "attitude"]) and len(parts) == 3:
            self._open_start(parts[1])
        if len(parts) > 3 and parts[0] == "ground" and parts[1].isdigit():
            self._open_terrain(int(parts[1]), parts[2], path)
        self._open_lists(parts)

    def _open_start(self, what: str) -> None:
        from marsyard.operations.validation.uncertainty import start_of

        robot = self.data["robot"]
        if robot.get(what) is None:
            position, attitude = start_of(validate(self.data, self.name))
            robot[what] = position if what == "position" else attitude

    def _is_terrain(self, k: int) -> bool:
        grounds = self.data.get("ground") or []
        return k < len(grounds) and grounds[k].get("kind") == "terrain"

    def _open_terrain(self, k: int, what: str, path: str) -> None:
        if not self._is_terrain(k):
            return
        ground = self.data["ground"][k]
        if what == "terrain" and isinstance(ground.get("terrain", "flat"), str):
            ground["terrain"] = self._terrain(ground)
        elif what == "soil" and not isinstance(ground.get("soil"), Mapping):
            name = ground.get("soil") or self._terrain(ground).get("soil")
            if name is None:
                raise InputError(f"{path}: the ground has no soil; give one")
            ground["soil"] = soil_in_place(ground, name)
        if _SOIL.fullmatch(path):
            number = path.rsplit(".", 1)[1]
            numbers = self._soil_numbers(path)
            if number not in numbers:
                raise InputError(f"{path}: a soil has no '{number}'; {suggest(number, numbers)}")

    def _terrain(self, ground: Mapping[str, Any]) -> dict[str, Any]:
        """A ground's terrain, written out if the scenario only names it."""
        from marsyard.scenario.resolving import resolve_terrain

        terrain = ground.get("terrain", "flat")
        if isinstance(terrain, str):
            return resolve_terrain(terrain).model_dump(mode="json")
        return terrain

    def _soil_numbers(self, path: str) -> dict[str, Any]:
        """The numbers of the soil that a path leads into."""
        from marsyard.ground.soil import NUMBERS, load_soil

        mapping = _at(self.data, path.split(".")[:-1])
        if not isinstance(mapping, Mapping):
            at = self.data["ground"][int(path.split(".")[1])].get("soils") or {}
            name = path.split(".")[3]
            raise InputError(f"{path}: the ground has no soil '{name}'; {suggest(name, at)}")
        soil = load_soil(mapping)
        return {number: getattr(soil, number) for number in NUMBERS}

    def _open_lists(self, parts: Sequence[str]) -> None:
        """Write out the first default on the way that is a list."""
        at: Any = self.data
        full: Any = self._full
        for part in parts[:-1]:
            if not isinstance(at, dict):
                return
            if at.get(part) is None and isinstance(_at(full, [part]), list):
                at[part] = plain_copy(full[part])
                return
            at, full = at.get(part), _at(full, [part]) or {}


def _check_grounds(scenario: Scenario) -> None:
    """Refuse soils and terrains that are not there, and soils with impossible numbers."""
    from marsyard.ground.soil import load_soil
    from marsyard.scenario import load_terrain

    for ground in scenario.ground:
        if ground.kind != "terrain":
            continue
        if isinstance(ground.terrain, str):
            load_terrain(ground.terrain)
        for soil in (ground.soil, *ground.soils.values()):
            if soil is not None and not (isinstance(soil, str) and soil in ground.soils):
                load_soil(soil)


def refuse_set_and_varied(fixed: Mapping[str, Any], varied: Mapping[str, Sequence[str]]) -> None:
    """Refuse a path that is set for all runs and varied all the same; `varied` are paths by the
    key that drives them, of those that do not count from the scenario's own value."""
    for key, paths in varied.items():
        for path in paths:
            if path in fixed:
                raise InputError(
                    f"vary.{key}: '{path}' is fixed by 'set' as well; remove one of them"
                )


def varied(name: str, data: Mapping[str, Any], settings: Mapping[str, Any]) -> Scenario:
    """The scenario that `data` describes, with values set at some paths."""
    changed: dict[str, Any] = plain_copy(data)
    for path, value in settings.items():
        apply_setting(changed, path, value, "vary")
    return validate(changed, name)


def replica_seed(seed: int, point: int | None, replica: int, path: str) -> int:
    """The seed at a path in one run: a hash of who asks, so that no run needs another's."""
    text = f"marsyard {seed} {'all' if point is None else point} {replica} {path}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def _at(data: Any, parts: Sequence[str]) -> Any:
    """What stands at a path; None where nothing does."""
    for part in parts:
        if isinstance(data, list):
            data = data[int(part)] if part.isdigit() and int(part) < len(data) else None
        elif isinstance(data, Mapping):
            data = data.get(part)
        else:
            return None
    return data


def _seeds(data: Any, at: str) -> list[str]:
    """Paths of all keys called seed that have a value."""
    found = []
    items = data.items() if isinstance(data, Mapping) else enumerate(data)
    for key, value in items:
        path = f"{at}.{key}" if at else str(key)
        if key == "seed" and isinstance(value, int):
            found.append(path)
        elif isinstance(value, dict | list):
            found += _seeds(value, path)
    return found
