"""The gait of a scenario: motions of `marsyard.control` carried out in a simulation.

At the end of each motion (a cycle, or the way to the first pose of a mode) the robot senses time,
place and attitude, and `control.locomotion` gives the next one. Its table of joint angles is
followed by the servos of the compiled loop, straight from one sample to the next; each motion
begins where the table of the last one ended, not where the joints lag behind.

What is kept: the mode, activity of the robot, the share of the motion done, slip of the last
cycle; and, from the recorded poses, the static stability margin of the planned stance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from marsyard.control.gait_planner import standing
from marsyard.control.gait_schedule import Motion, Pose
from marsyard.control.gait_transition import Pace
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.locomotion import STATES, Locomotion, Mode, Sensed, Until
from marsyard.control.peristaltic import Peristaltic, PeristalticGait
from marsyard.control.rolling import Rolling, RollingGait
from marsyard.control.stability_margin import static_margin
from marsyard.control.walking import Walking, WalkingGait
from marsyard.errors import InputError
from marsyard.rotations import matrix_of
from marsyard.scenario.gait import PeristalticMode, RollingMode, WalkingMode
from marsyard.scenario.schema import whole_ratio
from marsyard.simulation.commands import PLAN_ROWS
from marsyard.simulation.owner import part_of

if TYPE_CHECKING:
    from marsyard.simulation.columns import Columns
    from marsyard.simulation.simulation import Simulation

#: steps until something that does not come
_FAR = 2**62
#: margins less than this below zero are rounding [m]
_UNSEEN = 1e-4
_POSE = ("angles", "steering", "wheels", "rates", "body", "lean", "down")


class Entry(NamedTuple):
    """A motion that was begun."""

    step: int
    time: float
    mode: int
    state: int
    slip: float
    motion: Motion | None


class GaitRun:
    """Carries out the `gait` of a scenario.

    Attributes:
        limbs, locomotion: of `marsyard.control`.
        finished: whether the last mode is left; the robot stands.
        log: an entry per motion.
    """

    def __init__(self, simulation: Simulation) -> None:
        scenario = simulation.scenario
        assert scenario.gait is not None
        self.simulation: Simulation = part_of(simulation)
        self.spec = scenario.gait
        if not simulation.facts.free_base:
            raise InputError("gait: the robot's base is fixed; a gait needs a moving base")
        world = simulation.world
        # on soil feet sink and do not roll
        self.limbs = Limbs(world.robot, rolling_feet=world.soil is None)
        #: physics steps of a sample
        self.steps = whole_ratio("gait.sample", self.spec.sample, "run.step", scenario.run.step)
        pace = Pace(
            speed=self.spec.transition_speed,
            step_time=self.spec.step_time,
            acceleration=self.spec.acceleration,
        )
        modes = [self._mode(k, spec) for k, spec in enumerate(self.spec.modes)]
        self.locomotion = Locomotion(
            self.limbs, modes, self.spec.sample, pace, repeat=self.spec.repeat
        )
        names = [n for n, yes in zip(self.limbs.joints, self.limbs.moving, strict=True) if yes]
        names += [*self.limbs.steering_joints, *self.limbs.wheel_joints]
        kinds = [int(simulation.model.joint(name).type[0]) for name in names]
        slides = np.array(kinds, dtype=int) == int(mujoco.mjtJoint.mjJNT_SLIDE)
        self._gain = np.where(slides, 100.0, 1.0) * self.spec.gain
        self._pose = self._first_pose()
        self._sensed = self._sense()
        self._memory = self.locomotion.memory()
        self._motion: Motion | None = None
        self._began = -1  # step at which the current motion began
        self._until = 0  # step at which the table handed over ends
        self.finished = False
        self.log: list[Entry] = []

    # --- while running

    @property
    def due(self) -> int:
        """Steps until Python is needed again; 0 for now."""
        if self.finished:
            return _FAR
        return max(0, self._until - self.simulation.steps)

    def update(self) -> None:
        """Begin the next motion if one is due, and have the servos follow its table."""
        if self.finished or self.due > 0:
            return
        if self._motion is None or self.simulation.steps >= self._ends:
            self._go_on(self._sense())
        if self._motion is not None:
            self._follow(self._motion)

    @property
    def _ends(self) -> int:
        assert self._motion is not None
        return self._began + (len(self._motion.schedule.angles) - 1) * self.steps

    def _follow(self, motion: Motion) -> None:
        """Hand the table, or as much of it as the loop takes, to the servos."""
        first = (self.simulation.steps - self._began) // self.steps
        rows = motion.schedule.angles[first : first + PLAN_ROWS]
        table = replace(motion.schedule, angles=rows, start=self.simulation.time)
        self.simulation.follow(table, self._gain, self.spec.limit or np.inf)
        self._until = self.simulation.steps + max(1, len(rows) - 1) * self.steps

    def _go_on(self, sensed: Sensed) -> None:
        if self._motion is not None:
            self._pose = self._motion.end
        self._memory, self._sensed = self.locomotion.memory(), sensed
        self._began = self.simulation.steps
        self._begin()

    def _begin(self) -> None:
        locomotion = self.locomotion
        try:
            self._motion = locomotion.next(self._sensed, self._pose)
        except InputError as error:
            raise InputError(f"gait.modes.{max(locomotion.mode, 0)}: {error}") from None
        self.finished = self._motion is None
        self.log.append(
            Entry(
                self._began,
                self._sensed.time,
                locomotion.mode,
                STATES.index(locomotion.state),
                locomotion.last.slip,
                self._motion,
            )
        )

    # --- what is sensed

    def _sense(self) -> Sensed:
        s = self.simulation
        return Sensed(s.time, np.array(s.qpos[:3]), matrix_of(s.qpos[3:7]))

    def _first_pose(self) -> Pose:
        """As the robot stands; with joints not at zero its base is that much displaced."""
        s, limbs = self.simulation, self.limbs

        def angles(names: tuple[str, ...]) -> np.ndarray:
            index = [s.world.joints.index(name) for name in names]
            return np.array(s.qpos[s.facts.joint_qpos[index]])

        q = angles(limbs.joints)
        up = float(np.mean(limbs.home[:, 2] - limbs.points(q)[:, 2]))
        return replace(
            standing(limbs),
            angles=q,
            steering=angles(limbs.steering_joints),
            wheels=angles(limbs.wheel_joints),
            body=np.array([0.0, 0.0, up]),
        )

    # --- modes

    def _mode(self, k: int, spec: Any) -> Mode:
        until = Until(**spec.until.model_dump())
        given = spec.model_dump(exclude={"mode", "until"})
        sample = self.spec.sample
        try:
            if isinstance(spec, WalkingMode):
                level = given.pop("attitude") == "level"
                gait: Any = Walking(self.limbs, WalkingGait(**given, level=level), sample)
            elif isinstance(spec, PeristalticMode):
                gait = Peristaltic(self.limbs, PeristalticGait(**given), sample)
            else:
                assert isinstance(spec, RollingMode)
                given["acceleration"] = self.spec.acceleration
                gait = Rolling(self.limbs, RollingGait(**given), sample)
            # a gait that cannot be carried out is refused before the run
            gait.cycle(self._at_begin(gait))
        except InputError as error:
            raise InputError(f"gait.modes.{k}: {error}") from None
        return Mode(gait, until, getattr(spec, "least_margin", 0.0))

    def _at_begin(self, gait: Any) -> Pose:
        pose = standing(self.limbs)
        _, body = gait.begin(pose.lean)
        return replace(pose, body=body)

    # --- what is kept

    def remarks(self) -> list[str]:
        """What a user should know of how it went, a sentence each."""
        return [*self._unfinished(), *self._unstable()]

    def _unfinished(self) -> list[str]:
        if self.finished or not self.log or not self.spec.stop or not self._has_end():
            return []
        number = self.log[-1].mode + 1
        return [
            f"the gait is incomplete: the run ended after {self.simulation.time:g} s in mode "
            f"{number} of {len(self.spec.modes)}"
        ]

    def _unstable(self) -> list[str]:
        """Where the centre of mass was furthest beside the feet and wheels that should carry."""
        entries = entries_at(self, self.simulation.records.time)
        margins = margins_of(self.simulation, self, entries)
        if not np.any(margins < -_UNSEEN):
            return []
        worst = int(np.nanargmin(margins))
        entry, time = entries[worst], float(self.simulation.records.time[worst])
        when = "on the way to" if STATES[entry.state] == "transition" else "in"
        return [
            f"the stability margin fell to {1e3 * margins[worst]:.2g} mm at {time:.3g} s, {when} "
            f"mode {max(entry.mode, 0) + 1}: feet or wheels that the plan lifts carried load, or "
            f"the robot tipped"
        ]

    def _has_end(self) -> bool:
        last = self.spec.modes[-1].until.model_dump(exclude_none=True)
        return bool(last) and not self.spec.repeat

    def state(self) -> dict[str, np.ndarray]:
        """What is needed to go on, arrays of fixed sizes."""
        pose = np.concatenate([np.ravel(getattr(self._pose, name)) for name in _POSE])
        under_way = self._motion is not None
        return {
            "gait_numbers": np.array([self._began, self._until, self.finished, under_way], float),
            "gait_memory": self._memory.copy(),
            "gait_sensed": np.concatenate([np.ravel(part) for part in self._sensed]),
            "gait_pose": pose,
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave: the current motion is planned again, bit for bit."""
        began, until, finished, under_way = arrays["gait_numbers"]
        sensed = arrays["gait_sensed"]
        self._began, self._until, self.finished = int(began), int(until), bool(finished)
        self._memory = np.array(arrays["gait_memory"])
        self._sensed = Sensed(
            float(sensed[0]), np.array(sensed[1:4]), np.array(sensed[4:]).reshape(3, 3)
        )
        self._pose = self._pose_of(arrays["gait_pose"])
        self.locomotion.recall(self._memory)
        self.log = [e for e in self.log if e.step < self._began]
        self._motion = None
        if under_way or finished:
            self._begin()

    def _pose_of(self, flat: np.ndarray) -> Pose:
        parts, at = {}, 0
        for name in _POSE:
            like = getattr(self._pose, name)
            parts[name] = np.array(flat[at : at + like.size]).reshape(like.shape)
            at += like.size
        return Pose(**parts)


def add_gait(s: Simulation, ds: Columns) -> None:
    """What the gait did at the time of each record."""
    run = s.gait
    assert run is not None
    times = s.records.time
    entries = entries_at(run, times)

    def add(name: str, values: np.ndarray, units: str, text: str) -> None:
        ds[name] = ("time", values, {"units": units, "long_name": text})

    add("gait_mode", np.array([float(e.mode) for e in entries]), "1", "number of the gait's mode")
    add("gait_state", np.array([float(e.state) for e in entries]), "1", "activity of the robot")
    ds["gait_state"].attrs |= {
        "flag_values": np.arange(len(STATES)), "flag_meanings": " ".join(STATES)
    }  # fmt: skip
    phase = [_share(e, t) for e, t in zip(entries, times, strict=True)]
    add("gait_phase", np.array(phase), "1", "completed share of the current motion")
    slip = np.array([e.slip for e in entries])
    add("gait_slip", slip, "1", "slip of the last cycle, 1 - distance/planned distance")
    text = "static stability margin of the planned stance"
    add("stability_margin", margins_of(s, run, entries), "m", text)


def entries_at(run: GaitRun, times: np.ndarray) -> list[Entry]:
    """The current motion at each of the times [s]."""
    began = np.array([e.time for e in run.log])
    # a record at the begin of a motion still belongs to the one before
    at = np.clip(np.searchsorted(began, times - 1e-9) - 1, 0, None)
    return [run.log[k] for k in at]


def _share(entry: Entry, time: float) -> float:
    if entry.motion is None or entry.motion.duration == 0:
        return 1.0
    return float(np.clip((time - entry.time) / entry.motion.duration, 0.0, 1.0))


def margins_of(s: Simulation, run: GaitRun, entries: list[Entry]) -> np.ndarray:
    """Margins of the recorded poses, along gravity [m]."""
    data = mujoco.MjData(s.model)
    robot = s.world.robot
    bodies = [f.body for f in robot.feet.values()] + [w.body for w in robot.wheels.values()]
    ids = [s.model.body(name).id for name in bodies]
    out = np.full(len(entries), np.nan)
    for k, entry in enumerate(entries):
        if entry.motion is None:
            support = np.ones(len(ids), bool)
        else:
            rows = entry.motion.support
            # a record at a sample still belongs to the one before
            place = (s.records.time[k] - entry.time) / entry.motion.schedule.period - 1e-6
            support = rows[int(np.clip(place, 0, len(rows) - 1))]
        data.qpos[:] = s.records.coordinates[k]
        mujoco.mj_kinematics(s.model, data)
        mujoco.mj_comPos(s.model, data)
        points = run.limbs.places(data.xpos[ids], data.xmat[ids])[support]
        points = points - run.limbs.clearance[support, None] * _normal(points)
        out[k] = static_margin(points, data.subtree_com[0])
    return out


def _normal(points: np.ndarray) -> np.ndarray:
    """Of the plane nearest to the points, upwards."""
    if len(points) < 3:
        return np.array([0.0, 0.0, 1.0])
    _, sizes, axes = np.linalg.svd(points - points.mean(axis=0))
    normal = axes[2]
    return normal * np.sign(normal[2]) if abs(normal[2]) > 0.2 else np.array([0.0, 0.0, 1.0])
