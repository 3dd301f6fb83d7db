"""Wheel speeds and steering angles from a motion of the base, and back, for any wheel layout.

The base moves in its own x-y plane with the twist (v_x, v_y, ω) at its origin. Wheel i touches the
ground at c_i; its velocity there is

    u_i = (v_x − ω c_iy, v_y + ω c_ix)                                       [m/s]

With the wheel's heading h_i and its left l_i (unit vectors, h_i turned by 90°) the wheel rolls with
u_i·h_i and suffers the side slip u_i·l_i:

    rate_i = sign_i u_i·h_i / r_i      [rad/s]        side_slip_i = u_i·l_i    [m/s]

A steered wheel is turned by δ_i so that u_i·l_i = 0. Its contact lies at the offset o_i from the
steering axis (trail f along the heading, scrub s to the left, both with the wheel straight ahead);
with the axis' own velocity w_i of direction φ_i the condition |w_i| sin(φ_i − δ_i) + ω f = 0 gives

    δ_i = φ_i + asin(ω f / |w_i|) − δ0_i        or the same + π, with the wheel turning backwards

of which the one nearer to the present angle and within the limits is taken; a wheel that would not
move keeps its angle. An angle out of limits is cut to the limit, and the side slip says what that
costs. If a wheel would exceed the greatest rate, the whole twist is scaled down, so that the
turning centre (−v_y/ω, v_x/ω) stays.

Modes are a twist with a restriction (`steered`: which wheels may be turned):

    ackermann          front wheels;              turning centre abeam of the other wheels' mean
    double_ackermann   front and rear wheels;     turning centre abeam of the wheels between
    crab               all wheels;                ω = 0
    point_turn         all wheels;                v_x = v_y = 0 at the centre of the turn
    skid               none;                      turning centre abeam of the wheels' mean
    free               all wheels;                any twist

Abeam of x_t means v_y = −ω x_t, which makes the side slips of the unsteered wheels least in the sum
of squares.

Back: the twist that fits measured rates and angles best solves, weighted by least squares,

    u_i·h_i = sign_i r_i rate_i          √side_weight · u_i·l_i = 0

Sources: P. F. Muir, C. P. Neuman: Kinematic modeling of wheeled mobile robots, J. Robotic Systems
4, 1987 (actuated inverse and sensed forward solution); G. Campion, G. Bastin, B. D'Andréa-Novel:
Structural properties and classification of kinematic and dynamic models of wheeled mobile robots,
IEEE Trans. Robotics and Automation 12, 1996 (offset steered wheels).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marsyard.control.rover_kinematics import RoverKinematics
from marsyard.errors import InputError, suggest
from marsyard.robot import Robot

MODES = ("free", "ackermann", "double_ackermann", "crab", "point_turn", "skid")


class Twist(NamedTuple):
    """Motion of the base in its own frame: forward, left [m/s], turn [rad/s, positive left]."""

    forward: float = 0.0
    left: float = 0.0
    turn: float = 0.0

    def scaled(self, factor: float) -> Twist:
        """The same turning centre at another speed."""
        return Twist(self.forward * factor, self.left * factor, self.turn * factor)


@dataclass(frozen=True)
class WheelCommand:
    """What wheels and steering are to do, by wheel; arrays of shape [n].

    Attributes:
        rate: of the wheel joints [rad/s].
        angle: of the steering joints [rad]; 0 for a wheel that is not steered.
        side_slip: velocity to the left that the wheel must suffer [m/s].
        twist: what the wheels were made for, after scaling.
        scale: by which the wanted twist was scaled down, 1 if it was not.
    """

    rate: np.ndarray
    angle: np.ndarray
    side_slip: np.ndarray
    twist: Twist
    scale: float


@dataclass(frozen=True)
class WheelLayout:
    """Wheels seen from above in the base frame, arrays of shape [n] or [n, 2].

    Attributes:
        wheels: names.
        pivot: where the steering axis meets the ground, of an unsteered wheel its contact [m].
        offset: from pivot to contact with the wheel straight, along x and y of the base [m].
        heading: direction of forward rolling at angle 0, in the base frame [rad].
        radius: [m].
        sign: of the wheel joint's rate against forward rolling.
        steered: which wheels have a steering joint.
        steering_joint: its name, empty for an unsteered wheel.
        steering_sign: +1 if its positive angle turns left.
        angle_min, angle_max: limits of the joint's angle [rad].
        rate_max: greatest rate of the wheel joints [rad/s].
        drive_joint: names of the wheel joints.
    """

    wheels: tuple[str, ...]
    pivot: np.ndarray
    offset: np.ndarray
    heading: np.ndarray
    radius: np.ndarray
    sign: np.ndarray
    steered: np.ndarray
    steering_joint: tuple[str, ...]
    steering_sign: np.ndarray
    angle_min: np.ndarray
    angle_max: np.ndarray
    rate_max: float = np.inf
    drive_joint: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        robot: Robot | str | RoverKinematics,
        joints: Mapping[str, float] | None = None,
        *,
        angle_limit: float | None = None,
        rate_max: float = np.inf,
        grousers: bool = False,
    ) -> WheelLayout:
        """The layout of a robot with its other joints at `joints` (zero unless told).

        `angle_limit` [rad] narrows the limits of the steering joints, `rate_max` [rad/s] bounds
        the wheels' rates. With `grousers` radii count to their tips, as on soil.
        """
        if not isinstance(robot, RoverKinematics):
            robot = RoverKinematics(robot, grousers)
        kinematics = robot
        model, names = kinematics.model, kinematics.wheels
        ids = [kinematics.steering_of(i) for i in range(len(names))]
        straight = dict(joints or {})
        straight.update({model.joint(j).name: 0.0 for j in ids if j is not None})
        frames = kinematics.frames(straight)
        contact = frames.centre[:, :2]
        pivot, turn = contact.copy(), np.ones(len(names))
        low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        p_WB = kinematics.data.xpos[kinematics.base]
        R_WB = kinematics.data.xmat[kinematics.base].reshape(3, 3)
        for i, joint in enumerate(ids):
            if joint is None:
                continue
            axis = kinematics.data.xaxis[joint] @ R_WB
            if abs(axis[2]) < 0.5:
                name = model.joint(joint).name
                raise InputError(f"roles.steering: the axis of '{name}' is not upright")
            anchor = (kinematics.data.xanchor[joint] - p_WB) @ R_WB
            down = frames.centre[i, 2] - kinematics.radius[i] - anchor[2]
            pivot[i] = (anchor + axis * down / axis[2])[:2]
            turn[i] = np.sign(axis[2])
            if model.jnt_limited[joint]:
                low[i], high[i] = model.jnt_range[joint]
        if angle_limit is not None:
            low, high = np.maximum(low, -angle_limit), np.minimum(high, angle_limit)
        ahead = np.cross(frames.axle, [0.0, 0.0, 1.0])
        return cls(
            wheels=names,
            pivot=pivot,
            offset=contact - pivot,
            heading=np.arctan2(ahead[:, 1], ahead[:, 0]),
            radius=kinematics.radius,
            sign=kinematics.sign,
            steered=np.array([j is not None for j in ids]),
            steering_joint=tuple("" if j is None else model.joint(j).name for j in ids),
            steering_sign=turn,
            angle_min=low,
            angle_max=high,
            rate_max=rate_max,
            drive_joint=kinematics.drive_joint,
        )

    def restricted(self, steered: np.ndarray) -> WheelLayout:
        """The same layout with fewer wheels steered; the others stay straight."""
        return replace(self, steered=self.steered & np.asarray(steered, dtype=bool))

    def contact(self, angle: np.ndarray | None = None) -> np.ndarray:
        """Contact points in the base frame at steering angles [rad], [n, 2] [m]."""
        return self.pivot + _rotated(self.offset, self._left_turn(angle))

    def headings(self, angle: np.ndarray | None = None) -> np.ndarray:
        """Directions of forward rolling in the base frame [rad]."""
        return self.heading + self._left_turn(angle)

    def wheel_velocity(self, twist: Twist, angle: np.ndarray | None = None) -> np.ndarray:
        """Velocity of each contact along the wheel's heading and to its left, [n, 2] [m/s]."""
        return _rotated(_velocity(twist, self.contact(angle)), -self.headings(angle))

    def command(self, twist: Twist, angle_now: np.ndarray | None = None) -> WheelCommand:
        """Rates and steering angles for a twist; `angle_now` [rad] settles equivalent angles."""
        now = np.zeros(len(self.wheels)) if angle_now is None else np.asarray(angle_now, float)
        twist = Twist(*map(float, twist))
        if not np.all(np.isfinite(twist)):
            raise InputError(f"twist: {tuple(twist)}; all three numbers must be finite")
        angle = np.where(self.steered, self._angles(twist, now), 0.0)
        velocity = self.wheel_velocity(twist, angle)
        rate = self.sign * velocity[:, 0] / self.radius
        fastest = np.max(np.abs(rate))
        scale = min(1.0, self.rate_max / fastest) if fastest > 0 else 1.0
        return WheelCommand(rate * scale, angle, velocity[:, 1] * scale, twist.scaled(scale), scale)

    def twist(
        self, rate: np.ndarray, angle: np.ndarray | None = None, side_weight: float = 1.0
    ) -> tuple[Twist, np.ndarray]:
        """The twist nearest to measured rates [rad/s] and angles [rad], and what is left over.

        The remainder [n, 2] [m/s] is the measured minus the fitted velocity of each wheel, forward
        and left: what the wheels disagree by. `side_weight` says how much rolling without side
        slip counts against rolling speeds; a small one suits skid steering.
        """
        contact, heading = self.contact(angle), self.headings(angle)
        rows = []
        for direction in (heading, heading + np.pi / 2):
            c, s = np.cos(direction), np.sin(direction)
            rows.append(np.column_stack([c, s, s * contact[:, 0] - c * contact[:, 1]]))
        ahead = self.sign * self.radius * np.asarray(rate, dtype=float)
        measured = np.concatenate([ahead, np.zeros(len(self.wheels))])
        matrix = np.concatenate(rows)
        weight = np.sqrt(np.repeat([1.0, side_weight], len(self.wheels)))
        found = np.linalg.lstsq(matrix * weight[:, None], measured * weight, rcond=None)[0]
        left_over = (measured - matrix @ found).reshape(2, -1).T
        return Twist(*map(float, found)), left_over

    def _left_turn(self, angle: np.ndarray | None) -> np.ndarray:
        """How far each wheel is turned to the left [rad]."""
        if angle is None:
            return np.zeros(len(self.wheels))
        return self.steering_sign * np.asarray(angle, dtype=float)

    def _angles(self, twist: Twist, now: np.ndarray) -> np.ndarray:
        """Steering angles that leave no side slip, as near as may be to those of now [rad]."""
        axis = _velocity(twist, self.pivot)
        speed = np.hypot(axis[:, 0], axis[:, 1])
        trail = _rotated(self.offset, -self.heading)[:, 0]
        still = speed <= 1e-12 * (1 + np.abs(twist.turn))
        lean = np.arcsin(np.clip(twist.turn * trail / np.where(still, 1.0, speed), -1, 1))
        course = np.arctan2(axis[:, 1], axis[:, 0])
        left_turns = course + np.array([lean, np.pi - lean]) - self.heading
        options = self.steering_sign * left_turns
        best = _best(options, now, self.angle_min, self.angle_max)
        return np.clip(np.where(still, now, best), self.angle_min, self.angle_max)


def _best(options: np.ndarray, now: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of angles that differ by whole turns [k, n] the nearest to now that the limits allow."""
    turn = 2 * np.pi
    near = options - turn * np.round((options - now) / turn)
    candidates = np.concatenate([near, near - turn, near + turn])
    outside = np.maximum(np.maximum(low - candidates, candidates - high), 0.0)
    cost = np.where(outside < 1e-9, np.abs(candidates - now), 1e6 * (1 + outside))
    return np.take_along_axis(candidates, np.argmin(cost, axis=0)[None], axis=0)[0]


def mode_command(
    layout: WheelLayout,
    mode: str,
    speed: float = 0.0,
    *,
    turn: float = 0.0,
    direction: float = 0.0,
    centre: tuple[float, float] = (0.0, 0.0),
    angle_now: np.ndarray | None = None,
) -> WheelCommand:
    """Rates and angles in a named mode.

    `speed` [m/s] and `turn` [rad/s] of the base origin; `direction` [rad] of a crab's course to the
    left of the nose; `centre` [m] of a point turn in the base frame.
    """
    twist, restricted = mode_twist(
        layout, mode, speed, turn=turn, direction=direction, centre=centre
    )
    return restricted.command(twist, angle_now)


def mode_twist(
    layout: WheelLayout,
    mode: str,
    speed: float = 0.0,
    *,
    turn: float = 0.0,
    direction: float = 0.0,
    centre: tuple[float, float] = (0.0, 0.0),
) -> tuple[Twist, WheelLayout]:
    """The twist of a named mode and the layout with its restriction."""
    if mode not in MODES:
        raise InputError(f"mode: unknown mode '{mode}'; {suggest(mode, MODES)}")
    along = speed * np.cos(direction), speed * np.sin(direction)
    if mode == "crab":
        return Twist(*along, 0.0), layout
    if mode == "point_turn":
        return Twist(turn * centre[1], -turn * centre[0], turn), layout
    if mode == "free":
        return Twist(*along, turn), layout
    restricted = layout.restricted(_steered_in(layout, mode))
    fixed = ~restricted.steered
    abeam = np.mean(layout.pivot[fixed if fixed.any() else slice(None), 0])
    return Twist(speed, -turn * abeam, turn), restricted


def _steered_in(layout: WheelLayout, mode: str) -> np.ndarray:
    """Which wheels a mode may turn: those of the first and, doubly, of the last axle."""
    x = layout.pivot[:, 0]
    near = 0.25 * np.ptp(x)
    front, rear = x > x.max() - near, x < x.min() + near
    if mode == "ackermann":
        return front
    return front | rear if mode == "double_ackermann" else np.zeros(len(x), dtype=bool)


def _velocity(twist: Twist, points: np.ndarray) -> np.ndarray:
    return np.column_stack(
        [twist.forward - twist.turn * points[:, 1], twist.left + twist.turn * points[:, 0]]
    )


def _rotated(vectors: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Plane vectors [n, 2] turned to the left by angles [n]."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = vectors[:, 0], vectors[:, 1]
    return np.column_stack([c * x - s * y, s * x + c * y])
