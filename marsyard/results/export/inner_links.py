"""Where the links between the joints of a body are, which URDF has and a model has not.

A body whose joints have anchors a_k, axes and values q_k above those of the reference pose stands,
in its parent, after joint k at

    T_k = T_{k−1} A(a_k) M(axis_k, q_k) A(−a_k),   T_0 the reference pose,

with A a shift and M the joint's motion. The frame of link k is T_{k−1} A(a_k) M(axis_k, q_k).
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.results.export.urdf import inner_link, turned
from marsyard.robot.poses import Pose

_BALL, _SLIDE = int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_SLIDE)


def inner_frames(
    model: mujoco.MjModel, body: int, coordinates: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Places [m], [n, 3], and quaternions, [n, 4], of the links before a body in the frame of its
    parent, by name; coordinates [n, nq]."""
    joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    named = {j: link for j in joints if (link := inner_link(model, j)) is not None}
    frames: dict[str, list[Pose]] = {link: [] for link in named.values()}
    for q in coordinates if named else ():
        place = Pose.of_quat(model.body_pos[body], model.body_quat[body])
        for joint in joints:
            anchor = model.jnt_pos[joint]
            place = place.then(Pose(anchor, np.eye(3))).then(_motion(model, joint, q))
            if joint in named:
                frames[named[joint]].append(place)
            place = place.then(Pose(-anchor, np.eye(3)))
    return {
        link: (np.array([p.place for p in poses]), np.array([p.quat() for p in poses]))
        for link, poses in frames.items()
    }


def _motion(model: mujoco.MjModel, joint: int, q: np.ndarray) -> Pose:
    at, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
    if kind == _BALL:
        return Pose.of_quat(np.zeros(3), q[at : at + 4])
    moved = float(q[at] - model.qpos0[at])
    if kind == _SLIDE:
        return Pose(moved * model.jnt_axis[joint], np.eye(3))
    return turned(model.jnt_axis[joint], moved)
