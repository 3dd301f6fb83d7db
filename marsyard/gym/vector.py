"""Many environments at once in one process: each steps in a thread of its own.

The compiled loop runs without Python's lock, so that threads use all cores; nothing is copied
between processes and nothing is started anew. Building a world holds the lock for a part of its
time: take a number of worlds (`worlds=32`) where episodes are short.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, iterate

from marsyard.errors import InputError


class ThreadVectorEnv(SyncVectorEnv):
    """As gymnasium's SyncVectorEnv with autoreset in the next step, the steps side by side.

    Args:
        env_fns: makers of the environments.
        threads: how many steps run at once; as many as there are cores by default.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], gymnasium.Env]], threads: int | None = None
    ) -> None:
        super().__init__(env_fns, autoreset_mode=AutoresetMode.NEXT_STEP)
        if threads is not None and threads < 1:
            raise InputError(f"threads = {threads}: must be at least 1")
        self._pool = ThreadPoolExecutor(min(threads or _cores(), self.num_envs))

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; one that has ended begins anew instead."""
        given = list(iterate(self.action_space, actions))
        done = list(self._pool.map(self._one, range(self.num_envs), given))
        infos: dict[str, Any] = {}
        for i, (observation, reward, terminated, truncated, info) in enumerate(done):
            self._env_obs[i] = observation
            self._rewards[i] = reward
            self._terminations[i], self._truncations[i] = terminated, truncated
            infos = self._add_info(infos, info, i)
        self._autoreset_envs = np.logical_or(self._terminations, self._truncations)
        self._observations = concatenate(
            self.single_observation_space, self._env_obs, self._observations
        )
        return (
            np.copy(self._observations), np.copy(self._rewards), np.copy(self._terminations),
            np.copy(self._truncations), infos,
        )  # fmt: skip

    def _one(self, i: int, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._autoreset_envs[i]:
            observation, info = self.envs[i].reset()
            return observation, 0.0, False, False, info
        return self.envs[i].step(action)  # type: ignore[return-value]

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and end the threads."""
        super().close_extras(**kwargs)
        self._pool.shutdown()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
