"""Make the table of baselines in docs/how-to/learn.md: what simple policies reach.

    python docs/make_baselines.py            # all environments, a few minutes on two cores
    python docs/make_baselines.py ClimbOut   # one of them

Every policy drives once in each of the 20 worlds of world_seed 1, which nothing was trained on. The
policies see what an agent sees, nothing else. The numbers are kept in docs/baselines.json, from
which the table is written. With `--page` alone the table is written again and nothing is driven.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import marsyard.gym

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "baselines.json", HERE / "how-to" / "learn.md"
WORLDS, SEED = 20, 1
WORKERS = 2
Policy = Callable[[np.ndarray], Any]
#: what examples/learn_to_climb_out.py learnt in the run that docs/how-to/learn.md shows
LEARNT: dict[str, Any] = {
    "ClimbOut": [[1.812, 0.816, -0.31], [0.518, 0.544, 2.462], [-1.914, 0.789, -0.423]],
}


def towards(seen: np.ndarray, aside: float = 0.0) -> list[float]:
    """Full speed, steered to a course `aside` [rad] to the left of the target."""
    bearing = math.remainder(math.atan2(seen[2], seen[1]) + aside, 2 * math.pi)
    return [1.0, max(-1.0, min(1.0, 2 * bearing))]


def slanting(seen: np.ndarray) -> list[float]:
    """Out of the hollow on a course 60° aside of the steepest way, the nose as it stands."""
    course = math.remainder(math.atan2(seen[2], seen[1]) + math.radians(60), 2 * math.pi)
    back = abs(course) > math.pi / 2
    course = math.remainder(course + math.pi, 2 * math.pi) if back else course
    return [-1.0 if back else 1.0, 0.0, max(-1.0, min(1.0, course / math.radians(60)))]


def around(seen: np.ndarray) -> list[float]:
    """To the goal in a bow on the left of the hill, away from the loose sand."""
    return towards(seen, 0.5 if seen[0] > 5.0 else 0.0)


def weighted(weights: Any, seen: np.ndarray) -> np.ndarray:
    """The policy of examples/learn_to_climb_out.py."""
    return np.tanh(np.array(weights) @ [1.0, seen[1], seen[2]])


#: by environment: name in the table and what is done
BY_HAND: dict[str, dict[str, Policy]] = {
    "ReachGoal": {"steers to the goal": towards},
    "ClimbOut": {"course 60° aside of outwards": slanting},
    "DriveEfficiently": {"steers to the goal, over the hill": towards, "bow on the left": around},
}


def policies(task: str, world: int) -> dict[str, Policy]:
    """Of an environment, in a world: name and what to do on what is seen."""
    random = np.random.default_rng([SEED, world])
    count = 3 if task == "ClimbOut" else 2
    out: dict[str, Policy] = {
        "random": lambda _: random.uniform(-1, 1, count),
        "straight ahead": lambda _: [1.0] + [0.0] * (count - 1),
        **BY_HAND[task],
    }
    if task in LEARNT:
        out["learnt (CMA-ES)"] = lambda seen: weighted(LEARNT[task], seen)
    return out


def drive(env: gymnasium.Env, policy: Policy, world: int) -> tuple[float, float, float, float]:
    """An episode: return, success, steps, energy [J]."""
    seen, _ = env.reset(seed=world, options={"world": world})
    total, steps, ended = 0.0, 0, False
    while not ended:
        action = np.asarray(policy(seen), dtype=np.float32)
        seen, reward, terminated, truncated, info = env.step(action)
        total, steps, ended = total + float(reward), steps + 1, terminated or truncated
    return total, float(info["success"]), float(steps), info["energy"]


def measure(task: str) -> dict[str, dict[str, float]]:
    """Of each policy of an environment: means over the worlds, and the scatter of the return."""

    def some(worker: int) -> dict[str, list[tuple[float, ...]]]:
        env = gymnasium.make(f"marsyard/{task}-v0", worlds=WORLDS, world_seed=SEED)
        out: dict[str, list[tuple[float, ...]]] = {}
        for world in range(worker, WORLDS, WORKERS):
            for name, policy in policies(task, world).items():
                out.setdefault(name, []).append(drive(env, policy, world))
        return out

    with ThreadPoolExecutor(WORKERS) as pool:
        parts = list(pool.map(some, range(WORKERS)))
    table = {}
    for name in policies(task, 0):
        runs = np.array([run for part in parts for run in part.get(name, [])])
        total, success, steps, energy = runs.mean(axis=0)
        table[name] = {
            "success": success, "return": total, "scatter": float(runs[:, 0].std()),
            "steps": steps, "energy": energy,
        }  # fmt: skip
    return table


def lines(kept: dict[str, dict[str, dict[str, float]]]) -> str:
    """The table in Markdown."""
    out = ["| environment | policy | success | return | steps | energy |",
           "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for name in marsyard.gym.IDS:
        for policy, row in kept.get(name.split("/")[1].removesuffix("-v0"), {}).items():
            total = f"{row['return']:.1f} ± {row['scatter']:.1f}".replace("-", "−")
            out.append(
                f"| `{name}` | {policy} | {100 * row['success']:.0f} % | {total} "
                f"| {row['steps']:.0f} | {row['energy'] / 1e3:.1f} kJ |"
            )
    return "\n".join(out)


def page(text: str, kept: dict[str, dict[str, dict[str, float]]]) -> str:
    """The page with the table in its place."""
    table = f"<!-- made by docs/make_baselines.py -->\n{lines(kept)}\n<!-- end -->"
    new, count = re.subn(
        r"<!-- made by docs/make_baselines.py -->.*?<!-- end -->", table, text, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{PAGE}: no place for the table")
    return new


def main(given: list[str]) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for task in [] if given == ["--page"] else given or list(BY_HAND):
        kept[task] = measure(task)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(task, kept[task], flush=True)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
