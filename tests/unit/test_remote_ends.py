"""The end of a rover's process: how long it is waited for, and what is left of it."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace

from marsyard.operations.teleop import remote as of
from marsyard.operations.teleop.remote import ProcessRemote
from marsyard.operations.teleop.teleoperation import Teleoperation


class Process:
    """A process that lives until it is killed."""

    def __init__(self):
        self.killed = False

    def join(self, timeout):
        pass

    def is_alive(self):
        return not self.killed

    def kill(self):
        self.killed = True


def running(folder, says) -> ProcessRemote:
    """A remote whose pipe brings what `says` gives for the seconds since it was asked to end."""
    made = ProcessRemote.__new__(ProcessRemote)
    made.truth = SimpleNamespace(folder=folder)
    made.state, made.reason, made.folder = "running", "", None
    made._process, made._pipe = Process(), SimpleNamespace(close=lambda: None)
    began = time.monotonic()
    made._tell = lambda message: None

    def hear(timeout):
        time.sleep(0.01)
        for name, value in says(time.monotonic() - began).items():
            setattr(made, name, value)

    made._hear = hear
    return made


def test_a_rover_that_saves_is_given_longer_than_one_that_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(of, "PATIENCE", 0.1)

    def says(t):
        done = {"state": "ended", "folder": tmp_path / "truth"}
        return {"reason": "saving"} if t < 0.4 else done

    assert running(tmp_path, says).close() == tmp_path / "truth"


def test_a_rover_that_does_not_end_is_killed_and_that_is_told(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, logger="marsyard.teleop")
    monkeypatch.setattr(of, "PATIENCE", 0.1)
    (tmp_path / ".truth-half").mkdir()
    (tmp_path / "truth.jsonl").write_text("{}\n")
    silent = running(tmp_path, lambda t: {})
    assert silent.close() is None and silent._process.killed
    assert "not saved" in caplog.text
    assert [p.name for p in tmp_path.iterdir()] == ["truth.jsonl"]


def told(**fields) -> list[str]:
    """What a session says of its own side."""
    session = SimpleNamespace(
        remote=SimpleNamespace(behind=0.0), _lines=SimpleNamespace(trouble=""),
        _trouble={"tick": "", "think": ""}, _prediction=SimpleNamespace(anchor=100.0),
        _last=SimpleNamespace(time=101.0), predict=True, behind=lambda now: 30.0,
        predictor=SimpleNamespace(world=SimpleNamespace(stopped="")), _replay=(0.0, 0.0),
    )  # fmt: skip
    vars(session).update(fields)
    session._why_behind = lambda: Teleoperation._why_behind(session)
    return Teleoperation._troubles(session, 0.0, fields.get("state", "running"), "killed")


def test_why_a_prediction_is_behind():
    assert told() == ["The prediction is 30.0 s behind: this machine is too slow for it."]
    replay = (time.monotonic() - 20.0, 374.0)
    assert "374 s are being recomputed from newer telemetry" in told(_replay=replay)[0]
    # one that takes longer than what it drives is not the reason
    assert "too slow" in told(_replay=(time.monotonic() - 400.0, 374.0))[0]
    slow = told(remote=SimpleNamespace(behind=12.0), behind=lambda now: 0.0)
    assert slow == ["The rover's simulation is 12 s behind: this machine is too slow."]
    # of a rover that is gone nothing else needs to be said
    assert told(state="gone") == ["The rover's simulation is gone: killed."]
