"""The command queue as an operator reads it: what of it is true here and now.

The operator's book (`operator_side.Entry`) holds what was sent and what the rover reported. Between
the two lies the delay of the link, and an emergency stop ends more than has been reported yet:

    sent, not yet there        on its way; the message arrives one uplink delay after it was sent
    sent, should be there      arrived, unless it was lost; the report is on its way back
    before a stop on its way   still valid at the rover until the stop arrives
    before a stop that the     ended, though the report of how is still on its way
    rover acknowledged

The same holds for flushes, resumes and orders that replace others. An acknowledged stop is in force
until a resume is acknowledged; acknowledged flushes and resumes are done. Neither counts as open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from marsyard.operations.operator_side import OPEN
from marsyard.operations.teleop.session import OrderShown
from marsyard.operations.teleop.vehicle import words_of

if TYPE_CHECKING:
    from marsyard.operations.operator_side import Entry, Operator

#: older entries than so many are over: the rover keeps fewer orders waiting
MOST = 400
#: what an entry other than an order is called
_NAMES = {"stop": "emergency stop", "flush": "flush", "resume": "resume"}


def command_words(entry: Entry) -> str:
    """What an entry of the book says, in words."""
    if entry.kind == "order" and entry.action is not None:
        return words_of(entry.action)
    return _NAMES[entry.kind]


def shown_orders(
    operator: Operator, now: float, delay: float, most: int = 200
) -> tuple[OrderShown, ...]:
    """The newest orders, oldest first; `delay` [s] is how long a message takes to the rover."""
    book = Book(operator, now, delay)
    return tuple(book.shown(entry) for entry in book.entries[-most:])


def queue_words(operator: Operator, now: float, delay: float) -> str:
    """The queue in one line, e.g. '1 under way, 2 waiting at the rover, 3 on their way'."""
    return Book(operator, now, delay).words()


class Book:
    """The operator's book at a time [s], with messages that take `delay` [s] to the rover."""

    def __init__(self, operator: Operator, now: float, delay: float) -> None:
        self.now, self.delay = now, delay
        newest = islice(reversed(operator.entries.values()), MOST)
        self.entries = list(newest)[::-1]
        controls = [e for e in self.entries if e.kind != "order" or e.replace]
        #: what ends earlier orders: on its way, and acknowledged by the rover
        self.coming = [e for e in controls if e.state in ("queued", "sent")]
        self.arrived = [e for e in controls if _reported(e)]
        self._resumed = max((e.id for e in self.arrived if e.kind == "resume"), default=0)

    def shown(self, entry: Entry) -> OrderShown:
        """An entry as it stands."""
        since = entry.history[-1][0] if entry.history else entry.given
        state, note = self._control(entry) if entry.kind != "order" else self._order(entry)
        return OrderShown(
            entry.id, command_words(entry), state, since, note or entry.reason, self._is_open(entry)
        )

    def words(self) -> str:
        """All that is open, in one line."""
        orders = [e for e in self.entries if e.kind == "order" and e.state in OPEN]
        unreported = [e for e in orders if self._ended_by(e) is not None]
        live = [e for e in orders if self._ended_by(e) is None]
        stop = next((e for e in reversed(self.coming) if e.kind == "stop"), None)
        parts = self._counts(live)
        if unreported:
            parts.append(f"{len(unreported)} ended, report pending")
        if stop is not None:
            ended = [e for e in live if e.id < stop.id]
            if self._is_there(stop):
                then = f" and ended {len(ended)}" if ended else ""
                return f"stop {stop.id} should have arrived{then}; its report is awaited"
            then = f", ends {len(ended)}" if ended else ""
            return "; ".join([f"stop {stop.id} {self._arrival(stop)}{then}", *_joined(parts)])
        if self._stopped() is not None:
            return "; ".join(["stopped", *(_joined(parts) or ["nothing waiting"])])
        return ", ".join(parts)

    # --- one entry

    def _is_open(self, entry: Entry) -> bool:
        if entry.kind == "order":
            return entry.state in OPEN and self._ended_by(entry) is None
        return entry.state in ("queued", "sent")

    def _control(self, entry: Entry) -> tuple[str, str]:
        """State of a stop, flush or resume, and what there is to say of it."""
        if entry.state == "acknowledged":
            if entry.kind != "stop":
                return "done", ""
            in_force = self._stopped()
            return ("in force" if in_force is entry else "over"), entry.reason
        if entry.state in ("queued", "sent"):
            tries = f"; sent {entry.tries} times" if entry.tries > 1 else ""
            return entry.state, self._arrival(entry) + tries
        return entry.state, ""

    def _order(self, entry: Entry) -> tuple[str, str]:
        ended_by = self._ended_by(entry)
        if ended_by is not None:
            return "ended", f"by {_name(ended_by)} at the latest; the report is on its way"
        if entry.state not in OPEN:
            return entry.state, ""
        coming = self._coming_for(entry)
        if coming is not None:
            if self._is_there(coming):
                return entry.state, f"{_name(coming)} should have ended it; the report is awaited"
            return entry.state, f"until {_name(coming)}, which {self._arrival(coming)}"
        if entry.state in ("queued", "sent"):
            return entry.state, self._arrival(entry)
        return entry.state, ""

    def _arrival(self, entry: Entry) -> str:
        """Where a message without an answer is."""
        left = self._left(entry)
        if math.isnan(left):
            return "is not sent yet"
        if left > 0.05:
            return f"arrives in {left:.1f} s"
        return "should have arrived; its report is awaited"

    def _left(self, entry: Entry) -> float:
        """How long a message is still on its way [s]; NaN before it is sent."""
        # what is sent again was sent before: the first try arrives first
        sent = next((time for time, state in entry.history if state == "sent"), math.nan)
        return sent + self.delay - self.now

    def _is_there(self, entry: Entry) -> bool:
        """Whether a message should have arrived."""
        return self._left(entry) <= 0.05

    def _counts(self, orders: Iterable[Entry]) -> list[str]:
        """How many orders are where, nearest to being carried out first."""
        places = dict.fromkeys(
            ("under way", "waiting at the rover", "sent, report awaited", "on the way up",
             "not sent yet"), 0,
        )  # fmt: skip
        for entry in orders:
            where = {"executing": "under way", "acknowledged": "waiting at the rover",
                     "queued": "not sent yet"}.get(entry.state, "on the way up")  # fmt: skip
            if entry.state == "sent" and self._is_there(entry):
                where = "sent, report awaited"
            places[where] += 1
        return [f"{count} {where}" for where, count in places.items() if count]

    # --- what ends an order

    def _ended_by(self, entry: Entry) -> Entry | None:
        """What the rover acknowledged that left nothing of an order, if it is not reported yet."""
        if entry.kind != "order" or entry.state not in (*OPEN, "lost"):
            return None
        return next((e for e in self.arrived if _ends(e, entry)), None)

    def _coming_for(self, entry: Entry) -> Entry | None:
        """What is on its way that will end an order."""
        return next((e for e in self.coming if _ends(e, entry)), None)

    def _stopped(self) -> Entry | None:
        """The stop that is in force, if there is one."""
        stops = [e for e in self.arrived if e.kind == "stop" and e.id > self._resumed]
        return stops[-1] if stops else None


def _reported(entry: Entry) -> bool:
    """Whether the rover has said that it took a control, or began an order."""
    if entry.kind == "order":
        return bool(entry.times) and entry.state not in ("refused", "expired", "cancelled")
    return entry.state == "acknowledged"


def _ends(control: Entry, entry: Entry) -> bool:
    """Whether a control leaves nothing of an order when it arrives."""
    if control.id <= entry.id:
        return False
    if control.kind == "flush" and not control.current:
        return entry.state in ("sent", "acknowledged")
    return True


def _name(control: Entry) -> str:
    """What ends an order, with its number."""
    return f"{_NAMES.get(control.kind, 'order')} {control.id}"


def _joined(parts: list[str]) -> list[str]:
    return [", ".join(parts)] if parts else []
