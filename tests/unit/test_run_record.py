"""What a folder keeps of a run beside its results comes back as it was."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from marsyard.convergence import Convergence, Moved
from marsyard.errors import InputError
from marsyard.run_record import read_record, record_of, write_record, written_quantities

FOUND = Convergence(
    ("half the step",), (Moved("x", "m", 1.0, (1.01, None), 0.05, True),), (None,)
)  # fmt: skip


def test_there_and_back(tmp_path):
    info = {
        "scenario": "a/b", "overrides": ["k=1"], "steps": 100, "wall_time": 0.5,
        "versions": {"numpy": "2"}, "warnings": ("w",), "convergence": FOUND, "stopped": None,
        "laws": [("Law", [("μ", 0.5, ""), ("kind", "dry", "")])], "given": {"run.step": "1 ms"},
        "notes": ("not kept",),
    }  # fmt: skip
    write_record(record_of(info, True, {"mean": "4.5"}), tmp_path)
    record = read_record(tmp_path)
    assert record.shortened and record.post == {"mean": "4.5"}
    back = record.info()
    assert back["convergence"] == FOUND and str(back["convergence"]) == str(FOUND)
    assert back["laws"] == [("Law", [("μ", 0.5, ""), ("kind", "dry", "")])]
    assert back["given"] == {"run.step": "1 ms"} and back["warnings"] == ["w"]
    assert "notes" not in back and "stopped" not in back


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(3), True, None, math.inf, [1, 2]])
def test_whatever_a_law_says_of_itself_is_kept(tmp_path, value):
    """A plug-in must not lose a run at its end."""
    write_record(record_of({"laws": [("Own", [("number", value, None)])]}, False, {}), tmp_path)
    ((title, ((name, kept, _),)),) = read_record(tmp_path).laws
    assert (title, name) == ("Own", "number") and isinstance(kept, float | str)


def test_an_older_run_has_none(tmp_path):
    assert read_record(tmp_path).info()["hard_contact"] is True


@pytest.mark.parametrize("text", ["", "[]", "{", '{"laws": [[1]]}', '{"wall_time": "soon"}'])
def test_a_damaged_one_is_one_sentence(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json") as caught:
        read_record(tmp_path)
    assert "\n" not in str(caught.value)


def test_only_numbers_with_units_are_quantities():
    raw = {"a": "5 cm", "b": ["10 deg", 3, "two m"], "c": "5", "d": {"e": "nan s", "f": "1 ms"}}
    assert written_quantities(raw) == {"a": "5 cm", "b.0": "10 deg", "d.f": "1 ms"}
    json.dumps(written_quantities(raw))
