"""Worlds for episodes: drawn at random, built once, and reset to their saved start.

To build a world means to make its terrain and to let the rover sink into the soil until it rests,
a quarter of a second. To start again from a saved state takes a few milliseconds. An environment
that draws from a fixed number of worlds therefore builds each of them once.

What is drawn (`Randomise`), each value from the generator of the world alone:

    terrain    seed of the generated ground
    start      x, y uniform in ±spread [m] about the scenario's place, heading in ±turn [rad]
    soil       every strength number (cohesion, tan of the friction angle, k_c, k_φ) times its own
               factor, uniform in [1 − s, 1 + s]
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.scenario.schema import whole_ratio
from marsyard.simulation import Simulation, State

if TYPE_CHECKING:
    from marsyard.scenario import Scenario

#: numbers of a soil that are scattered, where it has them
STRENGTH = ("cohesion", "friction_angle", "k_c", "k_phi")
_SEEDS = 2**31


@dataclass(frozen=True)
class Randomise:
    """Variation between worlds.

    Attributes:
        terrain: draw the seed of the ground.
        soil: s, relative half width of the factors on the soil's strength, 0 to below 1.
        spread: of the start in x and y [m].
        turn: of the heading at the start [rad].
    """

    terrain: bool = True
    soil: float = 0.0
    spread: float = 0.0
    turn: float = math.pi

    def __post_init__(self) -> None:
        if not isinstance(self.terrain, bool):
            raise InputError(f"randomise.terrain: {self.terrain!r}; True or False")
        for name in ("soil", "spread", "turn"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value >= 0):
                raise InputError(f"randomise.{name}: {value!r}; a number from 0 on")
        if not self.soil < 1:
            raise InputError(f"randomise.soil: {self.soil!r}; a number from 0 to below 1")


@dataclass
class World:
    """A built world: its simulation, the state at the start, and what was drawn for it."""

    simulation: Simulation
    start: State
    drawn: dict[str, float]

    def begin(self) -> Simulation:
        """The simulation at its start, bit for bit as when it was built."""
        self.simulation.restore(self.start)
        return self.simulation


class Worlds:
    """The worlds of an environment.

    Args:
        scenario: of the library or a file; its drive, control and gait are left out.
        settings: by dotted path, on top of it.
        randomise: what is drawn.
        goal: draws what belongs to a task (a goal) from the world's generator.
        keep: how many built worlds stay in memory, at least 1.
    """

    def __init__(
        self,
        scenario: str,
        settings: Mapping[str, Any] | None,
        randomise: Randomise,
        goal: Callable[[np.random.Generator], dict[str, float]],
        keep: int,
    ) -> None:
        self.randomise = randomise
        self._goal, self._keep = goal, keep
        self._data = copy.deepcopy(scenario_data(scenario))
        for key, value in (settings or {}).items():
            apply_setting(self._data, key, value, "settings")
        self._name = str(scenario)
        self._built: OrderedDict[int, World] = OrderedDict()
        checked = self._check()
        self._run, self.has_motors = checked.run, bool(checked.motors)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without the built worlds, which are built again when needed."""
        return {**self.__dict__, "_built": OrderedDict()}

    def steps(self, period: float) -> int:
        """Steps of the physics in a period [s] of whole steps and records."""
        record = self._run.record_period
        try:
            whole_ratio("period", period, "record_period", record)
        except ValueError:
            raise InputError(
                f"{self._name}: run.record_period = {record:g} s: a step of an environment, "
                f"{period:g} s, must be a whole number of records"
            ) from None
        return whole_ratio("period", period, "step", self._run.step)

    def _check(self) -> Scenario:
        scenario = self._scenario(self._data)
        if [g.kind for g in scenario.ground] != ["terrain"]:
            raise InputError(f"{self._name}: ground: an environment needs one ground, of terrain")
        if self.randomise.terrain and not isinstance(self._data["ground"][0].get("terrain"), dict):
            raise InputError(
                f"{self._name}: ground.0.terrain: must be written out in the scenario, so that its "
                "seed can be drawn; or give randomise={'terrain': False}"
            )
        return scenario

    def numbered(self, key: int, random: np.random.Generator) -> World:
        """The world of a number, built with its generator where it is not there yet."""
        if key not in self._built:
            self._built[key] = self.fresh(random)
            while len(self._built) > self._keep:
                self._built.popitem(last=False)
        self._built.move_to_end(key)
        return self._built[key]

    def fresh(self, random: np.random.Generator) -> World:
        """A new world."""
        data = copy.deepcopy(self._data)
        drawn = self._draw(data, random)
        drawn |= self._goal(random)
        simulation = Simulation(self._scenario(data))
        simulation.warm_up()
        return World(simulation, simulation.state(), drawn)

    def _scenario(self, data: dict[str, Any]) -> Scenario:
        bare = {k: v for k, v in data.items() if k not in ("drive", "control", "gait", "study")}
        return validate(bare, self._name)

    def _draw(self, data: dict[str, Any], random: np.random.Generator) -> dict[str, float]:
        chosen, ground, robot = self.randomise, data["ground"][0], data["robot"]
        drawn: dict[str, float] = {}
        if chosen.terrain:
            drawn["terrain_seed"] = ground["terrain"]["seed"] = int(random.integers(_SEEDS))
        dx, dy = random.uniform(-chosen.spread, chosen.spread, 2)
        turn = float(random.uniform(-chosen.turn, chosen.turn))
        x, y, z = self._scenario(data).robot.position or (0.0, 0.0, 1.0)
        roll, pitch, yaw = self._scenario(data).robot.attitude or (0.0, 0.0, 0.0)
        robot["position"], robot["attitude"] = [x + dx, y + dy, z], [roll, pitch, yaw + turn]
        drawn |= {"start_x": float(x + dx), "start_y": float(y + dy), "start_heading": yaw + turn}
        if chosen.soil > 0:
            drawn |= _scatter(data, self._scenario(data), chosen.soil, random)
        return drawn


def _scatter(
    data: dict[str, Any], scenario: Scenario, spread: float, random: np.random.Generator
) -> dict[str, float]:
    """Scatter the strength of the ground's custom soil; returns the factors."""
    ground: Any = scenario.ground[0]
    name = ground.soil or getattr(ground.terrain, "soil", None)
    if name is None:
        raise InputError("randomise.soil: the ground names no soil to randomise")
    soil = load_soil(name)
    numbers: dict[str, Any] = dict(name) if isinstance(name, dict) else {"name": name}
    factors = {}
    for number in STRENGTH:
        factor = float(random.uniform(1 - spread, 1 + spread))
        if soil.has(number):
            value = soil.number(number)
            angle = number == "friction_angle"
            numbers[number] = math.atan(factor * math.tan(value)) if angle else factor * value
            factors[f"soil_{number}_factor"] = factor
    data["ground"][0]["soil"] = numbers
    return factors
