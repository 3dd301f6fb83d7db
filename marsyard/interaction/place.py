"""Where a law is to act: what it is built with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marsyard.interaction.attachments import Attachment
from marsyard.interaction.hard_ground import by_surface

if TYPE_CHECKING:
    import mujoco
    import numpy as np

    from marsyard.ground import Surface
    from marsyard.ground.soil import Soil
    from marsyard.ground.soil_grid import SoilGrid
    from marsyard.interaction.hard_ground import HardGround
    from marsyard.interaction.law import Law
    from marsyard.interaction.soft_ground import SoftGround
    from marsyard.robot import Robot, Wheel
    from marsyard.scenario.schema import Scenario


@dataclass(frozen=True)
class Place:
    """A robot and its ground.

    Attributes:
        scenario: as it was validated.
        robot: its wheels, feet, tracks and roles.
        model: MuJoCo's model of it.
        hard: hard ground, which all laws share; surfaces: of it; friction: of each.
        grid: soft ground, which all laws share, or None; soils: of its places.
        bodies: MuJoCo's bodies on which a law of a plug-in or a wheel model is to act, and no other
            one of its kind; all other laws leave these alone.
        ground: the soft ground with its name in the scenario and its flow, for laws of its soil.
        laws: those that act already, on bodies of their own.
    """

    scenario: Scenario
    robot: Robot
    model: mujoco.MjModel
    hard: HardGround
    grid: SoilGrid | None
    soils: tuple[Soil, ...]
    bodies: frozenset[int]
    ground: SoftGround | None = None
    laws: tuple[Law, ...] = ()

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces of hard ground."""
        return self.hard.surfaces

    @property
    def friction(self) -> np.ndarray:
        """Coulomb's coefficient on each surface."""
        return by_surface(self.scenario, self.surfaces, "friction")[:-1]

    def wheels(self) -> list[tuple[Wheel, Attachment]]:
        """The wheels in `bodies`, each attached to the ground at its centre."""
        return [(w, a) for w, a in self._all_wheels() if a.body[0] in self.bodies]

    def other_wheels(self) -> list[tuple[Wheel, Attachment]]:
        """All other wheels, likewise."""
        return [(w, a) for w, a in self._all_wheels() if a.body[0] not in self.bodies]

    def _all_wheels(self) -> list[tuple[Wheel, Attachment]]:
        made = []
        for number, (name, wheel) in enumerate(self.robot.wheels.items()):
            body, axle = self.model.body(wheel.body).id, self.model.joint(wheel.joint).id
            made.append((wheel, Attachment(name, (body, 0), axle=axle, wheel=number)))
        return made
