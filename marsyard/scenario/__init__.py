"""Scenarios: a YAML file that defines a run."""

from marsyard.scenario.resolving import resolve
from marsyard.scenario.scenario import (
    apply_setting,
    dump,
    load_scenario,
    parse_setting,
    scenario_data,
    soil_in_place,
    validate,
)
from marsyard.scenario.schema import Check, Figure, Scenario, Study
from marsyard.scenario.terrain import TerrainSpec
from marsyard.scenario.terrain_file import load_terrain, validate_terrain

__all__ = [
    "Check",
    "Figure",
    "Scenario",
    "Study",
    "TerrainSpec",
    "apply_setting",
    "dump",
    "load_scenario",
    "load_terrain",
    "parse_setting",
    "resolve",
    "soil_in_place",
    "scenario_data",
    "validate",
    "validate_terrain",
]
