"""`marsyard run --live` on the command line: a page while it runs, results afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from command import run_here
from fetching import fetch

from marsyard.results import open_results


def _start(folder, *more: str) -> subprocess.Popen:
    command = [
        sys.executable, "-m", "marsyard", "run", "rt0448/test-3", "--live", "--port", "0",
        "--out", str(folder), *more,
    ]  # fmt: skip
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


def _line(process: subprocess.Popen, start: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            return line
    raise AssertionError(f"'{start}' was never said")


def test_ctrl_c_keeps_what_was_recorded(tmp_path):
    process = _start(tmp_path / "run", "-s", "run.duration=1000 s")
    try:
        url = re.search(r"http://\S+", _line(process, "live view: ")).group()
        assert b"<html" in fetch(url).lower()
        _line(process, "running")
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        said = _line(process, "stopped by the user at t = ")
        end = float(re.search(r"t = ([\d.]+) s", said).group(1))
        # the page is there still, with the replay
        again = _line(process, "replay: http")
        assert url in again
        assert b"<html" in fetch(url).lower()
        process.send_signal(signal.SIGINT)
        # the run did not reach its end
        assert process.wait(timeout=60) == 1
    finally:
        process.kill()
        process.wait()
    ds = open_results(tmp_path / "run")
    assert 0 < end < 20 and float(ds.time[-1]) == pytest.approx(end, abs=1e-3)
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--speed", "fast"], "--speed: 'fast' is not a number"),
        (["--token", "short"], "--token: must be 8 to 128"),
        (["--port", "70000"], "port 70000 is not between"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, arguments, said):
    result = run_here(["run", "rt0448/test-1", "--live", "--out", "x", *arguments], tmp_path)
    assert result.returncode == 2 and said in result.stderr
    assert not (tmp_path / "x").exists()


def test_a_study_is_not_shown(tmp_path):
    result = run_here(["run", "control/slip", "--live", "--port", "0", "--out", "x"], tmp_path)
    assert result.returncode == 2 and "--no-study" in result.stderr
