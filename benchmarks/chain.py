"""Cost of a step against the number of bodies: a hanging chain of 10 to 1000 bodies.

Each chain is stepped by the articulated-body recursion (`simulation.inertia`) and, as far as that
is bearable, by MuJoCo's sparse factorisation in the same engine. The value is the cost per body of
1000 bodies over that of 100: O(n) is 1, O(n²) 10, O(n³) 100.

python benchmarks/chain.py FILE.png    draws the costs
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import mujoco
import numpy as np

from marsyard.robot import Robot
from marsyard.scenario import validate
from marsyard.simulation import Simulation, inertia
from marsyard.simulation.world import build_world

SIZES = (10, 20, 50, 100, 200, 500, 1000)
#: longer chains than this take too long by the sparse factorisation
LONGEST_SPARSE = 500


class Chain(Robot):
    """Rods of 0.2 m that hang on each other by hinges about y and x in turn."""

    rods: int

    def spec(self) -> mujoco.MjSpec:
        """Built rod by rod: files may not be nested that deep."""
        spec = mujoco.MjSpec()
        body = spec.worldbody
        for k in range(self.rods):
            body = body.add_body(pos=[0.0, 0.0, -0.2 if k else 0.0])
            body.add_joint(name=f"joint{k}", axis=[0, 1, 0] if k % 2 == 0 else [1, 0, 0])
            body.mass, body.ipos, body.inertia = 0.2, [0, 0, -0.1], [0.001, 0.001, 0.0005]
            body.explicitinertial = True
        return spec


def step_time(n: int, recursion: bool) -> float:
    """Seconds per step, the best of several passes."""
    inertia.DEEP = 0.0 if recursion else np.inf
    scenario = validate(
        {
            "robot": {"name": "exomars", "joints": {"joint0": 0.3}},
            "ground": [],
            "interaction": {"law": "none"},
            "run": {"duration": 1000.0, "step": 1e-3, "record_period": 1000.0},
        }
    )
    sim = Simulation(scenario, build_world(scenario, Chain(name="chain", model=Path(), rods=n)))
    assert sim.facts.tree.articulated == recursion
    sim.step(1)
    count = max(1, min(2000, int(4e4 / n**1.5)))
    best = np.inf
    for _ in range(5):
        began = time.perf_counter()
        sim.step(count)
        best = min(best, (time.perf_counter() - began) / count)
    return best


def measure() -> tuple[np.ndarray, np.ndarray]:
    """Seconds per step by the recursion and by the sparse factorisation (NaN where too long)."""
    kept = inertia.DEEP
    try:
        recursion = np.array([step_time(n, True) for n in SIZES])
        sparse = np.array([step_time(n, False) if n <= LONGEST_SPARSE else np.nan for n in SIZES])
    finally:
        inertia.DEEP = kept
    return recursion, sparse


def run() -> list[dict]:
    """The benchmark's rows: name, value, unit, bar, ok, note."""
    recursion, sparse = measure()
    per_body = recursion / np.array(SIZES)
    ratio = per_body[-1] / per_body[SIZES.index(100)]
    longest = SIZES.index(LONGEST_SPARSE)
    gain = sparse[longest] / recursion[longest]
    cross = next((n for n, a, b in zip(SIZES, recursion, sparse, strict=True) if a < b), None)
    return [
        {
            "name": "cost per body, long chain over short", "value": ratio, "unit": "×",
            "bar": "≤ 1.5",
            "ok": bool(ratio <= 1.5),
            "note": f"1000 bodies against 100; {1e6 * recursion[-1]:.0f} µs a step for 1000",
        },
        {
            "name": "sparse factorisation over recursion", "value": gain, "unit": "×",
            "bar": "≥ 10",
            "ok": bool(gain >= 10),
            "note": f"chain of {LONGEST_SPARSE} bodies; the recursion is faster from {cross} on",
        },
    ]  # fmt: skip


def plot(path: str) -> None:
    """Draw cost against size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    recursion, sparse = measure()
    n = np.array(SIZES)
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    axes.loglog(n, 1e6 * recursion, "o-", label="articulated-body recursion")
    axes.loglog(n, 1e6 * sparse, "s-", label="MuJoCo's sparse LᵀDL")
    axes.loglog(n, 1e6 * recursion[-1] * n / n[-1], "k:", lw=1, label="O(n)")
    axes.loglog(n[4:], 1e6 * sparse[4] * (n[4:] / n[4]) ** 3, "k--", lw=1, label="O(n³)")
    axes.set(xlabel="bodies in the chain", ylabel="time of a step [µs]", ylim=(2, 1e5))
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    plot(sys.argv[1])
