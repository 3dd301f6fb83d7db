"""The worst run, repeated for its records in a run folder for `marsyard view`.

    results.nc, scenario.yaml, model.mjb, ground.nc (on soil)

A run is deterministic: done again it is the same. Its figures and report are left to `marsyard run
worst/scenario.yaml`, they would take longer than the run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from marsyard.operations.validation.members import simulate
from marsyard.run_folder import INPUTS

if TYPE_CHECKING:
    import mujoco
    import xarray as xr

    from marsyard.results import Ground
    from marsyard.scenario.schema import Scenario

FOLDER = "worst"


@dataclass(frozen=True)
class WorstRun:
    """A run with all its records; `ground`: the soil as it left it."""

    data: xr.Dataset
    scenario: Scenario
    model: mujoco.MjModel
    ground: Ground | None


def run_again(scenario: Scenario) -> WorstRun:
    """A run with all its records, also one that diverges."""
    from marsyard.results import ground_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation, _ = simulate(scenario)
        data = simulation.dataset()
    return WorstRun(data, scenario, simulation.model, ground_of(simulation))


def save_worst(run: WorstRun, folder: Path) -> None:
    """Write it into `folder`/worst."""
    import mujoco

    from marsyard.results import save, save_ground
    from marsyard.scenario.packing import write_scenario

    target = folder / FOLDER
    target.mkdir()
    save(run.data, target)
    write_scenario(run.scenario, target / "scenario.yaml", folder / INPUTS)
    mujoco.mj_saveModel(run.model, str(target / "model.mjb"))
    if run.ground is not None:
        save_ground(run.ground, target)
