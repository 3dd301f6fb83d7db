"""ROS 2 messages: their fields, as the packages of ROS's common interfaces define them.

A type has fields in order, each a type and a name. A type is a builtin one, another message, or
either of them followed by [] (any number) or [9] (so many). Messages are given as tuples in this
order; see `cdr` for how they become bytes.

Sources: the interface files of builtin_interfaces, std_msgs, geometry_msgs, sensor_msgs, nav_msgs
and tf2_msgs (docs.ros.org).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Fields = tuple[tuple[str, str], ...]


def _fields(text: str) -> Fields:
    pairs = (part.split() for part in text.split(","))
    return tuple((kind, name) for kind, name in pairs)


#: fields of every message by its name, PACKAGE/NAME
MESSAGES: dict[str, Fields] = {
    name: _fields(text)
    for name, text in {
        "builtin_interfaces/Time": "int32 sec, uint32 nanosec",
        "std_msgs/Header": "builtin_interfaces/Time stamp, string frame_id",
        "std_msgs/String": "string data",
        "std_msgs/Float64": "float64 data",
        "geometry_msgs/Vector3": "float64 x, float64 y, float64 z",
        "geometry_msgs/Point": "float64 x, float64 y, float64 z",
        "geometry_msgs/Quaternion": "float64 x, float64 y, float64 z, float64 w",
        "geometry_msgs/Transform": "geometry_msgs/Vector3 translation, "
        "geometry_msgs/Quaternion rotation",
        "geometry_msgs/TransformStamped": "std_msgs/Header header, string child_frame_id, "
        "geometry_msgs/Transform transform",
        "geometry_msgs/Pose": "geometry_msgs/Point position, geometry_msgs/Quaternion orientation",
        "geometry_msgs/PoseStamped": "std_msgs/Header header, geometry_msgs/Pose pose",
        "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose, float64[36] covariance",
        "geometry_msgs/Twist": "geometry_msgs/Vector3 linear, geometry_msgs/Vector3 angular",
        "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist, float64[36] covariance",
        "geometry_msgs/Wrench": "geometry_msgs/Vector3 force, geometry_msgs/Vector3 torque",
        "geometry_msgs/WrenchStamped": "std_msgs/Header header, geometry_msgs/Wrench wrench",
        "nav_msgs/Odometry": "std_msgs/Header header, string child_frame_id, "
        "geometry_msgs/PoseWithCovariance pose, geometry_msgs/TwistWithCovariance twist",
        "nav_msgs/Path": "std_msgs/Header header, geometry_msgs/PoseStamped[] poses",
        "sensor_msgs/Imu": "std_msgs/Header header, geometry_msgs/Quaternion orientation, "
        "float64[9] orientation_covariance, geometry_msgs/Vector3 angular_velocity, "
        "float64[9] angular_velocity_covariance, geometry_msgs/Vector3 linear_acceleration, "
        "float64[9] linear_acceleration_covariance",
        "sensor_msgs/JointState": "std_msgs/Header header, string[] name, float64[] position, "
        "float64[] velocity, float64[] effort",
        "sensor_msgs/PointField": "string name, uint32 offset, uint8 datatype, uint32 count",
        "sensor_msgs/PointCloud2": "std_msgs/Header header, uint32 height, uint32 width, "
        "sensor_msgs/PointField[] fields, bool is_bigendian, uint32 point_step, uint32 row_step, "
        "uint8[] data, bool is_dense",
        "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    }.items()
}
#: of sensor_msgs/PointField: a number of 32 bits
FLOAT32 = 7


def schema_name(name: str) -> str:
    """The name as MCAP files have it: PACKAGE/msg/NAME."""
    package, _, own = name.partition("/")
    return f"{package}/msg/{own}"


def topic_names(names: Iterable[str]) -> dict[str, str]:
    """Names as parts of topics may be: letters, digits and _, no digit in front; each another."""
    found: dict[str, str] = {}
    for name in names:
        part = re.sub("[^A-Za-z0-9_]", "_", re.sub("^(?=[0-9])", "_", name))
        while part in found.values():
            part += "_"
        found[name] = part
    return found


def schema_text(name: str) -> str:
    """The definition of a message with all that it holds, as MCAP files carry it (`ros2msg`)."""
    parts = ["\n".join(f"{kind} {field}" for kind, field in MESSAGES[name])]
    for inner in _inside(name):
        lines = "\n".join(f"{kind} {field}" for kind, field in MESSAGES[inner])
        parts.append(f"{'=' * 80}\nMSG: {inner}\n{lines}")
    return "\n".join(parts) + "\n"


def _inside(name: str) -> list[str]:
    """Messages that one holds, at any depth, each once."""
    found: list[str] = []
    for kind, _ in MESSAGES[name]:
        bare = kind.split("[")[0]
        if bare in MESSAGES:
            found += [bare, *_inside(bare)]
    return list(dict.fromkeys(found))
