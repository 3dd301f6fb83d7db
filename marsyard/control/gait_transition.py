"""Statically stable transition from the end pose of one gait to the start pose of the next.

In this order, each part only where it is needed:

    brake      wheels come to rest
    steer      steering joints turn to their new angles, standing
    lean       the base moves to its new displacement and attitude while all feet and wheels stand
    roll       wheels on legs or slides roll to their new places, all at once
    step       feet are set to their new places one at a time, those that end in the air last;
               where the centre of mass would come too near to an edge of the polygon of the others,
               the base first moves towards that polygon's middle, by as little as does it

Every part goes by σ(s) = 10 s³ − 15 s⁴ + 6 s⁵ from rest to rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marsyard.control.gait_planner import Plan, motion
from marsyard.control.gait_schedule import Motion, Pose, joined, smooth
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.rolling import braking
from marsyard.control.stability_margin import static_margin
from marsyard.errors import InputError

#: shorter distances than this are not worth a motion [m]
_NEAR = 1e-6


@dataclass(frozen=True)
class Pace:
    """Speed limits of transitions.

    Attributes:
        speed: greatest mean speed of the base and of rolling wheels [m/s].
        rate: greatest mean rate of the base's lean and of steering [rad/s].
        step_time: of one foot [s].
        step_height: [m].
        acceleration: of wheels that are braked [m/s²].
    """

    speed: float = 0.05
    rate: float = 0.2
    step_time: float = 0.8
    step_height: float = 0.03
    acceleration: float = 0.1


@dataclass(frozen=True)
class Stand:
    """A pose to go to: places of feet and wheels in the ground's frame, base and steering."""

    places: np.ndarray
    body: np.ndarray
    lean: np.ndarray
    steering: np.ndarray


def transition(
    limbs: Limbs,
    begin: Pose,
    to: Stand,
    sample: float,
    least: float = 0.0,
    pace: Pace | None = None,
) -> Motion | None:
    """The motion from a pose to another, or None if they are equal."""
    return _Transition(limbs, begin, sample, least, pace or Pace()).to(to)


class _Transition:
    def __init__(self, limbs: Limbs, begin: Pose, sample: float, least: float, pace: Pace) -> None:
        self.limbs, self.pose, self.sample = limbs, begin, sample
        self.least, self.pace = least, pace
        self.done: Motion | None = None
        limbs.normal = begin.lean[2]
        self.places = limbs.on_ground(limbs.points(begin.angles), begin.body, begin.lean)

    def to(self, end: Stand) -> Motion | None:
        if np.any(self.pose.rates):
            self._add(braking(self.limbs, self.pose, self.pace.acceleration, self.sample))
        self._steer(end.steering)
        self._move_base(end.body, end.lean)
        wheels = self.limbs.is_wheel
        self._roll(np.where(wheels[:, None], end.places, self.places))
        for foot in self._order(end.places):
            self._make_room(foot)
            self._step(foot, end.places[foot])
        self._move_base(end.body, end.lean)
        return self.done

    # --- the parts

    def _steer(self, angles: np.ndarray) -> None:
        shift = float(np.max(np.abs(angles - self.pose.steering), initial=0.0))
        if shift < _NEAR:
            return
        share = self._shares(shift / self.pace.rate)
        steering = self.pose.steering + share[:, None] * (angles - self.pose.steering)
        self._add(self._motion(len(share), steering=steering))

    def _move_base(self, body: np.ndarray, lean: np.ndarray) -> None:
        before, turn = self.pose.body, _rotation_vector(self.pose.lean.T @ lean)
        shift, angle = float(np.linalg.norm(body - before)), float(np.linalg.norm(turn))
        if max(shift, angle) < _NEAR:
            return
        share = self._shares(max(shift / self.pace.speed, angle / self.pace.rate))
        self._add(
            self._motion(
                len(share),
                body=before + share[:, None] * (body - before),
                lean=np.array([self.pose.lean @ _rotation(s * turn) for s in share]),
            )
        )

    def _roll(self, places: np.ndarray) -> None:
        shift = (places - self.places) * self.limbs.is_wheel[:, None]
        longest = float(np.max(np.linalg.norm(shift, axis=1), initial=0.0))
        if longest < _NEAR:
            return
        share = self._shares(longest / self.pace.speed)
        self._add(
            self._motion(
                len(share),
                places=self.places + share[:, None, None] * shift,
                rolled=share[:, None] * shift[self.limbs.is_wheel, 0],
            )
        )
        self.places = self.places + shift

    def _step(self, foot: int, place: np.ndarray) -> None:
        share = self._shares(self.pace.step_time)
        s = np.linspace(0.0, 1.0, len(share))
        lift = 64 * self.pace.step_height * s**3 * (1 - s) ** 3
        places = np.repeat(self.places[None], len(share), axis=0)
        places[:, foot] += share[:, None] * (place - self.places[foot])
        places[:, foot, 2] += lift
        support = np.ones((len(share), len(self.places)), bool)
        support[:, foot] = False
        # a foot that is set down carries again
        support[-1, foot] = abs(place[2] - self.limbs.home[foot, 2]) < _NEAR
        self._add(self._motion(len(share), places=places, support=support))
        self.places = self.places.copy()
        self.places[foot] = place

    def _order(self, places: np.ndarray) -> list[int]:
        moved = np.linalg.norm(places - self.places, axis=1) > _NEAR
        feet = np.flatnonzero(moved & ~self.limbs.is_wheel)
        return sorted(feet, key=lambda k: (places[k, 2] > self.limbs.home[k, 2] + _NEAR, k))

    def _make_room(self, foot: int) -> None:
        """Move the base so that the others carry it safely."""
        limbs, pose = self.limbs, self.pose
        others = np.arange(len(self.places)) != foot
        on_ground = self.places[:, 2] < limbs.home[:, 2] + _NEAR
        below = limbs.clearance[:, None] * [0.0, 0.0, 1.0]
        points = (self.places - below)[others & on_ground]
        centre = limbs.on_ground(limbs.centre(pose.angles), pose.body, pose.lean)
        wanted = self.least + 0.005
        shift = np.append((points.mean(axis=0) - centre)[:2], 0.0)
        for share in np.linspace(0.0, 1.0, 41):
            if static_margin(points, centre + share * shift, pose.down) >= wanted:
                self._move_base(pose.body + share * shift, pose.lean)
                return
        raise InputError(
            f"gait: '{limbs.organs[foot]}' of {limbs.robot.name} cannot be lifted because the "
            f"other feet do not support the robot safely; use a wider stance or allow a smaller "
            f"margin"
            ""
        )

    # --- inside

    def _shares(self, time: float) -> np.ndarray:
        # the steepest of σ is 15/8 of the mean
        count = max(1, int(np.ceil(time / self.sample - 1e-9)))
        return smooth(np.linspace(0.0, 1.0, count + 1))

    def _motion(self, n: int, **changed: np.ndarray) -> Motion:
        pose, limbs = self.pose, self.limbs
        wheels = len(limbs.wheel_joints)
        parts = {
            "places": np.broadcast_to(self.places, (n, *self.places.shape)),
            "body": np.broadcast_to(pose.body, (n, 3)),
            "lean": np.broadcast_to(pose.lean, (n, 3, 3)),
            "rolled": np.zeros((n, wheels)),
            "steering": np.broadcast_to(pose.steering, (n, len(pose.steering))),
            "support": np.ones((n, len(limbs.organs)), bool),
        }
        plan = Plan(**{**parts, **changed}, advance=(0.0, 0.0, 0.0))
        return motion(limbs, plan, pose, self.sample, least=self.least, name="transition")

    def _add(self, part: Motion) -> None:
        self.done = part if self.done is None else joined(self.done, part)
        self.pose = part.end


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_rotvec()


def _rotation(vector: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(vector).as_matrix()
