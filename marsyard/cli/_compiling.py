"""Progress of compiling kernels, told by Numba's events.

How many kernels there are to compile is read off their names: a kernel needs those that it and
its callees name. They are counted when the outermost one begins.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from numba.core import event

#: called with the kernel at work, how many are compiled, and how many are to be in all
Tell = Callable[[str, int, int], Any]


class CompileProgress(event.Listener):
    """Tells of every kernel that begins or ends to compile in this process, until `stop`."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._needed: set[FunctionType] = set()
        self._done: set[FunctionType] = set()
        self._open: list[FunctionType] = []
        event.register("numba:compile", self)

    def stop(self) -> None:
        """Listen no more."""
        event.unregister("numba:compile", self)

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
        self._tell(kernel_name(function), len(self._done & self._needed), len(self._needed))


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
