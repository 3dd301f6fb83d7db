"""The drive of a scenario: controllers of `marsyard.control` at work in a simulation.

Once per period, in Python, the rover senses, the driver turns the active command into wheel
rates and steering angles, and servos of the compiled loop hold these until the next period.

Senses. All are means over the last period, from poses and joint angles at its two ends. With d the
displacement of the base in the world, ψ its heading:

    truth             d, Δψ as they are
    visual odometry   (1 + e) d + σ √|d| ν,   Δψ + σ_ψ √|d| ν     ν: independent, normal
    wheel odometry    dead reckoning (`control.odometry`) with the true attitude; no velocity is
                      seen, so slip is not compensated

Wheels, and tracks, which count as wheels (`control.rover_kinematics`). `share` says how the driving
is shared among them:

    rates    those of plane kinematics
    slip     ω_i = v_i/(r (1 − s)) with v_i the seen speed of wheel i along its ground, which
             differs from wheel to wheel on uneven ground, and s the same for all, such that the
             mean rim speed is that of `rates` (`control.slip`)

Wheel rates change at no more than `acceleration`/r, all in proportion, so that a rover that brakes
in a bend keeps to it; steering joints move at no more than `steering_rate`. After the last command
the rover brakes so, and stands.

Conditions (`control.condition`) are asked at the begin of each period, those that abort first. An
abort brakes the rover, and the drive ends a second after its wheels stand. Joints that postures
name are held from the start, and move only by a posture or by motor commands; wheels are where
these joints put them when a command begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from marsyard.control.command import (
    STATES,
    Arc,
    Command,
    Crab,
    Driver,
    Goal,
    Measurement,
    Motors,
    Route,
    Steer,
    Turn,
    Wait,
)  # fmt: skip
from marsyard.control.motor import limited
from marsyard.control.odometry import Odometry, attitude_matrix
from marsyard.control.path_following import Path, wrapped
from marsyard.control.planner import DrivingLimits
from marsyard.control.rover_kinematics import RoverKinematics
from marsyard.control.slip import SlipCoordination, slip_ratio
from marsyard.control.steering import Twist, WheelCommand, WheelLayout
from marsyard.errors import InputError, few, suggest
from marsyard.scenario.drive import (
    ArcCommand,
    CrabCommand,
    GoalCommand,
    MotorCommand,
    PathCommand,
    PostureCommand,
    SteerCommand,
    TurnCommand,
    WaitCommand,
)  # fmt: skip
from marsyard.scenario.schema import whole_ratio
from marsyard.simulation.commands import motors_of
from marsyard.simulation.drive_timeline import Event, Timeline
from marsyard.simulation.drive_watch import Watch
from marsyard.simulation.owner import part_of

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: τ over which rates are made to agree in slip [s]
SLIP_TIME = 0.5
#: how long the rover stands after an abort, before the drive ends [s]
STAND_TIME = 1.0
#: roles of joints that postures do not move
NOT_POSED = ("passive", "drives", "steering")


class Seen(NamedTuple):
    """What the rover sees at the end of a period."""

    x: float
    y: float
    heading: float
    twist: Twist | None
    rate: np.ndarray
    angle: np.ndarray
    wheel_speed: np.ndarray  # along the ground, in the heading [m/s]


class Entry(NamedTuple):
    """What is kept of a period."""

    time: float
    command: int
    state: int
    distance: float
    offset: float
    x: float
    y: float
    heading: float
    rate: np.ndarray
    angle: np.ndarray
    slip: np.ndarray
    joints: np.ndarray  # rates of the joints that postures move


class Drive:
    """Carries out the commands of a scenario's `drive`.

    Attributes:
        layout, driver: of `marsyard.control`.
        finished: whether the last command is carried out; the rover brakes and stands.
        log: an entry per period.
        paths: those followed so far, by number of the command.
        missed_by: how far from the end of its path a command ended [m], likewise.
        posed: joints that postures and motor commands move besides wheels and steering.
        aborted: whether a condition stopped the rover.
    """

    def __init__(self, simulation: Simulation, also_posed: tuple[str, ...] = ()) -> None:
        """`also_posed`: joints that commands to come may move, held from the start."""
        scenario = simulation.scenario
        assert scenario.drive is not None
        self.simulation: Simulation = part_of(simulation)
        self.spec = scenario.drive
        if not simulation.facts.free_base:
            raise InputError("drive: the robot's base is fixed; a drive needs a moving base")
        soil = simulation.world.soil
        self.kinematics = RoverKinematics(
            simulation.world.robot, grousers=soil is not None, with_tracks=True
        )
        rate_max = self.spec.rate_max or np.inf
        self.layout: WheelLayout = WheelLayout.of(self.kinematics, rate_max=rate_max)
        #: physics steps of a period
        self.steps = whole_ratio("drive.period", self.spec.period, "run.step", scenario.run.step)
        follow, limits = self.spec.following, self.spec.limits
        self.driver = Driver(
            self.layout, self.spec.period, None if soil is None else soil.grid.terrain,
            mode=self.spec.mode, limits=DrivingLimits(**limits.model_dump()),
            compensate=follow.compensate, law=follow.law, gain_track=follow.gain_track,
            gain_heading=follow.gain_heading, look_ahead=follow.look_ahead,
            compensation_time=follow.compensation_time, turn_rate=self.spec.turn_rate,
            acceleration=self.spec.acceleration,
        )  # fmt: skip
        self._also_posed = also_posed
        self.posed = self._posed_joints()
        self._posed = [simulation.world.joints.index(name) for name in self.posed]
        self._commands = [self._command(k, c) for k, c in enumerate(self.spec.commands)]
        self._coordination = SlipCoordination(time_constant=SLIP_TIME)
        self.wheel_joints = [simulation.world.joints.index(j) for j in self.layout.drive_joint]
        #: wheels and tracks with a motor; the others roll freely
        self._powered = self._powered_wheels()
        self._steered = [
            (k, simulation.world.joints.index(name))
            for k, name in enumerate(self.layout.steering_joint)
            if name
        ]
        n = len(self.layout.wheels)
        self._layout_at = np.zeros(len(self.posed))  # their angles in the layout
        self._ends_at = np.inf  # when an aborted drive is over [s]
        self._joint_rate = np.zeros(len(self.posed))  # last commanded
        self.began = -1.0  # when the active command began [s]
        self._now = -1  # its number
        self._at = -1  # step of the last update
        self._last = np.array(simulation.qpos)  # at the last period
        self._estimate = np.zeros(3)  # x, y, heading as sensed
        self._rate = np.zeros(n)  # last commanded
        self._centres: np.ndarray | None = None  # of the wheels at the last period, where known
        self._odometry: Odometry | None = None
        self._started = False
        self.finished = False
        self.log: list[Entry] = []
        self.paths: dict[int, Path] = {}
        self.missed_by: dict[int, float] = {}
        self.watch = Watch(self)
        self.timeline = Timeline(self.spec.commands, self.watch)

    def _powered_wheels(self) -> np.ndarray:
        """Which wheels and tracks have a motor: those of the role drives, all where there is none.

        Rollers of omni wheels have none; their hubs, which are no wheels, have.
        """
        world, joints = self.simulation.world, self.layout.drive_joint
        drives = set(world.robot.roles.get("drives", ()))
        powered = np.array([name in drives for name in joints])
        hubs = sorted(drives - set(joints))
        if not powered.any() and hubs:
            raise InputError(
                f"drive: the motors of this robot turn {few(hubs)}, which are hubs of omni wheels "
                f"and not wheels; command them with 'control' or sim.speed"
                ""
            )
        return powered if powered.any() else np.ones(len(joints), dtype=bool)

    # --- once per period

    @property
    def due(self) -> int:
        """Steps until the next period begins."""
        return -self.simulation.steps % self.steps

    @property
    def last(self) -> int:
        """Number of the last command."""
        return len(self._commands) - 1

    def update(self) -> None:
        """Sense, decide and set the servos for the period that begins now."""
        if self._at == self.simulation.steps:
            return  # done already when the run ended here, and is now stepped on
        seen = self._sense()
        self.watch.observe(seen)
        if self.aborted:
            self.finished = self.simulation.time >= self._ends_at - 1e-9
        elif not self.finished:
            self._go_on()
        command = self._decide(seen)
        stands = self.finished or self.driver.state in ("idle", "waiting")
        steering = self._steer(None if stands else command.angle)
        self._pose()
        self._roll(command, seen)
        self._keep(steering, seen)
        if self.driver.arrived and not self.finished:
            self._reach()
            self.finished = self._now == self.last
        self._last = np.array(self.simulation.qpos)
        self._at = self.simulation.steps

    @property
    def aborted(self) -> bool:
        """Whether a condition stopped the rover."""
        return bool(np.isfinite(self._ends_at))

    @property
    def events(self) -> list[Event]:
        """What became of each command."""
        return self.timeline.events()

    def _go_on(self) -> None:
        """Begin the next command if the active one is carried out."""
        if self._under_way and (self._abort() or not self._over()):
            return
        if self._now == self.last:
            self.finished = True
            return
        self._now += 1
        self.began = self.simulation.time
        self.watch.begin()
        self.timeline.begin(self._now, self.began)
        if self.posed and not self._moves_joints:
            angles = self.simulation.qpos[self.simulation.facts.joint_qpos[self._posed]]
            self._lay_out(np.array(angles))
        self.driver.command(self._commands[self._now])

    @property
    def _under_way(self) -> bool:
        return self._now >= 0 and self.timeline.outcome(self._now) == "under way"

    # --- by hand

    def take(self, spec: Any) -> int:
        """Carry out a command from the next period on, instead of the active one and of those to
        come; its number. It may move joints that were posed before only."""
        k = self._now + 1
        spec_now = self.spec.model_copy(update={"commands": (*self.spec.commands[:k], spec)})
        before, self.spec = self.spec, spec_now
        try:
            for name in self._posed_joints():
                if name not in self.posed:
                    raise InputError(
                        f"drive.commands.{k}: joint '{name}' "
                        f"was not posed at the start; {_those(list(self.posed))}"
                    )
            command = self._command(k, spec)
            self.watch.take(k, spec)
        except InputError:
            self.spec = before
            raise
        self.stand()
        self._commands = [*self._commands[:k], command]
        self.timeline.take(self.spec.commands)
        self.finished, self._ends_at = False, np.inf
        return k

    def book(self) -> tuple[Any, ...]:
        """The commands taken so far, for `open_book`: what `state` does not hold."""
        watch = self.watch
        lists = (list(watch.until), list(watch.abort_if), list(watch.wait))
        return self.spec, self._commands, lists

    def open_book(self, book: tuple[Any, ...]) -> None:
        """Have the commands of a time again, before the state of that time is restored."""
        self.spec, self._commands, (until, abort_if, wait) = book
        watch = self.watch
        watch.until, watch.abort_if, watch.wait = list(until), list(abort_if), list(wait)
        self.timeline.take(self.spec.commands)

    def stand(self) -> None:
        """Leave off what is active, brake, and stand until a command is taken."""
        if self._under_way:
            self._end("stopped")
        if not self.aborted:
            self.driver.stop()
        self.finished = True

    @property
    def _moves_joints(self) -> bool:
        """Whether the active command moves other joints than wheels and steering."""
        return isinstance(self.spec.commands[self._now], PostureCommand | MotorCommand)

    def _abort(self) -> bool:
        """Stop the rover if a condition says so."""
        limit = self.watch.broken_limit()
        if limit < 0 and not self.watch.holds(self.watch.abort_if[self._now]):
            return False
        self._end("aborted", limit)
        braking = float(np.max(np.abs(self._rate) * self.layout.radius)) / self.spec.acceleration
        self._ends_at = self.simulation.time + braking + STAND_TIME
        self.driver.stop()
        return True

    def _over(self) -> bool:
        """Whether the active command is at its end, and how."""
        if self.driver.arrived:
            return True  # noted when it arrived
        k, spec = self._now, self.spec.commands[self._now]
        spent = self.simulation.time - self.began + 1e-9
        if self._is_done(spec, spent):
            self._end("reached")
        elif self.watch.holds(self.watch.until[k]):
            self._end("until")
        elif spec.timeout is not None and spent >= spec.timeout:
            self._end("timed out")
        else:
            return False
        return True

    def _is_done(self, spec: Any, spent: float) -> bool:
        """Whether a command that the driver does not end itself is carried out."""
        if isinstance(spec, MotorCommand | SteerCommand):
            return spent >= spec.duration
        if isinstance(spec, WaitCommand):
            waits = self.watch.wait[self._now]
            return self.watch.holds(waits) if waits else spent >= float(spec.wait)
        if isinstance(spec, PostureCommand):
            target = self._posture(spec)
            here = self.simulation.qpos[self.simulation.facts.joint_qpos[self._posed]]
            asked = ~np.isnan(target)
            return bool(np.all(np.abs(here - target)[asked] <= spec.tolerance))
        return False

    def _reach(self) -> None:
        """The driver arrived: note where."""
        if self._now in self.paths:
            self.missed_by[self._now] = self._to_the_end()
        self._end("reached")

    def _end(self, how: str, limit: int = -1) -> None:
        qpos = self.simulation.qpos
        pose = float(qpos[0]), float(qpos[1]), _heading(attitude_matrix(qpos[3:7]))
        self.timeline.end(self._now, self.simulation.time, how, pose, limit)

    def _decide(self, seen: Seen) -> WheelCommand:
        """What wheels and steering are to do over the period that begins."""
        if self.finished:
            return self.layout.command(Twist(), seen.angle)
        now = Measurement(seen.x, seen.y, seen.heading, seen.rate, seen.angle, seen.twist)
        try:
            command = self.driver.update(now)
        except InputError as error:
            raise InputError(f"drive.commands.{self._now}: {error}") from None
        if self.driver.follower is not None:
            self.paths[self._now] = self.driver.follower.path
        return command

    # --- senses

    def _sense(self) -> Seen:
        s = self.simulation
        if not self._started:
            self._started = True
            self._estimate = np.array([*s.qpos[:2], _heading(attitude_matrix(s.qpos[3:7]))])
            self._last = np.array(s.qpos)
            if self.spec.sense.by == "wheel_odometry":
                self._odometry = Odometry(
                    self.kinematics, s.qpos[:3], s.qpos[3:7], self.joint_angles(s.qpos)
                )
        before, now = self._last, np.array(s.qpos)
        R0, R1 = attitude_matrix(before[3:7]), attitude_matrix(now[3:7])
        turned = wrapped(_heading(R1) - _heading(R0))
        moved = now[:3] - before[:3]
        dt = self.spec.period
        joint0, joint1 = before[s.facts.joint_qpos], now[s.facts.joint_qpos]
        rate = (joint1 - joint0)[self.wheel_joints] / dt
        angle = np.zeros(len(self.layout.wheels))
        for k, j in self._steered:
            angle[k] = joint1[j]
        twist = None
        if self._odometry is not None:
            self._odometry.update(now[3:7], self.joint_angles(now))
            self._estimate = np.array([*self._odometry.position[:2], self._odometry.heading])
        else:
            if self.spec.sense.by == "visual_odometry":
                moved, turned = self._noisy(moved, turned)
                self._add_up(moved, turned, _heading(R0))
            else:
                self._estimate = np.array([*now[:2], _heading(R1)])
            twist = seen_twist((R0 + R1) / 2, moved / dt, turned / dt)
        speed = self._wheel_speeds(before, now, R0, R1, moved) / dt
        x, y, heading = map(float, self._estimate)
        return Seen(x, y, heading, twist, rate, angle, speed)

    def _add_up(self, moved: np.ndarray, turned: float, heading: float) -> None:
        """Take a displacement and a turn to the pose as sensed, which is astray of the heading."""
        astray = wrapped(self._estimate[2] - heading)
        c, s = np.cos(astray), np.sin(astray)
        change = [c * moved[0] - s * moved[1], s * moved[0] + c * moved[1], turned]
        self._estimate = self._estimate + change
        self._estimate[2] = wrapped(self._estimate[2])

    def _noisy(self, moved: np.ndarray, turned: float) -> tuple[np.ndarray, float]:
        sense = self.spec.sense
        # the same at the same time, also after a restart
        generator = np.random.Generator(
            np.random.Philox(key=sense.seed, counter=self.simulation.steps << 64)
        )
        spread = np.sqrt(np.linalg.norm(moved))
        noise = generator.standard_normal(4)
        moved = (1 + sense.scale_error) * moved + sense.noise * spread * noise[:3]
        return moved, turned + sense.heading_noise * spread * float(noise[3])

    def joint_angles(self, qpos: np.ndarray) -> dict[str, float]:
        s = self.simulation
        return dict(zip(s.world.joints, map(float, qpos[s.facts.joint_qpos]), strict=True))

    def _wheel_speeds(self, before, now, R0, R1, moved) -> np.ndarray:
        """Displacement of each wheel's centre in its plane, positive forwards [m]."""
        if self._centres is None:
            self._centres = self.kinematics.frames(self.joint_angles(before)).centre
        frames = self.kinematics.frames(self.joint_angles(now))
        moved_by = moved + frames.centre @ R1.T - self._centres @ R0.T
        self._centres = frames.centre
        axle = frames.axle @ R1.T
        moved_by = moved_by - np.sum(moved_by * axle, axis=1, keepdims=True) * axle
        ahead = np.cross(axle, [0.0, 0.0, 1.0])
        return np.copysign(np.linalg.norm(moved_by, axis=1), np.sum(moved_by * ahead, axis=1))

    # --- commands

    def _command(self, k: int, spec: Any) -> Command:
        field = f"drive.commands.{k}"
        if isinstance(spec, PathCommand):
            try:
                path = Path(np.array(spec.path), smooth=spec.smooth)
            except InputError as error:
                raise InputError(f"{field}.{error}") from None
            if k == 0:
                self._check_start(path, field)
            return Route(path, spec.speed, spec.tolerance, spec.backwards)
        if isinstance(spec, GoalCommand):
            self._check_goal(*spec.goal, f"{field}.goal")
            return Goal(*spec.goal, spec.speed, spec.tolerance)
        if isinstance(spec, ArcCommand):
            if not self.driver.can_bend(spec.arc.bend):
                raise InputError(
                    f"{field}.arc: a radius of {1 / abs(spec.arc.bend):.3g} m is smaller than the "
                    f"steering limits allow; give a larger radius"
                    ""
                )
            return Arc(spec.arc.bend, spec.arc.distance, spec.speed, spec.tolerance)
        if isinstance(spec, CrabCommand):
            if not self.driver.can_crab(spec.crab):
                raise InputError(
                    f"{field}.crab: the wheels cannot all be steered to "
                    f"{np.degrees(spec.crab):.3g}°"
                    " with the steering that the robot and drive.mode allow"
                )
            return Crab(spec.crab, spec.length, spec.speed, spec.tolerance)
        if isinstance(spec, TurnCommand):
            return self._turn(spec, field)
        if isinstance(spec, SteerCommand):
            return Steer(spec.steer, spec.turn_rate)
        if isinstance(spec, WaitCommand | PostureCommand):
            return Wait()
        rate = self._by_wheel(spec.rate, f"{field}.rate") * self.layout.sign
        angle = self._by_wheel(spec.angle, f"{field}.angle") * self.layout.steering_sign
        for name in spec.angle if isinstance(spec.angle, dict) else ():
            if not self.layout.steered[self.layout.wheels.index(name)]:
                raise InputError(f"{field}.angle: wheel '{name}' is not steered; remove it")
        return Motors(rate, angle)

    def _turn(self, spec: TurnCommand, field: str) -> Turn:
        if not self.driver.can_turn_on_the_spot():
            raise InputError(
                f"{field}.turn: "
                f"the steering of this rover does not allow a point turn with drive.mode "
                f"{self.spec.mode}; use another mode, or an arc"
            )
        angle = spec.turn if spec.turn is not None else spec.turn_to
        assert angle is not None
        rate = spec.rate or self.spec.turn_rate
        return Turn(angle, spec.turn is None, rate, spec.tolerance)

    # --- postures

    @property
    def wheel_rates(self) -> np.ndarray:
        """Rates of the wheels as last commanded [rad/s]."""
        return self._rate

    def move_to(self, x: float, y: float, heading: float) -> None:
        """The rover was moved by hand to its present position: what is sensed next is its own
        motion."""
        self._last = np.array(self.simulation.qpos)
        if self._started:
            self._estimate = np.array([x, y, heading])
            self.watch.move_to(x, y, heading)

    def _posed_joints(self) -> tuple[str, ...]:
        """Joints that commands move besides wheels and steering; they must have motors."""
        names: dict[str, None] = dict.fromkeys(self._also_posed)
        for name, posture in self.spec.postures.items():
            self._check_joints(posture, f"drive.postures.{name}", places=True)
        for k, spec in enumerate(self.spec.commands):
            if isinstance(spec, PostureCommand):
                field, given = f"drive.commands.{k}.posture", spec.posture
                if isinstance(given, str):
                    if given not in self.spec.postures:
                        raise InputError(
                            f"{field}: no posture is called '{given}'; "
                            f"{suggest(given, self.spec.postures)}"
                        )
                    given = self.spec.postures[given]
                self._check_joints(given, field, places=True)
                names |= dict.fromkeys(given)
            elif isinstance(spec, MotorCommand):
                self._check_joints(spec.joints, f"drive.commands.{k}.joints", places=False)
                names |= dict.fromkeys(spec.joints)
        return tuple(names)

    def _check_joints(self, given: Mapping[str, float], field: str, places: bool) -> None:
        world, roles = self.simulation.world, self.simulation.world.robot.roles
        with_motor = [j for role, group in roles.items() if role not in NOT_POSED for j in group]
        moved = {j for role in ("drives", "steering") for j in roles.get(role, ())}
        moved |= {*self.layout.drive_joint, *self.layout.steering_joint}
        with_motor += [j for j in motors_of(self.simulation.scenario, world) if j not in moved]
        for name, value in given.items():
            if name in moved:
                raise InputError(f"{field}.{name}: wheels and steering belong to other commands")
            if name in world.joints and name not in with_motor:
                raise InputError(f"{field}.{name}: this joint has no motor; {_those(with_motor)}")
            if name not in world.joints:
                raise InputError(
                    f"{field}: the robot has no joint '{name}'; {suggest(name, with_motor)}"
                )
            joint = world.model.joint(name)
            low, high = map(float, joint.range)
            if places and joint.limited[0] and not low <= value <= high:
                raise InputError(
                    f"{field}.{name} = {value:.4g}: beyond its stops, from {low:.4g} to {high:.4g}"
                )

    def _posture(self, spec: PostureCommand) -> np.ndarray:
        """Where the posed joints are to be, NaN where they stay."""
        given = spec.posture
        wanted = self.spec.postures[given] if isinstance(given, str) else given
        return np.array([wanted.get(name, np.nan) for name in self.posed])

    def _pose(self) -> None:
        """Move or hold the joints of postures for the period that begins."""
        if not self.posed:
            return
        s, spec = self.simulation, self.spec.commands[self._now]
        rate = np.zeros(len(self.posed))
        if not self.finished and not self.aborted:
            if isinstance(spec, PostureCommand):
                angle = s.qpos[s.facts.joint_qpos[self._posed]]
                reference = angle + s.commands.servo_lag[self._posed]
                target = self._posture(spec)
                target = np.where(np.isnan(target), reference, target)
                _, rate = limited(reference, target, spec.rate, self.spec.period)
            elif isinstance(spec, MotorCommand):
                rate = np.array([spec.joints.get(name, 0.0) for name in self.posed])
        self._joint_rate = rate
        for name, speed in zip(self.posed, rate, strict=True):
            s.speed[name] = float(speed)

    def _lay_out(self, angles: np.ndarray) -> None:
        """Have the driver reckon with wheels where the posed joints put them."""
        self._layout_at = angles
        joints = dict(zip(self.posed, map(float, angles), strict=True))
        self.layout = WheelLayout.of(self.kinematics, joints, rate_max=self.layout.rate_max)
        self.driver.lay_out(self.layout)

    def _check_start(self, path: Path, field: str) -> None:
        x, y = map(float, self.simulation.qpos[:2])
        away = float(np.hypot(*(path.point(path.nearest(x, y)) - [x, y])))
        if away > max(1.0, path.length):
            raise InputError(
                f"{field}.path: the rover stands at ({x:.2f}, {y:.2f}) m, {away:.1f} m away from "
                f"it, more than the rover's length; start the path closer to the rover"
                ""
            )

    def _check_goal(self, x: float, y: float, field: str) -> None:
        if self.driver.ground is None:
            raise InputError(f"{field}: planning needs ground of kind terrain")
        bounds = getattr(self.driver.ground, "bounds", None)
        if bounds is None:
            return
        x0, x1, y0, y1 = bounds
        if not (x0 <= x <= x1 and y0 <= y <= y1):
            raise InputError(
                f"{field}: ({x:g}, {y:g}) m is outside the ground, which extends from {x0:g} to "
                f"{x1:g} m in x and from {y0:g} to {y1:g} m in y"
            )

    def _by_wheel(self, given: float | dict[str, float], field: str) -> np.ndarray:
        wheels = self.layout.wheels
        if not isinstance(given, dict):
            return np.full(len(wheels), given)
        for name in given:
            if name not in wheels:
                raise InputError(f"{field}: no wheel is called '{name}'; {suggest(name, wheels)}")
        return np.array([given.get(name, 0.0) for name in wheels])

    # --- servos

    def _steer(self, wanted: np.ndarray | None) -> np.ndarray:
        """Move the steering towards angles [rad], and give them; none holds it where it is."""
        s = self.simulation
        wheels, joints = ([pair[k] for pair in self._steered] for k in (0, 1))
        # from where the servos' references stand
        reference = s.qpos[s.facts.joint_qpos[joints]] + s.commands.servo_lag[joints]
        if wanted is None:
            wanted = np.zeros(len(self.layout.wheels))
            wanted[wheels] = reference
        _, rate = limited(reference, wanted[wheels], self.spec.steering_rate, self.spec.period)
        for wheel, speed in zip(wheels, rate, strict=True):
            s.speed[self.layout.steering_joint[wheel]] = float(speed)
        return wanted

    def _roll(self, command: WheelCommand, seen: Seen) -> None:
        before, self._rate = self._rate, command.rate
        if self.spec.share == "slip" and self.driver.state == "driving" and command.scale > 0:
            self._rate = self._agreeing(command, seen, before)
        sharpest = self.spec.acceleration / float(np.max(self.layout.radius))
        self._rate = _together(before, self._rate, sharpest * self.spec.period)
        for k, (name, rate) in enumerate(zip(self.layout.drive_joint, self._rate, strict=True)):
            if self._powered[k]:
                self.simulation.speed[name] = float(rate)

    def _agreeing(self, command: WheelCommand, seen: Seen, before: np.ndarray) -> np.ndarray:
        """Rates that equalise slips, with the mean rim speed of the command."""
        assert seen.twist is not None
        layout = self.layout
        rim = layout.sign * layout.radius * command.rate
        wanted, real = float(np.sum(np.abs(rim))), float(np.sum(np.abs(seen.wheel_speed)))
        # standing, or pushed: nothing to go by
        if real < 0.1 * wanted or np.any(rim * seen.wheel_speed <= 0):
            return command.rate
        common = (wanted - real) / max(wanted, real)
        rates = self._coordination.rates(
            layout, seen.twist, before, self.spec.period, seen.angle, common, seen.wheel_speed
        )
        rates = np.clip(rates, *_about(command.rate, 0.5))
        # all slower rather than one cut off
        return rates * min(1.0, layout.rate_max / float(np.max(np.abs(rates))))

    # --- what is kept

    def remarks(self) -> list[str]:
        """What a user should know of how the commands went, a sentence each."""
        out = []
        for k, missed in self.missed_by.items():
            if missed > getattr(self.spec.commands[k], "tolerance", np.inf):
                out.append(f"drive: command {k} ended {missed:.2g} m from the end of its path")
        for event in self.events:
            if event.outcome == "timed out":
                out.append(f"drive: command {event.number} ({event.kind}) timed out")
            if event.outcome == "aborted":
                out.append(
                    f"drive: aborted at {event.ended:g} s in command {event.number} "
                    f"({event.kind}), because {event.reason}"
                )
        if not self.finished and not self.aborted and self.log:
            said = (
                f"the drive is incomplete: the run ended after {self.simulation.time:g} s with "
                f"command {self._now + 1} of {self.last + 1} under way"
            )
            if self._now in self.paths and np.isfinite(self.log[-1].distance):
                length = self.paths[self._now].length
                said += f", at {self.log[-1].distance:.2f} of {length:.2f} m of its path"
            out.append(said)
        return out

    def _where(self) -> tuple[float, float]:
        """Where the point that follows paths really is [m]."""
        qpos, ahead = self.simulation.qpos, self.driver.reference
        heading = _heading(attitude_matrix(qpos[3:7]))
        return qpos[0] + ahead * np.cos(heading), qpos[1] + ahead * np.sin(heading)

    def _to_the_end(self) -> float:
        """Distance from the end of the current path [m]."""
        path = self.paths[self._now]
        return float(np.hypot(*(path.point(path.length) - self._where())))

    def _keep(self, steering: np.ndarray, seen: Seen) -> None:
        s, follower = self.simulation, self.driver.follower
        distance, offset = np.nan, np.nan
        if follower is not None and not isinstance(self._commands[self._now], Motors):
            x, y = self._where()
            distance = follower.path.nearest(x, y, follower.s)
            offset = follower.path.cross_track(x, y, distance)
        rim = self.layout.sign * self.layout.radius * seen.rate
        slip = slip_ratio(rim, seen.wheel_speed)
        self.log.append(
            Entry(
                s.time,
                self._now,
                STATES.index(self.driver.state),
                distance,
                offset,
                seen.x,
                seen.y,
                seen.heading,
                self._rate,
                steering,
                slip,
                self._joint_rate,
            )
        )

    def state(self) -> dict[str, np.ndarray]:
        """What the next period needs of those before."""
        reckoned = np.zeros(3 + len(self.layout.wheels))
        if self._odometry is not None:
            reckoned = np.concatenate([self._odometry.position, self._odometry.contact_angle])
        return {
            "drive_numbers": np.array(
                [self._now, self.began, self.finished, self._started, self._at, self._ends_at]
            ),
            "drive_watch": self.watch.state(),
            "drive_timeline": self.timeline.table.copy(),
            "drive_layout": self._layout_at.copy(),
            "drive_joint_rate": self._joint_rate.copy(),
            "drive_last": self._last.copy(),
            "drive_estimate": self._estimate.copy(),
            "drive_rate": self._rate.copy(),
            "drive_odometry": reckoned,
            "drive_driver": self.driver.memory(),
        }

    def fixed_state(self) -> dict[str, np.ndarray]:
        """The part of `state` whose shapes a saved one must have; drives with more or fewer
        commands to come may go on from it."""
        return {k: v for k, v in self.state().items() if k != "drive_timeline"}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave; entries of later periods are dropped."""
        numbers = arrays["drive_numbers"]
        self._now, self.began, self._at = int(numbers[0]), float(numbers[1]), int(numbers[4])
        self.finished, self._started = bool(numbers[2]), bool(numbers[3])
        self._last = np.array(arrays["drive_last"])
        self._estimate = np.array(arrays["drive_estimate"])
        self._rate = np.array(arrays["drive_rate"])
        self._ends_at = float(numbers[5])
        self.watch.restore(arrays["drive_watch"])
        self.timeline.restore(arrays["drive_timeline"], self._now)
        self._joint_rate = np.array(arrays["drive_joint_rate"])
        if self.posed:
            self._lay_out(np.array(arrays["drive_layout"]))
        self._centres = None
        under_way = self._now >= 0 and not self.aborted
        command = self._commands[self._now] if under_way else None
        self.driver.recall(command, arrays["drive_driver"])
        if self._started and self.spec.sense.by == "wheel_odometry":
            reckoned = arrays["drive_odometry"]
            self._odometry = Odometry(
                self.kinematics, reckoned[:3], self._last[3:7], self.joint_angles(self._last)
            )
            self._odometry.contact_angle = np.array(reckoned[3:])
        last = self._at * self.simulation.scenario.run.step
        self.log = [e for e in self.log if e.time <= last + 1e-9]
        self.paths = {k: path for k, path in self.paths.items() if k <= self._now}


def seen_twist(R_WB: np.ndarray, v_W: np.ndarray, turn: float) -> Twist:
    """The base's motion along the ground, ahead and to the left of its heading [m/s], [rad/s].

    Along the ground and by the heading on the map, not along the base's own axes: wheels roll along
    the ground however far the body is pitched, and the left of a pitched body that leans to a side
    points ahead, too. What rises to the left is as steep as the body leans.
    """
    heading = _heading(R_WB)
    c, s = np.cos(heading), np.sin(heading)
    ahead, left = c * v_W[0] + s * v_W[1], c * v_W[1] - s * v_W[0]
    lean = R_WB[2, 1] / np.hypot(R_WB[0, 1], R_WB[1, 1])
    along = np.hypot(ahead, v_W[2] - lean * left)
    return Twist(float(np.copysign(along, ahead)), float(left * np.hypot(1.0, lean)), turn)


def _heading(R: np.ndarray) -> float:
    return float(np.arctan2(R[1, 0], R[0, 0]))


def _together(before: np.ndarray, wanted: np.ndarray, most: float) -> np.ndarray:
    """Rates on the way to those wanted; all change in proportion, the fastest by no more than
    `most`, so that wheels that roll at different rates do not drag one another."""
    change = wanted - before
    largest = float(np.max(np.abs(change), initial=0.0))
    return wanted if largest <= most else before + change * (most / largest)


def _about(rates: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of rates by a share of each."""
    room = share * np.abs(rates)
    return rates - room, rates + room


def _those(names: list[str]) -> str:
    return f"joints with a motor: {few(names)}" if names else "only wheels and steering have motors"
