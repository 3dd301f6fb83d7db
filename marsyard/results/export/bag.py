"""A run as an MCAP file with ROS 2 messages: for Foxglove, the mcap tools and `ros2 bag play`.

Frames (REP 103, REP 105): x forward, y left, z up, SI units. `map` and `odom` are the world, the
same here, because a simulation knows where the robot is. `base_link` is the robot's base frame, and
each body has a frame of its name. `wheel_NAME_hub` stands at a wheel's centre and is fixed to what
carries the wheel: y along the axle to the left, x ahead, level with the base in the model's
reference pose. It does not turn with the wheel, as a force sensor in the hub would not.

    /joint_states          JointState: angle, rate and motor torque of hinges and slides
    /odom                  Odometry: true pose in odom, velocity in base_link
    /imu/data              Imu at base_link, see `imu`
    /tf, /tf_static        all frames
    /wheel/NAME/wrench     WrenchStamped: of the ground on the wheel, about its centre, hub frame,
                           mean over the record interval
    /wheel/NAME/slip_ratio, slip_angle, sinkage          Float64 [1, rad, m]
    /wheel/NAME/rate_command, steering_command           Float64 [rad/s, rad], of a drive
    /path                  Path: those that a drive followed, on the ground
    /terrain               PointCloud2 with x, y, z and change [m], see `terrain`
    /robot_description     String: URDF

Stamps and log times are simulated time from 0. On soil only the moment about the axle is recorded;
the other two are NaN. Scenario and URDF are attachments, and a metadata record says which robot it
was, so that marsyard can show the file again (`marsyard view FILE.mcap`). NAME is the wheel's, with
_ for what ROS does not allow in topics.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard import library
from marsyard.errors import InputError
from marsyard.files.replacing import replacing
from marsyard.results._extras import needed
from marsyard.results.curves import followed_paths
from marsyard.results.dataset import record_intervals
from marsyard.results.export.cdr import encode
from marsyard.results.export.foxglove import LAYOUT_NAME, foxglove_layout
from marsyard.results.export.imu import specific_force
from marsyard.results.export.inner_links import inner_frames
from marsyard.results.export.messages import FLOAT32, schema_name, schema_text, topic_names
from marsyard.results.export.source import Source
from marsyard.results.export.terrain import Cloud, clouds
from marsyard.results.export.urdf import ROOT, WORLD, body_name, floats, has_own_root, urdf_of
from marsyard.results.ground_file import FILE_NAME as GROUND
from marsyard.results.ground_file import load_ground
from marsyard.results.replay import on_ground
from marsyard.rotations import conjugate, product, rotate, rotate_back

FILE_NAME = "run.mcap"
#: name of the metadata record that tells marsyard's own files
METADATA = "marsyard"
#: topics that late subscribers get, too
LATCHED = ("/tf_static", "/robot_description", "/terrain", "/path")

#: rosbag2 from Jazzy on reads quality of service as words, unless a record of its own without the
#: bag's metadata says that the file is of the time when they were numbers, which all read
_QUALITY_VERSION = {"serialized_metadata": "", "ROS_DISTRO": "humble"}

Message = tuple[float, str, str, tuple[Any, ...]]  # time [s], topic, type, fields


def write_bag(source: Source, folder: Path) -> list[Path]:
    """Write `run.mcap` of a run into a folder, and a layout of Foxglove for it."""
    needed("mcap", "ros")
    if not source.ds.sizes["time"]:
        raise InputError(
            f"'{source.folder}' has no record with finite coordinates; there is no motion to "
            f"write as MCAP"
        )
    path = Path(folder) / FILE_NAME
    with replacing(path) as part, part.open("wb") as stream:
        topics = _write(stream, source)
    joints = [str(j) for j in source.ds["joint"].values]
    drives = source.robot.roles.get("drives", ())
    motors = {name: k for k, name in enumerate(joints) if name in drives}
    layout = Path(folder) / LAYOUT_NAME
    text = json.dumps(foxglove_layout(topics, source.wheels, motors), indent=2)
    with replacing(layout) as part:
        part.write_text(text + "\n", encoding="utf-8")
    return [path, layout]


# --- the file


def _write(stream: Any, source: Source) -> set[str]:
    """Write the file; its topics."""
    from mcap.writer import CompressionType, Writer

    writer = Writer(stream, compression=CompressionType.ZSTD)
    writer.start(profile="ros2", library="marsyard")
    channels: dict[str, int] = {}
    schemas: dict[str, int] = {}
    counts: dict[str, int] = {}
    # one message after the other, so that a long run does not fill the memory
    for time, topic, kind, message in heapq.merge(*_streams(source), key=lambda m: m[0]):
        if kind not in schemas:
            schemas[kind] = writer.register_schema(
                schema_name(kind), "ros2msg", schema_text(kind).encode()
            )
        if topic not in channels:
            channels[topic] = writer.register_channel(
                topic, "cdr", schemas[kind], {"offered_qos_profiles": _quality(topic in LATCHED)}
            )
        stamp = _nanoseconds(time)
        counts[topic] = counts.get(topic, 0) + 1
        writer.add_message(
            channels[topic], stamp, encode(kind, message), stamp, sequence=counts[topic]
        )
    writer.add_metadata(METADATA, _about(source))
    writer.add_metadata("rosbag2", _QUALITY_VERSION)
    for name, media, content in _attachments(source):
        writer.add_attachment(0, 0, name, media, content)
    writer.finish()
    return set(channels)


def _quality(latched: bool) -> str:
    """Quality of service as rosbag2 writes it: reliable; volatile, or kept for late subscribers."""
    forever = "\n    sec: 9223372036\n    nsec: 854775807\n"
    return (
        f"- history: 1\n  depth: {1 if latched else 10}\n  reliability: 1\n"
        f"  durability: {1 if latched else 2}\n  deadline:{forever}  lifespan:{forever}"
        f"  liveliness: 1\n  liveliness_lease_duration:{forever}"
        "  avoid_ros_namespace_conventions: false"
    )


def _about(source: Source) -> dict[str, str]:
    """What the messages do not say, for marsyard's own reader."""
    ds, robot = source.ds, source.robot
    sizes = {
        key: {w: float(v) for w, v in zip(source.wheels, ds[name].values, strict=True)}
        for key, name in (("radius", "wheel_radius"), ("width", "wheel_width"),
                          ("lug_height", "grouser_height"))
        if name in ds
    }  # fmt: skip
    wheels = {
        w: {"joint": robot.wheels[w].joint, "body": robot.wheels[w].body,
            **{key: values[w] for key, values in sizes.items()}}
        for w in source.wheels
    }  # fmt: skip
    texts = {k: str(ds.attrs[k]) for k in ("title", "scenario", "gravity", "mass") if k in ds.attrs}
    return {
        **texts,
        "record_period": repr(float(ds.attrs.get("record_period", 0.0))),
        "robot": _robot_name(source),
        "base": body_name(source.model, source.base),
        "wheels": json.dumps(wheels),
    }


def _robot_name(source: Source) -> str:
    """The robot's name in the library, or the path of its copy in the run folder."""
    known = source.robot.name in library.names("rovers")
    return source.robot.name if known else source.scenario.robot.name


def _attachments(source: Source) -> Iterator[tuple[str, str, bytes]]:
    yield "scenario.yaml", "application/yaml", (source.folder / "scenario.yaml").read_bytes()
    yield "robot.urdf", "application/xml", _urdf(source).encode()


def _urdf(source: Source) -> str:
    return urdf_of(source.model, source.robot.base, source.robot.name).text


def _nanoseconds(time: float) -> int:
    return max(0, round(1e9 * time))


# --- the messages


def _streams(source: Source) -> Iterator[Iterator[Message]]:
    """The messages as streams, each in the order of time."""
    yield _at_the_start(source)
    yield _terrain(source)
    yield _moving_frames(source)
    yield _joint_states(source)
    yield _base_motion(source)
    for wheel in source.wheels:
        yield from _wheel(source, wheel)


def _at_the_start(source: Source) -> Iterator[Message]:
    start = float(source.time[0])
    yield start, "/robot_description", "std_msgs/String", (_urdf(source),)
    yield start, "/tf_static", "tf2_msgs/TFMessage", (_fixed_frames(source, start),)
    soft = load_ground(source.folder) if (source.folder / GROUND).exists() else None
    touched = source.values("contact_point", "wheel", "axis") if source.wheels else np.zeros((0, 3))
    for points in followed_paths(source.ds):
        path = on_ground(points, touched, soft)
        yield start, "/path", "nav_msgs/Path", _path(path, start)


def _terrain(source: Source) -> Iterator[Message]:
    for time, cloud in clouds(source.folder, source.scenario, source.ds):
        yield time, "/terrain", "sensor_msgs/PointCloud2", _cloud(cloud, time)


def _header(time: float, frame: str) -> tuple[tuple[int, int], str]:
    return divmod(_nanoseconds(time), 1_000_000_000), frame


def _xyzw(quaternion: np.ndarray) -> tuple[float, ...]:
    w, x, y, z = quaternion.tolist()
    return x, y, z, w


def _transform(
    time: float, parent: str, child: str, place: np.ndarray, turn: np.ndarray
) -> tuple[Any, ...]:
    return _header(time, parent), child, (tuple(place.tolist()), _xyzw(turn))


def _fixed_frames(source: Source, time: float) -> list[tuple[Any, ...]]:
    """Frames that do not move against their parents."""
    model, none = source.model, (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    out = [_transform(time, "map", "odom", *none)]
    tree = int(model.body_rootid[source.base])
    base = body_name(model, source.base)
    if has_own_root(model, source.base):
        pair = (ROOT, base) if floats(model, tree) and tree == source.base else (base, ROOT)
        out.append(_transform(time, *pair, *none))
    if not floats(model, tree):
        out.append(_transform(time, "odom", WORLD, *none))
    for body in range(1, model.nbody):
        if not model.body_jntnum[body]:
            names = _parent(source, body), body_name(model, body)
            out.append(_transform(time, *names, model.body_pos[body], model.body_quat[body]))
    for wheel, hub in source.hubs.items():
        carrier = body_name(model, source.carrier(wheel)) if source.carrier(wheel) else WORLD
        out.append(_transform(time, carrier, hub_frame(source, wheel), hub.place, hub.quat()))
    return out


def hub_frame(source: Source, wheel: str) -> str:
    """Name of a wheel's hub frame."""
    return f"wheel_{topic_names(source.wheels)[wheel]}_hub"


def _parent(source: Source, body: int) -> str:
    """Frame in which a body's pose is given: odom for what floats."""
    model = source.model
    if floats(model, body):
        return "odom"
    up = int(model.body_parentid[body])
    return body_name(model, up) if up else WORLD


def _moving_frames(source: Source) -> Iterator[Message]:
    place, turn = source.poses
    model = source.model
    moving = [b for b in range(1, model.nbody) if model.body_jntnum[b]]
    names, arrays = [], []
    for body in moving:
        child = body_name(model, body)
        if body == source.base and floats(model, body):
            child = ROOT
        up = int(model.body_parentid[body])
        own = place[:, body], turn[:, body]
        arrays.append(own if up == 0 else _relative((place[:, up], turn[:, up]), own))
        names.append((_parent(source, body), child))
        for link, frame in inner_frames(model, body, source.values("coordinates", "q")).items():
            arrays.append(frame)
            names.append((_parent(source, body), link))
    for k, time in enumerate(source.time.tolist()):
        frames = [
            _transform(time, *pair, p[k], q[k]) for pair, (p, q) in zip(names, arrays, strict=True)
        ]
        if frames:
            yield time, "/tf", "tf2_msgs/TFMessage", (frames,)


def _relative(
    outer: tuple[np.ndarray, np.ndarray], inner: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Poses of frames in others; both in the world, places [n, 3] and quaternions [n, 4]."""
    (p, a), (q, b) = outer, inner
    return rotate_back(a, q - p), product(conjugate(a), b)


def _joint_states(source: Source) -> Iterator[Message]:
    names = [str(j) for j in source.ds["joint"].values]
    if not names:
        return
    angle, rate = source.values("joint_angle", "joint"), source.values("joint_rate", "joint")
    effort = source.values("motor_torque", "joint")
    for k, time in enumerate(source.time.tolist()):
        message = (_header(time, ""), names, angle[k], rate[k], effort[k])
        yield time, "/joint_states", "sensor_msgs/JointState", message


def _base_motion(source: Source) -> Iterator[Message]:
    """Odometry and inertial measurements."""
    ds = source.ds
    place, turn = source.values("position_base", "axis"), source.values("quaternion_base", "quat")
    spin = source.values("angular_velocity_base", "axis")
    velocity = rotate_back(turn, source.values("velocity_base", "axis"))
    force = specific_force(ds, np.array(source.model.opt.gravity))
    unknown, exact = np.zeros(36), np.zeros(9)
    for k, time in enumerate(source.time.tolist()):
        attitude, rates = _xyzw(turn[k]), tuple(spin[k].tolist())
        pose = ((tuple(place[k].tolist()), attitude), unknown)
        twist = ((tuple(velocity[k].tolist()), rates), unknown)
        odometry = (_header(time, "odom"), ROOT, pose, twist)
        yield time, "/odom", "nav_msgs/Odometry", odometry
        reading = (attitude, exact, rates, exact, tuple(force[k].tolist()), exact)
        yield time, "/imu/data", "sensor_msgs/Imu", (_header(time, ROOT), *reading)


def _wheel(source: Source, wheel: str) -> Iterator[Iterator[Message]]:
    """What a wheel felt and was told, a stream for each topic."""
    ds, topic = source.ds.sel(wheel=wheel), f"/wheel/{topic_names(source.wheels)[wheel]}"
    yield _wrenches(source, wheel, ds, topic)
    for name in ("slip_ratio", "slip_angle", "sinkage"):
        if name in ds:
            yield _numbers(f"{topic}/{name}", source.time, ds[name].values)
    for name, command in (("setpoint_rate", "rate"), ("setpoint_angle", "steering")):
        if name in ds:
            written = ds[name].dropna("drive_time")
            yield _numbers(
                f"{topic}/{command}_command", written["drive_time"].values, written.values
            )


def _numbers(topic: str, times: np.ndarray, values: np.ndarray) -> Iterator[Message]:
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        yield float(time), topic, "std_msgs/Float64", (value,)


def _wrenches(source: Source, wheel: str, ds: xr.Dataset, topic: str) -> Iterator[Message]:
    force, moment = _wrench(source, wheel, ds)
    frame = hub_frame(source, wheel)
    for k, time in enumerate(source.time.tolist()):
        message = (_header(time, frame), (tuple(force[k].tolist()), tuple(moment[k].tolist())))
        yield time, f"{topic}/wrench", "geometry_msgs/WrenchStamped", message


def _wrench(source: Source, wheel: str, ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Force [N] and moment about the wheel's centre [N·m] of the ground, in the hub frame."""
    place, turn = source.poses
    carrier = source.carrier(wheel)
    interval = record_intervals(source.ds).values[:, None]
    force = ds["contact_impulse_world"].transpose("time", "axis").values / interval
    centre = place[:, source.model.body(source.robot.wheels[wheel].body).id]
    arm = ds["contact_point"].transpose("time", "axis").values - centre
    to_hub = source.hubs[wheel].turn

    def hub(vector: np.ndarray) -> np.ndarray:
        return rotate_back(turn[:, carrier], vector) @ to_hub

    hard = force
    if "driving_torque" in ds:
        hard = force - _soil_force(source, ds, rotate(turn[:, carrier], to_hub[:, 1][None]))
    moment = hub(np.nan_to_num(np.cross(arm, hard)))
    if "driving_torque" in ds:
        moment[:, 1] -= ds["driving_torque"].values
        moment[:, [0, 2]] = np.nan
    return hub(force), moment


def _soil_force(source: Source, ds: xr.Dataset, axle: np.ndarray) -> np.ndarray:
    """What the soil contributes to a wheel's force, in the world [N], from its components."""
    heading = np.stack([axle[:, 1], -axle[:, 0], np.zeros(len(axle))], axis=1)
    heading /= np.maximum(np.linalg.norm(heading, axis=1, keepdims=True), 1e-12)
    left = np.stack([-heading[:, 1], heading[:, 0], np.zeros(len(axle))], axis=1)
    # runs made before there were components along the slope have level ones by the plain names
    level = "_level" if "drawbar_pull_level" in ds else ""
    along, across = (ds[f"{n}{level}"].values[:, None] for n in ("drawbar_pull", "side_force"))
    return along * heading + across * left + ds["wheel_load"].values[:, None] * [0.0, 0.0, 1.0]


def _path(points: np.ndarray, time: float) -> tuple[Any, ...]:
    upright = (0.0, 0.0, 0.0, 1.0)
    poses = [(_header(time, "map"), (tuple(p), upright)) for p in points.tolist()]
    return _header(time, "map"), poses


def _cloud(cloud: Cloud, time: float) -> tuple[Any, ...]:
    table = np.column_stack([cloud.points, cloud.change]).astype("<f4")
    fields = [(n, 4 * k, FLOAT32, 1) for k, n in enumerate(("x", "y", "z", "change"))]
    count = len(table)
    raw = np.frombuffer(table.tobytes(), dtype=np.uint8)
    return _header(time, "map"), 1, count, fields, False, 16, 16 * count, raw, True
