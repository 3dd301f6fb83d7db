"""Soil in columns for `soil_rig`: its numbers, and heaps without bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from soil_rig import Land, Rig

from marsyard.ground.soil import Soil
from marsyard.interaction.soil_columns.arrays import ColumnNumbers, FlowOptions
from marsyard.interaction.soil_columns.numbers import (
    ColumnOptions,
    curve_rows,
    granular_row,
    law_row,
)

EARTH = 9.81


@dataclass(frozen=True)
class Columns:
    """A soil in columns under bodies of one width; more numbers go to `Soil`."""

    phi: float = 30.0  # [deg]
    cohesion: float = 0.0
    density: float = 1600.0
    width: float = 0.1
    viscosity: float = 10.0
    rest: float = 0.96
    planar: int = 0
    gravity: float = EARTH
    modulus: float | None = 84000.0
    exponent: float = 0.63
    chunk: float | None = None
    more: dict = field(default_factory=dict)

    @property
    def soil(self) -> Soil:
        return Soil(
            "sand", exponent=self.exponent, cohesion=self.cohesion,
            friction_angle=math.radians(self.phi), density=self.density, **self.more,
        )  # fmt: skip

    @property
    def numbers(self) -> ColumnOptions:
        return ColumnOptions(self.gravity, rest=self.rest)

    @property
    def row(self) -> np.ndarray:
        return law_row(self.soil, self.width, self.modulus, self.numbers)

    def arrays(self, bodies: int) -> ColumnNumbers:
        return ColumnNumbers(
            column=np.tile(self.row, (max(bodies, 1), 1, 1)),
            curve=curve_rows(self.soil)[None],
            granular=granular_row(self.soil, self.numbers)[None],
        )

    def options(self, spacing: float, time: float, dt: float) -> FlowOptions:
        chunk = self.chunk or min(
            0.5 * spacing * self.viscosity / self.gravity, 0.25 / self.viscosity
        )
        return FlowOptions(time, dt, chunk, self.gravity, self.viscosity, self.planar)

    def but(self, **changes) -> Columns:
        return replace(self, **changes)


class Heap(Rig):
    """Loose soil of the given heights(x, y) without bodies, on ±`size` metres."""

    def __init__(self, heights, columns=None, spacing=0.02, size=1.0, land=None):
        columns = columns or Columns()
        super().__init__([], spacing=spacing, land=land or Land(), room=64, columns=columns)
        self.grid.make_area(-size, size, *((0.0, 0.0) if columns.planar else (-size, size)))
        self.grid.lay(heights)
        self.time = 0.0

    def run(self, dt: float) -> int:
        looked = self.flow(dt=dt, time=self.time)
        self.grid.fill_requests()
        self.time += dt
        return looked

    def settle(self, dt: float = 0.01, longest: float = 20.0) -> float:
        """Run until all is at rest; returns the time that took."""
        while self.run(dt) > 0:
            assert self.time < longest, "sliding does not end"
        return self.time

    def profile(self, half: int) -> tuple[np.ndarray, np.ndarray]:
        """Places and heights of the columns −half … half along x."""
        x = np.arange(-half, half + 1) * self.grid.spacing
        return x, self.grid.height(x, 0.0 * x)


def block(half: float, height: float):
    """A block of soil |x| ≤ half in the row y = 0."""
    return lambda x, y: np.where((np.abs(x) <= half + 1e-9) & (y == 0), height, 0.0)


def wall(half: float, height: float):
    """A block |x| ≤ half that is alike for all y."""
    return lambda x, y: np.where(np.abs(x) <= half + 1e-9, height, 0.0)
