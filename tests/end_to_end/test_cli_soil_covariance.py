"""A soil that `marsyard identify` has written, drawn from by `marsyard sweep` and `validate`."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
import yaml
from command import run_here as marsyard

from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import PUBLISHED, Exit, Wheel, WheelModel

SWEEP = {
    "scenario": "soil/wheel",
    "set": {"ground.0.soil": "fit/soil.yaml", "run.duration": 1.2},
    "design": {"kind": "monte_carlo", "n": 40},
    "vary": {"ground.0.soil": "covariance", "parameters.load": "uniform(80, 120)"},
    "outputs": [{"name": "pull", "of": "drawbar_pull.W"}],
    "seed": 3,
}
SEQUENCE = {"sequence": [{"arc": {"curvature": 0, "length": 0.05}, "speed": 0.1}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with fit/soil.yaml: a wheel with noise, fitted by `ding`, its exit searched, too."""
    folder = tmp_path_factory.mktemp("fitted")
    soil = load_soil({"name": "hit_lss1", "exponent_slip": 0.5})
    slip = np.linspace(0.0, 0.6, 12)
    wheel = Wheel(0.15, 0.16, Exit("angle", 0), surface=None)
    own = PUBLISHED["ding"]
    made = WheelModel("ding", wheel, soil, own, slip_sinkage="exponent", carried=False)
    f = made.under_load(80.0, slip)
    noise = np.random.default_rng(1).normal(0, [[0.8], [0.1], [4e-4]], (3, len(slip)))
    columns = [slip, f.drawbar_pull + noise[0], f.torque + noise[1], f.sinkage + noise[2]]
    np.savetxt(
        folder / "tests.csv", np.transpose(columns), delimiter=",", comments="",
        header="slip,pull,torque,sinkage",
    )  # fmt: skip
    done = marsyard(
        ["identify", "tests.csv", "-m", "ding", "--wheel", "radius=15cm,width=16cm",
         "--load", "80N", "--soil", "hit_lss1", "--exit", "angle:0", "--free",
         "phi,K,k,n1,c_P1,exit", "--starts", 1, "-o", "fit"],
        folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_file_says_what_the_fit_found(folder):
    soil = load_soil(str(folder / "fit" / "soil.yaml"))
    found = soil.covariance
    # the exit belongs to the wheel
    assert found.names == (
        "friction_angle", "shear_modulus", "k_phi", "exponent_slip", "c_P1",
    )  # fmt: skip
    spreads = dict(found.spreads)
    assert spreads["shear_modulus"].log and not spreads["friction_angle"].log
    fit = json.loads((folder / "fit" / "fit.json").read_text())["parameters"]
    # given the exit a number is known at least as surely as without it; 2.4 is Student's quantile
    half = 0.5 * (fit["phi"]["high"] - fit["phi"]["low"])
    assert 0.1 * half / 2.1 < spreads["friction_angle"].sd <= 1.05 * half / 1.95
    assert np.diag(found.correlation) == pytest.approx(1)


def test_a_sweep_draws_from_it(folder):
    (folder / "study.yaml").write_text(yaml.safe_dump(SWEEP, sort_keys=False))
    done = marsyard(["sweep", "study.yaml", "-o", "swept"], folder)
    assert done.returncode == 0, done.stderr
    ds = xr.open_dataset(folder / "swept" / "sweep.nc")
    soil = load_soil(str(folder / "fit" / "soil.yaml"))
    spreads = dict(soil.covariance.spreads)
    phi, k = np.radians(ds["friction_angle"].values), ds["k_phi"].values
    assert ds["completed"].values.all() and np.ptp(ds["pull"].values) > 0
    error = 4 / np.sqrt(len(phi))
    sd = spreads["friction_angle"].sd
    assert abs(phi.mean() - soil.friction_angle) < error * sd
    assert phi.std() == pytest.approx(sd, rel=error)
    i, j = (soil.covariance.names.index(n) for n in ("friction_angle", "k_phi"))
    drawn = np.corrcoef(phi, np.log(k))[0, 1]
    assert drawn == pytest.approx(soil.covariance.correlation[i][j], abs=error)
    # the load is independent
    assert abs(np.corrcoef(phi, ds["load"].values)[0, 1]) < error
    again = marsyard(["sweep", "study.yaml", "-o", "again", "--jobs", 1], folder)
    assert again.returncode == 0, again.stderr
    same = xr.open_dataset(folder / "again" / "sweep.nc")
    assert np.array_equal(ds["friction_angle"].values, same["friction_angle"].values)
    assert np.array_equal(ds["pull"].values, same["pull"].values)
    more = marsyard(["sweep", "study.yaml", "-o", "swept", "--resume"], folder)
    assert more.returncode == 0, more.stderr


def test_a_validation_draws_from_it(folder):
    (folder / "sequence.yaml").write_text(yaml.safe_dump(SEQUENCE))
    said = {"seed": 5, "uncertain": {"ground.0.soil": "covariance"}}
    (folder / "uncertain.yaml").write_text(yaml.safe_dump(said))
    rover = ["--robot", "exomars", "--ground", "flat", "--set", "ground.0.soil=fit/soil.yaml"]
    asked = ["validate", "sequence.yaml", *rover, "-n", 4, "-q"]
    draws = []
    for out, more in (("one", []), ("two", []), ("own", None)):
        options = ["--soil", "uncertain.yaml"] if more is not None else []
        done = marsyard([*asked, *options, "-o", out], folder)
        assert done.returncode in (0, 3, 4), done.stderr
        ds = xr.open_dataset(folder / out / "validation.nc")
        at = ds["sample"].sel(uncertain="ground.0.soil.friction_angle").values[1:]
        draws.append(at)
        assert np.ptp(at) > 0
        assert "ground.0.soil.extra.c_P1" in ds["uncertain"].values
    assert np.array_equal(draws[0], draws[1])
    # without a file the soil's own covariance goes before what is assumed of soils
    assert "ground.0.soil.cohesion" in ds["uncertain"].values
    assert len(set(map(str, ds["uncertain"].values))) == ds.sizes["uncertain"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"set": {"ground.0.soil": "hit_lss1"}}, "the soil hit_lss1 has no covariance"),
        ({"design": "grid", "vary": {"ground.0.soil": "covariance"}}, "needs a random design"),
        ({"design": {"kind": "saltelli", "n": 16}}, "saltelli needs independent parameters"),
        ({"vary": {"interaction.soil": "covariance"}}, "is not a soil of a terrain"),
        ({"vary": {"ground.3.soil": "covariance"}}, "is not a soil of a terrain"),
        ({"vary": {"ground.0.soils.mud": "covariance"}}, "no soil 'mud'"),
        (
            {"vary": {"ground.0.soil": "covariance",
                      "ground.0.soil.friction_angle": "uniform(20 deg, 30 deg)"}},
            "is part of the covariance of ground.0.soil",
        ),
    ],
)  # fmt: skip
def test_a_sweep_that_cannot_draw_says_so(folder, change, words):
    (folder / "wrong.yaml").write_text(yaml.safe_dump({**SWEEP, **change}, sort_keys=False))
    done = marsyard(["sweep", "wrong.yaml", "-o", "wrong"], folder)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert done.stderr.strip().count("\n") == 0 and not (folder / "wrong").exists()


def test_a_validation_that_cannot_draw_says_so(folder):
    said = {"uncertain": {"ground.0.soil": "covariance"}}
    (folder / "uncertain.yaml").write_text(yaml.safe_dump(said))
    (folder / "sequence.yaml").write_text(yaml.safe_dump(SEQUENCE))
    for ground, words in (("flat", "has no covariance"), ("plane", "for the soil of a terrain")):
        done = marsyard(
            ["validate", "sequence.yaml", "--robot", "exomars", "--ground", ground, "-n", 2, "-q",
             "--soil", "uncertain.yaml", "-o", "none"],
            folder,
        )  # fmt: skip
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert not (folder / "none").exists()
