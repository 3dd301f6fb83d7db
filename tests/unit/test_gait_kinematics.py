"""Feet and wheels by joint angles and back, closed loops too; schedules."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control.gait_schedule import Schedule, smooth
from marsyard.control.limb_kinematics import Limbs
from marsyard.errors import InputError


@pytest.fixture(scope="module")
def hexapod():
    return Limbs("hexapod")


def _leg(hip: float, femur: float, tibia: float) -> np.ndarray:
    """The left middle leg's foot in the base frame, by trigonometry [m]."""
    lift = np.arctan2(0.059, 0.127) + femur
    shin = np.arctan2(-0.2165, 0.038) + femur + tibia
    out = 0.05 + np.hypot(0.127, 0.059) * np.cos(lift) + np.hypot(0.038, 0.2165) * np.cos(shin)
    up = np.hypot(0.127, 0.059) * np.sin(lift) + np.hypot(0.038, 0.2165) * np.sin(shin)
    return np.array([-out * np.sin(hip), 0.09 + out * np.cos(hip), up])


def test_a_foot_is_where_trigonometry_puts_it(hexapod):
    own = [hexapod.joints.index(f"CL{j}") for j in ("Hip_z", "Femur_x", "Tibia_x")]
    for angles in ((0.0, 0.0, 0.0), (0.3, -0.2, 0.4), (-0.5, 0.6, -0.3)):
        q = np.zeros(18)
        q[own] = angles
        foot = hexapod.points(q)[hexapod.organs.index("CL")]
        assert foot == pytest.approx(_leg(*angles), abs=1e-12)


def test_inverse_undoes_forward(hexapod):
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = rng.uniform(-0.4, 0.4, 18)
        found = hexapod.reach(hexapod.points(q), np.zeros(18))
        assert hexapod.points(found) == pytest.approx(hexapod.points(q), abs=1e-9)
        assert found == pytest.approx(q, abs=1e-6)


def test_joint_limits_are_kept_and_what_is_missed_is_said(hexapod):
    targets = hexapod.home.copy()
    targets[hexapod.organs.index("CL")] += [0.0, 0.3, 0.0]
    with pytest.raises(
        InputError, match=r"'CL' of hexapod cannot reach \(.*\) m .* misses by"
    ) as e:
        hexapod.reach(targets, np.zeros(18))
    # the stretched leg is 0.05 + 0.14 + 0.22 m long, less what its range takes away
    missed = float(str(e.value).split("misses by ")[1].split(" mm")[0])
    flat = 0.05 + np.sqrt((np.hypot(0.127, 0.059) + np.hypot(0.038, 0.2165)) ** 2 - 0.1575**2)
    assert missed >= 1000 * (0.215 + 0.3 - flat) - 1


def test_wheels_of_a_leg_know_the_pitch_of_their_link():
    limbs = Limbs("hylos_like")
    q = np.zeros(len(limbs.joints))
    q[limbs.joints.index("FLHip_y")] = 0.2
    q[limbs.joints.index("FLKnee_y")] = -0.5
    assert limbs.link_pitch(q) == pytest.approx([-0.3, 0, 0, 0], abs=1e-12)
    assert list(limbs.is_wheel) == [True] * 4
    assert limbs.radius == pytest.approx(0.07)


def test_cones_roll_on_their_large_ends():
    assert Limbs("marsokhod_like").radius == pytest.approx(0.175)


def test_through_closed_loops():
    """The pantograph in closed form: F = Q/s − A (1 − s)/s from the carriage."""
    limbs = Limbs("leg_2001")
    assert set(limbs.joints[:2]) == {"Lift_z", "Reach_x"} and limbs.moving.sum() == 2
    for x, z in ((0.0, 0.0), (0.1, -0.05), (-0.12, 0.09)):
        q = limbs.reach(limbs.home + [x, 0, z], np.zeros(6))
        assert q[0] == pytest.approx(-z / 3, abs=2e-5)
        assert q[1] == pytest.approx(x / 4, abs=2e-5)
    with pytest.raises(InputError, match="misses by 40 mm"):
        limbs.reach(limbs.home + [0.2, 0, 0], np.zeros(6))


def test_a_leaning_base_sees_the_ground_turned(hexapod):
    angle = 0.2
    lean = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    body = np.array([0.01, 0.02, 0.03])
    seen = hexapod.in_base(hexapod.home, body, lean)
    assert hexapod.on_ground(seen, body, lean) == pytest.approx(hexapod.home, abs=1e-15)
    assert seen[0] == pytest.approx(lean.T @ (hexapod.home[0] - body))


def test_a_ball_that_rolls_is_taken_back_to_where_it_was_set_down():
    """Tilt the tibia alone and integrate v = ω × r n in small steps."""
    limbs = Limbs("hexapod", rolling_feet=True)
    plain = Limbs("hexapod")
    foot = limbs.organs.index("CL")
    own = limbs.joints.index("CLTibia_x")
    way, q = np.zeros(3), np.zeros(18)
    for _ in range(1000):
        q[own] += 0.5 / 1000
        # about x, by the same rate everywhere: the ball goes to the side
        way += np.cross([0.5 / 1000, 0, 0], [0, 0, 0.02])
    assert plain.points(q)[foot] - limbs.points(q)[foot] == pytest.approx(way, abs=1e-9)
    found = limbs.reach(limbs.points(q), np.zeros(18))
    assert found == pytest.approx(q, abs=1e-6)
    assert limbs.middles(q) == pytest.approx(plain.points(q))


def test_robots_that_cannot_have_a_gait():
    with pytest.raises(InputError, match="neither feet nor wheels"):
        Limbs("plate_rig")
    with pytest.raises(InputError, match="no joint 'FLHip'"):
        Limbs("hexapod").hold({"FLHip": 0.1})


def test_schedules():
    table = Schedule(("a", "b"), 0.5, [[0, 1], [1, 1], [3, 0]], start=2.0)
    assert table.duration == 1.0
    assert table.at(0.0) == pytest.approx([0, 1])
    assert table.at(2.25) == pytest.approx([0.5, 1])
    assert table.at(2.9) == pytest.approx([2.6, 0.2])
    assert table.at(99) == pytest.approx([3, 0])
    assert table.begun_at(0.0).at(0.75) == pytest.approx([2, 0.5])
    for bad in (
        dict(angles=[[0, 1, 2]]),
        dict(angles=[[0, np.nan]]),
        dict(period=0),
        dict(joints=("a", "a")),
    ):
        with pytest.raises(InputError, match="schedule"):
            Schedule(**{"joints": ("a", "b"), "period": 0.5, "angles": [[0, 1]], **bad})


def test_smooth_begins_and_ends_at_rest():
    s = np.linspace(0, 1, 1001)
    value = smooth(s)
    assert (value[0], value[-1], value[500]) == pytest.approx((0, 1, 0.5))
    assert np.all(np.diff(value) >= 0)
    speed = np.gradient(value, s)
    assert abs(speed[0]) < 1e-4 and abs(speed[-1]) < 1e-4
    assert max(speed) == pytest.approx(15 / 8, rel=1e-4)
