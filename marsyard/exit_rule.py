"""The exit rule of a wheel's tread, in one place for robots, scenarios and wheel models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from marsyard.errors import InputError, suggest
from marsyard.units import Number

RULES = ("rebound", "height", "angle")


@dataclass(frozen=True)
class Exit:
    """Where the soil leaves a wheel, which decides about the pull.

    rule "rebound", the default: where elastic rebound and the soil that lugs carry and release
        under the rear arc end, `value` being the share that is released (`interaction.tread`).
    rule "height": the soil rises behind the wheel to `value` times the sinkage,
        θ₂ = −acos(1 − λ z/r). Fitted by Ishigami, Mizuuchi and Yoshida (2005): 0.1 to 0.3 for a
        smooth wheel, 1.0 to 1.2 for one with paddles; 0.9 in the often copied script of 2007.
    rule "angle": θ₂ = −value · θ₁. 0: contact ends at the lowest point (Ding et al. 2011).
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    rule: Annotated[
        Literal["rebound", "height", "angle"],
        Field(
            description="rebound: elastic rebound and `value` times the soil that lugs carry fill "
            "the gap behind the wheel; height: the soil rises behind the wheel to `value` times "
            "the sinkage; angle: the exit angle is `value` times the entry angle"
        ),
    ]
    value: Annotated[
        Number,
        Field(
            ge=0, le=2,
            description="rebound: a third; height: smooth wheels 0.1 to 0.3, with paddles 1.0 to "
            "1.2 (Ishigami 2005); angle: 0 (Ding 2011)",
        ),
    ]  # fmt: skip

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InputError(f"wheel: exit rule '{self.rule}'; {suggest(self.rule, RULES)}")
        if not 0.0 <= self.value <= 2.0:
            raise InputError(f"wheel: exit value = {self.value:g}: from 0 to 2")

    @classmethod
    def parse(cls, text: str, option: str = "--exit") -> Exit:
        """ "height:0.2" as an exit rule."""
        rule, colon, value = text.partition(":")
        if not colon:
            raise InputError(
                f"{option}: '{text}' must be a rule and a value, RULE:VALUE, e.g. angle:0"
            )
        try:
            return cls(rule.strip(), float(value))  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"{option}: {error}") from None
        except ValueError:
            raise InputError(f"{option}: '{value}' in '{text}' is not a number") from None

    def __str__(self) -> str:
        return f"{self.rule}:{self.value:g}"


#: of wheels that have no rule of their own
DEFAULT = Exit("rebound", 1 / 3)
