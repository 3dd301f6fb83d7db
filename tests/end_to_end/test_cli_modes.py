"""`marsyard compare --modes` and `marsyard analyze energy` as a user meets them."""

from __future__ import annotations

import csv
import json
import math

import pytest
import xarray as xr
from command import ONE_FIGURE, run_here
from test_cli import assert_one_sentence

import marsyard

FRICTION = 0.3
SLOPE = f"""
title: A hard slope
robot: {{name: marsokhod_like, settle: true}}
ground: [{{kind: plane, slope: 0}}]
gravity: 3.72
interaction: {{friction: {FRICTION}}}
gait:
  modes:
    - {{mode: rolling, speed: 0.1, period: 1}}
    - {{mode: peristaltic, stride: 12 cm, period: 2.6 s}}
run: {{duration: 10, step: 5 ms, record_period: 0.05, theta: 1}}
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modes")
    (folder / "slope.yaml").write_text(SLOPE)
    command = ["compare", "slope.yaml", "--modes", "rolling,peristaltic", "--slopes", "10,22"]
    done = run_here([*command, "--tolerance", "7", "-q"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done


def test_a_hard_slope_is_climbed_up_to_its_friction_at_the_cost_of_lifting(compared):
    folder, done = compared
    out = folder / "runs" / "modes-slope"
    ds = xr.load_dataset(out / "compare.nc", engine="h5netcdf")
    weight = 72 * 3.72
    cost = ds["mechanical"].sel(mode="rolling", slope=10).item()
    assert cost == pytest.approx(weight * math.sin(math.radians(10)), rel=2e-3)
    # walking on wheels lifts the same and brakes masses on the way
    assert ds["mechanical"].sel(mode="peristaltic", slope=10).item() > cost
    limit = math.degrees(math.atan(FRICTION))
    for mode in ("rolling", "peristaltic"):
        climbs, fails = (ds[f"limit_{n}"].sel(mode=mode).item() for n in ("climbs", "fails"))
        assert climbs < limit + 0.01 and fails - climbs <= 7.0 and fails > limit - 1.5
    assert "rolling costs less wherever both climb" in done.stdout
    rows = list(csv.DictReader((out / "compare.csv").open()))
    assert {r["mode"] for r in rows} == {"rolling", "peristaltic"}
    page = (out / "report.html").read_text()
    assert "rolling costs less wherever both climb" in page and page.count("<img") == 2


def test_the_energy_of_a_kept_run(compared):
    folder, _ = compared
    command = ["compare", "slope.yaml", "-m", "rolling", "--slopes", "10", "--keep", "-q"]
    assert run_here([*command, "-o", "kept", "-s", ONE_FIGURE, "--json"], folder).returncode == 0
    run = folder / "kept" / "modes" / "rolling" / "10"
    assert "Power and energy" in (run / "report.html").read_text()
    done = run_here(["analyze", "energy", run, "--start", "2s"], folder)
    assert done.returncode == 0, done.stderr
    assert "lifting" in done.stdout and "cost of transport, mechanical" in done.stdout
    written = {p.name for p in (run / "energy").iterdir()}
    assert written >= {"energy.csv", "energy.json"} and len(written) == 4
    told = json.loads((run / "energy" / "energy.json").read_text())
    assert told["cost_of_transport"] == pytest.approx(math.sin(math.radians(10)), rel=2e-3)
    direct = marsyard.energy_account(run, start=2.0)
    assert told["causes"]["lifting"] == direct.causes["lifting"]
    done = run_here(["analyze", "energy", run, "--along", "0,1", "--json"], folder)
    assert abs(json.loads(done.stdout)["net_displacement"]) < 1e-3


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["compare", "slope.yaml", "--modes", "gliding"], "unknown mode 'gliding'"),
        (["compare", "slope.yaml", "--modes", "rolling", "--slopes", "0:95:5"], "90°"),
        (["compare", "slope.yaml", "--modes", "rolling", "--laws", "scm"], "--laws"),
        (["compare", "slope.yaml", "--modes", "rolling", "--tolerance", "x"], "--tolerance"),
        (["compare", "slope.yaml", "--modes", "rolling", "--least", "2"], "least"),
        (["compare", "slope.yaml", "-m", "peristaltic", "-s", "robot.name=vehicle_2001"],
         "cannot be moved against its frame"),
        (["compare", "slope.yaml", "-m", "peristaltic", "-s", "robot.name=hexapod"],
         "stands on feet"),
        (["compare", "slope.yaml", "-m", "rolling", "-s", "ground=[]"], "no slope"),
        (["analyze", "energy", "nowhere"], "does not exist"),
        (["analyze", "energy", "slope.yaml"], "not a file of results"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence(tmp_path, arguments, about):
    (tmp_path / "slope.yaml").write_text(SLOPE)
    done = run_here(arguments, tmp_path)
    assert_one_sentence(done, about)
    assert not (tmp_path / "runs").exists()
