"""A trial before a campaign: the first step of a run and its outputs.

Kernels compile, and outputs that cannot be taken are found, before any process starts.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marsyard.campaign.base import varied
from marsyard.campaign.member import digest
from marsyard.errors import InputError
from marsyard.single_run import Say

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.scenario.study_schema import Output
    from marsyard.simulation import Simulation


def begin(
    name: str, data: Mapping[str, Any], settings: Mapping[str, Any], say: Say
) -> tuple[Simulation, xr.Dataset]:
    """The scenario that `data` and `settings` describe after its first step, and its records; an
    InputError if it cannot begin."""
    from marsyard.simulation import Diverged, Simulation
    from marsyard.simulation.cost import check_cost

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = varied(name, data, settings)
        check_cost(scenario)
        simulation = Simulation(scenario, say=say)
        simulation.warm_up()
        # a drive has records once it was asked
        with contextlib.suppress(Diverged):
            simulation.step()
        return simulation, simulation.dataset()


def check_outputs(ds: xr.Dataset, outputs: Sequence[Output], where: str) -> None:
    """Refuse outputs that the records of a run do not have; `where` begins sentences."""
    from marsyard.study.task import take

    for output in outputs:
        try:
            take(ds, output, None)
        except InputError as error:
            raise InputError(f"{where}{str(error).removeprefix('study.')}") from None


def model_digest(simulation: Simulation) -> str:
    """A fingerprint of the compiled model of a simulation."""
    import mujoco
    import numpy as np

    buffer = np.empty(mujoco.mj_sizeModel(simulation.model), np.uint8)
    mujoco.mj_saveModel(simulation.model, None, buffer)
    return digest(buffer.tobytes().hex())
