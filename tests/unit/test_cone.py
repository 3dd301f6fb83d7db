"""The Coulomb cone: projections, duality and de Saxcé's variable on random vectors."""

import math

import numpy as np
import pytest

from marsyard.interaction.nonsmooth import (
    de_saxce,
    dual,
    is_inside,
    is_inside_dual,
    project,
    project_dual,
)
from marsyard.interaction.nonsmooth.cone import (
    natural_map_squared,
    project_dual_kernel,
    project_kernel,
)

COUNT = 100_000


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(1)
    size = 10.0 ** rng.uniform(-6.0, 6.0, (COUNT, 1))
    mu = rng.uniform(0.0, 2.0, COUNT)
    mu[:1000] = 0.0
    return size * rng.normal(size=(COUNT, 3)), mu, size[:, 0]


def test_projection_lies_in_the_cone_and_is_idempotent(vectors):
    x, mu, size = vectors
    p = project(x, mu)
    assert is_inside(p, mu, 1e-12 * size).all()
    assert np.abs(project(p, mu) - p).max(axis=1) == pytest.approx(0.0, abs=1e-8)
    assert (np.abs(project(p, mu) - p).max(axis=1) <= 1e-13 * size).all()


def test_moreau_decomposition(vectors):
    # x = P_K(x) − P_K*(−x) with orthogonal parts
    x, mu, size = vectors
    p, d = project(x, mu), project_dual(-x, mu)
    assert (np.abs(x - (p - d)).max(axis=1) <= 1e-12 * size).all()
    assert (np.abs((p * d).sum(axis=1)) <= 1e-12 * size**2).all()
    assert is_inside_dual(d, mu, 1e-12 * size).all()


def test_projection_is_the_nearest_point(vectors):
    # the variational inequality (x − P x)·(y − P x) ≤ 0 for every y in the cone
    x, mu, size = vectors
    p = project(x, mu)
    y = project(size[:, None] * np.random.default_rng(2).normal(size=x.shape), mu)
    assert (((x - p) * (y - p)).sum(axis=1) <= 1e-11 * size**2).all()


def test_dual_pairs_are_nonnegative(vectors):
    x, mu, size = vectors
    r = project(x, mu)
    s = project_dual(size[:, None] * np.random.default_rng(3).normal(size=x.shape), mu)
    assert ((r * s).sum(axis=1) >= -1e-12 * size**2).all()


def test_dual_cone_is_the_cone_of_the_inverse_coefficient(vectors):
    x, mu, _ = vectors
    some = mu > 0.01
    assert np.allclose(project_dual(x[some], mu[some]), project(x[some], 1.0 / mu[some]))
    assert dual(0.5) == 2.0
    assert dual(0.0) == math.inf


def test_scalar_kernels_agree_with_numpy(vectors):
    x, mu, size = vectors
    for k in range(0, COUNT, 500):
        assert np.allclose(project_kernel(*x[k], mu[k]), project(x[k], mu[k]), atol=1e-12 * size[k])
        expected = project_dual(x[k], mu[k])
        assert np.allclose(project_dual_kernel(*x[k], mu[k]), expected, atol=1e-12 * size[k])


def test_frictionless_cone_is_the_half_line():
    assert np.array_equal(project([2.0, 1.0, -1.0], 0.0), [2.0, 0.0, 0.0])
    assert np.array_equal(project([-2.0, 1.0, -1.0], 0.0), [0.0, 0.0, 0.0])
    assert np.array_equal(project([-2.0, 0.0, 0.0], 0.0), [0.0, 0.0, 0.0])
    assert project_kernel(-2.0, 0.0, 0.0, 0.0) == (0.0, 0.0, 0.0)


def test_a_point_outside_is_not_inside():
    assert not is_inside([1.0, 0.6, 0.0], 0.5)
    assert is_inside([1.0, 0.5, 0.0], 0.5)
    assert not is_inside([-1.0, 0.0, 0.0], 0.5)
    assert not is_inside_dual([0.1, 1.0, 0.0], 0.5)


def test_natural_map_vanishes_exactly_for_coulombs_law():
    # sliding at 2 m/s along t against friction 0.5: r = (1, −0.5 t), u = (0, 2 t)
    t = np.array([0.6, 0.8])
    assert de_saxce([0.0, *(2.0 * t)], 0.5) == pytest.approx([1.0, *(2.0 * t)])
    assert natural_map_squared(1.0, *(-0.5 * t), 0.0, *(2.0 * t), 0.5) < 1e-30
    # friction along the motion, too small a friction, or a lifting contact break the law
    assert natural_map_squared(1.0, *(0.5 * t), 0.0, *(2.0 * t), 0.5) > 0.1
    assert natural_map_squared(1.0, *(-0.4 * t), 0.0, *(2.0 * t), 0.5) > 1e-3
    assert natural_map_squared(1.0, *(-0.5 * t), 0.1, *(2.0 * t), 0.5) > 1e-3
