"""Verdicts from runs: intervals, policies, margins, end points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from marsyard.errors import InputError
from marsyard.operations.verdict import (
    Ellipse,
    Policy,
    chance,
    end_ellipse,
    judge,
    margin,
    runs_needed,
    worst,
)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [20, 200])
def test_intervals_hold_the_truth_as_often_as_they_say(p, n):
    """Exact coverage, summed over all outcomes."""
    covered = 0.0
    for k in range(n + 1):
        found = chance(k, n, 0.9)
        if found.low <= p <= found.high:
            covered += float(stats.binom.pmf(k, n, p))
    assert covered >= 0.9


def test_no_failure_in_many_runs():
    n = runs_needed(0.02)
    assert chance(0, n).high <= 0.02 < chance(0, n - 1).high
    assert judge(chance(0, n), Policy(0.0, 0.02)) == "go"
    assert judge(chance(0, n - 1), Policy(0.0, 0.02)) == "caution"  # too few to tell


def test_verdicts():
    policy = Policy(0.02, 0.10)
    assert judge(chance(0, 200), policy) == "go"
    assert judge(chance(4, 200), policy) == "go"
    assert judge(chance(10, 200), policy) == "caution"
    assert judge(chance(60, 200), policy) == "no-go"
    assert judge(chance(0, 200), policy, nominal_broken=True) == "no-go"
    assert worst(["go", "caution", "go"]) == "caution"
    assert worst(["caution", "no-go"]) == "no-go"
    assert worst([]) == "go"


def test_more_failures_are_never_better():
    policy = Policy()
    order = [("go", "caution", "no-go").index(judge(chance(k, 150), policy)) for k in range(151)]
    assert order == sorted(order)
    assert {0, 1, 2} == set(order)


def test_margins():
    assert margin(15.0, at_most=20.0) == pytest.approx(0.25)
    assert margin(25.0, at_most=20.0) == pytest.approx(-0.25)
    assert margin(0.3, at_least=0.2) == pytest.approx(0.5)
    assert margin(15.0, at_most=20.0, at_least=14.0) == pytest.approx(1 / 14)
    assert margin(1.0) == math.inf


def test_the_next_end_point_lies_in_the_ellipse():
    rng = np.random.default_rng(2)
    mix = np.array([[0.5, 0.2], [0.0, 0.1]])
    hits = []
    for _ in range(600):
        points = rng.normal(size=(12, 2)) @ mix + [3.0, -1.0]
        ellipse = end_ellipse(points[:-1], 0.9)
        hits.append(bool(ellipse.holds(points[-1:])[0]))
    assert np.mean(hits) == pytest.approx(0.9, abs=3 * math.sqrt(0.09 / 600))


def test_an_ellipse_and_its_outline():
    e = Ellipse((1.0, 2.0), (2.0, 0.5), 0.4)
    ring = e.points()
    middle = np.array(e.centre)
    assert e.holds(0.999 * (ring - middle) + middle).all()
    assert not e.holds(1.001 * (ring - middle) + middle).any()
    far = ring[np.argmax(np.linalg.norm(ring - middle, axis=1))] - middle
    assert math.tan(0.4) == pytest.approx(far[1] / far[0], rel=0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: chance(3, 2), "one run or more"),
        (lambda: chance(0, 0), "one run or more"),
        (lambda: Policy(0.2, 0.1), "must increase"),
        (lambda: Policy(confidence=1.0), "confidence"),
        (lambda: runs_needed(0.0), "between 0 and 1"),
        (lambda: end_ellipse(np.zeros((3, 2))), "too few"),
    ],
)
def test_mistakes(call, words):
    with pytest.raises(InputError, match=words):
        call()
