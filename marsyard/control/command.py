"""Three levels of command, goal, path and motors, and the driver that executes them.

    Goal    a place to reach       → planned over the terrain (`planner`) into a path
    Route   a path to follow       → followed (`path_following`), a twist each control period
    Arc     a circle from here on  → the path (R (sin ψ − sin ψ0), R (cos ψ0 − cos ψ)), followed
    Crab    a line from here on    → driven with the heading of its begin
    Turn    a heading              → a turn on the spot until it is reached
    Steer   speed and turn         → a twist held, as by a stick
    Motors  rates and angles       → given out as they are, within the layout's limits
    Wait    nothing                → the rover stands

`Driver.update` is called once per control period with what the rover measures, and gives wheel
rates and steering angles. Its rules:

- A path that begins further than `turn_first` off the nose first causes a point turn towards it, at
  `turn_rate`, if all wheels are steered, or none (then by skidding).
- Twists become wheel commands in the steering `mode` ("free": crabbing against side slip, if all
  wheels are steered;
  "double_ackermann", "ackermann", "skid": the nose is turned instead). What follows the path is
  the base's origin in the first, in the others the point abeam of the unsteered wheels, which has
  no sideways motion of its own (a car's rear axle).
- Wheels wait for the steering: with ε the largest |measured − commanded| steering angle all rates
  are multiplied by max(0, 1 − ε/`align`), so that the rover does not push before its wheels stand
  right. Where ε > `align` while wheels still roll, faster than 1 cm/s, the rover brakes before the
  steering moves.
- Slip is compensated if a measured twist is given and `compensate` is set.
- A path with negative speed of its arc (`backwards`) is followed tail first: by the same laws for a
  rover whose nose is its tail, ψ + π, with twists (−v_x, −v_y, ω).
- A crab keeps to its line and heading: with χ its course, e the distance to the left of the line
  and θ = ψ − ψ0 it asks for v (cos χ, sin χ) − v k e (−sin χ, cos χ) in the world, |k e| ≤ 1/2,
  and ω = −k v θ; k is `gain_heading` [1/m].
- A turn on the spot is one about the base's origin if all wheels are steered, or else about the
  point abeam of those that are not; over its last tenth of a radian it is slower.
- Ends of paths and turns are approached no faster than 4/5 of the wheels' `acceleration` can brake,
  v² = 1.6 a · remaining distance, but with at least a fifth of the speed, a tenth of the turn's
  rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marsyard.control.path_following import (
    Path,
    PathFollower,
    SlipCompensation,
    TurnEfficiency,
    braking_rate,
    wrapped,
)
from marsyard.control.placement import Ground
from marsyard.control.planner import DrivingLimits, plan
from marsyard.control.steering import MODES, Twist, WheelCommand, WheelLayout, mode_twist
from marsyard.errors import InputError, suggest

#: what a driver may be doing
STATES = ("idle", "starting", "turning", "driving", "motors", "arrived", "waiting")
#: rim speed below which wheels may be turned far [m/s]
SLOW = 0.01
#: weight of rolling without side slip in the twist that wheels give which skid in every bend
SKID_SIDE_WEIGHT = 1e-6
#: side slip of a wheel that a turn on the spot or a crab may ask for, by its speed
SCRUB = 0.05


@dataclass(frozen=True)
class Goal:
    """A place x, y [m] to reach at a speed [m/s], within a tolerance [m], as of a `Route`."""

    x: float
    y: float
    speed: float = 0.04
    tolerance: float = 0.05


@dataclass(frozen=True)
class Route:
    """A path to follow at a speed [m/s] until what is left of it is less than half the tolerance
    [m], to leave room for braking."""

    path: Path
    speed: float = 0.04
    tolerance: float = 0.05
    backwards: bool = False


@dataclass(frozen=True)
class Arc:
    """An arc of a curvature [1/m], positive left, and a length [m], negative to drive backwards;
    speed and tolerance as of a `Route`."""

    curvature: float
    length: float
    speed: float = 0.04
    tolerance: float = 0.05


@dataclass(frozen=True)
class Crab:
    """A line of a length [m] in a direction to the left of the nose [rad], with fixed heading."""

    direction: float
    length: float
    speed: float = 0.04
    tolerance: float = 0.05


@dataclass(frozen=True)
class Turn:
    """A turn on the spot by an angle [rad], positive left, or to a heading the shorter way round;
    at a rate [rad/s], until it is within a tolerance [rad]."""

    angle: float
    absolute: bool = False
    rate: float = 0.05
    tolerance: float = 0.01


@dataclass(frozen=True)
class Wait:
    """Stand still."""


@dataclass(frozen=True)
class Steer:
    """A speed [m/s], negative backwards, and a rate of turning [rad/s], positive left."""

    speed: float
    turn: float


@dataclass(frozen=True)
class Motors:
    """Wheel rates [rad/s] and steering angles [rad], in the order of the layout's wheels."""

    rate: np.ndarray
    angle: np.ndarray


Command = Goal | Route | Arc | Crab | Turn | Steer | Motors | Wait


@dataclass(frozen=True)
class Measurement:
    """Measurements available in a control period.

    Attributes:
        x, y, heading: of the base, by odometry or better [m, rad].
        rate: of the wheel joints [rad/s]. angle: of the steering joints [rad].
        twist: of the base in its own frame, as visual odometry gives it; none if not measured.
    """

    x: float
    y: float
    heading: float
    rate: np.ndarray
    angle: np.ndarray
    twist: Twist | None = None


class Driver:
    """Executes commands of any level.

    Args:
        layout: of the wheels.
        period: control period [s].
        ground: terrain to plan on; needed for goals.
        mode: of steering along a path.
        limits: of the ground a goal's path may cross.
        compensate: whether slip is compensated.
        law, gain_track, gain_heading, look_ahead, compensation_time: of path following.
        turn_first, turn_rate, align: see the module [rad], [rad/s], [rad].
        acceleration: of the wheels' rims [m/s²], with which ends of paths and turns are approached.

    Attributes:
        state: one of `STATES`.
        follower: that of the present path, or none.
    """

    def __init__(
        self,
        layout: WheelLayout,
        period: float,
        ground: Ground | None = None,
        *,
        mode: str = "free",
        limits: DrivingLimits | None = None,
        compensate: bool = True,
        law: str = "feedback",
        gain_track: float = 1.0,
        gain_heading: float = 2.0,
        look_ahead: float = 0.8,
        compensation_time: float = 1.0,
        turn_first: float = np.radians(20),
        turn_rate: float = 0.05,
        align: float = np.radians(10),
        acceleration: float = np.inf,
    ):
        modes = [m for m in MODES if m not in ("crab", "point_turn")]
        if mode not in modes:
            raise InputError(f"mode: unknown mode '{mode}' along a path; {suggest(mode, modes)}")
        if mode == "free" and not layout.steered.any():
            mode = "skid"  # nothing to steer: the wheels turn the rover by their rates
        self.layout, self.period, self.ground, self.mode = layout, period, ground, mode
        self.limits, self.compensate = limits, compensate
        self._following = {
            "law": law, "gain_track": gain_track, "gain_heading": gain_heading,
            "look_ahead": look_ahead,
        }  # fmt: skip
        self._compensation_time = compensation_time
        self.acceleration = acceleration
        self.turn_first, self.turn_rate, self.align = turn_first, turn_rate, align
        self._turning = TurnEfficiency()
        self.state = "idle"
        #: x of the point that follows the path, in the base frame [m]
        self.reference = 0.0
        self.lay_out(layout)
        self.follower: PathFollower | None = None
        self._command: Command | None = None
        self._planned_from = (0.0, 0.0, 0.0)  # pose when the command began
        self._left_to_turn = 0.0  # [rad]
        self._last_heading = 0.0

    def command(self, command: Command) -> None:
        """Start a new command, replacing the previous one."""
        n = len(self.layout.wheels)
        if isinstance(command, Goal) and self.ground is None:
            raise InputError("goal: needs a ground to plan on; give the driver a terrain")
        if isinstance(command, Motors):
            for name in ("rate", "angle"):
                if np.shape(getattr(command, name)) != (n,):
                    raise InputError(f"motors.{name}: give {n} numbers, one per wheel")
        self._command, self.follower = command, None
        self.state = "starting"
        if isinstance(command, Motors | Wait):
            self.state = "motors" if isinstance(command, Motors) else "waiting"

    def lay_out(self, layout: WheelLayout) -> None:
        """Use another wheel layout from now on."""
        turning, _ = mode_twist(layout, self.mode, turn=1.0)
        self.layout, self.reference = layout, -turning.left
        # of wheels that must slip sideways in a bend the rates alone say what was commanded
        self._side_weight = SKID_SIDE_WEIGHT if self.mode == "skid" else 1.0

    def stop(self) -> None:
        """Stop and stay at rest."""
        self._command, self.follower, self.state = None, None, "idle"

    @property
    def arrived(self) -> bool:
        """Whether the goal or the end of the path is reached."""
        return self.state == "arrived"

    def update(self, now: Measurement) -> WheelCommand:
        """Wheel rates and steering angles until the next control period."""
        if isinstance(self._command, Motors):
            return self._motors(self._command)
        if self._command is None or self.state in ("arrived", "waiting"):
            return self.layout.command(Twist(), now.angle)
        if isinstance(self._command, Turn):
            return self._turn_on_the_spot(self._command, now)
        if isinstance(self._command, Steer):
            self.state = "driving"
            return self._steer(self._command, now)
        assert isinstance(self._command, Goal | Route | Arc | Crab)
        if isinstance(self._command, Crab):
            return self._crab(self._command, now)
        now = self._at_reference(now)
        backwards = _is_backwards(self._command)
        if self.follower is None:
            self._planned_from = (now.x, now.y, now.heading)
            self.follower = self._follower(self._command)
            self.follower.s = self.follower.path.nearest(now.x, now.y, 0.0)
        now = _tail_first(now) if backwards else now
        follower = self.follower
        if follower.done:
            return self._arrive(now)
        if self.state == "starting":
            self.state = "turning" if self._must_turn(now, self.turn_first) else "driving"
        if self.state == "turning" and self._must_turn(now, 0.03):
            return self._aligned(self.layout.command(self._turn(now), now.angle), now)
        self.state = "driving"
        kinematic, _ = self.layout.twist(now.rate, now.angle, self._side_weight)
        kinematic = kinematic._replace(left=kinematic.left + self.reference * kinematic.turn)
        kinematic = _reversed(kinematic) if backwards else kinematic
        twist = follower.update(now.x, now.y, now.heading, now.twist, kinematic, self.period)
        if follower.done:
            return self._arrive(now)
        twist = _reversed(twist) if backwards else twist
        return self._aligned(self._wheels(twist, now), now)

    def memory(self) -> np.ndarray:
        """The state for `recall`: twelve numbers."""
        follower, slip, s = self.follower, np.zeros(3), 0.0
        if follower is not None:
            s = follower.s
            slip = slip if follower.compensation is None else follower.compensation.slip
        turn = (self._left_to_turn, self._last_heading)
        state, followed = STATES.index(self.state), float(follower is not None)
        numbers = (state, followed, *self._planned_from, s, *slip, *turn, self._turning.value)
        return np.array(numbers)

    def recall(self, command: Command | None, memory: np.ndarray) -> None:
        """Continue a command from the state given by `memory`."""
        self._command, self.follower = command, None
        self.state = STATES[int(memory[0])]
        self._left_to_turn, self._last_heading = float(memory[9]), float(memory[10])
        self._turning = TurnEfficiency(float(memory[11]))
        self._planned_from = (float(memory[2]), float(memory[3]), float(memory[4]))
        if memory[1] and isinstance(command, Goal | Route | Arc | Crab):
            self.follower = self._follower(command)
            self.follower.s = float(memory[5])
            if self.follower.compensation is not None:
                self.follower.compensation.slip = np.array(memory[6:9])

    def can_turn_on_the_spot(self) -> bool:
        """Whether the wheels can roll about one point below the rover, or all skid."""
        unit, layout = self._spin()
        return not layout.steered.any() or _scrub(layout, layout.command(unit)) < SCRUB

    def can_crab(self, direction: float) -> bool:
        """Whether all wheels can be turned to a direction to the left of the nose [rad]."""
        along = Twist(float(np.cos(direction)), float(np.sin(direction)))
        return self.mode == "free" and _scrub(self.layout, self.layout.command(along)) < SCRUB

    def can_bend(self, curvature: float) -> bool:
        """Whether the steering's limits allow an arc of a curvature [1/m]."""
        along, layout = mode_twist(self.layout, self.mode, 1.0, turn=curvature)
        return _scrub(layout, layout.command(along), layout.steered) < SCRUB

    def _spin(self) -> tuple[Twist, WheelLayout]:
        """A turn on the spot at 1 rad/s, and the layout with what the mode may steer."""
        steered = self.layout.steered
        if self.mode != "free":
            return mode_twist(self.layout, self.mode, turn=1.0)
        if steered.all():
            return Twist(turn=1.0), self.layout
        abeam = float(np.mean(self.layout.pivot[~steered, 0]))
        return Twist(left=-abeam, turn=1.0), self.layout

    def _turn_on_the_spot(self, command: Turn, now: Measurement) -> WheelCommand:
        if self.state == "starting":
            by = wrapped(command.angle - now.heading) if command.absolute else command.angle
            self._left_to_turn, self._last_heading = by, now.heading
            self.state = "turning"
        self._left_to_turn -= wrapped(now.heading - self._last_heading)
        self._last_heading = now.heading
        left = self._left_to_turn
        if abs(left) <= command.tolerance:
            return self._arrive(now)
        unit, layout = self._spin()
        # rims go so fast per rate of the turn [m]
        lever = float(np.max(np.abs(layout.command(unit, now.angle).rate) * layout.radius))
        fastest = braking_rate(self.acceleration / max(lever, 1e-6), abs(left))
        slower = min(1.0, abs(left) / 0.1, fastest / command.rate)
        twist = unit.scaled(float(np.sign(left)) * command.rate * max(slower, 0.1))
        return self._aligned(layout.command(twist, now.angle), now)

    def _steer(self, command: Steer, now: Measurement) -> WheelCommand:
        if command.speed == 0.0 and command.turn != 0.0:
            unit, layout = self._spin()
            return self._aligned(layout.command(unit.scaled(command.turn), now.angle), now)
        twist = Twist(command.speed, 0.0, command.turn)
        return self._aligned(self._wheels(twist, now), now)

    def _crab(self, command: Crab, now: Measurement) -> WheelCommand:
        if self.follower is None:
            self._planned_from = (now.x, now.y, now.heading)
            self.follower = self._follower(command)
            self.state = "driving"
        follower = self.follower
        kinematic, _ = self.layout.twist(now.rate, now.angle)
        if follower.compensation is not None and now.twist is not None:
            follower.compensation.observe(now.twist, kinematic, self.period)
        follower.s = follower.path.nearest(now.x, now.y, follower.s)
        if follower.done:
            return self._arrive(now)
        k, v = follower.gain_heading, follower.speed_now
        off = wrapped(now.heading - self._planned_from[2])
        beside = follower.path.cross_track(now.x, now.y, follower.s)
        # along the line and back to it, in the rover's own frame
        to_left = -v * float(np.clip(k * beside, -0.5, 0.5))
        course = command.direction - off
        c, s = np.cos(course), np.sin(course)
        twist = Twist(float(v * c - to_left * s), float(v * s + to_left * c), -k * v * off)
        if follower.compensation is not None:
            twist = follower.compensation.correct(twist)
        return self._aligned(self.layout.command(twist, now.angle), now)

    def _follower(self, command: Goal | Route | Arc | Crab) -> PathFollower:
        x, y, heading = self._planned_from
        if isinstance(command, Goal):
            assert self.ground is not None
            goal = (command.x, command.y)
            path = plan(self.ground, (x, y), goal, limits=self.limits)
        elif isinstance(command, Arc):
            ahead = 1.0 if command.length > 0 else -1.0
            heading = heading if ahead > 0 else wrapped(heading + np.pi)
            path = Path.arc_of(x, y, heading, ahead * command.curvature, abs(command.length))
        elif isinstance(command, Crab):
            path = Path.arc_of(x, y, heading + command.direction, 0.0, command.length)
        else:
            path = command.path
        return PathFollower(
            path,
            command.speed,
            tolerance=command.tolerance / 2,
            braking=self.acceleration,
            compensation=self._compensation() if self.compensate else None,
            crab=self.mode == "free" and bool(self.layout.steered.all()),
            **self._following,  # type: ignore[arg-type]
        )

    def _compensation(self) -> SlipCompensation:
        # what was learned of turning holds for the next command, too
        turning = self._turning if self.mode == "skid" else None
        return SlipCompensation(self._compensation_time, turning=turning)

    def _arrive(self, now: Measurement) -> WheelCommand:
        self.state = "arrived"
        return self.layout.command(Twist(), now.angle)

    def _at_reference(self, now: Measurement) -> Measurement:
        """The measurement with the place and velocity of the point that follows the path."""
        ahead = self.reference * np.array([np.cos(now.heading), np.sin(now.heading)])
        twist = now.twist
        if twist is not None:
            twist = twist._replace(left=twist.left + self.reference * twist.turn)
        return replace(now, x=now.x + ahead[0], y=now.y + ahead[1], twist=twist)

    def _heading_error(self, now: Measurement) -> float:
        assert self.follower is not None
        return wrapped(self.follower.path.heading(self.follower.s) - now.heading)

    def _must_turn(self, now: Measurement, limit: float) -> bool:
        steered = self.layout.steered
        able = bool(steered.all()) or not bool(steered.any())
        return able and abs(self._heading_error(now)) > limit

    def _turn(self, now: Measurement) -> Twist:
        """A point turn, slower over the last tenth of a radian."""
        error = self._heading_error(now)
        slower = min(1.0, max(abs(error) / 0.1, 0.2))
        return Twist(turn=float(np.sign(error)) * self.turn_rate * slower)

    def _wheels(self, twist: Twist, now: Measurement) -> WheelCommand:
        if self.mode == "free":
            return self.layout.command(twist, now.angle)
        along, restricted = mode_twist(self.layout, self.mode, twist.forward, turn=twist.turn)
        return restricted.command(along, now.angle)

    def _motors(self, motors: Motors) -> WheelCommand:
        layout = self.layout
        angle = np.clip(np.asarray(motors.angle, float), layout.angle_min, layout.angle_max)
        angle = np.where(layout.steered, angle, 0.0)
        rate = np.clip(np.asarray(motors.rate, float), -layout.rate_max, layout.rate_max)
        twist, _ = layout.twist(rate, angle)
        side = layout.wheel_velocity(twist, angle)[:, 1]
        return WheelCommand(rate, angle, side, twist, 1.0)

    def _aligned(self, command: WheelCommand, now: Measurement) -> WheelCommand:
        """The command, slowed down while the steering is not where it should be."""
        off = np.abs(command.angle - now.angle)[self.layout.steered]
        share = max(0.0, 1.0 - float(np.max(off, initial=0.0)) / self.align)
        if share == 0.0 and np.max(np.abs(now.rate) * self.layout.radius) > SLOW:
            # brake first: wheels that roll on would be dragged sideways
            command = replace(command, angle=np.where(self.layout.steered, now.angle, 0.0))
        return replace(
            command,
            rate=command.rate * share,
            side_slip=command.side_slip * share,
            twist=command.twist.scaled(share),
            scale=command.scale * share,
        )


def _is_backwards(command: Goal | Route | Arc) -> bool:
    if isinstance(command, Arc):
        return command.length < 0
    return isinstance(command, Route) and command.backwards


def _reversed(twist: Twist) -> Twist:
    """The twist as seen with the tail for a nose, and back."""
    return Twist(-twist.forward, -twist.left, twist.turn)


def _tail_first(now: Measurement) -> Measurement:
    """The measurement as if the tail were the nose."""
    twist = None if now.twist is None else _reversed(now.twist)
    return replace(now, heading=wrapped(now.heading + np.pi), twist=twist)


def _scrub(layout: WheelLayout, command: WheelCommand, of: np.ndarray | None = None) -> float:
    """Largest side slip of a wheel, by the largest speed of all."""
    velocity = layout.wheel_velocity(command.twist, command.angle)
    side = np.abs(velocity[:, 1] if of is None else velocity[of, 1])
    return float(np.max(side, initial=0.0) / max(np.max(np.hypot(*velocity.T)), 1e-12))
