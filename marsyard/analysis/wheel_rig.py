"""Wheels at steady motion in the soil contact model: runs of the scenario `soil/wheel`.

Each operating point (wheel, load, slip, slip angle) is one run of the engine with the rig, the time
step and the options of that scenario. For a wheel of radius r (to the tips of its lugs) these are
set:

| what | value |
| --- | --- |
| grid spacing | r/20, between 2.5 and 10 mm: about ten nodes along the contact |
| travel speed | 0.1 m/s · min(1, r/0.15 m): a step covers at most a 60th of the spacing |
| distance before averaging | `SETTLE` r |
| averaging distance | `AVERAGE` r, a whole number of spacings, over which node effects cancel |

Slips above `FASTEST` are refused: the rim would move twenty times as fast as the wheel. A run in
which the wheel sinks deeper than `DEEPEST` radii, or which diverges, ends there; the wheel counts
as carrying no load, and its forces as zero.

The same point gives the same bits in any process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.executors import Workers
from marsyard.ground.soil import NUMBERS, Soil

SCENARIO = "soil/wheel"
#: distances in radii: before averaging, and of averaging
SETTLE, AVERAGE = 3.0, 1.0
SPACINGS = 20.0
#: least and largest spacing of the grid nodes [m]
FINEST, COARSEST = 0.0025, 0.01
#: largest slip of a driven wheel
FASTEST = 0.95
#: seconds until the wheel rolls, in `soil/wheel`
LOADING = 1.0
#: largest difference between the pulls of the two halves of the averaging distance, by the load
UNSTEADY = 0.03
#: lugs around a wheel; the soil contact model takes their height alone
LUGS = 24
#: sinkage at which a run ends, in radii; checked every so many steps
DEEPEST, CHUNK = 0.9, 100
#: tasks handed to the processes at a time
_BATCH = 4096

#: what is measured, by the name in the data of a run
_SERIES = {
    "pull": "drawbar_pull", "side": "side_force", "torque": "driving_torque", "sinkage": "sinkage",
}  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One wheel at one steady motion: radius (of the rim), width, lug_height [m], load [N], slip,
    slip_angle [rad]."""

    radius: float
    width: float
    lug_height: float
    load: float
    slip: float
    slip_angle: float = 0.0


@dataclass(frozen=True)
class RigWheel:
    """A wheel in the rig [m]: radius of the rim, width, height of the lugs."""

    radius: float
    width: float
    lug_height: float = 0.0


@dataclass(frozen=True)
class Steady:
    """Result of a run.

    values: means of pull, side [N], torque [N·m] and sinkage [m].
    failed: the wheel sank to its axle, or the run diverged.
    drift: change of the pull between the halves of the averaging distance, by the load.
    simulated: time [s].
    """

    values: Mapping[str, float]
    failed: bool
    drift: float
    simulated: float


@dataclass(frozen=True)
class RigRun:
    """A task for `Workers`: one point on one soil."""

    point: Point
    soil: Mapping[str, Any]

    def work(self, tell: Callable[[float], Any], say: Callable[[str], Any] | None = None) -> Steady:
        """Run it; `tell` hears the simulated time [s], `say` when kernels must be compiled."""
        from marsyard.simulation import Diverged, Simulation

        scenario, first = rig_scenario(self.point, self.soil)
        simulation = Simulation(scenario, say=say)
        total = round(scenario.run.duration / scenario.run.step)
        lift = int(simulation.model.joint("lift").qposadr[0])
        deepest = float(simulation.qpos[lift]) - DEEPEST * self.point.radius
        try:
            while simulation.steps < total:
                simulation.step(min(CHUNK, total - simulation.steps))
                tell(simulation.time)
                if simulation.qpos[lift] < deepest:
                    return self._sunk(simulation.time)
        except Diverged:
            return self._sunk(simulation.time)
        return _means(simulation.dataset(), first, self.point.load)

    def _sunk(self, time: float) -> Steady:
        nothing = dict.fromkeys(_SERIES, 0.0)
        return Steady(nothing | {"sinkage": DEEPEST * self.point.radius}, True, 0.0, time)


def _means(data: Any, first: float, load: float) -> Steady:
    time = data["time"].values
    halves = np.array_split(np.flatnonzero(time > first), 2)
    late = np.concatenate(halves)
    series = {q: data[name].values[:, 0] for q, name in _SERIES.items()}
    pull = series["pull"]
    drift = abs(float(pull[halves[1]].mean() - pull[halves[0]].mean())) / load
    values = {q: float(v[late].mean()) for q, v in series.items()}
    failed = not all(math.isfinite(v) for v in values.values())
    return Steady(values, failed, drift, float(time[-1]))


def rig_scenario(point: Point, soil: Mapping[str, Any]) -> tuple[Any, float]:
    """The scenario of a point, and the time at which averaging begins [s]."""
    from marsyard.scenario import load_scenario

    if point.slip > FASTEST:
        raise InputError(
            f"slip {point.slip:g}: the rig runs at slips up to {FASTEST:g}; leave out other rows "
            f"with --where 'slip<={FASTEST:g}'"
        )
    tip = point.radius + point.lug_height
    spacing = min(max(tip / SPACINGS, FINEST), COARSEST)
    speed = 0.1 * min(1.0, tip / 0.15)
    average = max(round(AVERAGE * tip / spacing), 1) * spacing
    # records come often enough to tell the nodes apart
    period = 1e-3 * max(round(1e3 * 0.25 * spacing / speed), 1)
    first = LOADING + SETTLE * tip / speed
    count = math.ceil((first + average / speed) / period)
    settings: dict[str, Any] = {
        "parameters.slip": point.slip,
        "parameters.load": point.load,
        "parameters.speed": speed,
        "parameters.radius": tip,
        "parameters.slip_angle": point.slip_angle,
        "robot.wheel.radius": point.radius,
        "robot.wheel.width": point.width,
        # the numbers that are searched for are those of the wheel and the soil together
        "robot.wheel.surface": {"material": "grit"},
        "interaction.soil.slip_sinkage": "exponent",
        "interaction.soil.slip_transport": False,
        "robot.joints": {"steer": point.slip_angle, "lift": tip - 0.125},
        "ground.0.soil": dict(soil),
        "ground.0.spacing": spacing,
        "run.duration": round(count * period, 9),
        "run.record_period": round(period, 9),
        "study": None,
    }
    if point.lug_height > 0:
        settings["robot.wheel.grousers"] = {"height": point.lug_height, "count": LUGS}
    return load_scenario(SCENARIO, settings), count * period - average / speed


def soil_mapping(soil: Soil) -> dict[str, Any]:
    """A soil as a scenario takes it, with all its numbers, SI."""
    numbers = {name: getattr(soil, name) for name in NUMBERS}
    definition = {"numbers": {k: v for k, v in numbers.items() if v is not None}}
    return {"name": soil.name, "definition": definition, "extra": dict(soil.extra)}


@dataclass(frozen=True)
class RigForces:
    """Forces on a wheel at steady motion; numbers, or arrays where an input was one.

    drawbar_pull, side_force [N], torque [N·m], sinkage [m].
    """

    drawbar_pull: Any
    side_force: Any
    torque: Any
    sinkage: Any


@dataclass(frozen=True)
class RigModel:
    """The soil contact model for one wheel and soil; every operating point is a run."""

    wheel: RigWheel
    soil: Soil
    name = "scm"
    coefficients: Mapping[str, float] = field(default_factory=dict, hash=False)

    def under_load(self, load: Any, slip: Any = 0.0, slip_angle: Any = 0.0) -> RigForces:
        """Forces at which the wheel carries `load` [N] at a slip and a slip angle [rad]."""
        given = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (load, slip, slip_angle)))
        w = self.wheel
        with Rig() as rig:
            points = [
                Point(w.radius, w.width, w.lug_height, *map(float, row))
                for row in zip(*(x.ravel() for x in given), strict=True)
            ]
            found = rig.many([(point, self.soil) for point in points])
        columns = (np.array([f.values[q] for f in found]).reshape(given[0].shape) for q in _SERIES)
        pull, side, torque, sinkage = (c if c.ndim else float(c) for c in columns)
        return RigForces(pull, side, torque, sinkage)


@dataclass
class Rig:
    """Runs points on soils in `jobs` processes and caches the results.

    A context manager: the processes end with it. runs: number of runs so far. tell: called with
    that number; say: called when kernels must be compiled.
    """

    jobs: int = 1
    tell: Callable[[int], Any] = lambda runs: None
    say: Callable[[str], Any] = lambda text: None
    runs: int = 0
    _known: dict[Any, Steady] = field(default_factory=dict)
    _workers: Workers | None = None

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers is not None:
            self._workers.__exit__()
            self._workers = None

    def many(self, asked: Sequence[tuple[Point, Soil]]) -> list[Steady]:
        """The result of each point on its soil, in the same order."""
        keys = [(point, _key(soil)) for point, soil in asked]
        new = {
            key: RigRun(point, soil_mapping(soil))
            for key, (point, soil) in zip(keys, asked, strict=True)
            if key not in self._known
        }
        wanted = list(new)
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            self._known.update(zip(batch, self._run([new[k] for k in batch]), strict=True))
        return [self._known[key] for key in keys]

    def _run(self, tasks: list[RigRun]) -> list[Steady]:
        if self._workers is None:
            # the first run is done here: it compiles the kernels and reports mistakes in the input
            first = tasks[0].work(lambda time: None, self.say)
            self._count()
            self._workers = Workers(self.jobs, _BATCH)
            return [first, *self._run(tasks[1:])] if len(tasks) > 1 else [first]
        return self._workers.run(tasks, lambda time: None, lambda k, outcome: self._count())

    def _count(self) -> None:
        self.runs += 1
        self.tell(self.runs)


def _key(soil: Soil) -> tuple[Any, ...]:
    return (*(getattr(soil, name) for name in NUMBERS), *sorted(soil.extra.items()))
