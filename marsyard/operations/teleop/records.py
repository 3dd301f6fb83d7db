"""What is kept of a teleoperation: lines as things happen, and the session's folder at its end.

    orders.jsonl       each change of state of each order, as it became known
    telemetry.jsonl    each telemetry message, as it was heard, and when
    predictions.jsonl  each prediction whose time came, and what it missed by
    truth.jsonl        the rover's own log (written by the rover)
    session.nc         predictions, errors and beliefs (NetCDF)
    session.yaml       what was ordered, as a sequence
    figures/*.png, report.html
    truth/             the rover's run folder

Lines are appended and flushed at once: what was heard stays whatever happens afterwards. Where no
line can be written any more (a full disk) driving goes on, and `Lines.trouble` says so.

A folder belongs to one session at a time (`claim`). What an earlier session left there is moved to
`earlier-N`: a session cannot be had again by running it anew.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import time as clock
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError, check_path

if TYPE_CHECKING:
    from marsyard.operations.teleop.vehicle import Vehicle


_LOG = logging.getLogger("marsyard.teleop")
#: what a session writes; figures and truth are folders
OWN = (
    "orders.jsonl", "telemetry.jsonl", "predictions.jsonl", "beliefs.jsonl", "events.jsonl",
    "truth.jsonl", "session.nc", "session.yaml", "report.html", "figures", "truth",
)  # fmt: skip
LOCK = "session.lock"
#: what may lie in a folder beside it
_BESIDE = (LOCK, "desk.log")
_BESIDE_BEGIN = ("validation-", "earlier-")


def check_folder(folder: Path) -> None:
    """Refuse a folder that a session cannot have."""
    check_path(folder, "--out")
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InputError(f"--out: '{folder}' is a file; give a folder")
        names = [p.name for p in folder.iterdir()]
        other = [n for n in names if n not in (*OWN, *_BESIDE) and not n.startswith(_BESIDE_BEGIN)]
        if other and not any(n in OWN[:6] for n in names):
            raise InputError(
                f"--out: '{folder}' holds other files; give a new folder or an earlier session's"
            )
        if not os.access(folder, os.W_OK):
            raise InputError(f"--out: '{folder}' cannot be written; give a folder that can")
    except OSError as error:
        raise _unwritable(folder, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def claim(folder: Path) -> IO[str]:
    """Have a folder for a session until the file that is returned is closed."""
    check_folder(folder)
    make_folder(folder)
    try:
        lock = (folder / LOCK).open("w", encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error) from None
    if not _locked(lock):
        lock.close()
        raise InputError(f"--out: another session writes into '{folder}'; give another folder")
    earlier = [folder / name for name in OWN if (folder / name).exists()]
    if earlier:
        number = 1
        while (folder / f"earlier-{number}").exists():
            number += 1
        (folder / f"earlier-{number}").mkdir()
        for path in earlier:
            path.rename(folder / f"earlier-{number}" / path.name)
    return lock


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"--out: '{folder}' cannot be written ({error.strerror}); give a folder that can"
    )


def _locked(file: IO[str]) -> bool:
    """Lock a file for this process; whether nobody else has. It ends with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system: two sessions are not noticed
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Lines:
    """Files of JSON lines in a folder; none if there is no folder.

    Attributes:
        trouble: why lines are lost, in a sentence; empty while none are. lost: how many.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.trouble, self.lost = "", 0
        self._files: dict[str, IO[str]] = {}
        self._lock = None if folder is None else claim(folder)

    def write(self, name: str, **fields: Any) -> None:
        """Append a line to `name`.jsonl."""
        if self.folder is None:
            return
        line = json.dumps({k: _plain(v) for k, v in fields.items()}) + "\n"
        try:
            if name not in self._files:
                path = self.folder / f"{name}.jsonl"
                self._files[name] = path.open("a", encoding="utf-8")
            self._files[name].write(line)
            self._files[name].flush()
        except OSError as error:
            self._fails(name, error)

    def _fails(self, name: str, error: OSError) -> None:
        file = self._files.pop(name, None)
        if file is not None:
            _shut(file)
        self.lost += 1
        if not self.trouble:
            _LOG.warning("%s.jsonl cannot be written: %s", name, error.strerror)
        self.trouble = (
            f"The session is not recorded ({error.strerror}): {self.lost} lines are lost."
        )

    def close(self) -> None:
        """Close all files, and leave the folder to others."""
        for file in self._files.values():
            _shut(file)
        self._files.clear()
        if self._lock is not None and self.folder is not None:
            with contextlib.suppress(OSError):
                (self.folder / LOCK).unlink()
            self._lock.close()
            self._lock = None


def _shut(file: IO[str]) -> None:
    """Close a file, whether or not what is left can be written."""
    with contextlib.suppress(OSError):
        file.close()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 9) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def save_run(vehicle: Vehicle, folder: Path, stopped: str = "") -> Path:
    """Save what a vehicle recorded as a run folder, without those of the scenario's figures that
    need what a session does not record."""
    from marsyard.results import ground_of
    from marsyard.run_folder import written_whole
    from marsyard.run_report import Finished, draw_report
    from marsyard.single_run import versions, write_results

    simulation, scenario = vehicle.simulation, vehicle.scenario
    data = simulation.dataset()
    data.attrs["scenario"] = scenario.title
    info = {
        "scenario": scenario.title, "overrides": [], "steps": simulation.steps,
        "wall_time": simulation.wall_time, "compile_time": simulation.compile_time,
        "started": clock.strftime("%Y-%m-%d %H:%M:%S"), "versions": versions(),
        "stopped": stopped or None, "warnings": (), "modules": {},
    }  # fmt: skip
    with written_whole(folder) as staging, warnings.catch_warnings():
        assert staging is not None
        warnings.simplefilter("ignore", UserWarning)
        ground = ground_of(simulation)
        write_results(staging, simulation, scenario, data, ground, info, {})
        surfaces = simulation.world.surfaces
        finished = Finished(data, scenario, simulation.model, ground, surfaces, info=info)
        draw_report(staging, finished)
    return folder
