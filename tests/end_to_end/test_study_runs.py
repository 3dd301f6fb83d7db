"""Studies as a user meets them: a scenario that stands for a family of runs."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import pytest
import xarray as xr
from command import run_aside, run_here
from test_cli import ROBOT, assert_one_sentence, everything_in

import marsyard as package

EXAMPLE = Path(__file__).parents[2] / "examples" / "slide_study.yaml"

#: a ball in free fall: after T = 0.5 s it is at 2 − g T²/2, above 1.5 m only for g < 4 m/s²
FALL = """
robot: {name: robot.xml, position: [0, 0, 2]}
parameters: {growth: 0}
control: [{joints: arm, torque: "exp(growth*t) - 1"}]
gravity: 1
run: {duration: 0.5, record_period: 0.01}
report: {figures: [{title: Speed, panels: [[velocity_base.z]]}]}
study:
  vary: gravity
  values: [2, 3, 5.5, 6]
  outputs:
    - {name: height, of: position_base.z, take: final, unit: cm}
    - {name: fall, of: velocity_base.z, take: slope}
  bisect: {output: height, below: 150, tolerance: 0.01}
  checks:
    - {name: boundary, take: boundary, expected: 4, tolerance: 0.01, source: "2 (2 − 1.5)/T²"}
    - {name: height for g = 3, output: height, at: 3, expected: 162.5, tolerance: 0.001}
"""


def written(folder, text=FALL):
    (folder / "robot.xml").write_text(ROBOT)
    (folder / "fall.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = written(tmp_path_factory.mktemp("study"))
    return run_here(["run", "fall.yaml", "--out", "out"], folder), folder


def test_a_study_finds_the_closed_form(finished):
    done, folder = finished
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"gravity 3\.99\d* m/s² succeeds, 4\.0\d* m/s² fails", done.stdout)
    assert "gravity = 3 m/s²: height 162.5 cm" in done.stderr
    names = {p.name for p in (folder / "out").iterdir()}
    assert names == {
        "study.nc",
        "study.csv",
        "scenario.yaml",
        "inputs",
        "figures",
        "report.html",
        "members",
    }
    with xr.open_dataset(folder / "out" / "study.nc", engine="h5netcdf") as ds:
        for g in (2.0, 3.0, 5.5, 6.0):
            here = ds.sel(gravity=g)
            assert float(here.height) == pytest.approx(200 - 12.5 * g, abs=1e-6)
            assert float(here.fall) == pytest.approx(-g, abs=1e-6)
        assert ds.height.attrs["units"] == "cm" and ds.fall.attrs["units"] == "m/s²"
        assert float(ds.boundary_success) <= 4 <= float(ds.boundary_failure)
    with (folder / "out" / "study.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        g = float(row["gravity [m/s²]"])
        assert float(row["height [cm]"]) == pytest.approx(200 - 12.5 * g, abs=1e-6)
    assert [r["part of"] for r in rows].count("values") == 4


def test_the_last_member_is_an_ordinary_run(finished):
    folder = finished[1] / "out"
    assert everything_in(folder / "members")[0] == "04-gravity-6-m-s"
    member = package.open_results(folder / "members" / "04-gravity-6-m-s")
    assert float(member.position_base[-1, 2]) == pytest.approx(2 - 6 / 8, abs=1e-9)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "members/04-gravity-6-m-s/report.html" in page
    with pytest.raises(package.InputError, match=r"folder of a study.*04-gravity-6"):
        package.open_results(folder)


@pytest.mark.soak
def test_the_number_of_processes_changes_nothing(finished):
    done, folder = finished
    again = run_aside(["run", "fall.yaml", "--out", "two", "--jobs", "2", "-q"], folder)
    assert again.returncode == 0, again.stderr
    assert again.stderr == ""
    for name in ("study.nc", "study.csv", "members/04-gravity-6-m-s/results.nc"):
        one, two = (folder / out / name for out in ("out", "two"))
        if name.endswith("csv"):
            assert one.read_bytes() == two.read_bytes()
        else:
            a, b = (xr.load_dataset(p, engine="h5netcdf") for p in (one, two))
            for each in (a, b):
                each.attrs = {}
            xr.testing.assert_identical(a, b)


def test_no_study_runs_the_scenario_alone(finished):
    folder = finished[1]
    done = run_here(["run", "fall.yaml", "--out", "alone", "--no-study", "-q"], folder)
    assert done.returncode == 0, done.stderr
    data = package.open_results(folder / "alone")
    assert float(data.position_base[-1, 2]) == pytest.approx(2 - 1 / 8, abs=1e-9)
    # a study into the folder of a run replaces it whole
    done = run_here(["run", "fall.yaml", "--out", "alone", "-q", "-s", "study.keep=none"], folder)
    assert done.returncode == 0, done.stderr
    names = {p.name for p in (folder / "alone").iterdir()}
    assert names == {"study.nc", "study.csv", "scenario.yaml", "inputs", "figures", "report.html"}


def test_a_member_that_diverges_is_recorded(tmp_path):
    text = FALL.replace("vary: gravity\n  values: [2, 3, 5.5, 6]", "vary: parameters.growth\n"
                        "  values: [0, 1, 5000]")  # fmt: skip
    text = re.sub(r"  bisect:.*", "", text, flags=re.DOTALL)
    written(tmp_path, text + "\n  keep: all\n")
    done = run_here(["run", "fall.yaml", "--out", "out"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 runs diverged and were stopped" in done.stdout
    ds = xr.load_dataset(tmp_path / "out" / "study.nc", engine="h5netcdf")
    assert ds.completed.values.tolist() == [1, 1, 0]
    assert "stopped at t = " in str(ds.stopped.values[2])
    assert math.isnan(float(ds.height[2]))
    assert float(ds.height[0]) == pytest.approx(187.5, abs=1e-6)
    assert len(list((tmp_path / "out" / "members").iterdir())) == 3
    assert "1 run of 3 diverged" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_from_python(tmp_path):
    written(tmp_path)
    result = package.run(tmp_path / "fall.yaml", settings={"study.values": [3, 5]})
    assert result.ok and result.folder is None
    assert result.study.height.sel(gravity=5).item() == pytest.approx(137.5, abs=1e-6)
    assert result.boundaries[0].success <= 4 <= result.boundaries[0].failure
    alone = package.run(tmp_path / "fall.yaml", study=False, gravity=4)
    assert alone.study is None
    assert float(alone.data.position_base[-1, 2]) == pytest.approx(1.5, abs=1e-9)
    # a parameter goes by its own name
    grown = package.run(tmp_path / "fall.yaml", study=False, growth=2.0)
    assert grown.scenario.parameters == {"growth": 2.0}
    torque = grown.data.motor_torque.sel(joint="arm").values
    time = grown.data.time.values
    # held over a control period, so one step behind at most
    assert torque[-1] == pytest.approx(math.exp(2.0 * time[-1]) - 1, rel=0.01)
    with pytest.raises(package.InputError, match="unknown setting 'grwth'; did you mean 'growth'"):
        package.run(tmp_path / "fall.yaml", grwth=1)


def test_the_example_finds_the_angle_of_friction():
    result = package.run(EXAMPLE)
    assert [c.verdict for c in result.checks] == ["pass", "pass"]
    slope = result.study.acceleration.slope.values
    angle = slope * math.pi / 180
    for a, got in zip(angle, result.study.acceleration.values, strict=True):
        exact = max(0.0, 3.69 * (math.sin(a) - 0.4 * math.cos(a)))
        assert got == pytest.approx(exact, abs=1e-6)


BAD = {
    "typo in a path": (("vary: gravity", "vary: gravty"), "did you mean 'gravity'"),
    "negative gravity": (("[2, 3, 5.5, 6]", "[2, -3]"), "gravity = −3 m/s²"),
    "unknown series": (("position_base.z", "positon_base.z"), "did you mean 'position_base'"),
    "wrong unit of an output": (("unit: cm", "unit: kg"), "'kg' is not a unit of this quantity"),
    "wrong unit of a tolerance": (("tolerance: 0.01}", "tolerance: 1 deg}"), "bisect.tolerance"),
    "words": (("[2, 3, 5.5, 6]", "[low, high]"), "not numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_studies_are_one_sentence_and_leave_nothing(tmp_path, case):
    change, says = BAD[case]
    written(tmp_path, FALL.replace(*change, 1))
    before = everything_in(tmp_path)
    assert_one_sentence(run_here(["run", "fall.yaml", "-q"], tmp_path), says)
    assert everything_in(tmp_path) == before
