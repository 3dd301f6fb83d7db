"""Lines of a log that repeat themselves, collapsed into one with their number.

The first of a kind goes through at once. More of the same kind within `FIRST` seconds are counted,
and told in one line at the end of that time, the last of them as an example:

    page 1: refused (rate): message: more than 60 in a second (and 214 more like it in 10 s)

As long as they go on, the time doubles each time, to at most `LONGEST`; a time without any begins
anew. Lines are of one kind if logger, level and the text before anything is put into it agree.
"""

from __future__ import annotations

import copy
import logging
import threading
import time as clock
from collections.abc import Callable
from dataclasses import dataclass

#: times over which repeated lines are counted [s]
FIRST, LONGEST = 10.0, 600.0


@dataclass
class _Kind:
    """Lines of one kind: since when they are counted [s], for how long, how many, the last."""

    since: float
    span: float
    count: int = 0
    last: logging.LogRecord | None = None


class CollapseRepeats(logging.Handler):
    """Hands records on to another handler, repeated ones with their number."""

    def __init__(
        self,
        target: logging.Handler,
        now: Callable[[], float] = clock.monotonic,
        first: float = FIRST,
    ) -> None:
        super().__init__(target.level)
        self._target, self._now, self._first = target, now, first
        self._kinds: dict[tuple[str, int, str], _Kind] = {}
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record on, or count it."""
        now = self._now()
        self.tell(now)
        kind = (record.name, record.levelno, str(record.msg))
        found = self._kinds.get(kind)
        if found is None:
            self._kinds[kind] = _Kind(now, self._first)
            self._target.handle(record)
        else:
            found.count, found.last = found.count + 1, record
            self._wake(found.since + found.span - now)

    def tell(self, now: float, all: bool = False) -> None:
        """Hand on the numbers of those whose time is over, or of all."""
        for key, kind in list(self._kinds.items()):
            if now < kind.since + kind.span and not all:
                continue
            if kind.last is None:
                del self._kinds[key]
                continue
            self._target.handle(_counted(kind, now))
            self._kinds[key] = _Kind(now, min(2.0 * kind.span, LONGEST))

    def close(self) -> None:
        """Hand on all that is counted."""
        with self.lock or threading.RLock():
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            self.tell(self._now(), all=True)
        super().close()

    def _wake(self, after: float) -> None:
        """Tell the numbers when their time is over, also if nothing is logged any more."""
        if self._timer is None:
            self._timer = threading.Timer(max(0.0, after), self._ring)
            self._timer.daemon = True
            self._timer.start()

    def _ring(self) -> None:
        with self.lock or threading.RLock():
            self._timer = None
            now = self._now()
            self.tell(now)
            due = [k.since + k.span for k in self._kinds.values() if k.last is not None]
            if due:
                self._wake(max(min(due) - now, 0.1))


def _counted(kind: _Kind, now: float) -> logging.LogRecord:
    """The last record of a kind with the number of all."""
    assert kind.last is not None
    record = copy.copy(kind.last)
    others = f"and {kind.count - 1} more like it " if kind.count > 1 else ""
    record.msg = f"{record.getMessage()} ({others}in {now - kind.since:.0f} s)"
    record.created = clock.time()  # lines stay in the order of their times
    record.args, record.exc_info, record.exc_text = (), None, None
    return record
