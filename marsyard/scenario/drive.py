"""Motors and the drive of a scenario: commands, state estimation and steering."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from marsyard.control.condition import is_condition, read_condition
from marsyard.fields import Part
from marsyard.units import (
    Acceleration,
    Angle,
    AngularSpeed,
    Length,
    Number,
    Speed,
    Time,
    dimension_of,
    to_si,
    unit_of,
)  # fmt: skip

if TYPE_CHECKING:
    from marsyard.control.motor import Motor

Above = Annotated[Number, Field(gt=0)]
Place = tuple[Length, Length]


def _is_readable(text: str) -> str:
    read_condition(text)
    return text


#: a condition, e.g. "slip > 0.6 or tilt > 20 deg" (`control.condition`)
ConditionText = Annotated[str, AfterValidator(_is_readable)]


def _time_or_condition(value: Any) -> float | str:
    return _is_readable(value) if is_condition(value) else to_si(value, "time")


def _joint_place(value: Any) -> float:
    """The angle of a hinge [rad], or the position of a slide [m]."""
    return to_si(value, "length" if dimension_of(unit_of(value)) == "length" else "angle")


JointPlace = Annotated[float, BeforeValidator(_joint_place, json_schema_input_type=float | str)]
#: joints and where they are to be
Posture = dict[str, JointPlace]


class DCMotor(Part):
    """A DC motor with gear. It bounds the torque of its joints and gives current, voltage and
    electrical power."""

    constant: Above = Field(
        description="motor constant k, of torque [N·m/A] and back-emf [V·s/rad]"
    )
    resistance: Above = Field(description="armature resistance R [Ω]")
    gear: Above = Field(description="gear ratio n, motor turns per joint turn")
    efficiency: Annotated[Number, Field(gt=0, le=1)] = Field(1.0, description="gear efficiency η")
    current_max: Above | None = Field(None, description="current limit [A]; default: none")
    voltage_max: Above | None = Field(None, description="voltage limit [V]; default: none")
    torque_max: Above | None = Field(
        None, description="torque limit at the joint [N·m]; default: none"
    )
    rotor_inertia: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="rotor inertia J [kg·m²]; n² J is added to the joint's inertia"
    )
    regeneration: bool = Field(False, description="whether braking charges the battery")

    def motor(self) -> Motor:
        """The motor as controllers use it."""
        from marsyard.control.motor import Motor

        given = self.model_dump(exclude_none=True, exclude={"rotor_inertia"})
        return Motor(**given)


class _Command(Part):
    """What all commands may say."""

    until: ConditionText | None = Field(
        None,
        description='condition that ends the command early, e.g. "distance > 3 m or slip > 0.6"',
    )
    abort_if: ConditionText | None = Field(
        None, description="condition that stops the rover and aborts the drive"
    )
    timeout: Annotated[Time, Field(gt=0)] | None = Field(
        None, description="time after which the command ends with a warning [s]; default: none"
    )
    note: str = Field("", description="short note for the timeline")


class _AlongACurve(_Command):
    speed: Annotated[Speed, Field(gt=0)] = Field(0.04, description="speed along the path [m/s]")
    tolerance: Annotated[Length, Field(gt=0)] = Field(
        0.05,
        description="goal tolerance along the path: the rover stops when half of it remains [m]",
    )


class PathCommand(_AlongACurve):
    """Follow a path to its end."""

    path: Annotated[tuple[Place, ...], Field(min_length=2)] = Field(
        description="points [x, y] of the path in the world [m]"
    )
    smooth: bool = Field(True, description="a spline through the points instead of straight lines")
    backwards: bool = Field(False, description="drive in reverse")

    @field_validator("path")
    @classmethod
    def _leads_somewhere(cls, path: tuple[Place, ...]) -> tuple[Place, ...]:
        if len(set(path)) < 2:
            raise ValueError("all points are the same; give at least two that differ")
        return path


class GoalCommand(_AlongACurve):
    """Reach a place, by a path planned over the terrain's slopes, steps and roughness."""

    goal: Place = Field(description="x, y in the world [m]")


class ArcShape(Part):
    """An arc from where the rover stands. Its length is radius times angle; a negative one is
    driven backwards."""

    radius: Length | None = Field(
        None, description="radius [m], positive with the centre on the left; or `curvature`"
    )
    curvature: Number | None = Field(None, description="1/radius [1/m]; 0 is straight ahead")
    length: Length | None = Field(
        None, description="arc length [m], negative to drive backwards; or `angle`"
    )
    angle: Angle | None = Field(None, description="change of heading [rad], positive to the left")

    @model_validator(mode="after")
    def _one_of_each(self) -> ArcShape:
        for one, other in (("radius", "curvature"), ("length", "angle")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                raise ValueError(f"give either {one} or {other}")
        if self.radius == 0.0:
            raise ValueError("radius = 0: use a turn")
        if self.curvature == 0.0 and self.angle is not None:
            raise ValueError("an arc of curvature 0 turns by no angle; give its length")
        if self.distance == 0.0:
            raise ValueError("has no length")
        return self

    @property
    def bend(self) -> float:
        """Curvature [1/m]."""
        return 1.0 / self.radius if self.radius is not None else float(self.curvature or 0.0)

    @property
    def distance(self) -> float:
        """Length [m], negative backwards."""
        return self.length if self.length is not None else float(self.angle or 0.0) / self.bend


class ArcCommand(_AlongACurve):
    """Drive an arc, from where the rover stands, in the direction of its nose."""

    arc: ArcShape


class TurnCommand(_Command):
    """Turn on the spot. Needs steering that allows it, or wheels that all skid."""

    turn: Angle | None = Field(
        None, description="angle to turn by [rad], positive left; or `turn_to`"
    )
    turn_to: Angle | None = Field(
        None, description="heading in the world to turn to [rad], in the shorter direction"
    )
    rate: Annotated[AngularSpeed, Field(gt=0)] | None = Field(
        None, description="turn rate [rad/s]; default: the drive's turn_rate"
    )
    tolerance: Annotated[Angle, Field(gt=0)] = Field(
        0.01, description="tolerance of the final heading [rad]"
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> TurnCommand:
        if (self.turn is None) == (self.turn_to is None):
            raise ValueError("give either turn or turn_to")
        return self


class CrabCommand(_AlongACurve):
    """Drive along a line with fixed heading. Needs all wheels steered, and mode free."""

    crab: Angle = Field(description="direction of travel, to the left of the rover's heading [rad]")
    length: Annotated[Length, Field(gt=0)] = Field(description="[m]")


class SteerCommand(_Command):
    """Hold a speed and a rate of turning for some time, as by a stick; nothing is compensated."""

    steer: Speed = Field(description="forward speed [m/s], negative backwards")
    turn_rate: AngularSpeed = Field(
        0.0, description="turn rate [rad/s], positive left; with speed 0 a point turn"
    )
    duration: Annotated[Time, Field(gt=0)] = Field(
        description="duration [s], rounded up to the drive's period"
    )


class WaitCommand(_Command):
    """Stand for some time, or until a condition holds."""

    wait: Annotated[
        float | str, BeforeValidator(_time_or_condition, json_schema_input_type=float | str)
    ] = Field(description='duration [s], or a condition to wait for, e.g. "speed < 1 mm/s"')

    @field_validator("wait")
    @classmethod
    def _not_negative(cls, wait: float | str) -> float | str:
        if isinstance(wait, float) and wait < 0:
            raise ValueError(f"{wait:g} s is negative; at least 0 is allowed")
        return wait


class PostureCommand(_Command):
    """Move joints of frame, legs, arm or mast and hold them; wheels and steering stand."""

    posture: str | Posture = Field(
        description="name of one of drive.postures, or angles [rad] (of slides: positions [m]) by "
        "joint"
    )
    rate: Above = Field(0.1, description="greatest rate of the joints [rad/s] or [m/s]")
    tolerance: Above = Field(0.01, description="tolerance of the joint positions [rad] or [m]")

    @field_validator("posture")
    @classmethod
    def _moves_something(cls, posture: str | Posture) -> str | Posture:
        if not posture:
            raise ValueError("names no joint; give at least one")
        return posture


class MotorCommand(_Command):
    """Hold wheel rates and steering angles for some time."""

    @model_validator(mode="before")
    @classmethod
    def _says_something(cls, data: Any) -> Any:
        if isinstance(data, dict) and set(data) <= set(_Command.model_fields):
            keys = ", ".join([*_KEYS, "rate"])
            raise ValueError(f"contains no command; give one of {keys}")
        return data

    rate: AngularSpeed | dict[str, AngularSpeed] = Field(
        description="rate of all wheels, or by wheel [rad/s], positive forwards"
    )
    angle: Angle | dict[str, Angle] = Field(
        0.0, description="angle of all steered wheels, or by wheel [rad], positive to the left"
    )
    joints: dict[str, AngularSpeed] = Field(
        {}, description="rates of joints of frame, legs, arm or mast [rad/s]; other joints are held"
    )
    duration: Annotated[Time, Field(gt=0)] = Field(
        description="duration [s], rounded up to the drive's period"
    )


#: keys that tell what a command is, and what it is called
_KEYS = {
    "path": "path", "goal": "goal", "arc": "arc", "turn": "turn", "turn_to": "turn",
    "crab": "crab", "steer": "steer", "wait": "wait", "posture": "posture",
}  # fmt: skip


def command_kind(value: Any) -> str:
    """What a command is: path, goal, arc, turn, crab, steer, wait, posture or motors."""
    has = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return next((kind for key, kind in _KEYS.items() if key in has), "motors")


DriveCommand = Annotated[
    Annotated[PathCommand, Tag("path")]
    | Annotated[GoalCommand, Tag("goal")]
    | Annotated[ArcCommand, Tag("arc")]
    | Annotated[TurnCommand, Tag("turn")]
    | Annotated[CrabCommand, Tag("crab")]
    | Annotated[SteerCommand, Tag("steer")]
    | Annotated[WaitCommand, Tag("wait")]
    | Annotated[PostureCommand, Tag("posture")]
    | Annotated[MotorCommand, Tag("motors")],
    Discriminator(command_kind),
]


class AbortLimits(Part):
    """What stops the rover and ends the drive, regardless of the active command."""

    tilt: Annotated[Angle, Field(gt=0)] | None = Field(
        None, description="greatest tilt of the base from the vertical [rad]"
    )
    slip: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        None, description="greatest slip ratio of a wheel, smoothed over one second"
    )
    sinkage: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="greatest sinkage of a wheel [m]"
    )
    current: Above | None = Field(None, description="greatest motor current [A]")
    time: Annotated[Time, Field(gt=0)] | None = Field(None, description="time since the start [s]")
    distance: Annotated[Length, Field(gt=0)] | None = Field(
        None, description="distance travelled since the start [m]"
    )

    def conditions(self) -> dict[str, str]:
        """Each limit as a condition, by name."""
        names = {"time": "total_time", "distance": "total_distance"}
        units = {"tilt": "deg", "sinkage": "m", "current": "A", "time": "s", "distance": "m"}
        out = {}
        for name, value in self.model_dump(exclude_none=True).items():
            shown = math.degrees(value) if name == "tilt" else value
            out[name] = f"{names.get(name, name)} > {shown:.9g} {units.get(name, '')}".rstrip()
        return out


class Sense(Part):
    """What the rover knows of its own motion, once per period of the drive."""

    by: Literal["truth", "visual_odometry", "wheel_odometry"] = Field(
        "truth",
        description="truth: ground truth of pose and velocity; visual_odometry: ground truth with "
        "the errors below, which accumulate with distance; wheel_odometry: dead "
        "reckoning from wheel rotation and attitude, which does not observe slip"
        "",
    )
    scale_error: Number = Field(
        0.0, description="scale error of visual odometry, as a share of distance"
    )
    noise: Annotated[Number, Field(ge=0)] = Field(
        0.0,
        description="standard deviation of the position from visual odometry after 1 m [m]; "
        "∝ √distance",
    )
    heading_noise: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="standard deviation of its heading after 1 m [rad], likewise"
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="of the noise")


class Following(Part):
    """The law that keeps a rover on its path (`control.path_following`)."""

    law: Literal["feedback", "pure_pursuit"] = Field(
        "feedback",
        description="feedback of cross-track and heading error, or pure pursuit of a "
        "look-ahead point",
    )
    gain_track: Above = Field(1.0, description="k_e of the feedback law [1/m²]")
    gain_heading: Above = Field(2.0, description="k_θ of the feedback law [1/m]")
    look_ahead: Annotated[Length, Field(gt=0)] = Field(
        0.8, description="look-ahead distance of pure pursuit [m]"
    )
    compensate: bool = Field(
        True, description="compensate for observed slip (not available with wheel odometry)"
    )
    compensation_time: Annotated[Time, Field(gt=0)] = Field(
        1.0, description="smoothing time of the observed slip [s]"
    )


class Limits(Part):
    """Ground that a goal's path may cross (`control.planner`)."""

    slope: Annotated[Angle, Field(gt=0)] = Field(
        "20 deg", validate_default=True, description="steepest slope the planner allows [rad]"
    )
    step: Annotated[Length, Field(gt=0)] = Field(
        0.15, description="highest step the planner allows [m]"
    )
    roughness: Annotated[Length, Field(gt=0)] = Field(
        0.10, description="greatest roughness, rms about a plane [m]"
    )
    footprint: Annotated[Length, Field(gt=0)] = Field(
        0.8, description="radius of the rover's footprint [m]"
    )


class Drive(Part):
    """Commands carried out one after another; the run ends with the last one, or at its duration.
    Control runs in Python once per `period`, servos hold its commands in between."""

    commands: Annotated[tuple[DriveCommand, ...], Field(min_length=1)] = Field(
        description="each a path, goal, arc, turn, crab, steering command, wait, posture, or "
        "motor rates and angles"
        ""
    )
    postures: dict[str, Posture] = Field({}, description="named items for the commands")
    abort_limits: AbortLimits = AbortLimits()
    period: Annotated[Time, Field(gt=0)] = Field(
        0.1, description="a whole multiple of run.control_period [s]"
    )
    mode: Literal["free", "double_ackermann", "ackermann", "skid"] = Field(
        "free", description="steering mode; free: all wheels steer, crabbing against side slip"
    )
    following: Following = Following()
    share: Literal["rates", "slip"] = Field(
        "rates",
        description="distribution of wheel rates: planar kinematics, or slip coordination, which "
        "equalises slip ratios on uneven ground so that wheels with less slip get "
        "more torque"
        "",
    )
    acceleration: Annotated[Acceleration, Field(gt=0)] = Field(
        0.05, description="greatest acceleration of the wheel rims [m/s²]"
    )
    steering_rate: Annotated[AngularSpeed, Field(gt=0)] = Field(
        0.2, description="greatest rate of the steering joints [rad/s]"
    )
    rate_max: Annotated[AngularSpeed, Field(gt=0)] | None = Field(
        None, description="greatest rate of the wheels [rad/s]; default: none"
    )
    turn_rate: Annotated[AngularSpeed, Field(gt=0)] = Field(
        0.05,
        description="rate of point turns towards a path that does not start straight ahead [rad/s]",
    )
    sense: Sense = Sense()
    limits: Limits = Limits()
    stop: bool = Field(True, description="end the run after the last command")

    @model_validator(mode="after")
    def _wheels_see_no_slip(self) -> Drive:
        if self.share == "slip" and self.sense.by == "wheel_odometry":
            raise ValueError("share: slip needs a measured velocity; use another sense.by")
        return self
