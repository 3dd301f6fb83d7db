"""The page about control runs from top to bottom, and its public names exist."""

from __future__ import annotations

import re
from pathlib import Path

import marsyard.control as control

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "control.md"


def test_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 7
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert abs(names["odometry"].position[0] - 0.5 * 0.1425) < 1e-9
    assert names["stand"].converged and all(s.converged for s in names["stands"])
    assert abs(names["torques"].sum() - 60) < 1e-9
    assert names["driver"].follower.path.length > 18


def test_every_public_name_loads_and_has_a_docstring():
    for name in control.__all__:
        assert getattr(control, name).__doc__, name
    assert sorted(control.__all__) == list(control.__all__)
