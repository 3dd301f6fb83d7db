"""Force transmission: power duality, ellipsoids against sampling and optimisation."""

import numpy as np
import pytest
from kinetostatics_robots import Robot, bogies, cart, random_pods, random_tree, rocker, skid, turn
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from marsyard.analysis.kinetostatics.transmission import (
    amplitudes_of,
    ellipsoid,
    grasp,
    torques_of,
    traction_index,
)
from marsyard.analysis.kinetostatics.velocity import velocity_model
from marsyard.errors import InputError

ROBOTS = [
    lambda rng: random_pods(rng, roll=0.5).robot(),
    lambda rng: bogies(rng.uniform(0, 0.8)),
    lambda rng: rocker(),
    lambda rng: skid(),
    lambda rng: cart(),
    lambda rng: random_tree(rng, loops=1),
]


@pytest.mark.parametrize("make", ROBOTS)
@pytest.mark.parametrize("seed", range(5))
def test_power_on_the_platform_is_the_power_of_the_drives(make, seed):
    """w · X = τ · θ̇ for every allowed motion; constraint wrenches do no work."""
    rng = np.random.default_rng(seed)
    model = velocity_model(make(rng), "slips" if seed % 2 else "holds")
    motion = model.inverse(rng.normal(size=6))
    theta = motion.rates[list(model.drives)]
    y = rng.normal(size=len(model.D))
    wrench, torque = grasp(model) @ y, torques_of(model, y)
    assert wrench @ motion.followed == pytest.approx(torque @ theta, abs=1e-8)
    assert_allclose(model.constraints @ motion.followed, 0, atol=1e-8)
    assert_allclose(grasp(model, "torques") @ torque, wrench, atol=1e-7) if _regular(
        model
    ) else None


def _regular(model):
    return np.linalg.matrix_rank(model.J) == len(model.J)


@pytest.mark.parametrize("seed", range(5))
def test_contact_forces_make_the_rows(seed):
    """Each row is the wrench of its contact forces, and these do no work on passive joints."""
    rng = np.random.default_rng(seed)
    model = velocity_model(random_pods(rng, roll=0.5).robot())
    for limb in model.limbs:
        there = list(limb.contacts)
        W, P = model.stance.wrenches[there], model.stance.rates[there]
        assert_allclose(np.einsum("rca,cak->rk", limb.forces, W), limb.D, atol=1e-11)
        works = np.einsum("rca,caj->rj", limb.forces, P)
        assert_allclose(works[:, list(limb.passive)], 0, atol=1e-11)
        assert_allclose(-works[:, list(limb.drives)], limb.B @ limb.transform, atol=1e-11)


@pytest.mark.parametrize("by", ["screws", "torques"])
def test_ellipsoids_against_sampling(by):
    """Images of unit vectors lie within and come near the reach in every direction."""
    rng = np.random.default_rng(1)
    model = velocity_model(random_pods(rng, roll=0.5).robot())
    G = grasp(model, by)
    y = rng.normal(size=(200_000, G.shape[1]))
    y /= np.linalg.norm(y, axis=1)[:, None]
    for part, rows in (("force", slice(0, 3)), ("moment", slice(3, 6))):
        found = ellipsoid(model, part, by=by)
        assert_allclose(found.directions @ found.directions.T, np.eye(3), atol=1e-12)
        for e in rng.normal(size=(6, 3)):
            e /= np.linalg.norm(e)
            most = (y @ G[rows].T @ e).max()
            assert most <= found.reach(e) * (1 + 1e-12)
            assert most > 0.9 * found.reach(e)
            assert found.pure(e) <= found.reach(e) * (1 + 1e-12)
        for size, e in zip(found.semi_axes, found.directions, strict=True):
            assert found.reach(e) == pytest.approx(size) and found.pure(e) == pytest.approx(size)


@pytest.mark.parametrize("other", ["any", "zero"])
def test_pure_force_against_optimisation(other):
    """The largest force along e and none across, with or without moments, by SLSQP."""
    rng = np.random.default_rng(4)
    model = velocity_model(random_pods(rng, roll=0.5).robot())
    G = grasp(model, "torques")
    # moments and forces of six drives are all independent here
    assert np.linalg.matrix_rank(G) == 6
    e = np.array([1.0, 0.0, 0.3]) / np.hypot(1, 0.3)
    across = np.linalg.svd(e[None])[2][1:]
    rows = [across @ G[:3]] + ([G[3:]] if other == "zero" else [])
    size = np.linalg.norm(G[:3])
    found = minimize(
        lambda t: -(e @ G[:3] @ t) / size, 0.1 * rng.normal(size=G.shape[1]), method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda t: np.vstack(rows) @ t / size},
            {"type": "ineq", "fun": lambda t: 1 - t @ t},
        ], options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    expected = ellipsoid(model, "force", other=other, by="torques").pure(e)
    assert -found.fun * size == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_index_is_the_area_of_the_ellipse(seed):
    """σ = [det(G_f G_fᵀ)]^½, by the determinant itself; zero with too few rows."""
    model = velocity_model(random_pods(np.random.default_rng(seed), roll=0.5).robot())
    for by in ("screws", "torques"):
        for axes in ((0, 2), (0, 1, 2)):
            G_f = grasp(model, by)[list(axes)]
            expected = np.sqrt(np.linalg.det(G_f @ G_f.T))
            assert traction_index(model, axes, by=by) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_reach_and_rates_are_dual(seed):
    """max w · X over ‖τ‖ ≤ 1 is ‖θ̇‖ of the motion X, with the smallest θ̇."""
    rng = np.random.default_rng(seed)
    model = velocity_model(random_pods(rng, roll=0.5).robot())
    motion = model.inverse(rng.normal(size=6))
    theta = motion.rates[list(model.drives)]
    most = np.linalg.norm(grasp(model, "torques").T @ motion.followed)
    assert most == pytest.approx(np.linalg.norm(theta), rel=1e-9)


def test_skid_steer_traction():
    """Four wheels with torques τ: f_x = 4 τ / R at ‖τ‖ = 2 τ; nothing sideways or up."""
    model = velocity_model(skid())
    found = ellipsoid(model, "force", by="torques")
    assert_allclose(found.semi_axes, [2 / 0.2, 0, 0], atol=1e-12)
    assert found.reach([0, 1, 0]) < 1e-12 and found.pure([0, 0, 1]) == 0.0
    assert found.pure([1, 0, 0]) == pytest.approx(10.0)
    # yaw moment without net force: half a track of 0.3 m is the lever
    turning = ellipsoid(model, "moment", other="zero", by="torques")
    assert turning.pure([0, 0, 1]) == pytest.approx(2 * 0.3 / 0.2)


def test_section_of_forces_through_the_origin():
    """Where the drives make no moment at all, asking for none changes nothing."""
    robot = Robot()
    for k, angle in enumerate((0.3, 1.2, 2.5)):
        axes = turn("z", angle)
        robot.wheel(f"W{k}", 0.7 * axes[:, 0], axes, 0.2)  # along lines through the origin
    model = velocity_model(robot)
    for by in ("screws", "torques"):
        some, none = (ellipsoid(model, "force", other=o, by=by) for o in ("any", "zero"))
        assert_allclose(some.semi_axes, none.semi_axes, atol=1e-12)
        assert ellipsoid(model, "moment", by=by).semi_axes.max() < 1e-12


def test_amplitudes_of_a_wrench():
    """A pull and a load on a skid-steered rover: wheels supply the pull, the ground the load."""
    model = velocity_model(skid())
    pull = np.array([12.0, 0, -500, 30, -40, 6])
    y, left = amplitudes_of(model, pull)
    assert_allclose(left, 0, atol=1e-9)
    torque = torques_of(model, y)
    # by hand: f = 12 / 4 ± 6 / (4 · 0.3) on right and left wheels, times the radius of 0.2
    right, side = 0.2 * (3 + 5), 0.2 * (3 - 5)
    names = [model.stance.joints[j] for j in model.drives]
    for name, t in zip(names, torque, strict=True):
        assert t == pytest.approx(right if name.endswith("R") else side, abs=1e-9)
    _, left = amplitudes_of(model, [0, 5.0, 0, 0, 0, 0])
    assert_allclose(left, [0, 5.0, 0, 0, 0, 0], atol=1e-9)


def test_mistakes_are_told():
    model = velocity_model(skid())
    with pytest.raises(InputError, match="torques"):
        grasp(model, "forces")
    with pytest.raises(InputError, match="part"):
        ellipsoid(model, "forces")
