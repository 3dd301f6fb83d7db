"""A sequence of gaits: the next motion is chosen at the end of each one.

A `Mode` is a gait and when to leave it. Entering a mode, the robot first goes to the pose where its
cycles begin (`gait_transition`); then cycle follows cycle. At the end of each, from what is sensed,

    distance  of the base in the cycle, along the ground in the planned direction; for a point turn
              the angle turned                                                     [m] or [rad]
    slip      1 − distance/planned distance
    slope     angle of the base's z axis to the vertical                                 [rad]

and the mode is left for the next one when any of its conditions holds: time in the mode, distance
in it, number of cycles, slope above, slip above, distance of the cycle below a bound. After the
last mode the wheels are braked and the robot stands; or it begins anew with the first.

Nothing here knows a simulation: `next` is given what is sensed and the pose, and gives a motion.
`memory` and `recall` let a run be saved between two motions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from marsyard.control.gait_schedule import Motion, Pose
from marsyard.control.gait_transition import Pace, Stand, transition
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.rolling import Rolling, braking

#: what a motion is, in the order of their numbers
STATES = ("standing", "transition", "cycle", "stop")


class Gait(Protocol):
    """What a mode needs of a gait."""

    name: str

    @property
    def advance(self) -> tuple[float, float, float]: ...

    def begin(self, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    def lean(self, down: np.ndarray) -> np.ndarray: ...

    def cycle(self, begin: Pose) -> Motion: ...


@dataclass(frozen=True)
class Until:
    """Conditions for leaving a mode at the end of a cycle; None: never.

    Attributes:
        time: in the mode [s].
        distance: distance in the mode [m] (or angle turned [rad]).
        cycles: number of them.
        slope: of the base, above [rad].
        slip: of the last cycle, above.
        progress: distance of the last cycle, below [m].
    """

    time: float | None = None
    distance: float | None = None
    cycles: int | None = None
    slope: float | None = None
    slip: float | None = None
    progress: float | None = None


@dataclass(frozen=True)
class Mode:
    """A gait, its end conditions, and the least margin of the transition to it [m]."""

    gait: Gait
    until: Until = Until()
    least_margin: float = 0.0


class Sensed(NamedTuple):
    """Measurements at the end of a motion: time [s], place of the base in the world [m] and its
    attitude, the rotation matrix R_WB."""

    time: float
    place: np.ndarray
    attitude: np.ndarray

    @property
    def down(self) -> np.ndarray:
        """Direction of gravity in the base's frame."""
        return -self.attitude[2]


class Report(NamedTuple):
    """How the last cycle went."""

    distance: float
    slip: float


class Locomotion:
    """Chooses motions.

    Attributes:
        limbs, modes: what moves and how.
        mode: number of the active mode, -1 before the first.
        state: of STATES, what the current motion is.
        cycles: done in the mode.
        last: how the last cycle went.
        finished: whether the last mode is left.
    """

    def __init__(
        self,
        limbs: Limbs,
        modes: list[Mode],
        sample: float,
        pace: Pace | None = None,
        repeat: bool = False,
    ) -> None:
        self.limbs, self.modes, self.sample = limbs, modes, sample
        self.pace, self.repeat = pace or Pace(), repeat
        self.mode = -1
        self.state = "standing"
        self.cycles = 0
        self.finished = False
        self.last = Report(0.0, 0.0)
        self._entered = 0.0
        self._distance = 0.0
        # where the current motion began: place, axes of the ground forwards and to the left
        self._from = np.zeros((3, 3))
        self._planned = np.zeros(3)

    def next(self, sensed: Sensed, pose: Pose) -> Motion | None:
        """The motion that begins now, or none when all is done."""
        pose = replace(pose, down=pose.lean @ sensed.down)
        if self.state == "cycle":
            self._take_stock(sensed)
        if self.mode < 0 or (self.state == "cycle" and self._over(sensed)):
            motion = self._enter_next(sensed, pose)
        elif self.finished:
            self.state = "standing"
            return None
        else:
            motion = self._cycle(pose)
        R_WG = sensed.attitude @ pose.lean.T
        self._from = np.array([sensed.place, R_WG[:, 0], R_WG[:, 1]])
        self._planned = np.array(motion.advance if motion else (0.0, 0.0, 0.0))
        return motion

    # --- what is saved

    def memory(self) -> np.ndarray:
        """The state needed for the next decision, shape [20]."""
        numbers = [self.mode, STATES.index(self.state), self.cycles, self.finished, *self.last]
        return np.array(
            [*numbers, self._entered, self._distance, *self._planned, *self._from.ravel()]
        )

    def recall(self, memory: np.ndarray) -> None:
        """Restore the state given by `memory`."""
        self.mode, self.state = int(memory[0]), STATES[int(memory[1])]
        self.cycles, self.finished = int(memory[2]), bool(memory[3])
        self.last = Report(float(memory[4]), float(memory[5]))
        self._entered, self._distance = float(memory[6]), float(memory[7])
        self._planned, self._from = np.array(memory[8:11]), np.array(memory[11:]).reshape(3, 3)

    # --- inside

    def _enter_next(self, sensed: Sensed, pose: Pose) -> Motion | None:
        self.mode += 1
        if self.mode == len(self.modes):
            if not self.repeat:
                return self._stop(pose)
            self.mode = 0
        self.cycles, self._distance, self._entered = 0, 0.0, sensed.time
        mode = self.modes[self.mode]
        lean = mode.gait.lean(pose.down)
        places, body = mode.gait.begin(lean)
        steering = np.zeros(len(self.limbs.steering_joints))
        if isinstance(mode.gait, Rolling):
            steering = mode.gait.steering
        if isinstance(mode.gait, Rolling) and np.any(pose.rates):
            # from rolling to rolling without a stop
            return self._cycle(pose)
        stand = Stand(places, body, lean, steering)
        motion = transition(self.limbs, pose, stand, self.sample, mode.least_margin, self.pace)
        if motion is None:
            return self._cycle(pose)
        # a mode that cannot be is refused before the robot goes there
        mode.gait.cycle(motion.end)
        self.state = "transition"
        return motion

    def _cycle(self, pose: Pose) -> Motion:
        self.state = "cycle"
        return self.modes[self.mode].gait.cycle(pose)

    def _stop(self, pose: Pose) -> Motion | None:
        self.mode, self.finished = len(self.modes) - 1, True
        if not np.any(pose.rates):
            self.state = "standing"
            return None
        self.state = "stop"
        return braking(self.limbs, pose, self.pace.acceleration, self.sample)

    def _take_stock(self, sensed: Sensed) -> None:
        x, y, turn = self._planned
        place, forwards, left = self._from
        planned = float(np.hypot(x, y))
        if planned > 1e-9:
            distance = float((sensed.place - place) @ (x * forwards + y * left)) / planned
        else:
            nose = sensed.attitude[:, 0]
            distance = float(np.arctan2(nose @ left, nose @ forwards) * np.sign(turn))
            planned = abs(turn)
        self.last = Report(distance, 1 - distance / planned if planned > 0 else 0.0)
        self.cycles += 1
        self._distance += distance

    def _over(self, sensed: Sensed) -> bool:
        until = self.modes[self.mode].until
        slope = float(np.arccos(np.clip(-sensed.down[2], -1.0, 1.0)))
        reached = (
            (sensed.time - self._entered, until.time, 1),
            (self._distance, until.distance, 1),
            (self.cycles, until.cycles, 1),
            (slope, until.slope, 1),
            (self.last.slip, until.slip, 1),
            (self.last.distance, until.progress, -1),
        )
        return any(
            bound is not None and sign * (value - bound) >= -1e-9 for value, bound, sign in reached
        )
