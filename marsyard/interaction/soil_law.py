"""Soil models, as the engine and results see them, whichever they are.

Several may act on one ground, each under its own bodies: `WorldSoil` is all of them as one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.law import SINK, Column, Kernels, Law

if TYPE_CHECKING:
    import mujoco

    from marsyard.ground.soil import Soil
    from marsyard.ground.soil_grid import SoilGrid
    from marsyard.interaction.soft_ground import SoftGround
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


class Flow(NamedTuple):
    """How displaced soil flows after a step: kernels, and the arrays they work on."""

    kernels: Kernels
    arrays: Any


class SoilLaw(Law):
    """Soil under bodies of a robot: the soft ground, and which of its attachments are wheels. Hard
    ground acts on the same bodies, too.

    Attributes:
        ground: its name in the scenario.
        grid: the soil, which laws share; soils: of its places.
    """

    passive = True
    on_soil = True
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
        raise InputError(f"the soil model '{scenario.interaction.soil.model}' cannot change soils")

    def wheel_radii(self, name: str, wheel: Wheel, rolls: float) -> tuple[float, float]:
        """Where a wheel shears soil, and where it carries [m]; it `rolls` on hard ground with this
        radius [m]."""
        return drum_radii(wheel, rolls)

    def flow(self) -> Flow | None:
        """How soil that it has displaced flows; the arrays are those that `attach` has left."""
        return None

    def make_room(self) -> None:
        """Make the tiles that the kernels asked for."""
        self.grid.fill_requests()

    def refresh(self) -> None:
        """Have the kernels use the grid's present arrays, as the field `grid` of their own."""
        if hasattr(self.arrays, "grid"):
            self.arrays = self.arrays._replace(grid=self.grid.arrays)
            if self.packed is not None:
                self.packed.replace(self.arrays)


def drum_radii(wheel: Wheel, rolls: float) -> tuple[float, float]:
    """Where a wheel shears soil, and where it carries [m]: as a drum through the tips of its
    grousers; it `rolls` on hard ground with this radius [m]."""
    return rolls + wheel.lug_height, wheel.radius + wheel.lug_height


def left_the_map(law: SoilLaw, centre: np.ndarray) -> str:
    """Which of a law's bodies, with these centres [m], has left the map, in words."""
    bounds = law.grid.terrain.bounds
    assert bounds is not None
    xmin, xmax, ymin, ymax = bounds
    x, y = centre[:, 0], centre[:, 1]
    b = int(np.argmin((xmin <= x) & (x <= xmax) & (ymin <= y) & (y <= ymax)))
    return (
        f"{law.attachments[b].name} left the map at x = {x[b]:.3f}, y = {y[b]:.3f} m "
        f"(ground.{law.ground} ends at x {xmin:g} to {xmax:g}, y {ymin:g} to {ymax:g} m; "
        "set its 'outside' to flat to extend it)"
    )


@dataclass(frozen=True)
class WorldSoil:
    """The soft ground of a world, with all soil models that act on it as one."""

    ground: SoftGround
    laws: tuple[SoilLaw, ...]

    @property
    def grid(self) -> SoilGrid:
        """Its nodes."""
        return self.ground.grid

    @property
    def soils(self) -> tuple[Soil, ...]:
        """Of its places, with the numbers that laws have now."""
        return self.laws[0].soils if self.laws else self.ground.soils

    @property
    def wheels(self) -> frozenset[int]:
        """Numbers of the wheels that soil models act on."""
        return frozenset(int(w) for law in self.laws for w in law.wheel if w >= 0)

    def columns(self) -> tuple[Column, ...]:
        """What all laws record."""
        return tuple(column for law in self.laws for column in law.columns())

    def by_wheel(self, values: Mapping[str, np.ndarray], times: int, wheels: int) -> np.ndarray:
        """Values of the attachments by law, [time, attachment, …], by wheel; NaN for wheels under a
        law of another kind."""
        shape = next((each.shape[2:] for each in values.values()), ())
        out = np.full((times, wheels, *shape), np.nan)
        for law in self.laws:
            on_soil = np.flatnonzero(law.wheel >= 0)
            out[:, law.wheel[on_soil]] = values[law.name][:, on_soil]
        return out

    def touching(self, wheels: int) -> np.ndarray:
        """Whether each wheel touches the soil now, above 0, [1, wheel]."""
        return self.by_wheel({law.name: law.touching()[None] for law in self.laws}, 1, wheels)

    def touched(self, columns: Mapping[str, np.ndarray], times: int, wheels: int) -> np.ndarray:
        """The same at the records, [time, wheel], from the laws' columns there."""
        return self.by_wheel({law.name: law.touched(columns) for law in self.laws}, times, wheels)

    def pressing(self) -> Pressing:
        """All bodies on the soil, wheels by their number first, and the stresses under them now."""
        parts = [law.pressing() for law in self.laws]
        at = [(k, b) for k, part in enumerate(parts) for b in range(len(part.names))]

        def place(row: tuple[int, int]) -> float:
            number = self.laws[row[0]].wheel[row[1]]
            return float(number) if number >= 0 else np.inf

        at.sort(key=place)

        def rows(field: str, *shape: int) -> np.ndarray:
            found = [getattr(parts[k], field)[b] for k, b in at]
            return np.array(found, dtype=float).reshape(len(at), *shape)

        return Pressing(
            tuple(parts[k].names[b] for k, b in at), rows("position", 3), rows("axle", 3),
            rows("radius"), rows("width"), tuple(parts[k].points[b] for k, b in at),
        )  # fmt: skip

    def wheel_stress(self, columns: Mapping[str, np.ndarray], wheels: int) -> np.ndarray | None:
        """Mean forces around the wheels as `SoilLaw.wheel_stress`, NaN where no law knows them;
        None if none does."""
        known = (law.wheel_stress(columns, wheels) for law in self.laws)
        found = [each for each in known if each is not None]
        if not found:
            return None
        return functools.reduce(lambda a, b: np.where(np.isnan(a), b, a), found)

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """Have all laws go on with other numbers of the same soils."""
        for law in self.laws:
            law.change_soils(scenario, robot, model, soils)

    def wheel_radii(
        self, number: int, name: str, wheel: Wheel, rolls: float
    ) -> tuple[float, float]:
        """Where a wheel shears soil, and where it carries [m], by the law that acts on it."""
        law = next((law for law in self.laws if number in law.wheel), None)
        return drum_radii(wheel, rolls) if law is None else law.wheel_radii(name, wheel, rolls)
