"""Scenarios: one YAML file that says what is run."""

from marsyard.scenario.scenario import dump, load_scenario, parse_setting, validate
from marsyard.scenario.schema import Check, Figure, Scenario
from marsyard.scenario.terrain import TerrainSpec
from marsyard.scenario.terrain_file import load_terrain, validate_terrain

__all__ = [
    "Check",
    "Figure",
    "Scenario",
    "TerrainSpec",
    "dump",
    "load_scenario",
    "load_terrain",
    "parse_setting",
    "validate",
    "validate_terrain",
]
