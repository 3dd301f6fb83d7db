"""From the loop's records to a labelled data set.

Dimensions: time, axis (x, y, z), quat (w, x, y, z), wheel, joint, dof, surface, tangent (forward,
left), component (normal, forward, left), contact_angle. Impulses and reactions are summed over the
record interval that ends at each time, forces of the soil are means over it; everything else is the
value at that time.

Slip ratio s = (r ω − v)/max(|r ω|, |v|), v the speed of the wheel's centre along its heading, in a
plane that is tilted as the robot is; slip angle: of the velocity against the heading, positive to
the left. Both are zero at rest, below 0.1 mm/s.

Current, voltage and electrical power of a motor follow from torque and rate at the records
(`control.motor`); their energy is the trapezoidal rule over the records, not summed in every step
as `energy_motors` is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import mujoco
import numpy as np

from marsyard.control.command import STATES
from marsyard.interaction.contact_geometry.organs import is_cone
from marsyard.interaction.law import Column, Recorded, Variable, WheelSizes, stored_energy
from marsyard.robot.soles import sole
from marsyard.rotations import x_axes, y_axes
from marsyard.simulation.attached import WORK
from marsyard.simulation.commands import motors_of
from marsyard.simulation.energy_constants import add_energy_constants
from marsyard.simulation.gait import add_gait

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.simulation.arrays import Records
    from marsyard.simulation.columns import Columns
    from marsyard.simulation.fmu_laws import FmuLaws
    from marsyard.simulation.simulation import Simulation


def dataset(simulation: Simulation) -> xr.Dataset:
    """Everything recorded so far."""
    return columns(simulation).dataset()


def columns(simulation: Simulation) -> Columns:
    """Everything recorded so far, not yet made into a data set."""
    from marsyard.simulation.columns import Columns

    s = simulation
    r = s.records
    world, run = s.world, s.scenario.run
    wheels = list(world.robot.wheels)
    joints = list(world.joints)
    ds = Columns(
        {
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
    angles = r.coordinates[:, s.facts.joint_qpos]
    rates = r.velocities[:, s.facts.joint_dof]
    add("joint_angle", ("joint",), angles, "rad", "joint angle")
    add("joint_rate", ("joint",), rates, "rad/s", "joint rate")
    add("motor_torque", ("joint",), r.torque, "N·m", "motor torque")
    add("motor_power", ("joint",), r.torque * rates, "W", "motor power")
    if wheels:
        add("wheel_angle", ("wheel",), r.coordinates[:, s.wheels.qpos], "rad", "wheel angle")
        add("wheel_rate", ("wheel",), r.velocities[:, s.wheels.dof], "rad/s", "wheel rate")
    slides = [n for n in joints if int(s.model.jnt_type[s.model.joint(n).id]) == _SLIDE]
    if slides:
        at = [joints.index(name) for name in slides]
        ds.assign_coords(slide=slides)
        add("slide_position", ("slide",), angles[:, at], "m", "position of the slide")
        add("slide_speed", ("slide",), rates[:, at], "m/s", "speed of the slide")
        add("slide_force", ("slide",), r.torque[:, at], "N", "force of the slide's motor")
    steering = list(world.robot.roles.get("steering", ()))
    if steering:
        at = [joints.index(name) for name in steering]
        ds.assign_coords(steering=steering)
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
        _add_slip(s, ds, add)
        _add_sizes(s, ds)
    _add_organs(s, ds)
    _add_floating(s, ds)
    if s.world.soil is not None:
        _add_soil(s, ds)
    _add_laws(s, ds)
    _add_motors(s, ds)
    add_energy_constants(s, ds)
    if s.drive is not None and s.drive.log:
        _add_drive(s, ds)
    if s.gait is not None and s.gait.log:
        add_gait(s, ds)
    if s.fmus is not None:
        _add_fmus(s, s.fmus, ds)
    # energy and solver
    add("energy_kinetic", (), r.energy[:, 1], "J", "kinetic energy")
    potential = r.energy[:, 0] + stored_energy(s.laws, r.coordinates)
    add("energy_potential", (), potential, "J", "potential energy")
    others = [law.name for law in s.laws if law.attachments and not (law.on_soil or law.stores)]
    if others:
        text = "work done on elastic contacts since the start, including stored energy"
        if s.interaction is not None:
            text = "work done on the interaction and on elastic contacts since the start"
        work = sum(s.attached(name, r)[..., WORK].sum(axis=1) for name in others)
        add("energy_ground", (), -np.cumsum(work), "J", text)
    add("energy_motors", (), np.cumsum(r.motor_work), "J", "work of the motors since the start")
    tethers = s.scenario.tethers
    if tethers:
        ids = [s.model.tendon(f"tether:{t.name}").id for t in tethers]
        free = s.model.tendon_lengthspring[ids, 1]
        pull = np.maximum(r.tether_length[:, ids] - free, 0.0) * [t.stiffness for t in tethers]
        ds.assign_coords(tether=[t.name for t in tethers])
        ds["tether_force"] = (
            ("time", "tether"), pull, {"units": "N", "long_name": "tension of the tether"}
        )  # fmt: skip
    stats = [
        ("contacts", "1", "largest number of active contacts"),
        ("solver_iterations", "1", "maximum iterations of the contact solver in a step"),
        ("solver_residual", "1", "largest relative residual of the contact solver"),
        ("unconverged", "1", "steps with an unconverged contact problem"),
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


def _recorded(s: Simulation, columns: Iterable[Column], r: Records) -> dict[str, np.ndarray]:
    """Columns of laws at the records, by name."""
    return {column.name: s.column(column.name, r) for column in columns}


def _add_laws(s: Simulation, ds: Columns) -> None:
    """What the laws say of their records."""
    r = s.records
    interval = np.diff(r.time, prepend=-np.inf)
    interval[interval <= 0] = np.inf
    wheels = WheelSizes(s.carrying_radius, 2.0 * s.wheels.width)
    gathered: dict[str, Variable] = {}
    for law in s.laws:
        sums = s.attached(law.name, r)
        recorded = _recorded(s, law.columns(), r)
        seen = Recorded(interval, sums[..., :6], sums[..., WORK], recorded, wheels, r.coordinates)
        own = law.variables(seen)
        used = {dim for each in own.values() for dim in each.dims}
        ds.assign_coords({k: v for k, v in law.coordinates().items() if k in used})
        for name, each in own.items():
            gathered[name] = gathered[name].beside(each) if name in gathered else each
    for name, each in gathered.items():
        about = {"units": each.units, "long_name": each.text}
        ds[name] = (("time", *each.dims), each.values, about)


def _add_floating(s: Simulation, ds: Columns) -> None:
    """Bodies that float freely beside the base (a client satellite): their frames' motion."""
    model, r = s.model, s.records
    free = mujoco.mjtJoint.mjJNT_FREE
    joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) == free]
    joints = [j for j in joints if model.body(int(model.jnt_bodyid[j])).name != s.world.robot.base]
    if not joints:
        return
    names = [model.body(int(model.jnt_bodyid[j])).name for j in joints]
    ds.assign_coords(floating=names)
    q = np.stack([r.coordinates[:, a : a + 7] for a in model.jnt_qposadr[joints]], axis=1)
    v = np.stack([r.velocities[:, a : a + 6] for a in model.jnt_dofadr[joints]], axis=1)
    # quaternions of two attitudes that are θ apart differ by 2 sin θ/4
    start = q[:1, :, 3:]
    same = np.sign(np.sum(q[..., 3:] * start, axis=-1, keepdims=True))
    turn = 4.0 * np.arcsin(0.5 * np.linalg.norm(q[..., 3:] - same * start, axis=-1))
    off = np.linalg.norm(q[..., :3] - q[:1, :, :3], axis=-1)
    rows: list[tuple[str, tuple[str, ...], np.ndarray, str, str]] = [
        ("position", ("axis",), q[..., :3], "m", "position of the frame"),
        ("velocity", ("axis",), v[..., :3], "m/s", "velocity of the frame"),
        ("displacement", (), off, "m", "distance from the start"),
        ("speed", (), np.linalg.norm(v[..., :3], axis=-1), "m/s", "speed"),
        ("turn", (), turn, "rad", "rotation since the start"),
        ("rate", (), np.linalg.norm(v[..., 3:], axis=-1), "rad/s", "angular rate"),
    ]
    for name, dims, values, units, text in rows:
        ds[f"floating_{name}"] = (
            ("time", "floating", *dims), values, {"units": units, "long_name": text}
        )  # fmt: skip


_SLIDE = mujoco.mjtJoint.mjJNT_SLIDE
#: below this speed a wheel is at rest [m/s]
REST = 1e-4


class WheelMotion(Protocol):
    """What is needed of records to tell slip and sinkage of the wheels; the first index is time."""

    @property
    def base_quaternion(self) -> np.ndarray: ...

    @property
    def velocities(self) -> np.ndarray: ...

    @property
    def wheel_centre(self) -> np.ndarray: ...

    @property
    def wheel_axis(self) -> np.ndarray: ...

    @property
    def wheel_velocity(self) -> np.ndarray: ...


def _headings(axis: np.ndarray) -> np.ndarray:
    """Level unit vectors along the wheels' headings, shape [time, wheel, 3]."""
    heading = np.stack([axis[..., 1], -axis[..., 0], np.zeros(axis.shape[:-1])], axis=-1)
    size = np.linalg.norm(heading, axis=-1, keepdims=True)
    return heading / np.where(size > 0, size, 1.0)


def _add_slip(s: Simulation, ds: Columns, add: Any) -> None:
    slip, angle = wheel_slip(s, s.records)
    centre = s.records.wheel_centre
    add("wheel_position", ("wheel", "axis"), centre, "m", "position of the wheel's centre")
    add("slip_ratio", ("wheel",), slip, "1", "slip ratio")
    add("slip_angle", ("wheel",), angle, "rad", "slip angle")


def wheel_slip(s: Simulation, r: WheelMotion) -> tuple[np.ndarray, np.ndarray]:
    """Slip ratio and slip angle [rad] of the wheels, shape [time, wheel]."""
    # along the wheel's heading, tilted as the robot is: a wheel that climbs does not slip by it
    axis, v = r.wheel_axis, r.wheel_velocity
    ahead = x_axes(r.base_quaternion)
    lean = np.einsum("tk,twk->tw", ahead, axis)
    size = np.sqrt(np.maximum(1.0 - lean * lean, 0.0))
    forward = (ahead[:, None, :] - lean[..., None] * axis) / np.maximum(size, 0.3)[..., None]
    # a wheel steered by about 90° has no such direction: take its level heading
    steered = size <= 0.3
    if steered.any():
        forward = np.where(steered[..., None], _headings(axis), forward)
    backwards = forward[..., 0] * axis[..., 1] < forward[..., 1] * axis[..., 0]
    across = np.einsum("twk,twk->tw", v, axis)
    along = np.where(backwards, -1.0, 1.0) * np.einsum("twk,twk->tw", v, forward)
    rim = r.velocities[:, s.wheels.dof] * s.slip_radius
    fastest = np.maximum(np.abs(rim), np.abs(along))
    moving = fastest > REST
    slip = np.where(moving, (rim - along) / np.where(moving, fastest, 1.0), 0.0)
    speed = np.hypot(along, across)
    return slip, np.where(speed > REST, np.arctan2(across, np.abs(along)), 0.0)


def _add_sizes(s: Simulation, ds: Columns) -> None:
    """Sizes of the wheels, which do not change."""
    lugs = [w.lug_height for w in s.world.robot.wheels.values()]
    for name, values, text in (
        ("wheel_radius", s.wheels.radius, "radius of the wheel, without grousers"),
        ("wheel_width", 2.0 * s.wheels.width, "width of the wheel"),
        ("grouser_height", np.array(lugs), "height of the wheel's grousers"),
    ):
        ds[name] = ("wheel", values.copy(), {"units": "m", "long_name": text})


def _add_organs(s: Simulation, ds: Columns) -> None:
    """Forces on feet and tracks (means over each record interval), where they are, belt speeds."""
    robot, r = s.world.robot, s.records
    interval = np.diff(r.time, prepend=np.nan)[:, None, None]
    force = np.where(interval > 0, r.organ / np.where(interval > 0, interval, 1.0), 0.0)
    feet = len(robot.feet)
    place = np.concatenate([_foot_places(s), r.organ_position[:, feet:]], axis=1)
    for kind, names, at in (
        ("foot", list(robot.feet), slice(0, feet)),
        ("track", list(robot.tracks), slice(feet, None)),
    ):
        if not names:
            continue
        ds.assign_coords({kind: names})
        for what, values, units, text in (
            ("force", force, "N", f"force of the ground on the {kind}"),
            ("position", place, "m", f"position of the {_MEANT[kind]}"),
        ):
            ds[f"{kind}_{what}"] = (
                ("time", kind, "axis"), values[:, at], {"units": units, "long_name": text}
            )  # fmt: skip
    if robot.tracks:
        dofs = [int(s.model.jnt_dofadr[s.model.joint(t.joint).id]) for t in robot.tracks.values()]
        radii = np.array([t.pitch_radius for t in robot.tracks.values()])
        ds["belt_speed"] = (
            ("time", "track"), r.velocities[:, dofs] * radii,
            {"units": "m/s", "long_name": "belt speed"},
        )  # fmt: skip
        ds["track_slip"] = (
            ("time", "track"), _belt_slip(s, radii, feet),
            {"units": "1", "long_name": "belt slip since the last record"},
        )  # fmt: skip


_MEANT = {"foot": "foot's point", "track": "track's body"}


def _foot_places(s: Simulation) -> np.ndarray:
    """Points of the feet at the records [m], shape [time, foot, 3]."""
    robot, r = s.world.robot, s.records
    out = np.array(r.organ_position[:, : len(robot.feet)])
    if not robot.feet:
        return out
    own = robot.compile()
    points = [sole(own, foot, robot.name).point for foot in robot.feet.values()]
    if not np.any(points):
        return out
    data = mujoco.MjData(s.model)
    bodies = [s.model.body(foot.body).id for foot in robot.feet.values()]
    for k, coordinates in enumerate(r.coordinates):
        data.qpos[:] = coordinates
        mujoco.mj_kinematics(s.model, data)
        for i, (body, point) in enumerate(zip(bodies, points, strict=True)):
            out[k, i] += data.xmat[body].reshape(3, 3) @ point
    return out


def _belt_slip(s: Simulation, radii: np.ndarray, feet: int) -> np.ndarray:
    """(belt's displacement − frame's displacement along its heading)/larger of the two, over each
    record interval.

    The frame's displacement is that of its point beside the belt, which turns with the base.
    """
    robot, r = s.world.robot, s.records
    angles = [int(s.model.jnt_qposadr[s.model.joint(t.joint).id]) for t in robot.tracks.values()]
    belt = np.diff(r.coordinates[:, angles], axis=0, prepend=np.nan) * radii
    ahead = x_axes(r.base_quaternion)[:, None, :]
    beside = np.array([t.y for t in robot.tracks.values()])[:, None]
    place = r.organ_position[:, feet:] + beside * y_axes(r.base_quaternion)[:, None, :]
    moved = np.diff(place, axis=0, prepend=np.nan)
    frame = np.sum(moved * ahead, axis=-1)
    larger = np.maximum(np.abs(belt), np.abs(frame))
    interval = np.diff(r.time, prepend=np.nan)[:, None]
    moving = larger > REST * interval
    return np.where(moving, (belt - frame) / np.where(moving, larger, 1.0), 0.0)


def _add_soil(s: Simulation, ds: Columns) -> None:
    """What soft ground does to the wheels, whatever its law."""
    r = s.records
    # means over each record interval; the first record has none
    interval = np.diff(r.time, prepend=r.time[:1])[:, None]
    interval[0] = np.inf
    interval[interval <= 0] = np.inf
    wrench = _wheel_wrench(s, r)
    force, moment = wrench[..., 0:3] / interval[..., None], wrench[..., 3:6] / interval[..., None]
    heading = _headings(r.wheel_axis)
    left = np.stack([-heading[..., 1], heading[..., 0], np.zeros(heading.shape[:-1])], axis=-1)

    def add(name: str, values: np.ndarray, units: str, text: str) -> None:
        ds[name] = (("time", "wheel"), values, {"units": units, "long_name": text})

    normal = _surface_normals(s, r)
    along = heading - np.sum(heading * normal, axis=-1, keepdims=True) * normal
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    pairs = (("", along, np.cross(normal, along), ""), ("_level", heading, left, ", level"))
    for suffix, ahead, beside, how in pairs:
        pull, side = (np.einsum("twk,twk->tw", force, direction) for direction in (ahead, beside))
        add(f"drawbar_pull{suffix}", pull, "N", f"drawbar pull{how}")
        add(f"side_force{suffix}", side, "N", f"force to the left{how}")
    add("wheel_load", force[..., 2], "N", "force of the soil upwards")
    torque = -np.einsum("twk,twk->tw", moment, r.wheel_axis)
    add("driving_torque", torque, "N·m", "torque of the wheel on the soil")
    text = "sinkage"
    add("sinkage", _sinkage(s, r, wheel_touching(s, r), normal), "m", text)
    for name, direction, text in (
        ("ground_slope_along", heading, "slope of the ground along the heading, positive uphill"),
        ("ground_slope_across", left, "slope of the ground to the left, positive uphill"),
    ):
        rise = -np.sum(normal * direction, axis=-1) / normal[..., 2]
        add(name, np.arctan(rise), "rad", text)


def wheel_touching(s: Simulation, r: Records) -> np.ndarray:
    """Whether each wheel touches the soil at the records, above 0; NaN under another law."""
    soil = s.world.soil
    assert soil is not None
    wheels = len(s.world.robot.wheels)
    return soil.touched(_recorded(s, soil.columns(), r), len(r.time), wheels)


def _wheel_wrench(s: Simulation, r: Records) -> np.ndarray:
    """Impulse and moment of the soil on each wheel per record [N·s, N·m·s]; of whatever other law a
    wheel is under that those of soil do not act on."""
    soil = s.world.soil
    assert soil is not None
    wheels, number = len(s.world.robot.wheels), s.attachments.chains.wheel
    own = {law.name: s.attached(law.name, r) for law in soil.laws}
    out = soil.by_wheel(own, len(r.time), wheels)
    for w in set(range(wheels)) - soil.wheels:
        out[:, w] = r.attached[:, number == w].sum(axis=1)
    return out


def _add_motors(s: Simulation, ds: Columns) -> None:
    """Current, voltage and electrical power of the scenario's motors, from torque and rate."""
    motors = motors_of(s.scenario, s.world)
    if not motors:
        return
    at = [s.world.joints.index(name) for name in motors]
    torque, rate = s.records.torque[:, at], s.records.velocities[:, s.facts.joint_dof[at]]
    states = [m.drive(torque[:, k], rate[:, k]) for k, m in enumerate(motors.values())]
    ds.assign_coords(motor=list(motors))
    for name, field, units, text in (
        ("motor_current", "current", "A", "current of the motor"),
        ("motor_voltage", "voltage", "V", "voltage of the motor"),
        ("electrical_power", "power", "W", "electrical power of the motor"),
    ):
        values = np.stack([getattr(state, field) for state in states], axis=-1)
        ds[name] = (("time", "motor"), values, {"units": units, "long_name": text})
    power = ds["electrical_power"].values.sum(axis=1)
    step = np.diff(s.records.time)
    energy = np.concatenate([[0.0], np.cumsum(step * (power[1:] + power[:-1]) / 2)])
    text = "electrical energy of the motors since the start"
    ds["energy_electrical"] = ("time", energy, {"units": "J", "long_name": text})


def _add_drive(s: Simulation, ds: Columns) -> None:
    """What the drive commanded and saw, as it stood at the time of each record."""
    drive = s.drive
    assert drive is not None
    began = np.array([e.time for e in drive.log])
    # a record at the begin of a period still belongs to the one before
    at = np.clip(np.searchsorted(began, s.records.time - 1e-9) - 1, 0, None)

    def add(name: str, values: np.ndarray, units: str, text: str, *dims: str) -> None:
        ds[name] = (("time", *dims), values[at], {"units": units, "long_name": text})

    def of(field: str) -> np.ndarray:
        return np.array([getattr(e, field) for e in drive.log], dtype=float)

    add("command", of("command"), "1", "index of the active command")
    add("drive_state", of("state"), "1", "state of the driver: " + ", ".join(STATES))
    add("path_distance", of("distance"), "m", "distance along the path")
    add("path_offset", of("offset"), "m", "cross-track error, positive left of the path")
    seen = np.stack([of("x"), of("y")], axis=-1)
    add("position_sensed", np.pad(seen, ((0, 0), (0, 1))), "m", "position as sensed", "axis")
    ds["position_sensed"].values[:, 2] = np.nan
    add("heading_sensed", of("heading"), "rad", "heading as sensed")
    # tracks come after the wheels
    wheels, tracks = len(s.world.robot.wheels), len(s.world.robot.tracks)
    if wheels:
        on, slip = "wheel", "slip ratio along the ground, as sensed"
        add("rate_commanded", of("rate")[:, :wheels], "rad/s", "commanded wheel rate", on)
        add("angle_commanded", of("angle")[:, :wheels], "rad", "commanded steering angle", on)
        add("slip_sensed", of("slip")[:, :wheels], "1", slip, on)
    if tracks:
        text = "commanded rate of the sprocket"
        add("track_rate_commanded", of("rate")[:, wheels:], "rad/s", text, "track")
        text = "slip ratio of the belt along the ground, as sensed"
        add("track_slip_sensed", of("slip")[:, wheels:], "1", text, "track")
    _add_setpoints(s, ds)
    _add_timeline(s, ds)
    points = [path.points for path in drive.paths.values()]
    number = [np.full(len(p), k) for k, p in zip(drive.paths, points, strict=True)]
    about = {"units": "m", "long_name": "paths followed, by index of the command"}
    if points:
        ds["path"] = (("path_point", "horizontal"), np.concatenate(points), about)
        ds.assign_coords(horizontal=["x", "y"], path_command=("path_point", np.concatenate(number)))


def _add_fmus(s: Simulation, fmus: FmuLaws, ds: Columns) -> None:
    """What FMUs of the scenario gave, as it stood at the time of each record."""
    if not fmus.log:
        return
    began = np.array([time for time, _ in fmus.log])
    # a record at the begin of a period still belongs to the one before
    at = np.clip(np.searchsorted(began, s.records.time - 1e-9) - 1, 0, None)
    values = np.array([row for _, row in fmus.log])[at]
    ds.assign_coords(fmu=list(fmus.names), fmu_unit=("fmu", list(fmus.units)))
    about = {"units": "see fmu_unit", "long_name": "outputs of the scenario's FMUs"}
    ds["fmu_output"] = (("time", "fmu"), values, about)


def _add_setpoints(s: Simulation, ds: Columns) -> None:
    """What wheels, steering and posed joints were told, period by period."""
    drive = s.drive
    assert drive is not None
    layout = drive.layout
    rate = np.array([e.rate for e in drive.log]) * layout.sign
    angle = np.array([e.angle for e in drive.log]) * layout.steering_sign
    angle[:, ~layout.steered] = np.nan
    about = "command issued at the start of a drive period"
    ds.assign_coords(drive_time=("drive_time", [e.time for e in drive.log], {"units": "s"}))
    named: list[tuple[str, str, np.ndarray, str, str]] = []
    wheels = len(s.world.robot.wheels)
    if wheels:
        text = "wheel rate, positive forwards"
        named.append(("setpoint_rate", "wheel", rate[:, :wheels], "rad/s", text))
        text = "steering angle, positive left"
        named.append(("setpoint_angle", "wheel", angle[:, :wheels], "rad", text))
    if s.world.robot.tracks:
        text = "rate of the sprocket, positive forwards"
        named.append(("setpoint_track_rate", "track", rate[:, wheels:], "rad/s", text))
    if drive.posed:
        ds.assign_coords(posed=list(drive.posed))
        joints = np.array([e.joints for e in drive.log])
        named.append(("setpoint_joint", "posed", joints, "rad/s", "rate of a posture's joint"))
    for name, dim, values, units, text in named:
        about_it = {"units": units, "long_name": f"{text}, {about}"}
        ds[name] = (("drive_time", dim), values, about_it)


def _add_timeline(s: Simulation, ds: Columns) -> None:
    """What became of each command."""
    assert s.drive is not None
    events = s.drive.events

    def text(field: str) -> tuple[str, list[str]]:
        return "drive_command", [getattr(e, field) for e in events]

    ds.assign_coords(
        drive_command=[e.number for e in events],
        command_kind=text("kind"), command_note=text("note"),
        command_outcome=text("outcome"), command_reason=text("reason"),
    )  # fmt: skip
    for name, field, units, long_name in (
        ("command_began", "began", "s", "start time of the command"),
        ("command_ended", "ended", "s", "end time of the command"),
        ("command_x", "x", "m", "final x of the base of the command"),
        ("command_y", "y", "m", "final y of the base of the command"),
        ("command_heading", "heading", "rad", "heading of the base at the end of the command"),
    ):
        values = np.array([getattr(e, field) for e in events], dtype=float)
        ds[name] = ("drive_command", values, {"units": units, "long_name": long_name})


def wheel_sinkage(s: Simulation, r: WheelMotion, touching: np.ndarray) -> np.ndarray:
    """Depth of the wheels below the undisturbed surface [m], shape [time, wheel]; `touching` as of
    `wheel_touching`."""
    return _sinkage(s, r, touching, _surface_normals(s, r))


def _surface_normals(s: Simulation, r: WheelMotion) -> np.ndarray:
    """Normals of the undisturbed ground under the wheels' centres, [time, wheel, 3]; its slope is
    taken over the wheel's diameter."""
    soil = s.world.soil
    assert soil is not None
    radius = s.carrying_radius
    x, y = r.wheel_centre[..., 0], r.wheel_centre[..., 1]
    # all places at once: a terrain has a price per call
    ends = soil.grid.terrain.height(
        np.stack([x + radius, x - radius, x, x]), np.stack([y, y, y + radius, y - radius])
    )
    rise_x, rise_y = (ends[0] - ends[1]) / (2 * radius), (ends[2] - ends[3]) / (2 * radius)
    normal = np.ones((*x.shape, 3))
    normal[..., 0], normal[..., 1] = -rise_x, -rise_y
    return normal / np.sqrt(1.0 + rise_x**2 + rise_y**2)[..., None]


def _sinkage(s: Simulation, r: WheelMotion, touching: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Depth of the wheels below the undisturbed surface, across it; 0 without contact, NaN under
    another law than that of the soil [m].

    The wheel's deepest point is the one farthest against the surface's normal n; of a cone it lies
    on the rim of one of its ends.
    """
    soil = s.world.soil
    assert soil is not None
    shape = s.scenario.robot.wheel_shape
    wheels = s.world.robot.wheels.values()
    taper = np.array([w.taper if is_cone(w, shape) else 0.0 for w in wheels])[:, None]
    radius, half = s.carrying_radius[:, None], s.wheels.width[:, None]
    axis = r.wheel_axis
    along = np.einsum("twk,twk->tw", normal, axis)[..., None]
    down = along * axis - normal
    down /= np.sqrt(np.maximum(1.0 - along * along, 1e-18))
    edge = -np.sign(along) * half * (np.abs(along) > 1e-9)
    edges = edge[None]
    if taper.any():
        edges = np.stack([np.where(taper == 0, edge, -half), np.where(taper == 0, edge, half)])
    lowest = r.wheel_centre + (radius + taper * edges) * down + edges * axis
    depth = soil.grid.terrain.height(lowest[..., 0], lowest[..., 1]) - lowest[..., 2]
    out = np.where(touching > 0, depth.max(axis=0) * normal[..., 2], 0.0)
    return np.where(np.isnan(touching), np.nan, out)


def _base_motion(s: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Linear (world) and angular (base frame) velocity of the base [m/s, rad/s]."""
    r = s.records
    if s.facts.free_base:
        return r.velocities[:, :3], r.velocities[:, 3:6]
    speed = np.gradient(r.base_position, r.time, axis=0) if len(r.time) > 1 else 0 * r.base_position
    return speed, np.zeros_like(speed)
