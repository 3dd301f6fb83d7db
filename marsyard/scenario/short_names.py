"""Short names of settings: the last part of a path alone, where it is unambiguous."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.scenario.schema import Scenario


def full_path(key: str, data: Mapping[str, Any]) -> str:
    """'friction' → 'interaction.friction', a parameter → 'parameters.…'; dotted keys stay."""
    if "." in key or key in Scenario.model_fields:
        return key
    places: dict[str, str] = {}
    for part in ("robot", "interaction", "run"):
        for name in Scenario.model_fields[part].annotation.model_fields:  # type: ignore[union-attr]
            places.setdefault(name, f"{part}.{name}")
    parameters = data.get("parameters") or {}
    if key in parameters and key in places:
        raise InputError(
            f"setting '{key}': could be parameters.{key} or {places[key]}; give the whole path"
        )
    places |= {str(name): f"parameters.{name}" for name in parameters}
    if key not in places:
        valid = [*places, *Scenario.model_fields]
        raise InputError(f"unknown setting '{key}'; {suggest(key, valid)}")
    return places[key]
