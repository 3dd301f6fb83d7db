"""Placing robots placed on the ground before the start: it ends, says why not, and can be
interrupted.
"""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation, settle


def world(ground, **robot):
    return validate(
        {
            "robot": {"name": "exomars", "settle": True, **robot},
            "ground": [ground],
            "run": {"duration": 0.1},
        }
    )


def slope(degrees, uphill="40 deg"):
    return {"kind": "plane", "slope": f"{degrees} deg", "uphill": uphill}


@pytest.fixture
def steps(monkeypatch):
    """Steps of all settling in a test."""
    taken = []
    advance = Simulation.advance_loop

    def counted(*arguments):
        counters = arguments[-3]
        before = int(counters[0])
        status = advance(*arguments)
        taken.append(int(counters[0]) - before)
        return status

    monkeypatch.setattr(Simulation, "advance_loop", counted)
    return taken


@pytest.mark.parametrize("uphill", ["0 deg", "40 deg"])
def test_a_rover_comes_to_rest_on_a_slope_in_any_direction(uphill, steps):
    # its wheels must not creep downhill: they would do so until the last step that is allowed
    sim = Simulation(world(slope(5, uphill)))
    assert sum(steps) < 2500
    assert float(sim.dataset().gap.isel(time=0).max()) < 1e-6
    before = sim.qpos[:3].copy()
    for joint in (*sim.world.robot.roles["drives"], *sim.world.robot.roles["steering"]):
        sim.speed[joint] = 0.0
    sim.step(20)
    assert np.linalg.norm(sim.qpos[:3] - before) < 1e-5


def test_pieces_of_the_steps_do_not_change_the_pose(monkeypatch):
    whole = Simulation(world(slope(5))).qpos.copy()
    monkeypatch.setattr(settle, "_PIECE", 1e-5)
    assert np.array_equal(Simulation(world(slope(5))).qpos, whole)


def test_a_robot_that_slides_away_is_refused():
    with pytest.raises(InputError, match=r"robot.settle: the robot does not come to rest .* m/s"):
        Simulation(world(slope(70)))


def test_a_long_wait_is_told_and_ends(monkeypatch):
    monkeypatch.setattr(settle, "_MAX_STEPS", 10**9)
    monkeypatch.setattr(settle, "_TELL", 0.2)
    monkeypatch.setattr(settle, "LONGEST", 1.0)
    heard: list[str] = []
    began = time.perf_counter()
    with pytest.raises(
        InputError, match=r"robot.settle: .* within 1 s of computing time; after .* m/s"
    ):
        Simulation(world(slope(70)), say=heard.append)
    assert time.perf_counter() - began < 4.0
    assert any("settling the robot on the ground: after" in text for text in heard)


def test_ctrl_c_ends_settling_within_a_second(monkeypatch):
    monkeypatch.setattr(settle, "_MAX_STEPS", 10**9)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    began = threading.Event()
    place = settle._onto_hard_ground

    def onto(*arguments):
        began.set()
        timer = threading.Timer(0.5, press)
        timer.start()
        place(*arguments)

    monkeypatch.setattr(settle, "_onto_hard_ground", onto)
    with pytest.raises(KeyboardInterrupt):
        Simulation(world(slope(70)))
    assert began.is_set() and time.perf_counter() - pressed[0] < 1.0


def test_a_robot_that_tips_over_is_refused():
    with pytest.raises(InputError, match=r"robot.settle: the robot tips over by \d+°"):
        Simulation(world({"kind": "plane"}, name="hexapod", attitude=["100 deg", 0, 0]))
    # one that is laid on its side and stays there is placed
    assert Simulation(world(slope(30), name="hexapod")).qpos[3] > 0.9


def test_settling_on_a_mesh_takes_a_tenth_of_a_second(tmp_path, monkeypatch):
    n = 120
    x, y = np.meshgrid(*2 * (np.linspace(-6.0, 6.0, n),), indexing="ij")
    z = 0.05 * np.sin(1.3 * x) * np.cos(1.1 * y)
    z += 0.01 * np.random.default_rng(1).standard_normal(x.shape)
    points = np.stack([x, y, z], axis=-1)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    triangles = np.concatenate(
        [np.stack(t, axis=-2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))]
    )
    path = tmp_path / "rough.obj"
    with path.open("w") as file:
        for v in triangles.reshape(-1, 3):
            file.write(f"v {v[0]:.9g} {v[1]:.9g} {v[2]:.9g}\n")
        for k in range(len(triangles)):
            file.write(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}\n")
    spent = []
    place = settle.place_on_ground

    def timed(*arguments):
        began = time.process_time()
        place(*arguments)
        spent.append(time.process_time() - began)

    monkeypatch.setattr("marsyard.simulation.simulation.place_on_ground", timed)
    for _ in range(3):
        sim = Simulation(world({"kind": "mesh", "file": str(path)}))
    assert min(spent) < 0.1
    assert abs(float(sim.dataset().gap.isel(time=0).min())) < 1e-6
