"""Motors and the drive of a scenario: what a rover is told to do, and how it sees and steers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from marsyard.scenario.part import Part
from marsyard.units import Acceleration, Angle, AngularSpeed, Length, Number, Speed, Time

if TYPE_CHECKING:
    from marsyard.control.motor import Motor

Above = Annotated[Number, Field(gt=0)]
Place = tuple[Length, Length]


class DCMotor(Part):
    """A DC motor with gear. It bounds the torque of its joints and gives current, voltage and
    electrical power."""

    constant: Above = Field(description="k, of torque [N·m/A] and back-emf [V·s/rad]")
    resistance: Above = Field(description="R of the armature [Ω]")
    gear: Above = Field(description="n, turns of the motor per turn of the joint")
    efficiency: Annotated[Number, Field(gt=0, le=1)] = Field(1.0, description="η of the gear")
    current_max: Above | None = Field(None, description="[A]; default: none")
    voltage_max: Above | None = Field(None, description="[V]; default: none")
    torque_max: Above | None = Field(None, description="at the joint [N·m]; default: none")
    rotor_inertia: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="J of the rotor [kg·m²]; n² J is added to the joint's inertia"
    )
    regeneration: bool = Field(False, description="whether braking feeds the battery")

    def motor(self) -> Motor:
        """The motor as controllers use it."""
        from marsyard.control.motor import Motor

        given = self.model_dump(exclude_none=True, exclude={"rotor_inertia"})
        return Motor(**given)


class PathCommand(Part):
    """Follow a path to its end."""

    path: Annotated[tuple[Place, ...], Field(min_length=2)] = Field(
        description="its points [x, y], in the world [m]"
    )
    smooth: bool = Field(True, description="a spline through the points instead of straight lines")
    speed: Annotated[Speed, Field(gt=0)] = Field(0.04, description="along the path [m/s]")
    tolerance: Annotated[Length, Field(gt=0)] = Field(
        0.05, description="along the path: the rover stops when half of it is left [m]"
    )

    @field_validator("path")
    @classmethod
    def _leads_somewhere(cls, path: tuple[Place, ...]) -> tuple[Place, ...]:
        if len(set(path)) < 2:
            raise ValueError("all points are the same; give at least two that differ")
        return path


class GoalCommand(Part):
    """Reach a place, by a path planned over the terrain's slopes, steps and roughness."""

    goal: Place = Field(description="x, y in the world [m]")
    speed: Annotated[Speed, Field(gt=0)] = Field(0.04, description="along the path [m/s]")
    tolerance: Annotated[Length, Field(gt=0)] = Field(
        0.05, description="along the path: the rover stops when half of it is left [m]"
    )


class MotorCommand(Part):
    """Hold wheel rates and steering angles for some time."""

    rate: AngularSpeed | dict[str, AngularSpeed] = Field(
        description="of all wheels, or by wheel [rad/s], positive forwards"
    )
    angle: Angle | dict[str, Angle] = Field(
        0.0, description="of all steered wheels, or by wheel [rad], positive to the left"
    )
    duration: Annotated[Time, Field(gt=0)] = Field(
        description="[s]; up to the end of the drive's period"
    )


def _command_kind(value: Any) -> str:
    has = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return next((kind for kind in ("path", "goal") if kind in has), "motors")


DriveCommand = Annotated[
    Annotated[PathCommand, Tag("path")]
    | Annotated[GoalCommand, Tag("goal")]
    | Annotated[MotorCommand, Tag("motors")],
    Discriminator(_command_kind),
]


class Sense(Part):
    """What the rover knows of its own motion, once per period of the drive."""

    by: Literal["truth", "visual_odometry", "wheel_odometry"] = Field(
        "truth",
        description="truth: pose and velocity as they are; visual_odometry: the same with the "
        "errors below, adding up on the way; wheel_odometry: dead reckoning from wheel turns and "
        "attitude, which cannot see slip",
    )
    scale_error: Number = Field(0.0, description="of visual odometry: share of every distance")
    noise: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="of visual odometry: position's standard deviation after 1 m [m]; ∝ √way"
    )
    heading_noise: Annotated[Number, Field(ge=0)] = Field(
        0.0, description="of visual odometry: the heading's after 1 m [rad], likewise"
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="of the noise")


class Following(Part):
    """The law that keeps a rover on its path (`control.path_following`)."""

    law: Literal["feedback", "pure_pursuit"] = "feedback"
    gain_track: Above = Field(1.0, description="k_e of the feedback law [1/m²]")
    gain_heading: Above = Field(2.0, description="k_θ of the feedback law [1/m]")
    look_ahead: Annotated[Length, Field(gt=0)] = Field(0.8, description="of pure pursuit [m]")
    compensate: bool = Field(True, description="make slip good that is seen (not by wheels alone)")
    compensation_time: Annotated[Time, Field(gt=0)] = Field(
        1.0, description="over which seen slip is smoothed [s]"
    )


class Limits(Part):
    """Ground that a goal's path may cross (`control.planner`)."""

    slope: Annotated[Angle, Field(gt=0)] = Field("20 deg", validate_default=True)
    step: Annotated[Length, Field(gt=0)] = Field(0.15, description="greatest step [m]")
    roughness: Annotated[Length, Field(gt=0)] = Field(0.10, description="rms about a plane [m]")
    footprint: Annotated[Length, Field(gt=0)] = Field(0.8, description="radius under the rover [m]")


class Drive(Part):
    """Commands carried out one after another; the run ends with the last one, or at its duration.
    Control runs in Python once per `period`, servos hold its commands in between."""

    commands: Annotated[tuple[DriveCommand, ...], Field(min_length=1)] = Field(
        description="each a path, a goal, or motor rates and angles"
    )
    period: Annotated[Time, Field(gt=0)] = Field(
        0.1, description="a whole multiple of run.control_period [s]"
    )
    mode: Literal["free", "double_ackermann", "ackermann", "skid"] = Field(
        "free", description="of steering; free: all wheels, crabbing against side slip"
    )
    following: Following = Following()
    share: Literal["rates", "slip"] = Field(
        "rates",
        description="driving among the wheels: by rates of plane kinematics, or by rates that make "
        "slip ratios agree on uneven ground, so that torque goes to wheels that slip less",
    )
    acceleration: Annotated[Acceleration, Field(gt=0)] = Field(
        0.05, description="of the wheels' rims, at most [m/s²]"
    )
    steering_rate: Annotated[AngularSpeed, Field(gt=0)] = Field(
        0.2, description="greatest rate of the steering joints [rad/s]"
    )
    rate_max: Annotated[AngularSpeed, Field(gt=0)] | None = Field(
        None, description="greatest rate of the wheels [rad/s]; default: none"
    )
    turn_rate: Annotated[AngularSpeed, Field(gt=0)] = Field(
        0.05, description="of point turns towards a path that begins off the nose [rad/s]"
    )
    sense: Sense = Sense()
    limits: Limits = Limits()
    stop: bool = Field(True, description="end the run when the last command is carried out")

    @model_validator(mode="after")
    def _wheels_see_no_slip(self) -> Drive:
        if self.share == "slip" and self.sense.by == "wheel_odometry":
            raise ValueError("share: slip needs a velocity that is seen; use another sense.by")
        return self
