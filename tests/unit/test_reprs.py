"""What a terminal shows of the objects that a user prints: short, with names and units."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import marsyard
from marsyard.cards import several, text_card
from marsyard.ground import load_soil
from marsyard.robot import load_robot
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation


def is_short(text: str, lines: int = 20) -> bool:
    """No wall of text, and no addresses or arrays."""
    rows = text.splitlines()
    return (
        1 <= len(rows) <= lines
        and max(map(len, rows)) < 200
        and not ("object at 0x" in text or "array(" in text)
    )


def test_a_card_has_a_line_for_what_is_there():
    text = text_card("Thing 'x'", [("mass", 3.14159), ("", ""), ("none", None), ("what", "a b")])
    assert text == "Thing 'x'\n  mass  3.142\n  what  a b"
    assert several(["a", "b"], "wheel") == "2 wheels: a, b" and several([], "wheel") == ""
    assert several(list("abcdefghij"), "x").endswith("h, …")


def test_a_simulation_says_where_it_stands():
    sim = Simulation(load_scenario("rt0448/test-1"))
    sim.step(100)
    text = repr(sim)
    assert is_short(text) and text.startswith("Simulation of '")
    assert "time   0.05 of " in text and "wheels: " in text and "pose   x=" in text
    assert "sinkage" not in text
    assert repr(sim.state()).startswith("State(step 100, ")


@pytest.mark.parametrize("name", ["rt0448/test-1", "teleop/slalom", "control/path", "walker/flat"])
def test_scenarios(name):
    scenario = load_scenario(name)
    text = repr(scenario)
    assert is_short(text) and scenario.title in text and scenario.robot.name in text
    assert str(scenario) == text
    if scenario.drive is not None:
        assert "drive    path" in text


@pytest.mark.parametrize("name", ["exomars", "leg_2001", "tracked_rover", "smart_olev"])
def test_robots(name):
    robot = load_robot(name)
    assert is_short(repr(robot)) and repr(robot).startswith(f"Robot '{name}'")
    for wheel in robot.wheels:
        assert wheel in repr(robot)


def test_soils_with_units():
    text = repr(load_soil("lunar_nominal"))
    assert is_short(text) and "cohesion        170 Pa" in text


def test_a_run_says_how_it_went():
    run = marsyard.run("rt0448/test-1", duration=0.3)
    text = repr(run)
    assert is_short(text) and text.startswith("Run of 'rt0448/test-1'")
    assert "simulated  0.3 s" in text and "went       Fell" in text
    assert "gap at the start: 1.421 m, 1.421 expected: pass" in text


def test_a_study_a_sweep_and_a_comparison(tmp_path):
    file = tmp_path / "fall.yaml"
    file.write_text(
        textwrap.dedent("""\
        extends: rt0448/test-1
        run: {duration: 0.1}
        report: {checks: []}
        study:
          vary: interaction.friction
          values: [0.3, 0.6]
          outputs: [{name: height, of: position_base.z, take: final, unit: m}]
        """)
    )
    study = marsyard.run(str(file), jobs=1)
    text = repr(study)
    assert is_short(text) and text.startswith("Study of '") and "2 over " in text
    assert "outputs: height" in text
    sweep_file = tmp_path / "sweep.yaml"
    sweep_file.write_text(
        textwrap.dedent("""\
        scenario: rt0448/test-1
        set: {run.duration: 0.1}
        vary: {friction: {values: [0.3, 0.6]}}
        outputs: [{name: height, of: position_base.z, take: final, unit: m}]
        """)
    )
    sweep = marsyard.sweep(sweep_file, jobs=1)
    text = repr(sweep)
    assert is_short(text) and "Sweep of 'rt0448/test-1'" in text and "runs     2 over" in text
    found = marsyard.compare("rt0448/test-1", "nonsmooth,compliant", settings={"run.duration": 0.1})
    text = repr(found)
    assert is_short(text) and "nonsmooth" in text and "compliant" in text


def test_a_terrain():
    from marsyard.ground.terrain import build_terrain
    from marsyard.scenario import load_terrain

    terrain = build_terrain(*load_terrain("crater_10m"))
    assert is_short(repr(terrain)) and "layers  2" in repr(terrain)
    assert np.isfinite(terrain.height(0.0, 0.0))
