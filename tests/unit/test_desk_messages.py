"""What pages may say: bounds, unknown things, and texts that are no messages."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marsyard.operations.desk.messages import (
    KINDS,
    MAX_BYTES,
    WATCHING,
    Goal,
    Refused,
    Send,
    Stick,
    Stop,
    Take,
    read,
    write,
)


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"is": "stick", "forward": 0.5, "left": -1}', Stick(0.5, -1.0)),
        ('{"is": "stop"}', Stop()),
        ('{"is": "take", "free": true}', Take(True)),
        ('{"is": "goal", "x": 3, "y": -2.5}', Goal(3.0, -2.5)),
        ('{"is": "send", "text": "a: b"}', Send("a: b")),
    ],
)
def test_messages_are_read(text, message):
    assert read(text) == message == read(text.encode())


@pytest.mark.parametrize(
    "text, said",
    [
        ('{"is": "stick", "forward": 1.5, "left": 0}', "forward"),
        ('{"is": "stick", "forward": 0}', "left"),
        ('{"is": "stick", "forward": NaN, "left": 0}', "malformed"),
        ('{"is": "goal", "x": 1e9, "y": 0}', "x"),
        ('{"is": "goal", "x": "1", "y": 0}', "x"),
        ('{"is": "stop", "reason": "' + 201 * "a" + '"}', "reason"),
        ('{"is": "stop", "why": "a"}', "why"),
        ('{"is": "selfdestruct"}', "selfdestruct"),
        ('{"stop": true}', "is"),
        ("[]", "object"),
        ("", "truncated"),
        ('{"is": "stop"', "truncated"),
        ("[" * 30_000, ""),
        ("\ud800", ""),
    ],
)
def test_what_is_no_message_is_refused_in_a_sentence(text, said):
    with pytest.raises(Refused) as refused:
        read(text)
    assert refused.value.cause == "malformed" and said in str(refused.value)
    assert "\n" not in str(refused.value) and str(refused.value).startswith("message: ")


def test_a_message_that_is_too_long_is_refused():
    long = json.dumps({"is": "check", "text": "ä" * (MAX_BYTES // 2)}, ensure_ascii=False)
    with pytest.raises(Refused) as refused:
        read(long)
    assert refused.value.cause == "oversized" and str(MAX_BYTES) in str(refused.value)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_nothing_crashes(data):
    with contextlib.suppress(Refused):
        assert type(read(data)) in KINDS


def test_who_only_watches_may_stop_the_rover_but_not_move_it():
    assert Stop in WATCHING and Take in WATCHING
    assert not {Stick, Goal, Send} & set(WATCHING)


def test_numbers_of_numpy_can_be_sent_and_unknown_ones_are_null():
    sent = json.loads(write({"a": np.float64(1.5), "b": float("nan"), "c": [np.int64(2)]}))
    assert sent == {"a": 1.5, "b": None, "c": [2]}
