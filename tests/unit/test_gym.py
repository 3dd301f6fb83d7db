"""Environments: Gymnasium's own check, seeds, physics that needs the right way of driving."""

from __future__ import annotations

import copy
import math
import os
import pickle
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import marsyard.gym
from marsyard import InputError
from marsyard.gym.picture import HALF, POINTS


def _drive(env, policy, world=0, most=150):
    """An episode: sum of rewards, steps, and what was told last."""
    seen, _ = env.reset(seed=0, options={"world": world})
    total, count, ended, late = 0.0, 0, False, False
    while count < most and not (ended or late):
        seen, reward, ended, late, info = env.step(np.array(policy(seen), dtype=np.float32))
        total, count = total + reward, count + 1
    return total, count, info


@pytest.mark.parametrize("name", marsyard.gym.IDS)
@pytest.mark.filterwarnings("error", "ignore::marsyard.ground.typical.SoilRemark")
def test_gymnasium_finds_nothing_to_object_to(name):
    check_env(gymnasium.make(name, worlds=1).unwrapped, skip_render_check=True)


def test_module_and_name_need_no_import():
    env = gymnasium.make("marsyard.gym:marsyard/ReachGoal-v0", worlds=1)
    assert env.spec.max_episode_steps == 150


def test_same_seed_same_bits_with_new_worlds_and_with_kept_ones():
    name = "marsyard/ClimbOut-v0"

    def episode(env, seed):
        seen, info = env.reset(seed=seed)
        rows = [seen]
        for _ in range(6):
            seen, reward, *_ = env.step(np.array([1.0, 0.0, 0.4], dtype=np.float32))
            rows.append(np.append(seen, reward)[: len(seen)])
        return np.array(rows), info["drawn"]

    fresh, kept = gymnasium.make(name), gymnasium.make(name, worlds=2)
    (a, drawn_a), (b, drawn_b), (c, drawn_c) = (episode(fresh, s) for s in (3, 3, 4))
    assert np.array_equal(a, b) and drawn_a == drawn_b
    assert not np.array_equal(a, c) and drawn_a != drawn_c
    # a world that was driven through starts again as it was built
    first, _ = episode(kept, 5)
    again, _ = episode(kept, 5)
    other, _ = episode(gymnasium.make(name, worlds=2), 5)
    assert np.array_equal(first, again) and np.array_equal(first, other)


def _spiral(seen):
    """Out of the hollow on a course that slants by 60° against the steepest way."""
    course = math.remainder(math.atan2(seen[2], seen[1]) + math.radians(60), 2 * math.pi)
    back = abs(course) > math.pi / 2
    course = math.remainder(course + math.pi, 2 * math.pi) if back else course
    return [-1.0 if back else 1.0, 0.0, max(-1.0, min(1.0, course / math.radians(60)))]


def test_full_speed_digs_in_and_a_slanting_course_comes_out():
    env = gymnasium.make("marsyard/ClimbOut-v0", worlds=4)
    naive, steps, stuck = _drive(env, lambda _: [1.0, 0.0, 0.0], world=1, most=90)
    assert not stuck["success"] and stuck["distance"] > 1.5
    assert env.unwrapped.reading.slip > 0.4  # the wheels turn and it does not get on
    wise, steps, out = _drive(env, _spiral, world=1)
    assert out["success"] and steps < 120
    assert wise > naive + 5


def test_the_goal_is_reached_by_steering_towards_it():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=4)
    total, steps, info = _drive(env, lambda s: [1.0, max(-1, min(1, 2 * math.atan2(s[2], s[1])))])
    assert info["success"] and info["distance"] < 0.5 and steps < 140
    assert total > 10 + 3
    # the energy of the episode is that of the results
    results = float(env.unwrapped.simulation.dataset().energy_electrical[-1])
    assert info["energy"] == pytest.approx(results, rel=1e-9)


def test_around_the_hill_costs_less_than_over_it():
    env = gymnasium.make("marsyard/DriveEfficiently-v0", worlds=1, randomise=False)

    def to(points):
        points = list(points)

        def policy(_):
            now = env.unwrapped.reading
            if len(points) > 1 and math.hypot(points[0][0] - now.x, points[0][1] - now.y) < 0.7:
                points.pop(0)
            bearing = math.atan2(points[0][1] - now.y, points[0][0] - now.x) - now.yaw
            return [1.0, max(-1.0, min(1.0, 2 * math.remainder(bearing, 2 * math.pi)))]

        return policy

    over, _, straight = _drive(env, to([(10.0, 0.0)]), most=200)
    around, _, detour = _drive(env, to([(3.0, 1.9), (7.0, 1.9), (10.0, 0.0)]), most=200)
    assert straight["success"] and detour["success"]
    assert detour["energy"] < straight["energy"]
    assert around > over


def test_threads_give_what_single_environments_give():
    options = {"worlds": 2, "randomise": {"turn": 0.5}}
    name, act = "marsyard/ReachGoal-v0", np.array([[1.0, 0.3]] * 2, dtype=np.float32)
    envs = gymnasium.make_vec(name, num_envs=2, max_episode_steps=3, **options)
    assert isinstance(envs, marsyard.gym.ThreadVectorEnv)
    alone = gymnasium.make_vec(
        name, num_envs=2, vectorization_mode="sync", max_episode_steps=3, **options
    )
    seen, told = envs.reset(seed=7)
    same, _ = alone.reset(seed=7)
    assert np.array_equal(seen, same)
    for step in range(6):  # past the time limit: both begin anew by themselves
        a, b = envs.step(act), alone.step(act)
        for mine, other in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(mine, other), step
    assert a[4].keys() == b[4].keys()
    envs.close()
    alone.close()


def test_physics_that_stops_ends_the_episode():
    edge = {"ground.0.terrain.bounds": [[-2, 2], [-2, 2]]}
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=1, settings=edge, randomise=False)
    total, _, info = _drive(env, lambda _: [1.0, 0.0])
    assert "left the map" in info["stopped"] and not info["success"]
    assert total < 0


def test_randomised_soil_changes_the_ride():
    env = gymnasium.make(
        "marsyard/ReachGoal-v0", worlds=2, randomise={"terrain": False, "turn": 0, "soil": 0.3}
    )
    drawn, sinkage = [], []
    for world in (0, 1):
        _, told = env.reset(seed=0, options={"world": world})
        drawn.append(told["drawn"]["soil_k_phi_factor"])
        sinkage.append(env.unwrapped.reading.sinkage)
    assert 0.7 <= min(drawn) < max(drawn) <= 1.3
    # softer soil, deeper wheels
    assert (sinkage[0] > sinkage[1]) == (drawn[0] < drawn[1])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"randomise": {"sol": 0.1}}, "did you mean 'soil'"),
        ({"randomise": {"soil": 1.5}}, "from 0 to below 1"),
        ({"randomise": {"soil": "much"}}, "randomise.soil: 'much'"),
        ({"randomise": {"terrain": "yes"}}, "True or False"),
        ({"randomise": 3}, "randomise: 3"),
        ({"worlds": 0}, "a whole number from 1 on"),
        ({"worlds": 2.5}, "a whole number from 1 on"),
        ({"world_seed": -1}, "world_seed: -1"),
        ({"render_mode": "rgb_array", "size": (640,)}, "width and height"),
        ({"settings": {"run.record_period": 2}}, "whole number of records"),
        ({"scenario": "rt0448/test-1"}, "needs one ground, of terrain"),
        ({"settings": {"ground.0.terrain": "flat"}}, "ground.0.terrain"),
    ],
)
def test_mistakes_are_told_in_a_sentence(options, text):
    with pytest.raises(InputError, match=text):
        gymnasium.make("marsyard/ReachGoal-v0", **options)


def test_energy_is_not_counted_without_motors():
    with pytest.raises(InputError, match="eldorado2/rough: motors: are missing"):
        gymnasium.make("marsyard/DriveEfficiently-v0", scenario="eldorado2/rough")
    gymnasium.make("marsyard/ReachGoal-v0", scenario="eldorado2/rough")


def test_mistakes_in_use_are_told_in_a_sentence():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=2).unwrapped
    with pytest.raises(InputError, match="call reset first"):
        _ = env.reading
    for options, text in (
        ({"world": 2}, "from 0 to 1"),
        ({"world": True}, "from 0 to 1"),
        ({"wrld": 1}, "did you mean 'world'"),
    ):
        with pytest.raises(InputError, match=text):
            env.reset(options=options)
    env.reset(seed=0)
    before = env.simulation.steps
    for action in ([np.nan, 0], [0, 0, 0], 0.5, None, "left", [[0, 0]]):
        with pytest.raises(InputError, match="needed for speed, curvature"):
            env.step(action)
    assert env.simulation.steps == before  # nothing moved


def _go(env, action, count):
    for _ in range(count):
        out = env.step(np.array(action, dtype=np.float32))
    return out


def test_copies_and_pickles_go_on_alone_and_as_the_environment_would():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=2)
    env.reset(seed=1)
    _go(env, [1.0, 0.3], 2)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for one in copies:
        assert one.unwrapped.simulation.state().hash() == env.unwrapped.simulation.state().hash()
    there = [_go(one, [-1.0, 0.5], 2) for one in copies]
    # the copies did not move the environment
    assert env.unwrapped.simulation.time == 2.0
    seen, reward, *_, info = _go(env, [-1.0, 0.5], 2)
    for other in there:
        assert np.array_equal(other[0], seen) and other[1] == reward and other[4] == info
    # records of the time before the copy are there, and both draw the same worlds from now on
    assert copies[0].unwrapped.simulation.dataset().equals(env.unwrapped.simulation.dataset())
    assert np.array_equal(copies[1].reset()[0], env.reset()[0])


def test_specs_can_be_written_and_pickled():
    spec = gymnasium.spec("marsyard/ClimbOut-v0")
    assert pickle.loads(pickle.dumps(spec)).id == spec.id
    assert gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()).id == spec.id


def test_sinkage_is_that_of_the_results():
    # on the wall of the hollow, where depth across the ground and straight down differ
    env = gymnasium.make("marsyard/ClimbOut-v0", worlds=1, randomise=False)
    env.reset(seed=0)
    seen, *_ = _go(env, [1.0, 0.0, 0.0], 25)
    now, results = env.unwrapped.reading, env.unwrapped.simulation.dataset()
    assert abs(now.pitch) > math.radians(8)
    assert now.sinkage == pytest.approx(float(results.sinkage[-1].mean()), rel=1e-12)
    assert seen[10] == pytest.approx(now.sinkage, rel=1e-6)
    slip = results.slip_ratio.sel(time=slice(24 - 1e-6, None))
    assert now.slip == pytest.approx(float(slip.mean()), rel=1e-12)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_threads_begin_anew_as_gymnasium_does(mode):
    options = {"num_envs": 2, "worlds": 1, "max_episode_steps": 2}
    name, act = "marsyard/ReachGoal-v0", np.array([[1.0, 0.3]] * 2, dtype=np.float32)
    threads = gymnasium.make_vec(name, autoreset_mode=mode.value, **options)
    alone = gymnasium.make_vec(
        name, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    assert threads.metadata["autoreset_mode"] is mode
    assert threads.metadata == alone.metadata
    seen = [envs.reset(seed=3)[0] for envs in (threads, alone)]
    assert np.array_equal(*seen)
    for step in range(5 if mode is not AutoresetMode.DISABLED else 2):
        a, b = threads.step(act), alone.step(act)
        for mine, other in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(mine, other), step
        assert a[4].keys() == b[4].keys(), step
    if mode is AutoresetMode.DISABLED:
        with pytest.raises(InputError, match="has ended"):
            threads.step(act)
    threads.close()
    threads.close()
    alone.close()


def test_neither_number_nor_threads_change_an_episode():
    name, options = "marsyard/ReachGoal-v0", {"worlds": 3, "max_episode_steps": 3}
    rows = []
    for count, threads in ((1, 1), (3, 1), (3, 3)):
        envs = gymnasium.make_vec(name, num_envs=count, threads=threads, **options)
        seen = [envs.reset(seed=11)[0][0]]
        seen += [envs.step(np.full((count, 2), 0.7, dtype=np.float32))[0][0] for _ in range(6)]
        rows.append(np.array(seen))
        envs.close()
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])


@pytest.mark.parametrize(
    ("options", "text"),
    [({"threads": 0}, "at least 1"), ({"autoreset_mode": "SameStp"}, "did you mean 'SameStep'")],
)
def test_mistakes_about_threads_are_told_in_a_sentence(options, text):
    with pytest.raises(InputError, match=text):
        gymnasium.make_vec("marsyard/ReachGoal-v0", num_envs=1, **options)


def test_rewards_add_up_to_way_made_good_and_to_and_fro_earns_nothing():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=1)
    _, told = env.reset(seed=0)
    total = 0.0
    for k in range(12):
        _, reward, *_, info = _go(env, [1.0 if k % 4 < 2 else -1.0, 0.0], 1)
        total += reward
    assert total == pytest.approx(told["distance"] - info["distance"] - 12 * 0.02, abs=1e-9)
    assert total < 0.1


@pytest.mark.soak
def test_threads_give_the_same_bits_for_long():
    name, options = "marsyard/ClimbOut-v0", {"worlds": 4, "max_episode_steps": 20}
    threads = gymnasium.make_vec(name, num_envs=4, threads=4, **options)
    alone = gymnasium.make_vec(name, num_envs=4, vectorization_mode="sync", **options)
    assert np.array_equal(threads.reset(seed=2)[0], alone.reset(seed=2)[0])
    random = np.random.default_rng(0)
    for step in range(250):
        act = random.uniform(-1, 1, (4, 3)).astype(np.float32)
        for mine, other in zip(threads.step(act)[:4], alone.step(act)[:4], strict=True):
            assert np.array_equal(mine, other), step
    threads.close()
    alone.close()


@pytest.mark.soak
def test_many_episodes_keep_the_memory():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=2)

    def used() -> float:
        """Resident memory [MB]."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def some(count: int) -> None:
        for k in range(count):
            env.reset(seed=k)
            if k % 10 == 0:
                env.step(np.array([1.0, 0.0], dtype=np.float32))

    some(300)
    before = used()
    some(2000)
    assert used() - before < 20


def test_a_picture_shows_rover_and_ruts():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=1, render_mode="rgb_array", size=(160, 90))
    env.reset(seed=0)
    before = env.render()
    # untouched ground is drawn as smooth as it is, without steps of the soil's nodes
    model, soil = env.unwrapped._camera.model, env.unwrapped.simulation.world.soil
    x, y, low = model.geom("soil").pos
    drawn = low + model.hfield_size[0, 2] * model.hfield_data.reshape(POINTS, POINTS)[0]
    true = soil.grid.terrain.height(np.linspace(x - HALF, x + HALF, POINTS), y - HALF)
    assert drawn == pytest.approx(true, abs=1e-5)
    for _ in range(5):
        env.step(np.array([1.0, 0.0], dtype=np.float32))
    after = env.render()
    assert before.shape == after.shape == (90, 160, 3) and before.dtype == np.uint8
    assert before.std() > 10 and not np.array_equal(before, after)
    env.close()
