"""A session for tests of the desk: a rover of two numbers, v and ω, behind a delay, no physics.

    ẋ = k v cos ψ,  ẏ = k v sin ψ,  ψ̇ = ω,   v = 0.2 m/s · forward,  ω = 0.5 rad/s · left

The true rover loses 1 − k = 10 % of its way, the predictor does not know. Orders take half of the
round trip to the rover, telemetry the other half. Time is that of a clock of its own, which tests
may pause.
"""

from __future__ import annotations

import math
import threading
import time as clock
from pathlib import Path

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.editor import Environment
from marsyard.operations.operator_side import View
from marsyard.operations.sequence import Sequence, make_sequence
from marsyard.operations.teleop.session import (
    Belief,
    Ellipse,
    OrderShown,
    PredictionError,
    Preview,
    Shown,
)
from marsyard.results.gates import GateKeeper
from marsyard.scenario import Scenario, load_scenario
from marsyard.scenario.drive import command_kind
from marsyard.simulation.world import build_world

SPEED, TURN, KEPT = 0.2, 0.5, 0.9  # [m/s], [rad/s], share of the way
STEP = 0.02  # [s]


class FakeSession:
    """A teleoperation without physics."""

    def __init__(self, delay: float = 1.0, scenario: str | Scenario = "rt0448/test-3") -> None:
        self.scenario = load_scenario(scenario) if isinstance(scenario, str) else scenario
        self.model = build_world(self.scenario).model
        self.delay = delay
        self.calls: list[tuple] = []
        self.paused = False
        self.silent_since: float | None = None
        self.remote = "running"
        self.folder: Path | None = None
        self.broken = ""  # what `shown` fails with
        self.late = 0.0  # by which the prediction is behind [s]
        self.queue = ""
        self.gates = GateKeeper(self.scenario.gates)
        self._lock = threading.RLock()
        self._clock, self._read = 0.0, clock.monotonic()
        self._sticks: list[tuple[float, float, float]] = [(-1e9, 0.0, 0.0)]
        self._way: list[tuple[float, float, float, float]] = [(0.0, 0.0, 0.0, 0.0)]
        self._orders: list[dict] = []
        self._mode: list[tuple[float, str]] = [(-1e9, "nominal")]
        self._errors: list[PredictionError] = []
        self._forecasts: list[tuple[float, float, float]] = []
        self._rest = self.model.qpos0.copy()

    # --- time

    def pause(self) -> None:
        with self._lock:
            self._now()
            self.paused = True

    def go_on(self) -> None:
        with self._lock:
            self._now()
            self.paused = False

    def _now(self) -> float:
        now = clock.monotonic()
        if not self.paused:
            self._clock += now - self._read
        self._read = now
        self._advance(self._clock)
        return self._clock

    def _advance(self, now: float) -> None:
        """The true rover up to `now`."""
        while self._way[-1][0] + STEP <= now:
            t, x, y, heading = self._way[-1]
            v, w = self._wanted(t, x, y, heading)
            x += KEPT * v * math.cos(heading) * STEP
            y += KEPT * v * math.sin(heading) * STEP
            self._way.append((t + STEP, x, y, heading + w * STEP))

    def _wanted(self, t: float, x: float, y: float, heading: float) -> tuple[float, float]:
        if self._said(self._mode, t)[1] != "nominal":
            return 0.0, 0.0
        sent = t - self.delay / 2
        _, forward, left = self._said(self._sticks, sent)
        if forward or left:
            return SPEED * forward, TURN * left
        for order in self._orders:
            if order["kind"] == "goal" and order["given"] <= sent and not order["ended"]:
                dx, dy = order["x"] - x, order["y"] - y
                if math.hypot(dx, dy) < 0.1:
                    order["ended"] = t
                    continue
                off = math.remainder(math.atan2(dy, dx) - heading, 2 * math.pi)
                return SPEED * max(0.0, math.cos(off)), 2 * off
        return 0.0, 0.0

    @staticmethod
    def _said(log: list[tuple], t: float) -> tuple:
        return next(entry for entry in reversed(log) if entry[0] <= t)

    # --- what is known

    def shown(self) -> Shown:
        with self._lock:
            if self.broken:
                raise RuntimeError(self.broken)
            now = self._now()
            seen = now if self.silent_since is None else self.silent_since
            t, x, y, heading = self._said(self._way, max(0.0, seen - self.delay / 2))
            path = self._predict(t, x, y, heading, now + self.delay / 2)
            _, px, py, ph = path[-1]
            self._compare(now, px, py)
            spread = 0.02 + 0.15 * math.hypot(px - x, py - y)
            trail = np.array([w[1:3] for w in self._way if w[0] <= t][::10])
            return Shown(
                time=now, link=self._view(now), remote=self.remote,
                delayed=self._qpos(x, y, heading), delayed_time=t,
                predicted=self._qpos(px, py, ph), predicted_time=now + self.delay / 2 - self.late,
                queue=self.queue, gates=self._gates(t, x, y),
                ellipse=Ellipse((px, py), (spread, 0.5 * spread), ph),
                heading_deviation=0.02,
                path=np.array([[p[1], p[2], 0.0] for p in path]),
                trail=np.column_stack([trail, np.zeros(len(trail))]) if len(trail) else trail,
                forecasts=np.array(self._forecasts[-200:]).reshape(-1, 3),
                orders=tuple(self._order_shown(o, now) for o in self._orders),
                beliefs=(
                    Belief("cohesion", "kPa", 0.8, 0.55, 0.12),
                    Belief("friction angle", "deg", 33.0, 30.4, 1.1),
                    Belief("shear modulus", "mm", 15.0, 22.0, 4.0),
                ),
                errors=tuple(self._errors),
                numbers={"speed": KEPT * SPEED * self._said(self._sticks, t - self.delay)[1],
                         "slip": 1 - KEPT, "sinkage": 0.012, "tilt": 0.05, "power": 14.2},
            )  # fmt: skip

    def _gates(self, t: float, x: float, y: float):
        self.gates.observe(t, x, y)
        return self.gates.score if self.scenario.gates else None

    def _predict(self, t, x, y, heading, until) -> list[tuple[float, float, float, float]]:
        path = [(t, x, y, heading)]
        while path[-1][0] < until - 1e-9:
            t, x, y, heading = path[-1]
            v, w = self._wanted(t, x, y, heading)
            h = 0.05
            x, y = x + v * math.cos(heading) * h, y + v * math.sin(heading) * h
            path.append((t + h, x, y, heading + w * h))
        return path

    def _compare(self, now: float, px: float, py: float) -> None:
        self._forecasts.append((px, py, 0.0))
        due = [f for f in getattr(self, "_promised", []) if f[0] <= now - self.delay / 2]
        self._promised = [f for f in getattr(self, "_promised", []) if f not in due]
        self._promised.append((now + self.delay / 2, px, py))
        for t, x, y in due[-1:]:
            _, tx, ty, _ = self._said(self._way, t)
            far = math.hypot(x - tx, y - ty)
            self._errors.append(PredictionError(t, far, 0.0, 10 * far))

    def _view(self, now: float) -> View:
        silence = 0.0 if self.silent_since is None else now - self.silent_since
        link = "good" if silence < 1 else "late" if silence < 2 else "lost"
        mode = self._said(self._mode, now - self.delay / 2)[1]
        words = [] if link == "good" else [f"Link {link}: nothing heard for {silence:.1f} s."]
        if mode == "stopped":
            words.append("The rover is held by an emergency stop; press Resume to continue.")
        age = self.delay / 2 + silence
        return View(
            link, silence, mode, 0, False, age, self.delay, self.delay / 2, 0.0, 0, 0, 0, {}, words
        )

    def _order_shown(self, order: dict, now: float) -> OrderShown:
        heard = now - order["given"]
        state, since = "sent", order["given"]
        if heard > self.delay:
            state = "executing" if order["kind"] == "goal" else "done"
        if order["ended"] and now > order["ended"] + self.delay / 2:
            state = order.get("end", "done")
        reason = order.get("reason", "") if state == "cancelled" else ""
        return OrderShown(order["id"], order["words"], state, since, reason)

    def _qpos(self, x: float, y: float, heading: float) -> np.ndarray:
        q = self._rest.copy()
        q[:2] += [x, y]
        q[3:7] = [math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)]
        return q

    # --- orders

    def _give(self, kind: str, words: str, **more) -> int:
        with self._lock:
            number = len(self._orders) + 1
            self._orders.append(
                {"id": number, "kind": kind, "words": words, "given": self._now(), "ended": 0.0,
                 **more}
            )  # fmt: skip
            self.calls.append((kind, more))
            return number

    def steer(self, forward: float, left: float) -> None:
        with self._lock:
            self._sticks.append((self._now(), forward, left))
            self.calls.append(("steer", (forward, left)))

    def goal(self, x: float, y: float) -> int:
        if math.hypot(x, y) > 50:
            raise InputError(f"goal: ({x:g}, {y:g}) m is off the map")
        return self._give("goal", f"drive to ({x:.2f}, {y:.2f}) m", x=x, y=y)

    def send(self, sequence: Sequence) -> list[int]:
        return [self._give("command", command_kind(c)) for c in sequence.sequence]

    def preview(self, sequence: Sequence) -> Preview:
        with self._lock:
            _, x, y, heading = self._predict(*self._way[-1], self._now())[-1]
        t = np.linspace(0, 10, 50)
        bend = 0.05 * t
        places = np.column_stack([x + 0.2 * t, y + 0.5 * bend**2 * 4, 0 * t])
        outcomes = tuple("done" for _ in sequence.sequence)
        end = Ellipse((float(places[-1, 0]), float(places[-1, 1])), (0.3, 0.15), 0.4)
        return Preview(t, places, np.tile(self._qpos(x, y, heading), (50, 1)), end, outcomes)

    def stop(self, reason: str = "") -> int:
        with self._lock:
            now = self._now()
            self._mode.append((now + self.delay / 2, "stopped"))
            for order in self._orders:
                if order["kind"] == "goal" and not order["ended"]:
                    order |= {"ended": now + self.delay / 2, "end": "cancelled",
                              "reason": "emergency stop"}  # fmt: skip
            return self._give("stop", "EMERGENCY STOP")

    def resume(self) -> int:
        with self._lock:
            self._mode.append((self._now() + self.delay / 2, "nominal"))
            return self._give("resume", "resume")

    def flush(self, current: bool = False) -> int:
        return self._give("flush", "flush all" if current else "flush", current=current)

    def recorded(self) -> Sequence:
        goals = [{"goal": [o["x"], o["y"]]} for o in self._orders if o["kind"] == "goal"]
        return make_sequence({"sequence": goals or [{"wait": "1 s"}]})

    def close(self) -> Path | None:
        self.calls.append(("close", ()))
        return self.folder


class FakeWorlds:
    """Sessions without physics on what was edited; `refuse`: why the next cannot be built."""

    def __init__(self, scenario: str = "rt0448/test-3") -> None:
        self.name, self.refuse = scenario, ""
        self.go = threading.Event()  # building ends when it is set
        self.go.set()

    def environment(self) -> Environment:
        return Environment.open(self.name)

    def build(self, environment: Environment) -> FakeSession:
        assert self.go.wait(30)
        if self.refuse:
            raise InputError(self.refuse)
        return FakeSession(0.2, environment.scenario)
