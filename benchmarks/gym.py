"""Environments: what a step costs beyond the physics, a reset by restoring, and threads.

The step of an environment is compared with the same physics alone, driven by the same commands: the
rest is observation, reward and Gymnasium's wrappers. Wall-clock time of steps in two threads is
compared with that in one: on two free cores up to twice as many.
"""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium
import numpy as np

import marsyard.gym
from marsyard.control.steering import Twist
from marsyard.gym.env import CURVATURE, TOP_SPEED

NAME = marsyard.gym.IDS[0]
STEPS = 40
STEERED = 3  # steps until the wheels have their angles: steering rates are then 0 and may be held
MOST_OVERHEAD = 0.25
LEAST_GAIN = 1.4


def run() -> list[dict[str, Any]]:
    """Steps a second, share of the overhead, times of resets, gain by a second thread."""
    free = (os.cpu_count() or 1) - os.getloadavg()[0] > 1.5 if hasattr(os, "getloadavg") else False
    env = gymnasium.make(NAME, worlds=1)
    env.reset(seed=0)
    step, physics = min(_step(env) for _ in range(3)), min(_physics(env) for _ in range(3))
    share = step / physics - 1
    fresh, again = _resets()
    gain = max(_threads(2) / _threads(1) for _ in range(3))
    return [
        _row("environment steps a second, one core", 1 / step, "1/s", None, None, "1 s each"),
        _row("overhead of an environment step, by its physics", share, "", f"≤ {MOST_OVERHEAD:g}",
             share <= MOST_OVERHEAD, "processor time"),
        _row("reset to a kept world", 1e3 * again, "ms", None, None, "processor time"),
        _row("reset to a new world", 1e3 * fresh, "ms", None, None, "terrain, rover sinks in"),
        _row("steps a second in two threads over one", gain, "×", f"≥ {LEAST_GAIN:g}",
             gain >= LEAST_GAIN if free else None, "wall clock; judged where two cores are free"),
    ]  # fmt: skip


def _row(name: str, value: float, unit: str, bar: Any, ok: Any, note: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note}


def _step(env: gymnasium.Env) -> float:
    """Processor time of a step of the environment [s]."""
    env.reset(seed=0)
    action = np.array([1.0, 0.2], dtype=np.float32)
    for _ in range(STEERED):
        env.step(action)
    before = time.process_time()
    for _ in range(STEPS):
        env.step(action)
    return (time.process_time() - before) / STEPS


def _physics(env: gymnasium.Env) -> float:
    """That of the simulation alone."""
    env.reset(seed=0)
    inner: Any = env.unwrapped
    twist = Twist(TOP_SPEED, 0.0, TOP_SPEED * CURVATURE * 0.2)
    for _ in range(STEERED):
        inner._rover.step(twist, inner._steps)
    simulation = inner.simulation
    before = time.process_time()
    simulation.step(STEPS * inner._steps)
    return (time.process_time() - before) / STEPS


def _resets() -> tuple[float, float]:
    """Processor time of a reset to a new world and to one that is there [s]."""
    fresh, kept = gymnasium.make(NAME), gymnasium.make(NAME, worlds=1)
    kept.reset(seed=0)
    spent = []
    for env in (fresh, kept):
        before = time.process_time()
        for seed in range(4):
            env.reset(seed=seed)
        spent.append((time.process_time() - before) / 4)
    return spent[0], spent[1]


def _threads(count: int) -> float:
    """Steps a second of two environments in a number of threads."""
    envs = gymnasium.make_vec(NAME, num_envs=2, worlds=1, threads=count)
    envs.reset(seed=0)
    action = np.array([[1.0, 0.2]] * 2, dtype=np.float32)
    before = time.perf_counter()
    for _ in range(STEPS):
        envs.step(action)
    rate = 2 * STEPS / (time.perf_counter() - before)
    envs.close()
    return rate
