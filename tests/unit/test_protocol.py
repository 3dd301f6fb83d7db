"""Operator and rover over bad links: at most once, nothing after a flush, stops win, watchdog."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from marsyard.errors import InputError
from marsyard.operations import messages as m
from marsyard.operations.link import PRESETS, Duplex, link_settings, preset
from marsyard.operations.operator_side import OPEN, Operator
from marsyard.operations.protocol import (
    Backoff,
    Clock,
    Gaps,
    carry,
    protocol_settings,
    settings_for,
)
from marsyard.operations.rover_side import Rover

#: a failing case is shown as found: to shrink one takes minutes
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
WORK = 2.0  # how long an order takes [s]


class World:
    """Both ends, the link, and a witness of what the rover heard and did.

    The witness decodes what arrives by itself, so that the rules are checked from outside.
    """

    def __init__(self, link: Duplex, step: float = 0.25, **fields):
        self.settings = settings_for(link, **fields)
        self.link, self.step, self.now = link, step, 0.0
        self.operator, self.rover = Operator(self.settings), Rover(self.settings)
        self.begun: list[int] = []
        self.void = self.stop = self.resume = 0
        self.under_way: int | None = None
        self.until = 0.0
        self.last_heard = math.inf
        inner = self.rover.incoming

        def incoming(data: bytes, now: float) -> None:
            self._witness(m.decode(data), now)
            inner(data, now)

        self.rover.incoming = incoming  # type: ignore[method-assign]

    def _witness(self, message, now: float) -> None:
        self.last_heard = now
        if isinstance(message, m.Stop | m.Flush):
            self.void = max(self.void, message.id)
        if isinstance(message, m.Stop):
            self.stop = max(self.stop, message.id)
        if isinstance(message, m.Resume) and self.rover.mode != "safe":
            self.resume = max(self.resume, message.id)
            self.void = max(self.void, message.id)

    def tick(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.now += self.step
            carry(self.operator, self.rover, self.link, self.now)
            self._work()

    def _work(self) -> None:
        current = self.rover.update(self.now)
        if current is None:
            self.under_way = None
        elif current.id != self.under_way:
            assert current.id not in self.begun, "an order began a second time"
            assert current.id > self.void, "an order began after a flush, stop or resume"
            self.begun.append(current.id)
            self.under_way, self.until = current.id, self.now + WORK
        elif self.now >= self.until:
            self.rover.finish(self.now)
            self.under_way = None
        if self.stop > self.resume:
            assert self.rover.current is None and self.rover.mode == "stopped"
        watchdog = self.settings.watchdog
        if watchdog is not None and self.now >= self.last_heard + watchdog:
            assert self.rover.current is None and self.rover.mode != "nominal"


def perfect(**fields) -> World:
    return World(Duplex(link_settings(latency=1.3), link_settings(latency=1.3)), **fields)


def drive(world: World, **fields) -> int:
    fields = {"lifetime": 60.0, **fields}
    return world.operator.order(m.Drive(0.04, 0.0, WORK), world.now, **fields)


def state(world: World, id: int) -> str:
    return world.operator.entries[id].state


def test_an_order_is_queued_sent_acknowledged_executed_and_done():
    w = perfect()
    id = drive(w)
    w.tick(80)
    entry = w.operator.entries[id]
    assert [s for _, s in entry.history] == ["queued", "sent", "acknowledged", "executing", "done"]
    given, sent, acknowledged, _, done = (t for t, _ in entry.history)
    assert sent == given + w.step and acknowledged - sent == pytest.approx(2.6, abs=3 * w.step)
    assert done - acknowledged == pytest.approx(WORK, abs=3 * w.step)
    assert entry.tries == 1 and w.begun == [id] and not w.rover.duplicates


def test_orders_follow_each_other_and_a_hole_stops_the_sequence():
    w = perfect()
    ids = [drive(w) for _ in range(4)]
    w.tick(20)
    assert w.begun == ids[: len(w.begun)]
    w.rover.finish(w.now, done=False, reason="a rock")
    failed = w.begun[-1]
    w.tick(120)
    after = [state(w, i) for i in ids if i > failed]
    assert state(w, failed) == "failed" and after and set(after) == {"refused"}
    # the next order does not hang on the refused ones
    new = drive(w)
    w.tick(60)
    assert state(w, new) == "done"


def test_an_order_that_comes_too_late_is_reported_and_not_executed():
    w = perfect()
    id = drive(w, lifetime=1.0)
    w.tick(60)
    assert state(w, id) == "expired" and w.begun == []
    assert "too late" in w.operator.entries[id].reason


def test_an_order_that_waits_too_long_expires():
    w = perfect()
    first, second = drive(w), drive(w, lifetime=2.0)
    w.tick(60)
    assert (state(w, first), state(w, second)) == ("done", "expired")


def test_a_replacing_order_takes_the_place_of_all_others():
    w = perfect()
    ids = [drive(w) for _ in range(3)]
    w.tick(5)
    new = drive(w, replace=True)
    w.tick(60)
    assert [state(w, i) for i in ids] == ["aborted", "cancelled", "cancelled"]
    assert state(w, new) == "done" and w.begun == [ids[0], new]


def test_flush_leaves_or_ends_the_order_under_way():
    for current, expected in ((False, "done"), (True, "aborted")):
        w = perfect()
        ids = [drive(w) for _ in range(3)]
        w.tick(6)
        w.operator.flush(w.now, current=current)
        w.tick(60)
        assert [state(w, i) for i in ids] == [expected, "cancelled", "cancelled"]


def test_stop_overtakes_waiting_orders_in_the_link():
    # 500 bit/s: ten orders take about 10 s, the stop 0.4 s
    w = World(Duplex(link_settings(bandwidth="500 bit/s"), link_settings()))
    for _ in range(10):
        drive(w)
    w.tick(4)
    stop = w.operator.stop(w.now, "a cliff")
    w.tick(9)  # one order that is on the transmitter, and the stop
    begun = list(w.begun)
    assert w.rover.mode == "stopped" and begun in ([], [1])
    assert state(w, stop) == "acknowledged"
    w.tick(400)
    assert w.begun == begun and w.rover.mode == "stopped"
    late = drive(w)
    w.tick(40)
    assert state(w, late) == "refused"
    w.operator.resume(w.now)
    good = drive(w)
    w.tick(60)
    assert state(w, good) == "done"
    assert {e.state for e in w.operator.entries.values()} <= {
        "acknowledged", "cancelled", "aborted", "refused", "done",
    }  # fmt: skip


def test_stop_and_resume_are_settled_by_their_ids_not_by_arrival():
    made = protocol_settings()
    stop = m.encode(m.Stop(sent=1.0, id=5))
    resume = m.encode(m.Resume(sent=2.0, id=6))
    for frames, mode in (((stop, resume), "nominal"), ((resume, stop), "nominal")):
        rover = Rover(made)
        for frame in frames:
            rover.incoming(frame, 3.0)
        assert rover.mode == mode
    rover = Rover(made)
    rover.incoming(m.encode(m.Resume(sent=0.0, id=4)), 3.0)
    rover.incoming(stop, 3.0)
    rover.incoming(m.encode(m.Resume(sent=0.5, id=3)), 3.0)
    assert rover.mode == "stopped"


def test_watchdog_stops_the_rover_at_its_very_moment():
    w = perfect(watchdog=30.0)
    drive(w, lifetime=500.0)
    w.tick(8)
    w.rover.update(w.now)
    assert w.rover.current is not None
    # the link falls silent; nobody asks the rover for long
    heard = w.last_heard
    assert w.rover.update(heard + 29.999) is not None
    assert w.rover.update(heard + 100.0) is None
    assert w.rover.mode == "safe" and w.rover.mode_since == heard + 30.0
    # a message that comes after the moment does not undo it
    rover = Rover(w.settings)
    rover.incoming(m.encode(m.Ping(sent=0.0)), 0.0)
    assert rover.next_event() <= 30.0
    rover.incoming(m.encode(m.Ping(sent=40.0)), 40.0)
    assert rover.mode == "safe" and rover.mode_since == 30.0 and rover.hold == 1


def test_safe_mode_ends_by_a_resume_that_names_it():
    rover = Rover(protocol_settings(watchdog=10.0, heartbeat=2.0))
    rover.update(20.0)
    assert rover.hold == 0, "before the first message there is nothing to fall silent"
    rover = Rover(protocol_settings(watchdog=10.0, heartbeat=2.0))
    rover.incoming(m.encode(m.Ping(sent=0.0)), 0.0)
    rover.update(20.0)
    assert rover.hold == 1
    rover.incoming(m.encode(m.Resume(sent=1.0, id=1, hold=0)), 21.0)
    assert rover.mode == "safe" and rover.outcome(1) == "refused"
    rover.incoming(m.encode(m.Order(sent=1, id=2, expires=99, action=m.Wait(1))), 21.0)
    assert rover.outcome(2) == "refused"
    rover.incoming(m.encode(m.Resume(sent=2.0, id=3, hold=1)), 22.0)
    assert rover.mode == "nominal"
    rover = Rover(protocol_settings(watchdog=10.0, resume="link"))
    rover.incoming(m.encode(m.Ping(sent=0.0)), 0.0)
    rover.update(20.0)
    assert rover.mode == "safe"
    rover.incoming(m.encode(m.Ping(sent=1.0)), 21.0)
    assert rover.mode == "nominal"


def test_a_lost_link_is_seen_on_both_sides():
    link = Duplex(
        link_settings(latency=1.3, windows=[[0, 60], [150, 1000]], when_closed="lost"),
        link_settings(latency=1.3, windows=[[0, 60], [150, 1000]], when_closed="lost"),
    )
    w = World(link)
    w.tick(200)
    assert w.operator.view(w.now).link == "good" and w.operator.view(w.now).words == []
    w.tick(100)  # 75 s
    assert w.operator.view(w.now).link == "late"
    w.tick(100)  # 100 s
    view = w.operator.view(w.now)
    assert view.link == "lost" and "nothing heard" in view.words[0]
    assert w.rover.mode == "safe" and w.rover.mode_since == pytest.approx(82, abs=3)
    w.tick(240)  # 160 s
    view = w.operator.view(w.now)
    assert view.link == "good" and view.mode == "safe" and "stopped itself" in view.words[0]
    w.operator.resume(w.now)
    id = drive(w)
    w.tick(60)
    assert state(w, id) == "done" and w.operator.mode == "nominal"


def test_clock_offset_and_round_trip():
    w = perfect()
    # the rover's clock is 1000 s ahead: same ends, told another time
    shift, now = 1000.0, 0.0
    rover = Rover(w.settings, now=shift)
    for _ in range(100):
        now += 0.1
        for out in w.operator.outgoing(now):
            w.link.up.send(out.data, now, out.priority)
        for d in w.link.up.receive(now):
            rover.incoming(
                d.data, d.arrived + shift if d.arrived + shift > rover._now else rover._now
            )
        for out in rover.outgoing(now + shift):
            w.link.down.send(out.data, now)
        for d in w.link.down.receive(now):
            w.operator.incoming(d.data, now)
    view = w.operator.view(now)
    assert view.round_trip == pytest.approx(2.6, abs=0.25)
    assert view.delay == view.round_trip / 2
    assert view.offset == pytest.approx(shift, abs=0.15)
    # and orders expire by the rover's clock
    id = w.operator.order(m.Wait(1.0), now, lifetime=30.0)
    out = [m.decode(o.data) for o in w.operator.outgoing(now)]
    assert out[0].id == id and out[0].expires == pytest.approx(now + 30 + shift, abs=0.15)


def test_clock_takes_the_shortest_round_trip():
    clock = Clock()
    clock.sample(0.0, 10.0, 11.0, 5.0)  # 4 s there and back, symmetric: 10 − 2 ahead
    assert (clock.round_trip, clock.offset) == (4.0, 8.0)
    clock.sample(10.0, 30.0, 30.0, 23.0)
    assert (clock.round_trip, clock.offset) == (4.0, 8.0)


def test_gaps_in_telemetry_are_counted():
    gaps = Gaps()
    newest = [gaps.take(n) for n in (1, 2, 5, 4, 5, 9)]
    assert newest == [True, True, True, False, False, True]
    assert (gaps.highest, gaps.received, gaps.late, gaps.repeated) == (9, 5, 1, 1)
    assert gaps.missing == 4  # 3, 6, 7, 8


def test_telemetry_gaps_are_those_of_the_link():
    w = World(Duplex(link_settings(), link_settings(loss=0.3), seed=3))
    for k in range(400):
        w.rover.telemetry(w.now, time=w.now, position=[k, 0.0, 0.0], slips=[0.1] * 6)
        w.tick()
    gaps = w.operator.gaps
    assert gaps.missing + gaps.received == gaps.highest
    assert gaps.missing == pytest.approx(0.3 * 400, abs=2.6 * (0.21 * 400) ** 0.5)
    assert w.operator.telemetry.position[0] == gaps.highest - 1
    with pytest.raises(InputError, match="did you mean 'slips'"):
        w.rover.telemetry(w.now, time=0.0, slip=[1.0])


def test_repetitions_back_off():
    again, due = Backoff(protocol_settings(repeat=2.0, back_off=2.0, repeat_most=10.0)), []
    now = 0.0
    for _ in range(6):
        again.sent(now)
        due.append(again.due - now)
        now = again.due
    assert due == [2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_an_order_never_answered_is_lost_and_stops_go_on():
    w = World(Duplex(link_settings(loss=1.0), link_settings()), tries=3, repeat=2.0, watchdog=None)
    id, stop = drive(w, lifetime=1000.0), None
    w.tick(100)
    assert state(w, id) == "lost" and w.operator.entries[id].tries == 3
    assert "never answered" in w.operator.view(w.now).words[-1]
    stop = w.operator.stop(w.now)
    w.tick(400)
    view = w.operator.view(w.now)
    assert view.stopping and "not acknowledged" in view.words[0]
    assert w.operator.entries[stop].tries == pytest.approx(100, abs=2)


def test_nothing_is_sent_while_the_link_is_closed():
    w = perfect()
    drive(w)
    assert w.operator.outgoing(5.0, is_open=False) == []
    assert len(w.operator.outgoing(6.0)) == 1


def test_damaged_frames_are_counted_and_do_not_matter():
    w = perfect()
    for frame in (b"", b"abc", bytes(5000), m.encode(m.Ping(sent=1))[:-2]):
        w.operator.incoming(frame, 1.0)
        Rover.incoming(w.rover, frame, 1.0)
    assert w.operator.view(1.0).refused == 4
    assert sum(w.rover.inbox.refused.values()) == 4 and w.operator.link_state(1.0) == "none"


def test_presets_have_settings_that_work():
    for name in PRESETS:
        made = settings_for(preset(name))
        assert made.repeat > preset(name).round_trip
    with pytest.raises(InputError, match="watchdog"):
        protocol_settings(watchdog="1 s")
    with pytest.raises(InputError, match="did you mean 'watchdog'"):
        protocol_settings(watchdo="1 s")
    w = perfect()
    with pytest.raises(InputError, match="lifetime"):
        drive(w, lifetime=0.0)
    with pytest.raises(InputError, match="no order 99"):
        drive(w, after=99)
    with pytest.raises(InputError, match="action"):
        w.operator.order(m.Drive(float("nan"), 0, 1), 0.0, lifetime=1)
    assert w.operator.entries == {}


def test_the_documented_example_does_what_it_says(capsys):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "link.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(code, str(page), "exec"), {})
    word, trip = capsys.readouterr().out.split()
    assert word == "done" and float(trip) == pytest.approx(2.8, abs=0.15)


BAD = st.fixed_dictionaries(
    {
        "latency": st.sampled_from([0.1, 1.3]),
        "jitter": st.sampled_from([0.0, 1.0]),
        "loss": st.sampled_from([0.0, 0.3, 0.6]),
        "fades": st.sampled_from([None, {"good": 8.0, "bad": 4.0}]),
        "bandwidth": st.sampled_from([None, 1000.0]),
        "order": st.sampled_from(["kept", "free"]),
    }
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["order", "order", "order", "replace", "flush", "stop", "resume", "wait"]),
        st.integers(1, 12),
    ),
    min_size=1,
    max_size=14,
)


def act(w: World, what: str) -> None:
    if what == "order":
        drive(w)
    elif what == "replace":
        drive(w, replace=True)
    elif what != "wait":
        getattr(w.operator, what)(w.now)


def play(w: World, steps) -> None:
    for what, ticks in steps:
        act(w, what)
        w.tick(ticks)


@settings(max_examples=80, deadline=None, phases=PHASES)
@given(up=BAD, down=BAD, steps=STEPS, seed=st.integers(0, 10**6))
def test_rules_hold_over_any_link(up, down, steps, seed):
    """At most once, nothing after a flush, stops win, watchdog: the witness looks at every step."""
    w = World(Duplex(link_settings(**up), link_settings(**down), seed=seed), tries=30)
    play(w, steps)
    # a stop at the end is always acknowledged, and everything else is settled
    stop = w.operator.stop(w.now)
    for _ in range(8000):
        w.tick()
        entries = w.operator.entries.values()
        told = all(w.rover.outcome(e.id) in (None, e.state) for e in entries)
        told = told and not w.operator.stopping
        if told and not any(e.state in (*OPEN, "lost") for e in entries if e.kind == "order"):
            break
    assert state(w, stop) == "acknowledged"
    assert len(w.begun) == len(set(w.begun)) and w.begun == sorted(w.begun)
    assert w.rover.current is None and w.rover.mode == "stopped"
    # the operator knows of every order what the rover knows
    for entry in w.operator.entries.values():
        known = w.rover.outcome(entry.id)
        if known is not None:
            assert entry.state == known
        elif entry.kind == "order":
            assert entry.state in ("cancelled", "expired") and entry.id not in w.begun


@settings(max_examples=15, deadline=None, phases=PHASES)
@given(up=BAD, down=BAD, steps=STEPS, more=STEPS, seed=st.integers(0, 10**6))
def test_branches_go_on_alike(up, down, steps, more, seed):
    w = World(Duplex(link_settings(**up), link_settings(**down), seed=seed))
    play(w, steps)
    del w.rover.incoming  # the witness cannot be copied
    link = w.link.copy()
    operator, rover = copy.deepcopy((w.operator, w.rover))
    ends = []
    for o, r, k in ((w.operator, w.rover, w.link), (operator, rover, link)):
        now, frames = w.now, []
        for what, ticks in more:
            if what == "order":
                o.order(m.Wait(1.0), now, lifetime=20.0)
            elif what not in ("wait", "replace"):
                getattr(o, what)(now)
            for _ in range(ticks):
                now += 0.5
                carry(o, r, k, now)
                r.update(now)
                frames.append((k.save(), r.current, o.mode))
        ends.append((frames, o.view(now), r.mode, [e.history for e in o.entries.values()]))
    assert ends[0] == ends[1]


def test_an_order_in_whose_place_another_came_is_lost_only_when_an_answer_is_due():
    """Orders of a stick over minutes of delay: each takes the place of the one before."""
    link = preset("mars_near", seed=1)
    w = World(link, watchdog=None)
    ids = [drive(w, lifetime=link.round_trip / 2 + 2.0, replace=True)]
    w.tick()
    ids.append(drive(w, lifetime=link.round_trip / 2 + 2.0, replace=True))
    w.tick(4 * (int(link.round_trip) - 10))
    assert [state(w, id) for id in ids] == ["sent", "sent"]
    assert w.operator.view(w.now).words == []
    w.tick(120)
    assert [state(w, id) for id in ids] == ["aborted", "done"]
    assert "replaced by" in w.operator.entries[ids[0]].reason
