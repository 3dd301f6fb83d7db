"""`marsyard identify` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import run_aside
from command import run_here as marsyard

from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import PUBLISHED, Exit, Wheel, WheelModel

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "wheel-tests"
FILES = {
    "soil.yaml", "fit.json", "points.csv", "fit.png", "residuals.png", "correlation.png",
    "report.html",
}  # fmt: skip


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


def wheel_file(folder, radius=True):
    """A CSV of a Ding wheel with φ = 30° and a little noise."""
    soil = load_soil({"name": "hit_lss1", "friction_angle": "30 deg", "exponent_slip": 0.5})
    slip = np.linspace(0.0, 0.6, 10)
    wheel = Wheel(0.15, 0.16, Exit("angle", 0), surface=None)
    bare = {"slip_sinkage": "exponent", "carried": False}
    f = WheelModel("ding", wheel, soil, PUBLISHED["ding"], **bare).under_load(80.0, slip)
    rng = np.random.default_rng(1)
    lines = ["kind,wheel_radius_mm,width_cm,load_N,slip,Fx_N,torque_Nm,sinkage_mm"]
    for i, s in enumerate(slip):
        noise = rng.normal(0, [0.3, 0.05, 0.2])
        values = (
            f.drawbar_pull[i] + noise[0],
            f.torque[i] + noise[1],
            1e3 * f.sinkage[i] + noise[2],
        )
        size = "150" if radius else ""
        lines.append(f"a,{size},16,80,{s:.3f}," + ",".join(f"{v:.4f}" for v in values))
    path = folder / "tests.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_fit_in_a_process(tmp_path):
    wheel_file(tmp_path)
    done = run_aside(["identify", "tests.csv", "--model", "ding", "--soil", "hit_lss1", "--free",
                      "phi,K,k,n1", "--prior", "phi=31+-3deg", "--bootstrap", "5", "--fix",
                      "c=250Pa"], tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "identify-tests-ding"
    assert {p.name for p in folder.iterdir()} == FILES
    for text in ("95 % interval", "rms fitted", "31 ± 3", "bootstrap", "soil.yaml", "exit rule"):
        assert text in done.stdout
    assert "Traceback" not in done.stderr
    fit = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    phi = fit["parameters"]["phi"]
    assert phi["low"] < np.radians(30) < phi["high"] and phi["shown"]["unit"] == "deg"
    assert fit["rms_after"]["pull"] < 0.5 and fit["bootstrap"] == 5
    assert load_soil(str(folder / "soil.yaml")).friction_angle == phi["value"]
    # the same folder again
    again = marsyard(
        ["identify", "tests.csv", "-m", "ding", "--free", "phi", "--starts", 1], tmp_path
    )
    assert again.returncode == 0, again.stderr


def test_another_laboratory_s_file(tmp_path):
    # three loads, lugs, percent, millimetres, kilonewtons, torque the other way, decimal commas
    soil = load_soil({"name": "fjs_1", "exponent_slip": 0.3})
    wheel = Wheel(0.15, 0.165, Exit("angle", 0.0), 0.015, surface=None)
    own = PUBLISHED["ding"]
    model = WheelModel("ding", wheel, soil, own, slip_sinkage="exponent", carried=False)
    rng = np.random.default_rng(2)
    lines = ["Versuch 7;Rad r = 150 mm;b = 165 mm;30 lugs of 15 mm", "", "Schlupf (%);W;DP;T_w;z"]
    lines.append("%;kN;kN;Nm;mm")
    for load in (60.0, 100.0, 150.0):
        for slip in (5, 15, 30, 50, 80):
            f = model.under_load(load, slip / 100)
            noise = rng.normal(0, [0.5, 0.1, 0.3])
            pull, torque, sinkage = f.drawbar_pull, f.torque, 1e3 * f.sinkage
            cells = [slip, load / 1e3, (pull + noise[0]) / 1e3, -torque + noise[1],
                     sinkage + noise[2]]  # fmt: skip
            lines.append(";".join(f"{c:.6f}".replace(".", ",") for c in cells))
    (tmp_path / "lab.csv").write_text("\n".join(lines), encoding="cp1252")
    options = ["--column", "slip=Schlupf (%)", "-m", "ding", "--soil", "fjs_1", "--starts", 2]
    done = marsyard(["identify", "lab.csv", *options, "-o", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    for text in (
        "the sign of the torque is reversed",
        "lug_height = 0.015",
        "use it with",
        "rule: angle",
    ):
        assert text in done.stdout
    fit = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))
    for name, true in (("phi", soil.friction_angle), ("K", 0.036), ("n1", 0.3), ("n", 1.0)):
        found = fit["parameters"][name]
        wide = found["high"] - found["low"]
        assert found["low"] - 0.3 * wide < true < found["high"] + 0.3 * wide, name
    assert fit["rms_after"]["pull"] < 1.0 and fit["rms_after"]["sinkage"] < 5e-4
    # without the name of the slip's column the refusal tells how to say it
    done = marsyard(["identify", "lab.csv"], tmp_path)
    assert done.returncode == 2 and "--column slip=NAME" in done.stderr


def test_wheel_and_load_by_hand(tmp_path):
    path = wheel_file(tmp_path, radius=False)
    done = marsyard(["identify", path, "--free", "phi"], tmp_path)
    assert done.returncode == 2 and "'wheel_radius_mm' is empty in all rows" in done.stderr
    options = [
        "--wheel", "radius=15cm,width=16cm", "--load", "80N", "--exit", "angle:0", "--where",
        "slip<0.4", "--error", "sinkage=1mm", "--starts", 1, "-o", "out",
    ]  # fmt: skip
    done = marsyard(["identify", path, "--free", "phi,k", *options], tmp_path)
    assert done.returncode == 0, done.stderr
    fit = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))
    assert fit["wheels"][0]["radius"] == 0.15 and fit["wheels"][0]["exit_rule"] == "angle"
    assert fit["stated_errors"]["sinkage"] == 1e-3 and fit["rows"] == 6


def test_the_soil_contact_model_and_two_files(tmp_path):
    # two loads of one wheel, each in a file of its own; the first rows of each
    for load in (60, 120):
        path = wheel_file(tmp_path)
        text = path.read_text(encoding="utf-8").replace(",80,", f",{load},")
        (tmp_path / f"at{load}.csv").write_text("\n".join(text.splitlines()[:4]), encoding="utf-8")
    options = ["-m", "scm", "--soil", "hit_lss1", "--free", "phi,k", "--starts", 1]
    done = marsyard(["identify", "at60.csv", "at120.csv", *options], tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "identify-at60-scm"
    assert {p.name for p in folder.iterdir()} == FILES
    for text in (
        "scm, 6 rows of at60.csv, at120.csv",
        "runs of the rig",
        "soil: {model: scm, slip_sinkage: exponent, slip_transport: false}",
    ):
        assert text in done.stdout
    fit = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    assert fit["rms_after"]["pull"] < fit["rms_before"]["pull"]
    assert set(fit["wheels"][0]) == {"radius", "width", "lug_height"}
    soil = load_soil(str(folder / "soil.yaml"))
    assert soil.covariance.names == ("friction_angle", "k_phi")
    # a fit of runs is none of the closed forms that are compared without a simulation
    done = marsyard(["compare", "at60.csv", "-v", f"fitted: fit={folder}"], tmp_path)
    assert done.returncode == 2 and "was made with scm, whose forces require runs" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "dingo"], "did you mean 'ding'"),
        (["--free", "phi,q"], "no parameter 'q'"),
        (["--prior", "phi=35"], "NAME=MEAN±SD"),
        (["--prior", "phi=35±2kg"], "unit of mass"),
        (["--fix", "n"], "NAME=VALUE"),
        (["--fix", "n=x"], "is not a number"),
        (["--error", "puul=1N"], "did you mean 'pull'"),
        (["--exit", "0.9"], "RULE:VALUE"),
        (["--exit", "heigth:0.9"], "did you mean 'height'"),
        (["--wheel", "radius=1kg"], "unit of mass"),
        (["--load", "5m"], "unit of length"),
        (["--where", "kind=z"], "no row has kind=z"),
        (["--soil", "nosoil"], "unknown soil"),
        (["--window", "0s"], "above 0"),
        (["--slip", "sideways"], "auto, heading or travel"),
        (["--out", "tests.csv"], "is a file"),
        (["--out", "."], "holds other files"),
        (["-m", "scm", "--free", "phi,exit"], "no parameter 'exit' of scm"),
        (["-m", "scm", "--exit", "height:0.2"], "scm has no exit rule"),
        (["-m", "scm", "--bootstrap", "9"], "as many runs as the fit itself"),
    ],
)
def test_wrong_input(tmp_path, options, said):
    wheel_file(tmp_path)
    done = marsyard(["identify", "tests.csv", *options], tmp_path)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.strip().count("\n") == 0, done.stderr


def test_no_such_file(tmp_path):
    done = marsyard(["identify", "none.csv"], tmp_path)
    assert done.returncode == 2 and "no such file" in done.stderr


@pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data beside this checkout")
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("ding2011_single_wheel.csv", []),
        ("ishigami2005_smooth.csv", ["--load", "64.7N"]),
        ("pavlov_smooth_means.csv", ["--wheel", "radius=58mm,width=50mm"]),
    ],
)
def test_the_reference_files_as_they_are(tmp_path, file, options):
    done = marsyard(["identify", SHARED / file, *options, "--starts", 1, "-o", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    fit = json.loads((tmp_path / "out" / "fit.json").read_text(encoding="utf-8"))
    assert fit["rms_after"]["pull"] < fit["rms_before"]["pull"]


def test_help_teaches(tmp_path):
    done = marsyard(["identify", "--help"], tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("marsyard identify") >= 2 and "--prior" in done.stdout
    # the columns a file needs, without the docs
    for name in ("slip_percent", "drawbar_pull", "side_force", "torque", "sinkage", "load"):
        assert name in done.stdout
