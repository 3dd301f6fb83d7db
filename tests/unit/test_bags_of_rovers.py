"""Recordings as rovers leave them: folders, other topics beside ours, other kinds of files."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from mcap.writer import Writer
from rover_bag import TOPICS, write_rover_bag

from marsyard.analysis import read_wheel_data
from marsyard.errors import InputError
from marsyard.results.bags import Topics, is_recording, open_bag, read_bag

CHOSEN = Topics.of(TOPICS)


def test_a_folder_of_ros2_bag_is_read_whole(tmp_path):
    one = read_bag(write_rover_bag(tmp_path / "one.mcap"), "exomars", CHOSEN)
    folder = tmp_path / "drive"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    # split, and named so that their order by name is not that in time
    write_rover_bag(folder / "drive_9.mcap", range(20))
    write_rover_bag(folder / "drive_10.mcap", range(20, 41))
    assert is_recording(folder)
    split = read_bag(folder, "exomars", CHOSEN)
    for name in ("time", "position_base", "joint_angle", "wheel_load"):
        np.testing.assert_array_equal(split[name], one[name], err_msg=name)
    np.testing.assert_allclose(split["slip_ratio"].sel(wheel="FL"), 0.2, atol=1e-6)
    data = read_wheel_data(folder, robot="exomars", topics=TOPICS, window=0.5)
    np.testing.assert_allclose(data.slip, 0.2, atol=1e-6)


def _others(writer):
    """Topics that nobody here can decode."""
    image = writer.register_schema("foxglove.Image", "protobuf", b"\x00\x01")
    camera = writer.register_channel("/camera", "protobuf", image)
    odd = writer.register_schema("own/msg/Odd", "ros2msg", b"wstring<=3 x = (((")
    log = writer.register_channel("/log", "json", 0)
    strange = writer.register_channel("/strange", "cdr", odd)
    for channel in (camera, log, strange):
        writer.add_message(channel, 1_790_000_001_000_000_000, b"\x00\x01\x00\x00", 0)


def test_topics_that_are_not_asked_for_may_be_anything(tmp_path):
    path = write_rover_bag(tmp_path / "rover.mcap", more=_others)
    read_bag(path, "exomars", CHOSEN)
    bag = open_bag(path, ["/rover/odometry", "/ft/{wheel}"])
    assert set(bag.messages) == {"/rover/odometry", "/ft/FL"}
    for topic, said in (("/camera", "'protobuf'"), ("/strange", "cannot be read as MCAP")):
        with pytest.raises(InputError, match=said):
            read_bag(path, "exomars", Topics(odom=topic))


def test_what_was_not_recorded_is_not_made_up(tmp_path):
    still = write_rover_bag(tmp_path / "still.mcap", velocities=False)
    ds = read_bag(still, "exomars", CHOSEN)
    np.testing.assert_allclose(ds["slip_ratio"].sel(wheel="FL"), 0.2, atol=1e-6)
    assert "no velocities" in ds.attrs["notes"]
    # a wheel whose joint is not there has no slip, rather than one of -1
    assert np.isnan(ds["slip_ratio"].sel(wheel="FR")).all()
    other = write_rover_bag(tmp_path / "other.mcap", joint="FLSteering_z")
    with pytest.raises(InputError, match="no wheel's joint is in /rover/joints"):
        read_wheel_data(other, robot="exomars", topics=TOPICS)


def test_other_kinds_of_recordings_say_how_to_make_mcap_of_them(tmp_path):
    def says(path, text):
        assert is_recording(path)
        with pytest.raises(InputError, match=text):
            open_bag(path)

    old = tmp_path / "drive.bag"
    old.write_bytes(b"#ROSBAG V2.0\n" + bytes(50))
    says(old, "a ROS 1 bag; .*rosbags-convert --src .*drive.bag --dst drive-mcap")
    folder = tmp_path / "sql"
    folder.mkdir()
    with sqlite3.connect(folder / "sql_0.db3") as data:
        data.execute("create table messages (id integer)")
    says(folder, r"SQLite; .*rosbags-convert --src \S*sql --dst")
    (tmp_path / "nothing.mcap").write_bytes(b"")
    says(tmp_path / "nothing.mcap", "is empty")
    for name, said in (("brotli", "compressed by 'brot'"), ("bare", "no summary of its topics")):
        path = tmp_path / f"{name}.mcap"
        with path.open("wb") as stream:
            writer = Writer(stream, repeat_channels=name != "bare", enable_crcs=False)
            writer.start(profile="ros2")
            channel = writer.register_channel("/log", "json", 0)
            writer.add_message(channel, 0, bytes(200), 0)
            writer.finish()
        if name == "brotli":
            path.write_bytes(path.read_bytes().replace(b"\4\0\0\0zstd", b"\4\0\0\0brot"))
        says(path, said)
    assert not is_recording(tmp_path / "none")
