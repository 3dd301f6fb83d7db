"""The folder of a session: whose it is, what an earlier one left, and a disk that is full."""

from __future__ import annotations

import json
import logging

import pytest

from marsyard.errors import InputError
from marsyard.operations.teleop.records import Lines, check_folder
from marsyard.operations.teleop.remote import _Log


def test_one_session_at_a_time_writes_into_a_folder(tmp_path):
    first = Lines(tmp_path / "s")
    with pytest.raises(InputError, match="another session writes into"):
        Lines(tmp_path / "s")
    first.close()
    Lines(tmp_path / "s").close()


def test_what_an_earlier_session_left_is_kept(tmp_path):
    for k in range(3):
        lines = Lines(tmp_path)
        lines.write("orders", number=k)
        lines.close()
    here = {p.parent.name: json.loads(p.read_text()) for p in tmp_path.rglob("orders.jsonl")}
    assert here == {tmp_path.name: {"number": 2}, "earlier-1": {"number": 0},
                    "earlier-2": {"number": 1}}  # fmt: skip
    assert not (tmp_path / "session.lock").exists()


def test_folders_of_others_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        check_folder(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_folder(tmp_path / "thesis.tex")
    with pytest.raises(InputError, match="cannot be written"):
        Lines(tmp_path / "thesis.tex" / "s")
    check_folder(tmp_path / "new")


class _Full:
    """A file on a disk without space."""

    def write(self, text):
        raise OSError(28, "No space left on device")

    def close(self):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_and_ends_nothing(tmp_path, caplog):
    lines = Lines(tmp_path)
    lines.write("orders", number=1)
    lines._files["orders"].close()
    lines._files["orders"] = _Full()
    with caplog.at_level(logging.WARNING):
        lines.write("orders", number=2)
    assert lines.trouble.startswith("The session is not recorded (No space left on device): 1 ")
    assert "No space left" in caplog.text
    lines.write("orders", number=3)  # there is room again
    lines.close()
    kept = [json.loads(line)["number"] for line in (tmp_path / "orders.jsonl").open()]
    assert kept == [1, 3] and lines.lost == 1


def test_a_rover_without_space_for_its_log_drives_on(tmp_path):
    class World:
        told, time = 1, 0.5
        vehicle = type("V", (), {"order": 0, "simulation": type("S", (), {"qpos": [0.0]})})
        protocol = type("P", (), {"mode": "nominal"})

    log = _Log(tmp_path)
    log._file.close()
    log._file = _Full()
    log.write(World)
    assert log._file is None
    World.told = 2
    log.write(World)
    log.close()


def test_the_run_folder_of_a_vehicle_is_written_without_a_word(tmp_path, recwarn):
    from marsyard.operations.teleop.records import save_run
    from marsyard.operations.teleop.vehicle import Vehicle
    from marsyard.scenario import load_scenario

    vehicle = Vehicle(load_scenario("teleop/slalom"))
    for _ in range(5):
        vehicle.step()
    folder = save_run(vehicle, tmp_path / "truth")
    assert (folder / "results.nc").exists() and (folder / "report.html").exists()
    assert not [w for w in recwarn if "figure" in str(w.message)]
