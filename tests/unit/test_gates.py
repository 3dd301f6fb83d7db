"""Gates: when one is passed, when it is missed, and what a run says of them."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import xarray as xr

from marsyard.control.rover_kinematics import half_width_of
from marsyard.errors import InputError
from marsyard.results.gates import GateKeeper, score_gates
from marsyard.results.page_replay import replay_gates
from marsyard.results.run_judgement import gates_taken
from marsyard.scenario import load_scenario
from marsyard.scenario.gates import Gate

GATES = [Gate(centre=(2.0 * k, (-1) ** k * 0.5), width=2.0) for k in range(1, 5)]


def way(*points):
    """Times at 1 m/s and places along straight lines, 10 cm apart."""
    points = np.array(points, dtype=float)
    parts = [
        a
        + np.linspace(0, 1, max(2, int(10 * np.hypot(*(b - a)))), endpoint=False)[:, None] * (b - a)
        for a, b in zip(points[:-1], points[1:], strict=True)
    ]
    places = np.concatenate([*parts, points[-1:]])
    steps = np.hypot(*np.diff(places, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)]), places


def test_a_straight_way_through_the_middles():
    gates = [Gate(centre=(float(x), 0.0), width=1.0) for x in (1, 2, 4)]
    score = score_gates(gates, *way([0, 0], [5, 0]))
    assert score.passed == 3 and score.missed == 0 and score.next == 0
    assert [p.time for p in score.passages] == pytest.approx([1.0, 2.0, 4.0])
    assert score.duration == pytest.approx(3.0) and score.mean_offset == pytest.approx(0.0)
    assert score.words == "3 of 3 gates"


def test_the_slalom_and_a_way_that_cuts_it():
    through = [[0, 0], *(g.centre for g in GATES), [10, 0]]
    assert score_gates(GATES, *way(*through), half_width=0.66).passed == 4
    # the base stays between the posts, the wheels do not
    assert score_gates(GATES, *way([0, 0], [10, 0]), half_width=0.66).passed == 0
    assert score_gates(GATES, *way([0, 0], [10, 0])).passed == 4


def test_offsets_are_to_the_left_whichever_way_a_gate_looks():
    turn = np.radians(120.0)
    gate = Gate(centre=(3.0, -2.0), heading=turn, width=2.0)
    ahead, left = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    start = np.array(gate.centre) - ahead + 0.3 * left
    score = score_gates([gate], *way(start, start + 2 * ahead))
    assert score.passages[0].offset == pytest.approx(0.3)
    posts = gate.posts()
    assert posts[0] - posts[1] == pytest.approx(2.0 * left)
    backwards = score_gates([gate], *way(start + 2 * ahead, start))
    assert backwards.passed == 0 and backwards.states == ("next",)


def test_a_gate_is_missed_once_a_later_one_is_passed():
    gates = GATES[:3]
    keeper = GateKeeper(gates)
    times, places = way([0, -0.5], [3, -0.5], [3, 2.0], [5, 2.0], [5, -0.5], [7, -0.5])
    for time, (x, y) in zip(times, places, strict=True):
        keeper.observe(time, x, y)
        if 3.5 < x < 4.9:
            # beside the second one, for which it may still turn back
            assert keeper.score.states == ("passed", "next", "ahead")
    assert keeper.score.states == ("passed", "missed", "passed")
    assert keeper.score.words == "2 of 3 gates, 1 missed"


def test_each_gate_counts_once():
    score = score_gates(GATES[:1], *way([0, -0.5], [3, -0.5], [1, -0.5], [3, -0.5]))
    assert score.passed == 1 and score.passages[0].time == pytest.approx(2.0)


def test_a_long_step_counts_where_it_crosses():
    gate = Gate(centre=(1.0, 0.0), width=1.0)
    score = score_gates([gate], [0.0, 10.0], np.array([[0.0, 0.0], [4.0, 0.8]]))
    assert score.passages[0].time == pytest.approx(2.5)
    assert score.passages[0].offset == pytest.approx(0.2)


def test_the_slalom_of_the_library_has_gates_that_its_path_passes():
    scenario = load_scenario("teleop/slalom")
    from marsyard.control import Path

    path = Path(np.array(scenario.drive.commands[0].path), smooth=True)
    s = np.linspace(0, path.length, 400)
    half = half_width_of(scenario.robot.name)
    assert half == pytest.approx(0.66, abs=0.01)
    assert score_gates(scenario.gates, s, path.point(s), half).passed == len(scenario.gates) == 4
    straight = np.array([[0.0, 0.0], [10.0, 0.0]])
    assert score_gates(scenario.gates, [0, 1], straight, half).passed == 0


def _driven(points):
    times, places = way(*points)
    places = np.column_stack([places, np.full(len(places), 0.6)])
    return xr.Dataset({"position_base": (("time", "axis"), places)}, {"time": times})


def test_a_run_says_how_it_took_its_gates():
    scenario = load_scenario("teleop/slalom")
    centres = [list(g.centre) for g in scenario.gates]
    found = gates_taken(_driven([[0, 0.1], *[[x, y + 0.1] for x, y in centres]]), scenario)
    assert (found.level, found.text) == (
        "note", "It passed 4 of 4 gates, 10 cm from their middles on average."
    )  # fmt: skip
    del centres[1]
    found = gates_taken(_driven([[0, 0], *centres[:1], [3.75, 1.5], *centres[1:]]), scenario)
    assert found.level == "warning" and found.text.endswith("; not passed: 2.")
    assert gates_taken(_driven([[0, 0], [1, 0]]), load_scenario("control/path")) is None


def test_the_replay_of_a_report_has_the_gates_in_the_colour_of_what_became_of_them():
    scenario = load_scenario("teleop/slalom")
    data = _driven([[0, 0], scenario.gates[0].centre, [3, 2.0]])
    lines = replay_gates(scenario, data, lambda x, y: np.full(np.shape(x), 0.2), 0.5)
    assert [ink for _, ink in lines].count(lines[0][1]) == 1 and len(lines) == 4
    packed = lines[0][0]
    whole = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u2")
    points = (packed["offset"] + packed["scale"] * whole).reshape(-1, 3)
    left, right = scenario.gates[0].posts()
    assert points[:, :2] == pytest.approx(np.array([left, left, right, right]), abs=1e-4)
    assert points[:, 2] == pytest.approx([0.715, 0.215, 0.215, 0.715], abs=1e-4)


def test_mistakes_of_gates():
    with pytest.raises(InputError, match="gates.0.width"):
        load_scenario("teleop/slalom", {"gates": [{"centre": [1, 0], "width": "0 m"}]})
    with pytest.raises(InputError, match="gates.0.centre"):
        load_scenario("teleop/slalom", {"gates": [{"width": "1 m"}]})


def test_what_has_no_wheels_has_no_width():
    assert half_width_of("leg_2001") == 0.0
    assert half_width_of("tracked_rover") > 0.2
