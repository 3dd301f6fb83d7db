"""The rover's end of a teleoperation: protocol and vehicle, decided once per period of the drive.

At the begin of each period, at the time t of the rover's clock, which is its simulated time:

1. messages that arrived until t are taken in, each at its time of arrival;
2. the protocol says which order is under way; if it is another than before, the vehicle begins it,
   or brakes where there is none; an order it cannot carry out fails with the reason;
3. telemetry is told if it is due, and what is to be sent leaves;
4. the vehicle goes on for a period; an order that ended is reported at t.

The operator's predictor runs the same class with its own vehicle and without step 3, so that stops,
flushes, chains of orders and expiry happen there as they do on the rover.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.rover_side import Rover
from marsyard.operations.teleop.vehicle import Noise, Snapshot, Vehicle, _turned

if TYPE_CHECKING:
    from marsyard.operations.protocol import Outgoing, ProtocolSettings

#: two times closer than this are the same [s]
TICK = 1e-9


@dataclass(frozen=True)
class Moment:
    """All of a rover at the begin of a period."""

    time: float
    snapshot: Snapshot
    protocol: Rover


class RoverWorld:
    """A vehicle that obeys.

    Args:
        vehicle: what moves.
        settings: of the protocol.
        telemetry_period: between two messages of its state [s]; inf for none.
        noise: of the told pose.
        is_open: whether the way down is open at a time [s].

    Attributes:
        protocol: the rover's end of it. stopped: why the simulation ended, if it did.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        settings: ProtocolSettings,
        *,
        telemetry_period: float = math.inf,
        noise: Noise | None = None,
        is_open: Callable[[float], bool] = lambda now: True,
    ) -> None:
        self.vehicle, self.settings = vehicle, settings
        self.protocol = Rover(settings)
        self.noise = noise or Noise()
        self.stopped = ""
        self._is_open = is_open
        self._every = max(1, round(telemetry_period / vehicle.period)) if (
            math.isfinite(telemetry_period)) else 0  # fmt: skip
        self.told = 0
        self._inbox: list[tuple[float, bytes]] = []

    @property
    def time(self) -> float:
        """Begin of the period to come [s]."""
        return self.vehicle.time

    def give(self, data: bytes, arrives: float) -> None:
        """A message that arrives at a time [s]; one from the past is taken in next."""
        bisect.insort(self._inbox, (arrives, data), key=lambda m: m[0])

    def clear(self) -> None:
        """Forget messages that were not taken in."""
        self._inbox.clear()

    def advance(self, until: float) -> list[tuple[float, Outgoing]]:
        """Go on through all periods that begin until a time [s], itself included; what leaves,
        and when."""
        out: list[tuple[float, Outgoing]] = []
        while self.time <= until + TICK and not self.stopped:
            out += self._period()
        return out

    def advance_to(self, time: float) -> None:
        """Go on to the begin of the period at a time [s], which is not begun."""
        while self.time < time - TICK and not self.stopped:
            self._period()

    def _period(self) -> list[tuple[float, Outgoing]]:
        from marsyard.simulation import Diverged

        now, protocol, vehicle = self.time, self.protocol, self.vehicle
        while self._inbox and self._inbox[0][0] <= now + TICK:
            arrived, data = self._inbox.pop(0)
            protocol.incoming(data, max(min(arrived, now), protocol.now))
        self._obey(max(now, protocol.now))
        out = self._tell(max(now, protocol.now)) if self._every else []
        try:
            vehicle.step()
        except Diverged as error:
            self.stopped = str(error)
            protocol.finish(protocol.now, done=False, reason=self.stopped[:200])
            protocol.event(protocol.now, "stopped", self.stopped, grave=2)
            return out + self._leave(protocol.now)
        if (ending := vehicle.ended()) is not None:
            vehicle.stand()
            protocol.finish(protocol.now, ending.done, ending.reason)
        return out

    def _obey(self, now: float) -> None:
        """Have the vehicle do what the protocol says."""
        order = self.protocol.update(now)
        while order is not None and order.id != self.vehicle.order:
            try:
                self.vehicle.begin(order)
            except InputError as error:
                self.protocol.finish(now, done=False, reason=str(error)[:200])
                order = self.protocol.update(now)
        if order is None and self.vehicle.order:
            self.vehicle.stand()

    # what it tells ----------------------------------------------------------------------------

    def _tell(self, now: float) -> list[tuple[float, Outgoing]]:
        if round(now / self.vehicle.period) % self._every == 0:
            m, values = self.vehicle.measured(), {}
            self.vehicle.reset_means()
            values = {k: v for k, v in m.values.items() if math.isfinite(v)}
            qpos = self._noisy(m.qpos)
            self.protocol.telemetry(
                now, time=m.time, position=qpos[:3], attitude=qpos[3:7], joints=qpos[7:],
                wheels=m.wheels, slips=m.slips, currents=m.currents, loads=m.loads, values=values,
            )  # fmt: skip
            self.told += 1
        return self._leave(now)

    def _leave(self, now: float) -> list[tuple[float, Outgoing]]:
        return [(now, o) for o in self.protocol.outgoing(now, self._is_open(now))]

    def _noisy(self, qpos: np.ndarray) -> np.ndarray:
        noise, out = self.noise, np.array(qpos)
        if noise.place or noise.heading:
            luck = np.random.Generator(np.random.Philox(key=noise.seed, counter=self.told << 64))
            a = luck.standard_normal(3)
            out[:2] += noise.place * a[:2]
            out[3:7] = _turned(out[3:7], noise.heading * float(a[2]))
        return out

    # saved and restored -----------------------------------------------------------------------

    def moment(self) -> Moment:
        """All of it now."""
        return Moment(self.time, self.vehicle.snapshot(), self.protocol.copy())

    def restore(self, moment: Moment) -> None:
        """Go back to a moment it came through, with no messages under way."""
        self.vehicle.restore(moment.snapshot)
        self.protocol = moment.protocol.copy()
        self.clear()
        self.stopped = ""


def world_values(vehicle: Vehicle) -> dict[str, Any]:
    """Numbers for the eye."""
    return dict(vehicle.measured().values)
