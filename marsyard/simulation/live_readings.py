"""What a simulation reads at present, by name: pose, slip and sinkage.

Of the moment, in SI, without a record; a few tens of microseconds each. Wheels are named, in the
order of the robot's; so is `sim.dataset()`, whose last record has the same numbers at its time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.simulation.port_states import look, twist_of
from marsyard.simulation.recorder import wheel_sinkage, wheel_slip

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation


class Pose(NamedTuple):
    """Place and attitude of a frame in the world: x, y, z [m], roll, pitch, yaw [rad]."""

    x: float
    y: float
    z: float
    roll: float
    pitch: float
    yaw: float

    @property
    def position(self) -> np.ndarray:
        """x, y, z [m], shape [3]."""
        return np.array(self[:3])

    def __repr__(self) -> str:
        angles = ", ".join(
            f"{name}={math.degrees(value):.2f}°"
            for name, value in zip(("roll", "pitch", "yaw"), self[3:], strict=True)
        )
        return f"Pose(x={self.x:.4g} m, y={self.y:.4g} m, z={self.z:.4g} m, {angles})"


class WheelsNow(NamedTuple):
    """The wheels now, as records have them, with a first index of one time."""

    base_quaternion: np.ndarray
    velocities: np.ndarray
    wheel_centre: np.ndarray
    wheel_axis: np.ndarray
    wheel_velocity: np.ndarray


def attitude_now(q: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of a quaternion w, x, y, z."""
    w, x, y, z = (float(v) for v in q)
    return (
        math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x)))),
        math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
    )


def wheels_now(s: Simulation) -> WheelsNow:
    """The wheels, after `look`."""
    d, bodies = s.data, s.wheels.body
    velocity = [twist_of(s, int(b))[:3] for b in bodies]
    return WheelsNow(
        d.xquat[s.facts.base][None], d.qvel[None], d.xpos[bodies][None],
        d.xaxis[s.wheels.joint][None], np.array(velocity)[None],
    )  # fmt: skip


def slip_now(s: Simulation, now: WheelsNow) -> tuple[np.ndarray, np.ndarray]:
    """Slip ratio [1] and slip angle [rad] of the wheels, shape [wheel]."""
    slip, angle = wheel_slip(s, now)
    return slip[0], angle[0]


def sinkage_now(s: Simulation, now: WheelsNow) -> np.ndarray:
    """Depth of the wheels below the undisturbed surface [m], shape [wheel]; on soil only."""
    assert s.world.soil is not None
    return wheel_sinkage(s, now, s.world.soil.touching(len(s.wheels.body)))[0]


# --- by name


def pose(s: Simulation) -> Pose:
    """The base frame."""
    look(s)
    base = s.facts.base
    x, y, z = (float(v) for v in s.data.xpos[base])
    return Pose(x, y, z, *attitude_now(s.data.xquat[base]))


def slip(s: Simulation) -> dict[str, float]:
    """Slip ratio by wheel."""
    return _by_wheel(s, _slips(s)[0])


def slip_angle(s: Simulation) -> dict[str, float]:
    """Slip angle by wheel [rad]."""
    return _by_wheel(s, _slips(s)[1])


def sinkage(s: Simulation) -> dict[str, float]:
    """Sinkage by wheel [m]; InputError where there is no soil."""
    if s.world.soil is None:
        raise InputError(
            "sinkage: this ground is hard, nothing sinks in; soil is on ground of kind terrain"
        )
    if not len(s.wheels.body):
        return {}
    look(s)
    return _by_wheel(s, sinkage_now(s, wheels_now(s)))


def _slips(s: Simulation) -> tuple[np.ndarray, np.ndarray]:
    if not len(s.wheels.body):
        return np.zeros(0), np.zeros(0)
    look(s)
    return slip_now(s, wheels_now(s))


def _by_wheel(s: Simulation, values: np.ndarray) -> dict[str, float]:
    return dict(zip(s.world.robot.wheels, map(float, values), strict=True))
