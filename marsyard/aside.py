"""Background processes that compile kernels while the loop compiles in this one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marsyard.jit import Callback


class Aside:
    """Callbacks that are compiled in processes of their own, if they are not in the cache.

    The solver is about half of all there is to compile; the other half goes on here meanwhile. Of
    several, the larger have the lower number of niceness: what takes longest begins first.
    """

    def __init__(self, *groups: Sequence[Callback], nice: int = 10) -> None:
        """Each group is compiled by a process."""
        self._groups, self._nice = groups, nice
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started = False

    @property
    def cached(self) -> bool:
        """There is nothing to compile."""
        return all(made.cached for group in self._groups for made in group)

    def start(self) -> None:
        """Begin, if there is something to compile."""
        if self._started:
            return
        self._started = True
        for group in self._groups:
            missing = [(made.module, made.name) for made in group if not made.cached]
            if missing:
                self._begin(missing)

    def _begin(self, missing: list[tuple[str, str]]) -> None:
        # the loop is compiled here: the others give way to it
        code = (
            f"import os, importlib; getattr(os, 'nice', int)({self._nice}); "
            f"[getattr(importlib.import_module(m), n).address for m, n in {missing!r}]"
        )
        quiet = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            made = subprocess.Popen([sys.executable, "-c", code], stdout=quiet, stderr=quiet)
            self._processes.append(made)

    def addresses(self) -> list[int]:
        """Addresses of all callbacks, once they are compiled."""
        self.start()
        for process in self._processes:
            process.wait()
        return [made.address for group in self._groups for made in group]
