"""Sequences as texts that are put together at the desk: reading, changing, saying in words.

The text is what counts. `read_text` says in one sentence what is wrong with it; `changed` gives the
text after a command was added, moved or removed.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

import yaml

from marsyard.errors import InputError
from marsyard.library import read_yaml_text
from marsyard.operations.sequence import Sequence, make_sequence, sequence_text
from marsyard.scenario.drive import command_kind

MOST = 500  # commands
DEEPEST = 50  # brackets within brackets


def read_text(text: str) -> Sequence:
    """The sequence of a text, or an InputError of one sentence."""
    # the time YAML takes grows with the square of the depth: a minute for a page of brackets
    if _depth(text) > DEEPEST:
        raise InputError("sequence: brackets are nested too deeply")
    try:
        # a few lines of references could stand for gigabytes
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise InputError(
                "sequence: YAML references (*name) are not supported here; write the value out"
            )
    except yaml.YAMLError:
        pass  # said by the next line, with its place
    except RecursionError:
        raise InputError("sequence: brackets are nested too deeply") from None
    try:
        sequence = make_sequence(read_yaml_text(text, "sequence"))
    except RecursionError:
        raise InputError("sequence: brackets are nested too deeply") from None
    if len(sequence.sequence) > MOST:
        raise InputError(f"sequence: {len(sequence.sequence)} commands are more than {MOST}")
    return sequence


def _depth(text: str) -> int:
    """How many brackets are open at once, at most."""
    depth = most = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def changed(text: str, change: str, at: int = 0, line: str = "") -> str:
    """The text after a change: "add" the command of a line at the end, move the one at a place
    "up" or "down", or "remove" it. The last one's removal leaves no text.

    Where each command has a line of its own, lines are moved and stay as they were written.
    """
    if change == "add":
        return _with(text, line.strip())
    sequence = read_text(text)
    commands = list(sequence.sequence)
    if at >= len(commands):
        raise InputError(f"sequence: there is no command {at + 1}, only {len(commands)}")
    _move(commands, change, at)
    if not commands:
        return ""
    wanted = sequence.model_copy(update={"sequence": tuple(commands)})
    return _same_or_new(_moved_lines(text, change, at), wanted)


def _with(text: str, line: str) -> str:
    """A text with one more command."""
    first = f"sequence:\n  - {line}\n"
    added = read_text(first)
    if not text.strip():
        return first
    before = read_text(text)
    wanted = before.model_copy(update={"sequence": (*before.sequence, *added.sequence)})
    return _same_or_new(f"{text.rstrip()}\n  - {line}\n", wanted)


def _move(items: list[Any], change: str, at: int) -> None:
    item = items.pop(at)
    if change != "remove":
        items.insert(max(at - 1, 0) if change == "up" else at + 1, item)


def _moved_lines(text: str, change: str, at: int) -> str:
    """The text with the line of the command at a place moved, if each has one that begins so."""
    lines = text.splitlines(keepends=True)
    places = [k for k, line in enumerate(lines) if line.lstrip().startswith("- ")]
    if at >= len(places):
        return ""
    commands = [lines[k] for k in places]
    _move(commands, change, at)
    if change == "remove":
        lines.pop(places.pop())
    for k, command in zip(places, commands, strict=True):
        lines[k] = command
    return "".join(lines)


def _same_or_new(text: str, wanted: Sequence) -> str:
    """A text if it says what is wanted, else a new one that does."""
    with contextlib.suppress(InputError):
        if read_text(text) == wanted:
            return text
    return sequence_text(wanted)


def words_of(command: Any) -> str:
    """A command in a few words."""
    kind = command_kind(command)
    speed = f" at {100 * command.speed:.3g} cm/s" if hasattr(command, "speed") else ""
    if kind == "goal":
        said = f"to {_place(command.goal)}{speed}"
    elif kind == "path":
        back = "backwards " if command.backwards else ""
        said = f"{back}along {len(command.path)} points to {_place(command.path[-1])}{speed}"
    elif kind == "arc":
        said = f"{_arc(command.arc)}{speed}"
    elif kind == "turn":
        by = command.turn is not None
        angle = math.degrees(command.turn if by else command.turn_to)
        said = f"by {angle:+.4g}°" if by else f"to heading {angle:.4g}°"
    elif kind == "crab":
        said = f"{command.length:.4g} m towards {math.degrees(command.crab):+.4g}°{speed}"
    elif kind == "wait":
        held = isinstance(command.wait, str)
        said = f"until {command.wait}" if held else f"{command.wait:.4g} s"
    elif kind == "posture":
        named = isinstance(command.posture, str)
        said = command.posture if named else ", ".join(command.posture)
    else:
        said = f"wheels for {command.duration:.4g} s"
    return said + (f", until {command.until}" if command.until and kind != "wait" else "")


def _place(at: tuple[float, float]) -> str:
    return f"({at[0]:.2f}, {at[1]:.2f}) m"


def _arc(arc: Any) -> str:
    """Length, and how it bends."""
    if arc.bend == 0.0:
        return f"straight {arc.distance:.4g} m"
    side = "left" if arc.bend > 0 else "right"
    return f"{arc.distance:.4g} m, radius {abs(1 / arc.bend):.4g} m to the {side}"


def told(sequence: Sequence) -> list[dict[str, str]]:
    """The commands for the page: what kind, in which words, with which note."""
    return [
        {"kind": command_kind(c), "words": words_of(c), "note": c.note} for c in sequence.sequence
    ]
