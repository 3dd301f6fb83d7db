"""A simulation is freed with its last use, without Python's garbage collector."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from fmu_files import example_fmu

from marsyard import Simulation, load_scenario
from marsyard.errors import InputError
from marsyard.operations.teleop.vehicle import Vehicle
from marsyard.ports import ContactBodyWrenches, JointCommands
from marsyard.scenario import Scenario, validate
from marsyard.simulation import Diverged


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def library(name: str, **more: Any) -> Scenario:
    scenario = load_scenario(name)
    run = scenario.run.model_copy(update={"duration": 10 * scenario.run.record_period})
    return scenario.model_copy(update={"study": None, "run": run, **more})


def on_plane(law: str, **run: Any) -> Scenario:
    return validate(
        {
            "robot": {"name": "exomars", "settle": True},
            "ground": [{"kind": "plane"}],
            "interaction": {"law": law},
            "run": {"duration": 0.05, **run},
        }
    )


def stand(time, joints, base, wrenches):
    return JointCommands(speed=np.zeros(len(joints.name)))


def weightless(time, step, organs):
    return ContactBodyWrenches(np.zeros((len(organs.name), 3)))


def used(simulation: Simulation) -> Simulation:
    simulation.step(20)
    simulation.dataset()
    simulation.restore(simulation.state())
    return simulation


def with_fmu(folder: Path) -> Simulation:
    fmu = example_fmu("speed_controller", folder)
    law = {
        "kind": "fmu", "file": str(fmu), "each": "drives", "outputs": {"torque": "torque"},
        "inputs": {"wanted": "0.2", "rate": "rate"},
    }  # fmt: skip
    spec = on_plane("nonsmooth").model_dump(exclude_unset=True)
    return Simulation(validate({**spec, "control": [law]}))


def diverged(folder: Path) -> Simulation:
    simulation = Simulation(library("rt0448/test-1"))
    simulation.torque[simulation.world.joints[0]] = 1e200
    with contextlib.suppress(Diverged):
        simulation.run()
    assert simulation.stopped
    return simulation


MADE: dict[str, Callable[[Path], Any]] = {
    "hard": lambda _: used(Simulation(library("rt0448/test-1"))),
    "run through": lambda _: Simulation(library("rt0448/test-1")).run(),
    "soil": lambda _: used(Simulation(library("exomars/drawbar-pull"))),
    "columns": lambda _: used(Simulation(library("soil/columns-heap"))),
    "polygonal": lambda _: used(Simulation(on_plane("polygonal"))),
    "compliant": lambda _: used(Simulation(on_plane("compliant"))),
    "mujoco": lambda _: used(Simulation(on_plane("mujoco", integrator="semi_implicit"))),
    "drive": lambda _: used(Simulation(library("control/goal"))),
    "gait": lambda _: used(Simulation(library("walker/flat"))),
    "boxes": lambda _: used(
        Simulation(on_plane("nonsmooth"), control=stand, interaction=weightless)
    ),
    "fmu": with_fmu,
    "teleoperation": lambda _: Vehicle(library("control/goal")),
    "diverged": diverged,
}


@pytest.mark.parametrize("kind", MADE)
def test_a_simulation_is_freed_with_its_last_use(kind, tmp_path):
    made = MADE[kind](tmp_path)
    simulation = made.simulation if isinstance(made, Vehicle) else made
    parts = [simulation, simulation.world, simulation.data, simulation.model, simulation._watch]
    parts += [p for p in (simulation.drive, simulation.gait, simulation.fmus) if p is not None]
    parts += [p for p in (simulation.control, simulation.interaction) if p is not None]
    left = {type(p).__name__: weakref.ref(p) for p in parts}
    del made, simulation, parts
    assert [name for name, part in left.items() if part() is not None] == []


def test_arrays_outlive_their_simulation():
    place = Simulation(library("rt0448/test-1")).qpos
    before = place.copy()
    others = [Simulation(library("rt0448/test-1")) for _ in range(3)]
    for other in others:
        other.qpos[:] = 0.0
    assert np.array_equal(place, before)


def test_a_refused_simulation_is_freed():
    scenario = library("rt0448/test-1")
    deep = scenario.robot.model_copy(update={"settle": False, "position": (0.0, 0.0, -0.5)})

    def alive() -> int:
        return sum(type(each) is Simulation for each in gc.get_objects())

    others = alive()  # of other tests
    with pytest.raises(InputError):
        Simulation(scenario.model_copy(update={"robot": deep}))
    assert alive() == others


@pytest.mark.parametrize("name", ["rt0448/test-1", "exomars/drawbar-pull"])
def test_memory_of_many_runs_stays_flat(name):
    process = psutil.Process()
    scenario = library(name)
    sizes = []
    for _ in range(30):
        used(Simulation(scenario))
        sizes.append(process.memory_info().rss)
    # the first runs fill caches of libraries
    assert sizes[-1] - sizes[9] < 8e6
