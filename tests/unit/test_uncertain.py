"""Uncertain values: their distributions, samples and mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from marsyard.errors import InputError
from marsyard.operations.distributions import parse, read_uncertain, uncertain_of

MANY = 4000


def drawn(text: str, seed: int = 3, count: int = MANY) -> np.ndarray:
    return np.array(
        [s["a"] for s in uncertain_of({"seed": seed, "uncertain": {"a": text}}).samples(count)]
    )


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("normal(2 cm, 5 mm)", stats.norm(0.02, 0.005)),
        ("uniform(30 deg, 36 deg)", stats.uniform(math.radians(30), math.radians(6))),
        ("triangular(0, 1, 4)", stats.triang(0.25, 0, 4)),
        ("lognormal(2, 1.5)", stats.lognorm(math.log(1.5), scale=2)),
        ("normal(0, 1, -0.5, 2)", stats.truncnorm(-0.5, 2)),
    ],
)
def test_samples_follow_their_law(text, law):
    values = drawn(text)
    assert stats.kstest(values, law.cdf).statistic < 2 / MANY  # one in each stratum
    # independent ones would be ten times further off
    assert abs(values.mean() - law.mean()) < 0.1 * law.std() / math.sqrt(MANY)


def test_whole_numbers_and_choices_are_even():
    values = drawn("integers(0, 9)")
    assert np.all(np.bincount(values.astype(int)) == MANY // 10)
    words = drawn("choice(dry_sand, grc_1, 7)")
    assert set(words) == {"dry_sand", "grc_1", "7.0"}  # an array of words


def test_values_are_independent_of_each_other():
    found = uncertain_of({"uncertain": {"a": "normal(0, 1)", "b": "normal(0, 1)"}}).samples(MANY)
    a, b = (np.array([s[k] for s in found]) for k in "ab")
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / math.sqrt(MANY)


def test_the_same_seed_gives_the_same_samples():
    first, again, other = (drawn("normal(0, 1)", seed, 50) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_times_the_scenarios_own_value():
    u = uncertain_of({"uncertain": {"mass": "times uniform(0.9, 1.1)"}})
    values = [s["mass"] for s in u.samples(100, {"mass": 50})]
    assert 45 <= min(values) < 46 and 54 < max(values) <= 55
    with pytest.raises(InputError, match="needs a number of the scenario"):
        u.samples(2, {"mass": "heavy"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (5, "must be a distribution"),
        ("5 cm", "must be a distribution"),
        ("norml(0, 1)", "normal"),
        ("normal(0)", "2 or 4 numbers, not 1"),
        ("normal(0, 1, 2)", "2 or 4 numbers, not 3"),
        ("normal(0, 0)", "above 0"),
        ("normal(0, nan)", "'nan' is not a number"),
        ("uniform(2, 1)", "low must be below high"),
        ("uniform(a, 1)", "'a' is not a number"),
        ("lognormal(1, 0.9)", "factor above 1"),
        ("triangular(0, 5, 4)", "must increase"),
        ("integers(0.5, 2)", "whole numbers"),
        ("choice()", "1 or more"),
        ("times normal(1, 5 cm)", "plain numbers, not 'cm'"),
    ],
)
def test_mistakes_get_one_sentence(text, words):
    with pytest.raises(InputError, match=words) as caught:
        parse(text, "uncertain.x")
    assert str(caught.value).startswith("uncertain.x: ")
    assert "\n" not in str(caught.value)


def test_files(tmp_path):
    file = tmp_path / "u.yaml"
    file.write_text("seed: 4\nuncertain:\n  robot.position.0: normal(0, 5 cm)\n")
    u = read_uncertain(file)
    assert u.seed == 4 and u.values["robot.position.0"].arguments == (0.0, 0.05)
    for text, words in (
        ("sed: 4", "seed"),
        ("seed: -1", "0 or more"),
        ("- 5", "mapping"),
        ("uncertain: [1]", "paths with distributions"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=words):
            read_uncertain(file)
    with pytest.raises(InputError, match="no such file"):
        read_uncertain(tmp_path / "nothing.yaml")
