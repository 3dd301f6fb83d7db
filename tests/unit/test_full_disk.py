"""A disk that gets full: one sentence, and what was computed is kept elsewhere."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

import marsyard
from marsyard.cli import main
from marsyard.errors import InputError
from marsyard.results import open_results


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A folder on a full disk; temporary files have room in `elsewhere` beside it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    write = Path.write_bytes

    def no_room(self, data):
        if elsewhere not in self.parents:
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", no_room)
    return tmp_path / "disk"


def test_a_run_is_kept_elsewhere(full):
    with pytest.raises(InputError, match="no space is left for .*disk/run.*kept in") as caught:
        marsyard.run("rt0448/test-1", duration=0.05, out=full / "run")
    kept = Path(str(caught.value).rsplit("'", 2)[1])
    assert open_results(kept)["time"].values[-1] == pytest.approx(0.05)
    assert (kept / "report.html").exists() and not full.exists()


def test_nowhere_to_keep_it(full, monkeypatch):
    def no_room(self, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", no_room)
    with pytest.raises(InputError, match="nor for temporary files"):
        marsyard.run("rt0448/test-1", duration=0.05, out=full / "run")
    assert not full.exists() and not list((full.parent / "elsewhere").iterdir())


def test_other_commands_say_it(full, monkeypatch, capsys):
    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "map.png")

    monkeypatch.setattr("marsyard.cli.app", no_room)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err == "error: no space is left on the disk for 'map.png'\n"


def test_a_disk_that_may_not_be_written_is_one_sentence(monkeypatch, capsys):
    def refused(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system", "map.png")

    monkeypatch.setattr("marsyard.cli.app", refused)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said == "error: 'map.png' cannot be read or written (Read-only file system)\n"
