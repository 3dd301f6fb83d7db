"""`marsyard analyze mobility` as a user meets it: tables, figures, JSON, errors in one sentence."""

from __future__ import annotations

import json

import pytest
from command import run_here

from marsyard.ground.typical import StandsIn

FIGURES = {"pull.png", "resistances.png", "limits.png", "report.json"}


def marsyard(*arguments, cwd):
    return run_here(["analyze", "mobility", *arguments], cwd)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_tables_and_figures(tmp_path):
    done = marsyard("exomars", "--soil", "lunar_nominal,dry_sand", "--slope", "10deg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "exit rebound:0.333333;" in done.stdout
    assert "weight 1153 N at 3.72 m/s²" in done.stdout
    assert "[kPa]" in done.stdout
    assert "dry_sand, FL FR" in done.stdout
    assert "evaluated in" in done.stdout
    folder = tmp_path / "runs" / "mobility-exomars"
    assert {p.name for p in folder.iterdir()} == FIGURES | {"loads.png"}
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    first = data["rovers"][0]["soils"][0]
    assert first["soil"] == "lunar_nominal"
    assert 0.15 < first["slope_limit"] < 0.8
    assert data["units"]["slope_limit"] == "rad"


def test_a_narrow_terminal_loses_no_number(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = marsyard("exomars,curiosity_like", "--soil", "mars_sand_zhou2023", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "curiosity_like, mars_sand_zhou2023 " in done.stdout
    assert "…" not in done.stdout


def test_several_rovers_as_json_write_nothing(tmp_path):
    done = marsyard(
        "exomars,exomars_rt0448", "--soil", "dry_sand", "--exit", "height:0.2", "--gravity",
        "earth", "--model", "ding", "--rolling", "0.02", "--deflection", "0.1", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert [r["rover"] for r in data["rovers"]] == ["exomars", "exomars_rt0448"]
    assert data["settings"]["gravity"] == 9.81
    assert data["settings"]["exit"] == {"rule": "height", "value": 0.2}
    assert all(r["soils"][0]["rowland"] > 0 for r in data["rovers"])
    assert list(tmp_path.iterdir()) == []


def test_several_rovers_are_compared(tmp_path):
    done = marsyard(
        "exomars", "exomars_rt0448", "--soil", "dry_sand", "--exit", "height:1", "--out", "here",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "comparison" in done.stdout
    assert {p.name for p in (tmp_path / "here").iterdir()} == FIGURES | {"comparison.png"}


def test_a_number_that_a_soil_lacks_is_asked_for_as_this_command_takes_it(tmp_path):
    (tmp_path / "own.yaml").write_text(
        "numbers: {exponent: 1, k_c: 0, k_phi: 1e6, cohesion: 100, friction_angle: 0.6}"
    )
    done = marsyard("yutu2", "--soil", "own.yaml", "--gravity", "moon", cwd=tmp_path)
    assert done.returncode == 2
    assert "give it with --soil own:shear_modulus=…" in done.stderr
    given = "own.yaml:shear_modulus=1.8cm"
    done = marsyard("yutu2", "--soil", given, "--gravity", "moon", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_stands_in_is_said_once(tmp_path):
    with pytest.warns(StandsIn) as caught:
        done = marsyard("yutu2", "--soil", "snow_us", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (said,) = [str(w.message) for w in caught if w.category is StandsIn]
    assert said.count("shear_modulus = 0.0375 m") == 1
    assert said.count("density = 300 kg/m³") == 1


def test_a_number_of_a_soil_can_be_given(tmp_path):
    soils = "dry_sand,dry_sand:density=1500 kg/m³:shear_modulus=3cm"
    done = marsyard("exomars", "--soil", soils, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plain, own = json.loads(done.stdout)["rovers"][0]["soils"]
    assert own["soil"].endswith("shear_modulus=3cm")
    assert own["pull_20"] < plain["pull_20"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["exomers", "--soil", "dry_sand"], "unknown rover 'exomers'; did you mean 'exomars'"),
        (["exomars", "--soil", "dry_sond"], "unknown soil 'dry_sond'; did you mean 'dry_sand'"),
        (
            ["exomars", "--soil", "dry_sand,"],
            "--soil: 'dry_sand,' must be names separated by commas",
        ),
        (["exomars", "--soil", "dry_sand:K"], "--soil: 'K' in 'dry_sand:K' must be a number"),
        (["exomars", "--soil", "dry_sand:K=1"], "soil dry_sand: unknown number 'K'"),
        (["exomars,exomars", "--soil", "rock"], "ROVER: 'exomars' appears twice"),
        (["exomars", "--soil", "dry_sand", "--slope", "10kg"], "--slope: 'kg' in '10kg' is a unit"),
        (["exomars", "--soil", "dry_sand", "--gravity", "venus"], "--gravity: unknown world"),
        (["exomars", "--soil", "dry_sand", "--exit", "height"], "--exit: 'height' must be a rule"),
        (["exomars", "--soil", "dry_sand", "--exit", "depth:1"], "--exit: wheel: exit rule"),
        (["exomars", "--soil", "dry_sand", "--exit", "angle:x"], "--exit: 'x' in 'angle:x'"),
        (["exomars", "--soil", "dry_sand", "--coefficients", "a"], "--coefficients: 'a' must be"),
        (["exomars", "--soil", "dry_sand", "--coefficients", "peak=1"], "unknown coefficient"),
        (["exomars", "--soil", "dry_sand", "--model", "bekker"], "unknown wheel model 'bekker'"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, said, tmp_path):
    done = marsyard(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_foreign_folder_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    done = marsyard("exomars", "--soil", "dry_sand", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds other files" in done.stderr
