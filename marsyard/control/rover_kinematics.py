"""Forward kinematics of a robot's wheels by MuJoCo.

For joint angles q the model gives, in the base frame B (x forward, y left, z up), for every wheel

    p_BC  centre of the wheel [m]
    a_B   axle, turned so that positive roll is forward: (a × z)·x ≥ 0 with all joints at zero
    R_BC  attitude of the wheel's carrier (the frame the wheel turns in)

A wheel joint whose axis points the other way has `sign` -1: its rate is sign times the roll rate.
Wheels turn about their own centre, so q of the wheels does not matter and counts as zero.

A track counts as one wheel where asked for: its centre is above the middle of what its belt stands
on, by the sprocket's pitch radius, and its rate is that of the sprocket, so that the belt's speed
is radius times rate. Seen from above this is the usual model of a tracked vehicle, which turns by
the difference of its belts' speeds (J. Y. Wong: Theory of ground vehicles, kinematics of skid
steering).

Shared by steering, odometry, placement and slip; costs some 10 µs a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import Robot, Track, Wheel, load_robot

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


class WheelFrames(NamedTuple):
    """Wheels in the base frame: centre [m] [n, 3], axle [n, 3], carrier attitude [n, 3, 3]."""

    centre: np.ndarray
    axle: np.ndarray
    carrier: np.ndarray


class RoverKinematics:
    """A robot's geometry for controllers: named wheels and joints, and frames for joint angles.

    Attributes:
        robot: what was read from the library or a file.
        model, data: MuJoCo's, private to this object (its state is scratch).
        wheels: names of the wheels, then of tracks, in the order of all arrays.
        drive_joint: names of their joints, of tracks those of the sprockets.
        radius, width: [m], shape [n]; the radius to the grousers' tips with `grousers`, as on
            soil, where they dig in.
        sign: +1, or -1 where a wheel's joint turns backwards, shape [n].
        base, wheel_body, wheel_joint: MuJoCo's ids.
        joints: names of all hinge and slide joints.
    """

    def __init__(self, robot: Robot | str, grousers: bool = False, with_tracks: bool = False):
        self.robot = load_robot(robot) if isinstance(robot, str) else robot
        tracks = self.robot.tracks if with_tracks else {}
        if not (self.robot.wheels or tracks):
            what = "wheels or tracks" if with_tracks else "wheels"
            raise InputError(
                f"robot: {self.robot.name} has no {what}; give {what} in its robot.yaml"
            )
        self.model = self.robot.compile()
        self.data = mujoco.MjData(self.model)
        taken = self.robot.wheels
        self.wheels = (*taken, *(f"track:{k}" if k in taken else k for k in tracks))
        rolling: list[Wheel | Track] = [*taken.values(), *tracks.values()]
        # cones roll on their large ends
        self.radius = np.array([_rolling_radius(w, grousers) for w in rolling])
        self.width = np.array([w.width for w in rolling])
        self.drive_joint = tuple(w.joint for w in rolling)
        self.joints = tuple(
            self.model.joint(j).name
            for j in range(self.model.njnt)
            if self.model.jnt_type[j] in _SCALAR
        )
        self.base = self._base_body()
        self.wheel_body = np.array([self.model.body(w.body).id for w in rolling])
        self.wheel_joint = np.array([self.model.joint(w.joint).id for w in rolling])
        #: where tracks stand, in their body's frame [m], [n, 3]; NaN for wheels
        self._stands = np.array([_standing_point(w) for w in rolling])
        self._address = {name: int(self.model.joint(name).qposadr[0]) for name in self.joints}
        self.sign = np.ones(len(rolling))
        forward = np.cross(self.frames().axle, [0.0, 0.0, 1.0])[:, 0]
        self.sign = np.where(forward < -1e-9, -1.0, 1.0)

    def frames(self, joints: Mapping[str, float] | None = None) -> WheelFrames:
        """The wheels in the base frame at joint angles [rad] by name; those not named are zero."""
        self.set_joints(joints or {})
        mujoco.mj_kinematics(self.model, self.data)
        p_WB = self.data.xpos[self.base]
        R_WB = self.data.xmat[self.base].reshape(3, 3)
        turn = self.data.xmat[self.wheel_body].reshape(-1, 3, 3)
        on_track = self.data.xpos[self.wheel_body] + np.einsum("nij,nj->ni", turn, self._stands)
        centre = np.where(np.isnan(self._stands), self.data.xanchor[self.wheel_joint], on_track)
        centre = (centre - p_WB) @ R_WB
        axle = (self.data.xaxis[self.wheel_joint] @ R_WB) * self.sign[:, None]
        carrier = R_WB.T @ turn
        return WheelFrames(centre, axle, carrier)

    def set_joints(self, joints: Mapping[str, float]) -> None:
        """Put the model at joint angles by name, the base at its place in the model."""
        self.data.qpos[:] = self.model.qpos0
        for name, angle in joints.items():
            if name not in self._address:
                raise InputError(
                    f"joints: {self.robot.name} has no joint '{name}'; "
                    f"{suggest(name, self._address)}"
                )
            self.data.qpos[self._address[name]] = angle
        for joint in self.wheel_joint:
            address = self.model.jnt_qposadr[joint]
            self.data.qpos[address] = self.model.qpos0[address]

    def steering_of(self, wheel: int) -> int | None:
        """The id of the joint of role `steering` that carries a wheel, or none."""
        steering = {self.model.joint(name).id for name in self.robot.roles.get("steering", ())}
        body = int(self.wheel_body[wheel])
        while body not in (0, self.base):
            first, count = self.model.body_jntadr[body], self.model.body_jntnum[body]
            for joint in range(first, first + count):
                if joint in steering:
                    return joint
            body = int(self.model.body_parentid[body])
        return None

    @property
    def half_width(self) -> float:
        """How far wheels and tracks reach to a side of the base with all joints at zero [m]."""
        return float(np.max(np.abs(self.frames().centre[:, 1]) + self.width / 2))

    def _base_body(self) -> int:
        if self.robot.base is not None:
            return int(self.model.body(self.robot.base).id)
        free = np.flatnonzero(self.model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
        return int(self.model.jnt_bodyid[free[0]]) if free.size else 1


def half_width_of(robot: Robot | str) -> float:
    """How far the wheels and tracks of a robot reach to a side [m]; 0 where it has none."""
    robot = load_robot(robot) if isinstance(robot, str) else robot
    if not (robot.wheels or robot.tracks):
        return 0.0
    return RoverKinematics(robot, with_tracks=True).half_width


def _rolling_radius(rolling: Wheel | Track, grousers: bool) -> float:
    """Way per radian of the joint [m]."""
    if isinstance(rolling, Track):
        return rolling.pitch_radius
    return rolling.largest_radius + (rolling.lug_height if grousers else 0.0)


def _standing_point(rolling: Wheel | Track) -> tuple[float, float, float]:
    """The centre of the wheel that a track counts as, in its body's frame [m]; NaN for a wheel."""
    if isinstance(rolling, Wheel):
        return np.nan, np.nan, np.nan
    low = min(r.z - r.radius for r in rolling.rollers) - rolling.thickness
    ends = [r.x for r in rolling.rollers if r.z - r.radius - rolling.thickness < low + 1e-3]
    return (min(ends) + max(ends)) / 2, rolling.y, low + rolling.pitch_radius
