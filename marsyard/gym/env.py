"""Common part of all environments: a rover on soil, its actions and observations.

**Action** `Box(-1, 1)`, held for one step of `STEP` seconds:

| index | meaning | unit of 1 |
| --- | --- | --- |
| 0 | speed, forwards positive | `TOP_SPEED`, 0.1 m/s |
| 1 | curvature of the path, left positive | `CURVATURE`, 1 per 1.25 m |
| 2 | crab angle, course to the left of the nose (where `crab` is set) | `CRAB`, 60° |

**Observation** `Box`, float32, values beyond the range are cut:

| index | meaning | unit | range |
| --- | --- | --- | --- |
| 0 | distance to the target | m | 0 to 50 |
| 1, 2 | cos, sin of its bearing from the nose, left positive | 1 | −1 to 1 |
| 3, 4 | speed forwards, to the left | `TOP_SPEED` | −5 to 5 |
| 5 | turn rate about the rover's own upright axis, left positive | rad/s | −2 to 2 |
| 6, 7 | roll (left side up positive), pitch (nose down positive) | rad | −π/2 to π/2 |
| 8 | slip ratio, mean of the wheels over the step | 1 | −1 to 1 |
| 9 | slip ratio of the wheel that slips most | 1 | −1 to 1 |
| 10 | sinkage, mean of the wheels: depth across the undisturbed ground | m | 0 to 0.5 |
| 11 | electrical power of the motors, mean over the step | 100 W | 0 to 20 |
| 12 to 14 | the last action (0 for crab where there is none) | 1 | −1 to 1 |
| 15 to 29 | heights of the undisturbed ground around, see below | m | −5 to 5 |

Heights count from the ground under the rover. They are seen at −1.5, 0, 1.5, 3 and 4.5 m ahead, in
this order, and at each of them −2, 0 and 2 m to the left. Numbers 0 to 4 and 8 to 10 are the true
ones, which a rover can only estimate (`marsyard.gym.rover`).

An episode ends (`terminated`) at success, when the rover tips over (roll or pitch beyond 45°), or
when the physics stops; `info["stopped"]` tells the latter two in a sentence. Where the physics
stops there is no new observation: the last one is given again, with the action, and the reward is
the penalty alone. Time limits truncate (`max_episode_steps` of the registration).

`info`: success, stopped, distance [m], energy [J] and time [s] since the start, and, after `reset`,
`drawn`: all that was drawn for this world.

Copies (`copy.deepcopy`) and pickles go on as the environment would; they have the world of the
episode and build the others again when needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from marsyard.control.steering import Twist, WheelLayout
from marsyard.errors import InputError, suggest
from marsyard.gym.rover import AHEAD, LEFT, Reading, Rover
from marsyard.gym.worlds import Randomise, World, Worlds
from marsyard.simulation import Diverged, Simulation

STEP = 1.0  # [s]
TOP_SPEED = 0.1  # [m/s]
CURVATURE = 0.8  # [1/m]
CRAB = math.radians(60)  # [rad]
TIPPED = math.radians(45)  # [rad]
_LOW = [0, -1, -1, -5, -5, -2, -math.pi / 2, -math.pi / 2, -1, -1, 0, 0, -1, -1, -1]
_HIGH = [50, 1, 1, 5, 5, 2, math.pi / 2, math.pi / 2, 1, 1, 0.5, 20, 1, 1, 1]
_HEIGHTS = len(AHEAD) * len(LEFT)


class RoverEnv(gymnasium.Env, ABC):
    """A rover on soil with a task; the tasks are in `marsyard.gym.tasks`.

    Args:
        scenario: ground and rover, a name of the library or a file with one ground of kind
            terrain; its drive, control and gait are left out.
        settings: by dotted path, on top of the scenario.
        randomise: what differs from world to world (`worlds.Randomise`): terrain (bool), soil
            (relative half width), spread [m] and turn [rad] of the start. True or None takes the
            task's own, False draws nothing but the goal.
        worlds: how many different worlds there are; each is built once and then starts again from
            its saved state. None draws a new one for every episode.
        world_seed: of these worlds; another one gives others, to test on.
        render_mode: None or "rgb_array". size: of pictures, width and height [pixels].

    `reset(options={"world": 3})` takes the world of that number, counted from 0.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
    scenario: ClassVar[str]
    crab: ClassVar[bool] = False
    #: whether the reward counts the energy of the motors
    pays_energy: ClassVar[bool] = False
    randomise: ClassVar[Randomise] = Randomise()

    def __init__(
        self,
        *,
        scenario: str | None = None,
        settings: Mapping[str, Any] | None = None,
        randomise: Mapping[str, Any] | bool | None = None,
        worlds: int | None = None,
        world_seed: int = 0,
        render_mode: str | None = None,
        size: tuple[int, int] = (640, 360),
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode: '{render_mode}' is unknown; rgb_array or None")
        if worlds is not None and not _whole(worlds, 1):
            raise InputError(f"worlds: {worlds!r}; a whole number from 1 on, or None")
        if not _whole(world_seed, 0):
            raise InputError(f"world_seed: {world_seed!r}; a whole number from 0 on")
        if render_mode is not None:
            _check_size(size)
        chosen = _randomise(self.randomise, randomise)
        self._worlds = Worlds(
            scenario or self.scenario, settings, chosen, self.draw, keep=worlds or 1
        )
        if self.pays_energy and not self._worlds.has_motors:
            raise InputError(
                f"{scenario or self.scenario}: motors: are missing, and the reward counts their "
                "electrical energy; add motors to the drives (as in learning/drive-efficiently)"
            )
        self._steps = self._worlds.steps(STEP)
        self.worlds, self.world_seed = worlds, world_seed
        self.render_mode, self._size = render_mode, size
        self.action_space = Box(-1.0, 1.0, (3 if self.crab else 2,), np.float32)
        low, high = np.array(_LOW + [-5] * _HEIGHTS), np.array(_HIGH + [5] * _HEIGHTS)
        self.observation_space = Box(low.astype(np.float32), high.astype(np.float32))
        self.world: World | None = None
        self._layout: WheelLayout | None = None
        self._camera: Any = None

    # --- what a task says

    @abstractmethod
    def draw(self, random: np.random.Generator) -> dict[str, float]:
        """Random values of the task for a world, by name; drawn after the start."""

    @abstractmethod
    def target(self, now: Reading) -> tuple[float, float]:
        """Distance to the target [m] and its direction in the world [rad]."""

    @abstractmethod
    def reward(self, before: Reading, now: Reading) -> float:
        """Of a step, without what the end of the episode brings."""

    @abstractmethod
    def success(self, now: Reading) -> bool:
        """Whether the task is done."""

    #: added to the reward of the last step
    bonus: ClassVar[float] = 10.0
    penalty: ClassVar[float] = 10.0

    # --- gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        for name in options or {}:
            if name != "world":
                raise InputError(f"options: unknown '{name}'; {suggest(name, ['world'])}")
        self.world = self._world((options or {}).get("world"))
        simulation = self.world.begin()
        self._layout = self._layout or WheelLayout.of(simulation.world.robot, grousers=True)
        self._rover = Rover(simulation, self._layout)
        self._action = np.zeros(3)
        self._energy = 0.0
        self._stopped: str | None = None
        self._now = self._rover.read(simulation.time)
        return self._observation(), {**self._info(), "drawn": dict(self.world.drawn)}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold an action for one step."""
        if self.world is None:
            raise InputError("step: call reset first")
        given = self._checked(action)
        self._action[: len(given)] = np.clip(given, -1.0, 1.0)
        speed, bend, crab = self._action
        course, v = CRAB * crab, TOP_SPEED * speed
        twist = Twist(v * math.cos(course), v * math.sin(course), v * CURVATURE * bend)
        before, began = self._now, self.simulation.time
        try:
            self._rover.step(twist, self._steps)
        except Diverged as error:
            self._stopped = str(error)
            return self._observation(), -self.penalty, True, False, self._info()
        now = self._now = self._rover.read(began)
        self._energy += now.energy
        tipped = max(abs(now.roll), abs(now.pitch)) > TIPPED
        if tipped:
            self._stopped = f"tipped over at t = {self.simulation.time:g} s"
        done = self.success(now) and not tipped
        reward = self.reward(before, now) + self.bonus * done - self.penalty * tipped
        return self._observation(), float(reward), done or tipped, False, self._info()

    def render(self) -> np.ndarray | None:
        """A picture of the rover as it is now, shape [height, width, 3]; None without a mode."""
        if self.render_mode is None:
            return None
        if self.world is None:
            raise InputError("render: call reset first")
        from marsyard.gym.picture import Camera

        if self._camera is None:
            self._camera = Camera(self.simulation, self._size)
        return self._camera.picture(self.simulation)

    def close(self) -> None:
        """Release the memory of the renderer."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    @property
    def simulation(self) -> Simulation:
        """The simulation of the episode (`marsyard.Simulation`)."""
        if self.world is None:
            raise InputError("simulation: call reset first")
        return self.world.simulation

    @property
    def reading(self) -> Reading:
        """The present observation in SI."""
        if self.world is None:
            raise InputError("reading: call reset first")
        return self._now

    # --- inside

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without the graphics memory."""
        return {**self.__dict__, "_camera": None}

    def _checked(self, action: Any) -> np.ndarray:
        try:
            given = np.asarray(action, dtype=float)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        if given.shape != self.action_space.shape or not np.all(np.isfinite(given)):
            names = "speed, curvature, crab angle" if self.crab else "speed, curvature"
            raise InputError(f"action: {action!r}; a finite number each is needed for {names}")
        return given

    def _world(self, number: Any) -> World:
        if self.worlds is None and number is None:
            return self._worlds.fresh(self.np_random)
        if number is None:
            assert self.worlds is not None
            number = int(self.np_random.integers(self.worlds))
        if not _whole(number, 0) or (self.worlds is not None and number >= self.worlds):
            most = "on" if self.worlds is None else f"to {self.worlds - 1}"
            raise InputError(f"options.world: {number!r}; a whole number from 0 {most}")
        return self._worlds.numbered(
            int(number), np.random.default_rng([self.world_seed, int(number)])
        )

    def _observation(self) -> np.ndarray:
        now = self._now
        distance, direction = self.target(now)
        bearing = direction - now.yaw
        seen = [
            distance, math.cos(bearing), math.sin(bearing), now.forward / TOP_SPEED,
            now.left / TOP_SPEED, now.turn, now.roll, now.pitch, now.slip, now.slip_max,
            now.sinkage, now.energy / STEP / 100.0, *self._action, *now.heights,
        ]  # fmt: skip
        space = self.observation_space
        return np.clip(np.array(seen, dtype=np.float32), space.low, space.high)  # type: ignore[attr-defined]

    def _info(self) -> dict[str, Any]:
        return {
            "success": self._stopped is None and self.success(self._now),
            "stopped": self._stopped or "",
            "distance": self.target(self._now)[0],
            "energy": self._energy,
            "time": self.simulation.time,
        }


def _whole(value: Any, least: int) -> bool:
    """Whether this is a whole number from `least` on."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(whole and value >= least)


def _check_size(size: Any) -> None:
    from marsyard.results.movie.graphics import check_size

    try:
        check_size(size)
    except (TypeError, ValueError):
        raise InputError(f"size: {size!r}; width and height are needed [pixels]") from None


def _randomise(own: Randomise, given: Mapping[str, Any] | bool | None) -> Randomise:
    if given is None or given is True:
        return own
    if given is False:
        return Randomise(terrain=False, soil=0.0, spread=0.0, turn=0.0)
    if not isinstance(given, Mapping):
        raise InputError(f"randomise: {given!r}; True, False or a mapping by name is expected")
    known = tuple(Randomise.__dataclass_fields__)
    for name in given:
        if name not in known:
            raise InputError(f"randomise: unknown '{name}'; {suggest(name, known)}")
    return replace(own, **given)
