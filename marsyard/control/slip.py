"""Slip and sinkage from what a rover can measure, and control that equalises slips.

Estimators. With the base's twist measured (visual odometry and gyroscope) each wheel's contact
moves with v_x along the wheel's heading and v_y to its left (`WheelLayout.wheel_velocity`); with
its rim speed r ω (in the wheel's own forward sense)

    slip ratio  s = (r ω − v_x) / max(|r ω|, |v_x|)   0 at rest; beyond ±1 if it turns against v_x
    slip angle  β = atan2(v_y, |v_x|)                 [rad], positive to the left, 0 at rest

as in the results of a run. Sinkage is how deep a wheel's lowest point lies below the undisturbed
ground of a map, from the measured pose and the suspension's joint angles:

    z = −gap,    gap = min over the tread of P_z − h(P)                            [m]

Errors of pose and map enter one to one, so differences between wheels (`relative`: less the least)
are surer than the values.

Slip-ratio-coordinated control: wheels on uneven or varied ground that turn alike have different
slips and work against each other; the sum of powers is less, and no wheel digs in, if slips are
equal (L. Ding, H. Gao, Z. Deng, Z. Liu: Slip-ratio-coordinated control of planetary exploration
robots traversing over deformable rough terrain, IROS 2010; result in Ding et al. 2011, Fig. 19).
The papers' own gains are not used; two forms of the idea:

speed-driven wheels: with the common slip s* (the mean, or one given) the rate that has it is

    ω* = v_x / (r (1 − s*))   driving (s* ≥ 0),     v_x (1 + s*) / r   braking
    ω ← ω + (1 − e^(−dt/τ)) (ω* − ω)

torque-driven wheels: the total torque is shared so that slips are equal,

    T_i = T/n + c_i,    ċ_i = k (s̄ − s_i),    Σ c_i = 0,    |T_i| ≤ T_max

a wheel that slips more gives torque to those that slip less; k [N·m/s]. As s has the sign of the
torque that makes it, this holds forward, backward and braking. The first form helps wheels that
move at different speeds over uneven ground, the second wheels whose ground carries differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from marsyard.control.placement import Ground, Placer
from marsyard.control.rover_kinematics import RoverKinematics
from marsyard.control.steering import Twist, WheelLayout
from marsyard.robot import Robot

#: speeds below this are rest [m/s]
REST = 1e-6


class Slip(NamedTuple):
    """Slip ratio [1] and slip angle [rad] of each wheel, [n]."""

    ratio: np.ndarray
    angle: np.ndarray


def slip_ratio(rim_speed, speed) -> np.ndarray:
    """(r ω − v)/max(|r ω|, |v|) of rim speeds and speeds along the heading [m/s]; 0 at rest."""
    rim, v = np.asarray(rim_speed, dtype=float), np.asarray(speed, dtype=float)
    fastest = np.maximum(np.abs(rim), np.abs(v))
    return np.where(fastest > REST, (rim - v) / np.where(fastest > REST, fastest, 1.0), 0.0)


def estimate_slip(
    layout: WheelLayout, measured: Twist, rate: np.ndarray, angle: np.ndarray | None = None
) -> Slip:
    """Slip of each wheel from the measured twist, wheel rates [rad/s] and steering angles [rad]."""
    velocity = layout.wheel_velocity(measured, angle)
    rim = layout.sign * layout.radius * np.asarray(rate, dtype=float)
    moving = np.hypot(*velocity.T) > REST
    angles = np.where(moving, np.arctan2(velocity[:, 1], np.abs(velocity[:, 0])), 0.0)
    return Slip(slip_ratio(rim, velocity[:, 0]), angles)


class SinkageEstimator:
    """Sinkage of each wheel from pose and joint angles, on the undisturbed ground of a map."""

    def __init__(self, robot: Robot | str | RoverKinematics, ground: Ground):
        self._placer = Placer(robot, ground)
        self.wheels = self._placer.kinematics.wheels

    def estimate(
        self,
        position: np.ndarray,
        roll: float,
        pitch: float,
        heading: float,
        joints: Mapping[str, float],
        relative: bool = False,
    ) -> np.ndarray:
        """Sinkage [m], positive down; negative where a wheel hangs above the map's ground."""
        depth = -self._placer.gaps(position, roll, pitch, heading, joints)
        return depth - depth.min() if relative else depth


@dataclass
class SlipCoordination:
    """Wheel rates or torques that equalise slip ratios; call once per control period.

    Attributes:
        time_constant: τ of the rates [s].
        gain: k of the torques [N·m/s].
        torque_max: bound of a wheel's torque [N·m].
        slip_max: bound of the common slip that rates are made for.
        shift: c_i of the torques so far [N·m].
    """

    time_constant: float = 1.0
    gain: float = 1.0
    torque_max: float = np.inf
    slip_max: float = 0.8
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def rates(
        self,
        layout: WheelLayout,
        measured: Twist,
        rate: np.ndarray,
        dt: float,
        angle: np.ndarray | None = None,
        slip: float | None = None,
        velocity: np.ndarray | None = None,
    ) -> np.ndarray:
        """New wheel rates [rad/s] after dt [s] from those of now.

        `slip`: the common slip to have, the mean of now unless told. `velocity`: speed of each
        wheel along its heading [m/s] where it is known better than from the twist, as by
        contact angles on uneven ground.
        """
        v = layout.wheel_velocity(measured, angle)[:, 0] if velocity is None else velocity
        rim = layout.sign * layout.radius * np.asarray(rate, dtype=float)
        common = float(np.mean(slip_ratio(rim, v) * np.sign(v))) if slip is None else slip
        common = float(np.clip(common, -self.slip_max, self.slip_max))
        target = np.abs(v) / (1 - common) if common >= 0 else np.abs(v) * (1 + common)
        share = 1 - np.exp(-dt / self.time_constant)
        rim = rim + share * (np.sign(v) * target - rim)
        return layout.sign * rim / layout.radius

    def torques(self, total: float, slip: np.ndarray, dt: float) -> np.ndarray:
        """Torques [N·m] of all wheels, their sum `total`, after slips were seen for dt [s]."""
        slip = np.asarray(slip, dtype=float)
        n = len(slip)
        if len(self.shift) != n:
            self.shift = np.zeros(n)
        shift = self.shift + dt * self.gain * (slip.mean() - slip)
        torque = _bounded(total / n + shift - shift.mean(), self.torque_max)
        # what the limits cut off is not stored up
        self.shift = torque - torque.mean()
        return torque


def _bounded(torque: np.ndarray, limit: float) -> np.ndarray:
    """Torques within ±limit; what is cut off goes to wheels that have room, if there are any."""
    total = torque.sum()
    bounded = np.clip(torque, -limit, limit)
    for _ in range(len(torque)):
        missing = total - bounded.sum()
        room = bounded < limit if missing > 0 else bounded > -limit
        if abs(missing) < 1e-12 or not room.any() or not np.isfinite(limit):
            break
        bounded = np.clip(bounded + room * missing / room.sum(), -limit, limit)
    return bounded
