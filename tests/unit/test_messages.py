"""Messages between operator and rover: round trips, sizes, refusals."""

from __future__ import annotations

import math
import re
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marsyard.errors import InputError
from marsyard.operations import messages as m

REAL = st.floats(-1e15, 1e15)
ID = st.integers(0, 2**53)
FLOATS = st.lists(st.floats(width=32, allow_infinity=False), max_size=20).map(m.Floats)
ACTIONS = st.one_of(
    st.builds(m.Goal, REAL, REAL, st.floats(1e-3, 1.0)),
    st.builds(m.Route, st.lists(st.tuples(REAL, REAL), min_size=1, max_size=20)),
    st.builds(m.Motors, st.lists(REAL, max_size=8), st.lists(REAL, max_size=8), st.just(1.0)),
    st.builds(m.Drive, REAL, REAL, st.floats(0.1, 100)),
    st.builds(m.Wait, st.floats(0.1, 100)),
    st.builds(m.Other, st.text(min_size=1, max_size=10), st.just({"a": 1.5})),
)
CHANGES = st.builds(
    m.Change, ID, ID, st.sampled_from(["done", "expired"]), REAL, st.text(max_size=20)
)
DOWN = {"sent": REAL, "echo": st.none() | REAL, "heard": st.none() | REAL, "hold": ID}
MESSAGES = st.one_of(
    st.builds(
        m.Order, sent=REAL, id=ID, expires=REAL, after=ID, replace=st.booleans(), action=ACTIONS
    ),
    st.builds(m.Stop, sent=REAL, id=ID, reason=st.text(max_size=50)),
    st.builds(m.Resume, sent=REAL, id=ID, hold=ID),
    st.builds(m.Flush, sent=REAL, id=ID, current=st.booleans()),
    st.builds(m.Ping, sent=REAL, confirmed=ID),
    st.builds(m.Report, **DOWN, oldest=ID, changes=st.lists(CHANGES, max_size=12)),
    st.builds(
        m.Telemetry, **DOWN, number=ID, time=REAL, position=FLOATS, slips=FLOATS,
        values=st.dictionaries(st.text(min_size=1, max_size=8), REAL, max_size=4),
        state=st.binary(max_size=32),
    ),
    st.builds(m.Event, **DOWN, number=ID, kind=st.just("safe"), grave=st.integers(0, 2)),
)  # fmt: skip


def framed(body: bytes, version: int = m.VERSION) -> bytes:
    body = bytes([version]) + body
    return body + zlib.crc32(body).to_bytes(4, "big")


@settings(max_examples=150, deadline=None)
@given(MESSAGES)
def test_what_is_encoded_comes_out_again(message):
    assert m.decode(m.encode(message)) == message


@settings(max_examples=100, deadline=None)
@given(MESSAGES, st.data())
def test_a_flipped_bit_is_always_noticed(message, data):
    frame = bytearray(m.encode(message))
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[bit // 8] ^= 1 << bit % 8
    with pytest.raises(m.Refused):
        m.decode(bytes(frame))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_nonsense_is_refused_counted_and_never_crashes(data, whole):
    inbox = m.Inbox((*m.UPWARD, *m.DOWNWARD))
    message = inbox.open(framed(data) if whole else data)
    if message is None:
        assert sum(inbox.refused.values()) == 1 and set(inbox.refused) <= set(m.CAUSES)
        assert inbox.last_refusal and "\n" not in inbox.last_refusal
    else:
        assert inbox.accepted == 1


@pytest.mark.parametrize(
    ("data", "cause", "words"),
    [
        (b"", "short", "too few"),
        (bytes(m.MAX_BYTES + 1), "oversized", str(m.MAX_BYTES)),
        (framed(msgspec.msgpack.encode([5, 1.0, 0]), version=9), "version", "version 9"),
        (m.encode(m.Ping(sent=1.0))[:-1], "checksum", "damaged"),
        (framed(msgspec.msgpack.encode([5, math.nan, 0])), "malformed", "Ping.sent"),
        (framed(msgspec.msgpack.encode([5, 1.0, -3])), "malformed", "Ping.confirmed"),
        (framed(msgspec.msgpack.encode([77, 1.0])), "malformed", "77"),
        (framed(b"\x91" * 2000 + b"\x00"), "malformed", "message"),
        (framed(msgspec.msgpack.encode([1, 1.0, 0, 5, 9.0, 0, False, ["d", math.inf, 0, 1]])),
         "malformed", "Order.action"),
    ],
)  # fmt: skip
def test_refusals_name_their_cause(data, cause, words):
    inbox = m.Inbox(m.UPWARD)
    assert inbox.open(data) is None
    assert dict(inbox.refused) == {cause: 1} and words in inbox.last_refusal


def test_messages_of_the_other_direction_are_refused():
    inbox = m.Inbox(m.DOWNWARD)
    assert inbox.open(m.encode(m.Ping(sent=0.0))) is None
    assert dict(inbox.refused) == {"direction": 1}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: m.encode(m.Stop(sent=math.nan, id=1)), "Stop.sent"),
        (lambda: m.encode(m.Flush(sent=0.0, id=-1)), "Flush.id"),
        (lambda: m.encode(m.Order(sent=0, id=1, expires=1, action=m.Drive(0, 0, 0))), "action"),
        (lambda: m.encode(m.Telemetry(sent=0, number=1, time=0, values=dict.fromkeys(
            map(str, range(65)), 0.0))), "Telemetry.values"),
        (lambda: m.encode(m.Telemetry(sent=0, number=1, time=0, joints=m.Floats([0.0] * 1100))),
         "more than"),
        (lambda: m.Floats([math.inf]), "finite"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_not_sent(make, words):
    with pytest.raises(InputError, match=words):
        make()


def examples() -> dict[str, m.Message]:
    """Messages of a six-wheeled rover with twelve joints, as the documentation lists them."""
    t, f = 1e6 / 3, lambda n: m.Floats([0.1] * n)
    down = {"sent": t, "echo": t, "heard": t}
    order = {"sent": t, "confirmed": 50, "id": 1000, "expires": t, "after": 999}
    return {
        "Order, Goal": m.Order(**order, action=m.Goal(1.1, 2.2)),
        "Order, Route of 10 points": m.Order(**order, action=m.Route([(0.1, 0.2)] * 10)),
        "Order, Drive": m.Order(**order, action=m.Drive(0.04, 0.01, 5.0)),
        "Order, Motors of 6 wheels": m.Order(**order, action=m.Motors([0.1] * 6, [0.1] * 6, 5.0)),
        "Stop": m.Stop(sent=t, confirmed=50, id=1000),
        "Resume": m.Resume(sent=t, confirmed=50, id=1000, hold=1),
        "Flush": m.Flush(sent=t, confirmed=50, id=1000),
        "Ping": m.Ping(sent=t, confirmed=50),
        "Report, empty": m.Report(**down, oldest=50),
        "Report, one change": m.Report(
            **down, oldest=50, changes=[m.Change(50, 1000, "executing", t)]
        ),
        "Telemetry, pose alone": m.Telemetry(
            **down, number=1000, time=t, position=f(3), attitude=f(4)
        ),
        "Telemetry, all of 6 wheels and 12 joints": m.Telemetry(
            **down, number=1000, time=t, position=f(3), attitude=f(4), joints=f(12), wheels=f(6),
            slips=f(6), currents=f(6), loads=f(6), state=bytes(8),
        ),
        "Event, 40 letters": m.Event(**down, number=10, kind="safe", text="x" * 40, grave=2),
    }  # fmt: skip


def test_documented_sizes_are_those_of_the_messages():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "link.md"
    rows = dict(re.findall(r"^\| (\w[^|]*?) \| (\d+) \|", page.read_text("utf-8"), re.M))
    assert {name: int(rows[name]) for name in examples()} == {
        name: len(m.encode(message)) for name, message in examples().items()
    }
