"""What is said of kernels that compile: lines now and then, or the bar of a command.

Kernels compile once on a machine, at whatever command needs them first; so every command watches
(`marsyard.compile_watch`). Compiling that takes less than `FIRST` is not worth a word. Then a line
comes now and then, ever more seldom, on a terminal or not:

    compiling: 52 of 97 kernels (moreau_jean.step, nonsmooth.callback.solver)
    compiled 161 kernels in 84 s
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from marsyard.compile_watch import CompileWatch

#: before the first line, between the first ones, and at most between two [s]
FIRST, NEXT, LONGEST = 3.0, 10.0, 60.0
#: so many kernels at work are named
NAMED = 3


def _write(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class CompileLines:
    """Lines about kernels that compile.

    Attributes:
        bar: takes (words, done, total) in place of lines; none while no bar is shown.
        quiet: whether nothing is said.
    """

    def __init__(
        self, write: Callable[[str], Any] = _write, now: Callable[[], float] = monotonic
    ) -> None:
        self.bar: Callable[[str, int, int], Any] | None = None
        self.quiet = False
        self._write, self._now = write, now
        self._began: float | None = None
        self._due, self._pause = 0.0, NEXT
        self._said = False
        self._before = 0, 0  # compiled and to be compiled the times before

    def show(self, names: Sequence[str], done: int, total: int) -> None:
        """Kernels at work, how many are compiled, how many are to be; no names at the end."""
        now = self._now()
        if not names:
            self._end(now, done, total)
            return
        if self._began is None:
            self._began, self._due, self._pause = now, now + FIRST, NEXT
        done, total = done - self._before[0], total - self._before[1]
        if self.quiet or total <= 0:  # what is left was counted before, and takes a moment
            return
        done = min(done, total)
        if self.bar is not None:
            # a bar has little room for words
            self.bar(f"compiling: {_few(names, 1)}", done, total)
        elif now >= self._due:
            self._write(f"compiling: {done} of {total} kernels ({_few(names)})")
            self._said, self._due = True, now + self._pause
            self._pause = min(2.0 * self._pause, LONGEST)

    def _end(self, now: float, done: int, total: int) -> None:
        began, said = self._began, self._said
        self._began, self._said = None, False
        if began is not None and said and not self.quiet and self.bar is None:
            self._write(f"compiled {done - self._before[0]} kernels in {now - began:.0f} s")
        self._before = done, total


def _few(names: Sequence[str], most: int = NAMED) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - most} more" if len(different) > most else ""
    return ", ".join(different[:most]) + more


#: of this command
LINES = CompileLines()


def watch_compiling() -> Callable[[], None]:
    """Say what compiles from now on; the function that ends it."""
    LINES.quiet = not {"-q", "--quiet", "--json"}.isdisjoint(sys.argv)
    watch = CompileWatch(LINES.show)
    watch.start()
    return watch.stop
