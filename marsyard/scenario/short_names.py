"""Short names of settings: the last part of a path alone, where it is unambiguous.

The same rule holds wherever settings are given: on the command line, in Python and in study files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.scenario.schema import Scenario

#: parts of a scenario whose keys may stand alone
PARTS = ("robot", "interaction", "run")


#: where the name of something goes, by what users call it
_NAMED = {
    "robot": "robot.name", "rover": "robot.name", "soil": "ground.0.soil",
    "terrain": "ground.0.terrain", "ground": "ground.0.terrain",
}  # fmt: skip


def refuse_name(key: str, value: Any, what: str = "") -> None:
    """Refuse `soil=dry_sand` with the path where the name of a soil goes."""
    if isinstance(value, str) and key in _NAMED:
        where = f"{what.removesuffix(':')}: " if what else ""
        raise InputError(
            f"{where}setting '{key}': to choose one by name, give {_NAMED[key]}={value}"
        )


def full_path(key: str, data: Mapping[str, Any], what: str = "") -> str:
    """'friction' → 'interaction.friction', a parameter → 'parameters.…'; dotted keys stay.

    `data` is the scenario's, whose parameters have short names too; `what` begins error sentences.
    """
    if "." in key or key in Scenario.model_fields:
        return key
    parameters = data.get("parameters")
    own = [f"parameters.{key}"] if isinstance(parameters, Mapping) and key in parameters else []
    found = [*own, *_places().get(key, ())]
    where = f"{what.removesuffix(':')}: " if what else ""
    if len(found) > 1:
        raise InputError(
            f"{where}setting '{key}': could be {' or '.join(found)}; give the whole path"
        )
    if not found:
        raise InputError(f"{where}unknown setting '{key}'; {suggest(key, setting_names(data))}")
    return found[0]


def full_paths(
    settings: Mapping[str, Any], data: Mapping[str, Any], what: str = ""
) -> dict[str, Any]:
    """Settings with whole paths in place of short names; of one given twice the last holds."""
    for key, value in settings.items():
        refuse_name(key, value, what)
    return {full_path(key, data, what): value for key, value in settings.items()}


def setting_names(data: Mapping[str, Any]) -> list[str]:
    """All names that a setting may have without a dot: short names, and keys of a scenario."""
    parameters = data.get("parameters")
    own = map(str, parameters) if isinstance(parameters, Mapping) else ()
    return list(dict.fromkeys([*_places(), *own, *Scenario.model_fields]))


@cache
def _places() -> dict[str, list[str]]:
    """Where each key of the parts stands."""
    places: dict[str, list[str]] = {}
    for part in PARTS:
        for name in Scenario.model_fields[part].annotation.model_fields:  # type: ignore[union-attr]
            places.setdefault(name, []).append(f"{part}.{name}")
    return places
