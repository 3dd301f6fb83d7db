"""The laws of interaction that a world is built with."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from marsyard import plugins
from marsyard.errors import InputError, suggest
from marsyard.interaction import about
from marsyard.interaction.geoms import colliding_geoms
from marsyard.interaction.law import Kernels, Law
from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import soft_ground
from marsyard.interaction.soil_bed import SoilBed
from marsyard.interaction.soil_law import SoilLaw

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
    made = [*first, *_own_laws(replace(place, bodies=taken, laws=tuple(first)))]
    if soft is not None:
        made.append(SoilBed(soft, [law for law in made if isinstance(law, SoilLaw)]))
    for name in {law.name for law in first}:
        if sum(law.name == name for law in made) > 1:
            raise InputError(
                f"{_FIELD}: its law is called '{name}', as another one that acts here; names of "
                "laws must differ"
            )
    return tuple(made)


def _own_laws(place: Place) -> list[Law]:
    """Marsyard's own laws, on all bodies that no law of a plug-in has taken: first a wheel model
    under its wheels, then soil models and of hard ground under all others. A wheel model that acts
    on soft ground alone leaves hard ground to the others."""
    made: list[Law] = []
    on_soil = on_hard = place.bodies
    for kind, module in _worlds():
        if kind == about.WHEEL:
            taken = _wheels_of_model(place)
        else:
            taken = on_soil if kind == about.SOIL else on_hard
        laws = (*place.laws, *made)
        law = module.build_law(replace(place, bodies=taken, laws=laws))
        if law is None:
            continue
        made.append(law)
        if kind == about.WHEEL:
            on_soil = on_soil | taken
            if not isinstance(law, SoilLaw):
                law.taken, on_hard = taken, on_hard | taken
    return made


def _wheels_of_model(place: Place) -> frozenset[int]:
    """MuJoCo's bodies of the wheels that a wheel model is for."""
    wheel, robot = place.scenario.interaction.wheel, place.robot
    if wheel is None:
        return frozenset()
    names = tuple(robot.wheels) if wheel.wheels is None else wheel.wheels
    for name in names:
        if name not in robot.wheels:
            raise InputError(
                f"interaction.wheel.wheels: '{name}' is not a wheel of {robot.name}; "
                f"{suggest(name, list(robot.wheels))}"
            )
    bodies = {name: place.model.body(wheel.body).id for name, wheel in robot.wheels.items()}
    return frozenset(bodies[name] for name in names) - place.bodies


def _worlds() -> list[tuple[str, Any]]:
    """Modules that build laws and hold their kernels, by the kind of their folder: wheel models
    first, for they choose their bodies."""
    kinds = {name: about.laws_of(name)[0].kind for name in about.folders("world")}
    order = sorted(kinds, key=lambda name: kinds[name] != about.WHEEL)
    return [(kinds[name], importlib.import_module(f"{about.PACKAGE}.{name}.world"))
            for name in order]  # fmt: skip


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
                f"{field}: '{name}' is not a wheel, foot, track or body of {robot.name}; "
                f"{suggest(name, list(known))}"
            )
    return frozenset(known[name] for name in names)


def are_compiled(laws: Iterable[Law]) -> bool:
    """Whether the kernels of these laws lie in the cache."""
    return all(law.kernels is None or law.kernels.cached for law in laws)


def all_kernels() -> tuple[Kernels, ...]:
    """The kernels of all laws, to be compiled, with those that let the ground flow."""
    found = [(module.kernels, getattr(module, "flow", None)) for _, module in _worlds()]
    return tuple(each for pair in found for each in pair if each is not None)
