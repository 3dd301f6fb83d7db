"""Scenarios: one YAML file that says what is run."""

from marsyard.scenario.scenario import dump, load_scenario, parse_setting, validate
from marsyard.scenario.schema import Check, Figure, Scenario

__all__ = ["Check", "Figure", "Scenario", "dump", "load_scenario", "parse_setting", "validate"]
