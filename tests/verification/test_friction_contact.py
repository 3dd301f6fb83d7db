"""The friction-contact solver against closed forms, independent methods and invariances."""

import itertools

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import nnls

from marsyard.errors import InputError
from marsyard.interaction.nonsmooth import (
    AUTO,
    CONVERGED,
    NOT_FINITE,
    de_saxce,
    friction_contact_residual,
    is_inside,
    is_inside_dual,
    one_contact,
    project,
    solve_friction_contact,
    solve_kernel,
    work_size,
)
from marsyard.interaction.nonsmooth.problems import FAMILIES, generate, standing_rover
from marsyard.interaction.nonsmooth.single_contact import SLIDE, STICK, TAKE_OFF


def assert_coulomb(W, q, mu, r, tolerance):
    """Each clause of Coulomb's law by itself, not through the solver's residual."""
    u = (W @ r + q).reshape(-1, 3)
    r = r.reshape(-1, 3)
    shifted = de_saxce(u, mu)
    slack = tolerance * (1.0 + np.abs(q).max() + np.abs(r).max())
    assert is_inside(r, mu, slack).all()
    assert is_inside_dual(shifted, mu, slack).all()
    size = (1.0 + np.linalg.norm(r, axis=1)) * (1.0 + np.linalg.norm(shifted, axis=1))
    assert (np.abs((r * shifted).sum(axis=1)) <= 10 * tolerance * size).all()


def pinv(W):
    return np.linalg.pinv(W, rcond=1e-9, hermitian=True)


# --- one contact ---------------------------------------------------------------------------------


def test_point_mass_sticks():
    # mass 2 kg arriving at (−1, 0.2, 0.1) m/s: r = −m q, inside the cone of μ = 0.5
    q = np.array([-1.0, 0.2, 0.1])
    s = solve_friction_contact(np.eye(3) / 2.0, q, 0.5)
    assert s.converged
    assert s.impulse == pytest.approx(-2.0 * q, rel=1e-9)
    assert s.velocity == pytest.approx(np.zeros(3), abs=1e-10)


def test_point_mass_slides_along_its_motion():
    # r_N = m, r_T = −μ m t; the speed left is ‖q_T‖ − μ |q_N|
    t = np.array([0.6, -0.8])
    s = solve_friction_contact(np.eye(3) / 2.0, [-1.0, *(3.0 * t)], 0.5)
    assert s.impulse == pytest.approx([2.0, *(-1.0 * t)], rel=1e-9)
    assert s.velocity == pytest.approx([0.0, *(2.5 * t)], abs=1e-9)


def test_point_mass_takes_off():
    s = solve_friction_contact(np.eye(3), [0.1, 5.0, -3.0], 0.5)
    assert s.impulse == pytest.approx(np.zeros(3), abs=0.0)
    assert s.velocity == pytest.approx([0.1, 5.0, -3.0], abs=0.0)


def test_anisotropic_contact_turns_the_slip_direction():
    # the tangential masses differ, so friction is not along q_T but along the final velocity
    W = np.diag([1.0, 1.0, 4.0])
    r, u, case = one_contact(W, [-1.0, 2.0, 2.0], 0.3)
    assert case == SLIDE
    assert np.hypot(r[1], r[2]) == pytest.approx(0.3 * r[0], rel=1e-12)
    assert u[0] == pytest.approx(0.0, abs=1e-13)
    assert r[1] * u[2] - r[2] * u[1] == pytest.approx(0.0, abs=1e-13)
    assert r[1] * u[1] + r[2] * u[2] < 0.0
    assert abs(u[2] / u[1] - 1.0) > 0.1


@pytest.mark.parametrize("decades", [0.0, 6.0, 14.0])
def test_one_contact_on_random_blocks(decades):
    # random positive blocks with condition numbers up to 1e14, all three cases
    rng = np.random.default_rng(int(decades))
    seen = set()
    for _ in range(3000):
        basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        W = basis @ np.diag(10.0 ** rng.uniform(-decades, 0.0, 3)) @ basis.T
        W = 0.5 * (W + W.T)
        q, mu = rng.normal(size=3), rng.uniform(0.01, 1.5)
        r, _, case = one_contact(W, q, mu)
        seen.add(case)
        # rounding of W r, not of the method, bounds the error
        slack = 1e-12 * (np.linalg.norm(q) + np.abs(r).max())
        assert friction_contact_residual(W, q, [mu], r) * np.linalg.norm(q) <= slack
    assert seen == {TAKE_OFF, STICK, SLIDE}


def test_degenerate_single_blocks_do_not_fail():
    blocks = (np.zeros((3, 3)), np.diag([1.0, 0, 0]), np.ones((3, 3)), np.diag([0, 1.0, 1.0]))
    for W in blocks:
        for q in ([-1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]):
            r, _, _ = one_contact(W, q, 0.5)
            assert np.isfinite(r).all()
            assert np.isfinite(solve_friction_contact(W, q, 0.5, max_iterations=500).impulse).all()


# --- against independent methods -----------------------------------------------------------------


def projected_iteration(W, q, mu, steps=60_000):
    """Plain fixed point r ← P_K(r − ρ û(r)), small steps, no shared code but the projection."""
    r = np.zeros(q.size)
    rho = 0.9 / np.linalg.norm(W, 2)
    for _ in range(steps):
        u = (W @ r + q).reshape(-1, 3)
        new = project((r.reshape(-1, 3) - rho * de_saxce(u, mu)), mu).ravel()
        if np.abs(new - r).max() < 1e-15:
            break
        r = new
    return r


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_projected_iteration(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed
    g = rng.normal(size=(3 * n, 3 * n + 3))
    W = g @ g.T / (3 * n)
    q, mu = rng.normal(size=3 * n), rng.uniform(0.1, 0.5, n)
    q[::3] -= 0.5
    expected = projected_iteration(W, q, mu)
    assert friction_contact_residual(W, q, mu, expected) < 1e-9
    s = solve_friction_contact(W, q, mu)
    assert s.converged
    assert np.abs(s.velocity - (W @ expected + q)).max() < 1e-6
    assert np.abs(s.impulse - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("method", ["newton", "gauss_seidel", "proximal"])
def test_every_method_gives_the_same_motion(method):
    (problem,) = generate("pile", (12,), (0.3,), 5)
    a = solve_friction_contact(problem.W, problem.q, problem.mu)
    b = solve_friction_contact(problem.W, problem.q, problem.mu, method=method)
    assert a.converged and b.converged
    assert b.velocity == pytest.approx(a.velocity, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_frictionless_contact_is_the_lcp(seed):
    # μ = 0: 0 ≤ W_NN r_N + q_N ⊥ r_N ≥ 0, found here by trying every set of closed contacts
    rng = np.random.default_rng(seed)
    n = 6
    g = rng.normal(size=(n, n + 1))
    A, b = g @ g.T, rng.normal(size=n)
    found = None
    for closed in itertools.product((False, True), repeat=n):
        c = np.array(closed)
        x = np.zeros(n)
        if c.any():
            x[c] = np.linalg.solve(A[np.ix_(c, c)], -b[c])
        if (x >= -1e-12).all() and (A @ x + b >= -1e-9).all():
            found = x
    W, q = np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
    W[::3, ::3], q[::3] = A, b
    s = solve_friction_contact(W, q, 0.0)
    assert s.converged
    assert s.impulse[::3] == pytest.approx(found, abs=1e-8)
    assert not s.impulse[1::3].any() and not s.impulse[2::3].any()
    # and by non-negative least squares: min ½ xᵀAx + bᵀx = ½ ‖Lᵀ x + L⁻¹ b‖²
    factor = np.linalg.cholesky(A)
    assert s.impulse[::3] == pytest.approx(nnls(factor.T, -np.linalg.solve(factor, b))[0], abs=1e-8)


def test_frictionless_contacts_that_outnumber_the_degrees_of_freedom():
    # six wheels of two rims each on six degrees of freedom, rims of a wheel all but the same
    n = 12
    methods = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        jacobian = np.repeat(rng.normal(size=(n // 2, 6)), 2, axis=0)
        jacobian += 10.0 ** rng.uniform(-12, -3) * rng.normal(size=jacobian.shape)
        velocity = rng.normal(size=6)
        W, q = np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
        W[::3, ::3], q[::3] = jacobian @ jacobian.T, jacobian @ velocity
        s = solve_friction_contact(W, q, 0.0)
        methods.append(s.method)
        assert s.converged, seed
        assert s.iterations <= 60
        # impulses are not unique, the motion is: min ½ ‖Jᵀ r + v‖², r ≥ 0
        expected = jacobian.T @ nnls(jacobian.T, -velocity)[0]
        assert jacobian.T @ s.impulse[::3] == pytest.approx(expected, abs=1e-6)
    # where Newton's method goes round in circles
    assert methods.count("pivoting") >= 5


def test_frictionless_among_frictional_contacts():
    (problem,) = generate("pushed_box", (8,), (0.4,), 3)
    mu = problem.mu.copy()
    mu[::2] = 0.0
    s = solve_friction_contact(problem.W, problem.q, mu)
    assert s.converged
    assert_coulomb(problem.W, problem.q, mu, s.impulse, 1e-8)
    assert not s.impulse.reshape(-1, 3)[::2, 1:].any()


# --- least norm, warm starts, repeatability ------------------------------------------------------


@pytest.fixture(scope="module")
def rover_at_rest():
    return standing_rover(np.random.default_rng(0), 6, 0.7)


def test_sticking_impulse_is_the_least_norm_one(rover_at_rest):
    p = rover_at_rest
    s = solve_friction_contact(p.W, p.q, p.mu)
    expected = -pinv(p.W) @ p.q
    assert np.linalg.matrix_rank(p.W, tol=1e-9) < p.q.size
    assert is_inside(expected.reshape(-1, 3), 0.99 * p.mu).all()
    assert np.linalg.norm(s.impulse - expected) <= 1e-8 * np.linalg.norm(expected)


def test_warm_start_does_not_change_the_answer(rover_at_rest):
    p = rover_at_rest
    first = solve_friction_contact(p.W, p.q, p.mu)
    null = np.linalg.svd(p.W)[2][-1]
    rng = np.random.default_rng(4)
    starts = [
        first.impulse,
        first.impulse + 0.1 * np.abs(first.impulse).max() * null,
        rng.normal(size=p.q.size),
        project(rng.normal(size=(6, 3)), p.mu).ravel(),
        np.tile([1.0, 0.0, 0.0], 6),
    ]
    for start in starts:
        s = solve_friction_contact(p.W, p.q, p.mu, start=start)
        assert s.converged
        size = np.linalg.norm(first.impulse)
        assert np.linalg.norm(s.impulse - first.impulse) <= 1e-7 * size
    assert solve_friction_contact(p.W, p.q, p.mu, start=first.impulse).method == "sticking"


@pytest.mark.parametrize("family", ["pushed_box", "pile", "low_rank"])
def test_velocity_is_independent_of_the_warm_start(family):
    for p in generate(family, (10,), (0.3,), 8):
        a = solve_friction_contact(p.W, p.q, p.mu)
        for seed in range(3):
            start = np.random.default_rng(seed).normal(size=p.q.size)
            b = solve_friction_contact(p.W, p.q, p.mu, start=start)
            assert a.converged and b.converged
            assert np.abs(a.velocity - b.velocity).max() <= 1e-6 * np.linalg.norm(p.q)


def test_the_same_bits_twice():
    for family in ("wall", "arch", "random_bodies"):
        for p in generate(family, (20,), (0.3,), 2):
            a, b = (solve_friction_contact(p.W, p.q, p.mu) for _ in range(2))
            assert a.impulse.tobytes() == b.impulse.tobytes()
            assert (a.iterations, a.residual, a.method) == (b.iterations, b.residual, b.method)


@pytest.mark.parametrize("mass,speed", [(1e-4, 1.0), (1e4, 1.0), (1.0, 1e-3), (100.0, 50.0)])
def test_scaling(mass, speed):
    # heavier bodies and faster motion scale the impulses, not the physics
    for p in generate("pushed_box", (6,), (0.5,), 1):
        a = solve_friction_contact(p.W, p.q, p.mu, tolerance=1e-12)
        b = solve_friction_contact(p.W / mass, p.q * speed, p.mu, tolerance=1e-11)
        assert b.velocity == pytest.approx(a.velocity * speed, abs=1e-6 * speed)
        total = b.impulse.reshape(-1, 3).sum(axis=0)
        assert total == pytest.approx(
            a.impulse.reshape(-1, 3).sum(axis=0) * mass * speed, rel=1e-5, abs=1e-6 * mass * speed
        )


def test_rotating_the_tangents_rotates_the_answer():
    (p,) = generate("pile", (10,), (0.4,), 6)
    angle = np.random.default_rng(0).uniform(0.0, 6.0, p.contacts)
    turn = np.zeros_like(p.W)
    for c, a in enumerate(angle):
        k = 3 * c
        turn[k, k] = 1.0
        turn[k + 1 : k + 3, k + 1 : k + 3] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
    a = solve_friction_contact(p.W, p.q, p.mu)
    b = solve_friction_contact(turn @ p.W @ turn.T, turn @ p.q, p.mu)
    assert b.velocity == pytest.approx(turn @ a.velocity, abs=1e-7)


# --- families of scenes --------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_family_is_solved(family):
    for p in generate(family, (1, 4, 10, 30), (0.0, 0.05, 0.3, 0.8, 1.5), 0):
        s = solve_friction_contact(p.W, p.q, p.mu, tolerance=1e-9)
        assert s.converged, (p.name, s.residual)
        assert friction_contact_residual(p.W, p.q, p.mu, s.impulse) <= 1e-8, p.name
        assert_coulomb(p.W, p.q, p.mu, s.impulse, 1e-6)


def test_many_contacts():
    (p,) = generate("pile", (300,), (0.5,), 0)
    s = solve_friction_contact(p.W, p.q, p.mu, tolerance=1e-9)
    assert s.converged
    assert_coulomb(p.W, p.q, p.mu, s.impulse, 1e-6)


def test_islands_are_solved_as_if_alone():
    # contacts that do not see each other, shuffled into one problem
    parts = [p for f in ("pile", "pushed_box", "arch") for p in generate(f, (8, 14), (0.3,), 4)]
    W = block_diag(*(p.W for p in parts))
    q, mu = (np.concatenate([getattr(p, name) for p in parts]) for name in ("q", "mu"))
    order = np.random.default_rng(0).permutation(mu.size)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    s = solve_friction_contact(W[np.ix_(rows, rows)], q[rows], mu[order])
    assert s.converged
    alone = [solve_friction_contact(p.W, p.q, p.mu).velocity for p in parts]
    assert s.velocity == pytest.approx(np.concatenate(alone)[rows], abs=1e-7)


def test_many_contacts_of_one_body_have_the_least_norm_impulse():
    # 60 feet, rank 6: at rest the impulse is −W⁺q, pushed it obeys Coulomb's law
    (p,) = generate("pushed_box", (60,), (0.5,), 0)
    assert_coulomb(p.W, p.q, p.mu, solve_friction_contact(p.W, p.q, p.mu).impulse, 1e-7)
    load = np.tile([1.0, 0.0, 0.0], 60)
    q = -p.W @ load
    s = solve_friction_contact(p.W, q, p.mu)
    expected = -pinv(p.W) @ q
    assert is_inside(expected.reshape(-1, 3), 0.99 * p.mu).all()
    assert s.converged
    assert np.linalg.norm(s.impulse - expected) <= 1e-7 * np.linalg.norm(expected)


def test_jammed_contacts_at_their_cones():
    # nothing moves, and half of the contacts are at their cones: no active set is stable
    (p,) = generate("wall", (60,), (0.4,), 1)
    rng = np.random.default_rng(0)
    r = np.zeros((p.contacts, 3))
    r[:, 0] = rng.uniform(0.5, 2.0, p.contacts)
    angle = rng.uniform(0.0, 2.0 * np.pi, p.contacts)
    share = np.where(rng.uniform(size=p.contacts) < 0.5, 1.0, 0.8)
    r[:, 1:] = (p.mu * share * r[:, 0])[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    q = -p.W @ r.ravel()
    s = solve_friction_contact(p.W, q, p.mu, tolerance=1e-9)
    assert s.converged
    assert friction_contact_residual(p.W, q, p.mu, s.impulse) <= 1e-9


def test_nearly_singular_wheels_pushing_against_each_other():
    # two wheels on one stiff axle: the mode in which they push apart has a compliance of 1e-9, and
    # a trace of velocity in it brings both to their cones, sliding at a hair's breadth
    mode = np.array([0.0, 0.0, 1.0, 0.0, 0.0, -1.0]) / np.sqrt(2.0)
    W = np.diag([0.5, 2.0, 2.0, 0.5, 2.0, 2.0])
    W -= np.outer(mode, mode) * (mode @ W @ mode) * (1.0 - 1e-9)
    for trace in (1e-5, 1e-8, 1e-10):
        q = np.array([-1e-2, 1e-3, 0.0, -1e-2, -1e-3, 0.0]) + trace * mode
        cold = solve_friction_contact(W, q, 0.8)
        warm = solve_friction_contact(W, 1.01 * q, 0.8, start=cold.impulse)
        assert cold.converged and warm.converged
        assert warm.iterations <= 30


# --- the edges -----------------------------------------------------------------------------------


def test_a_problem_without_solution_is_reported():
    # W = 0 cannot stop an approaching contact
    s = solve_friction_contact(np.zeros((3, 3)), [-1.0, 0.0, 0.0], 0.5, max_iterations=200)
    assert not s.converged
    assert np.isfinite(s.impulse).all() and np.isfinite(s.velocity).all()
    assert s.residual > 0.1
    # two contacts on one body, pushed together without end: q outside the range of W
    w = np.array([[1.0, -1.0], [-1.0, 1.0]])
    s = solve_friction_contact(np.kron(w, np.eye(3)), [-1, 0, 0, -1, 0, 0], 0.0)
    assert not s.converged
    assert np.isfinite(s.impulse).all()


def test_too_few_iterations_are_reported():
    (p,) = generate("random_bodies", (20,), (0.5,), 1)
    s = solve_friction_contact(p.W, p.q, p.mu, max_iterations=1)
    assert not s.converged
    assert s.iterations <= 1
    assert np.isfinite(s.impulse).all()


def test_kernel_works_inside_larger_arrays():
    # only the first n contacts count; the rest is garbage and stays untouched
    (p,) = generate("pushed_box", (5,), (0.5,), 2)
    expected = solve_friction_contact(p.W, p.q, p.mu)
    W, q, mu = np.full((30, 30), np.nan), np.full(30, np.nan), np.full(10, np.nan)
    W[:15, :15], q[:15], mu[:5] = p.W, p.q, p.mu
    r, u = np.full(30, 7.0), np.full(30, 7.0)
    r[:15] = 0.0
    work = np.full(work_size(10), np.nan)
    status, _, residual, _ = solve_kernel(5, W, q, mu, r, u, work, 1e-10, 1000, AUTO)
    assert status == CONVERGED and residual <= 1e-10
    assert r[:15] == pytest.approx(expected.impulse, abs=1e-9)
    assert u[:15] == pytest.approx(expected.velocity, abs=1e-9)
    assert (r[15:] == 7.0).all() and (u[15:] == 7.0).all()


def test_kernel_survives_numbers_that_are_not_finite():
    W, mu, work = np.eye(3), np.array([0.5]), np.empty(work_size(1))
    r, u = np.zeros(3), np.zeros(3)
    bad = solve_kernel(1, W, np.array([np.nan, 0.0, 0.0]), mu, r, u, work, 1e-10, 100, AUTO)
    assert bad[0] == NOT_FINITE
    assert np.isfinite(r).all() and np.isfinite(u).all()
    # a warm start that is not finite is dropped
    r[:] = np.inf
    good = solve_kernel(1, W, np.array([-1.0, 0.0, 0.0]), mu, r, u, work, 1e-10, 100, AUTO)
    assert good[0] == CONVERGED
    assert r == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "change, word",
    [
        ({"W": np.eye(4)}, "W"),
        ({"q": [1.0, 2.0]}, "q"),
        ({"q": [np.nan, 0.0, 0.0]}, "q"),
        ({"mu": -0.1}, "mu"),
        ({"mu": [0.1, 0.2]}, "mu"),
        ({"W": np.full((3, 3), np.inf)}, "W"),
        ({"start": [1.0]}, "start"),
        ({"method": "newtn"}, "newton"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": -1}, "max_iterations"),
        ({"W": "abc"}, "W"),
    ],
)
def test_bad_input_is_named(change, word):
    arguments = {"W": np.eye(3), "q": [-1.0, 0.0, 0.0], "mu": 0.5} | change
    with pytest.raises(InputError, match=word):
        solve_friction_contact(**arguments)
