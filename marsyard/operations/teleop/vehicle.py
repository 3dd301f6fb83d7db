"""A rover that is given orders while it runs: the truth of a teleoperation, or a model of it.

A `Simulation` whose drive takes commands at the begin of its periods. Orders of
`operations.messages` become commands of a sequence:

    Goal, Route, Wait, Command    the same
    Drive                         a speed and a rate of turning, held for its time
    Motors                        rates of all wheels and angles of the steered ones, by name order
    Other                         none is known: refused

Whenever there is no order the rover brakes with `drive.acceleration`, and stands. Joints that are
no wheels, no steering and have a motor are held where they are until a posture moves them.

What it tells (`measured`) over the time since it was asked last: pose, joints, wheel rates and
slips now; means of motor torque [N·m] and sinkage [m] of a wheel, of every fifth period. Noise of
the told pose is Gaussian with the deviations of `Noise`, from the seed and the number of the
message alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.control.odometry import attitude_matrix
from marsyard.control.path_following import wrapped
from marsyard.errors import InputError
from marsyard.files import parse_json, read_yaml_text
from marsyard.operations.messages import (
    Command,
    Drive,
    Goal,
    Motors,
    Order,
    Other,
    Route,
    Wait,
)
from marsyard.operations.sequence import make_sequence, on_scenario, sequence_text
from marsyard.scenario.resolving import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from marsyard.operations.messages import Action
    from marsyard.operations.sequence import Sequence
    from marsyard.scenario.schema import Scenario
    from marsyard.simulation.state import State

#: a run by hand has no end of its own [s]
FOREVER = 1e7


@dataclass(frozen=True)
class Noise:
    """Standard deviations of what is told: place [m], heading [rad]; and their seed."""

    place: float = 0.0
    heading: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Snapshot:
    """The whole state of a vehicle."""

    state: State
    book: tuple[Any, ...]
    order: int
    number: int
    chain: tuple[int, float, float]
    sums: np.ndarray
    count: int


@dataclass
class Ending:
    """How an order ended: done or failed, and why."""

    done: bool
    reason: str = ""


@dataclass
class Measured:
    """What a vehicle tells of itself; see the module. `values` by name."""

    time: float
    qpos: np.ndarray
    wheels: np.ndarray
    slips: np.ndarray
    currents: np.ndarray
    loads: np.ndarray
    values: dict[str, float] = field(default_factory=dict)


class Vehicle:
    """A rover under orders.

    Args:
        scenario: rover, ground and drive settings; commands of its drive are left out.
        say: hears when kernels must be compiled.

    Attributes:
        simulation: the world. order: id of the active order, 0 for none.
    """

    def __init__(self, scenario: Scenario, say: Callable[[str], Any] | None = None) -> None:
        import marsyard.results.report  # noqa: F401 - seconds that words of an order may not take
        from marsyard.simulation import Simulation
        from marsyard.simulation.drive import Drive as Pilot

        self.scenario = under_orders(resolve(scenario))
        self.simulation = Simulation(self.scenario, say=say)
        self.simulation.drive = Pilot(self.simulation, also_posed=_posable(self.simulation))
        self.drive = self.simulation.drive
        self.simulation.warm_up()
        self.order = 0
        self._number = -1
        self._chain = (0, 0.0, 0.0)
        self._sums, self._count = np.zeros(2), 0
        self._motors = [self.drive.watch.motors.get(j) for j in self.drive.layout.drive_joint]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.simulation.time

    @property
    def period(self) -> float:
        """Between two decisions [s]."""
        return self.drive.spec.period

    @property
    def pose(self) -> np.ndarray:
        """Place x, y, z [m] and heading [rad]."""
        return pose_of(self.simulation.qpos)

    # orders -----------------------------------------------------------------------------------

    def begin(self, order: Order) -> None:
        """Carry out an order from now on instead of any other; InputError if it cannot be."""
        watch = self.drive.watch
        if not (order.after and order.after == self._chain[0]):
            self._chain = (order.id, self.time, watch.path_length)
        spec = command_of(order.action, self.drive.layout)
        if isinstance(order.action, Command):
            spec = self._limited(spec, order.action)
        self._number = self.drive.take(spec)
        self.order = order.id
        self._chain = (order.id, *self._chain[1:])

    def _limited(self, spec: Any, action: Command) -> Any:
        """With the limits of the sequence among the conditions that abort it."""
        limits = [] if spec.abort_if is None else [spec.abort_if]
        _, time, way = self._chain
        if action.time is not None:
            limits.append(f"total_time > {time + action.time:.6f} s")
        if action.distance is not None:
            limits.append(f"total_distance > {way + action.distance:.6f} m")
        return spec.model_copy(update={"abort_if": " or ".join(limits) or None})

    def stand(self) -> None:
        """Leave off what is active, brake and stand."""
        self.drive.stand()
        self.order = 0

    def ended(self) -> Ending | None:
        """How the active order ended; none while it goes on."""
        if not self.order:
            return None
        how = self.drive.timeline.outcome(self._number)
        if how in ("not begun", "under way"):
            return None
        reason = self.drive.timeline.reason(self._number)
        if how == "timed out":
            reason = "timed out"
        return Ending(how != "aborted", reason)

    # time -------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go on for a period."""
        drive, s = self.drive, self.simulation
        s.step(drive.steps)
        # every fifth period, the same in all worlds
        if round(s.time / drive.spec.period) % 5 == 0:
            torque = np.abs(s.commands.torque[drive.wheel_joints])
            sunk = drive.watch.sinkages() if s.world.soil is not None else np.zeros(1)
            self._sums += (float(np.mean(torque)), float(np.mean(sunk)))
            self._count += 1

    def _currents(self) -> np.ndarray:
        s, joints = self.simulation, self.drive.wheel_joints
        torque, rate = s.commands.torque[joints], s.qvel[s.facts.joint_dof[joints]]
        return np.array([
            0.0 if motor is None else float(motor.drive(t, r).current)
            for motor, t, r in zip(self._motors, torque, rate, strict=True)
        ])  # fmt: skip

    def means(self) -> np.ndarray:
        """Means of torque [N·m] and sinkage [m] of a wheel since `reset_means`; NaN: none yet."""
        return self._sums / self._count if self._count else np.full(2, np.nan)

    def reset_means(self) -> None:
        """Begin anew."""
        self._sums, self._count = np.zeros(2), 0

    # what it tells ----------------------------------------------------------------------------

    def measured(self) -> Measured:
        """What the rover tells now, without noise."""
        s, drive = self.simulation, self.drive
        watch = drive.watch
        torque, sinkage = map(float, self.means())
        rate = s.qvel[s.facts.joint_dof[drive.wheel_joints]]
        R = attitude_matrix(s.qpos[3:7])
        power = float(np.sum(s.commands.torque[drive.wheel_joints] * rate))
        return Measured(
            self.time, np.array(s.qpos), rate * drive.layout.sign, watch.slips(),
            self._currents(), self._loads(),
            {
                "torque": torque, "sinkage": sinkage,
                "speed": float(np.hypot(*s.qvel[:2])), "power": power,
                "tilt": float(np.arccos(np.clip(R[2, 2], -1, 1))),
            },
        )  # fmt: skip

    def _loads(self) -> np.ndarray:
        """Upward force of the ground on each wheel [N]."""
        s = self.simulation
        if s.world.soil is not None:
            force = np.concatenate([s.law_forces(law.name)[:, 2] for law in s.world.soil.laws])
            wheel = np.concatenate([law.wheel for law in s.world.soil.laws])
            return np.array([float(np.sum(force[wheel == w])) for w in range(len(s.wheels.body))])
        return np.full(len(s.wheels.body), np.nan)

    # saved and restored -----------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The whole state."""
        return Snapshot(
            self.simulation.state(), self.drive.book(), self.order, self._number, self._chain,
            self._sums.copy(), self._count,
        )  # fmt: skip

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state this vehicle came through."""
        self.drive.open_book(snapshot.book)
        self.simulation.restore(snapshot.state)
        self.order, self._number, self._chain = snapshot.order, snapshot.number, snapshot.chain
        self._sums, self._count = snapshot.sums.copy(), snapshot.count

    def forget(self, before: float) -> None:
        """Keep no log of periods before a time [s]; for one that is never saved."""
        log = self.drive.log
        log[:] = [e for e in log[:-2] if e.time >= before - 1.0] + log[-2:]

    def move_to(self, x: float, y: float, heading: float) -> None:
        """Shift and turn the rover on its ground; it keeps its height above it and its tilt."""
        s = self.simulation
        qpos = s.qpos
        turn = wrapped(heading - pose_of(qpos)[3])
        before = self._ground_under()
        qpos[:2] = x, y
        qpos[3:7] = _turned(np.array(qpos[3:7]), turn)
        c, sn = math.cos(turn), math.sin(turn)
        vx, vy = s.qvel[:2]
        s.qvel[:2] = c * vx - sn * vy, sn * vx + c * vy
        qpos[2] += self._ground_under() - before
        # what the drive senses next is the motion of the rover, not this one
        self.drive.move_to(x, y, heading)

    def _ground_under(self) -> float:
        """Mean height of the undisturbed ground under the wheels [m]."""
        s, drive = self.simulation, self.drive
        if s.world.soil is None:
            return 0.0
        R = attitude_matrix(s.qpos[3:7])
        centre = s.qpos[:3] + drive.kinematics.frames(drive.joint_angles(s.qpos)).centre @ R.T
        return float(np.mean(s.world.soil.grid.terrain.height(centre[:, 0], centre[:, 1])))


def under_orders(scenario: Scenario) -> Scenario:
    """The scenario with a drive that waits for orders."""
    waits = make_sequence({"title": scenario.title, "sequence": [{"wait": 0.0}]})
    made = on_scenario(waits, scenario, duration=FOREVER)
    assert made.drive is not None
    kept = {} if scenario.drive is None else {
        "postures": scenario.drive.postures, "abort_limits": scenario.drive.abort_limits,
    }  # fmt: skip
    drive = made.drive.model_copy(update={"stop": False, **kept})
    return made.model_copy(update={"drive": drive, "title": scenario.title})


def _posable(simulation: Any) -> tuple[str, ...]:
    """Joints a posture may move: with a motor, no wheels or steering, not under another law."""
    from marsyard.simulation.drive import NOT_POSED

    world, scenario = simulation.world, simulation.scenario
    taken = {
        joint
        for law in scenario.control
        for group in ((law.joints,) if isinstance(law.joints, str) else law.joints)
        for joint in world.robot.roles.get(group, (group,))
    }
    layout = simulation.drive.layout
    taken |= {*layout.drive_joint, *layout.steering_joint}
    named = [j for role, g in world.robot.roles.items() if role not in NOT_POSED for j in g]
    return tuple(dict.fromkeys(j for j in named if j in world.joints and j not in taken))


# --- actions and commands


def command_of(action: Action, layout: Any) -> Any:
    """The command of a sequence that an action asks for; InputError if there is none."""
    if isinstance(action, Command):
        try:
            given = parse_json(action.text, "order")
        except ValueError:
            raise InputError("order: the command is not valid JSON") from None
    elif isinstance(action, Goal):
        given = {"goal": [action.x, action.y], "speed": action.speed, "tolerance": action.tolerance}
    elif isinstance(action, Route):
        given = {"path": action.points, "speed": action.speed, "tolerance": action.tolerance}
    elif isinstance(action, Drive):
        given = {"steer": action.speed, "turn_rate": action.turn, "duration": action.duration}
    elif isinstance(action, Wait):
        given = {"wait": action.duration}
    elif isinstance(action, Motors):
        given = _motors(action, layout)
    else:
        assert isinstance(action, Other)
        raise InputError(f"order: this rover does not know '{action.name}'")
    return make_sequence({"sequence": [given]}, "order").sequence[0]


def _motors(action: Motors, layout: Any) -> dict[str, Any]:
    steered = [w for k, w in enumerate(layout.wheels) if layout.steered[k]]
    for name, values, wheels in (
        ("rates", action.rates, layout.wheels), ("angles", action.angles, steered),
    ):  # fmt: skip
        if len(values) not in (0, len(wheels)):
            raise InputError(f"order: motors.{name}: give {len(wheels)} numbers, one per wheel")
    return {
        "rate": dict(zip(layout.wheels, action.rates, strict=True)) if action.rates else 0.0,
        "angle": dict(zip(steered, action.angles, strict=True)) if action.angles else 0.0,
        "duration": action.duration,
    }


def actions_of(sequence: Sequence) -> list[Command]:
    """The commands of a sequence as actions, each with the sequence's limits."""
    limits = sequence.limits.conditions()
    time, distance = sequence.limits.time, sequence.limits.distance
    own = [text for name, text in limits.items() if name not in ("time", "distance")]
    out = []
    for spec in sequence.sequence:
        abort = [*own] if spec.abort_if is None else [spec.abort_if, *own]
        change: dict[str, Any] = {"abort_if": " or ".join(abort) or None}
        posture = getattr(spec, "posture", None)
        if isinstance(posture, str) and posture in sequence.postures:
            change["posture"] = sequence.postures[posture]
        made = spec.model_copy(update=change)
        given = made.model_dump(mode="json", exclude_defaults=True)
        out.append(Command(json.dumps(given, ensure_ascii=False), time, distance))
    return out


def words_of(action: Action) -> str:
    """What an action asks for, in a few words."""
    if isinstance(action, Goal):
        return f"goal ({action.x:.2f}, {action.y:.2f}) m"
    if isinstance(action, Route):
        x, y = action.points[-1]
        return f"path of {len(action.points)} points to ({x:.2f}, {y:.2f}) m"
    if isinstance(action, Drive):
        turn = math.degrees(action.turn)
        return f"steer {100 * action.speed:.1f} cm/s, {turn:+.1f} °/s for {action.duration:.1f} s"
    if isinstance(action, Wait):
        return f"wait {action.duration:g} s"
    if isinstance(action, Motors):
        return f"motors for {action.duration:g} s"
    if isinstance(action, Command):
        from marsyard.results.report_parameters import command_text

        return command_text(command_of(action, None))
    return action.name


def line_of(action: Action, layout: Any) -> dict[str, Any]:
    """The action as a line of a sequence file."""
    spec = command_of(action, layout)
    text = sequence_text(make_sequence({"sequence": [spec.model_dump(exclude_defaults=True)]}))
    return read_yaml_text(text, "sequence")["sequence"][0]


# --- poses


def pose_of(qpos: np.ndarray) -> np.ndarray:
    """x, y, z [m] and heading [rad] of a base."""
    R = attitude_matrix(qpos[3:7])
    return np.array([*qpos[:3], math.atan2(R[1, 0], R[0, 0])])


def _turned(quaternion: np.ndarray, angle: float) -> np.ndarray:
    """A quaternion turned about the vertical."""
    w, x, y, z = quaternion
    c, s = math.cos(angle / 2), math.sin(angle / 2)
    return np.array([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w])
