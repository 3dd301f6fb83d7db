"""The fuzzers on a fixed seed; `make fuzz` draws a new one.

A failure names the command that repeats it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from file_cases import KINDS, build_seeds
from fuzz_files import command as file_command
from fuzz_files import fuzz_files
from fuzz_workers import describe
from fuzz_worlds import command as world_command
from fuzz_worlds import fuzz_worlds

SEED = 21


@pytest.fixture(scope="module")
def seeds(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    build_seeds(folder)
    return folder


def check_files(numbers: list[int], seeds: Path) -> None:
    outcomes = fuzz_files(numbers, SEED, seeds)
    assert all(o.passed for o in outcomes), describe(outcomes, file_command)
    kinds = {o.case["kind"] for o in outcomes}
    assert kinds == set(KINDS), "every kind of file was tried"
    # mutations that change nothing would prove nothing
    assert sum(o.kind == "refused" for o in outcomes) > 0.5 * len(outcomes)


def check_worlds(numbers: list[int]) -> None:
    outcomes = fuzz_worlds(numbers, SEED)
    assert all(o.passed for o in outcomes), describe(outcomes, world_command)
    assert sum(o.kind == "accepted" for o in outcomes) > 0.2 * len(outcomes)


def test_a_hundred_damaged_files(seeds):
    check_files(list(range(100)), seeds)


def test_a_hundred_random_worlds():
    check_worlds(list(range(100)))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_damaged_files(seeds, part):
    check_files(list(range(100 * part, 100 * (part + 1))), seeds)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(50))
def test_five_thousand_random_worlds(part):
    check_worlds(list(range(100 * part, 100 * (part + 1))))
