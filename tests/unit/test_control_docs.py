"""The pages about control run from top to bottom, and their public names exist."""

from __future__ import annotations

import re
from pathlib import Path

import marsyard.control as control

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def run(page: str, count: int) -> dict:
    text = (PAGES / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == count
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def test_the_page_about_drives_runs(capsys):
    sim = run("drive.md", 1)["sim"]
    assert capsys.readouterr().out.count("driving") == 20
    assert abs(sim.drive.log[-1].offset) < 0.03


def test_the_page_about_sequences_runs(capsys):
    names = run("sequence.md", 1)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("0 motors") and said[0].endswith("until")
    assert said[1].startswith("1 wait") and said[1].endswith("reached")
    assert len(names["again"].sequence) > 5


def test_the_page_runs():
    names = run("control.md", 7)
    assert abs(names["odometry"].position[0] - 0.5 * 0.1425) < 1e-9
    assert names["stand"].converged and all(s.converged for s in names["stands"])
    assert abs(names["torques"].sum() - 60) < 1e-9
    assert names["driver"].follower.path.length > 18


def test_every_public_name_loads_and_has_a_docstring():
    for name in control.__all__:
        assert getattr(control, name).__doc__, name
    assert sorted(control.__all__) == list(control.__all__)


def test_the_page_about_gaits_runs(capsys):
    names = run("gaits.md", 2)
    assert "least margin" in capsys.readouterr().out
    # the carriage has risen and sunk with the lift
    assert abs(names["sim"].time - 2.0) < 1e-9
