"""Progress of compiling kernels: what is at work in this process and in others, and how far.

How many kernels there are to compile is read off their names: a kernel needs those that it and
its callees name. They are counted when the outermost one begins. Numba's events tell of kernels
that Python calls and of the parts of all; of laws, which are called by address, the cache tells
that they are not in it, and when they are.

Kernels compile in several processes at once (`aside`, the members of studies, the rover of a
teleoperation). Each writes how far it is into a file of the folder that the environment names
(`marsyard.compile_watch`, which reads them), and that processes inherit.
"""

from __future__ import annotations

import contextlib
import os
import time as clock
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from numba.core import event

from marsyard.compile_watch import PERIOD

#: called with the kernel at work, how many are compiled, and how many are to be in all
Tell = Callable[[str, int, int], Any]


class CompileProgress(event.Listener):
    """Tells of every kernel that begins or ends to compile in this process, until `stop`."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._named = tell, "numba"
        self._needed: set[FunctionType] = set()
        self._done: set[FunctionType] = set()
        self._open: list[FunctionType] = []
        self._missing: list[FunctionType] = []  # called by address, and not in the cache
        event.register("numba:compile", self)

    def stop(self) -> None:
        """Listen no more."""
        event.unregister("numba:compile", self)

    @property
    def is_open(self) -> bool:
        """Whether something compiles."""
        return bool(self._open or self._missing)

    def missed(self, function: FunctionType) -> None:
        """A kernel is not in the cache: it compiles next."""
        self._needed |= kernels_of(function)
        if function not in self._missing:
            self._missing.append(function)
        self._count(function)

    def kept(self, function: FunctionType) -> None:
        """A kernel is in the cache now."""
        if function in self._missing:
            self._missing.remove(function)
        self._done |= kernels_of(function)
        self._count(function)

    def on_start(self, event: Any) -> None:
        """A kernel begins; those that it calls may follow before it ends."""
        function = event.data["dispatcher"].py_func
        if not self._open:
            self._needed |= kernels_of(function)
        self._open.append(function)
        self._count(function)

    def on_end(self, event: Any) -> None:
        """The kernel that began last has ended, and its caller goes on."""
        ended = self._open.pop()
        self._done.add(ended)
        if not self._open:
            # what its names suggested and it did not call
            self._done |= kernels_of(ended)
        self._count(self._open[-1] if self._open else ended)

    def _count(self, function: FunctionType) -> None:
        if not function.__module__.startswith("numba."):  # no name that says anything to a user
            self._named = kernel_name(function)
        self._tell(self._named, len(self._done & self._needed), len(self._needed))


def kernel_name(function: FunctionType) -> str:
    """'soil_contact.kernel.press' of marsyard.interaction.soil_contact.kernel.press."""
    return ".".join([*function.__module__.split(".")[2:], function.__name__])


def kernels_of(function: FunctionType) -> set[FunctionType]:
    """A kernel's function and those of all that it calls, directly or through others."""
    found = {function}
    left = [function]
    while left:
        here = left.pop()
        named = here.__code__.co_names
        values = [here.__globals__.get(name) for name in named]
        modules = [value for value in values if isinstance(value, ModuleType)]
        values += [getattr(module, name, None) for module in modules for name in named]
        for value in values:
            called = getattr(value, "py_func", None)
            if isinstance(called, FunctionType) and called not in found:
                found.add(called)
                left.append(called)
    return found


# --- between processes


class _Report:
    """Writes how far this process is into its file."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / str(os.getpid())
        self._last = -1.0
        self.progress = CompileProgress(self._tell)

    def _tell(self, kernel: str, done: int, total: int) -> None:
        is_open = self.progress.is_open
        if is_open and clock.monotonic() - self._last < PERIOD:
            return
        self._last = clock.monotonic()
        part = self._file.with_suffix(".part")
        # the folder goes with the process that watches
        with contextlib.suppress(OSError):
            part.write_text(f"{done} {total} {int(is_open)} {kernel}", encoding="utf-8")
            part.replace(self._file)


def report_into(folder: str) -> CompileProgress:
    """Say in a folder how far this process is."""
    return _Report(folder).progress
