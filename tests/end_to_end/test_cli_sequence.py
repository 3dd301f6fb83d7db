"""`marsyard run --sequence` from the command line."""

from __future__ import annotations

import pytest
from command import run_here

import marsyard
from marsyard.operations import load_sequence, record_sequence

SCENARIO = """
robot: {name: exomars, position: [0, 0, 1], settle: true, wheel_shape: disc}
run: {duration: 8, step: 10 ms, record_period: 0.1, theta: 1}
report:
  figures: [{title: way, panels: [[position_base.x]]}]
  checks:
    - {name: x, of: position_base.x, take: final, expected: 9, tolerance: 1, unit: m, source: none}
"""
SEQUENCE = """
title: A short one
limits: {tilt: 30 deg}
sequence:
  - {rate: 0.3, duration: 9, until: distance > 5 cm, note: a little ahead}
  - {wait: 0.3 s}
  - {wait: 1 h, abort_if: time > 0.5 s}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "plane.yaml").write_text(SCENARIO)
    (tmp_path / "short.yaml").write_text(SEQUENCE)
    return tmp_path


def test_a_sequence_is_run_and_told(files):
    done = run_here(["run", "plane.yaml", "--sequence", "short.yaml", "-o", "out"], files)
    # the checks of the scenario were made for another drive
    assert done.returncode == 0, done.stdout + done.stderr
    assert "until: distance > 5 cm" in " ".join(done.stdout.split())
    assert "aborted at" in done.stderr + done.stdout
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="timeline"' in page and "motors: a little ahead" in page
    assert "sequence=short.yaml" in page
    data = marsyard.open_results(files / "out")
    assert data.command_outcome.values.tolist() == ["until", "reached", "aborted"]
    assert len(record_sequence(files / "out").sequence) > 1
    assert load_sequence(files / "short.yaml").title == "A short one"


def test_a_wrong_sequence_is_one_sentence(files):
    (files / "short.yaml").write_text("sequence: [{wiat: 3 s}]")
    done = run_here(["run", "plane.yaml", "--sequence", "short.yaml", "-o", "out"], files)
    assert done.returncode == 2
    assert "short.yaml: sequence.0.wiat: unknown key 'wiat'" in " ".join(done.stderr.split())
    assert not (files / "out").exists()
