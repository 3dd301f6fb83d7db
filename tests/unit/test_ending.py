"""Signals end a session in good order, whenever they come."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from marsyard.cli import _ending
from marsyard.cli._ending import SIGNALS, Ending

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread() or os.name == "nt",
    reason="signals are the main thread's",
)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_ends_the_block_after_what_is_saved(number):
    if signal.getsignal(number) == signal.SIG_IGN and number != signal.SIGINT:
        pytest.skip("ignored where the tests were started (nohup), and so by what is tested")
    before, done, said = signal.getsignal(number), [], []
    with Ending(said.append) as ending:
        try:
            send(number)
            began = time.monotonic()
            while not ending.asked and time.monotonic() - began < 10.0:
                time.sleep(0.01)
            ending.check()
            done.append("not ended")
        finally:
            with ending.saving():
                # another one does not cut the report off
                send(number)
                done.append("report")
    assert done == ["report"] and signal.getsignal(number) == before
    assert said[0] == "ending the session …"


def test_what_never_asks_is_interrupted_and_again_if_that_is_swallowed(monkeypatch):
    monkeypatch.setattr(_ending, "PATIENCE", 0.05)
    swallowed, began = 0, time.monotonic()
    with Ending(lambda text: None) as ending:
        send(signal.SIGTERM)
        for _ in range(2):
            try:
                time.sleep(20.0)
            except KeyboardInterrupt:
                swallowed += 1
        ending.check()
        raise AssertionError("it was not ended")
    assert swallowed == 2 and time.monotonic() - began < 10.0


def test_a_swallowed_interrupt_is_noticed_at_the_next_check():
    reached = []
    with Ending(lambda text: None) as ending:
        send(signal.SIGINT)
        try:
            send(signal.SIGINT)
            time.sleep(20.0)
        except KeyboardInterrupt:
            reached.append("swallowed")
        ending.check()
        reached.append("not ended")
    assert reached == ["swallowed"]


def test_a_second_ctrl_c_leaves_without_the_report():
    said, done = [], []
    with Ending(said.append) as ending, ending.saving():
        send(signal.SIGINT)
        done.append("still saving")
        send(signal.SIGINT)
        time.sleep(20.0)
        done.append("saved")
    assert done == ["still saving"]
    assert said == ["the report is being written; press ctrl-c again to leave without it"]


def test_errors_are_no_signals():
    with pytest.raises(ValueError, match="mistake"), Ending(lambda text: None):
        raise ValueError("mistake")
