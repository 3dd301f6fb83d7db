"""MCAP files with ROS 2 messages: what is in them, and one sentence about those that are broken."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.results.export.tables import needed

#: how an MCAP file begins and ends
_MAGIC = b"\x89MCAP0\r\n"
#: what readers raise over bytes that are not what they should be
_BROKEN = (
    ValueError, EOFError, KeyError, IndexError, AssertionError, NotImplementedError, OSError,
    RuntimeError, struct.error,
)  # fmt: skip


@dataclass(frozen=True)
class Topics:
    """Names of the topics that are read; {wheel} stands for a wheel's name."""

    joint_states: str = "/joint_states"
    odom: str = "/odom"
    tf: str = "/tf"
    tf_static: str = "/tf_static"
    terrain: str = "/terrain"
    wrench: str = "/wheel/{wheel}/wrench"
    sinkage: str = "/wheel/{wheel}/sinkage"

    @classmethod
    def of(cls, given: Iterable[str]) -> Topics:
        """From texts like 'odom=/rover/odometry'."""
        names, chosen = [f.name for f in fields(cls)], {}
        for text in given:
            key, mark, topic = text.partition("=")
            if key not in names:
                raise InputError(f"--topic: '{key}' is not read; {suggest(key, names)}")
            if not mark or not topic:
                raise InputError(f"--topic: '{text}' must be NAME=TOPIC, e.g. odom=/rover/odometry")
            if key in ("wrench", "sinkage") and "{wheel}" not in topic:
                raise InputError(f"--topic: '{text}' must hold {{wheel}} for a wheel's name")
            chosen[key] = topic
        return cls(**chosen)


@dataclass
class Bag:
    """What a file holds of the topics asked for: stamps [s] and messages by topic, in order."""

    path: Path
    messages: dict[str, list[tuple[float, Any]]]
    topics: dict[str, str]
    about: dict[str, str] = field(default_factory=dict)

    def all(self, topic: str, kind: str) -> list[tuple[float, Any]]:
        """The messages of a topic, which must be of a kind; none where it is missing."""
        found = self.topics.get(topic)
        if found is not None and found != kind:
            raise InputError(f"{self.path.name}: topic {topic} is of {found}, not of {kind}")
        return self.messages.get(topic, [])


def open_bag(path: str | Path, wanted: Iterable[str] | None = None) -> Bag:
    """Read the topics `wanted` (all) of an MCAP file with ROS 2 messages."""
    needed("mcap", "ros")
    decoding = needed("mcap_ros2.decoder", "ros")
    from mcap.exceptions import McapError
    from mcap.reader import make_reader

    path = Path(path)
    if not path.is_file():
        raise InputError(f"'{path}' does not exist; give an MCAP file")
    _check_ends(path)
    chosen = None if wanted is None else list(wanted)
    try:
        with path.open("rb") as stream:
            reader = make_reader(stream, True, [decoding.DecoderFactory()])
            return _read(reader, path, chosen)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(_broken(path, error)) from None
    except Exception as error:
        # the file's own errors, and those of what unpacks it
        if isinstance(error, McapError) or type(error).__module__.startswith("zstandard"):
            raise InputError(_broken(path, error)) from None
        raise


def _check_ends(path: Path) -> None:
    """One sentence about what is no MCAP file, or not a whole one."""
    content = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(len(_MAGIC))
        stream.seek(max(0, content - len(_MAGIC)))
        end = stream.read()
    if start != _MAGIC:
        raise InputError(f"'{path}' is not an MCAP file: it does not begin like one")
    if end != _MAGIC or content < 2 * len(_MAGIC):
        raise InputError(f"'{path}' is cut off: it has no end; `mcap recover` saves what is there")


def _broken(path: Path, error: Exception) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return f"'{path}' cannot be read as MCAP with ROS 2 messages ({said})"


def _read(reader: Any, path: Path, chosen: list[str] | None) -> Bag:
    summary = reader.get_summary()
    if summary is None:
        raise InputError(_broken(path, ValueError("it has no summary")))
    kinds = {}
    for channel in summary.channels.values():
        schema = summary.schemas.get(channel.schema_id)
        kinds[channel.topic] = (schema.name if schema else "").replace("/msg/", "/")
        if channel.message_encoding != "cdr" and (chosen is None or channel.topic in chosen):
            raise InputError(
                f"'{path}': topic {channel.topic} is encoded as '{channel.message_encoding}'; only "
                "ROS 2 messages (cdr) are read"
            )
    bag = Bag(path, {}, kinds)
    for _, channel, message, decoded in reader.iter_decoded_messages(topics=chosen):
        said = stamp(decoded)
        time = message.log_time * 1e-9 if said is None else said
        bag.messages.setdefault(channel.topic, []).append((time, decoded))
    for record in reader.iter_metadata():
        if record.name == "marsyard":
            bag.about = dict(record.metadata)
    return bag


def stamp(message: Any) -> float | None:
    """The stamp in a message's header [s]; None where it has none or is 0."""
    header = getattr(message, "header", None)
    if header is None:
        return None
    seconds = header.stamp.sec + 1e-9 * header.stamp.nanosec
    return seconds or None


def cloud_points(message: Any) -> np.ndarray:
    """Points x, y, z of a PointCloud2 [m], [n, 3], without those that are not known."""
    codes = {7: "f4", 8: "f8"}
    sign = ">" if message.is_bigendian else "<"
    found = {f.name: f for f in message.fields if f.name in "xyz" and f.datatype in codes}
    if set(found) != set("xyz"):
        raise InputError("the cloud of the ground must have fields x, y, z of floating point")
    kind = np.dtype(
        {
            "names": list("xyz"),
            "formats": [sign + codes[found[a].datatype] for a in "xyz"],
            "offsets": [found[a].offset for a in "xyz"],
            "itemsize": message.point_step,
        }
    )
    table = np.frombuffer(bytes(message.data), dtype=kind)
    points = np.stack([table[a] for a in "xyz"], axis=1).astype(float)
    return points[np.isfinite(points).all(axis=1)]
