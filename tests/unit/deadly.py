"""A plan whose members may end their process, for tests of workers that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from marsyard.study.workers import Outcome


class DeadlyPlan:
    """Members give their number; one that is told to kills its process, always or the first time.

    `folder` gets a file for each time a member is begun, so that a test can count them.
    """

    outputs = ()
    time_limit = None

    def __init__(self, folder):
        self.folder = str(folder)

    def evaluate(self, settings):
        number = settings["number"]
        begun = len(list(Path(self.folder).glob(f"{number}-*")))
        (Path(self.folder) / f"{number}-{begun}").touch()
        die = settings.get("die")
        if die == "always" or (die == "once" and begun == 0):
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome((float(number),), ("",), ("",), None, 0, 0, 0.0, 0.0, ())
