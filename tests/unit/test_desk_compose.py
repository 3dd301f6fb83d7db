"""Sequences put together as texts."""

from __future__ import annotations

import math

import pytest

from marsyard.errors import InputError
from marsyard.operations.desk.compose import MOST, changed, read_text, told

TEXT = """\
title: To and fro  # a remark
sequence:
  - {arc: {curvature: 0, length: 1 m}, speed: 5 cm/s}
  - {turn: 45 deg}  # half a right angle
  - {wait: 10 s}
"""


def test_a_text_is_a_sequence():
    sequence = read_text(TEXT)
    assert [c["kind"] for c in told(sequence)] == ["arc", "turn", "wait"]
    assert sequence.sequence[1].turn == pytest.approx(math.pi / 4)
    assert [c["words"] for c in told(sequence)] == ["straight 1 m at 5 cm/s", "by +45°", "10 s"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("{goal: [3, -1.234], speed: 4 cm/s}", "to (3.00, -1.23) m at 4 cm/s"),
        ("{path: [[0, 0], [1, 0], [1, 1]]}", "along 3 points to (1.00, 1.00) m at 4 cm/s"),
        ("{arc: {radius: -2, angle: -90 deg}}", "3.142 m, radius 2 m to the right at 4 cm/s"),
        ("{turn_to: 90 deg}", "to heading 90°"),
        ("{wait: speed < 1 mm/s}", "until speed < 1 mm/s"),
        ("{crab: 90 deg, length: 1}", "1 m towards +90° at 4 cm/s"),
        ("{turn: 10 deg, until: tilt > 9 deg}", "by +10°, until tilt > 9 deg"),
    ],
)
def test_commands_in_words(line, words):
    assert told(read_text(f"sequence:\n  - {line}\n"))[0]["words"] == words


@pytest.mark.parametrize(
    "text, said",
    [
        ("sequence: [", "line 1: not valid YAML"),
        ("a list", "holds no keys"),
        ("sequence: []", "sequence"),
        ("sequence: [{trun: 45 deg}]", "trun"),
        ("sequence: [{wait: 10 kg}]", "kg"),
        ("a: &a [1]\nsequence: [*a]", "references"),
        ("sequence: " + "[" * 5000, "too deeply"),
        (f"sequence: [{', '.join(['{wait: 1}'] * (MOST + 1))}]", f"more than {MOST}"),
    ],
)
def test_mistakes_are_told_in_a_sentence(text, said):
    with pytest.raises(InputError) as error:
        read_text(text)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_adding_keeps_the_rest_as_it_was_written():
    grown = changed(TEXT, "add", line="{turn: -45 deg}")
    assert grown == TEXT + "  - {turn: -45 deg}\n"
    first = changed("", "add", line="{wait: 2 s}")
    assert len(read_text(first).sequence) == 1


def test_adding_to_another_layout_writes_it_anew():
    flow = "sequence: [{wait: 1 s}]"
    kinds = [c["kind"] for c in told(read_text(changed(flow, "add", line="{turn: 1 deg}")))]
    assert kinds == ["wait", "turn"]


@pytest.mark.parametrize("text", [TEXT, "sequence: [{arc: {curvature: 0, length: 1 m}, speed: "
                                  "5 cm/s}, {turn: 45 deg}, {wait: 10 s}]"])  # fmt: skip
@pytest.mark.parametrize(
    "change, at, kinds",
    [
        ("up", 1, ["turn", "arc", "wait"]),
        ("up", 0, ["arc", "turn", "wait"]),
        ("down", 1, ["arc", "wait", "turn"]),
        ("down", 2, ["arc", "turn", "wait"]),
        ("remove", 1, ["arc", "wait"]),
        ("remove", 0, ["turn", "wait"]),
    ],
)
def test_commands_are_moved_and_removed(text, change, at, kinds):
    after = changed(text, change, at)
    assert [c["kind"] for c in told(read_text(after))] == kinds
    # each command says the same as before
    before = {c["kind"]: c["words"] for c in told(read_text(text))}
    assert all(before[c["kind"]] == c["words"] for c in told(read_text(after)))


def test_remarks_move_with_their_line():
    assert changed(TEXT, "up", 1).splitlines()[2] == "  - {turn: 45 deg}  # half a right angle"


def test_what_is_not_there_cannot_be_moved():
    with pytest.raises(InputError, match="no command 4, only 3"):
        changed(TEXT, "remove", 3)
    with pytest.raises(InputError):
        changed(TEXT, "add", line="{trun: 1}")
    assert changed("sequence:\n  - {wait: 1 s}\n", "remove", 0) == ""
