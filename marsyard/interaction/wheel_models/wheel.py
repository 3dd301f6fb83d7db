"""A wheel as the wheel models see it: size, lugs, surface and exit rule of its tread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.exit_rule import DEFAULT, Exit
from marsyard.interaction.tread import Tread
from marsyard.interaction.wheel_models.numbers import BY_ANGLE, BY_HEIGHT, BY_REBOUND
from marsyard.robot import Wheel as RobotWheel
from marsyard.wheel_surface import TreadSurface

_RULES = {"height": BY_HEIGHT, "angle": BY_ANGLE, "rebound": BY_REBOUND}


@dataclass(frozen=True)
class Wheel:
    """A rigid wheel [m].

    radius: of the rim, without lugs.
    width: b.
    exit: the exit rule, see `Exit`.
    lug_height: h; 0 for a smooth wheel.
    shear_share: the soil shears at r + share · h (0 to 1).
    lug_share: soil starts to deform at the radius R_j = r + share · h (0 to 1); None: half of the
        part of the tread on which soil shears on soil, see `arc`.
    surface: of the rim; None: soil shears on soil, as the published models have it.
    lug_count, lug_thickness: None: the lugs stand close, see `interaction.tread`.
    """

    radius: float
    width: float
    exit: Exit = DEFAULT
    lug_height: float = 0.0
    shear_share: float = 1.0
    lug_share: float | None = None
    surface: TreadSurface | None = TreadSurface()
    lug_count: int | None = None
    lug_thickness: float = 0.0

    def __post_init__(self) -> None:
        for name in ("radius", "width"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"wheel: {name} = {getattr(self, name):g} m: above 0")
        if not 0.0 <= self.lug_height < self.radius:
            raise InputError(f"wheel: lug_height = {self.lug_height:g} m: from 0 to the radius")
        for name in ("shear_share", "lug_share"):
            if not 0.0 <= (getattr(self, name) or 0.0) <= 1.0:
                raise InputError(f"wheel: {name} = {getattr(self, name):g}: from 0 to 1")

    @classmethod
    def of(cls, wheel: RobotWheel, exit: Exit | None = None, **own: Any) -> Wheel:
        """A robot's wheel; `exit` and further numbers replace its own."""
        lugs = wheel.grousers
        if lugs is not None:
            own = {"lug_height": lugs.height, "lug_count": lugs.count,
                   "lug_thickness": lugs.thickness, **own}  # fmt: skip
        own = {"surface": wheel.surface, **own}
        return cls(wheel.radius, wheel.width, exit or wheel.exit or DEFAULT, **own)

    @property
    def tread(self) -> Tread:
        """What `interaction.tread` knows of it."""
        return Tread(self.radius, self.surface, self.lug_height, self.lug_count, self.lug_thickness)

    @property
    def shear_radius(self) -> float:
        """r_s [m]."""
        return self.radius + self.shear_share * self.lug_height

    def numbers(self) -> np.ndarray:
        """The array the models take."""
        rule = _RULES[self.exit.rule]
        return np.array([self.radius, self.width, self.shear_radius, rule, self.exit.value])

    def lug_radius(self, phi: float) -> float:
        """R_j in a soil of friction angle φ [rad], [m]."""
        share = self.lug_share
        if share is None:
            share = 0.5 * self.tread.soil_share(phi)
        return self.radius + share * self.lug_height
