"""One direction of a radio link: delay, jitter, loss, bandwidth, visibility.

A message of n bytes handed over at t₀ passes three stages, each of which can be switched off.

1. Queue. Messages wait in front of one transmitter: those of higher priority first, among equals
   the first come. What waits is bounded by `buffer` [B] (what is being transmitted does not count).
   A full buffer drops the oldest or the newest as `when_full` says, but never for the sake of a
   message of lower priority: an emergency stop finds room.
2. Transmitter. T = 8 (n + `overhead`) / `bandwidth` [s], not interrupted by higher priorities. It
   works while a window is open: `when_closed: wait` pauses at the end of a window and goes on with
   the next, so that t₁ is when T seconds of open time have passed; `when_closed: lost` radiates
   blindly, and what is not wholly inside one window is lost.
3. Channel. A message that left at t₁ arrives at

       t₂ = t₁ + d/c + τ + J,   J ~ Gamma(k, θ),   k θ = `jitter` [s],   k = `jitter_shape`,

   with the distance d [m], the speed of light c, other fixed delays τ = `latency` [s]. J ≥ 0 has
   the standard deviation jitter/√k: nothing comes before its light time. `order: kept` holds a
   message back until all that left before it have come, t₂ ← max(t₂, t₂ of the one before);
   `order: free` lets them overtake. It is lost with the probability

       p = 1 − (1 − loss) (1 − b) (1 − e)^(8 (n + overhead)),

   with e = `bit_errors` and b the loss of the present state, good or bad, of a Gilbert-Elliott
   channel (Gilbert 1960, Elliott 1963) in continuous time: it stays good for Exp(mean `good`), bad
   for Exp(mean `bad`), and loses `loss_good`, `loss_bad` in them. Between two departures Δ apart

       P(good → bad) = π (1 − e^(−λΔ)),  P(bad → good) = (1 − π)(1 − e^(−λΔ)),
       λ = 1/good + 1/bad,  π = bad/(good + bad),

   which is exact and needs no step of time. The chain starts from its stationary state, π.

All times are those of one clock, given by the caller, simulated or real, and never run backwards.
The random losses and delays of the n-th message depend on the seed and n alone (Philox), so the
outcome does not depend on how often the link is asked, and a copy goes on bit by bit as the
original.

At all times: sent = delivered + lost + dropped + in flight (waiting, transmitted or under way).

Sources: light times from the distances of `PRESETS`; E. N. Gilbert, Bell Syst. Tech. J. 39 (1960)
1253; E. O. Elliott, Bell Syst. Tech. J. 42 (1963) 1977.
"""

from __future__ import annotations

import bisect
import heapq
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from marsyard.errors import InputError, suggest
from marsyard.file_mistakes import sentence
from marsyard.units import DataRate, DataSize, Length, Number, Time

#: speed of light [m/s]
LIGHT = 299_792_458.0
#: what is left of a transmission at the end of a window and shorter than this is rounding [s]
_TICK = 1e-9
#: over how long the present bit rate is counted [s]
RATE_WINDOW = 10.0

Probability = Annotated[Number, Field(ge=0.0, le=1.0)]
NotNegative = Annotated[Time, Field(ge=0.0)]
Positive = Annotated[Time, Field(gt=0.0)]


class Fades(BaseModel):
    """Losses in bursts: a Gilbert-Elliott channel in continuous time.

    Attributes:
        good, bad: mean durations of the two states [s].
        loss_good, loss_bad: probability of loss in each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    good: Positive
    bad: Positive
    loss_good: Probability = 0.0
    loss_bad: Probability = 1.0

    @property
    def bad_share(self) -> float:
        """Long-term share of time in the bad state, π."""
        return self.bad / (self.good + self.bad)

    def bad_after(self, bad: bool, gap: float) -> float:
        """Probability to be bad a time `gap` [s] after having been good or `bad`."""
        forgotten = -math.expm1(-gap * (1.0 / self.good + 1.0 / self.bad))
        start = 1.0 if bad else 0.0
        return start + (self.bad_share - start) * forgotten


class Passes(BaseModel):
    """Windows that come again: open during [start + k period, start + k period + open) [s]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    period: Positive
    open: Positive
    start: Time = 0.0

    @model_validator(mode="after")
    def _fits(self) -> Passes:
        if self.open > self.period:
            raise ValueError(f"open ({self.open:g} s) is longer than period ({self.period:g} s)")
        return self

    def window(self, now: float) -> tuple[float, float]:
        """The first window that closes after `now`: when it opens and closes."""
        k = math.floor((now - self.start) / self.period)
        opens = self.start + k * self.period
        if now >= opens + self.open:
            opens = self.start + (k + 1) * self.period
        return opens, opens + self.open

    def work_ends(self, begin: float, work: float) -> float:
        """When `work` seconds of open time have passed since `begin`."""
        opens, closes = self.window(begin)
        left = closes - max(begin, opens)
        if work <= left + _TICK:
            return max(begin, opens) + work
        more = math.ceil((work - left - _TICK) / self.open)
        return opens + more * self.period + (work - left - (more - 1) * self.open)


Span = tuple[Time, Time]


class LinkSettings(BaseModel):
    """What a one-way link is like; see the module for the meaning.

    Attributes:
        distance: to the other end [m]; its light time is the least delay.
        latency: further fixed delay: processing, ground network [s].
        jitter: mean random delay on top [s]; jitter_shape: of its gamma distribution.
        loss: probability that a message is lost, by itself. bit_errors: that a bit is wrong, which
            loses the message. fades: losses in bursts; none if not given.
        bandwidth: [bit/s]; unlimited if not given. overhead: framing per message [B].
        buffer: what can wait in front of the transmitter [B]; unlimited if not given.
        when_full: which message a full buffer drops.
        windows: when the other end is in sight, as passes or a list of [from, to] [s], by the
            transmitter's clock; always if not given.
        when_closed: whether messages wait for the next window or are lost.
        order: whether messages arrive in the order in which they left.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    distance: Annotated[Length, Field(ge=0.0)] = 0.0
    latency: NotNegative = 0.0
    jitter: NotNegative = 0.0
    jitter_shape: Annotated[Number, Field(gt=0.0)] = 2.0
    loss: Probability = 0.0
    bit_errors: Probability = 0.0
    fades: Fades | None = None
    bandwidth: Annotated[DataRate, Field(gt=0.0)] | None = None
    overhead: Annotated[DataSize, Field(ge=0.0)] = 0.0
    buffer: Annotated[DataSize, Field(ge=0.0)] | None = None
    when_full: Literal["drop_newest", "drop_oldest"] = "drop_newest"
    windows: Passes | list[Span] | None = None
    when_closed: Literal["wait", "lost"] = "wait"
    order: Literal["kept", "free"] = "kept"

    @model_validator(mode="after")
    def _ordered(self) -> LinkSettings:
        last = -math.inf
        for begin, end in self.windows if isinstance(self.windows, list) else []:
            if not last <= begin < end:
                raise ValueError(
                    f"windows: [{begin:g} s, {end:g} s] must start before it ends, and after the "
                    f"previous window"
                )
            last = end
        return self

    @property
    def least_delay(self) -> float:
        """Light time and fixed delay [s]: nothing arrives sooner."""
        return self.distance / LIGHT + self.latency

    def transmission(self, size: int) -> float:
        """How long the transmitter is busy with a message of `size` bytes [s]."""
        return 0.0 if self.bandwidth is None else 8.0 * (size + self.overhead) / self.bandwidth

    def window(self, now: float) -> tuple[float, float]:
        """The first window that closes after `now` [s]; (inf, inf) if there is none any more."""
        if self.windows is None:
            return -math.inf, math.inf
        if isinstance(self.windows, Passes):
            return self.windows.window(now)
        k = bisect.bisect_right([end for _, end in self.windows], now)
        return self.windows[k] if k < len(self.windows) else (math.inf, math.inf)

    def is_open(self, now: float) -> bool:
        """Whether the other end is in sight."""
        return self.window(now)[0] <= now

    def work_ends(self, begin: float, work: float) -> float:
        """When `work` seconds of transmission are done, begun at `begin`, by open time [s]."""
        if isinstance(self.windows, Passes):
            return self.windows.work_ends(begin, work)
        while True:
            opens, closes = self.window(begin)
            begin = max(begin, opens)
            if begin + work <= closes + _TICK:
                return begin + work
            work -= closes - begin
            begin = closes


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that arrived: its bytes, when it was handed over, and when it came [s]."""

    data: bytes
    sent: float
    arrived: float
    number: int

    @property
    def delay(self) -> float:
        """From one end to the other, waiting included [s]."""
        return self.arrived - self.sent


class _Item(msgspec.Struct, array_like=True):
    """A message on its way."""

    number: int
    priority: int
    sent: float
    data: bytes
    arrives: float = math.inf

    @property
    def rank(self) -> tuple[int, int]:
        return -self.priority, self.number


class _Path(msgspec.Struct):
    """The whole state of a link; plain data, so that it can be saved and copied."""

    now: float = -math.inf
    count: int = 0
    waiting: list[_Item] = []
    waiting_bytes: int = 0
    item: _Item | None = None
    begins: float = -math.inf
    ends: float = math.inf
    free_since: float = -math.inf
    flying: list[tuple[float, int, _Item]] = []
    last_arrival: float = -math.inf
    bad: bool | None = None
    bad_at: float = 0.0
    delivered: int = 0
    lost: int = 0
    lost_closed: int = 0
    dropped: int = 0
    bytes_sent: int = 0
    bytes_delivered: int = 0
    delay_sum: float = 0.0
    delay_squares: float = 0.0
    delay_least: float = math.inf
    delay_most: float = -math.inf
    newest_sent: float = -math.inf
    recent: list[tuple[float, int]] = []


@dataclass(frozen=True)
class LinkStatistics:
    """What a link did so far; delays and ages in [s], none as long as nothing arrived.

    `lost` counts those lost on the way, `lost_closed` of them because no window was open; `dropped`
    those that never left: buffer full, or taken back. `age` is that of the newest message that
    arrived. `bit_rate` counts the last `RATE_WINDOW` seconds.
    """

    sent: int
    delivered: int
    lost: int
    lost_closed: int
    dropped: int
    in_flight: int
    waiting: int
    waiting_bytes: int
    bytes_sent: int
    bytes_delivered: int
    bit_rate: float
    delay_mean: float | None
    delay_deviation: float | None
    delay_least: float | None
    delay_most: float | None
    age: float | None


class Link:
    """A one-way link.

    Args:
        settings: or their fields as keywords, with units: `Link(latency="1.3 s", loss="5 %")`.
        seed: of the random numbers, 0 … 2⁶⁴ − 1.
    """

    def __init__(self, settings: LinkSettings | None = None, *, seed: int = 0, **fields: Any):
        self.settings = link_settings(settings, **fields)
        if not 0 <= seed < 2**64:
            raise InputError(f"seed: {seed} is not a whole number from 0 to 2^64 − 1")
        self.seed = seed
        self._s = _Path()

    # to the user ------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The latest time the link was told [s]."""
        return self._s.now

    def send(self, data: bytes, now: float, priority: int = 0) -> int:
        """Hand over a message at `now` [s]; returns its number. It may be dropped at once."""
        self.advance(now)
        s = self._s
        item = _Item(s.count, int(priority), now, bytes(data))
        s.count += 1
        s.bytes_sent += len(item.data)
        if s.item is None and not s.waiting and self._may_start(now):
            self._start(item, now)
        elif self._make_room(item):
            bisect.insort(s.waiting, item, key=lambda i: i.rank)
            s.waiting_bytes += len(item.data)
        self.advance(now)
        return item.number

    def receive(self, now: float) -> list[Delivery]:
        """All messages that arrived until `now` and were not given out before, by arrival."""
        self.advance(now)
        out = []
        while self._s.flying and self._s.flying[0][0] <= now:
            item = heapq.heappop(self._s.flying)[2]
            self._count(item)
            out.append(Delivery(item.data, item.sent, item.arrives, item.number))
        return out

    def advance(self, now: float) -> None:
        """Let time pass until `now`: transmissions that end and begin in between."""
        s = self._s
        if not math.isfinite(now):
            raise InputError(f"now: {now} is not a time in seconds")
        if now < s.now:
            raise InputError(f"now: {now:g} s is before {s.now:g} s; time cannot run backwards")
        while True:
            if s.item is not None:
                if s.ends > now:
                    break
                self._leave()
            elif s.waiting and (begin := self._next_start()) <= now:
                item = s.waiting.pop(0)
                s.waiting_bytes -= len(item.data)
                self._start(item, begin)
            else:
                break
        s.now = now

    def next_event(self) -> float:
        """When something happens next if nothing is sent [s]; inf if never.

        An arrival, the end of a transmission, or the opening of a window that messages wait for.
        """
        s = self._s
        arrival = s.flying[0][0] if s.flying else math.inf
        if s.item is not None:
            return min(arrival, s.ends)
        return min(arrival, self._next_start() if s.waiting else math.inf)

    def discard(self, now: float, below: int | None = None) -> int:
        """Take back what still waits, of lower priority than `below` if given; how many."""
        self.advance(now)
        keep = [i for i in self._s.waiting if below is not None and i.priority >= below]
        gone = len(self._s.waiting) - len(keep)
        self._s.waiting = keep
        self._s.waiting_bytes = sum(len(i.data) for i in keep)
        self._s.dropped += gone
        return gone

    def is_open(self, now: float) -> bool:
        """Whether the other end is in sight."""
        return self.settings.is_open(now)

    def statistics(self) -> LinkStatistics:
        """Counters until the latest time the link was told."""
        s = self._s
        n = s.delivered
        mean = s.delay_sum / n if n else None
        spread = math.sqrt(max(0.0, s.delay_squares / n - mean**2)) if mean is not None else None
        bits = 8 * sum(size for when, size in s.recent if when > s.now - RATE_WINDOW)
        return LinkStatistics(
            sent=s.count,
            delivered=n,
            lost=s.lost,
            lost_closed=s.lost_closed,
            dropped=s.dropped,
            in_flight=len(s.waiting) + len(s.flying) + (s.item is not None),
            waiting=len(s.waiting),
            waiting_bytes=s.waiting_bytes,
            bytes_sent=s.bytes_sent,
            bytes_delivered=s.bytes_delivered,
            bit_rate=bits / RATE_WINDOW,
            delay_mean=mean,
            delay_deviation=spread,
            delay_least=s.delay_least if n else None,
            delay_most=s.delay_most if n else None,
            age=s.now - s.newest_sent if n else None,
        )

    def save(self) -> bytes:
        """Settings, seed and state as bytes, for `load`."""
        settings = self.settings.model_dump(mode="json")
        return msgspec.msgpack.encode((settings, self.seed, self._s))

    @classmethod
    def load(cls, data: bytes) -> Link:
        """A link as it was when `save` was called."""
        try:
            settings, seed, state = msgspec.msgpack.decode(data, type=tuple[dict, int, _Path])
        except msgspec.MsgspecError as error:
            raise InputError(f"the saved state of a link cannot be read: {error}") from None
        link = cls(link_settings(None, **settings), seed=seed)
        link._s = state
        return link

    def copy(self, seed: int | None = None) -> Link:
        """An independent link in the same state; with another `seed`, with another future."""
        twin = Link(self.settings, seed=self.seed if seed is None else seed)
        twin._s = msgspec.msgpack.decode(msgspec.msgpack.encode(self._s), type=_Path)
        return twin

    # stages -----------------------------------------------------------------------------------

    def _make_room(self, item: _Item) -> bool:
        """Whether there is room for `item` among those that wait, after dropping what must go."""
        s, limit, size = self._s, self.settings.buffer, len(item.data)
        if limit is None:
            return True
        oldest = self.settings.when_full == "drop_oldest"
        # what may go for it: lower priorities, lowest first, and its equals where the oldest goes
        may_go = [i for i in s.waiting if i.priority < item.priority + oldest]
        may_go.sort(key=lambda i: (i.priority, i.number if oldest else -i.number))
        if size > limit - s.waiting_bytes + sum(len(i.data) for i in may_go):
            s.dropped += 1
            return False
        while s.waiting_bytes + size > limit:
            gone = may_go.pop(0)
            s.waiting.remove(gone)
            s.waiting_bytes -= len(gone.data)
            s.dropped += 1
        return True

    def _may_start(self, now: float) -> bool:
        return self.settings.when_closed == "lost" or self.settings.is_open(now)

    def _next_start(self) -> float:
        """When the first of those that wait can begin: transmitter free and window open."""
        ready = max(self._s.free_since, min(i.sent for i in self._s.waiting))
        if self.settings.when_closed == "lost":
            return ready
        return max(ready, self.settings.window(ready)[0])

    def _start(self, item: _Item, begin: float) -> None:
        s, settings = self._s, self.settings
        work = settings.transmission(len(item.data))
        wait = settings.when_closed == "wait"
        s.item, s.begins = item, begin
        s.ends = settings.work_ends(begin, work) if wait else begin + work

    def _leave(self) -> None:
        """The active transmission ends: the message is lost or flies."""
        s, settings = self._s, self.settings
        item, left = s.item, s.ends
        assert item is not None
        s.item, s.free_since, s.ends = None, left, math.inf
        opens, closes = settings.window(s.begins)
        luck = self._luck(item.number)
        fade, by_chance = luck.random(), luck.random()
        unseen = settings.when_closed == "lost" and not (opens <= s.begins and left <= closes)
        if self._loss(item, left, fade) > by_chance or unseen:
            s.lost += 1
            s.lost_closed += unseen
            return
        item.arrives = left + settings.least_delay
        if settings.jitter > 0.0:
            shape = settings.jitter_shape
            item.arrives += luck.gamma(shape, settings.jitter / shape)
        if settings.order == "kept":
            item.arrives = s.last_arrival = max(item.arrives, s.last_arrival)
        # those that arrive together keep the order in which they left
        heapq.heappush(s.flying, (item.arrives, self._departures(), item))

    def _departures(self) -> int:
        s = self._s
        return s.delivered + s.lost + len(s.flying)

    def _loss(self, item: _Item, left: float, draw: float) -> float:
        """Probability that a message that left at `left` is lost; moves the state of fades on."""
        s, settings = self._s, self.settings
        passes = 1.0 - settings.loss
        if settings.bit_errors > 0.0:
            passes *= (1.0 - settings.bit_errors) ** (8.0 * (len(item.data) + settings.overhead))
        if (fades := settings.fades) is not None:
            share = fades.bad_share if s.bad is None else fades.bad_after(s.bad, left - s.bad_at)
            s.bad, s.bad_at = draw < share, left
            passes *= 1.0 - (fades.loss_bad if s.bad else fades.loss_good)
        return 1.0 - passes

    def _luck(self, number: int) -> np.random.Generator:
        """The random numbers of one message."""
        return np.random.Generator(np.random.Philox(key=self.seed, counter=number << 64))

    def _count(self, item: _Item) -> None:
        s, delay = self._s, item.arrives - item.sent
        s.delivered += 1
        s.bytes_delivered += len(item.data)
        s.delay_sum += delay
        s.delay_squares += delay * delay
        s.delay_least = min(s.delay_least, delay)
        s.delay_most = max(s.delay_most, delay)
        s.newest_sent = max(s.newest_sent, item.sent)
        s.recent.append((item.arrives, len(item.data)))
        while s.recent[0][0] <= s.now - RATE_WINDOW and len(s.recent) > 1:
            s.recent.pop(0)


class Duplex:
    """Both directions: `up` carries commands, `down` telemetry. Seeds of the two differ."""

    def __init__(self, up: LinkSettings, down: LinkSettings, *, seed: int = 0):
        self.up = Link(up, seed=2 * seed)
        self.down = Link(down, seed=2 * seed + 1)

    def next_event(self) -> float:
        """When something happens next on either way [s]; inf if never."""
        return min(self.up.next_event(), self.down.next_event())

    @property
    def round_trip(self) -> float:
        """The least time there and back, of light and fixed delays [s]."""
        return self.up.settings.least_delay + self.down.settings.least_delay

    def copy(self, seed: int | None = None) -> Duplex:
        """An independent pair in the same state; with another `seed`, with another future."""
        twin = object.__new__(Duplex)
        twin.up = self.up.copy(None if seed is None else 2 * seed)
        twin.down = self.down.copy(None if seed is None else 2 * seed + 1)
        return twin

    def save(self) -> bytes:
        """The state of both, for `load`."""
        return msgspec.msgpack.encode((self.up.save(), self.down.save()))

    @classmethod
    def load(cls, data: bytes) -> Duplex:
        """A pair as it was when `save` was called."""
        try:
            up, down = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
        except msgspec.MsgspecError as error:
            raise InputError(f"the saved state of a link cannot be read: {error}") from None
        twin = object.__new__(cls)
        twin.up, twin.down = Link.load(up), Link.load(down)
        return twin


def link_settings(settings: LinkSettings | None = None, /, **fields: Any) -> LinkSettings:
    """Settings from fields with units, on top of others if given; mistakes are an InputError."""
    base = settings.model_dump(mode="json") if settings is not None else {}
    if settings is not None and not fields:
        return settings
    try:
        return LinkSettings.model_validate({**base, **fields})
    except ValidationError as error:
        raise InputError(sentence(error, LinkSettings)) from None


#: mean distance of the Moon [m], and how far Mars is at its nearest and farthest ("about 56 million
#: kilometers to 400 million kilometers": JPL, All About Mars)
MOON, MARS_NEAR, MARS_FAR = 384_400e3, 56e9, 400e9
#: period of the Moon's libration in latitude, the draconic month [s]: 27.21222 days
DRACONIC_MONTH = 27.21222 * 86_400.0
#: what else passes on the way to the Moon, so that the round trip is 2.6 s [s]
_MOON_REST = 1.3 - MOON / LIGHT

#: up and down of each preset. Distances give the light times. Rates from Mars are the ends of what
#: JPL gives for Curiosity direct to Earth, 500 bit/s to 32 kbit/s; rates of the Moon, all uplinks,
#: jitter, losses and buffers are assumed.
PRESETS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "local": ({}, {}),
    "moon": (
        {"distance": MOON, "latency": _MOON_REST, "jitter": "20 ms", "loss": "0.1 %",
         "bandwidth": "4 kbit/s", "buffer": "16 kB"},
        {"distance": MOON, "latency": _MOON_REST, "jitter": "20 ms", "loss": "0.1 %",
         "bandwidth": "256 kbit/s", "buffer": "1 MB", "when_full": "drop_oldest"},
    ),
    "mars_near": (
        {"distance": MARS_NEAR, "jitter": "50 ms", "loss": "1 %", "bandwidth": "2 kbit/s",
         "buffer": "64 kB"},
        {"distance": MARS_NEAR, "jitter": "50 ms", "loss": "1 %", "bandwidth": "32 kbit/s",
         "buffer": "10 MB", "when_full": "drop_oldest"},
    ),
    "mars_far": (
        {"distance": MARS_FAR, "jitter": "50 ms", "loss": "1 %", "bandwidth": "500 bit/s",
         "buffer": "64 kB"},
        {"distance": MARS_FAR, "jitter": "50 ms", "loss": "1 %", "bandwidth": "500 bit/s",
         "buffer": "10 MB", "when_full": "drop_oldest"},
    ),
}  # fmt: skip
# at a pole with a flat horizon the Earth is up while the libration in latitude leans that way,
# half of each draconic month; hills cut more off
_POLE = {
    "windows": {"period": DRACONIC_MONTH, "open": DRACONIC_MONTH / 2},
    "fades": {"good": "10 min", "bad": "2 s", "loss_bad": 1.0},
}
PRESETS["moon_south_pole"] = tuple({**way, **_POLE} for way in PRESETS["moon"])  # type: ignore[assignment]


def preset(name: str, *, seed: int = 0, up: dict | None = None, down: dict | None = None) -> Duplex:
    """A link of `PRESETS`; `up` and `down` replace single settings: `{"loss": "10 %"}`."""
    if name not in PRESETS:
        raise InputError(f"link: unknown preset '{name}'; {suggest(name, PRESETS)}")
    there, back = PRESETS[name]
    return Duplex(
        link_settings(**{**there, **(up or {})}),
        link_settings(**{**back, **(down or {})}),
        seed=seed,
    )
