"""The algebra of screws: invariance, reciprocity, systems of screws, words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinetostatics_robots import turn
from numpy.testing import assert_allclose

from marsyard.analysis.kinetostatics import screws as sc
from marsyard.analysis.kinetostatics.screw_description import motion_in_words, wrench_in_words

seeds = st.integers(0, 2**32 - 1)


def frame(rng):
    axes = turn("z", rng.uniform(-3, 3)) @ turn("x", rng.uniform(-3, 3)) @ turn("y", rng.normal())
    return axes, rng.normal(size=3)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_power_is_the_same_in_all_frames(seed):
    rng = np.random.default_rng(seed)
    axes, origin = frame(rng)
    w, X = rng.normal(size=(2, 6))
    moved = sc.power(sc.wrench_in(w, axes, origin), sc.twist_in(X, axes, origin))
    assert moved == pytest.approx(float(sc.power(w, X)), abs=1e-12)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_axis_and_pitch(seed):
    """A line is found again, from any frame; the pitch does not change."""
    rng = np.random.default_rng(seed)
    s, p, mu, size = rng.normal(size=3), rng.normal(size=3), rng.normal(), rng.uniform(0.1, 5)
    axes, origin = frame(rng)
    for make, change, kind in (
        (sc.rotation, sc.twist_in, "twist"),
        (sc.force, sc.wrench_in, "wrench"),
    ):
        found = sc.describe(change(size * make(s, p, mu), axes, origin), kind)
        unit = s / np.linalg.norm(s)
        assert_allclose(axes @ found.direction, unit, atol=1e-10)
        assert found.pitch == pytest.approx(mu, abs=1e-9)
        assert found.magnitude == pytest.approx(size)
        back = axes @ found.point + origin
        assert_allclose(np.cross(back - p, unit), 0, atol=1e-9)


def test_a_point_of_a_turning_body_moves_as_its_twist_says():
    """v at the origin of a rotation about a line is ω × (0 − p)."""
    s, p = np.array([0.0, 0.6, 0.8]), np.array([1.0, 2.0, 3.0])
    step = 1e-6
    skew = np.array([[0, -s[2], s[1]], [s[2], 0, -s[0]], [-s[1], s[0], 0]])
    body = np.eye(3) + np.sin(step) * skew + (1 - np.cos(step)) * skew @ skew  # Rodrigues
    moved = (body @ (0 - p) + p) / step
    assert_allclose(sc.rotation(s, p)[:3], moved, atol=1e-5)


@given(seeds, st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_reciprocal_of_the_reciprocal(seed, n):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 6))
    system = rng.normal(size=(n + 2, n)) @ base  # more screws than dimensions
    kind, other = ("twist", "wrench") if rng.random() < 0.5 else ("wrench", "twist")
    against = sc.reciprocal_system(system, kind)
    assert len(against) == 6 - n
    assert_allclose(system @ against.T, 0, atol=1e-9)
    again = sc.reciprocal_system(against, other)
    assert len(again) == n and sc.contains(system, again, kind) and sc.contains(again, system, kind)


@given(seeds, st.sampled_from([1e-3, 39.37, 1e3]))
@settings(max_examples=40, deadline=None)
def test_rank_does_not_depend_on_the_unit_of_length(seed, unit):
    """Metres to millimetres: v and m grow, ω and f do not."""
    rng = np.random.default_rng(seed)
    lines = np.array([sc.force(rng.normal(size=3), 1e-4 * rng.normal(size=3)) for _ in range(3)])
    system = np.vstack([lines, rng.normal(size=(2, 3)) @ lines])
    changed = system * np.repeat([1, unit], 3)
    assert sc.rank(system, "wrench") == sc.rank(changed, "wrench") == 3
    twists = sc.reciprocal_system(system, "wrench")
    assert sc.rank(twists * np.repeat([unit, 1], 3), "twist") == 3
    assert_allclose(sc.readable(changed, "wrench") / np.repeat([1, unit], 3),
                    sc.readable(system, "wrench"), atol=1e-8)  # fmt: skip


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_sum_and_intersection(seed):
    """Dimensions: dim(A + B) + dim(A ∩ B) = dim A + dim B, for systems that share k screws."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(0, 3))
    shared = rng.normal(size=(k, 6))
    one = np.vstack([shared, rng.normal(size=(1, 6))])
    two = np.vstack([shared, rng.normal(size=(2, 6))])
    both, common = sc.span(np.vstack([one, two]), "twist"), sc.intersection(one, two, "twist")
    assert (len(both), len(common)) == (k + 3, k)
    assert sc.contains(both, one, "twist") and sc.contains(both, two, "twist")
    assert sc.contains(one, common, "twist") and sc.contains(two, common, "twist")
    assert not sc.contains(one, two, "twist")


def test_readable_basis_of_a_planar_motion():
    """Mixed twists of plane motion become v_x, v_y, ω_z, with exact zeros."""
    rng = np.random.default_rng(2)
    plane = np.eye(6)[[0, 1, 5]]
    found = sc.readable(rng.normal(size=(5, 3)) @ plane, "twist")
    assert np.array_equal(found, np.eye(6)[[5, 0, 1]])


def test_no_screws():
    assert sc.rank(np.zeros((0, 6)), "twist") == 0
    assert sc.reciprocal_system(np.zeros((0, 6)), "wrench").shape == (6, 6)
    assert sc.readable(np.zeros((2, 6)), "wrench").shape == (0, 6)
    assert sc.rank(np.zeros((3, 6)), "wrench") == 0


def test_three_forces_through_a_point_leave_the_spherical_motions():
    """A ball joint: forces through p are reciprocal to the rotations about lines through p."""
    p = np.array([0.3, -2.0, 0.7])
    forces = np.array([sc.force(e, p) for e in np.eye(3)])
    turns = np.array([sc.rotation(e, p) for e in np.eye(3)])
    found = sc.reciprocal_system(forces, "wrench")
    assert sc.contains(turns, found, "twist") and sc.contains(found, turns, "twist")


@pytest.mark.parametrize(
    ("twist", "words"),
    [
        ([2, 0, 0, 0, 0, 0], "forward"),
        ([0, -1, 0, 0, 0, 0], "sideways"),
        ([0, 0, 1, 0, 0, 0], "up"),
        ([0, 0, 0, 3, 0, 0], "roll about x"),
        ([0, 0, 0, 0, 1, 0], "pitch about y"),
        ([0, 0, 0, 0, 0, 1], "turning about a vertical axis (yaw)"),
        ([2, 0, 0, 0, 0, 1], "turning about a vertical axis through (0, 2)"),
        ([1, 0, 1, 0, 0, 0], "translation along (1, 0, 1)"),
        ([0.5, 0, 0, 0, 1, 0], "rotation about a line through (0, 0, -0.5) along y"),
        ([0, 0, 0.2, 0, 0, 1], "screw about a line through the origin along z, pitch 0.2 m/rad"),
        ([0, 1, 0, 0.1, 0, 0], "nearly sideways: rotation about a line through (0, 0, 10) along x"),
        ([0, 0, 0, 0, 0, 0], "no motion"),
    ],
)  # fmt: skip
def test_words_of_motions(twist, words):
    assert motion_in_words(twist) == words


def test_words_of_wrenches():
    assert wrench_in_words([0, 0, 0, 1, 0, 0]) == "couple about x"
    assert wrench_in_words([0, 0, 2, 0, 0, 0]) == "force on a line through the origin along z"
    assert (
        wrench_in_words(sc.force([0, 0, 1], [1, 0, 0]))
        == "force on a line through (1, 0, 0) along z"
    )
    assert "pitch 0.3 m" in wrench_in_words(sc.force([0, 1, 0], [1, 0, 0], 0.3))
