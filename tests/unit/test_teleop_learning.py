"""What a teleoperation learns, without a simulation: the filter of the soil, and errors per way."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.operations.messages import Command, Drive, Motors, Other, Wait, decode, encode
from marsyard.operations.messages import Order as OrderMessage
from marsyard.operations.sequence import make_sequence
from marsyard.operations.teleop import adaptation as a
from marsyard.operations.teleop.predictor import REACH_95, ErrorPerWay, ellipse_of
from marsyard.operations.teleop.study import pursue, slalom_of
from marsyard.operations.teleop.truth import truth_of
from marsyard.operations.teleop.vehicle import actions_of, command_of
from marsyard.scenario import load_scenario

NAMES = ("friction_angle", "shear_modulus", "k_phi")


def adaptation():
    return a.Adaptation(NAMES, {"friction_angle": 0.6, "shear_modulus": 0.02, "k_phi": 8e5}, dict)


def test_the_filter_is_bayesian_regression(monkeypatch):
    # constant parameters, linear observations: the posterior in closed form, all data at once
    monkeypatch.setattr(a, "DRIFT", 0.0)
    monkeypatch.setattr(a, "STEP", np.inf)
    rng = np.random.default_rng(1)
    filter_ = adaptation()
    truth = np.array([-0.1, 0.3, -0.2])
    information = np.linalg.inv(filter_.covariance)
    weighted = np.zeros(3)
    for _ in range(30):
        H, R = rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5)
        y = H @ truth + np.sqrt(R) * rng.normal(size=5)
        assert filter_.update(0.0, y, H @ filter_.theta, H, R, 1.0)
        information += H.T @ np.diag(1 / R) @ H
        weighted += H.T @ (y / R)
    assert filter_.covariance == pytest.approx(np.linalg.inv(information), rel=1e-9)
    assert filter_.theta == pytest.approx(np.linalg.solve(information, weighted), rel=1e-9)


def test_nothing_is_learned_where_nothing_can_be():
    filter_ = adaptation()
    before = filter_.covariance.copy()
    # standing: noise, but no sensitivity
    for k in range(50):
        y = np.full(5, 1e-3 * (-1) ** k)
        filter_.update(0.0, y, np.zeros(5), np.zeros((5, 3)), np.full(5, 1e-6), 0.0)
    assert np.all(filter_.theta == 0.0)
    assert filter_.covariance == pytest.approx(before)
    # agreement to the rounding of telemetry changes nothing at all
    told = np.array([0.1, 0.0, 0.02, 1.0, 0.01])
    H = np.ones((5, 3))
    assert not filter_.update(0.0, told * (1 + 1e-8), told, H, np.full(5, 1e-6), 1.0)


def test_an_outlier_moves_little_and_bounds_hold():
    filter_ = adaptation()
    H, R = np.eye(5, 3), np.full(5, 1e-4)
    filter_.update(0.0, np.array([50.0, 0, 0, 0, 0]), np.zeros(5), H, R, 0.1)
    assert np.max(np.abs(filter_.theta)) <= a.STEP
    for _ in range(500):
        filter_.update(0.0, H @ filter_.theta + 0.5, H @ filter_.theta, H, R + 1.0, 5.0)
    bounds = [a.BOUNDS[name] for name in NAMES]
    assert filter_.theta == pytest.approx(bounds)
    value = {b.name: b.value for b in filter_.beliefs()}
    assert value["friction_angle"] < np.pi / 2 and value["shear_modulus"] > 0


def test_missing_observations_are_left_out():
    one, other = adaptation(), adaptation()
    H, R = np.random.default_rng(2).normal(size=(5, 3)), np.ones(5)
    y = np.array([0.1, 0.2, -0.1, np.nan, np.nan])
    one.update(0.0, y, np.zeros(5), H, R, 0.0)
    other.update(0.0, y[:3], np.zeros(3), H[:3], R[:3], 0.0)
    assert one.theta == pytest.approx(other.theta)


@pytest.mark.parametrize("deviation", [(0.02, 0.01, 0.03), (0.3, 0.1, 0.2)])
def test_ellipses_hold_95_percent_once_errors_are_learned(deviation):
    rng, model = np.random.default_rng(3), ErrorPerWay()
    inside = []
    for k in range(6000):
        way = rng.uniform(0.1, 0.6)
        error = rng.normal(size=3) * deviation * way
        if k > 50:
            sizes = error[:2] ** 2 / model.variance(way)[:2]
            inside.append(sizes.sum() <= REACH_95)
        model.learn(error, way, np.zeros(3))
    assert 0.935 < np.mean(inside) < 0.965


def test_an_ellipse_is_that_of_its_covariance():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(2, 2))
    covariance = root @ root.T
    e = ellipse_of(1.0, -2.0, covariance)
    angle = np.linspace(0, 2 * np.pi, 60)
    u, v = e.axes[0] * np.cos(angle), e.axes[1] * np.sin(angle)
    c, s = np.cos(e.angle), np.sin(e.angle)
    rim = np.stack([c * u - s * v, s * u + c * v])
    size = np.sum(rim * np.linalg.solve(covariance, rim), axis=0)
    assert size == pytest.approx(np.full(60, REACH_95))


COMMANDS = [
    {"path": [[0, 0], [1, 0.5], [2, 0]], "smooth": False, "backwards": True, "timeout": 9},
    {"goal": [3, 1], "speed": "3 cm/s", "until": "distance > 1 m"},
    {"arc": {"radius": 2, "angle": "30 deg"}, "abort_if": "slip > 0.5", "note": "over the ridge"},
    {"turn_to": "90 deg", "rate": 0.1},
    {"crab": "20 deg", "length": 0.5},
    {"steer": "-5 cm/s", "turn_rate": 0.02, "duration": 3},
    {"wait": "speed < 1 mm/s"},
    {"posture": {"Mast_z": 0.3}},
    {"rate": {"FL": 0.2}, "angle": 0.1, "duration": 4},
]


def test_all_commands_of_a_sequence_travel():
    sequence = make_sequence({"sequence": COMMANDS})
    for spec, action in zip(sequence.sequence, actions_of(sequence), strict=True):
        order = OrderMessage(sent=0.0, id=1, expires=1.0, action=action)
        arrived = decode(encode(order)).action
        assert command_of(arrived, None) == spec


def test_limits_and_postures_of_a_sequence_travel_with_each_command():
    sequence = make_sequence(
        {
            "limits": {"tilt": "20 deg", "time": 60, "distance": 5},
            "postures": {"up": {"Mast_z": 0.5}},
            "sequence": [{"posture": "up"}, {"wait": 1, "abort_if": "slip > 0.9"}],
        }
    )
    posture, wait = actions_of(sequence)
    assert (posture.time, posture.distance) == (60.0, 5.0)
    assert command_of(posture, None).posture == {"Mast_z": 0.5}
    assert command_of(wait, None).abort_if == "slip > 0.9 or tilt > 20 deg"


@pytest.mark.parametrize(
    ("action", "part"),
    [(Other("dance"), "does not know 'dance'"), (Command("{"), "JSON"),
     (Command('{"wait": -1}'), "wait")],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(action, part):
    with pytest.raises(InputError, match=part):
        command_of(action, None)


def test_plain_actions_are_commands():
    class Layout:
        wheels = ("a", "b")
        steered = np.array([True, False])

    assert command_of(Wait(2.0), Layout).wait == 2.0
    steer = command_of(Drive(0.1, -0.2, 3.0), Layout)
    assert (steer.steer, steer.turn_rate, steer.duration) == (0.1, -0.2, 3.0)
    motors = command_of(Motors([1.0, 2.0], [0.3], 1.0), Layout)
    assert motors.rate == {"a": 1.0, "b": 2.0} and motors.angle == {"a": 0.3}
    with pytest.raises(InputError, match="motors.rates: give 2"):
        command_of(Motors([1.0], [0.3], 1.0), Layout)


def test_truths_differ_by_seed_and_by_settings():
    believed = load_scenario("teleop/slalom")
    one, drawn = truth_of("teleop/slalom", seed=1)
    same, _ = truth_of("teleop/slalom", seed=1)
    other, _ = truth_of("teleop/slalom", seed=2)
    assert one == same and one != other
    soil = one.ground[0].soil
    assert soil["shear_modulus"] == pytest.approx(0.0178 * drawn["shear_modulus ×"])
    assert len(one.ground[0].terrain.layers) == len(believed.ground[0].terrain.layers) + 1
    assert truth_of("teleop/slalom")[0] == believed
    set_, _ = truth_of("teleop/slalom", settings={"ground.0.soil": "lunar_loose"})
    assert set_.ground[0].soil["name"] == "lunar_loose"
    with pytest.raises(InputError, match="seed"):
        truth_of("teleop/slalom", seed=-1)


def test_pure_pursuit_meets_its_point():
    path, speed = slalom_of(load_scenario("teleop/slalom"))
    s, turn = pursue(path, np.array([0.3, 0.0, 0.4]), 0.0, speed, 0.6)
    # the arc of radius v/ω from the pose goes through the point
    R = speed / turn
    centre = np.array([0.3, 0.0]) + R * np.array([-np.sin(0.4), np.cos(0.4)])
    assert np.hypot(*(path.point(s + 0.6) - centre)) == pytest.approx(abs(R), rel=1e-9)
