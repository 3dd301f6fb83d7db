"""Wheel kinematics of a recorded robot: centres, axles, velocities, and derived quantities.

    s = (r ω − v)/max(|r ω|, |v|)        β = atan2(v_left, |v|)

with r ω the speed of the rim, v the speed of the wheel's centre along its heading and v_left the
one along its axle [m/s]; both are 0 for a wheel at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mujoco
import numpy as np

#: below this speed a wheel is at rest [m/s]
_REST = 1e-4


def kinematics(
    model: mujoco.MjModel, wheels: Iterable[Mapping[str, Any]], q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Centres [m], axles and velocities [m/s] of the wheels, [time, wheel, 3], and the poses of all
    bodies, [time, body, 7], of coordinates [time, nq] and their rates [time, nv]."""
    data = mujoco.MjData(model)
    parts = [(model.body(w["body"]).id, model.joint(w["joint"]).id) for w in wheels]
    n, jac = len(q), np.zeros((3, model.nv))
    centre, axle, velocity = (np.empty((n, len(parts), 3)) for _ in range(3))
    poses = np.empty((n, model.nbody, 7))
    for k in range(n):
        data.qpos[:] = q[k]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        poses[k, :, :3], poses[k, :, 3:] = data.xpos, data.xquat
        for w, (body, joint) in enumerate(parts):
            centre[k, w], axle[k, w] = data.xpos[body], data.xaxis[joint]
            mujoco.mj_jac(model, data, jac, None, data.xpos[body], body)
            velocity[k, w] = jac @ v[k]
    return centre, axle, velocity, poses


def slips(rim: np.ndarray, along: np.ndarray, across: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slip ratio and slip angle [rad], of speeds [m/s]: r ω, v and v_left."""
    fastest = np.maximum(np.abs(rim), np.abs(along))
    rests = fastest <= _REST
    ratio = np.where(rests, 0.0, (rim - along) / np.where(rests, 1.0, fastest))
    beta = np.arctan2(across, np.abs(along))
    return ratio, np.where(np.hypot(along, across) > _REST, beta, 0.0)
