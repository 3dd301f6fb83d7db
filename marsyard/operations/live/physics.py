"""The simulation, run in short pieces at a chosen speed.

A piece lasts about PIECE seconds of wall time, or a frame's share of simulated time when that is
shorter. Between two pieces orders are read and a note of the present state is left. The compiled
loop does not hold Python's lock, so the display works beside it. Results do not depend on where
pieces end: they are the same, bit by bit, as those of `Simulation.run`.

Speed f: piece k is begun when the wall clock shows (t_k − t_0)/f after the start. Who falls behind
by more than BEHIND seconds starts anew from there; lost time is not caught up in a rush.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.operations.live.mailbox import Mailbox
from marsyard.scenario.schema import whole_ratio

if TYPE_CHECKING:
    from marsyard.simulation import Simulation
    from marsyard.simulation.arrays import Records

PIECE = 0.04  # [s of wall time]
FRAMES = 30.0  # pieces per second of wall time when the speed is held
BEHIND = 0.1  # [s]
NAP = 0.01  # longest sleep, so that orders are heard [s]


@dataclass(frozen=True)
class Snapshot:
    """Where the simulation is.

    Attributes:
        time: simulated [s]; steps done; qpos: a copy.
        count: records written so far; records: the arrays that hold them. Rows before `count` never
            change again, so that other threads may read them.
        state: "running", "paused" or "ended".
        pace: simulated time by wall time over the last second or so.
    """

    time: float
    steps: int
    qpos: np.ndarray
    count: int
    records: Records
    state: str
    pace: float


class Pacer:
    """Tells how long to wait so that simulated time passes at a given speed."""

    def __init__(self) -> None:
        self._anchor: tuple[float, float, float] | None = None

    def forget(self) -> None:
        """Start anew, after a pause."""
        self._anchor = None

    def wait(self, simulated: float, wall: float, speed: float) -> float:
        """Seconds to wait at simulated time and wall time [s]; 0 to go on at once."""
        if math.isinf(speed):
            self._anchor = None
            return 0.0
        if self._anchor is None or self._anchor[2] != speed:
            self._anchor = (simulated, wall, speed)
        lead = (simulated - self._anchor[0]) / speed - (wall - self._anchor[1])
        if lead < -BEHIND:
            self._anchor = (simulated, wall, speed)
        return max(lead, 0.0)


class Physics:
    """Runs a simulation controlled by a mailbox; `latest` is the newest snapshot."""

    def __init__(self, simulation: Simulation, mailbox: Mailbox) -> None:
        self.simulation, self.mailbox = simulation, mailbox
        run = simulation.scenario.run
        self._total = whole_ratio("duration", run.duration, "step", run.step)
        self._step = run.step
        self._per_control = whole_ratio("control_period", run.control_period, "step", run.step)
        self._pacer = Pacer()
        self._cost = 1e-4  # wall time of a step [s]
        self._pace = 0.0
        self._marks = [(clock.perf_counter(), simulation.time)]
        self.stopped_by_hand = False
        self.latest = self._snapshot("paused" if mailbox.peek().paused else "running")

    def run(self, progress: Callable[[float], Any] | None = None) -> None:
        """Run to the end of the scenario or until told to stop, in this thread.

        Errors of the simulation come through; the last snapshot then says "ended".
        """
        try:
            while self._left() > 0:
                orders = self.mailbox.take()
                if orders.stop:
                    self.stopped_by_hand = True
                    break
                self._obey(orders.speed, orders.paused, orders.steps)
                if progress is not None:
                    progress(self.simulation.time)
            if self.stopped_by_hand:
                self._record_end()
            else:
                # nothing is left to do but the last record of a drive that ended early
                self.simulation.run()
        finally:
            self._publish("ended")

    def _record_end(self) -> None:
        """Have the records reach to where the run was ended."""
        s = self.simulation
        if s.steps and s.records.time[-1] < s.time - 0.5 * self._step:
            s.record_now()

    def _left(self) -> int:
        return 0 if self.simulation.done else self._total - self.simulation.steps

    def _obey(self, speed: float, paused: bool, steps: int) -> None:
        if paused:
            self._pacer.forget()
            if steps:
                self._advance(self._to_boundary(steps))
            self._publish("paused")
            if not steps:
                self._rest()
            return
        ahead = self._pacer.wait(self.simulation.time, clock.perf_counter(), speed)
        if ahead > 0:
            clock.sleep(min(ahead, NAP))
            return
        self._advance(self._piece(speed))
        self._publish("running")

    def _rest(self) -> None:
        self._marks = [(clock.perf_counter(), self.simulation.time)]
        self._pace = 0.0
        clock.sleep(NAP)

    def _to_boundary(self, periods: int) -> int:
        """Steps to the end of the present control period, and of those after it."""
        return periods * self._per_control - self.simulation.steps % self._per_control

    def _piece(self, speed: float) -> int:
        """Steps of the next piece."""
        most = PIECE / max(self._cost, 1e-9)
        wanted = most if math.isinf(speed) else min(speed / (FRAMES * self._step), most)
        return max(1, int(min(wanted, 10_000_000)))

    def _advance(self, count: int) -> None:
        began, before = clock.perf_counter(), self.simulation.steps
        self.simulation.step(min(count, self._left()), to_the_end=False)
        done = self.simulation.steps - before
        if done:
            cost = (clock.perf_counter() - began) / done
            self._cost += 0.3 * (cost - self._cost)

    # --- telling

    def _publish(self, state: str) -> None:
        now, simulated = clock.perf_counter(), self.simulation.time
        while len(self._marks) > 1 and now - self._marks[0][0] > 1.0:
            self._marks.pop(0)
        if state == "running" and now - self._marks[-1][0] > 0.05:
            self._marks.append((now, simulated))
        first = self._marks[0]
        if now - first[0] > 0.2:
            self._pace = (simulated - first[1]) / (now - first[0])
        # one assignment: readers see the old note or the new one, never half of it
        self.latest = self._snapshot(state)

    def _snapshot(self, state: str) -> Snapshot:
        s = self.simulation
        records = s.records
        count = len(records.time)
        return Snapshot(s.time, s.steps, s.qpos.copy(), count, records, state, self._pace)
