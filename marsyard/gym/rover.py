"""A rover controlled by an agent: actions to wheel commands, records to observations.

Action: speed v, curvature κ of the base's path and crab angle γ to the left of the nose give the
twist (v cos γ, v sin γ, v κ), from which `control.steering` makes rates of all wheels and angles of
those that are steered. Steering joints turn to their angles at no more than `STEERING_RATE`; the
scenario's motors bound the wheels' torques. All is held for one step of the environment.

What is seen comes from the records of that step: slip as in the results, averaged over wheels and
step; sinkage as in the results, at the end of the step; electrical power of the motors
(`control.motor`), whose energy is the trapezoidal rule over the records; and heights of the
undisturbed ground around the rover, as a map from before the drive shows them.

All of it is true, without noise or delay. A real rover measures attitude, turn rate, wheel rates
and currents, and estimates its place, speed, slip and sinkage, for instance by visual odometry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marsyard.control.motor import Motor
from marsyard.control.steering import Twist, WheelLayout
from marsyard.simulation import Simulation
from marsyard.simulation.commands import motors_of
from marsyard.simulation.readings import attitude_now
from marsyard.simulation.recorder import wheel_sinkage, wheel_slip

STEERING_RATE = 0.3  # [rad/s]
#: where heights are seen, in the rover's level frame: ahead and to the left [m]
AHEAD = (-1.5, 0.0, 1.5, 3.0, 4.5)
LEFT = (-2.0, 0.0, 2.0)


@dataclass(frozen=True)
class Reading:
    """What is known at the end of a step.

    Attributes:
        x, y, z: of the base [m]; roll, pitch, yaw [rad], R = Rz(yaw) Ry(pitch) Rx(roll).
        forward, left: speed of the base in its level frame [m/s]; turn: rate about its own upright
            axis [rad/s].
        slip: mean of all wheels over the step; slip_max: that of the wheel that slips most.
        sinkage: mean of the wheels, across the undisturbed ground [m].
        energy: electrical, of all motors with a model, during the step [J].
        heights: of the ground at AHEAD × LEFT against that under the base [m].
    """

    x: float
    y: float
    z: float
    roll: float
    pitch: float
    yaw: float
    forward: float
    left: float
    turn: float
    slip: float
    slip_max: float
    sinkage: float
    energy: float
    heights: np.ndarray


class _Part(NamedTuple):
    """What is used of some records; the first index is time."""

    time: np.ndarray
    base_quaternion: np.ndarray
    velocities: np.ndarray
    wheel_centre: np.ndarray
    wheel_axis: np.ndarray
    wheel_velocity: np.ndarray
    torque: np.ndarray


class Rover:
    """The rover of a simulation, driven step by step."""

    def __init__(self, simulation: Simulation, layout: WheelLayout | None = None) -> None:
        s = self.simulation = simulation
        self.layout = layout or WheelLayout.of(s.world.robot, grousers=True)
        names = [name for name in self.layout.steering_joint if name]
        self._steered = np.array([bool(name) for name in self.layout.steering_joint])
        self._steering = [int(s.model.jnt_qposadr[s.model.joint(n).id]) for n in names]
        # columns of the joints that have the same motor: one call for all of them
        self._motors: dict[Motor, list[int]] = {}
        for name, motor in motors_of(s.scenario, s.world).items():
            self._motors.setdefault(motor, []).append(s.world.joints.index(name))
        grid = np.meshgrid(AHEAD, LEFT, indexing="ij")
        self._ahead, self._left = grid[0].ravel(), grid[1].ravel()

    def step(self, twist: Twist, steps: int) -> None:
        """Drive with a twist for a number of physics steps."""
        s, layout = self.simulation, self.layout
        now = np.zeros(len(layout.wheels))
        now[self._steered] = s.qpos[self._steering]
        command = layout.command(twist, now)
        most = STEERING_RATE
        rate = np.clip((command.angle - now) / (steps * s.scenario.run.step), -most, most)
        speed = s.speed
        for w, (drive, steering) in enumerate(
            zip(layout.drive_joint, layout.steering_joint, strict=True)
        ):
            speed[drive] = float(command.rate[w])
            if steering:
                speed[steering] = float(rate[w])
        s.step(steps)

    def read(self, since: float) -> Reading:
        """What is known now, with means and energy of the records from `since` [s] on."""
        s, soil = self.simulation, self.simulation.world.soil
        assert soil is not None
        q, v = s.qpos, s.qvel
        roll, pitch, yaw = attitude_now(q[3:7])
        c, n = math.cos(yaw), math.sin(yaw)
        known, count = s.record_room, s.record_count
        first = int(np.searchsorted(known.time[:count], since - 1e-9))
        part = _Part(*(getattr(known, name)[first:count] for name in _Part._fields))
        slip = wheel_slip(s, part)[0].mean(axis=0)
        last = _Part(*(a[-1:] for a in part))
        touching = soil.touching(len(self.layout.wheels))
        return Reading(
            x=float(q[0]), y=float(q[1]), z=float(q[2]), roll=roll, pitch=pitch, yaw=yaw,
            forward=float(c * v[0] + n * v[1]), left=float(c * v[1] - n * v[0]),
            turn=float(v[5]), slip=float(slip.mean()), slip_max=float(slip[np.abs(slip).argmax()]),
            sinkage=float(np.nan_to_num(wheel_sinkage(s, last, touching)).mean()),
            energy=self._energy(part), heights=self._heights(yaw),
        )  # fmt: skip

    def _energy(self, part: _Part) -> float:
        power = np.zeros(len(part.time))
        for motor, at in self._motors.items():
            rate = part.velocities[:, self.simulation.facts.joint_dof[at]]
            power += motor.drive(part.torque[:, at], rate).power.sum(axis=1)
        return float(np.sum(np.diff(part.time) * (power[1:] + power[:-1]) / 2))

    def _heights(self, yaw: float) -> np.ndarray:
        s = self.simulation
        assert s.world.soil is not None
        c, n = math.cos(yaw), math.sin(yaw)
        x = s.qpos[0] + np.append(c * self._ahead - n * self._left, 0.0)
        y = s.qpos[1] + np.append(n * self._ahead + c * self._left, 0.0)
        heights = s.world.soil.grid.terrain.height(x, y)
        return heights[:-1] - heights[-1]
