"""The same run gives the same bits: twice, resumed, in threads, by hand."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from worlds import digest

from marsyard.errors import InputError
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation, State

SETTINGS = {
    "run.duration": 0.6, "run.step": 1e-3, "run.record_period": 0.01, "run.control_period": 0.005,
    "robot.position": [5, 5, 0.8], "robot.attitude": [0.1, 0.2, 0.3],
    "control": [{"joints": "drives", "torque": "0.5*sin(9*t) - 0.1*rate"}],
}  # fmt: skip


def new(**settings):
    return Simulation(load_scenario("rt0448/test-1-restitution", {**SETTINGS, **settings}))


@pytest.fixture(scope="module")
def through():
    return digest(new().run())


def test_twice(through):
    assert digest(new().run()) == through


def test_another_world_differs(through):
    # the hash can fail: a change of one part in 1e12 is seen
    assert digest(new(**{"interaction.friction": 0.7 * (1 + 1e-12)}).run()) != through


def test_by_hand(through):
    sim = new()
    for count in (1, 7, 0, 100, 13, 479):
        sim.step(count)
    assert sim.steps == 600
    assert digest(sim) == through


@pytest.mark.parametrize("at", [150, 283])  # at a control period, and in the middle of one
def test_restore_and_go_on(through, at):
    sim = new()
    sim.step(at)
    state = sim.state()
    sim.step(200)  # go elsewhere …
    sim.restore(state)  # … and come back
    assert sim.state().hash() == state.hash()
    sim.run()
    assert digest(sim) == through


def test_resume_from_a_file(tmp_path, through):
    sim = new()
    sim.step(283)
    sim.state().save(tmp_path / "state.npz")
    first = sim.records.time.copy()
    fresh = new()
    fresh.restore(State.load(tmp_path / "state.npz"))
    assert fresh.time == pytest.approx(0.283)
    fresh.run()
    sim.run()
    assert digest(sim) == through
    assert fresh.state().hash() == sim.state().hash()
    # the fresh one has only the records it wrote itself: the start, and those after the state
    n = len(sim.records.time) - len(first)
    for own, whole in zip(fresh.records, sim.records, strict=True):
        assert np.array_equal(own[1:], whole[-n:], equal_nan=True)


def test_branches_do_not_disturb_each_other(through):
    # a predictor branches off with another command; the original goes on as if alone
    sim, other = new(), new()
    sim.step(200)
    other.restore(sim.state())
    other.torque["RLWheel_y"] = 1.0
    other.run()
    sim.run()
    assert digest(sim) == through
    assert digest(other) != through


def test_two_threads_at_once(through):
    # the loop runs without the GIL: two simulations at the same time give the same bits
    out = {}

    def work(name):
        out[name] = digest(new().run())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out == {0: through, 1: through}


def test_recording_more_often_changes_nothing():
    a = new().run()
    b = new(**{"run.record_period": 0.005}).run()
    assert np.array_equal(a.qpos, b.qpos)
    assert np.array_equal(a.records.coordinates, b.records.coordinates[::2])
    # impulses are summed between records: the sums over the run agree
    assert np.allclose(a.records.normal.sum(axis=0), b.records.normal.sum(axis=0), rtol=1e-12)


def test_an_extra_record_changes_nothing(through):
    # by hand in the middle of a control period: held torques stay held
    sim, plain = new(), new()
    sim.step(283)
    sim.record_now()
    sim.run()
    plain.run()
    assert np.array_equal(sim.qpos, plain.qpos)
    assert np.array_equal(sim.qvel, plain.qvel)


def test_state_of_another_world_is_refused(tmp_path):
    sim = new()
    state = sim.state()
    wrong = State({**state.arrays, "qpos": np.zeros(3)})
    with pytest.raises(InputError, match="qpos"):
        sim.restore(wrong)
    (tmp_path / "junk.npz").write_text("junk")
    with pytest.raises(InputError, match="not a saved state"):
        State.load(tmp_path / "junk.npz")


def test_pieces_do_not_matter_where_momentum_is_kept():
    # what floats freely keeps its momentum to the last digit, whatever the loop takes at once
    scenario = load_scenario("docking/smart-olev", {"run.duration": 2})
    whole = Simulation(scenario)
    whole.step(400)
    pieces = Simulation(scenario)
    for count in (1, 7, 13, 79):
        pieces.step(count)
    other = Simulation(scenario)
    other.restore(pieces.state())
    pieces.step(300)
    assert digest(pieces) == digest(whole)
    other.step(300)
    assert other.state().hash() == whole.state().hash()


def test_a_push_by_hand_counts_where_momentum_is_kept():
    sim = Simulation(load_scenario("docking/smart-olev", {"run.duration": 2}))
    sim.step(10)
    before = sim.qvel[0]
    sim.qvel[0] += 0.1
    sim.step(10)
    # the loop keeps the momentum that it finds, not the one before the push
    assert sim.qvel[0] == pytest.approx(before + 0.1, abs=0.01)
