"""Every example runs to its end."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
#: examples that take longest
LONG = ("drive_a_sequence", "follow_a_path", "learn_to_climb_out", "own_modules", "own_terrain")
RUNS = [
    pytest.param(path, marks=pytest.mark.soak) if path.stem in LONG else path for path in EXAMPLES
]


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("example", RUNS, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    # in this process: the heavy imports are paid once
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_what_it_does(example):
    text = example.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert "def main() -> None:" in text
