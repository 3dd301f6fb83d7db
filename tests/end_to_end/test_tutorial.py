"""The tutorial is followed from its first command to its last, as it stands on the page."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command import run_here

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([\w.]+\.yaml)`:$", re.MULTILINE)
#: what must be installed or looked at by a person; checks of the scenario that must fail
NOT_HERE = ("marsyard view", "marsyard movie", "pip ", "python3 ", ". ")
FAILS = ("--set restitution=0.5", "--set ground.0.soil=lunar_nominal")


def steps(first: str, last: str) -> list[tuple[str, str]]:
    """Kind and text of the blocks between two headings."""
    text = PAGE.read_text(encoding="utf-8")
    return FENCE.findall(text[text.index(first) : text.index(last)])


def write_files(folder: Path) -> None:
    """The files that the page shows, by the names it gives them."""
    text = PAGE.read_text(encoding="utf-8")
    for named in FILE.finditer(text):
        shown = FENCE.search(text, named.end())
        assert shown, named[1]
        (folder / named[1]).write_text(shown[2], encoding="utf-8")


def follow(blocks: list[tuple[str, str]], folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Carry out commands and Python; what was printed, and the names of the last program."""
    said: list[str] = []
    names: dict[str, Any] = {}
    for kind, text in blocks:
        if kind == "python":
            exec(text, names)
        for line in text.splitlines() if kind == "" else ():
            if not line.startswith("marsyard ") or line.startswith(NOT_HERE):
                continue
            done = run_here(shlex.split(line)[1:], folder)
            expected = 1 if any(part in line for part in FAILS) else 0
            assert done.returncode == expected, f"{line}\n{done.stdout}{done.stderr}"
            said.append(done.stdout)
    return said, names


def all_wheels(text: str) -> list[float]:
    """Slip [%], sinkage [mm] and pull [N] in the last row of a table of wheels on soil."""
    row = re.search(r"^\W*all\W+([\d.]+)\W+([\d.]+)\W+([\d.]+)", text, re.MULTILINE)
    assert row, text
    return [float(value) for value in row.groups()]


@pytest.mark.soak
def test_the_ten_minutes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    said, _ = follow(steps("## 1. A first run", "## 6. The same in Python"), tmp_path)
    assert "rt0448/test-1" in said[0]
    assert (tmp_path / "runs" / "rt0448-test-1" / "report.html").exists()
    text = PAGE.read_text(encoding="utf-8")
    assert all_wheels(said[-1]) == pytest.approx(all_wheels(text), rel=0.02)
    pulls = re.search(r"it pulls (\d+) N on Earth", text)
    assert pulls and f"{pulls[1]} N" in "".join(said)


@pytest.mark.soak
def test_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    said, names = follow(steps("## 6. The same in Python", "Next: the"), tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    # another soil: pulls more with less slip, and sinks less
    slip, sinkage, pull = all_wheels(text)
    firmer = next(all_wheels(one) for one in said if re.search(r"^\W*all\W", one, re.MULTILINE))
    assert firmer[0] < slip and firmer[1] < sinkage and firmer[2] > pull
    # one wheel in Python, and the study
    shown = re.search(r"# ([\d.]+) N, ([\d.]+) m", text)
    assert shown
    wheel = names["wheel"]
    assert float(wheel.drawbar_pull) == pytest.approx(float(shown[1]), abs=0.06)
    assert float(wheel.sinkage) == pytest.approx(float(shown[2]), abs=6e-4)
    pulls = re.search(
        r"from (−?[\d.]+) N at zero slip to (−?[\d.]+) N at 20 % and is (−?[\d.]+) N", text
    )
    assert pulls
    with (tmp_path / "runs" / "soil-wheel" / "study.csv").open(encoding="utf-8") as file:
        loose = [row for row in csv.DictReader(file) if float(row["cohesion [Pa]"]) == 0]
    found = {float(row["slip"]): float(row["drawbar pull [N]"]) for row in loose}
    expected = [float(pulls[k].replace("−", "-")) for k in (1, 2, 3)]
    assert [found[slip] for slip in (0, 0.2, 0.8)] == pytest.approx(expected, abs=0.06)


def test_the_page_is_read_as_it_is_written(tmp_path):
    write_files(tmp_path)
    assert "robot:" in (tmp_path / "climb.yaml").read_text(encoding="utf-8")
    blocks = steps("## 1. A first run", "Next: the")
    assert sum(kind == "python" for kind, _ in blocks) >= 3
    assert sum(text.startswith("marsyard run") for _, text in blocks) >= 3
