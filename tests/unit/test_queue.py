"""The command queue as it is shown: two ends of the protocol with a delay between them."""

from __future__ import annotations

import pytest

from marsyard.operations.messages import Drive, Wait
from marsyard.operations.operator_side import Operator
from marsyard.operations.rover_side import Rover
from marsyard.operations.teleop.queue import queue_words, shown_orders

DELAY = 1.3


class Ends:
    """An operator and a rover, and what is on its way between them."""

    def __init__(self) -> None:
        self.operator, self.rover = Operator(), Rover()
        self.now = 0.0
        self.up: list[tuple[float, bytes]] = []
        self.down: list[tuple[float, bytes]] = []
        self.lose_down = False

    def go(self, until: float) -> Ends:
        while self.now < until - 1e-9:
            self.now = round(self.now + 0.05, 9)
            for out in self.operator.outgoing(self.now):
                self.up.append((self.now + DELAY, out.data))
            for at, data in [m for m in self.up if m[0] <= self.now]:
                self.up.remove((at, data))
                self.rover.incoming(data, self.now)
            self.rover.update(self.now)
            for out in self.rover.outgoing(self.now):
                if not self.lose_down:
                    self.down.append((self.now + DELAY, out.data))
            for at, data in [m for m in self.down if m[0] <= self.now]:
                self.down.remove((at, data))
                self.operator.incoming(data, self.now)
        return self

    def shown(self) -> dict[int, tuple[str, str, bool]]:
        orders = shown_orders(self.operator, self.now, DELAY)
        return {o.id: (o.state, o.reason, o.open) for o in orders}

    def words(self) -> str:
        return queue_words(self.operator, self.now, DELAY)


def sequence(ends: Ends, count: int) -> list[int]:
    return [ends.operator.order(Wait(100.0), ends.now, lifetime=1000.0) for _ in range(count)]


def test_orders_are_on_their_way_then_at_the_rover():
    ends = Ends()
    sequence(ends, 3)
    assert ends.words() == "3 not sent yet"
    ends.go(0.5)
    state, note, is_open = ends.shown()[1]
    assert (state, is_open) == ("sent", True) and note == "arrives in 0.9 s"
    assert ends.words() == "3 on the way up"
    ends.go(1.6)
    # it has arrived, and the operator cannot know yet
    assert ends.rover.current is not None
    assert ends.shown()[1][1] == "should have arrived; its report is awaited"
    assert ends.words() == "3 sent, report awaited"
    ends.go(4.0)
    assert ends.shown()[1][0] == "executing"
    assert ends.words() == "1 under way, 2 waiting at the rover"


def test_what_a_stop_leaves_of_the_queue_at_every_time():
    ends = Ends()
    sequence(ends, 3)
    ends.go(4.0)
    late = ends.operator.order(Wait(1.0), ends.now, lifetime=1000.0)
    ends.go(4.5)
    stop = ends.operator.stop(ends.now, "test")
    ends.go(4.6)
    shown = ends.shown()
    # the rover still carries out the first: the stop is not there yet
    assert ends.rover.current is not None
    assert shown[1] == ("executing", f"until emergency stop {stop}, which arrives in 1.2 s", True)
    assert shown[late][0] == "sent" and f"until emergency stop {stop}" in shown[late][1]
    assert shown[stop][0] == "sent" and shown[stop][2]
    assert ends.words().startswith(f"stop {stop} arrives in 1.2 s, ends 4; 1 under way, 2 waiting")
    ends.go(6.2)
    assert ends.rover.current is None and ends.rover.mode == "stopped"
    assert (
        ends.shown()[1][1] == f"emergency stop {stop} should have ended it; the report is awaited"
    )
    assert ends.words() == (f"stop {stop} should have arrived and ended 4; its report is awaited")
    ends.go(8.0)
    shown = ends.shown()
    assert shown[1][0] == "aborted" and shown[2][0] == shown[3][0] == "cancelled"
    assert not any(is_open for _, _, is_open in shown.values())
    assert shown[stop][0] == "in force"
    assert ends.words() == "stopped; nothing waiting"
    # once it is resumed, neither of both is open
    resume = ends.operator.resume(ends.now)
    ends.go(8.2)
    assert ends.shown()[resume][:2] == ("sent", "arrives in 1.2 s")
    ends.go(12.0)
    shown = ends.shown()
    assert (shown[stop][0], shown[resume][0]) == ("over", "done") and ends.words() == ""


def test_orders_whose_reports_are_missing_are_not_shown_as_waiting():
    """A stop is acknowledged in one report, what it ended of a long queue in the next ones."""
    ends = Ends()
    sequence(ends, 30)
    ends.go(6.0)
    assert ends.words() == "1 under way, 29 waiting at the rover"
    stop = ends.operator.stop(ends.now)
    seen = set()
    while ends.now < 12.0:
        ends.go(ends.now + 0.05)
        entry = ends.operator.entries[stop]
        if entry.state == "acknowledged":
            seen.add(ends.words().split(";")[0])
            assert "waiting at" not in ends.words() and "under way" not in ends.words()
            for state, note, is_open in list(ends.shown().values())[:-1]:
                assert not is_open
                assert state in ("aborted", "cancelled", "ended")
                if state == "ended":
                    assert note == (
                        f"by emergency stop {stop} at the latest; the report is on its way"
                    )
    assert seen == {"stopped"} and ends.words() == "stopped; nothing waiting"


def test_a_stop_whose_report_is_lost_says_how_often_it_was_sent():
    ends = Ends()
    sequence(ends, 1)
    ends.go(4.0)
    ends.lose_down = True
    stop = ends.operator.stop(ends.now)
    ends.go(8.0)
    state, note, is_open = ends.shown()[stop]
    assert state == "sent" and is_open
    assert "sent" in note and int(note.split("sent ")[1].split()[0]) > 1


def test_an_order_in_place_of_another_and_a_flush_end_what_was_before():
    ends = Ends()
    first = ends.operator.order(Drive(0.1, 0.0, 60.0), 0.0, lifetime=100.0)
    ends.go(4.0)
    second = ends.operator.order(Drive(0.2, 0.0, 60.0), ends.now, lifetime=100.0, replace=True)
    ends.go(4.5)
    assert ends.shown()[first][:2] == ("executing", f"until order {second}, which arrives in 0.8 s")
    ends.go(8.0)
    assert ends.shown()[first][0] == "aborted" and ends.shown()[second][0] == "executing"
    waiting = ends.operator.order(Wait(1.0), ends.now, lifetime=100.0)
    ends.go(11.0)
    flush = ends.operator.flush(ends.now)  # of what waits only
    ends.go(11.5)
    shown = ends.shown()
    assert shown[second][1] == "" and f"until flush {flush}" in shown[waiting][1]
    ends.go(15.0)
    shown = ends.shown()
    assert shown[second][0] == "executing" and shown[waiting][0] == "cancelled"
    assert shown[flush][0] == "done" and ends.words() == "1 under way"


@pytest.mark.parametrize("count", [1000])
def test_a_long_book_is_read_fast(count):
    import time

    ends = Ends()
    for k in range(count):
        ends.now = 0.01 * k
        ends.operator.order(Drive(0.1, 0.0, 1.0), ends.now, lifetime=1e4, replace=True)
    began = time.perf_counter()
    for _ in range(10):
        assert len(ends.shown()) == 200
    assert (time.perf_counter() - began) / 10 < 0.1
