"""List of the items of a scenario's ground: rocks, craters, patches, layers, obstacles.

The key of an item is its dotted path in the scenario, as `--set` takes it: ground.1.rocks.3 or
ground.0.terrain.layers.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.scenario import Scenario

#: what kinds of layers are called
LAYERS = {
    "plane": "slope", "step": "step", "bump": "mound", "sine": "waves", "fractal": "rough ground",
    "crater": "crater", "craters": "field of craters", "rocks": "rocks in the height field",
    "file": "elevation map", "array": "heights", "mesh": "mesh",
}  # fmt: skip
#: kinds that can be taken apart into single items
FIELDS = ("field of rocks", "field of craters")


@dataclass(frozen=True)
class Item:
    """One thing on the ground.

    key: dotted path; kind: what it is; place: x, y of its middle [m], None for what is everywhere;
    radius: as seen from above [m]; about: its numbers in words.
    """

    key: str
    kind: str
    place: tuple[float, float] | None
    radius: float
    about: str

    @property
    def path(self) -> tuple[str | int, ...]:
        """The key as indices into the data."""
        return tuple(int(p) if p.isdigit() else p for p in self.key.split("."))

    def __str__(self) -> str:
        at = "" if self.place is None else f" at {self.place[0]:.2f}, {self.place[1]:.2f} m"
        return f"{self.kind}{at}{': ' if self.about else ''}{self.about}"


def items_of(scenario: Scenario) -> list[Item]:
    """All that lies on the ground, in the order of the file."""
    found: list[Item] = []
    for number, ground in enumerate(scenario.ground):
        key = f"ground.{number}"
        if ground.kind == "terrain":
            if not isinstance(ground.terrain, str):
                found += _layers(ground.terrain, f"{key}.terrain")
        elif ground.kind == "rocks":
            found += _rocks(ground, key)
        else:
            centre = getattr(ground, "centre", None)
            radius = getattr(ground, "radius", 0.0) or max(getattr(ground, "size", (0.0,))) / 2
            place = None if centre is None else (centre[0], centre[1])
            found.append(Item(key, f"hard {ground.kind}", place, radius, str(ground.name)))
    return found


def find(items: list[Item], key: str) -> Item:
    """The item of a key."""
    for item in items:
        if item.key == key:
            return item
    raise InputError(f"item: there is no '{key}'; {suggest(key, [i.key for i in items])}")


def _rocks(ground: Any, key: str) -> Iterator[Item]:
    if ground.field is not None:
        f = ground.field
        (x0, x1), (y0, y1) = f.area
        about = f"{100 * f.coverage:g} %, {_size(f.smallest)} to {_size(f.largest)}"
        yield Item(f"{key}.field", FIELDS[0], ((x0 + x1) / 2, (y0 + y1) / 2), 0.0, about)
    for k, rock in enumerate(ground.rocks):
        yield Item(f"{key}.rocks.{k}", "rock", rock.place, rock.diameter / 2, _size(rock.diameter))


def _layers(terrain: Any, key: str) -> Iterator[Item]:
    for k, layer in enumerate(terrain.layers):
        if not is_nothing(layer):
            place = getattr(layer, "centre", None)
            radius, about = _layer_numbers(layer)
            yield Item(f"{key}.layers.{k}", LAYERS[layer.kind], place, radius, about)
    for k, place in enumerate(terrain.places):
        if place.kind == "circle":
            about = f"{place.soil}, radius {_size(place.radius)}"
            yield Item(f"{key}.places.{k}", "soil", place.centre, place.radius, about)
        else:
            # the corner or point in the middle of the list
            middle = place.points[len(place.points) // 2]
            radius = getattr(place, "radius", 0.3)
            about = f"{place.soil}, {place.kind} of {len(place.points)} points"
            yield Item(f"{key}.places.{k}", "soil", middle, radius, about)
    if terrain.soil_map is not None:
        yield Item(f"{key}.soil_map", "map of soils", None, 0.0, _name(terrain.soil_map.file))


def _layer_numbers(layer: Any) -> tuple[float, str]:
    """Radius [m] and words of a layer."""
    kind = layer.kind
    if kind == "crater":
        return layer.diameter / 2, f"{_size(layer.diameter)} wide"
    if kind == "bump":
        return layer.radius, f"{_size(layer.height)} high"
    if kind in ("file", "mesh"):
        return 0.0, _name(layer.file)
    if kind == "fractal":
        return 0.0, f"{_size(layer.roughness)} over {_size(layer.lag)}, H = {layer.hurst:g}"
    if kind in ("craters", "rocks"):
        return 0.0, f"{_size(layer.smallest)} to {_size(layer.largest)}"
    if kind == "plane":
        return 0.0, f"{layer.slope * 57.29577951308232:.3g}°"
    if kind == "sine":
        return 0.0, f"± {_size(layer.amplitude)} every {_size(layer.wavelength)}"
    return 0.0, ""


def is_nothing(layer: Any) -> bool:
    """Whether a layer is a level plane at 0: what is left in the place of a layer taken away."""
    return layer.kind == "plane" and layer.slope == 0 and layer.through[2] == 0


def _size(length: float) -> str:
    return f"{length:.3g} m" if abs(length) >= 1 else f"{100 * length:.3g} cm"


def _name(file: str) -> str:
    return file.rsplit("/", 1)[-1]
