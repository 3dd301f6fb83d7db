"""Ctrl-c, SIGTERM and SIGHUP end a session in good order, whenever they come.

An exception that is raised wherever a signal happens to arrive may be swallowed there (by a
`__del__`, by a library that goes on after errors), or leave half of something built. So a signal is
noted first, and work ends at the next point where it asks:

    with Ending() as ending:
        build()
        ending.check()              # raises KeyboardInterrupt if a signal has come
        while not ending.asked: …
        with ending.saving(): save()

What has not asked after `PATIENCE` is interrupted where it is, and again after as long; so is it by
a second ctrl-c. While something is saved SIGTERM and SIGHUP change nothing, and a first ctrl-c is
answered with what is going on; a second one leaves without it.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

#: time for work to come to a point where it asks [s]
PATIENCE = 3.0
#: those that this system has: SIGHUP comes when the terminal or an ssh connection is closed
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Ending:
    """A block that signals end; KeyboardInterrupt does not leave it.

    Attributes:
        asked: whether a signal has come.
    """

    def __init__(self, say: Any = None) -> None:
        self.asked = False
        self._say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self._saving = self._warned = False
        self._before: dict[int, Any] = {}
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Ending:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # what a parent has this process ignore (nohup) stays ignored
                if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._rest()
        for number, before in self._before.items():
            signal.signal(number, before)
        return kind is not None and issubclass(kind, KeyboardInterrupt)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self.asked:
            self._rest()
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """A block that only a second ctrl-c cuts off."""
        self._rest()
        self._saving = True
        try:
            yield
        finally:
            self._saving = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if self._saving:
            if number != signal.SIGINT:
                return
            if self._warned:
                raise KeyboardInterrupt
            self._warned = True
            self._say("the report is being written; press ctrl-c again to leave without it")
        elif first:
            self._say("ending the session …")
            self._wait()
        elif number == signal.SIGINT:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        """Interrupt what does not ask in time: as ctrl-c would, and again if that is swallowed."""
        self._timer = threading.Timer(PATIENCE, self._interrupt)
        self._timer.daemon = True
        self._timer.start()

    def _interrupt(self) -> None:
        if self._timer is None or self._saving:
            return
        self._wait()
        if hasattr(signal, "pthread_kill"):
            # to the main thread itself, which may be asleep
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def _rest(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
