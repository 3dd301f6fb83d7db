"""Quantities compared with limits, over the records of a run.

| limit | value at a record |
| --- | --- |
| tilt | angle between the base's z axis and the vertical [rad] |
| slip | largest abs of a wheel's ⟨rω − v⟩/⟨max(abs rω, abs v)⟩, smoothed over 1 s, 0 below 5 mm/s |
| sinkage | of the deepest wheel below the undisturbed soil [m] |
| clearance | of the belly above the undisturbed ground [m] (`clearance`), every 0.2 s |
| torque | largest of the wheels' joints, without sign [N·m] |
| current | largest of the motors, without sign [A] |
| temperature | rise of the warmest winding [K] (`winding`) |
| energy | of the motors since the start [J]: electrical where motors have a model, else work done |
| deviation | distance of the base's origin on the map from the path [m] |
| time | since the start [s] |
| keep_out | distance of the footprint from the zone [m] (`zones`) |

Slip is smoothed as the conditions of sequences are (`simulation.drive_watch`), so that starts and
stops do not count.

On soil the set-down before the run leaves stresses between the wheels: it is done with the wheels
held, the frame gives, and the soil under each wheel is sheared one way or the other. They are in
balance with each other, stay while the rover stands, and are several times the torque of driving.
A rover that came to its place by its own wheels has none. They fade as a wheel rolls off the soil
that was sheared. So the torque of a wheel, and the current of its motor, count once it has rolled
by its diameter, |Δφ| ≥ 2; until then the mean over all wheels, with signs, stands for it: what the
rover needs as a whole. Energy is not changed.

The path of a command is what it followed in the nominal run (given, planned, or
laid out from where the rover stood then); of one that follows none, where the rover was meanwhile
in the nominal run. A record belongs to the command that began last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from marsyard.operations.validation.clearance import belly_points, clearance, ground_height
from marsyard.operations.validation.limits import Limit, wheel_motors
from marsyard.operations.validation.winding import Winding, temperature_rise
from marsyard.operations.validation.zones import Zone, footprints
from marsyard.rotations import z_axes
from marsyard.simulation.drive_watch import SLIP_TIME, STANDING

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.simulation import Simulation

#: between poses at which the clearance is measured [s]
_SELDOM = 0.2
#: angle by which a wheel has rolled its diameter [rad]
_ROLLED_OFF = 2.0

Lines = Mapping[int, np.ndarray]


def quantities(
    simulation: Simulation, ds: xr.Dataset, limits: Sequence[Limit], winding: Winding, lines: Lines
) -> dict[str, np.ndarray]:
    """The value of every limit at the records, [time]; `lines`: the paths by command."""
    out = {}
    for limit in limits:
        if limit.zone is not None:
            out[limit.name] = _zone(ds, limit.zone)
        elif limit.name == "clearance":
            out[limit.name] = _clearance(simulation, ds)
        elif limit.name == "slip":
            out[limit.name] = _slip(simulation)
        elif limit.name == "temperature":
            out[limit.name] = _temperature(simulation, ds, winding)
        elif limit.name == "torque":
            out[limit.name] = _torque(simulation, ds)
        elif limit.name == "current":
            out[limit.name] = np.abs(_currents(simulation, ds)).max(axis=1)
        elif limit.name == "deviation":
            out[limit.name] = _deviation(ds, lines)
        else:
            out[limit.name] = _PLAIN[limit.name](ds)
    return out


def tilt(ds: xr.Dataset) -> np.ndarray:
    """Of the base against the vertical [rad], [time]."""
    _, x, y, _ = ds.quaternion_base.values.T
    return np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1))


def _energy(ds: xr.Dataset) -> np.ndarray:
    if "energy_electrical" in ds:
        return ds.energy_electrical.values
    power = np.maximum(ds.motor_power.values, 0.0).sum(axis=1)
    step = np.diff(ds.time.values)
    return np.concatenate([[0.0], np.cumsum(step * (power[1:] + power[:-1]) / 2)])


_PLAIN = {
    "tilt": tilt,
    "sinkage": lambda ds: ds.sinkage.values.max(axis=1),
    "energy": _energy,
    "time": lambda ds: ds.time.values.astype(float),
}


def _torque(simulation: Simulation, ds: xr.Dataset) -> np.ndarray:
    joints = [w.joint for w in simulation.world.robot.wheels.values()]
    torque = ds.motor_torque.sel(joint=joints).values
    if simulation.world.soil is not None:
        torque = without_set_down(torque, ds.wheel_angle.values)
    return np.abs(torque).max(axis=1)


def _currents(simulation: Simulation, ds: xr.Dataset) -> np.ndarray:
    """Of the motors [A], [time, motor]."""
    current = ds.motor_current.values
    joints = [w.joint for w in simulation.world.robot.wheels.values()]
    motors = [str(name) for name in ds.motor.values]
    driven = [k for k, joint in enumerate(joints) if joint in motors]
    if simulation.world.soil is None or not driven:
        return current
    current = current.copy()
    columns = [motors.index(joints[k]) for k in driven]
    angle = ds.wheel_angle.values[:, driven]
    current[:, columns] = without_set_down(current[:, columns], angle)
    return current


def without_set_down(values: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Values of wheels without what the set-down left between them, by their angles [rad]; both
    [time, wheel]."""
    rolled = np.maximum.accumulate(np.abs(angle - angle[0]), axis=0) >= _ROLLED_OFF
    return np.where(rolled, values, values.mean(axis=1, keepdims=True))


def _temperature(simulation: Simulation, ds: xr.Dataset, winding: Winding) -> np.ndarray:
    motors = wheel_motors(simulation)
    resistance = np.array([motors[str(name)].resistance for name in ds.motor.values])
    return temperature_rise(
        ds.time.values, _currents(simulation, ds), resistance, winding
    ).max(axis=1)  # fmt: skip


def _slip(simulation: Simulation) -> np.ndarray:
    """Largest smoothed slip ratio of a wheel, without sign."""
    r = simulation.records
    up = z_axes(r.base_quaternion)
    # along the wheel's heading, in a plane that is tilted as the rover is
    forward = np.cross(r.wheel_axis, up[:, None])
    forward /= np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-9)
    along = np.sum(r.wheel_velocity * forward, axis=-1)
    rim = r.velocities[:, simulation.wheels.dof] * simulation.slip_radius
    return smoothed_slip(r.time, rim, along).max(axis=1)


def smoothed_slip(time: np.ndarray, rim: np.ndarray, along: np.ndarray) -> np.ndarray:
    """|⟨rω − v⟩/⟨max(|rω|, |v|)⟩| of speeds at rim and centre [m/s], [time, wheel]."""
    apart, speed = np.zeros_like(rim), np.zeros_like(rim)
    larger = np.maximum(np.abs(rim), np.abs(along))
    for k in range(1, len(time)):
        share = 1 - np.exp(-(time[k] - time[k - 1]) / SLIP_TIME)
        apart[k] = apart[k - 1] + share * (rim[k] - along[k] - apart[k - 1])
        speed[k] = speed[k - 1] + share * (larger[k] - speed[k - 1])
    return np.where(speed > STANDING, np.abs(apart) / np.maximum(speed, STANDING), 0.0)


def _clearance(simulation: Simulation, ds: xr.Dataset) -> np.ndarray:
    place = ds.position_base.values
    points = belly_points(simulation.model, simulation.world.robot)
    reach = float(np.linalg.norm(points, axis=1).max())
    x, y = place[np.isfinite(place).all(axis=1), :2].T
    box = (x.min() - reach, x.max() + reach, y.min() - reach, y.max() + reach)
    height = ground_height(simulation, box)
    # rovers creep: every fifth of a second is enough
    every = max(1, round(_SELDOM / max(float(np.median(np.diff(ds.time.values, prepend=0))), 1e-9)))
    at = np.arange(len(place)) // every * every
    found = clearance(points, place[::every], ds.quaternion_base.values[::every], height)
    return found[at // every]


def _zone(ds: xr.Dataset, zone: Zone) -> np.ndarray:
    base = ds.position_base.values[:, :2]
    if "wheel_position" not in ds:
        return zone.distance(footprints(base, base[:, None]))
    across = ds.wheel_radius.values + ds.grouser_height.values
    reach = float(np.max(np.hypot(across, ds.wheel_width.values / 2)))
    return zone.distance(footprints(base, ds.wheel_position.values[..., :2]), reach)


# --- paths


def command_numbers(ds: xr.Dataset) -> np.ndarray:
    """The command that each record belongs to, [time]."""
    began = ds.command_began.values
    began = began[np.isfinite(began)]
    return np.clip(np.searchsorted(began, ds.time.values + 1e-9, side="right") - 1, 0, None)


def reference_lines(ds: xr.Dataset) -> dict[int, np.ndarray]:
    """The paths of a nominal run by command, each [point, 2] [m]."""
    number, place = command_numbers(ds), ds.position_base.values[:, :2]
    lines = {int(k): place[number == k] for k in np.unique(number)}
    if "path" in ds:
        points, of = ds.path.values, ds.path_command.values
        lines |= {int(k): points[of == k] for k in np.unique(of)}
    return lines


def _deviation(ds: xr.Dataset, lines: Lines) -> np.ndarray:
    number, place = command_numbers(ds), ds.position_base.values[:, :2]
    out = np.zeros(len(place))
    for k in np.unique(number):
        if int(k) in lines:
            out[number == k] = line_distance(place[number == k], lines[int(k)])
    return out


def line_distance(points: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Distance of points [n, 2] from a line of straight pieces [m, 2] [m], [n]."""
    if len(line) == 1:
        return np.linalg.norm(points - line[0], axis=1)
    start, segment = line[:-1], np.diff(line, axis=0)
    size = np.maximum(np.sum(segment**2, axis=1), 1e-300)
    out = np.empty(len(points))
    # a few points at a time bound the memory
    for k in range(0, len(points), 64):
        off = points[k : k + 64, None] - start
        share = np.clip(np.sum(off * segment, axis=2) / size, 0, 1)
        left = off - share[..., None] * segment
        out[k : k + 64] = np.sqrt(np.sum(left**2, axis=2).min(axis=1))
    return out
