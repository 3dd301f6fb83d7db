"""Content of an FMU: scenario.yaml and all files it names, in one folder.

Soils and terrains stand in scenario.yaml, files lie in `inputs` (`marsyard.scenario.packing`); no
path leads out of the folder.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from marsyard.run_folder import INPUTS
from marsyard.scenario import Scenario
from marsyard.scenario.packing import Inputs, pack

SCENARIO = "scenario.yaml"


def pack_scenario(scenario: Scenario, folder: Path) -> None:
    """Write a scenario and all files it names into a folder."""
    data = pack(scenario, Inputs(folder / INPUTS, folder, strict=True))
    data.pop("report", None)
    data.pop("study", None)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    (folder / SCENARIO).write_text(text, encoding="utf-8")
