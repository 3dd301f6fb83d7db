"""Recordings of ROS 2 in MCAP: their content, and error messages for broken ones.

A recording is a file, or a folder as `ros2 bag record` leaves it, with one file or several. Only
the topics asked for are decoded, so that it may hold cameras and whatever else a rover sends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.files import is_file, open_file
from marsyard.files.regular import format_reason
from marsyard.results._extras import needed

#: how an MCAP file begins and ends
_MAGIC = b"\x89MCAP0\r\n"
#: recordings of other kinds: how they begin, what they are
_OTHERS = {b"#ROSBAG V": "a ROS 1 bag", b"SQLite format 3": "a recording in SQLite"}
#: endings of recordings, those that are not read included
_ENDINGS = (".mcap", ".bag", ".db3")
#: how chunks may be compressed
_COMPRESSIONS = ("", "zstd", "lz4")


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
                raise InputError(f"--topic: unknown key '{key}'; {suggest(key, names)}")
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


def is_recording(path: str | Path) -> bool:
    """Whether a path is a recording, by its ending or, of a folder, by what is in it."""
    path = Path(path)
    if path.is_dir():
        return not (path / "results.nc").exists() and any(
            file.suffix in _ENDINGS for file in path.iterdir()
        )
    return path.suffix in _ENDINGS


def open_bag(path: str | Path, wanted: Iterable[str] | None = None) -> Bag:
    """Read the topics `wanted` (all) of a recording; {wheel} in them stands for any name."""
    needed("mcap", "ros")
    decoding = needed("mcap_ros2.decoder", "ros")
    from mcap.reader import make_reader

    path = Path(path)
    chosen = None if wanted is None else list(wanted)
    bag = Bag(path, {}, {})
    for file in _files(path):
        _check_ends(file)
        try:
            with open_file(file, "recording") as stream:
                _read(make_reader(stream, True, [decoding.DecoderFactory()]), file, chosen, bag)
        except InputError:
            raise
        except Exception as error:  # readers raise whatever they meet
            raise InputError(_broken(file, error)) from None
    for messages in bag.messages.values():
        messages.sort(key=lambda row: row[0])
    return bag


def _files(path: Path) -> list[Path]:
    """The files of a recording."""
    if path.is_dir():
        found = sorted(path.glob("*.mcap"))
        # what is not read is refused by its content
        others = sorted(f for f in path.iterdir() if f.suffix in _ENDINGS)
        if not (found or others):
            raise InputError(f"'{path}' has no .mcap file; give a recording of ROS 2")
        return found or others[:1]
    if not is_file(path):
        raise InputError(f"'{path}' does not exist; give an MCAP file")
    return [path]


def _check_ends(path: Path) -> None:
    """One sentence about what is no MCAP file, or not a whole one."""
    with open_file(path, "recording") as stream:
        start = stream.read(16)
        content = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, content - len(_MAGIC)))
        end = stream.read()
    for sign, what in _OTHERS.items():
        if start.startswith(sign):
            source = path.parent if path.suffix == ".db3" else path
            raise InputError(
                f"'{path}' is {what}; convert it to MCAP: pip install rosbags, then "
                f"rosbags-convert "
                f"--src {source} --dst {path.stem}-mcap --dst-storage mcap"
            )
    if not start:
        raise InputError(f"'{path}' is empty")
    if not start.startswith(_MAGIC):
        raise InputError(f"'{path}' is not an MCAP file: its header is wrong")
    if end != _MAGIC or content < 2 * len(_MAGIC):
        raise InputError(f"'{path}' is truncated; `mcap recover` rescues the readable part")


def _broken(path: Path, error: Exception) -> str:
    said = format_reason(error)
    return f"'{path}' cannot be read as MCAP with ROS 2 messages ({said})"


def _read(reader: Any, path: Path, wanted: list[str] | None, bag: Bag) -> None:
    """Add what a file holds to a bag."""
    summary = reader.get_summary()
    if summary is None or (summary.chunk_indexes and not summary.channels):
        problem = "it has no summary of its topics; `mcap recover` writes one"
        raise InputError(_broken(path, ValueError(problem)))
    for index in summary.chunk_indexes:
        if index.compression not in _COMPRESSIONS:
            raise InputError(
                f"'{path}' is compressed by '{index.compression}'; `mcap compress` rewrites it "
                f"with zstd"
                ""
            )
    chosen = []
    for channel in summary.channels.values():
        schema = summary.schemas.get(channel.schema_id)
        bag.topics[channel.topic] = (schema.name if schema else "").replace("/msg/", "/")
        if wanted is None or any(_fits(channel.topic, w) for w in wanted):
            chosen.append(channel.topic)
            _check_encoding(path, channel, schema)
    for _, channel, message, decoded in reader.iter_decoded_messages(topics=chosen):
        said = stamp(decoded)
        time = message.log_time * 1e-9 if said is None else said
        bag.messages.setdefault(channel.topic, []).append((time, decoded))
    for record in reader.iter_metadata():
        if record.name == "marsyard":
            bag.about = dict(record.metadata)


def _fits(topic: str, wanted: str) -> bool:
    """Whether a topic is the one wanted, in which {wheel} stands for any name."""
    parts = (re.escape(part) for part in wanted.split("{wheel}"))
    return re.fullmatch("[^/]+".join(parts), topic) is not None


def _check_encoding(path: Path, channel: Any, schema: Any) -> None:
    for kind, expected in (
        (channel.message_encoding, "cdr"),
        (schema.encoding if schema else "", "ros2msg"),
    ):
        if kind != expected:
            raise InputError(
                f"'{path}': topic {channel.topic} is encoded as '{kind}'; only ROS 2 messages "
                f"({expected}) are read"
            )


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
