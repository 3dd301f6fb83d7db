"""Watching what compiles, in this process and in others (`marsyard.compile_progress`).

    watch = CompileWatch(show)       # show(kernels at work, done, total)
    watch.start()
    ...
    watch.stop()

Light: nothing heavy is loaded to watch.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: names a folder in which processes say how far they are with compiling
FOLDER = "MARSYARD_COMPILE_PROGRESS"
#: how often a process says it, and is looked for [s]
PERIOD = 0.3


def tell_compiling(text: str) -> None:
    """What is said to a caller that gave no function to say things to: that kernels compile.

    Minutes without a word would look like a program that hangs. Of the command line the watch says
    more.
    """
    if text.startswith("compiling") and FOLDER not in os.environ:
        logging.getLogger("marsyard").warning(text)


class CompileWatch:
    """Looks how far all processes are, those that begin after `start`.

    `show` is called in a thread with the kernels at work, how many are compiled, and how many are
    to be in all; with no kernels once nothing compiles any more.
    """

    def __init__(self, show: Callable[[Sequence[str], int, int], Any]) -> None:
        self.show = show
        self._ended = threading.Event()
        self._folder: str | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have processes say how far they are, and look."""
        self._folder = tempfile.mkdtemp(prefix="marsyard-compiling-")
        os.environ[FOLDER] = self._folder
        self._thread = threading.Thread(target=self._watch, name="compiling", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(2.0)
        if self._folder is not None:
            os.environ.pop(FOLDER, None)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _watch(self) -> None:
        before: tuple[list[str], int, int] | None = None
        while not self._ended.wait(PERIOD):
            now = self._read()
            if now is not None and now != before:
                self.show(*now)
            before = now or before

    def _read(self) -> tuple[list[str], int, int] | None:
        """Kernels at work, done, total; none before anything compiles."""
        assert self._folder is not None
        names, sums = [], [0, 0]
        try:
            files = sorted(Path(self._folder).iterdir())
        except OSError:
            return None
        for file in files:
            with contextlib.suppress(OSError, ValueError):
                done, total, is_open, name = file.read_text(encoding="utf-8").split(" ", 3)
                if file.suffix:
                    continue
                if int(is_open) and _is_running(int(file.name)):
                    names.append(name)
                sums = [sums[0] + int(done), sums[1] + int(total)]
        return (names, sums[0], sums[1]) if sums[1] else None


def _is_running(process: int) -> bool:
    """Whether a process is there."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
