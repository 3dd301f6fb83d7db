"""A law of soil, as the engine and results see it, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.law import SINK, Law

if TYPE_CHECKING:
    import mujoco

    from marsyard.ground.soil import Soil
    from marsyard.ground.soil_grid import SoilGrid
    from marsyard.robot import Robot, Wheel
    from marsyard.scenario.schema import Scenario


class Pressing(NamedTuple):
    """Bodies on the soil, and the stresses under them."""

    names: tuple[str, ...]
    position: np.ndarray  # of their centres [m], [body, 3]
    axle: np.ndarray  # directions, 0 for what is no wheel, [body, 3]
    radius: np.ndarray  # [m]
    width: np.ndarray  # [m]
    #: by point: place from the body's centre [m], normal stress, shear stress along the heading and
    #: along the axle [Pa], area [m²]
    points: tuple[np.ndarray, ...]


class SoilLaw(Law):
    """Soil under the bodies of a robot: the soft ground, and which of its attachments are wheels.

    Attributes:
        ground: its name in the scenario.
        grid: the soil, which laws share; soils: of its places.
    """

    passive = True
    placing = SINK
    ground: str
    grid: SoilGrid
    soils: tuple[Soil, ...]

    @property
    def wheel(self) -> np.ndarray:
        """Number of the wheel that an attachment is, or −1."""
        return np.array([each.wheel for each in self.attachments], dtype=np.int64)

    def by_wheel(self, values: np.ndarray, wheels: int) -> np.ndarray:
        """Values of the attachments, [time, attachment, …], by wheel; NaN for wheels under another
        law."""
        out = np.full((len(values), wheels, *values.shape[2:]), np.nan, values.dtype)
        on_soil = np.flatnonzero(self.wheel >= 0)
        out[:, self.wheel[on_soil]] = values[:, on_soil]
        return out

    def touching(self) -> np.ndarray:
        """Whether each attachment touches the soil now, above 0."""
        raise NotImplementedError

    def touched(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The same at the records, [time, attachment], from the law's columns there."""
        raise NotImplementedError

    def pressing(self) -> Pressing:
        """The bodies on the soil and the stresses under them now, as far as the law knows them."""
        none, few = np.zeros((0, 3)), np.zeros(0)
        return Pressing((), none, none, few, few, ())

    def wheel_stress(self, columns: Mapping[str, np.ndarray], wheels: int) -> np.ndarray | None:
        """Mean forces around the wheels over each record interval [N], [time, wheel, angle, 3]:
        normal, along the heading, along the axle; from the law's columns, or None if it does not
        know."""
        return None

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """Go on with other numbers of the same soils; what wheels left in the ground stays."""
        raise InputError(f"the law of soil '{scenario.interaction.soil.model}' cannot change soils")

    def wheel_radii(self, name: str, wheel: Wheel, rolls: float) -> tuple[float, float]:
        """Where a wheel shears soil, and where it carries [m]: as drums through the tips of their
        grousers; it `rolls` on hard ground with this radius [m]."""
        return rolls + wheel.lug_height, wheel.radius + wheel.lug_height
