"""A bag as a rover's own software might write it, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from mcap_ros2.writer import Writer

from marsyard.results.export.messages import schema_name, schema_text

#: the topics of it
TOPICS = ("odom=/rover/odometry", "joint_states=/rover/joints", "wrench=/ft/{wheel}")
START, RATE, RADIUS = 1_790_000_000.0, 0.5, 0.1425 + 0.008
KINDS = (
    "nav_msgs/Odometry", "sensor_msgs/JointState", "geometry_msgs/WrenchStamped",
    "tf2_msgs/TFMessage",
)  # fmt: skip


def write_rover_bag(
    path: Path,
    moments: Iterable[int] = range(41),
    joint: str = "FLWheel_y",
    velocities: bool = True,
    more: Callable[[Any], None] | None = None,
) -> Path:
    """Other topics than ours, stamps of this year, no velocities of joints, a sensor's frame of its
    own, a slip of 0.2; written by mcap-ros2-support. `more` adds to the file, given its writer."""
    with path.open("wb") as stream, Writer(stream) as writer:
        kinds = {n: writer.register_msgdef(schema_name(n), schema_text(n)) for n in KINDS}

        def put(topic: str, kind: str, time: float, message: dict[str, Any]) -> None:
            writer.write_message(topic, kinds[kind], message, log_time=round(1e9 * time))

        # the sensor is turned by a quarter about z: its y is the wheel's heading... backwards
        half = np.sqrt(0.5)
        turned = {"rotation": {"x": 0.0, "y": 0.0, "z": half, "w": half}}
        fixed = {"header": _header(START, "FLSteering"), "child_frame_id": "ft_FL",
                 "transform": turned}  # fmt: skip
        put("/tf_static", "tf2_msgs/TFMessage", START, {"transforms": [fixed]})
        speed = 0.8 * RATE * RADIUS
        for k in moments:
            t = START + 0.05 * k
            pose = {"position": {"x": speed * (t - START), "y": 0.0, "z": 0.4},
                    "orientation": {"w": 1.0}}  # fmt: skip
            twist = {"linear": {"x": speed if velocities else 0.0}}
            put("/rover/odometry", "nav_msgs/Odometry", t,
                {"header": _header(t, "odom"), "child_frame_id": "base_link",
                 "pose": {"pose": pose}, "twist": {"twist": twist}})  # fmt: skip
            put("/rover/joints", "sensor_msgs/JointState", t,
                {"header": _header(t, ""), "name": [joint, "mast_pan"],
                 "position": [RATE * (t - START), 0.3]})  # fmt: skip
            wrench = {"force": {"x": 3.0, "y": -20.0, "z": 150.0}}
            put("/ft/FL", "geometry_msgs/WrenchStamped", t,
                {"header": _header(t, "ft_FL"), "wrench": wrench})  # fmt: skip
        if more is not None:
            more(writer._writer)
    return path


def _header(time: float, frame: str) -> dict[str, Any]:
    whole = int(time)
    return {"stamp": {"sec": whole, "nanosec": round(1e9 * (time - whole))}, "frame_id": frame}
