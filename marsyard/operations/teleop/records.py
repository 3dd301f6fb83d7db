"""What is kept of a teleoperation: lines as things happen, and the session's folder at its end.

    orders.jsonl       each change of state of each order, as it became known
    telemetry.jsonl    each telemetry message, as it was heard, and when
    predictions.jsonl  each prediction whose time came, and what it missed by
    truth.jsonl        the rover's own log (written by the rover)
    session.nc         predictions, errors and beliefs (NetCDF)
    session.yaml       what was ordered, as a sequence
    figures/*.png, report.html
    truth/             the rover's run folder

Lines are appended and flushed at once: what was heard stays whatever happens afterwards.
"""

from __future__ import annotations

import json
import math
import time as clock
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from marsyard.operations.teleop.vehicle import Vehicle


class Lines:
    """Files of JSON lines in a folder; none if there is no folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: dict[str, IO[str]] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, **fields: Any) -> None:
        """Append a line to `name`.jsonl."""
        if self.folder is None:
            return
        if name not in self._files:
            self._files[name] = (self.folder / f"{name}.jsonl").open("a", encoding="utf-8")
        file = self._files[name]
        file.write(json.dumps({k: _plain(v) for k, v in fields.items()}) + "\n")
        file.flush()

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
        self._files.clear()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 9) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def save_run(vehicle: Vehicle, folder: Path, stopped: str = "") -> Path:
    """Save what a vehicle recorded as a run folder."""
    from marsyard.results import ground_of
    from marsyard.run_folder import written_whole
    from marsyard.runner import _write, versions

    simulation, scenario = vehicle.simulation, vehicle.scenario
    data = simulation.dataset()
    data.attrs["scenario"] = scenario.title
    info = {
        "scenario": scenario.title, "overrides": [], "steps": simulation.steps,
        "wall_time": simulation.wall_time, "compile_time": simulation.compile_time,
        "started": clock.strftime("%Y-%m-%d %H:%M:%S"), "versions": versions(),
        "stopped": stopped or None, "warnings": (), "modules": {},
    }  # fmt: skip
    with written_whole(folder) as staging:
        assert staging is not None
        _write(staging, simulation, scenario, data, ground_of(simulation), [], (), info, {})
    return folder
