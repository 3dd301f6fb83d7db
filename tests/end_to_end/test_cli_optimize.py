"""`marsyard optimize` as a user runs it: kill and go on, exit codes, what is written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from marsyard.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples" / "optimize"
STUDY = {
    "scenario": "vehicle2001/slope",
    "set": {"run.duration": 0.3},
    "vary": {"robot.design.mass": ["10 kg", "16 kg"], "friction": [0.2, 0.8]},
    "outputs": [
        {"name": "work", "of": "energy_motors"},
        {"name": "way", "of": "position_base.x", "take": "range"},
    ],
    "objectives": [{"minimise": "work"}, {"maximise": "way"}],
    "optimiser": {"population": 4, "evaluations": 16},
    "seed": 3,
}


def written(tmp_path, **changes):
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump({**STUDY, **changes}))
    return file


@pytest.mark.parametrize("name", [p.name for p in sorted(EXAMPLES.glob("*.yaml"))])
def test_examples_are_ready_to_run(name):
    result = CliRunner().invoke(app, ["optimize", str(EXAMPLES / name), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "candidates in generations of" in result.output
    assert "minimise" in result.output


def test_no_feasible_candidate_is_said_with_what_stands_against_it(tmp_path):
    limits = [{"output": "way", "at_least": 5}]
    small = {"population": 2, "evaluations": 4}
    study = written(tmp_path, constraints=limits, optimiser=small)
    result = CliRunner().invoke(
        app, ["optimize", str(study), "--out", str(tmp_path / "r"), "--jobs", "1", "--quiet"]
    )
    assert result.exit_code == 1
    assert "no candidate is feasible" in result.output
    assert "4 × way is below its limit" in result.output
    assert re.search(
        r"the nearest is candidate \d \(.*mass = .*\): way is \S+ m, not at least 5", result.output
    )
    assert "No candidate is feasible" in (tmp_path / "r" / "report.html").read_text()


def command(study, out, *more):
    return [sys.executable, "-m", "marsyard", "optimize", str(study), "--out", str(out), *more]


@pytest.mark.soak
def test_killed_and_gone_on_with_it_gives_the_same_bits(tmp_path):
    study = written(tmp_path)
    whole = subprocess.run(
        command(study, tmp_path / "whole", "-j", "2"), capture_output=True, text=True
    )
    assert whole.returncode == 0, whole.stderr
    process = subprocess.Popen(
        command(study, tmp_path / "cut", "-j", "1"), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    log = tmp_path / "cut" / "finished.log"
    deadline = time.monotonic() + 300
    while not log.exists() or log.read_bytes().count(b"\n") < 7:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = log.read_bytes().count(b"\n") - 1
    assert kept < 16
    again = subprocess.run(
        command(study, tmp_path / "cut", "-j", "2", "--resume"), capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    # candidates that come up twice are run once
    total = int(re.search(r"(\d+) runs in", whole.stdout)[1])
    assert f"{total - kept} runs in" in again.stdout
    a, b = (xr.load_dataset(tmp_path / n / "optimize.nc") for n in ("whole", "cut"))
    assert a.identical(b)
    for file in sorted((tmp_path / "whole" / "best").rglob("*.*")):
        other = tmp_path / "cut" / "best" / file.relative_to(tmp_path / "whole" / "best")
        assert file.read_bytes() == other.read_bytes()
