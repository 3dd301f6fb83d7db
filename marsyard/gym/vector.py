"""Many environments at once in one process: each steps in its own thread.

The compiled loop runs without Python's lock, so that threads use all cores; nothing is copied
between processes and nothing is started anew. Building a world holds the lock for a part of its
time: take a number of worlds (`worlds=32`) where episodes are short.

What an environment gives depends on its own seed alone, so that the number of environments and of
threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, iterate

from marsyard.cores import cores
from marsyard.errors import InputError, suggest


class _Stepped(NamedTuple):
    """What one environment gave; `final` is told where it began anew in the same step."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    final: dict[str, Any]


class ThreadVectorEnv(SyncVectorEnv):
    """Like gymnasium's SyncVectorEnv, with parallel steps.

    Args:
        env_fns: makers of the environments.
        threads: how many steps run at once; as many as there are cores by default.
        autoreset_mode: when an environment that has ended begins anew (gymnasium's AutoresetMode or
            its word): with the next step, as the last part of the same one, or not by itself.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gymnasium.Env]],
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"threads = {threads}: must be at least 1")
        super().__init__(env_fns, autoreset_mode=_mode(autoreset_mode))
        self._pool = ThreadPoolExecutor(min(threads or cores(), self.num_envs))

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; finished ones are reset as `autoreset_mode` defines."""
        given = list(iterate(self.action_space, actions))
        if len(given) != self.num_envs:
            raise InputError(f"actions: {len(given)}; one for each of {self.num_envs} environments")
        done = list(self._pool.map(self._one, range(self.num_envs), given))
        infos: dict[str, Any] = {}
        for i, one in enumerate(done):
            self._env_obs[i] = one.observation
            self._rewards[i] = one.reward
            self._terminations[i], self._truncations[i] = one.terminated, one.truncated
            infos = self._add_info(self._add_info(infos, one.final, i), one.info, i)
        self._autoreset_envs = np.logical_or(self._terminations, self._truncations)
        self._observations = concatenate(
            self.single_observation_space, self._env_obs, self._observations
        )
        return (
            np.copy(self._observations), np.copy(self._rewards), np.copy(self._terminations),
            np.copy(self._truncations), infos,
        )  # fmt: skip

    def _one(self, i: int, action: Any) -> _Stepped:
        env = self.envs[i]
        if self._autoreset_envs[i] and self.autoreset_mode == AutoresetMode.NEXT_STEP:
            observation, info = env.reset()
            return _Stepped(observation, 0.0, False, False, info, {})
        if self._autoreset_envs[i] and self.autoreset_mode == AutoresetMode.DISABLED:
            raise InputError(f"step: environment {i} has ended; reset it first (reset_mask)")
        observation, reward, terminated, truncated, info = env.step(action)
        final: dict[str, Any] = {}
        if (terminated or truncated) and self.autoreset_mode == AutoresetMode.SAME_STEP:
            final = {"final_obs": observation, "final_info": info}
            observation, info = env.reset()
        return _Stepped(observation, float(reward), terminated, truncated, info, final)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and end the threads."""
        super().close_extras(**kwargs)
        self._pool.shutdown()


def make_threads(
    task: str,
    num_envs: int = 1,
    max_episode_steps: int | None = None,
    threads: int | None = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> ThreadVectorEnv:
    """Several environments of a task, for `gymnasium.make_vec`."""

    def one() -> gymnasium.Env:
        return gymnasium.make(f"marsyard/{task}-v0", max_episode_steps=max_episode_steps, **options)

    return ThreadVectorEnv([one] * num_envs, threads, autoreset_mode)


#: where the registration finds them: named by text, so that a spec can be pickled and written
ReachGoal = partial(make_threads, "ReachGoal")
ClimbOut = partial(make_threads, "ClimbOut")
DriveEfficiently = partial(make_threads, "DriveEfficiently")


def _mode(given: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        known = [mode.value for mode in AutoresetMode]
        raise InputError(
            f"autoreset_mode: unknown '{given}'; {suggest(str(given), known)}"
        ) from None
