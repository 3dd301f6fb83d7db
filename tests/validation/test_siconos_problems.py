"""Problems dumped by the authors of Siconos: rovers, confetti, spheres, a hyperstatic object.

Source: siconos/numerics/src/FrictionContact/test/data. The bound 1e-8 is on the natural map over
‖q‖, which is never smaller than the error Siconos 4.4 itself reports (it divides by the largest of
‖q‖, ‖r‖ and ‖u‖).
"""

from pathlib import Path

import numpy as np
import pytest

from marsyard.interaction.nonsmooth import (
    METHODS,
    friction_contact_residual,
    solve_friction_contact,
)

FOLDER = Path(__file__).parents[2].parent / "shared" / "reference" / "friction-contact"
FILES = sorted(FOLDER.glob("*.npz"))

pytestmark = pytest.mark.skipif(not FILES, reason="the reference problems are not here")


@pytest.fixture(params=FILES, ids=lambda f: f.stem)
def problem(request):
    data = np.load(request.param)
    return data["W"], data["q"], data["mu"]


def independent_residual(W, q, mu, r):
    """The natural map of Siconos' full error, written out plainly, over ‖q‖."""
    u = W @ r + q
    total = 0.0
    for c in range(mu.size):
        rc, uc = r[3 * c : 3 * c + 3], u[3 * c : 3 * c + 3]
        x = rc - uc - [mu[c] * np.hypot(uc[1], uc[2]), 0.0, 0.0]
        size = np.hypot(x[1], x[2])
        if size <= mu[c] * x[0]:
            p = x
        elif mu[c] * size <= -x[0]:
            p = np.zeros(3)
        else:
            normal = (x[0] + mu[c] * size) / (1.0 + mu[c] ** 2)
            p = np.array([normal, *(mu[c] * normal / size * x[1:])])
        total += ((rc - p) ** 2).sum()
    return np.sqrt(total) / np.linalg.norm(q)


@pytest.mark.parametrize("method", METHODS)
def test_solved_to_1e_8(problem, method):
    W, q, mu = problem
    solution = solve_friction_contact(W, q, mu, method=method, tolerance=1e-9)
    assert solution.converged
    assert independent_residual(W, q, mu, solution.impulse) <= 1e-8
    assert np.allclose(solution.velocity, W @ solution.impulse + q, atol=1e-9 * np.abs(q).max())


# OneObject has several solutions, with different velocities
@pytest.mark.parametrize(
    "problem", [f for f in FILES if "OneObject" not in f.stem], ids=lambda f: f.stem, indirect=True
)
def test_velocity_does_not_depend_on_the_method(problem):
    W, q, mu = problem
    a = solve_friction_contact(W, q, mu).velocity
    b = solve_friction_contact(W, q, mu, method="proximal").velocity
    assert np.abs(a - b).max() <= 1e-6 * np.linalg.norm(q)


def test_residual_is_the_natural_map_over_the_norm_of_q(problem):
    W, q, mu = problem
    r = np.random.default_rng(0).normal(size=q.size)
    assert friction_contact_residual(W, q, mu, r) == pytest.approx(
        independent_residual(W, q, mu, r), rel=1e-12
    )
