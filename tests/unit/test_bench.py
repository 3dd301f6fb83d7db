"""`marsyard bench`: which there are, and rows in which nothing was measured or judged."""

import json
import sys

import pytest
from typer.testing import CliRunner

from marsyard.cli import app

FILES = {
    "wheels.py": '''"""Cost of a wheel.

        More about it."""
def run():
    row = {"unit": "×", "bar": "≥ 1", "note": "so"}
    return [row | {"name": "fast", "value": 1.25, "ok": True},
            row | {"name": "other is not installed", "value": None, "ok": None}]
''',
    "_helper.py": '"""Not a benchmark."""',
}


@pytest.fixture
def call(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys.modules["marsyard.cli.bench"], "_folder", lambda: tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["bench", *arguments])


def test_list_says_what_each_is_about(call):
    assert call("--list").output == "wheels  Cost of a wheel.\n"


def test_rows_without_a_value(call):
    shown = call()
    assert shown.exit_code == 0, shown.output
    cells = [line.split("│") for line in shown.stdout.splitlines() if "≥ 1" in line]
    assert [(c[2].strip(), c[5].strip()) for c in cells] == [("1.25", "yes"), ("–", "–")]
    rows = json.loads(call("--json").stdout)
    assert [(r["benchmark"], r["value"], r["ok"]) for r in rows] == [
        ("wheels", 1.25, True), ("wheels", None, None),
    ]  # fmt: skip
