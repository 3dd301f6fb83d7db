"""From the loop's records to a labelled data set.

Dimensions: time, axis (x, y, z), quat (w, x, y, z), wheel, joint, dof, surface, tangent (forward,
left), component (normal, forward, left). Impulses and reactions are summed over the record interval
that ends at each time; everything else is the value at that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation


def dataset(simulation: Simulation) -> xr.Dataset:
    """Everything recorded so far."""
    s = simulation
    r = s.records
    world, run = s.world, s.scenario.run
    wheels = list(world.robot.wheels)
    joints = list(world.joints)
    ds = xr.Dataset(
        coords={
            "time": ("time", r.time, {"units": "s", "long_name": "time"}),
            "axis": ["x", "y", "z"],
            "quat": ["w", "x", "y", "z"],
            "wheel": wheels,
            "joint": joints,
            "dof": world.dof_names(),
            "surface": [surface.name for surface in world.surfaces],
            "tangent": ["forward", "left"],
            "component": ["normal", "forward", "left"],
        }
    )

    def add(name: str, dims: tuple[str, ...], values: np.ndarray, units: str, text: str) -> None:
        ds[name] = (("time", *dims), values, {"units": units, "long_name": text})

    # the base frame
    base_velocity, base_spin = _base_motion(s)
    add("position_base", ("axis",), r.base_position, "m", "position of the base frame")
    add("quaternion_base", ("quat",), r.base_quaternion, "1", "attitude of the base frame")
    add("velocity_base", ("axis",), base_velocity, "m/s", "velocity of the base frame")
    add("angular_velocity_base", ("axis",), base_spin, "rad/s", "angular velocity (base frame)")
    add("position_com", ("axis",), r.com, "m", "position of the centre of mass")
    add("velocity_com", ("axis",), r.com_velocity, "m/s", "velocity of the centre of mass")
    # joints and motors
    angles = r.coordinates[:, s._model.joint_qpos]
    rates = r.velocities[:, s._model.joint_dof]
    add("joint_angle", ("joint",), angles, "rad", "joint angle")
    add("joint_rate", ("joint",), rates, "rad/s", "joint rate")
    add("motor_torque", ("joint",), r.torque, "N·m", "motor torque")
    add("motor_power", ("joint",), r.torque * rates, "W", "motor power")
    if wheels:
        add("wheel_angle", ("wheel",), r.coordinates[:, s._wheels.qpos], "rad", "wheel angle")
        add("wheel_rate", ("wheel",), r.velocities[:, s._wheels.dof], "rad/s", "wheel rate")
    steering = list(world.robot.roles.get("steering", ()))
    if steering:
        at = [joints.index(name) for name in steering]
        ds = ds.assign_coords(steering=steering)
        add("steering_angle", ("steering",), angles[:, at], "rad", "steering angle")
        add("steering_rate", ("steering",), rates[:, at], "rad/s", "steering rate")
    # contact
    add("reaction", ("dof",), r.reaction, "N·s, N·m·s", "generalised contact impulse per record")
    add("impulse_other", ("axis",), r.other, "N·s", "impulse of the ground on other bodies")
    if wheels:
        ws = ("wheel", "surface")
        add("impulse_normal", ws, r.normal, "N·s", "normal impulse per record")
        add("impulse_tangent", (*ws, "tangent"), r.tangent, "N·s", "tangential impulse per record")
        add("gap", ws, r.gap, "m", "gap between wheel and ground")
        wc, wx = ("wheel", "component"), ("wheel", "axis")
        add("contact_velocity", wc, r.contact_velocity, "m/s", "local contact velocity")
        add("contact_point", wx, r.point, "m", "contact point")
        add("contact_impulse_world", wx, r.world, "N·s", "contact impulse per record, in the world")
    # energy and solver
    add("energy_kinetic", (), r.energy[:, 1], "J", "kinetic energy")
    add("energy_potential", (), r.energy[:, 0], "J", "potential energy")
    stats = [
        ("contacts", "1", "largest number of active contacts"),
        ("solver_iterations", "1", "most iterations of the contact solver in a step"),
        ("solver_residual", "1", "largest relative residual of the contact solver"),
        ("unconverged", "1", "steps whose contact problem did not converge"),
        ("restitution_limited", "1", "steps whose restitution was reduced to keep energy bounded"),
        ("penetration", "m", "largest penetration left at the end of a step"),
    ]
    for k, (name, units, text) in enumerate(stats):
        add(name, (), r.stats[:, k], units, text)
    # the raw state, for replay and restart
    ds["coordinates"] = (("time", "q"), r.coordinates, {"long_name": "generalised positions"})
    ds["velocities"] = (("time", "dof"), r.velocities, {"long_name": "generalised velocities"})
    mass = float(s.model.body_subtreemass[0])
    ds.attrs = {
        "title": s.scenario.title,
        "step": run.step,
        "record_period": float(run.record_period or run.step),
        "weight": mass * s.scenario.gravity,
        "mass": mass,
        "gravity": s.scenario.gravity,
        "steps": s.steps,
    }
    if s.stopped:
        ds.attrs["stopped"] = s.stopped
    return ds


def _base_motion(s: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Linear (world) and angular (base frame) velocity of the base [m/s, rad/s]."""
    r = s.records
    if s._model.free_base:
        return r.velocities[:, :3], r.velocities[:, 3:6]
    speed = np.gradient(r.base_position, r.time, axis=0) if len(r.time) > 1 else 0 * r.base_position
    return speed, np.zeros_like(speed)
