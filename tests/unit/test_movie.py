"""Movies: cameras, interpolation, what is drawn, what is written into it, files."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from PIL import Image
from synthetic import HUBS, RADIUS, WHEELS, XML, Slope, dataset, ground_data, soil_dataset

from marsyard.errors import InputError
from marsyard.ground import Plane
from marsyard.results import Ground
from marsyard.results.movie import graphics, movie
from marsyard.results.movie.camera import FIELD_OF_VIEW, PRESETS, Subject, headings, smooth, views
from marsyard.results.movie.encode import check_target, gif_durations, open_writer, write_picture
from marsyard.results.movie.graphics import picture_size
from marsyard.results.movie.movie import Shot, _speed, frame_times
from marsyard.results.movie.overlay import Legend, Overlay, force_words, time_stamp
from marsyard.results.movie.ruts import Ruts, rim_heights
from marsyard.results.movie.stage import Stage
from marsyard.results.movie.take import Roll, Take
from marsyard.results.replay import build_scene, ground_meshes

SMALL = (320, 180)


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(XML)


@pytest.fixture(scope="module")
def ds():
    return dataset()


@pytest.fixture(scope="module")
def take(model, ds):
    scene = build_scene(model, ds, ground_meshes([Plane.horizontal()], ds))
    return Take(scene, model, ds)


# --- cameras


def _steady(count=101, speed=0.01):
    centre = np.zeros((count, 3))
    centre[:, 0] = speed * np.arange(count)
    return Subject(centre, np.full(count, 0.3), 0.5)


def test_every_camera_sees_the_whole_robot():
    for name in PRESETS:
        for view in views(name, _steady(), 25.0):
            assert np.linalg.norm(view.eye - view.target) == pytest.approx(view.distance)
            half = math.asin(0.5 / view.distance)
            if name != "wheel":
                assert half < FIELD_OF_VIEW / 2, name


def test_the_following_camera_keeps_its_place_beside_the_robot():
    subject = _steady()
    eyes = np.array([v.eye for v in views("follow", subject, 25.0)]) - subject.centre
    assert np.allclose(eyes, eyes[0], atol=1e-12)
    # from behind and the right, above
    back, left = (eyes[0] @ [math.cos(a), math.sin(a), 0.0] for a in (0.3, 0.3 + math.pi / 2))
    assert back < 0 and left < 0 and eyes[0, 2] > 0


def test_the_orbit_goes_round_once():
    angles = np.unwrap([v.azimuth for v in views("orbit", _steady(100), 25.0)])
    assert np.allclose(np.diff(angles), 2 * math.pi / 100)


def test_a_fixed_camera_stays_and_sees_the_whole_drive():
    subject = _steady(101, speed=0.1)  # 10 m, twenty times the robot's radius
    seen = views("fixed", subject, 25.0)
    assert {tuple(v.eye) for v in seen} == {tuple(seen[0].eye)}
    for centre in (subject.centre[0], subject.centre[-1]):
        out = subject.radius / (np.linalg.norm(centre - seen[0].eye) - subject.radius)
        pixels = seen[0].project(centre, (1280, 720))[0]
        assert np.all(pixels > 0) and np.all(pixels < (1280, 720))
        assert math.atan(out) < FIELD_OF_VIEW / 2


def test_the_view_from_above_has_the_heading_up():
    view = views("top", _steady(), 25.0)[0]
    assert view.direction[2] == pytest.approx(-1.0, abs=1e-5)
    assert view.azimuth == pytest.approx(0.3)


def test_a_left_wheel_is_seen_from_the_left():
    right = views("wheel", _steady(), 25.0)[0]
    subject = _steady()
    left = views("wheel", Subject(subject.centre, subject.heading, 0.5, left=True), 25.0)[0]
    across = np.array([-math.sin(0.3), math.cos(0.3), 0.0])
    assert (right.eye - right.target) @ across < 0 < (left.eye - left.target) @ across


def test_given_angles_and_distance_replace_the_presets():
    view = views("follow", _steady(), 25.0, azimuth=1.0, elevation=-0.5, distance=7.0)[0]
    assert (view.azimuth, view.elevation, view.distance) == pytest.approx((1.3, -0.5, 7.0))


def test_unknown_cameras_are_refused():
    with pytest.raises(InputError, match="follow"):
        views("folow", _steady(), 25.0)


def test_smoothing_keeps_steady_motion_and_calms_jolts():
    line = np.linspace(2.0, 5.0, 60)
    assert np.allclose(smooth(line, 10), line, atol=1e-12)
    noise = np.random.default_rng(1).normal(size=400)
    assert smooth(noise, 25).std() < 0.3 * noise.std()


def test_headings_hold_while_the_robot_points_up():
    forward = np.array([[1.0, 0, 0], [0, 0.01, 1.0], [0, 0, 1.0], [math.cos(2), math.sin(2), 0]])
    assert np.allclose(headings(forward), [0, 2 / 3, 4 / 3, 2])


def test_a_view_sees_what_is_in_front_of_it():
    view = views("side", _steady(), 25.0)[0]
    along, side = view.direction, np.cross(view.direction, [0.0, 0.0, 1.0])
    balls = np.array([view.eye + 3 * along, view.eye - 3 * along, view.eye + 3 * along + 30 * side])
    assert view.sees(balls, np.full(3, 0.5), 1.78).tolist() == [True, False, False]
    # balls around the camera are seen whatever their direction
    assert view.sees(balls[1:2], np.array([3.1]), 1.78).all()


# --- the run at any time


def test_poses_at_the_records_are_the_recorded_ones(take, ds):
    for record in (0, 300, 900, len(ds.time) - 1):
        position, quaternion = take.poses(float(ds.time[record]))
        assert np.allclose(position, take.scene.position[record], atol=1e-12)
        alike = np.abs((quaternion * take.scene.quaternion[record]).sum(axis=1))
        assert np.allclose(alike, 1.0, atol=1e-12)


def test_between_records_places_are_linear_and_attitudes_turn_evenly(take, model, ds):
    k, part = 900, 0.3
    before, after = (ds.coordinates.values[k + i].copy() for i in (0, 1))
    yaw = [2 * math.atan2(q[6], q[3]) for q in (before, after)]
    q = take.coordinates_at(float(ds.time[k] + part * (ds.time[k + 1] - ds.time[k])))
    assert np.allclose(q[:3], (1 - part) * before[:3] + part * after[:3], atol=1e-12)
    assert np.allclose(q[7:], (1 - part) * before[7:] + part * after[7:], atol=1e-12)
    assert 2 * math.atan2(q[6], q[3]) == pytest.approx(yaw[0] + part * (yaw[1] - yaw[0]))


def test_forces_act_where_the_wheels_touch(take, ds):
    point, force = take.forces(0.2)
    assert len(point) == len(force) == 0  # still falling
    point, force = take.forces(float(ds.time[-1]))
    assert np.allclose(point, ds.contact_point.values[-1])
    assert force[:, 2].sum() == pytest.approx(120 * 3.7, rel=1e-6)


def test_forces_of_feet_are_found_where_they_are_recorded(model, ds):
    point, force = np.zeros((len(ds.time), 2, 3)), np.ones((len(ds.time), 2, 3))
    force[:, 1] = np.nan
    dims = ("time", "foot", "axis")
    more = ds.assign(foot_position=(dims, point), foot_force=(dims, force))
    take = Take(build_scene(model, more), model, more)
    assert np.allclose(take.forces(0.2)[1], [[1.0, 1.0, 1.0]])  # the second foot has none


def test_the_camera_finds_the_wheel(model, ds):
    hubs = ds.position_base.values[0] + HUBS
    full = ds.assign(
        wheel_position=(("time", "wheel", "axis"), np.repeat(hubs[None], len(ds.time), axis=0))
    )
    take = Take(build_scene(model, full), model, full)
    for name in WHEELS:
        subject = take.wheel(take.time[:1], name)
        assert np.allclose(subject.centre[0], hubs[WHEELS.index(name)])
        assert subject.left == name.endswith("L")
        assert RADIUS <= subject.radius < 1.2 * RADIUS
    assert np.allclose(take.wheel(take.time[:1]).centre[0], hubs[WHEELS.index("FR")])
    with pytest.raises(InputError, match="FL"):
        take.wheel(take.time[:1], "F1")


def test_the_camera_finds_a_body(take):
    name = take.scene.bodies[-1]
    subject = take.body(take.time[:2], name)
    position = take.poses(take.time[1])[0][-1]
    assert np.linalg.norm(subject.centre[1] - position) < subject.radius
    assert 0 < subject.radius < take.radius
    with pytest.raises(InputError, match=name):
        take.body(take.time[:1], name + "x")


def test_what_has_no_ground_is_shown_in_space(model, ds):
    floating = Take(build_scene(model, ds), model, ds)
    assert floating.scene.floats
    view = views("side", floating.robot(floating.time[:1]), 25.0)[0]
    with Stage(floating, (160, 90)) as stage:
        dark = stage.picture(floating.time[0], view)
    assert np.median(dark[:8]) < 40  # the upper edge, above the robot


# --- pictures


def _red(picture):
    """Rows and columns of the arrows' pixels."""
    r, g, b = np.moveaxis(picture.astype(int), -1, 0)
    return np.nonzero((r > 150) & (g < 90) & (b < 110))


def _projected(points, view, size):
    """Columns and rows of points [m] in a picture, by central projection."""
    right = np.cross(view.direction, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, view.direction)
    to = points - view.eye
    scale = size[1] / 2 / math.tan(FIELD_OF_VIEW / 2) / (to @ view.direction)
    return size[0] / 2 + scale * (to @ right), size[1] / 2 - scale * (to @ up)


def _far_away(take, monkeypatch):
    """From now on the robot stands where it is not seen."""
    known = take.poses
    away = np.array([500.0, 0.0, 0.0])
    monkeypatch.setattr(take, "poses", lambda time: (known(time)[0] + away, known(time)[1]))


def test_the_robot_is_drawn_where_it_was(take, monkeypatch):
    time = float(take.time[-1])
    view = views("side", take.robot(np.array([time])), 25.0)[0]
    position, quaternion = take.poses(time)
    points = []
    for b, parts in enumerate(take.scene.shapes):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, quaternion[b])
        points += [position[b] + part.vertices @ turn.reshape(3, 3).T for part in parts]
    column, row = _projected(np.concatenate(points), view, SMALL)
    with Stage(take, SMALL) as stage:
        there = stage.picture(time, view).astype(int)
        _far_away(take, monkeypatch)
        gone = stage.picture(time, view).astype(int)
    changed = np.abs(there - gone).sum(axis=2) > 24
    rows, _ = np.nonzero(changed)
    assert rows.min() == pytest.approx(row.min(), abs=2)
    assert column.min() > 0 and column.max() < SMALL[0] and row.max() < SMALL[1]
    assert changed[row.astype(int), column.astype(int)].mean() > 0.9


def test_arrows_are_as_long_as_the_forces(take):
    """The highest red pixel is the tip of an arrow, where perspective puts it."""
    time = float(take.time[-1])
    view = views("side", take.robot(np.array([time])), 25.0, elevation=0.0)[0]
    point, force = take.forces(time)
    size = (640, 360)
    for scale in (0.004, 0.008):
        with Stage(take, size, force_scale=scale) as stage:
            rows, _ = _red(stage.picture(time, view))
        _, row = _projected(point + scale * force, view, size)
        assert rows.min() == pytest.approx(row.min(), abs=4)


def test_ruts_appear_when_the_wheels_have_passed(model, monkeypatch):
    ds = soil_dataset()
    ground = Ground(ground_data(ds), terrain=Slope())
    take = Take(build_scene(model, ds, soil=ground), model, ds, ground.terrain)
    soil = take.scene.soil
    xmin, xmax, ymin, ymax = ground.bounds()
    x, y = (xmin + xmax) / 2, (ymin + ymax) / 2
    middle = np.array([[x, y, ground.sample(np.array(x), np.array(y))[0]]])
    view = views("top", Subject(middle, np.zeros(1), 1.2), 25.0)[0]
    start, end = float(take.time[0]), float(take.time[-1])
    _far_away(take, monkeypatch)
    with Stage(take, SMALL, by_change=True) as stage:
        before, after = (stage.picture(t, view).astype(int) for t in (start, end))
        heights = [_drawn_points(stage.model, f"soil{k}")[:, 2] for k in range(len(soil.blocks))]
    for height, block in zip(heights, soil.blocks, strict=True):
        assert np.allclose(height, block.height(end).ravel(), atol=1e-5)
    # blue where soil was pressed down, only at the end
    bluer = (after[..., 2] - after[..., 0]) - (before[..., 2] - before[..., 0])
    assert (bluer > 60).sum() > 30


def _drawn_points(model, name):
    """Points of a mesh in the world [m]."""
    mesh = model.mesh(name).id
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
    return model.mesh_vert[first : first + count] @ turn.reshape(3, 3).T + model.mesh_pos[mesh]


def test_rims_are_as_high_as_points_on_the_wheel():
    radius, half, yaw = 0.2, 0.07, 0.4
    centre, axle = np.array([1.0, -2.0, 0.15]), np.array([-math.sin(yaw), math.cos(yaw), 0.0])
    forward = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    roll = Roll(centre[None], axle[None], radius, half)
    for angle in np.radians([-80, -30, 0, 10, 60]):
        for s in (-0.069, 0.0, 0.05):
            down = math.sin(angle) * forward - math.cos(angle) * np.array([0.0, 0.0, 1.0])
            place = centre + radius * down + s * axle
            height = rim_heights(roll, np.array([0]), place[:1], place[1:2])
            assert height[0, 0] == pytest.approx(place[2], abs=1e-12)
    beside = centre + 0.071 * axle
    assert np.isinf(rim_heights(roll, np.array([0]), beside[:1], beside[1:2])).all()


def test_ruts_are_pressed_by_the_first_wheel_and_end_as_the_run_left_them(model):
    ds = soil_dataset()
    # the wheels stand 2 cm deep in the flat part of the ground
    data = ground_data(ds).assign(base=lambda d: 0.0 * d.base + 0.02)
    ground = Ground(data, terrain=Slope())
    take = Take(build_scene(model, ds, soil=ground), model, ds, ground.terrain)
    ruts, blocks = Ruts(take), take.scene.soil.blocks
    pressed_early = 0
    for time in np.linspace(take.time[0], take.time[-1], 9):
        ruts.move_to(float(time))
        for number, block in enumerate(blocks):
            height = ruts.height(number)
            done = block.time <= time + 1e-6
            assert np.allclose(height[done], block.height(time)[done])
            assert (height[~done] <= block.base[~done] + 1e-9).all()
            assert (height[~done] >= (block.base + np.minimum(block.change, 0))[~done] - 1e-9).all()
            pressed_early += int((height[~done] < block.base[~done] - 0.01).sum())
    assert pressed_early > 50
    # going back in time gives the same as getting there
    ruts.move_to(6.0)
    again = Ruts(take)
    again.move_to(3.0)
    again.move_to(6.0)
    for number in range(len(blocks)):
        assert np.array_equal(ruts.height(number), again.height(number))


# --- texts


def test_time_stamps():
    assert time_stamp(12.34, 4) == "t = 12.3 s  ×4"
    assert time_stamp(1.2, 0.25) == "t = 1.20 s  ×0.25"
    assert time_stamp(3.0, None) == "t = 3.00 s"
    assert force_words(320.0) == "100 N are 0.31 m"


def test_texts_are_written_into_the_corners_and_the_time_changes():
    grey = np.full((360, 640, 3), 128, dtype=np.uint8)
    overlay = Overlay((640, 360), "A title " * 30, "below", Legend(300.0, 0.012))
    one, two = overlay.write(grey, 1.0, 1), overlay.write(grey, 2.0, 1)
    assert (one[:60, :300] != 128).any() and (one[-60:, -200:] != 128).any()
    assert (one[100:250, 250:400] == 128).all()
    changed = np.nonzero((one != two).any(axis=2))
    assert changed[0].min() > 300 and changed[1].max() < 120
    assert (grey == 128).all()


# --- files


def _pictures(count, size=SMALL):
    """A white bar that moves to the right."""
    for k in range(count):
        picture = np.zeros((size[1], size[0], 3), dtype=np.uint8)
        picture[:, 3 * k : 3 * k + 20] = 255
        yield picture


def test_an_mp4_holds_the_pictures(tmp_path):
    import av

    path = tmp_path / "deep" / "a.mp4"
    with open_writer(path, SMALL, 25.0) as add:
        for picture in _pictures(50):
            add(picture)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        frames = [f.to_ndarray(format="rgb24") for f in file.decode(stream)]
        assert stream.codec_context.name == "h264" and stream.pix_fmt == "yuv420p"
        assert float(stream.average_rate) == 25.0
        assert file.duration / av.time_base == pytest.approx(2.0, abs=0.05)
    assert len(frames) == 50 and frames[0].shape == (180, 320, 3)
    for got, given in zip(frames, _pictures(50), strict=True):
        assert np.abs(got.astype(int) - given).mean() < 4
    # the index is in front of the pictures
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_a_gif_lasts_as_long_as_the_mp4(tmp_path):
    path = tmp_path / "a.gif"
    with open_writer(path, (960, 540), 25.0) as add:
        for picture in _pictures(50, (960, 540)):
            add(picture)
    with Image.open(path) as gif:
        assert gif.size == (480, 270) and gif.n_frames == 25
        total = 0
        for k in range(gif.n_frames):
            gif.seek(k)
            total += gif.info["duration"]
    assert total == 2000
    assert sum(gif_durations(100, 3, 30.0)) == pytest.approx(1000 * 100 / 30, abs=5)


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_nothing_is_left_of_a_movie_that_fails(tmp_path, name):
    with pytest.raises(RuntimeError), open_writer(tmp_path / name, SMALL, 25.0) as add:
        add(next(_pictures(1)))
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_targets_are_checked_first(tmp_path):
    for path, word in (("a.avi", ".mp4"), ("folder.mp4", "folder")):
        (tmp_path / "folder.mp4").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=word):
            check_target(tmp_path / path, (".mp4", ".gif"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a writable folder"):
        check_target(tmp_path / "file" / "a.mp4", (".mp4",))
    write_picture(next(_pictures(1)), tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").size == SMALL


# --- numbers that are given


def test_speed_is_chosen_so_that_it_lasts_twenty_seconds():
    for duration, speed in ((3, 1), (20, 1), (21, 2), (99, 5), (227, 20), (3600, 200)):
        assert _speed(duration, None) == speed
    assert _speed(100, 0.5) == 0.5
    with pytest.raises(InputError, match="above 0"):
        _speed(10, 0.0)


def test_frame_times():
    times = frame_times(1.0, 3.0, 25.0, 2.0)
    assert len(times) == 26 and times[0] == 1.0 and times[-1] == pytest.approx(3.0)
    with pytest.raises(InputError, match="too many"):
        frame_times(0.0, 1e5, 25.0, 1.0)


def test_sizes():
    assert picture_size("854x480") == (854, 480) == picture_size("480p")
    for wrong in ("853x480", "10x10", "wide", "9999x720"):
        with pytest.raises(InputError, match="size"):
            picture_size(wrong)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"camera": "wheels"}, "wheel"),
        ({"wheel": "FL"}, "camera wheel"),
        ({"camera": "wheel", "body": "chassis"}, "other than wheel"),
        ({"colour": "red"}, "change"),
        ({"distance": -1.0}, "distance"),
        ({"elevation": 2.0}, "elevation"),
    ],
)
def test_shots_are_checked(changes, word):
    with pytest.raises(InputError, match=word):
        Shot(**changes).check()


# --- graphics


def test_a_platform_is_found_here():
    assert graphics.platform() in ("egl", "osmesa", "glfw", "cgl")


def test_without_graphics_it_says_what_to_install(monkeypatch):
    graphics.platform.cache_clear()
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    tried = []
    monkeypatch.setattr(graphics, "_renderer", lambda name: tried.append(name))
    with pytest.raises(InputError, match="apt-get install libegl1 libgl1-mesa-dri"):
        graphics.platform()
    assert tried == list(graphics.ORDER.get(graphics.sys.platform, graphics.LINUX))
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(InputError, match="tried osmesa"):
        graphics.platform()
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(InputError, match="disables drawing"):
        graphics.platform()
    graphics.platform.cache_clear()


def test_a_platform_that_is_not_there_does_not_work():
    assert graphics._renderer("no_such_platform") is None


@pytest.mark.parametrize(
    ("platform", "renderer", "software"),
    [
        ("egl", "NVIDIA H200/PCIe/SSE2", False),
        ("egl", "Mesa Intel(R) UHD Graphics 620 (KBL GT2)", False),
        ("cgl", "Apple M2", False),
        ("egl", "llvmpipe (LLVM 15.0.6, 256 bits)", True),
        ("glfw", "softpipe", True),
        ("egl", "Google SwiftShader", True),
        ("osmesa", "anything", True),
        ("egl", None, False),
    ],
)
def test_what_draws_is_known_by_its_name(monkeypatch, platform, renderer, software):
    monkeypatch.setattr(graphics, "platform", lambda: platform)
    monkeypatch.setattr(graphics, "_renderer", lambda name: renderer)
    assert graphics.is_software() is software


def test_without_a_graphics_card_movies_are_smaller_unless_told(monkeypatch):
    monkeypatch.setattr(movie, "platform", lambda: "egl")
    monkeypatch.setattr(movie, "is_software", lambda: True)
    shot, rate, said = movie._affordable(Shot(), None)
    assert (shot.size, rate) == ((854, 480), 12.5)
    assert "854x480 at 12.5 pictures a second; --size 1280x720 --fps 25 makes" in said
    shot, rate, said = movie._affordable(Shot(size=(320, 180)), None)
    assert (shot.size, rate) == ((320, 180), 12.5) and "second; --fps 25 makes" in said
    assert movie._affordable(Shot(size=(320, 180)), 25.0)[1:] == (25.0, "")
    monkeypatch.setattr(movie, "is_software", lambda: False)
    shot, rate, said = movie._affordable(Shot(), None)
    assert (shot.size, rate, said) == ((1280, 720), 25.0, "")
