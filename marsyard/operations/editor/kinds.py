"""What the editor can create: a new scenario, generated ground, softer soils, single items of
fields.

Sizes of rocks follow Golombek and Rapp 1997 (`ground.terrain.rocks`), those of craters a power law
(`ground.terrain.craters`), roughness is that of a fractional Brownian surface
(`ground.terrain.fractal`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard import library
from marsyard.errors import InputError, suggest
from marsyard.ground.soil import Soil, load_soil
from marsyard.interaction import about
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.operations.editor.items import FIELDS, Item
from marsyard.operations.editor.relief import Area
from marsyard.operations.editor.writing import metres, share

if TYPE_CHECKING:
    from marsyard.ground.terrain import Terrain
    from marsyard.scenario import Scenario

Data = dict[str, Any]
CLEAR = 1.5  # kept free around the start [m]
#: kinds of layers that are drawn at random
RANDOM = ("fractal", "craters", "rocks")
MOST_SINGLE = 2000


@dataclass(frozen=True)
class Number:
    """A number of a kind: its name in words, unit, default and range."""

    words: str
    unit: str
    default: float
    low: float
    high: float


#: numbers of what can be generated [m, rad, 1]
KINDS: dict[str, dict[str, Number]] = {
    "slope": {
        "slope": Number("inclination", "rad", math.radians(10), 0.0, math.radians(60)),
        "uphill": Number("uphill towards", "rad", 0.0, -math.pi, math.pi),
    },
    "rough": {
        "roughness": Number("RMS height difference over 1 m", "m", 0.03, 0.0, 1.0),
        "hurst": Number("Hurst exponent", "", 0.65, 0.05, 0.95),
    },
    "waves": {
        "amplitude": Number("amplitude", "m", 0.05, 0.0, 2.0),
        "wavelength": Number("wavelength", "m", 1.5, 0.05, 50.0),
        "heading": Number("across the crests", "rad", 0.0, -math.pi, math.pi),
    },
    "craters": {
        "density": Number("craters above 1 m per m²", "", 0.077, 1e-6, 2.0),
        "smallest": Number("smallest", "m", 0.5, 0.05, 20.0),
        "largest": Number("largest", "m", 5.0, 0.1, 100.0),
    },
    "rocks": {
        "coverage": Number("coverage", "", 0.1, 0.001, 0.4),
        "smallest": Number("smallest", "m", 0.1, 0.02, 2.0),
        "largest": Number("largest", "m", 0.6, 0.05, 5.0),
        "buried": Number("share buried", "", 0.5, 0.0, 0.95),
    },
}


def new_scenario(robot: str, soil: str) -> Data:
    """A level ground of soil and a rover that drives 4 m ahead."""
    return {
        "title": "Made with marsyard edit",
        "robot": {"name": robot, "position": ["0 m", "0 m", "1 m"], "settle": True},
        "ground": [
            {"kind": "terrain", "name": "soil", "terrain": {"layers": []}, "soil": soil,
             "spacing": "2 cm"},
        ],
        "gravity": "3.72 m/s²",
        "interaction": {"friction": 0.6},
        "drive": drive_to(4.0, 0.0),
        "run": {"duration": "120 s", "step": "1 ms", "record_period": "0.1 s", "theta": 1},
    }  # fmt: skip


def drive_to(x: float, y: float) -> Data:
    """A drive with one goal [m]."""
    return {"commands": [{"goal": [metres(x), metres(y)], "speed": "5 cm/s"}]}


def generated(
    kind: str, seed: int, numbers: dict[str, float], area: Area, start: tuple[float, float]
) -> Data:
    """The layer of a kind, or the field of rocks, over an area [m]."""
    given = _numbers(kind, numbers)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"generate: seed = {seed}: must be a whole number, 0 or more")
    if kind == "slope":
        return {"kind": "plane", "slope": _deg(given["slope"]), "uphill": _deg(given["uphill"])}
    if kind == "waves":
        return {
            "kind": "sine", "amplitude": metres(given["amplitude"]),
            "wavelength": metres(given["wavelength"]), "heading": _deg(given["heading"]),
        }  # fmt: skip
    if kind == "rough":
        return {
            "kind": "fractal", "hurst": share(given["hurst"]),
            "roughness": metres(given["roughness"]), "lag": "1 m", "spacing": "0.1 m",
            "patch": "51.2 m", "seed": seed,
        }  # fmt: skip
    # to the millimetre, inwards: a field must not reach beyond its ground
    low = [math.ceil(1000 * v - 1e-6) / 1000 for v in (area[0], area[2])]
    high = [math.floor(1000 * v + 1e-6) / 1000 for v in (area[1], area[3])]
    part: Data = {
        "area": [[metres(a), metres(b)] for a, b in zip(low, high, strict=True)],
        "smallest": metres(given["smallest"]), "largest": metres(given["largest"]),
        "clear": [{"centre": [metres(v) for v in start], "radius": metres(CLEAR)}],
    }  # fmt: skip
    if kind == "craters":
        return {"kind": "craters", "density": share(given["density"]), **part, "seed": seed}
    return {"coverage": share(given["coverage"]), "buried": share(given["buried"]), **part}


def _numbers(kind: str, numbers: dict[str, float]) -> dict[str, float]:
    if kind not in KINDS:
        raise InputError(f"generate: unknown kind '{kind}'; {suggest(kind, KINDS)}")
    known = KINDS[kind]
    for name, value in numbers.items():
        if name not in known:
            raise InputError(f"generate {kind}: unknown number '{name}'; {suggest(name, known)}")
        low, high = known[name].low, known[name].high
        if not (math.isfinite(value) and low <= value <= high):
            raise InputError(
                f"generate {kind}: {name} = {value:g}: from {low:g} to {high:g} {known[name].unit}"
                " is allowed".replace("  ", " ")
            )
    return {name: float(numbers.get(name, n.default)) for name, n in known.items()}


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.6g} deg"


# --- soils


def needed_numbers(scenario: Scenario) -> tuple[str, ...]:
    """Numbers of a soil that the law of a scenario cannot do without."""
    options = scenario.interaction.options(SoilContactOptions)
    needed = ["cohesion", "friction_angle", "repose_angle"]
    if options.shear == "janosi":
        needed.append("shear_modulus")
    if about.laws(about.SOIL)[scenario.interaction.soil.model].columns:
        return tuple(needed)
    if options.pressure == "reece":
        return (*needed, "exponent", "density", "reece_kc", "reece_kphi")
    return (*needed, "exponent", "k_c", "k_phi")


def check_fit(soil: Soil, scenario: Scenario) -> None:
    """Refuse a soil without a number that the law of the scenario needs."""
    for name in needed_numbers(scenario):
        if not _supplies(soil, name):
            raise InputError(
                f"soil {soil.name}: has no {name}, which interaction.soil needs; choose another"
            )


def fitting_soils(scenario: Scenario) -> list[str]:
    """Soils of the library with all the numbers that the law of a scenario needs."""
    return list(_having(needed_numbers(scenario)))


@lru_cache(maxsize=8)
def _having(needed: tuple[str, ...]) -> tuple[str, ...]:
    soils = {name: load_soil(name) for name in library.names("soils")}
    return tuple(n for n, soil in soils.items() if all(_supplies(soil, one) for one in needed))


def _supplies(soil: Soil, name: str) -> bool:
    return soil.has_modulus if name in ("k_c", "k_phi") else soil.supplies(name)


def softer(ground: Data, below: str, stiffness: float, strength: float, columns: bool) -> str:
    """Name of the soil that is `below` with other stiffness and strength; it is added to the
    ground's `soils` unless it is there."""
    given: Any = (ground.get("soils") or {}).get(below, below)
    own = ground.get("soil")
    if isinstance(own, dict) and below not in (ground.get("soils") or {}):
        given = own if str(own.get("name")) == below or below == "default" else given
    elif isinstance(own, str) and below == "default":
        given = (ground.get("soils") or {}).get(own, own)
    soil = load_soil(given)
    if columns and soil.triaxial is not None:
        raise InputError(
            f"soft patch: soil {soil.name} is in columns (interaction.soil.model), whose stiffness "
            "is a triaxial curve; choose another soil for the patch"
        )
    made: Data = dict(given) if isinstance(given, dict) else {"name": given}
    for number in ("k_c", "k_phi", "reece_kc", "reece_kphi"):
        value = getattr(soil, number)
        if value is not None:
            made[number] = _with_unit(number, stiffness * value)
    if strength != 1.0:
        if soil.cohesion is not None:
            made["cohesion"] = f"{strength * soil.cohesion:.6g} Pa"
        if soil.friction_angle is not None:
            angle = math.degrees(math.atan(strength * math.tan(soil.friction_angle)))
            made["friction_angle"] = f"{angle:.6g} deg"
    soils = ground.setdefault("soils", {})
    for name, known in soils.items():
        if known == made:
            return str(name)
    base = str(made.get("name", "soil")).rsplit("/", 1)[-1].removesuffix(".yaml")
    count, name = 1, f"soft_{base}"
    while name in soils:
        count += 1
        name = f"soft_{base}_{count}"
    soils[name] = made
    return name


def _with_unit(number: str, value: float) -> Any:
    unit = {"k_c": "kN/m^(n+1)", "k_phi": "kN/m^(n+2)"}.get(number)
    return float(f"{value:.6g}") if unit is None else f"{value / 1000:.6g} {unit}"


# --- rocks and craters one by one


def check_rocks(scenario: Scenario, terrain: Terrain | None) -> None:
    """Refuse rocks beyond the terrain, and fields that come out empty or too large."""
    from marsyard.ground.rocks import layout

    for ground in scenario.ground:
        if ground.kind == "rocks":
            try:
                place, _, _ = layout(ground, terrain)
            except InputError as error:
                raise InputError(f"ground.{ground.name}: {error}") from None
            if not len(place):
                raise InputError(
                    f"ground.{ground.name}: field: it contains no rocks; use a larger area, a "
                    f"higher coverage or smaller rocks"
                )


def take_apart(data: Data, item: Item, scenario: Scenario, terrain: Terrain | None) -> int:
    """Put single rocks or craters in the place of a field; how many."""
    if item.kind not in FIELDS:
        raise InputError(
            f"{item.kind}: only fields of rocks and of craters can be split into single items"
        )
    if item.kind == FIELDS[0]:
        return _single_rocks(data, int(item.path[1]), scenario, terrain)
    return _single_craters(data, item, scenario)


def _single_rocks(data: Data, number: int, scenario: Scenario, terrain: Terrain | None) -> int:
    from marsyard.ground.rocks import layout

    spec: Any = scenario.ground[number]
    place, numbers, _ = layout(spec, terrain)
    first = len(spec.rocks)
    _few(len(place) - first)
    ground = data["ground"][number]
    rocks = list(ground.get("rocks", ()))
    for k in range(first, len(place)):
        length, width, heading, height, buried = (float(v) for v in numbers[k])
        rocks.append(
            {
                "place": [metres(place[k, 0]), metres(place[k, 1])],
                "diameter": metres(math.sqrt(length * width)), "height": metres(height),
                "elongation": max(1.0, share(length / width)), "heading": _deg(heading),
                "buried": share(buried), "seed": k,
            }
        )  # fmt: skip
    del ground["field"]
    ground["rocks"] = rocks
    return len(rocks) - first


def _single_craters(data: Data, item: Item, scenario: Scenario) -> int:
    from marsyard.ground.terrain.craters import population
    from marsyard.ground.terrain.terrain import layer_generator

    number, index = int(item.path[1]), int(item.path[4])
    spec: Any = scenario.ground[number].terrain  # type: ignore[union-attr]
    layer = spec.layers[index]
    if layer.repeat:
        raise InputError("field of craters: it repeats without end and cannot be split")
    centre, numbers = population(layer, layer_generator(spec.seed, index, layer.seed))
    _few(len(centre))
    layers = data["ground"][number]["terrain"]["layers"]
    # in its place stays a level plane: later layers are drawn by their number
    layers[index] = {"kind": "plane"}
    for (x, y), (radius, depth, _) in zip(centre, numbers, strict=True):
        layers.append(
            {
                "kind": "crater", "centre": [f"{x:.6g} m", f"{y:.6g} m"],
                "diameter": f"{2 * radius:.6g} m",
                "depth_ratio": float(f"{np.clip(depth / (2 * radius), 1e-6, 0.5):.6g}"),
            }
        )  # fmt: skip
    return len(centre)


def _few(count: int) -> None:
    if count > MOST_SINGLE:
        raise InputError(
            f"split: {count} single items are too many; at most {MOST_SINGLE} are allowed"
        )
