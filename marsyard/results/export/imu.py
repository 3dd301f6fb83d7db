"""Readings of an inertial measurement unit at the base.

An accelerometer feels all forces but gravity: the specific force, in its own frame,

    f_B = R_BW (a_W − g_W)   [m/s²],   g_W = (0, 0, −g)

so that a rover at rest on level ground reads +g along z, and one in free fall 0. Sensors sum it up
over the time between two readings. Here it is the mean over the record interval that ends at the
reading, from the recorded velocities,

    f_B(t_k) = R_BW(t_k − Δ/2) ((v_W(t_k) − v_W(t_k−1))/Δ − g_W),   Δ = t_k − t_k−1

with the attitude half-way between the two records. The sum of the readings thus gives the change of
velocity, impacts included, and the error against the mean in the interval is of second order in Δ.
The first reading repeats the second: nothing lies before it.

Angular rate and attitude are those at the time of the reading.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from marsyard.rotations import rotate_back


def specific_force(ds: xr.Dataset, gravity: np.ndarray) -> np.ndarray:
    """The specific force at the base frame's origin [m/s²], base frame, shape [time, 3].

    `gravity` is the vector g_W [m/s²].
    """
    time = ds["time"].values.astype(float)
    velocity = ds["velocity_base"].transpose("time", "axis").values
    turn = ds["quaternion_base"].transpose("time", "quat").values
    if len(time) < 2:
        return rotate_back(turn, np.broadcast_to(-gravity, velocity.shape))
    interval = np.maximum(np.diff(time), 1e-12)[:, None]
    acceleration = np.diff(velocity, axis=0) / interval
    force = rotate_back(_half_way(turn[:-1], turn[1:]), acceleration - gravity)
    return np.concatenate([force[:1], force])


def _half_way(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The attitudes half-way between two, quaternions w x y z, [n, 4]."""
    sign = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -1.0, 1.0)
    middle = a + sign * b
    return middle / np.linalg.norm(middle, axis=-1, keepdims=True)
