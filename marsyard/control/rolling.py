"""Plain rolling in the form of a gait: wheel and steering angles over time.

The base moves with a constant twist (forwards v, turn rate ω); steering angles and wheel rates are
those of plane kinematics (`control.steering`). Wheel rates go to theirs, from whatever they are, at
no more than the acceleration a of the rims: ω_i(t) = ω_i0 + (ω_i1 − ω_i0) min(1, t/t_a),
t_a = max_i r_i |ω_i1 − ω_i0|/a. A cycle is just a span of time, after which a controller may decide
anew. Steering is turned before, in the transition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marsyard.control.gait_planner import Plan, motion
from marsyard.control.gait_schedule import Motion, Pose
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.steering import Twist, WheelLayout
from marsyard.errors import InputError


@dataclass(frozen=True)
class RollingGait:
    """Parameters of rolling.

    Attributes:
        speed: forwards [m/s].
        turn_rate: to the left [rad/s].
        period: of a cycle [s].
        acceleration: of the rims, at most [m/s²].
        height: by which the base stands higher than with all joints at zero [m].
    """

    speed: float = 0.05
    turn_rate: float = 0.0
    period: float = 2.0
    acceleration: float = 0.1
    height: float = 0.0


class Rolling:
    """Makes cycles of rolling for a robot.

    Attributes:
        limbs, gait: what rolls and how.
        steering: angles of the steering joints [rad].
        rates: of the wheel joints [rad/s].
    """

    name = "rolling"

    def __init__(self, limbs: Limbs, gait: RollingGait, sample: float) -> None:
        self.limbs, self.gait, self.sample = limbs, gait, sample
        if not np.any(limbs.is_wheel):
            raise InputError(f"rolling: {limbs.robot.name} has no wheels; use walking")
        radius = limbs.radius[limbs.is_wheel]
        layout = replace(WheelLayout.of(limbs.robot), radius=radius)
        command = layout.command(Twist(gait.speed, 0.0, gait.turn_rate))
        self.rates = command.rate
        angle = {j: a for j, a in zip(layout.steering_joint, command.angle, strict=True) if j}
        self.steering = np.array([angle.get(j, 0.0) for j in limbs.steering_joints])
        self.samples = round(gait.period / sample)

    def begin(self, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the wheels and displacement of the base when rolling begins [m]."""
        return np.array(self.limbs.home), np.array([0.0, 0.0, self.gait.height])

    def lean(self, down: np.ndarray) -> np.ndarray:
        """Attitude of the base against the ground: parallel."""
        return np.eye(3)

    def cycle(self, begin: Pose) -> Motion:
        """Roll on for a period, from the rates of `begin`."""
        times = np.arange(self.samples + 1) * self.sample
        turned = _turned(times, begin.rates, self.rates, self._time_to(begin.rates))
        # as much as in this time at full speed
        full = float(turned[-1] @ self.rates) / max(float(self.rates @ self.rates), 1e-300)
        return _standing_motion(
            self.limbs, begin, turned, self.steering, self.sample, self._advance(full)
        )

    @property
    def advance(self) -> tuple[float, float, float]:
        """Planned displacement of the base in a cycle at full speed, forwards, left [m], turn
        [rad].
        """
        return self._advance(self.gait.period)

    def _time_to(self, rates: np.ndarray) -> float:
        rim = self.limbs.radius[self.limbs.is_wheel] * np.abs(self.rates - rates)
        return float(np.max(rim, initial=0.0)) / self.gait.acceleration

    def _advance(self, time: float) -> tuple[float, float, float]:
        v, w = self.gait.speed, self.gait.turn_rate
        if abs(w * time) < 1e-9:
            return v * time, 0.0, w * time
        return (
            float(v / w * np.sin(w * time)),
            float(v / w * (1 - np.cos(w * time))),
            w * time,
        )


def braking(limbs: Limbs, begin: Pose, acceleration: float, sample: float) -> Motion:
    """Wheels brought to rest, all in the same time."""
    rim = limbs.radius[limbs.is_wheel] * np.abs(begin.rates)
    time = float(np.max(rim, initial=0.0)) / acceleration
    times = np.arange(int(np.ceil(time / sample - 1e-9)) + 2) * sample
    turned = _turned(times, begin.rates, 0 * begin.rates, time)
    distance = float(np.mean(limbs.radius[limbs.is_wheel] * turned[-1]))
    return _standing_motion(limbs, begin, turned, begin.steering, sample, (distance, 0.0, 0.0))


def _turned(times: np.ndarray, first: np.ndarray, last: np.ndarray, ramp: float) -> np.ndarray:
    """Angles turned when rates go evenly from one to another in the time `ramp` [rad]."""
    t = times[:, None]
    early = np.minimum(t, ramp)
    change = early**2 / (2 * ramp) if ramp > 0 else np.zeros_like(t)
    return first * early + (last - first) * change + last * np.maximum(t - ramp, 0.0)


def _standing_motion(
    limbs: Limbs,
    begin: Pose,
    turned: np.ndarray,
    steering: np.ndarray,
    sample: float,
    advance: tuple[float, float, float],
) -> Motion:
    """A motion of the wheels alone, limbs held as they are."""
    n = len(turned)
    places = limbs.on_ground(limbs.points(begin.angles), begin.body, begin.lean)
    plan = Plan(
        places=np.broadcast_to(places, (n, *places.shape)),
        body=np.broadcast_to(begin.body, (n, 3)),
        lean=np.broadcast_to(begin.lean, (n, 3, 3)),
        rolled=turned * limbs.radius[limbs.is_wheel],
        steering=np.broadcast_to(steering, (n, len(steering))),
        support=np.ones((n, len(limbs.organs)), bool),
        advance=advance,
    )
    held = np.broadcast_to(begin.angles, (n, len(begin.angles)))
    return motion(limbs, plan, begin, sample, angles=held, still_rolling=True)
