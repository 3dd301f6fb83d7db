"""Fuzzing of worlds: random ones that the schema allows must be refused in one sentence, or end
finite and plausible, or say themselves what is wrong.

    python tests/fuzz/fuzz_worlds.py --count 5000 --seed 7
    python tests/fuzz/fuzz_worlds.py --seed 7 --case 123         # one world again, printed as YAML

A world is plausible when all that it recorded is finite, no body is faster than 10⁶ m/s, and no
more energy appears than motors put in. A run may end early (`Diverged`) or warn: then it said so.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_workers import Outcome, describe, empty_folder, run_cases, serve
from world_cases import draw_world

#: longest time of a world [s]
SECONDS = 40.0
#: fastest plausible speed [m/s, rad/s]
FASTEST = 1e6
#: energy that may appear: absolute [J], and as a share of what there is
GAIN, SHARE = 1.0, 0.05


def fuzz_worlds(cases: list[int], seed: int) -> list[Outcome]:
    """The outcomes of the worlds of these numbers."""
    drawn = [{"number": number, "seed": seed} for number in cases]
    with tempfile.TemporaryDirectory() as folder:
        return list(run_cases(Path(__file__), drawn, SECONDS, Path(folder)))


def _world(case: dict[str, Any]) -> dict[str, Any]:
    return draw_world(random.Random(f"{case['seed']}/{case['number']}"))


def _use(case: dict[str, Any]) -> str:
    from marsyard.scenario import validate
    from marsyard.simulation import Diverged, Simulation

    with empty_folder() as here, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        simulation = Simulation(validate(_world(case)))
        ended = ""
        try:
            simulation.run()
        except Diverged as error:
            ended = str(error)
        assert not list(here.iterdir()), f"{[p.name for p in here.iterdir()]} was left behind"
        said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        if ended:
            return f"ended: {ended}"
        _judge(simulation.dataset(), said)
        return "finished" + (f", warned: {said[0]}" if said else "")


def _judge(ds: Any, said: list[str]) -> None:
    """AssertionError if a run that says nothing is absurd."""
    for name in ("position_base", "velocity_base", "joint_rate", "energy_kinetic"):
        if name in ds:
            assert np.isfinite(ds[name].values).all(), f"{name} is not finite"
    for name in ("velocity_base", "joint_rate", "angular_velocity_base"):
        if name in ds and not said:
            fastest = float(np.abs(ds[name].values).max(initial=0.0))
            assert fastest < FASTEST, f"{name} reaches {fastest:g}, unsaid"
    energy = (ds["energy_kinetic"] + ds["energy_potential"]).values
    put_in = ds["energy_motors"].values
    gain = float(np.max(energy - energy[0] - (put_in - put_in[0])))
    there = float(ds["energy_kinetic"].max()) + float(np.abs(put_in).max())
    if gain > GAIN + SHARE * there and not said:
        raise AssertionError(f"{gain:.3g} J appear from nothing (there are {there:.3g} J), unsaid")


def command(case: dict[str, Any]) -> str:
    """The command that repeats a case."""
    return f"python tests/fuzz/fuzz_worlds.py --seed {case['seed']} --case {case['number']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", type=int, default=None)
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    numbers = list(range(given.count)) if given.case is None else [given.case]
    print(f"worlds: {len(numbers)} cases, seed {seed}", flush=True)
    outcomes = fuzz_worlds(numbers, seed)
    print(describe(outcomes, command))
    if given.case is not None:
        import yaml

        print(outcomes[0].text)
        print(yaml.safe_dump(_world(outcomes[0].case), sort_keys=False))
    sys.exit(not all(o.passed for o in outcomes))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        serve(_use, float(sys.argv[2]))
    else:
        main()
