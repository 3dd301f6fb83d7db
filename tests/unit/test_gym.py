"""Environments: Gymnasium's own check, seeds, physics that needs the right way of driving."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import marsyard.gym
from marsyard import InputError


def _drive(env, policy, world=0, most=150):
    """An episode: sum of rewards, steps, and what was told last."""
    seen, _ = env.reset(seed=0, options={"world": world})
    total, count, ended, late = 0.0, 0, False, False
    while count < most and not (ended or late):
        seen, reward, ended, late, info = env.step(np.array(policy(seen), dtype=np.float32))
        total, count = total + reward, count + 1
    return total, count, info


@pytest.mark.parametrize("name", marsyard.gym.IDS)
@pytest.mark.filterwarnings("error")
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
        ({"worlds": 0}, "at least 1"),
        ({"scenario": "rt0448/test-1"}, "needs one ground, of terrain"),
        ({"settings": {"ground.0.terrain": "flat"}}, "ground.0.terrain"),
    ],
)
def test_mistakes_are_told_in_a_sentence(options, text):
    with pytest.raises(InputError, match=text):
        gymnasium.make("marsyard/ReachGoal-v0", **options)


def test_a_picture_shows_rover_and_ruts():
    env = gymnasium.make("marsyard/ReachGoal-v0", worlds=1, render_mode="rgb_array", size=(160, 90))
    env.reset(seed=0)
    before = env.render()
    for _ in range(5):
        env.step(np.array([1.0, 0.0], dtype=np.float32))
    after = env.render()
    assert before.shape == after.shape == (90, 160, 3) and before.dtype == np.uint8
    assert before.std() > 10 and not np.array_equal(before, after)
    env.close()
