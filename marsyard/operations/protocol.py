"""How operator and rover agree over a link that delays, loses and repeats: rules and settings.

Pure logic: no network, no clock. Both ends are told the time with every call (`now` [s], never
backwards), take frames by `incoming`, give frames by `outgoing`, and say by `next_event` when they
want to be asked again. The same calls in the same order give the same bits. `Rover` and `Operator`
are plain objects: `copy.deepcopy` branches them.

**Ids.** Orders, stops, resumes and flushes of an operator share one rising count. What arrives in
another order than it was given is settled by the ids alone, not by the order of arrival:

- an id is acted on once; a repeated one is only reported again;
- the rover is *stopped* as long as the highest id of its stops is above that of its resumes;
- an order never begins if a flush, stop, resume or replacing order with a higher id was heard.

**Orders.** At the operator: `queued` → `sent` → what the rover reports: `acknowledged` →
`executing` → `done`, `failed` (by what carries it out) or `aborted` (stop, safe mode, flush,
replaced); or `cancelled`, `expired`, `refused`. `lost`: never answered, so its fate is unknown; a
late report corrects it. Orders begin in order of id. One that names another by `after` waits until
that is done and is refused if it ends otherwise, so that a sequence with a hole is not driven.
`expires` is the latest time to begin, by the rover's clock: on arrival and while waiting.

**Repetition.** What is not answered is sent again after w, b w, b² w, … with w the larger of
`repeat` and 1.5 times the measured round trip, b = `back_off`, at most `repeat_most` apart; orders
`tries` times and not after they expire, flushes and resumes without end. Stops come first, every
`stop_repeat`, without back-off and without end.

**Reports.** The rover numbers all changes of state in a log. It sends new ones at once, and those
not confirmed again from the oldest. The operator confirms, in every message, the number up to which
it has all. The rover's signs of life carry the oldest three along, so that the operator's view
completes itself however long the repetitions have backed off.

**Silence.** A rover that has heard nothing for `watchdog` stops by itself (mode `safe`): it aborts
and cancels all orders, at the very moment even if it is asked later. It counts from the first
message it hears; before that it has no orders and stands. `resume: operator` then needs
a resume that names this hold, so that one from before cannot end it; `resume: link` goes on with
the next thing heard. The operator sends a ping if there was nothing else for `heartbeat`, so does
the rover with a report; the operator's view of the link is `good`, `late` after `late` and
`lost` after `lost` of silence.

**Clocks.** Messages down carry the operator's time stamp t₁ of the newest message heard, when it
was heard t₂, and when the answer was sent t₃; with its arrival t₄

    round trip = (t₄ − t₁) − (t₃ − t₂),   offset = ((t₂ − t₁) + (t₃ − t₄)) / 2,

of which the sample with the shortest round trip among the last eight counts (as NTP, RFC 5905).
The offset (rover − operator) is wrong by half the difference of the two ways.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from marsyard.errors import InputError
from marsyard.file_mistakes import sentence
from marsyard.operations.link import Duplex, LinkSettings
from marsyard.units import Number, Time

if TYPE_CHECKING:
    from marsyard.operations.operator_side import Operator
    from marsyard.operations.rover_side import Rover

Positive = Annotated[Time, Field(gt=0.0)]


class ProtocolSettings(BaseModel):
    """Times of the protocol [s]; see the module. `watchdog` none: the rover never stops by itself.

    `queue` orders can wait at the rover; `tries` is how often an order is sent at most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    repeat: Positive = 5.0
    back_off: Annotated[Number, Field(ge=1.0)] = 2.0
    repeat_most: Positive = 60.0
    tries: Annotated[int, Field(ge=1)] = 8
    stop_repeat: Positive = 1.0
    heartbeat: Positive = 2.0
    watchdog: Positive | None = 20.0
    resume: Literal["operator", "link"] = "operator"
    late: Positive = 8.0
    lost: Positive = 20.0
    queue: Annotated[int, Field(ge=1)] = 100

    @model_validator(mode="after")
    def _possible(self) -> ProtocolSettings:
        if self.watchdog is not None and self.watchdog <= self.heartbeat:
            raise ValueError(
                f"watchdog ({self.watchdog:g} s) must be longer than heartbeat "
                f"({self.heartbeat:g} s), otherwise the rover stops between two heartbeats"
            )
        if self.lost < self.late:
            raise ValueError(f"lost ({self.lost:g} s) must not be below late ({self.late:g} s)")
        return self


def protocol_settings(**fields: Any) -> ProtocolSettings:
    """Settings from fields with units; mistakes are an InputError."""
    try:
        return ProtocolSettings.model_validate(fields)
    except ValidationError as error:
        raise InputError(sentence(error, ProtocolSettings)) from None


def settings_for(link: Duplex, **fields: Any) -> ProtocolSettings:
    """Settings that fit the round trip and bandwidth of a link; `fields` replace single ones.

    With R the round trip of light, fixed delays, mean jitter (four times) and the transmission of
    100 bytes each way: repeat = 1.5 R + 1 s, at most eight times that apart; heartbeat 2 s or ten
    times what its transmission takes; stops repeated at the same pace; late = 4, lost and watchdog
    = 10 heartbeats. Silence is counted at the receiving end, so R does not enter the latter.
    """
    up, down = link.up.settings, link.down.settings
    trip = sum(_most(way) for way in (up, down))
    heartbeat = max(2.0, 10.0 * up.transmission(20), 10.0 * down.transmission(40))
    repeat = 1.5 * trip + 1.0
    made = {
        "repeat": repeat,
        "repeat_most": 8.0 * repeat,
        "stop_repeat": max(1.0, 4.0 * up.transmission(30)),
        "heartbeat": heartbeat,
        "watchdog": 10.0 * heartbeat,
        "late": 4.0 * heartbeat,
        "lost": 10.0 * heartbeat,
    }
    return protocol_settings(**{**made, **fields})


def _most(way: LinkSettings) -> float:
    return way.least_delay + 4.0 * way.jitter + way.transmission(100)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A frame for the link and its priority there."""

    data: bytes
    priority: int


class Backoff:
    """When to send something again: after `wait` [s], `factor` times longer each time."""

    def __init__(self, settings: ProtocolSettings):
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Begin anew; due when something is sent."""
        self.due = -math.inf
        self.tries = 0

    def sent(self, now: float, round_trip: float = 0.0) -> None:
        """It was sent; sets when it is due again."""
        s = self._settings
        most = s.repeat_most / s.repeat
        # the power is bounded before it can overflow
        power = min(
            float(self.tries), math.log(most) / math.log(s.back_off) if s.back_off > 1 else 0
        )
        wait = max(s.repeat, 1.5 * round_trip) * s.back_off ** max(0.0, power)
        self.due = now + min(wait, max(s.repeat_most, 1.5 * round_trip))
        self.tries += 1


class Clock:
    """Round trip [s] and clock offset (other − own) [s] from time stamps, as NTP does it."""

    def __init__(self, keep: int = 8):
        self._samples: deque[tuple[float, float]] = deque(maxlen=keep)

    def sample(self, t1: float, t2: float, t3: float, t4: float) -> None:
        """Stamps: sent here, heard there, answered there, heard here."""
        trip = (t4 - t1) - (t3 - t2)
        if trip >= 0.0:
            self._samples.append((trip, 0.5 * ((t2 - t1) + (t3 - t4))))

    @property
    def round_trip(self) -> float | None:
        """The shortest of the last round trips [s]; none as long as there was none."""
        return min(self._samples)[0] if self._samples else None

    @property
    def offset(self) -> float | None:
        """Of the other clock against the own [s], from that round trip."""
        return min(self._samples)[1] if self._samples else None


class Gaps:
    """Counts numbered messages: what is missing, came late, or came twice.

    Attributes:
        highest: number so far. received: different ones. late: below the highest on arrival.
        repeated: came again (or are too old to tell, beyond `memory` missing ones).
    """

    def __init__(self, memory: int = 10_000):
        self._memory = memory
        self._missing: dict[int, None] = {}
        self.highest = self.received = self.late = self.repeated = 0

    @property
    def missing(self) -> int:
        """How many below the highest have not come."""
        return self.highest - self.received

    def take(self, number: int) -> bool:
        """Count a message; whether it is the newest."""
        if number > self.highest:
            first = max(self.highest + 1, number - self._memory)
            self._missing.update(dict.fromkeys(range(first, number)))
            while len(self._missing) > self._memory:
                del self._missing[next(iter(self._missing))]
            self.highest = number
            self.received += 1
            return True
        if number in self._missing:
            del self._missing[number]
            self.received += 1
            self.late += 1
        else:
            self.repeated += 1
        return False


def carry(operator: Operator, rover: Rover, link: Duplex, now: float) -> None:
    """Move what is due at `now` over the link, in both directions.

    Both ends are told when a message arrived, not when it was asked for, so that silences, delays
    and clocks do not depend on the pace of the calls.
    """
    for out in operator.outgoing(now, link.up.is_open(now)):
        link.up.send(out.data, now, out.priority)
    for delivery in link.up.receive(now):
        rover.incoming(delivery.data, max(delivery.arrived, rover.now))
    for out in rover.outgoing(now, link.down.is_open(now)):
        link.down.send(out.data, now, out.priority)
    for delivery in link.down.receive(now):
        operator.incoming(delivery.data, max(delivery.arrived, operator.now))
