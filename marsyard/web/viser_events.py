"""Fixes how viser wakes its event loop from other threads.

viser 1.1.1 calls `asyncio.Event.set` of a message buffer in whichever thread queues a message, and
once more in the thread of the loop. The first call walks through the waiters while the loop may add
or remove one: "deque mutated during iteration", and whoever queued the message gets that error. It
takes a few viewers that come and go. Here the first call only raises the flag; the second, which
always follows, wakes the waiters.
"""

from __future__ import annotations

import asyncio
from typing import Any


class LoopEvent(asyncio.Event):
    """An event that may be set in any thread, and wakes waiters only in that of the loop."""

    def set(self) -> None:
        """Raise the flag; in the loop's thread, wake who waits."""
        self._value = True
        if asyncio._get_running_loop() is None:
            return
        for waiter in tuple(self._waiters):  # type: ignore[attr-defined]
            if not waiter.done():
                waiter.set_result(True)


def mend() -> None:
    """Have viser's buffers made from now on use such events."""
    from viser.infra import _infra

    made: Any = _infra.AsyncMessageBuffer
    if getattr(made, "mended", False):
        return

    class Buffer(made):
        mended = True

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.message_event = LoopEvent()
            # a picture may be under way to a viewer who has just left: no need to warn
            self._warned_push_after_done = True

    _infra.AsyncMessageBuffer = Buffer  # type: ignore[misc]
