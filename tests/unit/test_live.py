"""The live view's parts: orders, pace, bounded memory, numbers; and that it changes no result."""

from __future__ import annotations

import io
import math
import threading
import time as clock
from collections import namedtuple

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.operations.live import LiveRun
from marsyard.operations.live.history import History, Track
from marsyard.operations.live.mailbox import MOST_STEPS, Mailbox, read_speed
from marsyard.operations.live.numbers import Numbers, joined, mean_forces
from marsyard.operations.live.physics import BEHIND, Pacer, Physics
from marsyard.operations.live.soil import LiveSoil, _strips
from marsyard.results.glb import glb
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation


def short(name: str, duration: float) -> Simulation:
    scenario = load_scenario(name)
    run = scenario.run.model_copy(update={"duration": duration})
    return Simulation(scenario.model_copy(update={"run": run}))


# --- orders


def test_of_orders_the_newest_counts():
    box = Mailbox(speed=1.0)
    for k in range(1, 1000):
        box.set_speed(float(k))
        box.pause()
    box.go_on()
    assert box.take() == (999.0, False, 0, False)


def test_single_steps_add_up_and_are_handed_out_once():
    box = Mailbox()
    box.step()
    box.step(2)
    assert box.peek().steps == 3
    assert box.take() == (math.inf, True, 3, False)
    assert box.take() == (math.inf, True, 0, False)
    for _ in range(2 * MOST_STEPS):
        box.step()
    assert box.take().steps == MOST_STEPS
    box.step()
    box.go_on()
    assert box.take() == (math.inf, False, 0, False)


def test_orders_from_many_threads():
    box = Mailbox()
    threads = [threading.Thread(target=lambda: [box.step() for _ in range(20)]) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.take().steps == 400


@pytest.mark.parametrize(
    "text, speed", [("1", 1.0), ("0.25×", 0.25), ("10x", 10.0), ("max", math.inf), (" 2 ", 2.0)]
)
def test_speeds_as_written(text, speed):
    assert read_speed(text) == speed


@pytest.mark.parametrize("text", ["fast", "", "0", "-1", "nan", "0.001"])
def test_odd_speeds_are_refused(text):
    with pytest.raises(InputError, match="--speed"):
        read_speed(text)


# --- pace


def test_pacer_follows_the_wall_clock():
    pacer = Pacer()
    assert pacer.wait(0.0, 100.0, 2.0) == 0.0
    # at twice real time 1 s simulated takes 0.5 s
    assert pacer.wait(1.0, 100.1, 2.0) == pytest.approx(0.4)
    assert pacer.wait(1.0, 100.5, 2.0) == pytest.approx(0.0, abs=1e-12)
    # a new speed counts from where it was given
    assert pacer.wait(1.0, 100.5, 0.1) == 0.0
    assert pacer.wait(1.1, 100.5, 0.1) == pytest.approx(1.0)
    assert pacer.wait(5.0, 100.6, math.inf) == 0.0


def test_lost_time_is_not_caught_up():
    pacer = Pacer()
    pacer.wait(0.0, 0.0, 1.0)
    assert pacer.wait(0.01, 5.0, 1.0) == 0.0
    # from here on as if nothing had been lost
    assert pacer.wait(0.51, 5.0, 1.0) == pytest.approx(0.5)
    # a little is
    assert pacer.wait(0.51, 5.5 + 0.5 * BEHIND, 1.0) == 0.0
    assert pacer.wait(1.01, 5.5 + 0.5 * BEHIND, 1.0) == pytest.approx(0.5 - 0.5 * BEHIND)


# --- memory


def test_history_keeps_the_whole_run_in_bounded_memory():
    history = History(room=100)
    for k in range(200):
        time = (50 * k + np.arange(50)) * 1e-3
        history.add(time, {"line": np.stack([time, -2 * time], axis=1)})
        assert history.count <= 100
    assert history.time[0] == 0.0 and history.time[-1] > 0.97 * 9.999
    assert history.count >= 40 and np.all(np.diff(history.time) > 0)
    assert history.values("line") == pytest.approx(
        np.stack([history.time, -2 * history.time], axis=1), rel=1e-6
    )
    # evenly, not only the end
    assert np.diff(history.time).max() < 4 * np.diff(history.time).min()


def test_a_quantity_that_comes_later_is_unknown_before():
    history = History(room=10)
    history.add(np.array([0.0, 1.0]), {"a": np.ones((2, 1))})
    history.add(np.array([2.0]), {"a": np.ones((1, 1)), "b": np.full((1, 2), 5.0)})
    assert np.isnan(history.values("b")[:2]).all() and (history.values("b")[2] == 5.0).all()


def test_track_is_bounded_and_whole():
    track = Track(2, room=200, size=20, gap=0.01)
    for k in range(100):
        x = (100 * k + np.arange(100)) * 0.002
        points = np.stack([np.stack([x, 0 * x + w, 0 * x], axis=1) for w in range(2)], axis=1)
        track.add(points)
        assert track.count <= 200
    assert track.version > 0
    assert track.rows[0, 0, 0] == 0.0 and track.rows[-1, 0, 0] > 19.9 - track.gap
    # pieces follow each other without a gap: each begins where the one before ends
    for k in range(track.pieces):
        assert len(track.piece(k)) == 21
        assert (track.piece(k)[-1] == track.piece(k + 1)[0]).all()


def test_standing_still_adds_no_track():
    track = Track(1)
    track.add(np.zeros((1000, 1, 3)) + 1e-4 * np.sin(np.arange(1000))[:, None, None])
    assert track.count == 1
    track.add(np.full((5, 1, 3), np.nan))
    assert track.count == 2


# --- records put together


def test_joined_records_keep_sums_and_last_values():
    kind = namedtuple("kind", ("time", "world", "point", "stress"))
    n = 1003
    generator = np.random.default_rng(3)
    records = kind(
        np.arange(n) * 0.01, generator.normal(size=(n, 4, 3)), generator.normal(size=(n, 4, 3)),
        np.zeros((0, 4)),
    )  # fmt: skip
    few = joined(records, 99, 100, n, 40)
    assert len(few.time) <= 41 and few.time[0] == records.time[99]
    assert few.time[-1] == records.time[-1] and (few.point[-1] == records.point[-1]).all()
    assert few.world[1:].sum(axis=0) == pytest.approx(records.world[100:].sum(axis=0))
    # each row adds up what lies between its time and that before
    row = 7
    between = (records.time > few.time[row - 1]) & (records.time <= few.time[row])
    assert few.world[row] == pytest.approx(records.world[between].sum(axis=0))


def test_stress_lies_under_the_strip():
    bins, radius, half = 36, 0.15, 0.05
    force = np.zeros((1, 1, bins))
    strip = 24  # middle at (24.5/36 − 1/2)·180° = 32.5° ahead of the lowest point
    force[0, 0, strip] = 12.0
    centre, axle = np.array([[[2.0, 3.0, 0.1]]]), np.array([[[0.0, 1.0, 0.0]]])
    points, stress = _strips(force, centre, axle, np.array([radius]), np.array([half]), 0.01)
    x = points[:, 0] - 2.0
    assert x.min() == pytest.approx(radius * np.sin(np.radians(30)))
    assert x.max() == pytest.approx(radius * np.sin(np.radians(35)))
    assert points[:, 1].min() == pytest.approx(2.95) and points[:, 1].max() == pytest.approx(3.05)
    area = 2 * half * radius * np.pi / bins
    assert stress == pytest.approx(12.0 / area)


def test_meshes_are_read_back_as_they_were():
    import trimesh

    points = np.random.default_rng(1).normal(size=(5, 3))
    normals = np.tile([0.0, 0.0, 2.0], (5, 1))
    triangles = np.array([[0, 1, 2], [2, 3, 4]])
    colours = np.arange(20).reshape(5, 4).astype(np.uint8) + 100
    data = glb(points, normals, triangles, colours)
    scene = trimesh.load(io.BytesIO(data), file_type="glb", process=False)
    (mesh,) = scene.geometry.values()
    assert mesh.vertices == pytest.approx(points, abs=1e-6)
    assert (mesh.faces == triangles).all() and (mesh.visual.vertex_colors == colours).all()
    assert mesh.vertex_normals[0] == pytest.approx([0, 0, 1])


# --- with a simulation


@pytest.fixture(scope="module")
def plain():
    return {
        "rt0448/test-3": short("rt0448/test-3", 0.4).run(),
        "exomars/drawbar-pull": short("exomars/drawbar-pull", 1.5).run(),
    }


@pytest.mark.parametrize("name", ["rt0448/test-3", "exomars/drawbar-pull"])
def test_results_are_the_same_bit_by_bit(plain, name):
    same = plain[name]
    simulation = short(name, same.scenario.run.duration)
    box = Mailbox(speed=math.inf)
    physics, numbers = Physics(simulation, box), Numbers(simulation)
    thread = threading.Thread(target=physics.run)
    box.step(3)
    thread.start()
    # orders and looks in the midst of it
    for k in range(6):
        numbers.update(physics.latest)
        mean_forces(physics.latest)
        (box.pause if k % 3 == 1 else box.go_on)()
        box.set_speed(0.5 + k)
        clock.sleep(0.02)
    box.set_speed(math.inf)
    box.go_on()
    thread.join(timeout=30)
    assert physics.latest.state == "ended" and physics.latest.steps == same.steps
    assert simulation.state().hash() == same.state().hash()
    for one, other in zip(simulation.records, same.records, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    # the numbers shown are those of the data set
    numbers.update(physics.latest)
    ds = same.dataset()
    checked = 0
    for quantity in numbers.quantities:
        if quantity in ds:
            last = ds[quantity].transpose("time", ...).values[-1].ravel()
            assert numbers.newest[quantity] == pytest.approx(last, rel=1e-6, abs=1e-9, nan_ok=True)
            checked += 1
    assert checked > 15


def test_pause_stops_time_and_a_step_is_a_control_period():
    simulation = short("rt0448/test-3", 0.4)
    run = simulation.scenario.run
    box = Mailbox(paused=True)
    physics = Physics(simulation, box)
    thread = threading.Thread(target=physics.run)
    thread.start()
    clock.sleep(0.1)
    assert simulation.steps == 0
    box.step()
    clock.sleep(0.15)
    assert physics.latest.time == pytest.approx(run.control_period)
    box.step(4)
    clock.sleep(0.15)
    assert physics.latest.time == pytest.approx(5 * run.control_period)
    box.stop()
    thread.join(timeout=5)
    assert physics.stopped_by_hand and physics.latest.state == "ended"


def test_speed_is_held():
    simulation = short("rt0448/test-3", 2.0)
    simulation.warm_up()
    box = Mailbox(speed=0.5)
    physics = Physics(simulation, box)
    thread = threading.Thread(target=physics.run)
    began = clock.perf_counter()
    thread.start()
    clock.sleep(1.0)
    box.stop()
    thread.join(timeout=5)
    took = clock.perf_counter() - began
    # never faster than ordered; a busy machine may be slower
    assert 0.2 * took < simulation.time < 0.5 * took + 0.05


def test_snapshots_do_not_change_afterwards():
    simulation = short("exomars/drawbar-pull", 0.5)
    physics = Physics(simulation, Mailbox())
    first = physics.latest
    before = first.qpos.copy(), first.records.coordinates[: first.count].copy()
    physics.run()
    assert physics.latest.steps > first.steps == 0
    assert (first.qpos == before[0]).all()
    assert (first.records.coordinates[: first.count] == before[1]).all()


class _Handle:
    def __init__(self, data: bytes) -> None:
        self.glb_data, self.removed = data, False

    def remove(self) -> None:
        self.removed = True


class _Scene:
    """Stands for viser's scene."""

    def __init__(self) -> None:
        self.made: dict[str, _Handle] = {}

    def add_glb(self, name: str, data: bytes, **_) -> _Handle:
        self.made[name] = _Handle(data)
        return self.made[name]


def test_ruts_are_drawn_as_they_are(plain):
    import trimesh

    simulation = plain["exomars/drawbar-pull"]
    now = Physics(simulation, Mailbox()).latest
    scene = _Scene()
    soil = LiveSoil(simulation, scene)
    updates = 0
    while soil.update(now, "height change", now.qpos[:3]):
        updates += 1
        assert updates < 50
    grid = simulation.world.soil.grid
    tiles = {n: h for n, h in scene.made.items() if "around" not in n}
    assert len(tiles) == grid.tiles and updates >= 1
    deepest = 0.0
    for handle in tiles.values():
        loaded = trimesh.load(io.BytesIO(handle.glb_data), file_type="glb", process=False)
        (mesh,) = loaded.geometry.values()
        x, y, z = mesh.vertices.T
        assert z == pytest.approx(grid.height(x, y), abs=2.1e-4)
        # the upper side is outside
        assert np.all(mesh.face_normals[:, 2] > 0)
        deepest = min(deepest, z.min())
    assert deepest < -0.01
    # nothing has changed: nothing is sent
    data = {n: h.glb_data for n, h in scene.made.items()}
    assert soil.update(now, "height change", now.qpos[:3]) == 0
    assert all(scene.made[n].glb_data is d for n, d in data.items())
    # other colours: all again
    drawn = soil.update(now, "normal stress", now.qpos[:3])
    assert drawn > 0 and 2e3 < soil.stress_scale < 1e5


# --- viewers

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (-3.0, -3.0, 2.0),
    "fov": 1.0, "near": 0.01, "far": 100.0, "image_height": 300, "image_width": 400,
    "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


@pytest.mark.soak
def test_who_does_not_read_holds_nobody_up():
    import msgspec
    import viser
    from websockets.sync.client import connect

    simulation = short("rt0448/test-3", 500.0)
    simulation.warm_up()
    live = LiveRun(port=0)
    address = live.url.replace("http", "ws", 1)
    thread = threading.Thread(target=live.run, args=(simulation,), daemon=True)
    thread.start()
    protocol = [f"viser-v{viser.__version__}"]
    with connect(address, subprotocols=protocol, max_size=None) as viewer:
        viewer.send(msgspec.msgpack.encode(CAMERA))  # and then never reads
        while live.view is None or live.view.frames < 3:
            clock.sleep(0.02)
        frames, time = live.view.frames, simulation.time
        waiting = live.server._websock_server._broadcast_buffer.message_from_id
        before = len(waiting)
        while live.view.frames < frames + 30 and thread.is_alive():
            clock.sleep(0.02)
        assert simulation.time > time + 1.0 or not thread.is_alive()
        # of each thing only the newest waits; pieces of the tracks are things of their own
        assert len(waiting) <= before + 2 * live.view._track.pieces + 10
    live.mailbox.stop()
    thread.join(timeout=10)
    assert live.physics.stopped_by_hand
    # records reach to the end
    assert simulation.records.time[-1] == pytest.approx(simulation.time)
    live.stop()


@pytest.mark.soak
@pytest.mark.parametrize("name", ["eldorado2/rough", "exomars/rough"])
def test_twenty_viewers_for_five_minutes(name):
    import runpy
    from pathlib import Path

    bench = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "live.py"))
    got = bench["measure"](name, windows=1, length=300.0, alone=30.0)
    print(got)
    assert got["growth"] < bench["MEMORY_BAR"]
    assert got["ratio"] >= bench["RATE_BAR"]
    assert got["frames"] > 2
