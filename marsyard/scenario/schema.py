"""The schema of scenario files, with units, defaults and ranges.

A scenario is one YAML file of the same shape as these models: `robot`, `ground`, `gravity`,
`interaction`, `parameters`, `control`, `motors`, `drive`, `gait`, `controller`, `run`, `report`,
`study`. Numbers
are SI; texts may carry a unit ("10 deg", "5 cm"), converted once on reading. Unknown keys are
errors.
"""

from __future__ import annotations

import keyword
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from marsyard.cards import card, table, text_card
from marsyard.control.names import BUILT_IN
from marsyard.fields import Part, Point, Slope, SurfaceName
from marsyard.interaction import about
from marsyard.interaction.options import LawOptions, inside, with_options
from marsyard.scenario.drive import DCMotor, Drive, command_kind
from marsyard.scenario.fmu import FmuLaw
from marsyard.scenario.gait import Gait
from marsyard.scenario.gates import Gate
from marsyard.scenario.integrators import check_integrator
from marsyard.scenario.plugin import LawUse, PluginUse
from marsyard.scenario.report_schema import Check, Figure, Report
from marsyard.scenario.robot_design import RobotDesign
from marsyard.scenario.rocks import RocksGround
from marsyard.scenario.soil import SoilContact, TerrainGround, WheelLaw
from marsyard.scenario.study_schema import Study
from marsyard.units import (
    Angle,
    AngularDamping,
    AngularSpeed,
    AngularStiffness,
    AnyQuantity,
    Gravity,
    Length,
    Number,
    Speed,
    Time,
    to_si,
)
from marsyard.wheel_surface import TreadSurface

__all__ = ["Check", "Figure", "Part", "Report", "Scenario", "Study", "whole_ratio"]

Vector = tuple[Number, Number, Number]
T = TypeVar("T", bound=LawOptions)


# --- robot


class Spring(Part):
    """A linear spring and damper on a joint: torque = −stiffness (q − q₀) − damping q̇, where q₀
    is the joint's angle at the start."""

    stiffness: Annotated[AngularStiffness, Field(ge=0)] = Field(0.0, description="[N·m/rad]")
    damping: Annotated[AngularDamping, Field(ge=0)] = Field(0.0, description="[N·m·s/rad]")


class GrouserChange(Part):
    """Straight bars across the tread."""

    count: Annotated[int, Field(ge=1)] = Field(description="number around the wheel")
    height: Annotated[Length, Field(gt=0)] = Field(description="height above the tread [m]")
    thickness: Annotated[Length, Field(gt=0)] = Field(
        0.002, description="thickness along the tread [m]"
    )


class WheelChange(Part):
    """Numbers of all wheels that replace the robot's own (its masses stay)."""

    radius: Annotated[Length, Field(gt=0)] | None = Field(None, description="[m]")
    width: Annotated[Length, Field(gt=0)] | None = Field(None, description="[m]")
    fillet: Annotated[Length, Field(ge=0)] | None = Field(None, description="edge radius [m]")
    crown: Annotated[Length, Field(gt=0)] | None = Field(None, description="crown radius [m]")
    grousers: GrouserChange | Literal["none"] | None = Field(
        None, description="grousers across the tread; none: a smooth wheel"
    )
    surface: TreadSurface | None = Field(
        None,
        description="surface of the tread between the grousers: friction and adhesion of the soil",
    )


class Robot(Part):
    """Which robot, where it starts and how fast."""

    name: str = Field(
        description="a rover of the library, or the path of an MJCF, URDF or robot.yaml"
    )
    position: Point | None = Field(
        None, description="base frame's origin in the world [m]; default: as in the model"
    )
    attitude: tuple[Angle, Angle, Angle] | None = Field(
        None,
        description="roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll); "
        "default: as in the model",
    )
    velocity: tuple[Speed, Speed, Speed] = Field(
        (0.0, 0.0, 0.0), description="velocity of the base frame, in the world [m/s]"
    )
    angular_velocity: tuple[AngularSpeed, AngularSpeed, AngularSpeed] = Field(
        (0.0, 0.0, 0.0), description="angular velocity, in the base frame [rad/s]"
    )
    joints: dict[str, Angle] = Field({}, description="start angle by joint or role [rad]")
    joint_rates: dict[str, AngularSpeed] = Field({}, description="start rate, likewise [rad/s]")
    springs: dict[str, Spring] = Field(
        {}, description="joint springs by joint or role; replace the robot's own"
    )
    wheel_shape: Literal["sphere", "disc", "cylinder", "torus"] | None = Field(
        None, description="replaces the robot's own wheel shape"
    )
    settle: bool = Field(
        False,
        description="place the robot place the robot on the ground before the start, regardless "
        "of its height",
    )
    wheel: WheelChange = Field(
        WheelChange(), description="replaces some dimensions of all wheels, as for a test rig"
    )
    design: RobotDesign = Field(
        RobotDesign(), description="sizes and masses of the rover, replacing the model's own"
    )
    geoms: dict[str, tuple[Length, ...]] = Field(
        {}, description="sizes of named geoms, replacing the model's (MuJoCo's half sizes) [m]"
    )


# --- ground


class PlaneGround(Part):
    """A plane through `through` that rises by `slope` towards the heading `uphill`."""

    kind: Literal["plane"]
    name: SurfaceName = None
    through: Point = Field((0.0, 0.0, 0.0), description="a point of the plane [m]")
    slope: Slope = Field(0.0, description="inclination, from 0 to below 90° [rad]")
    uphill: Angle = Field(0.0, description="heading of steepest ascent, 0 = +x, 90° = +y [rad]")


class SphereGround(Part):
    """A solid ball, fixed to the ground."""

    kind: Literal["sphere"]
    name: SurfaceName = None
    centre: Point = Field(description="[m]")
    radius: Annotated[Length, Field(gt=0)] = Field(description="[m]")


class BoxGround(Part):
    """A solid box, fixed to the ground."""

    kind: Literal["box"]
    name: SurfaceName = None
    centre: Point = Field(description="centre of the box [m]")
    size: tuple[
        Annotated[Length, Field(gt=0)],
        Annotated[Length, Field(gt=0)],
        Annotated[Length, Field(gt=0)],
    ] = Field(description="side lengths along its own x, y and z [m]")
    attitude: tuple[Angle, Angle, Angle] = Field(
        (0.0, 0.0, 0.0), description="roll, pitch and yaw [rad]"
    )


class MeshGround(Part):
    """A surface of triangles, from a file (STL, OBJ, PLY) or listed here."""

    kind: Literal["mesh"]
    name: SurfaceName = None
    file: str | None = Field(
        None, description="path, relative to the scenario; or give `triangles`"
    )
    triangles: tuple[tuple[Point, Point, Point], ...] | None = Field(
        None, description="corners of each triangle, counter-clockwise seen from outside [m]"
    )
    edge_normal: Vector | None = Field(
        None,
        description="direction used as the normal of every contact on a horizontal edge instead "
        "of the true one (as in the programs of RT-0448, test 7)"
        "",
    )

    @model_validator(mode="after")
    def _one_source(self) -> MeshGround:
        if (self.file is None) == (self.triangles is None):
            raise ValueError("a mesh takes either 'file' or 'triangles', exactly one of the two")
        return self


Ground = Annotated[
    PlaneGround | SphereGround | BoxGround | MeshGround | RocksGround | TerrainGround,
    Field(discriminator="kind"),
]

# --- interaction


class Surface(Part):
    """Friction and restitution on one named surface, where they differ from the rest."""

    friction: Annotated[Number, Field(ge=0)] | None = Field(
        None,
        description="Coulomb friction coefficient of this surface; default: that of `interaction`",
    )
    restitution: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        None,
        description="Newton's coefficient of normal restitution; default: that of `interaction`",
    )
    restitution_tangential: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        None, description="the same for the tangential velocity; default: that of `interaction`"
    )
    rolling_friction: Annotated[Length, Field(ge=0)] | None = Field(
        None, description="lever arm of the rolling resistance [m]; default: that of `interaction`"
    )
    spinning_friction: Annotated[Length, Field(ge=0)] | None = Field(
        None, description="lever arm of the spinning resistance [m]; default: that of `interaction`"
    )


class ContactSolver(Part):
    """How the friction-contact problem of a step is solved."""

    method: Literal["auto", "gauss_seidel", "newton"] = Field(
        "auto", description="auto tries the cheapest method first and falls back to others"
    )
    tolerance: Annotated[Number, Field(gt=0, lt=1)] = Field(
        1e-10, description="relative residual of the natural map"
    )
    max_iterations: Annotated[int, Field(ge=1)] = Field(
        20000, description="iterations after which a step counts as not converged"
    )


if TYPE_CHECKING:
    LawName = str
else:
    LawName = Literal[tuple(about.laws(about.HARD))]


@with_options(about.HARD)
class _HardGround(Part):
    """What passes between robot and hard ground."""

    law: LawName = Field(next(iter(about.laws(about.HARD))), description=about.texts(about.HARD))
    friction: Annotated[Number, Field(ge=0)] = Field(
        0.7, description="Coulomb friction coefficient μ"
    )
    restitution: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.0, description="Newton's coefficient e of normal restitution"
    )
    restitution_tangential: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.0, description="the same for the tangential velocity"
    )
    rolling_friction: Annotated[Length, Field(ge=0)] = Field(
        0.0,
        description="lever arm ρ of the rolling resistance ρ N of the law nonsmooth [m]; a wheel "
        "of radius R is slowed down by ρ/R of its load"
        "",
    )
    spinning_friction: Annotated[Length, Field(ge=0)] = Field(
        0.0, description="lever arm of the spinning resistance about the normal [m]"
    )
    surfaces: dict[str, Surface] = Field({}, description="by name of a ground surface")
    solver: ContactSolver = ContactSolver()


class Interaction(_HardGround):
    """What passes between robot and ground."""

    soil: SoilContact = Field(
        SoilContact(),
        description="contact of bodies with ground of kind terrain, independent of the law",
    )
    wheel: WheelLaw | None = Field(
        None, description="a wheel model for wheels on ground of kind terrain"
    )
    plugin: LawUse | None = Field(
        None,
        description="a law from a plug-in; robot.settle places the robot on the scenario's ground",
    )

    def options(self, model: type[T]) -> T:
        """The options of a law, by the model that its folder gives them."""
        for _, each in inside(self):
            if isinstance(each, model):
                return each
        raise LookupError(f"a scenario has no {model.__name__}")


# --- control


def _torque(value: Any) -> Any:
    """A number with a unit of torque is a number; every other text is an expression."""
    try:
        return to_si(value, "torque")
    except ValueError:
        return value


def _speed(value: Any) -> Any:
    """A number with a unit of speed is a number; every other text is an expression."""
    for kind in ("angular_speed", "speed"):
        try:
            return to_si(value, kind)
        except ValueError:
            continue
    return value


class TorqueLaw(Part):
    """A torque on some joints while `start` ≤ t < `end`; laws on the same joint add up."""

    joints: str | tuple[str, ...] = Field(
        description="a role (drives, steering, passive), a joint, or a list of joints"
    )
    torque: Annotated[str | float, BeforeValidator(_torque)] = Field(
        description="[N·m] a number, or an expression of t, x, y, z, vx, vy, vz, roll, pitch, yaw, "
        "wx, wy, wz (of the base, in its frame), angle, rate (of the joint itself) and parameters "
        "with + - * / **, comparisons, and, or, not, "
        "where(c, a, b), min, max, abs, sqrt, sin, cos, tan, exp, log, sign"
    )
    start: Time = Field(0.0, description="start time of the law [s]")
    end: Time | None = Field(None, description="end time of the law (exclusive) [s]")

    @model_validator(mode="after")
    def _ordered(self) -> TorqueLaw:
        if self.end is not None and self.end <= self.start:
            raise ValueError(f"end ({self.end} s) must lie after start ({self.start} s)")
        return self


class SpeedLaw(Part):
    """A motor that holds a joint's speed while `start` ≤ t < `end`: torque = gain (speed − rate +
    lag/0.1 s), within ± limit, where lag is the angle by which the joint is behind ∫ speed dt: at
    speed 0 it holds still. Implicit, and so stable at any gain."""

    joints: str | tuple[str, ...] = Field(
        description="a role (drives, steering, …), a joint, or a list of joints"
    )
    speed: Annotated[str | float, BeforeValidator(_speed)] = Field(
        description="[rad/s], or [m/s] on a slide: a number or an expression as for torque"
    )
    gain: Annotated[Number, Field(gt=0)] = Field(
        1e5, description="[N·m·s/rad] or [N·s/m]; the default is an ideal motor"
    )
    limit: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="torque [N·m] or force [N] limit; default: none"
    )
    start: Time = Field(0.0, description="start time of the law [s]")
    end: Time | None = Field(None, description="end time of the law (exclusive) [s]")

    @model_validator(mode="after")
    def _ordered(self) -> SpeedLaw:
        if self.end is not None and self.end <= self.start:
            raise ValueError(f"end ({self.end} s) must lie after start ({self.start} s)")
        return self


def _control_kind(value: Any) -> str:
    has = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    if "kind" in has:
        return "fmu"
    return "speed" if "speed" in has else "torque"


Control = Annotated[
    Annotated[TorqueLaw, Tag("torque")]
    | Annotated[SpeedLaw, Tag("speed")]
    | Annotated[FmuLaw, Tag("fmu")],
    Discriminator(_control_kind),
]


class Tether(Part):
    """A linear spring between a point of the robot and a fixed one: it pulls with
    stiffness (length − free length) where that is positive, and never pushes."""

    name: str = Field("tether", description="name in the results")
    body: str | None = Field(None, description="body of the robot; default: its base")
    point: Point = Field(
        (0.0, 0.0, 0.0), description="attachment point on the body, in its frame [m]"
    )
    anchor: Point | None = Field(
        None, description="fixed point in the world [m]; default: see behind"
    )
    behind: Annotated[Length, Field(gt=0)] = Field(
        10.0,
        description="without an anchor: horizontal distance of the anchor behind the point "
        "at the start [m]",
    )
    stiffness: Annotated[Number, Field(gt=0)] = Field(description="[N/m]")
    length: Annotated[Length, Field(ge=0)] | None = Field(
        None, description="free length [m]; default: the length at the start, without tension"
    )


# --- run

#: steps that are counted
MOST_STEPS = 1e12


class Run(Part):
    """How long, in which steps, by which scheme."""

    duration: Annotated[Time, Field(gt=0)] = Field(description="simulated time [s]")
    step: Annotated[Time, Field(gt=0)] = Field(1e-3, description="physics step h [s]")
    control_period: Annotated[Time, Field(gt=0)] | None = Field(
        None, description="a whole multiple of step; default: the step"
    )
    record_period: Annotated[Time, Field(gt=0)] | None = Field(
        None, description="a whole multiple of control_period; default: about 2000 records"
    )
    integrator: Literal["moreau_jean", "semi_implicit", "implicit_damping"] = Field(
        "moreau_jean",
        description="semi_implicit and implicit_damping are MuJoCo's own smooth schemes",
    )
    theta: Annotated[Number, Field(ge=0.5, le=1)] = Field(
        0.5, description="θ of the Moreau-Jean scheme: ½ conserves energy, 1 damps"
    )
    activation: Annotated[Number, Field(ge=0.05, le=1)] = Field(
        0.5, description="γ: a contact is active when its gap predicted after γ h is closed"
    )
    projection: bool = Field(
        True, description="remove penetration at position level at the end of each step"
    )

    @model_validator(mode="after")
    def _multiples(self) -> Run:
        control = self.control_period or self.step
        if not self.duration <= MOST_STEPS * self.step:
            raise ValueError(
                f"duration = {self.duration:g} s is more than {MOST_STEPS:g} steps of "
                f"{self.step:g} s"
            )
        object.__setattr__(self, "control_period", control)
        whole_ratio("control_period", self.control_period, "step", self.step)
        if self.record_period is None:
            total = whole_ratio("duration", self.duration, "control_period", control)
            periods = _divisor_near(total, total / 2000)
            object.__setattr__(self, "record_period", periods * control)
        whole_ratio("record_period", self.record_period, "control_period", self.control_period)
        whole_ratio("duration", self.duration, "record_period", self.record_period)
        return self


def _divisor_near(whole: int, wanted: float) -> int:
    """The divisor of `whole` whose ratio to `wanted` is nearest to one."""
    small = [k for k in range(1, math.isqrt(whole) + 1) if whole % k == 0]
    return min([*small, *(whole // k for k in small)], key=lambda k: abs(math.log(k / wanted)))


def whole_ratio(name: str, value: float | None, of_name: str, of: float | None) -> int:
    """value/of as a whole number, or an error that names both and the nearest that would do."""
    assert value is not None and of is not None
    if not value <= MOST_STEPS * of:
        raise ValueError(
            f"{name} = {value:g} s is more than {MOST_STEPS:g} times {of_name} = {of:g} s"
        )
    ratio = round(value / of)
    if ratio < 1 or abs(ratio * of - value) > 1e-9 * max(value, of):
        near = max(1, ratio) * of
        raise ValueError(
            f"{name} = {value:g} s is not a whole multiple of {of_name} = {of:g} s; "
            f"the nearest is {near:g} s"
        )
    return ratio


# --- the whole


def _new_names(parameters: dict[str, float]) -> dict[str, float]:
    for name in parameters:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"'{name}' is not a name: letters, digits and _ are allowed")
        if name in BUILT_IN:
            raise ValueError(f"expressions know '{name}' already; give it another name")
    return parameters


class Scenario(Part):
    """A whole scenario."""

    title: str = Field("", description="short title")
    description: str = Field(
        "", description="what is simulated, and how the sources were interpreted"
    )
    sources: tuple[str, ...] = Field((), description="source")
    robot: Robot
    ground: tuple[Ground, ...] = Field(
        (PlaneGround(kind="plane", name="plane"),), min_length=0,
        description="the surfaces the robot can touch, each with its kind",
    )  # fmt: skip
    gravity: Annotated[Gravity, Field(ge=0)] = Field(
        3.69, description="downwards [m/s²], or mars (3.72), moon (1.62) or earth (9.81)"
    )
    parameters: Annotated[dict[str, AnyQuantity], AfterValidator(_new_names)] = Field(
        {}, description="named constants for expressions of torque and speed, in SI or with a unit"
    )
    interaction: Interaction = Interaction()
    control: tuple[Control, ...] = Field((), description="laws of torque or speed by joint")
    motors: dict[str, DCMotor] = Field({}, description="by joint or role: drives, steering, …")
    drive: Drive | None = Field(
        None, description="commands to execute: paths, goals, motor rates …"
    )
    gait: Gait | None = Field(
        None, description="rolling, peristaltic and walking modes, one or several in sequence"
    )
    controller: PluginUse | None = Field(
        None, description="a controller from a plug-in, in place of control, drive and gait"
    )
    tethers: tuple[Tether, ...] = Field((), description="springs between robot and world")
    gates: tuple[Gate, ...] = Field(
        (), description="to drive through one after another: shown, and scored"
    )
    run: Run
    report: Report = Report()
    study: Study | None = Field(None, description="a family of runs instead of a single one")

    def __repr__(self) -> str:
        """As a terminal shows it; `model_dump()` has every value."""
        drive = (
            ""
            if self.drive is None
            else ", ".join(command_kind(c) for c in self.drive.commands[:6])
        )
        rows = [
            ("robot", self.robot.name),
            ("ground", ", ".join(f"{g.name} ({g.kind})" for g in self.ground) or "none"),
            ("gravity", f"{self.gravity:g} m/s²"),
            ("contact", self.interaction.law),
            ("drive", drive),
            ("run", f"{self.run.duration:g} s, step {1000 * self.run.step:g} ms"),
            ("study", "" if self.study is None else "a family of runs"),
        ]
        return text_card(f"Scenario '{self.title}'", rows)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        ground = ", ".join(f"{g.name} ({g.kind})" for g in self.ground) or "none"
        rows = [
            ("robot", self.robot.name),
            ("ground", ground),
            ("gravity", f"{self.gravity:g} m/s²"),
            ("contact", self.interaction.law),
            ("duration", f"{self.run.duration:g} s, step {self.run.step:g} s"),
        ]
        if self.study is not None:
            rows.append(("study", "a family of runs"))
        title = self.title or "A scenario"
        return card(title, self.description, table(rows), sources=self.sources)

    @model_validator(mode="before")
    @classmethod
    def _name_surfaces(cls, data: Any) -> Any:
        # surfaces without a name are called after their kind, numbered when there are several
        if isinstance(data, dict) and isinstance(data.get("ground"), list | tuple):
            counts: dict[str, int] = {}
            ground = []
            for item in data["ground"]:
                if isinstance(item, dict) and not item.get("name"):
                    kind = str(item.get("kind"))
                    counts[kind] = counts.get(kind, 0) + 1
                    number = "" if counts[kind] == 1 else f"-{counts[kind]}"
                    item = {**item, "name": kind + number}
                ground.append(item)
            data = {**data, "ground": ground}
        return data

    @model_validator(mode="after")
    def _names_agree(self) -> Scenario:
        names = [g.name for g in self.ground]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"ground: two surfaces are called '{name}'; names must differ")
        tethers = [t.name for t in self.tethers]
        for name in tethers:
            if tethers.count(name) > 1:
                raise ValueError(f"tethers: two are called '{name}'; names must differ")
        for name in self.interaction.surfaces:
            if name not in names:
                raise ValueError(
                    f"interaction.surfaces: no ground surface is called '{name}'; "
                    f"there is {', '.join(str(n) for n in names) or 'none'}"
                )
        for k, law in enumerate(self.control):
            if isinstance(law, FmuLaw) and law.period is not None:
                period = self.run.control_period
                whole_ratio(f"control.{k}.period", law.period, "run.control_period", period)
        if self.drive is not None:
            period = self.run.control_period
            whole_ratio("drive.period", self.drive.period, "run.control_period", period)
        if self.gait is not None:
            if self.drive is not None:
                raise ValueError("gait: a scenario has either a gait or a drive; remove one")
            period = self.run.control_period
            whole_ratio("gait.sample", self.gait.sample, "run.control_period", period)
        check_integrator(self)
        return self
