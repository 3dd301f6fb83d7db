"""What acts on the joints: the scenario's laws of torque and speed, motors, and commands by hand.

Each law becomes one row per joint of a table that the loop goes through once per control period.
What an FMU commands is such a row, too: a constant that is changed whenever the FMU is stepped.
After them comes one row per joint for a speed held by hand, asleep until it is set; a row later in
the table replaces an earlier speed law of the same joint.

A motor (`motors` of the scenario) bounds the torque of its joint, of torque and of speed laws
alike, by what current, gear and voltage allow at the joint's rate (`control.motor`): driving,

    |τ| ≤ min(τ_max, n k η i_max, n k η (U_max − n k |ω|)/R)                       [N·m]

and braking, where the gear helps, τ_max or n k i_max/η. Beyond the no-load rate U_max/(n k) the
last one is negative: the motor brakes, by 1/η² as much through its gear. At full voltage torque and
rate are those of the end of a step, so that a steep line is stable at any step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from marsyard.control.expression import CONST, STACK, compile_expression
from marsyard.control.names import STATE_NAMES
from marsyard.errors import InputError, suggest
from marsyard.scenario.fmu import FmuLaw
from marsyard.scenario.schema import Run, Scenario, SpeedLaw, TorqueLaw, whole_ratio
from marsyard.simulation import arrays

if TYPE_CHECKING:
    from marsyard.control.motor import Motor
    from marsyard.simulation.world import World

#: a step that never comes
FOREVER = 2**62
#: rows that a plan may have
PLAN_ROWS = 2048
#: of a speed held by hand: an ideal motor [N·m·s/rad]
_GAIN = 1e5


class _Row(NamedTuple):
    """A law on a joint: where its program stands, when it acts, gain and limit."""

    first: int
    last: int
    joint: int
    start: int
    end: int
    gain: float
    limit: float


class _Rows:
    """The table while it is written."""

    def __init__(self) -> None:
        self.ops: list[np.ndarray] = []
        self.arguments: list[np.ndarray] = []
        self.rows: list[_Row] = []
        self.at = 0

    def program(self, op: np.ndarray, argument: np.ndarray) -> int:
        """Add a program; where it begins."""
        self.ops.append(op)
        self.arguments.append(argument)
        self.at += len(op)
        return self.at - len(op)

    def constants(self, count: int) -> int:
        """Add programs of one number each, 0 at first; where the first is."""
        return self.program(np.full(count, CONST, np.int64), np.zeros(count))


class Setpoint(NamedTuple):
    """A number in the table of laws that is set from outside: on which joint of which law."""

    law: int  # number in control
    key: str  # of an FMU, its output
    joint: str
    argument: int  # index in Commands.argument


def setpoints(scenario: Scenario, world: World) -> list[Setpoint]:
    """Where what FMUs command stands in the table, and where programs of other laws begin."""
    out: list[Setpoint] = []
    _write_laws(_Rows(), scenario, world, out)
    return out


def build_commands(scenario: Scenario, world: World, own: bool = False) -> arrays.Commands:
    """The table of all laws, with the rows for speeds by hand at its end; before them, for a
    controller of the user's `own`, one row per joint for a torque."""
    table = _Rows()
    _write_laws(table, scenario, world, [])
    n, rows = len(world.joints), table.rows
    if own:
        at = table.constants(n)
        rows += [_Row(at + j, at + j + 1, j, 0, FOREVER, 0.0, np.inf) for j in range(n)]
    at = table.constants(n)
    rows += [_Row(at + j, at + j + 1, j, FOREVER, FOREVER, _GAIN, np.inf) for j in range(n)]
    whole = [np.array([row[c] for row in rows], np.int64) for c in range(5)]
    most, brake, stall, droop, back = _motor_limits(scenario, world)
    return arrays.Commands(
        op=np.concatenate(table.ops), argument=np.concatenate(table.arguments),
        first=whole[0], last=whole[1], joint=whole[2], start=whole[3], end=whole[4],
        gain=np.array([r.gain for r in rows]), limit=np.array([r.limit for r in rows]),
        stack=np.zeros(STACK), state=np.zeros(len(STATE_NAMES)),
        angles=np.zeros(n), rates=np.zeros(n), torque=np.zeros(n), given=np.zeros(n),
        servo_speed=np.zeros(n), servo_gain=np.zeros(n), servo_limit=np.zeros(n),
        servo_full=np.zeros(n), servo_lag=np.zeros(n),
        manual=np.zeros(world.model.nv),
        plan=np.zeros((PLAN_ROWS, n)), plan_at=np.array([0, 1, 0], np.int64),
        plan_gain=np.zeros(n), plan_limit=np.full(n, np.inf),
        motor_most=most, motor_brake=brake, motor_stall=stall, motor_droop=droop, motor_back=back,
        motor_line=np.zeros(n),
    )  # fmt: skip


def _write_laws(table: _Rows, scenario: Scenario, world: World, places: list[Setpoint]) -> None:
    """One row for each joint of each law; `places` gets where their programs begin."""
    for k, law in enumerate(scenario.control):
        if isinstance(law, FmuLaw):
            _write_fmu(table, k, law, world, places)
        else:
            _write_law(table, k, law, scenario, world, places)


def _write_law(
    table: _Rows, k: int, law: TorqueLaw | SpeedLaw, scenario: Scenario, world: World,
    places: list[Setpoint],
) -> None:  # fmt: skip
    index = {name: i for i, name in enumerate(world.joints)}
    h = scenario.run.step
    speed = isinstance(law, SpeedLaw)
    field = f"control.{k}.{'speed' if speed else 'torque'}"
    text = law.speed if isinstance(law, SpeedLaw) else law.torque
    program = compile_expression(text, index, field, scenario.parameters)
    gain, limit = 0.0, np.inf
    if isinstance(law, SpeedLaw):
        gain, limit = law.gain, law.limit or np.inf
    end = FOREVER if law.end is None else _first_step(law.end, h)
    members = world.robot.joints_of(law.joints, list(world.joints), f"control.{k}.joints")
    first, start = table.program(program.op, program.argument), _first_step(law.start, h)
    table.rows += [_Row(first, table.at, index[name], start, end, gain, limit) for name in members]
    places += [Setpoint(k, "", name, first) for name in members]


def _write_fmu(table: _Rows, k: int, law: FmuLaw, world: World, places: list[Setpoint]) -> None:
    for key, command in law.outputs.items():
        kind, _, group = command.partition(".")
        field = f"control.{k}.outputs.{key}"
        if bool(group) == (law.each is not None):
            need = f"{kind} alone, of the joint it is for" if law.each else f"{kind}.JOINT"
            raise InputError(f"{field}: '{command}' is given; {need} is needed")
        of = group or law.each or ()
        members = world.robot.joints_of(of, list(world.joints), field)
        gain, limit = (law.gain, law.limit or np.inf) if kind == "speed" else (0.0, np.inf)
        at = table.constants(len(members))
        for i, name in enumerate(members):
            joint = world.joints.index(name)
            table.rows.append(_Row(at + i, at + i + 1, joint, 0, FOREVER, gain, limit))
            places.append(Setpoint(k, key, name, at + i))


def motors_of(scenario: Scenario, world: World) -> dict[str, Motor]:
    """The motor of each joint that has one."""
    out: dict[str, Motor] = {}
    for group, motor in scenario.motors.items():
        for name in world.robot.joints_of(group, list(world.joints), f"motors.{group}"):
            if name in out:
                raise InputError(
                    f"motors.{group}: joint '{name}' already has a motor; give only one"
                )
            out[name] = motor.motor()
    return out


def _motor_limits(scenario: Scenario, world: World) -> tuple[np.ndarray, ...]:
    """Of each joint: torque of current and gear when driving and when braking, of the voltage at
    rest, its loss per rate, and what braking gains by the gear."""
    n = len(world.joints)
    most, brake, stall = np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf)
    droop, back = np.zeros(n), np.ones(n)
    for name, motor in motors_of(scenario, world).items():
        j = world.joints.index(name)
        per_ampere = motor.gear * motor.constant * motor.efficiency
        back[j] = 1 / motor.efficiency**2
        most[j] = min(motor.torque_max, per_ampere * motor.current_max)
        brake[j] = min(motor.torque_max, per_ampere * back[j] * motor.current_max)
        if np.isfinite(motor.voltage_max):
            stall[j] = per_ampere * motor.voltage_max / motor.resistance
            droop[j] = per_ampere * motor.gear * motor.constant / motor.resistance
    return most, brake, stall, droop, back


class Plan(NamedTuple):
    """Angles for joints to follow: `angles`[k, j] is that of `joints`[j] at start + k · period.

    Between its rows a plan is straight; before the first and after the last the joints hold. A
    joint follows by the same implicit motor as a speed law, with the plan's own rate and the angle
    by which it is behind. Angles are not wrapped: a wheel turns on and on. Joints of an earlier
    plan that are not in this one are let go.
    """

    joints: tuple[str, ...]
    period: float  # [s], a whole multiple of the step
    angles: np.ndarray  # float64[rows, joints] [rad] or [m]
    start: float | None = None  # [s], none: now


class Table(Protocol):
    """What is read of a plan: `Plan`, and `control.gait_schedule.Schedule` too."""

    @property
    def joints(self) -> tuple[str, ...]: ...

    @property
    def period(self) -> float: ...

    @property
    def angles(self) -> np.ndarray: ...

    @property
    def start(self) -> float | None: ...


def follow(
    world: World, commands: arrays.Commands, run: Run, plan: Table, now: int,
    gain: float | np.ndarray, limit: float | np.ndarray,
) -> None:  # fmt: skip
    """Write a plan into the loop's arrays; `gain` of all joints, or of each."""
    angles = np.asarray(plan.angles, dtype=float)
    if angles.ndim != 2 or angles.shape[1] != len(plan.joints) or len(angles) == 0:
        raise InputError(
            f"plan.angles: has the shape {angles.shape}; (rows, {len(plan.joints)}) is required, "
            f"one column per joint"
            ""
        )
    if len(angles) > PLAN_ROWS:
        raise InputError(f"plan.angles: {len(angles)} rows; at most {PLAN_ROWS} are allowed")
    if not np.all(np.isfinite(angles)):
        raise InputError("plan.angles: has a value that is not a finite number")
    if not (np.all(np.asarray(gain) > 0) and np.all(np.asarray(limit) > 0)):
        raise InputError(f"plan: gain = {gain}, limit = {limit}: must be above 0")
    try:
        apart = whole_ratio("plan.period", plan.period, "step", run.step)
    except ValueError as error:
        raise InputError(str(error)) from None
    columns = []
    for name in plan.joints:
        if name not in world.joints:
            raise InputError(f"plan: unknown joint '{name}'; {suggest(name, world.joints)}")
        columns.append(world.joints.index(name))
    start = now if plan.start is None else _first_step(plan.start, run.step)
    commands.plan[: len(angles), columns] = angles
    commands.plan_at[:] = start, apart, len(angles)
    commands.plan_gain[:] = 0.0
    commands.plan_gain[columns] = gain
    commands.plan_limit[columns] = limit


def command_joints(
    c: arrays.Commands, torque: np.ndarray, speed: np.ndarray, limit: np.ndarray, gain: np.ndarray
) -> None:
    """See `Simulation.command_joints`: the last laws of the table are those by hand."""
    m = len(torque)
    if not m:
        return
    held = np.isfinite(speed)
    c.argument[c.first[-2 * m : -m]] = torque
    c.argument[c.first[-m:]] = np.where(held, speed, 0.0)
    c.start[-m:] = np.where(held, 0, FOREVER)
    # whether a motor is at its limit is found anew where that changes
    c.servo_full[c.limit[-m:] != limit] = 0.0
    c.limit[-m:], c.gain[-m:] = limit, gain


class ByHand:
    """Commands by joint name, from outside the loop."""

    _what = ""

    def __init__(self, world: World, commands: arrays.Commands) -> None:
        self._world = world
        self._commands = commands

    def _index(self, name: str) -> int:
        joints = self._world.joints
        if name not in joints:
            raise InputError(f"{self._what}: unknown joint '{name}'; {suggest(name, joints)}")
        return joints.index(name)

    def _finite(self, name: str, value: float, unit: str) -> float:
        if not np.isfinite(value):
            raise InputError(f"{self._what}.{name} = {value}: must be a finite number [{unit}]")
        return float(value)


class Torques(ByHand):
    """Torques set by hand, by joint name [N·m]."""

    _what = "torque"

    def _dof(self, name: str) -> int:
        model = self._world.model
        return int(model.jnt_dofadr[model.joint(self._world.joints[self._index(name)]).id])

    def __getitem__(self, name: str) -> float:
        return float(self._commands.manual[self._dof(name)])

    def __setitem__(self, name: str, value: float) -> None:
        self._commands.manual[self._dof(name)] = self._finite(name, value, "N·m")


class Speeds(ByHand):
    """Speeds held by hand, by joint name [rad/s] or [m/s]; none lets the joint go."""

    _what = "speed"

    def _row(self, name: str) -> int:
        return len(self._commands.joint) - len(self._world.joints) + self._index(name)

    def __getitem__(self, name: str) -> float | None:
        row = self._row(name)
        if self._commands.start[row] == FOREVER:
            return None
        return float(self._commands.argument[self._commands.first[row]])

    def __setitem__(self, name: str, value: float | None) -> None:
        row = self._row(name)
        self._commands.start[row] = FOREVER if value is None else 0
        speed = 0.0 if value is None else self._finite(name, value, "rad/s or m/s")
        self._commands.argument[self._commands.first[row]] = speed

    def limit(self, name: str, torque: float) -> None:
        """Bound the torque that holds a joint's speed [N·m]; infinite at first."""
        if not torque >= 0:
            raise InputError(f"speed.{name}: limit = {torque}: must be at least 0 [N·m]")
        row = self._row(name)
        if self._commands.limit[row] != torque:
            # whether it is at the limit is found anew
            self._commands.servo_full[self._index(name)] = 0.0
        self._commands.limit[row] = torque


def _first_step(time: float, h: float) -> int:
    """The first step that starts at or after `time`."""
    return int(np.ceil(time / h - 1e-9))
