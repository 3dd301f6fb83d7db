"""An FMU as a controller or a motor of a scenario: file, inputs and commands."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from marsyard.fields import Part
from marsyard.units import Number, Time

#: what an output of an FMU may command
COMMANDS = ("torque", "speed")
#: what readings begin with, as in wheel.FL.slip
READ = ("base", "angle", "rate", "torque", "wheel", "foot", "track", "power", "energy")


class FmuLaw(Part):
    """A functional mock-up unit (FMI 2.0 or 3.0, co-simulation) that commands joints. It is stepped
    once per `period`: its inputs are taken at the begin, its outputs hold to the end."""

    kind: Literal["fmu"]
    file: str = Field(description="the .fmu file; paths are relative to the scenario's folder")
    name: str | None = Field(
        None, description="name in results and for other FMUs; default: that of the file"
    )
    each: str | tuple[str, ...] | None = Field(
        None,
        description="one instance for each joint of a role or list; `angle`, `rate`, `torque` and "
        "`speed` then refer to its joint; default: one instance"
        "",
    )
    inputs: dict[str, str | float] = Field(
        {},
        description="by name in the FMU: a number, an expression as in a torque law, a reading "
        "such as wheel.FL.slip, or NAME.OUTPUT of an earlier FMU in the list"
        "",
    )
    outputs: dict[str, str] = Field(
        {},
        description="by name in the FMU: torque.JOINT [N·m] or speed.JOINT [rad/s], where JOINT "
        "may be a role; with `each`, torque or speed"
        "",
    )
    parameters: dict[str, bool | int | float | str] = Field(
        {}, description="start values of the FMU's parameters, by name"
    )
    period: Annotated[Time, Field(gt=0)] | None = Field(
        None, description="a whole multiple of run.control_period [s]; default: that period"
    )
    gain: Annotated[Number, Field(gt=0)] = Field(
        1e5, description="gain of the speed servo [N·m·s/rad]; default: ideal"
    )
    limit: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="torque limit of the speed servo [N·m]; default: none"
    )

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and (not name.strip() or "." in name or name in READ):
            taken = ", ".join(READ)
            raise ValueError(f"'{name}' must be a name without a dot, and none of {taken}")
        return name

    @field_validator("each")
    @classmethod
    def _has_joints(cls, each: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if each is not None and not each:
            raise ValueError("names no joint; give a role or joints, or leave it out")
        return each

    @field_validator("inputs", "parameters", mode="before")
    @classmethod
    def _are_values(cls, values: Any, info: ValidationInfo) -> Any:
        given = values.items() if isinstance(values, dict) else ()
        for name, value in given:
            number = isinstance(value, int | float) and math.isfinite(value)
            if not number and not isinstance(value, str):
                allowed = "a finite number or a text"
                if info.field_name == "parameters":
                    allowed = "a finite number, true, false or a text"
                raise ValueError(f"'{name}' is {value!r}; {allowed} is needed")
        return values

    @field_validator("outputs")
    @classmethod
    def _are_commands(cls, outputs: dict[str, str]) -> dict[str, str]:
        for name, command in outputs.items():
            if command.partition(".")[0] not in COMMANDS:
                raise ValueError(
                    f"'{name}' commands '{command}'; torque.JOINT or speed.JOINT is needed"
                )
        return outputs

    @property
    def joints(self) -> tuple[str, ...]:
        """Roles and joints it acts on."""
        each = (self.each,) if isinstance(self.each, str) else tuple(self.each or ())
        named = (command.partition(".")[2] for command in self.outputs.values())
        return tuple(dict.fromkeys([*each, *(group for group in named if group)]))
