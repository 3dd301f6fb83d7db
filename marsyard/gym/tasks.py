"""The tasks. Action and observation are described in `marsyard.gym.env`; d is the distance to the
target
at the begin, d' at the end of a step."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from marsyard.gym.env import STEP, RoverEnv
from marsyard.gym.rover import Reading
from marsyard.gym.worlds import Randomise

#: price of time [1/s]
TIME_PRICE = 0.02


class _ToGoal(RoverEnv):
    """A task whose target is a point."""

    #: the goal counts as reached within this distance [m]
    reach: ClassVar[float] = 0.5

    def target(self, now: Reading) -> tuple[float, float]:
        """Distance and direction of the goal."""
        assert self.world is not None
        drawn = self.world.drawn
        dx, dy = drawn["goal_x"] - now.x, drawn["goal_y"] - now.y
        return math.hypot(dx, dy), math.atan2(dy, dx)

    def success(self, now: Reading) -> bool:
        """At the goal."""
        return self.target(now)[0] < self.reach


class ReachGoal(_ToGoal):
    """`marsyard/ReachGoal-v0`: drive to a goal on rough sand, within 150 steps of 1 s.

    Each world has its own ground, a heading of the rover drawn from all directions, and a goal 4 to
    7 m away in any direction. Observation 0 to 2 tell of the goal.

    Reward: r = (d − d')/m − 0.02, at the goal (d' < 0.5 m) + 10, when the rover tips over
    or the physics stops − 10.
    """

    scenario = "learning/reach-goal"
    randomise = Randomise(terrain=True, turn=math.pi)

    def draw(self, random: np.random.Generator) -> dict[str, float]:
        """The goal."""
        away, heading = random.uniform(4.0, 7.0), random.uniform(-math.pi, math.pi)
        return {"goal_x": away * math.cos(heading), "goal_y": away * math.sin(heading)}

    def reward(self, before: Reading, now: Reading) -> float:
        """Progress, minus a price for time."""
        return self.target(before)[0] - self.target(now)[0] - TIME_PRICE * STEP


class ClimbOut(RoverEnv):
    """`marsyard/ClimbOut-v0`: leave a hollow of sand within 150 steps of 1 s.

    The rover stands near the bottom of a round hollow, 6 m wide and 85 cm deep, with any heading;
    the strength of the sand differs by up to 5 %. Straight up the wall it slips, digs itself in and
    stays. The action has a crab angle. The target is the place on the circle of 3.5 m about the
    hollow's centre that is nearest: observation 0 is the distance to it, 1 and 2 say where outwards
    is.

    Reward: r = (d − d')/m − 0.02, outside (d' = 0) + 10, when the rover tips over
    or the physics stops − 10.
    """

    scenario = "learning/climb-out"
    crab = True
    randomise = Randomise(terrain=False, soil=0.05, spread=0.3, turn=math.pi)
    #: from the hollow's centre, there the rover is out [m]
    out: ClassVar[float] = 3.5

    def draw(self, random: np.random.Generator) -> dict[str, float]:
        """Nothing more."""
        return {}

    def target(self, now: Reading) -> tuple[float, float]:
        """Distance to the circle, and outwards."""
        return max(0.0, self.out - math.hypot(now.x, now.y)), math.atan2(now.y, now.x)

    def reward(self, before: Reading, now: Reading) -> float:
        """Progress outwards, minus a price for time."""
        return self.target(before)[0] - self.target(now)[0] - TIME_PRICE * STEP

    def success(self, now: Reading) -> bool:
        """Outside."""
        return self.target(now)[0] == 0.0


class DriveEfficiently(_ToGoal):
    """`marsyard/DriveEfficiently-v0`: drive 10 m with little energy, within 200 steps of 1 s.

    Between start and goal stands a hill of 60 cm with loose sand on its right: straight ahead costs
    lifting and slip, around the hill costs distance and time. Small roughness and the heading
    (±30°) differ from world to world. E is the electrical energy of the motors during the step, P₀
    = 20 W what the rover uses besides, and Δt = 1 s.

    Reward: r = (d − d')/m − 0.5 (E + P₀ Δt)/kJ, at the goal (d' < 0.5 m) + 10, when the rover tips
    over or the physics stops − 10.
    """

    scenario = "learning/drive-efficiently"
    randomise = Randomise(terrain=True, turn=math.radians(30))
    pays_energy = True
    #: P₀ [W]
    idle_power: ClassVar[float] = 20.0
    #: price of energy [1/J]
    price: ClassVar[float] = 0.5e-3

    def draw(self, random: np.random.Generator) -> dict[str, float]:
        """The goal is always the same."""
        return {"goal_x": 10.0, "goal_y": 0.0}

    def reward(self, before: Reading, now: Reading) -> float:
        """Progress, minus the price of the energy."""
        energy = now.energy + self.idle_power * STEP
        return self.target(before)[0] - self.target(now)[0] - self.price * energy
