"""The laws of interaction that a world is built with."""

from __future__ import annotations

import importlib
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
    import numpy as np

    from marsyard.ground import Surface
    from marsyard.robot import Robot
    from marsyard.scenario.schema import Scenario


def build_laws(
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    surfaces: tuple[Surface, ...],
    friction: np.ndarray,
    own: type[Law] | None = None,
) -> tuple[Law, ...]:
    """The laws that act in a scenario; `friction` of each surface of hard ground. An `own` law acts
    on all bodies with its default options."""
    soft = soft_ground(scenario)
    use = scenario.interaction.plugin
    compiled = use is not None and plugins.law_class(use.name, _FIELD) is not None
    taken: frozenset[int] = frozenset()
    if own is not None or compiled:
        names = use.bodies if use is not None and own is None else None
        taken = named_bodies(robot, model, names, f"{_FIELD}.bodies")
    grid, soils = (None, ()) if soft is None else (soft.grid, soft.soils)
    place = Place(scenario, robot, model, surfaces, friction, grid, soils, taken, soft)
    first: list[Law] = []
    if own is not None:
        first = [own.build(place)]
    elif use is not None and compiled:
        first = [plugins.build_law(use.name, use.options, place, _FIELD)]
    for law in first:
        law.taken = taken
    others = (module.build_law(place) for module in _worlds())
    made = (*first, *(law for law in others if law is not None))
    for name in {law.name for law in first}:
        if sum(law.name == name for law in made) > 1:
            raise InputError(
                f"{_FIELD}: its law is called '{name}', as another one that acts here; names of "
                "laws must differ"
            )
    return made


def _worlds() -> list[Any]:
    """Modules that build laws and hold their kernels."""
    found = [f"{about.PACKAGE}.{folder}.world" for folder in about.folders("world")]
    return [importlib.import_module(name) for name in found]


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
    return tuple(module.kernels for module in _worlds())
