"""The operator's end of the protocol: orders and what became of them, and the state of the link.

Rules in `marsyard.operations.protocol`.

    id = operator.order(Goal(3.0, 1.0), now, lifetime=60.0)
    operator.stop(now); operator.flush(now); operator.resume(now)
    operator.view(now).words           # what an operator has to know, in sentences
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

from marsyard.errors import InputError
from marsyard.operations.messages import (
    DOWNWARD,
    PRIORITY,
    Action,
    Change,
    Downward,
    Event,
    Flush,
    Inbox,
    Mode,
    Order,
    Ping,
    Report,
    Resume,
    Stop,
    Telemetry,
    Upward,
    encode,
)
from marsyard.operations.protocol import Backoff, Clock, Gaps, Outgoing, ProtocolSettings

#: states of an order at the operator; those after "sent" are reported by the rover, but "lost"
STATES = (
    "queued", "sent", "acknowledged", "executing", "done", "failed", "aborted", "cancelled",
    "expired", "refused", "lost",
)  # fmt: skip
#: in which an order can still come to something
OPEN = ("queued", "sent", "acknowledged", "executing")

#: what is not sent any more after each kind: the rover would take no notice of it
_VOIDS = {
    "order": ("order",),
    "flush": ("order", "flush"),
    "resume": ("order", "flush", "resume"),
    "stop": ("order", "flush", "resume", "stop"),
}

LinkState = Literal["none", "good", "late", "lost"]


@dataclass
class Entry:
    """One order, stop, resume or flush in the operator's book.

    Attributes:
        id, kind: "order", "stop", "resume" or "flush". action: of an order.
        state: one of `STATES`. reason: for it, by the rover.
        given: when [s]. expires: latest begin, by the operator's clock [s].
        tries: how often it was sent, sent_at: the last time [s]. history: states and when they were
            known here [s]. times: when they were entered, by the rover's clock [s].
        answer_by: when an answer to the last try should have come [s].
    """

    id: int
    kind: str
    given: float
    expires: float
    action: Action | None = None
    after: int = 0
    replace: bool = False
    state: str = "queued"
    reason: str = ""
    history: list[tuple[float, str]] = field(default_factory=list)
    hold: int = 0
    current: bool = False
    again: Backoff | None = None
    changed: int = 0
    tries: int = 0
    sent_at: float = -math.inf
    answer_by: float = -math.inf
    times: dict[str, float] = field(default_factory=dict)

    def set(self, state: str, now: float, reason: str = "") -> None:
        """Enter a state."""
        if state != self.state:
            self.history.append((now, state))
        self.state, self.reason = state, reason


@dataclass(frozen=True)
class View:
    """What the operator knows at a time; ages and delays in [s], none if not known.

    Attributes:
        link: "none" (never heard), "good", "late", "lost". silence: since anything was heard.
        mode, hold: of the rover, as last heard. stopping: a stop is not acknowledged yet.
        age: of the newest telemetry, since it was measured.
        round_trip, delay: measured; delay is half of it. offset: of the rover's clock.
        missing, late: telemetry messages that did not come, or after newer ones.
        refused: messages that could not be used. orders: how many by state.
        words: the same in sentences, the most urgent first.
    """

    link: LinkState
    silence: float | None
    mode: Mode
    hold: int
    stopping: bool
    age: float | None
    round_trip: float | None
    delay: float | None
    offset: float | None
    missing: int
    late: int
    refused: int
    orders: dict[str, int]
    words: list[str]


class Operator:
    """The operator's end.

    Args:
        settings: of the protocol.
        first_id: of orders; must be above all ids ever sent to this rover.

    Attributes:
        entries: all that was ordered, by id. telemetry: the newest. events: the last ones.
        mode, hold: of the rover, as last heard. gaps: of telemetry. clock: delay and offset.
        inbox: counts what was refused. lost_changes: of the rover's log, if it overflowed.
    """

    def __init__(self, settings: ProtocolSettings | None = None, first_id: int = 1):
        self.settings = settings or ProtocolSettings()
        if first_id < 1:
            raise InputError(f"first_id: {first_id} must be at least 1")
        self.entries: dict[int, Entry] = {}
        self.telemetry: Telemetry | None = None
        self.events: deque[Event] = deque(maxlen=200)
        self.mode: Mode = "nominal"
        self.hold = 0
        self.gaps, self.clock = Gaps(), Clock()
        self.inbox = Inbox(DOWNWARD)
        self.lost_changes = 0
        self._next_id = first_id
        self.last_order = 0
        self._now = -math.inf
        self._heard_at: float | None = None
        self._newest = -math.inf
        self._confirmed = 0
        self._above: set[int] = set()
        self._confirm_now = False
        self._sent_at = -math.inf
        self._pending: list[Entry] = []
        self._lost: list[Entry] = []
        self._voids: list[tuple[int, int]] = []

    @property
    def now(self) -> float:
        """The latest time it was told [s]."""
        return self._now

    # to the rover -----------------------------------------------------------------------------

    def order(
        self,
        action: Action,
        now: float,
        *,
        lifetime: float,
        after: int | None = None,
        replace: bool = False,
    ) -> int:
        """Give an order that may begin until `lifetime` [s] from now; returns its id.

        It begins when the order before it is done (`after` another, 0: none), or at once in place
        of all others (`replace`).
        """
        self._advance(now)
        if not lifetime > 0.0:
            raise InputError(f"lifetime: {lifetime:g} s must be above 0")
        if after is not None and after and after not in self.entries:
            raise InputError(f"after: there is no order {after}")
        if after is None:
            last = self.entries.get(self.last_order)
            chained = last is not None and not replace and last.state in (*OPEN, "done")
            after = self.last_order if chained else 0
        entry = self._enter("order", now, expires=now + lifetime)
        entry.action, entry.after, entry.replace = action, after, replace
        try:
            encode(self._message(entry, now))
        except InputError:
            self._take_back(entry)
            raise
        self.last_order = entry.id
        if replace:
            self._superseded(entry, now)
        return entry.id

    def stop(self, now: float, reason: str = "") -> int:
        """Emergency stop: repeated until the rover acknowledges it; returns its id."""
        self._advance(now)
        entry = self._enter("stop", now)
        entry.reason = reason[:200]
        self._superseded(entry, now)
        return entry.id

    def flush(self, now: float, *, current: bool = False) -> int:
        """Forget all orders given so far, also the active one if `current`; returns its id."""
        self._advance(now)
        entry = self._enter("flush", now)
        entry.current = current
        self._superseded(entry, now)
        return entry.id

    def resume(self, now: float) -> int:
        """Accept commands again after a stop, or after the hold that was heard of; returns its
        id.
        """
        self._advance(now)
        entry = self._enter("resume", now)
        entry.hold = self.hold
        self._superseded(entry, now)
        return entry.id

    def _enter(self, kind: str, now: float, expires: float = math.inf) -> Entry:
        entry = Entry(self._next_id, kind, now, expires, again=Backoff(self.settings))
        entry.history.append((now, "queued"))
        self.entries[entry.id] = entry
        self._pending.append(entry)
        self._next_id += 1
        return entry

    def _take_back(self, entry: Entry) -> None:
        del self.entries[entry.id]
        self._pending.remove(entry)

    def _superseded(self, by: Entry, now: float) -> None:
        """What `by` makes void is not sent any more; what never left is cancelled."""
        self.last_order = by.id if by.kind == "order" else 0
        for entry in [e for e in self._pending if e.kind in _VOIDS[by.kind] and e is not by]:
            entry.again = None
            by.current |= entry.current
            # an order that left may be under way: only the rover knows
            if entry.state == "queued" or entry.kind != "order":
                entry.set("cancelled", now, f"{by.kind} {by.id} replaces it")
                self._pending.remove(entry)

    def message(self, entry: Entry) -> Upward:
        """What was or will be sent for an entry, with the time of its last or next try."""
        return self._message(entry, entry.sent_at if entry.tries else self._now)

    def _message(self, entry: Entry, now: float) -> Upward:
        head: dict[str, Any] = {"sent": now, "confirmed": self._confirmed, "id": entry.id}
        if entry.kind == "stop":
            return Stop(**head, reason=entry.reason)
        if entry.kind == "flush":
            return Flush(**head, current=entry.current)
        if entry.kind == "resume":
            return Resume(**head, hold=entry.hold)
        assert entry.action is not None
        # the rover judges by its own clock
        expires = entry.expires + (self.clock.offset or 0.0)
        return Order(
            **head, expires=expires, after=entry.after, replace=entry.replace, action=entry.action
        )

    def outgoing(self, now: float, is_open: bool = True) -> list[Outgoing]:
        """What is to be sent now; nothing while the link is closed."""
        self._advance(now)
        out: list[Outgoing] = []
        if not is_open:
            return out
        for entry in sorted(self._pending, key=lambda e: (e.kind != "stop", e.id)):
            again = entry.again
            over = entry.tries >= self.settings.tries and entry.kind == "order"
            if again is None or now < again.due or over:
                continue
            out.append(self._frame(self._message(entry, now)))
            again.sent(now, self.clock.round_trip or 0.0)
            entry.tries += 1
            entry.sent_at, entry.answer_by = now, again.due
            if entry.kind == "stop":
                again.due = now + self.settings.stop_repeat
            if entry.state == "queued":
                entry.set("sent", now, entry.reason)
        quiet = now >= self._sent_at + self.settings.heartbeat
        if not out and (quiet or self._confirm_now):
            out.append(self._frame(Ping(sent=now, confirmed=self._confirmed)))
        if out:
            self._sent_at, self._confirm_now = now, False
        return out

    @staticmethod
    def _frame(message: Upward) -> Outgoing:
        return Outgoing(encode(message), PRIORITY[type(message)])

    def next_event(self) -> float:
        """When `outgoing` should be called at the latest [s]."""
        if self._confirm_now:
            return self._now
        times = [e.again.due for e in self._pending if e.again is not None]
        return max(self._now, min([self._sent_at + self.settings.heartbeat, *times]))

    def _advance(self, now: float) -> None:
        if not now >= self._now:
            raise InputError(f"now: {now:g} s is before {self._now:g} s; time cannot run backwards")
        self._now = now
        for entry in list(self._pending):
            if entry.kind != "order":
                continue
            if entry.state == "queued":
                if now > entry.expires:
                    entry.set("expired", now, "before it could be sent")
                    self._pending.remove(entry)
                continue
            given_up = entry.again is None or entry.tries >= self.settings.tries
            if (now > entry.expires or given_up) and now >= entry.answer_by:
                entry.set(
                    "lost", now, f"not answered after {_counted(entry.tries, 'try', 'tries')}"
                )
                self._pending.remove(entry)
                self._lost.append(entry)

    # from the rover ---------------------------------------------------------------------------

    def incoming(self, data: bytes, now: float) -> None:
        """Take a frame from the link."""
        self._advance(now)
        message = self.inbox.open(data)
        if not isinstance(message, Downward):
            return
        self._heard_at = now
        if message.echo is not None and message.heard is not None:
            self.clock.sample(message.echo, message.heard, message.sent, now)
        if message.sent >= self._newest:
            self._newest, self.mode, self.hold = message.sent, message.mode, message.hold
        if isinstance(message, Telemetry):
            if self.gaps.take(message.number):
                self.telemetry = message
        elif isinstance(message, Event):
            self.events.append(message)
        else:
            self._take_report(message, now)

    def _take_report(self, report: Report, now: float) -> None:
        for change in report.changes:
            # an answer is due even to what is known: the confirmation may have been lost
            self._confirm_now = True
            if change.number > self._confirmed and change.number not in self._above:
                self._above.add(change.number)
                self._take_change(change, now)
        # what the rover does not keep any more will never come
        while self._confirmed + 1 < report.oldest or self._confirmed + 1 in self._above:
            self._confirmed += 1
            if self._confirmed in self._above:
                self._above.discard(self._confirmed)
            else:
                self.lost_changes += 1
        self._settle(now)

    def _take_change(self, change: Change, now: float) -> None:
        entry = self.entries.get(change.id)
        if entry is None:
            return
        entry.times[change.outcome] = change.time
        if change.number < entry.changed:
            return
        entry.changed = change.number
        entry.set(change.outcome, now, change.reason)
        if change.outcome == "acknowledged" and (entry.kind != "order" or entry.replace):
            self._voids.append((change.number, entry.id))
        if entry in self._pending:
            self._pending.remove(entry)

    def _settle(self, now: float) -> None:
        """Orders before an acknowledged flush, stop or resume that the rover never heard of.

        Only once all changes before that one are known.
        """
        settled = [id for number, id in self._voids if number <= self._confirmed]
        if not settled:
            return
        self._voids = [v for v in self._voids if v[0] > self._confirmed]
        for entry in [*self._pending, *self._lost]:
            silent = entry.kind == "order" and entry.state in ("sent", "lost")
            if silent and entry.id < max(settled):
                entry.set("cancelled", now, f"it never arrived and expired at {max(settled)}")
        self._pending = [e for e in self._pending if e.state != "cancelled"]
        self._lost = [e for e in self._lost if e.state == "lost"]

    # what is known ----------------------------------------------------------------------------

    def link_state(self, now: float) -> LinkState:
        """How the link looks from here."""
        if self._heard_at is None:
            return "none"
        silence = now - self._heard_at
        if silence > self.settings.lost:
            return "lost"
        return "late" if silence > self.settings.late else "good"

    @property
    def stopping(self) -> bool:
        """Whether an emergency stop is not acknowledged yet."""
        return any(e.kind == "stop" for e in self._pending)

    def view(self, now: float) -> View:
        """What is known at `now` [s]."""
        self._advance(now)
        trip, offset = self.clock.round_trip, self.clock.offset
        age = None
        if self.telemetry is not None:
            age = now - (self.telemetry.sent - (offset or 0.0))
        orders: dict[str, int] = {}
        for entry in self.entries.values():
            if entry.kind == "order":
                orders[entry.state] = orders.get(entry.state, 0) + 1
        return View(
            link=self.link_state(now),
            silence=None if self._heard_at is None else now - self._heard_at,
            mode=self.mode,
            hold=self.hold,
            stopping=self.stopping,
            age=age,
            round_trip=trip,
            delay=None if trip is None else trip / 2,
            offset=offset,
            missing=self.gaps.missing,
            late=self.gaps.late,
            refused=sum(self.inbox.refused.values()),
            orders=orders,
            words=self._words(now),
        )

    def _words(self, now: float) -> list[str]:
        words = []
        for stop in (e for e in self._pending if e.kind == "stop"):
            since = f"for {now - stop.given:.1f} s"
            words.append(
                f"Emergency stop {stop.id} not acknowledged {since}, sent "
                f"{_counted(stop.tries, 'time', 'times')}."
            )
        state = self.link_state(now)
        if state == "none":
            words.append("Nothing heard from the rover yet.")
        elif state != "good" and self._heard_at is not None:
            words.append(f"Link {state}: nothing heard for {now - self._heard_at:.1f} s.")
        if self.mode == "stopped":
            words.append("The rover is held by an emergency stop; press Resume to continue.")
        elif self.mode == "safe":
            rule = (
                "it waits for Resume"
                if self.settings.resume == "operator"
                else "it continues on its own"
            )
            words.append(f"The rover stopped itself because the link was silent; {rule}.")
        lost = [e.id for e in self._lost if e.state == "lost"]
        if lost:
            said = _counted(len(lost), "order was", "orders were")
            words.append(f"{said} never answered, the last is {lost[-1]}.")
        return words


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
