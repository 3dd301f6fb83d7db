"""A sequence carried out by the predictor alone; and what was ordered, as a sequence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.messages import Command, Drive, Order, encode
from marsyard.operations.sequence import Sequence, make_sequence
from marsyard.operations.teleop.session import Preview
from marsyard.operations.teleop.vehicle import line_of

if TYPE_CHECKING:
    from marsyard.operations.operator_side import Entry
    from marsyard.operations.teleop.predictor import Arrival, Predictor

#: as far as a preview goes [s]
LONGEST = 1200.0
#: ids that are never sent
FIRST_ID = 2**52
#: a pause shorter than this is none [s]
PAUSE = 0.15


def preview(
    predictor: Predictor, actions: list[Command], arrivals: list[Arrival], offset: float = 0.0
) -> Preview:
    """Carry out commands after what is active, from where the rover will be; then go back."""
    world, vehicle = predictor.world, predictor.vehicle
    before = world.moment()
    mark = predictor.mark()
    predictor.feed(arrivals)
    ids = [FIRST_ID + k for k in range(len(actions))]
    for k, action in enumerate(actions):
        order = Order(
            sent=world.time, id=ids[k], expires=1e14, after=ids[k - 1] if k else 0, action=action,
        )  # fmt: skip
        world.give(encode(order), world.time)
    times, places, positions = [], [], []
    end = world.time + LONGEST
    while True:
        qpos = np.array(vehicle.simulation.qpos)
        times.append(world.time - offset)
        places.append(qpos[:3])
        positions.append(qpos)
        over = world.protocol.outcome(ids[-1]) not in (None, "acknowledged", "executing")
        if over or world.stopped or world.time >= end:
            break
        predictor.drive_to(world.time + vehicle.period)
    ellipse = predictor.prediction().ellipse
    outcomes = tuple(_outcome(predictor, id) for id in ids)
    world.restore(before)
    predictor.go_back(mark)
    return Preview(np.array(times), np.array(places), np.array(positions), ellipse, outcomes)


def _outcome(predictor: Predictor, id: int) -> str:
    protocol = predictor.world.protocol
    how = protocol.outcome(id) or "not begun"
    why = protocol.reason(id)
    return f"{how}: {why}" if why else str(how)


def recorded(entries: list[Entry], layout: Any, title: str = "") -> Sequence:
    """What was ordered, as a sequence: each order until the next that took its place, and pauses
    between them. Times are those at which the rover began, where it told, else of the orders."""
    lines: list[dict[str, Any]] = []
    last_end: float | None = None
    for k, entry in enumerate(entries):
        if entry.kind != "order" or entry.action is None or not _was_driven(entry):
            continue
        begin = _begin(entry)
        cut = _cut(entries[k + 1 :])
        line = line_of(entry.action, layout)
        if last_end is not None and begin - last_end > PAUSE:
            lines.append({"wait": round(begin - last_end, 3)})
        ended = next(
            (entry.times[s] for s in ("done", "failed", "aborted") if s in entry.times), None
        )
        if isinstance(entry.action, Drive):
            lasts = min(entry.action.duration, (cut or math.inf) - begin)
            if lasts <= 1e-6:
                continue
            line["duration"] = round(lasts, 3)
            last_end = begin + lasts
            if _joined(lines, line):
                continue
        else:
            if cut is not None and (ended is None or cut < ended - 1e-6) and cut > begin:
                line["timeout"] = round(cut - begin, 3)
                ended = cut
            last_end = ended
        lines.append(line)
    if not lines:
        raise InputError("recorded: no commands were sent yet")
    return make_sequence({"title": f"commands sent: {title}", "sequence": lines}, "recorded")


def _was_driven(entry: Entry) -> bool:
    if entry.times:
        return "executing" in entry.times
    return entry.state not in ("cancelled", "expired", "refused", "lost")


def _begin(entry: Entry) -> float:
    return entry.times.get("executing", entry.given)


def _cut(later: list[Entry]) -> float | None:
    """When the next thing took the place of what was under way."""
    for entry in later:
        replaces = entry.kind == "order" and entry.replace and _was_driven(entry)
        if replaces:
            return _begin(entry)
        if entry.kind == "stop" or (entry.kind == "flush" and entry.current):
            return entry.times.get("acknowledged", entry.given)
    return None


def _joined(lines: list[dict[str, Any]], line: dict[str, Any]) -> bool:
    """Make the last line longer if this one goes on with the same."""
    if not lines or "steer" not in lines[-1]:
        return False
    same = {k: v for k, v in line.items() if k != "duration"}
    if {k: v for k, v in lines[-1].items() if k != "duration"} != same:
        return False
    lines[-1]["duration"] = round(lines[-1]["duration"] + line["duration"], 3)
    return True
