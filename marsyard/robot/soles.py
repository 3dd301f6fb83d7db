"""The point of a foot used by gaits, margins and records.

`point` of a foot in robot.yaml says it, in the frame of the foot's body. Without it the lowest of
the body's colliding geoms is looked at, in the reference pose (all joints zero):

    ball                         its middle
    capsule that stands          the middle of the ball at its lower end
    cylinder or box, long and    the middle of its lower end (long: twice as long as thick)
    standing
    any other                    its middle

A geom stands if its long axis leans by less than 60°. Where several are equally low (within 1 mm),
the mean of their points is taken. A foot that is one ball there rolls on hard ground; its `radius`
is the ball's, of all others 0 [m].
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.robot import extent
from marsyard.robot.contact_bodies import Foot
from marsyard.rotations import matrix_of

_SAME = 1e-3  # heights nearer than this are the same [m]
_STANDS = 0.5  # cosine of the lean
_KINDS = mujoco.mjtGeom


class Sole(NamedTuple):
    """Point of a foot in its body's frame [m], and radius of the ball there, else 0 [m]."""

    point: np.ndarray
    radius: float


def sole(model: mujoco.MjModel, foot: Foot, robot: str) -> Sole:
    """Where a foot of a compiled robot touches; `robot` is its name, for error sentences."""
    geoms = _colliding(model, foot.body, robot)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    if foot.point is not None:
        return _at(model, data, geoms, np.array(foot.point))
    heights = np.array([extent.lowest(model, data, [g]) for g in geoms])
    low = [g for g, z in zip(geoms, heights, strict=True) if z < heights.min() + _SAME]
    ends = [_end(model, data, g) for g in low]
    if len(ends) == 1:
        return ends[0]
    return Sole(np.mean([e.point for e in ends], axis=0), 0.0)


def _colliding(model: mujoco.MjModel, body: str, robot: str) -> list[int]:
    b = model.body(body).id
    hits = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    own = [int(g) for g in np.flatnonzero((model.geom_bodyid == b) & hits)]
    if not own:
        raise InputError(f"feet: body '{body}' of {robot} has no geom that collides; give it one")
    return own


def _at(model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int], point: np.ndarray) -> Sole:
    """The point that was given, with the ball it is the middle of."""
    for g in geoms:
        end = _end(model, data, g)
        if np.linalg.norm(end.point - point) < 0.1 * end.radius:
            return Sole(point, end.radius)
    return Sole(point, 0.0)


def _end(model: mujoco.MjModel, data: mujoco.MjData, g: int) -> Sole:
    """The lower end of a geom."""
    kind, size = int(model.geom_type[g]), np.array(model.geom_size[g])
    middle = np.array(model.geom_pos[g])
    axes = matrix_of(model.geom_quat[g])
    if kind == _KINDS.mjGEOM_SPHERE:
        return Sole(middle, float(size[0]))
    capsule = kind == _KINDS.mjGEOM_CAPSULE
    if capsule or kind == _KINDS.mjGEOM_CYLINDER:
        size = np.array([size[0], size[0], size[1]])
    elif kind == _KINDS.mjGEOM_MESH:
        # as the box around it along its principal axes
        corners = extent.vertices(model, g)
        low, high = corners.min(axis=0), corners.max(axis=0)
        middle, size = middle + axes @ (low + high) / 2, (high - low) / 2
    elif kind != _KINDS.mjGEOM_BOX:
        return Sole(middle, 0.0)
    axis = 2 if capsule else int(np.argmax(size))
    up = float(data.geom_xmat[g].reshape(3, 3)[2, axis])
    is_long = capsule or size[axis] > 2 * np.delete(size, axis).max()
    if not is_long or abs(up) < _STANDS:
        return Sole(middle, 0.0)
    along = axes[:, axis] * (-size[axis] if up > 0 else size[axis])
    return Sole(middle + along, float(size[0]) if capsule else 0.0)
