"""Dead reckoning: position and heading from attitude, joint angles and wheel turns.

Between two measurements, 0 and 1, the base moves by d (world frame). Forward kinematics give the
wheel centres c(q) in the base frame, so the centre of wheel i moves by

    m_i = d + R₁ c_i(q₁) − R₀ c_i(q₀)                                         [m]

exactly, whatever the suspension did. A wheel that rolls without slip on ground of normal n_i moves
its centre, with its rotation Ω_i in the world, by

    m_i = r_i Ω_i × n_i,      Ω_i = turn of the carrier + Δθ_i a_i            [rad]

(a_i axle, Δθ_i turn of the wheel joint; a_i and n_i are taken halfway, so that the error of a step
is of third order and that of a journey of second order in the step). Slip is what this assumption
misses: with slip ratio s on level ground the distance found is 1/(1−s) times the true one.

The normal is given (from a map) or found: it lies in the wheel's plane at the unknown angle γ_i,

    n_i = cos γ_i u_i − sin γ_i f_i,       f_i forward, level;  u_i up, square to f_i and a_i

Unknowns are d, the γ_i, and, where heading is not measured, the turn about the vertical: 3 + n
(+ 1) against 3 n equations, by least squares (Levenberg and Marquardt). While attitude and joints
stay as they are the direction of d is open: all γ_i may change alike. So each γ_i is drawn to the
slope of the plane through the wheels, with the weight `hold` against the rolling equations: above
the spread of slip among the wheels, or differences of slip are taken for slopes. 0.2 suits soil; on
hard smooth ground a small one (1e-3) gives the exact path. Wheels that scrub sideways, as all must
to some degree on rough ground, are averaged.

Covariance, optional: each wheel's displacement is taken as off by an independent error whose
standard deviation grows as k √(distance), k = `wheel_spread` [√m]; P += k² |d| (AᵀA)⁻¹.

Sources: P. F. Muir, C. P. Neuman: Kinematic modeling of wheeled mobile robots, J. Robotic Systems
4, 1987; M. Tarokh, G. J. McDermott: Kinematics modeling and analyses of articulated rovers, IEEE
Trans. Robotics 21, 2005; K. Iagnemma, S. Dubowsky: Vehicle wheel-ground contact angle estimation
with application to mobile robot traction control, Advances in Robot Kinematics, 2000.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from marsyard.control.placement import rotation
from marsyard.control.rover_kinematics import RoverKinematics, WheelFrames
from marsyard.errors import InputError
from marsyard.robot import Robot
from marsyard.rotations import matrices, rotation_vectors

_UP = np.array([0.0, 0.0, 1.0])


class Odometry:
    """Position and heading of a rover, estimated from its measurements.

    Args:
        robot: of the library, by name, or its kinematics.
        position: of the base at the start [m].
        attitude: (roll, pitch, yaw) [rad], or a quaternion w, x, y, z, at the start.
        joints: angles at the start [rad] by name, zero unless told; wheel joints included.
        wheel_spread: k of the covariance [√m].
        hold: weight that draws contact angles to the plane through the wheels.

    Attributes:
        position: [m], [3].
        rotation: R_WB, [3, 3].
        contact_angle: γ of each wheel [rad], positive where it climbs.
        disagreement: what is left of the equations in the last step, per wheel [m], [n, 3].
        covariance: of the position [m²], [3, 3].
        distance: sum of the steps [m].
    """

    def __init__(
        self,
        robot: Robot | str | RoverKinematics,
        position=(0.0, 0.0, 0.0),
        attitude=(0.0, 0.0, 0.0),
        joints: Mapping[str, float] | None = None,
        wheel_spread: float = 0.0,
        hold: float = 0.2,
    ):
        self.kinematics = robot if isinstance(robot, RoverKinematics) else RoverKinematics(robot)
        n = len(self.kinematics.wheels)
        self.position = np.array(position, dtype=float)
        self.rotation = attitude_matrix(attitude)
        self.contact_angle = np.zeros(n)
        self.disagreement = np.zeros((n, 3))
        self.covariance = np.zeros((3, 3))
        self.distance = 0.0
        self.wheel_spread, self.hold = wheel_spread, hold
        self._wheel_joints = list(self.kinematics.drive_joint)
        self._frames, self._turns = self._read(joints or {})

    @property
    def heading(self) -> float:
        """Direction of the base's x axis seen from above [rad]."""
        return float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))

    def update(
        self, attitude, joints: Mapping[str, float], normals: np.ndarray | None = None
    ) -> np.ndarray:
        """Take a new measurement; the position [m] after it.

        `attitude` is (roll, pitch, yaw) [rad] or a quaternion; with (roll, pitch) alone the heading
        is reckoned from the wheels, too. `joints` [rad] by name: all that moved since the start,
        the wheels' among them, counted through (not wrapped). `normals` of the ground under the
        wheels in the world, [n, 3], where known.
        """
        frames, turns = self._read(joints)
        blind = len(attitude) == 2
        R1 = attitude_matrix((*attitude, self.heading) if blind else attitude)
        n = len(self.contact_angle)

        step = _Step(self, frames, turns - self._turns, R1)

        def equations(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal step
            if blind:
                step = _Step(self, frames, turns - self._turns, _about_up(x[-1]) @ R1)
            return step.equations(x[:3], x[3 : 3 + n], normals, blind, self.hold)

        start = np.concatenate([np.zeros(3), self.contact_angle, np.zeros(int(blind))])
        x, residual, matrix = _least_squares(equations, start)
        d, turned = x[:3], float(x[-1]) if blind else 0.0
        self.contact_angle = x[3 : 3 + n]
        self.disagreement = residual[: 3 * n].reshape(-1, 3)
        self._spread(d, matrix[: 3 * n])
        self.position = self.position + d
        self.distance += float(np.linalg.norm(d))
        self.rotation = _about_up(turned) @ R1
        self._frames, self._turns = frames, turns
        return self.position

    def _read(self, joints: Mapping[str, float]) -> tuple[WheelFrames, np.ndarray]:
        turns = np.array([joints.get(name, 0.0) for name in self._wheel_joints])
        return self.kinematics.frames(joints), turns * self.kinematics.sign

    def _spread(self, d: np.ndarray, matrix: np.ndarray) -> None:
        information = matrix[:, :3].T @ matrix[:, :3]
        self.covariance = self.covariance + (
            self.wheel_spread**2 * np.linalg.norm(d) * np.linalg.inv(information)
        )


class _Step:
    """The equations between two measurements, linear in the increments."""

    def __init__(self, last: Odometry, frames: WheelFrames, turns: np.ndarray, R1: np.ndarray):
        R0, before = last.rotation, last._frames
        self.radius = last.kinematics.radius
        self.arm1 = frames.centre @ R1.T
        self.carried = self.arm1 - before.centre @ R0.T
        # halfway: axle, and the turn of the carrier with the wheel's own added
        axle = before.axle @ R0.T + frames.axle @ R1.T
        self.axle = axle / np.linalg.norm(axle, axis=1, keepdims=True)
        relative = (R1 @ frames.carrier) @ np.swapaxes(R0 @ before.carrier, 1, 2)
        self.turn = rotation_vectors(relative) + turns[:, None] * self.axle
        ahead = np.cross(self.axle, _UP)
        size = np.linalg.norm(ahead, axis=1, keepdims=True)
        if np.any(size < 1e-3):
            raise InputError("attitude: a wheel lies flat, so it has no heading")
        self.ahead = ahead / size
        self.up = np.cross(self.ahead, self.axle)
        self.rolled = np.max(np.abs(self.radius * turns))
        self.plane = self._plane_slopes(before.centre @ R0.T + self.arm1)

    def _plane_slopes(self, centres: np.ndarray) -> np.ndarray:
        """Slope along each heading of the plane through the wheel centres [rad]."""
        away = centres - centres.mean(axis=0)
        rise = np.linalg.lstsq(away[:, :2], away[:, 2], rcond=1e-6)[0]
        normal = np.array([-rise[0], -rise[1], 1.0])
        return np.arctan2(-self.ahead @ normal, self.up @ normal)

    def equations(self, d, gamma, normals, blind, hold) -> tuple[np.ndarray, np.ndarray]:
        """What is open of r Ω × n = m and γ = plane [3n + n], and minus its derivatives."""
        n = len(gamma)
        c, s = np.cos(gamma)[:, None], np.sin(gamma)[:, None]
        if normals is None:
            normal, tilt = c * self.up - s * self.ahead, -s * self.up - c * self.ahead
        else:
            normal = normals / np.linalg.norm(normals, axis=1, keepdims=True)
            tilt = np.zeros((n, 3))
        r, each = self.radius[:, None], np.arange(n)
        rolling = r * np.cross(self.turn, normal) - (d + self.carried)
        weight = hold * max(self.rolled, 1e-9)
        matrix = np.zeros((4 * n, 3 + n + int(blind)))
        matrix[: 3 * n, :3] = np.tile(np.eye(3), (n, 1))
        by_angle = -r * np.cross(self.turn, tilt)
        for axis in range(3):
            matrix[3 * each + axis, 3 + each] = by_angle[:, axis]
        matrix[3 * n + each, 3 + each] = weight
        if blind:
            about = np.cross(_UP, self.arm1) - r * np.cross(_UP, normal)
            matrix[: 3 * n, -1] = about.ravel()
        return np.concatenate([rolling.ravel(), weight * (self.plane - gamma)]), matrix


def _least_squares(equations, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least squares of `equations` (residual, minus its derivatives) by damped steps."""
    residual, matrix = equations(x)
    damping = 1e-9
    for _ in range(50):
        square = matrix.T @ matrix
        scale = np.diag(np.maximum(np.diag(square), 1e-30))
        change = np.linalg.solve(square + damping * scale, matrix.T @ residual)
        trial, slopes = equations(x + change)
        if trial @ trial <= residual @ residual:
            x, residual, matrix, damping = x + change, trial, slopes, damping / 10
            if np.max(np.abs(change)) < 1e-9:
                break
        elif damping > 1e6:
            break
        else:
            damping = max(damping, 1e-9) * 10
    return x, residual, matrix


def attitude_matrix(attitude) -> np.ndarray:
    """R_WB of (roll, pitch, yaw) or of a quaternion w, x, y, z."""
    values = np.asarray(attitude, dtype=float)
    if values.shape == (3,):
        return rotation(*values)
    if values.shape == (4,):
        return matrices(values / np.linalg.norm(values))
    raise InputError(
        f"attitude: {values.shape[0] if values.ndim else 1} numbers; give roll, pitch, yaw, or "
        "roll, pitch, or a quaternion of four"
    )


def _about_up(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
