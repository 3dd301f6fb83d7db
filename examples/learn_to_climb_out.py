"""Teach a rover to climb out of a hollow of sand, by policy search with CMA-ES on two cores.

The policy is as small as the insight: three numbers are seen (1, and cos and sin of the bearing of
outwards), three are commanded (speed, curvature, crab angle), each the tanh of a weighted sum. The
nine weights start at 0, where the rover stands still. CMA-ES, the evolution strategy of the package
`cma`, finds better ones from the rewards alone. Straight up the wall the rover digs itself in; what
is learnt is to leave on a slanting course. Every generation drives in worlds of its own, so that
what is learnt is not the way out of a few of them.

    python examples/learn_to_climb_out.py                    # about 3 minutes on two cores
    python examples/learn_to_climb_out.py --quick            # a minute, less is learnt
    python examples/learn_to_climb_out.py --task ReachGoal   # the same with another environment
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cma
import gymnasium
import numpy as np

import marsyard.gym  # registers the environments

TRAIN, TEST = 0, 1  # seeds of worlds
WORKERS = 2


def act(weights: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The policy: what to do on what is seen; a row of weights for each number of the action."""
    features = np.array([1.0, seen[1], seen[2]])
    return np.tanh(weights.reshape(-1, 3) @ features).astype(np.float32)


def episode(env: gymnasium.Env, weights: np.ndarray, world: int) -> tuple[float, bool]:
    """Sum of rewards, and whether it ended well."""
    seen, _ = env.reset(seed=0, options={"world": world})
    total, ended = 0.0, False
    while not ended:
        seen, reward, terminated, truncated, info = env.step(act(weights, seen))
        total += float(reward)
        ended = terminated or truncated
    return total, bool(info["success"])


class Field:
    """Environments of a task, one for each thread: the physics runs without Python's lock."""

    def __init__(self, task: str, seed: int) -> None:
        self._envs = [
            gymnasium.make(f"marsyard/{task}-v0", world_seed=seed) for _ in range(WORKERS)
        ]
        self.weights = 3 * len(self._envs[0].action_space.sample())  # how many
        self._pool = ThreadPoolExecutor(WORKERS)

    def scores(self, candidates: list[np.ndarray], worlds: range) -> np.ndarray:
        """Mean sum of rewards and share of successes of each candidate, shape [n, 2]."""
        n = len(candidates)
        jobs = n * len(worlds)

        def one(k: int) -> list[tuple[float, bool]]:
            # every environment takes each WORKERS-th job, so that results do not hang on the clock,
            # and world after world, so that each is built once
            return [
                episode(self._envs[k], candidates[job % n], worlds[job // n])
                for job in range(k, jobs, WORKERS)
            ]

        out = np.zeros((jobs, 2))
        for k, done in enumerate(self._pool.map(one, range(WORKERS))):
            out[k::WORKERS] = done
        return out.reshape(len(worlds), n, 2).mean(axis=0)


def learn(
    task: str, generations: int, population: int, worlds: int, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The weights found; of each generation the scores and successes of what is learnt so far
    (the centre of the search) and of the candidates in the mean, shape [generation, 4]."""
    field = Field(task, TRAIN)
    options = {"popsize": population, "seed": seed, "verbose": -9}
    search = cma.CMAEvolutionStrategy(np.zeros(field.weights), 1.0, options)
    history = []
    began = time.perf_counter()
    for generation in range(generations):
        candidates = search.ask()
        own = range(generation * worlds, (generation + 1) * worlds)
        scores = field.scores([search.mean, *candidates], own)
        search.tell(candidates, list(-scores[1:, 0]))
        history.append((*scores[0], *scores[1:].mean(axis=0)))
        learnt, good, tried, tried_good = history[-1]
        print(
            f"generation {generation + 1:2d}: reward {learnt:6.2f}, {100 * good:3.0f} % succeed; "
            f"candidates {tried:6.2f}, {100 * tried_good:3.0f} % "
            f"({time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    return search.mean, np.array(history)


def draw(history: np.ndarray, file: Path) -> None:
    """The curve of learning."""
    import matplotlib.pyplot as plt

    generation = np.arange(1, len(history) + 1)
    figure, axes = plt.subplots(2, 1, figsize=(6, 5), sharex=True, layout="constrained")
    for row, scale in ((0, 1), (1, 100)):
        axes[row].plot(generation, scale * history[:, row], label="what is learnt so far")
        axes[row].plot(generation, scale * history[:, row + 2], label="candidates, mean", alpha=0.6)
    axes[0].set_ylabel("sum of rewards")
    axes[0].legend(frameon=False)
    axes[1].set(xlabel="generation", ylabel="episodes that succeed [%]", ylim=(-5, 105))
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks = [name.removeprefix("marsyard/").removesuffix("-v0") for name in marsyard.gym.IDS]
    parser.add_argument("--task", choices=tasks, default="ClimbOut")
    parser.add_argument("--quick", action="store_true", help="fewer generations, one world")
    parser.add_argument("--out", type=Path, default=Path("learning.png"), help="picture")
    given = parser.parse_args()
    size = (3, 8, 1) if given.quick else (8, 12, 3)
    weights, history = learn(given.task, *size)
    print("weights:", [[round(float(w), 3) for w in row] for row in weights.reshape(-1, 3)])
    field, worlds = Field(given.task, TEST), range(1 if given.quick else 20)
    before, after = field.scores([np.zeros(field.weights), weights], worlds)
    print(f"on worlds never seen ({len(worlds)}): reward {before[0]:.2f} untrained, "
          f"{after[0]:.2f} trained; {100 * after[1]:.0f} % succeed")  # fmt: skip
    draw(history, given.out)
    print(f"picture: {given.out}")
    if not after[0] > before[0] + (0.3 if given.quick else 5.0):
        raise SystemExit("nothing was learnt")


if __name__ == "__main__":
    main()
