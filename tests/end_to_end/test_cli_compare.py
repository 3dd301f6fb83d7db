"""`marsyard compare` as a user meets it: runs, studies and wheels side by side."""

from __future__ import annotations

import csv
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from command import run_here
from test_cli import ROBOT, assert_one_sentence, everything_in

import marsyard as package
from marsyard.comparison.runs import _Task

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "wheel-tests"

#: a ball thrown up with v and pulled down by g is at 2 + v T − g T²/2 after T = 0.5 s
FALL = """
robot: {name: robot.xml, position: [0, 0, 2]}
gravity: 2
run: {duration: 0.5, record_period: 0.01}
report:
  figures: [{title: Fall, panels: [[position_base.z], [velocity_base.z]]}]
  checks:
    - {name: height, of: position_base.z, take: final, expected: 1.75, tolerance: 0.001, unit: m}
study:
  vary: gravity
  values: [2, 4]
  also: {robot.velocity.2: [0, 5]}
  outputs: [{name: height, of: position_base.z, take: final, unit: cm}]
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "robot.xml").write_text(ROBOT)
    (tmp_path / "fall.yaml").write_text(FALL)
    return tmp_path


def height(velocity, gravity):
    return 2 + 0.5 * velocity - gravity / 8


def test_settings_side_by_side(folder):
    command = ["compare", "fall.yaml", "--no-study", "-q", "--laws", "as_is"]
    command += ["-v", "thrown: robot.velocity=[0.2, 0, 1], gravity=8"]
    done = run_here(command, folder)
    # a check that fails under one of them is part of the comparison
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1" in done.stdout and "0 of 1" in done.stdout and done.stderr == ""
    out = folder / "runs" / "compare-fall"
    assert {p.name for p in out.iterdir()} == {
        "compare.csv", "compare.nc", "figures", "inputs", "laws", "report.html", "scenario.yaml",
    }  # fmt: skip
    assert [p.name for p in sorted((out / "figures").iterdir())] == ["01-fall.png", "02-path.png"]
    ds = xr.load_dataset(out / "compare.nc", engine="h5netcdf")
    last = ds.position_base.sel(axis="z").isel(time=-1)
    for law, v, g in (("as_is", 0, 2), ("thrown", 1, 8)):
        assert float(last.sel(law=law)) == pytest.approx(height(v, g), abs=1e-9)
        # what lies side by side is what each run recorded
        own = package.open_results(out / "laws" / law)
        assert np.array_equal(ds.position_base.sel(law=law).values, own.position_base.values)
    with (out / "compare.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["law"] for r in rows] == ["as_is", "thrown"]
    assert float(rows[1]["distance [m]"]) == pytest.approx(0.1, abs=1e-9)
    apart = math.hypot(0.1, height(1, 8) - height(0, 2))
    assert float(rows[1]["end position relative to the first [m]"]) == pytest.approx(
        apart, abs=1e-9
    )
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'href="laws/thrown/report.html"' in page and "2 laws: ends up to" in page
    assert page.count("data:image/png") == 2


def test_what_a_process_gives_back_can_be_passed_on(folder):
    scenario = package.load_scenario(folder / "fall.yaml", {"study": None})
    done = pickle.loads(pickle.dumps(_Task("fall", scenario, {}, None))).work(lambda t: None)
    back = pickle.loads(pickle.dumps(done))
    assert back.simulated == 0.5 and [c.ok for c in back.run.checks] == [True]
    xr.testing.assert_identical(back.run.data, done.run.data)


def test_a_study_under_each_law(folder):
    command = ["compare", "fall.yaml", "-q", "-v", "at rest: robot.velocity=[0, 0, 0]"]
    command += ["-v", "thrown: robot.velocity=[0, 0, 1]", "-s", "study.keep=none", "-o", "out"]
    done = run_here(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "second axis (robot.velocity.2) is ignored" in done.stdout
    ds = xr.load_dataset(folder / "out" / "compare.nc", engine="h5netcdf")
    for law, v in (("at rest", 0), ("thrown", 1)):
        for g in (2.0, 4.0):
            found = float(ds.height.sel(law=law, gravity=g))
            assert found == pytest.approx(100 * height(v, g), abs=1e-6)
    assert (folder / "out" / "laws" / "thrown" / "study.csv").exists()
    with (folder / "out" / "compare.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_laws_of_soil_are_the_runs_they_stand_for():
    settings = {"run.duration": 0.5, "ground.0.spacing": 0.02}
    both = package.compare("wheel/pull", "scm,nonsmooth,as_is", settings=settings, study=False)
    alone = package.run("wheel/pull", settings={**settings, "interaction.wheel": None}, study=False)
    again = package.run("wheel/pull", settings=settings, study=False)
    for law, run in (("scm", alone), ("as_is", again)):
        for name in ("drawbar_pull", "sinkage", "slip_ratio", "position_base", "motor_torque"):
            found = both.data[name].sel(law=law).values
            assert np.array_equal(found, run.data[name].values, equal_nan=True), (law, name)
    # there is no sinkage in rigid ground, and nothing replaces it
    assert np.isnan(both.data.sinkage.sel(law="nonsmooth")).all()
    assert "sinkage" not in both.summary["nonsmooth"] and both.summary["scm"]["sinkage"] > 0
    assert both["nonsmooth"].scenario.ground[0].kind == "plane" and both.ok


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["fall.yaml", "--laws", "dign"], "did you mean 'ding'"),
        (["fall.yaml", "--laws", "as_is,ding"], "ding: the law needs ground of kind terrain"),
        (["fall.yaml", "-v", "a: gravty=3"], "a: unknown setting 'gravty'; did you mean 'gravity'"),
        (["fall.yaml"], "nothing to compare"),
        (["fal.yaml", "--laws", "as_is"], "no such file"),
        (["exomrs", "--laws", "ding"], "did you mean 'exomars'"),
        (["fall.yaml", "--laws", "as_is", "--soil", "dry_sand"], "applies to wheels"),
        (["fall.yaml", "--laws", "as_is", "-o", "."], "holds other files"),
        (["wheel/pull", "--laws", "as_is,nonsmooth"], "nonsmooth: the study's output 'drawbar"),
        (["eldorado2/slope", "--laws", "nonsmooth"], "which this law does not have"),
        (["eldorado2/tow", "--laws", "ding,magic_formula", "--no-study"],
         "coefficient 'nominal_load' is missing; give it with --set interaction.wheel.coeff"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence_and_leaves_nothing(folder, command, says):
    before = everything_in(folder)
    assert_one_sentence(run_here(["compare", *command, "-q"], folder), says)
    assert everything_in(folder) == before


# --- wheels


def test_a_wheel_as_json_writes_nothing(tmp_path):
    command = ["compare", "exomars", "--laws", "ding", "--soil", "dry_sand", "--json"]
    done = run_here([*command, "--gravity", "mars"], tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["laws"]["ding"]["exit"] == "rebound:0.333"
    assert len(found["laws"]["ding"]["curves"]["drawbar_pull"][0]) == len(found["slip"])
    assert everything_in(tmp_path) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data beside this checkout")
def test_the_reference_files_as_they_are(tmp_path):
    command = ["compare", SHARED / "ding2011_single_wheel.csv", "--laws", "ding,ishigami", "--soil"]
    command += ["hit_lss1", "--exit", "angle:0", "-s", "coefficients.peak_0=0.43"]
    done = run_here([*command, "-s", "coefficients.peak_1=0.32", "-o", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "angle:0" in done.stdout and "rms drawbar pull" in done.stdout
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {"compare.csv", "compare.nc", "figures", "report.html"}
    with (SHARED / "ding2011_single_wheel.csv").open(encoding="utf-8") as file:
        given = [float(r["meas_drawbar_pull_n"]) for r in csv.DictReader(file)]
    with (tmp_path / "out" / "compare.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["pull_measured"]) for r in rows] == given
    off = [float(r["pull_ding"]) - float(r["pull_measured"]) for r in rows]
    rms = np.sqrt(np.mean(np.square(off)))
    assert f"{rms:.3g}" in done.stdout


def test_a_study_of_a_drive_under_two_laws():
    # its outputs are recorded from the drive's first period on only
    short = {"run.duration": 0.4, "run.step": "4 ms", "study.values": ["0 deg", "8 deg"]}
    found = package.compare("control/path", "ding,scm", settings=short)
    assert found.ok and found.is_study
    assert np.isfinite(found.data["distance_at_the_end"].values).all()
