"""A recording of a rover as a data set like that of a run.

An MCAP file from a rover, or of a run that was exported (`results.export.bag`), becomes a data set
with the names of results: where the base was, what the joints did, and, with wrenches of the
wheels, what they felt. So it can be replayed, compared with a run, and used to identify soil.

The robot's model gives what was not measured. Pose and velocity of the base come from odometry,
else from transforms; joints from joint states, by name. Forward kinematics then has the centre,
axle and velocity of each wheel, and with them its slips (`wheels`). Its heading is the base's x
made perpendicular to the axle, its radius that to the tips of the grousers; a wheel whose joint is
not recorded has NaN.

A wrench is turned into the world from its frame (a link, a frame fixed to one by /tf_static, or the
world); its vertical part is the wheel's load, the part along the level heading the level drawbar
pull, the one to the left the level side force. The torque is that about the axle, else the effort
of the wheel's joint.

Records lie at the times of the joint states. Other messages are interpolated to them: places and
numbers linearly, attitudes along the shorter arc.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import xarray as xr

from marsyard.errors import InputError, few, suggest
from marsyard.files import parse_json
from marsyard.results.bags.curves import continuous, interpolated
from marsyard.results.bags.reading import Topics, cloud_points, open_bag, stamp
from marsyard.results.bags.wheels import kinematics, slips
from marsyard.results.export.messages import topic_names
from marsyard.results.export.urdf import ROOT, base_of, body_name, floats
from marsyard.robot import Robot, Wheel, load_robot
from marsyard.rotations import product, rotate, rotate_back

#: frames that stand for the world
WORLDS = ("map", "odom", "world")
#: joints with one coordinate
_SINGLE = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))


def read_bag(
    path: str | Path, robot: str | Robot | None = None, topics: Topics | None = None
) -> xr.Dataset:
    """A recording as a data set like that of a run; see the module docstring.

    `robot` is one of the library, or a file; files that marsyard exported know theirs.
    """
    return Recording(path, robot, topics or Topics()).dataset()


class Recording:
    """A recording with its robot."""

    def __init__(
        self, path: str | Path, robot: str | Robot | None = None, topics: Topics | None = None
    ) -> None:
        self.topics = topics or Topics()
        self.bag = open_bag(path, astuple(self.topics))
        self.model, self.wheels, self.base = self._robot(robot)
        self.parts = topic_names(self.wheels)
        self.notes: list[str] = []

    def _robot(self, given: str | Robot | None) -> tuple[mujoco.MjModel, dict[str, Any], int]:
        about = self.bag.about
        own = given is None and "robot" in about
        said = about["robot"] if own else given
        if said is None:
            raise InputError(
                f"{self.bag.path.name}: name its robot with --robot NAME (see `marsyard "
                "list rovers`), or a robot's file"
            )
        try:
            robot = load_robot(said) if isinstance(said, str) else said
        except InputError:
            if own and not Path(str(said)).exists():
                raise InputError(
                    f"{self.bag.path.name}: its robot '{said}' cannot be found here; give its "
                    f"location with --robot"
                ) from None
            raise
        model = robot.compile()
        wheels = {name: _sizes(wheel) for name, wheel in robot.wheels.items()}
        if own and "wheels" in about:
            # a scenario may have changed their sizes
            said = parse_json(about["wheels"], f"'{self.bag.path}': metadata")
            if not _are_sizes(said, wheels):
                raise InputError(f"'{self.bag.path}': its metadata contains sizes of other wheels")
            wheels = {n: {**wheels[n], **w} for n, w in said.items()}
        return model, wheels, base_of(model, robot.base)

    # --- motion

    def dataset(self) -> xr.Dataset:
        """The whole recording as a data set."""
        joints = self._joints()
        poses = self._base_poses()
        known = [t for t, _, _, _ in joints.values()] or [poses[0]]
        time = max(known, key=len)
        ds = self._motion(time, joints, poses)
        if self.wheels:
            self._add_wheels(ds, time)
        first = float(time[0])
        ds = ds.assign_coords(time=("time", time - first, {"units": "s", "long_name": "time"}))
        ds.attrs |= {"start": first, "notes": json.dumps(self.notes)}
        return ds

    def _joints(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Times [s], positions, rates and efforts of each joint that the model has."""
        found: dict[str, list[tuple[float, float, float, float]]] = {}
        messages = self.bag.all(self.topics.joint_states, "sensor_msgs/JointState")
        for time, message in messages:
            for k, name in enumerate(message.name):
                row = (_at(message.position, k), _at(message.velocity, k), _at(message.effort, k))
                found.setdefault(name, []).append((time, *row))
        own = [self.model.joint(j).name for j in range(self.model.njnt)]
        mine = {n: np.array(rows, dtype=float) for n, rows in found.items() if n in own}
        if found and not mine:
            raise InputError(
                f"{self.bag.path.name}: no joint of {self.topics.joint_states} belongs to the "
                f"robot; the topic has {few(sorted(found))}, the robot {few(own)}"
            )
        out: dict[str, tuple[np.ndarray, ...]] = {}
        for name, table in mine.items():
            table = table[np.unique(table[:, 0], return_index=True)[1]]
            at, angle, rate, effort = table.T
            if np.isnan(rate).all() and len(at) > 1:
                rate = np.gradient(angle, at)
            out[name] = at, angle, rate, effort
        return out

    def _base_poses(self) -> tuple[np.ndarray, ...]:
        """Times [s], places [m], quaternions, velocities (world) and rates (base) of the base."""
        rows: list[tuple[float, ...]] = []
        for when, m in self.bag.all(self.topics.odom, "nav_msgs/Odometry"):
            pose, twist = m.pose.pose, m.twist.twist
            rows.append((when, *_xyz(pose.position), *_wxyz(pose.orientation), *_xyz(twist.linear),
                         *_xyz(twist.angular)))  # fmt: skip
        if not rows:
            rows = self._from_transforms()
        table = np.array(rows, dtype=float)
        table = table[np.unique(table[:, 0], return_index=True)[1]]
        time, place, turn = table[:, 0], table[:, 1:4], continuous(table[:, 4:8])
        if self._has_velocities(table):
            return time, place, turn, rotate(turn, table[:, 8:11]), table[:, 11:14]
        if len(time) < 2:
            return time, place, turn, np.zeros((len(time), 3)), np.zeros((len(time), 3))
        # 2 q* dq/dt is the angular velocity in the turned frame
        change = np.gradient(turn, time, axis=0)
        w, u = turn[:, :1], turn[:, 1:]
        spin = 2.0 * (w * change[:, 1:] - change[:, :1] * u - np.cross(u, change[:, 1:]))
        return time, place, turn, np.gradient(place, time, axis=0), spin

    def _has_velocities(self, table: np.ndarray) -> bool:
        """Whether rows of poses have velocities, too; some odometry leaves them 0."""
        if table.shape[1] <= 8:
            return False
        left_out = not np.any(table[:, 8:14]) and bool(np.ptp(table[:, 1:4], axis=0).any())
        if left_out:
            self.notes.append(
                f"{self.topics.odom} has no velocities; they are derived from its poses"
            )
        return not left_out

    def _from_transforms(self) -> list[tuple[float, ...]]:
        """Poses of the base that /tf gives straight from the world."""
        names = (ROOT, body_name(self.model, self.base))
        rows = self._transforms(names)
        if not rows:
            others = [t for t, kind in self.bag.topics.items() if kind == "nav_msgs/Odometry"]
            raise InputError(
                f"{self.bag.path.name}: the robot's position is unknown: there is neither "
                f"odometry on "
                f"{self.topics.odom} nor a transform from {', '.join(WORLDS)} to {names[0]}; "
                f"--topic odom=TOPIC names another of nav_msgs/Odometry; "
                f"{suggest(self.topics.odom, others)}"
            )
        return rows

    def _transforms(self, names: tuple[str, ...]) -> list[tuple[float, ...]]:
        """Times [s], places [m] and quaternions of frames in the world, as /tf gives them."""
        return [
            (stamp(t) or time, *_xyz(t.transform.translation), *_wxyz(t.transform.rotation))
            for time, message in self.bag.all(self.topics.tf, "tf2_msgs/TFMessage")
            for t in message.transforms
            if t.child_frame_id in names and t.header.frame_id in WORLDS
        ]

    def _place_others(self, time: np.ndarray, tree: int) -> None:
        """Bodies that float beside the robot, where /tf tells of them."""
        for body in range(1, self.model.nbody):
            if body == tree or not floats(self.model, body):
                continue
            table = np.array(self._transforms((body_name(self.model, body),)), dtype=float)
            if len(table):
                q, _ = self._first(body)
                table[:, 4:8] = continuous(table[:, 4:8])
                self.q[:, q : q + 7] = interpolated(time, table[:, 0], table[:, 1:8])

    def _motion(
        self, time: np.ndarray, joints: Mapping[str, Any], poses: tuple[np.ndarray, ...]
    ) -> xr.Dataset:
        model = self.model
        place, velocity, spin = (interpolated(time, poses[0], poses[k]) for k in (1, 3, 4))
        turn = interpolated(time, poses[0], poses[2])
        turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        self.q = np.tile(model.qpos0, (len(time), 1))
        self.v = np.zeros((len(time), model.nv))
        tree = int(model.body_rootid[self.base])
        if floats(model, tree) and tree == self.base:
            q, v = self._first(tree)
            self.q[:, q : q + 7] = np.concatenate([place, turn], axis=1)
            self.v[:, v : v + 6] = np.concatenate([velocity, spin], axis=1)
        self._place_others(time, tree)
        single = [j for j in range(model.njnt) if int(model.jnt_type[j]) in _SINGLE]
        names = [model.joint(j).name for j in single]
        at_q, at_v = (a[single].tolist() for a in (model.jnt_qposadr, model.jnt_dofadr))
        effort = self._place_joints(time, joints, list(zip(names, at_q, at_v, strict=True)))
        rows: list[tuple[str, str, Any, str, str]] = [
            ("position_base", "axis", place, "m", "position of the base frame"),
            ("quaternion_base", "quat", turn, "1", "attitude of the base frame"),
            ("velocity_base", "axis", velocity, "m/s", "velocity of the base frame"),
            ("angular_velocity_base", "axis", spin, "rad/s", "angular velocity (base frame)"),
            ("joint_angle", "joint", self.q[:, at_q], "rad", "joint angle"),
            ("joint_rate", "joint", self.v[:, at_v], "rad/s", "joint rate"),
            ("motor_torque", "joint", effort, "N·m", "motor torque"),
            ("coordinates", "q", self.q, "", "generalised positions"),
        ]
        ds = xr.Dataset(
            {n: (("time", d), v, {"units": u, "long_name": t}) for n, d, v, u, t in rows},
            coords={"axis": list("xyz"), "quat": list("wxyz"), "joint": names},
        )
        title = self.bag.about.get("title") or self.bag.path.name
        ds.attrs = {"title": title, "scenario": self.bag.about.get("scenario", "")}
        return ds

    def _place_joints(
        self, time: np.ndarray, joints: Mapping[str, Any], places: list[tuple[str, int, int]]
    ) -> np.ndarray:
        """Put the joints where they were, by name and places of coordinate and rate; their
        efforts [N·m or N], [time, joint], NaN for joints that are not in the file."""
        self.missing = [name for name, _, _ in places if name not in joints]
        if self.missing:
            self.notes.append(
                f"joints missing in the file, kept at the model's values: {few(self.missing)}"
            )
        effort = np.full((len(time), len(places)), np.nan)
        for k, (name, q, v) in enumerate(places):
            if name in joints:
                at, *values = joints[name]
                self.q[:, q], self.v[:, v] = (np.interp(time, at, x) for x in values[:2])
                effort[:, k] = np.interp(time, at, values[2])
        return effort

    def _first(self, body: int) -> tuple[int, int]:
        joint = int(self.model.body_jntadr[body])
        return int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])

    # --- wheels

    def _add_wheels(self, ds: xr.Dataset, time: np.ndarray) -> None:
        names = list(self.wheels)
        wheels = self.wheels.values()
        centre, axle, velocity, poses = kinematics(self.model, wheels, self.q, self.v)
        ahead = rotate(ds["quaternion_base"].values, np.array([[1.0, 0.0, 0.0]]))[:, None]
        heading = ahead - np.sum(ahead * axle, axis=-1, keepdims=True) * axle
        heading /= np.maximum(np.linalg.norm(heading, axis=-1, keepdims=True), 1e-9)
        along, across = (np.sum(velocity * direction, axis=-1) for direction in (heading, axle))
        radius = np.array([w["radius"] + w.get("lug_height", 0.0) for w in wheels])
        dofs = [int(self.model.jnt_dofadr[self.model.joint(w["joint"]).id]) for w in wheels]
        rate = self.v[:, dofs]
        rate[:, [w["joint"] in self.missing for w in wheels]] = np.nan
        slip, angle = slips(rate * radius, along, across)
        ds.coords["wheel"] = names

        def add(name: str, values: np.ndarray, units: str, *dims: str) -> None:
            ds[name] = (("time", "wheel", *dims), values, {"units": units})

        add("wheel_position", centre, "m", "axis")
        add("wheel_rate", rate, "rad/s")
        add("slip_ratio", slip, "1")
        add("slip_angle", angle, "rad")
        for key, name in (("radius", "wheel_radius"), ("width", "wheel_width"),
                          ("lug_height", "grouser_height")):  # fmt: skip
            sizes = [w.get(key, 0.0) for w in wheels]
            ds[name] = ("wheel", sizes, {"units": "m"})
        self._add_forces(ds, time, axle, poses, add)
        depth = [
            self._numbers(self.topics.sinkage.format(wheel=self.parts[n]), time) for n in names
        ]
        if any(d is not None for d in depth):
            unknown = np.full(len(time), np.nan)
            add("sinkage", np.stack([unknown if d is None else d for d in depth], axis=1), "m")

    def _add_forces(
        self, ds: xr.Dataset, time: np.ndarray, axle: np.ndarray, poses: np.ndarray, add: Any
    ) -> None:
        """Load, pull, side force and torque of the wheels that have a wrench."""
        names = list(self.wheels)
        force, moment = (np.full((len(time), len(names), 3), np.nan) for _ in range(2))
        for w, name in enumerate(names):
            topic = self.topics.wrench.format(wheel=self.parts[name])
            rows = self.bag.all(topic, "geometry_msgs/WrenchStamped")
            if rows:
                at = np.array([t for t, _ in rows])
                table = [[*_xyz(m.wrench.force), *_xyz(m.wrench.torque)] for _, m in rows]
                values = interpolated(time, at, np.array(table, dtype=float))
                turn = self._turn(rows[0][1].header.frame_id, poses, topic)
                force[:, w] = rotate(turn, values[:, :3])
                # of the moment only what is about the axle may be known
                in_frame = rotate_back(turn, axle[:, w])
                parts = np.where(np.abs(in_frame) > 1e-9, values[:, 3:] * in_frame, 0.0)
                moment[:, w, 0] = parts.sum(axis=1)
        if np.isnan(force).all():
            return
        level = np.stack([axle[..., 1], -axle[..., 0], np.zeros(axle.shape[:-1])], axis=-1)
        level /= np.maximum(np.linalg.norm(level, axis=-1, keepdims=True), 1e-9)
        left = np.stack([-level[..., 1], level[..., 0], np.zeros(axle.shape[:-1])], axis=-1)
        add("wheel_force", force, "N", "axis")
        add("wheel_axle", axle, "1", "axis")
        add("wheel_load", force[..., 2], "N")
        add("drawbar_pull_level", np.sum(force * level, axis=-1), "N")
        add("side_force_level", np.sum(force * left, axis=-1), "N")
        joints = [w["joint"] for w in self.wheels.values()]
        effort = ds["motor_torque"].sel(joint=joints).values
        torque = -moment[..., 0]
        add("driving_torque", np.where(np.isfinite(torque), torque, effort), "N·m")

    def _turn(self, frame: str, poses: np.ndarray, topic: str) -> np.ndarray:
        """Attitude of a frame in the world over time, quaternions [time, 4]."""
        fixed = {
            t.child_frame_id: (t.header.frame_id, np.array(_wxyz(t.transform.rotation)))
            for _, message in self.bag.all(self.topics.tf_static, "tf2_msgs/TFMessage")
            for t in message.transforms
        }
        bodies = {body_name(self.model, b): b for b in range(1, self.model.nbody)}
        bodies.setdefault(ROOT, self.base)
        turn, at = np.array([1.0, 0.0, 0.0, 0.0]), frame
        for _ in range(len(fixed) + 1):
            if at in bodies:
                return product(poses[:, bodies[at], 3:], turn[None])
            if at in WORLDS or at == "":
                return np.broadcast_to(turn, (len(poses), 4))
            if at not in fixed:
                break
            at, own = fixed[at]
            turn = product(own[None], turn[None])[0]
        raise InputError(
            f"{self.bag.path.name}: {topic} is in the frame '{frame}', which is neither a link of "
            f"the robot nor fixed to one by {self.topics.tf_static}; {suggest(frame, bodies)}"
        )

    def _numbers(self, topic: str, time: np.ndarray) -> np.ndarray | None:
        rows = self.bag.all(topic, "std_msgs/Float64")
        if not rows:
            return None
        return np.interp(time, [t for t, _ in rows], [m.data for _, m in rows])

    # --- ground

    def terrain(self) -> np.ndarray | None:
        """Points of the last cloud of the ground [m], [n, 3]; None without one."""
        found = self.bag.all(self.topics.terrain, "sensor_msgs/PointCloud2")
        if not found:
            return None
        return cloud_points(found[-1][1])


# --- small things


def _sizes(wheel: Wheel) -> dict[str, Any]:
    return {
        "joint": wheel.joint, "body": wheel.body, "radius": wheel.largest_radius,
        "width": wheel.width, "lug_height": wheel.lug_height,
    }  # fmt: skip


def _are_sizes(said: Any, wheels: dict[str, Any]) -> bool:
    """Whether a recording tells finite sizes above 0 of these wheels."""
    if not isinstance(said, dict) or not set(said) <= set(wheels):
        return False
    for sizes in said.values():
        if not isinstance(sizes, dict):
            return False
        given = [sizes[k] for k in ("radius", "width", "lug_height") if k in sizes]
        if not all(isinstance(v, int | float) and 0 <= v < math.inf for v in given):
            return False
    return True


def _at(values: Any, k: int) -> float:
    return float(values[k]) if k < len(values) else np.nan


def _xyz(v: Any) -> tuple[float, float, float]:
    return v.x, v.y, v.z


def _wxyz(q: Any) -> tuple[float, float, float, float]:
    return q.w, q.x, q.y, q.z
