"""The tutorial is followed from its first command to its last, as it stands on the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import run_here

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([\w.]+\.yaml)`:$", re.MULTILINE)
#: what must be installed or looked at by a person; checks of the scenario that must fail
NOT_HERE = ("marsyard view", "marsyard movie", "pip ", "python3 ", ". ")
FAILS = ("--set interaction.restitution=0.5",)


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


def follow(blocks: list[tuple[str, str]], folder: Path) -> list[str]:
    """Carry out commands and Python; what was printed."""
    said, names = [], {}
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
    return said


@pytest.mark.soak
def test_the_ten_minutes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    said = follow(steps("## 1. A first run", "## 6. The same in Python"), tmp_path)
    assert "rt0448/test-1" in said[0]
    assert (tmp_path / "runs" / "rt0448-test-1" / "report.html").exists()
    row = re.compile(r"^\W*all\W+([\d.]+)\W+([\d.]+)\W+([\d.]+)", re.MULTILINE)
    shown, got = row.search(PAGE.read_text(encoding="utf-8")), row.search(said[-1])
    assert shown and got, said[-1]
    for expected, value in zip(shown.groups(), got.groups(), strict=True):
        assert float(value) == pytest.approx(float(expected), rel=0.02)


@pytest.mark.soak
def test_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    follow(steps("## 6. The same in Python", "Next: the"), tmp_path)


def test_the_page_is_read_as_it_is_written(tmp_path):
    write_files(tmp_path)
    assert "robot:" in (tmp_path / "climb.yaml").read_text(encoding="utf-8")
    blocks = steps("## 1. A first run", "Next: the")
    assert sum(kind == "python" for kind, _ in blocks) >= 3
    assert sum(text.startswith("marsyard run") for _, text in blocks) >= 3
