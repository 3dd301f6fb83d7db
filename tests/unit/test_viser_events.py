"""Events that other threads set while viewers come and go."""

from __future__ import annotations

import asyncio
import sys
import threading
import time as clock

import pytest

from marsyard.web.viser_events import LoopEvent, mend


def hammered(event: asyncio.Event, rounds: int, tasks: int = 300) -> tuple[list[Exception], int]:
    """Errors of a thread that sets an event while many tasks wait for it, and how many woke."""
    errors: list[Exception] = []
    woken = 0

    async def viewer() -> None:
        nonlocal woken
        for _ in range(rounds):
            await event.wait()
            event.clear()
            woken += 1
            await asyncio.sleep(0)

    async def viewers() -> None:
        loop = asyncio.get_running_loop()
        done = threading.Event()

        def push() -> None:
            while not done.is_set():
                try:
                    event.set()
                except RuntimeError as error:
                    errors.append(error)
                loop.call_soon_threadsafe(event.set)
                clock.sleep(1e-4)

        thread = threading.Thread(target=push)
        thread.start()
        try:
            await asyncio.wait_for(asyncio.gather(*(viewer() for _ in range(tasks))), 60.0)
        finally:
            done.set()
            thread.join()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        asyncio.run(viewers())
    finally:
        sys.setswitchinterval(before)
    return errors, woken


def test_events_may_be_set_in_any_thread():
    errors, woken = hammered(LoopEvent(), 30)
    assert not errors and woken == 300 * 30


def test_viser_uses_them():
    infra = pytest.importorskip("viser.infra._infra")
    mend()
    mend()  # once is enough
    loop = asyncio.new_event_loop()
    buffer = infra.AsyncMessageBuffer(loop, persistent_messages=True)
    loop.close()
    assert isinstance(buffer.message_event, LoopEvent)
    assert sum(c.__name__ == "Buffer" for c in type(buffer).__mro__) == 1
