"""Interface of an exported FMU: inputs, parameters and outputs, with units.

Inputs command joints and hold over a step. By `inputs`:

    speed    set_speed.JOINT [rad/s] of the drives, held as by an ideal motor; set_angle.JOINT [rad]
             of the steering, which moves there at no more than STEERING_RATE
    torque   set_torque.JOINT [N·m] of drives and steering
    none     no inputs: the scenario's own control, drive or gait is in charge

The scenario's motors bound speeds and torques as they bound its own laws. Where there are inputs,
its drive and gait are left out, and so are its laws on the joints that inputs command.

Parameters are values of the scenario, called by their path. Outputs are all readings of
`simulation.readings`.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError, suggest
from marsyard.fmi.paths import Value
from marsyard.scenario.fmu import FmuLaw

if TYPE_CHECKING:
    from marsyard.robot import Robot
    from marsyard.scenario import Scenario

INPUTS = ("speed", "torque", "none")
#: of steering joints on the way to a commanded angle [rad/s]
STEERING_RATE = 0.2
#: time in which the steering would reach its angle at the present rate [s]
_STEERING_TIME = 0.1
_STEER = f"min(max((0.0 - angle)/{_STEERING_TIME}, -{STEERING_RATE}), {STEERING_RATE})"
_UNITS = {"speed": "rad/s", "torque": "N·m", "angle": "rad"}
_HOW = {"angle": f", reached at no more than {STEERING_RATE} rad/s"}
#: what the file is made for, and its steps, cannot be parameters
_FIXED = ("robot.name", "run.control_period", "run.duration", "run.record_period", "title")
_PLAIN = re.compile(r"^[A-Za-z_][A-Za-z_0-9]*$")


@dataclass(frozen=True)
class Variable:
    """A variable of the FMU; its value reference is its place in the list of all."""

    name: str
    causality: str  # input, output, parameter
    type: str = "Real"
    unit: str = ""
    text: str = ""
    start: Any = None
    #: of an input: number of its law in control
    law: int | None = None
    #: of an input: its joint; of a parameter: its path; of an output: a reading
    source: str = ""


@dataclass(frozen=True)
class Interface:
    """All variables of an FMU, and what is told of it."""

    model: str
    text: str
    version: str  # of marsyard
    period: float  # control period [s]
    duration: float  # of the scenario [s]
    variables: tuple[Variable, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Interface:
        """What `as_dict` gave."""
        variables = tuple(Variable(**v) for v in data["variables"])
        return cls(**{**data, "variables": variables})


def structured(name: str) -> str:
    """A name as FMI's structured naming wants it: 'ground.0.soil' → ground[0].soil."""
    out = ""
    for part in name.split("."):
        if part.isdigit() and out:
            out += f"[{part}]"
            continue
        quoted = part if _PLAIN.match(part) else "'" + part.replace("'", "\\'") + "'"
        out += f".{quoted}" if out else quoted
    return out


def commanded(robot: Robot, joints: tuple[str, ...], inputs: str) -> dict[str, str]:
    """Which joints have an input, and of what: speed, angle or torque."""
    if inputs not in INPUTS:
        raise InputError(f"--inputs: '{inputs}' is not known; {suggest(inputs, INPUTS)}")
    if inputs == "none":
        return {}
    drives = [j for j in robot.roles.get("drives", ()) if j in joints]
    steering = [j for j in robot.roles.get("steering", ()) if j in joints]
    if not drives and not steering:
        raise InputError(
            f"--inputs: {robot.name} has no joints of the roles drives and steering to command; "
            "use none, or give it roles"
        )
    kinds = dict.fromkeys(drives, inputs)
    return kinds | dict.fromkeys(steering, "angle" if inputs == "speed" else inputs)


def with_inputs(
    scenario: Scenario, robot: Robot, joints: tuple[str, ...], inputs: str, angles: dict[str, float]
) -> tuple[Scenario, list[Variable]]:
    """The scenario with a law for each input in place of its own, and the inputs.

    `angles`: of the joints at the start [rad]. The number that an input sets is the first one of
    its law's program.
    """
    from marsyard.scenario.schema import SpeedLaw, TorqueLaw

    kinds = commanded(robot, joints, inputs)
    if not kinds:
        return scenario, []
    laws = _other_laws(scenario, robot, joints, kinds)
    variables = []
    for joint, kind in kinds.items():
        # what is left of settling is no angle to command
        start = round(angles[joint], 9) + 0.0 if kind == "angle" else 0.0
        if kind == "torque":
            laws.append(TorqueLaw(joints=joint, torque=0.0))
        elif kind == "speed":
            laws.append(SpeedLaw(joints=joint, speed=0.0))
        else:
            laws.append(SpeedLaw(joints=joint, speed=_STEER))
        variables.append(
            Variable(
                name=structured(f"set_{kind}.{joint}"),
                causality="input",
                unit=_UNITS[kind],
                text=f"commanded {kind} of the joint {joint}{_HOW.get(kind, '')}",
                start=start,
                law=len(laws) - 1,
                source=joint,
            )  # fmt: skip
        )
    changed = {"control": tuple(laws), "drive": None, "gait": None}
    return scenario.model_copy(update=changed), variables


def _other_laws(
    scenario: Scenario, robot: Robot, joints: tuple[str, ...], kinds: dict[str, str]
) -> list[Any]:
    """Laws of the scenario on joints without an input."""
    laws: list[Any] = []
    for k, law in enumerate(scenario.control):
        members = robot.joints_of(law.joints, list(joints), f"control.{k}")
        left = tuple(j for j in members if j not in kinds)
        if left == tuple(members):
            laws.append(law)
        elif left and isinstance(law, FmuLaw):
            raise InputError(
                f"control.{k}: the FMU commands joints with an input, and others; use --inputs none"
            )
        elif left:
            laws.append(law.model_copy(update={"joints": left}))
    return laws


def parameter(name: str, path: str, value: Value) -> Variable:
    """A parameter for a value of the scenario."""
    if path in _FIXED:
        raise InputError(f"--parameter {path}: is fixed when the FMU is written; use --set for it")
    kinds = {bool: "Boolean", int: "Integer", float: "Real", str: "String"}
    kind = kinds[type(value.value)]
    return Variable(
        name=structured(name), causality="parameter", type=kind,
        unit=value.unit if kind == "Real" else "", text=value.text or path, start=value.value,
        source=path,
    )  # fmt: skip
