"""Sequences as files and objects, and on scenarios; nothing is run but by the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marsyard.errors import InputError
from marsyard.operations import (
    Sequence,
    load_sequence,
    on_scenario,
    save_sequence,
    sequence_of,
    sequence_of_setpoints,
)
from marsyard.operations.sequence import make_sequence, sequence_text
from marsyard.scenario import load_scenario
from marsyard.scenario.scenario import dump, validate

EXAMPLE = Path(__file__).parents[2] / "examples" / "sequence.yaml"
ALL = {
    "title": "Everything: once",
    "description": "Two lines,\nthe second one.\n\nAnd a # third.",
    "duration": "5 min",
    "limits": {"tilt": "20 deg", "slip": 0.7, "sinkage": "4 cm", "time": "10 min"},
    "postures": {"stow": {"Mast_z": "90 deg", "Slide_x": "3 cm"}},
    "sequence": [
        {"goal": [1, 2], "speed": "5 cm/s", "until": "slip > 0.6 or tilt > 20 deg"},
        {"path": [[0, 0], [1, 0.1]], "smooth": False, "backwards": True},
        {"arc": {"radius": "2 m", "angle": "90 deg"}, "note": "round: the corner"},
        {"arc": {"curvature": 0, "length": -1}},
        {"turn": "1 turn"},
        {"turn_to": "-90 deg", "rate": "3 deg/s", "tolerance": "1 deg"},
        {"crab": "45 deg", "length": 0.3, "abort_if": "current > 3 A"},
        {"wait": "1 min"},
        {"wait": "speed < 1 mm/s", "timeout": "2 min"},
        {"posture": "stow"},
        {"posture": {"Mast_z": 0.1}, "rate": 0.3},
        {"rate": 0.3, "duration": 2},
        {"rate": {"FL": 1 / 3}, "angle": {"FL": "5 deg"}, "joints": {"Mast_z": 0.1}, "duration": 1},
    ],
}


def test_files_are_written_and_read_without_loss(tmp_path):
    sequence = make_sequence(ALL)
    save_sequence(sequence, tmp_path / "s.yaml")
    assert load_sequence(tmp_path / "s.yaml") == sequence
    lines = (tmp_path / "s.yaml").read_text().splitlines()
    # a line for each command, without what goes without saying
    assert sum(line.startswith("  - {") for line in lines) == len(ALL["sequence"])
    assert "  - {rate: 0.3, duration: 2.0}" in lines
    assert "  - {arc: {curvature: 0.0, length: -1.0}}" in lines
    assert "  And a # third." in lines


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=1, max_size=4),
    st.text(max_size=40),
    st.floats(1e-3, 1e6),
)
def test_any_numbers_and_texts_survive(rates, note, duration):
    wheels = {f"w{k}": rate for k, rate in enumerate(rates)}
    command = {"rate": wheels, "duration": duration, "note": note}
    sequence = make_sequence({"title": note, "description": note, "sequence": [command]})
    from marsyard.files import read_yaml_text

    text = sequence_text(sequence)
    assert make_sequence(read_yaml_text(text, "sequence")) == sequence


def test_units_are_read():
    sequence = make_sequence(ALL)
    assert sequence.limits.conditions()["tilt"] == "tilt > 20 deg"
    assert sequence.duration == 300 and sequence.limits.sinkage == 0.04
    assert sequence.sequence[2].arc.distance == pytest.approx(np.pi)
    assert sequence.sequence[4].turn == pytest.approx(2 * np.pi)
    assert sequence.postures["stow"] == {"Mast_z": pytest.approx(np.pi / 2), "Slide_x": 0.03}


def test_the_example_is_read():
    assert len(load_sequence(EXAMPLE).sequence) == 6


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"sequence": []}, "s: sequence: holds 0; at least 1 needed"),
        ({}, "s: sequence: is required and missing"),
        ({"sequence": [{"wait": 1}], "limit": {}}, "unknown key 'limit' in the file; did you mean"),
        ({"sequence": [{"wait": 1}], "limits": {"tlit": 1}}, "unknown key 'tlit' in limits; did"),
        ({"sequence": [{"trun": 1}]}, "s: sequence.0.trun: unknown key 'trun' in sequence.0; did"),
        ({"sequence": [{"turn": "1 m"}]}, "s: sequence.0.turn: 'm' in '1 m' is a unit of length"),
        ({"sequence": [{"wait": 1, "until": "x"}]}, "s: sequence.0.until: 'x' must be followed by"),
        ({"sequence": 3}, "s: sequence: 3 is not a list"),
        (
            {"sequence": [{"until": "slip > 1"}]},
            "s: sequence.0: contains no command; give one of pa",
        ),
        ({"sequence": [{"posture": {}}]}, "s: sequence.0.posture: names no joint; give at least"),
        ({"sequence": [{"posture": {"a": "3 kg"}}]}, "s: sequence.0.posture.a: 'kg' in '3 kg' is"),
        ({"sequence": [{"goto": [1, 2]}]}, "s: sequence.0.goto: unknown key 'goto'"),
    ],
)
def test_wrong_sequences(data, message):
    with pytest.raises(InputError) as error:
        make_sequence(data, "s")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_sequence(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("sequence: [")
    with pytest.raises(InputError, match="bad.yaml, line 1: not valid YAML"):
        load_sequence(tmp_path / "bad.yaml")


# --- on a scenario


def test_a_sequence_replaces_the_commands_and_nothing_else():
    scenario = load_scenario("control/goal")
    sequence = make_sequence({"title": "Look", "sequence": [{"wait": 1}], "limits": {"slip": 0.5}})
    made = on_scenario(sequence, scenario)
    assert made.drive.commands == sequence.sequence and made.drive.abort_limits.slip == 0.5
    assert made.drive.model_copy(
        update={"commands": scenario.drive.commands, "abort_limits": scenario.drive.abort_limits}
    ) == (scenario.drive)
    assert (made.robot, made.ground, made.motors, made.run) == (
        scenario.robot, scenario.ground, scenario.motors, scenario.run,
    )  # fmt: skip
    # made for another drive
    assert made.report.checks == () and made.study is None
    assert made.title.startswith("Look, on A goal behind a crater")
    # the file of the run gives the same again
    import yaml

    assert validate(yaml.safe_load(dump(made))) == made
    assert sequence_of(made).sequence == sequence.sequence


def test_a_sequence_on_a_scenario_without_drive():
    run = {"duration": 3, "step": "1 ms", "control_period": "30 ms", "record_period": "30 ms"}
    scenario = load_scenario("rt0448/test-3", {f"run.{k}": v for k, v in run.items()})
    assert scenario.control
    made = on_scenario(make_sequence({"sequence": [{"wait": 1}], "duration": "12 s"}), scenario)
    # its torque laws on the wheels are gone, the period fits its control
    assert made.control == () and made.drive.period == pytest.approx(0.12)
    assert made.run.duration == pytest.approx(12) and scenario.run.duration != 12
    assert on_scenario(sequence_of(made), scenario, duration=3).run.duration == pytest.approx(3)


def test_scenarios_that_take_no_sequence():
    sequence = make_sequence({"sequence": [{"wait": 1}]})
    with pytest.raises(InputError, match="sequence: the scenario has a gait"):
        on_scenario(sequence, load_scenario("walker/flat"))
    with pytest.raises(InputError, match="sequence: the scenario has no drive"):
        sequence_of(load_scenario("rt0448/test-1"))


# --- set-points


def test_set_points_become_commands_and_the_same_ones_are_joined():
    made = sequence_of_setpoints(
        [0.0, 0.1, 0.2, 0.3],
        {"L": np.array([1.0, 1.0, 2.0, 2.0]), "R": np.array([1.0, 1.0, 2.0, 3.0])},
        {"L": np.zeros(4)},
        end=0.5,
        title="by hand",
    )
    assert isinstance(made, Sequence) and made.title == "by hand"
    assert [c.duration for c in made.sequence] == [0.2, 0.1, 0.2]
    assert [c.rate for c in made.sequence] == [{"L": 1, "R": 1}, {"L": 2, "R": 2}, {"L": 2, "R": 3}]
    assert made.sequence[0].angle == {"L": 0.0}


def test_set_points_come_from_the_start_and_end_in_time():
    made = sequence_of_setpoints([0.2, 0.4, 0.9], {"L": np.array([1.0, 2.0, 3.0])}, end=0.6)
    assert [c.duration for c in made.sequence] == pytest.approx([0.4, 0.2])


@pytest.mark.parametrize(
    ("time", "rate", "end", "message"),
    [
        ([], {"L": []}, 1, "setpoints.time: give increasing times"),
        ([0, 0], {"L": [1, 1]}, 1, "setpoints.time: give increasing times"),
        ([-1], {"L": [1]}, 1, "setpoints.time: must be finite and not negative"),
        ([0], {}, 1, "setpoints.rate: give the rates of at least one wheel"),
        ([0, 1], {"L": [1]}, 2, "setpoints.rate.L: needs 2 finite numbers"),
        ([0], {"L": [np.nan]}, 2, "setpoints.rate.L: needs 1 finite numbers"),
        ([0], {"L": [1]}, 0, "setpoints: end = 0 s: must be above 0"),
    ],
)
def test_wrong_set_points(time, rate, end, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        sequence_of_setpoints(time, rate, end=end)
