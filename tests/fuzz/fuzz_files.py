"""Fuzzing of files: mutated files of every kind must be accepted or refused in one sentence.

    python tests/fuzz/fuzz_files.py --count 1000 --seed 7
    python tests/fuzz/fuzz_files.py --seed 7 --case 123          # one case again
    python tests/fuzz/fuzz_files.py --kind fmu --count 200

A case is a number; it and the seed decide the file and what is done to it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from file_cases import KINDS, build_seeds
from fuzz_workers import Outcome, describe, empty_folder, run_cases, serve
from mutations import mutate

#: longest time of a case [s]
SECONDS = 20.0


def fuzz_files(
    cases: list[int], seed: int, folder: Path, kinds: tuple[str, ...] = tuple(KINDS)
) -> list[Outcome]:
    """The outcomes of the cases of these numbers; `folder` takes the good files."""
    if not (folder / "drive.mcap").exists():
        build_seeds(folder)
    drawn = [_draw(number, seed, kinds) for number in cases]
    return list(run_cases(Path(__file__), drawn, SECONDS, folder))


def _draw(number: int, seed: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    rng = random.Random(f"{seed}/{number}")
    kind = kinds[number % len(kinds)]
    return {"number": number, "seed": seed, "kind": kind, "file": rng.choice(KINDS[kind].files)}


def _use(case: dict[str, Any], seeds: Path) -> str:
    """Do with a mutated file what the command line does."""
    kind = KINDS[case["kind"]]
    source = seeds / case["file"]
    with empty_folder() as here:
        top = Path(case["file"]).parts[0]
        work = here / "work"
        work.mkdir()
        if kind.around and top == kind.around:
            shutil.copytree(seeds / kind.around, work / top)
            target = work / case["file"]
            target.unlink()
        else:
            target = work / source.name
        said = mutate(source, target, random.Random(f"{case['seed']}/{case['number']}/change"))
        (here / "away").mkdir()
        try:
            kind.use(target)
        finally:
            left = [p.name for p in here.iterdir() if p.name not in ("work", "away")]
            left += [p.name for p in work.rglob("MUJOCO_LOG.TXT")]
            assert not left, f"{', '.join(left)} was left behind"
        return said


def command(case: dict[str, Any]) -> str:
    """The command that repeats a case."""
    return (
        f"python tests/fuzz/fuzz_files.py --seed {case['seed']} --case {case['number']} "
        f"--kind '{case['kind']}'"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", type=int, default=None)
    parser.add_argument("--kind", choices=tuple(KINDS), default=None)
    parser.add_argument("--seeds", type=Path, default=None, help="folder of good files, kept")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    numbers = list(range(given.count))
    kinds = tuple(KINDS)
    if given.kind:
        first = kinds.index(given.kind)
        numbers = [first + k * len(kinds) for k in range(given.count)]
    if given.case is not None:
        numbers = [given.case]
    print(f"files: {len(numbers)} cases, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as made:
        outcomes = fuzz_files(numbers, seed, given.seeds or Path(made))
    print(describe(outcomes, command))
    if given.case is not None:
        print(outcomes[0].text)
    sys.exit(not all(o.passed for o in outcomes))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        where = Path(sys.argv[3])
        serve(lambda case: _use(case, where), float(sys.argv[2]))
    else:
        main()
