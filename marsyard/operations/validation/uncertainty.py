"""Uncertain values of a validation, and the scenarios of its samples.

Without a file of one's own (`operations.uncertain`) this is taken as uncertain:

| what | how |
| --- | --- |
| start x, y | plus normal(0, 5 cm) |
| start heading | plus normal(0, 2 deg) |
| soft ground: friction angle | times lognormal(1, 1.1) |
| … cohesion | times lognormal(1, 1.5) |
| … moduli of the pressure-sinkage law, shear modulus | times lognormal(1, 1.3) |
| … a soil whose file has a `covariance`: the numbers in it | as that says |
| … roughness laid over it, RMS over 1 m, waves up to 5 m | uniform(0, 2 cm), seed at random |
| hard ground: friction | times lognormal(1, 1.15) |
| … slope of a plane, towards a heading at random | plus normal(0, 1 deg), without sign |

All of it is assumed, of the size that operators know: a pose from visual odometry and sun, soil of
a kind known from afar. Moduli scatter together where they are one quantity (k_c and k_φ by the same
factor). Soils by place (patches, bands, maps; not rocks) scatter likewise, each on its own, but
one that is the ground's own soil together with it.

So that paths can be set that a scenario leaves open, it is written out first: the start as the
model has it, the named terrain as its layers, the soil as a mapping. The rover is placed on the
ground before every run (`robot.settle`).
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.ground.soil import NUMBERS, Soil, changed_numbers, load_soil
from marsyard.operations.distributions import COVARIANCE, SOIL_PATH, Uncertain, parse
from marsyard.rotations import roll_pitch_yaw
from marsyard.scenario import validate
from marsyard.scenario.resolving import resolve_terrain
from marsyard.scenario.scenario import apply_setting
from marsyard.scenario.schema import Scenario
from marsyard.scenario.short_names import full_paths
from marsyard.scenario.soil import TerrainGround
from marsyard.units import UNITS, dimension_of

#: of the numbers of a soil
_SOIL = {
    "friction_angle": "times lognormal(1, 1.1)",
    "cohesion": "times lognormal(1, 1.5)",
    "k_c": "times lognormal(1, 1.3)",
    "shear_modulus": "times lognormal(1, 1.3)",
}
_ROUGHNESS = {
    "kind": "fractal", "hurst": 0.7, "roughness": 0.0, "lag": 1.0, "spacing": 0.1, "patch": 25.6,
    "longest": 5.0, "seed": 0,
}  # fmt: skip
#: largest angle of friction that soils of a scenario may have [rad]
_STEEPEST = math.radians(60)
#: numbers that scatter by the factor of another
_WITH = {"k_phi": "k_c"}


class Scatter:
    """Makes the scenarios of a validation.

    Attributes:
        uncertain: what scatters, and its seed. assumed: whether it is the default.
    """

    def __init__(self, scenario: Scenario, uncertain: Uncertain | None, seed: int | None) -> None:
        self._data = _written_out(scenario)
        self.assumed = uncertain is None
        self._joined: dict[str, str] = {}
        if uncertain is None:
            uncertain = self._default(scenario)
        whole = full_paths(uncertain.values, self._data, "uncertain")
        uncertain = replace(uncertain, values=whole)
        uncertain = uncertain.expand(self._soil_at)
        self._explicit_soil(uncertain)
        self.uncertain = uncertain if seed is None else replace(uncertain, seed=seed)
        self._nominal = {path: self._own(path) for path in self.uncertain.values}
        self._check_units()

    @property
    def nominal(self) -> Scenario:
        """The scenario with nothing changed."""
        return validate(self._data, "nominal run")

    def samples(self, count: int) -> list[dict[str, Any]]:
        """Values by path, of each run [SI]."""
        return self.uncertain.samples(count, self._nominal)

    def scenario(self, sample: Mapping[str, Any]) -> Scenario:
        """The scenario of a sample."""
        data = copy.deepcopy(self._data)
        for path, value in sample.items():
            apply_setting(data, path, self._allowed(path, value), "uncertain:")
        for path, leader in self._joined.items():
            factor = sample[leader] / self._nominal[leader] if self._nominal[leader] else 1.0
            apply_setting(data, path, self._own(path) * factor, "uncertain:")
        return validate(data, "uncertain")

    def _check_units(self) -> None:
        """Refuse a distance in kg: what the scenario takes at a path says which units may be."""
        from marsyard.ground.soil import load_soil

        data = copy.deepcopy(self._data)
        for path, distribution in self.uncertain.values.items():
            for unit in () if distribution.times or self.assumed else distribution.units:
                if re.fullmatch(r"ground\.\d+\.(soil|soils\.[^.]+)\.[^.]+", path):
                    try:
                        load_soil({path.rsplit(".", 1)[1]: f"1 {unit}"})
                    except InputError as error:
                        raise InputError(f"uncertain.{path}: {error}") from None
                    continue
                own, factor = self._nominal[path], UNITS[str(dimension_of(unit))][unit]
                value = 1.0 if isinstance(own, bool | str | None) else float(own) / factor
                apply_setting(data, path, f"{value!r} {unit}", "uncertain:")
        try:
            validate(data, "uncertain")
        except InputError as error:
            if "unit of" in str(error):
                raise

    def _allowed(self, path: str, value: Any) -> Any:
        if not self.assumed:
            return value
        if path.endswith(".slope"):
            # one that was drawn below 0 rises the other way, which is at random anyway
            return abs(value)
        return min(value, _STEEPEST) if path.endswith(".friction_angle") else value

    def _default(self, scenario: Scenario) -> Uncertain:
        texts: dict[str, str] = {
            "robot.position.0": "plus normal(0, 5 cm)",
            "robot.position.1": "plus normal(0, 5 cm)",
            "robot.attitude.2": "plus normal(0, 2 deg)",
        }
        for k, ground in enumerate(scenario.ground):
            if isinstance(ground, TerrainGround):
                texts |= self._default_soil(k, ground)
            elif ground.kind == "plane":
                texts[f"ground.{k}.slope"] = "plus normal(0, 1 deg)"
                if not ground.slope:
                    texts[f"ground.{k}.uphill"] = "uniform(0, 360 deg)"
        if any(g.kind != "terrain" for g in scenario.ground):
            texts["interaction.friction"] = "times lognormal(1, 1.15)"
        return Uncertain({p: parse(t, p) for p, t in texts.items()})

    def _default_soil(self, k: int, ground: TerrainGround) -> dict[str, str]:
        terrain = self._data["ground"][k]["terrain"]
        chosen = self._data["ground"][k].get("soil") or terrain.get("soil")
        if isinstance(chosen, Mapping) and not changed_numbers(chosen):
            chosen = chosen.get("name")
        texts = self._default_numbers(f"ground.{k}.soil", self._soil(k))
        for name, said in self._soils_by_place(k).items():
            at, numbers = f"ground.{k}.soils.{name}", self._soil(k, name)
            if said == chosen:
                self._joined |= self._together(at, numbers, f"ground.{k}.soil", texts)
            else:
                texts |= self._default_numbers(at, numbers)
        terrain["layers"].append(dict(_ROUGHNESS))
        at = f"ground.{k}.terrain.layers.{len(terrain['layers']) - 1}"
        texts[f"{at}.roughness"] = "uniform(0, 2 cm)"
        texts[f"{at}.seed"] = "integers(0, 999999)"
        return texts

    def _default_numbers(self, at: str, soil: Soil) -> dict[str, str]:
        """How the numbers of the soil at a path scatter."""
        known = soil.covariance.names if soil.covariance else ()
        texts = {
            f"{at}.{name}": text
            for name, text in _SOIL.items()
            if getattr(soil, name) not in (None, 0.0) and name not in known
        }
        for name, leader in _WITH.items():
            if not getattr(soil, name) or name in known:
                continue
            if f"{at}.{leader}" in texts:
                self._joined[f"{at}.{name}"] = f"{at}.{leader}"
            else:
                texts[f"{at}.{name}"] = _SOIL[leader]
        return texts | ({at: COVARIANCE} if known else {})

    def _together(
        self, at: str, soil: Soil, other: str, texts: Mapping[str, str]
    ) -> dict[str, str]:
        """The numbers of a soil that scatter with those of the soil at `other`, by path."""
        known = soil.covariance.names if soil.covariance else ()
        leaders = {
            f"{at}.{name}": self._joined.get(f"{other}.{name}", f"{other}.{name}")
            for name in dict.fromkeys((*_SOIL, *_WITH, *known))
            if getattr(soil, name, None)
        }
        drawn = {f"{other}.{name}" for name in known}
        return {p: leader for p, leader in leaders.items() if leader in texts or leader in drawn}

    def _soils_by_place(self, k: int) -> dict[str, str]:
        """Soils of places and maps as the scenario names them, by the names that they have from
        now on: all are soils of the ground's own."""
        ground = self._data["ground"][k]
        terrain, soils = ground["terrain"], ground.setdefault("soils", {})
        found: dict[str, str] = {}

        def own(said: str | None) -> str | None:
            if said is None or said == terrain.get("soil"):
                return said
            # one of the library stands there by its own name
            given = said in soils and soils[said].get("name") != said and "." not in said
            name = said if given else re.sub(r"\W", "_", said) + "_here"
            soils.setdefault(name, soils.get(said, {"name": said}))
            found[name] = said
            return name

        for place in terrain.get("places") or []:
            place["soil"] = own(place["soil"])
        legend = (terrain.get("soil_map") or {}).get("legend", {})
        legend.update({value: own(said) for value, said in legend.items()})
        return found

    def _soil_at(self, path: str) -> Soil:
        """The soil at a path, which is written as a mapping from now on."""
        parts = path.split(".")
        k = int(parts[1]) if SOIL_PATH.fullmatch(path) else -1
        soft = [j for j, g in enumerate(self._data["ground"]) if g.get("terrain")]
        if k not in soft:
            raise InputError(
                f"uncertain.{path}: covariance is for the soil of a terrain, e.g. ground.0.soil"
            )
        name = parts[3] if len(parts) == 4 else None
        own = self._data["ground"][k].get("soils") or {}
        if name is not None and name not in own:
            raise InputError(f"uncertain.{path}: there is no soil '{name}'; {suggest(name, own)}")
        return self._soil(k, name)

    def _soil(self, k: int, name: str | None = None) -> Soil:
        """A ground's soil, or its own one of that name; it is written as a mapping from now on."""
        ground = self._data["ground"][k]
        soils = ground.get("soils") or {}
        chosen = name or ground.get("soil") or ground["terrain"].get("soil")
        if chosen is None:
            raise InputError(f"ground.{k}: has no soil; give one")
        if isinstance(chosen, str):
            chosen = soils.get(chosen, {"name": chosen})
        mapping = dict(chosen)
        soil = load_soil(mapping)
        if name is None:
            ground["soil"] = mapping
        else:
            soils[name] = mapping
        if soil.extra:
            mapping["extra"] = dict(soil.extra)
        return soil

    def _explicit_soil(self, uncertain: Uncertain) -> None:
        """Write out the numbers of soils that scatter, in SI."""
        for path in [*uncertain.values, *self._joined]:
            parts = path.split(".")
            if len(parts) < 4 or parts[0] != "ground" or not parts[1].isdigit():
                continue
            grounds, k, number = self._data["ground"], int(parts[1]), parts[-1]
            if k >= len(grounds) or not grounds[k].get("terrain"):
                continue
            if len(parts) == 4 and parts[2] == "soil":
                soil = self._soil(k)
                mapping = grounds[k]["soil"]
            elif len(parts) == 5 and parts[2] == "soils" and parts[3] in grounds[k]["soils"]:
                soil = self._soil(k, parts[3])
                mapping = grounds[k]["soils"][parts[3]]
            else:
                continue
            numbers = {name: getattr(soil, name) for name in NUMBERS}
            if number not in numbers:
                raise InputError(f"uncertain.{path}: no such number; {suggest(number, numbers)}")
            if numbers[number] is not None:
                mapping[number] = numbers[number]

    def _own(self, path: str) -> Any:
        """The scenario's own value at a path, which must exist."""
        at: Any = self._data
        parts = path.split(".")
        for k, part in enumerate(parts):
            where = ".".join(parts[:k]) or "the scenario"
            if isinstance(at, list):
                if not part.isdigit() or int(part) >= len(at):
                    raise InputError(
                        f"uncertain.{path}: '{part}' is not an index of {where}, which holds "
                        f"{len(at)}"
                    )
                at = at[int(part)]
            elif isinstance(at, dict):
                if part not in at:
                    raise InputError(
                        f"uncertain.{path}: there is no '{part}' in {where}; {suggest(part, at)}"
                    )
                at = at[part]
            else:
                raise InputError(f"uncertain.{path}: {where} holds a value, not a group")
        if isinstance(at, dict | list):
            raise InputError(f"uncertain.{path}: is a group; give the path of a value")
        return at


def _written_out(scenario: Scenario) -> dict[str, Any]:
    """A scenario's data with start and terrains explicit, and the rover placed on the ground."""
    data = scenario.model_dump(mode="json", exclude={"study"})
    robot = data["robot"]
    if robot["position"] is None or robot["attitude"] is None:
        position, attitude = start_of(scenario)
        robot["position"] = robot["position"] or position
        robot["attitude"] = robot["attitude"] or attitude
    robot["settle"] = True
    for item in data["ground"]:
        if item["kind"] == "terrain" and isinstance(item["terrain"], str):
            item["terrain"] = resolve_terrain(item["terrain"]).model_dump(mode="json")
    return data


def start_of(scenario: Scenario) -> tuple[list[float], list[float]]:
    """Position [m] and attitude [rad] of the base as the robot's model has them."""
    from marsyard.simulation.world import robot_of

    robot = robot_of(scenario)
    body = robot.compile().body(robot.base)
    return [float(v) for v in body.pos], list(roll_pitch_yaw(body.quat))
