"""A wheel as the wheel models see it: size, lugs, and the exit rule of its tread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.interaction.wheel_models.numbers import BY_ANGLE, BY_HEIGHT

_RULES = {"height": BY_HEIGHT, "angle": BY_ANGLE}


@dataclass(frozen=True)
class Exit:
    """Where the soil leaves the wheel: a property of the tread that decides about the pull.

    rule "height": the soil rises behind the wheel to `value` times the sinkage,
        θ₂ = −acos(1 − λ z/r). Fitted by Ishigami, Mizuuchi and Yoshida (2005): 0.1 to 0.3 for a
        smooth wheel, 1.0 to 1.2 for one with paddles; 0.9 in the often copied script of 2007.
    rule "angle": θ₂ = −value · θ₁. 0: contact ends at the lowest point (Ding et al. 2011).
    """

    rule: str
    value: float

    def __post_init__(self) -> None:
        if self.rule not in _RULES:
            raise InputError(f"wheel: exit rule '{self.rule}'; {suggest(self.rule, _RULES)}")
        if not 0.0 <= self.value <= 2.0:
            raise InputError(f"wheel: exit value = {self.value:g}: from 0 to 2")


@dataclass(frozen=True)
class Wheel:
    """A rigid wheel [m].

    radius: of the rim, without lugs.
    width: b.
    exit: the exit rule; there is no default, see `Exit`.
    lug_height: h; 0 for a smooth wheel.
    shear_share: the soil shears at r + share · h (0 to 1).
    lug_share: soil starts to deform at the radius R_j = r + share · h (0 to 1).
    """

    radius: float
    width: float
    exit: Exit
    lug_height: float = 0.0
    shear_share: float = 1.0
    lug_share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("radius", "width"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"wheel: {name} = {getattr(self, name):g} m: above 0")
        if not 0.0 <= self.lug_height < self.radius:
            raise InputError(f"wheel: lug_height = {self.lug_height:g} m: from 0 to the radius")
        for name in ("shear_share", "lug_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"wheel: {name} = {getattr(self, name):g}: from 0 to 1")

    @property
    def shear_radius(self) -> float:
        """r_s [m]."""
        return self.radius + self.shear_share * self.lug_height

    def numbers(self) -> np.ndarray:
        """The array the models take."""
        lug = self.radius + self.lug_share * self.lug_height
        rule = _RULES[self.exit.rule]
        return np.array([self.radius, self.width, self.shear_radius, lug, rule, self.exit.value])
