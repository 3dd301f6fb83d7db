"""The gait of a scenario: locomotion on legs, wheels or both."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from marsyard.fields import Part
from marsyard.units import Acceleration, Angle, AngularSpeed, Length, Number, Speed, Time


class Until(Part):
    """When a mode is left for the next one, asked at the end of each of its cycles: as soon as one
    of these holds. Without any the mode goes on to the end of the run."""

    time: Annotated[Time, Field(gt=0)] | None = Field(None, description="time in the mode [s]")
    distance: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="distance of the base in the mode, in its direction [m]"
    )
    cycles: Annotated[int, Field(ge=1)] | None = Field(None, description="number of cycles")
    slope: Annotated[Angle, Field(gt=0)] | None = Field(
        None, description="greatest inclination of the base [rad]"
    )
    slip: Annotated[Number, Field(lt=1)] | None = Field(
        None, description="greatest slip of the last cycle, 1 − distance/planned distance"
    )
    progress: Length | None = Field(None, description="least distance of the last cycle [m]")


class _Mode(Part):
    until: Until = Until()
    height: Length = Field(
        0.0, description="height of the base above its height with all joints at zero [m]"
    )


class _Cyclic(_Mode):
    least_margin: Length = Field(
        0.0, description="least static stability margin of the plan; a smaller one is an error [m]"
    )


class WalkingMode(_Cyclic):
    """Feet (or braked wheels) are lifted and set down by turns, in a wave gait that is stable at
    every instant."""

    mode: Literal["walking"]
    pattern: Literal["tripod", "ripple", "wave", "crawl"] = Field(
        "wave",
        description="tripod: six legs, three at a time; ripple: six, two at a time; wave: one at a "
        "time; crawl: four, one at a time with all standing in between",
    )
    stride: Length = Field(
        0.08, description="distance of the base per cycle, negative backwards [m]"
    )
    period: Annotated[Time, Field(gt=0)] = Field(4.0, description="duration of a cycle [s]")
    duty: Annotated[Number, Field(ge=0.5, lt=1)] | None = Field(
        None,
        description="duty factor: share of the cycle in which a foot carries; default: that "
        "of the pattern",
    )
    heading: Angle = Field(0.0, description="direction of travel, from forwards to the left [rad]")
    turn: Angle = Field(0.0, description="turn of the base per cycle, to the left [rad]")
    step_height: Annotated[Length, Field(gt=0)] = Field(
        0.03, description="lift height of a foot [m]"
    )
    sway: Annotated[Length, Field(ge=0)] = Field(
        0.0, description="lateral sway of the base, away from feet in the air [m]"
    )
    attitude: Literal["parallel", "level"] = Field(
        "parallel", description="attitude of the base on a slope, measured when the mode starts"
    )

    @model_validator(mode="after")
    def _goes(self) -> WalkingMode:
        if self.stride == 0 and self.turn == 0:
            raise ValueError("stride and turn are both 0, so there is no motion; give one of them")
        return self


class PeristalticMode(_Cyclic):
    """Rolling-walking: one axle, or one wheel, after the other is moved against the frame and rolls
    along, all others are braked."""

    mode: Literal["peristaltic"]
    stride: Length = Field(
        0.15, description="distance of the base per cycle, negative backwards [m]"
    )
    period: Annotated[Time, Field(gt=0)] = Field(9.0, description="duration of a cycle [s]")
    move: Literal["axle", "wheel"] = Field("axle", description="what is moved at a time")

    @model_validator(mode="after")
    def _goes(self) -> PeristalticMode:
        if self.stride == 0:
            raise ValueError("stride is 0, so there is no motion; give a stride")
        return self


class RollingMode(_Mode):
    """Wheels roll, legs and frame are held."""

    mode: Literal["rolling"]
    speed: Speed = Field(0.05, description="forwards [m/s]")
    turn_rate: AngularSpeed = Field(0.0, description="to the left [rad/s]")
    period: Annotated[Time, Field(gt=0)] = Field(
        2.0, description="duration of a cycle, after which `until` is checked [s]"
    )


GaitMode = Annotated[WalkingMode | PeristalticMode | RollingMode, Field(discriminator="mode")]


class Gait(Part):
    """Modes one after the other. A single mode, or a list of them, may stand for the whole. Python
    is entered once per cycle; servos of the compiled loop follow its table of joint angles."""

    modes: Annotated[tuple[GaitMode, ...], Field(min_length=1)] = Field(
        description="each walking, peristaltic or rolling"
    )
    repeat: bool = Field(False, description="continue with the first mode after the last")
    stop: bool = Field(True, description="end the run after the last mode")
    sample: Annotated[Time, Field(gt=0)] = Field(
        0.02,
        description="sampling period of the joint angles; a whole multiple of "
        "run.control_period [s]",
    )
    gain: Annotated[Number, Field(gt=0)] = Field(
        1e3,
        description="gain of the servos [N·m·s/rad], 100 times as much for slides [N·s/m]; a "
        "joint deflects by torque/(10 gain) [rad]"
        "",
    )
    limit: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="torque [N·m] or force [N] limit of a servo; default: none"
    )
    step_time: Annotated[Time, Field(gt=0)] = Field(
        0.8, description="duration of one step during the transition to a mode's first pose [s]"
    )
    transition_speed: Annotated[Speed, Field(gt=0)] = Field(
        0.05,
        description="greatest mean speed of the base and of wheels during the transition [m/s]",
    )
    acceleration: Annotated[Acceleration, Field(gt=0)] = Field(
        0.1, description="acceleration of wheel rims that start or stop rolling [m/s²]"
    )

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        if isinstance(data, list | tuple):
            return {"modes": data}
        if isinstance(data, dict) and "mode" in data and "modes" not in data:
            own = {k: data[k] for k in data if k in cls.model_fields}
            mode = {k: v for k, v in data.items() if k not in own}
            return {"modes": [mode], **own}
        return data

    @model_validator(mode="after")
    def _whole_cycles(self) -> Gait:
        for k, mode in enumerate(self.modes):
            ratio = mode.period / self.sample
            if abs(ratio - round(ratio)) > 1e-9 * ratio or round(ratio) < 4:
                near = max(4, round(ratio)) * self.sample
                raise ValueError(
                    f"modes.{k}.period = {mode.period:g} s is not a whole multiple, four at least, "
                    f"of sample = {self.sample:g} s; the nearest is {near:g} s"
                )
        return self
