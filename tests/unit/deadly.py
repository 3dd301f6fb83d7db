"""A plan whose members may end their process or hang, for tests of workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

from marsyard.errors import InputError
from marsyard.study.task import Outcome


class DeadlyPlan:
    """Members give their number; one that is told to kills its process, always or the first time,
    or hangs.

    `folder` gets a file for each time a member is begun, so that a test can count them.
    """

    outputs = ()

    def __init__(self, folder, time_limit=None):
        self.folder, self.time_limit = str(folder), time_limit

    def lost(self, reason):
        return Outcome((None,), ("",), (reason,), reason, 0, 0, 0.0, 0.0, ())

    def evaluate(self, settings, tell=None):
        number = settings["number"]
        begun = len(list(Path(self.folder).glob(f"{number}-*")))
        (Path(self.folder) / f"{number}-{begun}").touch()
        die = settings.get("die")
        if die == "hang":
            (Path(self.folder) / "pid").write_text(str(os.getpid()))
            time.sleep(1000)
        if die == "always" or (die == "once" and begun == 0):
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome((float(number),), ("",), ("",), None, 0, 0, 0.0, 0.0, ())


class Sum:
    """A task of `Workers`: its number after a word; `how` it ends instead: "raise" or "die"."""

    def __init__(self, number, how=""):
        self.number, self.how = number, how

    def work(self, tell):
        tell(0.5)
        if self.how == "raise":
            raise InputError(f"task {self.number} is wrong")
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return SimpleNamespace(simulated=1.0, number=self.number, process=os.getpid())
