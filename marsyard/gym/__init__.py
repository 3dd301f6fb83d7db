"""Environments for reinforcement learning, after Gymnasium's interface.

    import gymnasium
    import marsyard.gym                                     # registers the environments

    env = gymnasium.make("marsyard/ReachGoal-v0")
    envs = gymnasium.make_vec("marsyard/ReachGoal-v0", num_envs=4, worlds=32)

or, without the import, `gymnasium.make("marsyard.gym:marsyard/ReachGoal-v0")`. Actions and
observations: `marsyard.gym.env`; tasks and rewards: `marsyard.gym.tasks`.
"""

from __future__ import annotations

from marsyard.errors import InputError

try:
    import gymnasium
except ImportError:
    raise InputError(
        "marsyard.gym: needs the package gymnasium; install it with: pip install 'marsyard[gym]'"
    ) from None

from marsyard.gym.env import RoverEnv
from marsyard.gym.tasks import ClimbOut, DriveEfficiently, ReachGoal
from marsyard.gym.vector import ThreadVectorEnv
from marsyard.gym.worlds import Randomise

__all__ = [
    "IDS", "ClimbOut", "DriveEfficiently", "Randomise", "ReachGoal", "RoverEnv", "ThreadVectorEnv",
]  # fmt: skip

_LIMITS = {"ReachGoal": 150, "ClimbOut": 150, "DriveEfficiently": 200}
#: registered names
IDS = tuple(f"marsyard/{task}-v0" for task in _LIMITS)

for _task, _limit in _LIMITS.items():
    _name = f"marsyard/{_task}-v0"
    if _name not in gymnasium.registry:
        gymnasium.register(
            id=_name,
            entry_point=f"marsyard.gym.tasks:{_task}",
            vector_entry_point=f"marsyard.gym.vector:{_task}",
            max_episode_steps=_limit,
        )
