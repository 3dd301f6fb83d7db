"""The rover's end of the protocol: its queue of orders, emergency stop and watchdog.

Rules in `marsyard.operations.protocol`. What carries out orders calls, each control period,

    order = rover.update(now)          # the active order, none: stand
    rover.finish(now)                  # when it is done, or finish(now, done=False, reason="…")
    rover.telemetry(now, time=…, position=…)

Whenever `update` gives none the rover has to stand, whatever it did before.
"""

from __future__ import annotations

import bisect
import copy
import math
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.operations.messages import (
    PRIORITY,
    UPWARD,
    Change,
    Event,
    Floats,
    Flush,
    Inbox,
    Mode,
    Order,
    Outcome,
    Report,
    Resume,
    Stop,
    Telemetry,
    encode,
)
from marsyard.operations.protocol import Backoff, Outgoing, ProtocolSettings

#: changes in one report, so that it stays below the longest frame
_PER_REPORT = 12
#: oldest changes that a sign of life carries along
_PER_HEARTBEAT = 3
#: ids whose outcome is remembered, changes that are kept until confirmed, frames that wait
_MEMORY, _LOG, _OUTBOX = 10_000, 2_000, 1_000

_ENDED = ("done", "failed", "aborted", "cancelled", "expired", "refused")


class Rover:
    """The rover's end.

    Args:
        settings: of the protocol.
        now: when it begins to listen [s].

    Attributes:
        current: the active order, or none.
        hold: how often it stopped by itself. mode_since: when the mode changed last [s].
        duplicates: orders that came again. inbox: counts what was refused.
    """

    def __init__(self, settings: ProtocolSettings | None = None, now: float = 0.0):
        self.settings = settings or ProtocolSettings()
        self.inbox = Inbox(UPWARD)
        self.current: Order | None = None
        self.hold = 0
        self.mode_since = now
        self.duplicates = 0
        self._now = now
        self._silent_at = math.inf
        self._echo: float | None = None
        self._echo_heard: float | None = None
        self._queue: list[Order] = []
        self._outcomes: dict[int, Outcome] = {}
        self._floor = self._stop_id = self._resume_id = self._flush_id = 0
        self._safe = False
        self._log: list[Change] = []
        self._changes = self._told = self._confirmed = 0
        self._again = Backoff(self.settings)
        self._outbox: list[Outgoing] = []
        self._sent_at = -math.inf
        self._telemetry = self._events = 0

    @property
    def now(self) -> float:
        """The latest time it was told [s]."""
        return self._now

    @property
    def mode(self) -> Mode:
        """Nominal, stopped by the operator, or safe: stopped by itself."""
        if self._stop_id > self._resume_id:
            return "stopped"
        return "safe" if self._safe else "nominal"

    @property
    def waiting(self) -> list[Order]:
        """Orders that wait, in the order in which they will begin."""
        return list(self._queue)

    def outcome(self, id: int) -> Outcome | None:
        """What became of an order, as far as it is known here."""
        return self._outcomes.get(id)

    # time -------------------------------------------------------------------------------------

    def update(self, now: float) -> Order | None:
        """Let time pass: watchdog, expired orders, begin the next one; the active order."""
        self._advance(now)
        if self.current is None and self.mode == "nominal":
            self._begin(now)
        return self.current

    def finish(self, now: float, done: bool = True, reason: str = "") -> None:
        """The active order is done, or failed."""
        self._advance(now)
        if self.current is None:
            return  # stopped in the same moment
        self._change(self.current.id, "done" if done else "failed", now, reason)
        self.current = None

    def reason(self, id: int) -> str:
        """Why an order ended as it did, as far as the log still has it; '' where it does not
        say."""
        return next((c.reason for c in reversed(self._log) if c.id == id and c.reason), "")

    def copy(self) -> Rover:
        """An independent rover in the same state."""
        twin = copy.copy(self)
        twin.inbox = copy.copy(self.inbox)
        twin.inbox.refused = self.inbox.refused.copy()
        twin._queue, twin._outcomes = list(self._queue), dict(self._outcomes)
        twin._log, twin._outbox = list(self._log), list(self._outbox)
        twin._again = copy.copy(self._again)
        return twin

    def assume(self, now: float, mode: Mode, hold: int, order: int, ended: frozenset[int]) -> None:
        """Take over what the telemetry of the rover that this one stands for tells: its mode and
        hold, the active order (0: none), and the orders known to have ended."""
        self._advance(now)
        if mode == "safe" and not self._safe:
            self._go_safe(now, "told so")
        if mode != "safe" and self._safe:
            self._end_hold(now, "told so")
        self.hold = max(self.hold, hold)
        if self.current is not None and self.current.id != order and self.current.id in ended:
            self.finish(now, reason="told so")
        for waiting in [o for o in self._queue if o.id in ended]:
            self._queue.remove(waiting)
            self._outcomes[waiting.id] = "done"

    def next_event(self) -> float:
        """When `outgoing` or `update` should be called at the latest [s]."""
        times = [self._sent_at + self.settings.heartbeat, *(o.expires for o in self._queue)]
        if self._outbox or self._told < self._changes:
            return self._now
        if self._log:
            times.append(self._again.due)
        if not self._safe:
            times.append(self._silent_at)
        return max(self._now, min(times))

    def _advance(self, now: float) -> None:
        if not now >= self._now:
            raise InputError(f"now: {now:g} s is before {self._now:g} s; time cannot run backwards")
        if not self._safe and now >= self._silent_at:
            self._go_safe(self._silent_at, f"nothing heard for {self.settings.watchdog:g} s")
        self._now = now
        for order in [o for o in self._queue if now > o.expires]:
            self._queue.remove(order)
            self._change(order.id, "expired", now, "it waited too long")

    def _go_safe(self, now: float, why: str) -> None:
        was = self.mode
        self._safe = True
        self.hold += 1
        self._drop(now, why, math.inf, current=True)
        self._mode_changed(was, now, why)

    def _begin(self, now: float) -> None:
        """Begin the first order that is not held up by another."""
        for order in list(self._queue):
            hindrance = self._hindrance(order)
            if hindrance == "wait":
                continue
            self._queue.remove(order)
            if not hindrance:
                self.current = order
                self._change(order.id, "executing", now)
                return
            self._change(order.id, "refused", now, hindrance)

    def _hindrance(self, order: Order) -> str:
        """Why an order cannot begin: nothing, "wait", or a reason for ever."""
        before = self._outcomes.get(order.after)
        if not order.after or before == "done":
            return ""
        if before in _ENDED:
            return f"order {order.after} before it was {before}"
        return f"order {order.after} is forgotten" if order.after <= self._floor else "wait"

    # messages up ------------------------------------------------------------------------------

    def incoming(self, data: bytes, now: float) -> None:
        """Take a frame from the link."""
        self._advance(now)
        message = self.inbox.open(data)
        if message is None:
            return
        if self.settings.watchdog is not None:
            self._silent_at = now + self.settings.watchdog
        if self._echo is None or message.sent > self._echo:
            self._echo, self._echo_heard = message.sent, now
        self._confirm(message.confirmed)  # type: ignore[union-attr]
        if self._safe and self.settings.resume == "link":
            self._end_hold(now, "the link is back")
        if isinstance(message, Order):
            self._order(message, now)
        elif isinstance(message, Stop):
            self._stop(message, now)
        elif isinstance(message, Flush):
            self._flush(message, now)
        elif isinstance(message, Resume):
            self._resume(message, now)

    def _known(self, id: int) -> bool:
        """Whether an id was acted on before; then it is reported again."""
        if id not in self._outcomes:
            return False
        self.duplicates += 1
        self._again.reset()
        return True

    def _order(self, order: Order, now: float) -> None:
        if self._known(order.id):
            return
        if order.id <= self._floor:
            self.inbox.refuse("old", f"message: order {order.id} is too old to be remembered")
        elif order.id < self._flush_id:
            self._change(order.id, "cancelled", now, f"by {self._flush_id}")
        elif self.mode != "nominal":
            self._change(order.id, "refused", now, f"the rover is in mode {self.mode}")
        elif now > order.expires:
            self._change(order.id, "expired", now, f"it came {now - order.expires:.3g} s too late")
        elif len(self._queue) >= self.settings.queue and not order.replace:
            self._change(order.id, "refused", now, f"{len(self._queue)} orders wait already")
        else:
            if order.replace:
                self._flush_id = order.id
                self._drop(now, f"replaced by {order.id}", order.id, current=True)
            self._change(order.id, "acknowledged", now)
            bisect.insort(self._queue, order, key=lambda o: o.id)

    def _stop(self, stop: Stop, now: float) -> None:
        if self._known(stop.id):
            return
        was = self.mode
        self._stop_id = max(self._stop_id, stop.id)
        self._flush_id = max(self._flush_id, stop.id)
        why = f"emergency stop {stop.id}"
        stands = self.mode == "stopped"
        self._drop(now, why, math.inf if stands else stop.id, current=True)
        self._change(stop.id, "acknowledged", now)
        self._mode_changed(was, now, stop.reason or why)

    def _flush(self, flush: Flush, now: float) -> None:
        if self._known(flush.id):
            return
        self._flush_id = max(self._flush_id, flush.id)
        self._drop(now, f"flushed by {flush.id}", flush.id, current=flush.current)
        self._change(flush.id, "acknowledged", now)

    def _resume(self, resume: Resume, now: float) -> None:
        if self._known(resume.id):
            return
        if self._safe and resume.hold != self.hold:
            why = f"it ends hold {resume.hold}, the rover is in hold {self.hold}"
            self._change(resume.id, "refused", now, why)
            return
        was = self.mode
        self._resume_id = max(self._resume_id, resume.id)
        self._flush_id = max(self._flush_id, resume.id)
        self._drop(now, f"before resume {resume.id}", resume.id, current=True)
        self._safe = False
        self._change(resume.id, "acknowledged", now)
        self._mode_changed(was, now, f"resume {resume.id}")

    def _end_hold(self, now: float, why: str) -> None:
        was = self.mode
        self._safe = False
        self._mode_changed(was, now, why)

    def _drop(self, now: float, why: str, below: float, *, current: bool) -> None:
        """Cancel waiting orders with ids below, and abort the active one if `current`."""
        if current and self.current is not None and self.current.id < below:
            self._change(self.current.id, "aborted", now, why)
            self.current = None
        for order in [o for o in self._queue if o.id < below]:
            self._queue.remove(order)
            self._change(order.id, "cancelled", now, why)

    def _mode_changed(self, was: Mode, now: float, why: str) -> None:
        if self.mode != was:
            self.mode_since = now
            self.event(now, self.mode, why, grave=0 if self.mode == "nominal" else 2)

    # messages down ----------------------------------------------------------------------------

    def telemetry(self, now: float, *, time: float, **fields: Any) -> None:
        """Queue a message of the rover's state; lists of numbers become float32."""
        self._advance(now)
        unknown = [k for k in fields if k not in Telemetry.__struct_fields__]
        if unknown:
            valid = suggest(unknown[0], Telemetry.__struct_fields__)
            raise InputError(f"telemetry: unknown field '{unknown[0]}'; {valid}")
        made: dict[str, Any] = {k: Floats(v) if k in _LISTS else v for k, v in fields.items()}
        order = self.current.id if self.current else 0
        message = Telemetry(
            **self._head(now),
            number=self._telemetry + 1,
            time=time,
            order=order,
            waiting=len(self._queue),
            **made,
        )
        self._put(message)
        self._telemetry += 1

    def event(self, now: float, kind: str, text: str = "", grave: int = 0) -> None:
        """Queue a message that something happened."""
        self._events += 1
        head = self._head(now)
        self._put(Event(**head, number=self._events, kind=kind, text=text[:200], grave=grave))

    def outgoing(self, now: float, is_open: bool = True) -> list[Outgoing]:
        """What is to be sent now; nothing while the link is closed, but telemetry is kept."""
        self._advance(now)
        if not is_open:
            return []
        # new changes at once, and those not confirmed again from the oldest
        if self._told < self._changes:
            new = [c for c in self._log if c.number > self._told]
            for k in range(0, len(new), _PER_REPORT):
                self._report(new[k : k + _PER_REPORT], now)
            self._told = self._changes
            self._again.sent(now)
        elif self._log and now >= self._again.due:
            self._report(self._log[:_PER_REPORT], now)
            self._again.sent(now)
        if not self._outbox and now >= self._sent_at + self.settings.heartbeat:
            self._report(self._log[:_PER_HEARTBEAT], now)
        out, self._outbox = self._outbox, []
        if out:
            self._sent_at = now
        return out

    def _report(self, changes: list[Change], now: float) -> None:
        oldest = self._log[0].number if self._log else self._changes + 1
        self._put(Report(**self._head(now), oldest=oldest, changes=changes))

    def _head(self, now: float) -> dict[str, Any]:
        return {
            "sent": now,
            "echo": self._echo,
            "heard": self._echo_heard,
            "mode": self.mode,
            "hold": self.hold,
        }

    def _put(self, message: Any) -> None:
        self._outbox.append(Outgoing(encode(message), PRIORITY[type(message)]))
        # telemetry that could not be sent gives way, oldest first
        del self._outbox[:-_OUTBOX]

    def _change(self, id: int, outcome: Outcome, now: float, reason: str = "") -> None:
        self._changes += 1
        self._outcomes[id] = outcome
        self._log.append(Change(self._changes, id, outcome, now, reason[:200]))
        del self._log[:-_LOG]
        if len(self._outcomes) > _MEMORY:
            self._forget()

    def _forget(self) -> None:
        """Forget the outcome of the oldest half; their ids are refused from now on."""
        ended = sorted(i for i, o in self._outcomes.items() if o not in ("executing",))
        live = {o.id for o in self._queue} | {o.after for o in self._queue}
        for id in ended[: _MEMORY // 2]:
            if id in live:
                break
            del self._outcomes[id]
            self._floor = max(self._floor, id)

    def _confirm(self, number: int) -> None:
        if number > self._confirmed and number <= self._changes:
            self._confirmed = number
            self._log = [c for c in self._log if c.number > number]
            self._again.reset()
            if self._log:
                self._again.sent(self._now)


_LISTS = ("position", "attitude", "joints", "wheels", "slips", "currents", "loads")
