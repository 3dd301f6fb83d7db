"""Contacts that are hyperstatic and at their friction limits: models as CAD exports have them."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from marsyard.interaction.nonsmooth import solve_friction_contact
from marsyard.interaction.nonsmooth.problems import generate

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "degenerate.py"))
ITERATIONS, UNCONVERGED = BENCH["ITERATIONS"], BENCH["UNCONVERGED"]


def test_wheels_that_are_not_quite_parallel():
    # toe of 1e-12 to 1e-3 rad: friction saturates at sliding speeds of that share of the rover's
    steps = []
    for seed in range(20):
        for p in generate("toed_rover", (8, 12), (0.3, 0.7, 1.2), seed):
            s = solve_friction_contact(p.W, p.q, p.mu)
            assert s.converged, (p.name, s.residual)
            steps.append(s.iterations)
    assert max(steps) < 600
    assert np.mean(steps) < 80


def test_the_proximal_method_alone_solves_saturated_wheels():
    # which wheels saturate is not unique, so Coulomb's law itself is looked at
    sliding = 0
    for p in generate("toed_rover", (4, 8, 12), (0.3, 0.7), 3):
        s = solve_friction_contact(p.W, p.q, p.mu, method="proximal")
        assert s.converged and s.method == "proximal"
        r = s.impulse.reshape(-1, 3)
        u = (p.W @ s.impulse + p.q).reshape(-1, 3)
        small = 1e-10 * np.linalg.norm(p.q)
        assert (r[:, 0] >= 0).all() and (u[:, 0] >= -small).all()
        assert (np.minimum(r[:, 0], u[:, 0]) <= small).all()
        friction, speed = np.hypot(r[:, 1], r[:, 2]), np.hypot(u[:, 1], u[:, 2])
        assert (friction <= p.mu * r[:, 0] * (1 + 1e-12) + small).all()
        slides = speed > 10 * small
        sliding += np.count_nonzero(slides)
        assert friction[slides] == pytest.approx((p.mu * r[:, 0])[slides], rel=1e-9)
        # against the motion, as exactly as so small a velocity is known
        against = -(r[:, 1:] * u[:, 1:]).sum(axis=1)
        angle = np.arccos(np.clip(against / np.maximum(friction * speed, 1e-300), -1, 1))
        assert (angle[slides] <= 1e-6 + 10 * small / speed[slides]).all()
    assert sliding > 10


@pytest.mark.parametrize("size", [0.0, 1e-10, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("rover", ["exomars", "sojourner", "vehicle_2001"])
def test_disturbed_rovers_are_solved_in_every_step(rover, size):
    sim = BENCH["driven"](rover, size)
    sim.step(200)
    stats = sim.records.stats
    assert stats[:, UNCONVERGED].sum() == 0
    # undisturbed and held steering take two or three; thousands before
    assert np.median(stats[:, ITERATIONS]) <= 40
    assert stats[:, ITERATIONS].max() <= 600


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rover", BENCH["ROVERS"])
def test_every_rover_disturbed_by_any_size(rover, seed):
    for size in np.logspace(-12, -3, 10):
        sim = BENCH["driven"](rover, float(size), seed)
        sim.step(400)
        assert sim.records.stats[:, UNCONVERGED].sum() == 0, size
