"""Commands from viewers to the physics, stored until the physics fetches them.

Not a queue: of each kind only the newest counts, single steps add up to a limit. However many
orders come, nothing grows.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

from marsyard.errors import InputError

SLOWEST = 0.01
MOST_STEPS = 1000  # single steps that wait at once


class Orders(NamedTuple):
    """Commands for the physics.

    speed: simulated time by wall time, inf for as fast as it goes; steps: control periods to
    advance while paused; stop: end the run.
    """

    speed: float
    paused: bool
    steps: int
    stop: bool


class Mailbox:
    """Commands that can be set and fetched from any thread."""

    def __init__(self, speed: float = math.inf, paused: bool = False) -> None:
        self._lock = threading.Lock()
        self._speed = checked_speed(speed)
        self._paused, self._steps, self._stop = paused, 0, False

    def set_speed(self, speed: float) -> None:
        """Run at `speed` times real time; inf: as fast as possible."""
        speed = checked_speed(speed)
        with self._lock:
            self._speed = speed

    def pause(self) -> None:
        """Pause until `go_on`."""
        with self._lock:
            self._paused = True

    def go_on(self) -> None:
        """Run."""
        with self._lock:
            self._paused, self._steps = False, 0

    def step(self, count: int = 1) -> None:
        """Pause, and advance by `count` control periods."""
        with self._lock:
            self._paused = True
            self._steps = min(self._steps + count, MOST_STEPS)

    def stop(self) -> None:
        """End the run; what was recorded is kept."""
        with self._lock:
            self._stop = True

    def peek(self) -> Orders:
        """The present commands."""
        with self._lock:
            return Orders(self._speed, self._paused, self._steps, self._stop)

    def take(self) -> Orders:
        """The commands; single steps are returned once."""
        with self._lock:
            orders = Orders(self._speed, self._paused, self._steps, self._stop)
            self._steps = 0
            return orders


def checked_speed(speed: float) -> float:
    """`speed` if it is one."""
    if not speed >= SLOWEST:
        raise InputError(f"--speed: {speed:g} must be at least {SLOWEST:g}, or max")
    return float(speed)


def read_speed(text: str) -> float:
    """A speed as written: "0.5", "2×", "10x" or "max"."""
    if text.strip().lower() in ("max", "inf"):
        return math.inf
    try:
        return checked_speed(float(text.strip().rstrip("×xX")))
    except ValueError:
        raise InputError(f"--speed: '{text}' is not a number; e.g. 0.5, 1, 10, or max") from None
