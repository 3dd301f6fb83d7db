"""The saved state: hash, file, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from marsyard import Simulation, load_scenario
from marsyard.errors import InputError
from marsyard.simulation.state import State


def make(**changed):
    arrays = {"counters": np.array([7]), "qpos": np.arange(3.0), "empty": np.zeros((0, 2))}
    return State({**arrays, **changed})


def test_hash_sees_every_bit_name_and_shape():
    one = make()
    assert one.hash() == make().hash()
    assert one.hash() != make(qpos=np.nextafter(np.arange(3.0), 9)).hash()
    assert one.hash() != make(qpos=np.array([0.0, -0.0, 2.0])).hash()
    assert one.hash() != make(empty=np.zeros((2, 0))).hash()
    assert one.hash() != make(counters=np.array([7], np.int32)).hash()
    assert one.hash() != State({**one.arrays, "more": np.zeros(0)}).hash()


def test_hash_does_not_depend_on_order_or_layout():
    one = make(qpos=np.arange(6.0).reshape(2, 3))
    other = State(dict(reversed(one.arrays.items())))
    fortran = make(qpos=np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    assert one.hash() == other.hash() == fortran.hash()


def test_save_and_load(tmp_path):
    state = make(qpos=np.array([np.nan, np.inf, -0.0]))
    state.save(tmp_path / "a.npz")
    loaded = State.load(tmp_path / "a.npz")
    assert loaded.hash() == state.hash()
    assert loaded.time_step == 7
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_objects_are_not_saved_or_loaded(tmp_path):
    np.savez(tmp_path / "bad.npz", qpos=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a saved state"):
        State.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04 broken"])
def test_a_broken_file_is_one_sentence(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(InputError, match="not a saved state"):
        State.load(tmp_path / "bad.npz")
    with pytest.raises(InputError, match="not a saved state"):
        State.load(tmp_path / "missing.npz")


def test_a_failed_save_leaves_nothing(tmp_path):
    with pytest.raises(Exception):  # noqa: B017
        State({"bad": np.array([object()])}).save(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rt0448/test-1", "control/path"])
def test_copies_and_pickles_of_a_simulation_go_on_alone(name):
    run = Simulation(load_scenario(name))
    run.step(60)
    copies = [copy.deepcopy(run), pickle.loads(pickle.dumps(run))]
    at = run.state().hash()
    for other in copies:
        assert other.state().hash() == at
        other.step(40)
    assert run.state().hash() == at  # the copies did not move it
    run.step(40)
    for other in copies:
        assert other.state().hash() == run.state().hash()
        assert np.array_equal(other.records.coordinates, run.records.coordinates)


def test_functions_of_ones_own_are_not_copied():
    run = Simulation(load_scenario("rt0448/test-1"), control=lambda *_: None)
    with pytest.raises(InputError, match="cannot be copied"):
        copy.deepcopy(run)
