"""The closed forms of Bidaud, Ben Amar, Poulain 2005 for the three-pod RobuRoc.

The robots are made from elementary screws with random angles and sizes. Rear rows: the paper's
reciprocal screw (6) points along (h_j, a_j), so C λ_2 < 0 where the rear contact is behind O_0;
ours has B > 0, the same row times the sign of C λ.
"""

import numpy as np
import pytest
from kinetostatics_robots import closed_form, flat_pods, random_pods, turn
from numpy.testing import assert_allclose

from marsyard.analysis.kinetostatics.mobility import mobility_of, singular_poses
from marsyard.analysis.kinetostatics.screws import (
    contains,
    from_paper,
    reciprocal_system,
    rotation,
    translation,
    wrench_in,
)
from marsyard.analysis.kinetostatics.transmission import grasp, traction_index
from marsyard.analysis.kinetostatics.velocity import velocity_model

SEEDS = range(12)
EXACT = {"rtol": 0, "atol": 1e-12}


def lambdas(pods):
    """λ_j of (6), signed, and the sign of C λ_j."""
    return np.arctan2(pods.a, pods.h), np.sign(pods.h)


@pytest.mark.parametrize("seed", SEEDS)
def test_reciprocal_screws_5_and_6(seed):
    """In R_j at O_0: $3 is the couple (Sγ, 0, Cγ), $4 the force (h, 0, a)/√(h² + a²)."""
    pods = random_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    _, sign = lambdas(pods)
    for j, first in ((0, 0), (1, 4)):
        local = wrench_in(model.D[first : first + 2], pods.axes(j), np.zeros(3))
        ga, size = pods.gamma[j], np.hypot(pods.h[j], pods.a[j])
        assert_allclose(local[0], [0, 0, 0, np.sin(ga), 0, np.cos(ga)], **EXACT)
        force = np.array([pods.h[j] / size, 0, pods.a[j] / size, 0, 0, 0])
        assert_allclose(local[1] * sign[j], force, **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_B_8_and_D_9(seed):
    """As printed, β = 0: φ = λ + γ + α, B = diag(Cγ1, Cλ1, 1, 1, Cγ2, Cλ2)."""
    pods = random_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    lam, sign = lambdas(pods)
    phi = lam + pods.gamma + pods.alpha
    D = np.zeros((6, 6))
    D[[0, 4], 3], D[[0, 4], 5] = -np.sin(pods.alpha), np.cos(pods.alpha)
    D[[1, 5], 0], D[[1, 5], 2] = np.cos(phi), np.sin(phi)
    D[2, 5] = D[3, 0] = 1.0
    D[3, 4] = pods.a0
    B = np.array([
        np.cos(pods.gamma[0]), np.cos(lam[0]), 1, 1, np.cos(pods.gamma[1]), np.cos(lam[1]),
    ])  # fmt: skip
    signs = np.array([1, sign[0], 1, 1, 1, sign[1]])
    assert_allclose(model.D * signs[:, None], D, **EXACT)
    assert_allclose(model.B * signs[:, None], np.diag(B), **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_D_with_roll(seed):
    """Arbitrary α, β, γ: the closed form for which the paper gives no rows."""
    pods = random_pods(np.random.default_rng(seed), roll=0.7)
    model = velocity_model(pods.robot())
    D, B = closed_form(pods)
    assert_allclose(model.D, D, rtol=0, atol=2e-12 / np.abs(pods.h).min())
    assert_allclose(model.B, np.diag(B), **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_against_the_serial_chain(seed):
    """Rows are reciprocal to all six screws of (3) but one, on which they work by B."""
    pods = random_pods(np.random.default_rng(seed), roll=0.7)
    model = velocity_model(pods.robot())
    for j, first in ((0, 0), (1, 4)):
        axes = pods.axes(j)
        x, y, z = axes.T
        c = axes @ [pods.h[j], 0, pods.a[j]]
        roll = turn("y", -pods.alpha[j])[:, 0]
        chain = np.array([
            translation(y), rotation(y, c), rotation(z, c), translation(x),
            rotation(roll, np.zeros(3)), rotation([0, 1, 0], np.zeros(3)),
        ])  # fmt: skip
        work = model.D[first : first + 2] @ chain.T
        expected = np.zeros((2, 6))
        expected[0, 2], expected[1, 3] = model.B[first, first], model.B[first + 1, first + 1]
        assert_allclose(work, expected, **EXACT)
        limb = model.limbs[0 if j == 0 else 2]
        assert len(limb.constraints) == 0 and len(limb.freedom) == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_chain_of_a_pod(seed):
    """The twists $1 to $4 of section 2.3 span what the middle pod allows; 2 are not feasible."""
    pods = random_pods(np.random.default_rng(seed))
    limb = velocity_model(pods.robot()).limbs[1]
    paper = [[0, 0, 0, 0, 1, 0], [0, 1, 0, pods.R, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    centre = np.array([0, 0, pods.a0 + pods.R])
    # from the axle's middle, where they are written, to O_0
    twists = from_paper(np.array(paper, float))
    twists[:, :3] += np.cross(twists[:, 3:], -centre)
    assert contains(limb.freedom, twists, "twist")
    assert len(limb.freedom) == 4 and len(limb.constraints) == 2
    assert contains(limb.constraints, reciprocal_system(twists, "twist"), "wrench")


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_of_a_pod_1(seed):
    """J_a = ½ [[R/d, −R/d], [R, R]] for (right, left), and its transposed inverse without ½."""
    pods = random_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    names = [model.stance.joints[j] for j in model.drives]
    for k, letter in enumerate("FMR"):
        d, R = pods.d[k], pods.R
        columns = [names.index(f"spin_{letter}{side}") for side in "RL"]
        block = model.J_a[2 * k : 2 * k + 2][:, columns]
        assert_allclose(block, 0.5 * np.array([[R / d, -R / d], [R, R]]), **EXACT)
        back = np.linalg.inv(block).T
        assert_allclose(back, [[d / R, -d / R], [1 / R, 1 / R]], rtol=1e-12)
        assert np.count_nonzero(model.J_a[2 * k : 2 * k + 2]) == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_plane_10(seed):
    """D of (10), the reduced control model, mobility 4, and the finer count."""
    pods = flat_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    lam, _ = lambdas(pods)
    t = np.tan(lam)
    D = [[0, 0, 0, 1], [1, t[0], 0, 0], [0, 0, 0, 1], [1, 0, pods.a0, 0],
         [0, 0, 0, 1], [1, t[1], 0, 0]]  # fmt: skip
    assert_allclose(model.reduced([0, 2, 4, 5]), D, rtol=0, atol=1e-11)
    found = mobility_of(model)
    assert found.degree == 4
    assert set(found.not_controlled_words) == {"sideways", "roll about x"}
    assert found.uncontrolled_words == ("sideways",)
    assert set(found.forbidden_words) == {"up", "roll about x"}
    assert set(found.controllable_words) == {
        "forward", "pitch about y", "turning about a vertical axis (yaw)",
    }  # fmt: skip
    assert found.surplus == 3


@pytest.mark.parametrize("seed", SEEDS)
def test_index_12(seed):
    """σ² = sin²(φ1 − φ2) + sin² φ1 + sin² φ2, by unit screws, β = 0."""
    pods = random_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    lam, _ = lambdas(pods)
    p, q = lam + pods.gamma + pods.alpha
    sigma = np.sqrt(np.sin(p - q) ** 2 + np.sin(p) ** 2 + np.sin(q) ** 2)
    assert traction_index(model) == pytest.approx(sigma, abs=1e-12)
    assert traction_index(model, (0, 1, 2)) < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_index_as_printed(seed):
    """With α_j = −λ_j it is the printed one in γ_j, and zero for γ_j = 0."""
    pods = random_pods(np.random.default_rng(seed))
    lam, _ = lambdas(pods)
    pods.alpha = -np.arctan(pods.a / pods.h)
    g1, g2 = pods.gamma
    printed = (np.sin(g1) * np.cos(g2) - np.cos(g1) * np.sin(g2)) ** 2
    printed = np.sqrt(printed + np.sin(g1) ** 2 + np.sin(g2) ** 2)
    assert traction_index(velocity_model(pods.robot())) == pytest.approx(printed, abs=1e-12)
    pods.gamma = np.zeros(2)
    model = velocity_model(pods.robot())
    assert traction_index(model) < 1e-12
    assert np.abs(grasp(model)[2]).max() < 1e-12  # no vertical force
    # on a plane with O_0 above the ground it is not zero
    flat = flat_pods(np.random.default_rng(seed))
    assert traction_index(velocity_model(flat.robot())) > 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_of_the_front_pod(seed):
    """Equal torques τ on both front wheels push the platform with 2 τ / (R Cλ) along φ."""
    pods = random_pods(np.random.default_rng(seed))
    model = velocity_model(pods.robot())
    lam, _ = lambdas(pods)
    names = [model.stance.joints[j] for j in model.drives]
    tau = np.zeros(6)
    tau[[names.index("spin_FL"), names.index("spin_FR")]] = 1.0
    wrench = grasp(model, "torques") @ tau
    phi, size = lam[0] + pods.gamma[0] + pods.alpha[0], 2 / (pods.R * np.cos(lam[0]))
    expected = size * np.array([np.cos(phi), 0, np.sin(phi), 0, 0, 0])
    assert_allclose(wrench, expected, rtol=0, atol=1e-10 * size)


def test_rank_drops_where_the_lines_of_force_agree():
    """Along a family with φ_2 = π fixed, rank D falls from 5 to 4 where φ_1 = 0."""
    rng = np.random.default_rng(3)
    pods = random_pods(rng)
    lam, _ = lambdas(pods)
    pods.alpha[1], pods.gamma[1] = -np.arctan(pods.a[1] / pods.h[1]), 0.0  # φ_2 = π

    def pose(alpha):
        pods.alpha[0] = alpha
        return pods.robot()

    expected = -lam[0] - pods.gamma[0]
    found = singular_poses(pose, expected - 0.31, expected + 0.47)
    assert len(found) == 1
    assert found[0].at == pytest.approx(expected, abs=1e-6)
    assert (found[0].rank, found[0].generic) == (4, 5)


def test_drive_without_hold():
    """B of (8): on a vertical face, γ = 90°, the pod's ω_z no longer turns the platform."""
    pods = random_pods(np.random.default_rng(7))

    def pose(gamma):
        pods.gamma[0] = gamma
        return pods.robot()

    found = singular_poses(pose, 1.2, 2.0, of="B", samples=20)
    assert [s.at for s in found] == pytest.approx([np.pi / 2], abs=1e-6)
    assert (found[0].rank, found[0].generic) == (5, 6)
    there = mobility_of(velocity_model(pose(np.pi / 2)))
    assert there.idle == ("yaw rate of FL + FR",)


@pytest.mark.parametrize("seed", SEEDS)
def test_printed_rotation_matrix(seed):
    """R_j0 as printed is R_y(−γ) R_x(−β) R_y(−α); at β = 0 it takes R_j to R_0 by itself."""
    pods = random_pods(np.random.default_rng(seed), roll=0.7)
    a, b, g = pods.alpha[0], pods.beta[0], pods.gamma[0]
    ca, sa, cb, sb, cg, sg = (f(x) for x in (a, b, g) for f in (np.cos, np.sin))
    printed = np.array([
        [ca * cg - sa * cb * sg, sb * sg, -sa * cg - ca * cb * sg],
        [sb * sa, cb, sb * ca],
        [ca * sg + sa * cb * cg, -sb * cg, -sa * sg + ca * cb * cg],
    ])  # fmt: skip
    assert_allclose(printed, turn("y", -g) @ turn("x", -b) @ turn("y", -a), **EXACT)
    pods.beta = np.zeros(2)
    flat = turn("y", -g) @ turn("y", -a)
    assert_allclose(flat, pods.axes(0), **EXACT)
    # E of (7), with the transpose, takes (5) to the angle α + 2 γ and not to row 1 of (9)
    couple = np.array([sg, 0, cg])
    assert_allclose(flat @ couple, [-sa, 0, ca], **EXACT)
    assert_allclose(flat.T @ couple, [np.sin(a + 2 * g), 0, np.cos(a + 2 * g)], **EXACT)


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_rank_in_closed_form(seed, straight, parallel):
    """β = 0, a_0 ≠ 0: rank D = 3 + [some α_j ≠ 0] + [sin(φ_1 − φ_2) ≠ 0].

    With any roll it is 6, but 5 where all α_j = 0: no row has a moment about x_0 then.
    """
    pods = random_pods(np.random.default_rng(seed))
    lam, _ = lambdas(pods)
    if straight:
        pods.alpha = np.zeros(2)
    if parallel:
        pods.gamma[1] = lam[0] + pods.gamma[0] + pods.alpha[0] - lam[1] - pods.alpha[1] + np.pi
    found = mobility_of(velocity_model(pods.robot()))
    assert found.degree == 3 + (not straight) + (not parallel)
    pods.beta = np.array([0.2, -0.3])
    assert mobility_of(velocity_model(pods.robot())).degree == 6 - straight
