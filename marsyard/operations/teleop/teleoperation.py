"""A teleoperation: link, protocol, remote rover and predictor put together.

Each tick, at the time `now` of the operator's clock:

1. the stick becomes an order where one is needed (see below);
2. what the operator's end has to send goes up the link, what arrived goes to the rover;
3. what left the rover goes down the link, what arrived is taken in, logged, and given to the
   predictor;
4. the predictor re-bases on new telemetry and drives on to the time at which a command given now
   arrives at the rover.

`advance(now)` does so by a clock of the caller's, step by step in one thread: the same calls give
the same bits. `start()` begins a thread that ticks by the wall clock, and another one for the
predictor, so that a slow prediction never holds up an emergency stop.

**When a message arrives.** A message sent at t by the operator's clock reaches the rover at
t + u by the rover's. u is the median of the last nine orders that the rover reported and that were
sent once; before there is one, half the measured round trip plus the measured offset of the clocks,
in which unequal ways cancel (see `operations.protocol`), but at least what the link's light time,
mean jitter and rate make of an order. Once the rover reported an order, its own time stamp counts.
An order that should have arrived before the newest telemetry, but was not reported, counts as lost
until it is sent again.

**Stick.** Speed and turn are ordered for `HOLD` seconds, in place of the order before, when the
stick moved, at most every `QUICK`, or `RENEW` has passed. So one lost order leaves no gap, and a
rover that hears no more stands after `HOLD`. A stick let go, or silent for `SILENT`, flushes what
is active. Orders of the stick that come much later than expected have expired.

**By the wall clock** a prediction is made anew from the newest telemetry as often as the machine
can afford: replays take at most half of its time, in between the model only drives on. With a delay
of minutes that may be once a minute; how far a prediction is behind, and how old the telemetry is
that it is made from, is among the words and numbers that are shown. Neither an error of the
prediction nor a full disk ends the driving: both are told.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time as clock
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.control.rover_kinematics import half_width_of
from marsyard.errors import InputError
from marsyard.operations.link import Duplex, preset
from marsyard.operations.messages import Drive, Goal, Telemetry, encode
from marsyard.operations.operator_side import OPEN, Entry, Operator
from marsyard.operations.protocol import ProtocolSettings, settings_for
from marsyard.operations.teleop.predictor import (
    WINDOW_LONGEST,
    WINDOW_TIME,
    Arrival,
    Prediction,
    Predictor,
    Told,
)
from marsyard.operations.teleop.queue import command_words, queue_words, shown_orders
from marsyard.operations.teleop.records import Lines
from marsyard.operations.teleop.remote import InlineRemote, ProcessRemote, Remote, Truth
from marsyard.operations.teleop.session import (
    OrderShown,
    PredictionError,
    Preview,
    Shown,
)
from marsyard.operations.teleop.vehicle import Noise, actions_of, line_of
from marsyard.results.gates import GateKeeper, GateScore

if TYPE_CHECKING:
    import mujoco

    from marsyard.operations.sequence import Sequence
    from marsyard.scenario.schema import Scenario

#: times of the stick [s], see the module
HOLD, RENEW, QUICK, SILENT = 2.5, 1.0, 0.2, 1.0
#: change of the stick that is worth an order
MOVED = 0.02
#: ticks of the wall clock [s]
TICK = 0.05
#: how long an order may wait for the one before it [s]
LONG = 86_400.0
#: how much later than expected a message may be before it counts as lost [s]
LATE = 0.5
#: how many orders and errors are shown
SHOWN = 200
#: bytes of an order
TYPICAL = 70
#: an order is kept in mind so long after its end [s]
AFTERWARDS = 10.0
#: how far a prediction may be behind, and made from older telemetry than the newest, untold [s]
BEHIND, OLD_BASE = 1.0, 5.0
#: pieces in which the model drives on [s]
PIECE = 2.0
_LOG = logging.getLogger("marsyard.teleop")


@dataclass
class _Stick:
    """Where the stick is, since when it was last heard of, and what was ordered for it."""

    forward: float = 0.0
    left: float = 0.0
    heard: float = -math.inf
    ordered: tuple[float, float] = (0.0, 0.0)
    at: float = -math.inf


class Teleoperation:
    """A session; see `operations.teleop.session` for what it offers.

    Args:
        scenario: what the operator believes.
        truth: what really is; the same if none is given.
        link: both ways; a name of `link.PRESETS`, or a pair.
        settings: of the protocol; those that fit the link if none are given.
        speed, turn: of the stick at its end [m/s], [rad/s].
        telemetry_period: [s]. noise: of told poses.
        adapt: whether the predictor learns the soil; predict: whether there is one at all.
        process: whether the rover runs in a process of its own, by the wall clock.
        folder: where the session is kept; nowhere if none is given.
        seed: of the link.
    """

    def __init__(
        self,
        scenario: Scenario,
        truth: Scenario | None = None,
        link: Duplex | str = "moon",
        *,
        settings: ProtocolSettings | None = None,
        speed: float | None = None,
        turn: float | None = None,
        telemetry_period: float = 0.5,
        noise: Noise | None = None,
        adapt: bool = True,
        predict: bool = True,
        process: bool = False,
        folder: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        self.link = preset(link, seed=seed) if isinstance(link, str) else link
        self.settings = settings or settings_for(self.link)
        self.folder = None if folder is None else Path(folder)
        self.operator = Operator(self.settings)
        self._lines = Lines(self.folder)
        noise = noise or Noise()
        made = Truth(
            truth or scenario, self.settings, telemetry_period, noise, self.link.down.settings,
            self.folder,
        )  # fmt: skip
        self.predict = predict
        try:
            # the process builds its world while this one builds the predictor
            self.remote: Remote = ProcessRemote(made) if process else _inline(made)
            self.predictor = Predictor(scenario, self.settings, noise=noise, adapt=adapt)
            if isinstance(self.remote, _Late):
                self.remote = self.remote.build()
            self._begin(scenario, speed, turn)
        except BaseException:
            # whatever ends it, ctrl-c too: neither a process nor a lock is left behind
            if isinstance(getattr(self, "remote", None), ProcessRemote):
                self.remote.abandon()  # type: ignore[attr-defined]
            self._lines.close()
            raise

    def _begin(self, scenario: Scenario, speed: float | None, turn: float | None) -> None:
        """All that is known before the first tick."""
        vehicle = self.predictor.vehicle
        self.scenario: Scenario = scenario
        self.model: mujoco.MjModel = vehicle.simulation.model
        self.speed = speed or _usual_speed(scenario)
        self.turn = turn or self.speed
        self.now = 0.0
        self._stick = _Stick()
        self._lock = threading.RLock()  # of all that is known
        self._model_lock = threading.RLock()  # of the predictor
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()
        self._fresh: deque[Telemetry] = deque(maxlen=50)
        self._frames: dict[int, bytes] = {}
        self._last: Telemetry | None = None
        self._known: dict[int, str] = {}
        self._delays: deque[float] = deque(maxlen=9)
        self._beliefs_known = 0
        self._learn_next = self._rebase_next = 0.0
        self._replay = (
            0.0,
            0.0,
        )  # the active one: when it began by the wall clock, and how long
        self._live: dict[int, Entry] = {}  # orders that may still matter
        self._taken = 0  # the last id among them
        self._trouble = {"tick": "", "think": ""}
        self._prediction: Prediction | None = None
        self._forecast: dict[int, Prediction] = {}
        self._trail: list[tuple[float, float, float]] = []
        self._forecasts: list[tuple[float, float, float]] = []
        self.errors: list[PredictionError] = []
        self.record: dict[str, list[Any]] = {"time": [], "told": [], "predicted": [], "axes": []}
        self._gates = GateKeeper(scenario.gates, half_width_of(scenario.robot.name))
        self._closed: Path | None | bool = False

    # time -------------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Let time pass until `now` [s] by a clock of the caller's."""
        with self._lock:
            self._tick(now)
        self._think()

    def start(self, asked: Callable[[], bool] = lambda: False) -> Teleoperation:
        """Begin by the wall clock, in threads of its own; waits until the rover is there, unless it
        is `asked` to end before."""
        if isinstance(self.remote, ProcessRemote):
            self.remote.wait(asked=asked)
        if asked():
            return self
        epoch = clock.monotonic()
        if isinstance(self.remote, ProcessRemote):
            self.remote.begin(epoch)
        for work in (self._tick_on, self._think_on):
            thread = threading.Thread(target=work, args=(epoch,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def _tick_on(self, epoch: float) -> None:
        def tick() -> None:
            with self._lock:
                self._tick(max(self.now, clock.monotonic() - epoch))

        while not self._ending.wait(TICK):
            self._try("tick", tick)

    def _think_on(self, epoch: float) -> None:
        while not self._ending.wait(TICK):
            self._try("think", lambda: self._think(hurry=True))

    def _try(self, what: str, work: Callable[[], None]) -> None:
        """Whatever goes wrong in a thread must not end it: a stop could not be sent any more."""
        try:
            work()
            self._trouble[what] = ""
        except Exception as error:
            text = str(error) or type(error).__name__
            if text != self._trouble[what]:
                _LOG.exception("the %s failed", "session" if what == "tick" else "prediction")
            self._trouble[what] = text

    def _tick(self, now: float) -> None:
        self.now = now
        link, operator, remote = self.link, self.operator, self.remote
        self._steer(now)
        for out in operator.outgoing(now, link.up.is_open(now)):
            link.up.send(out.data, now, out.priority)
        for delivery in link.up.receive(now):
            remote.give(delivery.data, delivery.arrived)
        was = remote.state
        for left, out in remote.advance(now):
            link.down.send(out.data, max(min(left, now), link.down.now), out.priority)
        if remote.state != was:
            self._lines.write("events", time=now, remote=remote.state, reason=remote.reason)
        for delivery in link.down.receive(now):
            operator.incoming(delivery.data, max(delivery.arrived, operator.now))
            if operator.telemetry is not None and operator.telemetry is not self._last:
                self._last = operator.telemetry
                self._hear(self._last, delivery.arrived)
        self._log_orders(now)

    # what is heard ----------------------------------------------------------------------------

    def _hear(self, told: Telemetry, arrived: float) -> None:
        self._fresh.append(told)
        x, y, z = told.position
        self._trail.append((x, y, z))
        offset = self.operator.clock.offset or 0.0
        self._gates.observe(max(0.0, told.time - offset), x, y)
        self._lines.write(
            "telemetry", arrived=arrived, number=told.number, time=told.time, order=told.order,
            mode=told.mode, position=list(told.position), attitude=list(told.attitude),
            joints=list(told.joints), wheels=list(told.wheels), slips=list(told.slips),
            currents=list(told.currents), loads=list(told.loads), values=told.values,
        )  # fmt: skip

    def _log_orders(self, now: float) -> None:
        for entry in self._recent():
            known = self._known.get(entry.id)
            if known in ("queued", "sent") and entry.times and entry.tries == 1:
                self._delays.append(min(entry.times.values()) - entry.sent_at)
            if known != entry.state:
                self._known[entry.id] = entry.state
                self._lines.write(
                    "orders", time=now, id=entry.id, what=command_words(entry), state=entry.state,
                    given=entry.given, reason=entry.reason,
                )  # fmt: skip

    def _recent(self) -> list[Entry]:
        """Orders that may still matter: all but those that ended before the predictor's anchor."""
        entries = self.operator.entries
        newest = next(reversed(entries), 0)
        for id in range(self._taken + 1, newest + 1):
            if id in entries:
                self._live[id] = entries[id]
        self._taken = newest
        heard = -math.inf if self._last is None else self._last.time
        before = (min(heard, self.predictor.anchor) if self.predict else heard) - AFTERWARDS
        over = [
            id for id, e in self._live.items()
            if _is_over(e) and self._known.get(id) == e.state
            and max(e.times.values(), default=e.given) < before
        ]  # fmt: skip
        for id in over:
            for book in (self._live, self._known, self._frames):
                book.pop(id, None)  # type: ignore[attr-defined]
        return list(self._live.values())

    # prediction -------------------------------------------------------------------------------

    def uplink(self) -> float:
        """How long a message takes up, in the rover's clock less the operator's [s]."""
        if self._delays:
            return float(np.median(self._delays))
        way = self.link.up.settings
        at_least = way.least_delay + way.jitter + way.transmission(TYPICAL)
        clock_ = self.operator.clock
        if clock_.round_trip is None:
            return at_least
        return max(clock_.round_trip / 2 + (clock_.offset or 0.0), at_least)

    def _arrivals(self, known_until: float) -> list[Arrival]:
        """When each order, stop, flush and resume arrived at the rover, or will."""
        out = []
        for entry in self._recent():
            id, time = entry.id, self._arrival(entry, known_until)
            if math.isfinite(time):
                if id not in self._frames:
                    self._frames[id] = encode(self.operator.message(entry))
                out.append(Arrival(id, time, self._frames[id]))
        return out

    def _arrival(self, entry: Entry, known_until: float) -> float:
        if entry.times:
            return min(entry.times.values())
        if entry.state in ("cancelled", "expired", "refused"):
            return math.inf
        up = self.uplink()
        if not entry.tries:
            opens = self.link.up.settings.window(self.now)[0]
            return max(self.now, opens) + up
        arrives = entry.sent_at + up
        if arrives > known_until:
            return arrives
        if self._last is not None and self._last.order == entry.id:
            return arrives
        if arrives > known_until - LATE:
            return known_until + 1e-6
        if entry.again is None or entry.state == "lost":
            return math.inf
        return max(entry.again.due + up, known_until + 1e-6)

    def _think(self, hurry: bool = False) -> None:
        """Have the predictor take in what is new, and drive on. `hurry`: only the newest, and no
        more than a quarter of the time for the soil."""
        if not self.predict:
            with self._lock:
                self._fresh.clear()
            return
        with self._model_lock:
            with self._lock:
                fresh = self._to_take_in(hurry)
                ended = frozenset(
                    e.id for e in self._recent()
                    if e.kind == "order" and e.state not in (*OPEN, "lost")
                )  # fmt: skip
                news = [(Told.of(t, ended), self._arrivals(t.time)) for t in fresh]
                arrivals = self._arrivals(fresh[-1].time if fresh else self.predictor.anchor)
                until = self.now + self.uplink()
            began = clock.monotonic()
            if fresh:
                self._replay = (began, until - self.predictor.anchor)
            for told, by_then in news:
                learn = not hurry or (began >= self._learn_next and told is news[-1][0])
                self._rebase(told, by_then, learn)
            self._go_on(arrivals, until)
            self._replay = (0.0, 0.0)
            if fresh:
                spent = clock.monotonic() - began
                self._rebase_next = clock.monotonic() + spent

    def _to_take_in(self, hurry: bool) -> list[Telemetry]:
        """Telemetry for the predictor; in a hurry only the newest, and if there is time for it.
        After a long while also the one before, so that the soil is learned from a short window."""
        if hurry and clock.monotonic() < self._rebase_next:
            return []
        fresh = list(self._fresh)
        self._fresh.clear()
        if not hurry or not fresh:
            return fresh
        newest, before = fresh[-1], []
        if newest.time - self.predictor.anchor > WINDOW_LONGEST:
            before = [t for t in fresh if newest.time - t.time > WINDOW_TIME]
        return [*before[-1:], newest]

    def _rebase(self, told: Told, arrivals: list[Arrival], learn: bool) -> None:
        began = clock.monotonic()
        updates = len(self.predictor.adaptation.history)
        if self.predictor.rebase(told, arrivals, learn):
            self._settle(told)
        if len(self.predictor.adaptation.history) > updates:
            self._learn_next = began + 4.0 * (clock.monotonic() - began)

    def _go_on(self, arrivals: list[Arrival], until: float) -> None:
        """Drive on, in pieces, so that the end of the session is not held up."""
        predictor = self.predictor
        while predictor.time < until - PIECE and not predictor.world.stopped:
            if self._ending.is_set():
                return
            self._publish(predictor.go_on(arrivals, predictor.time + PIECE))
        prediction = predictor.go_on(arrivals, max(until, predictor.time))
        self._publish(prediction)
        with self._lock:
            # thousands of them may wait for their time: without their paths
            bare = replace(prediction, path=np.zeros((0, 3)))
            self._forecast[self._index(prediction.time)] = bare
            self._log_beliefs()

    def _publish(self, prediction: Prediction) -> None:
        """Show a prediction unless one for a later time is shown; a replay does not go back."""
        with self._lock:
            shown = self._prediction
            complete = prediction.time >= self.now + self.uplink() - BEHIND
            if shown is None or complete or prediction.time >= shown.time:
                self._prediction = prediction

    def _index(self, time: float) -> int:
        return round(time / self.predictor.vehicle.period)

    def _settle(self, told: Told) -> None:
        """Compare what was predicted for a time with what is told of it now."""
        with self._lock:
            index = self._index(told.time)
            prediction = self._forecast.get(index)
            for old in [k for k in self._forecast if k <= index]:
                del self._forecast[old]
            if prediction is None:
                return
            forwards, sideways, turn = self.predictor.missed(prediction, told)
            error = PredictionError(
                told.time, math.hypot(forwards, sideways), abs(float(turn)), prediction.way
            )
            self.errors.append(error)
            place = prediction.qpos[:3]
            self._forecasts.append((float(place[0]), float(place[1]), float(place[2])))
            ellipse = prediction.ellipse
            for name, value in (
                ("time", told.time), ("told", told.pose), ("predicted", prediction.pose),
                ("axes", (*ellipse.axes, ellipse.angle)),
            ):  # fmt: skip
                self.record[name].append(value)
            self._lines.write(
                "predictions", time=told.time, told=told.pose, predicted=prediction.pose,
                distance=error.distance, heading=error.heading, driven=error.driven,
                ellipse=(*ellipse.axes, ellipse.angle),
            )  # fmt: skip

    def _log_beliefs(self) -> None:
        history = self.predictor.adaptation.history
        if len(history) > self._beliefs_known:
            self._beliefs_known = len(history)
            beliefs = {b.name: (b.value, b.deviation) for b in self.predictor.adaptation.beliefs()}
            self._lines.write("beliefs", time=history[-1][0], **beliefs)

    @property
    def _present(self) -> float:
        """The latest time that the session or the operator's end was told [s]."""
        return max(self.now, self.operator.now)

    # to the rover -----------------------------------------------------------------------------

    def steer(self, forward: float, left: float) -> None:
        """The stick, −1 … 1 each."""
        with self._lock:
            self._stick.forward = float(np.clip(forward, -1.0, 1.0))
            self._stick.left = float(np.clip(left, -1.0, 1.0))
            self._stick.heard = self.now

    def _steer(self, now: float) -> None:
        stick = self._stick
        wanted = (stick.forward, stick.left)
        if now - stick.heard > SILENT:
            wanted = (0.0, 0.0)
        if wanted == (0.0, 0.0):
            if stick.ordered != (0.0, 0.0):
                stick.ordered, stick.at = wanted, now
                self.operator.flush(now, current=True)
            return
        moved = max(abs(a - b) for a, b in zip(wanted, stick.ordered, strict=True)) >= MOVED
        since = now - stick.at
        if since >= RENEW - 1e-9 or (moved and since >= QUICK - 1e-9):
            stick.ordered, stick.at = wanted, now
            self.drive(self.speed * wanted[0], self.turn * wanted[1], HOLD)

    def drive(self, speed: float, turn: float, duration: float) -> int:
        """Order a speed [m/s] and a rate of turning [rad/s] for a time [s], in place of all orders
        before; the order's id."""
        with self._lock:
            now = self._present
            trip = self.operator.clock.round_trip or self.link.round_trip
            action = Drive(float(speed), float(turn), float(duration))
            return self.operator.order(action, now, lifetime=trip / 2 + 2.0, replace=True)

    def goal(self, x: float, y: float) -> int:
        """Order to drive to a place."""
        with self._lock:
            self._let_go()
            now = self._present
            action = Goal(float(x), float(y), self.speed)
            return self.operator.order(action, now, lifetime=self._patience(), replace=True)

    def send(self, sequence: Sequence) -> list[int]:
        """Send the commands of a sequence, each after the one before."""
        with self._lock:
            self._let_go()
            now = self._present
            actions = actions_of(sequence)
            for action in actions:
                encode_check(action)
            waiting = sum(_may_wait(e) for e in self._recent())
            if len(actions) + waiting > self.settings.queue:
                raise InputError(
                    f"sequence: {len(actions)} commands and {waiting} that wait are more than the "
                    f"{self.settings.queue} that the rover keeps; send it in parts"
                )
            last = self.operator.entries.get(self.operator.last_order)
            busy = last is not None and last.state in OPEN
            out = []
            for k, action in enumerate(actions):
                lifetime = LONG if k or busy else self._patience()
                out.append(self.operator.order(action, now, lifetime=lifetime))
            return out

    def _patience(self) -> float:
        """How late an order may begin [s]."""
        trip = self.operator.clock.round_trip or self.link.round_trip
        return 30.0 + 2.0 * trip

    def _let_go(self) -> None:
        """An order by other means takes the place of the stick."""
        self._stick = _Stick()

    def stop(self, reason: str = "") -> int:
        """Emergency stop."""
        with self._lock:
            self._let_go()
            return self.operator.stop(self._present, reason)

    def resume(self) -> int:
        """Accept commands again."""
        with self._lock:
            return self.operator.resume(self._present)

    def flush(self, current: bool = False) -> int:
        """Discard pending commands."""
        with self._lock:
            self._let_go()
            return self.operator.flush(self._present, current=current)

    # what is known ----------------------------------------------------------------------------

    def shown(self) -> Shown:
        """What is known now."""
        with self._lock:
            now = self._present
            view = self.operator.view(now)
            offset = view.offset or 0.0
            told, p = self._last, self._prediction
            state, reason = self.remote.state, self.remote.reason
            view.words[:0] = self._troubles(now, state, reason)
            return Shown(
                time=now, link=view, remote=state, remote_reason=reason,
                delayed=None if told is None else _qpos(told),
                delayed_time=None if told is None else told.time - offset,
                predicted=None if p is None else p.qpos,
                predicted_time=None if p is None else p.time - offset,
                ellipse=None if p is None else p.ellipse,
                heading_deviation=0.0 if p is None else p.heading_deviation,
                path=np.zeros((0, 3)) if p is None else p.path,
                trail=_places(self._trail), forecasts=_places(self._forecasts),
                orders=self.orders(),
                queue=queue_words(self.operator, now, self._delay_up()), gates=self.gates(),
                beliefs=self.predictor.adaptation.beliefs(),
                errors=tuple(self.errors[-SHOWN:]), numbers=self._numbers(told),
            )  # fmt: skip

    def _troubles(self, now: float, state: str, reason: str) -> list[str]:
        """What is wrong on this side of the link, in sentences."""
        out = [f"The rover's simulation is gone: {reason}."] if state == "gone" else []
        late = getattr(self.remote, "behind", 0.0)
        if state == "running" and late > BEHIND:
            out.append(f"The rover's simulation is {late:.0f} s behind: this machine is too slow.")
        if self._lines.trouble:
            out.append(self._lines.trouble)
        if self._trouble["tick"]:
            out.append(f"The session failed: {self._trouble['tick']}.")
        if self._trouble["think"]:
            out.append(f"The prediction failed: {self._trouble['think']}.")
        p, told = self._prediction, self._last
        if not self.predict or p is None:
            return out
        behind = self.behind(now)
        if state == "gone":
            return out
        if self.predictor.world.stopped:
            out.append(f"The prediction ended: {self.predictor.world.stopped}.")
        elif behind > BEHIND:
            out.append(f"The prediction is {behind:.1f} s behind: {self._why_behind()}.")
        older = 0.0 if told is None else told.time - p.anchor
        if older > OLD_BASE:
            out.append(
                f"The prediction is made from telemetry {older:.0f} s older than the newest."
            )
        return out

    def _why_behind(self) -> str:
        """Whether a long replay takes its time, or the machine cannot keep pace."""
        began, seconds = self._replay
        if clock.monotonic() - began < seconds:
            return f"{seconds:.0f} s are being recomputed from newer telemetry"
        return "this machine is too slow for it"

    def behind(self, now: float) -> float:
        """How much earlier than a command given now arrives the time of the prediction is [s]."""
        p = self._prediction
        return 0.0 if p is None else max(0.0, now + self.uplink() - p.time)

    @property
    def prediction(self) -> Prediction | None:
        """What is shown as the rover's present state; None before the first one."""
        return self._prediction

    @property
    def telemetry(self) -> Telemetry | None:
        """The last that arrived."""
        return self._last

    def orders(self) -> tuple[OrderShown, ...]:
        """The newest orders, oldest first."""
        return shown_orders(self.operator, self._present, self._delay_up(), SHOWN)

    def gates(self) -> GateScore | None:
        """How the gates of the scenario stand by telemetry; none where it has none."""
        return self._gates.score if self.scenario.gates else None

    def _delay_up(self) -> float:
        """How long a message takes to the rover, by the operator's clock [s]."""
        return max(0.0, self.uplink() - (self.operator.clock.offset or 0.0))

    def _numbers(self, told: Telemetry | None) -> dict[str, float]:
        if told is None:
            return {}
        slips = [v for v in told.slips if math.isfinite(v)]
        out = dict(told.values)
        if slips:
            out["slip"] = float(np.mean(slips))
        if self.errors:
            out["prediction error"] = self.errors[-1].distance
        if self._prediction is not None and self.predict:
            out["prediction lag"] = self.behind(self.now)
            out["age of its telemetry"] = told.time - self._prediction.anchor
        return out

    # sequences --------------------------------------------------------------------------------

    def preview(self, sequence: Sequence) -> Preview:
        """Have the predictor carry out a sequence."""
        from marsyard.operations.teleop.preview import preview

        actions = actions_of(sequence)
        with self._model_lock:
            with self._lock:
                arrivals = self._arrivals(self.predictor.anchor)
                offset = self.operator.clock.offset or 0.0
            return preview(self.predictor, actions, arrivals, offset)

    def recorded(self) -> Sequence:
        """What was ordered so far, as a sequence."""
        from marsyard.operations.teleop.preview import recorded

        with self._lock:
            entries = list(self.operator.entries.values())
        return recorded(entries, self.predictor.vehicle.drive.layout, self.scenario.title)

    # the end ----------------------------------------------------------------------------------

    def close(self) -> Path | None:
        """End both worlds; the folder that holds what was recorded."""
        if not isinstance(self._closed, bool):
            return self._closed
        if isinstance(self.remote, ProcessRemote) and not self._threads:
            self.abandon()  # it was never begun: there is nothing to save
            return None
        self._ending.set()
        try:
            for thread in self._threads:
                thread.join(30.0)
            with contextlib.suppress(InputError):
                self.operator.flush(self._present, current=True)
            truth = self.remote.close()
            if self.folder is not None:
                self._save(self.folder, truth)
        finally:
            self._lines.close()
            self._closed = self.folder
        return self.folder

    def abandon(self) -> None:
        """End both worlds at once; nothing more is written."""
        self._ending.set()
        for thread in self._threads:
            thread.join(30.0)
        if isinstance(self.remote, ProcessRemote):
            self.remote.abandon()
        self._lines.close()
        self._closed = None

    def _save(self, folder: Path, truth: Path | None) -> None:
        """Write the session's folder, or a temporary one where there is no room for it."""
        from marsyard.operations.teleop.report import save_session
        from marsyard.run_folder import write_or_keep

        write_or_keep(folder, folder, lambda into: save_session(self, into, truth))


@dataclass
class _Late:
    """A remote rover in this process, built after the predictor."""

    build: Callable[[], InlineRemote]
    state: str = "starting"
    reason: str = ""


def _inline(truth: Truth) -> Any:
    return _Late(lambda: InlineRemote(truth))


def encode_check(action: Any) -> None:
    """Refuse a command that is too long to be sent."""
    from marsyard.operations.messages import Order

    encode(Order(sent=0.0, id=1, expires=0.0, action=action))


def _usual_speed(scenario: Scenario) -> float:
    """The fastest speed of the scenario's commands, or 5 cm/s."""
    commands = () if scenario.drive is None else scenario.drive.commands
    speeds = [float(c.speed) for c in commands if hasattr(c, "speed")]
    speeds += [abs(float(c.steer)) for c in commands if hasattr(c, "steer")]
    return max(speeds, default=0.0) or 0.05


def _may_wait(entry: Entry) -> bool:
    """Whether an order may wait at the rover; what another one took the place of does not."""
    return entry.kind == "order" and entry.state in OPEN and entry.again is not None


def _is_over(entry: Entry) -> bool:
    """Whether nothing more is to be heard of it."""
    if entry.kind != "order" and entry.state == "acknowledged":
        return True
    return entry.state not in (*OPEN, "lost")


def _qpos(told: Telemetry) -> np.ndarray:
    return np.array([*told.position, *told.attitude, *told.joints])


def _places(values: list[tuple[float, float, float]]) -> np.ndarray:
    return np.array(values, dtype=float).reshape(-1, 3)


__all__ = ["Teleoperation", "line_of"]
