"""Resolving a scenario: named terrains and soils are read once and included.

| named | becomes |
| --- | --- |
| `ground.N.terrain: crater_10m` | the terrain itself, with absolute paths of its files |
| `ground.N.soil: krenn2008` | a mapping with the contents of the soil's file as `definition` |
| soils of places, maps and layers | the same, in `ground.N.soils` |
| what options of laws name | as the law says (`LawOptions.resolved`) |

What runs afterwards reads neither the library nor a soil's or terrain's YAML file. A scenario that
is resolved already is returned as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from marsyard import library
from marsyard.errors import InputError
from marsyard.files import is_file
from marsyard.interaction.options import resolve_options
from marsyard.scenario.schema import Scenario
from marsyard.scenario.soil import TerrainGround
from marsyard.scenario.terrain import TerrainSpec
from marsyard.scenario.terrain_file import terrain_data, validate_terrain


def resolve(scenario: Scenario) -> Scenario:
    """The scenario with named terrains and soils replaced by their content."""
    ground = tuple(
        resolve_ground(g) if isinstance(g, TerrainGround) else g for g in scenario.ground
    )
    interaction = resolve_options(scenario.interaction)
    update: dict[str, Any] = {}
    if any(new is not old for new, old in zip(ground, scenario.ground, strict=True)):
        update["ground"] = ground
    if interaction is not scenario.interaction:
        update["interaction"] = interaction
    return scenario.model_copy(update=update) if update else scenario


def resolve_terrain(name: str | Path | TerrainSpec) -> TerrainSpec:
    """The terrain of a name (`load_terrain`), with absolute paths of its files; one that is no name
    as it is."""
    if isinstance(name, TerrainSpec):
        return name
    known = str(name) in library.names("grounds")
    label = str(name) if known else Path(name).name
    spec = validate_terrain(terrain_data(name), label)
    layers = tuple(_with_absolute_file(layer) for layer in spec.layers)
    soil_map = None if spec.soil_map is None else _with_absolute_file(spec.soil_map)
    update = {"name": label, "layers": layers, "soil_map": soil_map}
    return spec.model_copy(update=update)


def _with_absolute_file(part: Any) -> Any:
    """A layer or map; a file that lies not beside the terrain's own counts from here."""
    file = getattr(part, "file", None)
    if file is None or not is_file(Path(file)):
        return part
    return part.model_copy(update={"file": str(Path(file).absolute())})


def resolve_ground(ground: TerrainGround) -> TerrainGround:
    """The ground with its terrain and soils in place of their names."""
    from marsyard.ground.soil import read_soil

    try:
        terrain = resolve_terrain(ground.terrain)
        own = _own_soils(ground)
        chosen = ground.soil
        if chosen is not None and not (isinstance(chosen, str) and chosen in own):
            chosen = read_soil(chosen)
        known = {*own, *([] if chosen is None else [terrain.soil])}
        labels, named = _named_soils(terrain, known)
    except InputError as error:
        raise InputError(f"ground.{ground.name}: {error}") from None
    soils = {**own, **named}
    if terrain is ground.terrain and chosen == ground.soil and soils == ground.soils:
        return ground
    terrain = _rename_soils(terrain, labels)
    return ground.model_copy(update={"terrain": terrain, "soil": chosen, "soils": soils})


def _own_soils(ground: TerrainGround) -> dict[str, dict[str, Any]]:
    """The soils of a ground's own, by name."""
    from marsyard.ground.soil import read_soil

    for name, soil in ground.soils.items():
        if "definition" not in soil and name in library.names("soils"):
            raise InputError(
                f"soils.{name}: the library already has a soil of that name; choose another"
            )
    return {name: read_soil(soil) for name, soil in ground.soils.items()}


def _named_soils(
    terrain: TerrainSpec, known: Collection[str | None]
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Labels of the soils that a terrain names and that are not known, and the soils by label."""
    from marsyard.ground.soil import read_soil
    from marsyard.ground.terrain.terrain import DEFAULT_SOIL

    labels: dict[str, str] = {}
    soils: dict[str, dict[str, Any]] = {}
    names = _soil_names(terrain)
    for name in names:
        if name not in known:
            soil = read_soil(name)
            taken = {*known, *soils, *names, DEFAULT_SOIL} - {name}
            labels[name] = _free_label(soil["name"], taken)
            soils[labels[name]] = soil
    return labels, soils


def _soil_names(terrain: TerrainSpec) -> list[str]:
    """Soils that a terrain names, each once: its own, those of places, of the map and of rocks."""
    legend = {} if terrain.soil_map is None else terrain.soil_map.legend
    layers = (getattr(layer, "soil", None) for layer in terrain.layers)
    places = (place.soil for place in terrain.places)
    named = dict.fromkeys((terrain.soil, *legend.values(), *places, *layers))
    return [name for name in named if name is not None]


def _free_label(name: str, taken: Collection[str | None]) -> str:
    """A name for a soil among others; numbers tell files of one name apart."""
    label, k = name, 1
    while label in taken:
        k += 1
        label = f"{name}-{k}"
    return label


def _rename_soils(terrain: TerrainSpec, labels: Mapping[str, str]) -> TerrainSpec:
    """A terrain that names soils by their labels; only files are called otherwise than before."""
    if all(name == label for name, label in labels.items()):
        return terrain

    def renamed(part: Any) -> Any:
        name = getattr(part, "soil", None)
        if not isinstance(name, str) or name not in labels:
            return part
        return part.model_copy(update={"soil": labels[name]})

    soil_map = terrain.soil_map
    if soil_map is not None:
        legend = {k: None if v is None else labels.get(v, v) for k, v in soil_map.legend.items()}
        soil_map = soil_map.model_copy(update={"legend": legend})
    update = {
        "places": tuple(renamed(place) for place in terrain.places),
        "layers": tuple(renamed(layer) for layer in terrain.layers),
        "soil_map": soil_map,
    }
    changed = terrain.model_copy(update=update)
    return renamed(changed)
