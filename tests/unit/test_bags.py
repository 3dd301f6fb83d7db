"""MCAP files: written by marsyard, read by the mcap packages; and recordings read back."""

from __future__ import annotations

import functools
import json
import re
import shutil

import mujoco
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rover_bag import TOPICS, write_rover_bag

from marsyard.analysis import read_wheel_data
from marsyard.errors import InputError
from marsyard.library import FOLDER
from marsyard.results import open_results, save, save_ground
from marsyard.results.bags import Topics, bag_scene, read_bag
from marsyard.results.bags.scene import ground_mesh
from marsyard.results.dataset import record_intervals
from marsyard.results.export import Source, write_bag
from marsyard.results.export.cdr import encode
from marsyard.results.export.foxglove import LAYOUT_NAME, foxglove_layout, topics_of
from marsyard.results.export.messages import MESSAGES, schema_name, schema_text
from marsyard.results.ground_file import ground_of, load_ground
from marsyard.scenario import load_scenario
from marsyard.scenario.scenario import dump
from marsyard.simulation import Simulation


def _run(folder, name, settings):
    """A run's folder without figures and report."""
    simulation = Simulation(load_scenario(name, settings))
    save(simulation.run().dataset(), folder)
    ground = ground_of(simulation)
    if ground is not None:
        save_ground(ground, folder)
    (folder / "scenario.yaml").write_text(dump(simulation.scenario), encoding="utf-8")
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"))
    return folder


@pytest.fixture(scope="module")
def soil(tmp_path_factory):
    """A rover on soft ground, and its file."""
    folder = tmp_path_factory.mktemp("soil")
    settings = {"run.duration": 0.6, "run.record_period": 0.05, "ground.0.spacing": 0.03}
    _run(folder, "exomars/rough", settings)
    return folder, write_bag(Source(folder), folder)[0]


@pytest.fixture(scope="module")
def drop(tmp_path_factory):
    """A rover that falls onto hard ground, and its file."""
    folder = tmp_path_factory.mktemp("drop")
    _run(folder, "rt0448/test-1", {"run.duration": 1.5, "run.record_period": 0.01})
    return folder, write_bag(Source(folder), folder)[0]


@functools.cache
def _by_topic(path):
    found: dict[str, list] = {}
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for _, channel, message, decoded in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, decoded))
    return found


def _xyz(v):
    return np.array([v.x, v.y, v.z])


# --- the file as others read it


def test_the_mcap_reader_finds_all_that_was_recorded(soil):
    folder, path = soil
    ds, topics = open_results(folder), _by_topic(path)
    count = ds.sizes["time"]
    for topic in ("/joint_states", "/odom", "/imu/data", "/tf", "/wheel/FL/wrench"):
        assert len(topics[topic]) == count
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m in topics["/odom"]]
    np.testing.assert_allclose(stamps, ds["time"], atol=1e-9)
    assert [t for t, _ in topics["/odom"]] == [round(1e9 * t) for t in ds["time"].values]
    joints = topics["/joint_states"][-1][1]
    assert joints.name == [str(j) for j in ds["joint"].values]
    np.testing.assert_array_equal(joints.position, ds["joint_angle"][-1])
    np.testing.assert_array_equal(joints.effort, ds["motor_torque"][-1])
    place = topics["/odom"][-1][1].pose.pose.position
    np.testing.assert_array_equal(_xyz(place), ds["position_base"][-1])
    # in the file, too, they stand in the order of time
    with path.open("rb") as stream:
        order = [m.log_time for _, _, m in make_reader(stream).iter_messages(log_time_order=False)]
    assert order == sorted(order)


def test_the_file_is_of_the_ros2_profile_and_says_its_quality_of_service(soil):
    with soil[1].open("rb") as stream:
        reader = make_reader(stream)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        kinds = {s.name: s for s in summary.schemas.values()}
        assert kinds["sensor_msgs/msg/JointState"].encoding == "ros2msg"
        for channel in summary.channels.values():
            kept = channel.topic in ("/tf_static", "/robot_description", "/terrain", "/path")
            durability = "durability: 1" if kept else "durability: 2"
            assert channel.message_encoding == "cdr"
            assert durability in channel.metadata["offered_qos_profiles"]
        assert {c.compression for c in summary.chunk_indexes} == {"zstd"}
        assert {a.name for a in reader.iter_attachments()} == {"scenario.yaml", "robot.urdf"}
        # without this rosbag2 of Jazzy takes the numbers for words that it does not know
        own = {m.name: m.metadata for m in reader.iter_metadata()}
        assert own["rosbag2"]["serialized_metadata"] == ""


def test_frames_chain_up_to_where_the_wheels_are(soil):
    folder, path = soil
    ds, topics = open_results(folder), _by_topic(path)
    pairs = {t.child_frame_id: t for t in topics["/tf_static"][0][1].transforms}
    pairs |= {t.child_frame_id: t for t in topics["/tf"][-1][1].transforms}
    for w, wheel in enumerate(ds["wheel"].values):
        point, frame, depth = np.zeros(3), f"wheel_{wheel}_hub", 0
        while frame != "map":
            t = pairs[frame]
            turn = np.zeros(9)
            q = t.transform.rotation
            mujoco.mju_quat2Mat(turn, np.array([q.w, q.x, q.y, q.z]))
            point = turn.reshape(3, 3) @ point + _xyz(t.transform.translation)
            frame, depth = t.header.frame_id, depth + 1
            assert depth < 20
        np.testing.assert_allclose(point, ds["wheel_position"][-1, w], atol=1e-12)


def test_wrenches_carry_the_rover(soil):
    folder, path = soil
    ds = open_results(folder)
    back = read_bag(path)
    np.testing.assert_allclose(back["wheel_load"], ds["wheel_load"], atol=1e-9)
    total = float(back["wheel_load"][-6:].sum("wheel").mean())
    assert total == pytest.approx(ds.attrs["weight"], rel=0.05)


def test_the_terrain_is_a_cloud_that_shows_ruts(soil):
    clouds = [m for _, m in _by_topic(soil[1])["/terrain"]]
    tables = [np.frombuffer(bytes(m.data), dtype="<f4").reshape(-1, 4) for m in clouds]
    assert [f.name for f in clouds[0].fields] == ["x", "y", "z", "change"]
    assert clouds[0].width == len(tables[0]) > 1000 and clouds[0].point_step == 16
    assert len(tables) > 1 and tables[-1][:, 3].min() < -1e-3
    # a rut is below the undisturbed surface by its change, up to four bytes' rounding
    before, after = (t[:, 2] - t[:, 3] for t in (tables[0], tables[-1]))
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_path_lies_on_the_ground(soil, tmp_path):
    source = Source(soil[0])
    points = np.column_stack([np.linspace(0, 1, 21), np.full(21, 0.3)])
    source.ds = source.ds.assign(
        path=(("point", "plane"), points), path_command=("point", np.zeros(21, dtype=int))
    )
    poses = _by_topic(write_bag(source, tmp_path)[0])["/path"][0][1].poses
    place = np.array([_xyz(p.pose.position) for p in poses])
    np.testing.assert_array_equal(place[:, :2], points)
    base, change = load_ground(soil[0]).sample(*points.T)
    assert np.abs(base + change).min() > 0.1  # far from 0, where it was
    np.testing.assert_allclose(place[:, 2], base + change, atol=0.011)


def test_an_imu_falls_then_rests(drop):
    readings = [m for _, m in _by_topic(drop[1])["/imu/data"]]
    felt = np.array([_xyz(m.linear_acceleration) for m in readings])
    g = float(open_results(drop[0]).attrs["gravity"])
    np.testing.assert_allclose(felt[1:5], 0, atol=1e-9)  # it begins in the air
    np.testing.assert_allclose(felt[-5:], np.tile([0, 0, g], (5, 1)), atol=0.05)
    assert felt[:, 2].max() > 2 * g  # and hits the ground in between


def test_hard_ground_and_its_moments(drop):
    folder, path = drop
    topics, ds = _by_topic(path), open_results(folder)
    cloud = topics["/terrain"][0][1]
    points = np.frombuffer(bytes(cloud.data), dtype="<f4").reshape(-1, 4)
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-6)
    wheel = str(ds["wheel"].values[0])
    last = topics[f"/wheel/{wheel}/wrench"][-1][1]
    assert last.header.frame_id == f"wheel_{wheel}_hub"
    force = ds["contact_impulse_world"][-1, 0] / ds.attrs["record_period"]
    assert np.linalg.norm(_xyz(last.wrench.force)) == pytest.approx(
        float(np.linalg.norm(force)), rel=1e-9
    )
    assert np.isfinite(_xyz(last.wrench.torque)).all()


@pytest.mark.parametrize("kind", sorted(MESSAGES))
def test_every_message_is_decoded_by_the_other_side(kind, tmp_path):
    """Bytes are those that mcap-ros2-support writes for the same message."""
    from mcap_ros2.writer import serialize_dynamic

    numbers = iter(range(1, 1000))

    def fill(name):
        out = []
        for type_, _ in MESSAGES[name]:
            bare, bracket, count = type_.partition("[")
            times = 1 if not bracket else 3 if count == "]" else int(count[:-1])
            values = [one(bare) for _ in range(times)]
            out.append(values if bracket else values[0])
        return tuple(out)

    def one(bare):
        if bare in MESSAGES:
            return fill(bare)
        number = next(numbers)
        texts = {"string": f"text{number}", "bool": True, "float64": number + 0.25}
        return texts.get(bare, number % 200)

    def named(name, message):
        out = {}
        for (type_, field), value in zip(MESSAGES[name], message, strict=True):
            bare, bracket, _ = type_.partition("[")
            if bare in MESSAGES:
                value = [named(bare, v) for v in value] if bracket else named(bare, value)
            out[field] = value
        return out

    message = fill(kind)
    write = serialize_dynamic(schema_name(kind), schema_text(kind))[schema_name(kind)]
    assert encode(kind, message) == write(named(kind, message))


# --- recordings read back


def test_a_recording_gives_back_the_run(soil):
    folder, path = soil
    ds = open_results(folder)
    for robot in (None, "exomars"):
        back = read_bag(path, robot)
        for name in back.data_vars:
            if name in ds:
                expected = ds[name].values
                np.testing.assert_allclose(
                    back[name].transpose(*ds[name].dims).values, expected, atol=1e-9, err_msg=name
                )
    assert {"slip_ratio", "wheel_load", "driving_torque", "drawbar_pull_level"} <= set(
        back.data_vars
    )


def test_identification_takes_a_recording_like_a_run(soil):
    folder, path = soil
    a = read_wheel_data(folder, window=0.23)
    b = read_wheel_data(path, window=0.23)
    for key in ("slip", "load", "radius", "slip_angle"):
        np.testing.assert_allclose(getattr(b, key), getattr(a, key), atol=1e-9)
    for name, values in a.measured.items():
        np.testing.assert_allclose(b.measured[name], values, atol=1e-9)


def test_a_recording_is_shown_on_its_ground(soil):
    scene = bag_scene(soil[1])
    ds = open_results(soil[0])
    np.testing.assert_allclose(scene.base, ds["position_base"], atol=1e-12)
    # with the forces of the run, below the wheels
    impulse = ds["contact_impulse_world"] / record_intervals(ds)
    force = impulse.transpose("time", "wheel", "axis").values
    np.testing.assert_allclose(scene.contact_force, force, atol=1e-8)
    depth = ds["wheel_position"].sel(axis="z").values - scene.contact_point[..., 2]
    np.testing.assert_allclose(depth, 0.1425 + 0.008, atol=0.01)
    ground = scene.ground[0]
    assert len(ground.triangles) > 1000
    # its triangles cover the rectangle around the track, once
    edge = ground.vertices[ground.triangles][..., :2]
    u, v = edge[:, 1] - edge[:, 0], edge[:, 2] - edge[:, 0]
    area = 0.5 * np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum()
    low, high = ground.vertices.min(axis=0), ground.vertices.max(axis=0)
    assert area == pytest.approx(np.prod((high - low)[:2]), rel=1e-3)


def test_large_clouds_are_thinned_for_the_view():
    x, y = np.meshgrid(np.arange(400) * 0.05, np.arange(300) * 0.05)
    points = np.column_stack([x.ravel(), y.ravel(), np.sin(x).ravel()])
    mesh = ground_mesh(points)[0]
    assert 5_000 < len(mesh.vertices) < 30_000
    assert np.abs(mesh.vertices[:, 2] - np.sin(mesh.vertices[:, 0])).max() == 0
    assert ground_mesh(points[:2]) == [] == ground_mesh(None)
    assert ground_mesh(points[:50]) == []  # on one line


def test_wheels_and_bases_of_any_name_are_written_as_ros_wants_them(tmp_path):
    robot = tmp_path / "own"
    shutil.copytree(FOLDER / "rovers" / "vehicle_2001", robot)
    text = (robot / "robot.yaml").read_text(encoding="utf-8")
    for old, new in (("FL", "vorne links é"), ("FR", "2"), ("RL", "a-b"), ("RR", "a_b")):
        text = text.replace(f"  {old}: ", f'  "{new}": ')
    # and a base as most robots of ROS call it
    text = text.replace("base: Chassis", "base: base_link")
    (robot / "robot.yaml").write_text(text, encoding="utf-8")
    model = (robot / "robot.xml").read_text(encoding="utf-8")
    (robot / "robot.xml").write_text(model.replace('"Chassis"', '"base_link"'), encoding="utf-8")
    settings = {"robot.name": str(robot / "robot.yaml"), "run.duration": 0.04}
    path = write_bag(Source(_run(tmp_path / "run", "vehicle2001/slope", settings)), tmp_path)[0]
    parts = {t.split("/")[2] for t in _by_topic(path) if t.startswith("/wheel")}
    assert parts == {"vorne_links__", "_2", "a_b", "a_b_"}
    tree = [
        (t.child_frame_id, t.header.frame_id)
        for topic in ("/tf_static", "/tf")
        for t in _by_topic(path)[topic][0][1].transforms
    ]
    assert len(dict(tree)) == len(tree) and dict(tree)["base_link"] == "odom"
    ds = read_bag(path)
    assert list(ds["wheel"].values) == ["vorne links é", "2", "a-b", "a_b"]
    assert np.isfinite(ds["wheel_load"]).all()
    # the robot's file is gone
    shutil.rmtree(robot)
    with pytest.raises(InputError, match="its robot '.*own.robot.yaml' cannot be found here"):
        read_bag(path)


def test_a_run_without_a_finite_record_is_refused(drop, tmp_path):
    shutil.copytree(drop[0], tmp_path / "lost")
    ds = open_results(drop[0])
    save(ds.assign(coordinates=ds["coordinates"] * np.nan), tmp_path / "lost")
    with pytest.raises(InputError, match="no record with finite coordinates"):
        write_bag(Source(tmp_path / "lost"), tmp_path)
    assert not list(tmp_path.glob("*.mcap*"))


@pytest.fixture()
def foreign(tmp_path):
    return write_rover_bag(tmp_path / "rover.mcap")


def test_a_foreign_recording_by_named_topics(foreign):
    back = read_bag(foreign, "exomars", Topics.of(TOPICS))
    wheel = back.sel(wheel="FL")
    np.testing.assert_allclose(wheel["slip_ratio"], 0.2, atol=1e-6)
    # x and y of the sensor point to the left and backwards
    np.testing.assert_allclose(wheel["drawbar_pull_level"], 20.0, atol=1e-9)
    np.testing.assert_allclose(wheel["side_force_level"], 3.0, atol=1e-9)
    np.testing.assert_allclose(wheel["wheel_load"], 150.0, atol=1e-9)
    assert float(back["time"][0]) == 0.0 and float(back["time"][-1]) == pytest.approx(2.0)
    data = read_wheel_data(foreign, robot="exomars", topics=TOPICS, window=0.5)
    np.testing.assert_allclose(data.slip, 0.2, atol=1e-6)
    assert any("joints missing in the file" in note for note in data.notes)


def test_mistakes_are_one_sentence(foreign, soil, tmp_path):
    def says(text, path=foreign, robot="exomars", topics=TOPICS):
        with pytest.raises(InputError, match=text):
            read_bag(path, robot, Topics.of(topics))

    says("name its robot with --robot NAME", robot=None)
    says("neither odometry on /odom .*did you mean '/rover/odometry'", topics=TOPICS[1:])
    says("no joint of /rover/joints belongs to the robot", robot="hexapod")
    says("topic /rover/joints is of sensor_msgs/JointState, not of nav_msgs/Odometry",
         topics=("odom=/rover/joints",))  # fmt: skip
    says("unknown key 'odo'; did you mean 'odom'", topics=("odo=/x",))
    says("must hold {wheel}", topics=("wrench=/ft",))
    with pytest.raises(InputError, match="no wheel has a wrench"):
        read_wheel_data(foreign, robot="exomars", topics=TOPICS[:2])
    with pytest.raises(InputError, match="only apply to recordings"):
        read_wheel_data(tmp_path / "a.csv", robot="exomars")
    whole = soil[1].read_bytes()
    cut, other = tmp_path / "cut.mcap", tmp_path / "other.mcap"
    for size in (12, 1000, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:size])
        says("is truncated", cut)
    other.write_bytes(b"PK\x03\x04 not this")
    says("not an MCAP file", other)
    says("does not exist", tmp_path / "no.mcap")
    spoilt = bytearray(whole)
    middle = len(whole) // 2
    spoilt[middle : middle + 400] = bytes(400)
    other.write_bytes(bytes(spoilt))
    says("cannot be read as MCAP", other)


def test_nothing_half_written_is_left(drop, tmp_path, monkeypatch):
    from marsyard.results.export import bag

    def fail(*_):
        raise RuntimeError("stopped")

    monkeypatch.setattr(bag, "_attachments", fail)
    with pytest.raises(RuntimeError, match="stopped"):
        write_bag(Source(drop[0]), tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- the layout of Foxglove


def _at(message, path):
    """What a path of Foxglove finds in a message: .field and [index]."""
    for part in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        field, index = part
        message = getattr(message, field) if field else message[int(index)]
    return message


@pytest.mark.parametrize("which", ["soil", "drop"])
def test_the_layout_names_only_what_is_in_the_file(request, which):
    folder, file = request.getfixturevalue(which)
    layout = json.loads((folder / LAYOUT_NAME).read_text())
    with file.open("rb") as stream:
        messages = {}
        for _, channel, _, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            messages[channel.topic] = message  # the last of each
    topics = topics_of(layout)
    assert topics and topics <= set(messages)
    assert {"/robot_description", "/terrain"} & topics == (
        {"/robot_description", "/terrain"} & set(messages)
    )
    frames = {t.child_frame_id for t in [*messages["/tf"].transforms]}
    assert layout["configById"]["3D!scene"]["followTf"] in frames | {"base_link"}
    lines = [p for panel in layout["configById"].values() for p in panel.get("paths", ())]
    assert len(lines) >= 6
    for line in lines:
        topic, _, path = line["value"].partition(".")
        value = _at(messages[topic], f".{path}")
        assert isinstance(value, float), line["value"]
    if which == "soil":
        points = messages["/terrain"].fields
        assert layout["configById"]["3D!scene"]["topics"]["/terrain"]["colorField"] in {
            f.name for f in points
        }
        assert "Plot!sinkage" in layout["configById"]
    else:
        assert "Plot!sinkage" not in layout["configById"]
    # every panel has its place, once
    assert sorted(_places(layout["layout"])) == sorted(layout["configById"])


def _places(layout):
    if isinstance(layout, str):
        return [layout]
    assert 0 < layout["splitPercentage"] < 100 and layout["direction"] in ("row", "column")
    return [*_places(layout["first"]), *_places(layout["second"])]


def test_the_torques_of_the_layout_are_those_of_the_motors(soil):
    folder, _ = soil
    layout = json.loads((folder / LAYOUT_NAME).read_text())
    joints = [str(j) for j in open_results(folder)["joint"].values]
    drives = Source(folder).robot.roles["drives"]
    lines = layout["configById"]["Plot!torque"]["paths"]
    assert {line["label"] for line in lines} == set(drives)
    for line in lines:
        assert joints[int(re.search(r"\[(\d+)\]", line["value"]).group(1))] == line["label"]


def test_a_rover_that_has_little_gets_a_layout_all_the_same():
    layout = foxglove_layout({"/tf"}, [], {})
    assert layout["layout"] == "3D!scene" and topics_of(layout) == set()
    odd = foxglove_layout({"/wheel/front_left/slip_ratio"}, ["front left"], {})
    assert topics_of(odd) == {"/wheel/front_left/slip_ratio"}
