"""The laws of interaction that a world is built with."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from marsyard import plugins
from marsyard.errors import InputError, suggest
from marsyard.interaction import about
from marsyard.interaction.geoms import colliding_geoms
from marsyard.interaction.law import Kernels, Law
from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import soft_ground

if TYPE_CHECKING:
    import mujoco

    from marsyard.interaction.hard_ground import HardGround
    from marsyard.robot import Robot
    from marsyard.scenario.schema import Scenario


def build_laws(
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    hard: HardGround,
    own: type[Law] | None = None,
) -> tuple[Law, ...]:
    """The laws that act in a scenario. An `own` law acts on all bodies with its default options."""
    soft = soft_ground(scenario)
    use = scenario.interaction.plugin
    compiled = plugins.law_class(use.name, _FIELD) if use is not None else None
    theirs: frozenset[int] = frozenset()
    if own is not None or compiled is not None:
        names = use.bodies if use is not None and own is None else None
        theirs = named_bodies(robot, model, names, f"{_FIELD}.bodies")
    grid, soils = (None, ()) if soft is None else (soft.grid, soft.soils)
    place = Place(scenario, robot, model, hard, grid, soils, theirs, soft)
    first: list[Law] = []
    if own is not None:
        first = [own.build(place)]
    elif use is not None and compiled is not None:
        first = [plugins.build_law(use.name, use.options, place, _FIELD)]
    taken = theirs if first and not first[0].beside else frozenset()
    for law in first:
        law.taken = taken
    made = (*first, *_own_laws(replace(place, bodies=taken)))
    for name in {law.name for law in first}:
        if sum(law.name == name for law in made) > 1:
            raise InputError(
                f"{_FIELD}: its law is called '{name}', as another one that acts here; names of "
                "laws must differ"
            )
    return made


def _own_laws(place: Place) -> list[Law]:
    """Marsyard's own laws, on all bodies that no law of a plug-in has taken."""
    folder, wheels = _wheels_apart(place)
    made = []
    for name, module in _worlds().items():
        alone = bool(folder) and name == folder
        taken = wheels if alone else place.bodies | wheels
        law = module.build_law(replace(place, bodies=taken))
        if law is not None:
            law.taken = taken if alone else law.taken
            made.append(law)
    return made


def _wheels_apart(place: Place) -> tuple[str, frozenset[int]]:
    """The folder of a wheel model that acts by itself, not through a law of soil, and its wheels
    as MuJoCo's bodies."""
    wheel, robot = place.scenario.interaction.wheel, place.robot
    folder = "" if wheel is None else about.folder_of(about.WHEEL, wheel.model)
    if wheel is None or folder not in about.folders("world"):
        return "", frozenset()
    names = tuple(robot.wheels) if wheel.wheels is None else wheel.wheels
    bodies = named_bodies(robot, place.model, names, "interaction.wheel.wheels")
    return folder, bodies - place.bodies


def _worlds() -> dict[str, Any]:
    """Modules that build laws and hold their kernels, by folder."""
    found = about.folders("world")
    return {name: importlib.import_module(f"{about.PACKAGE}.{name}.world") for name in found}


_FIELD = "interaction.plugin"


def named_bodies(
    robot: Robot, model: mujoco.MjModel, names: tuple[str, ...] | None, field: str
) -> frozenset[int]:
    """MuJoCo's bodies of wheels, feet and tracks, or any others, by name; all that may touch the
    ground if none are named."""
    roles = (robot.wheels, robot.feet, robot.tracks)
    organs = {name: organ.body for role in roles for name, organ in role.items()}
    known = {name: model.body(body).id for name, body in organs.items()}
    if names is None:
        return frozenset({*known.values(), *(g.body for g in colliding_geoms(robot, model))})
    known = {**{model.body(b).name: b for b in range(1, model.nbody)}, **known}
    for name in names:
        if name not in known:
            raise InputError(
                f"{field}: '{name}' is no wheel, foot, track or body of {robot.name}; "
                f"{suggest(name, list(known))}"
            )
    return frozenset(known[name] for name in names)


def all_kernels() -> tuple[Kernels, ...]:
    """The kernels of all laws, to be compiled."""
    return tuple(module.kernels for module in _worlds().values())
