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


# --- states of others and damaged ones


@pytest.fixture(scope="module")
def worlds():
    names = ("rt0448/test-1", "exomars/drawbar-pull", "control/path", "compliant/hold",
             "walker/flat", "soil/columns-wheel", "docking/smart-olev")  # fmt: skip
    out = {}
    for name in names:
        out[name] = Simulation(load_scenario(name))
        out[name].step(30)
    return out


def changed(state: State, name: str, change) -> State:
    array = np.array(state.arrays[name])
    return State({**state.arrays, name: change(array)})


def put(value):
    def change(array):
        array.reshape(-1)[0] = value
        return array

    return change


WRONG = [
    ("rt0448/test-1", "qpos", put(np.nan), "not a number"),
    ("rt0448/test-1", "qpos", put(1e300), "beyond 1e\\+12"),
    ("rt0448/test-1", "qpos", lambda a: 0 * a, "not a rotation"),
    ("rt0448/test-1", "qvel", put(np.inf), "infinite"),
    ("rt0448/test-1", "qpos", lambda a: a[:-1], "does not fit"),
    ("rt0448/test-1", "qpos", lambda a: a.astype(np.float32), "does not fit"),
    ("rt0448/test-1", "qpos", lambda a: a.astype(str), "does not fit"),
    ("rt0448/test-1", "counters", put(-1), "index outside of 0"),
    ("rt0448/test-1", "counters", put(2**62), "index outside of 0"),
    ("rt0448/test-1", "contact_count", put(2**40), "index outside of 0"),
    ("rt0448/test-1", "contact_count", put(-5), "index outside of 0"),
    ("rt0448/test-1", "plan_at", lambda a: np.array([0, 0, 0]), "index outside of 1"),
    ("rt0448/test-1", "plan_at", lambda a: np.array([0, 1, 10**6]), "index outside of 0"),
    ("exomars/drawbar-pull", "soil_tile", put(2**40), "index outside"),
    ("exomars/drawbar-pull", "soil_ref", lambda a: a[:-1], "does not fit"),
    (
        "exomars/drawbar-pull",
        "soil_tile",
        lambda a: np.repeat(a[:1], len(a), 0),
        "names a tile twice",
    ),
    ("exomars/drawbar-pull", "soil_tile", lambda a: a.ravel(), "does not fit"),
    ("exomars/drawbar-pull", "soil_queue", lambda a: np.array([10**9]), "index outside"),
    ("exomars/drawbar-pull", "soil_contact_0_node", put(-1), "index outside"),
    ("exomars/drawbar-pull", "soil_contact_0_node", put(10**12), "index outside"),
    ("exomars/drawbar-pull", "soil_contact_0_key", lambda a: a[::-1].copy(), "not in order"),
    ("exomars/drawbar-pull", "soil_contact_0_key", lambda a: a[:-1], "does not fit"),
    ("exomars/drawbar-pull", "soil_depth", put(np.nan), "not a number"),
    ("exomars/drawbar-pull", "soil_sums", lambda a: a[:1], "does not fit"),
    ("control/path", "drive_numbers", put(10**6), "index outside"),
    ("control/path", "drive_numbers", put(np.nan), "does not fit|not a number"),
    ("control/path", "drive_driver", put(99), "index outside"),
    ("control/path", "drive_timeline", lambda a: a[:, :2], "does not fit"),
    ("compliant/hold", "compliant_touching", put(10**9), "index outside"),
    ("compliant/hold", "compliant_counts", put(10**9), "index outside"),
    ("compliant/hold", "compliant_before", put(-7), "index outside"),
    ("walker/flat", "gait_memory", put(50), "index outside"),
    ("walker/flat", "gait_numbers", put(np.nan), "index outside|not a number"),
    ("soil/columns-wheel", "soil_column", lambda a: a[:5], "does not fit"),
    ("docking/smart-olev", "polygonal_count", put(10**9), "index outside"),
    ("docking/smart-olev", "polygonal_slot", put(10**9), "index outside"),
]


@pytest.mark.parametrize(
    "name, array, change, said", WRONG, ids=[f"{w[0]}-{w[1]}-{k}" for k, w in enumerate(WRONG)]
)
def test_a_state_that_is_none_of_this_world_is_refused(worlds, name, array, change, said):
    simulation = worlds[name]
    before = simulation.state()
    with pytest.raises(InputError, match=f"restore: '{array}' of the saved state.*({said})"):
        simulation.restore(changed(before, array, change))
    assert simulation.state().hash() == before.hash(), "a refused state leaves all as it was"


def test_a_state_without_an_array_is_refused(worlds):
    for simulation in worlds.values():
        before = simulation.state()
        for name in before.arrays:
            left = State({k: v for k, v in before.arrays.items() if k != name})
            with pytest.raises(InputError, match=name.split("_")[0]):
                simulation.restore(left)


def test_states_of_other_worlds_are_refused(worlds):
    for name, simulation in worlds.items():
        simulation.restore(simulation.state())
        for other in worlds.values():
            if other is not simulation:
                with pytest.raises(InputError, match="restore: "):
                    simulation.restore(other.state())
        assert simulation.steps == 30, name
