"""What a run will cost, estimated from its scenario before anything is built.

    steps      duration / step
    time       steps · time of a step: a share of its own and one for each body that may touch the
               ground, by the laws that act on them
    records    duration / record_period + 1, each of the numbers of the robot and of the ground;
               they are in memory about three times when the results are written
    nodes      of soil under the robot and its heaps, elements of its surface that the law
               looks at

The time of a step was measured over the scenarios of the library (docs/how-to/limits.md); a single
run may take five times less or more. A run that would take longer than a day, or more than half of
the machine's memory, is refused unless it is confirmed; nodes that do not fit into memory always.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco

from marsyard.errors import InputError
from marsyard.interaction.about import SOIL, WHEEL, About, law_of_hard_ground, laws
from marsyard.interaction.options import inside
from marsyard.simulation.world import robot_of

if TYPE_CHECKING:
    from marsyard.robot import Robot
    from marsyard.scenario.schema import Scenario

#: of a step without contact; and for each degree of freedom, where nothing tells the size [s]
_STEP, _FREEDOM = 2e-6, 3e-7
#: of what acts whatever the law of the ground is: shapes of a robot that meet each other [s]
_PAIRS = 1.5e-4
_FINE = 0.01  # spacing below which the time grows with the number of nodes [m]
#: how often records are in memory when results are written
COPIES = 3
#: longest estimated time that needs no confirmation [s]
LONGEST = 86_400.0
#: share of the machine's memory that needs no confirmation
SHARE = 0.5
#: what is told, if not refused: time [s] and memory [B]
TOLD_TIME, TOLD_MEMORY = 3600.0, 2e9
#: nodes that are refused always
MOST_NODES = 1_000_000_000
#: records below which their memory is not worth looking at
_FEW_RECORDS = 20_000
#: nodes below which they are not
_FEW_NODES = 1_000_000
#: elements on a ball of this radius [m] below which they are not
_FEW_ELEMENTS, _BALL = 30_000, 0.1


class Cost(NamedTuple):
    """An estimate: numbers, time [s] and memory [B]."""

    steps: int
    seconds: float
    records: int
    record_bytes: int
    nodes: int
    memory: float


def estimate_cost(scenario: Scenario, robot: Robot | None = None) -> Cost:
    """What a run of the scenario will cost; `robot`: its robot, where that is known."""
    run = scenario.run
    assert run.record_period is not None
    steps = round(run.duration / run.step)
    records = round(run.duration / run.record_period) + 1
    nodes, node_bytes = _count_nodes(scenario, robot)
    size = _record_bytes(scenario, robot) if records > _FEW_RECORDS else 0
    memory = COPIES * records * size + nodes * node_bytes
    return Cost(steps, steps * _step_time(scenario, robot), records, size, nodes, memory)


def check_cost(
    scenario: Scenario,
    yes: bool = False,
    say: Callable[[str], Any] | None = None,
    robot: Robot | None = None,
) -> Cost:
    """Refuse, in one sentence, a run that takes too long or too much memory, unless confirmed by
    `yes`; `say` hears of one that takes much."""
    check_nodes(scenario, robot)
    cost = estimate_cost(scenario, robot)
    run, room = scenario.run, SHARE * machine_memory()
    steps = f"{_count(cost.steps)} steps of {run.step:g} s"
    time = f"{steps} would take about {_duration(cost.seconds)}"
    memory = (
        f"{_count(cost.records)} records of {cost.record_bytes} bytes need about "
        f"{cost.memory / 1e9:.3g} GB of memory"
    )
    confirm = "or confirm it with --yes (yes=True in Python)"
    if cost.seconds > LONGEST and not yes:
        raise InputError(
            f"run.duration: {time}; increase run.step or reduce run.duration, {confirm}"
        )
    if cost.memory > room and not yes:
        have = f"of the {machine_memory() / 1e9:.3g} GB available"
        raise InputError(f"run.record_period: {memory} {have}; increase it, {confirm}")
    if say is not None:
        if cost.seconds > TOLD_TIME:
            say(time)
        if cost.memory > TOLD_MEMORY:
            say(memory)
    return cost


def check_nodes(scenario: Scenario, robot: Robot | None = None) -> None:
    """Refuse, in one sentence, ground and contact of more nodes than fit into memory."""
    nodes, size = _count_nodes(scenario, robot)
    memory = nodes * size
    if nodes <= _FEW_NODES or (nodes < MOST_NODES and memory < SHARE * machine_memory()):
        return
    field = f"interaction.{scenario.interaction.law}.element_size"
    for k, ground in enumerate(scenario.ground):
        if ground.kind == "terrain":
            field = f"ground.{k}.spacing"
    raise InputError(
        f"{field}: {_count(nodes)} nodes would need about {memory / 1e9:.3g} GB "
        f"of memory, but the machine has {machine_memory() / 1e9:.3g} GB; use a larger spacing, "
        f"or smaller heaps"
    )


def machine_memory() -> float:
    """Memory of this machine [B]."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not told by this system
        return 8e9


# --- parts


def _soils(scenario: Scenario) -> list[Any]:
    return [g for g in scenario.ground if g.kind == "terrain"]


def _law_of_soil(scenario: Scenario) -> About:
    return laws(SOIL)[scenario.interaction.soil.model]


def _step_time(scenario: Scenario, robot: Robot | None = None) -> float:
    robot, use = robot or robot_of(scenario), scenario.interaction
    wheels, others = len(robot.wheels), len(robot.feet) + len(robot.tracks)
    time = _STEP + _PAIRS * any(options.acts_by() for _, options in inside(use))
    if not wheels + others:
        time, others = time + _FREEDOM * robot.compile().nv, 1
    # laws say the time of two bodies
    time += law_of_hard_ground(scenario).step_time * (wheels + others) / 2
    for ground in _soils(scenario):
        soil = _law_of_soil(scenario)
        fine = max(1.0, (_FINE / ground.spacing) ** 2)
        modelled = 0
        if use.wheel is not None:
            modelled = wheels if use.wheel.wheels is None else len(use.wheel.wheels)
            time += laws(WHEEL)[use.wheel.model].step_time * modelled / 2 * fine
        # columns flow wherever they are steep
        bodies = 2 if soil.columns else wheels - modelled + others
        time += soil.step_time * bodies / 2 * fine
    return time


def _count_nodes(scenario: Scenario, robot: Robot | None) -> tuple[int, int]:
    """Nodes that are made at the start, and the memory of one [B]."""
    count = 0.0
    for ground in _soils(scenario):
        # a heap has room to slide to twice its radius
        count += sum((4.0 * heap.radius / ground.spacing) ** 2 for heap in ground.heaps)
        if ground.spacing < 0.002:
            count += sum((2.0 * r / ground.spacing) ** 2 for r in _reaches(scenario, robot))
    law = law_of_hard_ground(scenario)
    if law.elements is not None:
        # the robot is only looked at where the elements are small
        if law.elements(_BALL, scenario.interaction) > _FEW_ELEMENTS:
            reaches = _reaches(scenario, robot)
            count += sum(law.elements(r, scenario.interaction) for r in reaches)
    on_soil = _soils(scenario)
    return int(min(count, 1e18)), (_law_of_soil(scenario) if on_soil else law).node_bytes


def _reaches(scenario: Scenario, robot: Robot | None) -> list[float]:
    """Radii of balls around the wheels and colliding shapes of the robot [m]."""
    robot, model = _model(scenario, robot)
    radii = [math.hypot(w.radius, w.width / 2) for w in robot.wheels.values()]
    wheels = {w.body for w in robot.wheels.values()}
    for g in range(model.ngeom):
        body = model.body(int(model.geom_bodyid[g])).name
        if model.geom_contype[g] and body not in wheels:
            radii.append(float(model.geom_rbound[g]))
    return radii


def _record_bytes(scenario: Scenario, robot: Robot | None) -> int:
    """Memory of a record [B], as `build_arrays.record_room` lays it out."""
    robot, model = _model(scenario, robot)
    wheels, surfaces = len(robot.wheels), len(scenario.ground)
    organs = len(robot.feet) + len(robot.tracks)
    numbers = 30 + model.nq + 3 * model.nv + wheels * (5 * surfaces + 18) + 6 * organs
    size = 8 * numbers
    if _soils(scenario):
        by_body, by_wheel = _law_of_soil(scenario).record_bytes
        bodies = {int(model.geom_bodyid[g]) for g in range(model.ngeom) if model.geom_contype[g]}
        own = scenario.interaction.wheel
        if own is not None:
            modelled = wheels if own.wheels is None else len(own.wheels)
            size += (laws(WHEEL)[own.model].record_bytes[1] - by_wheel) * modelled
        size += by_body * max(len(bodies), wheels + organs) + by_wheel * wheels
    return size


def _model(scenario: Scenario, robot: Robot | None) -> tuple[Robot, mujoco.MjModel]:
    robot = robot or robot_of(scenario)
    return robot, robot.compile()


def _count(number: float) -> str:
    return f"{number:,}".replace(",", " ") if number < 1e6 else f"{number:.3g}"


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.156e7), ("days", 86_400.0), ("hours", 3600.0)):
        if seconds > size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 60:.2g} minutes"
