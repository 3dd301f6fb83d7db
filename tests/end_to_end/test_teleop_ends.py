"""`marsyard teleop` ended by signals, early and late: no lock and no process is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
ARGUMENTS = ("teleop", "--no-browser", "--port", "0", "--delay", "0.4s", "--truth", "same")


@pytest.fixture
def begin(tmp_path):
    """Begins a session in `tmp_path`/out."""
    started = []

    def begin() -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-m", "marsyard", *ARGUMENTS, "-o", str(tmp_path / "out"),
             "control/goal"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ,
        )  # fmt: skip
        started.append(made)
        return made

    yield begin
    for made in started:
        if made.poll() is None:
            os.killpg(made.pid, signal.SIGKILL)
        made.communicate()


def is_alive(session: int) -> bool:
    """Whether a process of a session of processes is left."""
    try:
        os.killpg(session, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_the_end_of(made, seconds: float = 120.0) -> str:
    _, errors = made.communicate(timeout=seconds)
    end = time.monotonic() + 20.0
    while is_alive(made.pid):
        assert time.monotonic() < end, "a process is left"
        time.sleep(0.05)
    return errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_it_drives_leaves_a_report_and_no_lock(begin, tmp_path, number):
    if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("ignored where the tests were started (nohup), and so by what is tested")
    made = begin()
    for line in made.stdout:
        if re.search(r"http://\S+", line):
            break
    folder = tmp_path / "out"
    end = time.monotonic() + 120.0
    while not (folder / "telemetry.jsonl").exists():
        assert time.monotonic() < end and made.poll() is None
        time.sleep(0.1)
    assert (folder / "session.lock").exists()
    # all of its processes, as systemd or a closed terminal do it
    os.killpg(made.pid, number)
    errors = wait_for_the_end_of(made)
    assert made.returncode == 0 and "Traceback" not in errors, errors
    assert (folder / "report.html").exists() and (folder / "truth" / "report.html").exists()
    assert not (folder / "session.lock").exists()


@pytest.mark.parametrize("after", [0.0, 1.0, 2.0])
def test_a_signal_while_both_worlds_are_built_ends_it_soon(begin, tmp_path, after):
    made = begin()
    assert "building both worlds" in made.stdout.readline()
    time.sleep(after)
    os.killpg(made.pid, signal.SIGTERM)
    errors = wait_for_the_end_of(made)
    assert made.returncode == 0 and "Traceback" not in errors, errors
    assert not list(Path(tmp_path).rglob("session.lock"))
