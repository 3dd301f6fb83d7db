"""Random worlds that the schema of scenarios allows.

`draw_world(rng)` walks the JSON schema of `Scenario`: of each mapping what is required and a few of
the rest, of each union one form, of each number one near its default or of the size of its unit.
Only names (robots, grounds, soils, joints, expressions) and what decides the length of a run are
chosen here.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

#: chance of a key that is not required
OPTIONAL = 0.12
#: what is no part of the physics, or needs files of its own
LEFT_OUT = {
    "title", "description", "sources", "report", "study", "controller", "plugin", "file", "fmu",
    "record_period", "control_period", "design", "note", "question", "map", "array", "params",
    "period", "sample", "geoms",
}  # fmt: skip
KINDS_LEFT_OUT = {"FmuLaw", "PluginLayer", "FileLayer", "ArrayLayer", "MeshLayer", "MeshGround"}
EXPRESSIONS = ("0", "1", "-3", "0.2*sin(3*t)", "where(t < 0.1, 1, -1)", "1e3", "20*cos(t)")
#: usual size of a number by its unit
SIZES = {
    "m": 0.3, "rad": 0.3, "s": 0.2, "m/s": 0.3, "rad/s": 1.0, "N": 50.0, "N·m": 5.0, "kg": 5.0,
    "Pa": 1e5, "N/m": 1e4, "1": 0.5, "m/s²": 4.0, "N·m/rad": 100.0, "N·s/m": 100.0, "W": 20.0,
}  # fmt: skip


@cache
def _schema() -> dict[str, Any]:
    from marsyard.scenario.schema import Scenario

    return Scenario.model_json_schema()


@cache
def _names(kind: str) -> tuple[str, ...]:
    from marsyard import library

    return tuple(library.names(kind))


@cache
def _joints(robot: str) -> tuple[str, ...]:
    """Roles and joints of a robot of the library."""
    from marsyard.robot import load_robot

    found = load_robot(robot)
    members = [j for group in found.roles.values() for j in group]
    return tuple(dict.fromkeys([*found.roles, *members])) or ("drives",)


def draw_world(rng: random.Random) -> dict[str, Any]:
    """The data of a scenario."""
    robot = rng.choice(_names("rovers"))
    world = _Drawer(rng, robot).draw(_schema(), "scenario")
    world["robot"] = {**world.get("robot", {}), "name": robot}
    if rng.random() < 0.3:
        world["robot"]["settle"] = True
    if rng.random() < 0.5:
        world.pop("drive", None)
    if world.get("drive"):
        world.pop("gait", None)
    if rng.random() < 0.85:
        _agree(world, rng)
    step = rng.choice((1e-4, 5e-4, 1e-3, 1e-3, 1e-3, 2e-3, 5e-3, 0.02, 0.1))
    steps = rng.choice((1, 10, 50, 100, 100, 400))
    world["run"] = {**world.get("run", {}), "step": step, "duration": steps * step}
    return world


def _agree(world: dict[str, Any], rng: random.Random) -> None:
    """Have parts agree that the schema draws alone, so that more than a refusal is tried."""
    for k, tether in enumerate(world.get("tethers", ())):
        tether["name"] = f"tether{k}"
        tether.pop("body", None)
    ground = world.get("ground", ())
    world["ground"] = [
        g for g in ground if g["kind"] != "rocks" or g.get("field") or g.get("rocks")
    ]
    for part in world["ground"]:
        if part["kind"] == "terrain":
            part.setdefault("soil", rng.choice(_names("soils")))
    law = world.setdefault("interaction", {})
    law.pop("surfaces", None)
    if world.get("run", {}).get("integrator", "moreau_jean") != "moreau_jean":
        law["law"] = rng.choice(("mujoco", "none"))
    elif law.get("law") == "mujoco":
        law["law"] = "nonsmooth"
    for part in world.get("control", ()):
        part.pop("end", None)


class _Drawer:
    def __init__(self, rng: random.Random, robot: str) -> None:
        self.rng, self.robot = rng, robot

    def draw(self, schema: dict[str, Any], key: str) -> Any:
        """A value that a part of the schema allows; `key` is the name it stands behind."""
        rng = self.rng
        if "$ref" in schema:
            return self.draw(_schema()["$defs"][schema["$ref"].rpartition("/")[2]], key)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if "unit" in schema or schema.get("type") in ("number", "integer"):
            return self._number(schema)
        forms = [
            f
            for f in schema.get("oneOf", schema.get("anyOf", []))
            if f.get("$ref", "").rpartition("/")[2] not in KINDS_LEFT_OUT
        ]
        if forms:
            some = [f for f in forms if f.get("type") != "null"] or forms
            return self.draw(rng.choice(some), key)
        kind = schema.get("type")
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "array":
            return self._list(schema, key)
        if kind == "object":
            return self._mapping(schema, key)
        if kind == "string":
            return self._text(key)
        return schema.get("default")

    def _mapping(self, schema: dict[str, Any], key: str) -> dict[str, Any]:
        rng = self.rng
        if "properties" not in schema:
            inner = schema.get("additionalProperties")
            if not isinstance(inner, dict):
                return {}
            names = self._keys(key)
            return {name: self.draw(inner, key) for name in rng.sample(names, 1)}
        required = schema.get("required", ())
        top = key == "scenario"
        chosen = [
            name
            for name in schema["properties"]
            if name in required
            or (name not in LEFT_OUT and rng.random() < (0.35 if top else OPTIONAL))
        ]
        return {name: self.draw(schema["properties"][name], name) for name in chosen}

    def _keys(self, key: str) -> list[str]:
        if key in ("joints", "joint_rates", "springs", "motors"):
            return list(_joints(self.robot))
        if key == "surfaces":
            return ["plane", "box", "terrain", "sphere"]
        return ["soft", "a", "b"]

    def _list(self, schema: dict[str, Any], key: str) -> list[Any]:
        if "prefixItems" in schema:
            return [self.draw(item, key) for item in schema["prefixItems"]]
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 3), least + 2)
        return [self.draw(schema["items"], key) for _ in range(self.rng.randint(least, most))]

    def _text(self, key: str) -> str:
        rng = self.rng
        if key in ("torque", "speed"):
            return rng.choice(EXPRESSIONS)
        if key in ("joint", "joints", "frame"):
            return rng.choice(_joints(self.robot))
        if key in ("terrain", "ground"):
            return rng.choice(_names("grounds"))
        if key in ("soil", "rock_soil", "soils"):
            return rng.choice(_names("soils"))
        if key in ("until", "abort_if"):
            return rng.choice(("time > 0.02", "distance > 0.01", "time >= 1"))
        if key == "parameters":
            return str(round(rng.gauss(0.0, 3.0), 3))
        if key == "name":
            return rng.choice(_names("soils") + _names("rovers"))
        if key == "body":
            return rng.choice(("base", "chassis", "body", "world"))
        return rng.choice(("a", "plane", "terrain", "base", "x"))

    def _number(self, schema: dict[str, Any]) -> float | int:
        rng = self.rng
        low = _first(schema, "ge", "minimum", "gt", "exclusiveMinimum")
        high = _first(schema, "le", "maximum", "lt", "exclusiveMaximum")
        default = schema.get("default")
        if schema.get("type") == "integer":
            return rng.randint(int(low or 0), int(high if high is not None else (low or 0) + 5))
        edge = rng.random()
        if edge < 0.05 and low is not None and ("ge" in schema or "minimum" in schema):
            return low
        if edge < 0.1 and high is not None and ("le" in schema or "maximum" in schema):
            return high
        if low is not None and high is not None:
            return rng.uniform(low, high) or high
        size = SIZES.get(str(schema.get("unit", "1")), 1.0)
        if isinstance(default, int | float) and default and rng.random() < 0.7:
            size = abs(default)
        value = size * 10 ** rng.gauss(0.0, 0.7)
        if low is None and rng.random() < 0.5:
            value = -value
        return max(value, low) if low is not None else value


def _first(schema: dict[str, Any], *keys: str) -> Any:
    return next((schema[k] for k in keys if k in schema), None)
